# Is the error rate as requested?
load style
height = 480
set terminal svg size width, height
set output output_file
set multiplot layout 1, 2 title "Measured error rate, divided by the requested one" \
    margins 0.085, 0.985, 0.3, 0.84 spacing 0.04, 0
set logscale x
set xlabel "requested error rate"
set xrange [4e-7 : 0.25]
set xtics ("0.0001 %%" 1e-6, "0.01 %%" 1e-4, "1 %%" 0.01, "10 %%" 0.1)
set yrange [0 : 1.2]
set ytics 0, 0.2
set format y "%.1f"
set ylabel "measured / requested"
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.2
unset key
set label 101 "whisker: one standard deviation, by chance" at screen 0.99, 0.025 right font ",12" tc rgb "#666666"
# Sizes stand side by side
of(kind, is, elements) = lines("accuracy", sprintf("$1 == \"%s\" && $2 %s \"cuckoo\" && $4 == %s", kind, is, elements))
low(ratio, spread) = ratio * (1 - spread)
high(ratio, spread) = ratio * (1 + spread)
do for [is in "!= =="] {
	set title (is eq "==" ? "cuckoo" : "bloom")
	plot of("fixed", is, "1000") using (aside($5, 1, 4, 1.25)):7:(low($7, $14)):(high($7, $14)) with yerrorbars lw 1.5 pt 7 ps 0.7 lc rgb orange, \
	     of("fixed", is, "100000") using (aside($5, 2, 4, 1.25)):7:(low($7, $14)):(high($7, $14)) with yerrorbars lw 1.5 pt 5 ps 0.7 lc rgb green, \
	     of("fixed", is, "3000000") using (aside($5, 3, 4, 1.25)):7:(low($7, $14)):(high($7, $14)) with yerrorbars lw 1.5 pt 9 ps 0.8 lc rgb blue, \
	     of("grown", is, "1000000") using (aside($5, 4, 4, 1.25)):7:(low($7, $14)):(high($7, $14)) with yerrorbars lw 1.5 pt 13 ps 0.8 lc rgb pink
	unset label 100
	unset label 101
	unset ylabel
	set format y ""
}
# One legend for both panels
set lmargin at screen 0.05
set rmargin at screen 0.985
set tmargin at screen 0.15
set bmargin at screen 0.06
unset border
unset tics
unset xlabel
unset title
unset arrow 1
unset logscale
set key noopaque center center horizontal Left reverse samplen 2 width 2 maxrows 2
plot [0 : 1] [0 : 1] NaN with points pt 7 ps 0.9 lc rgb orange title "1,000 elements", \
     NaN with points pt 5 ps 0.9 lc rgb green title "100,000 elements", \
     NaN with points pt 9 lc rgb blue title "3 million elements", \
     NaN with points pt 13 lc rgb pink title "made for 1,000, grown to 1 million"
unset multiplot
