-- Filters that are stored: one block is read for one question, the whole for
-- many, and several are kept.
SET max_parallel_workers_per_gather = 0;

CREATE TABLE stored (name text PRIMARY KEY, filter bloom);
INSERT INTO stored VALUES
	('block512', bloom_add_all(bloom_create(4000000), ARRAY[1, 2, 3])),
	('block512x2', bloom_add_all(bloom_create(2000000, 0.00001), ARRAY[1, 2, 3])),
	('classic', bloom_add_all(bloom_create_bits(40000000, 5), ARRAY[1, 2, 3])),
	('layers', bloom_union(bloom_create(300000),
						   (SELECT bloom_agg(i, 300000, 0.01)
							FROM generate_series(1, 1000000) i)));
SELECT name, pg_column_size(filter) > 1000000 AS large, (bloom_info(filter)).layers
FROM stored ORDER BY name COLLATE "C";

-- Buffers that a query touches
CREATE FUNCTION buffers(query text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::bigint +
		(plan->0->'Plan'->>'Shared Read Blocks')::bigint;
END
$$;

-- A question reads a few blocks of the TOAST table and its index, not the
-- hundreds that the filter takes.
SELECT name, bloom_contains(filter, 2) AS two, bloom_contains(filter, -7) AS minus_seven,
	buffers(format('SELECT bloom_contains(filter, 2) FROM stored WHERE name = %L', name)) < 60 AS few,
	buffers(format('SELECT length(filter::bytea) FROM stored WHERE name = %L', name)) > 200 AS of_many
FROM stored ORDER BY name COLLATE "C";

-- Many questions read it once.
SELECT name,
	buffers(format('SELECT count(*) FROM generate_series(1, 20000) i WHERE bloom_contains((SELECT filter FROM stored WHERE name = %L), i)', name))
	< 4 * buffers(format('SELECT length(filter::bytea) FROM stored WHERE name = %L', name)) AS once
FROM stored ORDER BY name COLLATE "C";

-- The answers are those of the same filter in memory, whichever way it is read.
SELECT name,
	count(*) FILTER (WHERE in_parts <> in_memory) AS differ,
	bool_or(in_memory) AS some_found, bool_and(in_memory) AS all_found
FROM (
	SELECT s.name, i, bloom_contains(s.filter, i) AS in_parts,
		(bloom_contains_each(s.filter, ARRAY[i, i]))[2] AS in_memory
	FROM stored s, generate_series(0, 5000) i) answers
GROUP BY name ORDER BY name COLLATE "C";

-- an array asks many questions at once
SELECT name, bloom_contains_each(filter, ARRAY[1, -1, NULL, 3]) AS each,
	bloom_contains_any(filter, ARRAY[-1, 2]) AS any, bloom_contains_all(filter, ARRAY[-1, 2]) AS all
FROM stored WHERE name <> 'layers' ORDER BY name COLLATE "C";

-- A question of another class is refused before anything is read but the header.
SELECT bloom_contains(filter, 'x') FROM stored WHERE name = 'block512';

-- A join comes to one filter after the other, more than are kept: each holds
-- the number of its shard.
CREATE TABLE shards AS
	SELECT i AS shard, bloom_add(bloom_create(820000), i) AS filter
	FROM generate_series(1, 135) i;
SELECT count(*) AS questions,
	sum(bloom_contains(filter, shard)::int) AS present,
	sum(bloom_contains(filter, -shard)::int) AS absent
FROM generate_series(1, 40) again, shards;
SELECT count(*) AS questions,
	sum(bloom_contains(filter, shard)::int) AS present
FROM shards, generate_series(1, 40) again WHERE shard <= 10;
DROP TABLE shards;

-- Many small ones, inline and not
CREATE TABLE small AS
	SELECT i AS n, bloom_add(bloom_create(1 + i), i) AS filter
	FROM generate_series(1, 3000, 7) i;
SELECT count(*) = sum(bloom_contains(filter, n)::int) AS all_found,
	sum(bloom_contains(filter, n)::int + bloom_contains(filter, -n)::int) BETWEEN 429 AND 440 AS hardly_more
FROM small;
-- and with each form of storage
ALTER TABLE small ALTER filter SET STORAGE EXTENDED;
UPDATE small SET filter = bloom_add(filter, 0);
SELECT count(*) = sum((bloom_contains(filter, n) AND bloom_contains(filter, 0))::int) AS extended FROM small;
ALTER TABLE small ALTER filter SET STORAGE MAIN;
UPDATE small SET filter = bloom_add(filter, -1);
SELECT count(*) = sum((bloom_contains(filter, n) AND filter @> -1)::int) AS main FROM small;

-- Changed while a cursor has the old one: each sees its own
BEGIN;
DECLARE numbers CURSOR FOR
	SELECT n, bloom_contains((SELECT filter FROM stored WHERE name = 'block512'), n)
	FROM generate_series(1, 5) n;
FETCH 2 FROM numbers;
UPDATE stored SET filter = bloom_add(filter, 4) WHERE name = 'block512';
FETCH 3 FROM numbers;
SELECT bloom_contains(filter, 4) FROM stored WHERE name = 'block512';
ROLLBACK;

-- A filter that changes from row to row of one query
SELECT string_agg(name, ' ' ORDER BY name COLLATE "C")
FROM stored WHERE bloom_contains(filter, (SELECT 3)) AND filter @> 1 AND 2 <@ filter;

-- Prepared, and run again and again; the filter is another one each time
PREPARE ask(text, int) AS
	SELECT bloom_contains((SELECT filter FROM stored WHERE name = $1), $2);
EXECUTE ask('classic', 1);
EXECUTE ask('classic', 7);
EXECUTE ask('block512x2', 3);
EXECUTE ask('none', 3);

DROP FUNCTION buffers;
DROP TABLE stored, small;
