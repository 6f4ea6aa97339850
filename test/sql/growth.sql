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
-- Measured: four fifths of the error rate are those of a small first layer, which
-- is some per cent better or worse from one set to the next
SELECT what, found / 200000.0 / error_rate BETWEEN 0.85 AND 1.15 AS as_promised
FROM grown, LATERAL bloom_info(f),
	 LATERAL (SELECT count(*) AS found FROM generate_series(1, 200000) AS x WHERE bloom_contains(f, -x)) AS c;
DROP TABLE grown;

-- Up to its capacity a filter has one layer, and keeps its promise
SELECT c, bool_and(layers = 1) AS one_layer, bool_and(estimated_error_rate <= 0.01) AS precise
FROM (VALUES (1), (10), (30), (100), (1000), (1500), (1501), (10000)) AS x(c),
	 LATERAL (SELECT bloom_add_all(bloom_create(c), ARRAY(SELECT generate_series(n * 100000, n * 100000 + c - 1))) AS f
			  FROM generate_series(1, 5) AS n) AS y, LATERAL bloom_info(f)
GROUP BY c ORDER BY c;

-- Elements that are there already do not make it grow
SELECT c, bloom_add_all(f, ARRAY(SELECT n % c FROM generate_series(1, 100000) AS n)) = f AS unchanged, layers
FROM (SELECT c, bloom_add_all(bloom_create(c), ARRAY(SELECT generate_series(0, c - 1))) AS f FROM (VALUES (1000), (2000)) AS v(c)) AS t, LATERAL bloom_info(f);
SELECT c, bloom_add_all(f, ARRAY(SELECT generate_series(0, 30 * c - 1))) = f AS unchanged, layers > 1 AS has_grown
FROM (SELECT c, bloom_add_all(bloom_create(c), ARRAY(SELECT generate_series(0, 30 * c - 1))) AS f FROM (VALUES (100), (2000)) AS v(c)) AS t, LATERAL bloom_info(f);

-- Each layer has growth/4 of what those before it have: with 1 they are many
CREATE FUNCTION grown(f bloom, elements int, at_once int) RETURNS bloom LANGUAGE plpgsql AS
$$
BEGIN
	FOR i IN 1 .. elements BY at_once
	LOOP
		f := bloom_add_all(f, ARRAY(SELECT generate_series(i, least(i + at_once - 1, elements))));
	END LOOP;
	RETURN f;
END
$$;
SELECT c, g, layers, bloom_contains_all(f, ARRAY(SELECT generate_series(1, 20 * c))) AS complete, estimated_error_rate <= 0.0102 AS precise
FROM (VALUES (100), (2000)) AS v(c), (VALUES (1), (2), (3), (16)) AS x(g),
	 LATERAL (SELECT grown(bloom_create(c, growth => g), 20 * c, c / 10) AS f OFFSET 0) AS y,
	 LATERAL bloom_info(f) ORDER BY c, g;
-- or is as large as what waits to be added: with one call there is one more
SELECT c, g, layers, bloom_contains_all(f, ARRAY(SELECT generate_series(1, 20 * c))) AS complete, estimated_error_rate <= 0.0102 AS precise
FROM (VALUES (100), (2000)) AS v(c), (VALUES (1), (2), (16)) AS x(g),
	 LATERAL (SELECT grown(bloom_create(c, growth => g), 20 * c, 20 * c) AS f OFFSET 0) AS y,
	 LATERAL bloom_info(f) ORDER BY c, g;
-- Bits an element, as promised: 10.5 while it has not grown, and 16.5 once it has
-- grown tenfold by one call; one element at a time, at most 36
SELECT 8.0 * pg_column_size(bloom_create(1000000)) / 1000000 <= 10.5 AS not_grown,
	   8.0 * pg_column_size(grown(bloom_create(100000), 1000000, 1000000)) / 1000000 <= 16.5 AS tenfold;
SELECT 8.0 * max(pg_column_size(f)::float8 / n) <= 36 AS at_worst, max(layers) AS layers, bool_and(complete) AS complete
FROM generate_series(11000, 100000, 3000) AS n, LATERAL grown(bloom_create(10000), n, 1000) AS f, LATERAL bloom_info(f) AS i,
	 LATERAL bloom_contains_all(f, ARRAY(SELECT generate_series(1, n))) AS complete;
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
DROP FUNCTION grown;

-- growth => 0: a fixed filter accepts its capacity
SELECT c, bloom_contains_all(f, ARRAY(SELECT generate_series(1, c))) AS complete, layers
FROM (VALUES (1), (10), (100), (1000), (1500), (1501), (10000)) AS x(c),
	 LATERAL (SELECT bloom_add_all(bloom_create(c, growth => 0), ARRAY(SELECT generate_series(1, c))) AS f) AS y, LATERAL bloom_info(f);
