--
-- Making filters: their size, layout and parameters.
--

-- Defaults
SELECT layout, element_class, capacity, error_rate, growth, seed, layers,
	   bits_set, elements, estimated_error_rate, bits_per_element
FROM (VALUES (1000), (2000)) AS v(c), LATERAL bloom_info(bloom_create(c)) ORDER BY c;
SELECT bloom_create(1000) = bloom_create(capacity => 1000, error_rate => 0.01, growth => 2, seed => 0) AS defaults;
SELECT capacity, error_rate, growth, seed
FROM bloom_info(bloom_create(1000, 0.02, seed => -7, growth => 0));

-- Capacity and error rate are stored as requested
SELECT bool_and(i.capacity = c AND i.error_rate = e) AS kept
FROM (VALUES (1), (2), (100), (12345), (1000000)) AS x(c),
	 (VALUES (0.5), (0.1), (0.01), (1e-3), (1e-4), (1e-7)) AS y(e),
	 LATERAL bloom_info(bloom_create(c, e)) AS i;

-- Bits an element of fixed filters, at a million elements, against the table in
-- the design: within 1 %
SELECT rate, layout, bits / 1e6 / expected BETWEEN 0.99 AND 1.01 AS as_designed
FROM (VALUES (0.1, 4.86), (0.03, 7.47), (0.01, 9.95), (0.001, 15.6),
			 (1e-4, 19.8), (1e-5, 25.3), (1e-6, 31.1)) AS t(rate, expected),
	 LATERAL bloom_info(bloom_create(1000000, rate, 0));

-- What the reserve of growing ones costs, whose first layer has 0.808 of the error rate:
-- 10, 7, 5.5, 4 and 3.5 % at most, and 10.5 bits an element at 1 %
SELECT rate, layout,
	   bits / 1e6 / expected BETWEEN 1 AND 1 + most AS affordable
FROM (VALUES (0.1, 4.86, 0.1), (0.03, 7.47, 0.07), (0.01, 9.95, 0.055), (0.001, 15.6, 0.04),
			 (1e-4, 19.8, 0.035), (1e-5, 25.3, 0.025), (1e-6, 31.1, 0.025)) AS t(rate, expected, most),
	 LATERAL bloom_info(bloom_create(1000000, rate));

-- A filter for more elements, or for a lower error rate in the same layout, is
-- never smaller
SELECT bool_and(bits >= previous) AS monotonous
FROM (SELECT bits, lag(bits) OVER (ORDER BY c) AS previous
	  FROM generate_series(1, 2000, 7) AS c, LATERAL bloom_info(bloom_create(c))) AS t;
SELECT bool_and(bits >= previous) AS monotonous
FROM (SELECT bits, lag(bits) OVER (PARTITION BY layout ORDER BY e DESC) AS previous
	  FROM (SELECT 0.5 / i AS e FROM generate_series(1, 2000, 7) AS i) AS r,
		   LATERAL bloom_info(bloom_create(5000, e))) AS t;

-- The smallest ones work too
SELECT bool_and(bloom_contains(bloom_add(bloom_create(c, e, g), 'x'), 'x')) AS found,
	   bool_or(bloom_contains(bloom_create(c, e, g), 'x')) AS empty_contains
FROM (VALUES (1), (2), (3)) AS x(c), (VALUES (0.5), (0.01), (1e-4), (1e-7)) AS y(e),
	 (VALUES (0), (1), (16)) AS z(g);

-- The sizes in bloom_info are correct
SELECT bool_and(i.bytes = length(f::bytea) - 8) AS bytes_but_the_checksum, bool_and(pg_column_size(f) - i.bytes IN (1, 4)) AS bytes_but_the_length, bool_and(i.bits <= 8 * i.bytes) AS bits
FROM (VALUES (bloom_create(1)), (bloom_create(1000, 1e-5)), (bloom_create(1501)), (bloom_create(1501, 1e-5)), (bloom_create_bits(2, 1)),
			 (bloom_create_bits(1000, 3)), ((SELECT bloom_agg(1) WHERE false))) AS t(f),
	 LATERAL bloom_info(f) AS i;

-- Classic: exactly the given numbers of bits and hashes
SELECT layout, capacity, error_rate, growth, seed, layers, hashes, bits, bits_set
FROM bloom_info(bloom_create_bits(6045, 8));
SELECT seed, hashes, bits FROM bloom_info(bloom_create_bits(bits => 2, hashes => 64, seed => 42));
SELECT bool_and(i.bits = m) AS exact_bits
FROM generate_series(2, 1100) AS m, LATERAL bloom_info(bloom_create_bits(m, 1)) AS i;
-- 500 elements at an error rate of 0.003: the textbook's 6,045 bits and 8 hashes
SELECT round(bloom_error_rate(bloom_add_all(bloom_create_bits(6045, 8), array_agg(i)))::numeric, 3) AS textbook
FROM generate_series(1, 500) AS i;

