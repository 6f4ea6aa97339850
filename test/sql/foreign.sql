-- Filters of other systems: forms of elements, errors, union and intersection,
-- additions, stored ones.  Their bytes and answers: test/t/090_foreign.pl.

CREATE FUNCTION made(format text, element text, elements anyarray,
	capacity bigint DEFAULT 1000) RETURNS bloom LANGUAGE sql
	AS $$ SELECT bloom_add_all(bloom_create_foreign(format, element, capacity, 0.01), elements) $$;

-- every format and form: what is added is found, and shown by bloom_info()
SELECT layout, element_class, capacity, error_rate, growth, layers, hashes, bits
FROM unnest(ARRAY['guava', 'guava:mitz32', 'parquet', 'spark', 'spark:v2', 'spark-sql',
	'spark-sql:v2', 'datasketches', 'redisbloom', 'redis-bits:guava32', 'redis-bits:guava64']) format,
	bloom_info(bloom_create_foreign(format, 'text', 1000, 0.01));

-- no element, no error: 0, and not -0
SELECT DISTINCT bloom_error_rate(bloom_create_foreign(format, 'text', 1000))::text
FROM unnest(ARRAY['guava', 'guava:mitz32', 'parquet', 'spark', 'spark:v2', 'spark-sql',
	'spark-sql:v2', 'datasketches', 'redisbloom', 'redis-bits:guava32', 'redis-bits:guava64']) format;

CREATE TABLE formats (format text, element text);
INSERT INTO formats SELECT format, element
FROM unnest(ARRAY['guava', 'guava:mitz32', 'parquet', 'spark', 'spark:v2', 'spark-sql',
		'spark-sql:v2', 'datasketches', 'redisbloom', 'redis-bits:guava32', 'redis-bits:guava64']) format,
	unnest(ARRAY['text', 'int4', 'int8', 'bytea', 'float4', 'float8', 'uuid', 'date', 'timestamp',
		'numeric(9,2)', 'numeric(18,4)', 'numeric(30,0)', 'text-utf16']) element;
