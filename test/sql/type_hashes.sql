--
-- No type of PostgreSQL loses bits on the way to an element's hash: values that
-- differ have hashes that differ.
--
-- The hash functions of some types fold: hashint8extended() of 64 bits to 32, that
-- of aclitem to a sum.  Such a type needs canonical bytes of its own
-- (docs/dev/internals.md, "An element type").
--

-- An example of each type: an expression of a and b, both from 0 to 69.  Folds of two
-- halves, or sums of two fields, map many of these 4,900 to one.
\set ON_ERROR_STOP on
CREATE TEMP TABLE examples (type text PRIMARY KEY, example text);
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE pair AS (a bigint, b xid8);
INSERT INTO examples VALUES
	('boolean', 'a > b'),
	('"char"', 'chr(32 + a)::"char"'),
	('smallint', '(a * 256 + b)::smallint'),
	('integer', 'a * 65536 + b'),
	('bigint', 'a * 4294967296 + b'),
	('oid', '(a * 65536 + b)::oid'),
	('real', '(a * (2 ^ b))::real'),
	('double precision', 'a * (2 ^ b)::float8'),
	('numeric', 'a * 1e20::numeric + b'),
	('money', '(a * 4294967296 + b)::money'),
	('text', 'a || '' '' || b'),
	('character varying', '(a || '' '' || b)::varchar'),
	('character', '(a || '' '' || b)::char(10)'),
	('name', '(a || '' '' || b)::name'),
	('bytea', 'int4send(a) || int4send(b)'),
	('uuid', 'lpad(a || lpad(b::text, 16, ''0''), 32, ''0'')::uuid'),
	('macaddr', '(''0000'' || lpad(to_hex(a), 4, ''0'') || lpad(to_hex(b), 4, ''0''))::macaddr'),
	('macaddr8', '(lpad(to_hex(a), 8, ''0'') || lpad(to_hex(b), 8, ''0''))::macaddr8'),
	('inet', '(''10.0.'' || a || ''.'' || b)::inet'),
	('cidr', '(''2001:db8:'' || a || ''::'' || b)::cidr'),
	('date', 'date ''2000-01-01'' + a * 512 + b'),
	('time without time zone', '''00:00''::time + a * interval ''16 min'' + b * interval ''1 ms'''),
	('time with time zone', '(lpad((a / 60)::text, 2, ''0'') || '':'' || lpad((a % 60)::text, 2, ''0'') || ''+00:'' || lpad((b % 60)::text, 2, ''0''))::timetz'),
	('timestamp without time zone', '''2000-01-01''::timestamp + a * interval ''4294967296 us'' + b * interval ''1 us'''),
	('timestamp with time zone', '''2000-01-01+00''::timestamptz + a * interval ''4294967296 us'' + b * interval ''1 us'''),
	('interval', 'a * interval ''4294967296 us'' + b * interval ''1 us'''),
	('bit', '(a * 256 + b)::bit(16)'),
	('bit varying', '(a * 256 + b)::bit(16)::varbit'),
	('jsonb', 'jsonb_build_array(a, jsonb_build_object(''b'', b))'),
	('tid', 'format(''(%s,%s)'', a * 65536, b)::tid'),
	('xid', '(a * 65536 + b)::text::xid'),
	('xid8', '(a * 4294967296 + b)::text::xid8'),
	('cid', '(a * 65536 + b)::text::cid'),
	('pg_lsn', 'format(''%s/%s'', to_hex(a), to_hex(b))::pg_lsn'),
	('aclitem', 'makeaclitem(a::oid, b::oid, ''SELECT'', false)'),
	('int2vector', 'format(''%s %s'', a, b)::int2vector'),
	('oidvector', 'format(''%s %s'', a, b)::oidvector'),
	-- numbers, not names: these need not exist
	('regclass', '(a * 65536 + b)::oid::regclass'),
	('regcollation', '(a * 65536 + b)::oid::regcollation'),
	('regconfig', '(a * 65536 + b)::oid::regconfig'),
	('regdictionary', '(a * 65536 + b)::oid::regdictionary'),
	('regnamespace', '(a * 65536 + b)::oid::regnamespace'),
	('regoper', '(a * 65536 + b)::oid::regoper'),
	('regoperator', '(a * 65536 + b)::oid::regoperator'),
	('regproc', '(a * 65536 + b)::oid::regproc'),
	('regprocedure', '(a * 65536 + b)::oid::regprocedure'),
	('regrole', '(a * 65536 + b)::oid::regrole'),
	('regtype', '(a * 65536 + b)::oid::regtype'),
	('int4range', 'int4range(a, 1000 + b)'),
	('int8range', 'int8range(a * 4294967296, 1e15::bigint + b)'),
	('numrange', 'numrange(a, 1000 + b)'),
	('daterange', 'daterange(date ''2000-01-01'' + a, date ''2010-01-01'' + b)'),
	('tsrange', 'tsrange(timestamp ''2000-01-01'' + a * interval ''1 day'', timestamp ''2010-01-01'' + b * interval ''1 day'')'),
	('tstzrange', 'tstzrange(timestamptz ''2000-01-01+00'' + a * interval ''1 day'', timestamptz ''2010-01-01+00'' + b * interval ''1 day'')'),
	('int4multirange', 'int4multirange(int4range(a, 1000 + b))'),
	('int8multirange', 'int8multirange(int8range(a * 4294967296, 1e15::bigint + b))'),
	('nummultirange', 'nummultirange(numrange(a, 1000 + b))'),
	('datemultirange', 'datemultirange(daterange(date ''2000-01-01'' + a, date ''2010-01-01'' + b))'),
	('tsmultirange', 'tsmultirange(tsrange(timestamp ''2000-01-01'' + a * interval ''1 day'', timestamp ''2010-01-01'' + b * interval ''1 day''))'),
	('tstzmultirange', 'tstzmultirange(tstzrange(timestamptz ''2000-01-01+00'' + a * interval ''1 day'', timestamptz ''2010-01-01+00'' + b * interval ''1 day''))'),
	('record', 'ROW(a * 4294967296, b::text::xid8)'),
	-- one for each kind of type
	('anyarray', 'ARRAY[a::text::xid8, b::text::xid8]'),
	('anyenum', 'CASE WHEN a > b THEN ''sad'' ELSE ''ok'' END::mood'),
	('anyrange', 'int8range(a * 4294967296, 1e15::bigint + b)'),
	('anymultirange', 'int8multirange(int8range(a * 4294967296, 1e15::bigint + b))'),
	('pair', '(a, b::text::xid8)::pair');
