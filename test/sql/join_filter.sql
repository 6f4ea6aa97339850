--
-- Join filters: a scan probes the membership index of a table that it is joined to,
-- and the query has the rows that it has without
--
\set ON_ERROR_STOP on
CREATE SCHEMA join_filter;
SET search_path = join_filter, public;
SET max_parallel_workers_per_gather = 0;
-- whatever it costs, and however few rows pass
SET bloomfilter.filter_scan = force;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file

-- What is probed for joins, sorted
CREATE FUNCTION probes_of(query text) RETURNS text
LANGUAGE sql AS $$
	SELECT string_agg(m[1], ', ' ORDER BY m[1])
	FROM plan_of(query) line, regexp_matches(line, '((?:\([\w, ]+\)|[\w:()\.]+) in index \w+)', 'g') m
	WHERE line ~ 'Probe:'
$$;

-- A query's probes, its rows, and whether these are the same without
CREATE FUNCTION compare(query text, OUT probes text, OUT rows bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	filtered text[];
	without text[];
BEGIN
	probes := probes_of(query);
	filtered := result_of(query);
	PERFORM set_config('bloomfilter.join_filter', 'off', false);
	IF probes_of(query) IS NOT NULL THEN
		RAISE WARNING 'a join filter where it is off';
	END IF;
	without := result_of(query);
	PERFORM set_config('bloomfilter.join_filter', 'index', false);
	rows := cardinality(filtered);
	same := filtered = without;
	IF NOT same THEN
		RAISE WARNING '% or %', filtered[:5], without[:5];
	END IF;
END
$$;

CREATE TABLE visits (id int, url text, k int) WITH (autovacuum_enabled = off);
INSERT INTO visits SELECT i, CASE WHEN i % 25 > 0 THEN 'host' || i % 1500 END, i FROM generate_series(1, 2000) i;
CREATE TABLE blacklist (url text, n bigint) WITH (autovacuum_enabled = off);
INSERT INTO blacklist SELECT 'host' || i, i FROM generate_series(1, 3000, 13) i;
INSERT INTO blacklist VALUES (NULL, NULL), ('host1', 1), ('host14', NULL), (NULL, 27);
CREATE INDEX b_url ON blacklist USING membership (url);
-- others, without an index of this kind
CREATE TABLE plain (id int, url text);
INSERT INTO plain SELECT i, 'host' || i FROM generate_series(1, 2000, 5) i;
ANALYZE visits, blacklist, plain;
\set ON_ERROR_STOP off

-- ---------------------------------------------------------------- joins
SELECT plan_of('SELECT * FROM visits v JOIN blacklist b USING (url) WHERE v.id > 3');
SELECT i, r.*
FROM (VALUES
	(1, 'visits v JOIN blacklist b ON v.url = b.url'),
	(2, 'visits JOIN blacklist USING (url)'),
	(3, 'visits NATURAL JOIN blacklist'),
	(4, 'visits v, blacklist b WHERE b.url = v.url AND b.n > 100 AND v.k > b.n'),
	(5, 'visits v WHERE EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)'),
	(6, 'visits v WHERE EXISTS (SELECT FROM blacklist b WHERE b.url = v.url AND b.n <> v.id)'),
	(7, 'visits v WHERE v.url IN (SELECT url FROM blacklist)'),
	(8, 'visits v WHERE v.url = ANY (SELECT url FROM blacklist WHERE n < 1000)'),
	(9, 'visits v WHERE (v.url, v.k) IN (SELECT url, n FROM blacklist)'),
	-- the side that may be missing
	(10, 'blacklist b LEFT JOIN visits v ON v.url = b.url'),
	(11, 'visits v RIGHT JOIN blacklist b USING (url)'),
	(12, 'blacklist b LEFT JOIN visits v ON v.url = b.url AND v.k > 100 AND b.n < 2000'),
	(13, 'blacklist b WHERE NOT EXISTS (SELECT FROM visits v WHERE v.url = b.url)'),
	(14, 'visits v LEFT JOIN blacklist b USING (url) WHERE b.n > 0'),
	-- the side that is preserved
	(20, 'visits v LEFT JOIN blacklist b ON v.url = b.url'),
	(21, 'visits v LEFT JOIN blacklist b ON v.url = b.url AND b.n > 1000'),
	(22, 'visits v LEFT JOIN blacklist b ON v.url = b.url WHERE b.url IS NULL'),
	(23, 'blacklist b RIGHT JOIN visits v ON v.url = b.url'),
	(24, 'visits v FULL JOIN blacklist b ON v.url = b.url'),
	(25, 'visits v WHERE NOT EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)'),
	(26, 'visits v WHERE v.url NOT IN (SELECT url FROM blacklist WHERE url IS NOT NULL)'),
	(27, 'visits v WHERE (v.url IN (SELECT url FROM blacklist)) IS NOT TRUE'),
	-- several
	(30, 'plain p LEFT JOIN (visits v JOIN blacklist b ON v.url = b.url) ON p.id = v.id'),
	(31, 'visits v LEFT JOIN plain p ON p.id = v.id JOIN blacklist b ON v.url = b.url'),
	(32, 'visits v LEFT JOIN (plain p JOIN blacklist b ON p.url = b.url) ON v.url = p.url'),
	(33, 'visits v LEFT JOIN (plain p LEFT JOIN blacklist b ON p.url = b.url) ON v.url = p.url'),
	(34, 'plain p LEFT JOIN visits v ON p.id = v.id LEFT JOIN blacklist b ON b.url = v.url'),
	(35, 'blacklist b LEFT JOIN plain p ON p.id = b.n LEFT JOIN visits v ON v.url = p.url'),
	(36, 'plain p LEFT JOIN blacklist b ON p.id = b.n LEFT JOIN visits v ON v.url = b.url'),
	(37, 'plain p LEFT JOIN blacklist b ON p.id = b.n JOIN visits v ON v.url = b.url'),
	(38, 'plain p LEFT JOIN blacklist b ON p.id = b.n JOIN visits v ON v.url = b.url OR b.url IS NULL AND v.id < 5'),
	(39, 'plain p FULL JOIN (visits v JOIN blacklist b ON v.url = b.url) ON p.id = v.id'),
	(40, 'visits v JOIN plain p USING (url) JOIN blacklist b USING (url)'),
	(41, 'visits v JOIN plain p ON v.url = p.url WHERE EXISTS (SELECT FROM blacklist b WHERE b.url = p.url)'),
	(42, 'visits v JOIN plain p ON v.id = p.id AND EXISTS (SELECT FROM blacklist b WHERE b.url = p.url)'),
	(43, 'visits v LEFT JOIN plain p ON v.id = p.id AND EXISTS (SELECT FROM blacklist b WHERE b.url = p.url)'),
	(44, 'visits v LEFT JOIN plain p ON v.id = p.id AND EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)'),
	(45, 'visits v WHERE NOT EXISTS (SELECT FROM plain p JOIN blacklist b USING (url) WHERE p.id = v.id)'),
	(46, 'visits v WHERE EXISTS (SELECT FROM plain p WHERE p.url = v.url AND NOT EXISTS (SELECT FROM blacklist b WHERE b.url = p.url))'),
	(47, 'visits a JOIN visits b ON a.id = b.id JOIN blacklist c ON c.url = b.url'),
	(48, 'blacklist a JOIN blacklist b USING (url)'),
	(49, 'visits v JOIN blacklist a USING (url) JOIN blacklist b ON v.url = b.url AND b.n = a.n'),
	-- subqueries, and what must see all rows
	(50, '(SELECT * FROM visits WHERE id < 1000) v JOIN blacklist b USING (url)'),
	(51, '(SELECT * FROM visits ORDER BY id LIMIT 100) v JOIN blacklist b USING (url)'),
	(52, '(SELECT *, row_number() OVER (ORDER BY id) FROM visits) v JOIN blacklist b USING (url)'),
	(53, '(SELECT DISTINCT ON (id % 100) * FROM visits ORDER BY id % 100, id) v JOIN blacklist b USING (url)'),
	(54, '(SELECT url, count(*) FROM visits GROUP BY url) v JOIN blacklist b USING (url)'),
	(55, '(SELECT max(id) AS m, min(url) AS url FROM visits) v JOIN blacklist b USING (url)'),
	(56, '(SELECT * FROM visits UNION ALL SELECT id, url, 0 FROM plain) v JOIN blacklist b USING (url)'),
	(57, 'visits v, LATERAL (SELECT * FROM blacklist b WHERE b.url = v.url) b'),
	(58, 'visits v, LATERAL (SELECT * FROM blacklist b WHERE b.url = v.url LIMIT 1) b'),
	(59, 'blacklist b, LATERAL (SELECT * FROM visits v WHERE v.url = b.url ORDER BY id LIMIT 1) v'),
	(60, 'visits v WHERE (SELECT count(*) FROM blacklist b WHERE b.url = v.url) = 0'),
	(61, 'visits v WHERE id = 7 OR EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)'),
	(62, 'blacklist b WHERE 3 > (SELECT count(*) FROM visits v WHERE v.url = b.url)'),
	-- other conditions
	(70, 'visits v JOIN blacklist b ON v.url = b.url OR v.k = b.n'),
	(71, 'visits v JOIN blacklist b ON v.url IS NOT DISTINCT FROM b.url'),
	(72, 'visits v JOIN blacklist b ON v.url < b.url AND v.id < 10'),
	(73, 'visits v JOIN blacklist b ON upper(v.url) = b.url'),
	(74, 'visits v JOIN blacklist b ON v.url = b.url || '''''),
	(75, 'visits v JOIN blacklist b ON v.url = coalesce(b.url, ''host2'')'),
	(76, 'visits v JOIN blacklist b ON v.url = b.url AND b.url = ''host14'''),
	(77, 'visits v JOIN blacklist b ON v.k = b.n'),
	(78, 'visits v JOIN blacklist b ON v.url COLLATE "C" = b.url'),
	(79, 'visits v JOIN blacklist b ON v.url = b.url WHERE false'),
	(80, 'visits v TABLESAMPLE bernoulli (100) JOIN blacklist b ON v.url = b.url'),
	(81, 'visits v JOIN blacklist b TABLESAMPLE bernoulli (100) ON v.url = b.url'),
	(82, '(SELECT v.*, b.n FROM visits v JOIN blacklist b USING (url) FOR UPDATE) q'),
	(83, '(SELECT b.ctid, v.ctid, v FROM visits v JOIN blacklist b USING (url) FOR UPDATE OF b) q')
) AS q (i, query), compare('SELECT * FROM ' || q.query) AS r
ORDER BY i;

-- ---------------------------------------------------------------- types
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN host AS text;
CREATE DOMAIN short AS smallint;
-- the types, and the value number i of each; that of the scan may be written
-- in another way
CREATE TABLE typed (i serial, scanned text, listed text, scanned_value text, listed_value text);
INSERT INTO typed (scanned, listed, scanned_value, listed_value) VALUES
	('int2', 'int2', 'i', 'i'), ('int2', 'int4', 'i', 'i'), ('int2', 'int8', 'i', 'i'),
	('int4', 'int2', 'i', 'i'), ('int4', 'int8', 'i - 500', 'i - 500'), ('int8', 'int2', 'i', 'i'), ('int8', 'int4', '-i', '-i'),
	('short', 'int8', 'i', 'i'), ('int4', 'short', 'i', 'i'),
	('float4', 'float8', 'i / 8.0', 'i / 8.0'), ('float8', 'float4', 'i / 8.0', 'i / 8.0'), ('float4', 'float8', 'i / 10.0', 'i / 10.0'),
	('float8', 'float8', '''-0''', '0'), ('float4', 'float8', '''NaN''', '''NaN'''),
	('numeric', 'numeric(10,3)', 'i / 8.0', 'i / 8.0'), ('numeric(10,5)', 'numeric', 'i', 'i'), ('numeric', 'int4', 'i', 'i'), ('int8', 'numeric', 'i', 'i'),
	('int4', 'float8', 'i', 'i'),
	('text', 'text', '''a'' || i', '''a'' || i'), ('varchar', 'text', '''a'' || i', '''a'' || i'), ('text', 'varchar(10)', '''a'' || i', '''a'' || i'),
	('varchar(20)', 'varchar(10)', '''a'' || i', '''a'' || i'), ('name', 'text', '''a'' || i', '''a'' || i'), ('varchar', 'name', '''a'' || i', '''a'' || i'),
	('host', 'text', '''a'' || i', '''a'' || i'), ('text', 'host', '''a'' || i', '''a'' || i'), ('host', 'varchar', '''a'' || i', '''a'' || i'),
	('text', 'text', '''a'' || i || '' ''', '''a'' || i'),
	('char(8)', 'char(8)', '''a'' || i', '''a'' || i'), ('char(8)', 'char(12)', '''a'' || i', '''a'' || i'), ('bpchar', 'char(12)', '''a'' || i || ''  ''', '''a'' || i'),
	('char(8)', 'text', '''a'' || i', '''a'' || i'), ('text', 'char(8)', '''a'' || i', '''a'' || i'), ('varchar(8)', 'char(8)', '''a'' || i', '''a'' || i'),
	('varchar(12)', 'char(8)', '''a'' || i || ''  ''', '''a'' || i'), ('char(8)', 'varchar(12)', '''a'' || i', '''a'' || i || ''  '''),
	('char(20)', 'name', '''a'' || i', '''a'' || i'), ('name', 'char(20)', '''a'' || i', '''a'' || i'),
	('"char"', '"char"', 'chr(32 + i % 64)', 'chr(32 + i % 32)'), ('text', '"char"', 'chr(33 + i % 64)', 'chr(33 + i % 32)'),
	('bytea', 'bytea', 'int4send(i)', 'int4send(i)'), ('bool', 'bool', 'i % 2 = 0', 'true'),
	('uuid', 'uuid', 'md5(i::text)::uuid', 'md5(i::text)::uuid'), ('oid', 'oid', 'i', 'i'), ('oid', 'int4', 'i', 'i'), ('int8', 'oid', 'i', 'i'), ('regtype', 'oid', 'i', 'i'), ('regtype', 'regtype', 'i', 'i'),
	('money', 'money', 'i', 'i'), ('macaddr', 'macaddr', 'macaddr8_set7bit((''08:00:2b:ff:fe:'' || to_char(i / 100, ''FM00'') || '':'' || to_char(i % 100, ''FM00'') || '':00'')::macaddr8)', 'macaddr8_set7bit((''08:00:2b:ff:fe:'' || to_char(i / 100, ''FM00'') || '':'' || to_char(i % 100, ''FM00'') || '':00'')::macaddr8)'),
	('date', 'date', '''2000-01-01''::date + i', '''2000-01-01''::date + i'), ('date', 'timestamp', '''2000-01-01''::date + i', '''2000-01-01''::date + i'), ('timestamptz', 'date', '''2000-01-01''::date + i', '''2000-01-01''::date + i'),
	('timestamp', 'timestamptz', '''2000-01-01''::date + i', '''2000-01-01''::date + i'), ('timestamptz', 'timestamptz', '''2000-01-01''::date + i', '''2000-01-01''::date + i'),
	('time', 'time', '''00:00''::time + i * interval ''1 second''', '''00:00''::time + i * interval ''1 second'''), ('timetz', 'timetz', '(''00:00''::time + i * interval ''1 second'')::timetz', '(''00:00''::time + i * interval ''1 second'')::timetz'),
	('interval', 'interval', 'make_interval(months => i)', 'make_interval(days => 30 * i)'),
	('bit(12)', 'bit(12)', 'i::bit(12)', 'i::bit(12)'), ('varbit', 'varbit', 'i::bit(12)', 'i::bit(12)'), ('bit(12)', 'varbit', 'i::bit(12)', 'i::bit(12)'),
	('inet', 'inet', '''10.0.0.0''::inet + i', '''10.0.0.0''::inet + i'), ('inet', 'cidr', '''10.0.0.0''::inet + i', '''10.0.0.0''::inet + i'), ('cidr', 'inet', '''10.0.0.0''::inet + i', '''10.0.0.0''::inet + i'), ('cidr', 'cidr', '''10.0.0.0''::inet + i', '''10.0.0.0''::inet + i'),
	('mood', 'mood', '(enum_range(NULL::mood))[1 + i % 3]', '''ok'''),
	('int4[]', 'int4[]', 'ARRAY[i, NULL]', 'ARRAY[i, NULL]'), ('text[]', 'text[]', 'ARRAY[i::text]', 'ARRAY[i::text]'), ('varchar[]', 'varchar[]', 'ARRAY[i::text]', 'ARRAY[i::text]'), ('char(3)[]', 'char(5)[]', 'ARRAY[(i % 900)::text, ''a '']', 'ARRAY[(i % 900)::text, ''a   '']'), ('mood[]', 'mood[]', 'ARRAY[(enum_range(NULL::mood))[1 + i % 3]]', '''{ok}'''),
	('int4range', 'int4range', 'int4range(i, i + 10, ''[]'')', 'int4range(i, i + 11)'), ('jsonb', 'jsonb', 'jsonb_build_object(''i'', i * 1.0)', 'jsonb_build_object(''i'', i)'), ('jsonb', 'jsonb', 'to_jsonb(i)', 'to_jsonb(i * 1.00)'),
	('blacklist', 'blacklist', 'ROW(i::text, i)', 'ROW(i::text, i)'), ('tid', 'tid', '''(0,1)''', '''(0,1)''');
CREATE FUNCTION compare_types(typed, OUT probed boolean, OUT rows bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE type_v (x %s)', $1.scanned);
	EXECUTE format('CREATE TABLE type_b (y %s)', $1.listed);
	EXECUTE format('INSERT INTO type_v SELECT (%s)::%s FROM generate_series(1, 1200) i', $1.scanned_value, $1.scanned);
	EXECUTE format('INSERT INTO type_b SELECT (%s)::%s FROM generate_series(7, 1200, 7) i', $1.listed_value, $1.listed);
	INSERT INTO type_v VALUES (NULL);
	INSERT INTO type_b VALUES (NULL);
	BEGIN
		CREATE INDEX type_b_y ON type_b USING membership (y);
		SELECT r.probes IS NOT NULL, r.rows, r.same INTO probed, rows, same
		FROM compare('SELECT * FROM type_v WHERE EXISTS (SELECT FROM type_b WHERE y = x)') r;
		IF same THEN
			SELECT r.same INTO same FROM compare('SELECT * FROM type_v JOIN type_b ON x = y') r;
		END IF;
	EXCEPTION
		WHEN undefined_function OR undefined_object THEN NULL;
	END;
	DROP TABLE type_v, type_b;
END
$$;
SELECT t.scanned, t.listed, r.* FROM typed t, compare_types(t) r ORDER BY i;

-- An operator of two types that are not hashed alike lets all rows through
BEGIN;
ALTER OPERATOR FAMILY date_ops USING membership ADD OPERATOR 1 = (date, timestamp);
CREATE TABLE dates (d date);
INSERT INTO dates SELECT '2000-01-01'::date + i FROM generate_series(1, 200, 3) i;
CREATE INDEX dates_d ON dates USING membership (d);
CREATE TABLE times (t timestamp);
INSERT INTO times SELECT '2000-01-01'::timestamp + i * interval '12 hours' FROM generate_series(1, 1000) i;
SELECT * FROM compare('SELECT * FROM times WHERE EXISTS (SELECT FROM dates WHERE d = t)');
SELECT * FROM compare('SELECT * FROM times JOIN dates ON t = d');
ROLLBACK;

-- Collations
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE collated_v (d text, c text COLLATE "C", nd text COLLATE blind);
INSERT INTO collated_v SELECT x, x, x FROM (SELECT CASE WHEN i % 2 = 0 THEN 'Host' ELSE 'host' END || i FROM generate_series(1, 500) i) AS t (x);
CREATE TABLE collated_b (d text, c text COLLATE "C", nd text COLLATE blind);
INSERT INTO collated_b SELECT x, x, x FROM (SELECT 'host' || i FROM generate_series(1, 500, 3) i) AS t (x);
CREATE INDEX collated_d ON collated_b USING membership (d);
CREATE INDEX collated_c ON collated_b USING membership (c);
CREATE INDEX collated_nd ON collated_b USING membership (nd);
CREATE INDEX collated_d_c ON collated_b USING membership (d COLLATE "C");
CREATE INDEX collated_c_nd ON collated_b USING membership (c COLLATE blind);
SELECT q.condition, r.*
FROM (VALUES ('v.d = b.d'), ('v.c = b.c'), ('v.nd = b.nd'), ('v.d = b.c COLLATE "default"'), ('v.d = b.c COLLATE "C"'),
	('v.d COLLATE "C" = b.d'), ('v.c COLLATE blind = b.c'), ('v.d COLLATE blind = b.nd'), ('v.nd COLLATE "C" = b.nd')) AS q (condition),
compare('SELECT * FROM collated_v v JOIN collated_b b ON ' || condition) r;

-- ---------------------------------------------------------------- indexes
CREATE TABLE indexed (url text, n bigint, more text) WITH (autovacuum_enabled = off);
INSERT INTO indexed SELECT url, n, url FROM blacklist;
CREATE INDEX indexed_partial ON indexed USING membership (url) WHERE n > 5;
CREATE INDEX indexed_expression ON indexed USING membership (lower(url));
CREATE INDEX indexed_two ON indexed USING membership (url, n);
CREATE INDEX indexed_btree ON indexed (url);
CREATE INDEX indexed_hash ON indexed USING hash (url);
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT * FROM compare('SELECT * FROM visits v JOIN indexed b USING (url)');
SELECT * FROM compare('SELECT * FROM visits v JOIN indexed b ON v.url = lower(b.url)');
CREATE INDEX indexed_url ON indexed USING membership (url);
SELECT * FROM compare('SELECT * FROM visits v JOIN indexed b USING (url)');
-- two keys, two indexes; and two for one key
CREATE INDEX indexed_n ON indexed USING membership (n);
SELECT * FROM compare('SELECT * FROM visits v JOIN indexed b ON v.url = b.url AND v.k = b.n');
SELECT * FROM compare('SELECT * FROM visits v JOIN indexed b USING (url) JOIN blacklist USING (url)');
CREATE INDEX indexed_again ON indexed USING membership (url) WITH (error_rate = 0.0001);
SELECT rows, same, array_length(string_to_array(probes, ','), 1) AS probed
FROM compare('SELECT * FROM visits v JOIN indexed b USING (url)');
DROP INDEX indexed_again;
-- together with a condition that probes
SELECT * FROM compare('SELECT * FROM visits v JOIN indexed b USING (url) WHERE membership_contains(''b_url'', v.url) AND v.id % 2 = 0');
SELECT plan_of('SELECT * FROM visits v JOIN indexed b USING (url) WHERE membership_contains(''b_url'', v.url) AND v.id % 2 = 0');
-- one that is not valid
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'indexed_url'::regclass;
SELECT * FROM compare('SELECT * FROM visits v JOIN indexed b USING (url)');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'indexed_url'::regclass;
RESET enable_nestloop;
RESET enable_mergejoin;
-- A plan is made anew when its index goes, and when one comes
PREPARE joined AS SELECT count(*) FROM visits v JOIN indexed b USING (url);
SET plan_cache_mode = force_generic_plan;
EXECUTE joined;
SELECT probes_of('EXECUTE joined');
DROP INDEX indexed_url;
EXECUTE joined;
SELECT probes_of('EXECUTE joined');
CREATE INDEX indexed_url ON indexed USING membership (url);
EXECUTE joined;
SELECT probes_of('EXECUTE joined');
ALTER INDEX indexed_url RENAME TO indexed_renamed;
REINDEX INDEX indexed_renamed;
EXECUTE joined;
REINDEX TABLE CONCURRENTLY indexed;
EXECUTE joined;
SELECT probes_of('EXECUTE joined');
TRUNCATE indexed;
EXECUTE joined;
INSERT INTO indexed SELECT * FROM blacklist;
EXECUTE joined;
ALTER TABLE indexed ALTER url TYPE varchar(100);
EXECUTE joined;
SELECT probes_of('EXECUTE joined');
ALTER TABLE indexed ALTER url TYPE char(20);
EXECUTE joined;
SELECT probes_of('EXECUTE joined');
RESET plan_cache_mode;
DEALLOCATE joined;

-- ---------------------------------------------------------------- inheritance, partitions
CREATE TABLE parent (LIKE blacklist);
CREATE INDEX parent_url ON parent USING membership (url);
INSERT INTO parent SELECT * FROM blacklist WHERE n % 2 = 0;
SELECT * FROM compare('SELECT * FROM visits JOIN parent USING (url)');
PREPARE joined AS SELECT count(*) FROM visits v JOIN parent b USING (url);
SET plan_cache_mode = force_generic_plan;
EXECUTE joined;
CREATE TABLE child () INHERITS (parent);
INSERT INTO child SELECT * FROM blacklist WHERE n % 2 = 1;
EXECUTE joined;
RESET plan_cache_mode;
SELECT * FROM compare('SELECT * FROM visits JOIN parent USING (url)');
SELECT * FROM compare('SELECT * FROM visits JOIN ONLY parent USING (url)');
SELECT * FROM compare('SELECT * FROM visits JOIN child USING (url)');

CREATE TABLE parted (id int, url text, k int) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (500);
CREATE TABLE parted_2 (k int, gone int, url text, id int);
ALTER TABLE parted_2 DROP gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (500) TO (1000);
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (1000) TO (MAXVALUE);
INSERT INTO parted SELECT * FROM visits;
CREATE INDEX parted_url ON parted USING membership (url);
-- (from 18 on, either side may be hashed)
SELECT regexp_replace(line, '^[ >-]*', '') AS scans FROM plan_of('SELECT * FROM parted v WHERE EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)') line
	WHERE line ~ 'Filter Scan|Probe' ORDER BY 1;
SELECT q.query, r.*
FROM (VALUES
	('parted v JOIN blacklist b USING (url)'),
	('parted v JOIN blacklist b USING (url) WHERE v.id < 700'),
	('blacklist b LEFT JOIN parted v USING (url)'),
	('parted v LEFT JOIN blacklist b USING (url)'),
	('parted v WHERE NOT EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)'),
	-- the index of a partitioned table is none to probe, that of a partition is
	('blacklist b JOIN parted v USING (url) WHERE EXISTS (SELECT FROM plain p WHERE p.url = b.url)'),
	('plain p JOIN parted_2 v USING (url)'),
	('plain p JOIN parted v USING (url)'),
	('parent a JOIN blacklist b USING (url)')
) AS q (query), compare('SELECT * FROM ' || q.query) AS r;
BEGIN;
SET LOCAL enable_partitionwise_join = on;
SELECT * FROM compare('SELECT * FROM parted a JOIN parted b ON a.id = b.id AND a.url = b.url JOIN blacklist c ON c.url = a.url');
COMMIT;

-- ---------------------------------------------------------------- changes
BEGIN;
SELECT probes_of('UPDATE visits v SET k = -1 FROM blacklist b WHERE b.url = v.url');
UPDATE visits v SET k = -1 FROM blacklist b WHERE b.url = v.url;
SELECT count(*) FROM visits WHERE k = -1;
SELECT probes_of('DELETE FROM visits v USING blacklist b WHERE b.url = v.url');
DELETE FROM visits v USING blacklist b WHERE b.url = v.url;
SELECT count(*) FROM visits;
ROLLBACK;
BEGIN;
UPDATE blacklist b SET url = 'host' || (v.id + 1) FROM visits v WHERE b.url = v.url AND b.n < 200;
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
ROLLBACK;
BEGIN;
SELECT probes_of('MERGE INTO visits v USING blacklist b ON v.url = b.url WHEN MATCHED THEN UPDATE SET k = -2');
MERGE INTO visits v USING blacklist b ON v.url = b.url AND b.n IS NOT NULL AND b.n <> 1
WHEN MATCHED AND v.id % 2 = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET k = -2
WHEN NOT MATCHED THEN INSERT VALUES (-1, b.url, -3);
SELECT k, count(*) FROM visits WHERE k < 0 GROUP BY k ORDER BY k;
ROLLBACK;
BEGIN;
SELECT probes_of('MERGE INTO blacklist b USING visits v ON v.url = b.url WHEN NOT MATCHED THEN INSERT VALUES (v.url, -1)');
MERGE INTO blacklist b USING visits v ON v.url = b.url AND b.n <> 1
WHEN NOT MATCHED AND v.url IS NOT NULL THEN INSERT VALUES (v.url, -1);
SELECT count(*) FROM blacklist;
ROLLBACK;

-- Own insertions, not committed yet
BEGIN;
SELECT count(*) FROM visits JOIN blacklist USING (url);
INSERT INTO blacklist VALUES ('host2');
SELECT count(*) FROM visits JOIN blacklist USING (url);
INSERT INTO blacklist SELECT 'host' || i FROM generate_series(3, 1500, 13) i;
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
SAVEPOINT s;
INSERT INTO blacklist SELECT 'host' || i FROM generate_series(4, 1500, 13) i;
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
ROLLBACK TO s;
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
INSERT INTO blacklist SELECT 'host' || i FROM generate_series(5, 1500, 13) i;
RELEASE s;
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
-- a cursor sees what it saw
DECLARE c CURSOR FOR SELECT count(*) FROM visits v JOIN blacklist b USING (url);
INSERT INTO blacklist SELECT url FROM visits;
FETCH ALL FROM c;
CLOSE c;
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
-- a command does not see its own
WITH added AS (INSERT INTO blacklist SELECT 'new' || i FROM generate_series(1, 100) i RETURNING url)
SELECT count(*) FROM added JOIN blacklist USING (url);
TRUNCATE blacklist;
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
INSERT INTO blacklist VALUES ('host9');
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
ROLLBACK;
-- a new table, of this transaction
BEGIN;
CREATE TABLE made AS SELECT * FROM blacklist;
CREATE INDEX made_url ON made USING membership (url);
INSERT INTO made VALUES ('host2');
SELECT * FROM compare('SELECT * FROM visits JOIN made USING (url)');
ROLLBACK;
-- seen by a trigger, and by functions of each volatility
CREATE FUNCTION joined_volatile() RETURNS bigint VOLATILE LANGUAGE plpgsql AS
	'BEGIN RETURN (SELECT count(*) FROM visits JOIN blacklist USING (url)); END';
CREATE FUNCTION joined_stable() RETURNS bigint STABLE LANGUAGE sql AS
	'SELECT count(*) FROM visits JOIN blacklist USING (url)';
BEGIN;
CREATE FUNCTION notice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % rows', joined_volatile(), joined_stable();
	RETURN NULL;
END
$$;
CREATE TRIGGER each_row AFTER INSERT ON blacklist FOR EACH ROW EXECUTE FUNCTION notice();
INSERT INTO blacklist VALUES ('host2'), ('host3');
SELECT joined_volatile(), joined_stable();
ROLLBACK;

-- ---------------------------------------------------------------- temporary tables, parallel
CREATE TEMP TABLE temporary AS SELECT * FROM blacklist;
CREATE INDEX temporary_url ON temporary USING membership (url);
SELECT * FROM compare('SELECT * FROM visits JOIN temporary USING (url)');
CREATE TABLE wide AS SELECT i AS id, 'host' || i AS url FROM generate_series(1, 20000) i;
ALTER TABLE wide SET (parallel_workers = 2);
ANALYZE wide, temporary, blacklist;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET bloomfilter.filter_scan = on;
SELECT regexp_replace(trim(line), 'Join .*|Loop.*', 'Join') AS line FROM plan_of('SELECT count(*) FROM wide JOIN blacklist USING (url)') line
WHERE line ~ 'Gather|Filter Scan|Probe';
SELECT * FROM compare('SELECT * FROM wide JOIN blacklist USING (url)');
BEGIN;
INSERT INTO blacklist SELECT 'host' || i FROM generate_series(2, 20000, 100) i;
SELECT * FROM compare('SELECT * FROM wide JOIN blacklist USING (url)');
ROLLBACK;
SELECT line FROM plan_of('SELECT count(*) FROM wide JOIN temporary USING (url)') line WHERE line ~ 'Parallel.*Filter Scan';
SELECT rows, same FROM compare('SELECT * FROM wide JOIN temporary USING (url)');
SET bloomfilter.filter_scan = force;
SELECT rows, same FROM compare('SELECT * FROM wide JOIN temporary USING (url)');
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;

-- ---------------------------------------------------------------- side effects
-- Volatile functions are called for the rows for which they are called without, and as many
-- rows are locked
CREATE TABLE strangers AS SELECT 'other' || n AS url, n FROM generate_series(1, 3) n;
CREATE INDEX strangers_url ON strangers USING membership (url);
ANALYZE strangers;
CREATE SEQUENCE calls;
CREATE FUNCTION called(x anyelement) RETURNS boolean VOLATILE LANGUAGE plpgsql AS
	'BEGIN PERFORM nextval(''join_filter.calls''); RETURN true; END';
CREATE FUNCTION effects_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	calls bigint;
BEGIN
	CREATE TABLE lockable AS SELECT id, k FROM visits WHERE id % 2 = 0;
	ANALYZE lockable;
	PERFORM setval('calls', 1, false);
	PERFORM result_of(query);
	calls := nextval('calls') - 1 + (SELECT count(*) FROM lockable WHERE xmax <> 0);
	RAISE EXCEPTION USING ERRCODE = 'TR000';
EXCEPTION WHEN SQLSTATE 'TR000' THEN
	RETURN calls;
END
$$;
CREATE FUNCTION compare_effects(query text, OUT effects bigint, OUT same_effects boolean) LANGUAGE plpgsql AS $$
BEGIN
	effects := effects_of(query);
	PERFORM set_config('bloomfilter.join_filter', 'off', false);
	same_effects := effects = effects_of(query);
	PERFORM set_config('bloomfilter.join_filter', 'index', false);
END
$$;
SELECT i, e.*
FROM (VALUES
	-- in a condition of the scan, of the other table, of a third one, of the join
	(1, 'SELECT v.* FROM visits v JOIN strangers u USING (url) WHERE called(v.id)'),
	(2, 'SELECT v.* FROM visits v JOIN strangers u USING (url) WHERE called(u.n)'),
	(3, 'SELECT v.* FROM visits v JOIN plain p USING (id) JOIN strangers u ON u.url = v.url WHERE called(p.id)'),
	(4, 'SELECT v.* FROM visits v JOIN plain p ON p.id = v.id AND called(p.id + v.id) WHERE v.url IN (SELECT url FROM strangers)'),
	(5, 'SELECT v.* FROM visits v JOIN LATERAL (SELECT called(v.id) OFFSET 0) c (x) ON true JOIN strangers u USING (url)'),
	-- in a subquery, with parameters and without
	(6, 'SELECT v.* FROM visits v JOIN strangers u USING (url) WHERE (SELECT called(p.id) FROM plain p WHERE p.id = v.id)'),
	(7, 'SELECT v.* FROM visits v JOIN strangers u USING (url) WHERE v.id > (SELECT count(*) FROM plain p WHERE called(p.id))'),
	(8, 'WITH c AS MATERIALIZED (SELECT id FROM plain WHERE called(id)) SELECT v.* FROM visits v JOIN c USING (id) JOIN strangers u USING (url)'),
	-- above the join
	(10, 'SELECT v.*, called(v.id) FROM visits v JOIN blacklist b USING (url)'),
	(11, 'SELECT called(count) FROM (SELECT v.url, count(*) FROM visits v JOIN blacklist b USING (url) GROUP BY 1) g'),
	-- locks of other rows, and of the result''s
	(20, 'SELECT v.* FROM visits v JOIN (SELECT id FROM lockable FOR UPDATE) l USING (id) JOIN strangers u USING (url)'),
	(21, 'SELECT v.* FROM visits v JOIN strangers u USING (url) WHERE v.id <> (SELECT id FROM lockable LIMIT 1 FOR SHARE)'),
	(22, 'SELECT l.* FROM lockable l JOIN blacklist b ON b.n = l.k FOR UPDATE OF l')) q (i, query),
	compare_effects(query) e
ORDER BY i;
CREATE INDEX b_n ON blacklist USING membership (n);
SELECT probes_of('SELECT v.*, called(v.id) FROM visits v JOIN blacklist b USING (url)'),
	probes_of('SELECT called(v.k) FROM visits v JOIN blacklist b ON b.n = v.k FOR UPDATE OF v');
DROP INDEX b_n;

-- ---------------------------------------------------------------- settings
SET bloomfilter.filter_scan = on;
SELECT probes_of('SELECT * FROM wide JOIN blacklist USING (url)');
-- too few rows
CREATE TABLE few AS SELECT * FROM wide LIMIT 100;
ANALYZE few;
SELECT probes_of('SELECT * FROM few JOIN blacklist USING (url)');
-- too many of them pass
CREATE TABLE hits AS SELECT url FROM blacklist, generate_series(1, 50);
ANALYZE hits;
SELECT probes_of('SELECT * FROM hits JOIN blacklist USING (url)');
SET bloomfilter.join_filter = off;
SELECT probes_of('SELECT * FROM wide JOIN blacklist USING (url)');
RESET bloomfilter.join_filter;
SET bloomfilter.filter_scan = off;
SELECT probes_of('SELECT * FROM wide JOIN blacklist USING (url)');
SET bloomfilter.join_filter = 'always';
SET bloomfilter.filter_scan = force;

-- A hash join that replaces a nested loop has all of its conditions.  The join with days
-- is on a date and a timestamp, which cannot be hashed, until moments are joined to events.
CREATE TABLE days AS SELECT date '2000-01-01' + i AS day, 50 AS level FROM generate_series(1, 20000) i;
CREATE TABLE moments AS SELECT timestamp '2000-01-01 13:00' + i * interval '1 day' AS at FROM generate_series(1, 20) i;
CREATE TABLE events AS SELECT timestamp '2000-01-01' + i % 2000 * interval '1 day' AS at, i % 20000 AS k, i / 2000 * 2 AS level
	FROM generate_series(1, 100000) i;
CREATE TABLE long_list AS SELECT i * 10 AS k FROM generate_series(1, 100000) i;
CREATE INDEX ON long_list USING membership (k);
CREATE INDEX ON long_list (k);
VACUUM ANALYZE days, moments, events, long_list;
SET enable_mergejoin = off;
SET bloomfilter.filter_scan = on;
SELECT * FROM compare($$SELECT events.* FROM days, moments, events, long_list WHERE days.day = events.at
	AND date_trunc('day', moments.at) = events.at AND days.level <= events.level AND events.k = long_list.k$$);
SET bloomfilter.filter_scan = force;
RESET enable_mergejoin;

-- ---------------------------------------------------------------- who may know
CREATE ROLE regress_join_user;
GRANT USAGE ON SCHEMA join_filter TO regress_join_user;
GRANT SELECT ON visits, blacklist, parted, plain TO regress_join_user;
CREATE VIEW visits_view AS SELECT * FROM visits WHERE k > 0;
CREATE VIEW blacklist_view AS SELECT * FROM blacklist WHERE n > 0;
CREATE VIEW visits_barrier WITH (security_barrier) AS SELECT * FROM visits WHERE k > 0;
CREATE VIEW blacklist_barrier WITH (security_barrier) AS SELECT * FROM blacklist WHERE n > 0;
CREATE TABLE unseen AS SELECT * FROM blacklist;
CREATE INDEX unseen_url ON unseen USING membership (url);
CREATE VIEW unseen_view AS SELECT * FROM unseen;
CREATE VIEW joined_view AS SELECT v.id, url, n FROM visits v JOIN unseen USING (url);
GRANT SELECT ON visits_view, blacklist_view, visits_barrier, blacklist_barrier, unseen_view, joined_view TO regress_join_user;
SET ROLE regress_join_user;
SELECT q.query, r.*
FROM (VALUES
	('visits_view JOIN blacklist_view USING (url)'),
	('visits_barrier JOIN blacklist_view USING (url)'),
	('visits_view JOIN blacklist_barrier USING (url)'),
	('visits JOIN unseen_view USING (url)'),
	('joined_view')
) AS q (query), compare('SELECT * FROM ' || q.query) AS r;
SELECT * FROM visits JOIN unseen USING (url);
RESET ROLE;
CREATE POLICY even ON blacklist USING (n % 2 = 0);
ALTER TABLE blacklist ENABLE ROW LEVEL SECURITY;
SET ROLE regress_join_user;
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist_view USING (url)');
SELECT * FROM compare('SELECT * FROM parted JOIN blacklist USING (url)');
RESET ROLE;
-- its owner is not concerned
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
ALTER TABLE blacklist DISABLE ROW LEVEL SECURITY;
CREATE POLICY even ON visits USING (id % 2 = 0);
CREATE POLICY even ON parted USING (id % 2 = 0);
ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
ALTER TABLE parted ENABLE ROW LEVEL SECURITY;
SET ROLE regress_join_user;
SELECT * FROM compare('SELECT * FROM visits JOIN blacklist USING (url)');
SELECT * FROM compare('SELECT * FROM parted JOIN blacklist USING (url)');
SELECT * FROM compare('SELECT * FROM blacklist LEFT JOIN parted USING (url)');
RESET ROLE;
ALTER TABLE parted DISABLE ROW LEVEL SECURITY;
ALTER TABLE visits DISABLE ROW LEVEL SECURITY;
-- without what was rolled back
REINDEX INDEX b_url;
-- nor do conditions of the user's see, by a filter that has run before them, what a
-- policy hides
CREATE FUNCTION seen(text) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
BEGIN
	IF $1 LIKE '%01' THEN
		RAISE NOTICE 'seen %', $1;
	END IF;
	RETURN true;
END
$$;
ALTER TABLE blacklist ENABLE ROW LEVEL SECURITY;
SET ROLE regress_join_user;
SELECT count(*) FROM visits v JOIN blacklist b USING (url) WHERE seen(v.url);
RESET ROLE;
ALTER TABLE blacklist DISABLE ROW LEVEL SECURITY;
SET ROLE regress_join_user;
SELECT count(*) FROM visits v JOIN blacklist b USING (url) WHERE seen(v.url);
RESET ROLE;

DROP OWNED BY regress_join_user;
DROP ROLE regress_join_user;
