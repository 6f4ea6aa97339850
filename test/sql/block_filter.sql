--
-- Blocks that a join skips by an index: a Filter Scan reads only those that may have rows with
-- the join's keys.  A query has the rows that it has without.
--
CREATE SCHEMA block_filter;
SET search_path = block_filter, public;
LOAD 'bloomfilter';
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;
-- plans depend on which side has more rows
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET timezone = 'UTC';

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
\set ON_ERROR_STOP on
-- 20,000 rows in the order of their values, of which each is in ten rows, and some are NULL
CREATE TABLE facts (id int, s int2, k int, big bigint, day date, at timestamp, tz timestamptz, o oid, t text, x int);
ALTER TABLE facts SET (autovacuum_enabled = off);
INSERT INTO facts SELECT i, x, x, x, date '2000-01-01' + x, timestamp '2000-01-01' + x * interval '1 hour',
		timestamptz '2000-01-01' + x * interval '1 hour', x, 't' || x, 0
	FROM generate_series(1, 20000) i, LATERAL (SELECT CASE WHEN i % 13 <> 0 THEN i / 10 - 1000 END) a (x)
	ORDER BY i;
CREATE INDEX facts_s ON facts USING brin (s) WITH (pages_per_range = 8);
CREATE INDEX facts_k ON facts USING brin (id, k) WITH (pages_per_range = 8);
CREATE INDEX facts_big ON facts USING brin (big int8_minmax_multi_ops) WITH (pages_per_range = 8);
CREATE INDEX facts_day ON facts USING brin (day) WITH (pages_per_range = 8);
CREATE INDEX facts_at ON facts USING brin (at) WITH (pages_per_range = 8);
CREATE INDEX facts_tz ON facts USING brin (tz) WITH (pages_per_range = 8);
CREATE INDEX facts_o ON facts USING brin (o) WITH (pages_per_range = 8);
CREATE INDEX facts_t ON facts USING brin (t) WITH (pages_per_range = 8);
-- 300 keys near each other, some of them NULL; the planner expects few partners
CREATE TABLE keys (LIKE facts) WITH (autovacuum_enabled = off);
INSERT INTO keys SELECT DISTINCT ON (k) * FROM facts WHERE id BETWEEN 15000 AND 16000 OR (k IS NULL AND id < 100);
VACUUM ANALYZE facts, keys;
\set ON_ERROR_STOP off

-- How many rows a query has, whether these are the same without filters, and whether blocks
-- are skipped
CREATE FUNCTION compare(query text, OUT rows bigint, OUT same boolean, OUT skips boolean) LANGUAGE plpgsql AS $$
DECLARE
	filtered text[];
	plain text[];
	setting text = current_setting('bloomfilter.join_filter');
BEGIN
	SELECT bool_or((n->>'Blocks Skipped')::int > 0) INTO skips FROM nodes(query) n;
	filtered := result_of(query);
	PERFORM set_config('bloomfilter.join_filter', 'off', false);
	plain := result_of(query);
	PERFORM set_config('bloomfilter.join_filter', setting, false);
	rows := cardinality(plain);
	same := filtered = plain;
END
$$;

-- ------------------------------------------------------------------------------ the plan
SET bloomfilter.join_filter = on;
SELECT plan_of('SELECT count(*) FROM facts JOIN keys USING (k)');
SELECT (n->>'Blocks Skipped')::int BETWEEN 100 AND 250 AS skipped, (n->>'Rows Probed')::int BETWEEN 900 AND 4000 AS probed
	FROM nodes('SELECT count(*) FROM facts JOIN keys USING (k)') n WHERE n ? 'Block Index';

