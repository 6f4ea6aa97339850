-- What the planner knows of a filter: selectivity, folding, placing.
\set ON_ERROR_STOP on
SET max_parallel_workers_per_gather = 0;
-- large enough for ANALYZE to read every row, so that chance has no part
SET default_statistics_target = 1000;

CREATE TABLE planned (url text, n integer NOT NULL, m integer);
INSERT INTO planned
	SELECT 'https://example.com/' || md5(i::text), i, i % 50
	FROM generate_series(1, 100000) i;
ANALYZE planned;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file

-- The filter holds a share of the column's values: expected over actual number
-- of rows, for the function and both operators
CREATE FUNCTION off_by(share float8, error_rate float8, condition text)
RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
	filter bloom;
	query text;
	rows float8;
BEGIN
	SELECT bloom_agg(url, NULL, off_by.error_rate) INTO filter
	FROM planned WHERE n <= share * 100000;
	query := 'SELECT * FROM planned WHERE ' || format(condition, filter);
	EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO rows;
	RETURN expected_rows(query) / rows;
END
$$;
\set ON_ERROR_STOP off

SELECT share, condition,
	off_by(share, 0.001, condition) BETWEEN 0.5 AND 2 AS within_factor_2
FROM unnest(ARRAY[0.5, 0.05, 0.001]) share,
	unnest(ARRAY['bloom_contains(%L::bloom, url)', '%L::bloom @> url',
				 'url <@ %L::bloom']) condition
ORDER BY share DESC, condition;

-- elements that are not in the column: by the histogram
SELECT expected_rows(format('SELECT * FROM planned WHERE bloom_contains(%L::bloom, url)',
							bloom_agg(i::text, NULL, 0.001)))
	BETWEEN 1 AND 1000 AS below_1_percent
FROM generate_series(1, 100000) i;

-- most common values are looked up one by one
SELECT expected_rows(format('SELECT * FROM planned WHERE bloom_contains(%L::bloom, m)',
							bloom_agg(i, NULL, 0.0001)))
	BETWEEN 19000 AND 21000 AS a_fifth
FROM generate_series(0, 9) i;

-- an unknown filter lets a tenth of the rows pass
SELECT expected_rows('SELECT * FROM planned WHERE bloom_contains((SELECT bloom_agg(1)), n)');
PREPARE probe(bloom) AS SELECT * FROM planned WHERE bloom_contains($1, n);
SET plan_cache_mode = force_generic_plan;
SELECT expected_rows('EXECUTE probe(bloom_create(1))');
-- a known parameter of a custom plan is a known filter
SET plan_cache_mode = force_custom_plan;
SELECT expected_rows(format('EXECUTE probe(%L)', bloom_agg(n))) < 2000
FROM planned WHERE n <= 10;
RESET plan_cache_mode;

-- A user without SELECT on the column learns nothing of it from the estimate:
-- it is the one for an unknown filter.
CREATE ROLE regress_bloom_reader;
CREATE VIEW planned_view WITH (security_barrier) AS
	SELECT url FROM planned WHERE n > 10;
GRANT SELECT ON planned_view TO regress_bloom_reader;
SET ROLE regress_bloom_reader;
SELECT expected_rows(format('SELECT * FROM planned_view WHERE bloom_contains(%L::bloom, url)',
							bloom_agg('https://example.com/' || md5(i::text))))
	BETWEEN 40000 AND 60000 AS tells_the_share
FROM generate_series(1, 50000) i;
RESET ROLE;

-- An empty constant filter is false where the element cannot be NULL.
CREATE FUNCTION is_folded(query text) RETURNS boolean
LANGUAGE sql AS $$
	SELECT bool_or(line LIKE '%One-Time Filter: false%') FROM plan_of(query) line
$$;
SELECT is_folded('SELECT * FROM planned WHERE bloom_contains(bloom_create(10), n)') AS contains,
	is_folded('SELECT * FROM planned WHERE bloom_create(10) @> n') AS operator,
	is_folded('SELECT * FROM planned WHERE n <@ bloom_create(10)') AS commutator,
	is_folded('SELECT * FROM planned WHERE bloom_contains(bloom_create(10), ''x'')') AS a_constant;
