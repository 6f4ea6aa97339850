# From which hit rate on does a filter before the exact check pay?
load style
set output output_file
set title "A bloom filter before the exact check: where it pays, and where not"
set xlabel "visits that are hits, %"
set ylabel "times as fast as the hash semi-join alone"
set logscale xy
set xtics ("0.1" 0.1, "1" 1, "5" 5, "10" 10, "50" 50)
set ytics (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16)
set xrange [0.08 : 65]
set key outside right center Left reverse samplen 2 spacing 1.2 title "blacklist, and exact check"
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.5
set label 1 "above 1 the filter pays" at graph 0.98, graph 0.97 right font ",12"
# Side by side, so that the bars can be told apart
aside(x, i, n) = x * (1 + 0.06 * (i - n / 2.0))
sizes = distinct("server", 2)
of(size, method) = lines("server", "$4 == 0 && $6 == \"ok\" && $2 == ".size." && $5 == \"".method."\"")
colour(i) = word(blue." ".orange." ".red, i)
plot for [i = 1 : words(sizes)] of(word(sizes, i), "filter_semijoin") using (aside($3, i, 6)):(1 / $13):(1 / $15):(1 / $14) \
         with yerrorlines lw 2 pt 7 lc rgb colour(i) title commas(word(sizes, i))." URLs, semi-join", \
     for [i = 1 : words(sizes)] of(word(sizes, i), "filter_index") using (aside($3, i + 3, 6)):(1 / $13):(1 / $15):(1 / $14) \
         with yerrorlines lw 2 dt (9, 3) pt 6 lc rgb colour(i) title commas(word(sizes, i))." URLs, index"
