# From which number of rows on a membership index pays
load style
set output output_file
set title "Times as fast with a membership index; 1 % of a million visits are hits"
set logscale xy
set xlabel "rows in the list (log scale)"
set xrange [5e2 : 2e7]
set xtics ("1,000" 1e3, "10,000" 1e4, "100,000" 1e5, "1 million" 1e6, "10 million" 1e7)
set ylabel "times as fast (log scale)" offset 1, 0
set yrange [0.7 : 13]
set ytics (1, 2, 3, 5, 8, 12)
set key top left Left reverse samplen 2 spacing 1.2
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.5
set label 1 "without the index" at graph 0.98, first 1 right offset 0, -0.8 font ",13"
set label 101 ranges at screen 0.99, 0.025 right font ",12" tc rgb "#666666"
# The file has its lines in the order of the measurements
of(form) = lines("few", "$2 == \"".form."\" && $4 == \"1GB\" && $5 == \"filtered\"")." | sort -t, -k3n"
plot of("join") using (aside($3, 1, 3, 1.1)):8:9:10 with yerrorlines lw 2.5 pt 7 lc rgb blue title "JOIN", \
     of("not_exists") using (aside($3, 2, 3, 1.1)):8:9:10 with yerrorlines lw 2.5 pt 9 lc rgb orange title "NOT EXISTS", \
     of("repeated") using (aside($3, 3, 3, 1.1)):8:9:10 with yerrorlines lw 2.5 pt 5 lc rgb green title "EXISTS, each URL visited 20 times"
