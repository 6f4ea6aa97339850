# A lookup by another key than that of the partitions: what does each partition add?
load style
set output output_file
set multiplot layout 1, 2 title "A lookup in a partitioned table, by a value that one partition has (log scales)" \
    margins 0.075, 0.99, 0.3, 0.84 spacing 0.085, 0
set logscale xy
set xlabel "partitions"
set xrange [7 : 1400]
set xtics ("10" 10, "30" 30, "100" 100, "300" 300, "1,000" 1000)
unset key
set label 101 ranges at screen 0.99, 0.025 right font ",12" tc rgb "#666666"
of(form, method) = lines("partitions", "$2 == \"".form."\" && $5 == \"".method."\"")
array forms[2] = ["lookup", "cold"]
array titles[2] = ["all in memory: CPU time, ms", "btrees not in memory: elapsed, ms"]
do for [i = 1 : 2] {
	set title titles[i] font ",14"
	plot of(forms[i], "without") using 3:8:9:10 with yerrorlines lw 2 pt 5 lc rgb orange, \
	     of(forms[i], "with") using 3:8:9:10 with yerrorlines lw 2 pt 7 lc rgb blue
	unset label 100
	unset label 101
}
# One legend for both panels
set lmargin at screen 0.05
set rmargin at screen 0.99
set tmargin at screen 0.14
set bmargin at screen 0.06
unset border
unset tics
unset xlabel
unset title
unset logscale
set key noopaque center center horizontal Left reverse samplen 3 maxrows 1
plot [0 : 1] [0 : 1] NaN with linespoints lw 2 pt 5 lc rgb orange title "without", \
     NaN with linespoints lw 2 pt 7 lc rgb blue title "bloomfilter.partition_filter = on"
unset multiplot
