#!/bin/bash
#
# bench/shards.sh: a set of 100 million elements as a table of filters, a
# shard each, built in parallel by GROUP BY and probed by a join.  Builds, starts
# a throw-away server (see script/lib.sh), makes a table of numbers, and prints
# what the shards took to build and to probe, their size, and how often they err.
#
#     bench/shards.sh                 about five minutes on two cores
#     bench/shards.sh --elements 10000000 --shards 16 --workers 2
#
# The defaults: 100000000 elements, 64 shards, two workers.  It needs some
# 60 bytes of disk an element in TMPDIR (default /tmp), and 50 of memory.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

elements=100000000
shards=64
workers=2

read_numbers "elements shards workers" "$@"
absent=$((elements / 10))

build_shards="SELECT bloom_shard(n, $shards) AS shard, bloom_agg(n) AS f
	FROM elements GROUP BY 1"
probe_shards="SELECT count(*) FROM %s e JOIN shards s ON s.shard = bloom_shard(e.n, $shards)
	WHERE bloom_contains(s.f, e.n)"

main()
{
	local found

	exec 3>&1
	build_extension
	start_bench_server "max_parallel_workers_per_gather = $workers" \
		"max_parallel_workers = $workers" "max_worker_processes = $((workers + 4))"

	say "$elements elements, $shards shards, $workers workers"
	say
	timed "a table of the elements, and one of absent ones" "
		BEGIN;
		CREATE TABLE elements (n bigint NOT NULL);
		INSERT INTO elements SELECT generate_series(1, $elements) * 7::bigint;
		CREATE TABLE absent (n bigint NOT NULL);
		INSERT INTO absent SELECT generate_series(1, $absent) * 7::bigint + 3;
		COMMIT"
	# or the planner would expect a group for each element, and not build in
	# parallel
	sql -c "CREATE STATISTICS elements_shard ON (bloom_shard(n, $shards)) FROM elements"
	sql -c "VACUUM (FREEZE, ANALYZE) elements, absent"
	say
	plan "$build_shards"
	timed "build: CREATE TABLE shards AS SELECT ... GROUP BY" \
		"CREATE TABLE shards AS $build_shards"
	sql -c "VACUUM ANALYZE shards"
	say
	# shellcheck disable=SC2059
	plan "$(printf "$probe_shards" elements)"
	# shellcheck disable=SC2059
	timed "look up all elements" "$(printf "$probe_shards" elements)"
	[ "$answer" = "$elements" ] || die "$answer of $elements were found; this is a bug"
	# shellcheck disable=SC2059
	timed "look up $absent absent ones" "$(printf "$probe_shards" absent)"
	found=$answer
	say
	sql -c "
		SELECT format('  %-48s %18s', what, value)
		FROM (SELECT sum(i.bytes) AS bytes, min(i.elements) AS least,
				max(i.elements) AS most, avg(estimated_error_rate) AS rate
			FROM shards, bloom_info(f) i) t,
		LATERAL (VALUES
			('the table of elements', pg_size_pretty(pg_table_size('elements'))),
			('filters, bytes', bytes::text),
			('bits an element', round(8.0 * bytes / $elements, 3)::text),
			('elements in a shard, from', least::text),
			('to', most::text),
			('elements found', '$elements of $elements'),
			('absent ones found', '$found of $absent'),
			('error rate measured, %',
				round(100.0 * $found / $absent, 4)::text),
			('error rate estimated from the bits, %',
				round(100 * rate::numeric, 4)::text)) AS v (what, value)"
}

need_packages
PATH=$bindir:$PATH
in_workplace main
