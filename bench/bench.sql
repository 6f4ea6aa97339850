-- bench/bench.sql: how script/bench notes what it measures.  Builds on lib.sql.

CREATE TABLE runs (
	part	text NOT NULL,
	cell	text NOT NULL,		-- what is measured together, in turn
	method	text NOT NULL,
	round	int NOT NULL,
	status	text NOT NULL,		-- ok, timeout, or failed with an SQLSTATE
	elapsed	float8 NOT NULL,	-- ns
	cpu		float8 NOT NULL,	-- ns that this backend was running on a core
	answer	bigint
);

-- What else is known of a method in a cell
CREATE TABLE methods (
	part	text NOT NULL,
	cell	text NOT NULL,
	method	text NOT NULL,
	place	serial,
	rows	bigint NOT NULL,	-- that it was probed for
	plan	text,
	bytes	bigint,				-- kept
	memory	bigint,				-- at its peak
	PRIMARY KEY (part, cell, method)
);

-- Run a query that returns a number, and note it.  If it has a $1, this is the
-- array of the whole blacklist, made before the clock starts.
CREATE FUNCTION measure(part text, cell text, method text, round int, query text)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	list text[];
	since float8;
	cpu_since float8;
	answer bigint;
	status text := 'ok';
BEGIN
	IF query LIKE '%$1%' THEN
		SELECT array_agg(url) INTO list FROM blacklist;
	END IF;
	cpu_since := cpu_ns();
	since := wall_ns();
	BEGIN
		IF list IS NULL THEN
			EXECUTE query INTO answer;
		ELSE
			EXECUTE query INTO answer USING list;
		END IF;
	EXCEPTION
		WHEN query_canceled THEN status := 'timeout';
		WHEN others THEN status := 'failed ' || SQLSTATE;
	END;
	INSERT INTO runs VALUES (part, cell, method, round, status,
		wall_ns() - since, cpu_ns() - cpu_since, answer);
	PERFORM set_config('bench.wall', wall_ns()::text, false),
		set_config('bench.cpu', cpu_ns()::text, false);
	RETURN status;
END
$$;

-- Called in the next transaction, after measure(): add what its COMMIT took, which writes
-- what waits to be added to membership indexes.
CREATE FUNCTION measure_commit(of_part text, of_cell text, of_method text, of_round int)
RETURNS void
BEGIN ATOMIC
	UPDATE runs SET elapsed = elapsed + wall_ns() - current_setting('bench.wall')::float8,
		cpu = cpu + cpu_ns() - current_setting('bench.cpu')::float8
	WHERE part = of_part AND cell = of_cell AND method = of_method AND round = of_round;
END;

-- The nodes of a query's plan, from the top
CREATE FUNCTION plan_of(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	node text;
	nodes text[];
BEGIN
	IF query LIKE '%$1%' THEN
		RETURN 'Seq Scan, array hashed';
	END IF;
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
		node := substring(line FROM '^(?: *->  )?([A-Z][A-Za-z ()]*?)(?: using .*| on .*)?$');
		IF node IS NOT NULL AND line ~ '^[A-Z]| -> ' THEN
			nodes := nodes || node;
		END IF;
	END LOOP;
	RETURN array_to_string(nodes, ' / ');
END
$$;

-- Median time, in ns, of planning a statement
CREATE FUNCTION planning_ns(query text, times int) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
	spent float8[];
	since float8;
BEGIN
	FOR i IN 1 .. times LOOP
		since := wall_ns();
		EXECUTE 'EXPLAIN ' || query;
		spent := spent || (wall_ns() - since);
	END LOOP;
	RETURN median(spent);
END
$$;

-- The least, the median and the most; of a run that was cut off, what it took
-- till then
CREATE FUNCTION least_of(float8[]) RETURNS float8
RETURN (SELECT min(x) FROM unnest($1) x);
CREATE FUNCTION most_of(float8[]) RETURNS float8
RETURN (SELECT max(x) FROM unnest($1) x);

-- Indexes, to be built, measured and dropped
CREATE FUNCTION make_index(method text, relation text) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE INDEX made ON %I USING %I (url)', relation, method);
	RETURN pg_relation_size('made');
END
$$;
