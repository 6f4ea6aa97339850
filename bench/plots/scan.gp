# What a row costs whose table is scanned with a filter
load style
set output output_file
set title "Five million rows, each probed for in a filter, by two kinds of scan"
set xlabel "elements in the filter or index"
set ylabel "nanoseconds of CPU a row"
set logscale x
set format x "10^{%L}"
set yrange [0 : *]
set offsets graph 0.03, graph 0.03, 0, 0
set key outside right center Left reverse samplen 2 spacing 1.5
of(condition, scan, query) = lines("scan", sprintf("$2 == \"%s\" && $4 == \"%s\" && $5 == \"%s\"", condition, scan, query))
# The conditions without a filter, as lines across the picture
cpu_of(condition) = real(system(sprintf("awk -F, '$2 == \"%s\" && $5 == \"next\" { print $7 }' '%s/scan.csv'", condition, results)))
trivial = cpu_of("trivial")
counting = cpu_of("count")
set arrow 1 from graph 0, first trivial to graph 1, first trivial nohead lc rgb black lw 1.5
set label 1 "Seq Scan, url <> 'x'" at graph 0.02, first trivial offset 0, 0.6 font ",12" noenhanced
set arrow 2 from graph 0, first counting to graph 1, first counting nohead lc rgb grey lw 1.5
set label 2 "count(*)" at graph 0.02, first counting offset 0, -0.7 font ",12" noenhanced
plot of("bloom", "seq_scan", "next") using 3:7:8:9 with yerrorlines lw 2 pt 7 lc rgb orange title "Seq Scan, bloom", \
     of("index", "seq_scan", "next") using 3:7:8:9 with yerrorlines lw 2 dt (9, 3) pt 6 lc rgb orange title "Seq Scan, index", \
     of("bloom", "filter_scan", "next") using 3:7:8:9 with yerrorlines lw 2 pt 7 lc rgb blue title "Filter Scan, bloom", \
     of("index", "filter_scan", "next") using 3:7:8:9 with yerrorlines lw 2 dt (9, 3) pt 6 lc rgb blue title "Filter Scan, index", \
     of("bloom", "filter_scan", "first") using 3:7:8:9 with yerrorbars lw 2 pt 12 ps 1.3 lc rgb green title "Filter Scan, bloom,\nfirst of its session"
