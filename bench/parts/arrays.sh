# shellcheck shell=bash
#
# script/bench arrays: x = ANY (array) where the array is no constant, by a Seq Scan and by
# a Filter Scan that hashes it.
#
#	constant	the array in the statement, which PostgreSQL hashes
#	plain		a parameter in a generic plan, or a subquery; filter_scan = off
#	probe		the same with filter_scan = on
#
# Each query counts rows of a table in memory.  Keys are unique numbers but for "all", where
# the array has all keys of the column.

arrays_sizes()
{
	array_rows=400000 subquery_rows=2000000
	if [ "$quick" = yes ]; then
		array_rows=20000 subquery_rows=20000
	fi
}

make_arrays()
{
	begin "tables"
	sql -c "CREATE TABLE few AS SELECT n AS id, n % 1000 AS g, n % 20 AS h, url(n) AS url
			FROM generate_series(1, $array_rows) n" \
		-c "CREATE TABLE many AS SELECT n AS id FROM generate_series(1, $subquery_rows) n" \
		-c "CREATE TABLE counted (place serial, cell text, method text, round int, ns float8, answer bigint)" \
		-c "VACUUM (FREEZE, ANALYZE) few, many" -c "SELECT prewarm()" >/dev/null
	finish
}

# The cells: name, condition, or "many" for a subquery; type of the array, and its elements
# as a query
array_cells()
{
	local spread="SELECT n * (200000 / 500) FROM generate_series(1, %s) n"
	local absent="SELECT -n FROM generate_series(1, %s) n"

	# shellcheck disable=SC2059
	{
		printf "1000|id = ANY|int|$spread\n" 1000
		printf "1000 urls|url = ANY|text|SELECT url(n * 400) FROM generate_series(1, 1000) n\n"
		printf "1000000|id = ANY|int|$spread\n" 1000000
		printf "8|id = ANY|int|$spread\n" 8
		printf "9|id = ANY|int|$spread\n" 9
		printf "9 urls|url = ANY|text|SELECT url(n * 400) FROM generate_series(1, 9) n\n"
		printf "20 absent|id = ANY|int|$absent\n" 20
		printf "20 all|h = ANY|int|SELECT n FROM generate_series(0, 19) n\n"
		printf "1000 all|g = ANY|int|SELECT n FROM generate_series(0, 999) n\n"
		printf "first of 1000 all|h / 20 = ANY|int|SELECT n FROM generate_series(0, 999) n\n"
		printf "1000 other|id <> ALL|int|$spread\n" 1000
		printf "8 other|id <> ALL|int|$spread\n" 8
		printf "1000 other and g = 7|g = 7 AND id <> ALL|int|$spread\n" 1000
		printf "9 other and g > 0|g > 0 AND id <> ALL|int|$spread\n" 9
		printf "subquery of 1000|many|int|$spread\n" 1000
	}
}

# counted CELL METHOD ROUND STATEMENT: of a psql script, runs it once more than it is timed
counted()
{
	printf '%s;\n' "$4"
	printf 'EXECUTE clock \\gset\n'
	printf '%s \\gset\n' "$4"
	printf "INSERT INTO counted (cell, method, round, ns, answer) VALUES ('%s', '%s', %s, cpu_ns() - :since, :count);\n" "$1" "$2" "$3"
}

# The psql script of one round for one cell
arrays_script()
{
	local cell=$1 condition=$2 type=$3 elements=$4 round=$5 method

	echo "LOAD 'bloomfilter';"
	echo "PREPARE clock AS SELECT cpu_ns() AS since;"
	if [ "$condition" = many ]; then
		for method in plain probe; do
			[ "$method" = probe ] || echo "SET bloomfilter.filter_scan = off;"
			counted "$cell" "$method" "$round" \
				"SELECT count(*) FROM many WHERE id = ANY (ARRAY($elements))"
			echo "RESET bloomfilter.filter_scan;"
		done
		return
	fi
	echo "SELECT ARRAY($elements) AS elements \\gset"
	echo "SET plan_cache_mode = force_custom_plan;"
	echo "PREPARE constant(${type}[]) AS SELECT count(*) FROM few WHERE $condition (\$1);"
	counted "$cell" constant "$round" "EXECUTE constant(:'elements')"
	echo "SET plan_cache_mode = force_generic_plan;"
	for method in plain probe; do
		# for a million elements, it takes half an hour
		[[ $method/$cell != plain/1000000 ]] || continue
		[ "$method" = probe ] || echo "SET bloomfilter.filter_scan = off;"
		echo "PREPARE $method(${type}[]) AS SELECT count(*) FROM few WHERE $condition (\$1);"
		counted "$cell" "$method" "$round" "EXECUTE $method(:'elements')"
		echo "RESET bloomfilter.filter_scan;"
	done
}

# All ways count the same rows
check_arrays()
{
	local wrong

	wrong=$(sql -c "SELECT string_agg(cell, ', ') FROM
		(SELECT cell FROM counted GROUP BY cell HAVING min(answer) <> max(answer)) c")
	[ -z "$wrong" ] || die "WRONG ANSWERS OF $wrong"
}

part_arrays()
{
	local round cell condition type elements

	arrays_sizes
	make_arrays
	begin "measuring"
	for round in $(seq "$rounds"); do
		while IFS='|' read -r cell condition type elements; do
			arrays_script "$cell" "$condition" "$type" "$elements" "$round" | sql -f - >/dev/null
		done < <(array_cells)
		progress
	done
	finish

	# ratios are those of a round; a bar is the least of plain / probe, or the most of probe / plain
	result_of_query arrays "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql, cell AS array_of, count(*) AS runs,
			round((median(array_agg(constant.ns)) / 1e6)::numeric, 1) AS constant_ms,
			round((median(array_agg(plain.ns)) / 1e6)::numeric, 1) AS plain_ms,
			round((median(array_agg(probe.ns)) / 1e6)::numeric, 1) AS probe_ms,
			round(median(array_agg(plain.ns / probe.ns))::numeric, 2) AS gain,
			round(min(plain.ns / probe.ns)::numeric, 2) AS gain_least,
			round(max(plain.ns / probe.ns)::numeric, 2) AS gain_most,
			round(median(array_agg(probe.ns / constant.ns))::numeric, 2) AS over_constant,
			CASE cell WHEN '1000' THEN 50 WHEN 'subquery of 1000' THEN 50 WHEN '20 absent' THEN 1.25
				WHEN '8' THEN 1 WHEN '9' THEN 0.95 WHEN '20 all' THEN 0.9 WHEN '1000 all' THEN 0.9 END AS bar,
			max(probe.answer) AS answer
		FROM counted probe LEFT JOIN (SELECT * FROM counted WHERE method = 'plain') plain USING (cell, round)
			LEFT JOIN (SELECT * FROM counted WHERE method = 'constant') constant USING (cell, round)
		WHERE probe.method = 'probe'
		GROUP BY cell
		ORDER BY min(probe.place)"
	check_arrays
	sql -c "DROP TABLE few, many, counted"
}