-- ----------------------------------------------------------------------- types and joins
SET bloomfilter.join_filter = force;
SELECT name, c.* FROM (VALUES
	('int2', 'facts.s = keys.s'), ('int2, int8', 'facts.s = keys.big'), ('int4', 'facts.k = keys.k'),
	('int4, int2', 'facts.k = keys.s'), ('int8, int4', 'facts.big = keys.k'), ('date', 'facts.day = keys.day'),
	('timestamp', 'facts.at = keys.at'), ('timestamptz', 'facts.tz = keys.tz'), ('oid', 'facts.o = keys.o'),
	('text', 'facts.t = keys.t'), ('two columns', 'facts.k = keys.k AND facts.s = keys.s'),
	('the second of two', 'facts.x = keys.x AND facts.t = keys.t'),
	('an expression of two', 'facts.t = keys.t AND facts.s = keys.s + 0'),
	('an expression', 'facts.k + 0 = keys.k')) v (name, condition),
	LATERAL compare('SELECT facts.id, keys.id FROM facts JOIN keys ON ' || condition) c;
SELECT name, c.* FROM (VALUES
	('semi', 'SELECT id FROM facts WHERE k IN (SELECT k FROM keys)'),
	('anti', 'SELECT id FROM facts WHERE NOT EXISTS (SELECT 1 FROM keys WHERE k = facts.k)'),
	('left', 'SELECT facts.id, keys.id FROM facts LEFT JOIN keys USING (k)'),
	('right', 'SELECT facts.id, keys.id FROM facts RIGHT JOIN keys USING (k)'),
	('full', 'SELECT facts.id, keys.id FROM facts FULL JOIN keys USING (k)'),
	('right anti', 'SELECT id FROM keys WHERE NOT EXISTS (SELECT 1 FROM facts WHERE k = keys.k)'),
	('group', 'SELECT * FROM (SELECT k, count(*) FROM facts GROUP BY k) f JOIN keys USING (k)'),
	('sort', 'SELECT * FROM (SELECT id, k FROM facts ORDER BY k OFFSET 0) f JOIN keys USING (k)'),
	('a condition', 'SELECT facts.id FROM facts JOIN keys USING (k) WHERE facts.id % 2 = 0'),
	('two filters', 'SELECT facts.id FROM facts JOIN keys USING (k) JOIN (SELECT day FROM keys WHERE id < 15500) d ON d.day = facts.day'),
	('a join between', 'SELECT facts.id FROM facts JOIN keys a ON a.t = facts.t JOIN keys b ON b.k = facts.k'),
	('union', 'SELECT f.id FROM (SELECT id, k FROM facts UNION ALL SELECT id, big FROM facts) f JOIN keys USING (k)'),
	('limit', 'SELECT count(*) FROM (SELECT facts.id FROM facts JOIN keys USING (k) LIMIT 10) l')) v (name, query),
	LATERAL compare(query) c;

-- keys beyond the column's type, and none at all
SELECT * FROM compare('SELECT facts.id FROM facts JOIN (SELECT big + 10000000000 AS k FROM keys OFFSET 0) l ON l.k = facts.s');
SELECT * FROM compare('SELECT facts.id FROM facts JOIN (SELECT big * 1000000000000 AS k FROM keys WHERE id < 15100 OFFSET 0) l ON l.k = facts.k');
SELECT * FROM compare('SELECT facts.id FROM facts JOIN keys USING (k) WHERE keys.id < 0');
SELECT * FROM compare('SELECT facts.id FROM facts JOIN keys USING (k) WHERE keys.k IS NULL');
-- keys at both ends of the table
SELECT * FROM compare('SELECT facts.id FROM facts JOIN (SELECT k FROM facts WHERE id IN (10, 19990) OFFSET 0) l USING (k)');

-- keys in several places
SELECT * FROM compare('SELECT facts.id FROM facts JOIN (SELECT big * 1000 AS k FROM keys UNION ALL SELECT k FROM facts WHERE id % 4000 = 0) l USING (k)');
SELECT * FROM compare('SELECT facts.id FROM facts JOIN (SELECT k FROM facts WHERE id BETWEEN 100 AND 2000 OR id BETWEEN 16000 AND 16100 OR id > 19000) l USING (k)');
-- all over the table: it is read as a whole
SELECT * FROM compare('SELECT facts.id FROM facts JOIN (SELECT k FROM facts WHERE id % 50 = 0) l USING (k)');

