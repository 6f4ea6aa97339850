--
-- Filters of both types, of elements of many types, against exact sets: random
-- sequences of all operations of SQL, in variables of PL/pgSQL.  No element is ever
-- lost.  And the error rate: no more false positives than chance explains.
--
--     psql -v seed=1 -v steps=2000 -v filters=20000 -f test/model/model.sql
--
-- Wants a database of its own.  The same seed does the same; a failure tells the
-- step.  (test/sql/cuckoo_model.sql knows what a cuckoo filter counts, too.)
--
\set ON_ERROR_STOP 1
\set QUIET 1
\pset format unaligned
\pset tuples_only on
\echo # seed :seed, :steps steps, :filters filters
SET client_min_messages = error;
CREATE EXTENSION bloomfilter;

CREATE TYPE pair AS (n int, list text[]);
CREATE DOMAIN short_text AS text CHECK (length(VALUE) < 100);

-- Each number as an element of some type
CREATE TABLE types (name text, type text, expression text);
INSERT INTO types VALUES
	('int', 'integer', 'x'),
	('text', 'text', $$repeat('http://example.com/', x % 5) || x$$),
	('domain', 'short_text', 'md5(x::text)::short_text'),
	('numeric', 'numeric', 'x / 7.0'),
	('uuid', 'uuid', 'md5(x::text)::uuid'),
	('time', 'timestamptz', $$'2000-01-01 00:00+00'::timestamptz + x * '1 day'::interval$$),
	('json', 'jsonb', $$jsonb_build_object('n', x, 'list', ARRAY[x, NULL])$$),
	('range', 'int4range', 'int4range(x, x + 5)'),
	('pair', 'pair', 'ROW(x, ARRAY[x, NULL]::text[])::pair');
