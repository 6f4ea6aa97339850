--
-- The membership index: built, updated, queried, checked, used by the planner
--
\set ON_ERROR_STOP on
CREATE TABLE blacklist (id serial, url text NOT NULL) WITH (autovacuum_enabled = off);
INSERT INTO blacklist (url) SELECT 'http://bad.example/' || i FROM generate_series(1, 20000) i;
CREATE INDEX blacklist_url ON blacklist USING membership (url) WITH (error_rate = 0.001);
\set ON_ERROR_STOP off
SELECT layers, elements BETWEEN 19900 AND 20100 AS elements, capacity, error_rate,
	estimated_error_rate < 0.001 AS precise, dead_elements
FROM membership_info('blacklist_url');
SELECT membership_check('blacklist_url');

-- The index before the join
CREATE TABLE visits (url text);
INSERT INTO visits SELECT 'http://' || CASE WHEN i % 100 = 0 THEN 'bad' ELSE 'good' END || '.example/' || i
FROM generate_series(1, 20000) i;
SELECT count(*) FROM visits v
WHERE membership_contains('blacklist_url', v.url)
	AND EXISTS (SELECT FROM blacklist b WHERE b.url = v.url);
SELECT count(*) < 60 AS few_pass FROM visits
WHERE membership_contains('blacklist_url', url) AND url LIKE 'http://good%';

-- Arrays, and NULL
SELECT membership_contains('blacklist_url', NULL::text) IS NULL AS null_element,
	membership_contains_any('blacklist_url', ARRAY['x', 'http://bad.example/7']) AS any_of,
	membership_contains_any('blacklist_url', ARRAY['x', NULL]) AS any_null,
	membership_contains_all('blacklist_url', ARRAY['x', 'http://bad.example/7']) AS all_of,
	membership_contains_each('blacklist_url', ARRAY['x', NULL, 'http://bad.example/7']) AS each_of,
	membership_contains_each('blacklist_url', '{}'::text[]) AS none;
SELECT membership_contains_each('blacklist_url', array_agg(url)) = array_agg(true) AS all_found
FROM blacklist;

-- The content as a value: as one of an aggregate, in every respect
SELECT i.layout, i.element_class, i.layers, bloom_contains(f, 'http://bad.example/1') AS found,
	f::bytea::bloom = f AS sound
FROM (SELECT membership_filter('blacklist_url') AS f) AS value, bloom_info(f) i;

-- ---------------------------------------------------------------- types
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN host AS text;
CREATE TABLE every (
	c_int2 int2, c_int4 int4, c_int8 int8, c_float4 float4, c_float8 float8,
	c_numeric numeric, c_text text, c_varchar varchar(20), c_name name, c_bpchar char(8),
	c_bytea bytea, c_uuid uuid, c_bool bool, c_char "char", c_oid oid, c_money money,
	c_macaddr macaddr, c_macaddr8 macaddr8, c_date date, c_time time, c_timetz timetz,
	c_timestamp timestamp, c_timestamptz timestamptz, c_interval interval,
	c_bit bit(4), c_varbit varbit, c_inet inet, c_cidr cidr, c_enum mood,
	c_array int[], c_range int4range, c_multirange int4multirange, c_record pair,
	c_jsonb jsonb, c_domain host);
INSERT INTO every VALUES (1, 2, 3, '-0', 'NaN', 1.50, 'text', 'varchar', 'name', 'bpchar',
	'\x00ff', '6b6f0e2e-8d3c-4f0e-9c3a-0a5f3f1f6a11', true, 'c', 4711, 12.34,
	'08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', '2026-11-21', '12:34', '12:34+02',
	'2026-11-21 12:34', '2026-11-21 12:34+00', '1 month', B'1010', B'101', '10.0.0.1',
	'10.0.0.0/8', 'ok', '{1,2,NULL}', '[1,5)', '{[1,5),[7,9)}', (1, 'x'),
	'{"b": [1, 2.50], "a": null}', 'host');
DO $$
DECLARE
	c record;
	found boolean;
	absent boolean;
BEGIN
	FOR c IN SELECT attname AS name FROM pg_attribute
		WHERE attrelid = 'every'::regclass AND attnum > 0 ORDER BY attnum
	LOOP
		-- built, and inserted
		EXECUTE format('CREATE INDEX i_%s ON every USING membership (%1$I)', c.name);
		EXECUTE format('SELECT membership_contains(%L, %I), membership_check(%1$L) = 1 FROM every',
			'i_' || c.name, c.name) INTO STRICT found, absent;
		IF NOT found OR NOT absent THEN
			RAISE WARNING '%: % %', c.name, found, absent;
		END IF;
	END LOOP;
	TRUNCATE every;
