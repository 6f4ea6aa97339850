# Does a classic filter do what the textbook says?
load style
set output output_file
set title "Classic filters: measured error rate (points) and the textbook's (lines)"
set xlabel "hashes"
set ylabel "error rate"
set logscale y
set format y "10^{%L}"
set xrange [0.7 : 8.3]
set key outside right center Left reverse title "bits an element"
ratios = "2 4 6 8 10 12 16 20 24 32"
colour(i) = word(blue." ".sky." ".green." ".yellow." ".orange." ".red." ".pink." ".black." ".grey." ".brown, i)
of(ratio) = lines("textbook", sprintf("$1 == 100000 && $3 == %s && $4 <= 8", ratio))
plot for [i = 1 : words(ratios)] of(word(ratios, i)) using 4:5 with lines lw 1 lc rgb colour(i) notitle, \
     for [i = 1 : words(ratios)] of(word(ratios, i)) using 4:6 with points pt 7 ps 0.7 lc rgb colour(i) title word(ratios, i), \
     NaN with lines lw 1 lc rgb black title "textbook"
