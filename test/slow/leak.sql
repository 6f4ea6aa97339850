-- The calls of leak.sh, which says what this is about.

CREATE EXTENSION bloomfilter;
SET jit = off;
SET max_parallel_workers_per_gather = 0;

-- Filters with the elements 1 to 1000 and others, and stored ones that are large
-- enough to be toasted
CREATE TABLE filters AS
	SELECT bloom_add_all(bloom_create(2000), ARRAY(SELECT generate_series(1, 1000))) AS f,
		bloom_add_all(bloom_create(2000), ARRAY(SELECT generate_series(501, 1500))) AS g,
		bloom_add_all(bloom_create(20000), ARRAY(SELECT generate_series(1, 1000))) AS large,
		cuckoo_add_all(cuckoo_create(2000), ARRAY(SELECT generate_series(1, 1000))) AS c,
		cuckoo_add_all(cuckoo_create(2000), ARRAY(SELECT generate_series(501, 1000))) AS d,
		ARRAY(SELECT generate_series(1, 20)) AS many;
CREATE TABLE stored AS
	SELECT bloom_agg(n) AS bloom, cuckoo_agg(n) AS cuckoo FROM generate_series(1, 100000) AS n;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
-- a membership index of one column and one of two, whose type may be altered
CREATE TYPE place AS (x int, y int);
CREATE TABLE kept AS SELECT n AS x, ROW(n, -n)::place AS y FROM generate_series(1, 1000) AS n;
CREATE INDEX kept_x ON kept USING membership (x);
CREATE INDEX kept_y ON kept USING membership (x) WITH (error_rate = 0.0001);
CREATE INDEX kept_both ON kept USING membership (x, y);

