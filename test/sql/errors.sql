--
-- Wrong arguments: each is an error with an SQLSTATE that names the value.
--
\set ON_ERROR_STOP on
CREATE FUNCTION error_of(query text, OUT code text, OUT message text, OUT hint text) LANGUAGE plpgsql AS
$$
BEGIN
	EXECUTE query;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
END
$$;
CREATE FUNCTION errors_of(VARIADIC queries text[]) RETURNS TABLE (query text, code text, message text) LANGUAGE sql AS
$$
SELECT q, e.code, e.message FROM unnest(queries) WITH ORDINALITY AS u(q, n), LATERAL error_of('SELECT ' || q) AS e ORDER BY n
$$;
\set ON_ERROR_STOP off

-- Out of range
SELECT * FROM errors_of(
	'bloom_create(0)', 'bloom_create(-1)', 'bloom_create(-9223372036854775808)',
	'bloom_create(10, 0)', 'bloom_create(10, -0.01)', 'bloom_create(10, 1e-8)', 'bloom_create(10, 0.500001)', 'bloom_create(10, 1)',
	'bloom_create(10, ''NaN'')', 'bloom_create(10, ''Infinity'')', 'bloom_create(10, ''-Infinity'')', 'bloom_create(10, 1e-320)',
	'bloom_create(10, growth => -1)', 'bloom_create(10, growth => 17)', 'bloom_create(10, growth => 2147483647)',
	'bloom_create_bits(1, 1)', 'bloom_create_bits(0, 1)', 'bloom_create_bits(-1, 1)', 'bloom_create_bits(4294967297, 1)', 'bloom_create_bits(9223372036854775807, 1)',
	'bloom_create_bits(10, 0)', 'bloom_create_bits(10, -1)', 'bloom_create_bits(10, 65)', 'bloom_create_bits(10, 2147483647)');
SELECT * FROM errors_of(
	'cuckoo_create(0)', 'cuckoo_create(-1)', 'cuckoo_create(-9223372036854775808)',
	'cuckoo_create(10, 0)', 'cuckoo_create(10, -0.01)', 'cuckoo_create(10, 1e-8)', 'cuckoo_create(10, 0.500001)', 'cuckoo_create(10, 1)',
	'cuckoo_create(10, ''NaN'')', 'cuckoo_create(10, ''Infinity'')', 'cuckoo_create(10, ''-Infinity'')', 'cuckoo_create(10, 1e-320)',
	'cuckoo_create(10, growth => -1)', 'cuckoo_create(10, growth => 17)', 'cuckoo_create(10, growth => 2147483647)');
SELECT * FROM errors_of('cuckoo_create(1, 1e-7)', 'cuckoo_create(1, 0.5)', 'cuckoo_create(1, growth => 16)', 'cuckoo_create(1, growth => 1)', 'cuckoo_create(1, 1e-7, 0)');
SELECT hint FROM error_of('SELECT cuckoo_create(10, growth => 17)');
SELECT hint FROM error_of('SELECT cuckoo_create(10, 5)');
SELECT * FROM errors_of('cuckoo_create(1000000000)', 'cuckoo_create(1000000000000)', 'cuckoo_create(9223372036854775807)',
						'cuckoo_create(200000000, 1e-7)', 'cuckoo_create(9223372036854775807, 0.5, 16)', 'cuckoo_create(9223372036854775807, 1e-7, 0)',
						'cuckoo_agg(1, 1000000000000, NULL)', 'cuckoo_agg(1, 9223372036854775807, 1e-7)');
SELECT hint FROM error_of('SELECT cuckoo_create(1000000000000)');
-- Just in range
SELECT * FROM errors_of('bloom_create(1, 1e-7)', 'bloom_create(1, 0.5)', 'bloom_create(1, growth => 16)', 'bloom_create(1, growth => 1)',
						'bloom_create_bits(2, 1)', 'bloom_create_bits(2, 64)');
SELECT hint FROM error_of('SELECT bloom_agg(1, NULL, 0.9)');
-- Too large: the error says what to do instead
SELECT * FROM errors_of('bloom_create(1000000000)', 'bloom_create(1000000000000)', 'bloom_create(9223372036854775807)',
						'bloom_create(150000000, 1e-7)', 'bloom_create(9223372036854775807, 0.5, 16)', 'bloom_create(9223372036854775807, 1e-7, 0)',
						'bloom_agg(1, 1000000000000, NULL)', 'bloom_agg(1, 9223372036854775807, 1e-7)');