-- and when it is full, there is an error
\set VERBOSITY terse
SELECT bloom_add_all(bloom_create(1000, growth => 0), ARRAY(SELECT generate_series(1, 2000)));
SELECT bloom_add_all(bloom_create(1000, 1e-5, growth => 0), ARRAY(SELECT generate_series(1, 2000)));
SELECT bloom_add_all(bloom_create(2000, growth => 0), ARRAY(SELECT generate_series(1, 4000)));
SELECT bloom_add_all(bloom_create(2000, 1e-5, growth => 0), ARRAY(SELECT generate_series(1, 4000)));
\set VERBOSITY default
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
	RAISE NOTICE 'at least its capacity: %, hardly more: %, complete: %, as precise as promised: %', added >= 1000, added <= 1050,
		bloom_contains_all(f, ARRAY(SELECT generate_series(1, added))), bloom_error_rate(f) <= 1.05 * 0.01;
	RAISE NOTICE 'what it has can be added again: %', bloom_add_all(f, ARRAY[1, 2, 3]) = f;
	RAISE NOTICE 'some of the next elements cannot: %', (SELECT count(*) > 0 FROM generate_series(1, 10) AS x WHERE NOT bloom_contains(f, added + x));
END
$$;

-- Whatever the capacity and the error rate, a fixed filter takes its capacity, and
-- nothing that would raise its expected error rate above 1.05 times the requested one
CREATE FUNCTION filled(f bloom, OUT elements int, OUT "full" bloom) LANGUAGE plpgsql AS
$$
BEGIN
	"full" := f;
	FOR i IN 1 .. 1000000
	LOOP
		elements := i - 1;
		"full" := bloom_add("full", i);
	END LOOP;
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN;
END
$$;
CREATE FUNCTION filled(f cuckoo, OUT elements int, OUT "full" cuckoo) LANGUAGE plpgsql AS
$$
BEGIN
	"full" := f;
	FOR i IN 1 .. 1000000
	LOOP
		elements := i - 1;
		"full" := cuckoo_add("full", i);
	END LOOP;
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN;
END
$$;
SELECT c, bool_and(elements >= c) AS takes_its_capacity, bool_and(bloom_error_rate("full") <= 1.05 * rate) AS precise, bool_and(bloom_contains_all("full", ARRAY(SELECT generate_series(1, elements)))) AS complete
FROM (VALUES (1), (2), (5), (10), (30), (100), (300), (1000), (1500), (1501), (2000), (10000)) AS v(c), (VALUES (0.1), (0.01), (1e-3), (1e-4), (1e-5), (1e-6)) AS w(rate),
	 LATERAL filled(bloom_create(c, rate, 0)) GROUP BY c ORDER BY c;
SELECT c, bool_and(elements >= c) AS takes_its_capacity, bool_and(cuckoo_error_rate("full") <= 1.05 * rate) AS precise, bool_and(cuckoo_contains_all("full", ARRAY(SELECT generate_series(1, elements)))) AS complete
FROM (VALUES (1), (10), (100), (1000), (10000)) AS v(c), (VALUES (0.1), (0.01), (1e-3), (1e-6)) AS w(rate),
	 LATERAL filled(cuckoo_create(c, rate, 0)) GROUP BY c ORDER BY c;
-- Measured on full filters, of many seeds; 1 % is for chance.  The smallest have few bits
-- between one element and the next
SELECT c, sum(found) / 2e6 BETWEEN CASE c WHEN 10 THEN 0.0075 ELSE 0.0095 END AND 1.06 * 0.01 AS as_promised
FROM (SELECT c, f, s FROM (VALUES (10, 400), (100, 100), (1000, 20), (2000, 20)) AS v(c, filters), LATERAL generate_series(1, filters) AS s,
	  LATERAL filled(bloom_create(c, 0.01, 0, s)) AS g(e, f) OFFSET 0) AS t,
	 LATERAL (SELECT count(*) AS found FROM generate_series(1, 2000000 / CASE c WHEN 10 THEN 400 WHEN 100 THEN 100 ELSE 20 END) AS x WHERE bloom_contains(f, -x)) AS p
GROUP BY c ORDER BY c;
DROP FUNCTION filled(bloom), filled(cuckoo);

-- A classic filter is never full, but its error rate rises
SELECT n, layers, round(estimated_error_rate::numeric, 2) AS error_rate, bloom_contains_all(f, ARRAY(SELECT generate_series(1, n))) AS complete
FROM (VALUES (10), (100), (1000), (10000)) AS x(n),
	 LATERAL (SELECT bloom_add_all(bloom_create_bits(1000, 3), ARRAY(SELECT generate_series(1, n))) AS f OFFSET 0) AS y, LATERAL bloom_info(f);

-- Aggregates' filters grow like any other; those of few elements, which have been made
-- for just these, are as precise as promised on the average
SELECT n, bool_and(bloom_contains_all(f, ARRAY(SELECT generate_series(s, s + 50 * n - 1)))) AS complete, max(layers) AS layers, avg(estimated_error_rate) <= 0.0102 AS precise
FROM (SELECT n, s, bloom_add_all(bloom_agg(i), ARRAY(SELECT generate_series(s + n, s + 50 * n - 1))) AS f
	  FROM (VALUES (100, 200), (2000, 10)) AS v(n, filters), LATERAL generate_series(1, 1000000 * (filters - 1) + 1, 1000000) AS s, LATERAL generate_series(s, s + n - 1) AS i GROUP BY n, s) AS t, LATERAL bloom_info(f) GROUP BY n ORDER BY n;
