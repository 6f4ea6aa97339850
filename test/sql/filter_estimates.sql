--
-- How many rows the planner expects to pass an index, or the filter that a subquery
-- reads: as many as do, for who may ask both; and nobody else learns anything
--
\set ON_ERROR_STOP on
CREATE SCHEMA filter_estimates;
SET search_path = filter_estimates, public;
SET max_parallel_workers_per_gather = 0;
-- large enough for ANALYZE to read every row, so that chance has no part
SET default_statistics_target = 1000;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
CREATE FUNCTION rows_of(query text) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO n;
	RETURN n;
END
$$;

CREATE TABLE visits (id int, url text, m int, sparse text) WITH (autovacuum_enabled = off);
INSERT INTO visits SELECT i, md5(i::text), i % 50, CASE WHEN i % 4 = 0 THEN md5(i::text) END FROM generate_series(1, 50000) i;
CREATE TABLE lists (share float8, url text) PARTITION BY LIST (share);
CREATE TABLE half PARTITION OF lists FOR VALUES IN (0.5) WITH (autovacuum_enabled = off);
CREATE TABLE twentieth PARTITION OF lists FOR VALUES IN (0.05) WITH (autovacuum_enabled = off);
CREATE TABLE thousandth PARTITION OF lists FOR VALUES IN (0.001) WITH (autovacuum_enabled = off);
CREATE TABLE none PARTITION OF lists FOR VALUES IN (0) WITH (autovacuum_enabled = off);
INSERT INTO lists SELECT share, md5(i::text) FROM unnest(ARRAY[0.5, 0.05, 0.001]) share, generate_series(1, 50000) i WHERE i <= 50000 * share;
INSERT INTO lists SELECT 0, md5('x' || i) FROM generate_series(1, 50000) i;
CREATE INDEX lists_url ON lists USING membership (url) WITH (error_rate = 0.0001);
CREATE TABLE numbers (n int);
INSERT INTO numbers SELECT generate_series(0, 9);
CREATE INDEX numbers_n ON numbers USING membership (n) WITH (error_rate = 0.0001);
CREATE TABLE filters (name text PRIMARY KEY, f bloom, c cuckoo);
INSERT INTO filters SELECT share::text, bloom_agg(url, NULL, 0.0001), cuckoo_agg(url) FROM lists GROUP BY share;
ANALYZE visits, lists, numbers, filters;
\set ON_ERROR_STOP off

-- ---------------------------------------------------------------- of indexes
SELECT name, expected_rows(query) / rows_of(query) BETWEEN 0.5 AND 2 AS within_factor_2
FROM unnest(ARRAY['half', 'twentieth', 'thousandth', 'lists']) name,
	format('SELECT * FROM visits WHERE membership_contains(%L, url)', name || '_url' || CASE WHEN name <> 'lists' THEN '_idx' ELSE '' END) query;
SELECT expected_rows('SELECT * FROM visits WHERE membership_contains(''none_url_idx'', url)') < 500 AS none,
	-- common values are looked up one by one
	expected_rows('SELECT * FROM visits WHERE membership_contains(''numbers_n'', m)') BETWEEN 9500 AND 10500 AS fifth,
	-- NULLs do not pass
	expected_rows('SELECT * FROM visits WHERE membership_contains(''half_url_idx'', sparse)') BETWEEN 5000 AND 8000 AS eighth,
	expected_rows('SELECT * FROM visits WHERE NOT membership_contains(''half_url_idx'', url)') BETWEEN 20000 AND 30000 AS other_half;
-- what is not known is a tenth
SELECT query, expected_rows('SELECT * FROM visits WHERE ' || query)
FROM unnest(ARRAY[
	'membership_contains(''half_url_idx'', lower(url))',
	'membership_contains(''half_url_idx'', m)',
	'membership_contains(0, url)',
	'membership_contains(''visits'', url)',
	'membership_contains((SELECT ''half_url_idx''::regclass OFFSET 0), url)',
	'membership_contains_any(''half_url_idx'', ARRAY[url])']) AS query;
SELECT expected_rows('SELECT * FROM visits WHERE membership_contains(NULL, url)');
PREPARE ask(regclass) AS SELECT * FROM visits WHERE membership_contains($1, url);
SET plan_cache_mode = force_generic_plan;
SELECT expected_rows('EXECUTE ask(''half_url_idx'')');
SET plan_cache_mode = force_custom_plan;
SELECT expected_rows('EXECUTE ask(''half_url_idx'')') BETWEEN 20000 AND 30000 AS half;
RESET plan_cache_mode;
-- of a table without statistics, too
CREATE TABLE fresh (url text) WITH (autovacuum_enabled = off);
INSERT INTO fresh SELECT url FROM visits;
SELECT expected_rows('SELECT * FROM fresh WHERE membership_contains(''half_url_idx'', url)')
	/ expected_rows('SELECT * FROM fresh') BETWEEN 0.09 AND 0.11 AS tenth;

