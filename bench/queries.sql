-- bench/queries.sql: the tables and functions of bench/queries.sh, which see.
-- They build on bench/lib.sql.  psql variable: rows (of URLs).

\set ON_ERROR_STOP on

-- ------------------------------------------------------------------------
-- What is measured
-- ------------------------------------------------------------------------

CREATE TABLE bars (
	place	serial,
	what	text PRIMARY KEY,
	measure	text NOT NULL,		-- of a and b
	a		float8 NOT NULL,	-- medians
	b		float8,
	value	float8 NOT NULL,	-- usually their ratio
	least	float8,				-- of the pairs
	most	float8,
	bar		float8				-- NULL: for information
);

-- What one run of a query takes
CREATE FUNCTION run(query text, wall boolean) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
	since float8 := CASE WHEN wall THEN wall_ns() ELSE cpu_ns() END;
BEGIN
	EXECUTE query;
	RETURN CASE WHEN wall THEN wall_ns() ELSE cpu_ns() END - since;
END
$$;

-- Run a and b in turn, and note the medians, in nanoseconds for each of "per",
-- and the median ratio of the pairs.  What the query "beside" takes is not
-- counted for a.  a_set and b_set are settings ("name=value") of the runs of a
-- and b.
CREATE FUNCTION compare(what text, a text, b text, bar float8, per float8,
	beside text DEFAULT NULL, wall boolean DEFAULT false,
	a_set text DEFAULT NULL, b_set text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	a_ns float8[];
	b_ns float8[];
	ratio float8[];
	x float8;
	y float8;
BEGIN
	FOR pair IN 0 .. current_setting('bench.pairs')::int LOOP
		IF a_set IS NOT NULL THEN
			PERFORM set_config(split_part(a_set, '=', 1), split_part(a_set, '=', 2), false);
		END IF;
		x := run(a, wall) - CASE WHEN beside IS NULL THEN 0 ELSE run(beside, wall) END;
		IF b_set IS NOT NULL THEN
			PERFORM set_config(split_part(b_set, '=', 1), split_part(b_set, '=', 2), false);
		END IF;
		y := run(b, wall);
		IF pair > 0 THEN
			a_ns := a_ns || x / per;
			b_ns := b_ns || y / per;
			ratio := ratio || x / y;
		END IF;
	END LOOP;
	INSERT INTO bars (what, measure, a, b, value, least, most, bar)
	VALUES (what, CASE WHEN wall THEN 'elapsed' ELSE 'CPU' END || ' ns a row',
		median(a_ns), median(b_ns), median(ratio),
		(SELECT min(r) FROM unnest(ratio) r), (SELECT max(r) FROM unnest(ratio) r),
		bar);
END
$$;

-- ------------------------------------------------------------------------
-- What it is measured on
-- ------------------------------------------------------------------------

-- The first million of the URLs, with a factor of 100: 1 % of :rows are bad
BEGIN;
CREATE TABLE urls (n bigint NOT NULL, url text NOT NULL);
COPY urls FROM STDIN (FREEZE);
\.
INSERT INTO urls SELECT n, url(n) FROM (SELECT generate_series(1, :rows)::bigint AS n) s;
COMMIT;
CREATE TABLE half AS SELECT * FROM urls WHERE n <= :rows / 2;
CREATE TABLE wide AS SELECT *, repeat(md5(url), 57) AS rest FROM urls WHERE n <= :rows / 50;
CREATE TABLE bad AS
	SELECT n * 100 AS n, url(n * 100) AS url
	FROM (SELECT generate_series(1, 1000000)::bigint AS n) s;

-- groups of 50, of which no two rows lie together
CREATE TABLE grouped AS
	SELECT n % 100000 AS g, n
	FROM (SELECT generate_series(1, 5000000)::bigint AS n) s;

-- arrays of 1,000 numbers
CREATE TABLE arrays (a bigint[]);
ALTER TABLE arrays ALTER a SET STORAGE external;
INSERT INTO arrays
	SELECT array_agg(bloom_hash(n)) FROM generate_series(1, 4000000) n GROUP BY n % 4000;

CREATE TABLE filters (name text PRIMARY KEY, f bloom);
INSERT INTO filters SELECT 'urls', bloom_agg(url) FROM bad;
INSERT INTO filters SELECT 'numbers', bloom_agg(n) FROM bad;
INSERT INTO filters SELECT '10 kB', bloom_agg(n * 7) FROM generate_series(1, 7800) n;
INSERT INTO filters SELECT '100 MB', bloom_agg(n, 78000000, NULL)
	FROM (SELECT generate_series(1, 10000000)::bigint AS n) s;
INSERT INTO filters SELECT '500 MB', bloom_agg(n * 7, 400000000, NULL)
	FROM (SELECT generate_series(1, 10000000)::bigint AS n) s;
INSERT INTO filters SELECT 'one cache line', bloom_create(1);

CREATE TABLE cuckoos (name text PRIMARY KEY, f cuckoo);
INSERT INTO cuckoos SELECT 'urls', cuckoo_agg(url) FROM bad;

-- 50 million elements, in one filter of 64 MB and in 64 of 1 MB
INSERT INTO filters SELECT '64 MB', bloom_agg(n * 7, 52500000, NULL)
	FROM (SELECT generate_series(1, 50000000)::bigint AS n) s;
CREATE TABLE shards AS
	SELECT bloom_shard(n * 7, 64) AS shard, bloom_agg(n * 7, 820000, NULL) AS f
	FROM (SELECT generate_series(1, 50000000)::bigint AS n) s GROUP BY 1;

VACUUM (FREEZE, ANALYZE) urls, half, wide, bad, grouped, arrays, filters, cuckoos, shards;

SELECT prewarm() AS in_memory;
SELECT name, pg_size_pretty(bytes) AS size, elements, layers,
	round(100 * estimated_error_rate::numeric, 3) AS error_rate_percent
FROM filters, bloom_info(f) UNION ALL
SELECT '64 shards, each', pg_size_pretty(avg(bytes)), round(avg(elements)), max(layers),
	round(100 * avg(estimated_error_rate)::numeric, 3)
FROM shards, bloom_info(f) ORDER BY 1;
