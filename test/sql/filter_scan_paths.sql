-- What the planner does with the paths of Filter Scans.  A path that is no better than
-- another of the same table is freed at once: here the one with a join filter that
-- lets all rows pass, of a table that parallel workers cannot read.
SET min_parallel_table_scan_size = 0;
SET bloomfilter.filter_scan = force;
CREATE TABLE kept AS SELECT x FROM generate_series(1, 1000) AS x;
CREATE INDEX kept_x ON kept USING membership (x);
CREATE TEMPORARY TABLE scanned AS SELECT x FROM generate_series(1, 1000) AS x;
CREATE TEMPORARY TABLE filters AS SELECT bloom_agg(x) AS f FROM generate_series(1, 1000) AS x;
ANALYZE kept, scanned, filters;
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
