--
-- The bytes of a filter: output and input, and invalid bytes.
--
\set ON_ERROR_STOP on
CREATE TABLE layouts (n int, what text PRIMARY KEY, f bloom);
INSERT INTO layouts VALUES
	(1, 'empty', (SELECT bloom_agg(1) WHERE false)),
	(2, 'explicit', bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY[1, 2, 3])),
	(3, 'block512', bloom_add_all(bloom_create(1501), ARRAY[1, 2, 3])),
	(4, 'block512x2', bloom_add_all(bloom_create(1501, 1e-5), ARRAY[1, 2, 3])),
	(5, 'classic', bloom_add_all(bloom_create_bits(1001, 7), ARRAY[1, 2, 3])),
	(6, 'grown', bloom_add_all(bloom_add_all(bloom_create(1501), ARRAY(SELECT generate_series(1, 4000))), ARRAY(SELECT generate_series(4001, 6100)))),
	(7, 'no elements', bloom_create(1501)),
	(8, 'keyed and fixed', bloom_add(bloom_create(1501, 0.1, 0, -9223372036854775808), 1)),
	(9, 'large', bloom_add_all(bloom_create(100000), ARRAY[1, 2, 3])),
	(10, 'large and grown', bloom_add_all(bloom_create(500), ARRAY(SELECT generate_series(1, 20000)))),
	(11, 'large explicit', bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY(SELECT generate_series(1, 1000)))),
	-- compact images, and what they grow to
	(12, 'small', bloom_add_all(bloom_create(100), ARRAY[1, 2, 3])),
	(13, 'small, for what it has', (SELECT bloom_agg(i) FROM generate_series(1, 100) AS i)),
	(14, 'small, no elements', bloom_create(1)),
	(15, 'small, keyed and fixed', bloom_add(bloom_create(1500, 1e-5, 0, -9223372036854775808), 1)),
	(16, 'small layers', bloom_add_all(bloom_add_all(bloom_create(10), ARRAY(SELECT generate_series(1, 50))), ARRAY(SELECT generate_series(51, 200)))),
	(17, 'small layer and blocks', bloom_add_all(bloom_create(10), ARRAY(SELECT generate_series(1, 2000)))),
	(18, 'small ones united', (SELECT bloom_agg(i, 100, NULL) FROM generate_series(1, 100) AS i) | (SELECT bloom_agg(i, 100, NULL) FROM generate_series(101, 200) AS i)),
	-- with counters
	(19, 'counting', bloom_add_all(bloom_create(1501, counting => true), ARRAY[1, 2, 2, 3])),
	(20, 'countingx2', bloom_add_all(bloom_create(100, 1e-5, 0, counting => true), ARRAY[1, 2, 2, 3]));
\set ON_ERROR_STOP off

-- Of which layouts these are
SELECT what, layout, layers, bytes - layers * 64 > 60 AS more_than_a_header FROM layouts, LATERAL bloom_info(f) ORDER BY n;

-- Text is base64 of the bytes; binary and bytea are the bytes
SELECT what, f::text::bloom = f AS text, f::bytea::bloom = f AS bytea, _bloom_send(f) = f::bytea AS binary,
	   decode(f::text, 'base64') = f::bytea AS base64, f::text !~ '[^A-Za-z0-9+/=]' AS one_line,
	   substr(f::bytea, 1, 4) = '\x626c6d01' AS magic
FROM layouts ORDER BY n;
-- A filter that was read back works (and counts twice in a union with itself, if it counts)
SELECT what, bloom_contains_each(f::text::bloom, ARRAY[1, -1]) AS found, bloom_add(f::text::bloom, -1) = bloom_add(f, -1) AS changed,
	   (f::bytea::bloom | f) = f AS united, bloom_info(f::text::bloom) = bloom_info(f) AS told
