# shellcheck shell=bash
#
# script/bench questions: from 1 to 10,000 questions about a stored filter of
# 10 kB to 500 MB.  One more question should cost little more than those before
# it: there is no cliff where the filter is read in full.
#
# questions.csv, CPU time of the server, each time with nothing kept from before:
#	array	one statement with an array of so many elements
#	rows	one statement with a row for each element
#	series	so many statements, one after the other, which keep what they read
# times_before is the ratio to the row before: 2.5 if the questions of the row
# cost 1.5 times as much as all before them.
#
# repeated.csv, CPU time of prepared statements that are executed again and again,
# beside an empty one, and a lookup in the btree of as many numbers.

questions_sizes()
{
	sizes=("10kB 10000" "100kB 100000" "1MB 1000000" "10MB 10000000"
		"100MB 100000000" "500MB 500000000")
	questions=(1 2 3 5 7 10 14 20 30 40 60 80 110 150 200 300 400 600 800
		1100 1500 2000 3000 4000 6000 8000 10000)
	executions=500 transactions=20
	if [ "$quick" = yes ]; then
		sizes=("10kB 10000" "100kB 100000" "1MB 1000000")
		questions=(1 10 100 1000)
		executions=10 transactions=2
	fi
}

make_asked()
{
	local size name bytes elements

	sql -c "CREATE TABLE asked (size text PRIMARY KEY, f bloom)" \
		-c "CREATE TABLE questions (n int PRIMARY KEY, elements bigint[])" \
		-c "INSERT INTO questions SELECT n, ARRAY(SELECT i * 7919::bigint FROM generate_series(1, n) i)
			FROM unnest('{$(IFS=,; echo "${questions[*]}")}'::int[]) n" \
		-c "CREATE TABLE asked_numbers AS SELECT n * 7 AS n FROM generate_series(1::bigint, 800000) n" \
		-c "ALTER TABLE asked_numbers ADD PRIMARY KEY (n)"
	for size in "${sizes[@]}"; do
		read -r name bytes <<<"$size"
		elements=$((bytes * 8 * 100 / 1025))
		begin "$name"
		# how full a filter is does not matter
		sql -c "INSERT INTO asked SELECT '$name', bloom_agg(n * 7, $elements, NULL)
			FROM generate_series(1::bigint, least($elements, 1000000)) n"
		finish
	done
	sql -c "VACUUM (FREEZE, ANALYZE)"
	sql -c "SELECT prewarm()" >/dev/null
	sql -c "CREATE TABLE answered (size text, way text, n int, ns float8, times int)" \
		-c "CREATE TABLE repeated (kind text, size text, elements int, ns float8)"
}

# How often a statement is executed for one figure: some milliseconds long, so that
# what else the machine does is little of it
repeats_of()
{
	if [ "$quick" = yes ]; then
		echo 2
	elif [ "$1" -le 100 ]; then
		echo 100
	else
		echo $((10000 / $1 + 5))
	fi
}

# processors LIST: those of the server and of this script, and of what they start from
# now on.  With one for both, the same query takes about the same time each time;
# with two, waking the other one is a part of it that changes.
processors()
{
	taskset -cp "$1" "$(head -n 1 "$work/data/postmaster.pid")" >/dev/null
	taskset -cp "$1" $$ >/dev/null
}

# The psql script of one round for one filter, in a session of its own: a backend
# that waits for its client has accounted for all of its time.  What the clock
# itself takes is measured, too.
questions_script()
{
	local size=$1 way n before=0 times

	echo "PREPARE clock AS SELECT cpu_ns() AS since;"
	echo "PREPARE note(text, int, float8, int) AS INSERT INTO answered VALUES ('$size', \$1, \$2, cpu_ns() - \$3, \$4);"
	echo "PREPARE array_of(int) AS SELECT bloom_contains_each(f, (SELECT elements FROM questions WHERE n = \$1)) FROM asked WHERE size = '$size';"
	echo "PREPARE rows_of(int) AS SELECT count(bloom_contains((SELECT f FROM asked WHERE size = '$size'), i * 7919::bigint)) FROM generate_series(1, \$1) i;"
	echo "SET bloomfilter.cache_size = 0;"
	# also plans and catalogs are in memory then
	for _ in $(seq 6); do
		echo "EXECUTE array_of(1); EXECUTE rows_of(1); SELECT ask('none', 1, 10);"
		echo "EXECUTE clock \\gset"
		echo "EXECUTE note('nothing', 0, :since, 1);"
	done
	for n in "${questions[@]}"; do
		times=$(repeats_of "$n")
		for way in array rows; do
			echo "EXECUTE clock \\gset"
			for _ in $(seq "$times"); do
				echo "EXECUTE ${way}_of($n);"
			done
			echo "EXECUTE note('$way', $n, :since, $times);"
		done
	done
	echo "RESET bloomfilter.cache_size;"
	for n in "${questions[@]}"; do
		echo "EXECUTE clock \\gset"
		echo "SELECT ask('$size', $before + 1, $n);"
		echo "EXECUTE note('series', $n, :since, 1);"
		before=$n
	done
}