-- ----------------------------------------------------------------- types that are hashed
\set ON_ERROR_STOP on
CREATE COLLATION blunt (provider = icu, locale = 'en-u-ks-level1', deterministic = false);
CREATE TYPE kind AS ENUM ('a', 'b', 'c');
-- all columns have the order of "id"
CREATE TABLE typed (id int, t text, v varchar(20), c char(20), b bytea, u uuid, n numeric, f4 float4, f8 float8,
		nm name, i inet, ci cidr, tm time, iv interval, en kind, de text COLLATE "C",
		nd text COLLATE blunt, lo text, js jsonb, ar int[])
	WITH (autovacuum_enabled = off, fillfactor = 50);
INSERT INTO typed
	SELECT id, x, x, x, x::bytea, overlay(md5(x) PLACING '000' || x FROM 1 FOR 8)::uuid,
		CASE WHEN id > 9990 THEN 'NaN' ELSE x::numeric / 7 END, x::float4, x::float8, x, '10.0.0.0'::inet + id,
		set_masklen(('10.0.0.0'::inet + id)::cidr, 32), time '00:00' + id * interval '1 second', id * interval '1 minute',
		CASE WHEN id < 30 THEN 'a'::kind END, x,
		CASE WHEN id % 2 = 0 THEN 'A' ELSE 'a' END || x, repeat('long', 100) || x, to_jsonb(id), ARRAY[id]
	FROM generate_series(1, 10000) id, LATERAL (SELECT to_char(id, 'FM00000') AS x OFFSET 0) x;
CREATE TABLE typed_keys (LIKE typed) WITH (autovacuum_enabled = off);
INSERT INTO typed_keys SELECT * FROM typed WHERE id BETWEEN 7000 AND 7100 OR id BETWEEN 9980 AND 10000 OR id IN (3, 20);
UPDATE typed_keys SET nd = lower(nd);
INSERT INTO typed_keys (id, t, n, f8) VALUES (0, NULL, 'Infinity', '-0'), (-1, '', '-Infinity', 'NaN');
VACUUM ANALYZE typed, typed_keys;
\set ON_ERROR_STOP off
-- indexes of all columns that have such a class
CREATE FUNCTION index_typed(method text, class text DEFAULT '', options text DEFAULT '') RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	name name;
	type text;
BEGIN
	FOR name, type IN SELECT attname, CASE typname WHEN 'varchar' THEN 'text' ELSE typname END
			FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid WHERE attrelid = 'typed'::regclass AND attnum > 1 LOOP
		EXECUTE format('DROP INDEX IF EXISTS of_%s', name);
		BEGIN
			EXECUTE format('CREATE INDEX of_%1$s ON typed USING %2$s (%1$s %3$s) %4$s', name, method, format(class, type), options);
		EXCEPTION WHEN undefined_object THEN
		END;
	END LOOP;
END
$$;
-- joins with keys in one place, and with few keys at both ends
CREATE FUNCTION compare_typed(OUT columns text, OUT rows bigint, OUT same boolean, OUT near boolean, OUT apart boolean)
	RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	more record;
	query text;
BEGIN
	FOREACH columns IN ARRAY ARRAY['t t', 'v v', 'v t', 'c c', 'b b', 'u u', 'n n', 'f4 f4', 'f4 f8', 'f8 f8', 'nm nm', 'i i', 'i ci',
			'ci i', 'tm tm', 'iv iv', 'en en', 'de de', 'nd nd', 'lo lo', 'js js', 'ar ar'] LOOP
		query := format('SELECT f.id, k.id FROM typed f JOIN (SELECT * FROM typed_keys WHERE %%s) k ON f.%s = k.%s',
				split_part(columns, ' ', 1), split_part(columns, ' ', 2));
		SELECT * FROM compare(format(query, 'id BETWEEN 7000 AND 7100')) c INTO rows, same, near;
		SELECT * FROM compare(format(query, 'id < 7000 OR id > 9990')) c INTO more;
		rows := rows + more.rows;
		same := same AND more.same;
		apart := more.skips;
		RETURN NEXT;
	END LOOP;
