--
-- How the planner of PostgreSQL 19 treats aggregates: DISTINCT is dropped, and partial
-- aggregation below joins gives the same results.  The results are the same in all versions.
--
\set ON_ERROR_STOP on
SET max_parallel_workers_per_gather = 0;
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
-- The lines of a plan that match, in one
CREATE FUNCTION lines_of(query text, pattern text) RETURNS text LANGUAGE sql AS
$$ SELECT coalesce(string_agg(substring(line FROM pattern), E'\n'), '') FROM plan_of(query, 'VERBOSE, COSTS off') line $$;
SELECT current_setting('server_version_num')::int >= 190000 AS is_19 \gset
CREATE TABLE facts AS SELECT i % 100 AS id, (i * 7) % 3000 AS x, 'text ' || i % 500 AS t, i::numeric / 2 AS n
FROM generate_series(1, 20000) AS i;
CREATE TABLE kinds AS SELECT i AS id, i % 4 AS kind FROM generate_series(0, 99) AS i;
ANALYZE facts, kinds;
\set ON_ERROR_STOP off

-- DISTINCT and ORDER BY change nothing but the plan
SELECT bloom_agg(x) = bloom_agg(DISTINCT x) AS "distinct", bloom_agg(x) = bloom_agg(x ORDER BY n DESC) AS ordered,
	   bloom_agg(t, 1000, NULL) = bloom_agg(DISTINCT t, 1000, NULL) AS capacity, bloom_agg(t, NULL, 0.001) = bloom_agg(DISTINCT t, NULL, 0.001) AS rate,
	   bloom_agg(bloom_element(n, 42), 20000, 0.001) = bloom_agg(bloom_element(n, 42), 20000, 0.001 ORDER BY n) AS everything,
	   bloom_agg(x) FILTER (WHERE x > 10) = bloom_agg(DISTINCT x) FILTER (WHERE x > 10) AS filtered,
	   cuckoo_agg(x) = cuckoo_agg(DISTINCT x) AS cuckoo
FROM facts;
SELECT count(*) AS same FROM (SELECT id, bloom_agg(x) = bloom_agg(DISTINCT x ORDER BY x DESC) AS same FROM facts GROUP BY id) AS t WHERE same;
SELECT id FROM facts GROUP BY id HAVING bloom_agg(DISTINCT x) @> 7 AND NOT bloom_agg(x ORDER BY t) @> -1 ORDER BY id;
-- also through a view, whose definition stays
CREATE VIEW distinct_facts AS SELECT bloom_agg(DISTINCT x ORDER BY x) AS f FROM facts;
SELECT f = (SELECT bloom_agg(x) FROM facts) AS same, pg_get_viewdef('distinct_facts') LIKE '%DISTINCT%ORDER BY%' AS as_written FROM distinct_facts;
-- From 19 on there is no sort
SELECT query, lines_of(query, 'Sort|DISTINCT|ORDER BY') = '' AS simple
FROM unnest(ARRAY[
	'SELECT bloom_agg(DISTINCT x) FROM facts',
	'SELECT bloom_agg(x ORDER BY n) FROM facts',
	'SELECT bloom_agg(DISTINCT t, 1000, NULL) FROM facts',
	'SELECT bloom_agg(DISTINCT t, NULL, 0.001) FROM facts',
	'SELECT bloom_agg(bloom_element(x), 1000, NULL ORDER BY x) FROM facts',
	'SELECT bloom_agg(DISTINCT x, 1000, 0.001) FROM facts',
	'SELECT bloom_agg(DISTINCT x, 1000, 0.001 ORDER BY x) FROM facts',
	'SELECT f FROM distinct_facts']) AS query
WHERE :'is_19' AND lines_of(query, 'Sort|DISTINCT|ORDER BY') <> '';
-- but where an expression has effects of its own, and where repeated elements may count
SELECT lines_of(query, 'DISTINCT|ORDER BY') <> '' AS kept
FROM unnest(ARRAY[
	'SELECT bloom_agg(x ORDER BY random()) FROM facts',
	'SELECT cuckoo_agg(DISTINCT x) FROM facts',
	'SELECT bloom_union_agg(DISTINCT bloom_create(10)) FROM facts']) AS query;
SELECT bloom_agg(x) = bloom_agg(x ORDER BY random()) AS same FROM facts;