-- ---------------------------------------------------------------- of filters in tables
SELECT condition, name, expected_rows(query) / rows_of(query) BETWEEN 0.5 AND 2 AS within_factor_2
FROM unnest(ARRAY['0.5', '0.05', '0.001']) name,
	unnest(ARRAY['bloom_contains((SELECT f FROM filters WHERE name = %L), url)',
				 '(SELECT f FROM filters WHERE name = %L) @> url',
				 'url <@ (SELECT f FROM filters WHERE name = %L)',
				 '(SELECT c FROM filters WHERE name = %L) @> url']) condition,
	format('SELECT * FROM visits WHERE ' || condition, name) query
WHERE NOT (condition LIKE '%c FROM%' AND name = '0.001')
ORDER BY condition, name;
SELECT expected_rows('SELECT * FROM visits WHERE bloom_contains((SELECT f FROM filters WHERE name = ''0''), url)') < 500 AS none;
-- of a parameter that is known
PREPARE ask_filter(text) AS SELECT * FROM visits WHERE bloom_contains((SELECT f FROM filters WHERE name = $1), url);
SET plan_cache_mode = force_custom_plan;
SELECT expected_rows('EXECUTE ask_filter(''0.5'')') BETWEEN 20000 AND 30000 AS half;
SET plan_cache_mode = force_generic_plan;
SELECT expected_rows('EXECUTE ask_filter(''0.5'')') AS tenth;
RESET plan_cache_mode;
-- not what planning cannot know, or would take too long to
CREATE FUNCTION named(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE VIEW filters_view AS SELECT * FROM filters;
CREATE TABLE many_filters AS SELECT i::text AS name, f, repeat(md5(i::text), 20) AS padding
FROM generate_series(1, 3000) i LEFT JOIN filters ON name = '0.001' AND i = 7;
INSERT INTO filters VALUES ('null', NULL, NULL);
SELECT query, expected_rows(format('SELECT * FROM visits WHERE bloom_contains((SELECT f FROM %s), url)', query))
FROM unnest(ARRAY[
	'filters WHERE name = ''no such filter''',
	'filters WHERE name LIKE ''0%''',
	'filters WHERE name <> ''0.5''',
	'filters WHERE name = named(''0.5'')',
	'filters WHERE named(name) = ''0.5''',
	'filters WHERE name = ''0.5'' LIMIT 1',
	'filters WHERE name = ''0.5'' FOR UPDATE',
	'filters a JOIN filters_view b USING (name, f) WHERE name = ''0.5''',
	'filters TABLESAMPLE system (100) WHERE name = ''0.5''',
	'filters_view WHERE name = ''0.5''',
	'many_filters WHERE name = ''7''']) AS query;
SELECT expected_rows('SELECT * FROM visits WHERE bloom_contains((SELECT f FROM filters WHERE name = ''null''), url)') <= 1 AS null_filter;
DELETE FROM filters WHERE name = 'null';
-- a row that the transaction has made
BEGIN;
INSERT INTO filters SELECT 'mine', bloom_agg(url) FROM half;
SELECT expected_rows('SELECT * FROM visits WHERE bloom_contains((SELECT f FROM filters WHERE name = ''mine''), url)') BETWEEN 20000 AND 30000 AS half;
ROLLBACK;

-- ---------------------------------------------------------------- of joins
CREATE FUNCTION filtered_rows(query text) RETURNS float8
LANGUAGE sql AS $$
	SELECT (regexp_match(string_agg(line, E'\n'), 'Filter Scan"[^{}]*"visits"[^{}]*"Plan Rows": (\d+)'))[1]::float8
	FROM plan_of(query, 'FORMAT json') line
$$;
SET bloomfilter.filter_scan = force;
SELECT filtered_rows('SELECT * FROM visits JOIN half USING (url)') BETWEEN 20000 AND 30000 AS half,
	filtered_rows('SELECT * FROM visits JOIN thousandth USING (url)') BETWEEN 25 AND 100 AS thousandth,
	filtered_rows('SELECT * FROM visits WHERE EXISTS (SELECT FROM none WHERE none.url = visits.url)') < 500 AS none,
	filtered_rows('SELECT * FROM visits JOIN thousandth USING (url) WHERE membership_contains(''half_url_idx'', url)') <= 100 AS both;


-- Of two lists for one column, only the one that fewer rows pass counts
CREATE TABLE again WITH (autovacuum_enabled = off) AS SELECT url FROM twentieth;
CREATE INDEX again_url ON again USING membership (url) WITH (error_rate = 0.0001);
ANALYZE again;
SELECT filtered_rows('SELECT * FROM visits JOIN twentieth USING (url) JOIN again USING (url)') BETWEEN 1250 AND 5000 AS two_lists,
	filtered_rows('SELECT * FROM visits JOIN again USING (url) WHERE membership_contains(''twentieth_url_idx'', url)') BETWEEN 1250 AND 5000 AS condition_and_list,
	-- of two columns, both do
	filtered_rows('SELECT * FROM visits JOIN half USING (url) JOIN numbers ON m = n') BETWEEN 3000 AND 7500 AS two_columns;
-- No statistics tell which pairs of values an index has: some rows of a large table do
CREATE TABLE pairs (share float8, m int, url text) PARTITION BY LIST (share);
CREATE TABLE pairs_half PARTITION OF pairs FOR VALUES IN (0.5) WITH (autovacuum_enabled = off);
CREATE TABLE pairs_hundredth PARTITION OF pairs FOR VALUES IN (0.01) WITH (autovacuum_enabled = off);
INSERT INTO pairs SELECT share, CASE WHEN id % 100 < 100 * share THEN m ELSE m + 50 END, url
	FROM visits, unnest(ARRAY[0.5, 0.01]) share WHERE id % 4 < 2;
CREATE INDEX pairs_two ON pairs USING membership (m, url) WITH (error_rate = 0.0001);
ANALYZE pairs;
SELECT filtered_rows('SELECT * FROM visits JOIN pairs_half USING (url, m)') BETWEEN 8000 AND 17000 AS quarter,
	filtered_rows('SELECT * FROM visits JOIN pairs_hundredth USING (url, m)') < 3000 AS hundredth,
	-- by the numbers of pairs alone
	filtered_rows('SELECT * FROM visits JOIN pairs_hundredth l ON l.url = visits.url AND l.m = visits.m + 0') BETWEEN 20000 AND 30000 AS expression,
	filtered_rows('SELECT * FROM visits JOIN pairs_hundredth USING (url, m) WHERE id < 20000') BETWEEN 8000 AND 12000 AS few_rows,
	-- one by a constant
	filtered_rows('SELECT * FROM visits JOIN pairs_half USING (url) WHERE pairs_half.m = 3') < 3000 AS constant;
-- rows of one page are alike: a list of the newest, which one page in twenty has
CREATE TABLE newest WITH (autovacuum_enabled = off) AS SELECT m, url FROM visits WHERE id > 47500;
CREATE INDEX newest_two ON newest USING membership (m, url) WITH (error_rate = 0.0001);
-- a key too long to be hashed while planning
CREATE TABLE long WITH (autovacuum_enabled = off) AS SELECT m, repeat(url, 40) AS url FROM visits;
CREATE TABLE long_list WITH (autovacuum_enabled = off) AS SELECT m + 50 AS m, url FROM long LIMIT 20000;
CREATE INDEX long_two ON long_list USING membership (m, url) WITH (error_rate = 0.0001);
ANALYZE newest, long, long_list;
SELECT filtered_rows('SELECT * FROM visits JOIN newest USING (url, m)') BETWEEN 1250 AND 5000 AS newest,
	-- by the numbers of pairs
	filtered_rows('SELECT * FROM long visits JOIN long_list USING (url, m)') BETWEEN 15000 AND 25000 AS long;
DROP TABLE pairs, newest, long, long_list;
-- A table that has grown since ANALYZE: some of its rows tell that the new ones pass
CREATE TABLE grown (url text) WITH (autovacuum_enabled = off);
INSERT INTO grown SELECT md5('x' || i) FROM generate_series(1, 4000) i;
ANALYZE grown;
INSERT INTO grown SELECT md5((i % 20000)::text) FROM generate_series(1, 36000) i;
SELECT filtered_rows('SELECT * FROM grown visits JOIN half USING (url)') BETWEEN 20000 AND 45000 AS most;
RESET bloomfilter.filter_scan;
SELECT line FROM plan_of('SELECT * FROM grown JOIN half USING (url)') line WHERE line LIKE '%index half%';
-- too small for a sample: the probe pauses
DELETE FROM grown WHERE ctid > '(200,0)';
VACUUM grown;
SELECT nodes ->> 'Probe Pauses' AS pauses, nodes ->> 'Rows Not Probed' AS not_probed, (nodes ->> 'Actual Rows')::numeric::int AS rows
FROM nodes('SELECT * FROM grown JOIN half USING (url)') WHERE nodes ->> 'Relation Name' = 'grown';
DROP TABLE grown;

-- ---------------------------------------------------------------- of the joins' results
-- Core expects each row of a list to have a partner.  Here that is true of few.
CREATE TABLE mixed (n int, url text) WITH (autovacuum_enabled = off);
INSERT INTO mixed SELECT i % 4, CASE WHEN i % 47 = 0 THEN md5(i::text) ELSE md5('y' || i) END FROM generate_series(1, 40000) i;
CREATE INDEX mixed_url ON mixed USING membership (url) WITH (error_rate = 0.0001);
ANALYZE mixed;
CREATE TABLE visits_parted (id int, url text) PARTITION BY HASH (id);
CREATE TABLE visits_parted_0 PARTITION OF visits_parted FOR VALUES WITH (modulus 2, remainder 0) WITH (autovacuum_enabled = off);
CREATE TABLE visits_parted_1 PARTITION OF visits_parted FOR VALUES WITH (modulus 2, remainder 1) WITH (autovacuum_enabled = off);
INSERT INTO visits_parted SELECT id, url FROM visits;
ANALYZE visits_parted;
CREATE FUNCTION with_and_without(query text, OUT within_factor_3 boolean, OUT without_filter boolean)
LANGUAGE plpgsql AS $$
DECLARE
	rows float8 = rows_of(query);
BEGIN
	within_factor_3 = expected_rows(query) BETWEEN rows / 3 AND rows * 3;
	PERFORM set_config('bloomfilter.join_filter', 'off', true);
	without_filter = expected_rows(query) BETWEEN rows / 3 AND rows * 3;
	PERFORM set_config('bloomfilter.join_filter', 'index', true);
END
$$;
SELECT query, r.*
FROM unnest(ARRAY[
	'SELECT v.url FROM visits v JOIN mixed USING (url)',
	'SELECT v.url FROM mixed JOIN visits v USING (url)',
	'SELECT v.url FROM visits v JOIN mixed USING (url) WHERE mixed.n = 2',
	'SELECT v.url FROM visits v JOIN mixed USING (url) WHERE v.m < 25',
	'SELECT v.url FROM visits v WHERE EXISTS (SELECT FROM mixed WHERE mixed.url = v.url)',
	'SELECT v.url FROM visits v WHERE url IN (SELECT url FROM mixed JOIN numbers USING (n))',
	'SELECT v.url FROM numbers LEFT JOIN (visits v JOIN mixed USING (url)) ON v.m = numbers.n',
	'SELECT v.url FROM numbers CROSS JOIN visits v JOIN mixed USING (url)',
	'SELECT v.url FROM (SELECT * FROM numbers LIMIT 2) l LEFT JOIN visits v ON v.m = l.n JOIN mixed USING (url)',
	'SELECT v.url FROM visits_parted v JOIN mixed USING (url)',
	-- an estimate that was right stays
	'SELECT v.url FROM visits v JOIN twentieth USING (url)',
	'SELECT v.url FROM mixed LEFT JOIN visits v USING (url)',
	'SELECT v.url FROM visits v LEFT JOIN mixed USING (url)']) WITH ORDINALITY AS q (query, i),
	with_and_without(query) r ORDER BY i;
-- A constant of a key of two columns counts once
CREATE TABLE areas WITH (autovacuum_enabled = off) AS SELECT i % 20 AS area, i % 2 AS kind, md5(i::text) AS url FROM generate_series(1, 10000) i;
CREATE INDEX areas_two ON areas USING membership (url, area);
ANALYZE areas;
SELECT query, r.*
FROM unnest(ARRAY[
	'SELECT v.url FROM visits v JOIN areas USING (url) WHERE area = 3',
	'SELECT v.url FROM visits v JOIN areas USING (url) WHERE area = 3 AND kind = 1',
	'SELECT v.url FROM visits v WHERE EXISTS (SELECT FROM areas a WHERE a.url = v.url AND area = 3)']) WITH ORDINALITY AS q (query, i),
	with_and_without(query) r ORDER BY i;
DROP TABLE areas;
-- An anti join returns at least the rows that have no partner, whatever core expects
CREATE TABLE strange WITH (autovacuum_enabled = off) AS SELECT md5('z' || i) AS url FROM generate_series(1, 60000) i;
CREATE INDEX strange_url ON strange USING membership (url);
ANALYZE strange;
SELECT query, r.*
FROM unnest(ARRAY[
	'SELECT v.url FROM visits v WHERE NOT EXISTS (SELECT FROM strange s WHERE s.url = v.url)',
	'SELECT v.url FROM strange v WHERE NOT EXISTS (SELECT FROM half h WHERE h.url = v.url)']) WITH ORDINALITY AS q (query, i),
	with_and_without(query) r ORDER BY i;
DROP TABLE strange;
-- The shares of several lists for one column are not multiplied
SELECT expected_rows(query) >= rows_of(query) / 3 AS not_too_few
FROM unnest(ARRAY[
	'SELECT v.url FROM mixed JOIN visits v USING (url) JOIN half USING (url)',
	'SELECT v.url FROM twentieth JOIN visits v USING (url) JOIN again USING (url)',
	'SELECT v.url FROM visits v JOIN mixed USING (url) WHERE EXISTS (SELECT FROM twentieth WHERE twentieth.url = v.url)']) AS query;

-- ---------------------------------------------------------------- plans
CREATE FUNCTION plan_has(query text, node text) RETURNS boolean
LANGUAGE sql AS $$
	SELECT bool_or(line LIKE '%"' || node || '%') FROM plan_of(query, 'FORMAT json') line
$$;
CREATE INDEX visits_id ON visits (id);
-- No nested loop compares all rows that pass a filter, however cheap the first seems to be
SELECT plan_has(query, 'Filter Scan') AS filtered, plan_has(query, 'Nested Loop') AS nested_loop
FROM unnest(ARRAY[
	'SELECT * FROM visits JOIN mixed USING (url) LIMIT 1',
	'SELECT * FROM visits_parted JOIN mixed USING (url) LIMIT 1']) AS query;
-- nor all rows of a join above it
CREATE TABLE clicks WITH (autovacuum_enabled = off) AS SELECT i AS id, (i * 7919::bigint % 50000)::int AS visit FROM generate_series(1, 100000) i;
CREATE INDEX clicks_visit ON clicks (visit);
CREATE INDEX visits_lower ON visits USING membership (lower(url));
ANALYZE clicks, visits;
SET random_page_cost = 1.1;
SELECT plan_has(query, 'Filter Scan') AS filtered, plan_has(query, 'Materialize') AS compares
FROM unnest(ARRAY[
	'SELECT v.id FROM visits v JOIN mixed ON lower(v.url) = mixed.url JOIN clicks c ON v.id = c.visit WHERE c.id < 1000 ORDER BY v.id DESC LIMIT 1']) AS query;
RESET random_page_cost;
DROP INDEX visits_lower;
-- or looks many of them up, if a hash join takes little longer: more rows may pass
CREATE TABLE members WITH (autovacuum_enabled = off) AS SELECT i AS id, md5((i * 3)::text) AS url, i % 10 AS kind FROM generate_series(1, 20000) i;
CREATE UNIQUE INDEX members_key ON members (url);
CREATE INDEX members_url ON members USING membership (url);
CREATE TABLE entries WITH (autovacuum_enabled = off) AS
	SELECT i AS id, md5(CASE WHEN i % 40 = 0 THEN i ELSE -i END::text) AS url, repeat('x', 50) AS more FROM generate_series(1, 60000) i;
ANALYZE members, entries;
SET random_page_cost = 1.1;
SELECT plan_has(query, 'Filter Scan') AS filtered, plan_has(query, 'Nested Loop') AS nested_loop
FROM unnest(ARRAY[
	'SELECT count(*) FROM entries JOIN members USING (url) WHERE kind < 5',
	'SELECT count(*) FROM entries JOIN members USING (url) WHERE kind < 0',
	'SELECT count(*) FROM entries e JOIN members USING (url) WHERE e.id % 500 = 0']) AS query;
-- if no row is left of the list, the large table is not read
SELECT node ->> 'Actual Loops' AS read
FROM nodes('SELECT count(*) FROM entries JOIN members USING (url) WHERE kind < 0') node WHERE node ->> 'Relation Name' = 'entries';
-- nor above a bypass, if the table has conditions, which may pick the rows with partners
CREATE TABLE banned WITH (autovacuum_enabled = off) AS SELECT md5((i * 30)::text) AS url FROM generate_series(1, 25000) i;
CREATE UNIQUE INDEX banned_key ON banned (url);
CREATE INDEX banned_url ON banned USING membership (url);
ANALYZE banned;
SELECT condition, plan_has(query, 'Filter Bypass') AND plan_has(query, 'Nested Loop') AS loop_above_bypass
FROM unnest(ARRAY['true', 'e.id > 100']) condition,
	format('SELECT * FROM entries e WHERE %s AND NOT EXISTS (SELECT FROM banned b WHERE b.url = e.url)', condition) query;
RESET random_page_cost;
DROP TABLE members, entries, banned;
-- No nested loop reads a list for each row that is in its index
CREATE TABLE halved WITH (autovacuum_enabled = off) AS SELECT url FROM half;
CREATE INDEX halved_url ON halved USING membership (url);
ANALYZE halved;
SELECT plan_has(format('SELECT * FROM visits v JOIN halved USING (url) ORDER BY v.id LIMIT %s', n), 'Bitmap Heap Scan') AS reads_all
FROM unnest(ARRAY[1, 20, 500]) n;
-- but it may if one row is looked up
SELECT plan_has('SELECT * FROM visits v JOIN halved USING (url) WHERE v.id = 7', 'Bitmap Heap Scan') AS one_row;
-- nor each partition for a row that is expected to be the only one
CREATE TABLE short WITH (autovacuum_enabled = off) AS SELECT i AS n, md5(i::text) AS url FROM generate_series(1, 200) i;
ANALYZE short;
CREATE INDEX visits_parted_url ON visits_parted USING membership (url);
SELECT plan_has('SELECT * FROM short JOIN visits_parted USING (url) WHERE n % 10 = 8', 'Nested Loop') AS nested_loop;
-- A left join keeps the size that it has without the filter of its second side, as do the
-- lookups in that side: so the first rows of an order cost as much as without it
CREATE TABLE rare WITH (autovacuum_enabled = off) AS SELECT i AS id, 3000 + i % 10000 AS n FROM generate_series(1, 20000) i;
CREATE TABLE often WITH (autovacuum_enabled = off) AS SELECT id / 15 AS n, url FROM visits;
CREATE INDEX rare_n ON rare USING membership (n);
CREATE INDEX rare_id ON rare (id);
CREATE INDEX often_n ON often (n);
ANALYZE rare, often;
SELECT plan_has('SELECT * FROM rare LEFT JOIN often USING (n)', 'Filter Scan') AS filtered,
	plan_has('SELECT rare.id FROM rare LEFT JOIN often USING (n) LEFT JOIN short ON lower(short.url) = lower(often.url) ORDER BY id LIMIT 1000', 'Sort') AS sorts_all;
-- the first row of an order may be joined by comparing it with the rows of a plain scan
CREATE TABLE ordered WITH (autovacuum_enabled = off) AS SELECT n AS id, 'k' || n AS k FROM generate_series(1, 500) n;
CREATE TABLE large WITH (autovacuum_enabled = off) AS SELECT 'k' || n AS k, repeat('x', 1000) AS more FROM generate_series(1, 20000) n;
ALTER TABLE ordered ADD PRIMARY KEY (id);
CREATE INDEX ordered_k ON ordered USING membership (k);
ANALYZE ordered, large;
SELECT plan_has('SELECT id FROM ordered o LEFT JOIN large l USING (k) ORDER BY id LIMIT 1', 'Filter Scan') AS first_row,
	plan_has('SELECT id FROM ordered o LEFT JOIN large l USING (k) ORDER BY id', 'Filter Scan') AS all_rows;
DROP TABLE ordered, large;
-- keys are not collected for the first rows of a hash join
CREATE TABLE keyed WITH (autovacuum_enabled = off) AS SELECT n AS id, n % 100 AS v FROM generate_series(1, 60000) n;
CREATE TABLE joined WITH (autovacuum_enabled = off) AS SELECT n * 3 AS id FROM generate_series(1, 20000) n;
ANALYZE keyed, joined;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT plan_has('SELECT * FROM keyed JOIN joined USING (id) WHERE v < 50 LIMIT 10', 'Join Filter') AS first_rows,
	plan_has('SELECT * FROM keyed JOIN joined USING (id) WHERE v < 50', 'Join Filter') AS all_rows;
RESET enable_nestloop;
RESET enable_mergejoin;
DROP TABLE keyed, joined;
-- A subquery asks the index if most rows of the outer query are not in it
CREATE TABLE all_visited WITH (autovacuum_enabled = off) AS SELECT url FROM visits;
CREATE INDEX all_visited_url ON all_visited USING membership (url);
ANALYZE all_visited;
SELECT subquery, plan_has(format('SELECT id FROM visits v WHERE id < 1000 AND (SELECT count(*) FROM %s) > 0', subquery), 'Probe Once') AS asks
FROM unnest(ARRAY['all_visited l WHERE l.url = v.url', 'none l WHERE l.url = v.url', 'mixed l WHERE l.url = v.url',
	'none l WHERE l.url = lower(v.url)', 'none l WHERE l.url = (SELECT v.url OFFSET 0)']) subquery;
SELECT name, plan_has(format('SELECT id FROM visits v, LATERAL (SELECT FROM %I l WHERE l.url = v.url LIMIT 1) s WHERE id < 1000', name), 'Probe Once') AS asks
FROM unnest(ARRAY['all_visited', 'none']) name;
-- not for certain, if the outer query picks rows: all of these are in the list, of all rows few
CREATE TABLE orders WITH (autovacuum_enabled = off) AS
	SELECT i AS id, md5(CASE WHEN i % 400 = 0 THEN i ELSE -i END::text) AS url, i % 400 = 0 AS new FROM generate_series(1, 40000) i;
ANALYZE orders;
SELECT condition, plan_has(format('SELECT id FROM orders o WHERE %s (o.id = 5 OR EXISTS (SELECT FROM all_visited l WHERE l.url = o.url))', condition), 'Probe Once') AS asks
FROM unnest(ARRAY['new AND o.id < 8000 AND']) condition;
DROP TABLE orders;
-- A short list is read before the first row that passes its filter is looked for
CREATE TABLE few WITH (autovacuum_enabled = off) AS SELECT 'few' || i AS url FROM generate_series(1, 1200) i;
CREATE INDEX few_url ON few USING membership (url);
ANALYZE few;
DO $$
DECLARE
	line text;
BEGIN
	FOR line IN EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off)
		SELECT * FROM visits JOIN few USING (url) WHERE few.url || '' < ''
	LOOP
		IF line ~ 'on visits' THEN
			RAISE NOTICE '%', ltrim(line, ' >-');
		END IF;
	END LOOP;
