# One question at a time: does it matter how large a filter is?
load style
set output output_file
set multiplot layout 1, 2 title "One question to a stored filter, or to an index"
set logscale x
set format x "10^{%L}"
set xlabel "elements"
set yrange [0 : *]
set key bottom left Left reverse samplen 2
of(kind) = lines("lookup", "$2 == \"".kind."\"")
set ylabel "microseconds"
plot of("bloom") using 4:10:11:12 with yerrorlines lw 2 pt 7 lc rgb blue title "bloom, client waits", \
     of("cuckoo") using 4:10:11:12 with yerrorlines lw 2 pt 9 lc rgb sky title "cuckoo", \
     of("btree") using 4:10:11:12 with yerrorlines lw 2 pt 5 lc rgb orange title "btree", \
     of("bloom") using 4:7 with lines lw 1.5 dt 3 lc rgb blue title "bloom, planned and run in the server", \
     of("cuckoo") using 4:7 with lines lw 1.5 dt 3 lc rgb sky notitle, \
     of("btree") using 4:7 with lines lw 1.5 dt 3 lc rgb orange notitle
unset label 100
set ylabel "questions a second, two clients"
set key bottom left
plot of("bloom") using 4:13:14:15 with yerrorlines lw 2 pt 7 lc rgb blue title "bloom", \
     of("cuckoo") using 4:13:14:15 with yerrorlines lw 2 pt 9 lc rgb sky title "cuckoo", \
     of("btree") using 4:13:14:15 with yerrorlines lw 2 pt 5 lc rgb orange title "btree"
unset multiplot
