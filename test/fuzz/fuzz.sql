--
-- Damaged filters through every way into the server, and, if they are let in,
-- through every function.  Whatever the bytes are: they are refused with an error
-- that says so, or they are a filter that comes out as it went in, answers, and
-- can be changed.  No internal error, and no crash.
--
--     psql -v seed=1 -v steps=20000 -v file=/tmp/fuzz.copy -f test/fuzz/fuzz.sql
--
-- Wants a superuser (the server reads and writes the file) and a database of its
-- own.  The same seed does the same; of a step that fails, seed and number are
-- told, and it alone can be done again with SELECT fuzz(seed, step, step).
--
\set ON_ERROR_STOP 1
\set QUIET 1
\pset format unaligned
\pset tuples_only on
\echo # seed :seed, :steps steps
SET client_min_messages = error;
-- longer than any step takes but one that hangs
SET statement_timeout = '120s';
CREATE EXTENSION bloomfilter;

-- ------------------------------------------------------------------------
-- What to begin with
-- ------------------------------------------------------------------------

-- The image of a filter, without the checksum behind it
CREATE FUNCTION image(bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
RETURN substr(bytes, 1, octet_length(bytes) - 8);

CREATE TABLE samples (n int GENERATED ALWAYS AS IDENTITY, kind text, image bytea);
INSERT INTO samples (kind, image)
SELECT 'bloom', image(f::bytea) FROM (VALUES
	((SELECT bloom_agg(1) WHERE false)),
	(bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY[1, 2, 3])),
	(bloom_create(1501)),
	(bloom_add_all(bloom_create(1501), ARRAY[1, 2, 3])),
	(bloom_add_all(bloom_create(1501, 0.1, 0), ARRAY(SELECT generate_series(1, 1501)))),
	(bloom_add_all(bloom_create(1501, 1e-5), ARRAY[1, 2, 3])),
	(bloom_add_all(bloom_create_bits(1001, 7), ARRAY[1, 2, 3])),
	(bloom_add_all(bloom_add_all(bloom_create(1501), ARRAY(SELECT generate_series(1, 3200))), ARRAY(SELECT generate_series(3201, 5000)))),
	(bloom_add_all(bloom_create(1501, 0.1, 1, 7), ARRAY(SELECT generate_series(1, 2000)))),
	-- compact images, and what they grow to
	(bloom_create(100)),
	(bloom_add_all(bloom_create(100), ARRAY[1, 2, 3])),
	(bloom_add_all(bloom_create(30, 0.1, 0), ARRAY(SELECT generate_series(1, 30)))),
	(bloom_add_all(bloom_create(100, 1e-5), ARRAY[1, 2, 3])),
	((SELECT bloom_agg(i) FROM generate_series(1, 20) AS i)),
	(bloom_add_all(bloom_add_all(bloom_create(10), ARRAY(SELECT generate_series(1, 40))), ARRAY(SELECT generate_series(41, 100)))),
	(bloom_add_all(bloom_create(10, 0.1, 1, 7), ARRAY(SELECT generate_series(1, 50)))),
	(bloom_add_all(bloom_create(10), ARRAY(SELECT generate_series(1, 20))) | bloom_add_all(bloom_create(10), ARRAY(SELECT generate_series(11, 30)))),
	-- of other systems
	(bloom_add_all(bloom_create_foreign('guava', 'int4', 100, 0.1), ARRAY[1, 2, 3])),
	(bloom_add_all(bloom_create_foreign('parquet', 'int8', 1000, 0.01), ARRAY[1, 2, 3])),
	(bloom_add_all(bloom_create_foreign('datasketches', 'int4', 30, 0.01), ARRAY(SELECT generate_series(1, 30)))),
	(bloom_add_all(bloom_create_foreign('redisbloom', 'int8', 30, 0.01), ARRAY[1, 2, 3])),
	(bloom_import('\x01020304050607', 'redis-bits:guava32', 'int4', 56, 3)),
	-- so large that single blocks of it are read from the table
	(bloom_add_all(bloom_create(30000), ARRAY(SELECT generate_series(1, 100)))),
	(bloom_add_all(bloom_create(500), ARRAY(SELECT generate_series(1, 20000))))
) AS v(f);
-- Slots of 8 and 16 bits, whose entries repair() can count
INSERT INTO samples (kind, image)
SELECT 'cuckoo', image(f::bytea) FROM (VALUES
	((SELECT cuckoo_agg(1) WHERE false)),
	(cuckoo_create(100)),
	(cuckoo_add_all(cuckoo_create(20, 0.01), ARRAY[1, 2, 3])),
	(cuckoo_add_all(cuckoo_create(20, 1e-4), ARRAY(SELECT generate_series(1, 20)))),
	(cuckoo_add_all(cuckoo_create(100, 0.01, 0), ARRAY(SELECT generate_series(1, 60)))),
	(cuckoo_add_all(cuckoo_create(10), ARRAY(SELECT generate_series(1, 60)))),
	(cuckoo_add_all(cuckoo_create(10, 0.02, 1, 7), ARRAY(SELECT generate_series(1, 50)))),
	(cuckoo_add_all(cuckoo_create(10), array_fill(1, ARRAY[20]) || ARRAY[2, 3])),
	(cuckoo_add_all(cuckoo_create(30000), ARRAY(SELECT generate_series(1, 100))))
) AS v(f);
-- The set that an aggregate gathers, as a worker sends it
CREATE AGGREGATE cuckoo_state(int) (SFUNC = _cuckoo_agg_trans, STYPE = cuckoo);
INSERT INTO samples (kind, image) SELECT 'cuckoo', image(cuckoo_state(x)::bytea) FROM generate_series(1, 5) AS x;

