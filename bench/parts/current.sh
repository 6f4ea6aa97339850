# shellcheck shell=bash
#
# script/bench current: what it costs to keep a filter of a column current, by
# the index method membership or otherwise, and to probe it.
#
#	copy	COPY of a million URLs into an empty table with one index
#	build	CREATE INDEX of the same in a table that has them
#	insert	a transaction that inserts one row into a table of a million
#	insert_N	the same by N sessions at once: time from one commit to the next, of all
#			sessions together
#	seen_N	"add this, and was it new?" by N sessions at once, of a set that has half a
#			million already, half of the questions about these: time from one answer to
#			the next, of all sessions together.  (Two sessions may insert the same
#			element at once by the membership index, which is no constraint.)
#	probe	one lookup, planned anew, as the server sees it
#	scan	a lookup for each of five million rows, by function calls (scan.sh has the
#			faster way)

current_sizes()
{
	if [ "$quick" = yes ]; then
		elements=20000 visits=20000 inserts=20 inserts_of_all=128 probes=20 questions_seen=160
	else
		elements=1000000 visits=5000000 inserts=1000 inserts_of_all=16000 probes=2000 questions_seen=8000
	fi
}

# An index of table "target"; "none" has no index
current_index()
{
	case $1 in
		none) ;;
		membership) echo "CREATE INDEX made ON target USING membership (url)" ;;
		membership_precise)
			echo "CREATE INDEX made ON target USING membership (url) WITH (error_rate = 0.001)" ;;
		contrib_bloom) echo "CREATE INDEX made ON target USING bloom (url)" ;;
		btree) echo "CREATE INDEX made ON target (url)" ;;
		hash) echo "CREATE INDEX made ON target USING hash (url)" ;;
	esac
}

# note MEASUREMENT METHOD ROUND NANOSECONDS [BYTES]
note()
{
	sql -c "INSERT INTO current VALUES ('$1', '$2', $3, $4, ${5:-NULL})"
}

# nanoseconds since $1, a value of EPOCHREALTIME
nanoseconds_since()
{
	local now=$EPOCHREALTIME

	echo $(( (${now/[.,]/} - ${1/[.,]/}) * 1000 ))
}

measure_copies()
{
	local methods=(none membership membership_precise contrib_bloom btree hash)
	local file=$work/tmp/urls round method since spent

	begin "COPY"
	sql -c "COPY (SELECT url(n) FROM generate_series(1, $elements) n) TO '$file'"
	for round in $(seq "$rounds"); do
		for method in "${methods[@]}"; do
			sql -c "DROP TABLE IF EXISTS target" \
				-c "CREATE TABLE target (url text COLLATE \"C\" NOT NULL)" \
				-c "$(current_index "$method")" -c CHECKPOINT
			since=$EPOCHREALTIME
			sql -c "COPY target FROM '$file'"
			spent=$(nanoseconds_since "$since")
			note copy "$method" "$round" "$spent / $elements.0" \
				"(SELECT pg_indexes_size('target'))"
			progress
		done
	done
	finish
}

measure_creations()
{
	local methods=(membership membership_precise contrib_bloom btree hash)
	local round method since spent

	begin "CREATE INDEX"
	sql -c "DROP TABLE IF EXISTS target" \
		-c "CREATE TABLE target AS SELECT url(n) COLLATE \"C\" AS url FROM generate_series(1, $elements) n"
	for round in $(seq "$rounds"); do
		for method in "${methods[@]}"; do
			sql -c "DROP INDEX IF EXISTS made" -c CHECKPOINT
			since=$EPOCHREALTIME
			sql -c "$(current_index "$method")"
			spent=$(nanoseconds_since "$since")
			note build "$method" "$round" "$spent / $elements.0" \
				"(SELECT pg_indexes_size('target'))"
			progress
		done
	done
	finish
}