END
$$;
DROP INDEX visits_id;
DROP TABLE visits_parted;

-- ---------------------------------------------------------------- partitions
-- one estimate for all, by the statistics of the whole
CREATE TABLE parted (id int, url text) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (modulus 40, remainder 0);
CREATE TABLE parted_1 (url text, gone int, id int);
ALTER TABLE parted_1 DROP gone;
ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES WITH (modulus 40, remainder 1);
DO $$
BEGIN
	FOR i IN 2..39 LOOP
		EXECUTE format('CREATE TABLE parted_%s PARTITION OF parted FOR VALUES WITH (modulus 40, remainder %1$s)', i);
	END LOOP;
END
$$;
INSERT INTO parted SELECT id, url FROM visits;
-- pages of an index that were read; planning does, too
CREATE FUNCTION pages_read(index regclass) RETURNS bigint
LANGUAGE sql AS $$
	SELECT idx_blks_read + idx_blks_hit FROM pg_statio_all_indexes WHERE indexrelid = index
$$;
SELECT pg_stat_force_next_flush();
SELECT pages_read('half_url_idx') AS start \gset
SELECT expected_rows('SELECT * FROM visits WHERE membership_contains(''half_url_idx'', url)') \gset
SELECT pg_stat_force_next_flush();
SELECT pages_read('half_url_idx') - :start AS one_table \gset
ANALYZE parted;
SELECT pg_stat_force_next_flush();
SELECT pages_read('half_url_idx') AS start \gset
SELECT expected_rows('SELECT * FROM parted WHERE membership_contains(''half_url_idx'', url)') \gset
SELECT pg_stat_force_next_flush();
SELECT pages_read('half_url_idx') - :start AS partitions \gset
SELECT pages_read('half_url_idx') AS start \gset
SELECT expected_rows('SELECT * FROM parted JOIN half USING (url)') \gset
SELECT pg_stat_force_next_flush();
SELECT pages_read('half_url_idx') - :start AS joined \gset
SELECT :one_table > 100 AS probes, :partitions < 1.5 * :one_table AS once, :joined < 3 * :one_table AS joined_once;
-- none for the first rows of an order, which take fewer pages than planning with the filter
CREATE TABLE listed WITH (autovacuum_enabled = off) AS SELECT url FROM half;
CREATE UNIQUE INDEX listed_key ON listed (url);
CREATE INDEX listed_url ON listed USING membership (url);
CREATE INDEX visits_id ON visits (id);
ANALYZE listed;
SELECT pg_stat_force_next_flush();
SELECT pages_read('listed_url') AS start \gset
SELECT query, plan_has(query, 'Filter Scan') AS filtered
FROM unnest(ARRAY[
	'SELECT * FROM visits v WHERE NOT EXISTS (SELECT FROM listed l WHERE l.url = v.url) ORDER BY id LIMIT 20',
	'SELECT * FROM visits v LEFT JOIN listed l USING (url) ORDER BY id LIMIT 20']) AS query;
