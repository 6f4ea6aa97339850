# One lookup at a time: does it matter how large a filter is?
load style
set terminal svg size 1000,580
set output output_file
set multiplot layout 1, 2 title "One lookup in a stored filter, or in an index"
set logscale x
set format x "10^{%L}"
set xlabel "elements"
set xrange [4e3 : 1e9]
set yrange [0 : 145]
set ytics 0, 20
set key top left Left reverse samplen 2 font ",12"
of(kind) = lines("lookup", "$2 == \"".kind."\"")
set ylabel "microseconds"
plot NaN with lines lw 2 lc rgb black title "prepared query: time that the client waits", \
     NaN with lines lw 1.5 dt 3 lc rgb black title "planned each time: time in the server", \
     of("bloom") using 4:10:11:12 with yerrorlines lw 2 pt 7 lc rgb blue title "bloom", \
     of("cuckoo") using 4:10:11:12 with yerrorlines lw 2 pt 9 lc rgb green title "cuckoo", \
     of("btree") using 4:10:11:12 with yerrorlines lw 2 pt 5 lc rgb orange title "btree", \
     of("bloom") using 4:7 with lines lw 1.5 dt 3 lc rgb blue notitle, \
     of("cuckoo") using 4:7 with lines lw 1.5 dt 3 lc rgb green notitle, \
     of("btree") using 4:7 with lines lw 1.5 dt 3 lc rgb orange notitle
unset label 100
set ylabel "thousand lookups a second, two clients"
set yrange [0 : 90]
set ytics 0, 20
thousands(x) = x / 1000
plot of("bloom") using 4:(thousands($13)):(thousands($14)):(thousands($15)) with yerrorlines lw 2 pt 7 lc rgb blue title "bloom", \
     of("cuckoo") using 4:(thousands($13)):(thousands($14)):(thousands($15)) with yerrorlines lw 2 pt 9 lc rgb green title "cuckoo", \
     of("btree") using 4:(thousands($13)):(thousands($14)):(thousands($15)) with yerrorlines lw 2 pt 5 lc rgb orange title "btree"
unset multiplot