END
$$;
SET client_min_messages = warning;
SELECT index_typed('brin', '', 'WITH (pages_per_range = 8)');
SELECT * FROM compare_typed();
-- to search for each key, an index must be smaller
SELECT index_typed('brin', '', 'WITH (pages_per_range = 32)');
SELECT * FROM compare_typed() WHERE near OR apart OR NOT same;
SELECT index_typed('brin', '%s_minmax_multi_ops', 'WITH (pages_per_range = 32)');
SELECT * FROM compare_typed() WHERE near OR apart OR NOT same;
SELECT index_typed('brin', '%s_bloom_ops', 'WITH (pages_per_range = 64)');
SELECT * FROM compare_typed() WHERE near OR apart OR NOT same;
SELECT index_typed('btree');
SELECT * FROM compare_typed() WHERE near OR apart OR NOT same;
RESET client_min_messages;

-- other collations, and classes of another order
CREATE FUNCTION compare_texts(condition text DEFAULT 'f.t = k.t', OUT same boolean, OUT skips boolean) LANGUAGE sql AS $$
	SELECT same, skips FROM compare('SELECT f.id FROM typed f JOIN typed_keys k ON ' || condition || ' WHERE k.id > 9990')
$$;
DROP INDEX of_t;
CREATE INDEX other_t ON typed USING brin (t COLLATE "POSIX") WITH (pages_per_range = 8);
SELECT * FROM compare_texts();
SELECT * FROM compare_texts('f.t = k.t COLLATE "POSIX"');
DROP INDEX other_t;
CREATE INDEX other_t ON typed (t text_pattern_ops);
SELECT * FROM compare_texts();
DROP INDEX other_t;
CREATE INDEX other_t ON typed (t DESC);
SELECT * FROM compare_texts();
-- keys that are expressions, rows that are
SELECT * FROM compare_texts('f.t = lower(k.t)');
SELECT * FROM compare_texts('lower(f.t) = k.t');
-- too many keys to compare, when it is planned, and when they come
SET bloomfilter.join_filter = on;
CREATE TABLE texts WITH (fillfactor = 50) AS SELECT to_char(n, 'FM00000') AS t, 'filler' FROM generate_series(1, 40000) n;
CREATE INDEX ON texts USING brin (t) WITH (pages_per_range = 16);
CREATE TABLE many AS SELECT to_char(n, 'FM00000') AS t FROM generate_series(20000, 20099) n, generate_series(1, 200);
VACUUM ANALYZE texts, many;
CREATE FUNCTION search_texts(query text, OUT planned boolean, OUT skips boolean) LANGUAGE sql AS $$
	SELECT n ? 'Block Index', (n->>'Blocks Skipped')::int > 0 FROM nodes(query) n WHERE n ? 'Probe'
$$;
\set query 'SELECT count(*) FROM texts WHERE t IN (SELECT t FROM many)'
SET enable_hashagg = off;
SET enable_sort = off;
SELECT * FROM search_texts(:'query');
DELETE FROM many WHERE ctid NOT IN (SELECT min(ctid) FROM many GROUP BY t);
VACUUM ANALYZE many;
SELECT * FROM search_texts(:'query');
PREPARE prepared AS :query;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM search_texts('EXECUTE prepared');
INSERT INTO many SELECT many.t FROM many, generate_series(1, 200);
SELECT * FROM search_texts('EXECUTE prepared');
DEALLOCATE prepared;
RESET plan_cache_mode;
RESET enable_hashagg;
RESET enable_sort;
SET bloomfilter.join_filter = force;

-- a subquery that is executed again, and a cursor
SELECT * FROM compare('SELECT id, (SELECT count(*) FROM facts JOIN keys USING (k) WHERE facts.id < s.id) FROM generate_series(15000, 15003) s (id)');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT facts.id FROM facts JOIN keys USING (k);
FETCH 3 c;
FETCH BACKWARD 2 c;
MOVE FORWARD ALL c;
FETCH BACKWARD 2 c;
COMMIT;

