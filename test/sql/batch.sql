--
-- Looking up many elements at once: any, all, each.
--
\set ON_ERROR_STOP on
CREATE TEMP TABLE filters (name text, f bloom);
INSERT INTO filters
SELECT name, bloom_add_all(f, ARRAY(SELECT generate_series(1, 100)))
FROM (VALUES ('block512', bloom_create(2000, 1e-3)),
			 ('block512x2', bloom_create(2000, 1e-6)),
			 ('small', bloom_create(100, 1e-3)),
			 ('small, low rate', bloom_create(100, 1e-6)),
			 ('classic', bloom_create_bits(2000, 10)),
			 ('grown', bloom_create(3, 1e-3)),
			 ('explicit', (SELECT bloom_agg(1) WHERE false))) AS t(name, f);
-- several layers, also with blocks
UPDATE filters SET f = bloom_add_all(bloom_add_all(bloom_create(3, 1e-3), ARRAY(SELECT generate_series(1, 20))), ARRAY(SELECT generate_series(21, 100))) WHERE name = 'grown';
INSERT INTO filters SELECT 'grown, large', bloom_add_all(bloom_add_all(bloom_create(2000, 1e-3), ARRAY(SELECT generate_series(-1000000, -996000))), ARRAY(SELECT generate_series(-996000, -993000)) || ARRAY(SELECT generate_series(1, 100)));
\set ON_ERROR_STOP off
SELECT name, layout, layers FROM filters, bloom_info(f) ORDER BY name COLLATE "C";

SELECT name,
	   bloom_contains_any(f, ARRAY[-1, 5, -2]) AS any_yes, bloom_contains_any(f, ARRAY[-1, -2]) AS any_no,
	   bloom_contains_all(f, ARRAY[1, 5, 100]) AS all_yes, bloom_contains_all(f, ARRAY[1, -1]) AS all_no,
	   bloom_contains_each(f, ARRAY[1, -1, 100]) AS each
FROM filters;

-- Each answer is the one that bloom_contains gives, also in arrays longer than
-- the prefetch distance
SELECT name, n, bool_and(answer = bloom_contains(f, i - 10)) AS agree, count(*) = n AS complete
FROM filters, (VALUES (1), (15), (16), (17), (33), (1000)) AS t(n),
	 LATERAL unnest(bloom_contains_each(f, ARRAY(SELECT generate_series(1, n) - 10)))
		WITH ORDINALITY AS each(answer, i)
GROUP BY name, n ORDER BY name COLLATE "C", n;

-- NULL elements: any and all are those of SQL, f @> ANY (...) and ALL
CREATE TEMP TABLE arrays (a int[]);
INSERT INTO arrays VALUES
	('{}'), ('{1}'), ('{-1}'), ('{1,-1}'), ('{NULL}'), ('{NULL,NULL}'),
	('{1,NULL}'), ('{NULL,1}'), ('{-1,NULL}'), ('{NULL,-1}'), ('{1,-1,NULL}'), ('{NULL,1,NULL,2}');
SELECT a, bloom_contains_any(f, a) AS "any", bloom_contains_all(f, a) AS "all", bloom_contains_each(f, a) AS each
FROM arrays, filters WHERE name = 'block512';
SELECT bool_and(bloom_contains_any(f, a) IS NOT DISTINCT FROM (f @> ANY (a))) AS any_as_sql,
	   bool_and(bloom_contains_all(f, a) IS NOT DISTINCT FROM (f @> ALL (a))) AS all_as_sql
FROM arrays, filters;
-- NULLs at many places of a longer array
SELECT bool_and(answer IS NOT DISTINCT FROM CASE WHEN i % 3 <> 0 THEN f @> (i - 50)::int END) AS nulls_in_place
FROM filters,
	 LATERAL unnest(bloom_contains_each(f, ARRAY(SELECT CASE WHEN i % 3 <> 0 THEN i - 50 END FROM generate_series(1, 200) AS i)))
		WITH ORDINALITY AS each(answer, i);

