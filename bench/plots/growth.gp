# A filter made for 1,000 elements that takes millions
load style
set terminal svg size 1000,760
set output output_file
set multiplot layout 2, 2 title "A filter made for 1,000 elements at 1 %, as it grows to 10 million" \
    margins 0.085, 0.99, 0.17, 0.92 spacing 0.1, 0.13
set logscale x
set format x "10^{%L}"
set xlabel "elements"
set xrange [900 : 1.2e7]
of(filter, made) = lines("growth", "$1 == \"".filter."\" && $2 == \"".made."\"")
unset key
set ylabel "measured error rate, %"
set yrange [0 : 1.2]
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.2
set label 1 "requested" at graph 0.02, first 1 offset 0, 0.5 font ",11"
plot of("bloom", "grown") using 3:(100 * $8) with linespoints lw 2 pt 7 lc rgb blue, \
     of("cuckoo", "grown") using 3:(100 * $8) with linespoints lw 2 pt 9 lc rgb orange, \
     of("bloom", "sized") using 3:(100 * $8) with lines lw 1.5 dt 3 lc rgb blue, \
     of("cuckoo", "sized") using 3:(100 * $8) with lines lw 1.5 dt 3 lc rgb orange
unset arrow 1
unset label 1
set yrange [0 : 50]
set ylabel "bits an element"
plot of("bloom", "grown") using 3:6 with linespoints lw 2 pt 7 lc rgb blue, \
     of("cuckoo", "grown") using 3:6 with linespoints lw 2 pt 9 lc rgb orange, \
     of("bloom", "sized") using 3:6 with lines lw 1.5 dt 3 lc rgb blue, \
     of("cuckoo", "sized") using 3:6 with lines lw 1.5 dt 3 lc rgb orange
set logscale y
set yrange [* : *]
set ytics (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
set ylabel "ns a probe, absent"
plot of("bloom", "grown") using 3:13:14:15 with yerrorlines lw 2 pt 7 lc rgb blue, \
     of("cuckoo", "grown") using 3:13:14:15 with yerrorlines lw 2 pt 9 lc rgb orange, \
     of("bloom", "sized") using 3:13 with lines lw 1.5 dt 3 lc rgb blue, \
     of("cuckoo", "sized") using 3:13 with lines lw 1.5 dt 3 lc rgb orange
unset label 100
set ylabel "ns an add"
plot of("bloom", "grown") using 3:10:11:12 with yerrorlines lw 2 pt 7 lc rgb blue, \
     of("cuckoo", "grown") using 3:10:11:12 with yerrorlines lw 2 pt 9 lc rgb orange, \
     of("bloom", "sized") using 3:10 with lines lw 1.5 dt 3 lc rgb blue, \
     of("cuckoo", "sized") using 3:10 with lines lw 1.5 dt 3 lc rgb orange
# One legend for the four panels
set lmargin at screen 0.07
set rmargin at screen 0.99
set tmargin at screen 0.08
set bmargin at screen 0.05
unset border
unset tics
unset xlabel
unset ylabel
unset logscale
set key noopaque center center horizontal Left reverse samplen 2 width 2
plot [0 : 1] [0 : 1] NaN with linespoints lw 2 pt 7 lc rgb blue title "bloom, grown", \
     NaN with linespoints lw 2 pt 9 lc rgb orange title "cuckoo, grown", \
     NaN with lines lw 1.5 dt 3 lc rgb blue title "bloom, sized for that number", \
     NaN with lines lw 1.5 dt 3 lc rgb orange title "cuckoo, sized for that number"
unset multiplot
