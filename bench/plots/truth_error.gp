# Is the error rate what was asked for?
load style
set output output_file
set title "The error rate that was asked for, and the one that came about"
set logscale xy
set format xy "10^{%L}"
set xlabel "asked for"
set ylabel "measured"
set xrange [3e-7 : 0.3]
set yrange [1e-7 : 0.3]
set key outside right center Left reverse samplen 2 spacing 1.2
of(kind, layout, elements) = lines("truth", sprintf("$1 == \"%s\" && $2 ~ \"%s\" && $4 == %s", kind, layout, elements))
plot x with lines lw 1.5 lc rgb black title "equal", \
     of("fixed", "block512", "1000") using 5:6 with points pt 6 ps 1.1 lc rgb blue title "bloom, 1,000", \
     of("fixed", "block512", "100000") using 5:6 with points pt 7 ps 0.8 lc rgb blue title "bloom, 100,000", \
     of("fixed", "block512", "3000000") using 5:6 with points pt 4 ps 1.1 lc rgb blue title "bloom, 3 million", \
     of("grown", "block512", "1000000") using 5:6 with points pt 2 ps 1.0 lw 2 lc rgb green title "bloom, 1,000 grown to 1 million", \
     of("fixed", "cuckoo", "1000") using 5:6 with points pt 8 ps 1.1 lc rgb orange title "cuckoo, 1,000", \
     of("fixed", "cuckoo", "100000") using 5:6 with points pt 9 ps 0.8 lc rgb orange title "cuckoo, 100,000", \
     of("fixed", "cuckoo", "3000000") using 5:6 with points pt 10 ps 1.1 lc rgb orange title "cuckoo, 3 million", \
     of("grown", "cuckoo", "1000000") using 5:6 with points pt 1 ps 1.0 lw 2 lc rgb red title "cuckoo, 1,000 grown to 1 million"
