-- What the planner does with the paths of Filter Scans.  A path that is no better than
-- another of the same table is freed at once: here the one with a join filter that
-- lets all rows pass, of a table that parallel workers cannot read.
\set ON_ERROR_STOP on
SET min_parallel_table_scan_size = 0;
SET bloomfilter.filter_scan = force;
SET bloomfilter.join_filter = index;
CREATE TABLE kept AS SELECT x FROM generate_series(1, 1000) AS x;
CREATE INDEX kept_x ON kept USING membership (x);
CREATE TEMPORARY TABLE scanned AS SELECT x FROM generate_series(1, 1000) AS x;
CREATE TEMPORARY TABLE filters AS SELECT bloom_agg(x) AS f FROM generate_series(1, 1000) AS x;
ANALYZE kept, scanned, filters;
\set ON_ERROR_STOP off
SELECT count(*) FROM scanned JOIN kept USING (x)
WHERE bloom_contains((SELECT f FROM filters), x);
DROP TABLE kept, scanned, filters;

-- A scan raises no error that a call of the function for each row would not: none without
-- a filter, without an element
CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE folded (name text COLLATE folding);
CREATE TABLE filters (f bloom);
INSERT INTO folded VALUES ('x');
SELECT * FROM folded WHERE bloom_contains((SELECT f FROM filters), name);
INSERT INTO filters VALUES (bloom_create(10));
SELECT * FROM folded WHERE bloom_contains((SELECT f FROM filters), name);
UPDATE folded SET name = NULL;
SELECT * FROM folded WHERE bloom_contains((SELECT f FROM filters), name);
DROP TABLE folded, filters;
DROP COLLATION folding;

-- Expressions that catch errors: that counts as a change of what is open
CREATE TABLE listed (x int);
INSERT INTO listed SELECT generate_series(1, 100);
CREATE INDEX listed_x ON listed USING membership (x);
CREATE TABLE texts (t text);
INSERT INTO texts SELECT CASE WHEN n % 3 = 0 THEN 'bad' ELSE n::text END FROM generate_series(1, 3000) n;
ANALYZE listed, texts;
CREATE FUNCTION int_or_zero(t text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	RETURN t::int;
EXCEPTION WHEN others THEN
	RETURN -1;
END $$;
SELECT count(*) FROM texts WHERE membership_contains('listed_x', int_or_zero(t));

-- The planner looks no index up by its name: it may not be there, and not be needed
CREATE TABLE nothing (x int);
SELECT count(*) FROM nothing WHERE membership_contains('nowhere'::text::regclass, x);

-- Which plans the planner chooses by itself
RESET bloomfilter.filter_scan;
SET max_parallel_workers_per_gather = 0;
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
CREATE FUNCTION probes(query text) RETURNS SETOF text LANGUAGE sql AS
$$ SELECT trim(line) FROM plan_of(query) line WHERE line ~ 'Probe:' $$;
CREATE TABLE numbers (x int, y int);
INSERT INTO numbers SELECT n, n FROM generate_series(1, 20000) n;
-- a join filter without statistics would be a guess
SELECT probes('SELECT * FROM numbers JOIN listed USING (x)');
ANALYZE numbers;
SELECT probes('SELECT * FROM numbers JOIN listed USING (x)');
-- what is looked up in the index by a condition is not looked up twice
SELECT probes($$SELECT * FROM numbers n WHERE membership_contains('listed_x', x) AND EXISTS (SELECT FROM listed l WHERE l.x = n.x)$$);
-- where another condition leaves few rows, all of them would be probed for little
SELECT probes('SELECT * FROM numbers JOIN listed USING (x) WHERE y < 100');
-- no index is read if a cheaper path finds the rows
CREATE INDEX numbers_y ON numbers (y);
SELECT probes('SELECT * FROM numbers JOIN listed USING (x) WHERE y = 5');
DROP TABLE listed, texts, nothing, numbers;
DROP FUNCTION int_or_zero, probes;