# Transactions of one row.  A filter that is changed by each is rewritten.
measure_inserts()
{
	local methods=(none membership bloom_add btree)
	local round method since first=0 times

	begin "single insertions"
	sql -c "DROP TABLE IF EXISTS target" \
		-c "CREATE TABLE target AS SELECT url(n) AS url FROM generate_series(1, $elements) n" \
		-c "CREATE TABLE snapshot AS SELECT bloom_agg(url, 2 * $elements, NULL) AS f FROM target"
	for round in $(seq "$rounds"); do
		for method in "${methods[@]}"; do
			sql -c "DROP INDEX IF EXISTS made" -c "$(current_index "$method")" -c CHECKPOINT
			first=$((first + inserts)) times=$inserts
			[ "$method" != bloom_add ] || times=$((inserts / 10))
			seq "$first" $((first + times - 1)) |
				if [ "$method" = bloom_add ]; then
					sed "s/.*/BEGIN; INSERT INTO target VALUES (url(1000000000 + &)); UPDATE snapshot SET f = bloom_add(f, url(1000000000 + &)); COMMIT;/"
				else
					sed "s/.*/INSERT INTO target VALUES (url(1000000000 + &));/"
				fi >"$work/log/inserts"
			since=$EPOCHREALTIME
			sql -f "$work/log/inserts"
			note insert "$method" "$round" "$(nanoseconds_since "$since") / $times.0"
			progress
		done
		# the filter anew
		since=$EPOCHREALTIME
		sql -c "UPDATE snapshot SET f = (SELECT bloom_agg(url, 2 * $elements, NULL) FROM target)"
		note refresh bloom_agg "$round" "$(nanoseconds_since "$since")"
	done
	finish
}

measure_inserts_of_sessions()
{
	local round method sessions tps

	begin "insertions by several sessions"
	printf '\\set n random(2000000000, 2000000000000)\nINSERT INTO target VALUES (url(:n::bigint));\n' \
		>"$work/log/insert"
	for round in $(seq "$rounds"); do
		for sessions in 1 8 64; do
			for method in none membership btree; do
				sql -c "DROP INDEX IF EXISTS made" -c "$(current_index "$method")" -c CHECKPOINT
				tps=$(as_server env PGHOST="$PGHOST" PGUSER="$PGUSER" "$bindir/pgbench" -n -M prepared \
					-c "$sessions" -j 2 -t $((inserts_of_all / sessions)) -f "$work/log/insert" bench |
					sed -n 's/^tps = \([0-9.]*\).*/\1/p')
				note "insert_$sessions" "$method" "$round" "1e9 / $tps"
			done
			progress
		done
	done
	finish
}

# New elements are of a range so large that hardly one is asked again.
measure_seen()
{
	local round method sessions times tps
	local -A seen=(
		[shards]="UPDATE seen_shards SET filter = bloom_add(filter, :n::int)
			WHERE shard = bloom_shard(:n::int, (SELECT shards FROM seen_shards WHERE shard = 0))
				AND NOT bloom_contains(filter, :n::int) RETURNING true"
		[large_filter]="UPDATE seen_large SET filter = bloom_add(filter, :n::int)
			WHERE NOT bloom_contains(filter, :n::int) RETURNING true"
		[membership]="INSERT INTO seen_table SELECT :n::int
			WHERE NOT membership_contains('seen_index', :n::int) RETURNING true"
		[btree]="INSERT INTO seen_keys VALUES (:n::int) ON CONFLICT DO NOTHING RETURNING true")

	begin "additions that tell whether they were new"
	sql -c "CREATE TABLE seen_shards (shard int PRIMARY KEY, shards int NOT NULL, filter bloom NOT NULL)
			WITH (fillfactor = 50, toast_tuple_target = 8160)" \
		-c "INSERT INTO seen_shards SELECT shard, count(*) OVER (), filter FROM bloom_shards($elements)" \
		-c "UPDATE seen_shards s SET filter = bloom_add_all(filter, xs)
			FROM (SELECT bloom_shard(n, (SELECT shards FROM seen_shards WHERE shard = 0)) AS shard, array_agg(n) AS xs
				FROM generate_series(1, $elements / 2) n GROUP BY 1) half WHERE s.shard = half.shard" \
		-c "CREATE TABLE seen_large AS SELECT bloom_agg(n, $elements, NULL) AS filter
			FROM generate_series(1, $elements / 2) n" \
		-c "CREATE TABLE seen_table AS SELECT n FROM generate_series(1, $elements / 2) n" \
		-c "CREATE INDEX seen_index ON seen_table USING membership (n)" \
		-c "CREATE TABLE seen_keys AS SELECT n FROM generate_series(1, $elements / 2) n" \
		-c "ALTER TABLE seen_keys ADD PRIMARY KEY (n)"
	sql -c "VACUUM (FREEZE, ANALYZE) seen_shards, seen_large, seen_table, seen_keys"
	for round in $(seq "$rounds"); do
		for sessions in 1 2 8; do
			for method in shards large_filter membership btree; do
				times=$((questions_seen / sessions))
				# it is rewritten by each that is new
				[ "$method" != large_filter ] || times=$((times / 20))
				printf '\\set n CASE WHEN random(0, 1) = 0 THEN random(1, %s) ELSE random(%s, 2000000000) END\n%s;\n' \
					$((elements / 2)) "$elements" "$(tr '\n' ' ' <<<"${seen[$method]}")" >"$work/log/seen"
				tps=$(as_server env PGHOST="$PGHOST" PGUSER="$PGUSER" "$bindir/pgbench" -n -M prepared \
					-c "$sessions" -j 2 -t "$times" -f "$work/log/seen" bench | sed -n 's/^tps = \([0-9.]*\).*/\1/p')
				note "seen_$sessions" "$method" "$round" "1e9 / $tps"
			done
			progress
		done
	done
	sql -c "DROP TABLE seen_shards, seen_large, seen_table, seen_keys"
	finish
}

