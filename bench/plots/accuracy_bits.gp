# What an error rate costs in bits
load style
set output output_file
set title "What an error rate costs: bits per element, in filters of 3 million"
set xlabel "measured error rate"
set ylabel "bits per element"
set logscale x
set xrange [0.3 : 5e-7]
set xtics ("10 %%" 0.1, "1 %%" 0.01, "0.1 %%" 1e-3, "0.01 %%" 1e-4, "0.001 %%" 1e-5, "0.0001 %%" 1e-6)
set yrange [0 : 35]
set key top left Left reverse samplen 2 spacing 1.2
of(layout) = lines("accuracy", sprintf("$1 == \"fixed\" && $2 == \"%s\" && $4 == 3000000 && $6 > 0", layout))
bits(rate) = log(1 / rate) / log(2)
plot of("block512") using 6:9 with linespoints lw 2 pt 7 lc rgb blue title "bloom: block512", \
     of("block512x2") using 6:9 with linespoints lw 2 pt 5 lc rgb green title "bloom: block512x2", \
     of("cuckoo") using 6:9 with linespoints lw 2 pt 9 lc rgb orange title "cuckoo", \
     bits(x) / log(2) with lines lw 1.5 dt 2 lc rgb grey title "the textbook's Bloom filter", \
     bits(x) with lines lw 1.5 lc rgb black title "lower bound for any filter"
