# What a row costs whose table is scanned with a filter
load style
set output output_file
set title "Five million rows, each probed for in a filter, by two kinds of scan"
set xlabel "elements in the filter or index"
set ylabel "nanoseconds of CPU per row" offset 1.5, 0
set logscale x
set xtics ("1 million" 1e6, "10 million" 1e7, "100 million" 1e8)
set xrange [6e5 : 5e8]
set yrange [0 : *]
set lmargin at screen 0.09
set rmargin at screen 0.985
set tmargin at screen 0.91
set bmargin at screen 0.34
set key at screen 0.5, 0.06 center bottom horizontal maxrows 3 Left reverse samplen 3 width -6 noopaque
set label 101 ranges at screen 0.99, 0.025 right font ",12" tc rgb "#666666"
of(condition, scan, query) = lines("scan", sprintf("$2 == \"%s\" && $4 == \"%s\" && $5 == \"%s\"", condition, scan, query))
# The conditions without a filter, as lines across the picture
cpu_of(condition) = real(system(sprintf("awk -F, '$2 == \"%s\" && $5 == \"next\" { print $7 }' '%s/scan.csv'", condition, results)))
trivial = cpu_of("trivial")
counting = cpu_of("count")
set arrow 1 from graph 0, first trivial to graph 1, first trivial nohead lc rgb black lw 1.5
set label 1 "url <> 'x'" at graph 0.99, first trivial right offset 0, 0.6 font ",13" noenhanced
set arrow 2 from graph 0, first counting to graph 1, first counting nohead lc rgb grey lw 1.5
set label 2 "no condition" at graph 0.99, first counting right offset 0, 0.6 font ",13" noenhanced
plot of("bloom", "seq_scan", "next") using (aside($3, 1, 5, 1.06)):7:8:9 with yerrorlines lw 2 pt 7 lc rgb orange title "Seq Scan, bloom", \
     of("index", "seq_scan", "next") using (aside($3, 2, 5, 1.06)):7:8:9 with yerrorlines lw 2 dt (9, 3) pt 6 lc rgb orange title "Seq Scan, index", \
     of("bloom", "filter_scan", "next") using (aside($3, 3, 5, 1.06)):7:8:9 with yerrorlines lw 2 pt 7 lc rgb blue title "Filter Scan, bloom", \
     of("index", "filter_scan", "next") using (aside($3, 4, 5, 1.06)):7:8:9 with yerrorlines lw 2 dt (9, 3) pt 6 lc rgb blue title "Filter Scan, index", \
     of("bloom", "filter_scan", "first") using (aside($3, 5, 5, 1.06)):7:8:9 with yerrorbars lw 2 pt 12 ps 1.3 lc rgb green title "Filter Scan, bloom, first query"
