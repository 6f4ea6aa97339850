--
-- The bytes of a cuckoo filter: output and input, and invalid bytes.
--
\set ON_ERROR_STOP on
CREATE TABLE cuckoos (n int, what text PRIMARY KEY, f cuckoo);
INSERT INTO cuckoos VALUES
	(1, 'empty', (SELECT cuckoo_agg(1) WHERE false)),
	(2, 'one layer', cuckoo_add_all(cuckoo_create(100), ARRAY[1, 2, 3, 3])),
	(3, 'wide', cuckoo_add_all(cuckoo_create(100, 1e-7), ARRAY[1, 2, 3])),
	(4, 'grown', cuckoo_add_all(cuckoo_create(10), ARRAY(SELECT generate_series(1, 200)))),
	(5, 'grown by one', cuckoo_add_all(cuckoo_create(30, growth => 1), ARRAY(SELECT generate_series(1, 200)))),
	(6, 'no elements', cuckoo_create(100)),
	(7, 'emptied', cuckoo_remove(cuckoo_add(cuckoo_create(100), 1), 1)),
	(8, 'keyed and fixed', cuckoo_add(cuckoo_create(100, 0.1, 0, -9223372036854775808), 1)),
	(9, 'large', cuckoo_add_all(cuckoo_create(100000), ARRAY[1, 2, 3])),
	(10, 'large and grown', cuckoo_add_all(cuckoo_create(500, 1e-4), ARRAY(SELECT generate_series(1, 20000)))),
	(11, 'saturated', cuckoo_add_all(cuckoo_create(10), ARRAY[1, 1, 1, 1, 2, 2, 2, 2, 3, 3]));
\set ON_ERROR_STOP off

-- Text is base64 of the bytes; binary and bytea are the bytes
SELECT what, f::text::cuckoo = f AS text, f::bytea::cuckoo = f AS bytea, _cuckoo_send(f) = f::bytea AS binary,
	   decode(f::text, 'base64') = f::bytea AS base64, f::text !~ '[^A-Za-z0-9+/=]' AS one_line, substr(f::bytea, 1, 4) = '\x636b6f01' AS magic
FROM cuckoos ORDER BY n;
-- A filter that was read back works
SELECT what, cuckoo_contains_each(f::text::cuckoo, ARRAY[1, -1]) AS found, cuckoo_add(f::text::cuckoo, -1) = cuckoo_add(f, -1) AS added, cuckoo_remove(f::bytea::cuckoo, 1) = cuckoo_remove(f, 1) AS removed,
	   cuckoo_cardinality(f::bytea::cuckoo | f) = cuckoo_cardinality(f | f) AS united, cuckoo_compact(f::text::cuckoo) = cuckoo_compact(f) AS compacted, cuckoo_info(f::text::cuckoo) = cuckoo_info(f) AS told