-- Dimensions and bounds are kept
SELECT bloom_contains_each(f, ARRAY[[1, -1], [NULL, 2]]) AS matrix,
	   bloom_contains_each(f, '[2:3]={1,-1}'::int[]) AS bounds,
	   bloom_contains_each(f, '[0:0][-1:0][7:8]={{{1,-1},{-2,2}}}'::int[]) AS cube,
	   bloom_contains_each(f, '{}'::int[]) AS empty
FROM filters WHERE name = 'block512';
SELECT bloom_contains_any(f, ARRAY[[-1, -2], [-3, 4]]) AS "any", bloom_contains_all(f, ARRAY[[1, 2], [3, -4]]) AS "all"
FROM filters WHERE name = 'block512';

-- NULL arguments
SELECT bloom_contains_any(NULL::bloom, ARRAY[1]) IS NULL AS a, bloom_contains_any(f, NULL::int[]) IS NULL AS b,
	   bloom_contains_all(NULL::bloom, ARRAY[1]) IS NULL AS c, bloom_contains_all(f, NULL::int[]) IS NULL AS d,
	   bloom_contains_each(NULL::bloom, ARRAY[1]) IS NULL AS e, bloom_contains_each(f, NULL::int[]) IS NULL AS f
FROM filters WHERE name = 'block512';

-- Filters that hold nothing
SELECT bloom_contains_each(f, ARRAY[1, NULL]) AS each, bloom_contains_any(f, ARRAY['x']) AS "any",
	   bloom_contains_all(f, ARRAY['x']) AS "all", bloom_contains_all(f, '{}'::text[]) AS all_of_none
FROM (VALUES (bloom_create(10)), ((SELECT bloom_agg(1) WHERE false))) AS t(f);

-- Other element types; an array literal is text[]
SELECT bloom_contains_each(f, '{x,y,NULL,"NULL"}') AS literal, bloom_contains_each(f, '{x,y}'::varchar[]) AS varchars,
	   bloom_contains_any(f, ARRAY['y', 'x']::name[]) AS names
FROM (SELECT bloom_add_all(bloom_create(10), ARRAY['x', 'NULL'])) AS t(f);
PREPARE each_of AS
SELECT bloom_contains_each(bloom_add_all(bloom_create(10), ARRAY['x', 'z']), $1) AS each;
EXECUTE each_of('{x,y,z}');
DEALLOCATE each_of;
SELECT bloom_contains_each(bloom_add_all(bloom_create(10), ARRAY[ROW(1, 'a'::text), ROW(2, 'b'::text)]),
						   ARRAY[ROW(2, 'b'::text), ROW(2, 'a'::text), NULL]) AS records;
SELECT bloom_contains_each(f, ARRAY['2020-01-01', '2020-01-02']::date[]) AS dates,
	   bloom_contains_each(f, ARRAY['2020-01-02']::date[]) AS date
FROM (SELECT bloom_add(bloom_create(10), date '2020-01-01')) AS t(f);

-- Stored arrays, compressed and not, and long elements in them
CREATE TEMP TABLE stored (a text[]);
INSERT INTO stored SELECT array_agg(repeat(chr(96 + i), 3000)) FROM generate_series(1, 20) AS i;
INSERT INTO stored SELECT a FROM stored;
ALTER TABLE stored ALTER a SET STORAGE external;
INSERT INTO stored SELECT array_agg(repeat(chr(96 + i), 3000)) FROM generate_series(1, 20) AS i;
SELECT cardinality(array_positions(bloom_contains_each(bloom_add(bloom_create(10), repeat('c', 3000)), a), true)) AS one
FROM stored;
SELECT bloom_contains_all(bloom_add_all(bloom_create(100), a), (SELECT a FROM stored LIMIT 1)) AS "all"
FROM stored;

DROP TABLE filters, arrays, stored;