-- not where it can, nor where an outer join may make it so
SELECT is_folded('SELECT * FROM planned WHERE bloom_contains(bloom_create(10), url)') AS nullable,
	is_folded('SELECT * FROM planned a LEFT JOIN planned b ON a.n = b.m WHERE bloom_contains(bloom_create(10), b.n) IS NOT TRUE') AS outer_join,
	is_folded('SELECT * FROM planned WHERE bloom_contains(bloom_add(bloom_create(10), 1), n)') AS not_empty;
SELECT count(*) AS none, count(*) FILTER (WHERE NOT bloom_contains(bloom_create(10), n)) AS all_rows
FROM planned WHERE NOT bloom_contains(bloom_create(10), n);

-- nor in a table with a child that has dropped the constraint, where the
-- server lets it
CREATE TABLE parent (n integer NOT NULL);
CREATE TABLE child () INHERITS (parent);
DO $$
BEGIN
	ALTER TABLE child ALTER n DROP NOT NULL;
	INSERT INTO child VALUES (NULL);
EXCEPTION
	WHEN invalid_table_definition THEN NULL;
END
$$;
INSERT INTO child VALUES (1);
SELECT (SELECT count(*) FROM parent WHERE NOT bloom_contains(bloom_create(10), n)) AS known,
	(SELECT count(*) FROM parent WHERE NOT bloom_contains((SELECT bloom_create(10) OFFSET 0), n)) AS unknown;
DROP TABLE parent CASCADE;
-- nor by the columns of the query around an EXISTS, with whose root core simplifies its condition
CREATE TABLE nullable AS SELECT g AS id, NULL::integer AS n FROM generate_series(1, 3) g;
ANALYZE nullable;
SELECT count(*) FILTER (WHERE one) AS one, count(*) FILTER (WHERE two) AS two
FROM (SELECT EXISTS (SELECT FROM nullable a WHERE a.id = p.n AND NOT bloom_contains(bloom_create(10), a.n)) AS one,
		EXISTS (SELECT FROM nullable a, nullable b WHERE a.id = p.n AND a.id = b.id AND NOT bloom_contains(bloom_create(10), b.n)) AS two
	FROM planned p OFFSET 0) x;
-- which has fewer
SELECT bloom_agg(g) AS two_to_five FROM generate_series(2, 5) g \gset
SELECT count(*) FILTER (WHERE sent) AS sent
FROM (SELECT EXISTS (SELECT FROM nullable a, nullable b, nullable c, nullable d WHERE a.id = p.n AND b.id = a.id AND c.id = a.id AND d.id = a.id
			AND _bloom_may_contain(:'two_to_five'::bloom, d.id, 'integer', -1, 'UTF8', 2, 5)) AS sent
	FROM planned p OFFSET 0) x;
DROP TABLE nullable;

-- An element that cannot be hashed is left to the executor, if it gets that far.
CREATE TABLE points (p point);
ANALYZE points;
SELECT expected_rows('SELECT * FROM points WHERE bloom_contains(bloom_add(bloom_create(10), 1), p)') > 0 AS planned;
SELECT count(*) FROM points WHERE bloom_contains(bloom_add(bloom_create(10), 1), p);
INSERT INTO points VALUES ('(1,2)');
SELECT count(*) FROM points WHERE bloom_contains(bloom_add(bloom_create(10), 1), p);
DROP TABLE points;

-- A large stored filter is estimated by its header.
CREATE TABLE kept AS
	SELECT bloom_union(bloom_create(20000000), bloom_agg(n, 20000000, NULL)) AS filter FROM planned WHERE n <= 10000;
CREATE FUNCTION expected_of_kept() RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
	filter bloom;
	line text;
