--
-- Elements of every type: within a class, equal values have equal hashes,
-- whatever their type or stored form; types that cannot be hashed are errors.
--
\set ON_ERROR_STOP on
SET client_encoding = 'UTF8';
SET timezone = 'UTC';

-- SQLSTATE, message and hint of the error that a query raises
CREATE FUNCTION error_of(query text) RETURNS TABLE (code text, message text, hint text)
LANGUAGE plpgsql AS
$$
BEGIN
	EXECUTE query;
	RETURN QUERY SELECT NULL::text, 'no error', NULL::text;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE,
		message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN NEXT;
END
$$;

-- The class of an element
CREATE FUNCTION class_of(expression text) RETURNS text
LANGUAGE plpgsql AS
$$
DECLARE
	class		text;
BEGIN
	EXECUTE format('SELECT (bloom_info(bloom_add(bloom_create(100), %s))).element_class',
				   expression) INTO class;
	RETURN class;
END
$$;
\set ON_ERROR_STOP off

--
-- Numbers
--
SELECT * FROM (VALUES
	('int2 = int4', bloom_hash(7::int2) = bloom_hash(7::int4)),
	('int4 = int8', bloom_hash(7::int4) = bloom_hash(7::int8)),
	('negative', bloom_hash((-7)::int2) = bloom_hash((-7)::int8)),
	('float4 = float8', bloom_hash(0.5::float4) = bloom_hash(0.5::float8)),
	('float4 0.1 is not float8 0.1', bloom_hash(0.1::float4) <> bloom_hash(0.1::float8)),
	('-0', bloom_hash('-0'::float8) = bloom_hash('0'::float8)),
	('-0 of both', bloom_hash('-0'::float4) = bloom_hash('0'::float8)),
	('NaN of both', bloom_hash('NaN'::float4) = bloom_hash('NaN'::float8)),
	('a computed NaN', bloom_hash('Infinity'::float8 - 'Infinity'::float8) = bloom_hash('NaN'::float8)),
	('infinities differ', bloom_hash('Infinity'::float8) <> bloom_hash('-Infinity'::float8)),
	('numeric scale', bloom_hash(1.0) = bloom_hash(1.000)),
	('numeric zero', bloom_hash(0.00) = bloom_hash(-0::numeric)),
	('numeric hundreds', bloom_hash(100::numeric) = bloom_hash(1e2::numeric)),
	('numeric NaN', bloom_hash('NaN'::numeric) = bloom_hash('nan'::numeric)),
	('numeric tens', bloom_hash(1::numeric) <> bloom_hash(10::numeric))
) AS t (what, holds);

-- A seed gives other hashes, and 0 is the default
SELECT bloom_hash(1) = bloom_hash(1, 0) AS default_seed,
	   bloom_hash(1) <> bloom_hash(1, 1) AS seeded,
	   bloom_hash(1, -1) <> bloom_hash(1, 1) AS negative_seed,
	   bloom_hash('a'::text) <> bloom_hash('a'::text, 1) AS seeded_text,
	   bloom_hash(array[1]) <> bloom_hash(array[1], 1) AS seeded_array;

