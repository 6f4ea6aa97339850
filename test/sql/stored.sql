-- Filters that are stored: one block is read for one lookup, the whole for
-- many, and several are cached.
\set ON_ERROR_STOP on
SET max_parallel_workers_per_gather = 0;

CREATE TABLE stored (name text PRIMARY KEY, filter bloom);
INSERT INTO stored VALUES
	('block512', bloom_add_all(bloom_create(4000000), ARRAY[1, 2, 3])),
	('block512x2', bloom_add_all(bloom_create(2000000, 0.00001), ARRAY[1, 2, 3])),
	('classic', bloom_add_all(bloom_create_bits(40000000, 5), ARRAY[1, 2, 3])),
	('layers', bloom_union(bloom_add_all(bloom_add_all((SELECT bloom_agg(i, 300000, 0.01) FROM generate_series(1, 300000) i),
										   ARRAY(SELECT generate_series(300001, 600000))), ARRAY(SELECT generate_series(600001, 1000000))),
						   bloom_create(300000))),
	-- a small layer among large ones, whose bits lie anywhere in it
	('small first', bloom_add_all(bloom_add_all(bloom_create(1000), ARRAY(SELECT generate_series(1, 1000))), ARRAY(SELECT generate_series(1001, 1000000))));
\set ON_ERROR_STOP off
SELECT name, pg_column_size(filter) > 1000000 AS large, (bloom_info(filter)).layers
FROM stored ORDER BY name COLLATE "C";

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file

-- A lookup reads a few blocks of the TOAST table and its index, not the
-- hundreds that the filter takes.
SELECT name, bloom_contains(filter, 2) AS two, bloom_contains(filter, -7) AS minus_seven,
	buffers(format('SELECT bloom_contains(filter, 2) FROM stored WHERE name = %L', name)) < 60 AS few,
	buffers(format('SELECT length(filter::bytea) FROM stored WHERE name = %L', name)) > 200 AS of_many
FROM stored ORDER BY name COLLATE "C";

-- Many lookups read it once.
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

-- an array is many lookups at once
SELECT name, bloom_contains_each(filter, ARRAY[1, -1, NULL, 3]) AS each,
	bloom_contains_any(filter, ARRAY[-1, 2]) AS any, bloom_contains_all(filter, ARRAY[-1, 2]) AS all
FROM stored WHERE name NOT IN ('layers', 'small first') ORDER BY name COLLATE "C";

-- A lookup of another class is refused before anything is read but the header.
SELECT bloom_contains(filter, 'x') FROM stored WHERE name = 'block512';

-- A join reads one filter after the other, more than the cache holds: each holds
-- the number of its shard.
CREATE TABLE shards AS
	SELECT i AS shard, bloom_add(bloom_create(820000), i) AS filter
	FROM generate_series(1, 135) i;
SELECT count(*) AS lookups,
	sum(bloom_contains(filter, shard)::int) AS present,
	sum(bloom_contains(filter, -shard)::int) AS absent
FROM generate_series(1, 40) again, shards;
SELECT count(*) AS lookups,
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
PREPARE probe(text, int) AS
	SELECT bloom_contains((SELECT filter FROM stored WHERE name = $1), $2);
EXECUTE probe('classic', 1);
EXECUTE probe('classic', 7);
EXECUTE probe('block512x2', 3);
EXECUTE probe('none', 3);

--
-- cuckoo: the same, with two windows for each layer
--
CREATE TABLE cuckoos (name text PRIMARY KEY, filter cuckoo);
INSERT INTO cuckoos VALUES
	('one layer', cuckoo_add_all(cuckoo_create(4000000), ARRAY[1, 2, 3])),
	('wide', cuckoo_add_all(cuckoo_create(2000000, 1e-7), ARRAY[1, 2, 3])),
	('full', (SELECT cuckoo_agg(i, NULL, 1e-4) FROM generate_series(1, 900000) i)),
	('layers', (SELECT cuckoo_agg(i, 300000, 0.01) FROM generate_series(1, 1000000) i));