-- ------------------------------------------------------------------------
-- Damage
-- ------------------------------------------------------------------------

-- A random number from 0 on, of which setseed() tells all that come
CREATE FUNCTION below(n int) RETURNS int LANGUAGE sql VOLATILE RETURN floor(random() * n)::int;

CREATE FUNCTION le(n bigint) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
RETURN (SELECT string_agg(substr(int8send(n), i, 1), '' ORDER BY i DESC) FROM generate_series(1, 8) AS i);

-- An image, valid or not, with a right checksum behind it
CREATE FUNCTION sealed(image bytea) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
RETURN image || le(bloom_hash(image));

-- A number of eight bytes, if it is one with which one can reckon
CREATE FUNCTION small(bytes bytea, at int) RETURNS int LANGUAGE sql IMMUTABLE STRICT
RETURN CASE WHEN at + 8 <= octet_length(bytes) AND substr(bytes, at + 4, 5) = '\x0000000000'
	THEN get_byte(bytes, at) + 256 * get_byte(bytes, at + 1) + 65536 * get_byte(bytes, at + 2) END;

-- Numbers about which something changes somewhere.  None is a capacity for which
-- a filter would fill the memory.
CREATE FUNCTION some_number() RETURNS bytea LANGUAGE sql VOLATILE
RETURN CASE below(4) WHEN 0 THEN le(below(20)) WHEN 1 THEN le(below(5000)) WHEN 2 THEN le(-1 - below(3))
	ELSE le((1::bigint << (ARRAY[6, 7, 8, 9, 16, 32, 33, 40, 53, 61, 62])[1 + below(11)]) - below(2)) END;

-- Put bytes at an offset, as far as there is room.
CREATE FUNCTION put(bytes bytea, at int, what bytea) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
RETURN CASE WHEN at + octet_length(what) <= octet_length(bytes) THEN overlay(bytes PLACING what FROM at + 1) ELSE bytes END;

CREATE FUNCTION damage(bytes bytea, other bytea) RETURNS bytea LANGUAGE plpgsql VOLATILE AS
$$
DECLARE
	length	int := octet_length(bytes);
	compact	boolean := length >= 40 AND get_byte(bytes, 4) = 6;
	layers	int := CASE WHEN length >= 60 AND NOT compact THEN least(get_byte(bytes, 7), 32) ELSE 0 END;
	body	int := CASE WHEN compact THEN 39 WHEN 60 + 64 * layers < length THEN 60 + 64 * layers ELSE 0 END;
	at		int;
	there	int;
