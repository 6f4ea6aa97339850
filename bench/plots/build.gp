# What a filter takes to build: time, memory, and what is stored
load style
height = 560
set terminal svg size width, height
set output output_file
set multiplot title "Made of a column of five million distinct URLs, per row"
serial = lines("build", "$3 == 0")
parallel = lines("build", "$3 == 2")
methods = "count bloom_agg bloom_agg_sized cuckoo_agg cuckoo_agg_sized membership count_distinct array_agg btree hash_index"
# Where the file does not have the membership index yet, time is from script/bench writing,
# and size from script/bench current
missing = real(system(sprintf("grep -c ',membership,' '%s/build.csv'", results))) == 0 ? " && 1" : " && 0"
index_time(method) = lines("writing", "$2 == \"create_2\" && $3 == \"".method."\"".missing)
index_size = lines("current", "$2 == \"build\" && $3 == \"membership\"".missing)
# From the top down; the serial bar above the parallel one
place(name) = sum [i = 1 : words(methods)] (word(methods, i) eq name ? i : 0)
workers = "serial workers"
shade = blue." ".sky
upper(i) = place("membership") + (i == 1 ? -0.38 : 0)
short(x) = x < 0.005 ? "0" : x < 1 ? sprintf("%.2f", x) : x < 10 ? sprintf("%.1f", x) : sprintf("%.0f", x)
set yrange [10.6 : 0.4]
set style fill solid 0.85 noborder
set grid noytics
unset key
set tmargin at screen 0.86
set bmargin at screen 0.17
set label 101 "bar: median of the runs; whisker: least to most" at screen 0.99, 0.025 right font ",12" tc rgb "#666666"

set lmargin at screen 0.215
set rmargin at screen 0.46
set ytics ("count(url)" 1, "bloom\\_agg" 2, "bloom\\_agg, sized" 3, "cuckoo\\_agg" 4, "cuckoo\\_agg, sized" 5, "membership index" 6, "count(DISTINCT url)" 7, "array\\_agg" 8, "btree index" 9, "hash index" 10)
set xlabel "time, µs"
set xrange [0 : *] noextend
set offsets 0, graph 0.17, 0, 0
set xtics 0, 1
micros(ms, rows) = ms * 1000 / rows
plot serial using ($9 / 1000):(place(strcol(2))):(0):($9 / 1000):(place(strcol(2)) - 0.38):(place(strcol(2))) with boxxyerror lc rgb blue, \
     parallel using ($9 / 1000):(place(strcol(2))):(0):($9 / 1000):(place(strcol(2))):(place(strcol(2)) + 0.38) with boxxyerror lc rgb sky, \
     serial using ($9 / 1000):(place(strcol(2)) - 0.19):(micros($7, $4)):(micros($8, $4)) with xerrorbars pt 0 lw 1 lc rgb black, \
     parallel using ($9 / 1000):(place(strcol(2)) + 0.19):(micros($7, $4)):(micros($8, $4)) with xerrorbars pt 0 lw 1 lc rgb black, \
     serial using (micros($8, $4)):(place(strcol(2)) - 0.19):(short($9 / 1000)) with labels left offset 0.4, 0 font ",12", \
     parallel using (micros($8, $4)):(place(strcol(2)) + 0.19):(short($9 / 1000)) with labels left offset 0.4, 0 font ",12", \
     for [i = 1 : 2] index_time(word(workers, i)) using ($7 / 5e3):(upper(i)):(0):($7 / 5e3):(upper(i)):(upper(i) + 0.38) with boxxyerror lc rgb word(shade, i), \
     for [i = 1 : 2] index_time(word(workers, i)) using ($7 / 5e3):(upper(i) + 0.19):($8 / 5e3):($9 / 5e3) with xerrorbars pt 0 lw 1 lc rgb black, \
     for [i = 1 : 2] index_time(word(workers, i)) using ($9 / 5e3):(upper(i) + 0.19):(short($7 / 5e3)) with labels left offset 0.4, 0 font ",12"
unset label 100
unset label 101

set lmargin at screen 0.48
set rmargin at screen 0.72
set ytics ("" 1, "" 2, "" 3, "" 4, "" 5, "" 6, "" 7, "" 8, "" 9, "" 10)
set xlabel "peak memory, bytes"
set xtics 0, 100
plot serial using ($13 / $4):(place(strcol(2))):(0):($13 / $4):(place(strcol(2)) - 0.38):(place(strcol(2))) with boxxyerror lc rgb blue, \
     parallel using ($13 / $4):(place(strcol(2))):(0):($13 / $4):(place(strcol(2))):(place(strcol(2)) + 0.38) with boxxyerror lc rgb sky, \
     serial using ($13 / $4):(place(strcol(2)) - 0.19):(short($13 / $4)) with labels left offset 0.4, 0 font ",12", \
     parallel using ($13 / $4):(place(strcol(2)) + 0.19):(short($13 / $4)) with labels left offset 0.4, 0 font ",12"

set lmargin at screen 0.74
set rmargin at screen 0.985
set key at screen 0.985, 0.945 right top horizontal
set xlabel "result, bytes"
set xtics 0, 50
plot serial using ($14 / $4):(place(strcol(2))):(0):($14 / $4):(place(strcol(2)) - 0.38):(place(strcol(2)) + 0.38) with boxxyerror lc rgb blue title "serial", \
     NaN with boxes lc rgb sky title "two workers", \
     serial using ($14 / $4):(place(strcol(2))):(short($14 / $4)) with labels left offset 0.4, 0 font ",12" notitle, \
     index_size using 13:(place("membership")):(0):13:(place("membership") - 0.38):(place("membership") + 0.38) with boxxyerror lc rgb blue notitle, \
     index_size using 13:(place("membership")):(short($13)) with labels left offset 0.4, 0 font ",12" notitle
unset multiplot
