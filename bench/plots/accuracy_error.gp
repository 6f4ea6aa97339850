# Is the error rate as requested?
load style
set terminal svg size 1000,520
set output output_file
set multiplot layout 1, 2 title "Measured error rate, divided by the requested one"
set logscale x
set format x "10^{%L}"
set xlabel "requested error rate"
set xrange [2.5e-7 : 0.4]
set yrange [0 : 1.4]
set ytics 0, 0.2
set ylabel "measured / requested"
set lmargin at screen 0.08
set rmargin at screen 0.52
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.2
set errorbars small
set key bottom left Left reverse samplen 2 spacing 1.2 title "bloom, elements"
# The bars show by how much chance moves a measurement; sizes stand side by side
of(kind, layout, elements) = lines("accuracy", sprintf("$1 == \"%s\" && $2 ~ \"%s\" && $4 == %s", kind, layout, elements))
low(ratio, spread) = ratio * (1 - spread)
high(ratio, spread) = ratio * (1 + spread)
plot of("fixed", "block512", "1000") using ($5 * 0.76):7:(low($7, $14)):(high($7, $14)) with yerrorbars pt 7 ps 0.7 lc rgb orange title "1,000", \
     of("fixed", "block512", "100000") using ($5 * 0.91):7:(low($7, $14)):(high($7, $14)) with yerrorbars pt 5 ps 0.7 lc rgb green title "100,000", \
     of("fixed", "block512", "3000000") using ($5 * 1.1):7:(low($7, $14)):(high($7, $14)) with yerrorbars pt 9 ps 0.8 lc rgb blue title "3 million", \
     of("grown", "block512", "1000000") using ($5 * 1.32):7:(low($7, $14)):(high($7, $14)) with yerrorbars pt 13 ps 0.8 lc rgb pink title "1,000, grown to 1 million"
unset label 100
unset ylabel
set lmargin at screen 0.55
set rmargin at screen 0.99
set format y ""
set key title "cuckoo, elements"
plot of("fixed", "cuckoo", "1000") using ($5 * 0.76):7:(low($7, $14)):(high($7, $14)) with yerrorbars pt 7 ps 0.7 lc rgb orange title "1,000", \
     of("fixed", "cuckoo", "100000") using ($5 * 0.91):7:(low($7, $14)):(high($7, $14)) with yerrorbars pt 5 ps 0.7 lc rgb green title "100,000", \
     of("fixed", "cuckoo", "3000000") using ($5 * 1.1):7:(low($7, $14)):(high($7, $14)) with yerrorbars pt 9 ps 0.8 lc rgb blue title "3 million", \
     of("grown", "cuckoo", "1000000") using ($5 * 1.32):7:(low($7, $14)):(high($7, $14)) with yerrorbars pt 13 ps 0.8 lc rgb pink title "1,000, grown to 1 million"
unset multiplot
