-- What EXPLAIN says of a query, and what it returns
\set ECHO none
\set stopped :ON_ERROR_STOP
\set ON_ERROR_STOP on
-- The lines of its plan, in words that all majors share: how they name the results of
-- subqueries differs
CREATE OR REPLACE FUNCTION plan_of(query text, options text = 'COSTS off') RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		line := regexp_replace(regexp_replace(line, '\(InitPlan \w+\)\.col1', '$0', 'g'), '(Init|Sub)Plan expr_', '\1Plan ');
		RETURN NEXT regexp_replace(line, ' \(returns [^)]*\)', '');
	END LOOP;
END
$$;
-- Its first node
CREATE OR REPLACE FUNCTION first_node(query text, options text = 'COSTS') RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (%s, FORMAT json) %s', options, query) INTO plan;
	RETURN plan -> 0 -> 'Plan';
END
$$;
-- All of its nodes, if it runs
CREATE OR REPLACE FUNCTION nodes(query text) RETURNS SETOF jsonb
LANGUAGE sql AS $$
	SELECT jsonb_path_query(first_node(query, 'ANALYZE, TIMING off'), 'strict $.** ? (exists (@."Node Type"))')
$$;
-- The rows that the planner expects
CREATE OR REPLACE FUNCTION expected_rows(query text) RETURNS float8
LANGUAGE sql AS $$
	SELECT (first_node(query) ->> 'Plan Rows')::float8
$$;
-- The buffers that it touches
CREATE OR REPLACE FUNCTION buffers(query text) RETURNS bigint
LANGUAGE sql AS $$
	SELECT (node ->> 'Shared Hit Blocks')::bigint + (node ->> 'Shared Read Blocks')::bigint
	FROM first_node(query, 'ANALYZE, BUFFERS, TIMING off') node
$$;
-- Its rows, sorted
CREATE OR REPLACE FUNCTION result_of(query text) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
	result text[];
BEGIN
	EXECUTE format('SELECT coalesce(array_agg(q::text ORDER BY q::text), ''{}'') FROM (%s) AS q', query)
		INTO result;
	RETURN result;
END
$$;
\set ON_ERROR_STOP :stopped
\set ECHO all
