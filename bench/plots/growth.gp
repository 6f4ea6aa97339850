# A filter made for 1,000 elements that takes millions
load style
set terminal svg size 1000,720
set output output_file
set multiplot layout 2, 2 title "Made for 1,000 elements at 1 %, and what became of it"
set logscale x
set format x "10^{%L}"
set xlabel "elements"
set xrange [900 : 1.2e7]
of(filter, made) = lines("growth", "$1 == \"".filter."\" && $2 == \"".made."\"")
unset key
set ylabel "error rate measured, %"
set yrange [0 : 1.2]
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.2
set label 1 "asked for" at graph 0.02, first 1 offset 0, 0.5 font ",11"
plot of("bloom", "grown") using 3:(100 * $8) with linespoints lw 2 pt 7 lc rgb blue, \
     of("cuckoo", "grown") using 3:(100 * $8) with linespoints lw 2 pt 9 lc rgb orange, \
     of("bloom", "sized") using 3:(100 * $8) with lines lw 1.5 dt 3 lc rgb blue, \
     of("cuckoo", "sized") using 3:(100 * $8) with lines lw 1.5 dt 3 lc rgb orange
unset arrow 1
unset label 1
set yrange [0 : 70]
set ylabel "bits an element"
set key top left Left reverse samplen 2
plot of("bloom", "grown") using 3:6 with linespoints lw 2 pt 7 lc rgb blue title "bloom, grown", \
     of("cuckoo", "grown") using 3:6 with linespoints lw 2 pt 9 lc rgb orange title "cuckoo, grown", \
     of("bloom", "sized") using 3:6 with lines lw 1.5 dt 3 lc rgb blue title "bloom, sized for that number", \
     of("cuckoo", "sized") using 3:6 with lines lw 1.5 dt 3 lc rgb orange title "cuckoo, sized for that number"
unset key
set logscale y
set yrange [* : *]
set ytics (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
set ylabel "ns a probe (absent, one at a time)"
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
unset multiplot
