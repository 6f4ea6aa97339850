-- Partition Filters: partitions whose membership index denies a value are not read.
-- Each query is compared with the same query without them.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET bloomfilter.partition_filter = on;
SET enable_seqscan = off;
CREATE SCHEMA partition_filter;
SET search_path = partition_filter, public;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file

-- what a query's Partition Filters, all together, have asked and skipped
CREATE FUNCTION asked(query text, OUT asked int, OUT skipped int, OUT started int)
LANGUAGE sql AS $$
	SELECT sum((node->'Partitions Probed')::int), sum((node->'Partitions Skipped')::int),
		sum(jsonb_array_length(jsonb_path_query_array(node, '$."Plans"[*] ? (@."Actual Loops" > 0)')))
	FROM nodes(query) node WHERE node ? 'Partitions Probed'
$$;
-- is a query's result the same with and without them?  If so, what was asked
CREATE FUNCTION compared(query text, OUT rows bigint, OUT asked int, OUT skipped int)
LANGUAGE plpgsql AS $$
DECLARE
	with_filter text[] := result_of(query);
	without text[];
BEGIN
	rows := cardinality(with_filter);
	SELECT a.asked, a.skipped INTO asked, skipped FROM asked(query) a;
	SET LOCAL bloomfilter.partition_filter = off;
	without := result_of(query);
	SET LOCAL bloomfilter.partition_filter = on;
	IF with_filter <> without THEN
		RAISE 'different rows, % and %: %', rows, cardinality(without), query;
	END IF;
END $$;

CREATE TABLE events (day int, trace_id bigint, name text, payload int) PARTITION BY RANGE (day);
\set ON_ERROR_STOP off
SELECT format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%s) TO (%s)', d, d, d + 1)
FROM generate_series(0, 7) d \gexec
-- another order of columns, and one that was dropped
CREATE TABLE events_8 (gone int, name text, trace_id bigint, payload int, day int);
ALTER TABLE events_8 DROP COLUMN gone;
ALTER TABLE events ATTACH PARTITION events_8 FOR VALUES FROM (8) TO (9);
-- partitions that are partitioned themselves
CREATE TABLE events_9 PARTITION OF events FOR VALUES FROM (9) TO (10) PARTITION BY HASH (payload);
CREATE TABLE events_9_0 PARTITION OF events_9 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE events_9_1 PARTITION OF events_9 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO events SELECT i % 10, i, 'n' || i, i % 7 FROM generate_series(1, 5000) i;
CREATE INDEX ON events (trace_id);
CREATE INDEX ON events (name, day);
CREATE INDEX events_filter ON events USING membership (trace_id) WITH (error_rate = 0.000001);
CREATE INDEX events_names ON events USING membership (name) WITH (error_rate = 0.000001);
ANALYZE events;

