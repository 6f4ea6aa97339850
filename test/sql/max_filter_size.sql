--
-- bloomfilter.max_filter_size: no larger filter is made, or read from outside; those that
-- exist can be used.
--
LOAD 'bloomfilter';
SHOW bloomfilter.max_filter_size;
SELECT context, unit, min_val, max_val, boot_val FROM pg_settings WHERE name = 'bloomfilter.max_filter_size';
\set VERBOSITY sqlstate
SET bloomfilter.max_filter_size = 0;
SET bloomfilter.max_filter_size = '1GB';
\set VERBOSITY default

-- SQLSTATE, message, detail and hint of the error that a query raises; numbers depend on
-- how filters are sized
CREATE FUNCTION error_of(query text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	detail		text;
	hint		text;
BEGIN
	EXECUTE query;
	RETURN 'none';
EXCEPTION WHEN program_limit_exceeded THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws('; ', SQLSTATE, SQLERRM, regexp_replace(detail, '\d+ bytes', 'N bytes'), hint);
END
$$;
-- made while there was no such limit
CREATE TABLE made (id text PRIMARY KEY, f bloom, c cuckoo);
INSERT INTO made VALUES
	('large', bloom_add_all(bloom_create(100000), ARRAY(SELECT generate_series(1, 1000))), cuckoo_add_all(cuckoo_create(100000), ARRAY(SELECT generate_series(1, 1000)))),
	('full', bloom_add_all(bloom_create(20000), ARRAY(SELECT generate_series(1, 20000))), cuckoo_add_all(cuckoo_create(20000), ARRAY(SELECT generate_series(1, 20000)))),
	('full, too', bloom_add_all(bloom_create(20000), ARRAY(SELECT generate_series(20001, 40000))), cuckoo_add_all(cuckoo_create(20000), ARRAY(SELECT generate_series(20001, 40000)))),
	('explicit', (SELECT bloom_union_agg(e) FROM (SELECT bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY(SELECT generate_series(n, n + 999))) AS e
												  FROM generate_series(1, 3001, 1000) AS n) AS t), NULL),
	('explicit, too', (SELECT bloom_union_agg(e) FROM (SELECT bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY(SELECT generate_series(n, n + 999))) AS e
													   FROM generate_series(4001, 7001, 1000) AS n) AS t), NULL);
SELECT f::text AS bloom_text, c::text AS cuckoo_text, f::bytea AS bloom_bytes, c::bytea AS cuckoo_bytes FROM made WHERE id = 'large' \gset
CREATE TABLE elements AS SELECT i FROM generate_series(1, 100000) AS i;
CREATE INDEX elements_i ON elements USING membership (i);

SET bloomfilter.max_filter_size = '50kB';
-- Created
SELECT error_of('SELECT bloom_create(100000)') AS bloom_create;
SELECT error_of('SELECT cuckoo_create(100000)') AS cuckoo_create;
SELECT error_of('SELECT bloom_create_bits(1000000, 5)') AS bloom_create_bits;
SELECT error_of('SELECT bloom_agg(i) FROM elements') AS bloom_agg;
SELECT error_of('SELECT cuckoo_agg(i) FROM elements') AS cuckoo_agg;
SELECT error_of('SELECT bloom_agg(i, 100000, NULL) FROM elements WHERE i < 10') AS before_the_rows;
SELECT error_of('SELECT membership_filter(''elements_i'')') AS membership_filter;
-- Grown
SELECT error_of('SELECT bloom_add_all(f, ARRAY(SELECT generate_series(30000, 90000))) FROM made WHERE id = ''full''') AS bloom_add_all;
SELECT error_of('SELECT cuckoo_add_all(c, ARRAY(SELECT generate_series(30000, 90000))) FROM made WHERE id = ''full''') AS cuckoo_add_all;
-- United
SELECT error_of('SELECT a.f | b.f FROM made AS a, made AS b WHERE a.id = ''full'' AND b.id = ''full, too''') AS bloom_union;
SELECT error_of('SELECT f | f FROM made WHERE id = ''large''') AS of_large_ones;
SELECT error_of('SELECT bloom_union_agg(f) FROM made WHERE id LIKE ''full%''') AS bloom_union_agg;
SELECT error_of('SELECT a.f | b.f FROM made AS a, made AS b WHERE a.id = ''explicit'' AND b.id = ''explicit, too''') AS explicit_union;
SELECT error_of('SELECT a.f | a.f FROM made AS a WHERE a.id = ''explicit''') AS the_same_hashes;
-- Read from outside
SELECT error_of(format('SELECT %L::bloom', :'bloom_text')) AS bloom_in, error_of(format('SELECT %L::cuckoo', :'cuckoo_text')) AS cuckoo_in;
SELECT error_of(format('SELECT %L::bytea::bloom', :'bloom_bytes')) AS bloom_bytes, error_of(format('SELECT %L::bytea::cuckoo', :'cuckoo_bytes')) AS cuckoo_bytes;