BEGIN
	SELECT k.filter INTO filter FROM kept k;
	FOR line IN EXECUTE 'EXPLAIN SELECT * FROM planned WHERE bloom_contains($1, n)' USING filter LOOP
		RETURN substring(line FROM 'rows=([0-9]+)');
	END LOOP;
END
$$;
SELECT expected_of_kept() BETWEEN 9000 AND 12000 AS a_tenth;
DROP FUNCTION expected_of_kept;
DROP TABLE kept;

-- cuckoo: all the same
CREATE FUNCTION cuckoo_off_by(share float8, error_rate float8, condition text)
RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
	filter cuckoo;
	query text;
	rows float8;
BEGIN
	-- twice as many were in it once
	SELECT cuckoo_remove_all(cuckoo_agg(url, NULL, cuckoo_off_by.error_rate), array_agg(url) FILTER (WHERE n > share * 100000)) INTO filter
	FROM planned WHERE n <= share * 200000;
	query := 'SELECT * FROM planned WHERE ' || format(condition, filter);
	EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO rows;
	RETURN expected_rows(query) / rows;
END
$$;
SELECT share, condition,
	cuckoo_off_by(share, 0.001, condition) BETWEEN 0.5 AND 2 AS within_factor_2
FROM unnest(ARRAY[0.3, 0.02, 0.001]) share,
	unnest(ARRAY['cuckoo_contains(%L::cuckoo, url)', '%L::cuckoo @> url',
				 'url <@ %L::cuckoo']) condition
WHERE share < 0.1 OR condition LIKE 'cuckoo_contains%'
ORDER BY share DESC, condition;
SELECT expected_rows(format('SELECT * FROM planned WHERE cuckoo_contains(%L::cuckoo, url)',
							cuckoo_agg(i::text, NULL, 0.001)))
	BETWEEN 1 AND 1000 AS below_1_percent
FROM generate_series(1, 100000) i;
SELECT expected_rows(format('SELECT * FROM planned WHERE cuckoo_contains(%L::cuckoo, m)',
							cuckoo_agg(i, NULL, 0.0001)))
	BETWEEN 19000 AND 21000 AS a_fifth
FROM generate_series(0, 9) i;
SELECT expected_rows('SELECT * FROM planned WHERE cuckoo_contains((SELECT cuckoo_agg(1)), n)') AS unknown,
	expected_rows(format('SELECT * FROM planned WHERE cuckoo_contains(%L::cuckoo, n)', cuckoo_remove(cuckoo_add(cuckoo_create(10), 1), 1))) AS emptied,
	expected_rows('SELECT * FROM planned WHERE NULL::cuckoo @> url') AS nothing;
SELECT is_folded('SELECT * FROM planned WHERE cuckoo_contains(cuckoo_create(10), n)') AS contains,
	is_folded('SELECT * FROM planned WHERE cuckoo_create(10) @> n') AS operator,
	is_folded('SELECT * FROM planned WHERE n <@ cuckoo_create(10)') AS commutator,
	is_folded('SELECT * FROM planned WHERE cuckoo_contains(cuckoo_create(10), ''x'')') AS a_constant,
	is_folded('SELECT * FROM planned WHERE cuckoo_contains(cuckoo_create(10), url)') AS nullable,
	is_folded('SELECT * FROM planned a LEFT JOIN planned b ON a.n = b.m WHERE cuckoo_contains(cuckoo_create(10), b.n) IS NOT TRUE') AS outer_join,
	is_folded('SELECT * FROM planned WHERE cuckoo_contains(cuckoo_add(cuckoo_create(10), 1), n)') AS not_empty;
SELECT count(*) FROM planned WHERE NOT cuckoo_contains(cuckoo_create(10), n);
-- a large stored one is estimated by its header
CREATE TABLE kept AS
	SELECT cuckoo_add_all(cuckoo_create(20000000), array_agg(n)) AS filter FROM planned WHERE n <= 10000;
CREATE FUNCTION expected_of_kept() RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
	filter cuckoo;
	line text;
