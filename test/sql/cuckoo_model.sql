--
-- Cuckoo filters against a model: random operations on a filter and on an array
-- that counts how often each element is in.  The filter must have all elements of
-- the array after each operation.
--
-- Another sequence of operations, as many as you like:
--     PGOPTIONS='-c cuckoo_model.seed=7' make installcheck REGRESS=cuckoo_model
-- A failure reports the seed and the step.
--
CREATE FUNCTION run_model(name text, error_rate float8, steps int) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	seed		bigint := coalesce(current_setting('cuckoo_model.seed', true), '1')::bigint;
	keys		CONSTANT int := 256;
	-- with elements that cannot be mistaken for each other and are in twice at
	-- most, the filter knows exactly what the model does
	exact		CONSTANT boolean := error_rate < 1e-5;
	model		int[];
	empty		CONSTANT int[] := array_fill(0, ARRAY[keys]);
	made		cuckoo;
	f			cuckoo;
	g			cuckoo;
	step		int := 0;
	done		boolean[] := '{}';
	random		bigint;
	x			int;
	y			int;
	chosen		int[];
	operation	text;
	growth		int;
	layers		int := 0;
	most_layers	int := 0;
	what		CONSTANT text[] := '{add,add,add,add all,add unique,remove,remove,remove,remove all,remove all,replace,replace,absent,contains,count,union,compact,text,bytea,clear}';