END $$;
INSERT INTO every VALUES (1, 2, 3, 0, 'NaN', 1.5, 'text', 'varchar', 'name', 'bpchar',
	'\x00ff', '6b6f0e2e-8d3c-4f0e-9c3a-0a5f3f1f6a11', true, 'c', 4711, 12.34,
	'08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', '2026-11-21', '12:34', '12:34+02',
	'2026-11-21 12:34', '2026-11-21 12:34+00', '30 days', B'1010', B'101', '10.0.0.1',
	'10.0.0.0/8', 'ok', '{1,2,NULL}', '[1,4]', '{[1,4],[7,8]}', (1, 'x'),
	'{"a": null, "b": [1, 2.5]}', 'host');
-- each is found by whatever equals it, through the index and by the planner's scan
SET enable_seqscan = off;
SELECT
	membership_contains('i_c_int2', 1::int8) AS int2_8,
	membership_contains('i_c_int8', 3) AS int8_4,
	membership_contains('i_c_float4', '-0'::float8) AS zero,
	membership_contains('i_c_float8', 'NaN'::float4) AS nan,
	membership_contains('i_c_numeric', 1.50) AS numeric,
	membership_contains('i_c_name', 'name'::text) AS name,
	membership_contains('i_c_bpchar', 'bpchar  '::char(9)) AS bpchar,
	membership_contains('i_c_interval', '1 month'::interval) AS interval,
	membership_contains('i_c_record', (1, 'x')::pair) AS record,
	membership_contains('i_c_record', ROW(1, 'x')) AS anonymous,
	membership_contains('i_c_jsonb', '{"a": null, "b": [1, 2.500]}'::jsonb) AS jsonb,
	membership_contains('i_c_domain', 'host') AS domain;
SELECT
	(SELECT count(*) FROM every WHERE c_int2 = 1::int8) AS int2_8,
	(SELECT count(*) FROM every WHERE c_int8 = 3::int2) AS int8_2,
	(SELECT count(*) FROM every WHERE c_float4 = '-0'::float8) AS float,
	(SELECT count(*) FROM every WHERE c_name = 'name'::text) AS name,
	(SELECT count(*) FROM every WHERE c_varchar = 'varchar') AS varchar,
	(SELECT count(*) FROM every WHERE c_bpchar = 'bpchar') AS bpchar,
	(SELECT count(*) FROM every WHERE c_enum = 'ok') AS enum,
	(SELECT count(*) FROM every WHERE c_array = '{1,2,NULL}') AS "array",
	(SELECT count(*) FROM every WHERE c_range = '[1,4]') AS range,
	(SELECT count(*) FROM every WHERE c_record = ROW(1, 'x')::pair) AS record,
	(SELECT count(*) FROM every WHERE c_cidr = '10.0.0.0/8') AS cidr,
	(SELECT count(*) FROM every WHERE c_int4 = ANY ('{1,2,3}')) AS any_of,
	(SELECT count(*) FROM every WHERE c_int4 = 7 OR c_text = 'text') AS either;
EXPLAIN (COSTS OFF) SELECT FROM every WHERE c_int2 = 1::int8;
EXPLAIN (COSTS OFF) SELECT FROM every WHERE c_record = ROW(1, 'x')::pair;
RESET enable_seqscan;

-- Equality that is valid only in this database: renamed labels, collations
ALTER TYPE mood RENAME VALUE 'ok' TO 'fine';
SELECT membership_contains('i_c_enum', 'fine'::mood) AS renamed, membership_check('i_c_enum');
SELECT membership_filter('i_c_enum');
SELECT membership_contains('i_c_int4', 'two');
SELECT bloom_contains('i_c_int4', 2);
SELECT cuckoo_contains('i_elements', 2);
SELECT membership_contains('i_c_int4', ARRAY[2]);
SELECT membership_contains('i_c_enum', 2);
CREATE INDEX i_enum_int ON every USING membership (c_enum, c_int4);
SELECT membership_contains('i_enum_int', ROW(2, 2));
DROP INDEX i_enum_int;

-- Every operator class is valid
SELECT opcname FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'membership' AND NOT amvalidate(c.oid);
SELECT count(*) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'membership';

-- Another type: a class of its own
CREATE TABLE other (a xid);
CREATE INDEX ON other USING membership (a);
CREATE OPERATOR CLASS xid_ops DEFAULT FOR TYPE xid USING membership AS OPERATOR 1 =;
CREATE INDEX other_a ON other USING membership (a);
INSERT INTO other VALUES ('123');
SELECT membership_contains('other_a', '123'::xid) AS present,
	membership_contains('other_a', '124'::xid) AS absent;