SELECT hint FROM error_of('SELECT bloom_create(1000000000000)');
SELECT hint FROM error_of('SELECT bloom_create(10, growth => 17)');
-- An element of another class than those of the filter
CREATE TEMP TABLE classes AS
SELECT bloom_add(bloom_create(10), 1) AS ints, bloom_add(bloom_create(10), 'x') AS texts, bloom_create(10) AS none;
SELECT * FROM errors_of(
	'ints @> ''x'' FROM classes', '''x'' <@ ints FROM classes', 'bloom_contains(ints, 1.0) FROM classes', 'bloom_contains(ints, 1.0::float8) FROM classes',
	'bloom_contains(texts, 1) FROM classes', 'bloom_contains(texts, ''x''::bytea) FROM classes', 'bloom_contains(texts, ''x''::"char") FROM classes',
	'bloom_contains(ints, ARRAY[1]) FROM classes', 'bloom_contains(ints, ROW(1)) FROM classes', 'bloom_contains(ints, 1::oid) FROM classes',
	'bloom_contains_any(ints, ARRAY[''x'']) FROM classes', 'bloom_contains_all(ints, ''{1}'') FROM classes', 'bloom_contains_each(ints, ARRAY[1.0]) FROM classes',
	'bloom_add(ints, ''1'') FROM classes', 'bloom_add_all(ints, ''{1}'') FROM classes', 'bloom_add_all(texts, ARRAY[1]) FROM classes',
	'bloom_add(bloom_add(none, 1), ''x'') FROM classes', 'bloom_agg(CASE i WHEN 1 THEN ROW(1) ELSE ROW(''x''::text) END) FROM generate_series(1, 2) AS i');
SELECT hint FROM error_of('SELECT bloom_contains(texts, 1) FROM classes');
CREATE TEMP TABLE cuckoo_classes AS
SELECT cuckoo_add(cuckoo_create(10), 1) AS ints, cuckoo_add(cuckoo_create(10), 'x') AS texts, cuckoo_create(10) AS none;
SELECT * FROM errors_of(
	'ints @> ''x'' FROM cuckoo_classes', '''x'' <@ ints FROM cuckoo_classes', 'cuckoo_contains(ints, 1.0) FROM cuckoo_classes', 'cuckoo_contains(texts, 1) FROM cuckoo_classes',
	'cuckoo_contains(ints, ARRAY[1]) FROM cuckoo_classes', 'cuckoo_contains(ints, ROW(1)) FROM cuckoo_classes', '_cuckoo_contained(1::oid, ints) FROM cuckoo_classes',
	'cuckoo_contains_any(ints, ARRAY[''x'']) FROM cuckoo_classes', 'cuckoo_contains_all(ints, ''{1}'') FROM cuckoo_classes', 'cuckoo_contains_each(ints, ARRAY[1.0]) FROM cuckoo_classes',
	'cuckoo_count(ints, ''x'') FROM cuckoo_classes', 'cuckoo_add(ints, ''1'') FROM cuckoo_classes', 'cuckoo_add_unique(ints, ''1'') FROM cuckoo_classes',
	'cuckoo_add_all(ints, ''{1}'') FROM cuckoo_classes', 'cuckoo_add_all(texts, ARRAY[1]) FROM cuckoo_classes', 'cuckoo_add(cuckoo_add(none, 1), ''x'') FROM cuckoo_classes',
	'cuckoo_remove(ints, ''x'') FROM cuckoo_classes', 'cuckoo_remove(cuckoo_remove(ints, 1), ''x'') FROM cuckoo_classes', 'cuckoo_remove_all(ints, ''{1}'') FROM cuckoo_classes',
	'cuckoo_remove_all(texts, ARRAY[1]) FROM cuckoo_classes', 'cuckoo_replace(ints, ''x'', ''y'') FROM cuckoo_classes', 'cuckoo_replace(ints, 1, 1.5) FROM cuckoo_classes',
	'cuckoo_replace(none, ROW(1), ROW(''x''::text)) FROM cuckoo_classes', 'cuckoo_replace(none, 1, ''x'') FROM cuckoo_classes',
	'cuckoo_remove_all(none, ARRAY[ROW(1), ROW(''x''::text)]) FROM cuckoo_classes', 'cuckoo_add_all(none, ARRAY[ROW(1), ROW(''x''::text)]) FROM cuckoo_classes',
	'cuckoo_agg(CASE i WHEN 1 THEN ROW(1) ELSE ROW(''x''::text) END) FROM generate_series(1, 2) AS i');
