# What all pictures have in common: the width of a page of the docs, the white
# background, colours that differ for the colour-blind as well (Okabe and Ito's), and,
# at the bottom, where the figures are from.
set encoding utf8
width = 800
height = 520
set terminal svg size width, height dynamic enhanced font "Helvetica,14" background "white" linewidth 1.2
set datafile separator ","
set datafile commentschars "#"
set datafile columnheaders
set datafile missing NaN
set border 3 lc rgb "#444444"
set tics nomirror out font ",13"
set grid lc rgb "#dddddd" lt 1 lw 0.6
set key noenhanced opaque font ",13"
set errorbars small
# A line whose ends are both outside is drawn, too
set clip two
# Room for two lines of text below the axis, and for the bottom line
set bmargin at screen 0.19
set tmargin at screen 0.9

blue = "#0072b2"; sky = "#56b4e9"; green = "#009e73"; orange = "#e69f00"
red = "#d55e00"; pink = "#cc79a7"; yellow = "#b3a400"; black = "#000000"; grey = "#888888"
brown = "#7f4f24"

set label 100 origin at screen 0.01, 0.025 left font ",12" tc rgb origin_colour noenhanced
# What the whiskers are, in pictures that have some
ranges = "point: median of the runs; whisker: least to most"

# The lines of a table for which the awk condition holds; $1 is the first column
lines(name, condition) = sprintf("< awk -F, '/^#/ || !header++ || (%s)' '%s/%s.csv'", condition, results, name)
# A column of the only such line as a line across the picture; nothing if it is empty
across(name, condition, number) = sprintf("< awk -F, '!/^#/ && header++ && (%s) && $%d != \"\" { print \"x,y\\n1,\" $%d \"\\n1e12,\" $%d }' '%s/%s.csv'", condition, number, number, number, results, name)
# 1234567 as 1,234,567
commas(number) = system(sprintf("echo %s | sed -E ':a; s/([0-9])([0-9]{3})($|,)/\\1,\\2\\3/; ta'", number))
distinct(name, number) = system(sprintf("awk -F, '!/^#/ && header++ { print $%d }' '%s/%s.csv' | sort -gu", number, results, name))
# The most in a column of such lines, to have panels of the same height
most(name, condition, number) = real(system(sprintf("awk -F, '!/^#/ && header++ && (%s) && $%d > most { most = $%d } END { print most + 0 }' '%s/%s.csv'", condition, number, number, results, name)))
# The i-th of n series, aside of the others on a logarithmic axis, so that their whiskers
# can be told apart
aside(x, i, n, step) = x * step ** (i - (n + 1) / 2.0)