BEGIN
	WHILE step < steps
	LOOP
		-- another filter for each 2,000 steps, small enough to grow
		IF step % 2000 = 0 THEN
			growth := (ARRAY[2, 1, 16, 3, 4])[1 + step / 2000 % 5];
			made := cuckoo_create(CASE growth WHEN 1 THEN 100 ELSE 7 END, error_rate, growth, seed);
			f := made;
			model := empty;
		END IF;
		step := step + 1;
		-- the same random numbers everywhere
		random := bloom_hash(step, seed);
		x := 1 + (random & (keys - 1));
		y := 1 + ((random >> 8) & (keys - 1));
		operation := what[1 + (random >> 16 & 1048575) % cardinality(what)];
		-- rarely, or the filter would never be large
		IF operation = 'clear' AND (random >> 40) & 15 <> 0 THEN
			operation := 'add';
		END IF;
		-- unions of small filters put many layers beside each other
		IF layers > 20 THEN
			operation := 'clear';
		END IF;
		chosen := ARRAY(SELECT 1 + (bloom_hash(-step, seed + i) & (keys - 1))::int FROM generate_series(1, (random >> 48 & 31)::int) AS i);
		IF exact THEN
			chosen := ARRAY(SELECT DISTINCT i FROM unnest(chosen) AS i WHERE operation LIKE 'remove%' OR model[i] < 2 ORDER BY i);
		END IF;

		CASE operation
			WHEN 'add' THEN
				IF NOT exact OR model[x] < 2 THEN
					f := cuckoo_add(f, x);
					model[x] := model[x] + 1;
				END IF;
			WHEN 'add all' THEN
				f := cuckoo_add_all(f, chosen);
				FOREACH x IN ARRAY chosen LOOP
					model[x] := model[x] + 1;
				END LOOP;
			WHEN 'add unique' THEN
				-- an element that seems to be in is not added
				IF NOT f @> x THEN
					model[x] := model[x] + 1;
				END IF;
				f := cuckoo_add_unique(f, x);
			WHEN 'remove' THEN
				IF model[x] > 0 THEN
					f := cuckoo_remove(f, x);
					model[x] := model[x] - 1;
				END IF;
			WHEN 'remove all' THEN
				chosen := ARRAY(SELECT i FROM (SELECT i, row_number() OVER (PARTITION BY i) AS n FROM unnest(chosen) AS i) AS t WHERE n <= model[i]);
				f := cuckoo_remove_all(f, chosen);
				FOREACH x IN ARRAY chosen LOOP
					model[x] := model[x] - 1;
				END LOOP;
			WHEN 'replace' THEN
				IF model[x] > 0 AND (NOT exact OR model[y] < 2) THEN
					f := cuckoo_replace(f, x, y);
					model[x] := model[x] - 1;
					model[y] := model[y] + 1;
				END IF;
			WHEN 'absent' THEN
				FOR i IN -y .. -1 LOOP
					IF NOT cuckoo_contains(f, i) THEN
						IF cuckoo_remove(f, i) <> f OR cuckoo_count(f, i) <> 0 THEN
							RETURN format('%s, seed %s, step %s: the removal of what is not in changed the filter', name, seed, step);
						END IF;
						EXIT;
					END IF;
				END LOOP;
			WHEN 'union' THEN
				g := cuckoo_add_all(made, chosen);
				f := CASE WHEN x % 2 = 0 THEN f | g ELSE g | f END;
				FOREACH x IN ARRAY chosen LOOP
					model[x] := model[x] + 1;
				END LOOP;
			WHEN 'compact' THEN
				g := cuckoo_compact(f);
				IF cuckoo_cardinality(g) > cuckoo_cardinality(f) OR exact AND cuckoo_cardinality(g) < cuckoo_cardinality(f) OR (cuckoo_info(g)).bytes > (cuckoo_info(f)).bytes THEN
					RETURN format('%s, seed %s, step %s: compacted from %s to %s', name, seed, step, cuckoo_info(f), cuckoo_info(g));
				END IF;
				f := g;
			WHEN 'text' THEN
				f := f::text::cuckoo;
			WHEN 'bytea' THEN
				IF f::bytea::cuckoo <> f THEN
					RETURN format('%s, seed %s, step %s: not the same as bytea', name, seed, step);
				END IF;
			WHEN 'clear' THEN
				f := cuckoo_clear(f);
				model := empty;
			ELSE
				NULL;
		END CASE;
		done[array_position(what, operation)] := true;
		layers := (cuckoo_info(f)).layers;
		most_layers := greatest(most_layers, layers);

		-- the elements at work after each step, all of them now and then
		IF model[x] > 0 AND NOT cuckoo_contains(f, x) OR model[y] > 0 AND NOT f @> y OR cuckoo_count(f, x) < least(model[x], 3) THEN
			RETURN format('%s, seed %s, step %s: false negative after %s: %s, %s', name, seed, step, operation, x, y);
		END IF;
		IF exact AND (cuckoo_contains(f, x) <> (model[x] > 0) OR cuckoo_count(f, y) <> model[y]) THEN
			RETURN format('%s, seed %s, step %s: %s after %s is in %s times instead of %s', name, seed, step, y, operation, cuckoo_count(f, y), model[y]);
		END IF;
		IF step % 100 = 0 THEN
			SELECT array_agg(i) INTO chosen
			FROM unnest(model, cuckoo_contains_each(f, ARRAY(SELECT generate_series(1, keys)))) WITH ORDINALITY AS t(times, is_in, i)
			WHERE times > 0 AND NOT is_in OR exact AND (times > 0) <> is_in OR cuckoo_count(f, i::int) < least(times, 3) OR exact AND cuckoo_count(f, i::int) <> times;
			IF chosen IS NOT NULL THEN
				RETURN format('%s, seed %s, step %s: false after %s: %s', name, seed, step, operation, chosen);
			END IF;
			-- a saturated class counts for fewer, nothing for more
			IF exact AND cuckoo_cardinality(f) <> (SELECT sum(times) FROM unnest(model) AS times) THEN
				RETURN format('%s, seed %s, step %s: %s elements instead of %s', name, seed, step, cuckoo_cardinality(f), (SELECT sum(times) FROM unnest(model) AS times));
			END IF;
		END IF;
	END LOOP;
	RETURN format('%s: as the model, %s operations, each done: %s, layers enough: %s', name, (SELECT count(DISTINCT o) FROM unnest(what) AS o),
		(SELECT count(*) FROM unnest(done) AS d WHERE d) = (SELECT count(DISTINCT o) FROM unnest(what) AS o), most_layers > 3);
END
$$;
SELECT run_model('coarse', 0.3, 10000);
SELECT run_model('one in a hundred', 0.01, 2000);
SELECT run_model('exact', 1e-6, 10000);
DROP FUNCTION run_model;
