-- What is rare, and has its own lines in the source.
\set VERBOSITY terse

-- Names of types that are no identifiers: a filter of them can be stored, dumped
-- and read back, and names them
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
SELECT (bloom_info(f)).element_class, f::text::bloom = f AS text, f::bytea::bloom = f AS bytea
FROM named;
SELECT bloom_contains(f::text::bloom, 'x'::"a b") FROM named LIMIT 1;
DROP TABLE named;
-- Classes that a forger made up
SELECT class, (bloom_info(overlay(bloom_add(bloom_create(10), 1)::bytea
	PLACING substring(class::bytea || '\x00000000000000'::bytea FOR 8) FROM 13)::bloom)).element_class
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
CREATE FUNCTION label_in(cstring) RETURNS label LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION label_out(label) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE label (INPUT = label_in, OUTPUT = label_out, LIKE = text, COLLATABLE = true);
CREATE FUNCTION label_eq(label, label) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'texteq';
CREATE FUNCTION label_hash(label) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashtext';
CREATE FUNCTION label_hash(label, bigint) RETURNS bigint LANGUAGE internal IMMUTABLE STRICT AS 'hashtextextended';
CREATE OPERATOR = (LEFTARG = label, RIGHTARG = label, FUNCTION = label_eq, HASHES);
CREATE OPERATOR CLASS label_ops DEFAULT FOR TYPE label USING hash AS
	OPERATOR 1 =, FUNCTION 1 label_hash(label), FUNCTION 2 label_hash(label, bigint);
SELECT f @> 'a'::label AS a, f @> 'b'::label AS b, (bloom_info(f)).element_class
FROM bloom_add(bloom_create(10, 1e-6), 'a'::label) AS f;
SELECT bloom_hash(l) FROM (SELECT 'a'::label COLLATE "C" UNION ALL SELECT 'a'::label COLLATE "POSIX") AS t (l);

-- Called without a word on the types of the arguments, as an operator class may do
CREATE OPERATOR CLASS hashed_by_us FOR TYPE int4 USING hash AS
	OPERATOR 1 =, FUNCTION 1 hashint4(int4), FUNCTION 2 bloom_hash(anycompatible, bigint);
CREATE TABLE parts (i int) PARTITION BY HASH (i hashed_by_us);
CREATE TABLE part PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO parts VALUES (1);

-- A set that is united with a filter that has no elements yet
SELECT (bloom_info(f)).layout, (bloom_info(f)).element_class, (bloom_info(f)).elements, f @> 2 AS two, f @> 4 AS four
FROM bloom_union(bloom_add_all((SELECT bloom_agg(1) WHERE false), '{1,2,3}'::int[]), bloom_create(100)) AS f;

-- Another element than the one before may have no place, in a filter that may
-- not grow: then the one before is still in
DO $$
DECLARE
	f cuckoo := cuckoo_create(50, 0.01, 0);
	refused int := 0;
BEGIN
	FOR i IN 1..200 LOOP
		BEGIN
			f := cuckoo_add(f, i);
		EXCEPTION WHEN program_limit_exceeded THEN
			FOR j IN 1..i - 1 LOOP
				ASSERT f @> j, format('%s was lost by %s', j, i);
			END LOOP;
			FOR x IN 1000..3000 LOOP
				BEGIN
					ASSERT cuckoo_replace(f, 1, x) @> x, 'not the new one';
				EXCEPTION WHEN program_limit_exceeded THEN
					refused := refused + 1;
				END;
			END LOOP;
			EXIT;
		END;
	END LOOP;
	RAISE NOTICE '% refused', CASE WHEN refused > 0 THEN 'some' ELSE 'none' END;
END
$$;
