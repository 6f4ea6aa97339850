# So many lookups in a stored filter: is there a number from which on one more costs much?
load style
height = 560
set terminal svg size 900, height
set output output_file
set multiplot layout 1, 3 margins 0.085, 0.965, 0.25, 0.83 spacing 0.045, 0 \
    title "CPU time of 1 to 10,000 lookups in one stored filter, nothing cached before (log scales)" font ",16"
set logscale xy
set xtics ("1" 1, "10" 10, "100" 100, "1,000" 1e3, "10,000" 1e4) font ",12"
set xlabel "lookups" font ",14"
set xrange [1 : 1e4]
set yrange [10 : 2e5]
set ytics ("10 µs" 10, "100 µs" 100, "1 ms" 1e3, "10 ms" 1e4, "100 ms" 1e5)
unset key
array sizes[6] = ["10kB", "100kB", "1MB", "10MB", "100MB", "500MB"]
array names[6] = ["10 kB", "100 kB", "1 MB", "10 MB", "100 MB", "500 MB"]
array colours[6] = [blue, sky, green, orange, red, pink]
of(size, way) = lines("questions", "$2 == \"".size."\" && $4 == \"".way."\"")
array ways[3] = ["array", "rows", "series"]
array titles[3] = ["one statement, an array", "one statement, rows", "a statement for each"]
do for [way = 1 : 3] {
	set title titles[way] font ",14"
	plot for [i = 1 : 6] of(sizes[i], ways[way]) using 5:7 with linespoints lw 2 pt 7 ps 0.4 lc rgb colours[i]
	unset label 100
	set format y ""
	set ytics ("" 10, "" 100, "" 1e3, "" 1e4, "" 1e5)
}
# One legend for the three panels
set lmargin at screen 0.085
set rmargin at screen 0.985
set tmargin at screen 0.13
set bmargin at screen 0.06
unset border
unset tics
unset xlabel
unset title
unset logscale
set key noopaque center center horizontal Left reverse samplen 2 maxrows 1 font ",13"
plot [0 : 1] [0 : 1] for [i = 1 : 6] NaN with linespoints lw 2 pt 7 lc rgb colours[i] title names[i]
unset multiplot