FROM cuckoos ORDER BY n;
SELECT f AS empty FROM cuckoos WHERE what = 'empty';
-- Output of a composite, an array and JSON can be read, too
SELECT bool_and((array_agg)[1] = (array_agg::text::cuckoo[])[1]) AS "array" FROM (SELECT array_agg(f) FROM cuckoos) AS t;
SELECT (r).f = (SELECT f FROM cuckoos WHERE n = 4) AS composite FROM (SELECT (cuckoos::text)::cuckoos AS r FROM cuckoos WHERE n = 4) AS t;
SELECT bool_and((to_json(f) #>> '{}')::cuckoo = f) AS json FROM cuckoos;
CREATE TABLE copied (LIKE cuckoos);
COPY copied FROM stdin;
1	empty	Y2tvAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPAAAAAAAAAAAAAAAYS+81ajBQ64=
2	null	\N
\.
SELECT c.what, c.f = l.f AS same FROM copied c LEFT JOIN cuckoos l USING (n, what) ORDER BY n;
DROP TABLE copied;

-- Each error names the type and what is wrong, with an SQLSTATE
SELECT 'no filter'::bytea::cuckoo;
SELECT 'bm8gZmlsdGVy'::cuckoo;
SELECT '!'::cuckoo;
SELECT decode(repeat('00', 60), 'hex')::cuckoo;
\set VERBOSITY sqlstate
SELECT 'no filter'::bytea::cuckoo;
SELECT 'bm8gZmlsdGVy'::cuckoo;
\set VERBOSITY default
-- The error for bytes of the other type names that type
SELECT bloom_create(10)::bytea::cuckoo;
SELECT bloom_create(10)::text::cuckoo;
SELECT (SELECT f FROM cuckoos WHERE what = 'empty')::bytea::bloom;
SELECT cuckoo_create(10)::bytea::bloom;

-- le(), image(), sealed(), fault(), fault_of(), use_flipped()
\set type cuckoo
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/bytes.sql'
\i :file
SELECT bool_and(sealed(image(f)) = f::bytea) AS sealed_alike FROM cuckoos;

-- Other bytes at an offset
CREATE FUNCTION patch(f bytea, at int, bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT overlay(f PLACING bytes FROM at + 1) $$;

-- The checksum: of many images, each with one inverted byte, and of each with one
-- inverted bit, none is taken in any form, wherever the byte is
SELECT count(*) AS images, count(*) FILTER (WHERE fault_of(set_byte(f::bytea, at, 255 - get_byte(f::bytea, at))) <> 'no error') AS refused
FROM cuckoos, generate_series(0, octet_length(f::bytea) - 1, greatest(octet_length(f::bytea) / 150, 1)) AS at;
SELECT count(*) >= 1340 AS many_images, count(*) FILTER (WHERE fault_of(set_bit(f::bytea, at, 1 - get_bit(f::bytea, at))) <> 'no error') = count(*) AS all_refused
FROM cuckoos, generate_series(0, 8 * octet_length(f::bytea) - 1, greatest(octet_length(f::bytea) / 150, 1) * 8 - 1) AS at;
-- by the checksum alone, behind the first four bytes
SELECT DISTINCT fault_of(set_bit(f::bytea, at, 1 - get_bit(f::bytea, at)))
FROM cuckoos, generate_series(8 * 4, 8 * octet_length(f::bytea) - 1, greatest(octet_length(f::bytea) / 5, 1)) AS at;
-- also where bytes are missing, or others were added
SELECT DISTINCT fault_of(substr(f::bytea, 1, length))
FROM cuckoos, LATERAL generate_series(48, octet_length(f::bytea) - 1, CASE WHEN n IN (9, 10) THEN 4999 ELSE 7 END) AS length;
SELECT what, fault_of(substr(f::bytea, 1, 47)) AS header, fault_of(image(f)) AS without, fault_of(f::bytea || '\x00') AS one_more, fault_of(sealed(f::bytea)) AS twice FROM cuckoos ORDER BY n;

-- Truncated and extended filters of each kind are refused
SELECT what, bool_and(fault(substr(image(f), 1, length)) <> 'no error') AS truncated
FROM cuckoos, LATERAL generate_series(0, octet_length(image(f)) - 1, CASE WHEN n IN (9, 10) THEN 4999 ELSE 7 END) AS length
GROUP BY n, what ORDER BY n;
SELECT what, fault(substr(image(f), 1, 59)) AS header, fault(substr(image(f), 1, octet_length(image(f)) - 1)) AS last_byte,
	   fault(image(f) || '\x00') AS one_more, fault(image(f) || image(f)) AS twice
FROM cuckoos ORDER BY n;
-- with a length in the header that agrees
SELECT what, fault(overlay(substr(image(f), 1, octet_length(image(f)) - 8) PLACING le((octet_length(image(f)) - 8)::numeric) FROM 49)) AS less,
	   fault(overlay(image(f) || '\x0000000000000000' PLACING le((octet_length(image(f)) + 8)::numeric) FROM 49)) AS more
FROM cuckoos ORDER BY n;

-- Each field of the header: that of a filter with one layer
SELECT field, fault(patch(image(f), at, bytes))
FROM cuckoos, LATERAL (VALUES
	('magic', 0, '\x43'::bytea), ('magic', 1, '\x00'), ('magic', 2, '\x6e'), ('magic of bloom', 0, '\x626c6d01'),
	('version', 3, '\x00'), ('version', 3, '\x02'), ('version', 3, '\xff'),
	('layout empty', 4, '\x00'), ('layout explicit', 4, '\x01'), ('layout block512', 4, '\x02'), ('layout block512x2', 4, '\x03'),
	('layout classic', 4, '\x04'), ('layout small', 4, '\x06'), ('layout', 4, '\x07'), ('layout', 4, '\xff'),
	('flags', 5, '\x01'), ('flags', 5, '\x02'), ('flags', 5, '\x80'), ('growth', 6, '\x11'), ('growth', 6, '\xff'),
	('layers', 7, '\x00'), ('layers', 7, '\x02'), ('layers', 7, '\x20'), ('layers', 7, '\x21'), ('layers', 7, '\xff'),
	('reserved', 56, '\x01'), ('reserved', 57, '\x01'), ('reserved', 59, '\x80'),
	('class none', 8, '\x0000000000000000'), ('class with control', 8, '\x0169000000000000'), ('class with gap', 8, '\x6900690000000000'),
	('capacity 0', 32, le(0.0)), ('capacity 2^63', 32, le(2.0 ^ 63)), ('capacity 2^64 - 1', 32, le(2.0 ^ 64 - 1)),
	('error rate 0', 24, le(0::float8)), ('error rate 1', 24, le(1::float8)), ('error rate < 0', 24, le(-0.01::float8)),
	('error rate NaN', 24, le('NaN'::float8)), ('error rate Infinity', 24, le('Infinity'::float8)), ('error rate below the layer''s', 24, le(1e-4::float8)),
	('number of hashes', 40, le(1.0)), ('number of hashes', 40, le(2.0 ^ 64 - 1)),
	('length - 1', 48, le(octet_length(image(f)) - 1.0)), ('length + 1', 48, le(octet_length(image(f)) + 1.0)),
	('length 0', 48, le(0.0)), ('length 2^32 more', 48, le(octet_length(image(f)) + 2.0 ^ 32)), ('length 2^64 - 1', 48, le(2.0 ^ 64 - 1))
) AS v(field, at, bytes) WHERE what = 'one layer';
-- Each field of a layer's description: windows, bits of a fingerprint, entries
SELECT field, fault(patch(image(f), 60 + at, bytes))
FROM cuckoos, LATERAL (SELECT bits / (fingerprint_bits + 1) - 1 AS windows, fingerprint_bits, elements FROM cuckoo_info(f)) AS i, LATERAL (VALUES
	('layout empty', 0, '\x00'::bytea), ('layout explicit', 0, '\x01'), ('layout block512', 0, '\x02'), ('layout classic', 0, '\x04'), ('layout small', 0, '\x06'), ('layout', 0, '\xff'),
	('fingerprint 0', 1, '\x00'), ('fingerprint 4', 1, '\x04'), ('fingerprint 41', 1, '\x29'), ('fingerprint 255', 1, '\xff'),
	('reserved', 2, '\x01'), ('reserved', 7, '\x01'),
	('windows 0', 8, le(0.0)), ('windows 1', 8, le(1.0)), ('windows + 1', 8, le(windows + 1.0)), ('windows + 2^16', 8, le(windows + 2.0 ^ 16)),
	('windows 2^32', 8, le(2.0 ^ 32)), ('windows + 2^32', 8, le(windows + 2.0 ^ 32)), ('windows + 2^61', 8, le(windows + 2.0 ^ 61)), ('windows 2^64 - 2', 8, le(2.0 ^ 64 - 2)),
	('capacity 0', 16, le(0.0)), ('capacity above the slots', 16, le(windows + 2.0)), ('capacity 2^64 - 1', 16, le(2.0 ^ 64 - 1)),
	('error rate 0', 24, le(0::float8)), ('error rate 1', 24, le(1::float8)), ('error rate < 0', 24, le(-0.01::float8)),
	('error rate NaN', 24, le('NaN'::float8)), ('error rate Infinity', 24, le('Infinity'::float8)),
	('entries - 1', 32, le(elements - 1.0)), ('entries + 1', 32, le(elements + 1.0)), ('entries 2^64 - 1', 32, le(2.0 ^ 64 - 1)),
	('bound of entries 0', 40, le(0.0)), ('bound of entries + 1', 40, le(get_byte(image(f), 76) + 1.0)), ('bound 2^64 - 1', 40, le(2.0 ^ 64 - 1)),
	('offset 0', 48, le(0.0)), ('offset + 64', 48, le(124 + 64.0)), ('offset - 1', 48, le(123.0)), ('offset 2^64 - 64', 48, le(2.0 ^ 64 - 64)),
	('multiple 0', 56, le(0.0)), ('multiple 2', 56, le(2.0)), ('multiple 2^63', 56, le(2.0 ^ 63)), ('multiple 2^64 - 1', 56, le(2.0 ^ 64 - 1))
) AS v(field, at, bytes) WHERE what = 'one layer';
-- Its slots
SELECT field, fault(patch(patch(image(f), at, bytes), 60 + 32, le(entries::numeric)))
FROM cuckoos, LATERAL (SELECT (bits - fingerprint_bits - 1)::int AS last, bits::int, (bytes - 124)::int AS room FROM cuckoo_info(f)) AS i, LATERAL (VALUES
	('an entry, counted', 124, '\x02'::bytea, 1), ('not counted', 124, '\x02', 0), ('counted twice', 124, '\x02', 2), ('more than room', 124, '\x02', 10000),
	('fingerprint 0', 124, '\x01', 1), ('in the first slot, of the window before', 124, '\x03', 1),
	('in the last slot, of the window that begins there', 124 + last / 8, set_bit(substr(image(f), 124 + last / 8 + 1, 2), last % 8 + 1, 1), 1),
	('in the last slot, of the window before', 124 + last / 8, set_bit(set_bit(substr(image(f), 124 + last / 8 + 1, 2), last % 8, 1), last % 8 + 1, 1), 1),
	('bit behind the last', 124 + bits / 8, set_bit(substr(image(f), 124 + bits / 8 + 1, 1), bits % 8, 1), 0), ('byte behind the last', 124 + room - 1, '\x01', 0)
) AS v(field, at, bytes, entries) WHERE what = 'emptied';
SELECT fault(patch(patch(image(f), 124, '\x02'), 60 + 32, le(1.0))) AS elements_of_no_class FROM cuckoos WHERE what = 'no elements';
-- Of the later layers of a grown filter
SELECT field, fault(patch(image(f), 60 + 64 + at, bytes))
FROM cuckoos, LATERAL (VALUES
	('layout', 0, '\x02'::bytea), ('fingerprint shorter than that before', 1, set_byte('\x00', 0, get_byte(image(f), 61) - 1)), ('windows', 8, le(2.0 ^ 58)), ('windows of the first', 8, substr(image(f), 60 + 8 + 1, 8)),
	('offset of the first', 48, substr(image(f), 60 + 48 + 1, 8)), ('multiple 0', 56, le(0.0)), ('multiple 1', 56, le(1.0)), ('multiple 3', 56, le(3.0)), ('multiple 4', 56, le(4.0)),
	('entries', 32, le(1.0)), ('reserved', 2, '\x01')
) AS v(field, at, bytes) WHERE what = 'grown';
SELECT fault(overlay(patch(image(f), 60, substr(image(f), 60 + 64 + 1, 64)) PLACING substr(image(f), 60 + 1, 64) FROM 60 + 64 + 1)) AS exchanged,
	   fault(patch(image(f), 7, '\x01')) AS first_only, fault(patch(image(f), 7, set_byte('\x00', 0, layers + 1))) AS one_more, fault(patch(image(f), 6, '\x00')) AS fixed, fault(patch(image(f), 6, '\x03')) AS by_three
FROM cuckoos, LATERAL cuckoo_info(f) WHERE what = 'grown';
-- Of an empty one: each byte behind the layout must be zero, but for the length
SELECT bool_and(fault(patch(image(f), at, '\x01')) <> 'no error') AS refused FROM cuckoos, generate_series(5, 59) AS at WHERE what = 'empty' AND at NOT BETWEEN 48 AND 55;

-- An explicit one, of three hashes, as a client may send it: it is a set, and can
-- be used as any other
CREATE TEMP TABLE explicit AS
SELECT sealed(patch(substr(b, 1, octet_length(b) - 8), 0, '\x636b6f01'))::cuckoo AS f FROM (SELECT bloom_add_all(bloom_agg(1) FILTER (WHERE false), ARRAY[1, 2, 3])::bytea AS b) AS t;
SELECT layout, element_class, capacity, layers, load, elements, estimated_error_rate FROM explicit, LATERAL cuckoo_info(f);
SELECT cuckoo_contains_each(f, ARRAY[1, 2, 3, 4]) AS has, cuckoo_count(f, 1), cuckoo_count(f, 4), cuckoo_remove(f, 4) = f AS absent, f::text::cuckoo = f AS text, cuckoo_compact(f) = f AS compact,
	   (cuckoo_info(cuckoo_clear(f))).layout AS cleared, cuckoo_cardinality(cuckoo_clear(f)) AS elements FROM explicit;
SELECT cuckoo_contains_each(g, ARRAY[1, 2, 3]) AS removed, (cuckoo_info(g)).layout, cuckoo_cardinality(g) AS elements, cuckoo_contains_each(h, ARRAY[1, 2, 3]) AS all_removed, cuckoo_cardinality(h) AS none, h::bytea::cuckoo = h AS sound,
	   cuckoo_contains_each(cuckoo_add(h, 9), ARRAY[1, 2, 3, 9]) AS added_to_none
FROM explicit, LATERAL (SELECT cuckoo_remove(f, 2) AS g, cuckoo_remove_all(f, ARRAY[3, 1, 2, 1]) AS h) AS t;
SELECT cuckoo_count(cuckoo_add(f, 1), 1) AS added, cuckoo_count(cuckoo_add_unique(f, 1), 1) AS added_unique, cuckoo_contains_each(cuckoo_add_all(f, ARRAY[4, 5]), ARRAY[1, 2, 3, 4, 5, 6]) AS added_all, (cuckoo_info(cuckoo_add(f, 4))).layout,
	   cuckoo_contains_each(cuckoo_replace(f, 1, 4), ARRAY[1, 2, 3, 4]) AS replaced FROM explicit;
SELECT cuckoo_contains_each(f | g, ARRAY[1, 2, 3, 4]) AS united, cuckoo_contains_each(g | f, ARRAY[1, 2, 3, 4]) AS other_way, cuckoo_count(f | g, 1) AS ones, cuckoo_contains_all(f | f, ARRAY[1, 2, 3]) AS with_itself,
	   cuckoo_contains_each(cuckoo_remove(f | g, 1), ARRAY[1, 4]) AS one_stays, cuckoo_count(f | f, 1) AS of_itself, cuckoo_contains(cuckoo_remove(f | f, 1), 1) AS of_itself_stays
FROM explicit, LATERAL (SELECT cuckoo_add_all(cuckoo_create(100), ARRAY[1, 4]) AS g) AS t;
SELECT field, fault(patch(image(f), at, bytes))
FROM explicit, LATERAL (VALUES
	('layers', 7, '\x01'::bytea), ('no class', 8, le(0.0)), ('hashes 2', 40, le(2.0)), ('hashes 4', 40, le(4.0)), ('hashes + 2^61', 40, le(3 + 2.0 ^ 61)),
	('out of order', 60, substr(image(f), 60 + 8 + 1, 8) || substr(image(f), 60 + 1, 8)), ('twice the same', 60, substr(image(f), 60 + 8 + 1, 8)), ('unsorted flag', 5, '\x01')
) AS v(field, at, bytes);

-- Flip each bit before the slots, and some within, of each small filter, and use
-- what is still one: that must not crash or end in an internal error, and nothing
-- of it may come out that could not be read again
CREATE FUNCTION use(f cuckoo, other cuckoo) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	g	cuckoo;
BEGIN
	PERFORM cuckoo_info(f), cuckoo_cardinality(f), cuckoo_error_rate(f), f = other;
	IF (cuckoo_info(f)).element_class = 'integer' THEN
		PERFORM cuckoo_contains(f, 1), cuckoo_contains_each(f, ARRAY[1, 2]), cuckoo_count(f, 1);
	END IF;
	FOR operation IN 1 .. 11
	LOOP
		BEGIN
			g := CASE operation WHEN 1 THEN cuckoo_add(f, 5) WHEN 2 THEN cuckoo_add_all(f, ARRAY(SELECT generate_series(6, 300)))
				WHEN 3 THEN f | other WHEN 4 THEN other | f WHEN 5 THEN cuckoo_remove(f, 1) WHEN 6 THEN cuckoo_remove_all(f, ARRAY(SELECT generate_series(200, 1, -1)))
				WHEN 7 THEN cuckoo_clear(f) WHEN 8 THEN cuckoo_add(cuckoo_clear(f), 9) WHEN 9 THEN cuckoo_compact(cuckoo_remove_all(f, ARRAY(SELECT generate_series(1, 150))))
				WHEN 10 THEN cuckoo_replace(f, 1, 1000) WHEN 11 THEN f | f END;
			IF g <> g::bytea::cuckoo THEN
				RAISE EXCEPTION 'not the same after a round trip';
			END IF;
		EXCEPTION WHEN invalid_parameter_value OR datatype_mismatch OR program_limit_exceeded THEN
			NULL;
		END;
	END LOOP;
END
$$;
-- (but the upper bytes of the capacity, which cuckoo_clear would follow)
SELECT what, result
FROM cuckoos, LATERAL cuckoo_info(f) AS i, LATERAL generate_series(0, least(8 * (60 + 64 * least(i.layers, 2) + 40), 8 * i.bytes)::int - 1) AS at,
	 LATERAL use_flipped(f, at) AS result
WHERE n NOT IN (9, 10) AND at / 8 NOT BETWEEN 34 AND 39 AND result NOT IN ('refused', 'used') ORDER BY n, at;
-- A flipped bit in a slot that is used makes another element of it, or none; it
-- never is another number of elements
SELECT bool_and(CASE fault WHEN 'no error' THEN cuckoo_cardinality(sealed(flipped)::cuckoo) = 4 ELSE fault IN ('number of entries is wrong', 'fingerprint is zero', 'entry outside all windows', 'bits after the last one are not zero') END) AS right,
	   count(*) FILTER (WHERE fault <> 'no error') > 1000 AS most_refused, count(*) FILTER (WHERE fault = 'no error') AS in_used_slots
FROM cuckoos, LATERAL generate_series(8 * 124, 8 * octet_length(image(f)) - 1) AS at, LATERAL (SELECT set_bit(image(f), at, 1 - get_bit(image(f), at)) AS flipped) AS x, LATERAL fault(flipped) WHERE what = 'one layer';

DROP TABLE cuckoos, explicit;
DROP FUNCTION fault, fault_of, patch, image, sealed, le(numeric), le(float8), le(bigint), use, use_flipped;
