--
-- Growth: a filter accepts more elements than its capacity.
--

-- A thousand times as many, in chunks: no element is lost, and the
-- requested error rate is kept
CREATE TEMP TABLE grown (what text, f bloom);
DO $$
DECLARE
	f	bloom := bloom_create(1000);
	g	bloom := bloom_create(1000, 0.001, 4);
BEGIN
	FOR chunk IN 0 .. 9
	LOOP
		f := bloom_add_all(f, ARRAY(SELECT generate_series(chunk * 100000 + 1, (chunk + 1) * 100000)));
		g := bloom_add_all(g, ARRAY(SELECT generate_series(chunk * 20000 + 1, (chunk + 1) * 20000)));
	END LOOP;
	INSERT INTO grown VALUES ('thousandfold', f), ('by four', g);
END
$$;
SELECT what, capacity, error_rate, growth, layers, estimated_error_rate / error_rate <= 1.02 AS precise
FROM grown, LATERAL bloom_info(f);
SELECT elements BETWEEN 990000 AND 1010000 AS counted,
	   (SELECT count(*) FROM generate_series(1, 1000000) AS x WHERE NOT bloom_contains(f, x)) AS false_negatives
FROM grown, LATERAL bloom_info(f) WHERE what = 'thousandfold';
SELECT elements BETWEEN 198000 AND 202000 AS counted,
	   (SELECT count(*) FROM generate_series(1, 200000) AS x WHERE NOT bloom_contains(f, x)) AS false_negatives
FROM grown, LATERAL bloom_info(f) WHERE what = 'by four';
-- Measured: nine tenths of the error rate are those of a first layer of 21
-- blocks, which is some per cent better or worse from one set to the next
SELECT what, found / 200000.0 / error_rate BETWEEN 0.85 AND 1.15 AS as_promised
FROM grown, LATERAL bloom_info(f),
	 LATERAL (SELECT count(*) AS found FROM generate_series(1, 200000) AS x WHERE bloom_contains(f, -x)) AS c;
DROP TABLE grown;

-- Up to its capacity a filter has one layer, and keeps its promise
SELECT c, bool_and(layers = 1) AS one_layer, bool_and(estimated_error_rate <= 0.01) AS precise
FROM (VALUES (1), (10), (30), (100), (1000), (10000)) AS x(c),
	 LATERAL (SELECT bloom_add_all(bloom_create(c), ARRAY(SELECT generate_series(n * 100000, n * 100000 + c - 1))) AS f
			  FROM generate_series(1, 5) AS n) AS y, LATERAL bloom_info(f)
GROUP BY c ORDER BY c;

-- Elements that are there already do not make it grow
SELECT bloom_add_all(f, ARRAY(SELECT n % 1000 FROM generate_series(1, 100000) AS n)) = f AS unchanged, layers
FROM (SELECT bloom_add_all(bloom_create(1000), ARRAY(SELECT generate_series(0, 999))) AS f) AS t, LATERAL bloom_info(f);
SELECT bloom_add_all(f, ARRAY(SELECT generate_series(0, 2999))) = f AS unchanged, layers > 1 AS has_grown
FROM (SELECT bloom_add_all(bloom_create(100), ARRAY(SELECT generate_series(0, 2999))) AS f) AS t, LATERAL bloom_info(f);

-- Each layer has growth/4 of what those before it have: with 1 they are many
SELECT g, layers, bloom_contains_all(f, ARRAY(SELECT generate_series(1, 2000))) AS complete, estimated_error_rate <= 0.0102 AS precise
FROM (VALUES (1), (2), (3), (16)) AS x(g),
	 LATERAL (SELECT bloom_add_all(bloom_create(100, growth => g), ARRAY(SELECT generate_series(1, 2000))) AS f OFFSET 0) AS y,
	 LATERAL bloom_info(f);
-- The number of layers has a limit, with an error that changes nothing
CREATE TEMP TABLE limited (f bloom);
INSERT INTO limited VALUES (bloom_create(10, growth => 1));
DO $$
DECLARE
	f		bloom := (SELECT limited.f FROM limited);
	before	bloom;
	added	int := 0;
BEGIN
	LOOP
		before := f;
		-- as many as a layer takes, so that each is beside the others
		f := bloom_union(f, bloom_add_all(bloom_create(10, growth => 1), ARRAY(SELECT generate_series(added + 1, added + 10))));
		added := added + 10;
	END LOOP;
EXCEPTION WHEN program_limit_exceeded THEN
	RAISE NOTICE '% (%): % layers, all as before: %, complete: %, enough: %', SQLERRM, SQLSTATE,
		(bloom_info(f)).layers, f = before, bloom_contains_all(f, ARRAY(SELECT generate_series(1, added))), added >= 320;
END
$$;
DROP TABLE limited;

-- growth => 0: a fixed filter accepts its capacity
SELECT c, bloom_contains_all(f, ARRAY(SELECT generate_series(1, c))) AS complete, layers
FROM (VALUES (1), (10), (100), (1000), (10000)) AS x(c),
	 LATERAL (SELECT bloom_add_all(bloom_create(c, growth => 0), ARRAY(SELECT generate_series(1, c))) AS f) AS y, LATERAL bloom_info(f);
-- and when it is full, there is an error
SELECT bloom_add_all(bloom_create(1000, growth => 0), ARRAY(SELECT generate_series(1, 2000)));
SELECT bloom_add_all(bloom_create(1000, 1e-5, growth => 0), ARRAY(SELECT generate_series(1, 2000)));
DO $$
DECLARE
	f		bloom := bloom_create(1000, growth => 0);
	added	int := 0;
BEGIN
	LOOP
		BEGIN
			f := bloom_add(f, added + 1);
			added := added + 1;
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE '%', SQLERRM;
			EXIT;
		END;
	END LOOP;
	RAISE NOTICE 'at least its capacity: %, not much more: %, complete: %, still rather precise: %', added >= 1000, added <= 1100,
		bloom_contains_all(f, ARRAY(SELECT generate_series(1, added))), bloom_error_rate(f) <= 0.015;
	RAISE NOTICE 'what it has can be added again: %', bloom_add_all(f, ARRAY[1, 2, 3]) = f;
	RAISE NOTICE 'some of the next elements cannot: %', (SELECT count(*) > 0 FROM generate_series(1, 10) AS x WHERE NOT bloom_contains(f, added + x));
END
$$;

-- A classic filter is never full, but its error rate rises
SELECT n, layers, round(estimated_error_rate::numeric, 2) AS error_rate, bloom_contains_all(f, ARRAY(SELECT generate_series(1, n))) AS complete
FROM (VALUES (10), (100), (1000), (10000)) AS x(n),
	 LATERAL (SELECT bloom_add_all(bloom_create_bits(1000, 3), ARRAY(SELECT generate_series(1, n))) AS f OFFSET 0) AS y, LATERAL bloom_info(f);

-- Aggregates' filters grow like any other
SELECT bloom_contains_all(f, ARRAY(SELECT generate_series(1, 5000))) AS complete, layers, estimated_error_rate <= 0.0102 AS precise
FROM (SELECT bloom_add_all(bloom_agg(i), ARRAY(SELECT generate_series(101, 5000))) AS f FROM generate_series(1, 100) AS i) AS t, LATERAL bloom_info(f);