CREATE FUNCTION defined(format text, element text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bloom_create_foreign(format, element, 1);
	RETURN true;
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN false;
END $$;
SELECT format, string_agg(element, ' ') FILTER (WHERE defined(format, element)) AS forms
FROM formats GROUP BY format ORDER BY format;

CREATE FUNCTION lost(element text, elements anyarray) RETURNS TABLE (format text, found bigint, absent bigint)
LANGUAGE sql AS $$
	SELECT format, count(*) FILTER (WHERE bloom_contains(f, e)),
		count(*) FILTER (WHERE NOT bloom_contains(bloom_create_foreign(format, $1, 1000), e))
	FROM formats, made(format, $1, $2) f, unnest($2) e
	WHERE formats.element = $1 AND defined(format, $1)
	GROUP BY format ORDER BY format
$$;
SELECT 'text' AS form, * FROM lost('text', ARRAY['a', 'é', '😀', repeat('x', 300), '鍵盤'])
UNION ALL SELECT 'text-utf16', * FROM lost('text-utf16', ARRAY['', 'a', 'é', '😀', repeat('x', 300)])
UNION ALL SELECT 'int4', * FROM lost('int4', ARRAY[0, 1, -1, 2147483647, -2147483648])
UNION ALL SELECT 'int8', * FROM lost('int8', ARRAY[0, 1, -1, 9223372036854775807, -9223372036854775808])
UNION ALL SELECT 'bytea', * FROM lost('bytea', ARRAY['', '\x00', '\xff8001', repeat('x', 300)::bytea])
UNION ALL SELECT 'float4', * FROM lost('float4', ARRAY[0, -0.0, 1.5, 0.1, 'NaN', 'Infinity', '-Infinity', 1e-45]::float4[])
UNION ALL SELECT 'float8', * FROM lost('float8', ARRAY[0, -0.0, 1.5, 'NaN', 'Infinity', '-Infinity', 5e-324]::float8[])
UNION ALL SELECT 'uuid', * FROM lost('uuid', ARRAY['00000000-0000-0000-0000-000000000000', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']::uuid[])
UNION ALL SELECT 'date', * FROM lost('date', ARRAY['1970-01-01', '2026-11-22', '4713-01-01 BC', 'infinity', '-infinity']::date[])
UNION ALL SELECT 'timestamp', * FROM lost('timestamp', ARRAY['1970-01-01', '2026-11-22 12:34:56.789012', '4713-01-01 BC', 'infinity', '-infinity']::timestamp[])
UNION ALL SELECT 'numeric(9,2)', * FROM lost('numeric(9,2)', ARRAY[0, 0.01, -0.01, 9999999.99, -9999999.99])
UNION ALL SELECT 'numeric(18,4)', * FROM lost('numeric(18,4)', ARRAY[0, 0.0001, -12345678901234.5678])
UNION ALL SELECT 'numeric(30,0)', * FROM lost('numeric(30,0)', ARRAY[0, 1, -1, 127, 128, -128, -129, 999999999999999999999999999999, -999999999999999999999999999999]);

-- the same number is another element in another form, but any type of it will do
SELECT bloom_contains(f4, 7::int2) AS int2, bloom_contains(f4, 7::int4) AS int4,
	bloom_contains(f4, 7::int8) AS int8, bloom_export(f4, 'guava') = bloom_export(f8, 'guava') AS same
FROM made('guava', 'int4', ARRAY[7]) f4, made('guava', 'int8', ARRAY[7]) f8;
SELECT bloom_export(f4, 'spark') = bloom_export(f8, 'spark') AS same
FROM made('spark', 'int4', ARRAY[7]) f4, made('spark', 'int8', ARRAY[7]) f8;

-- what cannot be an element of the form is certainly absent, however full the filter is
SELECT bloom_contains(f, 2147483648), bloom_contains_each(f, ARRAY[1, 4294967297, NULL, -1])
FROM bloom_import('\xffff', 'redis-bits:guava32', 'int4', 16, 1) f;
SELECT bloom_contains(f, 1.005), bloom_contains(f, 12345678.0), bloom_contains(f, 'NaN'::numeric),
	bloom_contains(f, 'Infinity'::numeric), bloom_contains(f, 1.50)
FROM bloom_import(decode(repeat('ff', 32), 'hex'), 'parquet', 'numeric(9,2)') f;
SELECT bloom_add(bloom_create_foreign('guava', 'int4', 10), 2147483648);
SELECT bloom_add_all(bloom_create_foreign('parquet', 'numeric(9,2)', 10), ARRAY[1.00, 1.005]);
-- 2^128 has one digit too many, however it is computed
SELECT bloom_add(bloom_create_foreign('parquet', 'numeric(38,0)', 10), 340282366920938463463374607431768211456);
SELECT bloom_add(bloom_create_foreign('parquet', 'timestamp', 10), '294276-12-31'::timestamp);

SELECT bloom_add(bloom_create_foreign('parquet', 'float4', 10), 0.1::float8);

-- a float of 4 bytes is not one of 8; -0 and NaN as DuckDB and Spark write them, and as others do
SELECT format, bloom_export(made(format, 'float4', ARRAY[1.5::real]), format) = bloom_export(made(format, 'bytea', ARRAY['\x0000c03f'::bytea]), format) AS four_bytes,
	bloom_contains(f, 1.5::real) AS "1.5", bloom_contains(f, 1.5::float8) AS "1.5 as float8",
	bloom_contains(f, 0.1::real) AS "0.1", bloom_contains(f, 0.1::float8) AS "0.1 as float8", bloom_contains(f, 1e300::float8) AS "1e300",
	bloom_contains(f, '-0'::real) AS "-0", bloom_contains(f, 'NaN'::float8) AS "NaN"
FROM unnest(ARRAY['guava', 'parquet', 'spark-sql']) format, made(format, 'float4', ARRAY[1.5, 0.1, 0, 'NaN']::real[]) f;
SELECT bloom_contains_each(bloom_import(bloom_export(made('parquet', 'bytea', ARRAY[bytes]), 'parquet'), 'parquet', 'float4'), ARRAY[0, '-0', 'NaN', 1.5]::real[])
FROM unnest(ARRAY['\x00000000', '\x00000080', '\x0000c07f', '\x0000c0ff', '\x0000c03f']::bytea[]) bytes;

-- where "=" is wider than the other system's bytes
SELECT format, bloom_contains(f, 0::float8) AS zero, bloom_contains(f, '-0'::float8) AS minus_zero
FROM unnest(ARRAY['guava', 'parquet', 'spark-sql', 'datasketches']) format, made(format, 'float8', ARRAY['-0'::float8]) f;
SELECT format, bloom_contains(f, 0::float8) AS zero, bloom_contains(f, '-0'::float8) AS minus_zero
FROM unnest(ARRAY['guava', 'parquet', 'spark-sql', 'datasketches']) format, made(format, 'float8', ARRAY[0::float8]) f;
SELECT bloom_contains(f, 'ab'::char(5)) AS padded, bloom_contains(f, 'ab'::char(4)) AS less, bloom_contains(f, 'ab'::text) AS text
FROM made('guava', 'text', ARRAY['ab   '::text]) f;
SELECT bloom_contains(f, 'ab'::char(5)) AS padded, bloom_contains(f, 'ab '::text) AS text
FROM made('guava', 'text', ARRAY['ab'::char(5)]) f;
SELECT bloom_contains(f, ''), bloom_contains(f, 'a'), bloom_contains_each(f, ARRAY['', 'a', NULL]), bloom_cardinality(f)
FROM made('datasketches', 'text', ARRAY['']) f;
-- also if it comes as a char(n), whose blanks have a hash
SELECT bloom_contains(f, ''::char(3)), bloom_contains(f, 'a'::char(3)), bloom_contains_each(f, ARRAY['', 'a', NULL]::char(3)[])
FROM made('datasketches', 'text', ARRAY['']) f;
SELECT '' <@ f AS empty, 'b' <@ f AS b, f @> 'a'::varchar AS a FROM made('redisbloom', 'text', ARRAY['a']) f;
SELECT bloom_contains(made('redisbloom', 'int8', ARRAY[-42]), -42),
	bloom_export(made('redisbloom', 'int8', ARRAY[-42]), 'redisbloom') = bloom_export(made('redisbloom', 'text', ARRAY['-42']), 'redisbloom');
SELECT bloom_contains(made('parquet', 'timestamptz', ARRAY['2026-01-01 00:00+00'::timestamptz]), '2026-01-01 02:00+02'::timestamptz);
SELECT bloom_contains(made('parquet', 'timestamptz', ARRAY['2026-01-01 00:00+00'::timestamptz]), '2026-01-01 00:00'::timestamp);
SELECT bloom_contains(made('parquet', 'timestamp', ARRAY['2026-01-01 00:00'::timestamp]), '2026-01-01 00:00+00'::timestamptz);
-- of a long char(n), two forms are looked up, not thousands
SELECT bloom_contains(made('guava', 'text', ARRAY['a']), 'a'::char(1000000)), bloom_contains(made('guava', 'text', ARRAY['b']), 'a'::char(1000000));
-- decimals that Arrow writes as bytes
SELECT bloom_contains(bloom_import(bloom_export(made('parquet', 'bytea', ARRAY[bytes]), 'parquet'), 'parquet', form), n)
FROM (VALUES ('\x00000064'::bytea, 'numeric(9,2)', 1.00), ('\x0000000000000064', 'numeric(18,2)', 1.00), ('\xff9c', 'numeric(4,2)', -1.00),
	('\x000000000000000064', 'numeric(20,2)', 1.00), ('\x00000000000000000000000000000064', 'numeric(20,2)', 1.00)) v(bytes, form, n);

-- any and all, and a NULL
SELECT bloom_contains_any(f, ARRAY['x', 'a']), bloom_contains_all(f, ARRAY['a', 'x']), bloom_contains_all(f, ARRAY['a', NULL]),
	bloom_contains_any(f, '{}'::text[]), bloom_contains(f, NULL::text)
FROM made('spark', 'text', ARRAY['a', 'b']) f;

-- union and intersection; blocks of Parquet are folded to the smaller size
SELECT bloom_contains_each(bloom_union(a, b), ARRAY[1, 2, 3, 4]), bloom_contains_each(bloom_intersection(a, b), ARRAY[1, 2, 3, 4]),
	bloom_union(a, b) = bloom_union(b, a) AS same, a = a AS reflexive, a = b AS equal
FROM made('guava', 'int4', ARRAY[1, 2]) a, made('guava', 'int4', ARRAY[2, 3]) b;
SELECT (bloom_info(large)).bits AS large, (bloom_info(small)).bits AS small, (bloom_info(bloom_union(large, small))).bits,
	bloom_union(large, small) = bloom_union(small, large) AS same,
	bloom_contains_each(bloom_union(large, small), ARRAY['a', 'b', 'c', 'd']),
	bloom_contains_each(bloom_intersection(large, small), ARRAY['a', 'b', 'c', 'd']),
	(bloom_info(bloom_union(large, small))).capacity
FROM made('parquet', 'text', ARRAY['a', 'b'], 100000) large, made('parquet', 'text', ARRAY['b', 'c'], 100) small;
SELECT bloom_cardinality(bloom_union_agg(f)) FROM generate_series(1, 5) i, made('spark', 'int8', ARRAY[i, i + 1]::bigint[]) f;
SELECT bloom_union(made('guava', 'text', '{a}'::text[]), bloom_agg('a'::text));
SELECT bloom_union(made('guava', 'text', '{a}'::text[]), bloom_create(100));
SELECT bloom_union(made('guava', 'text', '{a}'::text[]), made('guava', 'bytea', '{a}'::bytea[]));
SELECT bloom_union(made('guava', 'text', '{a}'::text[]), made('guava:mitz32', 'text', '{a}'::text[]));
SELECT bloom_union(made('guava', 'text', '{a}'::text[]), made('guava', 'text', '{a}'::text[], 2000));
SELECT bloom_intersection(made('guava', 'text', '{a}'::text[]), bloom_agg('a'::text));
SELECT bloom_contains(bloom_union(made('guava', 'text', '{a}'::text[]), bloom_agg(e)), 'a') FROM (SELECT 'b'::text e WHERE false) x;
SELECT bloom_compatible(made('guava', 'text', '{a}'::text[]), bloom_create_foreign('guava', 'text', 1000)),
	bloom_compatible(made('guava', 'text', '{a}'::text[]), bloom_create_foreign('guava', 'text', 1001));

-- of RedisBloom, with other capacities in as many bits: valid, whichever comes first
SELECT f = g AS same, f::text::bloom = f AS valid, bloom_export(f, 'redisbloom') = bloom_export(g, 'redisbloom') AS same_bytes,
	bloom_intersection(a, b) = bloom_intersection(b, a) AS same_intersection, bloom_intersection(a, b)::text::bloom IS NOT NULL AS valid
FROM made('redisbloom', 'int4', ARRAY(SELECT generate_series(1, 10)), 10) a,
	made('redisbloom', 'int4', ARRAY(SELECT generate_series(101, 111)), 11) b,
	bloom_union(a, b) f, bloom_union(b, a) g;
-- DataSketches counts again after a union, and may write words of which no bit is set
SELECT substr(bloom_export(bloom_union(a, b), 'datasketches'), 25, 8) AS bits_set
FROM made('datasketches', 'int4', ARRAY[1]) a, made('datasketches', 'int4', ARRAY[2]) b;
-- but not after it intersected or reset a filter in memory
SELECT bloom_export(bloom_intersection(a, b), 'datasketches'), bloom_export(bloom_union(n, n), 'datasketches') AS of_none, bloom_export(bloom_clear(a), 'datasketches') AS cleared
FROM bloom_import('\x040115000100000029230000000000000100000000000000ffffffffffffffff0100000000000000', 'datasketches', 'int4') a,
	bloom_import('\x040115000100000029230000000000000100000000000000ffffffffffffffff0200000000000000', 'datasketches', 'int4') b,
	bloom_import('\x04011500010000002923000000000000010000000000000000000000000000000000000000000000', 'datasketches', 'int4') n;
SELECT bloom_export(bloom_import(b, 'datasketches', 'int4'), 'datasketches') = b AS same
FROM (VALUES ('\x04011500070000002923000000000000010000000000000000000000000000000000000000000000'::bytea),
	('\x040115000700000029230000000000000100000000000000ffffffffffffffff0000000000000000'), ('\x030115040700000029230000000000000100000000000000')) v(b);

-- additions, up to the capacity
SELECT bloom_add(f, 'a') = f AS again, bloom_contains(bloom_add(f, 'b'), 'b'), bloom_clear(f) = bloom_create_foreign('guava', 'text', 1000) AS cleared
FROM made('guava', 'text', '{a}'::text[]) f;
SELECT bloom_add_all(bloom_create_foreign('guava', 'int4', 100), array_agg(i)) FROM generate_series(1, 200) i;
SELECT bloom_add_all(bloom_create_foreign('redisbloom', 'int4', 100), array_agg(i)) FROM generate_series(1, 103) i;
SELECT count(*) FILTER (WHERE NOT bloom_contains(f, i)) FROM generate_series(1, 100) i,
	made('redisbloom', 'int4', ARRAY(SELECT generate_series(1, 100)), 100) f;
DO $$
DECLARE
	f bloom := bloom_create_foreign('parquet', 'int4', 20000);
BEGIN
	FOR i IN 1..2000 LOOP
		f := bloom_add(f, i);
	END LOOP;
	ASSERT f = made('parquet', 'int4', ARRAY(SELECT generate_series(1, 2000)), 20000);
	BEGIN
		f := bloom_add_all(f, ARRAY(SELECT generate_series(2001, 100000)));
	EXCEPTION WHEN program_limit_exceeded THEN
		RAISE NOTICE 'full';
	END;
	ASSERT f = made('parquet', 'int4', ARRAY(SELECT generate_series(1, 2000)), 20000);
END $$;

-- what cannot work
SELECT bloom_contains(made('guava', 'int4', ARRAY[1]), 'x'::text);
SELECT bloom_contains(made('guava', 'text', ARRAY['a']), 1);
SELECT bloom_contains(made('parquet', 'numeric(9,2)', ARRAY[1.00]), 1);
SELECT bloom_add(made('guava', 'int4', ARRAY[1]), ARRAY[1, 2]);
SELECT bloom_contains(made('guava', 'text', ARRAY['a']), 'a'::bytea);
SELECT bloom_contains(bloom_agg(1), 'x'::text) FROM generate_series(1, 1);
SELECT bloom_remove(made('guava', 'int4', ARRAY[1]), 1);
SELECT bloom_export(bloom_agg(1), 'guava');
SELECT bloom_export(bloom_create_foreign('spark', 'int4', 1), 'guava');
SELECT bloom_export(bloom_create_foreign('guava', 'int4', 1), 'guava:mitz32');
SELECT bloom_export(bloom_create_foreign('guava:mitz32', 'int4', 1), 'guava') IS NOT NULL;
SELECT bloom_create_foreign('guawa', 'text', 1);
SELECT bloom_create_foreign('guava', 'uuid', 1);
SELECT bloom_create_foreign('parquet', 'numeric(39,1)', 1);
SELECT bloom_create_foreign('parquet', 'numeric(3,4)', 1);
SELECT bloom_create_foreign('guava', 'text', 0);
SELECT bloom_create_foreign('guava', 'text', 10, 2);
SELECT bloom_create_foreign('guava', 'text', 1000000000000);
SELECT bloom_import('\x00', 'redis-bits:guava32', 'text');
SELECT bloom_import('\x00', 'redis-bits:guava32', 'text', 0, 1);
SELECT bloom_import('\x00', 'redis-bits:guava32', 'text', 8, 256);
SELECT bloom_import('\x00', 'redis-bits', 'text', 8, 1);
SELECT bloom_import('\x0001', 'redis-bits:guava32', 'text', 9, 1) IS NOT NULL;
SELECT bloom_import('\x000102', 'redis-bits:guava32', 'text', 9, 1);
SELECT bloom_import('\x00', 'guava', 'text', 8, 1);
SELECT bloom_import('\x00', 'guava', 'text');
SELECT bloom_import('\x0101000000010000000000000000', 'guava:mitz32', 'text');
-- RedisBloom: with another number of hashes, elements would not be found
SELECT bloom_import(set_byte(b, 72, get_byte(b, 72) + 1), 'redisbloom', 'int4') FROM bloom_export(made('redisbloom', 'int4', ARRAY[1]), 'redisbloom') b;
SELECT bloom_import(set_byte(b, 70, 41), 'redisbloom', 'int4') FROM bloom_export(made('redisbloom', 'int4', ARRAY[1]), 'redisbloom') b;
SELECT bloom_import(NULL, 'guava', 'text') IS NULL;
SET bloomfilter.max_filter_size = '1kB';
SELECT bloom_import(decode(repeat('ff', 2048), 'hex'), 'parquet', 'text');
SELECT bloom_create_foreign('guava', 'text', 10000);
RESET bloomfilter.max_filter_size;

-- stored: by slices, in full, in a Filter Scan, as an unknown type of element
CREATE TABLE stored (name text, f bloom NOT NULL);
INSERT INTO stored SELECT format, made(format, 'int8', ARRAY(SELECT generate_series(1, 100000::bigint)), 100000)
FROM unnest(ARRAY['guava', 'parquet', 'spark', 'datasketches', 'redisbloom']) format;
SELECT name, bloom_contains(f, 77777), bloom_contains(f, -1), pg_column_size(f) FROM stored ORDER BY name;
SELECT name, count(*) FILTER (WHERE found) BETWEEN 1000 AND 1100 AS right
FROM stored, unnest(bloom_contains_each(f, ARRAY(SELECT generate_series(99001, 101000)))) found
GROUP BY name ORDER BY name;
CREATE TABLE numbers AS SELECT generate_series(90001, 190000)::bigint AS n;
ANALYZE numbers;
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
SELECT bool_or(line ~ 'Filter Scan') AS is_filter_scan
FROM plan_of('SELECT count(*) FROM numbers WHERE bloom_contains((SELECT f FROM stored WHERE name = ''parquet''), n)') line;
SELECT count(*) BETWEEN 10000 AND 12000 AS right FROM numbers WHERE bloom_contains((SELECT f FROM stored WHERE name = 'parquet'), n);
SELECT count(*) BETWEEN 10000 AND 12000 AS right FROM numbers WHERE n <@ (SELECT f FROM stored WHERE name = 'guava');
SET bloomfilter.filter_scan = off;
SELECT count(*) BETWEEN 10000 AND 12000 AS right FROM numbers WHERE n <@ (SELECT f FROM stored WHERE name = 'guava');
RESET bloomfilter.filter_scan;
-- the planner knows how many pass
CREATE TABLE halves AS SELECT generate_series(50001, 150000)::bigint AS n;
ANALYZE halves;
SELECT name, expected_rows(format('SELECT FROM halves WHERE bloom_contains((SELECT f FROM stored WHERE name = %L), n)', name)) BETWEEN 40000 AND 60000 AS right
FROM stored ORDER BY name;
DROP TABLE halves;
SELECT expected_rows(format('SELECT FROM numbers WHERE bloom_contains(%L::bloom, n)', bloom_create_foreign('guava', 'int8', 100))) AS none;
UPDATE stored SET f = bloom_add(f, -1) WHERE name = 'guava';
SELECT bloom_contains(f, -1) FROM stored WHERE name = 'guava';
SELECT bloom_contains(f, 77777), bloom_contains(f, 'x'::text) FROM stored WHERE name = 'guava';

-- What else Redis writes, and who has its commands
SELECT bloom_import('\x07810202020205020202406404'::bytea, 'redisbloom', 'text');
SELECT bloom_import(convert_to('REDIS0011' || repeat('x', 100), 'UTF8'), 'redisbloom:cuckoo', 'text');
SELECT bloom_import('\x078102'::bytea, 'parquet', 'text');
SELECT bloom_import('\x0601'::bytea, 'redisbloom', 'text');
SELECT bloom_import('\x0781'::bytea, 'valkey', 'text');
SELECT bloom_create_foreign('Valkey', 'text', 100);

DROP TABLE stored, numbers, formats;
DROP FUNCTION made, defined, lost;
