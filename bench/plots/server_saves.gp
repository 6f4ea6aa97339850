# What a filter before the exact check saves, in one glance
load style
height = 440
set terminal svg size width, height
set output output_file
set title "Finding the 0.1 % of five million visits that are on a blacklist" noenhanced
set ylabel "seconds"
set xlabel "URLs in the blacklist"
# For each size the fastest exact method, and the fastest with a filter before it
fastest = sprintf("awk -F, '/^#/ || !header++ || $3 != 0.1 || $4 != 0 || $6 != \"ok\" { next } $5 ~ /^(semijoin|any|btree|hash_index)$/ { kind = 0 } $5 ~ /^filter_/ { kind = 1 } $5 !~ /^(semijoin|any|btree|hash_index|filter_.*)$/ { next } !(($2, kind) in best) || $9 < best[$2, kind] { best[$2, kind] = $9; least[$2, kind] = $10; most[$2, kind] = $11 } { sizes[$2] } END { for (size in sizes) print size, best[size, 0], least[size, 0], most[size, 0], best[size, 1], least[size, 1], most[size, 1] }' '%s/server.csv' | sort -n", results)
set datafile separator whitespace
unset datafile columnheaders
# The file has nanoseconds per visit
seconds(ns) = ns * 5e6 / 1e9
sizes = system(fastest." | cut -d ' ' -f 1")
set style fill solid 0.85 noborder
set boxwidth 0.36
set xrange [-0.6 : words(sizes) - 0.4]
set yrange [0 : *]
set offsets 0, 0, graph 0.1, 0
set key top left Left reverse samplen 2 spacing 1.2
set xtics ()
set for [i = 1 : words(sizes)] xtics add (commas(word(sizes, i)) i - 1)
set xtics scale 0
set grid noxtics
set label 101 "bar: median of the runs; line: least to most" at screen 0.99, 0.025 right font ",12" tc rgb "#666666"
plot "< ".fastest using ($0 - 0.19):(seconds($2)) with boxes lc rgb orange title "exact check alone, the fastest way", \
     "< ".fastest using ($0 + 0.19):(seconds($5)) with boxes lc rgb blue title "bloom filter, then the exact check", \
     "< ".fastest using ($0 - 0.19):(seconds($3)):(0):(seconds($4 - $3)) with vectors nohead lc rgb black notitle, \
     "< ".fastest using ($0 + 0.19):(seconds($6)):(0):(seconds($7 - $6)) with vectors nohead lc rgb black notitle, \
     "< ".fastest using ($0 - 0.19):(seconds($4)):(sprintf("%.1f", seconds($2))) with labels center offset 0, 0.7 font ",13" notitle, \
     "< ".fastest using ($0 + 0.19):(seconds($7)):(sprintf("%.1f:\n%.1f times\nas fast", seconds($5), $2 / $5)) with labels center offset 0, 2.7 font ",13" notitle
