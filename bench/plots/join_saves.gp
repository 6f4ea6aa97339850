# The picture of README.md: an unchanged query before and after CREATE INDEX, in one glance
load style
height = 400
set terminal svg size width, height
set output output_file
set title "Which of five million visits went to a URL of a list?  The same query, before and after CREATE INDEX" noenhanced
set xlabel "seconds"
# At 1 % hits and the smaller work_mem: for each size the query without and with the index
times = sprintf("awk -F, '/^#/ || !header++ || $1 != 15 || $3 != 1 || $4 == \"1GB\" { next } $5 == \"plain\" { plain[$2] = $10 } $5 == \"automatic\" { automatic[$2] = $10; gain[$2] = $16 } END { for (size in plain) print size, plain[size] / 1000, automatic[size] / 1000, gain[size] }' '%s/join.csv' | sort -n", results)
set datafile separator whitespace
unset datafile columnheaders
sizes = system(times." | cut -d ' ' -f 1")
set style fill solid 0.85 noborder
bar = 0.19
set xrange [0 : *]
set yrange [words(sizes) - 0.35 : -0.6]
set offsets 0, graph 0.25, 0, 0
set key bottom right Left reverse samplen 2 spacing 1.2
set lmargin 18
set bmargin 6
set ytics ()
set for [i = 1 : words(sizes)] ytics add (commas(word(sizes, i))." URLs" i - 1)
set ytics scale 0
set grid noytics
set label 101 "median of the runs; work\\_mem = 4MB" at screen 0.99, 0.025 right font ",11" tc rgb "#666666"
plot "< ".times using (0):($0 - 0.22):(0):2:($0 - 0.22 - bar):($0 - 0.22 + bar) with boxxyerror lc rgb orange title "without the index", \
     "< ".times using (0):($0 + 0.22):(0):3:($0 + 0.22 - bar):($0 + 0.22 + bar) with boxxyerror lc rgb blue title "with the index", \
     "< ".times using 2:($0 - 0.22):(sprintf(" %.1f", $2)) with labels left offset 0.6, 0 font ",13" notitle, \
     "< ".times using 3:($0 + 0.22):(sprintf(" %.1f: %.1f times as fast", $3, $4)) with labels left offset 0.6, 0 font ",13" notitle
