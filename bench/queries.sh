#!/bin/bash
#
# bench/queries.sh: what a filter costs in queries, beside what the same query
# costs with something trivial in its place.  Builds, starts a throw-away
# server (see script/lib.sh), loads some 3 GB of data that stay in its shared
# buffers, and prints a table.  The two sides of each line run in turn, in one
# session; JIT and parallelism are off but where they are what is measured.
#
#     bench/queries.sh                five pairs of runs, about eight minutes
#     bench/queries.sh --pairs 9      more of them
#     bench/queries.sh --rows 1000000 fewer URLs (default 10000000; the bars
#                                     are for these)
#     bench/queries.sh --keep         leave the server up until a file is made, to
#                                     look at single queries
#
# It needs 8 GB of memory and 12 GB of disk in TMPDIR (default /tmp).
#
# Most times are those that the backend was running on a core, from
# /proc/self/schedstat: what other processes do on the machine falls into them
# only by their use of caches and memory.  Lookups and parallel queries are
# measured by the clock, so the machine should have nothing else to do.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

pairs=5
rows=10000000
keep=no

while [ $# -gt 0 ]; do
	case $1 in
		--pairs | --rows)
			[[ ${2:-} =~ ^[1-9][0-9]{0,8}$ ]] || die "$1 wants a number"
			declare "${1#--}=$2"
			shift 2
			;;
		--keep) keep=yes; shift ;;
		-h | --help) usage; exit 0 ;;
		*) usage >&2; exit 2 ;;
	esac
done

# compare ARGUMENTS: one line of the table; see queries.sql
compare()
{
	sql -c "SET bench.pairs = $pairs; SET bytea_output = hex; SELECT compare($1)" >/dev/null
	printf '.'
}

get_ready()
{
	build_extension
	start_bench_server
	psql -Xq -v rows="$rows" -d bench -f "$here/queries.sql"
}

# (a) A probe for each row of a table
probes()
{
	local count="SELECT count(*) FROM half WHERE"
	local per="$rows / 2"
	local trivial="\$q\$$count url <> 'x'\$q\$" trivial_int="\$q\$$count n <> 0\$q\$"

	compare "'bloom_contains(url), filter in a table',
		\$q\$$count bloom_contains((SELECT f FROM filters WHERE name = 'urls'), url)\$q\$,
		$trivial, 1.4, $per"
	compare "'bloom_contains(url), filter from an aggregate',
		\$q\$$count bloom_contains((SELECT bloom_agg(url) FROM bad), url)\$q\$,
		$trivial, 1.4, $per, \$q\$SELECT bloom_agg(url) IS NULL FROM bad\$q\$"
	compare "'bloom_contains(url), constant filter',
		(SELECT format(\$q\$$count bloom_contains(%L::bloom, url)\$q\$, f)
		 FROM filters WHERE name = 'urls'),
		$trivial, 1.4, $per"
	compare "'cuckoo_contains(url), filter in a table',
		\$q\$$count cuckoo_contains((SELECT f FROM cuckoos WHERE name = 'urls'), url)\$q\$,
		$trivial, 1.5, $per"
	compare "'NOT bloom_contains(url), filter in a table',
		\$q\$$count NOT bloom_contains((SELECT f FROM filters WHERE name = 'urls'), url)\$q\$,
		$trivial, NULL, $per"
	compare "'bloom_contains(int8), filter in a table',
		\$q\$$count bloom_contains((SELECT f FROM filters WHERE name = 'numbers'), n)\$q\$,
		$trivial_int, 1.4, $per"
	compare "'bloom_contains(int8), filter from an aggregate',
		\$q\$$count bloom_contains((SELECT bloom_agg(n) FROM bad), n)\$q\$,
		$trivial_int, 1.4, $per, \$q\$SELECT bloom_agg(n) IS NULL FROM bad\$q\$"
	compare "'bloom_contains(int8), constant filter',
		(SELECT format(\$q\$$count bloom_contains(%L::bloom, n)\$q\$, f)
		 FROM filters WHERE name = 'numbers'),
		$trivial_int, 1.4, $per"
	compare "'NOT bloom_contains(int8), filter in a table',
		\$q\$$count NOT bloom_contains((SELECT f FROM filters WHERE name = 'numbers'), n)\$q\$,
		$trivial_int, NULL, $per"
	compare "'bloom_contains(url), filter in a table, rows of 2 kB',
		\$q\$SELECT count(*) FROM wide
			WHERE bloom_contains((SELECT f FROM filters WHERE name = 'urls'), url)\$q\$,
		\$q\$SELECT count(*) FROM wide WHERE url <> 'x'\$q\$, 1.1, $rows / 50"
}