-- A state grows with its elements, so none is made below a join
SELECT bool_and(aggtransspace < 0) = :'is_19' AS unbounded, count(*) AS aggregates FROM pg_aggregate
WHERE aggtranstype IN ('bloom'::regtype, 'cuckoo'::regtype);
SELECT lines_of('SELECT kind, bloom_agg(x) FROM facts JOIN kinds USING (id) GROUP BY kind', 'Partial') AS partial;
-- If it is, as after an upgrade from a version that has no such sizes, the results are the
-- same
CREATE AGGREGATE eager_bloom(anycompatible) (SFUNC = _bloom_agg_trans, STYPE = bloom, SSPACE = 1024,
	COMBINEFUNC = _bloom_agg_combine, FINALFUNC = _bloom_agg_final, PARALLEL = SAFE);
CREATE AGGREGATE eager_bloom(hashed_element, bigint, float8) (SFUNC = _bloom_agg_trans, STYPE = bloom, SSPACE = 1024,
	COMBINEFUNC = _bloom_agg_combine, FINALFUNC = _bloom_agg_final, PARALLEL = SAFE);
CREATE AGGREGATE eager_cuckoo(anycompatible) (SFUNC = _cuckoo_agg_trans, STYPE = cuckoo, SSPACE = 1024,
	COMBINEFUNC = _cuckoo_agg_combine, FINALFUNC = _cuckoo_agg_final, PARALLEL = SAFE);
CREATE AGGREGATE eager_union(bloom) (SFUNC = bloom_union, STYPE = bloom, SSPACE = 8192,
	COMBINEFUNC = bloom_union, FINALFUNC = _bloom_final, PARALLEL = SAFE);
CREATE AGGREGATE eager_intersection(bloom) (SFUNC = bloom_intersection, STYPE = bloom, SSPACE = 8192,
	COMBINEFUNC = bloom_intersection, FINALFUNC = _bloom_final, PARALLEL = SAFE);
CREATE AGGREGATE eager_sum(cuckoo) (SFUNC = cuckoo_union, STYPE = cuckoo, SSPACE = 8192,
	COMBINEFUNC = cuckoo_union, FINALFUNC = _cuckoo_final, PARALLEL = SAFE);
-- each part is in each kind twice, which a sum counts
CREATE TABLE parts AS SELECT i % 100 AS id, bloom_agg(i * 10 + j, 20000, NULL) AS f, cuckoo_agg(i * 10 + j, 20000::bigint, 1e-6) AS c
FROM generate_series(1, 2000) AS i, generate_series(1, 3) AS j GROUP BY i;
CREATE TABLE part_kinds AS SELECT i % 100 AS id, i / 200 AS kind FROM generate_series(0, 399) AS i;
ANALYZE parts, part_kinds;
CREATE VIEW eager AS
SELECT kind, eager_bloom(x) AS blooms, eager_bloom(bloom_element(t, 42), 1000, 0.001) AS keyed, eager_cuckoo(n) AS cuckoos
FROM facts JOIN kinds USING (id) GROUP BY kind;
CREATE VIEW eager_parts AS
SELECT kind, eager_union(f) AS unions, eager_intersection(f) AS intersections, cuckoo_cardinality(eager_sum(c)) AS sums
FROM parts JOIN part_kinds USING (id) GROUP BY kind;
SELECT (lines_of('SELECT * FROM eager', 'Partial') <> '') = :'is_19' AS eager, (lines_of('SELECT * FROM eager_parts', 'Partial') <> '') = :'is_19' AS eager_parts;
SELECT kind, blooms = bloom_agg(x) AS blooms, keyed = bloom_agg(bloom_element(t, 42), 1000, 0.001) AS keyed, cuckoos = cuckoo_agg(n) AS cuckoos
FROM eager JOIN kinds USING (kind) JOIN facts USING (id) GROUP BY kind, blooms, keyed, cuckoos ORDER BY kind;
SELECT kind, unions = bloom_union_agg(f) AS unions, intersections = bloom_intersection_agg(f) AS intersections,
	   sums = cuckoo_cardinality(cuckoo_union_agg(c)) AS sums, sums
FROM eager_parts JOIN part_kinds USING (kind) JOIN parts USING (id) GROUP BY kind, unions, intersections, sums ORDER BY kind;
DROP VIEW eager, eager_parts, distinct_facts;
DROP TABLE facts, kinds, parts, part_kinds;
DROP AGGREGATE eager_bloom(anycompatible), eager_bloom(hashed_element, bigint, float8), eager_cuckoo(anycompatible), eager_union(bloom), eager_intersection(bloom), eager_sum(cuckoo);
DROP FUNCTION plan_of;
