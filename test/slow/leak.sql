-- The calls of leak.sh, which says what this is about.

CREATE EXTENSION bloomfilter;
SET jit = off;
SET max_parallel_workers_per_gather = 0;

-- Stored filters, large enough to be toasted
CREATE TABLE filters AS
	SELECT bloom_agg(n) AS f, cuckoo_agg(n) AS c FROM generate_series(1, 100000) AS n;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');

-- Bytes of all memory contexts, and of the process
CREATE TYPE memory AS (contexts bigint, process bigint);
CREATE FUNCTION memory() RETURNS memory LANGUAGE sql VOLATILE AS $$
	SELECT (SELECT sum(total_bytes) FROM pg_backend_memory_contexts),
		1024 * (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\s+(\d+) kB'))[1]::bigint
$$;

-- Run statements so many times; they know the number of the call, n, and have
-- filters with the elements 1 to 1000, in variables.  Returns a line of figures,
-- with LEAKS if a call left a byte behind.  Of few calls these bytes may be due to
-- something else: a block of a cache, some pages of the process.
CREATE FUNCTION leaks(what text, statements text, calls bigint) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		growth memory;
		begun timestamptz := clock_timestamp();
	BEGIN
		EXECUTE format($f$
			CREATE OR REPLACE FUNCTION pg_temp.call(calls bigint) RETURNS memory LANGUAGE plpgsql AS $body$
				DECLARE
					f bloom := bloom_add_all(bloom_create(2000), ARRAY(SELECT generate_series(1, 1000)));
					g bloom := bloom_add_all(bloom_create(2000), ARRAY(SELECT generate_series(501, 1500)));
					large bloom := bloom_add_all(bloom_create(20000), ARRAY(SELECT generate_series(1, 1000)));
					c cuckoo := cuckoo_add_all(cuckoo_create(2000), ARRAY(SELECT generate_series(1, 1000)));
					d cuckoo := cuckoo_add_all(cuckoo_create(2000), ARRAY(SELECT generate_series(501, 1000)));
					many int[] := ARRAY(SELECT generate_series(1, 20));
					before memory;
					after memory;
				BEGIN
					FOR n IN 1 .. calls LOOP
						%s;
						-- the first look takes memory itself
						IF n IN (calls / 20, calls / 10, calls) THEN
							before := after;
							after := memory();
						END IF;
					END LOOP;
					RETURN ROW(after.contexts - before.contexts, after.process - before.process);
				END
			$body$ $f$, statements);
		growth := pg_temp.call(calls);
		RETURN format('%s | %s calls, %s s | contexts %s, process %s bytes | %s', what, calls,
			round(extract(epoch FROM clock_timestamp() - begun)), growth.contexts, growth.process,
			CASE WHEN growth.contexts < greatest(0.9 * calls, 64 * 1024)
				AND growth.process < greatest(0.9 * calls, 1024 * 1024) THEN 'ok' ELSE 'LEAKS' END);
	END
$$;

CREATE TABLE calls (number serial, what text, statements text, share float8 DEFAULT 1);
INSERT INTO calls (what, statements) VALUES
	('bloom_contains', 'PERFORM bloom_contains(f, n)'),
	('bloom_contains, stored', 'PERFORM bloom_contains(filters.f, n) FROM filters'),
	('bloom_contains, elements of classes', 'PERFORM bloom_contains(bloom_create(1), ROW(n, n::text, ARRAY[n], NULL::numeric)), bloom_hash(jsonb_build_object(''a'', n)), bloom_hash(n::numeric), bloom_hash(''ok''::mood), bloom_hash(n::text::bpchar), bloom_hash(int4range(n, n + 1))'),
	('arrays asked', 'PERFORM bloom_contains_each(f, many), bloom_contains_any(f, many), bloom_contains_all(f, many)'),
	('bloom_add', 'f := bloom_add(f, 1 + n % 2000)'),
	('bloom_add to an expanded one', 'large := bloom_add(large, 1 + n % 20000)'),
	('bloom_add_all', 'f := bloom_add_all(f, many)'),
	('bloom_create', 'PERFORM bloom_create(1000), bloom_create_bits(1000, 3), bloom_clear(f)'),
	('bloom_union, bloom_intersection', 'f := (f | g) & f'),
	('bloom_info', 'PERFORM bloom_info(f), bloom_cardinality(f), bloom_error_rate(f)'),
	('=, hash', 'PERFORM f = g, f <> f, bloom_hash_value(f), bloom_hash_value_extended(f, 1)'),
	('bytea', 'f := f::bytea::bloom'),
	('text', 'f := f::text::bloom'),
	('bloom_agg', 'g := (SELECT bloom_agg(e) FROM generate_series(1, 20) AS e)'),
	('bloom_agg, capacity', 'g := (SELECT bloom_agg(e, 100, 0.001) FROM generate_series(1, 20) AS e)'),
	('bloom_union_agg', 'f := (SELECT bloom_union_agg(u) FROM (VALUES (f), (g), (f)) AS t (u))'),
	('a filter grows', 'IF n % 1000 = 0 THEN f := bloom_create(2); ELSE f := bloom_add(f, n); END IF'),
	('cuckoo_contains', 'PERFORM cuckoo_contains(c, n)'),
	('cuckoo_contains, stored', 'PERFORM cuckoo_contains(filters.c, n) FROM filters'),
	('cuckoo_add, cuckoo_remove', 'c := cuckoo_remove(cuckoo_add(c, n), n)'),
	('cuckoo_replace', 'c := cuckoo_replace(cuckoo_replace(cuckoo_add_unique(c, 1 + n % 1000), 1 + n % 1000, -n), -n, 1 + n % 1000)'),
	('cuckoo, arrays', 'c := cuckoo_remove_all(cuckoo_add_all(c, many), many); PERFORM cuckoo_contains_each(c, many), cuckoo_count(c, 1)'),
	('cuckoo casts', 'c := c::bytea::cuckoo; PERFORM c::text::cuckoo = d'),
	('cuckoo_agg', 'd := (SELECT cuckoo_agg(e) FROM generate_series(1, 20) AS e)');
-- The dearer ones are called less
INSERT INTO calls (what, statements, share) VALUES
	('cuckoo_union, cuckoo_compact', 'PERFORM cuckoo_compact(c | d), cuckoo_info(c), cuckoo_clear(c)', 0.1),
	('an aggregate of many', 'large := (SELECT bloom_agg(e) FROM generate_series(1, 5000) AS e)', 0.01),
	('an aggregate of groups', 'PERFORM count(u) FROM (SELECT bloom_agg(e) AS u FROM generate_series(1, 1000) AS e GROUP BY e % 100) AS t', 0.01),
	('a window aggregate', 'PERFORM count(u) FROM (SELECT bloom_agg(e) OVER (ORDER BY e) AS u FROM generate_series(1, 20) AS e) AS t', 0.1),
	('a stored filter read whole', 'PERFORM count(*) FROM generate_series(1, 1000) AS e WHERE (SELECT filters.f FROM filters) @> e', 0.01),
	('a stored filter of any size', 'PERFORM bloom_cardinality(filters.f) FROM filters', 0.1),
	('bloom_add, cuckoo_add, stored', 'PERFORM bloom_add(filters.f, n), cuckoo_add(filters.c, n) FROM filters', 0.1),
	('an error, caught', 'BEGIN PERFORM bloom_contains(f, ''x''::text); EXCEPTION WHEN datatype_mismatch THEN NULL; END', 0.1),
	('an error in the middle', 'BEGIN PERFORM bloom_add_all(bloom_create(1, growth => 0), ARRAY(SELECT generate_series(1, 1000))); EXCEPTION WHEN program_limit_exceeded THEN NULL; END', 0.1);

SELECT format('SELECT leaks(%L, %L, %s)', what, statements, ceil(:calls * share)) FROM calls ORDER BY number \gexec
