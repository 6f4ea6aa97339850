# The filters alone: what a probe takes, beside one load from memory
load style
height = 600
set terminal svg size width, height
set output output_file
set multiplot layout 1, 2 title "Probing for an absent element, its hash included, without a server" font ",16" \
    margins 0.085, 0.985, 0.36, 0.87 spacing 0.04, 0
set logscale xy
set xlabel "elements (log scale)"
set xtics ("100,000" 1e5, "1 million" 1e6, "10 million" 1e7, "100 million" 1e8) font ",12"
set xrange [7e4 : 2.5e8]
set yrange [1 : 1.1 * most("filters", "$5 == \"absent\" && $6 != \"waiting\"", 7)]
set ytics (1, 2, 5, 10, 20, 50, 100, 200, 500)
set ylabel "nanoseconds per probe (log scale)" offset 1, 0
set label 101 ranges at screen 0.99, 0.025 right font ",12" tc rgb "#666666"
unset key
of(layout, rate, kernel, mode) = lines("filters", sprintf("$2 == \"%s\" && $3 == %s && (\"%s\" == \"any\" || $4 == \"%s\") && $5 == \"absent\" && $6 == \"%s\"", layout, rate, kernel, kernel, mode))
do for [mode in "single batch"] {
	set title (mode eq "single" ? "one at a time" : "1,024 at a time")
	plot of("libbloom", "0.01", "any", "single") using 1:7:8:9 with yerrorlines lw 2 pt 4 lc rgb red, \
	     of("explicit", "0", "any", mode) using 1:7 with linespoints lw 1.5 pt 12 lc rgb grey, \
	     of("classic", "0.01", "any", mode) using 1:7 with linespoints lw 1.5 pt 8 lc rgb orange, \
	     of("cuckoo", "0.01", "any", mode) using 1:7 with linespoints lw 2 pt 9 lc rgb sky, \
	     of("block512x2", "0.0001", "avx2", mode) using 1:7 with linespoints lw 2 pt 5 lc rgb green, \
	     of("block512", "0.01", "portable", mode) using 1:7 with linespoints lw 1.5 dt 2 pt 6 lc rgb blue, \
	     of("block512", "0.01", "avx512", mode) using 1:7 with linespoints lw 1.5 dt 3 pt 6 lc rgb blue, \
	     of("block512", "0.01", "avx2", mode) using (aside($1, 1, 2, 1.08)):7:8:9 with yerrorlines lw 2.5 pt 7 lc rgb blue, \
	     of("floor", "0", "any", mode) using 1:7 with lines lw 2.5 lc rgb black, \
	     of("floor", "0", "any", mode eq "single" ? "waiting" : "none") using 1:7 with lines lw 2 dt (3, 3) lc rgb black
	unset label 100
	unset label 101
	unset ylabel
	set format y ""
	set ytics ("" 1, "" 2, "" 5, "" 10, "" 20, "" 50, "" 100, "" 200, "" 500)
}
# One legend for both panels
set lmargin at screen 0.03
set rmargin at screen 0.985
set tmargin at screen 0.255
set bmargin at screen 0.05
unset border
unset tics
unset xlabel
unset title
unset logscale
set key noopaque center center horizontal Left reverse samplen 3 width -1 maxrows 5
plot [0 : 1] [0 : 1] NaN with linespoints lw 2 pt 4 lc rgb red title "libbloom, 1 % (has no batches)", \
     NaN with linespoints lw 1.5 pt 12 lc rgb grey title "explicit: sorted hashes", \
     NaN with linespoints lw 1.5 pt 8 lc rgb orange title "classic, 1 %", \
     NaN with linespoints lw 2 pt 9 lc rgb sky title "cuckoo, 1 %", \
     NaN with linespoints lw 2 pt 5 lc rgb green title "block512x2, 0.01 %, AVX2", \
     NaN with linespoints lw 1.5 dt 2 pt 6 lc rgb blue title "block512, 1 %, portable C", \
     NaN with linespoints lw 1.5 dt 3 pt 6 lc rgb blue title "block512, 1 %, AVX-512", \
     NaN with linespoints lw 2.5 pt 7 lc rgb blue title "block512, 1 %, AVX2", \
     NaN with lines lw 2.5 lc rgb black title "lower bound: one load of 64 bytes", \
     NaN with lines lw 2 dt (3, 3) lc rgb black title "the same, each after the one before"
unset multiplot