SELECT hint FROM error_of('SELECT cuckoo_remove(texts, 1) FROM cuckoo_classes');
SELECT hint FROM error_of('SELECT cuckoo_remove(texts, ''\x78''::bytea) FROM cuckoo_classes');
SELECT hint FROM error_of('SELECT cuckoo_remove(ints, ARRAY[1]) FROM cuckoo_classes');
SELECT hint FROM error_of('SELECT cuckoo_add_all(cuckoo_create(10, growth => 0), ARRAY(SELECT generate_series(1, 1000)))');
-- A cast of a citext to text would compare it with regard to case
CREATE SCHEMA beside;
CREATE EXTENSION citext SCHEMA beside;
CREATE TABLE cased AS SELECT 'x'::text AS t;
CREATE INDEX cased_t ON cased USING membership (t);
SELECT query, hint FROM (VALUES ('bloom_contains(bloom_add(bloom_create(10), ''x''::text), ''X''::beside.citext)'),
	('cuckoo_contains_any(cuckoo_add(cuckoo_create(10), ''x''::text), ARRAY[''X''::beside.citext])'),
	('cuckoo_contains(cuckoo_add(cuckoo_create(10), ''x''::text), ARRAY[''X''::beside.citext])'),
	('bloom_contains(bloom_add(bloom_create(10), 1), ''X''::beside.citext)'),
	('bloom_contains(bloom_create_foreign(''guava'', ''text'', 10), ''X''::beside.citext)'),
	('bloom_contains(bloom_create_foreign(''guava'', ''text'', 10), ARRAY[''X''::beside.citext])'),
	('bloom_contains(bloom_create_foreign(''guava'', ''int4'', 10), ''X''::beside.citext)'),
	('membership_contains(''cased_t'', ''X''::beside.citext)'),
	('membership_contains(''cased_t'', ARRAY[''X''::beside.citext])')) AS q (query), LATERAL error_of('SELECT ' || query);
DROP TABLE cased;
DROP EXTENSION citext;
DROP SCHEMA beside;
-- One type's functions do not take the other's filters
SELECT query, code FROM errors_of('bloom_contains(none, 1) FROM cuckoo_classes', 'bloom_add(none, 1) FROM cuckoo_classes', 'bloom_union(none, none) FROM cuckoo_classes',
	'cuckoo_contains(none, 1) FROM classes', 'cuckoo_remove(none, 1) FROM classes', 'cuckoo_union_agg(none) FROM classes', 'none::text::bloom FROM cuckoo_classes',
	'none::text::cuckoo FROM classes', 'none::bytea::bloom FROM cuckoo_classes', 'none::bytea::cuckoo FROM classes', 'none::bloom FROM cuckoo_classes', 'c.none = b.none FROM cuckoo_classes c, classes b');
-- While there are no elements, there is no class
SELECT none @> 1 AS one, none @> 'x' AS x, bloom_add(none, 'x') @> 'x' AS added FROM classes;
-- An array without elements to look up has none that could be wrong
SELECT bloom_contains_any(texts, '{}'::text[]) AS "any", bloom_contains_all(texts, '{}'::text[]) AS "all" FROM classes;

-- Types that cannot be hashed, also as parts of others
CREATE DOMAIN document AS json;
CREATE TYPE with_document AS (id int, document json);
SELECT * FROM errors_of(
	'bloom_add(bloom_create(10), ''{}''::json)', 'bloom_contains(bloom_create(10), ''{}''::json)', 'bloom_hash(''{}''::json)',
	'bloom_agg(''{}''::json)', 'bloom_add(bloom_create(10), point(1, 2))', 'bloom_add(bloom_create(10), ''{}''::document)',
	'bloom_add(bloom_create(10), ARRAY[''{}''::json])', 'bloom_add_all(bloom_create(10), ARRAY[''{}''::json])',
	'bloom_add(bloom_create(10), ROW(1, ''{}'')::with_document)', 'bloom_add(bloom_create(10), ROW(1, point(1, 2)))',
	'bloom_shard(point(1, 2), 4)');
