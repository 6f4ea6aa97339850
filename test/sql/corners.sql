-- Rare cases that have their own lines in the source.
\set VERBOSITY terse

-- Names of types that are no identifiers: a filter of them can be stored, dumped
-- and read back, and names them
\set ON_ERROR_STOP on
CREATE TYPE "a b" AS ENUM ('x');
CREATE TYPE "é" AS ENUM ('x');
CREATE TYPE "a""b" AS ENUM ('x');
CREATE TYPE U&"\0009" AS ENUM ('x');
CREATE TYPE "a name too long for eight bytes" AS ENUM ('x');
CREATE TABLE named (f bloom);
INSERT INTO named VALUES
	(bloom_add(bloom_create(10), 'x'::"a b")),
	(bloom_add(bloom_create(10), 'x'::"é")),
	(bloom_add(bloom_create(10), 'x'::"a""b")),
	(bloom_add(bloom_create(10), 'x'::U&"\0009")),
	(bloom_add(bloom_create(10), 'x'::"a name too long for eight bytes"));
\set ON_ERROR_STOP off
SELECT (bloom_info(f)).element_class, f::text::bloom = f AS text, f::bytea::bloom = f AS bytea
FROM named;
SELECT bloom_contains(f::text::bloom, 'x'::"a b") FROM named LIMIT 1;
DROP TABLE named;
-- Classes that a forger made up, who knows how to make a checksum
CREATE FUNCTION forged(filter bytea, at int, bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$
SELECT image || (SELECT string_agg(substr(int8send(bloom_hash(image)), 8 - i, 1), '' ORDER BY i) FROM generate_series(0, 7) AS i)
FROM overlay(substr(filter, 1, octet_length(filter) - 8) PLACING bytes FROM at + 1) AS image
$$;
SELECT class, (bloom_info(forged(bloom_add(bloom_create(10), 1)::bytea, 8,
	substring(class::bytea || '\x00000000000000'::bytea FOR 8))::bloom)).element_class
FROM unnest(ARRAY['(it)', 'E', 'Ea', 'E"', 'E"a', 'E"a"', 'E"a"x', 'E"a""', '[', '[R', 'M', '(', '((i)', '(i', '(i?', 'q']) AS class;

-- Values are one element in whatever form they are stored
CREATE TYPE textrange AS RANGE (subtype = text, collation = "C");
CREATE TABLE plain (
	c char(20000), t text, b bytea, n numeric, v varbit, j jsonb,
	r textrange, m int4multirange, a int[], p name[]);
INSERT INTO plain
SELECT repeat('c ', 9000), repeat('t', 9000), repeat('b', 9000)::bytea,
	('1' || repeat('0', 9000))::numeric, repeat('10', 9000)::varbit,
	jsonb_build_object('j', repeat('j', 9000)),
	textrange(repeat('a', 9000), repeat('b', 9000)),
	(SELECT range_agg(int4range(10 * i, 10 * i + 5)) FROM generate_series(1, 900) AS i),
	(SELECT array_agg(i) FROM generate_series(1, 3000) AS i),
	(SELECT array_agg(name 'n') FROM generate_series(1, 1000));
CREATE TABLE external (LIKE plain);
SELECT format('ALTER TABLE external ALTER %I SET STORAGE external', attname)
FROM pg_attribute WHERE attrelid = 'external'::regclass AND attnum > 0 AND attstorage = 'x'
\gexec
INSERT INTO external
SELECT c || '', t || '', b || '', n + 0, v || '', j || '{}', r * r, m * m, a || '{}', p || '{}' FROM plain;
SELECT pg_column_size(p.t) < pg_column_size(e.t) AS one_is_compressed,
	bloom_hash(p.c) = bloom_hash(e.c) AND bloom_hash(p.c) = bloom_hash(repeat('c ', 8999) || 'c') AS char,
	bloom_hash(p.t) = bloom_hash(e.t) AND bloom_hash(p.t) = bloom_hash(repeat('t', 9000)) AS text,
	bloom_hash(p.b) = bloom_hash(e.b) AS bytea,
	bloom_hash(p.n) = bloom_hash(e.n) AND bloom_hash(p.n) = bloom_hash(10::numeric ^ 9000) AS numeric,
	bloom_hash(p.v) = bloom_hash(e.v) AS bits,
	bloom_hash(p.j) = bloom_hash(e.j) AS jsonb,
	bloom_hash(p.r) = bloom_hash(e.r) AND bloom_hash(p.r) = bloom_hash(textrange(repeat('a', 9000), repeat('b', 9000))) AS range,
	bloom_hash(p.m) = bloom_hash(e.m) AS multirange,
	bloom_hash(p.a) = bloom_hash(e.a) AS array,
	bloom_hash(p.p) = bloom_hash(e.p) AS names
FROM plain AS p, external AS e;
DROP TABLE plain, external;

-- Types that are hashed in one way alone and in another as a part
SELECT f @> ARRAY[u] AS same, f @> ARRAY[u, u] AS longer, f @> ARRAY[gen_random_uuid()] AS other
FROM (VALUES (uuid '5b30857f-0bfa-48b5-ac0b-5c64e28078d1')) AS t (u),
	LATERAL bloom_add(bloom_create(10, 1e-6), ARRAY[u]) AS f;

-- A record whose structure is known, then not, then known again
SELECT bloom_hash(r), bloom_hash(ROW(r)) = bloom_hash(ROW(r), 0) AS same,
	(bloom_info(bloom_add(bloom_create(10), ROW(r)))).element_class
FROM (VALUES (1, ROW(1, 2)), (2, NULL), (3, ROW(1, 2))) AS t (i, r) ORDER BY i;

-- A type whose own hash function wants a collation
CREATE TYPE label;
-- it is only a shell yet, say notices that differ between versions
SET client_min_messages = warning;
CREATE FUNCTION label_in(cstring) RETURNS label LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION label_out(label) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
RESET client_min_messages;
CREATE TYPE label (INPUT = label_in, OUTPUT = label_out, LIKE = text, COLLATABLE = true);
CREATE FUNCTION label_eq(label, label) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'texteq';
CREATE FUNCTION label_hash(label) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashtext';
CREATE FUNCTION label_hash(label, bigint) RETURNS bigint LANGUAGE internal IMMUTABLE STRICT AS 'hashtextextended';
CREATE OPERATOR = (LEFTARG = label, RIGHTARG = label, FUNCTION = label_eq, HASHES);
CREATE OPERATOR CLASS label_ops DEFAULT FOR TYPE label USING hash AS
	OPERATOR 1 =, FUNCTION 1 label_hash(label), FUNCTION 2 label_hash(label, bigint);
SELECT f @> 'a'::label AS a, f @> 'b'::label AS b, (bloom_info(f)).element_class
FROM bloom_add(bloom_create(10, 1e-6), 'a'::label) AS f;
SELECT bloom_hash(coalesce(l, r))
FROM (SELECT label 'a' COLLATE "C", label 'a' COLLATE "POSIX") AS t (l, r);

-- Called without the types of the arguments, as by an operator class
CREATE OPERATOR CLASS hashed_by_us FOR TYPE int4 USING hash AS
	OPERATOR 1 =, FUNCTION 1 hashint4(int4), FUNCTION 2 (int4, int4) bloom_hash(anycompatible, bigint);
CREATE TABLE parts (i int) PARTITION BY HASH (i hashed_by_us);
CREATE TABLE part PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO parts VALUES (1);
DROP TABLE parts;
DROP OPERATOR FAMILY hashed_by_us USING hash;

-- The union of a set and a filter without elements
SELECT (bloom_info(f)).layout, (bloom_info(f)).element_class, (bloom_info(f)).elements, f @> 2 AS two, f @> 4 AS four
FROM bloom_union(bloom_add_all((SELECT bloom_agg(1) WHERE false), '{1,2,3}'::int[]), bloom_create(2000)) AS f;
SELECT (bloom_info(f)).layout, (bloom_info(f)).element_class, (bloom_info(f)).elements, f @> 2 AS two, f @> 4 AS four
FROM bloom_union(bloom_add_all((SELECT bloom_agg(1) WHERE false), '{1,2,3}'::int[]), bloom_create(100)) AS f;

-- cuckoo_replace may find no place for the new element, if saturated classes occupy
-- all slots around: then the old one stays, or the filter grows
CREATE TEMPORARY TABLE crowded (f cuckoo);
DO $$
DECLARE
	f cuckoo := cuckoo_add(cuckoo_create(20, 0.01, 0), 0);
	refused int := 0;
BEGIN
	FOR i IN 1..100 LOOP
		BEGIN
			f := cuckoo_add_all(f, array_fill(i, '{4}'));
		EXCEPTION WHEN program_limit_exceeded THEN
			NULL;
		END;
	END LOOP;
	INSERT INTO crowded VALUES (f);
	FOR x IN 1000..1999 LOOP
		BEGIN
			ASSERT cuckoo_replace(f, 0, x) @> x, format('%s is not in', x);
		EXCEPTION WHEN program_limit_exceeded THEN
			refused := refused + 1;
			ASSERT cuckoo_count(f, 0) = 1, 'the old one was lost';
		END;
	END LOOP;
	ASSERT refused BETWEEN 1 AND 999, format('%s refused', refused);
END
$$;
SELECT (cuckoo_info(after)).layers, bool_and(after @> x) AS new,
	bool_and(cuckoo_cardinality(after) = cuckoo_cardinality(before)) AS as_many
FROM (SELECT forged(f::bytea, 6, '\x02')::cuckoo AS before FROM crowded) AS growing,
	generate_series(1000, 1999) AS x, cuckoo_replace(before, 0, x) AS after
GROUP BY 1 ORDER BY 1;

-- What the planner makes of filters that are stored or NULL, and of lookups of arrays
CREATE TABLE numbers (i int NOT NULL, a int[], v varchar NOT NULL);
INSERT INTO numbers SELECT i, ARRAY[i % 100], i FROM generate_series(1, 10000) AS i;
ANALYZE numbers;
CREATE TEMPORARY TABLE filters (what text, f bloom);
INSERT INTO filters VALUES
	('small', (SELECT bloom_agg(i) FROM generate_series(1, 1000) AS i)),
	('stored', (SELECT bloom_agg(i, 10000, NULL) FROM generate_series(1, 1000) AS i)),
	('large', (SELECT bloom_agg(i, 2000000, 1e-4) FROM generate_series(1, 1000) AS i)),
	('null', NULL);
-- The plan's first node, where the filter is a parameter's value
CREATE FUNCTION plan(f bloom, condition text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM numbers WHERE ' || condition INTO plan USING f;
	RETURN plan -> 0 -> 'Plan';
END
$$;
SELECT what, pg_column_size(f) > 1024 * 1024 AS large,
	(plan(f, 'bloom_contains($1, i)') ->> 'Plan Rows')::int BETWEEN 700 AND 1400 AS about_1000
FROM filters WHERE what <> 'null';
CREATE FUNCTION no_filter() RETURNS bloom LANGUAGE sql STABLE AS $$SELECT f FROM filters WHERE what = 'null'$$;
SELECT plan(NULL, 'bloom_contains(no_filter(), i)') ->> 'Plan Rows' AS of_null,
	plan(f, 'bloom_contains($1, a)') ->> 'Plan Rows' AS of_another_class,
	plan(bloom_add(bloom_create(10), ARRAY[1]), 'bloom_contains($1, a)') ->> 'Plan Rows' AS of_arrays,
	plan(bloom_create(10), 'bloom_contains($1, v::text)') ->> 'One-Time Filter' AS of_no_elements
FROM filters WHERE what = 'small';
DROP TABLE numbers;

-- In a database of another encoding elements are hashed as UTF-8: an empty string,
-- and objects whose keys are in another order there
CREATE TEMPORARY TABLE hashes AS
SELECT bloom_hash('') AS empty, bloom_hash('{"\u00e9": 1, "z": 2, "a": 3, "aa": 4}'::jsonb) AS object;
SELECT empty, object, current_database() AS utf8 FROM hashes
\gset
CREATE DATABASE regression_bloomfilter_latin1 TEMPLATE template0 ENCODING LATIN1 LC_COLLATE 'C' LC_CTYPE 'C';
\c regression_bloomfilter_latin1
SET client_min_messages = warning;
CREATE EXTENSION bloomfilter;
SELECT bloom_hash('') = :empty AS empty,
	bloom_hash('{"\u00e9": 1, "z": 2, "a": 3, "aa": 4}'::jsonb) = :object AS object,
	bloom_hash(ARRAY['', 'a']) = bloom_hash(ARRAY['', 'a']::varchar[]) AS array;
\c :utf8
DROP DATABASE regression_bloomfilter_latin1;
