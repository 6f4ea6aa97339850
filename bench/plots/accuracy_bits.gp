# What an error rate costs in bits
load style
set output output_file
set title "What an error rate costs: bits an element, 3 million elements"
set xlabel "log_2(1/error rate), measured"
set ylabel "bits an element"
set xrange [2 : 21]
set yrange [0 : 40]
set key top left Left reverse samplen 2 spacing 1.2
rates = "10% 1% 0.1% 0.01% 1e-5 1e-6"
set for [i = 1 : 6] label i word(rates, i) at (i * log(10) / log(2)), 1 center font ",10" tc rgb "#666666"
of(layout) = lines("accuracy", sprintf("$1 == \"fixed\" && $2 == \"%s\" && $4 == 3000000 && $6 > 0", layout))
bits(rate) = log(1 / rate) / log(2)
plot of("block512") using (bits($6)):9 with linespoints lw 2 pt 7 lc rgb blue title "block512", \
     of("block512x2") using (bits($6)):9 with linespoints lw 2 pt 5 lc rgb green title "block512x2", \
     of("cuckoo") using (bits($6)):9 with linespoints lw 2 pt 9 lc rgb orange title "cuckoo", \
     x / log(2) with lines lw 1.5 dt 2 lc rgb grey title "the textbook's Bloom filter", \
     x with lines lw 1.5 lc rgb black title "lower bound for any filter"
