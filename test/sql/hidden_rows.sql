--
-- EXPLAIN ANALYZE counts no rows that policies or security barriers hide. The plans of a user are the same whether the
-- hidden rows have what the user guesses or something else, if the server's own plans are.
--
-- no statistics of one run for the next
\set ON_ERROR_STOP on
SET plan_cache_mode = force_custom_plan;
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;
BEGIN;
CREATE ROLE regress_hidden_user;
-- as an administrator might mark them, who trusts the elements' types: then a probe comes before policies
ALTER FUNCTION bloom_contains LEAKPROOF;
ALTER FUNCTION cuckoo_contains LEAKPROOF;
ALTER FUNCTION membership_contains LEAKPROOF;
-- two databases, as it were, that differ in the hidden rows alone
CREATE FUNCTION fill(name text, hidden text, hidden_n int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE SCHEMA %I', name);
	PERFORM set_config('search_path', name || ', public', true);
	CREATE TABLE secret (id int, owner text, url text, n int);
	INSERT INTO secret SELECT i, CASE WHEN i % 10 = 0 THEN 'regress_hidden_user' ELSE 'root' END,
			CASE WHEN i % 10 = 0 THEN 'seen' || i % 7 WHEN i % 3 = 0 THEN 'other' ELSE hidden END,
			CASE WHEN i % 10 = 0 THEN i % 7 WHEN i % 3 = 0 THEN 99 ELSE hidden_n END
		FROM generate_series(1, 6000) i;
	CREATE TABLE plain AS SELECT * FROM secret;
	CREATE TABLE linked AS SELECT id, owner FROM secret WHERE id % 10 = 0;
	CREATE TABLE parted (id int, owner text, url text, n int) PARTITION BY RANGE (id);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (3000);
	CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (3000) TO (9000);
	INSERT INTO parted SELECT * FROM secret;
	CREATE TABLE parent (id int, owner text, url text, n int);
	CREATE TABLE child () INHERITS (parent);
	INSERT INTO child SELECT * FROM secret;
	CREATE TABLE own_probe AS SELECT * FROM secret;
	CREATE TABLE guesses (url text, n int);
	INSERT INTO guesses VALUES ('guess', 7), ('seen1', 1), ('seen2', 2);
	CREATE INDEX guesses_url ON guesses USING membership (url);
	CREATE TABLE visible (url text);
	INSERT INTO visible SELECT 'seen' || i FROM generate_series(0, 6) i;
	CREATE INDEX visible_url ON visible USING membership (url);
	CREATE TABLE filters AS SELECT bloom_agg(url) AS f, cuckoo_agg(url) AS c FROM guesses;
	ANALYZE guesses, filters, visible;
	CREATE POLICY own ON secret USING (owner = current_user);
	CREATE POLICY own ON parted USING (owner = current_user);
	CREATE POLICY own ON parent USING (owner = current_user);
	CREATE POLICY own ON own_probe USING (membership_contains('visible_url', url));
	ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
	ALTER TABLE parted ENABLE ROW LEVEL SECURITY;
	ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
	ALTER TABLE own_probe ENABLE ROW LEVEL SECURITY;
	CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM plain WHERE owner = current_user;
	CREATE VIEW above WITH (security_barrier) AS SELECT * FROM barrier;
	CREATE VIEW joined WITH (security_barrier) AS SELECT p.* FROM plain p JOIN linked l ON p.id = l.id;
	CREATE VIEW grouped WITH (security_barrier) AS SELECT url, owner, n, count(*) FROM plain GROUP BY url, owner, n HAVING owner = current_user;
	CREATE VIEW united WITH (security_barrier) AS
		SELECT * FROM plain WHERE owner = current_user UNION ALL SELECT * FROM plain WHERE owner = current_user AND n > 3;
	EXECUTE format('GRANT USAGE ON SCHEMA %I TO regress_hidden_user', name);
	EXECUTE format('GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO regress_hidden_user', name);
END
$$;
\set ON_ERROR_STOP off
SELECT fill('hit', 'guess', 7), fill('miss', 'wrong', 8);
SET LOCAL search_path = public;
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
CREATE FUNCTION analyzed(query text) RETURNS SETOF text
LANGUAGE sql AS $$
	SELECT plan_of(query, 'ANALYZE, VERBOSE, TIMING off, SUMMARY off, BUFFERS off')
$$;
-- What the user sees, without the schema's name
CREATE FUNCTION told(name text, scan text, join_filter text, query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	plan text;
BEGIN
	PERFORM set_config('search_path', name || ', public', true), set_config('bloomfilter.filter_scan', scan, true),
		set_config('bloomfilter.join_filter', join_filter, true), set_config('role', 'regress_hidden_user', true);
	SELECT string_agg(regexp_replace(line, '\m' || name || '\.', '', 'g'), E'\n') INTO plan FROM analyzed(query) line
	-- the planner's numbers, which are tested elsewhere
	WHERE line !~ 'Memory Usage';
	PERFORM set_config('role', 'none', true);
	RETURN regexp_replace(plan, '\(cost=\S+ rows=\d+ width=\d+\) ', '', 'g');
END
$$;
CREATE FUNCTION number_of(plan text, pattern text) RETURNS text LANGUAGE sql RETURN
	(SELECT string_agg(m[1], ' ') FROM regexp_matches(plan, pattern || ': (\d+)', 'g') m);
CREATE FUNCTION tells(query text, OUT nodes text, OUT removed text, OUT cores text, OUT same boolean, OUT cores_same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	hit text := told('hit', 'force', 'force', query);
	miss text := told('miss', 'force', 'force', query);
	core text := told('hit', 'off', 'off', query);
BEGIN
	nodes := (SELECT string_agg(m[1], ', ') FROM regexp_matches(hit, 'Custom Scan \((.*?)\)', 'g') m);
	removed := number_of(hit, 'Removed by (?:Filter|Probe)');
	cores := number_of(core, 'Removed by Filter');
	same := hit = miss;
	cores_same := core = told('miss', 'off', 'off', query);
	IF NOT same AND cores_same THEN
		RAISE WARNING E'hit:\n%\nmiss:\n%', hit, miss;
	END IF;
END
$$;
-- the numbers of rows removed are the server's
SELECT replace(relation, 'regress_', '') AS relation, condition, r.*
FROM unnest(ARRAY['secret', 'parted', 'parent', 'own_probe', 'barrier', 'above', 'joined', 'united']) WITH ORDINALITY AS relations (relation, i),
	unnest(ARRAY['bloom_contains((SELECT f FROM filters), url)', 'membership_contains(''guesses_url'', url)',
		'cuckoo_contains((SELECT c FROM filters), url) AND n < 2', 'bloom_contains((SELECT f FROM filters), url) LIMIT 1',
		'membership_contains(''guesses_url'', url) AND bloom_contains((SELECT f FROM filters), url) LIMIT 50 OFFSET 30',
		'url = ANY (ARRAY(SELECT g.url FROM guesses g)) AND n < 8', 'url <> ALL (ARRAY(SELECT g.url FROM guesses g)) LIMIT 3'])
	WITH ORDINALITY AS conditions (condition, j),
	LATERAL tells(format('SELECT id FROM %s WHERE %s', relation, condition)) r
ORDER BY i, j;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_nestloop = off;
-- keys of joins, of types whose "=" is leakproof; and indexes of joined tables
SELECT query, r.*
FROM unnest(ARRAY[
	'secret s JOIN guesses g USING (url)',
	'secret s JOIN guesses g USING (n)',
	'secret s JOIN guesses g USING (url, n)',
	'secret s JOIN guesses g ON upper(s.url) = upper(g.url)',
	'secret s WHERE EXISTS (SELECT FROM guesses g WHERE g.n = s.n)',
	'guesses g LEFT JOIN secret s USING (n)',
	'(SELECT n, count(*) FROM secret GROUP BY n) s JOIN guesses g USING (n)',
	'(SELECT n, id FROM secret ORDER BY id) s JOIN guesses g USING (n)',
	'(SELECT s.n FROM secret s JOIN linked l ON s.id = l.id) s JOIN guesses g USING (n)',
	'parted s JOIN guesses g USING (n)',
	'parent s JOIN guesses g USING (n)',
	'own_probe s JOIN guesses g USING (n)',
	'plain s JOIN (SELECT n FROM secret WHERE url = ''guess'') g USING (n)',
	'(WITH s AS MATERIALIZED (SELECT s.* FROM secret s JOIN guesses g USING (n)) SELECT * FROM s) s',
	'barrier s JOIN guesses g USING (n)',
	'above s JOIN guesses g USING (url)',
	'joined s JOIN guesses g USING (n)',
	'grouped s JOIN guesses g USING (n)',
	'united s JOIN guesses g USING (n)',
	'barrier s WHERE n IN (SELECT n FROM guesses)']) WITH ORDINALITY AS queries (query, i),
	LATERAL tells('SELECT 1 FROM ' || query) r
ORDER BY i;
-- of what is written
SELECT query, r.*
FROM unnest(ARRAY[
	'UPDATE secret SET id = id WHERE bloom_contains((SELECT f FROM filters), url)',
	'UPDATE barrier SET id = id WHERE membership_contains(''guesses_url'', url)',
	'DELETE FROM above WHERE membership_contains(''guesses_url'', url)',
	'UPDATE barrier b SET id = id FROM guesses g WHERE g.n = b.n',
	'DELETE FROM secret b USING guesses g WHERE g.n = b.n']) WITH ORDINALITY AS queries (query, i),
	LATERAL tells(query) r
ORDER BY i;
-- a superuser sees all rows, and is told what the probes did
SET LOCAL search_path = hit, public;
SET LOCAL bloomfilter.filter_scan = force;
SELECT regexp_replace(line, '\(Init.*\)\.col1|\$0', 'f') AS line
FROM (SELECT analyzed('SELECT count(*) FROM secret WHERE n < 99 AND bloom_contains((SELECT f FROM filters), url)') AS line) AS lines
WHERE line ~ 'Probe|Filter:|Removed';
ROLLBACK;