-- Bytes of all memory contexts, and of the process
CREATE TYPE memory AS (contexts bigint, process bigint);
CREATE FUNCTION memory() RETURNS memory LANGUAGE sql VOLATILE AS $$
	SELECT (SELECT sum(total_bytes) FROM pg_backend_memory_contexts),
		1024 * (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\s+(\d+) kB'))[1]::bigint
$$;

-- A line of figures: how the memory has grown from the look before the last to
-- the last, with LEAKS if a call left a byte behind.  Of few calls these bytes may
-- be due to something else: a block of a cache, some pages of the process.
CREATE FUNCTION line(what text, calls bigint, begun timestamptz, looks memory[]) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		last int := cardinality(looks);
		contexts bigint := looks[last].contexts - looks[last - 1].contexts;
		process bigint := looks[last].process - looks[last - 1].process;
	BEGIN
		RETURN format('%s | %s calls, %s s | contexts %s, process %s bytes | %s', what, calls,
			round(extract(epoch FROM clock_timestamp() - begun)), contexts, process,
			CASE WHEN contexts < greatest(0.9 * calls, 64 * 1024) AND process < greatest(0.9 * calls, 1024 * 1024)
				THEN 'ok' ELSE 'LEAKS' END);
	END
$$;

-- Run statements of PL/pgSQL "calls" times: they know the number of the call, n,
-- and have the filters in variables.
CREATE FUNCTION run_statements(what text, statements text, calls bigint) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		begun timestamptz := clock_timestamp();
		looks memory[];
	BEGIN
		EXECUTE format($f$
			CREATE OR REPLACE FUNCTION pg_temp.run(calls bigint) RETURNS memory[] LANGUAGE plpgsql AS $body$
				DECLARE
					f bloom := (SELECT filters.f FROM filters);
					g bloom := (SELECT filters.g FROM filters);
					large bloom := (SELECT filters.large FROM filters);
					c cuckoo := (SELECT filters.c FROM filters);
					d cuckoo := (SELECT filters.d FROM filters);
					many int[] := (SELECT filters.many FROM filters);
					bloom bloom := (SELECT stored.bloom FROM stored);
					cuckoo cuckoo := (SELECT stored.cuckoo FROM stored);
					ignored bool;
					looks memory[];
				BEGIN
					FOR n IN 1 .. calls LOOP
						%s;
						-- the first look takes memory itself
						IF n IN (calls / 20, calls / 10, calls) THEN
							looks := looks || memory();
						END IF;
					END LOOP;
					RETURN looks;
				END
			$body$ $f$, statements);
		looks := pg_temp.run(calls);
		RETURN line(what, calls, begun, looks);
	END
$$;

-- The same with expressions, for each row of one query.
CREATE FUNCTION run_query(what text, expressions text, calls bigint) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		begun timestamptz := clock_timestamp();
		looks memory[];
	BEGIN
		EXECUTE format('SELECT array_agg(memory()) FILTER (WHERE n IN ($1 / 20, $1 / 10, $1) AND nulls >= 0)
			FROM (SELECT n, num_nulls(%s) AS nulls FROM generate_series(1, $1::int) AS n, filters, stored OFFSET 0) AS t', expressions)
			INTO looks USING calls;
		RETURN line(what || ', in a query', calls, begun, looks);
	END
$$;

-- Expressions: both ways; and the share of calls, for the expensive ones
CREATE TABLE calls (number serial, what text, expressions text, share float8 DEFAULT 1);
INSERT INTO calls (what, expressions) VALUES
	('bloom_contains', 'bloom_contains(f, n)'),
	('bloom_contains, stored', 'bloom_contains(bloom, n)'),
	('elements of many types', 'bloom_hash(ROW(n, n::text, ARRAY[n], NULL::numeric)), bloom_hash(jsonb_build_object(''a'', n)), bloom_hash(n::numeric), bloom_hash(''ok''::mood), bloom_hash(n::text::bpchar), bloom_hash(int4range(n, n + 1))'),
	('arrays looked up', 'bloom_contains_each(f, many), bloom_contains_any(f, many), bloom_contains_all(f, many)'),
	('bloom_add', 'bloom_add(f, n)'),
	('bloom_add to a larger one, twice', 'bloom_add(bloom_add(large, n), n + 1)'),
	('bloom_add_all', 'bloom_add_all(f, many)'),
	('bloom_add_all, with growth', 'bloom_add_all(bloom_create(2), many)'),
	('bloom_create', 'bloom_create(1000 + n % 1000), bloom_create_bits(1000, 3), bloom_clear(f)'),
	('bloom_union, bloom_intersection', '(f | g) & f'),
	('bloom_info', 'bloom_info(f), bloom_cardinality(f), bloom_error_rate(f)'),
	('=, hash', 'f = g, f <> f, _bloom_hash_value(f), _bloom_hash_value_extended(f, 1)'),
	('bytea, text', 'f::bytea::bloom::text::bloom'),
	('bloom_agg', '(SELECT bloom_agg(e) FROM generate_series(n, n + 20) AS e)'),
	('bloom_agg, capacity', '(SELECT bloom_agg(e, 100, 0.001) FROM generate_series(n, n + 20) AS e)'),
	('bloom_union_agg', '(SELECT bloom_union_agg(u) FROM (VALUES (f), (g), (f)) AS t (u))'),
	('cuckoo_contains', 'cuckoo_contains(c, n)'),
	('cuckoo_contains, stored', 'cuckoo_contains(cuckoo, n)'),
	('cuckoo_add, cuckoo_remove', 'cuckoo_remove(cuckoo_add(c, n), n)'),
	('cuckoo_replace', 'cuckoo_replace(cuckoo_add_unique(c, n), n, -n)'),
	('cuckoo, arrays', 'cuckoo_remove_all(cuckoo_add_all(c, many), many), cuckoo_contains_each(c, many), cuckoo_count(c, 1)'),
	('cuckoo_info, cuckoo_clear', 'cuckoo_info(c), cuckoo_clear(c)'),
	('cuckoo casts', 'c::bytea::cuckoo::text::cuckoo = d'),
	('cuckoo_agg', '(SELECT cuckoo_agg(e) FROM generate_series(n, n + 20) AS e)'),
	('membership index', 'membership_contains(''kept_x'', n), membership_contains_each(''kept_x'', many)'),
	('membership index of two columns', 'membership_contains(''kept_both'', ROW(n, ROW(n, -n)::place))'),
	('membership indexes in turn', 'membership_contains((CASE n % 2 WHEN 0 THEN ''kept_x'' ELSE ''kept_y'' END)::regclass, n)');
INSERT INTO calls (what, expressions, share) VALUES
	('cuckoo_union, cuckoo_compact', 'cuckoo_compact(c | d)', 0.1),
	('an aggregate of many', '(SELECT bloom_agg(e) FROM generate_series(n, n + 5000) AS e)', 0.01),
	('an aggregate of groups', '(SELECT count(u) FROM (SELECT bloom_agg(e) AS u FROM generate_series(n, n + 1000) AS e GROUP BY e % 100) AS t)', 0.01),
	('a window aggregate', '(SELECT count(u) FROM (SELECT bloom_agg(e) OVER (ORDER BY e) AS u FROM generate_series(n, n + 20) AS e) AS t)', 0.1),
	('a stored filter read whole', '(SELECT count(*) FROM generate_series(n, n + 1000) AS e WHERE (SELECT stored.bloom FROM stored) @> e)', 0.01),
	('a stored filter of any size', 'bloom_cardinality(bloom)', 0.1),
	('bloom_add, cuckoo_add, stored', 'bloom_add(bloom, n), cuckoo_add(cuckoo, n)', 0.1),
	('membership index as a value', 'membership_filter(''kept_x''), membership_info(''kept_x'')', 0.1);

-- Statements: a variable that changes, and errors
CREATE TABLE statements (number serial, what text, statements text, share float8);
INSERT INTO statements (what, statements, share) VALUES
	('a bloom changes', 'f := bloom_add(f, 1 + n % 2000); large := bloom_add_all(large, many); g := g | f', 1),
	('a bloom grows', 'IF n % 1000 = 0 THEN f := bloom_create(2); ELSE f := bloom_add(f, n); END IF', 1),
	('a cuckoo changes', 'c := cuckoo_remove(cuckoo_add(c, n), n); c := cuckoo_replace(cuckoo_replace(c, 1 + n % 1000, -n), -n, 1 + n % 1000)', 1),
	('a cuckoo grows', 'IF n % 1000 = 0 THEN c := cuckoo_create(2); ELSE c := cuckoo_add(c, n); END IF', 1),
	('a bloom from a query', 'f := (SELECT bloom_agg(e) FROM generate_series(n, n + 20) AS e)', 1),
	('insertions into membership indexes', 'INSERT INTO kept VALUES (1 + n % 1000, ROW(n % 1000, n)); ignored := membership_contains(''kept_x'', n)', 0.1),
	('scans of a membership index', 'PERFORM FROM kept WHERE x = 1000 + n', 0.1),
	('an error, caught', 'BEGIN ignored := bloom_contains(f, ''x''::text); EXCEPTION WHEN datatype_mismatch THEN NULL; END', 0.1),
	('an error in the middle', 'BEGIN f := bloom_add_all(bloom_create(1, growth => 0), ARRAY(SELECT generate_series(1, 1000))); EXCEPTION WHEN program_limit_exceeded THEN NULL; END', 0.1);

SELECT format('SELECT run_statements(%L, %L, %s)', what, 'ignored := num_nulls(' || expressions || ') = 0', ceil(:calls * share)),
	format('SELECT run_query(%L, %L, %s)', what, expressions, ceil(:calls * share))
FROM calls ORDER BY number \gexec
SELECT format('SELECT run_statements(%L, %L, %s)', what, statements, ceil(:calls * share)) FROM statements ORDER BY number \gexec
