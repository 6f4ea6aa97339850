# A filter made for 1,000 elements that takes millions
load style
height = 780
set terminal svg size width, height
set output output_file
set multiplot layout 2, 2 title "A filter made for 1,000 elements at 1 %, as it grows to 10 million" font ",16" \
    margins 0.085, 0.955, 0.215, 0.9 spacing 0.095, 0.14
set logscale x
set xlabel "elements (log scale)"
set xtics ("1,000" 1e3, "10,000" 1e4, "100,000" 1e5, "1 million" 1e6, "10 million" 1e7) font ",12"
set xrange [900 : 1.3e7]
of(filter, made) = lines("growth", "$1 == \"".filter."\" && $2 == \"".made."\"")
unset key
set label 101 ranges at screen 0.99, 0.025 right font ",11" tc rgb "#666666"
set title "measured error rate, %"
set yrange [0 : 1.2]
set ytics 0, 0.2
set format y "%.1f"
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.2
set label 1 "requested" at graph 0.02, first 1 offset 0, 0.6 font ",12"
plot of("bloom", "grown") using 3:(100 * $8) with linespoints lw 2 pt 7 ps 0.8 lc rgb blue, \
     of("cuckoo", "grown") using 3:(100 * $8) with linespoints lw 2 pt 9 ps 0.8 lc rgb orange, \
     of("bloom", "sized") using 3:(100 * $8) with lines lw 2 dt (3, 3) lc rgb blue, \
     of("cuckoo", "sized") using 3:(100 * $8) with lines lw 2 dt (3, 3) lc rgb orange
unset arrow 1
unset label 1
unset label 100
unset label 101
set yrange [0 : *]
set ytics 0, 10
set format y "%g"
set title "bits an element"
plot of("bloom", "grown") using 3:6 with linespoints lw 2 pt 7 ps 0.8 lc rgb blue, \
     of("cuckoo", "grown") using 3:6 with linespoints lw 2 pt 9 ps 0.8 lc rgb orange, \
     of("bloom", "sized") using 3:6 with lines lw 2 dt (3, 3) lc rgb blue, \
     of("cuckoo", "sized") using 3:6 with lines lw 2 dt (3, 3) lc rgb orange
set logscale y
set yrange [* : *]
set ytics ("1" 1, "2" 2, "5" 5, "10" 10, "20" 20, "50" 50, "100" 100, "200" 200, "500" 500, "1,000" 1000)
set title "nanoseconds a probe for an absent element (log scale)"
plot of("bloom", "grown") using (aside($3, 1, 2, 1.07)):13:14:15 with yerrorlines lw 2 pt 7 ps 0.8 lc rgb blue, \
     of("cuckoo", "grown") using (aside($3, 2, 2, 1.07)):13:14:15 with yerrorlines lw 2 pt 9 ps 0.8 lc rgb orange, \
     of("bloom", "sized") using 3:13 with lines lw 2 dt (3, 3) lc rgb blue, \
     of("cuckoo", "sized") using 3:13 with lines lw 2 dt (3, 3) lc rgb orange
set title "nanoseconds an addition (log scale)"
plot of("bloom", "grown") using (aside($3, 1, 2, 1.07)):10:11:12 with yerrorlines lw 2 pt 7 ps 0.8 lc rgb blue, \
     of("cuckoo", "grown") using (aside($3, 2, 2, 1.07)):10:11:12 with yerrorlines lw 2 pt 9 ps 0.8 lc rgb orange, \
     of("bloom", "sized") using 3:10 with lines lw 2 dt (3, 3) lc rgb blue, \
     of("cuckoo", "sized") using 3:10 with lines lw 2 dt (3, 3) lc rgb orange
# One legend for the four panels
set lmargin at screen 0.05
set rmargin at screen 0.98
set tmargin at screen 0.115
set bmargin at screen 0.045
unset border
unset tics
unset xlabel
unset title
unset logscale
set key noopaque center center horizontal Left reverse samplen 3 width 2 maxrows 2
plot [0 : 1] [0 : 1] NaN with linespoints lw 2 pt 7 lc rgb blue title "bloom, grown", \
     NaN with linespoints lw 2 pt 9 lc rgb orange title "cuckoo, grown", \
     NaN with lines lw 2 dt (3, 3) lc rgb blue title "bloom, made for that number", \
     NaN with lines lw 2 dt (3, 3) lc rgb orange title "cuckoo, made for that number"
unset multiplot