-- of later versions
INSERT INTO examples
SELECT type, example FROM (VALUES
	('oid8', '(a * 4294967296 + b)::text::oid8'),
	('regdatabase', '(a * 65536 + b)::oid::regdatabase')) AS t(type, example)
WHERE to_regtype(type) IS NOT NULL;

-- Can values of this type be elements?
CREATE FUNCTION can_be_element(type regtype) RETURNS boolean
LANGUAGE plpgsql AS
$$
BEGIN
	EXECUTE format('SELECT bloom_add_all(bloom_create(1), ''{}''::%s[])', type);
	RETURN true;
EXCEPTION WHEN undefined_function THEN
	RETURN false;
END
$$;
\set ON_ERROR_STOP off
-- Each such type of the server, and each type with a hash operator class, has an
-- example: no rows
SELECT format_type(oid, NULL) AS without_example FROM pg_type
WHERE typtype IN ('b', 'r', 'm') AND typarray <> 0 AND oid < 16384 AND can_be_element(oid)
UNION
SELECT format_type(opcintype, NULL) FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'hash' AND pg_opclass.oid < 16384
EXCEPT
SELECT type FROM examples
ORDER BY 1;

-- How many of the 4,900 examples differ, and how many of their hashes
CREATE FUNCTION distinct_of(example text, OUT examples bigint, OUT hashes bigint)
LANGUAGE plpgsql AS
$$
DECLARE
	pairs		text := 'generate_series(0, 69) AS a, generate_series(0, 69) AS b';
BEGIN
	EXECUTE format('SELECT count(*) FROM (SELECT DISTINCT %s FROM %s) AS t', example, pairs) INTO examples;
	EXECUTE format('SELECT count(*) FROM (SELECT DISTINCT bloom_hash(%s) FROM %s) AS t', example, pairs) INTO hashes;
END
$$;
-- No hash has two values: no rows
SELECT type, d.* FROM examples, distinct_of(example) AS d WHERE d.examples <> d.hashes ORDER BY type;
-- and almost all examples are good ones
SELECT type, d.examples FROM examples, distinct_of(example) AS d
WHERE d.examples <> 4900 ORDER BY type;