-- the inner side reads only blocks with the keys of stored rows; let the planner hash it
CREATE TABLE few (LIKE keys);
INSERT INTO few SELECT * FROM keys;
VACUUM ANALYZE few;
UPDATE pg_statistic SET stawidth = 1000000 WHERE starelid = 'few'::regclass;
\set query 'SELECT few.id, facts.id FROM few LEFT JOIN facts USING (k)'
SELECT * FROM compare(:'query');
SELECT count(*) AS stored FROM nodes(:'query') n WHERE n ? 'Rows Stored';

-- the default setting, with a side that probes a membership index
CREATE TABLE listed AS SELECT id FROM keys WHERE k IS NOT NULL AND id < 15500;
CREATE INDEX ON listed USING membership (id);
VACUUM ANALYZE listed;
SET bloomfilter.join_filter = index;
SET bloomfilter.filter_scan = force;
SELECT * FROM compare('SELECT facts.id FROM facts JOIN keys USING (k) WHERE EXISTS (SELECT 1 FROM listed WHERE listed.id = keys.id)');
RESET bloomfilter.filter_scan;
SELECT * FROM compare('SELECT facts.id FROM facts JOIN keys USING (k)');
SET bloomfilter.join_filter = force;

-- ------------------------------------------------------------------- what changes rows
\set query 'SELECT facts.id FROM facts JOIN keys USING (k)'
-- rows that are not summarized are read
INSERT INTO facts (id, k) SELECT 20000 + i, 550 FROM generate_series(1, 2000) i;
SELECT * FROM compare(:'query');
SELECT brin_summarize_new_values('facts_k') > 0 AS summarized;
SELECT * FROM compare(:'query');
SELECT brin_desummarize_range('facts_k', 0);
SELECT brin_desummarize_range('facts_k', 80);
SELECT * FROM compare(:'query');
-- rows of this and other transactions, before and after they are rolled back
BEGIN;
UPDATE facts SET k = 555 WHERE id % 500 = 0;
SELECT * FROM compare(:'query');
SAVEPOINT s;
DELETE FROM facts WHERE id % 3 = 0;
UPDATE facts SET k = -5 WHERE k = 510;
SELECT rows, same FROM compare(:'query');
ROLLBACK TO s;
SELECT rows, same FROM compare(:'query');
ROLLBACK;
SELECT * FROM compare(:'query');
UPDATE facts SET k = 555 WHERE id % 700 = 0;
SELECT * FROM compare(:'query');
VACUUM facts;
SELECT * FROM compare(:'query');