BEGIN
	IF length = 0 THEN
		RETURN other;
	END IF;
	at := below(length);
	CASE below(12)
		WHEN 0 THEN
			RETURN set_bit(bytes, 8 * at::bigint + below(8), below(2));
		WHEN 1 THEN
			RETURN set_byte(bytes, at, below(256));
		WHEN 2 THEN
			-- fields of the header, of one and of eight bytes
			RETURN put(bytes, 3 + below(5), set_byte('\x00', 0, below(34)));
		WHEN 3 THEN
			RETURN put(bytes, (ARRAY[8, 16, 24, 32, 40, 48])[1 + below(6)], some_number());
		WHEN 4 THEN
			IF compact THEN
				-- its fields of one and two bytes
				RETURN put(bytes, 5 + below(2) * (27 + 2 * below(4)), set_byte('\x00', 0, below(50)));
			END IF;
			RETURN put(bytes, 60 + 64 * below(greatest(layers, 1)) + below(2), set_byte('\x00', 0, below(70)));
		WHEN 5 THEN
			IF compact THEN
				RETURN put(bytes, 32 + 2 * below(3), substr(some_number(), 1, 2));
			END IF;
			RETURN put(bytes, 60 + 64 * below(greatest(layers, 1)) + 8 * (1 + below(7)), some_number());
		WHEN 6 THEN
			-- shorter or longer
			RETURN CASE below(3) WHEN 0 THEN substr(bytes, 1, at) WHEN 1 THEN bytes || substr(other, 1 + below(octet_length(other)))
				ELSE bytes || decode(repeat('00', 64), 'hex') END;
		WHEN 7 THEN
			-- a piece of another one, at its place
			there := 1 + below(64);
			RETURN put(bytes, at, substr(other, at + 1, there));
		WHEN 8 THEN
			-- a valid error rate
			RETURN put(bytes, 24, substr(other, 25, 8));
		ELSE
			-- bytes of the body change places, so that as many bits are set
			FOR i IN 0 .. below(6) LOOP
				at := body + below(length - body);
				there := body + below(length - body);
				bytes := set_byte(set_byte(bytes, at, get_byte(bytes, there)), there, get_byte(bytes, at));
			END LOOP;
			RETURN bytes;
	END CASE;
END
$$;

-- Slots in use, of 8 or 16 bits each
CREATE FUNCTION entries(bytes bytea, at int, slots int, width int) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN (SELECT count(*) FROM generate_series(0, slots - 1) AS s
		WHERE get_byte(bytes, at + s * width / 8) <> 0 OR width = 16 AND get_byte(bytes, at + 2 * s + 1) <> 0);

-- Make the lengths and sums right again that almost any damage spoils.
CREATE FUNCTION repair(bytes bytea) RETURNS bytea LANGUAGE plpgsql VOLATILE AS
$$
DECLARE
	length	int := octet_length(bytes);
	layers	int;
	layer	int;
	layout	int;
	width	int;
	size	bigint;
	at		int;
BEGIN
	IF length >= 40 AND get_byte(bytes, 4) = 6 THEN
		RETURN put(bytes, 34, substr(le(length - 39), 1, 2));
	END IF;
	IF length < 60 THEN
		RETURN bytes;
	END IF;
	bytes := put(bytes, 48, le(length));
	layers := get_byte(bytes, 7);
	IF get_byte(bytes, 4) < 2 OR 60 + 64 * layers > length THEN
		RETURN bytes;
	END IF;
	at := 60 + 64 * layers;
	FOR i IN 0 .. layers - 1 LOOP
		layer := 60 + 64 * i;
		layout := get_byte(bytes, layer);
		size := small(bytes, layer + 8);
		width := get_byte(bytes, layer + 1) + 1;
		bytes := put(bytes, layer + 48, le(at));
		IF layout = 5 THEN
			-- entries when full, as the capacity
			bytes := put(bytes, layer + 40, substr(bytes, layer + 16 + 1, 8));
		END IF;
		-- bytes that the layer takes
		size := CASE layout WHEN 2 THEN 64 * size WHEN 3 THEN 64 * size WHEN 4 THEN (size + 511) / 512 * 64 WHEN 6 THEN (size + 511) / 512 * 64
			WHEN 5 THEN (size * width / 8 + 8 + 63) / 64 * 64 END;
		EXIT WHEN size IS NULL OR size > length - at;
		IF layout <> 5 THEN
			bytes := put(bytes, layer + 32, le(bit_count(substr(bytes, at + 1, size::int))));
		ELSIF width IN (8, 16) AND size < 2000 THEN
			bytes := put(bytes, layer + 32, le(entries(bytes, at, small(bytes, layer + 8) + 1, width)));
		END IF;
		at := at + size;
	END LOOP;
	RETURN bytes;
