# From which hit rate on does a filter before the exact check pay?
load style
set output output_file
set title "A bloom filter before the exact check: where it pays, and where not"
set xlabel "visits that are hits"
set ylabel "times as fast as the hash semi-join alone" offset 1.5, 0
set logscale xy
set xtics ("0.1 %%" 0.1, "1 %%" 1, "5 %%" 5, "50 %%" 50)
set ytics (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8, 12, 16)
set xrange [0.06 : 85]
set lmargin at screen 0.105
set rmargin at screen 0.985
set tmargin at screen 0.91
set bmargin at screen 0.34
set key at screen 0.5, 0.055 center bottom horizontal maxrows 3 Left reverse samplen 3 width -6 noopaque
set label 101 ranges at screen 0.99, 0.025 right font ",12" tc rgb "#666666"
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.5
set label 1 "above 1 the filter pays" at graph 0.99, graph 0.95 right font ",13"
sizes = distinct("server", 2)
of(size, method) = lines("server", "$4 == 0 && $6 == \"ok\" && $2 == ".size." && $5 == \"".method."\"")
colour(i) = word(blue." ".orange." ".red, i)
at(x, i) = aside(x, i, 2 * words(sizes), 1.1)
plot for [i = 1 : words(sizes)] of(word(sizes, i), "filter_semijoin") using (at($3, i)):(1 / $13):(1 / $15):(1 / $14) \
         with yerrorlines lw 2 pt 7 lc rgb colour(i) title commas(word(sizes, i))." URLs, then semi-join", \
     for [i = 1 : words(sizes)] of(word(sizes, i), "filter_index") using (at($3, i + words(sizes))):(1 / $13):(1 / $15):(1 / $14) \
         with yerrorlines lw 2 dt (9, 3) pt 6 lc rgb colour(i) title commas(word(sizes, i))." URLs, then btree"
