--
-- The membership index says no only where "=" finds no row: types and collations
-- that are compared as others, and rows that a transaction inserts meanwhile
--
\set ON_ERROR_STOP on
SET enable_seqscan = off;

-- Compared as another type: by its equality, or by one that calls less equal
-- (in a schema that no version leaves out of the type's name)
CREATE SCHEMA beside;
CREATE EXTENSION citext SCHEMA beside;
CREATE TABLE by_other (c regclass, e beside.citext);
CREATE INDEX by_other_c ON by_other USING membership (c);
CREATE INDEX by_other_e ON by_other USING membership (e);
CREATE INDEX by_other_both ON by_other USING membership (e, c);
\set ON_ERROR_STOP off
REINDEX TABLE by_other;
INSERT INTO by_other VALUES ('pg_class', 'Abc');
EXPLAIN (COSTS OFF) SELECT FROM by_other WHERE c = 'pg_class'::regclass;
EXPLAIN (COSTS OFF) SELECT FROM by_other WHERE e::text = 'Abc';
SELECT (SELECT count(*) FROM by_other WHERE c = 'pg_class'::regclass) AS present,
	(SELECT count(*) FROM by_other WHERE e::text = 'Abc') AS as_text;
DROP INDEX by_other_c, by_other_e;
EXPLAIN (COSTS OFF) SELECT FROM by_other WHERE e::text = 'Abc' AND c = 'pg_class'::regclass;
SELECT count(*) FROM by_other WHERE e::text = 'Abc' AND c = 'pg_class'::regclass;
DROP TABLE by_other;
DROP EXTENSION citext;
DROP SCHEMA beside;

-- A nondeterministic collation, of text and of names
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE blindly (n name COLLATE blind, t text COLLATE blind, v varchar COLLATE blind, b char(5) COLLATE blind, a text[] COLLATE blind);
CREATE INDEX blindly_n ON blindly USING membership (n);
CREATE INDEX blindly_t ON blindly USING membership (t);
CREATE INDEX blindly_v ON blindly USING membership (v);
CREATE INDEX blindly_b ON blindly USING membership (b);
CREATE INDEX blindly_a ON blindly USING membership (a);
INSERT INTO blindly VALUES ('Abc', 'Abc', 'Abc', 'Abc', '{Abc}');
SELECT (SELECT count(*) FROM blindly WHERE n = 'ABC'::name COLLATE blind) AS name,
	(SELECT count(*) FROM blindly WHERE n = 'ABC'::text) AS name_text,
	(SELECT count(*) FROM blindly WHERE t = 'ABC'::name COLLATE blind) AS text_name,
	(SELECT count(*) FROM blindly WHERE t = 'ABC') AS text,
	(SELECT count(*) FROM blindly WHERE v = 'ABC') AS varchar,
	(SELECT count(*) FROM blindly WHERE b = 'ABC') AS bpchar,
	(SELECT count(*) FROM blindly WHERE a = '{ABC}') AS "array";
EXPLAIN (COSTS OFF) SELECT FROM blindly WHERE n = 'ABC'::text;
SELECT membership_contains('blindly_t', 'ABC'::name) AS name,
	membership_contains('blindly_n', 'ABC'::text) AS text,
	membership_contains('blindly_n', 'ABD'::text) AS absent;
SELECT membership_filter('blindly_n');
DROP TABLE blindly;
DROP COLLATION blind;

-- Ranges that call more equal than their bounds' type does
CREATE FUNCTION blind_lt(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT lower($1) < lower($2)';
CREATE FUNCTION blind_le(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT lower($1) <= lower($2)';
CREATE FUNCTION blind_eq(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT lower($1) = lower($2)';
CREATE FUNCTION blind_ge(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT lower($1) >= lower($2)';
CREATE FUNCTION blind_gt(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT lower($1) > lower($2)';
CREATE FUNCTION blind_cmp(text, text) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT bttextcmp(lower($1), lower($2))';
CREATE OPERATOR <<< (LEFTARG = text, RIGHTARG = text, FUNCTION = blind_lt);
CREATE OPERATOR <<<= (LEFTARG = text, RIGHTARG = text, FUNCTION = blind_le);
CREATE OPERATOR === (LEFTARG = text, RIGHTARG = text, FUNCTION = blind_eq);
CREATE OPERATOR >>>= (LEFTARG = text, RIGHTARG = text, FUNCTION = blind_ge);
CREATE OPERATOR >>> (LEFTARG = text, RIGHTARG = text, FUNCTION = blind_gt);
CREATE OPERATOR CLASS blind_ops FOR TYPE text USING btree AS OPERATOR 1 <<<, OPERATOR 2 <<<=,
	OPERATOR 3 ===, OPERATOR 4 >>>=, OPERATOR 5 >>>, FUNCTION 1 blind_cmp(text, text);
CREATE TYPE blind_range AS RANGE (subtype = text, subtype_opclass = blind_ops, multirange_type_name = blind_multirange);
CREATE TABLE ranges (r blind_range, m blind_multirange);
SELECT '[a,b]'::blind_range = '[A,B]'::blind_range AS equal;
-- (PostgreSQL 17 and later name the type with its schema)
\set VERBOSITY sqlstate
CREATE INDEX ON ranges USING membership (r);
CREATE INDEX ON ranges USING membership (m);
\set VERBOSITY default
DROP TABLE ranges;
DROP TYPE blind_range;
DROP OPERATOR FAMILY blind_ops USING btree;
DROP OPERATOR <<< (text, text), <<<= (text, text), === (text, text), >>>= (text, text), >>> (text, text);
DROP FUNCTION blind_lt, blind_le, blind_eq, blind_ge, blind_gt, blind_cmp;
RESET enable_seqscan;

-- A row's trigger sees the rows before it of the same command, by one snapshot
CREATE TABLE once (x int, y int);
CREATE INDEX once_x ON once USING membership (x) WITH (capacity = 100);
CREATE FUNCTION only_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF membership_contains('once_x', NEW.x) THEN
		RETURN NULL;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER only_once BEFORE INSERT ON once FOR EACH ROW EXECUTE FUNCTION only_once();
INSERT INTO once SELECT i % 10, i FROM generate_series(0, 999) i;
SELECT count(*), count(DISTINCT x) FROM once;
-- of an array, too
CREATE OR REPLACE FUNCTION only_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF membership_contains_any('once_x', ARRAY[NEW.x, NULL]) THEN
		RETURN NULL;
	END IF;
	RETURN NEW;
END $$;
INSERT INTO once SELECT 100 + i % 10, i FROM generate_series(0, 999) i;
-- and with more than fit into a batch, so that some were written in between
INSERT INTO once SELECT 1000 + i / 2, i FROM generate_series(0, 39999) i;
SELECT count(*) - count(DISTINCT x) AS twice, count(*) > 19000 AS most FROM once;
COPY once (x) FROM stdin;
7
100000
100000
100000
\.
SELECT count(*) FROM once WHERE x >= 100000;
DROP TRIGGER only_once ON once;
-- a command's own snapshot sees none of its rows; pending insertions may count all the same
INSERT INTO once SELECT 200000 + i / 2 FROM generate_series(0, 999) i WHERE NOT membership_contains('once_x', 200000 + i / 2);
SELECT count(*) >= 490, count(*) = count(*) FILTER (WHERE membership_contains('once_x', x)) AS found FROM once WHERE x >= 200000;
SELECT membership_check('once_x') = count(*) AS all_found FROM once;
DROP TABLE once;
DROP FUNCTION only_once;

-- The column's type is changed without rewriting anything: another index with the same file
CREATE TABLE altered (v varchar(50));
CREATE INDEX altered_v ON altered USING membership (v);
INSERT INTO altered VALUES ('before');
BEGIN;
INSERT INTO altered VALUES ('a'), ('b');
SELECT 'altered_v'::regclass::oid AS oid, pg_relation_filenode('altered_v') AS file \gset
ALTER TABLE altered ALTER v TYPE varchar(100);
SELECT 'altered_v'::regclass::oid <> :oid AS another, pg_relation_filenode('altered_v') = :file AS same_file;
COMMIT;
SELECT count(*), count(*) FILTER (WHERE membership_contains('altered_v', v)) AS found FROM altered;
SELECT membership_check('altered_v');
-- rolled back
BEGIN;
INSERT INTO altered VALUES ('c');
SAVEPOINT s;
INSERT INTO altered VALUES ('d');
ALTER TABLE altered ALTER v TYPE varchar(200);
INSERT INTO altered VALUES ('e');
ROLLBACK TO s;
COMMIT;
SELECT count(*), count(*) FILTER (WHERE membership_contains('altered_v', v)) AS found FROM altered;
SELECT membership_check('altered_v');
DROP TABLE altered;
-- The same, but values of the new type have other hashes: no false "no"
CREATE TABLE altered (o oid, r regclass, x cidr);
CREATE INDEX altered_o ON altered USING membership (o);
CREATE INDEX altered_r ON altered USING membership (r);
CREATE INDEX altered_both ON altered USING membership (r, x);
CREATE INDEX altered_x ON altered USING membership (x);
INSERT INTO altered SELECT c, c, '10.1.0.0/16' FROM unnest('{pg_class,pg_type,pg_am}'::regclass[]) c;
SELECT pg_relation_filenode('altered_o') AS file \gset
ALTER TABLE altered ALTER o TYPE regclass, ALTER r TYPE oid, ALTER x TYPE inet;
SELECT pg_relation_filenode('altered_o') = :file AS same_file;
SET enable_seqscan = off;
SELECT count(*) FROM altered WHERE o = 'pg_class'::regclass;
SELECT count(*) FROM altered WHERE r = 'pg_class'::regclass::oid;
SELECT count(*) FROM altered WHERE r = 'pg_class'::regclass::oid AND x = '10.1.0.0/16';
SELECT count(*) FROM altered WHERE x = '10.1.0.0/16';
SELECT count(*), count(r.relname) FROM unnest('{pg_class,pg_type}'::regclass[]) c LEFT JOIN LATERAL (SELECT relname FROM altered, pg_class p WHERE o = c AND p.oid = o) r ON true;
RESET enable_seqscan;
CREATE TABLE larger AS SELECT (CASE WHEN i % 1000 = 0 THEN 'pg_class'::regclass ELSE (i + 100000)::oid::regclass END) AS o, repeat('x', 100) AS y FROM generate_series(1, 100000) i;
ANALYZE larger, altered;
EXPLAIN (COSTS OFF) SELECT count(*) FROM larger JOIN altered ON altered.o = larger.o;
SELECT count(*) FROM larger JOIN altered ON altered.o = larger.o;
DROP TABLE larger;
SELECT membership_contains('altered_o', 'pg_class'::regclass);
SELECT membership_contains('altered_r', 'pg_class'::regclass::oid);
SELECT membership_check('altered_both');
SELECT membership_check('altered_x');
REINDEX TABLE altered;
SELECT membership_contains('altered_o', 'pg_class'::regclass), membership_contains('altered_r', 'pg_class'::regclass::oid), membership_check('altered_both');
DROP TABLE altered;
-- Rows were inserted before the column has its old type again: only a part has its hashes
CREATE TABLE restored (o oid, y int);
CREATE INDEX restored_o ON restored USING membership (o);
CREATE INDEX restored_both ON restored USING membership (o, y);
INSERT INTO restored VALUES ('pg_class'::regclass, 1);
SELECT pg_relation_filenode('restored_o') AS file \gset
ALTER TABLE restored ALTER o TYPE regclass;
INSERT INTO restored VALUES ('pg_type', 2);
BEGIN;
ALTER TABLE restored ALTER o TYPE oid;
SELECT pg_relation_filenode('restored_o') = :file AS same_file;
INSERT INTO restored VALUES ('pg_am'::regclass, 3);
SET LOCAL enable_seqscan = off;
SELECT count(*) FROM restored WHERE o = 'pg_type'::regclass::oid;
SELECT count(*) FROM restored WHERE o = 'pg_type'::regclass::oid AND y = 2;
COMMIT;
SELECT membership_contains('restored_o', 'pg_type'::regclass::oid);
SELECT membership_check('restored_both');
REINDEX TABLE restored;
SELECT membership_contains('restored_o', 'pg_type'::regclass::oid), membership_check('restored_both');
-- An index without elements suits every type
TRUNCATE restored;
ALTER TABLE restored ALTER o TYPE regclass;
SELECT membership_contains('restored_o', 'pg_type'::regclass);
INSERT INTO restored VALUES ('pg_type', 2);
SELECT membership_contains('restored_o', 'pg_type'::regclass), membership_check('restored_both');
ALTER TABLE restored ALTER o TYPE oid;
SELECT membership_contains('restored_o', 'pg_type'::regclass::oid);
DROP TABLE restored;

-- An insertion that is cancelled, by itself, in a subtransaction whose transaction goes on
CREATE TABLE cancelled (x int);
-- it is noticed where the first layer is written
CREATE INDEX cancelled_x ON cancelled USING membership (x) WITH (capacity = 20000000);
DO $$
BEGIN
	BEGIN
		INSERT INTO cancelled VALUES (pg_cancel_backend(pg_backend_pid())::int);
	EXCEPTION WHEN query_canceled THEN
		RAISE NOTICE 'cancelled';
	END;
	INSERT INTO cancelled VALUES (2);
END $$;
SELECT x, membership_contains('cancelled_x', x) AS found, membership_contains('cancelled_x', 1) AS cancelled FROM cancelled;
DROP TABLE cancelled;

-- The expressions of an index do not run as the user who checks it
CREATE ROLE membership_owner;
CREATE TABLE owned (x text);
CREATE FUNCTION who(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RAISE NOTICE '% for %', current_user, $1;
	RETURN $1;
END $$;
INSERT INTO owned VALUES ('a');
ALTER TABLE owned OWNER TO membership_owner;
CREATE INDEX owned_x ON owned USING membership (who(x)) WHERE who(x) <> '';
SELECT membership_check('owned_x');
DROP TABLE owned;
DROP FUNCTION who;
DROP ROLE membership_owner;
-- The scans of partitions share one copy
CREATE TABLE listed (x int);
INSERT INTO listed SELECT generate_series(1, 200000);
CREATE INDEX listed_x ON listed USING membership (x);
CREATE TABLE probing (x int) PARTITION BY HASH (x);
DO $$
BEGIN
	FOR i IN 0..15 LOOP
		EXECUTE format('CREATE TABLE probing_%s PARTITION OF probing FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', i);
	END LOOP;
END $$;
INSERT INTO probing SELECT generate_series(1, 32000);
VACUUM (ANALYZE) probing;
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
SET max_parallel_workers_per_gather = 0;
-- warm the caches
SELECT count(*) FROM probing WHERE membership_contains('listed_x', x);
-- at most what one copy costs, and as much again before it is made; sixteen would cost sixteen times that
SELECT buffers($$SELECT count(*) FROM probing WHERE membership_contains('listed_x', x)$$) -
		buffers($$SELECT count(*) FROM probing WHERE x > 0$$) < 4 * pg_relation_size('listed_x') / 8192 + 200 AS shared;
-- An array reads only the pages that its elements are on, each once
CREATE INDEX listed_large ON listed USING membership (x) WITH (capacity = 1200000);
SELECT membership_contains_any('listed_large', ARRAY[-1]);
SELECT buffers($$SELECT membership_contains_any('listed_large', (SELECT array_agg(-i) FROM generate_series(1, 300) i))$$) <
	0.9 * pg_relation_size('listed_large') / 8192 AS few;
-- of elements that it contains also the pages of their second blocks
CREATE INDEX listed_exact ON listed USING membership (x) WITH (capacity = 1200000, error_rate = 0.00001);
SELECT layout FROM bloom_info(membership_filter('listed_exact'));
SELECT membership_contains_any('listed_exact', ARRAY[-1]);
SELECT buffers($$SELECT membership_contains_all('listed_exact', (SELECT array_agg(i) FROM generate_series(1, 1000) i))$$) <
	2 * pg_relation_size('listed_exact') / 8192 AS few;
RESET max_parallel_workers_per_gather;
DROP TABLE listed, probing;


-- A composite type that is altered: elements that were different may be equal now
CREATE TYPE place AS (x int, y int);
CREATE TYPE shade AS ENUM ('dark', 'light');
CREATE TABLE placed (at place, many place[], s shade);
INSERT INTO placed SELECT ROW(i, -i)::place, ARRAY[ROW(i, -i)::place], 'dark' FROM generate_series(1, 1000) i;
CREATE INDEX placed_at ON placed USING membership (at);
CREATE INDEX placed_many ON placed USING membership (many);
CREATE INDEX placed_both ON placed USING membership (s, at);
SELECT membership_contains('placed_at', ROW(1, -1)::place);
-- caches that are dropped wherever that may happen, if the server can do it
SELECT set_config('debug_discard_caches', least(max_val::int, 1)::text, false) = '' AS off
FROM pg_settings WHERE name = 'debug_discard_caches';
SELECT membership_contains('placed_at', ROW(1, -1)::place) AS at,
	membership_contains_all('placed_at', ARRAY[ROW(1, -1)::place, ROW(2, -1)::place]) AS all,
	membership_contains('placed_both', ROW('dark'::shade, ROW(1, -1)::place)) AS both;
SELECT count(*) FROM (SELECT at FROM placed LIMIT 5) placed WHERE membership_contains('placed_at', at);
RESET debug_discard_caches;
ALTER TYPE place RENAME ATTRIBUTE y TO z;
ALTER TYPE shade RENAME TO gloom;
SELECT membership_contains('placed_at', ROW(1, -1)::place) AS at,
	membership_contains('placed_both', ROW('dark'::gloom, ROW(1, -1)::place)) AS both;
CREATE FUNCTION probe_place() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	found boolean;
BEGIN
	FOR i IN 1 .. 3 LOOP
		-- one call, kept
		found := membership_contains('placed_at', ROW(1, -1)::place);
		IF i = 2 THEN
			ALTER TYPE place ADD ATTRIBUTE t text;
		END IF;
	END LOOP;
	RETURN found;
END $$;
SELECT probe_place();
ALTER TYPE place ADD ATTRIBUTE t text;
SELECT membership_contains('placed_at', ROW(1, -1, NULL)::place);
SELECT membership_contains_any('placed_many', ARRAY[ROW(1, -1, NULL)::place]);
SELECT membership_contains('placed_both', ROW('dark'::gloom, ROW(1, -1, NULL)::place));
SELECT membership_filter('placed_at');
SELECT membership_check('placed_at');
SET enable_seqscan = off;
SELECT * FROM placed WHERE at = ROW(1, -1, NULL)::place;
INSERT INTO placed VALUES (ROW(1, -1, 'x'), NULL, 'light');
REINDEX TABLE placed;
SELECT membership_contains('placed_at', ROW(1, -1, 'x')::place) AS present,
	membership_contains('placed_at', ROW(1, -1, 'y')::place) AS absent, membership_check('placed_at');
-- another column of the same type takes its place
ALTER TYPE place DROP ATTRIBUTE t;
ALTER TYPE place ADD ATTRIBUTE t text;
SELECT membership_contains('placed_at', ROW(1, -1, NULL)::place);
SELECT count(*) FROM placed WHERE at = ROW(1, -1, NULL)::place;
-- rows inserted while it had one more column have another hash
REINDEX TABLE placed;
ALTER TYPE place ADD ATTRIBUTE u text;
INSERT INTO placed VALUES (ROW(2, 2, NULL, NULL), NULL, 'light');
ALTER TYPE place DROP ATTRIBUTE u;
SELECT membership_contains('placed_at', ROW(2, 2, NULL)::place);
SELECT count(*) FROM placed WHERE at = ROW(2, 2, NULL)::place;
REINDEX TABLE placed;
SELECT membership_contains('placed_at', ROW(2, 2, NULL)::place);
RESET enable_seqscan;
TRUNCATE placed;
INSERT INTO placed VALUES (ROW(1, -1, 'z'));
SELECT membership_contains('placed_at', ROW(1, -1, 'z')::place) AS present,
	membership_contains('placed_at', ROW(1, -1, 'y')::place) AS absent, membership_check('placed_at');
DROP TABLE placed;
DROP FUNCTION probe_place;
DROP TYPE place, gloom;

-- The error rate holds though elements are inserted one by one, with one block or two; the
-- last element of a small layer exceeds it no more than in a bloom
CREATE TABLE crowded (x int);
CREATE FUNCTION crowd(capacity int, growth int, error_rate float8) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	worst float8 := 0;
	now float8;
BEGIN
	TRUNCATE crowded;
	EXECUTE format('CREATE INDEX crowded_x ON crowded USING membership (x) WITH (capacity = %s, growth = %s, error_rate = %s)',
		capacity, growth, error_rate);
	FOR i IN 1 .. 400 LOOP
		INSERT INTO crowded VALUES (i);
		-- a lookup first writes pending insertions
		SELECT m.estimated_error_rate / m.error_rate INTO now FROM membership_info('crowded_x'::text::regclass) m;
		worst := greatest(worst, now);
	END LOOP;
	DROP INDEX crowded_x;
	RETURN worst;
END $$;
SELECT max(crowd(capacity, growth, error_rate)) < 1.1 AS precise
FROM (VALUES (1), (40)) c (capacity), (VALUES (1), (4)) g (growth), (VALUES (0.00002), (0.0001), (0.001), (0.01), (0.1)) e (error_rate);
DROP FUNCTION crowd;
DROP TABLE crowded;

-- CREATE INDEX sizes the index to the distinct elements, without NULL
CREATE TABLE repeated (x int);
INSERT INTO repeated SELECT CASE WHEN i % 5 > 0 THEN i / 10 END FROM generate_series(0, 49999) i;
CREATE INDEX repeated_x ON repeated USING membership (x) WITH (capacity = 1);
SELECT layers, capacity, elements BETWEEN 4950 AND 5050 AS counted, membership_check('repeated_x') FROM membership_info('repeated_x');
SET enable_seqscan = off;
-- NULL is equal to nothing
SELECT count(*) FROM repeated WHERE x = NULL::int;
PREPARE equal AS SELECT count(*) FROM repeated WHERE x = $1;
EXECUTE equal(NULL);
EXECUTE equal(1);
SELECT count(*) FROM repeated WHERE x = 1 AND x = 2;
RESET enable_seqscan;
DROP TABLE repeated;

-- A row that is missing, because a function was not really immutable
CREATE TABLE lied (x int);
CREATE FUNCTION same(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x; END';
INSERT INTO lied SELECT generate_series(1, 100);
CREATE INDEX lied_x ON lied USING membership (same(x)) WITH (error_rate = 0.000001);
CREATE OR REPLACE FUNCTION same(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x + CASE x WHEN 42 THEN 1000 ELSE 0 END; END';
SELECT membership_check('lied_x');
DROP TABLE lied;
DROP FUNCTION same;

-- One call may query several indexes, of other collations, too
CREATE TABLE called (x text COLLATE "C", y text COLLATE "POSIX");
INSERT INTO called VALUES ('x', 'y');
CREATE INDEX called_x ON called USING membership (x);
CREATE INDEX called_y ON called USING membership (y);
SELECT i, e, membership_contains(i::regclass, e) FROM (VALUES ('called_x'), ('called_y')) t (i), (VALUES ('x'), ('y')) s (e) ORDER BY 1, 2;
DROP TABLE called;

-- A btree is preferred though the constant is absent now: the plan may be kept
CREATE TABLE preferred (x int);
INSERT INTO preferred SELECT i % 1000 FROM generate_series(1, 100000) i;
CREATE INDEX preferred_btree ON preferred (x);
CREATE INDEX preferred_membership ON preferred USING membership (x);
-- every row is read, so that no value seems more common than others
SET default_statistics_target = 500;
ANALYZE preferred;
RESET default_statistics_target;
EXPLAIN (COSTS OFF) SELECT * FROM preferred WHERE x = 1000000;
DROP INDEX preferred_btree;
EXPLAIN (COSTS OFF) SELECT * FROM preferred WHERE x = 1000000;
-- and no plan reveals what a view hides to users who may not read the table
CREATE ROLE membership_reader;
CREATE VIEW few WITH (security_barrier) AS SELECT * FROM preferred WHERE x < 10;
GRANT SELECT ON few TO membership_reader;
SET ROLE membership_reader;
SET enable_seqscan = off;
SELECT first_node('SELECT * FROM few WHERE x = 999') -> 'Total Cost' = first_node('SELECT * FROM few WHERE x = 1000000') -> 'Total Cost' AS same;
RESET enable_seqscan;
RESET ROLE;
DROP VIEW few;
DROP TABLE preferred;
DROP ROLE membership_reader;
