--
-- EXPLAIN shows a constant filter that a Filter Scan probes by its size; views and dumps
-- have all of it.
--
\set ON_ERROR_STOP on
CREATE TABLE scanned AS SELECT i, 'text ' || i AS t FROM generate_series(1, 20000) AS i;
ANALYZE scanned;
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
-- the lines with a filter, and how long the plan is; sizes depend on the layout
CREATE FUNCTION texts_of(query text, options text = 'COSTS off', OUT probes text, OUT short boolean) LANGUAGE sql AS $$
	SELECT string_agg(regexp_replace(ltrim(line), '\d+ bytes', 'N bytes', 'g'), E'\n') FILTER (WHERE line ~ '^ *Probe: |contains\('),
		sum(length(line)) < 1500
	FROM plan_of(query, options) line
$$;
CREATE TABLE literals AS
SELECT quote_literal(bloom_agg(i)) || '::bloom' AS bloom, quote_literal(cuckoo_agg(i)) || '::cuckoo' AS cuckoo,
	   quote_literal(bloom_agg(t)) || '::bloom' AS texts FROM scanned WHERE i <= 5000;
\set ON_ERROR_STOP off
SELECT p.* FROM literals, texts_of(format('SELECT * FROM scanned WHERE bloom_contains(%s, i)', bloom)) AS p;
SELECT p.* FROM literals, texts_of(format('SELECT * FROM scanned WHERE %s @> i', bloom)) AS p;
SELECT p.* FROM literals, texts_of(format('SELECT * FROM scanned WHERE i <@ %s AND t > ''t''', cuckoo)) AS p;
SELECT p.* FROM literals, texts_of(format('SELECT * FROM scanned WHERE cuckoo_contains(%s, i) AND bloom_contains(%s, t)', cuckoo, texts), 'VERBOSE, COSTS OFF') AS p;
SELECT p.short, p.probes ~ 'bloom of' AS named FROM literals, texts_of(format('SELECT * FROM scanned WHERE bloom_contains(%s, i)', bloom), 'FORMAT json') AS p;
SELECT p.* FROM literals, texts_of(format('SELECT * FROM scanned WHERE bloom_contains(%s, i)', bloom), 'ANALYZE, COSTS OFF, TIMING OFF') AS p;
-- also a domain's, and one in a prepared statement
CREATE DOMAIN numbers AS bloom;
SELECT p.* FROM literals, texts_of(format('SELECT * FROM scanned WHERE bloom_contains(%s::numbers, i)', bloom)) AS p;
SELECT format('EXECUTE probe(%s)', bloom) AS execute FROM literals \gset
PREPARE probe(bloom) AS SELECT * FROM scanned WHERE bloom_contains($1, i);
SELECT p.* FROM texts_of(:'execute') AS p;
SET plan_cache_mode = force_generic_plan;
SELECT p.* FROM texts_of(:'execute') AS p;
RESET plan_cache_mode;
DEALLOCATE probe;
-- Other constants of the expression are shown as they are
SELECT p.* FROM literals, texts_of(format('SELECT * FROM scanned WHERE bloom_contains(%s, t || ''x'')', texts)) AS p;

-- The definition of a view has all of the filter, and it works
DO $$
BEGIN
	EXECUTE (SELECT format('CREATE VIEW filtered AS SELECT * FROM scanned WHERE bloom_contains(%s, i)', bloom) FROM literals);
END $$;
SELECT position(bloom IN pg_get_viewdef('filtered')) > 0 AS complete, (SELECT count(*) BETWEEN 5000 AND 5300 FROM filtered) AS probed FROM literals;
SELECT p.* FROM texts_of('SELECT * FROM filtered') AS p;
DROP VIEW filtered;
DROP TABLE scanned, literals;
DROP DOMAIN numbers;
DROP FUNCTION plan_of;