# (b) One lookup in a large filter and in a small one, new each time
look_ups()
{
	local name value query="SELECT bloom_contains(f, \$1) FROM filters WHERE name = %L"

	sql -c "
		CREATE TABLE looked_up AS
			SELECT i, look_up(format('$query', '500 MB'), 200, i * 200) AS large,
				look_up(format('$query', '10 kB'), 200, i * 200) AS small
			FROM generate_series(0, $pairs) i;
		INSERT INTO bars (what, measure, a, b, value, least, most, bar)
		SELECT 'a new query probes 500 MB, or 10 kB', 'elapsed ns, in the server',
			median(array_agg(large)), median(array_agg(small)),
			median(array_agg(large / small)), min(large / small),
			max(large / small), 3
		FROM looked_up WHERE i > 0" >/dev/null
	printf '.'
	for name in '500 MB' '10 kB'; do
		printf '%s\n' '\set n random(1, 1000000000)' \
			"SELECT bloom_contains(f, :n::bigint) FROM filters WHERE name = '$name';" |
			as_server tee "$work/tmp/${name%% *}.sql" >/dev/null
	done
	sql -c "CREATE TABLE clients (name text, ns float8)"
	for _ in $(seq "$pairs"); do
		for name in '500 MB' '10 kB'; do
			rm -f "$work/tmp/latency."*
			as_server env PGHOST="$PGHOST" PGUSER="$PGUSER" "$bindir/pgbench" -n \
				-M prepared -t 1000 -f "$work/tmp/${name%% *}.sql" -l \
				--log-prefix "$work/tmp/latency" bench >"$work/log/pgbench" 2>&1 ||
				{ cat "$work/log/pgbench" >&2; die "pgbench failed"; }
			value=$(awk '{ print $3 }' "$work/tmp/latency."* | sort -n | sed -n 500p)
			sql -c "INSERT INTO clients VALUES ('$name', $value * 1000.0)"
		done
	done
	sql -c "
		INSERT INTO bars (what, measure, a, b, value)
		SELECT 'a prepared query probes them, seen by a client', 'elapsed ns',
			a, b, a / b
		FROM (SELECT median(array_agg(ns) FILTER (WHERE name = '500 MB')) AS a,
				median(array_agg(ns) FILTER (WHERE name = '10 kB')) AS b
			FROM clients) _"
	printf '.'
}

# (c) A filter for each shard, or one for all
shards()
{
	compare "'join with 64 filters of 1 MB, or one of 64 MB',
		\$q\$SELECT count(*) FROM half h JOIN shards s ON s.shard = bloom_shard(h.n, 64)
			WHERE bloom_contains(s.f, h.n)\$q\$,
		\$q\$SELECT count(*) FROM half
			WHERE bloom_contains((SELECT f FROM filters WHERE name = '64 MB'), n)\$q\$,
		2.5, $rows / 2"
}

