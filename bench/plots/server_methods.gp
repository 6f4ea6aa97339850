# Of all ways to check each row, which is how fast at which size?
load style
set output output_file
set title "Checking each of five million visits against a blacklist; 5 % are hits"
set xlabel "URLs in the blacklist"
set ylabel "nanoseconds a visit"
set logscale xy
set format x "10^{%L}"
sizes = distinct("server", 2)
set xrange [word(sizes, 1) / 1.5 : word(sizes, words(sizes)) * 1.5]
set key outside right center Left reverse samplen 2 spacing 1.15
# Methods of similar speed stand side by side, so that their bars can be told apart
of(method) = lines("server", "$3 == 5 && $4 == 0 && $6 == \"ok\" && $5 == \"".method."\"")
plot of("any") using ($2 * 0.8):9:10:11 with yerrorlines lw 1.5 pt 6 lc rgb pink title "= ANY (array)", \
     of("btree") using 2:9:10:11 with yerrorlines lw 1.5 pt 8 lc rgb orange title "nested loop, btree", \
     of("hash_index") using 2:9:10:11 with yerrorlines lw 1.5 pt 10 lc rgb yellow title "nested loop, hash index", \
     of("semijoin") using ($2 * 0.93):9:10:11 with yerrorlines lw 1.5 pt 4 lc rgb red title "hash semi-join", \
     of("antijoin") using ($2 * 1.07):9:10:11 with yerrorlines lw 1.5 dt 2 pt 4 lc rgb red title "hash anti-join", \
     of("not_in") using ($2 * 1.25):9:10:11 with yerrorlines lw 1.5 pt 12 lc rgb grey title "NOT IN, hashed", \
     of("filter_index") using ($2 * 1.08):9:10:11 with yerrorlines lw 2 dt 2 pt 5 lc rgb green title "bloom, then index", \
     of("filter_semijoin") using ($2 * 0.93):9:10:11 with yerrorlines lw 2 pt 5 lc rgb green title "bloom, then semi-join", \
     of("cuckoo") using ($2 * 1.08):9:10:11 with yerrorlines lw 2.5 pt 9 lc rgb sky title "cuckoo alone", \
     of("bloom") using ($2 * 0.93):9:10:11 with yerrorlines lw 2.5 pt 7 lc rgb blue title "bloom alone", \
     of("trivial") using 2:9 with lines lw 1.5 dt 3 lc rgb black title "url <> 'x'", \
     of("scan") using 2:9 with lines lw 1.5 lc rgb black title "bare scan"