BEGIN
	SELECT k.filter INTO filter FROM kept k;
	FOR line IN EXECUTE 'EXPLAIN SELECT * FROM planned WHERE cuckoo_contains($1, n)' USING filter LOOP
		RETURN substring(line FROM 'rows=([0-9]+)');
	END LOOP;
END
$$;
SELECT expected_of_kept() BETWEEN 9000 AND 12000 AS a_tenth;
DROP FUNCTION expected_of_kept, cuckoo_off_by;
DROP TABLE kept;

-- The probe runs before an expensive condition.
CREATE FUNCTION expensive(text) RETURNS boolean
LANGUAGE plpgsql COST 1000 AS $$
BEGIN
	RAISE EXCEPTION 'looked up %', $1;
END
$$;
SELECT count(*) FROM planned
WHERE expensive(url) AND bloom_contains((SELECT bloom_agg('nothing'::text, NULL, 0.0000001)), url);

-- bloom_shard: even, and independent of where the elements lie in a filter
SELECT bloom_shard(n, 4) AS shard, count(*) BETWEEN 24500 AND 25500 AS even
FROM planned GROUP BY 1 ORDER BY 1;
SELECT bloom_shard(1, 1), bloom_shard('x', 1000) BETWEEN 0 AND 999 AS in_range,
	bloom_shard(7::smallint, 100) = bloom_shard(7::bigint, 100) AS by_class;
SELECT bloom_shard(1, 0);
SELECT bloom_shard(1, -3);
-- (a filter that may grow has 0.808 of its error rate for the first layer)
SELECT bool_and(bloom_error_rate(filter) BETWEEN 0.0079 AND 0.0083)
FROM (SELECT bloom_agg(n) AS filter FROM planned GROUP BY bloom_shard(n, 4)) s;

