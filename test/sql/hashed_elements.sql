--
-- hashed_element: an element of any type, hashed where its type is known, and aggregated
-- where it is not.  test/sql/type_hashes.sql has an example of each type.
--
\set VERBOSITY terse

-- Its hash is bloom_hash's, of any seed; equal elements are equal
SELECT bloom_element(7) AS integer, bloom_element('abc'::text, 42) AS text, bloom_element('abc') AS literal;
SELECT substr(bloom_element(x)::text, 1, 16) = encode(reverse_bytes, 'hex') AS hash
FROM (VALUES ('abc'), ('def')) t(x),
	LATERAL (SELECT string_agg(substr(int8send(bloom_hash(x)), i, 1), '' ORDER BY i DESC) AS reverse_bytes FROM generate_series(1, 8) i) r;
SELECT bloom_element(7::int2)::text = bloom_element(7::int8)::text AS same_class,
	   bloom_element('a'::name)::text = bloom_element('a '::char(3))::text AS same_text,
	   bloom_element(7)::text = bloom_element(7::numeric)::text AS other_class,
	   bloom_element(NULL::int) IS NULL AS strict;
SELECT provolatile, proparallel FROM pg_proc WHERE proname = 'bloom_element';

-- The bytes are those of the values themselves
CREATE TEMP TABLE numbers AS SELECT n, 'number ' || n % 700 AS name, n % 5 AS part FROM generate_series(1, 2000) n;
SELECT bloom_agg(bloom_element(name)) = bloom_agg(name) AS plain,
	   bloom_agg(bloom_element(name), 1000, 0.001) = bloom_agg(name, 1000, 0.001) AS both,
	   bloom_agg(bloom_element(name), 1000, NULL) = bloom_agg(name, 1000, NULL) AS capacity,
	   bloom_agg(bloom_element(name), NULL, 0.001) = bloom_agg(name, NULL, 0.001) AS error_rate,
	   bloom_agg(bloom_element(name), NULL, NULL) = bloom_agg(name) AS neither,
	   bloom_agg(bloom_element(name, 42), 1000, 0.001) = bloom_agg(bloom_element(name, 42), 1000, 0.001) AS seed,
	   bloom_agg(bloom_element(CASE WHEN n > 3 THEN name END)) = bloom_agg(name) FILTER (WHERE n > 3) AS nulls
FROM numbers;
SELECT cuckoo_agg(bloom_element(name)) = cuckoo_agg(name) AS plain,
	   cuckoo_agg(bloom_element(name), 1000, 0.001) = cuckoo_agg(name, 1000, 0.001) AS both,
	   cuckoo_agg(bloom_element(name), 1000, NULL) = cuckoo_agg(name, 1000, NULL) AS capacity,
	   cuckoo_agg(bloom_element(name), NULL, 0.001) = cuckoo_agg(name, NULL, 0.001) AS error_rate,
	   cuckoo_agg(bloom_element(name, 42), 1000, 0.001) = cuckoo_agg(bloom_element(name, 42), 1000, 0.001) AS seed
FROM numbers;
SELECT count(*), bool_and(hashed = plain) AS same
FROM (SELECT bloom_agg(bloom_element(name)) AS hashed, bloom_agg(name) AS plain FROM numbers GROUP BY part) t;
SELECT count(*), bool_and(hashed = plain) AS same
FROM (SELECT bloom_agg(bloom_element(name)) OVER w AS hashed, bloom_agg(name) OVER w AS plain
	  FROM numbers WHERE n < 100 WINDOW w AS (PARTITION BY part ORDER BY n)) t;
SELECT bloom_agg(bloom_element(name)) = bloom_agg(name) AS empty, cuckoo_agg(bloom_element(name)) = cuckoo_agg(name) AS empty_cuckoo
FROM numbers WHERE n < 0;
-- and what is in it is found by the values
SELECT bool_and(bloom_contains(f, name)) AS found FROM numbers, (SELECT bloom_agg(bloom_element(name)) AS f FROM numbers) t;

-- Stored, as text and in binary
CREATE TEMP TABLE stored AS SELECT bloom_element(name) AS element FROM numbers;
SELECT bloom_agg(element) = (SELECT bloom_agg(name) FROM numbers) AS stored,
	   bloom_agg(element::text::hashed_element) = bloom_agg(element) AS text FROM stored;
SELECT count(*), min(length(_hashed_element_send(element))) AS shortest, max(length(_hashed_element_send(element))) AS longest FROM stored;
SELECT upper(bloom_element(7)::text)::hashed_element::text = bloom_element(7)::text AS upper_case;

-- What is refused: one group, several of something
SELECT bloom_agg(bloom_element(n, n)) FROM numbers;
SELECT bloom_agg(bloom_element(n), n, 0.01) FROM numbers;
SELECT cuckoo_agg(bloom_element(n), 1000, 0.01 + n / 10000.0) FROM numbers;
\set VERBOSITY default
SELECT bloom_agg(CASE n % 2 WHEN 0 THEN bloom_element(n) ELSE bloom_element(name) END) FROM numbers;
\set VERBOSITY terse
SELECT bloom_agg(bloom_element(n), 0, NULL) FROM numbers;
SELECT bloom_agg(bloom_element(n), NULL, 1) FROM numbers;
-- collations that call different bytes equal, where they are known
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT bloom_element('a' COLLATE loose);
SELECT bloom_element(point(1, 2));
SELECT bloom_element(1, NULL);
-- an element that is hashed already is hashed by no one else
\set VERBOSITY default
SELECT bloom_contains(bloom_create(10), bloom_element(1));
\set VERBOSITY terse
SELECT bloom_element(bloom_element(1));
SELECT bloom_hash(ARRAY[bloom_element(1)]);
SELECT bloom_add(bloom_create(10), bloom_element(1));
SELECT bloom_add_all(bloom_create(10), ARRAY[bloom_element(1)]);
SELECT bloom_contains(bloom_create_foreign('guava', 'text', 100), bloom_element('a'));

-- Malformed values: too short, too long, no digits, no class, one of another system, one with a blank
SELECT '50392f89945faf787400000000000000000000000000000'::hashed_element;
SELECT '50392f89945faf78740000000000000000000000000000000'::hashed_element;
SELECT '50392f89945faf78740000000000000000000000000000zz'::hashed_element;
SELECT '50392f89945faf7800000000000000000000000000000000'::hashed_element;
SELECT '50392f89945faf7840740000000000000000000000000000'::hashed_element;
SELECT '50392f89945faf7874200000000000000000000000000000'::hashed_element;
SELECT '50392f89945faf7874007400000000000000000000000000'::hashed_element;
-- any class of our own; a filter takes it as its own bytes may have it
SELECT (bloom_info(bloom_agg(e))).element_class FROM unnest(ARRAY['50392f89945faf7874000000000000000000000000000000',
	'50392f89945faf782301020304050607ffffffffffffffff', '50392f89945faf7858227f7f22000000ffffffffffffffff']::hashed_element[]) e GROUP BY e::text;
