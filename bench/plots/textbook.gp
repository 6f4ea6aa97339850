# Does a classic filter do what the textbook says?
load style
set output output_file
set title "Classic filters, by bits per element: measured error rate (points), the textbook's (lines)"
set xlabel "hashes"
set ylabel "error rate" offset 1.5, 0
set logscale y
set ytics ("100 %%" 1, "10 %%" 0.1, "1 %%" 0.01, "0.1 %%" 1e-3, "0.01 %%" 1e-4, "0.001 %%" 1e-5, "0.0001 %%" 1e-6)
set xrange [0.7 : 8.2]
set yrange [3e-6 : 1.3]
set lmargin at screen 0.12
set rmargin at screen 0.82
unset key
ratios = "2 4 6 8 10 12 16 20 24 32"
colour(i) = word(blue." ".sky." ".green." ".yellow." ".orange." ".red." ".pink." ".black." ".grey." ".brown, i)
of(ratio, most) = lines("textbook", sprintf("$1 == 100000 && $3 == %s && $4 <= 8 && $4 >= %s", ratio, most))
# Each line is named at its end
plot for [i = 1 : words(ratios)] of(word(ratios, i), "1") using 4:5 with lines lw 1.2 lc rgb colour(i), \
     for [i = 1 : words(ratios)] of(word(ratios, i), "1") using 4:6 with points pt 7 ps 0.7 lc rgb colour(i), \
     for [i = 1 : words(ratios)] of(word(ratios, i), "8") using 4:5:(sprintf("%s bits", word(ratios, i))) \
         with labels left offset 1.2, 0 font ",13" tc rgb colour(i)
