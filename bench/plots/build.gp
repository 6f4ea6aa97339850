# What a filter takes to build: time, memory, and what is kept
load style
set terminal svg size 1000,560
set output output_file
set multiplot title "Made of a column of distinct URLs"
serial = lines("build", "$3 == 0")
parallel = lines("build", "$3 == 2")
methods = "count bloom_agg bloom_agg_sized cuckoo_agg cuckoo_agg_sized count_distinct array_agg btree hash_index"
# From the top down; the serial bar above the parallel one
place(name) = sum [i = 1 : words(methods)] (word(methods, i) eq name ? i : 0)
set yrange [9.6 : 0.4]
set style fill solid 0.85 noborder
set grid noytics
set xtics font ",11" rotate by -40
unset key
set tmargin at screen 0.92
set bmargin at screen 0.18

set lmargin at screen 0.18
set rmargin at screen 0.43
set ytics ("count" 1, "bloom\\_agg" 2, "bloom\\_agg, sized" 3, "cuckoo\\_agg" 4, "cuckoo\\_agg, sized" 5, "count(distinct)" 6, "array\\_agg" 7, "btree" 8, "hash index" 9)
set xlabel "time, {/Symbol m}s a row"
plot serial using ($9 / 1000):(place(strcol(2))):(0):($9 / 1000):(place(strcol(2)) - 0.38):(place(strcol(2))) with boxxyerror lc rgb blue, \
     parallel using ($9 / 1000):(place(strcol(2))):(0):($9 / 1000):(place(strcol(2))):(place(strcol(2)) + 0.38) with boxxyerror lc rgb sky
unset label 100

set lmargin at screen 0.46
set rmargin at screen 0.70
set ytics ("" 1, "" 2, "" 3, "" 4, "" 5, "" 6, "" 7, "" 8, "" 9)
set xlabel "memory at its peak, bytes a row"
plot serial using ($13 / $4):(place(strcol(2))):(0):($13 / $4):(place(strcol(2)) - 0.38):(place(strcol(2))) with boxxyerror lc rgb blue, \
     parallel using ($13 / $4):(place(strcol(2))):(0):($13 / $4):(place(strcol(2))):(place(strcol(2)) + 0.38) with boxxyerror lc rgb sky

set lmargin at screen 0.73
set rmargin at screen 0.97
set key top right
set xlabel "kept, bytes a row"
plot serial using ($14 / $4):(place(strcol(2))):(0):($14 / $4):(place(strcol(2)) - 0.38):(place(strcol(2)) + 0.38) with boxxyerror lc rgb blue title "serial", \
     NaN with boxes lc rgb sky title "two workers"
unset multiplot
