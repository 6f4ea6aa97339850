# The picture of README.md: what a filter before the exact check saves, in one glance
load style
set terminal svg size 800,420
set output output_file
set title "Finding the 0.1 % of five million visits that are on a blacklist"
set ylabel "nanoseconds a visit"
set xlabel "URLs in the blacklist"
# For each size the fastest exact method, and the fastest with a filter before it
fastest = sprintf("awk -F, '/^#/ || !header++ || $3 != 0.1 || $4 != 0 || $6 != \"ok\" { next } $5 ~ /^(semijoin|any|btree|hash_index)$/ { kind = 0 } $5 ~ /^filter_/ { kind = 1 } $5 !~ /^(semijoin|any|btree|hash_index|filter_.*)$/ { next } !(($2, kind) in best) || $9 < best[$2, kind] { best[$2, kind] = $9; least[$2, kind] = $10; most[$2, kind] = $11 } { sizes[$2] } END { for (size in sizes) print size, best[size, 0], least[size, 0], most[size, 0], best[size, 1], least[size, 1], most[size, 1] }' '%s/server.csv' | sort -n", results)
set datafile separator whitespace
unset datafile columnheaders
sizes = system(fastest." | cut -d ' ' -f 1")
set style fill solid 0.85 noborder
set boxwidth 0.36
set xrange [-0.6 : words(sizes) - 0.4]
set yrange [0 : *]
set key top left Left reverse samplen 2 spacing 1.2
set xtics ()
set for [i = 1 : words(sizes)] xtics add (commas(word(sizes, i)) i - 1)
set xtics scale 0
set grid noxtics
plot "< ".fastest using ($0 - 0.19):2 with boxes lc rgb orange title "exact check alone, the fastest way", \
     "< ".fastest using ($0 + 0.19):5 with boxes lc rgb blue title "bloom filter, then the exact check", \
     "< ".fastest using ($0 - 0.19):3:(0):($4 - $3) with vectors nohead lc rgb black notitle, \
     "< ".fastest using ($0 + 0.19):6:(0):($7 - $6) with vectors nohead lc rgb black notitle, \
     "< ".fastest using ($0 + 0.19):7:(sprintf("%.1f times\nas fast", $2 / $5)) with labels center offset 0, 1.4 font ",12" notitle