SELECT format('CREATE FUNCTION as_%s(x int) RETURNS %s LANGUAGE sql IMMUTABLE RETURN %s', name, type, expression) FROM types \gexec
SELECT format('CREATE FUNCTION all_as_%1$s(numbers int[]) RETURNS %2$s[] LANGUAGE sql IMMUTABLE
	RETURN ARRAY(SELECT as_%1$s(x) FROM unnest(numbers) WITH ORDINALITY AS t(x, n) ORDER BY n)', name, type) FROM types \gexec

-- A random number from 1 on, of which setseed() tells all that come
CREATE FUNCTION up_to(n int) RETURNS int LANGUAGE sql VOLATILE RETURN 1 + floor(random() * n)::int;
-- A random subset of the numbers from 1 to n
CREATE FUNCTION some_up_to(n int) RETURNS int[] LANGUAGE sql VOLATILE
RETURN ARRAY(SELECT x FROM generate_series(1, n) AS x, (SELECT random() AS share) AS s WHERE random() < share ^ 2 / 4);
-- Numbers that are in and are not found
CREATE FUNCTION lost(is_in boolean[], found boolean[]) RETURNS int[] LANGUAGE sql IMMUTABLE
RETURN ARRAY(SELECT x FROM unnest(is_in, found) WITH ORDINALITY AS t(i, f, x) WHERE i AND f IS NOT TRUE);

-- ------------------------------------------------------------------------
-- Bloom
-- ------------------------------------------------------------------------

SELECT replace($body$
CREATE FUNCTION model_bloom_TYPE(seed bigint, steps int) RETURNS text LANGUAGE plpgsql VOLATILE AS
$$
DECLARE
	keys		CONSTANT int := 200;
	everything	CONSTANT int[] := ARRAY(SELECT generate_series(1, keys));
	nothing		CONSTANT boolean[] := array_fill(false, ARRAY[keys]);
	what		CONSTANT text[] := '{add,add,add,add twice,add all,add all,union,union,union of all,union with itself,intersection,intersection of all,aggregate,parallel,text,bytea,binary,stored,copy,clear}';
	done		boolean[] := '{}';
	model		boolean[];
	is_in		boolean[];
	made		bloom;
	f			bloom;
	g			bloom;
	h			bloom;
	operation	text;
	chosen		int[];
	x			int;
	y			int;
	layers		int;
	most_layers	int := 0;
	layouts		text[] := '{}';
BEGIN
	PERFORM setseed(bloom_hash('TYPE'::text, seed)::float8 / 2.0::float8 ^ 63);
	FOR step IN 0 .. steps - 1 LOOP
		-- another filter now and then
		IF step % 200 = 0 THEN
			made := CASE step / 200 % 10
				WHEN 0 THEN bloom_create(20)
				WHEN 1 THEN bloom_create(10, 0.1, 1)
				WHEN 2 THEN bloom_create(10, 1e-5, 3)
				WHEN 3 THEN (SELECT bloom_agg(1) WHERE false)
				WHEN 4 THEN bloom_create(keys, 0.01, 0)
				WHEN 5 THEN bloom_create_bits(3001, 5)
				-- large enough to be changed in place, where that can be
				WHEN 6 THEN bloom_create(20000)
				WHEN 7 THEN bloom_create(20, 0.02, 16, seed)
				WHEN 8 THEN bloom_create(keys, 1e-7, 0, -seed)
				WHEN 9 THEN bloom_create_bits(200000, 3, seed)
			END;
			f := made;
			model := nothing;
		END IF;
		operation := what[up_to(cardinality(what))];
		x := up_to(keys);
		y := up_to(keys);
		chosen := some_up_to(keys);
		layers := (bloom_info(f)).layers;
		-- rarely, or the filter would never be large; but not with many layers
		IF operation = 'clear' AND up_to(10) > 1 THEN
			operation := 'add';
		END IF;
		IF layers > 20 THEN
			operation := 'clear';
		END IF;
		IF operation LIKE 'intersection%' AND layers > 1 THEN
			operation := 'add all';
		END IF;
		is_in := ARRAY(SELECT i = ANY (chosen) FROM unnest(everything) AS i);

		CASE operation
			WHEN 'add' THEN
				f := bloom_add(f, as_TYPE(x));
				model[x] := true;
			WHEN 'add twice' THEN
				f := bloom_add(bloom_add(f, as_TYPE(x)), as_TYPE(y));
				model[x] := true;
				model[y] := true;
			WHEN 'add all' THEN
				f := bloom_add_all(f, all_as_TYPE(chosen));
				model := ARRAY(SELECT a OR b FROM unnest(model, is_in) AS t(a, b));
			WHEN 'union' THEN
				g := bloom_add_all(made, all_as_TYPE(chosen));
				f := CASE WHEN x % 2 = 0 THEN f | g ELSE bloom_union(g, f) END;
				model := ARRAY(SELECT a OR b FROM unnest(model, is_in) AS t(a, b));
			WHEN 'union of all' THEN
				f := (SELECT bloom_union_agg(u) FROM (VALUES (f), (NULL), (bloom_add_all(made, all_as_TYPE(chosen))), (bloom_add(made, as_TYPE(y)))) AS v(u));
				is_in[y] := true;
				model := ARRAY(SELECT a OR b FROM unnest(model, is_in) AS t(a, b));
			WHEN 'union with itself' THEN
				g := f | f;
				IF g <> f THEN
					RETURN format('not ok - step %s: the union with itself differs', step);
				END IF;
			WHEN 'intersection' THEN
				g := bloom_add_all(made, all_as_TYPE(chosen));
				IF (bloom_info(g)).layers <= 1 THEN
					f := CASE WHEN x % 2 = 0 THEN f & g ELSE bloom_intersection(g, f) END;
					model := ARRAY(SELECT a AND b FROM unnest(model, is_in) AS t(a, b));
				END IF;
			WHEN 'intersection of all' THEN
				g := bloom_add_all(made, all_as_TYPE(chosen));
				IF (bloom_info(g)).layers <= 1 THEN
					f := (SELECT bloom_intersection_agg(u) FROM (VALUES (f), (g), (NULL), (f)) AS v(u));
					model := ARRAY(SELECT a AND b FROM unnest(model, is_in) AS t(a, b));
				END IF;
			WHEN 'aggregate' THEN
				-- the elements that are in, and those chosen, anew
				model := ARRAY(SELECT a OR b FROM unnest(model, is_in) AS t(a, b));
				f := CASE x % 4
					WHEN 0 THEN (SELECT bloom_agg(as_TYPE(i::int)) FROM unnest(model) WITH ORDINALITY AS t(m, i) WHERE m)
					WHEN 1 THEN (SELECT bloom_agg(as_TYPE(i::int), 30, NULL) FROM unnest(model) WITH ORDINALITY AS t(m, i) WHERE m)
					WHEN 2 THEN (SELECT bloom_agg(as_TYPE(i::int), NULL, 0.001) FROM unnest(model) WITH ORDINALITY AS t(m, i) WHERE m)
					ELSE (SELECT bloom_agg(bloom_element(as_TYPE(i::int), seed), keys, 0.02) FILTER (WHERE m) FROM unnest(model) WITH ORDINALITY AS t(m, i))
				END;
				made := bloom_clear(f);
			WHEN 'parallel' THEN
				-- as workers' states are united
				f := (SELECT bloom_combined(u) FROM (VALUES (f), (bloom_add_all(made, all_as_TYPE(chosen)))) AS v(u));
				model := ARRAY(SELECT a OR b FROM unnest(model, is_in) AS t(a, b));
			WHEN 'text' THEN
				f := f::text::bloom;
			WHEN 'bytea' THEN
				f := f::bytea::bloom;
			WHEN 'binary' THEN
				IF _bloom_send(f)::bloom <> f THEN
					RETURN format('not ok - step %s: not the same as binary', step);
				END IF;
			WHEN 'stored' THEN
				g := f;
				UPDATE stored_bloom AS s SET f = g RETURNING s.f INTO f;
				IF (SELECT bloom_contains(s.f, as_TYPE(x)) FROM stored_bloom AS s) <> bloom_contains(f, as_TYPE(x)) THEN
					RETURN format('not ok - step %s: another answer when stored', step);
				END IF;
			WHEN 'copy' THEN
				-- what is done with a copy, does not touch the other
				g := f;
				h := f;
				g := bloom_add(g, as_TYPE(x));
				IF h <> f OR NOT g @> as_TYPE(x) THEN
					RETURN format('not ok - step %s: a copy was changed', step);
				END IF;
			WHEN 'clear' THEN
				f := bloom_clear(f);
				model := nothing;
		END CASE;
		done[array_position(what, operation)] := true;
		layouts := layouts || (bloom_info(f)).layout;
		most_layers := greatest(most_layers, (bloom_info(f)).layers);

		IF model[x] AND NOT bloom_contains(f, as_TYPE(x)) OR model[y] AND NOT as_TYPE(y) <@ f THEN
			RETURN format('not ok - step %s: lost by %s: %s or %s', step, operation, x, y);
		END IF;
		IF step % 10 = 0 OR operation NOT LIKE 'add%' THEN
			chosen := lost(model, bloom_contains_each(f, all_as_TYPE(everything)));
			IF cardinality(chosen) > 0 THEN
				RETURN format('not ok - step %s: lost by %s: %s', step, operation, chosen);
			END IF;
			-- a set of hashes has nothing else
			IF (bloom_info(f)).layout = 'explicit' AND bloom_contains_each(f, all_as_TYPE(everything)) <> model THEN
				RETURN format('not ok - step %s: too much in a set by %s', step, operation);
			END IF;
		END IF;
	END LOOP;
	-- few steps do not come by everything
	IF steps >= 2000 AND ((SELECT count(*) FROM unnest(done) AS d WHERE d) < (SELECT count(DISTINCT w) FROM unnest(what) AS w) OR
		(SELECT count(DISTINCT l) FROM unnest(layouts) AS l) < 5 OR most_layers < 4) THEN
		RETURN format('not ok - not all was done: %s, layers %s', (SELECT array_agg(DISTINCT l) FROM unnest(layouts) AS l), most_layers);
	END IF;
	RETURN format('ok - bloom of %s as the model, %s steps', 'TYPE', steps);
END
$$
$body$, 'TYPE', name) FROM types \gexec

CREATE AGGREGATE bloom_combined(bloom) (SFUNC = _bloom_agg_combine, STYPE = bloom);
CREATE TABLE stored_bloom (f bloom) WITH (toast_tuple_target = 128);
INSERT INTO stored_bloom VALUES (NULL);

-- ------------------------------------------------------------------------
-- Counting Bloom
-- ------------------------------------------------------------------------

SELECT replace($body$
CREATE FUNCTION model_counting_TYPE(seed bigint, steps int) RETURNS text LANGUAGE plpgsql VOLATILE AS
$$
DECLARE
	keys		CONSTANT int := 200;
	everything	CONSTANT int[] := ARRAY(SELECT generate_series(1, keys));
	nothing		CONSTANT int[] := array_fill(0, ARRAY[keys]);
	what		CONSTANT text[] := '{add,add,add all,add all,remove,remove,remove,remove all,remove all,absent,union,union with itself,union with a set,union of all,intersection,text,bytea,stored,plain,copy,clear}';
	done		boolean[] := '{}';
	model		int[];			-- how often each is in
	times		int[];
	made		bloom;
	f			bloom;
	g			bloom;
	h			bloom;
	operation	text;
	chosen		int[];
	x			int;
	y			int;
	most_layers	int := 0;
	layouts		text[] := '{}';
BEGIN
	PERFORM setseed(bloom_hash('TYPE'::text, seed)::float8 / 2.0::float8 ^ 63);
	FOR step IN 0 .. steps - 1 LOOP
		IF step % 200 = 0 THEN
			made := CASE step / 200 % 7
				WHEN 0 THEN bloom_create(20, counting => true)
				WHEN 1 THEN bloom_create(10, 0.1, 1, counting => true)
				WHEN 2 THEN bloom_create(10, 1e-5, 3, counting => true)
				WHEN 3 THEN bloom_create(keys, 0.01, 0, counting => true)
				WHEN 4 THEN bloom_create(20000, counting => true)
				WHEN 5 THEN bloom_create(20, 0.3, 16, seed, counting => true)
				WHEN 6 THEN bloom_create(keys, 1e-7, 0, -seed, counting => true)
			END;
			f := made;
			model := nothing;
		END IF;
		operation := what[up_to(cardinality(what))];
		x := up_to(keys);
		y := up_to(keys);
		IF operation = 'clear' AND up_to(10) > 1 THEN
			operation := 'add';
		END IF;
		-- some numbers, some of them several times
		chosen := some_up_to(keys);
		chosen := chosen || ARRAY(SELECT c FROM unnest(chosen) AS c WHERE random() < 0.3);
		IF operation = 'remove all' THEN
			-- only what is in, and no more often
			chosen := ARRAY(SELECT i FROM unnest(model) WITH ORDINALITY AS t(m, i), generate_series(1, m) WHERE random() < 0.3);
		END IF;
		times := ARRAY(SELECT (SELECT count(*) FROM unnest(chosen) AS c WHERE c = i) FROM unnest(everything) AS i);

		CASE operation
			WHEN 'add' THEN
				f := bloom_add(f, as_TYPE(x));
				model[x] := model[x] + 1;
			WHEN 'add all' THEN
				f := bloom_add_all(f, all_as_TYPE(chosen));
				model := ARRAY(SELECT a + b FROM unnest(model, times) AS t(a, b));
			WHEN 'remove' THEN
				IF model[x] > 0 THEN
					f := bloom_remove(f, as_TYPE(x));
					model[x] := model[x] - 1;
				END IF;
			WHEN 'remove all' THEN
				f := bloom_remove_all(f, all_as_TYPE(chosen));
				model := ARRAY(SELECT a - b FROM unnest(model, times) AS t(a, b));
			WHEN 'absent' THEN
				IF NOT f @> as_TYPE(-x) AND bloom_remove(f, as_TYPE(-x)) <> f THEN
					RETURN format('not ok - step %s: changed by removing what was not there', step);
				END IF;
			WHEN 'union' THEN
				-- of several layers, or too many elements, it is refused
				BEGIN
					g := bloom_add_all(made, all_as_TYPE(chosen));
					f := CASE WHEN x % 2 = 0 THEN f | g ELSE bloom_union(g, f) END;
					model := ARRAY(SELECT a + b FROM unnest(model, times) AS t(a, b));
				EXCEPTION WHEN program_limit_exceeded THEN
				END;
			WHEN 'union with itself' THEN
				BEGIN
					f := f | f;
					model := ARRAY(SELECT 2 * a FROM unnest(model) AS t(a));
				EXCEPTION WHEN program_limit_exceeded THEN
				END;
			WHEN 'union with a set' THEN
				IF (bloom_info(f)).seed = 0 THEN
					f := f | bloom_add_all((SELECT bloom_agg(1) WHERE false), all_as_TYPE(chosen));
					model := ARRAY(SELECT a + least(b, 1) FROM unnest(model, times) AS t(a, b));
				END IF;
			WHEN 'union of all' THEN
				BEGIN
					f := (SELECT bloom_union_agg(u) FROM (VALUES (f), (NULL), (bloom_add(made, as_TYPE(y))), (bloom_add(made, as_TYPE(y)))) AS v(u));
					model[y] := model[y] + 2;
				EXCEPTION WHEN program_limit_exceeded THEN
				END;
			WHEN 'intersection' THEN
				BEGIN
					g := bloom_add_all(made, all_as_TYPE(chosen));
					f := CASE WHEN x % 2 = 0 THEN f & g ELSE bloom_intersection(g, f) END;
					model := ARRAY(SELECT least(a, b) FROM unnest(model, times) AS t(a, b));
				EXCEPTION WHEN feature_not_supported THEN
				END;
			WHEN 'text' THEN
				f := f::text::bloom;
			WHEN 'bytea' THEN
				f := f::bytea::bloom;
			WHEN 'stored' THEN
				g := f;
				UPDATE stored_bloom AS s SET f = g RETURNING s.f INTO f;
				IF (SELECT bloom_count(s.f, as_TYPE(x)) FROM stored_bloom AS s) <> bloom_count(f, as_TYPE(x)) OR
					(SELECT bloom_contains(s.f, as_TYPE(x)) FROM stored_bloom AS s) <> bloom_contains(f, as_TYPE(x)) THEN
					RETURN format('not ok - step %s: another answer when stored', step);
				END IF;
			WHEN 'plain' THEN
				IF bloom_contains_each(f, all_as_TYPE(everything)) <> bloom_contains_each(bloom_plain(f), all_as_TYPE(everything)) THEN
					RETURN format('not ok - step %s: another answer without counters', step);
				END IF;
			WHEN 'copy' THEN
				g := f;
				h := f;
				g := bloom_add(g, as_TYPE(x));
				g := bloom_remove_all(g, all_as_TYPE(everything));
				IF h <> f THEN
					RETURN format('not ok - step %s: a copy was changed', step);
				END IF;
			WHEN 'clear' THEN
				f := bloom_clear(f);
				model := nothing;
		END CASE;
		done[array_position(what, operation)] := true;
		layouts := layouts || (bloom_info(f)).layout;
		most_layers := greatest(most_layers, (bloom_info(f)).layers);
		-- many layers have no more to tell
		IF most_layers > 20 THEN
			f := made;
			model := nothing;
			most_layers := 20;
		END IF;

		IF model[x] > 0 AND NOT bloom_contains(f, as_TYPE(x)) OR model[y] > 0 AND NOT as_TYPE(y) <@ f THEN
			RETURN format('not ok - step %s: lost by %s: %s or %s', step, operation, x, y);
		END IF;
		IF step % 10 = 0 OR operation NOT LIKE 'add%' THEN
			chosen := lost(ARRAY(SELECT m > 0 FROM unnest(model) AS m), bloom_contains_each(f, all_as_TYPE(everything)));
			IF cardinality(chosen) > 0 THEN
				RETURN format('not ok - step %s: lost by %s: %s', step, operation, chosen);
			END IF;
			chosen := ARRAY(SELECT i FROM unnest(model) WITH ORDINALITY AS t(m, i) WHERE bloom_count(f, as_TYPE(i::int)) < least(m, 8));
			IF cardinality(chosen) > 0 THEN
				RETURN format('not ok - step %s: counted less often after %s: %s', step, operation, chosen);
			END IF;
		END IF;
	END LOOP;
	IF steps >= 2000 AND ((SELECT count(*) FROM unnest(done) AS d WHERE d) < (SELECT count(DISTINCT w) FROM unnest(what) AS w) OR
		(SELECT count(DISTINCT l) FROM unnest(layouts) AS l) < 2 OR most_layers < 3) THEN
		RETURN format('not ok - not all was done: %s, layers %s', (SELECT array_agg(DISTINCT l) FROM unnest(layouts) AS l), most_layers);
	END IF;
	RETURN format('ok - counting bloom of %s as the model, %s steps', 'TYPE', steps);
END
$$
$body$, 'TYPE', name) FROM types \gexec

-- ------------------------------------------------------------------------
-- Cuckoo
-- ------------------------------------------------------------------------

SELECT replace($body$
CREATE FUNCTION model_cuckoo_TYPE(seed bigint, steps int) RETURNS text LANGUAGE plpgsql VOLATILE AS
$$
DECLARE
	keys		CONSTANT int := 200;
	everything	CONSTANT int[] := ARRAY(SELECT generate_series(1, keys));
	nothing		CONSTANT int[] := array_fill(0, ARRAY[keys]);
	what		CONSTANT text[] := '{add,add,add,add all,add unique,remove,remove,remove all,replace,replace,absent,union,union of all,aggregate,compact,text,bytea,binary,stored,copy,clear}';
	done		boolean[] := '{}';
	-- how often each is in
	model		int[];
	made		cuckoo;
	f			cuckoo;
	g			cuckoo;
	h			cuckoo;
	operation	text;
	chosen		int[];
	x			int;
	y			int;
	layers		int;
	most_layers	int := 0;
BEGIN
	PERFORM setseed(bloom_hash('TYPE'::text, seed)::float8 / 2.0::float8 ^ 63);
	FOR step IN 0 .. steps - 1 LOOP
		IF step % 200 = 0 THEN
			made := CASE step / 200 % 7
				WHEN 0 THEN cuckoo_create(20)
				WHEN 1 THEN cuckoo_create(50, 0.3, 1)
				WHEN 2 THEN cuckoo_create(10, 1e-6, 3)
				WHEN 3 THEN (SELECT cuckoo_agg(1) WHERE false)
				WHEN 4 THEN cuckoo_create(20000)
				WHEN 5 THEN cuckoo_create(20, 0.02, 16, seed)
				WHEN 6 THEN cuckoo_create(3, 1e-7, 2, -seed)
			END;
			f := made;
			model := nothing;
		END IF;
		operation := what[up_to(cardinality(what))];
		x := up_to(keys);
		y := up_to(keys);
		chosen := some_up_to(keys);
		layers := (cuckoo_info(f)).layers;
		IF operation = 'clear' AND up_to(10) > 1 THEN
			operation := 'add';
		END IF;
		-- each union of small ones may put layers beside the others
		IF layers > 12 THEN
			operation := 'clear';
		END IF;

		CASE operation
			WHEN 'add' THEN
				f := cuckoo_add(f, as_TYPE(x));
				model[x] := model[x] + 1;
			WHEN 'add all' THEN
				f := cuckoo_add_all(f, all_as_TYPE(chosen));
				model := ARRAY(SELECT model[i] + (i = ANY (chosen))::int FROM unnest(everything) AS i);
			WHEN 'add unique' THEN
				-- an element that seems to be in is not added
				IF NOT cuckoo_contains(f, as_TYPE(x)) THEN
					model[x] := model[x] + 1;
				END IF;
				f := cuckoo_add_unique(f, as_TYPE(x));
			WHEN 'remove' THEN
				IF model[x] > 0 THEN
					f := cuckoo_remove(f, as_TYPE(x));
					model[x] := model[x] - 1;
				END IF;
			WHEN 'remove all' THEN
				chosen := ARRAY(SELECT i FROM unnest(chosen) AS i WHERE model[i] > 0);
				f := cuckoo_remove_all(f, all_as_TYPE(chosen));
				model := ARRAY(SELECT model[i] - (i = ANY (chosen))::int FROM unnest(everything) AS i);
			WHEN 'replace' THEN
				IF model[x] > 0 THEN
					f := cuckoo_replace(f, as_TYPE(x), as_TYPE(y));
					model[x] := model[x] - 1;
					model[y] := model[y] + 1;
				END IF;
			WHEN 'absent' THEN
				FOR i IN keys + 1 .. keys + 20 LOOP
					CONTINUE WHEN cuckoo_contains(f, as_TYPE(i));
					IF cuckoo_remove(f, as_TYPE(i)) <> f THEN
						RETURN format('not ok - step %s: the removal of what is not in changed the filter', step);
					END IF;
					EXIT;
				END LOOP;
			WHEN 'union' THEN
				g := cuckoo_add_all(made, all_as_TYPE(chosen));
				f := CASE WHEN x % 2 = 0 THEN f | g ELSE cuckoo_union(g, f) END;
				model := ARRAY(SELECT model[i] + (i = ANY (chosen))::int FROM unnest(everything) AS i);
			WHEN 'union of all' THEN
				f := (SELECT cuckoo_union_agg(u) FROM (VALUES (f), (NULL), (cuckoo_add_all(made, all_as_TYPE(chosen))), (cuckoo_add(made, as_TYPE(y)))) AS v(u));
				model := ARRAY(SELECT model[i] + (i = ANY (chosen))::int + (i = y)::int FROM unnest(everything) AS i);
			WHEN 'aggregate' THEN
				-- the elements that are in, each once, and those chosen
				model := ARRAY(SELECT (model[i] > 0 OR i = ANY (chosen))::int FROM unnest(everything) AS i);
				f := CASE x % 4
					WHEN 0 THEN (SELECT cuckoo_agg(as_TYPE(i::int)) FROM unnest(model) WITH ORDINALITY AS t(m, i) WHERE m > 0)
					WHEN 1 THEN (SELECT cuckoo_agg(as_TYPE(i::int), 30, NULL) FROM unnest(model) WITH ORDINALITY AS t(m, i) WHERE m > 0)
					WHEN 2 THEN (SELECT cuckoo_agg(as_TYPE(i::int), NULL, 0.001) FROM unnest(model) WITH ORDINALITY AS t(m, i) WHERE m > 0)
					ELSE (SELECT cuckoo_agg(bloom_element(as_TYPE(i::int), seed), keys, 0.02) FILTER (WHERE m > 0) FROM unnest(model) WITH ORDINALITY AS t(m, i))
				END;
				made := cuckoo_clear(f);
			WHEN 'compact' THEN
				f := cuckoo_compact(f);
			WHEN 'text' THEN
				f := f::text::cuckoo;
			WHEN 'bytea' THEN
				f := f::bytea::cuckoo;
			WHEN 'binary' THEN
				IF _cuckoo_send(f)::cuckoo <> f THEN
					RETURN format('not ok - step %s: not the same as binary', step);
				END IF;
			WHEN 'stored' THEN
				g := f;
				UPDATE stored_cuckoo AS s SET f = g RETURNING s.f INTO f;
				IF (SELECT cuckoo_contains(s.f, as_TYPE(x)) FROM stored_cuckoo AS s) <> cuckoo_contains(f, as_TYPE(x)) THEN
					RETURN format('not ok - step %s: another answer when stored', step);
				END IF;
			WHEN 'copy' THEN
				g := f;
				h := f;
				g := cuckoo_add(g, as_TYPE(x));
				IF h <> f OR NOT g @> as_TYPE(x) THEN
					RETURN format('not ok - step %s: a copy was changed', step);
				END IF;
			WHEN 'clear' THEN
				f := cuckoo_clear(f);
				model := nothing;
		END CASE;
		done[array_position(what, operation)] := true;
		most_layers := greatest(most_layers, (cuckoo_info(f)).layers);

		-- with four entries of one class nobody knows how many there were
		IF cuckoo_count(f, as_TYPE(x)) < least(model[x], 3) OR cuckoo_count(f, as_TYPE(y)) < least(model[y], 3) THEN
			RETURN format('not ok - step %s: lost by %s: %s or %s', step, operation, x, y);
		END IF;
		IF step % 10 = 0 OR operation NOT LIKE 'add%' THEN
			chosen := lost(ARRAY(SELECT times > 0 FROM unnest(model) AS times), cuckoo_contains_each(f, all_as_TYPE(everything)));
			IF cardinality(chosen) > 0 THEN
				RETURN format('not ok - step %s: lost by %s: %s', step, operation, chosen);
			END IF;
		END IF;
	END LOOP;
	IF steps >= 2000 AND ((SELECT count(*) FROM unnest(done) AS d WHERE d) < (SELECT count(DISTINCT w) FROM unnest(what) AS w) OR most_layers < 4) THEN
		RETURN format('not ok - not all was done: %s, layers %s', done, most_layers);
	END IF;
	RETURN format('ok - cuckoo of %s as the model, %s steps', 'TYPE', steps);
END
$$
$body$, 'TYPE', name) FROM types \gexec

CREATE TABLE stored_cuckoo (f cuckoo) WITH (toast_tuple_target = 128);
INSERT INTO stored_cuckoo VALUES (NULL);

-- ------------------------------------------------------------------------
-- The error rate
-- ------------------------------------------------------------------------

-- The most hits among "trials" of probability p that chance explains: more come
-- once in a million times at most.  Terms of the binomial distribution, relative
-- to the largest one; beyond 15 standard deviations they are nothing.
CREATE FUNCTION most_by_chance(trials int, p float8) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
$$
DECLARE
	mode	CONSTANT int := floor(trials * p);
	reach	CONSTANT int := 50 + ceil(15 * sqrt(trials * p * (1 - p)));
	lowest	CONSTANT int := greatest(0, mode - reach);
	highest	CONSTANT int := least(trials, mode + reach);
	terms	float8[];
	term	float8 := 1;
	total	float8 := 0;
	tail	float8 := 0;
BEGIN
	FOR k IN mode .. highest LOOP
		terms[k] := term;
		term := term * (trials - k) / (k + 1) * p / (1 - p);
	END LOOP;
	term := 1;
	FOR k IN REVERSE mode .. lowest LOOP
		terms[k] := term;
		term := term * k / (trials - k + 1) * (1 - p) / p;
	END LOOP;
	SELECT sum(t) INTO total FROM unnest(terms) AS t;
	FOR k IN REVERSE highest .. lowest LOOP
		tail := tail + terms[k];
		IF tail > 1e-6 * total THEN
			RETURN k;
		END IF;
	END LOOP;
	RETURN lowest;
END
$$;
-- (20 heads of 20 are less likely than once in a million, 19 more; see test/unit)
SELECT CASE WHEN most_by_chance(20, 0.5) = 19 AND most_by_chance(19, 0.5) = 19 AND most_by_chance(1000000, 1e-6) = 9 THEN 'ok' ELSE 'not ok' END || ' - the bound of chance';

-- One probe of each of many filters with different seeds: each answer is an
-- independent trial.
CREATE FUNCTION measure(seed bigint, filters int, name text, error_rate float8, expression text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	most	int := most_by_chance(filters, error_rate);
	hits	int;
	lost	int;
BEGIN
	EXECUTE format('SELECT count(*) FILTER (WHERE f @> 0), count(*) FILTER (WHERE NOT f @> 1)
		FROM generate_series(1::bigint, $2) AS i, LATERAL (SELECT (%s) AS f FROM (VALUES (bloom_hash(i, $1), $3)) AS v(seed, rate) OFFSET 0) AS t', expression)
	INTO hits, lost USING seed, filters, error_rate;
	RETURN format('%s - errors of %s at %s: %s of %s, at most %s; lost: %s', CASE WHEN hits BETWEEN 1 AND most AND lost = 0 THEN 'ok' ELSE 'not ok' END,
		name, error_rate, hits, filters, most, lost);
END
$$;

-- ------------------------------------------------------------------------
-- All of it
-- ------------------------------------------------------------------------

SELECT format('SELECT model_%s_%s(%s, %s)', kind, name, :'seed', :'steps') FROM types, (VALUES ('bloom'), ('counting'), ('cuckoo')) AS v(kind) \gexec
SELECT measure(:'seed', :'filters', name, rate, expression)
FROM (VALUES
	('a bloom from an aggregate', '(SELECT bloom_agg(bloom_element(x, seed), 100, rate) FROM generate_series(1, 100) AS x)'),
	('a fixed bloom', 'bloom_add_all(bloom_create(100, rate, 0, seed), ARRAY(SELECT generate_series(1, 100)))'),
	('a grown bloom', 'bloom_add_all(bloom_create(10, rate, 2, seed), ARRAY(SELECT generate_series(1, 100)))'),
	('a counting bloom turned over', 'bloom_add_all(bloom_remove_all(bloom_add_all(bloom_create(100, rate, 2, seed, counting => true), ARRAY(SELECT generate_series(101, 200))),
		ARRAY(SELECT generate_series(101, 200))), ARRAY(SELECT generate_series(1, 100)))'),
	('a bloom of two halves', 'bloom_add_all(bloom_create(100, rate, 2, seed), ARRAY(SELECT generate_series(1, 50))) |
		bloom_add_all(bloom_create(100, rate, 2, seed), ARRAY(SELECT generate_series(51, 100)))'),
	('a cuckoo from an aggregate', '(SELECT cuckoo_agg(bloom_element(x, seed), 100, rate) FROM generate_series(1, 100) AS x)'),
	('a fixed cuckoo', 'cuckoo_add_all(cuckoo_create(100, rate, 0, seed), ARRAY(SELECT generate_series(1, 100)))'),
	('a grown cuckoo', 'cuckoo_add_all(cuckoo_create(10, rate, 2, seed), ARRAY(SELECT generate_series(1, 100)))'),
	('a cuckoo turned over', 'cuckoo_add_all(cuckoo_remove_all(cuckoo_add_all(cuckoo_create(100, rate, 2, seed), ARRAY(SELECT generate_series(101, 200))),
		ARRAY(SELECT generate_series(101, 200))), ARRAY(SELECT generate_series(1, 100)))')
) AS v(name, expression), (VALUES (0.1), (0.01)) AS r(rate);