SELECT name, pg_column_size(filter) > 1000000 AS large, (cuckoo_info(filter)).layers > 1 AS grown
FROM cuckoos ORDER BY name COLLATE "C";
SELECT name, cuckoo_contains(filter, 2) AS two, cuckoo_contains(filter, -7) AS minus_seven,
	buffers(format('SELECT cuckoo_contains(filter, 2) FROM cuckoos WHERE name = %L', name)) < 60 AS few,
	buffers(format('SELECT cuckoo_contains(filter, -7) FROM cuckoos WHERE name = %L', name)) < 60 AS few_if_absent,
	buffers(format('SELECT 2 <@ filter AND filter @> 2 FROM cuckoos WHERE name = %L', name)) < 120 AS operators,
	buffers(format('SELECT length(filter::bytea) FROM cuckoos WHERE name = %L', name)) > 200 AS of_many
FROM cuckoos ORDER BY name COLLATE "C";
SELECT name,
	buffers(format('SELECT count(*) FROM generate_series(1, 20000) i WHERE cuckoo_contains((SELECT filter FROM cuckoos WHERE name = %L), i)', name))
	< 4 * buffers(format('SELECT length(filter::bytea) FROM cuckoos WHERE name = %L', name)) AS once
FROM cuckoos ORDER BY name COLLATE "C";
-- The answers are those of the same filter in memory, whichever way it is read,
-- also at the ends of the layers' bytes
SELECT name,
	count(*) FILTER (WHERE in_parts <> in_memory) AS differ,
	count(*) FILTER (WHERE in_parts <> in_memory_alone) AS differ_alone,
	count(*) FILTER (WHERE in_memory AND i > 0) AS found_of_1000
FROM (
	SELECT s.name, i, (SELECT cuckoo_contains(c.filter, i) FROM cuckoos c WHERE c.name = s.name) AS in_parts,
		(cuckoo_contains_each(s.filter, ARRAY[i, i]))[2] AS in_memory, cuckoo_count(s.filter, i) > 0 AS in_memory_alone
	FROM cuckoos s, generate_series(-1000, 1000) i OFFSET 0) answers
GROUP BY name ORDER BY name COLLATE "C";
CREATE FUNCTION probe_by_slices(n text, x int) RETURNS boolean LANGUAGE plpgsql AS
$$ BEGIN RETURN (SELECT cuckoo_contains(filter, x) FROM cuckoos WHERE name = n); END $$;
SELECT name, count(*) FILTER (WHERE probe_by_slices(name, i) <> (cuckoo_contains_each(filter, ARRAY[i, i]))[1]) AS differ
FROM cuckoos, generate_series(-300, 300) i WHERE name IN ('full', 'layers') GROUP BY name ORDER BY name COLLATE "C";
-- an array is many lookups at once, and so is cuckoo_count
SELECT name, cuckoo_contains_each(filter, ARRAY[1, -1, NULL, 3]) AS each,
	cuckoo_contains_any(filter, ARRAY[-1, 2]) AS any, cuckoo_contains_all(filter, ARRAY[-1, 2]) AS all, cuckoo_count(filter, 1), cuckoo_count(filter, -1)
FROM cuckoos WHERE name <> 'layers' ORDER BY name COLLATE "C";
SELECT cuckoo_contains(filter, 'x') FROM cuckoos WHERE name = 'one layer';
-- Changed while a cursor has the old one: each sees its own
BEGIN;
DECLARE numbers CURSOR FOR
	SELECT n, cuckoo_contains((SELECT filter FROM cuckoos WHERE name = 'wide'), n) FROM generate_series(1, 5) n;
FETCH 2 FROM numbers;
UPDATE cuckoos SET filter = cuckoo_replace(filter, 3, 4) WHERE name = 'wide';
FETCH 3 FROM numbers;
SELECT cuckoo_contains(filter, 3) AS three, cuckoo_contains(filter, 4) AS four FROM cuckoos WHERE name = 'wide';
ROLLBACK;
-- A trigger keeps the filter current: deleted rows leave it
CREATE TABLE accounts (id int, name text);
CREATE TABLE blocked AS SELECT cuckoo_create(100) AS names;
CREATE FUNCTION keep_blocked() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
	CASE TG_OP
		WHEN 'INSERT' THEN UPDATE blocked SET names = cuckoo_add(names, NEW.name) WHERE NEW.name IS NOT NULL;
		WHEN 'DELETE' THEN UPDATE blocked SET names = cuckoo_remove(names, OLD.name) WHERE OLD.name IS NOT NULL;
		WHEN 'UPDATE' THEN UPDATE blocked SET names = cuckoo_replace(names, OLD.name, NEW.name);
	END CASE;
	RETURN NULL;
