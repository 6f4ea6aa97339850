# Of all ways to check each row, which is how fast at which size?
load style
height = 600
set terminal svg size width, height
set output output_file
set title "Checking each of five million visits against a blacklist; 5 % are hits" noenhanced
set xlabel "URLs in the blacklist (log scale); what is measured for one number stands side by side"
set ylabel "nanoseconds per visit (log scale)" offset -1, 0
set logscale xy
sizes = distinct("server", 2)
least_size = word(sizes, 1) + 0
most_size = word(sizes, words(sizes)) + 0
set xrange [least_size / 1.5 : most_size * 1.5]
set xtics ()
set for [i = 1 : words(sizes)] xtics add (commas(word(sizes, i)) word(sizes, i) + 0)
set ytics ("20" 20, "50" 50, "100" 100, "200" 200, "500" 500, "1,000" 1000, "2,000" 2000, "5,000" 5000, "10,000" 10000)
set yrange [20 : *] noextend
set lmargin at screen 0.12
set rmargin at screen 0.75
set tmargin at screen 0.92
set bmargin at screen 0.16
unset key
set label 101 ranges at screen 0.99, 0.025 right font ",12" tc rgb "#666666"
# Methods stand side by side, so that their whiskers can be told apart
of(method) = lines("server", "$3 == 5 && $4 == 0 && $6 == \"ok\" && $5 == \"".method."\"")
at(x, i) = aside(x, i, 8, 1.04)
# Each line has its name at its right end: what the last line of a method says
last(method) = real(system(sprintf("awk -F, '$3 == 5 && $4 == 0 && $6 == \"ok\" && $5 == \"%s\" { last = $9 } END { print last }' '%s/server.csv'", method, results)))
name(i, method, text, colour, shift) = sprintf("set label %d \"%s\" at graph 1.01, first %g left offset 0, %g font \",13\" tc rgb \"%s\" noenhanced", i, text, last(method), shift, colour)
eval name(1, "btree", "nested loop, btree", orange, 0)
eval name(2, "any", "= ANY (array)", pink, 0.45)
eval name(3, "hash_index", "nested loop, hash index", yellow, -0.45)
eval name(4, "not_in", "NOT IN, hashed", grey, 0.1)
eval name(5, "semijoin", "hash semi-join", red, -0.1)
eval name(6, "filter_semijoin", "filter, then semi-join", green, 0)
eval name(7, "filter_index", "filter, then btree", green, 0)
eval name(8, "bloom", "filter alone", blue, 0)
eval name(9, "trivial", "url <> 'x'", black, 0)
eval name(10, "scan", "no condition", black, 0)
plot of("any") using (at($2, 5)):9:10:11 with yerrorlines lw 1.5 pt 6 lc rgb pink, \
     of("btree") using (at($2, 7)):9:10:11 with yerrorlines lw 1.5 pt 8 lc rgb orange, \
     of("hash_index") using (at($2, 8)):9:10:11 with yerrorlines lw 1.5 pt 10 lc rgb yellow, \
     of("semijoin") using (at($2, 4)):9:10:11 with yerrorlines lw 1.5 pt 4 lc rgb red, \
     of("not_in") using (at($2, 6)):9:10:11 with yerrorlines lw 1.5 pt 12 lc rgb grey, \
     of("filter_index") using (at($2, 3)):9:10:11 with yerrorlines lw 2 dt 2 pt 5 lc rgb green, \
     of("filter_semijoin") using (at($2, 2)):9:10:11 with yerrorlines lw 2 pt 5 lc rgb green, \
     of("bloom") using (at($2, 1)):9:10:11 with yerrorlines lw 2.5 pt 7 lc rgb blue, \
     of("trivial") using 2:9 with lines lw 2 dt (3, 3) lc rgb black, \
     of("scan") using 2:9 with lines lw 1.5 lc rgb black