EXPLAIN (COSTS OFF) SELECT * FROM events WHERE trace_id = 25 AND day >= 8;
-- partitions that are not read, because they are skipped or a LIMIT is reached, are shown as
-- core shows them
SELECT node->>'Relation Name' AS name, node->'Actual Loops' AS loops
FROM nodes('SELECT * FROM events WHERE trace_id IN (25, 27) AND day >= 4 LIMIT 1') node WHERE node ? 'Relation Name' ORDER BY 1;
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 25');
SELECT * FROM asked('SELECT * FROM events WHERE trace_id = 25');
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 0');
SELECT * FROM compared('SELECT * FROM events WHERE name = ''n29''');
SELECT * FROM compared('SELECT name FROM events WHERE name = ''n29'' AND payload >= 0');
-- other types, and values that no row equals
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 25::int');
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 25::smallint');
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = (SELECT 29)');
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = (SELECT NULL::bigint)');
-- arrays
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = ANY (''{1, 2, NULL, 12}'')');
SELECT * FROM compared('SELECT * FROM events WHERE trace_id IN (-1, -2)');
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = ANY (ARRAY(SELECT NULL::bigint))');
-- a value that only the child's InitPlan knows
CREATE TABLE alone AS SELECT trace_id, name FROM events;
CREATE INDEX ON alone (trace_id);
CREATE INDEX ON alone USING membership (trace_id);
ANALYZE alone;
SELECT * FROM compared('SELECT trace_id, 1 FROM alone WHERE trace_id = (SELECT 25 OFFSET 0)
	UNION ALL SELECT trace_id, 2 FROM alone WHERE trace_id = (SELECT 26 OFFSET 0)
	UNION ALL SELECT trace_id, 3::bigint FROM events WHERE trace_id = 0');
-- NULLs that cannot be hashed
SELECT * FROM compared('SELECT * FROM events WHERE name = (SELECT NULL::text)');
SELECT * FROM compared('SELECT * FROM events WHERE name = ANY (''{n29, NULL}'')');
-- children that look for different values, or with different collations
SELECT * FROM compared('SELECT * FROM events_1 WHERE trace_id = 31 UNION ALL SELECT * FROM events_2 WHERE trace_id = 32
	UNION ALL SELECT * FROM events WHERE payload < 0');
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE exact (name text);
CREATE TABLE inexact (name text COLLATE any_case);
INSERT INTO exact SELECT name FROM events;
INSERT INTO inexact SELECT name FROM events;
CREATE INDEX ON exact (name);
CREATE INDEX ON inexact (name);
CREATE INDEX ON exact USING membership (name) WITH (error_rate = 0.000001);
CREATE INDEX ON inexact USING membership (name) WITH (error_rate = 0.000001);
ANALYZE exact, inexact;
SELECT * FROM compared('SELECT name, 1 FROM exact WHERE name = ''N29'' UNION ALL SELECT name, 2 FROM inexact WHERE name = ''N29''
	UNION ALL SELECT name, 3 FROM events WHERE payload < 0');
CREATE INDEX ON events (name COLLATE any_case);
SELECT * FROM compared('SELECT * FROM events WHERE name = ''N29'' COLLATE any_case');
-- a type that was altered, so that equal values have other hashes
CREATE TYPE pair AS (a int);
CREATE TABLE pairs (day int, p pair) PARTITION BY LIST (day);
CREATE TABLE pairs_0 PARTITION OF pairs FOR VALUES IN (0);
CREATE TABLE pairs_1 PARTITION OF pairs FOR VALUES IN (1);
INSERT INTO pairs SELECT i % 2, ROW(i)::pair FROM generate_series(1, 100) i;
CREATE INDEX ON pairs (p);
CREATE INDEX ON pairs USING membership (p) WITH (error_rate = 0.000001);
ANALYZE pairs;
ALTER TYPE pair ADD ATTRIBUTE b int;
SELECT * FROM compared('SELECT * FROM pairs WHERE p = ROW(5, NULL)::pair');
-- nothing to ask: no equality; the collation is another
SELECT * FROM compared('SELECT * FROM events WHERE trace_id < 10');
SELECT * FROM compared('SELECT * FROM events WHERE name = ''n29'' COLLATE "POSIX"');
SET bloomfilter.partition_filter = off;
SELECT * FROM asked('SELECT * FROM events WHERE trace_id = 25');
SET bloomfilter.partition_filter = on;

-- a membership index alone
SET enable_indexscan = off;
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 25');
SET enable_bitmapscan = off;
SET enable_indexscan = on;
SELECT * FROM compared('SELECT trace_id FROM events WHERE trace_id = 25');
RESET enable_bitmapscan;

-- generic plans, beside core's own pruning at the start and at run time
SET plan_cache_mode = force_generic_plan;
PREPARE by_id(bigint) AS SELECT * FROM events WHERE trace_id = $1;
PREPARE by_id_and_day(bigint, int) AS SELECT * FROM events WHERE trace_id = $1 AND day >= $2;
EXECUTE by_id(25);
EXECUTE by_id(NULL);
SELECT * FROM asked('EXECUTE by_id(25)');
EXPLAIN (COSTS OFF) EXECUTE by_id_and_day(25, 8);
SELECT * FROM asked('EXECUTE by_id_and_day(25, 4)');
SELECT * FROM asked('EXECUTE by_id_and_day(25, 6)');
SELECT * FROM asked('EXECUTE by_id_and_day(25, 100)');
-- a row that was inserted since, also by the same transaction; a partition emptied
INSERT INTO events VALUES (3, 25, 'second', 1);
SELECT * FROM asked('EXECUTE by_id(25)');
BEGIN;
INSERT INTO events VALUES (4, 25, 'third', 1);
EXECUTE by_id(25);
SAVEPOINT s;
TRUNCATE events_5;
EXECUTE by_id(25);
ROLLBACK TO s;
EXECUTE by_id(25);
ROLLBACK;
DELETE FROM events WHERE name = 'second';
RESET plan_cache_mode;

-- nested loops: a value for each row of the other side
CREATE TABLE wanted (id bigint, since int);
INSERT INTO wanted SELECT i * 100, i % 10 FROM generate_series(1, 20) i;
INSERT INTO wanted VALUES (NULL, 0), (-1, 0);
ANALYZE wanted;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
EXPLAIN (COSTS OFF) SELECT * FROM (VALUES (1::bigint), (2)) w(id) JOIN events e ON e.trace_id = w.id AND e.day > 8;
SELECT * FROM compared('SELECT * FROM wanted w JOIN events e ON e.trace_id = w.id');
SELECT * FROM compared('SELECT * FROM wanted w JOIN events e ON e.trace_id = w.id AND e.day = w.since');
SELECT * FROM compared('SELECT * FROM wanted w LEFT JOIN events e ON e.trace_id = w.id');
SELECT * FROM compared('SELECT * FROM wanted w, LATERAL (SELECT * FROM events e WHERE e.trace_id IN (w.id, w.id + 1) LIMIT 1) l');
SELECT * FROM compared('SELECT *, (SELECT count(*) FROM events e WHERE e.trace_id = w.id) FROM wanted w');
-- a scan that was not read to its end, and starts again
SELECT * FROM compared('SELECT * FROM wanted w, LATERAL (SELECT * FROM events e WHERE e.trace_id IN (w.id, w.id + 10) LIMIT 1) l');
-- a value that has a subplan is not asked for
SELECT * FROM compared('SELECT * FROM wanted w JOIN events e ON e.trace_id = (SELECT max(v.id) FROM wanted v WHERE v.id <= w.id)');
-- after many that have the value few partitions are asked, whichever core's pruning leaves
CREATE TABLE in_day_1 AS SELECT i * 10 + 1 AS id, 1 AS day FROM generate_series(0, 7) i;
INSERT INTO in_day_1 SELECT -i, 1 FROM generate_series(1, 60) i;
ANALYZE in_day_1;
SELECT * FROM compared('SELECT * FROM in_day_1 w JOIN events e ON e.trace_id = w.id AND e.day = w.day');
CREATE TABLE all_in_day_1 AS SELECT i * 10 + 1 AS id, 1 AS day FROM generate_series(0, 99) i;
ANALYZE all_in_day_1;
SELECT * FROM compared('SELECT * FROM all_in_day_1 w JOIN events e ON e.trace_id = w.id AND e.day = w.day');
-- a partition started late, with a SubPlan that has run with an earlier parameter
SET enable_sort = off;
SELECT * FROM compared('SELECT * FROM (VALUES (11::bigint, 1), (22, 2), (33, 3)) w(id, n), LATERAL (SELECT *
	FROM events e WHERE e.trace_id = w.id AND (e.trace_id IN (SELECT v.id FROM
	(VALUES (11, 1), (22, 2), (33, 3)) v(id, n) WHERE v.n = w.n GROUP BY v.id)) IS NOT FALSE OFFSET 0) l');
RESET enable_sort;
-- rows of a command that goes on while a cursor of its trigger is read, in layers made since
CREATE TABLE grown (day int, key int) PARTITION BY LIST (day);
CREATE TABLE grown_0 PARTITION OF grown FOR VALUES IN (0);
CREATE TABLE grown_1 PARTITION OF grown FOR VALUES IN (1);
CREATE INDEX ON grown (key);
CREATE INDEX ON grown USING membership (key) WITH (capacity = 100, error_rate = 0.000001);
CREATE TABLE grown_wanted AS SELECT 2 AS key UNION ALL SELECT generate_series(4902, 5000, 2);
ANALYZE grown_wanted;
SET enable_bitmapscan = off;
CREATE FUNCTION read_grown() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	c refcursor := 'grown_cursor';
	found_key int;
	found_keys int := 0;
BEGIN
	IF NEW.key = 100 THEN
		OPEN c FOR SELECT g.key FROM grown_wanted w LEFT JOIN grown g USING (key) FOR UPDATE OF w;
		FETCH c INTO found_key;
		RAISE NOTICE 'first %', found_key;
	ELSIF NEW.key = 5001 THEN
		LOOP
			FETCH c INTO found_key;
			EXIT WHEN NOT FOUND;
			found_keys := found_keys + (found_key IS NOT NULL)::int;
		END LOOP;
		RAISE NOTICE 'then % more', found_keys;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER read_grown BEFORE INSERT ON grown FOR EACH ROW EXECUTE FUNCTION read_grown();
SELECT * FROM asked('SELECT g.key FROM grown_wanted w LEFT JOIN grown g USING (key) FOR UPDATE OF w');
SET client_min_messages = notice;
INSERT INTO grown SELECT key % 2, key FROM generate_series(1, 5001) key;
SET client_min_messages = warning;
SELECT layers > 1 AS grown FROM membership_info('grown_0_key_idx1');
RESET enable_bitmapscan;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_memoize;

-- changes, and locks
BEGIN;
SELECT * FROM asked('UPDATE events SET payload = payload WHERE trace_id = 25');
SELECT * FROM asked('UPDATE events SET day = 0 WHERE trace_id = 25');
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 25');
SELECT * FROM asked('SELECT * FROM events WHERE trace_id = 25 FOR UPDATE');
SELECT * FROM asked('DELETE FROM events WHERE trace_id IN (25, 26)');
SELECT count(*) FROM events WHERE trace_id IN (25, 26, 27);
ROLLBACK;

-- MERGE: its EXPLAIN is not JSON in some versions
CREATE FUNCTION merged(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT trim(line) FROM plan_of(query, 'ANALYZE, COSTS OFF, TIMING OFF') line WHERE line ~ 'Partitions'
$$;
BEGIN;
SELECT merged('MERGE INTO events e USING (VALUES (27::bigint, 100), (28, 9), (29, 0), (-1, 0)) w(id, n) ON e.trace_id = w.id
	WHEN MATCHED AND w.n = 100 THEN UPDATE SET payload = w.n
	WHEN MATCHED AND w.n = 9 THEN UPDATE SET day = w.n
	WHEN MATCHED THEN DELETE
	WHEN NOT MATCHED THEN INSERT VALUES (0, w.id, ''new'', 0)');
SELECT tableoid::regclass, * FROM events WHERE trace_id IN (-1, 27, 28, 29) ORDER BY trace_id;
ROLLBACK;

-- a declared cursor is left alone, unless it locks its rows
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM events WHERE trace_id IN (25, 26);
FETCH ALL c;
FETCH BACKWARD ALL c;
DECLARE n NO SCROLL CURSOR FOR SELECT * FROM events WHERE trace_id = 25;
FETCH n;
UPDATE events SET payload = 100 WHERE CURRENT OF n RETURNING *;
DECLARE d CURSOR FOR SELECT * FROM events WHERE trace_id IN (27, 28) FOR UPDATE;
FETCH d;
UPDATE events SET payload = 101 WHERE CURRENT OF d RETURNING *;
SELECT * FROM asked('DECLARE e CURSOR FOR SELECT * FROM events WHERE trace_id = 29');
SELECT * FROM asked('DECLARE e CURSOR FOR SELECT * FROM events WHERE trace_id = 29 FOR UPDATE');
ROLLBACK;

-- a table that the query has not started to read cannot be altered by it
CREATE FUNCTION alter_partition() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE events_7 ADD COLUMN more int;
	RETURN 1;
END $$;
SELECT *, alter_partition() FROM events WHERE trace_id = 25;
-- rows of the command that called the query, as it sees them
CREATE FUNCTION count_same() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.payload = (SELECT count(*) FROM events WHERE trace_id = NEW.trace_id);
	RETURN NEW;
END $$;
CREATE TRIGGER counts BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION count_same();
INSERT INTO events SELECT d, 6000, 'counted' FROM generate_series(0, 8) d RETURNING day, payload;
DROP TRIGGER counts ON events;

-- partitions without a usable index are always read; indexes that do not answer
DROP INDEX events_filter;
CREATE INDEX ON events_0 USING membership (trace_id) WITH (error_rate = 0.000001);
CREATE INDEX ON events_1 USING membership (trace_id) WHERE payload > 0;
CREATE INDEX ON events_2 USING membership ((trace_id + 1));
CREATE INDEX ON events_3 USING membership (trace_id, name);
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 25');
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 30');
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 31');

-- a look at the indexes costs nobody a privilege, and tells nothing of hidden rows
CREATE INDEX events_filter ON events USING membership (trace_id) WITH (error_rate = 0.000001);
CREATE ROLE regress_reader;
GRANT USAGE ON SCHEMA partition_filter TO regress_reader;
GRANT SELECT ON events TO regress_reader;
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON events USING (payload < 3);
SET ROLE regress_reader;
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 25');
SELECT * FROM compared('SELECT * FROM events WHERE trace_id = 23');
RESET ROLE;
-- a rollback takes away the file of an index that was rebuilt while a cursor was open: such an
-- index is not asked, and a partition that has to be read by it is not started
CREATE TABLE undone (part int, key int, n int) PARTITION BY LIST (part);
SELECT format('CREATE TABLE undone_%s PARTITION OF undone FOR VALUES IN (%s)', i, i) FROM generate_series(1, 4) i \gexec
INSERT INTO undone SELECT part, 1, 0 FROM generate_series(1, 4) part;
-- in an order that lets an index that is filled row by row have other pages than a rebuilt one
INSERT INTO undone SELECT 4, 1, i * 7919 % 20011 FROM generate_series(1, 20000) i;
CREATE INDEX ON undone (key);
CREATE INDEX ON undone (n);
CREATE INDEX undone_filter ON undone USING membership (key);
ANALYZE undone;
SELECT * FROM asked('SELECT * FROM undone WHERE key = 1');
BEGIN;
DECLARE u NO SCROLL CURSOR FOR SELECT part FROM undone WHERE key = 1 FOR UPDATE;
FETCH u;
SAVEPOINT s;
REINDEX INDEX undone_3_key_idx1;
FETCH u;
ROLLBACK TO s;
FETCH u;
MOVE ALL FROM u;
CLOSE u;
DECLARE u NO SCROLL CURSOR FOR SELECT i, (SELECT count(*) FROM undone WHERE key = i.part) FROM undone_1 i, generate_series(1, 2) FOR UPDATE OF i;
SAVEPOINT s;
REINDEX INDEX undone_3_key_idx1;
FETCH u;
ROLLBACK TO s;
FETCH u;
CLOSE u;
REINDEX TABLE undone_4;
DECLARE u NO SCROLL CURSOR FOR SELECT part FROM undone WHERE key = 1 FOR UPDATE;
SAVEPOINT s;
MOVE 5000 FROM u;
ROLLBACK TO s;
MOVE ALL FROM u;
CLOSE u;
DECLARE u NO SCROLL CURSOR FOR SELECT part FROM undone WHERE key = 1 FOR UPDATE;
FETCH u;
SAVEPOINT s;
REINDEX INDEX undone_4_key_idx;
MOVE 5000 FROM u;
ROLLBACK;
-- nor is one whose index was dropped, until a rollback
BEGIN;
DECLARE u NO SCROLL CURSOR FOR SELECT part FROM undone WHERE key = 1 FOR UPDATE;
SAVEPOINT s;
DROP INDEX undone_key_idx;
SAVEPOINT t;
FETCH u;
ROLLBACK TO s;
CLOSE u;
DECLARE u NO SCROLL CURSOR FOR SELECT part FROM undone WHERE key = 1 FOR UPDATE;
SAVEPOINT s;
DROP INDEX undone_key_idx;
ROLLBACK TO s;
FETCH u;
-- another query may read by a rebuilt index
SAVEPOINT s;
REINDEX INDEX undone_2_n_idx;
DECLARE n CURSOR FOR SELECT part FROM undone_2 WHERE n = 0;
FETCH n;
FETCH u;
ROLLBACK;
DROP TABLE undone;

-- a partition is prepared for the user who has opened a cursor, though another reads it
CREATE FUNCTION is_low(int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN $1 < 7; END $$;
REVOKE EXECUTE ON FUNCTION is_low FROM PUBLIC;
CREATE FUNCTION open_low() RETURNS refcursor LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	c refcursor := 'low';
BEGIN
	OPEN c FOR SELECT * FROM events WHERE trace_id = 25 AND is_low(payload) FOR UPDATE;
	RETURN c;
END $$;
BEGIN;
SET LOCAL ROLE regress_reader;
SELECT open_low();
FETCH ALL FROM low;
ROLLBACK;

-- a session that has found that an index may be asked does not look again, until something
-- changes; all in one transaction, so that the snapshots see the same
PREPARE lookup AS SELECT * FROM events WHERE trace_id = 0;
CREATE FUNCTION counted(OUT asked int, OUT counted bigint) LANGUAGE plpgsql AS $$
DECLARE
	index regclass := 'events_3_trace_id_idx1';
	before bigint := pg_stat_get_xact_numscans(index);
BEGIN
	SELECT a.asked, pg_stat_get_xact_numscans(index) - before INTO asked, counted
	FROM asked('EXECUTE lookup') a;
END $$;
BEGIN;
SELECT counted() FROM generate_series(1, 3);
SET LOCAL track_counts = off;
SELECT counted() FROM generate_series(1, 3);
SET LOCAL track_counts = on;
SELECT counted() FROM generate_series(1, 3);
-- not by a command, which would have the query planned again
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'events_3_trace_id_idx1'::regclass;
SELECT counted() FROM generate_series(1, 3);
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'events_3_trace_id_idx1'::regclass;
SELECT counted() FROM generate_series(1, 3);
ROLLBACK;

-- in workers
CREATE FUNCTION is_parallel(query text) RETURNS boolean LANGUAGE sql AS $$
	SELECT bool_or(node->>'Node Type' = 'Gather') FROM nodes(query) node
$$;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET cpu_tuple_cost = 1; -- workers share it
SET enable_seqscan = on; -- plans with a scan that is off cost the same, parallel or not
SET enable_bitmapscan = off;
SET enable_parallel_append = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
ALTER TABLE wanted SET (parallel_workers = 2);
\set join 'SELECT * FROM wanted w JOIN events e ON e.trace_id = w.id'
\set array 'SELECT * FROM events WHERE trace_id = ANY (ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20])'
SELECT is_parallel(:'join'), rows FROM compared(:'join');
SELECT is_parallel(:'array'), rows FROM compared(:'array');
-- workers start partitions that the leader does not
SET parallel_leader_participation = off;
SELECT is_parallel(:'join'), rows FROM compared(:'join');
RESET parallel_leader_participation;
-- an append that deals out its partitions
SET enable_parallel_append = on;
ALTER TABLE events_0 SET (parallel_workers = 0);
ALTER TABLE events_1 SET (parallel_workers = 0);
SELECT is_parallel(:'array'), rows FROM compared(:'array');

SET client_min_messages = error;
DROP SCHEMA partition_filter CASCADE;
DROP ROLE regress_reader;