-- ---------------------------------------------------------------------------- partitions
CREATE TABLE parts (id int, k int, day date) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (7000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (7000) TO (14000);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (14000) TO (30000);
INSERT INTO parts SELECT id, k, day FROM facts;
CREATE INDEX ON parts USING brin (k) WITH (pages_per_range = 8);
VACUUM ANALYZE parts;
SELECT * FROM compare('SELECT parts.id FROM parts JOIN keys USING (k)');
SELECT n->>'Relation Name' AS name, n->>'Block Index' AS index, (n->>'Blocks Skipped')::int > 0 AS skips
	FROM nodes('SELECT parts.id FROM parts JOIN keys USING (k)') n WHERE n ? 'Block Index' ORDER BY 1;

-- --------------------------------------------------------- indexes that tell not of all rows
CREATE TABLE other (LIKE facts) WITH (autovacuum_enabled = off, fillfactor = 50);
INSERT INTO other SELECT * FROM facts WHERE id <= 20000 AND id % 700 <> 0 ORDER BY id;
VACUUM ANALYZE other;
\set query 'SELECT other.id FROM other JOIN keys USING (k)'
CREATE INDEX partial ON other USING brin (k) WITH (pages_per_range = 8) WHERE id > 0;
SELECT * FROM compare(:'query');
DROP INDEX partial;
CREATE INDEX of_expression ON other USING brin ((k + 0)) WITH (pages_per_range = 8);
SELECT * FROM compare(:'query');
DROP INDEX of_expression;
CREATE INDEX small_ranges ON other USING brin (k) WITH (pages_per_range = 1);
SELECT * FROM compare(:'query');
DROP INDEX small_ranges;
CREATE INDEX of_hashes ON other USING brin (k int4_bloom_ops) WITH (pages_per_range = 8);
SELECT * FROM compare(:'query');
DROP INDEX of_hashes;
CREATE INDEX good ON other USING brin (k) WITH (pages_per_range = 8);
SELECT * FROM compare(:'query');
-- invalid, when it is planned and when it is executed
PREPARE prepared AS SELECT count(*) FROM other JOIN keys USING (k);
SET plan_cache_mode = force_generic_plan;
EXECUTE prepared;
CREATE FUNCTION skips() RETURNS boolean LANGUAGE sql AS $$
	SELECT bool_or((n->>'Blocks Skipped')::int > 0) FROM nodes('EXECUTE prepared') n
$$;
SELECT skips();
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'good'::regclass;
SELECT * FROM compare(:'query');
SELECT skips();
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'good'::regclass;
SELECT * FROM compare(:'query');
SELECT skips();
-- too new for the snapshot
BEGIN;
UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = 'good'::regclass;
SELECT * FROM compare(:'query');
SELECT skips();
ROLLBACK;
REINDEX INDEX good;
SELECT skips();
REINDEX INDEX CONCURRENTLY good;
SELECT skips();
-- rebuilt under an open cursor that sees values of before, from 16 on in the same HOT chains
BEGIN;
DECLARE c CURSOR FOR SELECT count(*) FROM other JOIN keys USING (k);
UPDATE other SET k = -900 WHERE k BETWEEN 400 AND 700;
REINDEX INDEX good;
FETCH c;
ROLLBACK;
-- dropped, also under an open cursor
BEGIN;
DECLARE c CURSOR FOR SELECT count(*) FROM other JOIN keys USING (k);
DROP INDEX good;
FETCH c;
COMMIT;
EXECUTE prepared;
SELECT skips();
DEALLOCATE prepared;
RESET plan_cache_mode;

-- ------------------------------------------------------------------------------- btrees
-- a table that follows the order of its column, in either direction, and one that does not
CREATE TABLE followed (LIKE facts) WITH (autovacuum_enabled = off);
INSERT INTO followed SELECT * FROM other ORDER BY k, id;
CREATE TABLE reversed (LIKE facts) WITH (autovacuum_enabled = off);
INSERT INTO reversed SELECT * FROM other ORDER BY k DESC, id;
CREATE TABLE scattered (LIKE facts) WITH (autovacuum_enabled = off);
INSERT INTO scattered SELECT * FROM other ORDER BY md5(id::text);
CREATE INDEX followed_k ON followed (k);
CREATE INDEX followed_at ON followed (at DESC, id);
CREATE INDEX followed_day ON followed (id, day);
CREATE INDEX reversed_k ON reversed (k);
CREATE INDEX scattered_k ON scattered (k);
VACUUM ANALYZE followed, reversed, scattered;
SELECT name, c.* FROM (VALUES ('followed', 'k'), ('followed', 'at'), ('followed', 'day'), ('reversed', 'k'), ('scattered', 'k')) v (name, col),
	LATERAL compare(format('SELECT f.id FROM %s f JOIN keys USING (%s)', name, col)) c;
-- with too many rows between the ends, by the statistics, or in spite of them
SELECT * FROM compare('SELECT f.id FROM followed f JOIN (SELECT k FROM other WHERE id BETWEEN 15000 AND 19000) l USING (k)');
INSERT INTO followed (id, k) SELECT 20000 + i, 520 FROM generate_series(1, 1000) i;
SELECT * FROM compare('SELECT f.id FROM followed f JOIN keys USING (k)');
INSERT INTO followed (id, k) SELECT 21000 + i, 520 FROM generate_series(1, 1000) i;
SELECT * FROM compare('SELECT f.id FROM followed f JOIN keys USING (k)');
-- a BRIN index is preferred
CREATE INDEX reversed_brin ON reversed USING brin (k) WITH (pages_per_range = 8);
SELECT n->>'Block Index' AS index FROM nodes('SELECT reversed.id FROM reversed JOIN keys USING (k)') n WHERE n ? 'Block Index';

-- -------------------------------------------------------------------------- where it may pay
SET bloomfilter.join_filter = on;
CREATE TABLE small AS SELECT * FROM facts WHERE id BETWEEN 14500 AND 20000 ORDER BY id;
CREATE INDEX ON small USING brin (k) WITH (pages_per_range = 8);
VACUUM ANALYZE small;
SELECT * FROM compare('SELECT small.id FROM small JOIN keys USING (k)');

-- ---------------------------------------------------------------------------- parallel scans
SET bloomfilter.join_filter = force;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT count(*) FROM nodes('SELECT facts.id FROM facts JOIN keys USING (k)') n WHERE (n->>'Workers Planned')::int > 0;
SELECT name, c.* FROM (VALUES
	('int4', 'SELECT facts.id FROM facts JOIN keys USING (k)'),
	('text', 'SELECT facts.id FROM facts JOIN keys USING (t)'),
	('stored', 'SELECT few.id, facts.id FROM few LEFT JOIN facts USING (t)'),
	('two filters', 'SELECT facts.id FROM facts JOIN keys USING (k) JOIN (SELECT day FROM keys WHERE id < 15500) d ON d.day = facts.day'),
	('no keys', 'SELECT facts.id FROM facts JOIN keys USING (t) WHERE keys.id < 0'),
	('count', 'SELECT count(*) FROM facts JOIN keys USING (t)'),
	('union', 'SELECT f.id FROM (SELECT id, k FROM facts UNION ALL SELECT id, k FROM other) f JOIN keys USING (k)'),
	('partitions', 'SELECT parts.id FROM parts JOIN keys USING (k)'),
	('again', 'SELECT g.s, (SELECT count(*) FROM facts JOIN keys USING (k) WHERE facts.id < g.s) FROM generate_series(15000, 15003) g (s)')) v (name, query),
	LATERAL compare(query) c;
SET enable_parallel_hash = off;
SELECT * FROM compare('SELECT facts.id FROM facts JOIN keys USING (k)');
SELECT * FROM compare('SELECT facts.id FROM facts JOIN keys USING (t)');
SET parallel_leader_participation = off;
SELECT * FROM compare('SELECT facts.id FROM facts JOIN keys USING (k)');
RESET parallel_leader_participation;
RESET enable_parallel_hash;
-- the join is above the Gather
SELECT * FROM compare('SELECT f.n FROM (SELECT k, count(*) AS n FROM facts GROUP BY k) f JOIN keys USING (k)');
SELECT * FROM compare('SELECT f.n FROM (SELECT t, count(*) AS n FROM facts GROUP BY t) f JOIN keys USING (t)');
SET max_parallel_workers_per_gather = 0;

-- -------------------------------------------------------------------------------- hidden rows
SET bloomfilter.join_filter = force;
CREATE ROLE regress_block_filter;
GRANT USAGE ON SCHEMA block_filter TO regress_block_filter;
GRANT SELECT ON ALL TABLES IN SCHEMA block_filter TO regress_block_filter;
ALTER TABLE keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON keys USING (id < 15500);
SET ROLE regress_block_filter;
SELECT * FROM compare('SELECT facts.id FROM facts JOIN keys USING (k)');
SELECT plan_of('SELECT facts.id FROM facts JOIN keys USING (k)') AS plan;
RESET ROLE;
ALTER TABLE keys DISABLE ROW LEVEL SECURITY;

DROP OWNED BY regress_block_filter;
DROP ROLE regress_block_filter;
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA block_filter CASCADE;