END
$$;

-- ------------------------------------------------------------------------
-- The ways in
-- ------------------------------------------------------------------------

CREATE FUNCTION implies(a boolean[], b boolean[]) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN NOT EXISTS (SELECT FROM unnest(a, b) AS t(x, y) WHERE x AND y IS NOT TRUE);

CREATE TABLE received_bloom (f bloom);
CREATE TABLE received_cuckoo (f cuckoo);
-- Values of more than 128 bytes are kept elsewhere, to be read by slices.
CREATE TABLE stored_bloom (f bloom) WITH (toast_tuple_target = 128);
CREATE TABLE stored_cuckoo (f cuckoo) WITH (toast_tuple_target = 128);
CREATE TABLE numbers AS SELECT n FROM generate_series(1, 1000) AS n;
ANALYZE numbers;

-- The filter that these bytes are, if they are one: by each way in, or by none.
-- Written once, and made for either type.
SELECT replace($body$
CREATE FUNCTION enter_KIND(bytes bytea) RETURNS KIND LANGUAGE plpgsql VOLATILE AS
$$
DECLARE
	file		text := current_setting('fuzz.file');
	f			KIND;
	g			KIND;
	as_text		text := replace(encode(bytes, 'base64'), E'\n', '');
	valid		boolean;
BEGIN
	BEGIN
		f := bytes::KIND;
	EXCEPTION WHEN invalid_binary_representation THEN
		NULL;
	END;
	BEGIN
		g := as_text::KIND;
	EXCEPTION WHEN invalid_text_representation THEN
		NULL;
	END;
	ASSERT f::bytea IS NOT DISTINCT FROM g::bytea, 'text and bytea differ';
	-- a way in that throws no error, from PostgreSQL 16 on
	IF current_setting('server_version_num')::int >= 160000 THEN
		EXECUTE 'SELECT pg_input_is_valid($1, $2)' INTO valid USING as_text, 'KIND';
		ASSERT valid = (f IS NOT NULL), 'neither valid nor invalid';
	END IF;
	IF below(4) = 0 THEN
		BEGIN
			EXECUTE format('COPY (SELECT %L::bytea) TO %L (FORMAT binary)', bytes, file);
			EXECUTE format('COPY received_KIND FROM %L (FORMAT binary)', file);
			DELETE FROM received_KIND AS r RETURNING r.f INTO STRICT g;
		EXCEPTION WHEN invalid_binary_representation THEN
			g := NULL;
		END;
		ASSERT f::bytea IS NOT DISTINCT FROM g::bytea, 'binary COPY and bytea differ';
	END IF;
	-- text that may be no base64
	BEGIN
		g := overlay(as_text PLACING (ARRAY['', '=', '==', ' ', 'A', E'\n', '*', 'AAAA', '_', 'é'])[1 + below(10)] FROM 1 + below(length(as_text) + 1))::KIND;
	EXCEPTION WHEN invalid_text_representation THEN
		NULL;
	END;
	IF f IS NOT NULL THEN
		ASSERT f::bytea = bytes AND _KIND_send(f) = bytes AND f::text = as_text, 'other bytes came out';
		ASSERT f = g OR f <> g OR g IS NULL, 'neither equal nor unlike';
		ASSERT _KIND_hash_value(f) = _KIND_hash_value(bytes::KIND), 'another hash';
	END IF;
	RETURN f;
END
$$
$body$, 'KIND', kind) FROM (VALUES ('bloom'), ('cuckoo')) AS v(kind) \gexec

-- ------------------------------------------------------------------------
-- Use
-- ------------------------------------------------------------------------