FROM layouts ORDER BY n;
-- The smallest one, so that it can be seen
SELECT f::bytea AS empty FROM layouts WHERE what = 'empty';
SELECT f AS empty FROM layouts WHERE what = 'empty';
SELECT bloom_add(f, 1)::bytea AS explicit FROM layouts WHERE what = 'empty';
SELECT f::bytea AS small FROM layouts WHERE what = 'small, no elements';
-- Output of a composite, an array and JSON can be read, too
SELECT bool_and((array_agg)[1] = (array_agg::text::bloom[])[1]) AS "array" FROM (SELECT array_agg(f) FROM layouts) AS t;
SELECT (r).f = (SELECT f FROM layouts WHERE n = 6) AS composite
FROM (SELECT (layouts::text)::layouts AS r FROM layouts WHERE n = 6) AS t;
SELECT bool_and((to_json(f) #>> '{}')::bloom = f) AS json FROM layouts;
-- COPY
CREATE TABLE copied (LIKE layouts);
COPY copied FROM stdin;
1	empty	YmxtAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPAAAAAAAAAAAAAAAu0CcZQrMaU0=
2	null	\N
\.
SELECT c.what, c.f = l.f AS same FROM copied c LEFT JOIN layouts l USING (n, what) ORDER BY n;
DROP TABLE copied;

--
-- Invalid bytes.  All kinds of input share one check.
--
-- le(), image(), sealed(), fault(), fault_of(), use_flipped()
\set type bloom
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/bytes.sql'
\i :file
SELECT le(258.0::numeric) AS integer, le(18446744073709551615.0::numeric) AS largest, le(1::float8) AS float, le(-2::bigint) AS signed;

SELECT bool_and(sealed(image(f)) = f::bytea) AS sealed_alike FROM layouts;

-- Other bytes at an offset
CREATE FUNCTION patch(f bloom, at int, bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT overlay(image(f) PLACING bytes FROM at + 1) $$;

-- Each error names the type and what is wrong, with an SQLSTATE
SELECT 'no filter'::bytea::bloom;
SELECT 'bm8gZmlsdGVy'::bloom;
SELECT '!'::bloom;
\set VERBOSITY sqlstate
SELECT 'no filter'::bytea::bloom;
SELECT 'bm8gZmlsdGVy'::bloom;
SELECT ''::bloom;
\set VERBOSITY default

-- Text that is not base64
DO $$
DECLARE
	good	text := (SELECT f::text FROM layouts WHERE what = 'block512');
	bad		text;
BEGIN
	FOREACH bad IN ARRAY ARRAY['', ' ', '=', '====', 'YQ', 'YQ=', good || '=', good || ' ', ' ' || good, good || good,
							   overlay(good PLACING '-' FROM 100), overlay(good PLACING E'\n' FROM 77),
							   left(good, -1), left(good, -4), left(good, 100), good || 'AAAA', E'\\x626c6d01']
	LOOP
		BEGIN
			PERFORM bad::bloom;
			RAISE NOTICE 'taken: "%"', bad;
		EXCEPTION WHEN invalid_text_representation THEN
			RAISE NOTICE '%', SQLERRM;
		END;
	END LOOP;
END
$$;

-- The checksum: of many images, each with one inverted byte, and of each with one
-- inverted bit, none is taken in any form, wherever the byte is
SELECT count(*) AS images, count(*) FILTER (WHERE fault_of(set_byte(f::bytea, at, 255 - get_byte(f::bytea, at))) <> 'no error') AS refused
FROM layouts, generate_series(0, octet_length(f::bytea) - 1, greatest(octet_length(f::bytea) / 90, 1)) AS at;
SELECT count(*) >= 1340 AS many_images, count(*) FILTER (WHERE fault_of(set_bit(f::bytea, at, 1 - get_bit(f::bytea, at))) <> 'no error') = count(*) AS all_refused
FROM layouts, generate_series(0, 8 * octet_length(f::bytea) - 1, greatest(octet_length(f::bytea) / 90, 1) * 8 - 1) AS at;
-- by the checksum alone, behind the first four bytes
SELECT DISTINCT fault_of(set_bit(f::bytea, at, 1 - get_bit(f::bytea, at)))
FROM layouts, generate_series(8 * 4, 8 * octet_length(f::bytea) - 1, greatest(octet_length(f::bytea) / 5, 1)) AS at;
-- also where bytes are missing, or others were added
SELECT DISTINCT fault_of(substr(f::bytea, 1, length))
FROM layouts, LATERAL generate_series(48, octet_length(f::bytea) - 1, CASE WHEN n BETWEEN 9 AND 11 THEN 4999 ELSE 7 END) AS length;
SELECT what, fault_of(substr(f::bytea, 1, 47)) AS header, fault_of(image(f)) AS without, fault_of(f::bytea || '\x00') AS one_more, fault_of(sealed(f::bytea)) AS twice FROM layouts ORDER BY n;

-- Truncated and extended filters of each layout are refused
SELECT what, bool_and(fault(substr(image(f), 1, length)) <> 'no error') AS truncated
FROM layouts, LATERAL generate_series(0, octet_length(image(f)) - 1, CASE WHEN n BETWEEN 9 AND 11 THEN 4999 WHEN octet_length(image(f)) > 1000 THEN 7 ELSE 1 END) AS length
GROUP BY n, what ORDER BY n;
SELECT what, fault(substr(image(f), 1, CASE WHEN n BETWEEN 12 AND 15 THEN 39 ELSE 59 END)) AS header, fault(substr(image(f), 1, octet_length(image(f)) - 1)) AS last_byte,
	   fault(image(f) || '\x00') AS one_more, fault(image(f) || image(f)) AS twice
FROM layouts ORDER BY n;
-- with a length in the header that agrees
SELECT what, fault(overlay(substr(image(f), 1, octet_length(image(f)) - 8) PLACING le((octet_length(image(f)) - 8)::numeric) FROM 49)) AS less,
	   fault(overlay(image(f) || '\x0000000000000000' PLACING le((octet_length(image(f)) + 8)::numeric) FROM 49)) AS more
FROM layouts WHERE n NOT BETWEEN 12 AND 15 ORDER BY n;
-- (a compact image may have any number of bytes)
SELECT what, fault(overlay(substr(image(f), 1, octet_length(image(f)) - 1) PLACING substr(le(octet_length(image(f)) - 40.0), 1, 2) FROM 35)) AS less,
	   fault(overlay(image(f) || '\x00' PLACING substr(le(octet_length(image(f)) - 38.0), 1, 2) FROM 35)) AS more
FROM layouts WHERE n BETWEEN 12 AND 15 ORDER BY n;

-- Each field of the header: that of a filter with one layer
SELECT field, fault(patch(f, at, bytes))
FROM layouts, LATERAL (VALUES
	('magic', 0, '\x42'::bytea), ('magic', 1, '\x00'), ('magic', 2, '\x6e'),
	('version', 3, '\x00'), ('version', 3, '\x02'), ('version', 3, '\xff'),
	('layout empty', 4, '\x00'), ('layout explicit', 4, '\x01'), ('layout block512x2', 4, '\x03'),
	('layout classic', 4, '\x04'), ('layout', 4, '\x05'), ('layout small', 4, '\x06'), ('layout counting', 4, '\x07'), ('layout countingx2', 4, '\x08'), ('layout foreign', 4, '\x09'), ('layout', 4, '\x0a'), ('layout', 4, '\xff'),
	('flags', 5, '\x01'), ('flag of compact images', 5, '\x02'), ('flags', 5, '\x80'),
	('growth', 6, '\x11'), ('growth', 6, '\xff'),
	('layers', 7, '\x00'), ('layers', 7, '\x02'), ('layers', 7, '\x20'), ('layers', 7, '\x21'), ('layers', 7, '\xff'),
	('reserved', 56, '\x01'), ('reserved', 57, '\x01'), ('reserved', 58, '\x01'), ('reserved', 59, '\x80'),
	('class none', 8, '\x0000000000000000'), ('class with control', 8, '\x0169000000000000'),
	('class with blank', 8, '\x6920690000000000'), ('class with gap', 8, '\x6900690000000000'),
	('class not ASCII', 8, '\x69ff000000000000'),
	('capacity 0', 32, le(0.0)), ('capacity 2^63', 32, le(2.0 ^ 63)), ('capacity 2^64 - 1', 32, le(2.0 ^ 64 - 1)),
	('error rate 0', 24, le(0::float8)), ('error rate 1', 24, le(1::float8)), ('error rate < 0', 24, le(-0.01::float8)),
	('error rate NaN', 24, le('NaN'::float8)), ('error rate Infinity', 24, le('Infinity'::float8)),
	('number of hashes', 40, le(1.0)), ('number of hashes', 40, le(2.0 ^ 64 - 1)),
	('length - 1', 48, le(octet_length(image(f)) - 1.0)), ('length + 1', 48, le(octet_length(image(f)) + 1.0)),
	('length 0', 48, le(0.0)), ('length 2^32 more', 48, le(octet_length(image(f)) + 2.0 ^ 32)), ('length 2^64 - 1', 48, le(2.0 ^ 64 - 1))
) AS v(field, at, bytes) WHERE what = 'block512';
SELECT fault(patch(f, 7, '\x20')) AS many_layers FROM layouts WHERE what = 'keyed and fixed';
-- Error rates that no filter can have
SELECT field, fault(patch(f, at, bytes)) <> 'no error' AS refused
FROM layouts, (VALUES
	('least normal number', 24, le(2.3e-308::float8)), ('1e-300', 24, le(1e-300::float8)),
	('below the least', 24, le(0.99e-7::float8)), ('above the largest', 24, le(0.51::float8))
) AS v(field, at, bytes) WHERE what = 'block512';
-- A capacity that is not the layer's: as large a filter must not be believed to
-- be like this one
DO $$
DECLARE
	large	bloom := bloom_create(10000);
	forged	bytea := (SELECT patch(f, 32, le(10000.0)) FROM layouts WHERE what = 'block512');
BEGIN
	PERFORM large & sealed(forged)::bloom, sealed(forged)::bloom & large;
	RAISE NOTICE 'taken';
EXCEPTION WHEN invalid_binary_representation OR invalid_parameter_value THEN
	RAISE NOTICE 'refused';
END
$$;

-- Each field of a layer's description
SELECT field, fault(patch(f, 60 + at, bytes))
FROM layouts, LATERAL (SELECT bits, bits / 512 AS size, bits_set FROM bloom_info(f)) AS i, LATERAL (VALUES
	('layout empty', 0, '\x00'::bytea), ('layout explicit', 0, '\x01'), ('layout block512x2', 0, '\x03'),
	('layout classic', 0, '\x04'), ('layout', 0, '\xff'),
	('hashes', 1, '\x00'), ('hashes', 1, '\x19'), ('hashes', 1, '\xff'),
	('reserved', 2, '\x01'), ('reserved', 7, '\x01'),
	('blocks 0', 8, le(0.0)), ('blocks + 1', 8, le(size + 1.0)), ('blocks - 1', 8, le(size - 1.0)),
	('blocks 2^23', 8, le(2.0 ^ 23)), ('blocks 2^23 + 1', 8, le(2.0 ^ 23 + 1)), ('blocks + 2^55', 8, le(size + 2.0 ^ 55)),
	('blocks + 2^58', 8, le(size + 2.0 ^ 58)), ('blocks 2^64 - 1', 8, le(2.0 ^ 64 - 1)),
	('capacity 0', 16, le(0.0)),
	('error rate 0', 24, le(0::float8)), ('error rate 1', 24, le(1::float8)), ('error rate < 0', 24, le(-0.01::float8)),
	('error rate NaN', 24, le('NaN'::float8)), ('error rate Infinity', 24, le('Infinity'::float8)),
	('bits set - 1', 32, le(bits_set - 1.0)), ('bits set + 1', 32, le(bits_set + 1.0)), ('bits set 2^64 - 1', 32, le(2.0 ^ 64 - 1)),
	('bound of bits set', 40, le(bits + 1.0)), ('bound of bits set', 40, le(2.0 ^ 64 - 1)),
	('offset 0', 48, le(0.0)), ('offset + 64', 48, le(124 + 64.0)), ('offset - 1', 48, le(123.0)), ('offset 2^64 - 64', 48, le(2.0 ^ 64 - 64)),
	('reserved', 56, '\x01'), ('reserved', 63, '\x01'),
	('a bit', 64, set_bit(substr(image(f), 125, 1), 0, 1 - get_bit(substr(image(f), 125, 1), 0)))
) AS v(field, at, bytes) WHERE what = 'block512';
-- with two blocks for an element, there are two at least
SELECT fault(patch(f, 68, le(1.0))) AS one_block FROM layouts WHERE what = 'block512x2';

-- Counters above one whose bits are clear, in the first and the last byte of the planes; and counters that are not there
SELECT what, fault(patch(f, 124 + (bytes::int - 124) / 4, '\xff')) AS first_counters, fault(patch(f, bytes::int - 1, '\x80')) AS last_counter,
	   fault(overlay(patch(f, 4, '\x02') PLACING '\x02' FROM 61)) AS plain, fault(patch(f, 60, '\x02')) AS plain_layer, fault(patch(f, 68, le(2.0 ^ 21 + 1))) AS too_large
FROM layouts, bloom_info(f) WHERE what IN ('counting', 'countingx2') ORDER BY n;

-- Of the later layers of a grown filter
SELECT field, fault(patch(f, 60 + 64 + at, bytes))
FROM layouts, LATERAL (VALUES
	('layout', 0, '\x04'::bytea), ('blocks', 8, le(2.0 ^ 58)), ('offset of the first', 48, substr(image(f), 60 + 48 + 1, 8)),
	('bits set', 32, le(1.0)), ('reserved', 56, '\x01')
) AS v(field, at, bytes) WHERE what = 'grown';
SELECT fault(overlay(patch(f, 60, substr(image(f), 60 + 64 + 1, 64)) PLACING substr(image(f), 60 + 1, 64) FROM 60 + 64 + 1)) AS exchanged,
	   fault(patch(f, 7, '\x01')) AS first_only, fault(patch(f, 7, set_byte('\x00', 0, layers + 1))) AS one_more
FROM layouts, LATERAL bloom_info(f) WHERE what = 'grown';

-- Each field of a compact image: of three elements, of none, and of one with the flag
SELECT what, field, fault(patch(f, at, bytes))
FROM layouts, LATERAL (SELECT bits::int / 8 AS size, bits_set FROM bloom_info(f)) AS i, LATERAL (VALUES
	(1, 'layout empty', 4, '\x00'::bytea), (2, 'layout explicit', 4, '\x01'), (3, 'layout block512', 4, '\x02'), (4, 'layout classic', 4, '\x04'),
	(5, 'flag unsorted', 5, '\x01'), (6, 'flag exact', 5, '\x02'), (7, 'both flags', 5, '\x03'), (8, 'flags', 5, '\x82'),
	(9, 'growth', 6, '\x11'), (10, 'fixed', 6, '\x00'), (11, 'layers', 7, '\x00'), (12, 'layers', 7, '\x02'),
	(13, 'class none', 8, '\x0000000000000000'), (14, 'class with gap', 8, '\x6900690000000000'),
	(15, 'error rate 0', 24, le(0::float8)), (16, 'error rate NaN', 24, le('NaN'::float8)), (17, 'error rate 1', 24, le(1::float8)),
	(18, 'capacity 0', 32, '\x0000'), (19, 'capacity 1,500', 32, '\xdc05'), (20, 'capacity 1,501', 32, '\xdd05'), (21, 'capacity 65,535', 32, '\xffff'),
	(22, 'bytes 0', 34, '\x0000'), (23, 'bytes - 1', 34, substr(le(size - 1.0), 1, 2)), (24, 'bytes + 1', 34, substr(le(size + 1.0), 1, 2)), (25, 'bytes 65,535', 34, '\xffff'),
	(26, 'bound of bits set', 36, substr(le(8 * size + 1.0), 1, 2)), (27, 'bound of bits set', 36, '\xffff'),
	(28, 'hashes 0', 38, '\x00'), (29, 'hashes 25', 38, '\x19'), (30, 'hashes 255', 38, '\xff')
) AS v(m, field, at, bytes) WHERE what IN ('small', 'small, no elements', 'small, for what it has') ORDER BY n, m;
SELECT what, fault(substr(image(f), 1, 39)) AS header, fault(substr(image(f), 1, 38)) AS less, fault(substr(image(f), 1, 40)) AS and_a_byte, fault(image(f) || '\x00') AS one_more,
	   fault('\x636b6f' || substr(image(f), 4)) AS as_cuckoo, fault(substr(image(f), 1, 3) || '\x02' || substr(image(f), 5)) AS next_version
FROM layouts WHERE what LIKE 'small, %' OR what = 'small' ORDER BY n;
-- as many bytes as a layer can have, and one more
SELECT size, fault(overlay(patch(f, 34, substr(le(size::numeric), 1, 2)) || decode(repeat('00', size - bits::int / 8), 'hex') PLACING '\x0000' FROM 37))
FROM layouts, LATERAL bloom_info(f), (VALUES (8191), (8192)) AS s(size) WHERE what = 'small, no elements';
-- A small layer alone in an image that is not compact, and several in one whose header
-- names another layout
SELECT fault(overlay(overlay(substr(image(f), 1, 60) PLACING '\x01' FROM 8) PLACING le(188.0) FROM 49) ||
			 overlay(substr(image(f), 61, 64) PLACING le(124.0) FROM 49) || substr(image(f), 60 + 3 * 64 + 1, 64)) AS alone,
	   fault(patch(f, 4, '\x03')) AS block512x2, fault(patch(f, 4, '\x04')) AS classic, fault(patch(f, 4, '\x06')) AS small
FROM layouts WHERE what = 'small layers';
-- The first layer, alone, becomes a compact image again, whatever capacity the header
-- has, and whether it says that the filter grows
CREATE FUNCTION cleared(image bytea) RETURNS boolean LANGUAGE sql RETURN bloom_clear(sealed(image)::bloom)::bytea::bloom = bloom_clear(sealed(image)::bloom);
SELECT field, cleared(patch(f, at, bytes))
FROM layouts, (VALUES ('capacity 1,501', 32, le(1501.0)), ('capacity 65,546', 32, le(65546.0)), ('capacity 2^62', 32, le(2.0 ^ 62)),
					  ('fixed', 6, '\x00'), ('exact', 60 + 24, le(0.01 * 0.95::float8)), ('error rate', 60 + 24, le(0.001::float8))) AS v(field, at, bytes) WHERE what = 'small layers';
SELECT cleared(overlay(patch(f, 6, '\x00') PLACING le(0.01 * 0.95::float8) FROM 85)) AS fixed_and_exact FROM layouts WHERE what = 'small layers';
DROP FUNCTION cleared;
-- Fields of a small layer among others
SELECT field, fault(patch(f, 60 + at, bytes))
FROM layouts, LATERAL (VALUES
	('layout block512', 0, '\x02'::bytea), ('hashes 0', 1, '\x00'), ('hashes 25', 1, '\x19'), ('reserved', 2, '\x01'),
	('bits 0', 8, le(0.0)), ('bits + 1', 8, le(get_byte(image(f), 68) + 1.0)), ('bits - 8', 8, le(get_byte(image(f), 68) - 8.0)), ('bits 65,536', 8, le(65536.0)), ('bits 2^63', 8, le(2.0 ^ 63)),
	('capacity 0', 16, le(0.0)), ('capacity 1,501', 16, le(1501.0)), ('error rate 0', 24, le(0::float8)), ('error rate 1', 24, le(1::float8)),
	('bits set', 32, le(1.0)), ('bound of bits set', 40, le(get_byte(image(f), 68) + 1.0)), ('offset', 48, le(0.0)), ('multiple', 56, '\x01')
) AS v(field, at, bytes) WHERE what = 'small layers';

-- Of a classic filter, of 1,001 bits
SELECT field, fault(patch(f, at, bytes))
FROM layouts, LATERAL (VALUES
	('growth', 6, '\x02'::bytea), ('capacity', 32, le(100.0)), ('error rate', 24, le(0.01::float8)),
	('hashes 0', 61, '\x00'), ('hashes 65', 61, '\x41'),
	('bits 0', 68, le(0.0)), ('bits - 512', 68, le(1001.0 - 512)), ('bits + 512', 68, le(1001.0 + 512)),
	('bits 2^32 + 1', 68, le(2.0 ^ 32 + 1)), ('bits 2^64 - 1', 68, le(2.0 ^ 64 - 1)),
	('layer''s capacity', 76, le(1.0)), ('layer''s error rate', 84, le(0.01::float8)), ('bound of bits set', 100, le(1.0)),
	('bit behind the last', 124 + 125, '\x02'), ('byte behind the last', 124 + 127, '\x01')
) AS v(field, at, bytes) WHERE what = 'classic';
-- (a bit behind the last one, counted as set)
SELECT fault(overlay(patch(f, 124 + 125, set_bit(substr(image(f), 124 + 125 + 1, 1), 1, 1)) PLACING le(bits_set + 1.0) FROM 92 + 1)) AS counted
FROM layouts, LATERAL bloom_info(f) WHERE what = 'classic';

-- Of an explicit filter, of three hashes
SELECT field, fault(patch(f, at, bytes))
FROM layouts, LATERAL (VALUES
	('layers', 7, '\x01'::bytea), ('no class', 8, le(0.0)),
	('hashes 0', 40, le(0.0)), ('hashes 2', 40, le(2.0)), ('hashes 4', 40, le(4.0)),
	('hashes + 2^61', 40, le(3 + 2.0 ^ 61)), ('hashes 2^64 - 1', 40, le(2.0 ^ 64 - 1)),
	('out of order', 60, substr(image(f), 60 + 8 + 1, 8) || substr(image(f), 60 + 1, 8)),
	('twice the same', 60, substr(image(f), 60 + 8 + 1, 8)),
	('unsorted flag', 5, '\x01')
) AS v(field, at, bytes) WHERE what = 'explicit';

-- Of an empty one: each byte behind the layout must be zero, but for the length
SELECT bool_and(fault(patch(f, at, '\x01')) <> 'no error') AS refused
FROM layouts, generate_series(5, 59) AS at WHERE what = 'empty' AND at NOT BETWEEN 48 AND 55;

-- Flip each bit before the hashes and bits of each small filter, and use what is still
-- one: that must not crash or end in an internal error, and nothing of it may
-- come out that could not be read again
CREATE FUNCTION use(f bloom, other bloom) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	g	bloom;
BEGIN
	PERFORM bloom_info(f), bloom_cardinality(f), bloom_error_rate(f), f = other;
	IF (bloom_info(f)).element_class = 'integer' THEN
		PERFORM bloom_contains(f, 1), bloom_contains_each(f, ARRAY[1, 2]);
	END IF;
	FOR operation IN 1 .. 8
	LOOP
		BEGIN
			g := CASE operation WHEN 1 THEN bloom_add(f, 5) WHEN 2 THEN bloom_add_all(f, ARRAY[6, 7, 8])
				WHEN 3 THEN f | other WHEN 4 THEN other | f WHEN 5 THEN f & other WHEN 6 THEN other & f
				WHEN 7 THEN bloom_clear(f) WHEN 8 THEN bloom_add(bloom_clear(f), 9) END;
			IF g <> g::bytea::bloom THEN
				RAISE EXCEPTION 'not the same after a round trip';
			END IF;
		EXCEPTION WHEN invalid_parameter_value OR datatype_mismatch OR program_limit_exceeded OR feature_not_supported THEN
			NULL;
		END;
	END LOOP;
END
$$;
-- (but the upper bytes of the capacity, which bloom_clear would follow)
SELECT what, result
FROM layouts, LATERAL bloom_info(f) AS i, LATERAL generate_series(0, 8 * CASE layout WHEN 'small' THEN 39 ELSE 60 + 64 * least(i.layers, 2) END::int - 1) AS at,
	 LATERAL use_flipped(f, at) AS result
WHERE n NOT BETWEEN 9 AND 11 AND (layout = 'small' OR at / 8 NOT BETWEEN 34 AND 39) AND result NOT IN ('refused', 'used') ORDER BY n, at;

DROP TABLE layouts;
DROP FUNCTION fault, fault_of, patch, image, sealed, le(numeric), le(float8), le(bigint), use, use_flipped;
