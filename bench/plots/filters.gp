# The filters alone: what a probe takes, beside one load from memory
load style
set terminal svg size 1140,560
set output output_file
set multiplot layout 1, 2 title "Probing for an absent element, its hash included, without a server"
set logscale xy
set format x "10^{%L}"
set xlabel "elements"
set yrange [2 : 1500]
set ytics (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
set xrange [7e4 : 1.4e8]
unset key
of(layout, rate, kernel, mode) = lines("filters", sprintf("$2 == \"%s\" && $3 == %s && (\"%s\" == \"any\" || $4 == \"%s\") && $5 == \"absent\" && $6 == \"%s\"", layout, rate, kernel, kernel, mode))
set ylabel "nanoseconds, one at a time"
set lmargin at screen 0.085
set rmargin at screen 0.37
plot of("libbloom", "0.01", "any", "single") using 1:7:8:9 with yerrorlines lw 2 pt 4 lc rgb red title "libbloom 1 %", \
     of("explicit", "0", "any", "single") using 1:7 with linespoints lw 1.5 pt 12 lc rgb grey title "explicit", \
     of("classic", "0.01", "any", "single") using 1:7 with linespoints lw 1.5 pt 8 lc rgb orange title "classic 1 %", \
     of("cuckoo", "0.01", "any", "single") using 1:7 with linespoints lw 2 pt 9 lc rgb sky title "cuckoo 1 %", \
     of("block512x2", "0.0001", "avx2", "single") using 1:7 with linespoints lw 2 pt 5 lc rgb green title "block512x2 1e-4, AVX2", \
     of("block512", "0.01", "portable", "single") using 1:7 with linespoints lw 1.5 dt 2 pt 6 lc rgb blue title "block512 1 %, portable", \
     of("block512", "0.01", "avx512", "single") using 1:7 with linespoints lw 1.5 dt 3 pt 6 lc rgb blue title "block512 1 %, AVX-512", \
     of("block512", "0.01", "avx2", "single") using 1:7:8:9 with yerrorlines lw 2.5 pt 7 lc rgb blue title "block512 1 %, AVX2", \
     of("floor", "0", "any", "single") using 1:7 with lines lw 2.5 lc rgb black title "lower bound", \
     of("floor", "0", "any", "waiting") using 1:7 with lines lw 1.5 dt 3 lc rgb black title "loads that wait for each other"
unset label 100
set ylabel "nanoseconds, in batches"
set lmargin at screen 0.455
set rmargin at screen 0.725
set key at screen 0.995, 0.85 right top Left reverse samplen 2 spacing 1.25 font ",12"
plot of("libbloom", "0.01", "any", "single") using 1:7 with linespoints lw 2 pt 4 lc rgb red title "libbloom 1 % (no batches)", \
     of("explicit", "0", "any", "batch") using 1:7 with linespoints lw 1.5 pt 12 lc rgb grey title "explicit", \
     of("classic", "0.01", "any", "batch") using 1:7 with linespoints lw 1.5 pt 8 lc rgb orange title "classic 1 %", \
     of("cuckoo", "0.01", "any", "batch") using 1:7 with linespoints lw 2 pt 9 lc rgb sky title "cuckoo 1 %", \
     of("block512x2", "0.0001", "avx2", "batch") using 1:7 with linespoints lw 2 pt 5 lc rgb green title "block512x2 0.01 %, AVX2", \
     of("block512", "0.01", "portable", "batch") using 1:7 with linespoints lw 1.5 dt 2 pt 6 lc rgb blue title "block512 1 %, portable", \
     of("block512", "0.01", "avx512", "batch") using 1:7 with linespoints lw 1.5 dt 3 pt 6 lc rgb blue title "block512 1 %, AVX-512", \
     of("block512", "0.01", "avx2", "batch") using 1:7:8:9 with yerrorlines lw 2.5 pt 7 lc rgb blue title "block512 1 %, AVX2", \
     of("floor", "0", "any", "batch") using 1:7 with lines lw 2.5 lc rgb black title "lower bound: loads of 64 bytes", \
     NaN with lines lw 1.5 dt 3 lc rgb black title "loads that wait for each other"
unset multiplot
