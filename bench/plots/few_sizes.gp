# From which number of rows on a membership index pays: times without it and with it, and
# their ratio
load style
set output output_file
set multiplot layout 1, 2 title "One million visits, joined with a list; 1 % of them are hits" \
    margins 0.09, 0.985, 0.29, 0.84 spacing 0.075, 0
set logscale xy
set xlabel "rows in the list (all scales: log)"
set xtics ("1k" 1e3, "10k" 1e4, "100k" 1e5, "1M" 1e6, "10M" 1e7)
set xrange [5e2 : 2e7]
unset key
set label 101 ranges at screen 0.99, 0.025 right font ",12" tc rgb "#666666"
# The file has its lines in the order of the measurements
of(form, method) = lines("few", "$2 == \"".form."\" && $4 == \"1GB\" && $5 == \"".method."\"")." | sort -t, -k3n"
array forms[3] = ["join", "not_exists", "repeated"]
array titles[3] = ["JOIN", "NOT EXISTS", "EXISTS, each URL visited 20 times"]
colour(i) = word(blue." ".orange." ".green, i)
set title "CPU time, ms"
set yrange [30 : 8000]
set ytics ("50" 50, "100" 100, "200" 200, "500" 500, "1,000" 1000, "2,000" 2000, "5,000" 5000)
plot for [i = 1 : 3] of(forms[i], "plain") using 3:7 with linespoints lw 2 dt (9, 3) pt 6 lc rgb colour(i), \
     for [i = 1 : 3] of(forms[i], "filtered") using 3:7 with linespoints lw 2.5 pt 7 lc rgb colour(i)
unset label 100
unset label 101
set title "times as fast with the index"
set yrange [0.7 : 13]
set ytics (1, 2, 3, 5, 8, 12)
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.5
set label 1 "break-even" at graph 0.98, first 1 right offset 0, -0.8 font ",13"
plot for [i = 1 : 3] of(forms[i], "filtered") using (aside($3, i, 3, 1.1)):8:9:10 with yerrorlines lw 2.5 pt 7 lc rgb colour(i)
# One legend for both panels
set lmargin at screen 0.03
set rmargin at screen 0.985
set tmargin at screen 0.16
set bmargin at screen 0.055
unset border
unset tics
unset xlabel
unset title
unset arrow 1
unset label 1
unset logscale
set key noopaque center center horizontal Left reverse samplen 3 width -5 maxrows 2
plot [0 : 1] [0 : 1] for [i = 1 : 3] NaN with linespoints lw 2.5 pt 7 lc rgb colour(i) title titles[i], \
     NaN with linespoints lw 2 dt (9, 3) pt 6 lc rgb black title "without the index"
unset multiplot