SELECT * FROM errors_of(
	'cuckoo_add(cuckoo_create(10), ''{}''::json)', 'cuckoo_contains(cuckoo_create(10), ''{}''::json)', 'cuckoo_remove(cuckoo_create(10), point(1, 2))', 'cuckoo_count(cuckoo_create(10), point(1, 2))',
	'cuckoo_agg(''{}''::json)', 'cuckoo_add_unique(cuckoo_create(10), ''{}''::document)', 'cuckoo_replace(cuckoo_create(10), ''{}''::json, ''{}''::json)',
	'cuckoo_remove_all(cuckoo_create(10), ARRAY[''{}''::json])', 'cuckoo_add(cuckoo_create(10), ROW(1, ''{}'')::with_document)');
DROP TYPE with_document;
DROP DOMAIN document;

-- Not an array
SELECT query, code FROM errors_of('bloom_add_all(bloom_create(10), 1)', 'bloom_contains_any(bloom_create(10), 1)',
	'cuckoo_add_all(cuckoo_create(10), 1)', 'cuckoo_remove_all(cuckoo_create(10), 1)', 'cuckoo_contains_each(cuckoo_create(10), 1)');

-- Collations: one must be known, but which one does not matter
CREATE TEMP TABLE collated (a text COLLATE "C", b text COLLATE "POSIX");
INSERT INTO collated VALUES ('x', 'y');
SELECT bloom_contains(bloom_add(bloom_create(10), a), 'x' COLLATE "POSIX") AS found, (SELECT bloom_agg(b) @> 'y' FROM collated) AS aggregated FROM collated;

-- Shards
SELECT * FROM errors_of('bloom_shard(1, 0)', 'bloom_shard(1, -1)');

-- A function that is called without information about its types: here as the
-- hash function of an operator class, whose caller has none to give
DO $$
BEGIN
	EXECUTE format('CREATE FUNCTION seeded_hash(bigint, bigint) RETURNS bigint AS %L, %L LANGUAGE C IMMUTABLE STRICT', probin, prosrc)
	FROM pg_proc WHERE oid = 'bloom_hash(anycompatible, bigint)'::regprocedure;
END
$$;
CREATE OPERATOR CLASS by_seeded_hash FOR TYPE bigint USING hash AS
	OPERATOR 1 =, FUNCTION 1 hashint8(bigint), FUNCTION 2 seeded_hash(bigint, bigint);
CREATE TABLE by_hash (x bigint) PARTITION BY HASH (x by_seeded_hash);
CREATE TABLE by_hash_0 PARTITION OF by_hash FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO by_hash VALUES (1);
DROP TABLE by_hash;
DROP OPERATOR CLASS by_seeded_hash USING hash;
DROP FUNCTION seeded_hash;

-- The aggregates' own functions are for aggregates only
SELECT * FROM errors_of(
	'_bloom_agg_trans(NULL, 1)', '_bloom_agg_trans(NULL, 1, 10, 0.1)', '_bloom_agg_trans(NULL, bloom_element(1))', '_bloom_agg_trans(NULL, bloom_element(1), 10, 0.1)',
	'_bloom_agg_trans(NULL, NULL::hashed_element)',
	'_bloom_agg_trans(bloom_create(10), 1)', '_bloom_agg_combine(bloom_create(10), bloom_create(10))', '_bloom_agg_combine(NULL, NULL)', '_bloom_agg_final(bloom_create(10))', '_bloom_agg_final(NULL)');
SELECT * FROM errors_of(
	'_cuckoo_agg_trans(NULL, 1)', '_cuckoo_agg_trans(NULL, 1, 10, 0.1)', '_cuckoo_agg_trans(NULL, bloom_element(1))', '_cuckoo_agg_trans(NULL, bloom_element(1), 10, 0.1)',
	'_cuckoo_agg_trans(NULL, NULL::hashed_element)',
	'_cuckoo_agg_trans(cuckoo_create(10), 1)', '_cuckoo_agg_combine(cuckoo_create(10), cuckoo_create(10))', '_cuckoo_agg_combine(NULL, NULL)', '_cuckoo_agg_final(cuckoo_create(10))', '_cuckoo_agg_final(NULL)');