CREATE OPERATOR CLASS wrong_ops FOR TYPE int4 USING membership AS OPERATOR 2 =;
-- an operator that is no equality would hide rows; so would the equality of another class
CREATE OPERATOR CLASS wrong_ops FOR TYPE int4 USING membership AS OPERATOR 1 <;
CREATE OPERATOR CLASS wrong_ops FOR TYPE int4 USING membership AS OPERATOR 1 =, OPERATOR 1 < (int4, int8);
CREATE OPERATOR CLASS wrong_ops FOR TYPE text USING membership AS OPERATOR 1 ^@;
CREATE OPERATOR CLASS wrong_ops FOR TYPE point USING membership AS OPERATOR 1 ~=;
ALTER OPERATOR FAMILY integer_ops USING membership ADD OPERATOR 1 >= (int4, int8);
CREATE OPERATOR CLASS more_ops FOR TYPE int4 USING membership AS OPERATOR 1 =, OPERATOR 1 = (int4, int8);
-- a type that an integer stands for, and another equality of its own: the index tells nothing of that
SET client_min_messages = warning;
CREATE TYPE angle;
CREATE FUNCTION angle_in(cstring) RETURNS angle LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION angle_out(angle) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE angle (INPUT = angle_in, OUTPUT = angle_out, LIKE = integer);
CREATE CAST (angle AS integer) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION angle_equal(angle, angle) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	RETURN $1::integer % 360 = $2::integer % 360;
END
$$;
CREATE OPERATOR = (LEFTARG = angle, RIGHTARG = angle, FUNCTION = angle_equal, COMMUTATOR = =, MERGES);
CREATE OPERATOR <-> (LEFTARG = angle, RIGHTARG = angle, FUNCTION = angle_equal, COMMUTATOR = <->);
CREATE OPERATOR CLASS wrong_ops FOR TYPE angle USING membership AS OPERATOR 1 <->;
CREATE OPERATOR CLASS angle_ops FOR TYPE angle USING membership AS OPERATOR 1 =;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'angle_ops';
CREATE TABLE angles AS SELECT n::text::angle AS a FROM generate_series(1, 100) AS n;
CREATE INDEX angles_a ON angles USING membership (a angle_ops);
ANALYZE angles;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT a FROM angles WHERE a = '450'::angle;
SELECT a FROM angles WHERE a = '450'::angle;
SELECT count(*) FROM angles AS a JOIN (SELECT (n + 360)::text::angle AS a FROM generate_series(1, 5) AS n) AS b ON a.a = b.a;
RESET enable_seqscan;
DROP TABLE angles;
DROP TYPE angle CASCADE;
RESET client_min_messages;
DROP TABLE every, other;

-- ---------------------------------------------------------------- kept true
-- VACUUM counts deleted rows while another session, such as autovacuum's, has an older snapshot
CREATE PROCEDURE wait_for_older_snapshots() LANGUAGE plpgsql AS $$
DECLARE
	next_xid xid := pg_snapshot_xmax(pg_current_snapshot())::xid;
BEGIN
	-- five minutes at most, lest it hangs
	FOR i IN 1 .. 30000 LOOP
		EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND age(backend_xmin) > age(next_xid));
		PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
	END LOOP;
END
$$;
CREATE TABLE kept (id int PRIMARY KEY, url text, n int) WITH (autovacuum_enabled = off);
CREATE INDEX kept_url ON kept USING membership (url) WITH (capacity = 100, growth = 2);
SELECT layers, elements FROM membership_info('kept_url');
SELECT membership_contains('kept_url', 'a') AS empty;
SELECT bloom_cardinality(membership_filter('kept_url'));
-- its own transaction sees what it has inserted, by any kind of lookup
BEGIN;
INSERT INTO kept SELECT i, 'a' || i, i FROM generate_series(1, 1000) i;
SELECT count(*) FROM kept WHERE NOT membership_contains('kept_url', url);
SAVEPOINT s;
INSERT INTO kept VALUES (1001, 'b', 1);
SELECT membership_contains('kept_url', 'b');
ROLLBACK TO s;
UPDATE kept SET url = 'c' || id WHERE id <= 10;
SELECT count(*) FROM kept WHERE NOT membership_contains('kept_url', url);
COMMIT;
SELECT membership_check('kept_url');
INSERT INTO kept VALUES (1, 'd1', 1), (2, 'd2', 2) ON CONFLICT (id) DO UPDATE SET url = excluded.url;
COPY kept FROM stdin;
2001	e1	1
2002	e2	2
2003	\N	3
\.
SELECT membership_check('kept_url');
SELECT membership_contains_all('kept_url', '{d1,d2,e1,e2}');
SELECT layers > 2 AS grown, elements BETWEEN 970 AND 1060 AS elements,
	estimated_error_rate < 0.01 AS precise
FROM membership_info('kept_url');
-- ten to be expected; with p = 1e-6 no more than 28
SELECT count(*) <= 28 AS few FROM generate_series(1, 1000) i
WHERE membership_contains('kept_url', 'absent' || i);

-- The elements of an index with many layers are counted as those of a filter: an element
-- that an earlier layer seems to have is not added to a later one
CREATE TABLE many (x int) WITH (autovacuum_enabled = off);
CREATE INDEX many_x ON many USING membership (x) WITH (capacity = 1000, error_rate = 0.1);
DO $$
BEGIN
	FOR i IN 0 .. 29
	LOOP
		INSERT INTO many SELECT g FROM generate_series(10000 * i + 1, 10000 * (i + 1)) AS g;
		COMMIT;
	END LOOP;