END
$$;
CREATE TRIGGER keep AFTER INSERT OR DELETE OR UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION keep_blocked();
INSERT INTO accounts SELECT i, 'account ' || i FROM generate_series(1, 300) i;
INSERT INTO accounts VALUES (301, 'account 300'), (302, NULL);
UPDATE accounts SET name = name || ', renamed' WHERE id % 3 = 0 AND id < 300;
DELETE FROM accounts WHERE id % 2 = 0;
BEGIN;
DELETE FROM accounts;
SELECT cuckoo_cardinality(names) FROM blocked;
ROLLBACK;
SELECT count(*) = cuckoo_cardinality(names) AS as_many, bool_and(names @> name) AS all_there, names @> 'account 300' AS the_other_one,
	(SELECT count(*) FROM generate_series(2, 298, 2) i WHERE names @> ('account ' || i)) <= 5 AS gone
FROM accounts, blocked WHERE name IS NOT NULL GROUP BY names;
DROP TABLE accounts, blocked;
DROP FUNCTION keep_blocked, probe_by_slices;
DROP TABLE cuckoos;

-- A type whose hash function probes the very filter that it is hashed for, so often
-- that this is read in full meanwhile
SET client_min_messages = warning;
CREATE TYPE prober;
CREATE FUNCTION prober_in(cstring) RETURNS prober LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION prober_out(prober) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE prober (INPUT = prober_in, OUTPUT = prober_out, LIKE = int4);
RESET client_min_messages;
CREATE CAST (int AS prober) WITHOUT FUNCTION;
CREATE CAST (prober AS int) WITHOUT FUNCTION;
CREATE FUNCTION prober_eq(prober, prober) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION prober_hash(prober) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint4';
CREATE FUNCTION prober_hash(prober, bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF $1::int > 0 AND current_setting('probers.probe') <> '' THEN
		PERFORM bloom_contains_each(filter, ARRAY(SELECT (-i)::prober FROM generate_series(1, 1000) AS i))
		FROM probers WHERE name = current_setting('probers.probe');
	END IF;
	RETURN hashint4extended($1::int, $2);
END
$$;
CREATE OPERATOR === (LEFTARG = prober, RIGHTARG = prober, FUNCTION = prober_eq, HASHES);
CREATE OPERATOR CLASS prober_ops DEFAULT FOR TYPE prober USING hash AS OPERATOR 1 ===,
	FUNCTION 1 prober_hash(prober), FUNCTION 2 prober_hash(prober, bigint);
SET probers.probe = '';
CREATE TABLE probers (name text, filter bloom);
ALTER TABLE probers ALTER filter SET STORAGE EXTERNAL;
INSERT INTO probers SELECT 'plain', bloom_agg(i::prober, 100000, NULL) FROM generate_series(1, 1000) i;
INSERT INTO probers SELECT 'keyed', bloom_agg(bloom_element(i::prober, 7), 100000, 0.01) FROM generate_series(1, 1000) i;
INSERT INTO probers SELECT 'layers', bloom_add_all(bloom_create(100000), array_agg(i::prober)) FROM generate_series(1, 150000) i;
CREATE FUNCTION probe_probers(which text) RETURNS TABLE (operator boolean, absent boolean, "any" boolean, each boolean[])
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('probers.probe', which, true);
	-- each in a statement of its own, which has cached nothing yet
	SELECT filter @> 1::prober INTO operator FROM probers WHERE name = which;
	SELECT filter @> 2000000::prober INTO absent FROM probers WHERE name = which;
	SELECT bloom_contains_any(filter, ARRAY[1]::prober[]) INTO "any" FROM probers WHERE name = which;
	SELECT bloom_contains_each(filter, ARRAY[1, NULL, 2, 2000000]::prober[]) INTO each FROM probers WHERE name = which;
	RETURN NEXT;
END
$$;
SELECT name, a.* FROM (SELECT name FROM probers) AS p, probe_probers(name) AS a ORDER BY name COLLATE "C";
SET client_min_messages = warning;
DROP TABLE probers;
DROP FUNCTION probe_probers;
DROP TYPE prober CASCADE;
RESET client_min_messages;

DROP TABLE stored, small;