-- Smaller ones are made
SELECT error_of('SELECT bloom_create(20000)') AS bloom, error_of('SELECT cuckoo_create(20000)') AS cuckoo, error_of('SELECT bloom_create_bits(200000, 5)') AS classic,
	   -- though their elements take more than that while they are collected
	   error_of('SELECT bloom_agg(i) FROM elements WHERE i <= 20000') AS aggregate;
-- and what exists can be used, changed if it does not grow, and sent
SELECT f @> 7 AS found, bloom_add(f, -1) @> -1 AS added, bloom_cardinality(f & f) > 900 AS intersected,
	   f::text = :'bloom_text' AS sent, cuckoo_remove(c, 7) @> 7 AS removed, cuckoo_compact(c) @> 8 AS compacted,
	   bloom_cardinality(bloom_clear(f)) AS cleared, cuckoo_cardinality(cuckoo_clear(c)) AS cuckoo_cleared
FROM made WHERE id = 'large';
COPY made TO '/dev/null';
UPDATE made SET f = bloom_add(f, -1) WHERE id = 'large';

-- After an error, a variable still holds what it did
DO $$
DECLARE
	f bloom := bloom_add_all(bloom_create(10000), ARRAY(SELECT generate_series(1, 9000)));
BEGIN
	BEGIN
		f := bloom_add_all(f, ARRAY(SELECT generate_series(10000, 99000)));
	EXCEPTION WHEN program_limit_exceeded THEN
		RAISE NOTICE '%', SQLERRM;
	END;
	RAISE NOTICE '9000: %, 99000: %', bloom_contains(f, 9000), bloom_contains(f, 99000);
END $$;
-- also an explicit one, which would be converted to layers
CREATE AGGREGATE cuckoo_state(anycompatible, bigint, float8) (SFUNC = _cuckoo_agg_trans, STYPE = cuckoo);
DO $$
DECLARE
	f cuckoo;
BEGIN
	RESET bloomfilter.max_filter_size;
	f := (SELECT cuckoo_state(i, 100000, 0.01) FROM generate_series(1, 2000) AS i);
	SET bloomfilter.max_filter_size = '50kB';
	-- large enough to be changed in place, from 18 on
	f := cuckoo_remove(f, 2000);
	BEGIN
		f := cuckoo_replace(f, 1, 3000);
	EXCEPTION WHEN program_limit_exceeded THEN
		RAISE NOTICE '%', SQLERRM;
	END;
	RAISE NOTICE '1: %, 2000: %, 3000: %', cuckoo_contains(f, 1), cuckoo_contains(f, 2000), cuckoo_contains(f, 3000);
END $$;
DROP AGGREGATE cuckoo_state(anycompatible, bigint, float8);

-- The size is that of bloom_info: exactly that much is allowed
RESET bloomfilter.max_filter_size;
SELECT ceil((bloom_info(bloom_create(100000))).bytes / 1024.0)::int AS enough \gset
SET bloomfilter.max_filter_size = :enough;
SELECT error_of('SELECT bloom_create(100000)') AS enough;
SELECT :enough - 1 AS less \gset
SET bloomfilter.max_filter_size = :less;
SELECT error_of('SELECT bloom_create(100000)') LIKE '54000; filter would be larger%' AS not_enough;

-- Only those who may set it
CREATE ROLE regress_bloomfilter_limited;
SET ROLE regress_bloomfilter_limited;
SET bloomfilter.max_filter_size = '512MB';
RESET ROLE;
DROP ROLE regress_bloomfilter_limited;
RESET bloomfilter.max_filter_size;

-- By default, only the format limits it
SELECT error_of('SELECT bloom_create(1000000000)') AS format;
DROP TABLE made, elements;
DROP FUNCTION error_of;
