# By how much a membership index speeds an EXISTS up
load style
height = 540
set terminal svg size width, height
set output output_file
set multiplot layout 1, 2 title "Which of five million visits went to a URL of a list?  CPU time, compared with no filter" \
    margins 0.075, 0.985, 0.29, 0.85 spacing 0.045, 0
set logscale xy
set xlabel "visits that are hits"
set xtics ("0.1 %%" 0.1, "1 %%" 1, "50 %%" 50)
set xrange [0.06 : 85]
set yrange [0.5 : 1.1 * most("join", "$5 != \"plain\"", 15)]
set ytics (0.5, 1, 2, 3, 5, 8, 12, 16)
unset key
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.5
set label 1 "without a filter" at graph 0.02, first 1 offset 0, -0.7 font ",12"
set label 101 ranges at screen 0.99, 0.025 right font ",12" tc rgb "#666666"
memories = system(sprintf("awk -F, '!/^#/ && header++ && !seen[$4]++ { print $4 }' '%s/join.csv'", results))
sizes = distinct("join", 2)
of(memory, size, method) = lines("join", "$4 == \"".memory."\" && $2 == ".size." && $5 == \"".method."\"")
colour(i) = word(orange." ".blue." ".red, i)
set ylabel "times as fast" offset 2.5, 0
do for [m = 1 : words(memories)] {
	set title "work_mem = ".word(memories, m) noenhanced
	plot for [i = 1 : words(sizes)] of(word(memories, m), word(sizes, i), "automatic") using (aside($3, i, 2 * words(sizes), 1.13)):13:14:15 \
	         with yerrorlines lw 2.5 pt 7 lc rgb colour(i), \
	     for [i = 1 : words(sizes)] of(word(memories, m), word(sizes, i), "by_hand") using (aside($3, i + words(sizes), 2 * words(sizes), 1.13)):13:14:15 \
	         with yerrorlines lw 2 dt (9, 3) pt 6 lc rgb colour(i)
	unset ylabel
	unset label 100
	unset label 101
	set format y ""
	set ytics ("" 0.5, "" 1, "" 2, "" 3, "" 5, "" 8, "" 12, "" 16)
}
# One legend for both panels
set lmargin at screen 0.03
set rmargin at screen 0.985
set tmargin at screen 0.16
set bmargin at screen 0.055
unset border
unset tics
unset xlabel
unset title
unset arrow 1
unset label 1
unset logscale
set key noopaque center center horizontal Left reverse samplen 3 width -7 maxrows 2
plot [0 : 1] [0 : 1] for [i = 1 : words(sizes)] NaN with linespoints lw 2.5 pt 7 lc rgb colour(i) title commas(word(sizes, i))." URLs, query unchanged", \
     for [i = 1 : words(sizes)] NaN with linespoints lw 2 dt (9, 3) pt 6 lc rgb colour(i) title commas(word(sizes, i))." URLs, membership_contains()"
unset multiplot
