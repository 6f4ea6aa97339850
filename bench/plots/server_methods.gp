# Of all ways to check each row, which is how fast at which size?
load style
height = 600
set terminal svg size width, height
set output output_file
set title "Checking each of five million visits against a blacklist; 5 % are hits" noenhanced
set xlabel "URLs in the blacklist"
set ylabel "nanoseconds a visit" offset 3, 0
set logscale xy
sizes = distinct("server", 2)
set xrange [word(sizes, 1) / 2 : word(sizes, words(sizes)) * 2]
set xtics ()
set for [i = 1 : words(sizes)] xtics add (commas(word(sizes, i)) word(sizes, i) + 0)
set ytics ("50" 50, "100" 100, "200" 200, "500" 500, "1,000" 1000, "2,000" 2000, "5,000" 5000, "10,000" 10000)
set yrange [50 : *] noextend
set lmargin at screen 0.1
set rmargin at screen 0.985
set tmargin at screen 0.92
set bmargin at screen 0.33
set key at screen 0.5, 0.05 center bottom horizontal maxrows 4 Left reverse samplen 3 width -4 noopaque
set label 101 ranges at screen 0.99, 0.025 right font ",11" tc rgb "#666666"
# Methods stand side by side, so that their whiskers can be told apart
of(method) = lines("server", "$3 == 5 && $4 == 0 && $6 == \"ok\" && $5 == \"".method."\"")
at(x, i) = aside(x, i, 10, 1.11)
plot of("any") using (at($2, 7)):9:10:11 with yerrorlines lw 1.5 pt 6 lc rgb pink title "= ANY (array)", \
     of("btree") using (at($2, 9)):9:10:11 with yerrorlines lw 1.5 pt 8 lc rgb orange title "nested loop, btree", \
     of("hash_index") using (at($2, 10)):9:10:11 with yerrorlines lw 1.5 pt 10 lc rgb yellow title "nested loop, hash index", \
     of("semijoin") using (at($2, 5)):9:10:11 with yerrorlines lw 1.5 pt 4 lc rgb red title "hash semi-join", \
     of("antijoin") using (at($2, 6)):9:10:11 with yerrorlines lw 1.5 dt 2 pt 4 lc rgb red title "hash anti-join", \
     of("not_in") using (at($2, 8)):9:10:11 with yerrorlines lw 1.5 pt 12 lc rgb grey title "NOT IN, hashed", \
     of("filter_index") using (at($2, 4)):9:10:11 with yerrorlines lw 2 dt 2 pt 5 lc rgb green title "bloom, then btree", \
     of("filter_semijoin") using (at($2, 3)):9:10:11 with yerrorlines lw 2 pt 5 lc rgb green title "bloom, then semi-join", \
     of("cuckoo") using (at($2, 2)):9:10:11 with yerrorlines lw 2.5 pt 9 lc rgb sky title "cuckoo alone", \
     of("bloom") using (at($2, 1)):9:10:11 with yerrorlines lw 2.5 pt 7 lc rgb blue title "bloom alone", \
     of("trivial") using 2:9 with lines lw 2 dt (3, 3) lc rgb black title "url <> 'x'", \
     of("scan") using 2:9 with lines lw 1.5 lc rgb black title "no condition"
