# shellcheck shell=bash
#
# script/bench build: filters of a column of distinct URLs, and what else can be
# made of it: time, peak memory, and the size of the result.

build_methods=(count bloom_agg bloom_agg_sized cuckoo_agg cuckoo_agg_sized
	membership count_distinct array_agg btree hash_index)
# Those that workers take part in
build_parallel_methods=(count bloom_agg bloom_agg_sized cuckoo_agg cuckoo_agg_sized membership btree)

# build_query METHOD: returns the size of the result in bytes
build_query()
{
	case $1 in
		count) echo "SELECT pg_column_size(count(url)) FROM urls" ;;
		bloom_agg) echo "SELECT pg_column_size(bloom_agg(url)) FROM urls" ;;
		bloom_agg_sized) echo "SELECT pg_column_size(bloom_agg(url, $urls, NULL)) FROM urls" ;;
		cuckoo_agg) echo "SELECT pg_column_size(cuckoo_agg(url)) FROM urls" ;;
		cuckoo_agg_sized) echo "SELECT pg_column_size(cuckoo_agg(url, $urls, NULL)) FROM urls" ;;
		count_distinct) echo "SELECT pg_column_size(count(DISTINCT url)) FROM urls" ;;
		array_agg) echo "SELECT pg_column_size(array_agg(url)) FROM urls" ;;
		membership) echo "SELECT make_index('membership', 'urls')" ;;
		btree) echo "SELECT make_index('btree', 'urls')" ;;
		hash_index) echo "SELECT make_index('hash', 'urls')" ;;
	esac
}

# Memory of its own that all processes of the server have, at its peak: until
# it is told to end, 50 times a second; prints how much that was beyond the
# beginning
watch_memory()
{
	exec perl -e '
		use strict; use warnings;
		my ($postmaster, $begun) = @ARGV;
		my ($first, $most, $end);
		$SIG{TERM} = sub { $end = 1 };
		until ($end) {
			my $all = 0;
			foreach my $status (glob "/proc/[0-9]*/status") {
				open my $in, "<", $status or next;
				while (<$in>) {
					last if /^PPid:\s+(\d+)/ && $1 != $postmaster;
					$all += $1 if /^RssAnon:\s+(\d+)/;
				}
			}
			if (!defined $first) {
				$first = $all;
				open my $out, ">", $begun or die $!;
			}
			$most = $all if $all > ($most // 0);
			select undef, undef, undef, 0.02;
		}
		print 1024 * ($most - $first), "\n";' "$(head -n 1 "$work/data/postmaster.pid")" \
		"$work/log/watching"
}

# run_build WORKERS METHOD ROUND
run_build()
{
	local status

	status=$(sql -c "SET max_parallel_workers_per_gather = $1;
		SET max_parallel_maintenance_workers = $1;
		SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET min_parallel_table_scan_size = 0;
		SELECT measure('build', '$1', '$2', $3, \$q\$$(build_query "$2")\$q\$)")
	[ "$status" = ok ] || die "$2: $status"
	sql -c "DROP INDEX IF EXISTS made" 2>/dev/null
}

# measure_builds WORKERS METHOD...: a first run of each for its memory, which
# does not count else
measure_builds()
{
	local workers=$1 method round watcher

	shift
	begin "memory, $workers workers"
	for method; do
		watch_memory >"$work/log/memory" &
		watcher=$!
		# shellcheck disable=SC2064
		trap "kill $watcher" EXIT
		until [ -e "$work/log/watching" ]; do
			sleep 0.05
		done
		run_build "$workers" "$method" 0
		kill "$watcher"
		wait "$watcher"
		trap - EXIT
		rm "$work/log/watching"
		sql -c "INSERT INTO methods (part, cell, method, rows, memory)
			VALUES ('build', '$workers', '$method', $urls, $(cat "$work/log/memory"))"
		progress
	done
	finish
	begin "time, $workers workers"
	for round in $(seq "$rounds"); do
		for method; do
			run_build "$workers" "$method" "$round"
		done
		progress
	done
	finish
}

part_build()
{
	urls=5000000
	[ "$quick" = no ] || urls=20000
	begin "$urls URLs"
	sql -c "
		CREATE TABLE urls (url text COLLATE \"C\" NOT NULL);
		INSERT INTO urls SELECT url(n) FROM generate_series(1, $urls) n;
		ALTER TABLE urls SET (parallel_workers = 2)"
	sql -c "VACUUM (FREEZE, ANALYZE) urls"
	sql -c "SELECT prewarm()" >/dev/null
	finish
	measure_builds 0 "${build_methods[@]}"
	measure_builds 2 "${build_parallel_methods[@]}"
	sql -c "DROP TABLE urls"
	result_of_query build "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			method, cell AS workers, max(rows) AS rows, count(*) AS runs,
			round(median(array_agg(elapsed / 1e6))::numeric, 1) AS elapsed_ms,
			round(min(elapsed / 1e6)::numeric, 1) AS elapsed_least_ms,
			round(max(elapsed / 1e6)::numeric, 1) AS elapsed_most_ms,
			round(median(array_agg(elapsed / rows))::numeric, 1) AS elapsed_ns_per_row,
			round(median(array_agg(elapsed / counted))::numeric, 3) AS over_count,
			round(min(elapsed / counted)::numeric, 3) AS over_count_least,
			round(max(elapsed / counted)::numeric, 3) AS over_count_most,
			max(memory) AS peak_memory_bytes, max(answer) AS kept_bytes,
			round(8.0 * max(answer) / max(rows), 2) AS kept_bits_per_row
		FROM runs JOIN methods m USING (part, cell, method)
			JOIN (SELECT cell, round, elapsed AS counted FROM runs
				WHERE part = 'build' AND method = 'count') c USING (cell, round)
		WHERE part = 'build' AND round > 0
		GROUP BY cell, method
		ORDER BY cell, min(place)"
}