END
$$;
SELECT layers > 5 AS grown, abs(elements - 300000) <= 0.02 * 300000 AS counted FROM membership_info('many_x');
DELETE FROM many WHERE x <= 100000;
CALL wait_for_older_snapshots();
VACUUM (DISABLE_PAGE_SKIPPING) many;
SELECT abs(dead_elements - 100000) <= 0.02 * 300000 AS dead FROM membership_info('many_x');
DROP TABLE many;

-- An element that is there already is not written again
CREATE EXTENSION pg_walinspect;
SELECT pg_current_wal_insert_lsn() AS before \gset
INSERT INTO kept SELECT 10000 + i, 'a' || 10 + i % 900, i FROM generate_series(1, 5000) i;
SELECT layers > 2 AS grown, elements BETWEEN 970 AND 1060 AS elements FROM membership_info('kept_url');
SELECT count(*) AS written FROM pg_get_wal_records_info(:'before', pg_current_wal_flush_lsn())
WHERE resource_manager = 'Generic';
DROP EXTENSION pg_walinspect;

-- PL/pgSQL keeps a call over several statements, each of which sees more
CREATE FUNCTION add_and_ask(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	missed int := 0;
BEGIN
	FOR i IN 1 .. n LOOP
		INSERT INTO kept VALUES (100000 + i, 'p' || i, i);
		IF NOT membership_contains('kept_url', 'p' || i) THEN
			missed := missed + 1;
		END IF;
		-- until the copy is made, and beyond
		PERFORM count(*) FROM generate_series(1, 50) j
		WHERE membership_contains('kept_url', 'x' || j);
	END LOOP;
	RETURN missed;
END $$;
SELECT add_and_ask(200) AS missed;

-- A trigger, and a function within the inserting statement, see the rows so far
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NOT membership_contains('kept_url', NEW.url) THEN
		RAISE EXCEPTION 'missed %', NEW.url;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER look AFTER INSERT ON kept FOR EACH ROW EXECUTE FUNCTION look();
INSERT INTO kept SELECT 200000 + i, 't' || i, i FROM generate_series(1, 100) i;
DROP TRIGGER look ON kept;

-- A copy is not taken for one of another file
BEGIN;
SELECT count(*) FROM kept WHERE NOT membership_contains('kept_url', url);
SAVEPOINT s;
TRUNCATE kept;
SELECT membership_contains('kept_url', 'd1') AS truncated;
INSERT INTO kept VALUES (1, 'new', 1);
SELECT membership_contains('kept_url', 'new') AS new;
ROLLBACK TO s;
SELECT count(*) FROM kept WHERE NOT membership_contains('kept_url', url);
SELECT membership_check('kept_url') = count(*) AS sound FROM kept;
COMMIT;

-- REINDEX, VACUUM FULL, DELETE and VACUUM
SELECT dead_elements FROM membership_info('kept_url');
DELETE FROM kept WHERE id > 5;
CALL wait_for_older_snapshots();
VACUUM (DISABLE_PAGE_SKIPPING) kept;
SELECT dead_elements BETWEEN 1200 AND 1330 AS dead FROM membership_info('kept_url');
ALTER INDEX kept_url SET (error_rate = 0.0001, capacity = 5);
REINDEX INDEX kept_url;
SELECT layers, elements, capacity, error_rate, dead_elements FROM membership_info('kept_url');
SELECT membership_check('kept_url');
-- two blocks an element, at this error rate
INSERT INTO kept SELECT 1000 + i, 'f' || i, i FROM generate_series(1, 1000) i;
SELECT membership_check('kept_url');
VACUUM FULL kept;
SELECT membership_check('kept_url'), layers, capacity >= 1000 AS sized FROM membership_info('kept_url');

-- Several columns, expressions, a predicate
CREATE INDEX kept_two ON kept USING membership (url, n);
SELECT membership_contains('kept_two', ROW('f1'::text, 1)) AS present,
	membership_contains('kept_two', ROW('f1', 2)) AS absent;
SELECT membership_contains('kept_two', 'f1');
SELECT membership_contains('kept_two', ROW(1, 'f1'));
CREATE INDEX kept_lower ON kept USING membership (lower(url)) WHERE n > 500;
SELECT membership_contains('kept_lower', 'f501') AS present,
	membership_contains('kept_lower', 'f499') AS outside, membership_check('kept_lower');
INSERT INTO kept VALUES (5000, 'UPPER', 501), (5001, NULL, 501), (5002, 'x', NULL);
SELECT membership_contains('kept_lower', 'upper') AS present, membership_check('kept_two');
SET enable_seqscan = off;
SELECT id FROM kept WHERE url = 'UPPER' AND n = 501;
EXPLAIN (COSTS OFF) SELECT id FROM kept WHERE url = 'UPPER' AND n = 501;
SELECT id FROM kept WHERE url = 'UPPER';
RESET enable_seqscan;
-- some of the columns are not enough
EXPLAIN (COSTS OFF) SELECT id FROM kept WHERE n = 501;

-- ---------------------------------------------------------------- the planner
ANALYZE blacklist;
EXPLAIN (COSTS OFF) SELECT FROM blacklist WHERE url = 'http://good.example/';
-- pages of the table that a search reads
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
CREATE FUNCTION pages_read(query text) RETURNS int LANGUAGE sql AS
$$ SELECT (first_node(query, 'ANALYZE') ->> 'Lossy Heap Blocks')::int $$;
SET enable_seqscan = off;
SELECT pages_read('SELECT FROM blacklist WHERE url = ''http://good.example/''') AS absent,
	pages_read('SELECT FROM blacklist WHERE url = ''http://bad.example/1''')
		= pg_relation_size('blacklist') / current_setting('block_size')::int AS present_all;
RESET enable_seqscan;
DROP FUNCTION pages_read;
-- the plan does not show whether a value is there
EXPLAIN (COSTS OFF) SELECT FROM blacklist WHERE url = 'http://bad.example/1';
SET plan_cache_mode = force_generic_plan;
PREPARE find(text) AS SELECT count(*) FROM blacklist WHERE url = $1;
EXPLAIN (COSTS OFF) EXECUTE find('x');
EXECUTE find('x');
EXECUTE find('http://bad.example/1');
RESET plan_cache_mode;
-- never before a btree
CREATE INDEX blacklist_btree ON blacklist (url);
EXPLAIN (COSTS OFF) SELECT FROM blacklist WHERE url = 'http://good.example/';
EXPLAIN (COSTS OFF) EXECUTE find('x');
DROP INDEX blacklist_btree;
DEALLOCATE find;

-- ---------------------------------------------------------------- privileges
CREATE ROLE membership_reader;
SET ROLE membership_reader;
SELECT membership_contains('blacklist_url', 'x');
SELECT membership_info('blacklist_url');
SELECT membership_filter('blacklist_url');
RESET ROLE;
GRANT SELECT (url) ON blacklist TO membership_reader;
SET ROLE membership_reader;
SELECT membership_contains('blacklist_url', 'x');
RESET ROLE;
ALTER TABLE blacklist ENABLE ROW LEVEL SECURITY;
SELECT membership_contains('blacklist_url', 'x') AS owner;
SET ROLE membership_reader;
SELECT membership_contains('blacklist_url', 'x');
RESET ROLE;
ALTER TABLE blacklist DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON blacklist FROM membership_reader;
DROP ROLE membership_reader;

-- ---------------------------------------------------------------- errors
SELECT membership_contains(0::regclass, 'x');
SELECT membership_contains('kept', 'x');
SELECT membership_contains('kept_pkey', 1);
SELECT membership_contains('blacklist_url', 1);
CREATE INDEX ON kept USING membership (url) WITH (error_rate = 0);
CREATE INDEX ON kept USING membership (url) WITH (error_rate = 1);
CREATE INDEX ON kept USING membership (url) WITH (capacity = 0);
CREATE INDEX ON kept USING membership (url) WITH (growth = 0);
CREATE INDEX ON kept USING membership (url) WITH (fillfactor = 50);
CREATE UNIQUE INDEX ON kept USING membership (url);
\set VERBOSITY sqlstate
CREATE INDEX ON kept USING membership (url DESC);
\set VERBOSITY default
CREATE INDEX ON kept USING membership (point(1, 2));
CREATE TABLE parts (url text) PARTITION BY HASH (url);
CREATE TABLE part_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX parts_url ON parts USING membership (url);
INSERT INTO parts SELECT 'p' || i FROM generate_series(1, 100) i;
SELECT membership_contains('parts_url', 'p1');
SELECT count(*) FROM parts WHERE NOT (membership_contains('part_0_url_idx', url)
	OR membership_contains('part_1_url_idx', url));
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'blacklist_url'::regclass;
SELECT membership_contains('blacklist_url', 'x');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'blacklist_url'::regclass;

-- After REINDEX CONCURRENTLY the OID in a view is out of date, which is an error
CREATE VIEW bad_visits AS SELECT * FROM visits WHERE membership_contains('blacklist_url', url);
CREATE VIEW bad_visits_by_name AS SELECT * FROM visits
	WHERE membership_contains('blacklist_url'::text::regclass, url);
SELECT count(*) >= 200 AS all_found FROM bad_visits;
REINDEX INDEX CONCURRENTLY blacklist_url;
\set VERBOSITY sqlstate
SELECT count(*) FROM bad_visits;
\set VERBOSITY default
SELECT count(*) >= 200 AS all_found FROM bad_visits_by_name;
SELECT membership_contains('blacklist_url', 'http://bad.example/1');

-- ---------------------------------------------------------------- temporary, unlogged, parallel
CREATE TEMP TABLE scratch (a int);
CREATE INDEX scratch_a ON scratch USING membership (a);
INSERT INTO scratch SELECT generate_series(1, 1000);
SELECT count(*) FROM scratch WHERE NOT membership_contains('scratch_a', a);
CREATE UNLOGGED TABLE quick (a int);
CREATE INDEX quick_a ON quick USING membership (a);
INSERT INTO quick SELECT generate_series(1, 1000);
SELECT membership_check('quick_a');
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
BEGIN;
-- workers find the rows that the leader has just inserted
INSERT INTO quick SELECT generate_series(1001, 2000);
EXPLAIN (COSTS OFF) SELECT count(*) FROM quick WHERE NOT membership_contains('quick_a', a);
SELECT count(*) FROM quick WHERE NOT membership_contains('quick_a', a);
COMMIT;
-- but cannot read the leader's temporary tables
CREATE FUNCTION gathers(query text) RETURNS boolean LANGUAGE sql AS
$$ SELECT bool_or(line ~ 'Gather') FROM plan_of(query) line $$;
CREATE TEMP TABLE scratch_parted (a int) PARTITION BY RANGE (a);
CREATE TEMP TABLE scratch_part PARTITION OF scratch_parted FOR VALUES FROM (0) TO (500);
CREATE INDEX scratch_parted_a ON scratch_parted USING membership (a);
INSERT INTO scratch_parted SELECT generate_series(1, 400);
CREATE FUNCTION count_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	result bigint;
BEGIN
	EXECUTE query INTO result;
	RETURN result;
END
$$;
SELECT query, gathers(format(query, 'quick_a')) AS quick, gathers(format(query, 'scratch_a')) AS scratch, CASE WHEN query !~ 'membership_filter' THEN gathers(format(query, 'scratch_parted_a')) END AS parted,
	count_of(format(query, 'scratch_a')) AS count, CASE WHEN query !~ 'membership_filter' THEN count_of(format(query, 'scratch_parted_a')) END AS count_parted
FROM (VALUES
	('SELECT count(*) FROM quick WHERE membership_contains(%1$L, a)'),
	('SELECT count(*) FROM quick WHERE membership_contains(%1$L, a) OR a = 1500'),
	('SELECT count(*) FILTER (WHERE membership_contains(%1$L, a)) FROM quick'),
	('SELECT count(*) FROM quick WHERE membership_contains_any(%1$L, ARRAY[a, a + 1000])'),
	('SELECT count(*) FROM quick WHERE membership_contains_all(%1$L, ARRAY[a, a + 1])'),
	('SELECT count(*) FROM quick WHERE (membership_contains_each(%1$L, ARRAY[a]))[1]'),
	('SELECT count(*) FROM quick WHERE bloom_contains(membership_filter(%1$L), a)'),
	('SELECT count(*) FROM (SELECT a FROM quick WHERE membership_contains(%1$L, a) OFFSET 0) q'),
	('SELECT count(*) FROM quick q JOIN quick p USING (a) WHERE membership_contains(%1$L, q.a + p.a)'),
	('SELECT count(*) FROM quick WHERE a = ANY (ARRAY(SELECT a FROM quick WHERE membership_contains(%1$L, a)))'),
	('SELECT count(*) FROM quick WHERE membership_contains(%1$L::text::regclass, a)'),
	('SELECT count(*) FROM quick WHERE membership_contains((SELECT %1$L::text::regclass), a)')
) AS queries (query);
PREPARE of_index(regclass) AS SELECT count(*) FROM quick WHERE membership_contains($1, a);
SET plan_cache_mode = force_generic_plan;
EXECUTE of_index('quick_a');
EXECUTE of_index('scratch_a');
RESET plan_cache_mode;
DEALLOCATE of_index;
-- without temporary tables, an index that is not known is no obstacle
\c -
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT gathers('SELECT count(*) FROM quick WHERE membership_contains(''quick_a''::text::regclass, a)');
CREATE TEMP TABLE scratch (a int);
SELECT gathers('SELECT count(*) FROM quick WHERE membership_contains(''quick_a''::text::regclass, a)');
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET max_parallel_workers_per_gather;
RESET parallel_leader_participation;

-- ---------------------------------------------------------------- elsewhere
-- Progress, in bounded memory
CREATE TABLE built (x int);
INSERT INTO built SELECT generate_series(1, 200000);
CREATE FUNCTION tell(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	progress record;
BEGIN
	IF x = 150000 THEN
		SELECT phase, blocks_done > 0.6 * blocks_total AND blocks_done <= blocks_total AS much_done INTO progress
		FROM pg_stat_progress_create_index WHERE pid = pg_backend_pid();
		RAISE NOTICE '%', progress;
	END IF;
	RETURN x;
END $$;
SELECT temp_bytes AS temp_bytes_before FROM pg_stat_database WHERE datname = current_database() \gset
SET maintenance_work_mem = '1MB';
CREATE INDEX built_little ON built USING membership (tell(x));
SELECT FROM pg_stat_force_next_flush();
SELECT temp_bytes > :temp_bytes_before AS spilled FROM pg_stat_database WHERE datname = current_database();
SET maintenance_work_mem = '1GB';
CREATE INDEX built_much ON built USING membership (x);
SELECT md5(membership_filter('built_little')::bytea) = md5(membership_filter('built_much')::bytea) AS same;
-- Files that are merged while the table is read, with elements that are in several
CREATE TABLE pieces AS
	SELECT (SELECT array_agg(n) FROM generate_series(200000 * i, 200000 * i + 249999) n) AS x FROM generate_series(1, 12) i;
SET maintenance_work_mem = '1MB';
CREATE INDEX pieces_little ON pieces USING membership (x array_elements_ops);
SET maintenance_work_mem = '1GB';
CREATE INDEX pieces_much ON pieces USING membership (x array_elements_ops);
SELECT md5(membership_filter('pieces_little')::bytea) = md5(membership_filter('pieces_much')::bytea) AS same;
RESET maintenance_work_mem;
DROP TABLE built, pieces;
DROP FUNCTION tell;

-- A tablespace, to and fro
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE elsewhere LOCATION '';
CREATE TABLE moved (x int);
CREATE INDEX moved_x ON moved USING membership (x) WITH (capacity = 100) TABLESPACE elsewhere;
INSERT INTO moved SELECT generate_series(1, 1000);
SELECT membership_check('moved_x');
BEGIN;
INSERT INTO moved SELECT generate_series(1001, 2000);
ALTER INDEX moved_x SET TABLESPACE pg_default;
INSERT INTO moved SELECT generate_series(2001, 3000);
SELECT count(*), count(*) FILTER (WHERE membership_contains('moved_x', x)) AS found FROM moved;
COMMIT;
SELECT membership_check('moved_x');
REINDEX (TABLESPACE elsewhere) INDEX CONCURRENTLY moved_x;
SELECT membership_check('moved_x'), t.spcname FROM pg_class c JOIN pg_tablespace t ON t.oid = c.reltablespace WHERE relname = 'moved_x';

-- Logged or not, clustered by another
ALTER TABLE moved SET UNLOGGED;
INSERT INTO moved SELECT generate_series(3001, 4000);
SELECT membership_check('moved_x');
ALTER TABLE moved SET LOGGED;
INSERT INTO moved SELECT generate_series(4001, 5000);
SELECT membership_check('moved_x');
ALTER TABLE moved ADD PRIMARY KEY (x);
CLUSTER moved USING moved_pkey;
SELECT membership_check('moved_x');
CLUSTER moved USING moved_x;
DROP TABLE moved;
DROP TABLESPACE elsewhere;

-- Partitions that come and go
CREATE TABLE days (day date, url text) PARTITION BY RANGE (day);
CREATE INDEX days_url ON days USING membership (url);
CREATE TABLE monday (day date, url text);
CREATE INDEX monday_url ON monday USING membership (url);
INSERT INTO monday SELECT '2026-11-16', 'http://example.com/' || i FROM generate_series(1, 1000) i;
ALTER TABLE days ATTACH PARTITION monday FOR VALUES FROM ('2026-11-16') TO ('2026-11-17');
CREATE TABLE tuesday PARTITION OF days FOR VALUES FROM ('2026-11-17') TO ('2026-11-18');
CREATE TABLE other PARTITION OF days DEFAULT;
INSERT INTO days SELECT date '2026-11-16' + i % 4, 'http://example.org/' || i FROM generate_series(1, 1000) i;
SELECT c.relname, membership_check(c.oid) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'days_url'::regclass ORDER BY 1;
-- a row that moves to another partition
UPDATE days SET day = '2026-11-17' WHERE url = 'http://example.com/1';
SELECT membership_contains('tuesday_url_idx', 'http://example.com/1'), membership_check('tuesday_url_idx');
ALTER TABLE days DETACH PARTITION monday;
SELECT membership_check('monday_url');
DROP TABLE days, monday;

DROP VIEW bad_visits, bad_visits_by_name;
DROP TABLE blacklist, visits, kept, parts, scratch, quick;
DROP FUNCTION add_and_ask, look, gathers, count_of;
DROP TYPE mood, pair;
DROP DOMAIN host;

-- ---------------------------------------------------------------- when layers are made
-- The statement that inserts makes the first layer, not COMMIT, in which no timeout applies
CREATE TABLE early (a integer, b integer);
CREATE INDEX early_a ON early USING membership (a) WITH (capacity = 1000000);
CREATE INDEX early_b ON early USING membership (b) WITH (capacity = 1000000);
CREATE VIEW sizes AS SELECT (sum(pg_relation_size(c.oid)) / current_setting('block_size')::int)::int AS pages
FROM pg_class AS c JOIN pg_index ON indexrelid = c.oid WHERE indrelid = 'early'::regclass;
SELECT pages FROM sizes;
BEGIN;
INSERT INTO early VALUES (1, NULL);
SELECT pages > 100 AS of_one FROM sizes;
SAVEPOINT s;
INSERT INTO early VALUES (2, 2);
SELECT pages AS in_transaction, pages > 200 AS of_both FROM sizes \gset
\echo both: :of_both
ROLLBACK TO s;
COMMIT;
SELECT pages = :in_transaction AS none_in_commit FROM sizes;
BEGIN;
INSERT INTO early VALUES (3, 3);
TRUNCATE early;
COMMIT;
SELECT pages AS truncated FROM sizes;
BEGIN;
TRUNCATE early;
INSERT INTO early VALUES (4, 4);
SELECT pages = :in_transaction AS of_new_files FROM sizes;
ROLLBACK;
SELECT pages AS truncated FROM sizes;
-- of a table that is made in the same transaction, TRUNCATE keeps the file
BEGIN;
CREATE TABLE late (a integer);
CREATE INDEX late_a ON late USING membership (a) WITH (capacity = 1000000);
INSERT INTO late VALUES (1);
TRUNCATE late;
INSERT INTO late VALUES (2);
COMMIT;
SELECT membership_contains('late_a', 2) AS present, membership_check('late_a') AS rows;
-- Neither does COMMIT make the next layers, nor lose what it adds to a full one
DROP INDEX early_a, early_b;
CREATE INDEX early_a ON early USING membership (a) WITH (capacity = 20000, growth = 4);
INSERT INTO early SELECT generate_series(1, 19900);
CREATE PROCEDURE insert_one_by_one(OUT in_statements integer, OUT in_commits integer) LANGUAGE plpgsql AS $$
DECLARE
	before bigint := (SELECT pages FROM sizes);
	inserted bigint;
	committed bigint;
BEGIN
	in_statements := 0;
	in_commits := 0;
	FOR i IN 20001..22000 LOOP
		INSERT INTO early VALUES (i);
		inserted := (SELECT pages FROM sizes);
		COMMIT;
		committed := (SELECT pages FROM sizes);
		in_statements := in_statements + (inserted > before)::int;
		in_commits := in_commits + (committed > inserted)::int;
		before := committed;
	END LOOP;
END $$;
CALL insert_one_by_one(NULL, NULL);
SELECT layers, elements BETWEEN 21500 AND 22000 AS elements, estimated_error_rate <= error_rate AS error_rate, membership_check('early_a') AS rows
FROM membership_info('early_a');
-- nor when more hashes wait than the last layer has room for, and the next one is large
CREATE TABLE full_soon (a integer);
CREATE INDEX full_soon_a ON full_soon USING membership (a) WITH (capacity = 400000, growth = 16, error_rate = 0.0000001);
INSERT INTO full_soon SELECT generate_series(1, 398000);
BEGIN;
INSERT INTO full_soon SELECT generate_series(400001, 410000);
SELECT pg_relation_size('full_soon_a') AS in_transaction \gset
COMMIT;
SELECT pg_relation_size('full_soon_a') = :in_transaction AS none_in_commit, membership_check('full_soon_a') AS rows;
DROP TABLE full_soon;
-- As many rows wait as a large index has room for in its pages: one INSERT of some ten thousand
-- rows logs the table's, and none of the index, which COMMIT changes once
CREATE TABLE bulk (a integer);
CREATE INDEX bulk_a ON bulk USING membership (a) WITH (capacity = 4000000);
INSERT INTO bulk VALUES (0);
SET maintenance_work_mem = '64MB';
SELECT first_node('INSERT INTO bulk SELECT generate_series(1, 40000)', 'ANALYZE, WAL') ->> 'WAL Records' AS records \gset
SELECT pg_relation_size('bulk_a') > 500 * 8192 AS large, :records BETWEEN 40000 AND 40500 AS only_rows;
-- and in a transaction that inserts fewer than 16,384 rows
BEGIN;
INSERT INTO bulk SELECT generate_series(40001, 56000);
COMMIT;
SELECT membership_check('bulk_a') AS rows;
RESET maintenance_work_mem;
DROP TABLE bulk;
DROP TABLE early, late CASCADE;
DROP PROCEDURE insert_one_by_one;

-- An index that is not valid: what reads it reads another of the same definition, and says so
-- once; a check refuses it, because it would check the other
CREATE TABLE halves (n int);
INSERT INTO halves VALUES (0), (1), (2);
CREATE INDEX CONCURRENTLY halves_failed ON halves USING membership ((100 / n));
SELECT membership_contains('halves_failed', 50);
DELETE FROM halves WHERE n = 0;
CREATE INDEX halves_valid ON halves USING membership ((100 / n)) WITH (error_rate = 0.1);
SELECT membership_check('halves_valid');
SELECT membership_check('halves_failed');
SELECT index FROM membership_info('halves_failed');
SELECT membership_contains('halves_failed', 50);
SELECT membership_contains('halves_failed', 51), bloom_cardinality(membership_filter('halves_failed'));
REINDEX INDEX halves_failed;
SELECT membership_check('halves_failed');
SELECT index FROM membership_info('halves_failed');
DROP TABLE halves;
