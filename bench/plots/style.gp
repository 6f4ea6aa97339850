# What all pictures have in common: the white background, colours that differ
# for the colour-blind as well (Okabe and Ito's), and where the figures are from.
set terminal svg size 900,560 dynamic enhanced font "Helvetica,14" background "white" linewidth 1.2
set datafile separator ","
set datafile commentschars "#"
set datafile columnheaders
set datafile missing NaN
set border 3 lc rgb "#444444"
set tics nomirror out
set grid lc rgb "#dddddd" lt 1 lw 0.6
set key noenhanced opaque
set bmargin 4.5

blue = "#0072b2"; sky = "#56b4e9"; green = "#009e73"; orange = "#e69f00"
red = "#d55e00"; pink = "#cc79a7"; yellow = "#b3a400"; black = "#000000"; grey = "#888888"
brown = "#7f4f24"

set label 100 origin at screen 0.01,0.02 left font ",10" tc rgb origin_colour noenhanced

# The lines of a table for which the awk condition holds; $1 is the first column
lines(name, condition) = sprintf("< awk -F, '/^#/ || !header++ || (%s)' '%s/%s.csv'", condition, results, name)
# 1234567 as 1,234,567
commas(number) = system(sprintf("echo %s | sed -E ':a; s/([0-9])([0-9]{3})($|,)/\\1,\\2\\3/; ta'", number))
distinct(name, number) = system(sprintf("awk -F, '!/^#/ && header++ { print $%d }' '%s/%s.csv' | sort -gu", number, results, name))