-- The functions that unite the states of workers, on any two filters; with the
-- final function, and without it, for what is then a state that anyone may hold
CREATE AGGREGATE bloom_combined(bloom) (SFUNC = _bloom_agg_combine, STYPE = bloom, FINALFUNC = _bloom_agg_final);
CREATE AGGREGATE bloom_combined_state(bloom) (SFUNC = _bloom_agg_combine, STYPE = bloom);
CREATE AGGREGATE bloom_united_state(bloom) (SFUNC = bloom_union, STYPE = bloom);
CREATE AGGREGATE bloom_intersected_state(bloom) (SFUNC = bloom_intersection, STYPE = bloom);
CREATE AGGREGATE cuckoo_combined(cuckoo) (SFUNC = _cuckoo_agg_combine, STYPE = cuckoo, FINALFUNC = _cuckoo_agg_final);
CREATE AGGREGATE cuckoo_combined_state(cuckoo) (SFUNC = _cuckoo_agg_combine, STYPE = cuckoo);
CREATE AGGREGATE cuckoo_united_state(cuckoo) (SFUNC = cuckoo_union, STYPE = cuckoo);

-- What both types have in common: probed in every way, stored or not; as the
-- state of an aggregate that goes on; and by the planner
SELECT replace($body$
CREATE FUNCTION probe_KIND(f KIND, probes int[]) RETURNS boolean[] LANGUAGE plpgsql VOLATILE AS
$$
DECLARE
	each	boolean[];
	info	record := KIND_info(f);
	rate	float8 := KIND_error_rate(f);
	g		KIND;
BEGIN
	ASSERT KIND_cardinality(f) >= 0 AND rate BETWEEN 0 AND 1 AND info.bytes = octet_length(f::bytea) - 8 AND coalesce(info.capacity, 1) > 0, 'strange figures';
	BEGIN
		each := KIND_contains_each(f, probes);
		ASSERT (SELECT bool_and(KIND_contains(f, x) = e AND (f @> x) = e AND (x <@ f) = e) FROM unnest(probes, each) AS t(x, e)),
			'another answer alone than together';
		ASSERT KIND_contains_any(f, probes) = (true = ANY (each)) AND KIND_contains_all(f, probes) = (true = ALL (each)),
			'another answer for any or all';
		INSERT INTO stored_KIND VALUES (f);
		ASSERT (SELECT KIND_contains(s.f, probes[1]) = each[1] FROM stored_KIND AS s), 'another answer from the table';
		ASSERT (SELECT bool_and(KIND_contains((SELECT s.f FROM stored_KIND AS s), x) = e) FROM unnest(probes, each) AS t(x, e)),
			'other answers from the table';
		DELETE FROM stored_KIND;
		IF below(10) = 0 THEN
			EXECUTE format('EXPLAIN SELECT FROM numbers WHERE %L::KIND @> n AND KIND_contains(%L::KIND, n)', f, f);
			EXECUTE format('CREATE AGGREGATE began(hashed_element, bigint, float8) (SFUNC = _KIND_agg_trans, STYPE = KIND, INITCOND = %L)', f);
			EXECUTE 'SELECT began(bloom_element(x, $3), $1, $2) FROM unnest($4) AS x' INTO g
				USING coalesce(info.capacity, 1), coalesce(info.error_rate, 0.01), info.seed, probes;
			ASSERT g::bytea::KIND = g AND KIND_contains_all(g, probes), 'lost by an aggregate that went on';
			EXECUTE 'DROP AGGREGATE began(hashed_element, bigint, float8)';
		END IF;
	EXCEPTION WHEN datatype_mismatch OR invalid_parameter_value OR program_limit_exceeded THEN
		NULL;
	END;
	RETURN each;
END
$$
$body$, 'KIND', kind) FROM (VALUES ('bloom'), ('cuckoo')) AS v(kind) \gexec

-- Every function that changes a bloom, or makes another of two
CREATE FUNCTION use_bloom(f bloom, other bloom) RETURNS void LANGUAGE plpgsql VOLATILE AS
$$
DECLARE
	probes		CONSTANT int[] := '{1,2,3,5,8,13,21,34,55,89,-1,-2,-3}';
	in_f		boolean[] := probe_bloom(f, probes);
	in_other	boolean[] := probe_bloom(other, probes);
	in_g		boolean[];
	g			bloom;
