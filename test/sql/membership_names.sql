--
-- Functions of a filter never accept the name of an index, and vice versa.
--

-- A parameter without a type is a filter, or an index, by the name of the function alone
PREPARE one AS SELECT bloom_contains($1, $2);
PREPARE one_by_operator AS SELECT $1 @> $2::bloom, $3::bloom @> $4, $5 <@ $6::bloom;
PREPARE one_the_other_way AS SELECT _bloom_contained($1, $2);
PREPARE many AS SELECT bloom_contains_any($1, $2), bloom_contains_all($3, $4), bloom_contains_each($5, $6);
PREPARE one_of_index AS SELECT membership_contains($1, $2);
PREPARE many_of_index AS SELECT membership_contains_any($1, $2), membership_contains_all($3, $4), membership_contains_each($5, $6);
PREPARE whole_index AS SELECT membership_filter($1), membership_info($2), membership_check($3);
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY name COLLATE "C";
DEALLOCATE ALL;

-- The functions that take an index: each has a name of its own
SELECT p.oid::regprocedure AS takes_index,
	(SELECT count(*) FROM pg_proc WHERE proname = p.proname) AS of_this_name
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'bloomfilter' AND proargtypes[0] = 'regclass'::regtype
ORDER BY p.oid::regprocedure::text COLLATE "C";

-- Text that is no filter is an error of the type bloom, which shows nothing of it: neither a
-- filter without a cast, cut off, nor an element in the place of the filter
CREATE TABLE filters AS SELECT bloom_add(bloom_create(10), 'x') AS f;
CREATE FUNCTION error_of(query text, OUT code text, OUT message text) LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE query;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	IF concat(message, detail, hint) ~* 'ymx|secret|relation' THEN
		RAISE 'told: % % %', message, detail, hint;
	END IF;
END $$;
SELECT q AS query, e.*
FROM unnest(ARRAY[
	'bloom_contains(''ymxtaQ...not a filter'', ''x'')',
	'bloom_contains(''ymxtaQ=='', ''x'')',
	'bloom_contains(''ann@secret.example'', f)',
	'bloom_contains(''secret'', f)',
	'bloom_contains_any(''secret'', ''{x}'')',
	'bloom_contains_all(''secret'', ''{x}'')',
	'bloom_contains_each(''secret'', ''{x}'')',
	'_bloom_contained(f, ''ann@secret.example'')',
	'bloom_cardinality(''ann@secret.example'')',
	'bloom(''ann@secret.example'')',
	'''ann@secret.example'' @> f',
	'f <@ ''ann@secret.example''',
	'''ann@secret.example''::text @> f',
	'f <@ ''ann@secret.example''::text',
	'bloom_contains(''ann@secret.example''::text, f)',
	'''ymxtaQ...not a filter'' @> ''x''::text',
	'''x''::text <@ ''ymxtaQ...not a filter''']) WITH ORDINALITY AS u (q, n),
	error_of(format('SELECT %s FROM filters', q)) e
ORDER BY n;
DROP FUNCTION error_of;
DROP TABLE filters;

-- Looking a name up requires USAGE on its schema.  An OID is no name: it requires privileges
-- on the table alone, as elsewhere in PostgreSQL.
CREATE SCHEMA hidden;
CREATE TABLE hidden.urls (url text, note text);
CREATE INDEX urls_url ON hidden.urls USING membership (url);
INSERT INTO hidden.urls VALUES ('x');
SELECT 'hidden.urls_url'::regclass::oid AS oid \gset
PREPARE by_constant AS SELECT membership_contains('hidden.urls_url', 'x') AS found;
CREATE ROLE membership_stranger;
SET ROLE membership_stranger;
\set VERBOSITY terse
SELECT membership_contains(:oid, 'x');
SELECT membership_info(:oid);
SELECT membership_filter(:oid);
SELECT membership_check(:oid);
RESET ROLE;
GRANT SELECT (url) ON hidden.urls TO membership_stranger;
SET ROLE membership_stranger;
SELECT membership_contains('hidden.urls_url', 'x');
SELECT membership_contains('hidden.urls_url'::text::regclass, 'x');
SELECT membership_info('hidden.urls_url');
SELECT membership_filter('hidden.urls_url');
SELECT membership_check('hidden.urls_url');
SET search_path = hidden, public;
SELECT membership_contains('urls_url', 'x');
RESET search_path;
SELECT membership_contains(:oid, 'x') AS present, membership_contains(:oid, 'y') AS absent,
	membership_contains_each(:oid, '{x,y}') AS each, bloom_cardinality(membership_filter(:oid)) AS elements,
	(SELECT i.elements FROM membership_info(:oid) i) AS told, membership_check(:oid) AS checked;
-- a name that somebody else has looked up
EXECUTE by_constant;
RESET ROLE;
GRANT USAGE ON SCHEMA hidden TO membership_stranger;
SET ROLE membership_stranger;
SELECT membership_contains('hidden.urls_url', 'x') AS found;
RESET ROLE;
\set VERBOSITY default
DEALLOCATE by_constant;
DROP SCHEMA hidden CASCADE;
DROP ROLE membership_stranger;