# repeated_script KIND SIZE ELEMENTS: for pgbench
repeated_script()
{
	local statement

	case $1 in
		empty) statement="SELECT 1" ;;
		btree) statement="SELECT EXISTS (SELECT FROM asked_numbers WHERE n = :n::bigint)" ;;
		one) statement="SELECT f @> :n::bigint FROM asked WHERE size = '$2'" ;;
		batch) statement="SELECT bloom_contains_each(f, :elements::bigint[]) FROM asked WHERE size = '$2'" ;;
	esac
	[ "$1" != batch ] ||
		echo "SELECT ARRAY(SELECT i * 7919 + $RANDOM FROM generate_series(1, $3) i)::text AS elements \\gset"
	echo "SELECT cpu_ns() AS since \\gset"
	for _ in $(seq "$executions"); do
		case $1 in
			btree | one) echo "\\set n random(1, 5600000)" ;;
		esac
		echo "$statement;"
	done
	echo "INSERT INTO repeated VALUES ('$1', '$2', $3, (cpu_ns() - :since) / $executions);"
}

measure_repeated()
{
	local round size name bytes what

	begin "repeated"
	for round in $(seq "$rounds"); do
		for size in "${sizes[@]:0:4}"; do
			read -r name bytes <<<"$size"
			for what in "empty $name 0" "btree $name 1" "one $name 1" "batch $name 100" "batch $name 1000"; do
				# shellcheck disable=SC2086
				repeated_script $what | as_server tee "$work/tmp/repeated.sql" >/dev/null
				as_server env PGHOST="$PGHOST" PGUSER="$PGUSER" "$bindir/pgbench" -n -M prepared \
					-t "$transactions" -f "$work/tmp/repeated.sql" bench >"$work/log/pgbench" 2>&1 ||
					{ cat "$work/log/pgbench" >&2; die "pgbench failed"; }
			done
		done
		progress
	done
	finish
}

part_questions()
{
	local round size name bytes

	questions_sizes
	make_asked
	# each element in a statement of its own
	sql -c "CREATE FUNCTION ask(which text, first int, last int) RETURNS int LANGUAGE plpgsql AS \$\$
		DECLARE
			found int := 0;
		BEGIN
			FOR i IN first .. last LOOP
				found := found + coalesce((SELECT (f @> i * 7919::bigint)::int FROM asked WHERE size = which), 0);
			END LOOP;
			RETURN found;
		END \$\$"
	processors 0
	for round in $(seq "$rounds"); do
		begin "questions, round $round"
		for size in "${sizes[@]}"; do
			read -r name bytes <<<"$size"
			questions_script "$name" | sql >/dev/null
			progress
		done
		finish
	done
	measure_repeated
	processors "0-$(($(nproc --all) - 1))"
	result_of_query questions "
		WITH nothing AS (
			SELECT median(array_agg(ns)) AS ns FROM answered WHERE way = 'nothing'),
		figures AS (
			SELECT size, way, n, count(*) AS runs,
				median(array_agg((a.ns - nothing.ns) / times)) / 1000 AS us,
				min((a.ns - nothing.ns) / times) / 1000 AS least,
				max((a.ns - nothing.ns) / times) / 1000 AS most
			FROM answered a, nothing WHERE way <> 'nothing'
			GROUP BY size, way, n),
		-- the statements of a series add up
		medians AS (
			SELECT size, way, n, runs,
				CASE way WHEN 'series' THEN sum(us) OVER so_far ELSE us END AS us,
				CASE way WHEN 'series' THEN sum(least) OVER so_far ELSE least END AS least,
				CASE way WHEN 'series' THEN sum(most) OVER so_far ELSE most END AS most
			FROM figures WINDOW so_far AS (PARTITION BY size, way ORDER BY n))
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			size, pg_column_size(f) AS bytes, way, n AS questions, runs,
			round(us::numeric, 1) AS cpu_us, round(least::numeric, 1) AS cpu_least_us,
			round(most::numeric, 1) AS cpu_most_us,
			round((us / lag(us) OVER (PARTITION BY size, way ORDER BY n))::numeric, 2) AS times_before
		FROM medians JOIN asked USING (size) ORDER BY bytes, way, n"
	result_of_query repeated "
		WITH medians AS (
			SELECT kind, size, elements, count(*) AS runs, median(array_agg(ns)) / 1000 AS us
			FROM repeated GROUP BY kind, size, elements)
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			kind, size, elements, runs, round(us::numeric, 2) AS cpu_us,
			round((us / (SELECT e.us FROM medians e WHERE e.kind = 'empty' AND e.size = m.size))::numeric, 2) AS of_empty
		FROM medians m ORDER BY size, kind, elements"
}
