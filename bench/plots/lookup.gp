# One lookup at a time: does it matter how large a filter is?
load style
height = 500
set terminal svg size width, height
set output output_file
set multiplot layout 1, 2 title "One lookup in a stored filter, or in the btree of a table: a prepared query" \
    margins 0.075, 0.99, 0.3, 0.84 spacing 0.085, 0
set logscale x
set xlabel "elements"
set xrange [4e3 : 8e8]
set xtics ("10,000" 1e4, "1 million" 1e6, "100 million" 1e8)
set yrange [0 : *]
unset key
set label 101 ranges at screen 0.99, 0.025 right font ",11" tc rgb "#666666"
of(kind) = lines("lookup", "$2 == \"".kind."\"")
set title "microseconds of one client"
plot of("bloom") using (aside($4, 1, 3, 1.2)):10:11:12 with yerrorlines lw 2 pt 7 lc rgb blue, \
     of("cuckoo") using (aside($4, 3, 3, 1.2)):10:11:12 with yerrorlines lw 2 pt 9 lc rgb green, \
     of("btree") using (aside($4, 2, 3, 1.2)):10:11:12 with yerrorlines lw 2 pt 5 lc rgb orange, \
     of("bloom") using 4:7 with lines lw 2 dt (3, 3) lc rgb blue, \
     of("cuckoo") using 4:7 with lines lw 2 dt (3, 3) lc rgb green, \
     of("btree") using 4:7 with lines lw 2 dt (3, 3) lc rgb orange, \
     across("lookup", "$2 == \"select_1\"", 10) using 1:2 with lines lw 2 lc rgb grey, \
     across("lookup", "$2 == \"select_1\"", 7) using 1:2 with lines lw 2 dt (3, 3) lc rgb grey
unset label 100
unset label 101
set title "thousand lookups a second, of two clients"
thousands(x) = x / 1000
plot of("bloom") using (aside($4, 1, 3, 1.2)):(thousands($13)):(thousands($14)):(thousands($15)) with yerrorlines lw 2 pt 7 lc rgb blue, \
     of("cuckoo") using (aside($4, 3, 3, 1.2)):(thousands($13)):(thousands($14)):(thousands($15)) with yerrorlines lw 2 pt 9 lc rgb green, \
     of("btree") using (aside($4, 2, 3, 1.2)):(thousands($13)):(thousands($14)):(thousands($15)) with yerrorlines lw 2 pt 5 lc rgb orange, \
     across("lookup", "$2 == \"select_1\"", 13) using 1:(thousands($2)) with lines lw 2 lc rgb grey
# One legend for both panels
set lmargin at screen 0.05
set rmargin at screen 0.99
set tmargin at screen 0.16
set bmargin at screen 0.06
unset border
unset tics
unset xlabel
unset title
unset logscale
set key noopaque center center horizontal Left reverse samplen 3 width -5 maxrows 2
plot [0 : 1] [0 : 1] NaN with linespoints lw 2 pt 7 lc rgb blue title "bloom", \
     NaN with linespoints lw 2 pt 9 lc rgb green title "cuckoo", \
     NaN with linespoints lw 2 pt 5 lc rgb orange title "btree", \
     NaN with lines lw 2 lc rgb grey title "SELECT 1", \
     NaN with lines lw 2 lc rgb black title "the client waits", \
     NaN with lines lw 2 dt (3, 3) lc rgb black title "CPU time of the server meanwhile"
unset multiplot
