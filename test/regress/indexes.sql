-- For PostgreSQL's own regression tests (script/parts/regress.sh): membership indexes on
-- the tables that they create, so that their joins can be filtered.
CREATE EXTENSION bloomfilter;
CREATE SCHEMA indexes;
GRANT USAGE ON SCHEMA indexes TO public;

CREATE FUNCTION indexes.create() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
	-- most joins are by one of the first
	columns_most CONSTANT int := 6;
	-- Of join_hash, whose statistics say that they are much smaller than they are: with
	-- an index, the planner scans them once for each row of another table
	refused CONSTANT text[] := '{simple,bigger_than_it_looks,extremely_skewed,wide}';
	col record;
BEGIN
	FOR col IN
		SELECT c.oid::regclass AS table, a.attname AS name
		FROM pg_event_trigger_ddl_commands() AS d JOIN pg_class AS c ON c.oid = d.objid
			JOIN pg_attribute AS a ON a.attrelid = c.oid
		WHERE d.classid = 'pg_class'::regclass AND c.relkind IN ('r', 'm')
			AND a.attnum BETWEEN 1 AND columns_most AND NOT a.attisdropped AND c.relname <> ALL (refused)
	LOOP
		BEGIN
			EXECUTE format('CREATE INDEX ON %s USING membership (%I) WITH (capacity = 1000)', col.table, col.name);
		EXCEPTION WHEN OTHERS THEN
			-- of a type without a hash, or not now
		END;
	END LOOP;
END $$;

CREATE EVENT TRIGGER create_indexes ON ddl_command_end
	WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE MATERIALIZED VIEW')
	EXECUTE FUNCTION indexes.create();