-- An error changes nothing
CREATE TEMP TABLE kept AS SELECT bloom_add(bloom_create(10), 1) AS f;
CREATE TEMP TABLE kept_before AS SELECT f FROM kept;
UPDATE kept SET f = bloom_add(f, 'x');
UPDATE kept SET f = bloom_add_all(f, ARRAY['x', 'y']);
UPDATE kept SET f = f | bloom_create(11);
UPDATE kept SET f = bloom_add_all(f & f, ARRAY[ROW(1), ROW('x'::text)]);
SELECT k.f = b.f AS unchanged FROM kept k, kept_before b;
CREATE TEMP TABLE cuckoo_kept AS SELECT cuckoo_add(cuckoo_create(10), 1) AS f;
CREATE TEMP TABLE cuckoo_before AS SELECT f FROM cuckoo_kept;
UPDATE cuckoo_kept SET f = cuckoo_add(f, 'x');
UPDATE cuckoo_kept SET f = cuckoo_remove_all(cuckoo_remove(f, 1), ARRAY['x', 'y']);
\set VERBOSITY sqlstate
UPDATE cuckoo_kept SET f = cuckoo_replace(f, 1, ARRAY['x']);
\set VERBOSITY default
UPDATE cuckoo_kept SET f = cuckoo_remove(f, 1) | cuckoo_create(11);
SELECT k.f = b.f AS unchanged FROM cuckoo_kept k, cuckoo_before b;

DROP TABLE classes, collated, kept, kept_before, cuckoo_classes, cuckoo_kept, cuckoo_before;
DROP FUNCTION errors_of, error_of;

-- A filter is no element; and hints that fit the mistake.
SELECT bloom_add(bloom_create(10), bloom_create(10));
SELECT bloom_agg(bloom_create(n)) FROM generate_series(1, 3) n;
SELECT bloom_create(10) <@ bloom_create(10);
SELECT cuckoo_add(cuckoo_create(10), cuckoo_create(10));
SELECT cuckoo_agg(cuckoo_create(n)) FROM generate_series(1, 3) n;
SELECT bloom_add(bloom_create(10), cuckoo_create(10));
SELECT cuckoo_remove(cuckoo_create(10), bloom_create(10));
SELECT cuckoo_create(10) <@ cuckoo_create(10);
SELECT bloom_contains(bloom_add(bloom_create(10), 1), ARRAY[1, 2]);
CREATE TYPE errors_colour AS ENUM ('red', 'green');
SELECT bloom_contains(bloom_add(bloom_create(10), 'red'::errors_colour), 'red');
-- nor is every type a filter that is, like the function, in no extension
BEGIN;
ALTER EXTENSION bloomfilter DROP FUNCTION bloom_hash(anycompatible, bigint);
SELECT bloom_hash('red'::errors_colour) IS NOT NULL AS hashed;
ROLLBACK;
DROP TYPE errors_colour;

-- A hint shows a cast to the filter's class, where one type stands for it
CREATE FUNCTION follow_hint(element text, literal text, OUT hint text, OUT contained boolean) LANGUAGE plpgsql AS
$$
DECLARE
	filter text := format('bloom_add(bloom_create(10), %s)', element);
BEGIN
	BEGIN
		EXECUTE format('SELECT bloom_contains(%s, ROW(true, false))', filter);
	EXCEPTION WHEN datatype_mismatch THEN
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	END;
	IF hint NOT LIKE '%my_type%' THEN
		EXECUTE format('SELECT bloom_contains(%s, %s)', filter,
			regexp_replace(substring(hint FROM 'for example (.*?)(?:, or the array, .*)?\.$'), 'value', quote_literal(literal), 'g')) INTO contained;
	END IF;
END
$$;
SELECT e.element, h.* FROM (VALUES
	('8::bigint', '8'), ('8.5::float4', '8.5'), ('8::numeric', '8.00'), ('''a''::varchar', 'a'), ('''c''::"char"', 'c'),
	('B''101''', '101'), ('''10.0.0.0/8''::cidr', '10.0.0.0/8'), ('''2026-01-01''::date', '2026-01-01'), ('''12:00Z''::timetz', '12:00Z'),
	('ARRAY[1, 2]', '{1,2}'), ('ARRAY[B''1'']', '{1}'), ('ROW(1, ''1''::text)', '1'), ('ROW(1, ROW(1))', '1'),
	('int4range(1, 2)', ''), ('ARRAY[int4range(1, 2)]', ''), ('ROW(int4range(1, 2))', ''), ('ROW(1, 2, 3, 4, 5, 6, 7)', '')) AS e (element, literal),
	LATERAL follow_hint(e.element, e.literal) AS h;
DROP FUNCTION follow_hint;
