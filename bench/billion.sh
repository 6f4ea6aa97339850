#!/bin/bash
#
# bench/billion.sh: a set of 1,000 million elements as four filters, built from a
# stream of numbers and probed in bulk; and a membership index of 100 million rows,
# probed in bulk.  Builds, starts a throw-away server (see script/lib.sh), and
# prints times, bytes, memory, false negatives and error rates.
#
#     bench/billion.sh                about fifteen minutes
#     bench/billion.sh --elements 10000000 --questions 1000000
#
# The defaults: 1000000000 elements, a tenth of them in the index, 4000000 questions
# of each kind.  It needs 16 GB of memory, and 8 GB of disk in TMPDIR (default /tmp).

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

elements=1000000000
questions=4000000
shards=4

read_numbers "elements questions" "$@"
indexed=$((elements / 10))
# A shard has this many elements, but for chance; 6 standard deviations more would be
# less than this
capacity=$((elements / shards + elements / shards / 250))
# "known" are from 1 on, these are not
absent_from=$((2 * elements))

# ask TEXT KIND SETTINGS QUERY: how long a query takes for the questions of a kind, known
# or absent, in each of two statements of one session, and what it finds
ask()
{
	local text=$1 kind=$2 settings=$3 query=$4 result

	# the first time, the session has read nothing yet
	result=$(sql 2>&1 <<-END
		$settings;
		SELECT wall_ns() AS a \gset
		$query;
		SELECT wall_ns() AS b \gset
		$query;
		SELECT wall_ns() AS c \gset
		SELECT round(((:b - :a) / $questions)::numeric), round(((:c - :b) / $questions)::numeric)
	END
	) || die "$result"
	found=$(head -n 1 <<<"$result")
	printf '  %-58s %6s ns, again %6s ns; %s of %s %s found\n' "$text" \
		"$(tail -n 1 <<<"$result" | cut -d '|' -f 1)" \
		"$(tail -n 1 <<<"$result" | cut -d '|' -f 2)" "$found" "$questions" "$kind"
}

# Both kinds: all that are known are found
ask_both()
{
	ask "$1" known "$2" "${3//KIND/known}"
	[ "$found" = "$questions" ] || die "$found of $questions were found; this is a bug"
	ask "$1" absent "$2" "${3//KIND/absent}"
}

# What the backend of this query had in memory of its own at most
peak_memory="SELECT pg_size_pretty(1024 * (
		substring(status, 'VmHWM:\s+(\d+)')::bigint - substring(status, 'RssShmem:\s+(\d+)')::bigint))
	FROM pg_read_file('/proc/self/status') AS status"

make_questions()
{
	timed "questions: $questions known, and as many absent ones" "
		BEGIN;
		SELECT setseed(0.5);
		CREATE TABLE known AS SELECT 1 + floor(random() * $1)::bigint AS n
		FROM generate_series(1, $questions);
		CREATE TABLE absent AS SELECT $absent_from + floor(random() * $1)::bigint AS n
		FROM generate_series(1, $questions);
		COMMIT"
	sql -c "VACUUM (FREEZE, ANALYZE) known, absent"
}

ask_shards()
{
	local in_order="SELECT count(*)
		FROM (SELECT n, bloom_shard(n, $shards) AS shard FROM KIND ORDER BY 2 OFFSET 0) q
		JOIN shards s USING (shard) WHERE bloom_contains(s.f, q.n)"
	local by_join="SELECT count(*) FROM KIND q JOIN shards s ON s.shard = bloom_shard(q.n, $shards)
		WHERE bloom_contains(s.f, q.n)"

	say "  a question, in the first statement of a session and in the next"
	ask_both "cache of 64 MB, rows sorted by shard" "RESET ALL" "$in_order"
	ask_both "cache of 2 GB, rows sorted by shard" "SET bloomfilter.cache_size = '2GB'" "$in_order"
	ask_both "cache of 2 GB, rows in any order" "SET bloomfilter.cache_size = '2GB'" "$by_join"
}

build_shards()
{
	say "$elements elements in $shards filters"
	# one session, whose memory is looked at; no sort, as there are few groups
	timed "build: SELECT bloom_shard(i, $shards), bloom_agg(i, $capacity, NULL)" "
		SET enable_sort = off;
		CREATE TABLE shards AS
		SELECT bloom_shard(i, $shards) AS shard, bloom_agg(i, $capacity, 0.01) AS f
		FROM (SELECT generate_series(1::bigint, $elements) AS i) stream GROUP BY 1;
		$peak_memory"
	say "  memory of that session: $answer"
	sql -c "VACUUM (FREEZE, ANALYZE) shards"
	sql -c "SELECT format('  %s filters, %s bytes, %s bits an element, cardinality %s, error rate %s %% by their bits',
			count(*), sum(i.bytes), round(8 * sum(i.bytes) / $elements, 2), sum(i.elements),
			round(100 * avg(i.estimated_error_rate)::numeric, 3))
		FROM shards, bloom_info(f) AS i"
}

build_index()
{
	say "a membership index of $indexed rows"
	timed "a table of them" "CREATE TABLE rows AS SELECT generate_series(1::bigint, $indexed) AS n"
	sql -c "VACUUM (FREEZE, ANALYZE) rows"
	timed "CREATE INDEX ... USING membership" "CREATE INDEX made ON rows USING membership (n)"
	sql -c "SELECT format('  %s bytes, %s bits an element', pg_relation_size('made'),
			round(8.0 * pg_relation_size('made') / $indexed, 2))"
}

ask_index()
{
	local query="SELECT count(*) FROM KIND WHERE membership_contains('made', n)"

	say "  a question, in the first statement of a session and in the next"
	ask_both "cache of 64 MB" "RESET ALL" "$query"
	ask_both "cache of 256 MB" "SET bloomfilter.cache_size = '256MB'" "$query"
	ask_both "cache of 64 MB, without Filter Scan" "SET bloomfilter.filter_scan = off" "$query"
}

main()
{
	build_extension
	start_bench_server
	build_shards
	make_questions "$elements"
	sql -c "SELECT prewarm()" >/dev/null
	ask_shards
	say
	sql -c "DROP TABLE shards, known, absent"
	build_index
	make_questions "$indexed"
	sql -c "SELECT prewarm()" >/dev/null
	ask_index
}

need_packages
PATH=$bindir:$PATH
in_workplace main