-- A filter of hashed elements is that of the elements: no rows
CREATE FUNCTION hashed_is_same(example text) RETURNS boolean
LANGUAGE plpgsql AS
$$
DECLARE
	same		boolean;
BEGIN
	EXECUTE format('SELECT bloom_agg(bloom_element(%1$s)) = bloom_agg(%1$s) FROM generate_series(0, 69) AS a, generate_series(0, 9) AS b', example) INTO same;
	RETURN same;
END
$$;
SELECT type FROM examples WHERE NOT hashed_is_same(example) ORDER BY type;

-- The same epoch's values and the next one's
SELECT count(*) FILTER (WHERE f @> (n + 4294967296)::text::xid8) < 1000 * 0.05 AS few_of_the_next_epoch,
	   count(*) FILTER (WHERE f @> n::text::xid8) AS of_this_epoch
FROM (SELECT bloom_agg(n::text::xid8) AS f FROM generate_series(1, 1000) AS n) AS t, generate_series(1, 1000) AS n;

-- Their canonical bytes, as docs/dev/format.md has them, and their classes
SELECT class, hash = bloom_hash(canonical) AS same_bytes, (bloom_info(f)).element_class = class AS class_named
FROM (VALUES
	('pg_lsn', bloom_hash('16/B374D848'::pg_lsn), '\x48d874b316000000'::bytea, bloom_add(bloom_create(10), '0/1'::pg_lsn)),
	('xid8', bloom_hash('4294967301'::xid8), '\x0500000001000000', bloom_add(bloom_create(10), '1'::xid8)),
	('aclitem', bloom_hash(makeaclitem(20, 10, 'SELECT', true)), '\x140000000a0000000200000002000000',
	 bloom_add(bloom_create(10), makeaclitem(20, 10, 'SELECT', true)))) AS t(class, hash, canonical, f);
-- As parts, too
SELECT bloom_hash(ARRAY['4294967301'::xid8]) <> bloom_hash(ARRAY['5'::xid8]) AS arrays,
	   bloom_hash(ROW('1/0'::pg_lsn)) <> bloom_hash(ROW('0/1'::pg_lsn)) AS records;
-- Classes of their own
SELECT bloom_contains(bloom_add(bloom_create(10), '1'::xid8), '0/1'::pg_lsn);
SELECT bloom_contains(bloom_add(bloom_create(10), '1'::xid8), 1);

-- Membership indexes have operator classes for them
CREATE TABLE changes (id int, at pg_lsn, tx xid8, privilege aclitem);
INSERT INTO changes SELECT i, '0/0'::pg_lsn + i, (i + 4294967296)::text::xid8, makeaclitem(i::oid, 10, 'SELECT', false)
FROM generate_series(1, 1000) AS i;
CREATE INDEX changes_at ON changes USING membership (at);
CREATE INDEX changes_tx ON changes USING membership (tx);
CREATE INDEX changes_privilege ON changes USING membership (privilege);
SELECT membership_check('changes_at') AS at, membership_check('changes_tx') AS tx, membership_check('changes_privilege') AS privilege;
SELECT count(*) FILTER (WHERE membership_contains('changes_tx', n::text::xid8)) < 50 AS tx,
	   count(*) FILTER (WHERE membership_contains('changes_at', ('1/0'::pg_lsn + n))) < 50 AS at,
	   count(*) FILTER (WHERE membership_contains('changes_privilege', makeaclitem(10, n::oid, 'SELECT', false))) < 50 AS privilege
FROM generate_series(1, 1000) AS n;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT FROM changes WHERE tx = '5'::xid8;
RESET enable_seqscan;
DROP TABLE changes;
DROP TYPE mood, pair;

-- Errors show all digits of a number that tell it from what is allowed
SELECT bloom_create(10, 0.50000001);
SELECT cuckoo_create(10, 0.9999999e-7);
SELECT bloom_create(10, 0.01) | bloom_create(10, 0.010000000000000002);
CREATE TABLE rates (n int);
CREATE INDEX ON rates USING membership (n) WITH (error_rate = 0.50000001);
DROP TABLE rates;
DROP FUNCTION can_be_element, distinct_of;