SELECT pg_stat_force_next_flush();
SELECT pages_read('listed_url') - :start AS read;
DROP INDEX visits_id;
DROP TABLE listed;
SELECT expected_rows('SELECT * FROM parted WHERE membership_contains(''half_url_idx'', url)') BETWEEN 20000 AND 30000 AS half,
	expected_rows('SELECT * FROM parted WHERE membership_contains(''half_url_idx'', url) AND membership_contains(''twentieth_url_idx'', url)') BETWEEN 600 AND 2500 AS both,
	expected_rows('SELECT * FROM parted WHERE bloom_contains((SELECT f FROM filters WHERE name = ''0.5''), url)') BETWEEN 20000 AND 30000 AS by_filter,
	expected_rows('SELECT * FROM parted_1 WHERE membership_contains(''half_url_idx'', url)')
		/ expected_rows('SELECT * FROM parted_1') BETWEEN 0.3 AND 0.7 AS one;
-- those of a partition, where the whole has none
DELETE FROM pg_statistic WHERE starelid = 'parted'::regclass;
SELECT expected_rows('SELECT * FROM parted WHERE membership_contains(''half_url_idx'', url)') BETWEEN 15000 AND 35000 AS half;

-- ---------------------------------------------------------------- who may know
-- Two lists of the same size: one has the values of visits, the other has not.  To who
-- may not ask both indexes, all plans are the same.
CREATE TABLE found (n int, url text, m int) WITH (autovacuum_enabled = off);
INSERT INTO found SELECT 1 + i % 2, md5(i::text), i % 50 FROM generate_series(1, 20000) i;
CREATE TABLE other (n int, url text, m int) WITH (autovacuum_enabled = off);
INSERT INTO other SELECT 1 + i % 2, md5('x' || i), i % 50 FROM generate_series(1, 20000) i;
CREATE INDEX found_url ON found USING membership (url);
CREATE INDEX other_url ON other USING membership (url);
CREATE INDEX found_two ON found USING membership (m, url);
CREATE INDEX other_two ON other USING membership (m, url);
CREATE TABLE saved (name text, f bloom);
INSERT INTO saved SELECT 'found', bloom_agg(url) FROM found;
INSERT INTO saved SELECT 'other', bloom_agg(url) FROM other;
CREATE VIEW found_view AS SELECT * FROM found WHERE n = 1;
CREATE VIEW other_view AS SELECT * FROM other WHERE n = 1;
CREATE VIEW found_barrier WITH (security_barrier) AS SELECT * FROM found WHERE n = 1;
CREATE VIEW other_barrier WITH (security_barrier) AS SELECT * FROM other WHERE n = 1;
CREATE VIEW found_joined AS SELECT v.* FROM visits v JOIN found USING (url);
CREATE VIEW other_joined AS SELECT v.* FROM visits v JOIN other USING (url);
CREATE VIEW found_asked AS SELECT * FROM visits WHERE membership_contains('found_url', url);
CREATE VIEW other_asked AS SELECT * FROM visits WHERE membership_contains('other_url', url);
CREATE VIEW found_saved AS SELECT * FROM visits WHERE bloom_contains((SELECT f FROM saved WHERE name = 'found'), url);
CREATE VIEW other_saved AS SELECT * FROM visits WHERE bloom_contains((SELECT f FROM saved WHERE name = 'other'), url);
CREATE VIEW visits_barrier WITH (security_barrier) AS SELECT * FROM visits WHERE m < 40;
ANALYZE found, other, saved;
CREATE ROLE regress_estimates_user;
GRANT USAGE ON SCHEMA filter_estimates TO regress_estimates_user;
GRANT SELECT ON found_view, other_view, found_barrier, other_barrier, found_joined, other_joined,
	found_asked, other_asked, found_saved, other_saved TO regress_estimates_user;
