--
-- bloom_shards and cuckoo_shards: a set that is split over many small filters, one a
-- row, to which elements are added one by one.
--
-- Enough of them for the set, none larger than a row may be without being toasted
SELECT n, rate, g.growth, count(*) AS shards, min(shard) = 0 AND max(shard) + 1 = count(*) AS numbered, sum(capacity) >= n AS enough,
	   max(bytes) <= 1100 AS small, bool_and(i.growth = g.growth AND i.error_rate = rate AND layers = 1 AND elements = 0) AS as_requested
FROM unnest(ARRAY[1, 900, 10000, 1000000]) AS n, unnest('{0.1, 0.01, 1e-6}'::float8[]) AS rate, unnest(ARRAY[0, 2]) AS g(growth),
	 bloom_shards(n, rate, g.growth) AS s, bloom_info(filter) AS i GROUP BY n, rate, g.growth ORDER BY n, rate DESC, g.growth;
SELECT n, rate, count(*) AS shards, sum(capacity) >= n AS enough, max(bytes) <= 1100 AS small
FROM unnest(ARRAY[1, 900, 1000000]) AS n, unnest('{0.1, 0.01, 1e-6}'::float8[]) AS rate, cuckoo_shards(n, rate) AS s, cuckoo_info(filter) GROUP BY n, rate ORDER BY n, rate DESC;
SELECT count(DISTINCT filter) AS kinds, bool_and((bloom_info(filter)).seed = 42) AS seed, bool_and(bloom_compatible(filter, bloom_create((bloom_info(filter)).capacity, seed => 42))) AS as_created FROM bloom_shards(100000, seed => 42);
SELECT count(*) AS none FROM bloom_shards(NULL);
-- The number of shards depends on the request alone, so that other servers come to the same
SELECT count(*) FROM bloom_shards(123456789);
SELECT bloom_shards(0);
SELECT bloom_shards(1000, 0.01, 17);
SELECT cuckoo_shards(1000, 2);
SELECT bloom_shards(9000000000000000000);
-- Not terabytes of temporary files for one row
SELECT count(*) FROM (SELECT 1 FROM bloom_shards(100000000000) LIMIT 1) AS t;
SELECT count(*) FROM (SELECT 1 FROM cuckoo_shards(100000000000) LIMIT 1) AS t;

-- As the tutorial has it: none is lost, and the answers are right
CREATE TABLE seen (shard integer PRIMARY KEY, shards integer NOT NULL, filter bloom NOT NULL) WITH (fillfactor = 50, toast_tuple_target = 8160);
INSERT INTO seen SELECT shard, count(*) OVER (), filter FROM bloom_shards(3000, 0.01);
CREATE FUNCTION seen_add(wanted integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	UPDATE seen SET filter = bloom_add(filter, wanted)
	WHERE shard = bloom_shard(wanted, (SELECT shards FROM seen WHERE shard = 0)) AND NOT bloom_contains(filter, wanted);
	RETURN FOUND;
END $$;
SELECT count(*) AS added, count(*) FILTER (WHERE seen_add(i)) > 2980 AS new FROM generate_series(1, 3000) AS i;
SELECT count(*) FILTER (WHERE seen_add(i)) AS again FROM generate_series(1, 3000) AS i;
SELECT count(*) AS missing FROM generate_series(1, 3000) AS i LEFT JOIN seen s ON s.shard = bloom_shard(i, s.shards) AND bloom_contains(s.filter, i) WHERE s.shard IS NULL;
SELECT count(*) < 20000 * 0.0115 AS few_false_positives FROM generate_series(1000001, 1020000) AS i JOIN seen s ON s.shard = bloom_shard(i, s.shards) WHERE bloom_contains(s.filter, i);
-- nothing has left its page's table: no TOAST, hardly a larger table
SELECT reltoastrelid = 0 OR pg_relation_size(reltoastrelid) = 0 AS not_toasted, max(octet_length(filter::bytea)) < 2000 AS small FROM pg_class, seen WHERE oid = 'seen'::regclass GROUP BY reltoastrelid;
DROP TABLE seen;
DROP FUNCTION seen_add;
-- and a fixed set takes all that it was made for
CREATE TABLE fixed AS SELECT shard, count(*) OVER () AS shards, filter FROM bloom_shards(20000, 0.01, 0);
UPDATE fixed f SET filter = bloom_add_all(filter, xs) FROM (SELECT bloom_shard(i, (SELECT shards FROM fixed LIMIT 1)::int) AS shard, array_agg(i) AS xs FROM generate_series(1, 20000) AS i GROUP BY 1) AS x WHERE x.shard = f.shard;
SELECT sum(elements) BETWEEN 19800 AND 20200 AS all_in FROM fixed, bloom_info(filter);
DROP TABLE fixed;
