# So many questions about a stored filter: is there a number from which on one more
# costs much?
load style
set terminal svg size 1100,520
set output output_file
set multiplot layout 1, 3 margins 0.07, 0.98, 0.2, 0.82 spacing 0.08 title "CPU time of so many questions about a stored filter, none of which is in memory before"
set logscale xy
set xtics ("1" 1, "10" 10, "100" 100, "1,000" 1e3, "10,000" 1e4)
set xlabel "questions"
set xrange [1 : 1e4]
set yrange [5 : 1e6]
set ytics ("10 µs" 10, "100 µs" 100, "1 ms" 1e3, "10 ms" 1e4, "100 ms" 1e5, "1 s" 1e6)
set key top left Left reverse samplen 2 font ",11"
array sizes[6] = ["10kB", "100kB", "1MB", "10MB", "100MB", "500MB"]
array names[6] = ["10 kB", "100 kB", "1 MB", "10 MB", "100 MB", "500 MB"]
array colours[6] = [blue, sky, green, orange, red, pink]
of(size, way) = lines("questions", "$2 == \"".size."\" && $4 == \"".way."\"")
set title "an array in one statement"
plot for [i = 1 : 6] of(sizes[i], "array") using 5:7 with linespoints lw 2 pt 7 ps 0.4 lc rgb colours[i] title names[i]
unset label 100
unset key
set title "rows of one statement"
plot for [i = 1 : 6] of(sizes[i], "rows") using 5:7 with linespoints lw 2 pt 7 ps 0.4 lc rgb colours[i]
set title "one statement after the other"
plot for [i = 1 : 6] of(sizes[i], "series") using 5:7 with linespoints lw 2 pt 7 ps 0.4 lc rgb colours[i]
unset multiplot