BEGIN
	FOR operation IN 1 .. 13 LOOP
		BEGIN
			g := CASE operation
				WHEN 1 THEN bloom_add(f, 5)
				WHEN 2 THEN bloom_add_all(f, ARRAY(SELECT generate_series(1, 40)))
				WHEN 3 THEN f | other
				WHEN 4 THEN other | f
				WHEN 5 THEN f | f
				WHEN 6 THEN (SELECT bloom_union_agg(x) FROM (VALUES (f), (other), (f)) AS v(x))
				WHEN 7 THEN (SELECT bloom_combined(x) FROM (VALUES (f), (other), (f)) AS v(x))
				WHEN 8 THEN (SELECT bloom_combined_state(x) FROM (VALUES (other), (f)) AS v(x))
				WHEN 9 THEN bloom_add((SELECT bloom_united_state(x) FROM (VALUES (other), (f)) AS v(x)), 5)
				WHEN 10 THEN f & other
				WHEN 11 THEN other & f
				WHEN 12 THEN (SELECT bloom_intersected_state(x) FROM (VALUES (f), (other), (f)) AS v(x))
				WHEN 13 THEN bloom_clear(f)
			END;
			ASSERT g::bytea::bloom = g, 'the result is no filter';
			in_g := bloom_contains_each(g, probes);
			-- that one holds elements of another class
			CONTINUE WHEN in_f IS NULL OR in_other IS NULL;
			ASSERT CASE
				WHEN operation <= 2 OR operation = 5 THEN implies(in_f, in_g) AND (operation > 2 OR in_g[4])
				WHEN operation <= 9 THEN implies(in_f, in_g) AND implies(in_other, in_g)
				WHEN operation <= 12 THEN implies((SELECT array_agg(x AND y ORDER BY n) FROM unnest(in_f, in_other) WITH ORDINALITY AS t(x, y, n)), in_g)
				ELSE true <> ALL (in_g)
			END, format('operation %s lost an element', operation);
		EXCEPTION WHEN invalid_parameter_value OR datatype_mismatch OR program_limit_exceeded OR feature_not_supported THEN
			NULL;
		END;
	END LOOP;
END
$$;

CREATE FUNCTION use_cuckoo(f cuckoo, other cuckoo) RETURNS void LANGUAGE plpgsql VOLATILE AS
$$
DECLARE
	probes		CONSTANT int[] := '{1,2,3,5,8,13,21,34,55,89,-1,-2,-3}';
	in_f		boolean[] := probe_cuckoo(f, probes);
	in_other	boolean[] := probe_cuckoo(other, probes);
	in_g		boolean[];
	g			cuckoo;
BEGIN
	FOR operation IN 1 .. 15 LOOP
		BEGIN
			g := CASE operation
				WHEN 1 THEN cuckoo_add(f, 5)
				WHEN 2 THEN cuckoo_add_all(f, ARRAY(SELECT generate_series(1, 40)))
				WHEN 3 THEN cuckoo_add_unique(f, 5)
				WHEN 4 THEN cuckoo_compact(f)
				WHEN 5 THEN cuckoo_remove(cuckoo_add(f, 5), 5)
				WHEN 6 THEN cuckoo_remove_all(cuckoo_add_all(f, probes), probes)
				WHEN 7 THEN f | f
				WHEN 8 THEN f | other
				WHEN 9 THEN other | f
				WHEN 10 THEN (SELECT cuckoo_union_agg(x) FROM (VALUES (f), (other), (f)) AS v(x))
				WHEN 11 THEN (SELECT cuckoo_combined(x) FROM (VALUES (f), (other), (f)) AS v(x))
				WHEN 12 THEN (SELECT cuckoo_combined_state(x) FROM (VALUES (other), (f)) AS v(x))
				WHEN 13 THEN cuckoo_add((SELECT cuckoo_united_state(x) FROM (VALUES (other), (f)) AS v(x)), 5)
				WHEN 14 THEN cuckoo_replace(f, 1, 5)
				WHEN 15 THEN cuckoo_clear(f)
			END;
			ASSERT g::bytea::cuckoo = g, 'the result is no filter';
			ASSERT operation > 3 OR cuckoo_count(g, 5) > 0, 'an element was not added';
			in_g := cuckoo_contains_each(g, probes);
			CONTINUE WHEN in_f IS NULL OR in_other IS NULL;
			ASSERT CASE
				WHEN operation <= 7 THEN implies(in_f, in_g) AND (operation > 3 OR in_g[4])
				WHEN operation <= 13 THEN implies(in_f, in_g) AND implies(in_other, in_g)
				WHEN operation = 14 THEN in_g[4]
				ELSE true <> ALL (in_g)
			END, format('operation %s lost an element', operation);
		EXCEPTION WHEN invalid_parameter_value OR datatype_mismatch OR program_limit_exceeded OR feature_not_supported THEN
			NULL;
		END;
	END LOOP;