--
-- Text
--
CREATE DOMAIN word AS text;
CREATE DOMAIN short_word AS word CHECK (length(VALUE) < 10);
SELECT * FROM (VALUES
	('text = varchar', bloom_hash('abc'::text) = bloom_hash('abc'::varchar)),
	('text = name', bloom_hash('abc'::text) = bloom_hash('abc'::name)),
	('text = bpchar', bloom_hash('abc'::text) = bloom_hash('abc'::char(10))),
	('blanks of bpchar', bloom_hash('abc'::char(10)) = bloom_hash('abc '::char(4))),
	('blanks of text', bloom_hash('abc'::text) <> bloom_hash('abc '::text)),
	('a literal is text', bloom_hash('abc') = bloom_hash('abc'::text)),
	('a domain', bloom_hash('abc'::word) = bloom_hash('abc'::text)),
	('a domain over a domain', bloom_hash('abc'::short_word) = bloom_hash('abc'::text)),
	('empty', bloom_hash('') = bloom_hash(''::char(3))),
	('collations agree', bloom_hash('abc' COLLATE "C") = bloom_hash('abc' COLLATE "POSIX")),
	('no normalisation', bloom_hash(U&'\00E9') <> bloom_hash(U&'e\0301')),
	('bytea has the same bytes', bloom_hash('abc'::bytea) = bloom_hash('abc'::text)),
	('but a class of its own', class_of('''abc''::bytea') <> class_of('''abc''::text'))
) AS t (what, holds);

-- Stored forms: plain, short header, compressed, external, both
CREATE TABLE forms (form text, c text, b bytea, n numeric, a text[], j jsonb, v varbit);
ALTER TABLE forms
	ALTER c SET STORAGE plain, ALTER b SET STORAGE plain, ALTER n SET STORAGE plain,
	ALTER a SET STORAGE plain, ALTER j SET STORAGE plain, ALTER v SET STORAGE plain;
CREATE TABLE shorts (LIKE forms);
INSERT INTO forms VALUES ('plain', 'abc', 'abc', 1234.5678, '{a,b}', '{"a": 1}', B'10101');
INSERT INTO shorts SELECT * FROM forms;
UPDATE shorts SET form = 'short';
SELECT form,
	   bloom_hash(c) = bloom_hash('abc'::text) AS c,
	   bloom_hash(b) = bloom_hash('abc'::bytea) AS b,
	   bloom_hash(n) = bloom_hash(1234.5678) AS n,
	   bloom_hash(a) = bloom_hash('{a,b}'::text[]) AS a,
	   bloom_hash(j) = bloom_hash('{"a": 1}'::jsonb) AS j,
	   bloom_hash(v) = bloom_hash(B'10101'::varbit) AS v,
	   bloom_hash(shorts) = bloom_hash(row(form, 'abc'::text, 'abc'::bytea, 1234.5678,
										   '{a,b}'::text[], '{"a": 1}'::jsonb, B'10101'::varbit)) AS whole
FROM shorts;
TRUNCATE forms;
\set big 'repeat(''0123456789abcdef'', 5000)'
CREATE FUNCTION fill(label text) RETURNS void LANGUAGE sql AS
$$
INSERT INTO forms
SELECT label, s, s::bytea, repeat('123456789', 2000)::numeric,
	   array_fill(s, ARRAY[3]), jsonb_build_object('k', s), repeat('10', 40000)::varbit
FROM (SELECT repeat('0123456789abcdef', 5000) AS s) AS x
$$;
ALTER TABLE forms
	ALTER c SET STORAGE external, ALTER b SET STORAGE external, ALTER n SET STORAGE external,
	ALTER a SET STORAGE external, ALTER j SET STORAGE external, ALTER v SET STORAGE external;
SELECT fill('external');
ALTER TABLE forms
	ALTER c SET STORAGE main, ALTER b SET STORAGE main, ALTER n SET STORAGE main,
	ALTER a SET STORAGE main, ALTER j SET STORAGE main, ALTER v SET STORAGE main;
SELECT fill('main');
ALTER TABLE forms
	ALTER c SET STORAGE extended, ALTER b SET STORAGE extended, ALTER n SET STORAGE extended,
	ALTER a SET STORAGE extended, ALTER j SET STORAGE extended, ALTER v SET STORAGE extended;
SELECT fill('extended');
SELECT form, pg_column_size(c) < 10000 AS compressed,
	   bloom_hash(c) = bloom_hash(:big) AS c,
	   bloom_hash(b) = bloom_hash((:big)::bytea) AS b,
	   bloom_hash(n) = bloom_hash(repeat('123456789', 2000)::numeric) AS n,
	   bloom_hash(a) = bloom_hash(array_fill(:big, ARRAY[3])) AS a,
	   bloom_hash(j) = bloom_hash(jsonb_build_object('k', :big)) AS j,
	   bloom_hash(v) = bloom_hash(repeat('10', 40000)::varbit) AS v
FROM forms ORDER BY form;
-- Within a record, a column may be compressed while the others are not
SELECT count(DISTINCT bloom_hash(row(c, b, n, a, j, v))) AS distinct_records FROM forms;
DROP TABLE forms, shorts;
DROP FUNCTION fill;

--
-- Dates, times and other types with forms of their own
--
SELECT * FROM (VALUES
	('interval: 30 days', bloom_hash('1 month'::interval) = bloom_hash('30 days'::interval)),
	('interval: 24 hours', bloom_hash('1 day'::interval) = bloom_hash('24:00:00'::interval)),
	('interval: signs', bloom_hash('1 month -30 days'::interval) = bloom_hash('0'::interval)),
	('interval: negative', bloom_hash('-1 day'::interval) = bloom_hash('-24 hours'::interval)),
	('interval: mixed', bloom_hash('1 day -1 second'::interval) = bloom_hash('23:59:59'::interval)),
	('interval: large', bloom_hash('100000000 years'::interval) = bloom_hash('1200000000 months'::interval)),
	('interval: below zero', bloom_hash('-1 us'::interval) <> bloom_hash('1 us'::interval)),
	('timestamptz: one instant', bloom_hash('2020-01-01 00:00+00'::timestamptz) = bloom_hash('2020-01-01 02:00+02'::timestamptz)),
	('timetz: zones differ', bloom_hash('00:00+00'::timetz) <> bloom_hash('02:00+02'::timetz)),
	('time: midnights differ', bloom_hash('00:00'::time) <> bloom_hash('24:00'::time)),
	('bit = varbit', bloom_hash(B'101'::bit(3)) = bloom_hash(B'101'::varbit)),
	('bits: length counts', bloom_hash(B'1010') <> bloom_hash(B'101')),
	('inet = cidr', bloom_hash('10.0.0.0/8'::inet) = bloom_hash('10.0.0.0/8'::cidr)),
	('inet: no mask is 32', bloom_hash('10.0.0.1'::inet) = bloom_hash('10.0.0.1/32'::inet)),
	('inet: masks count', bloom_hash('10.0.0.0/8'::inet) <> bloom_hash('10.0.0.0/16'::inet)),
	('inet: families differ', bloom_hash('0.0.0.0/0'::inet) <> bloom_hash('::/0'::inet)),
	('uuid: case', bloom_hash('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid) = bloom_hash('a0eebc999c0b4ef8bb6d6bb9bd380a11'::uuid))
) AS t (what, holds);

--
-- Enums are their labels: another type of that name, in another schema or
-- database, has the same class, and its labels the same hashes
--
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE SCHEMA other;
CREATE TYPE other.mood AS ENUM ('happy', 'ok');
SELECT class_of('''ok''::mood') AS class,
	   class_of('''ok''::other.mood') AS other_class,
	   bloom_hash('ok'::mood) = bloom_hash('ok'::other.mood) AS same,
	   bloom_hash('ok'::mood) <> bloom_hash('sad'::mood) AS differ;
SELECT bloom_contains(bloom_add(bloom_create(100), 'ok'::mood), 'ok'::other.mood) AS found;
-- A renamed label is another element, even for a call site that lives on
CREATE FUNCTION hash_mood(m mood) RETURNS bigint LANGUAGE plpgsql AS
$$
BEGIN
	RETURN bloom_hash(m);
END
$$;
SELECT hash_mood('ok') = bloom_hash('ok'::other.mood) AS before;
ALTER TYPE mood RENAME VALUE 'ok' TO 'fine';
SELECT hash_mood('fine') = bloom_hash('ok'::other.mood) AS same,
	   hash_mood('fine') = bloom_hash('fine'::mood) AS current;
-- All values through one call site
SELECT count(DISTINCT bloom_hash(m)) FROM unnest(enum_range(NULL::mood)) AS m;
SELECT class_of('''sad''::mood') AS enum, class_of('array[''sad''::mood]') AS array_of_enum;
DROP FUNCTION hash_mood;
DROP SCHEMA other CASCADE;

--
-- Arrays
--
SELECT * FROM (VALUES
	('int2[] = int8[]', bloom_hash('{1,2}'::int2[]) = bloom_hash('{1,2}'::int8[])),
	('text[] = varchar[]', bloom_hash('{a,b}'::text[]) = bloom_hash('{a,b}'::varchar[])),
	('text[] = bpchar[]', bloom_hash('{a,b}'::text[]) = bloom_hash('{a,b}'::char(3)[])),
	('text[] = name[]', bloom_hash('{a,b}'::text[]) = bloom_hash('{a,b}'::name[])),
	('numeric scale', bloom_hash('{1.0}'::numeric[]) = bloom_hash('{1}'::numeric[])),
	('-0', bloom_hash('{-0}'::float8[]) = bloom_hash('{0}'::float4[])),
	('NULL', bloom_hash('{NULL,1}'::int[]) = bloom_hash('{NULL,1}'::int8[])),
	('NULL and its place', bloom_hash('{NULL,1}'::int[]) <> bloom_hash('{1,NULL}'::int[])),
	('NULL is not empty text', bloom_hash('{NULL}'::text[]) <> bloom_hash('{""}'::text[])),
	('a nulls bitmap without nulls', bloom_hash(array_remove('{1,NULL}'::int[], NULL)) = bloom_hash('{1}'::int[])),
	('empty', bloom_hash('{}'::int[]) = bloom_hash(array_remove('{1}'::int[], 1))),
	('lower bounds', bloom_hash('[0:1]={1,2}'::int[]) <> bloom_hash('{1,2}'::int[])),
	('lower bound 1', bloom_hash('[1:2]={1,2}'::int[]) = bloom_hash('{1,2}'::int[])),
	('shape', bloom_hash('{{1,2},{3,4}}'::int[]) <> bloom_hash('{1,2,3,4}'::int[])),
	('transposed shape', bloom_hash('{{1,2}}'::int[]) <> bloom_hash('{{1},{2}}'::int[])),
	('where one text ends', bloom_hash('{ab,c}'::text[]) <> bloom_hash('{a,bc}'::text[])),
	('a domain''s array', bloom_hash('{a,b}'::word[]) = bloom_hash('{a,b}'::text[])),
	('int2vector, lower bound 0', bloom_hash('1 2'::int2vector) = bloom_hash('[0:1]={1,2}'::int2[])),
	('an array in place', bloom_hash(array_append('{1}'::int[], 2)) = bloom_hash('{1,2}'::int[]))
) AS t (what, holds);
CREATE DOMAIN row_of_three AS integer[] CHECK (cardinality(VALUE) = 3);
SELECT bloom_hash('{1,2,3}'::row_of_three) = bloom_hash('{1,2,3}'::int[]) AS domain_over_array,
	   bloom_hash(ARRAY['{1,2,3}'::row_of_three]) = bloom_hash(ARRAY['{1,2,3}'::row_of_three]) AS array_of_domain_over_array,
	   class_of('ARRAY[''{1,2,3}''::row_of_three]') AS class;
-- An expanded array of PL/pgSQL
DO $$
DECLARE
	a			int[] := '{1,2,3}';
BEGIN
	a[2] := 5;
	RAISE NOTICE 'expanded: %', bloom_hash(a) = bloom_hash('{1,5,3}'::int[]);
END
$$;

--
-- Records, named or not
--
CREATE TYPE pair AS (a integer, b text);
CREATE DOMAIN good_pair AS pair CHECK ((VALUE).a > 0);
CREATE TABLE pairs (a bigint, gone integer, b varchar);
INSERT INTO pairs VALUES (1, 2, 'x');
ALTER TABLE pairs DROP COLUMN gone;
SELECT * FROM (VALUES
	('types of the same class', bloom_hash(row(1, 'x'::text)) = bloom_hash(row(1::int8, 'x'::varchar))),
	('a literal is text', bloom_hash(row(1, 'x')) = bloom_hash(row(1, 'x'::text))),
	('a named type', bloom_hash(row(1, 'x')::pair) = bloom_hash(row(1, 'x'::text))),
	('a domain', bloom_hash(row(1, 'x')::pair::good_pair) = bloom_hash(row(1, 'x'::text))),
	('a dropped column', bloom_hash((SELECT pairs FROM pairs)) = bloom_hash(row(1, 'x'::text))),
	('a subquery', bloom_hash((SELECT s FROM (SELECT 1 AS c, 'x'::text AS d) AS s)) = bloom_hash(row(1, 'x'::text))),
	('NULL columns', bloom_hash(row(NULL::int, 'x'::text)) = bloom_hash(row(NULL, 'x')::pair)),
	('NULL is not zero', bloom_hash(row(NULL::int, 'x'::text)) <> bloom_hash(row(0, 'x'::text))),
	('numeric scale', bloom_hash(row(1.0)) = bloom_hash(row(1.00))),
	('where one text ends', bloom_hash(row('ab'::text, 'c'::text)) <> bloom_hash(row('a'::text, 'bc'::text))),
	('nesting', bloom_hash(row(1, row(2, 3))) <> bloom_hash(row(1, 2, 3))),
	('nested types', bloom_hash(row(1, row(2, 'x')::pair)) = bloom_hash(row(1::int2, row(2::int8, 'x'::name)))),
	('arrays in records', bloom_hash(row('{1,2}'::int[])) = bloom_hash(row('{1,2}'::int8[]))),
	('records in arrays', bloom_hash(array[row(1, 'x'::text)]) = bloom_hash(array[row(1, 'x')::pair])),
	('NULL among records', bloom_hash(array[NULL, row(1, 'x'::text)]) = bloom_hash(array[NULL, row(1, 'x')::pair])),
	('column names', bloom_hash(array(SELECT p FROM (SELECT 1 AS a) AS p)) = bloom_hash(array(SELECT q FROM (SELECT 1 AS b) AS q)))
) AS t (what, holds);

-- One call site, several structures
SELECT n, bloom_hash(r) = h AS same FROM (
	SELECT 1 AS n, row(1, 'x'::text) AS r, bloom_hash(row(1, 'x'::text)) AS h
	UNION ALL
	SELECT 2, row('x'::text, 1), bloom_hash(row('x'::text, 1))
	UNION ALL
	SELECT 3, row(1, row(2, 'y'::text)), bloom_hash(row(1, row(2, 'y'::text)))
	UNION ALL
	SELECT 4, row(1, row('y'::text, 2)), bloom_hash(row(1, row('y'::text, 2)))
	UNION ALL
	SELECT 5, row(1, 'x'::text), bloom_hash(row(1, 'x'::text))
	UNION ALL
	SELECT 6, row(row(row(1))), bloom_hash(row(row(row(1))))
	UNION ALL
	SELECT 7, row(array[row(1), row(2)]), bloom_hash(row(array[row(1), row(2)]))
	UNION ALL
	SELECT 8, row(array[row(1, 2)]), bloom_hash(row(array[row(1, 2)]))
	UNION ALL
	SELECT 9, row('{}'::record[]), bloom_hash(row('{}'::record[]))
) AS t ORDER BY n;

-- The class follows the value, and an error leaves no trace
CREATE FUNCTION class_of_record(r record) RETURNS text LANGUAGE plpgsql AS
$$
BEGIN
	RETURN (bloom_info(bloom_add(bloom_create(100), r))).element_class;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END
$$;
SELECT n, class_of_record(r) AS class FROM (VALUES
	(1, row(1, 'x'::text)), (2, row('x'::text, 1)), (3, row(1.0, row(true))),
	(4, row(1, NULL::record)), (5, row(1, row(1))), (6, row(1, NULL::record)),
	(7, row()), (8, row(point '(1,1)')), (9, row(1, 'x'::text)),
	(10, row(1, row(point '(1,1)'))), (11, row(1, row(1)))
) AS t (n, r) ORDER BY n;

-- All records of an array have one structure; an empty array has none
SELECT n, class_of_record(r) AS class FROM (VALUES
	(1, row(array[row(1, 2), row(3, 4)])), (2, row(array[row(1, 2), row('x'::text)])),
	(3, row(array[row('x'::text), row('y'::varchar)])), (4, row(array[row(1), row(1, 2)])),
	(5, row(array[row(1, 2), row(3, 4)])), (6, row('{}'::record[])), (7, row(array[row(1, 2)])),
	(8, row(array[NULL::record])), (9, row(array[row(1, 2), NULL, row(3, 4)])),
	(10, row(array[NULL, row('x'::text)])), (11, row(array[row(1, row(2)), row(1, row(3))])),
	(12, row(array[row(1, row(2)), row(1, row('x'::text))])),
	(13, row(array[row(1, row(2)), row(1, NULL::record)])),
	(14, row(array[row(1, row('x'::text)), row(1, row('y'::name))])),
	(15, row(NULL::record[])), (16, row(array[row(1, array[row(2), row(3)])])),
	(17, row(array[row(1, array[row(2), row(true)])])),
	(18, row(array[row(1, array[row(2)]), row(1, array[row(true)])])),
	(19, row(array[row(1, array[row(2)]), row(1, array[row(3)])]))
) AS t (n, r) ORDER BY n;
SELECT * FROM error_of('SELECT bloom_hash(array[row(1), row(''x''::text)])');

-- A named type may change under a call site that lives on
SELECT class_of_record(row(1, 'x')::pair);
ALTER TYPE pair ADD ATTRIBUTE c numeric;
SELECT class_of_record(row(1, 'x', 1)::pair);
ALTER TYPE pair DROP ATTRIBUTE b;
SELECT class_of_record(row(1, 1)::pair),
	   bloom_hash(row(1, 1)::pair) = bloom_hash(row(1, 1::numeric)) AS same;

-- A column added with a default is missing in the older rows
ALTER TABLE pairs ADD COLUMN d integer DEFAULT 4, ADD COLUMN e text;
SELECT bloom_hash(pairs) = bloom_hash(row(1, 'x'::text, 4, NULL::text)) AS same FROM pairs;

--
-- Ranges and multiranges
--
CREATE TYPE wordrange AS RANGE (subtype = text, collation = "C");
SELECT * FROM (VALUES
	('discrete bounds', bloom_hash('[1,5]'::int4range) = bloom_hash('[1,6)'::int4range)),
	('int4range = int8range', bloom_hash('[1,5]'::int4range) = bloom_hash('[1,6)'::int8range)),
	('numeric scale', bloom_hash('[1.0,2.00)'::numrange) = bloom_hash('[1,2)'::numrange)),
	('inclusive or not', bloom_hash('[1,2)'::numrange) <> bloom_hash('[1,2]'::numrange)),
	('infinite', bloom_hash('(,1)'::numrange) = bloom_hash('[,1)'::numrange)),
	('infinite, other side', bloom_hash('(,1)'::numrange) <> bloom_hash('(1,)'::numrange)),
	('empty', bloom_hash('[1,1)'::int4range) = bloom_hash('empty'::int8range)),
	('empty is not infinite', bloom_hash('empty'::int4range) <> bloom_hash('(,)'::int4range)),
	('a bound of infinity is not none', bloom_hash('[2020-01-01,infinity)'::daterange) <> bloom_hash('[2020-01-01,)'::daterange)),
	('text', bloom_hash('[a,b)'::wordrange) = bloom_hash('["a",b)'::wordrange)),
	('multirange merges', bloom_hash('{[1,2),[2,3)}'::int4multirange) = bloom_hash('{[1,3)}'::int8multirange)),
	('multirange', bloom_hash('{[1,2),[5,6)}'::nummultirange) <> bloom_hash('{[1,2)}'::nummultirange)),
	('many ranges', bloom_hash((SELECT range_agg(int4range(3 * i, 3 * i + 1)) FROM generate_series(1, 100) AS i)) =
					bloom_hash((SELECT range_agg(int8range(3 * i, 3 * i + 1)) FROM generate_series(100, 1, -1) AS i))),
	('arrays of ranges', bloom_hash(array['[1,5]'::int4range]) = bloom_hash(array['[1,6)'::int8range])),
	('a range is not its bounds', class_of('''[1,2)''::int4range') <> class_of('array[1,2]'))
) AS t (what, holds);
SELECT class_of('''[a,b)''::wordrange') AS range, class_of('''{[1,2)}''::int4multirange') AS multirange,
	   class_of('array[''[1,2)''::int4range]') AS ranges;

--
-- jsonb
--
SELECT * FROM (VALUES
	('numbers', bloom_hash('1'::jsonb) = bloom_hash('1.00'::jsonb)),
	('exponents', bloom_hash('{"a": 1e2}'::jsonb) = bloom_hash('{"a": 100.0}'::jsonb)),
	('order of keys', bloom_hash('{"a": 1, "bb": 2}'::jsonb) = bloom_hash('{"bb": 2, "a": 1}'::jsonb)),
	('the last of like keys', bloom_hash('{"a": 1, "a": 2}'::jsonb) = bloom_hash('{"a": 2}'::jsonb)),
	('a number is not a string', bloom_hash('1'::jsonb) <> bloom_hash('"1"'::jsonb)),
	('a scalar is not an array', bloom_hash('1'::jsonb) <> bloom_hash('[1]'::jsonb)),
	('null', bloom_hash('null'::jsonb) <> bloom_hash('[]'::jsonb)),
	('true', bloom_hash('true'::jsonb) <> bloom_hash('false'::jsonb)),
	('empty object, empty array', bloom_hash('{}'::jsonb) <> bloom_hash('[]'::jsonb)),
	('nesting', bloom_hash('[[1], 2]'::jsonb) <> bloom_hash('[[1, 2]]'::jsonb)),
	('keys and values', bloom_hash('{"a": "b"}'::jsonb) <> bloom_hash('["a", "b"]'::jsonb)),
	('built', bloom_hash(jsonb_build_object('x', array[1, 2], 'y', null)) = bloom_hash('{"y": null, "x": [1, 2.0]}'::jsonb)),
	('a part', bloom_hash('[[1, {"a": "b"}]]'::jsonb -> 0) = bloom_hash('[1, {"a": "b"}]'::jsonb)),
	('a scalar part', bloom_hash('[1.50, 2]'::jsonb -> 0) = bloom_hash('1.5'::jsonb))
) AS t (what, holds);

--
-- Any other type that has a hash function: that function's result
--
SELECT * FROM (VALUES
	('cid', bloom_hash('7'::cid) = bloom_hash(hashint4extended(7, 0))),
	('tid', bloom_hash('(1,2)'::tid) = bloom_hash(hashtidextended('(1,2)', 0))),
	('xid', bloom_hash('5'::xid) = bloom_hash(hashint4extended(5, 0))),
	('regtype', bloom_hash('int4'::regtype) = bloom_hash(hashoidextended(23, 0))),
	('seeded', bloom_hash('(1,2)'::tid, 3) = bloom_hash(hashtidextended('(1,2)', 0), 3))
) AS t (what, holds);
SELECT class_of('''(1,2)''::tid') AS tid, class_of('''5''::xid') AS xid,
	   class_of('''regtype''::regtype') AS regtype, class_of('array[''(1,2)''::tid]') AS tids;

-- A type with an equality of its own is hashed by that
CREATE TYPE caseless AS (t text);
CREATE FUNCTION caseless_lt(caseless, caseless) RETURNS boolean LANGUAGE sql IMMUTABLE AS
	'SELECT lower($1.t) COLLATE "C" < lower($2.t)';
CREATE FUNCTION caseless_le(caseless, caseless) RETURNS boolean LANGUAGE sql IMMUTABLE AS
	'SELECT lower($1.t) COLLATE "C" <= lower($2.t)';
CREATE FUNCTION caseless_eq(caseless, caseless) RETURNS boolean LANGUAGE sql IMMUTABLE AS
	'SELECT lower($1.t) = lower($2.t)';
CREATE FUNCTION caseless_ge(caseless, caseless) RETURNS boolean LANGUAGE sql IMMUTABLE AS
	'SELECT lower($1.t) COLLATE "C" >= lower($2.t)';
CREATE FUNCTION caseless_gt(caseless, caseless) RETURNS boolean LANGUAGE sql IMMUTABLE AS
	'SELECT lower($1.t) COLLATE "C" > lower($2.t)';
CREATE FUNCTION caseless_cmp(caseless, caseless) RETURNS integer LANGUAGE sql IMMUTABLE AS
	'SELECT bttextcmp(lower($1.t), lower($2.t))';
CREATE FUNCTION caseless_hash(caseless) RETURNS integer LANGUAGE sql IMMUTABLE AS
	'SELECT hashtext(lower($1.t))';
CREATE FUNCTION caseless_hash(caseless, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
	'SELECT hashtextextended(lower($1.t), $2)';
CREATE OPERATOR < (LEFTARG = caseless, RIGHTARG = caseless, FUNCTION = caseless_lt);
CREATE OPERATOR <= (LEFTARG = caseless, RIGHTARG = caseless, FUNCTION = caseless_le);
CREATE OPERATOR = (LEFTARG = caseless, RIGHTARG = caseless, FUNCTION = caseless_eq,
	HASHES, MERGES);
CREATE OPERATOR >= (LEFTARG = caseless, RIGHTARG = caseless, FUNCTION = caseless_ge);
CREATE OPERATOR > (LEFTARG = caseless, RIGHTARG = caseless, FUNCTION = caseless_gt);
CREATE OPERATOR FAMILY caseless_ops USING btree;
CREATE OPERATOR CLASS caseless_ops DEFAULT FOR TYPE caseless USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 caseless_cmp(caseless, caseless);
-- with an equality but no hash function for it, it is not an element
SELECT * FROM error_of('SELECT bloom_hash(row(''Abc'')::caseless)');
CREATE OPERATOR CLASS caseless_ops DEFAULT FOR TYPE caseless USING hash AS
	OPERATOR 1 =, FUNCTION 1 caseless_hash(caseless),
	FUNCTION 2 caseless_hash(caseless, bigint);
SELECT bloom_hash(row('Abc')::caseless) = bloom_hash(row('aBC')::caseless) AS same,
	   bloom_hash(array[row('Abc')::caseless]) = bloom_hash(array[row('aBC')::caseless]) AS same_in_array,
	   bloom_hash(row(1, row('Abc')::caseless)) = bloom_hash(row(1, row('aBC')::caseless)) AS same_in_record,
	   bloom_hash(row('Abc')::caseless) <> bloom_hash(row('Abd')::caseless) AS differ;

--
-- Types that cannot be hashed
--
SELECT e.* FROM unnest(ARRAY[
	'SELECT bloom_hash(point ''(1,1)'')',
	'SELECT bloom_hash(json ''1'')',
	'SELECT bloom_hash(ARRAY[json ''1''])',
	'SELECT bloom_hash(row(1, json ''1''))',
	'SELECT bloom_hash(row(1, row(point ''(1,1)'')))',
	'SELECT bloom_hash(ARRAY[row(point ''(1,1)'')])',
	'SELECT bloom_hash(tsvector ''a'')',
	'SELECT bloom_hash(xml ''<a/>'')'
]) WITH ORDINALITY AS q (query, n), error_of(query) AS e ORDER BY n;
CREATE DOMAIN jdomain AS json;
CREATE TYPE jrecord AS (a integer, j json);
CREATE TYPE jrange AS RANGE (subtype = tsvector);
SELECT e.* FROM unnest(ARRAY[
	'SELECT bloom_hash(''1''::jdomain)',
	'SELECT bloom_hash(row(1, ''1'')::jrecord)',
	'SELECT bloom_hash(NULL::jrecord[] || row(1, ''1'')::jrecord)',
	'SELECT bloom_hash(''[a,b)''::jrange)'
]) WITH ORDINALITY AS q (query, n), error_of(query) AS e ORDER BY n;

-- Collations: only deterministic ones, and there must be one
CREATE COLLATION nd (provider = icu, locale = 'und', deterministic = false);
CREATE TYPE ndrange AS RANGE (subtype = text, collation = nd);
CREATE TYPE ndrecord AS (a integer, b text COLLATE nd);
CREATE DOMAIN nddomain AS text COLLATE nd;
SELECT e.* FROM unnest(ARRAY[
	'SELECT bloom_hash(''a'' COLLATE nd)',
	'SELECT bloom_hash(''a''::char(3) COLLATE nd)',
	'SELECT bloom_hash(''a''::name COLLATE nd)',
	'SELECT bloom_hash(''{a}''::text[] COLLATE nd)',
	'SELECT bloom_hash(row(1, ''a'' COLLATE nd))',
	'SELECT bloom_hash(row(1, row(''a''::text COLLATE nd)))',
	'SELECT bloom_hash(row(1, ''a'')::ndrecord)',
	'SELECT bloom_hash(ARRAY[row(1, ''a'')::ndrecord])',
	'SELECT bloom_hash(''[a,b)''::ndrange)',
	'SELECT bloom_hash(''{[a,b)}''::ndmultirange)',
	'SELECT bloom_hash(''a''::nddomain)',
	'SELECT bloom_hash(ARRAY[''a''::nddomain])',
	'SELECT bloom_hash(''a'' COLLATE nd COLLATE "C")',
	'SELECT bloom_hash(a || b) FROM (SELECT ''a'' COLLATE "C", ''b'' COLLATE "POSIX") AS t (a, b)',
	'SELECT bloom_hash(ARRAY[a, b]) FROM (SELECT ''a'' COLLATE "C", ''b'' COLLATE "POSIX") AS t (a, b)',
	'SELECT bloom_hash(row(a || b)) FROM (SELECT ''a'' COLLATE "C", ''b'' COLLATE "POSIX") AS t (a, b)'
]) WITH ORDINALITY AS q (query, n), error_of(query) AS e ORDER BY n;

-- NULL in, NULL out, whatever the type
SELECT bloom_hash(NULL::integer) IS NULL AS integer, bloom_hash(NULL::text) IS NULL AS text,
	   bloom_hash(NULL) IS NULL AS untyped, bloom_hash(1, NULL) IS NULL AS seed;

-- A very long element, and a very deep one
SELECT bloom_hash(repeat('x', 100000000)) = bloom_hash(repeat('x', 50000000) || repeat('x', 50000000)) AS long,
	   bloom_hash(array_fill(1, ARRAY[1000000])) = bloom_hash(array_fill(1::int8, ARRAY[1000000])) AS large;
SELECT bloom_hash((repeat('[', 500) || '1' || repeat(']', 500))::jsonb) =
	   bloom_hash((repeat('[', 500) || '1.0' || repeat(']', 500))::jsonb) AS deep;

SET client_min_messages = warning;
DROP TABLE pairs;
DROP TYPE ndrange, ndrecord, jrange, jrecord, wordrange, mood, pair CASCADE;
DROP TYPE caseless CASCADE;
DROP DOMAIN word, row_of_three, jdomain, nddomain CASCADE;
DROP COLLATION nd;
DROP FUNCTION error_of, class_of, class_of_record;

-- A range type that compares its bounds in its own way
CREATE TYPE pattern_range AS RANGE (subtype = text, subtype_opclass = text_pattern_ops);
SELECT bloom_hash(pattern_range('a', 'b'));
SELECT bloom_hash(multirange(pattern_range('a', 'b')));
DROP TYPE pattern_range;

-- A range type with an equality of its own: the hash of its values is that of its
-- class, but multiranges of it are compared by their bounds
CREATE TYPE span AS RANGE (subtype = int4, multirange_type_name = spans);
CREATE FUNCTION span_lt(span, span) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT upper($1) < upper($2)';
CREATE FUNCTION span_le(span, span) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT upper($1) <= upper($2)';
CREATE FUNCTION span_eq(span, span) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT upper($1) = upper($2)';
CREATE FUNCTION span_ge(span, span) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT upper($1) >= upper($2)';
CREATE FUNCTION span_gt(span, span) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT upper($1) > upper($2)';
CREATE FUNCTION span_cmp(span, span) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp(upper($1), upper($2))';
CREATE FUNCTION span_hash(span) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT hashint4(upper($1))';
CREATE FUNCTION span_hash(span, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT hashint4extended(upper($1), $2)';
CREATE OPERATOR <<< (LEFTARG = span, RIGHTARG = span, FUNCTION = span_lt);
CREATE OPERATOR <<<= (LEFTARG = span, RIGHTARG = span, FUNCTION = span_le);
CREATE OPERATOR === (LEFTARG = span, RIGHTARG = span, FUNCTION = span_eq);
CREATE OPERATOR >>>= (LEFTARG = span, RIGHTARG = span, FUNCTION = span_ge);
CREATE OPERATOR >>> (LEFTARG = span, RIGHTARG = span, FUNCTION = span_gt);
CREATE OPERATOR CLASS span_btree DEFAULT FOR TYPE span USING btree AS OPERATOR 1 <<<, OPERATOR 2 <<<=,
	OPERATOR 3 ===, OPERATOR 4 >>>=, OPERATOR 5 >>>, FUNCTION 1 span_cmp(span, span);
CREATE OPERATOR CLASS span_hash DEFAULT FOR TYPE span USING hash AS OPERATOR 1 ===,
	FUNCTION 1 span_hash(span), FUNCTION 2 span_hash(span, bigint);
CREATE DOMAIN short_span AS span;
CREATE DOMAIN short_spans AS spans;
CREATE TYPE span_range AS RANGE (subtype = span, multirange_type_name = span_ranges);
CREATE TYPE span_record AS (s span, m spans);
-- (the session that made a type's operator class may know the type without it)
\c
SELECT * FROM (VALUES
	('range', bloom_hash('[1,4)'::span) = bloom_hash('[2,4)'::span)),
	('range of another class', bloom_hash('[1,4)'::span) <> bloom_hash('[1,4)'::int4range)),
	('domain over it', bloom_hash('[1,4)'::short_span) = bloom_hash('[2,4)'::span)),
	('array of it', bloom_hash(ARRAY['[1,4)'::span]) = bloom_hash(ARRAY['[2,4)'::span])),
	('array of domains', bloom_hash(ARRAY['[1,4)'::short_span]) = bloom_hash(ARRAY['[2,4)'::span])),
	('multirange', bloom_hash('{[1,4)}'::spans) = bloom_hash('{[1,4)}'::int4multirange)),
	('multirange, other bounds', bloom_hash('{[1,4)}'::spans) <> bloom_hash('{[2,4)}'::spans)),
	('domain over multirange', bloom_hash('{[1,4)}'::short_spans) = bloom_hash('{[1,4)}'::int8multirange)),
	('array of multiranges', bloom_hash(ARRAY['{[1,4)}'::spans]) = bloom_hash(ARRAY['{[1,4)}'::int4multirange])),
	('range of ranges', bloom_hash(span_range('[1,4)', '[2,6)')) = bloom_hash(span_range('[3,4)', '[5,6)'))),
	('multirange of ranges', bloom_hash(span_ranges(span_range('[1,4)', '[2,6)'))) =
							 bloom_hash(span_ranges(span_range('[3,4)', '[5,6)')))),
	('record', bloom_hash(row('[1,4)', '{[1,4)}')::span_record) = bloom_hash(row('[2,4)'::span, '{[1,4)}'::int4multirange)))
) AS t (what, holds);
SELECT element_class FROM bloom_info((SELECT bloom_agg('{[1,4)}'::spans)));
SELECT element_class FROM bloom_info((SELECT bloom_agg(row('[1,4)', '{[1,4)}')::span_record)));
SET client_min_messages = warning;
DROP TYPE span CASCADE;