-- Operators of one's own, for whose functions the estimators are not made: other
-- types, the arguments the other way round, one argument, another function
CREATE FUNCTION is_near(int, int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN abs($1 - $2) < 3; END';
CREATE FUNCTION is_small(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 < 3; END';
CREATE FUNCTION is_without(bloom, int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN NOT bloom_contains($1, $2); END';
CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, FUNCTION = is_near, RESTRICT = _bloom_contains_sel);
CREATE OPERATOR #### (LEFTARG = int, RIGHTARG = int, FUNCTION = is_near, RESTRICT = _bloom_contains_sel);
CREATE OPERATOR #> (LEFTARG = bloom, RIGHTARG = anycompatible, FUNCTION = bloom_contains, RESTRICT = _bloom_contains_sel);
CREATE OPERATOR <# (LEFTARG = anycompatible, RIGHTARG = bloom, FUNCTION = _bloom_contained, RESTRICT = _bloom_contains_sel);
CREATE OPERATOR #- (RIGHTARG = int, FUNCTION = is_small, RESTRICT = _bloom_contains_sel);
CREATE OPERATOR #-# (RIGHTARG = int, FUNCTION = is_small, RESTRICT = _bloom_contains_sel);
CREATE OPERATOR !@> (LEFTARG = bloom, RIGHTARG = int, FUNCTION = is_without, RESTRICT = _bloom_contains_sel);
SELECT count(*) AS near FROM planned WHERE 50 ### n;
SELECT count(*) AS near FROM planned WHERE n #### 50;
SELECT count(*) AS near FROM planned WHERE n ### 50 AND 50 #### n;
SELECT count(*) AS found FROM planned WHERE bloom_add(bloom_create(10), 7) #> n AND n <# bloom_add(bloom_create(10), 7);
SELECT count(*) AS small FROM planned WHERE #- n AND #-# n;
SELECT count(*) AS without FROM planned WHERE bloom_add_all(bloom_create(10, 1e-7), ARRAY[7, 8]) !@> n;
DROP OPERATOR ### (int, int), #### (int, int), #> (bloom, anycompatible), <# (anycompatible, bloom), #- (NONE, int), #-# (NONE, int), !@> (bloom, int);
DROP FUNCTION is_near, is_small, is_without;

-- Wrong statistics, which a table's owner can restore from 18 on: whatever they
-- say, the estimate is between no rows and all of them
CREATE FUNCTION forged_rows(of_column text, change text, filter bloom) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
	rows float8;
BEGIN
	EXECUTE format('UPDATE pg_statistic SET %s WHERE starelid = %L::regclass AND staattnum = '
				   '(SELECT attnum FROM pg_attribute WHERE attrelid = %2$L::regclass AND attname = %L)',
				   change, 'planned', of_column);
	rows := expected_rows(format('SELECT * FROM planned WHERE bloom_contains(%L::bloom, %I)', filter, of_column));
	-- and the estimators of the operators
	IF rows <> expected_rows(format('SELECT * FROM planned WHERE %L::bloom @> %I', filter, of_column)) THEN
		RAISE WARNING 'the operator is estimated otherwise';
	END IF;
	RAISE SQLSTATE 'UNDO0';
EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
	RETURN rows;
END
$$;
CREATE TABLE forged (number serial, change text);
INSERT INTO forged (change) VALUES
	($$stanullfrac = 'NaN'$$), ($$stanullfrac = 'Infinity'$$), ($$stanullfrac = '-Infinity'$$),
	($$stanullfrac = -3e38$$), ($$stanullfrac = 2$$),
	($$stadistinct = 'NaN'$$), ($$stadistinct = 'Infinity'$$), ($$stadistinct = '-Infinity'$$),
	($$stadistinct = 1e-37$$), ($$stadistinct = -1e38$$),
	($$stanumbers1 = ARRAY(SELECT 'NaN'::real FROM unnest(stanumbers1))$$),
	($$stanumbers1 = ARRAY(SELECT 'Infinity'::real FROM unnest(stanumbers1))$$),
	($$stanumbers1 = ARRAY(SELECT -3e38::real FROM unnest(stanumbers1))$$),
	($$stanumbers1 = ARRAY(SELECT 0.5::real FROM unnest(stanumbers1))$$),
	($$stanumbers1 = '{0.5}'$$),
	($$stakind1 = 3 - stakind1, stanumbers1 = '{0.5,NaN}'$$),
	($$stakind1 = 0$$),
	($$stavalues1 = array_in('{1,2,3,4,5,6,7,8,9,10,11,12}', 'int4'::regtype, -1), stanumbers1 = array_fill(0.01::real, ARRAY[12])$$),
	($$stavalues1 = array_in('{1,2,3,4,5,6,7,8,9,10,11,12}', 'int8'::regtype, -1), stanumbers1 = array_fill(0.01::real, ARRAY[12])$$),
	($$stavalues1 = array_in('{a,b,c,d,e,f,g,h,i,j,k,l}', 'text'::regtype, -1), stanumbers1 = array_fill(0.01::real, ARRAY[12])$$),
	($$stavalues1 = array_in('{a}', 'name'::regtype, -1)$$),
	($$stavalues1 = array_in('{}', 'int4'::regtype, -1)$$);
SELECT change, min(rows) >= 0 AND max(rows) <= 100000 AS sane
FROM (SELECT 'url', bloom_agg(url) FROM planned WHERE n <= 1000
	  UNION ALL SELECT 'n', bloom_agg(n) FROM planned WHERE n <= 1000
	  UNION ALL SELECT 'm', bloom_agg(m) FROM planned WHERE m < 10) AS c (name, filter),
	forged, forged_rows(c.name, change, c.filter) AS rows
GROUP BY number, change ORDER BY number;
-- values of another type than the column's are ignored: a filter of a hundredth of its values
SELECT forged_rows('url', change, filter) BETWEEN 500 AND 4000 AS hundredth
FROM forged, (SELECT bloom_agg(url) FROM planned WHERE n <= 1000) AS c (filter) WHERE change LIKE '%int4%' ORDER BY number;
DROP TABLE forged;
DROP FUNCTION forged_rows;

DROP VIEW planned_view;
DROP ROLE regress_bloom_reader;
DROP FUNCTION expected_rows, off_by, is_folded, expensive;
DROP TABLE planned;
