#!/bin/bash
#
# bench/foreign.sh: a scan that probes a filter of another system, beside one
# with a filter of ours.  Builds, starts a throw-away server (see script/lib.sh),
# makes a table of URLs and filters of about 1 MB, each at 1 %, and prints the
# least time of the scan, of runs that alternate, over that with block512.
#
#     bench/foreign.sh                a minute
#     bench/foreign.sh --rows 5000000 --elements 830000 --rounds 9

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rows=5000000
elements=830000
rounds=9

read_numbers "rows elements rounds" "$@"

main()
{
	build_extension
	start_bench_server 'max_parallel_workers_per_gather = 0' 'jit = off'
	sql -c "
		CREATE TABLE visits AS SELECT 'http://good.example/' || i AS url FROM generate_series(1, $rows) i;
		CREATE TABLE filters (name text, f bloom);
		INSERT INTO filters
			SELECT 'block512', bloom_agg('http://bad.example/' || i, $elements, 0.01)
			FROM generate_series(1, $elements) i;
		INSERT INTO filters
			SELECT format, bloom_add_all(bloom_create_foreign(format, 'text', $elements, 0.01),
				(SELECT array_agg('http://bad.example/' || i) FROM generate_series(1, $elements) i))
			FROM unnest('{guava, guava:mitz32, parquet, spark, spark-sql, datasketches, redisbloom}'::text[]) format"
	sql -c "VACUUM (FREEZE, ANALYZE) visits, filters"
	# a function, so that the clock is the server's
	sql -c "
		CREATE FUNCTION scan(name text) RETURNS float8 LANGUAGE plpgsql AS \$\$
		DECLARE
			began timestamptz := clock_timestamp();
			hits bigint;
		BEGIN
			EXECUTE format('SELECT count(*) FROM visits
				WHERE bloom_contains((SELECT f FROM filters WHERE name = %L), url)', name) INTO hits;
			IF hits > 0.02 * $rows THEN
				RAISE EXCEPTION '% errs too often: % of $rows', name, hits;
			END IF;
			RETURN 1e9 * extract(epoch FROM clock_timestamp() - began) / $rows;
		END \$\$"
	echo "$rows rows, $elements elements at 1 %, the least of $rounds runs"
	sql -c "
		WITH runs AS MATERIALIZED (
			SELECT name, scan(name) AS ns FROM generate_series(1, $rounds) r, (SELECT name FROM filters OFFSET 0) f
		), least AS (
			SELECT name, min(ns) AS ns FROM runs GROUP BY name
		)
		SELECT format('%-14s %s bytes %s ns a row  %s', name, lpad(length(f::bytea)::text, 8),
			lpad(round(ns)::text, 4), round((ns / (SELECT ns FROM least WHERE name = 'block512'))::numeric, 2))
		FROM least JOIN filters USING (name) ORDER BY ns"
}

need_packages
PATH=$bindir:$PATH
in_workplace main