-- and the smallest, which contains everything once it is full
SELECT m, k, bloom_error_rate(bloom_create_bits(m, k)) AS empty,
	   bloom_error_rate(bloom_add_all(bloom_create_bits(m, k), ARRAY(SELECT generate_series(1, 100)))) > 0.5 AS "full"
FROM (VALUES (2, 1), (2, 64), (3, 2)) AS t(m, k);

-- A seed makes another filter of the same size
SELECT a.bits = b.bits AS same_size, f <> g AS differ, bloom_contains(g, 'x') AS found
FROM (SELECT bloom_add(bloom_create(c), 'x') AS f, bloom_add(bloom_create(c, seed => 1), 'x') AS g FROM (VALUES (100), (2000)) AS v(c)) AS t,
	 LATERAL bloom_info(f) AS a, LATERAL bloom_info(g) AS b;
SELECT bloom_contains(bloom_add(bloom_create(100, seed => s), 'x'), 'x') AS found
FROM (VALUES (9223372036854775807), (-9223372036854775808), (-1)) AS t(s);

-- NULL in, NULL out
SELECT bloom_create(NULL) IS NULL AS a, bloom_create(10, NULL) IS NULL AS b,
	   bloom_create(10, growth => NULL) IS NULL AS c, bloom_create(10, seed => NULL) IS NULL AS d,
	   bloom_create_bits(NULL, 1) IS NULL AS e, bloom_create_bits(2, NULL) IS NULL AS f,
	   bloom_clear(NULL) IS NULL AS g, bloom_info(NULL) IS NULL AS h,
	   bloom_cardinality(NULL) IS NULL AS i, bloom_error_rate(NULL) IS NULL AS j;

-- bloom_clear restores the filter as it was created, but keeps the class
SELECT bool_and(bloom_clear(bloom_add_all(f, ARRAY[1, 2, 3])) = f) AS cleared
FROM (VALUES (bloom_create(10, element_type => 'int')), (bloom_create(100, 1e-5, 0, 3, element_type => 'int')), (bloom_create(100, 0.5, 16, element_type => 'int')),
			 (bloom_create(2000, element_type => 'int')), (bloom_create(2000, 1e-5, 0, 3, element_type => 'int')), (bloom_create(2000, 0.5, 16, element_type => 'int')),
			 (bloom_create_bits(100, 3, 8, 'int')), (bloom_create(10, counting => true, element_type => 'int'))) AS t(f);
-- also of one that has grown
SELECT c, bloom_clear(f) = bloom_create(c, element_type => 'bigint') AS cleared, bloom_clear(bloom_clear(f)) = bloom_clear(f) AS again
FROM (SELECT c, bloom_add_all(bloom_create(c), array_agg(i)) AS f FROM (VALUES (10), (2000)) AS v(c), generate_series(1, 5000) AS i GROUP BY c) AS t ORDER BY c;
SELECT bloom_add(bloom_clear(bloom_add(bloom_create(10), 1)), 'text'::text);
SELECT bloom_clear(bloom_create(10)) = bloom_create(10) AS none_yet;
-- an explicit one keeps its class
SELECT (bloom_info(bloom_clear(f))).*, bloom_clear(f) | f = f AS neutral, bloom_contains(bloom_add(bloom_clear(f), 3), 3) AS added, bloom_clear(f)::bytea::bloom = bloom_clear(f) AS valid
FROM (SELECT bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY[1, 2]) AS f) AS t \gx
SELECT bloom_clear(f) = f AS of_the_empty_one FROM (SELECT bloom_agg(1) FILTER (WHERE false) AS f) AS t;

-- The class of a filter without elements can be declared: otherwise the first element decides, a wrong one too
CREATE DOMAIN word AS varchar(10);
CREATE TYPE mood AS ENUM ('ok', 'bad');
CREATE TYPE pair AS (a integer, b text);
SELECT element_class, count(*) AS types FROM unnest('{text,varchar,name,char,word,int,smallint,mood,pair,pair[],word[],int4range,regclass}'::regtype[]) AS t,
	 bloom_info(bloom_create(10, element_type => t)) GROUP BY element_class ORDER BY element_class COLLATE "C";
SELECT element_class, elements FROM bloom_info(bloom_create(10)) UNION ALL SELECT element_class, elements FROM bloom_info(bloom_create(10, element_type => '-'));
CREATE TABLE typed (id integer, f bloom, c cuckoo);
INSERT INTO typed VALUES (0, bloom_create(10, element_type => 'text'), cuckoo_create(10, element_type => 'text'));
SELECT bloom_contains(f, 'a'::text) AS found, bloom_contains(bloom_add(f, 'a'), 'a') AS added, bloom_contains(bloom_add_all(f, '{a,b}'::name[]), 'b'), cuckoo_contains(cuckoo_add(c, 'a'), 'a') FROM typed;
SELECT bloom_add(f, 1) FROM typed;
SELECT bloom_add_all(f, ARRAY[1]) FROM typed;
SELECT bloom_contains(f, 1) FROM typed;
SELECT cuckoo_add(c, 1) FROM typed;
SELECT bloom_union(f, bloom_add(bloom_create(10), 1)) FROM typed;
SELECT bloom_compatible(f, bloom_create(10)) AS with_any, bloom_union(f, bloom_create(10)) = f AS united, bloom_union(bloom_create(10), f) = f AS other_side,
	   bloom_compatible(f, bloom_create(10, element_type => 'int')) AS with_another FROM typed;