# (d) Building
aggregates()
{
	local workers="max_parallel_workers_per_gather"

	compare "'bloom_agg(url), or count(url)',
		'SELECT bloom_agg(url) IS NULL FROM urls', 'SELECT count(url) FROM urls',
		2, $rows"
	compare "'bloom_agg(url, capacity, NULL), or count(url)',
		'SELECT bloom_agg(url, $rows, NULL) IS NULL FROM urls', 'SELECT count(url) FROM urls',
		1.5, $rows"
	compare "'bloom_agg(url) with two workers, or none',
		'SELECT bloom_agg(url) IS NULL FROM urls', 'SELECT bloom_agg(url) IS NULL FROM urls',
		0.65, $rows, NULL, true, '$workers=2', '$workers=0'"
	compare "'bloom_agg(url, capacity, NULL) with two workers, or none',
		'SELECT bloom_agg(url, $rows, NULL) IS NULL FROM urls',
		'SELECT bloom_agg(url, $rows, NULL) IS NULL FROM urls',
		NULL, $rows, NULL, true, '$workers=2', '$workers=0'"
	compare "'count(url) with two workers, or none',
		'SELECT count(url) FROM urls', 'SELECT count(url) FROM urls',
		NULL, $rows, NULL, true, '$workers=2', '$workers=0'"
	compare "'cuckoo_agg(url) of a million, or count(url)',
		'SELECT cuckoo_agg(url) IS NULL FROM bad', 'SELECT count(url) FROM bad',
		3, 1000000"
	compare "'100,000 groups of 50: bloom_agg, or array_agg',
		'SELECT count(f) FROM (SELECT bloom_agg(n) AS f FROM grouped GROUP BY g) _',
		'SELECT count(f) FROM (SELECT array_agg(n) AS f FROM grouped GROUP BY g) _',
		2, 5000000"
}

# (e) Arrays of elements.  The filter is read whole at the second of them; what
# comes till then is measured beside it.
arrays()
{
	local each="SELECT count(bloom_contains_each((SELECT f FROM filters WHERE name = %L), a)) FROM"

	compare "'bloom_contains_each, 100 MB, or one cache line',
		format('$each arrays', '100 MB'), format('$each arrays', 'one cache line'),
		NULL, 4000000, format('$each (SELECT * FROM arrays LIMIT 2) _', '100 MB')"
	# the cached side hashes and probes, too
	sql -c "
		INSERT INTO bars (what, measure, a, b, value, bar)
		SELECT 'the same, their difference', 'CPU ns', a, b, a - b, 40
		FROM bars WHERE what LIKE 'bloom_contains_each%'"
	printf '.'
}

print_table()
{
	say
	say
	sql -c "
		SELECT format('%-52s %10s %10s %8s %15s %6s  %s', 'what', 'a', 'b', 'ratio',
			'(of all pairs)', 'bar', '');
		SELECT format('%-52s %10s %10s %8s %15s %6s  %s', what,
			to_char(a, 'FM999999990.0'), to_char(b, 'FM999999990.0'),
			to_char(value, 'FM99990.00'),
			'(' || to_char(least, 'FM990.00') || ' to ' || to_char(most, 'FM990.00') || ')',
			coalesce(bar::text, '-'),
			CASE WHEN value <= bar THEN 'met' WHEN value > bar THEN 'MISSED' ELSE '' END)
		FROM bars ORDER BY place"
	say
	say "a, b: nanoseconds, medians of $pairs; of a row, a query or an element."
	say "CPU time, but for the lookups and for workers: these by the clock."
}

main()
{
	local since=$EPOCHREALTIME

	exec 3>&1
	say "Loading ..."
	get_ready
	say "Loaded in $(seconds_since "$since") s. Measuring ..."
	probes
	look_ups
	shards
	aggregates
	arrays
	print_table
	say "($(seconds_since "$since") s, $(psql -XAtc 'SHOW server_version' -d bench)," \
		"load average $(cut -d ' ' -f 1-3 /proc/loadavg))"
	if [ "$keep" = yes ]; then
		say "psql -h $PGHOST -U postgres bench; the server stops when $work/tmp/stop exists"
		until [ -e "$work/tmp/stop" ]; do
			sleep 1
		done
	fi
}

need_packages
PATH=$bindir:$PATH
in_workplace main
