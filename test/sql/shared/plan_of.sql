-- The lines of a query's plan
\set ECHO none
CREATE FUNCTION plan_of(query text, options text = 'COSTS off') RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		RETURN NEXT line;
	END LOOP;
END
$$;
\set ECHO all