SELECT f::text::bloom = f AS bloom_text, c::bytea::cuckoo = c AS cuckoo_bytes, bloom_cardinality(f), bloom_error_rate(f) FROM typed;
-- one wrong element in an empty shard does not make right ones fail
INSERT INTO typed SELECT shard + 1, filter FROM bloom_shards(3000, element_type => 'text');
INSERT INTO typed SELECT -shard - 1, NULL, filter FROM cuckoo_shards(3000, element_type => 'text');
SELECT count(*) > 6 AS shards, bool_and(coalesce((bloom_info(f)).element_class, 'text') = 'text' AND coalesce((cuckoo_info(c)).element_class, 'text') = 'text') AS all_text FROM typed;
UPDATE typed SET f = bloom_add(f, 7) WHERE id = 1;
UPDATE typed SET f = bloom_clear(bloom_add(f, 'seven')), c = cuckoo_clear(cuckoo_add(c, 'seven'));
UPDATE typed SET f = bloom_add(f, 7) WHERE id = 1;
UPDATE typed SET c = cuckoo_add(c, 7) WHERE id = -1;
-- types whose elements have no class, or any
SELECT bloom_create(10, element_type => 'point');
SELECT bloom_create(10, element_type => 'record');
SELECT bloom_create_bits(10, 1, element_type => 'anyenum');
SELECT cuckoo_create(10, element_type => 1000000000::oid::regtype);
SELECT bloom_shards(10, element_type => 'no_such_type');
SELECT bloom_create(10, element_type => NULL) IS NULL AS null_out, count(*) AS no_row FROM bloom_shards(10, element_type => NULL);
DROP TABLE typed;
DROP TYPE pair;
DROP TYPE mood;
DROP DOMAIN word;

--
-- The promised error rate, measured: fixed filters at capacity, probed for a
-- million elements that are not in them.  Hashes are the same everywhere, so
-- these numbers are, too.
--
CREATE TEMP TABLE measured AS
SELECT rate, bloom_add_all(bloom_create(100000, rate, 0), elements) AS f
FROM (VALUES (0.1), (0.01), (0.001), (2.9e-4)) AS r(rate),
	 (SELECT array_agg(x) AS elements FROM generate_series(1, 100000) AS x) AS e;
SELECT rate, i.layout,
	   (SELECT bool_and(bloom_contains(f, x)) FROM generate_series(1, 100000) AS x) AS no_false_negative,
	   i.estimated_error_rate / rate BETWEEN 0.95 AND 1.05 AS as_estimated,
	   i.elements BETWEEN 99000 AND 101000 AS counted
FROM measured, LATERAL bloom_info(f) AS i;
SELECT rate, found / 1e6 / rate BETWEEN 0.95 AND 1.05 AS as_promised
FROM measured, LATERAL (SELECT count(*) AS found FROM generate_series(1, 1000000) AS x
						WHERE bloom_contains(f, -x)) AS c
WHERE rate >= 0.01;
-- at lower rates there are fewer hits, so it is less exact
SELECT rate, found / 1e6 / rate BETWEEN 0.8 AND 1.2 AS as_promised
FROM measured, LATERAL (SELECT count(*) AS found FROM generate_series(1, 1000000) AS x
						WHERE bloom_contains(f, -x)) AS c
WHERE rate < 0.01;
DROP TABLE measured;

-- A capacity may be of any numeric type; and arguments in the order of BF.RESERVE get a hint
SELECT bloom_create(1e6) = bloom_create(1000000) AS bloom, cuckoo_create(1e3) = cuckoo_create(1000::smallint) AS cuckoo,
	bloom_create('1000') = bloom_create(1000::bigint) AS literal, bloom_create(999.5) = bloom_create(1000::float4) AS rounded,
	bloom_size(1e6) = bloom_size(1000000) AS size, (SELECT count(*) FROM bloom_shards(1e5)) = (SELECT count(*) FROM bloom_shards(100000)) AS shards;
SELECT bloom_create(0.01, 1000);
SELECT cuckoo_create(0.001, 1e6);
SELECT bloom_create(0.5);
SELECT bloom_create(0.99, 0.01);
SELECT bloom_create('NaN');
SELECT bloom_create('Infinity');
SELECT bloom_create(1e300);
SELECT bloom_create(9223372036854775807);
SELECT bloom_create(-1e300);