-- does the plan differ?
CREATE FUNCTION tells(query text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	plans text[];
	line text;
	plan text;
	what text;
BEGIN
	SET LOCAL enable_mergejoin = off;
	FOREACH what IN ARRAY ARRAY['found', 'other'] LOOP
		plan := '';
		FOR line IN EXECUTE 'EXPLAIN (VERBOSE) ' || replace(query, 'WHICH', what) LOOP
			plan := plan || line || E'\n';
		END LOOP;
		plans := plans || replace(plan, what, 'WHICH');
	END LOOP;
	RETURN plans[1] <> plans[2];
EXCEPTION
	WHEN insufficient_privilege THEN RETURN NULL;
END
$$;
CREATE FUNCTION told() RETURNS TABLE (query text, tells boolean)
LANGUAGE sql AS $$
	SELECT query, tells('SELECT * FROM ' || query)
	FROM unnest(ARRAY[
		'visits WHERE membership_contains(''WHICH_url'', url)',
		'visits_barrier WHERE membership_contains(''WHICH_url'', url)',
		'visits JOIN WHICH USING (url)',
		'visits JOIN WHICH USING (m, url)',
		'visits WHERE EXISTS (SELECT FROM WHICH WHERE WHICH.url = visits.url)',
		'visits WHERE (SELECT count(*) FROM WHICH WHERE WHICH.url = visits.url) > 0',
		'visits WHERE (SELECT count(*) FROM WHICH_view WHERE WHICH_view.url = visits.url) > 0',
		'visits_barrier WHERE (SELECT count(*) FROM WHICH WHERE WHICH.url = visits_barrier.url) > 0',
		'visits WHERE bloom_contains((SELECT f FROM saved WHERE name = ''WHICH''), url)',
		'visits JOIN WHICH_view USING (url)',
		'visits JOIN WHICH_barrier USING (url)',
		'WHICH_joined', 'WHICH_asked', 'WHICH_saved']) WITH ORDINALITY AS q (query, i) ORDER BY i
$$;
-- the owner knows
SELECT * FROM told();
-- who may read visits alone
GRANT SELECT ON visits, visits_barrier TO regress_estimates_user;
SET ROLE regress_estimates_user;
SELECT * FROM told();
RESET ROLE;
-- other columns of the lists
GRANT SELECT (n) ON found, other TO regress_estimates_user;
GRANT SELECT (name) ON saved TO regress_estimates_user;
SET ROLE regress_estimates_user;
SELECT * FROM told();
RESET ROLE;
-- all of them, but not visits itself
GRANT SELECT ON found, other, saved TO regress_estimates_user;
REVOKE SELECT ON visits FROM regress_estimates_user;
SET ROLE regress_estimates_user;
SELECT * FROM told();
RESET ROLE;
-- both, but for some of the rows
GRANT SELECT ON visits TO regress_estimates_user;
CREATE POLICY own ON found USING (n = 1);
CREATE POLICY own ON other USING (n = 1);
CREATE POLICY own ON saved USING (name <> 'x');
ALTER TABLE found ENABLE ROW LEVEL SECURITY;
ALTER TABLE other ENABLE ROW LEVEL SECURITY;
ALTER TABLE saved ENABLE ROW LEVEL SECURITY;
SET ROLE regress_estimates_user;
SELECT * FROM told();
RESET ROLE;
ALTER TABLE found DISABLE ROW LEVEL SECURITY;
ALTER TABLE other DISABLE ROW LEVEL SECURITY;
ALTER TABLE saved DISABLE ROW LEVEL SECURITY;
-- both
SET ROLE regress_estimates_user;
SELECT * FROM told();
RESET ROLE;
-- some rows of visits
CREATE POLICY own ON visits USING (m < 40);
ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
SET ROLE regress_estimates_user;
SELECT * FROM told() WHERE query ~ '^visits (JOIN|WHERE EXISTS|WHERE .SELECT)';
-- others depend on the filters' numbers of elements alone
SELECT condition, expected_rows(format('SELECT * FROM visits WHERE ' || condition, 'found'))
	/ expected_rows(format('SELECT * FROM visits WHERE ' || condition, 'other')) BETWEEN 0.95 AND 1.05 AS same
FROM unnest(ARRAY['membership_contains(''%s_url'', url)', 'bloom_contains((SELECT f FROM saved WHERE name = %L), url)']) condition;
RESET ROLE;
-- who sees all rows knows more
SELECT condition, expected_rows(format('SELECT * FROM visits WHERE ' || condition, 'found'))
	/ expected_rows(format('SELECT * FROM visits WHERE ' || condition, 'other')) > 5 AS differ
FROM unnest(ARRAY['membership_contains(''%s_url'', url)', 'bloom_contains((SELECT f FROM saved WHERE name = %L), url)']) condition;

DROP OWNED BY regress_estimates_user;
DROP ROLE regress_estimates_user;