END
$$;

-- ------------------------------------------------------------------------
-- All of it
-- ------------------------------------------------------------------------

CREATE TABLE done (tried int, refused int, used int);

CREATE FUNCTION fuzz(seed bigint, first int, last int) RETURNS done LANGUAGE plpgsql VOLATILE AS
$$
DECLARE
	result	done := (0, 0, 0);
	sample	samples;
	other	samples;
	image	bytea;
	external	bytea;
BEGIN
	FOR step IN first .. last LOOP
		PERFORM setseed(bloom_hash(step, seed)::float8 / 2.0::float8 ^ 63);
		SELECT * INTO STRICT sample FROM samples ORDER BY random() LIMIT 1;
		SELECT * INTO STRICT other FROM samples AS s WHERE s.kind = sample.kind ORDER BY random() LIMIT 1;
		-- half of the time like ones, whose union and intersection can be made
		IF below(2) = 0 THEN
			other := sample;
		END IF;
		image := sample.image;
		FOR i IN 0 .. below(3) LOOP
			image := damage(image, other.image);
		END LOOP;
		IF below(8) > 0 THEN
			image := repair(image);
		END IF;
		result.tried := result.tried + 1;
		BEGIN
			-- with a right checksum, so that there is more than that to refuse it
			IF sample.kind = 'bloom' THEN
				PERFORM use_bloom(f, sealed(other.image)::bloom) FROM enter_bloom(sealed(image)) AS f WHERE f IS NOT NULL;
			ELSE
				PERFORM use_cuckoo(f, sealed(other.image)::cuckoo) FROM enter_cuckoo(sealed(image)) AS f WHERE f IS NOT NULL;
			END IF;
			IF FOUND THEN
				result.used := result.used + 1;
			ELSE
				result.refused := result.refused + 1;
			END IF;
			-- and without: whatever was changed, it is refused
			IF image <> sample.image THEN
				external := CASE below(2) WHEN 0 THEN image || substr(sealed(sample.image), octet_length(sample.image) + 1)
					ELSE damage(sealed(image), sealed(other.image)) END;
				IF external <> sealed(image) AND external <> sealed(sample.image) AND external <> sealed(other.image) THEN
					IF sample.kind = 'bloom' THEN
						ASSERT enter_bloom(external) IS NULL, 'taken in spite of its checksum';
					ELSE
						ASSERT enter_cuckoo(external) IS NULL, 'taken in spite of its checksum';
					END IF;
				END IF;
			END IF;
		EXCEPTION WHEN OTHERS OR assert_failure THEN
			RAISE EXCEPTION USING MESSAGE = format('seed %s, step %s, %s: %s: %s', seed, step, sample.kind, SQLSTATE, SQLERRM),
				DETAIL = left(encode(image, 'hex'), 4000);
		END;
	END LOOP;
	RETURN result;
END
$$;

SET fuzz.file = :'file';
SELECT format('INSERT INTO done SELECT * FROM fuzz(%s, %s, %s)', :'seed', n, least(n + 99, :steps)) FROM generate_series(1, :steps, 100) AS n \gexec
-- too few on either side would not prove much
SELECT format('%s - damaged filters: %s tried, %s refused, %s let in and used',
	CASE WHEN sum(tried) = :steps AND sum(used) BETWEEN 0.2 * :steps AND 0.9 * :steps THEN 'ok' ELSE 'not ok' END,
	sum(tried), sum(refused), sum(used))
FROM done;