measure_probes()
{
	local round method query
	local -A probes_of=(
		[membership]="SELECT membership_contains('target_membership', url(\$1 + 0))"
		[bloom]="SELECT bloom_contains(f, url(\$1 + 0)) FROM snapshot"
		[btree]="SELECT EXISTS (SELECT FROM target WHERE url = url(\$1 + 0))"
		[nothing]="SELECT url(\$1 + 0) = 'x'")

	begin "single lookups"
	sql -c "DROP TABLE target" \
		-c "CREATE TABLE target AS SELECT url(n) COLLATE \"C\" AS url FROM generate_series(1, $elements) n" \
		-c "CREATE INDEX target_btree ON target (url)" \
		-c "CREATE INDEX target_membership ON target USING membership (url)" \
		-c "UPDATE snapshot SET f = (SELECT bloom_agg(url) FROM target)"
	sql -c "VACUUM (FREEZE, ANALYZE) target, snapshot"
	sql -c "SELECT prewarm()" >/dev/null
	for round in $(seq "$rounds"); do
		for method in nothing membership bloom btree; do
			query=${probes_of[$method]}
			note probe "$method" "$round" \
				"(SELECT look_up(\$q\$$query\$q\$, $probes, $round * $probes))"
			progress
		done
	done
	finish
}

measure_scans()
{
	local round method since
	local -A scans=(
		[trivial]="url <> 'x'"
		[membership]="membership_contains('target_membership', url)"
		[bloom]="bloom_contains((SELECT f FROM snapshot), url)")

	begin "scans of $visits rows"
	sql -c "CREATE TABLE visits AS SELECT url(1000000000 + n) COLLATE \"C\" AS url
		FROM generate_series(1, $visits) n"
	sql -c "VACUUM (FREEZE, ANALYZE) visits"
	sql -c "SELECT prewarm()" >/dev/null
	for round in $(seq "$rounds"); do
		for method in trivial membership bloom; do
			since=$EPOCHREALTIME
			sql -c "SET bloomfilter.filter_scan = off" \
				-c "SELECT count(*) FROM visits WHERE ${scans[$method]}" >/dev/null
			note scan "$method" "$round" "$(nanoseconds_since "$since") / $visits.0"
		done
		progress
	done
	finish
}

part_current()
{
	current_sizes
	sql -c "CREATE EXTENSION IF NOT EXISTS bloom" \
		-c "CREATE TABLE current (measurement text, method text, round int, ns float8, bytes bigint)"
	measure_copies
	measure_creations
	measure_inserts
	measure_inserts_of_sessions
	measure_seen
	measure_probes
	measure_scans
	sql -c "DROP TABLE target, snapshot, visits"

	# ratios are those of a round, to what the measurement is compared with
	result_of_query current "
		WITH bases (measurement, base) AS (VALUES ('copy', 'contrib_bloom'),
			('build', 'btree'), ('insert', 'none'), ('insert_1', 'none'), ('insert_8', 'none'),
			('insert_64', 'none'), ('seen_1', 'btree'), ('seen_2', 'btree'),
			('seen_8', 'btree'), ('probe', 'btree'), ('scan', 'trivial'))
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			c.measurement, c.method, count(*) AS runs,
			round(median(array_agg(c.ns))::numeric, 1) AS ns,
			round(min(c.ns)::numeric, 1) AS ns_least,
			round(max(c.ns)::numeric, 1) AS ns_most,
			b.base AS compared_with,
			round(median(array_agg(c.ns / o.ns))::numeric, 3) AS ratio,
			round(min(c.ns / o.ns)::numeric, 3) AS ratio_least,
			round(max(c.ns / o.ns)::numeric, 3) AS ratio_most,
			max(c.bytes) AS bytes, round(max(c.bytes) / $elements.0, 2) AS bytes_per_element
		FROM current c LEFT JOIN bases b USING (measurement)
			LEFT JOIN current o ON o.measurement = c.measurement
				AND o.method = b.base AND o.round = c.round
		GROUP BY c.measurement, c.method, b.base
		ORDER BY c.measurement, median(array_agg(c.ns))"
}
