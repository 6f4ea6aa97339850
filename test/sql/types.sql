--
-- What the extension brings to the catalogs, where it may live, and which users
-- may create it.
--

-- The type: of any length, aligned for 64-bit words, stored uncompressed
SELECT typlen, typbyval, typalign, typstorage, typcollation = 0 AS no_collation,
	   typmodin = 0 AS no_modifier, typinput, typoutput, typreceive, typsend
FROM pg_type WHERE oid = 'bloom'::regtype;
SELECT typlen, typbyval, typalign, typstorage, typcollation = 0 AS no_collation,
	   typmodin = 0 AS no_modifier, typinput, typoutput, typreceive, typsend
FROM pg_type WHERE oid = 'cuckoo'::regtype;

-- Every object of the extension has a comment: no rows
SELECT pg_describe_object(d.classid, d.objid, 0) AS without_comment
FROM pg_depend d JOIN pg_extension e
	ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'bloomfilter' AND d.deptype = 'e'
	AND obj_description(d.objid, d.classid::regclass::text::name) IS NULL
	-- the array type is a member from PostgreSQL 17 on
	AND NOT (d.classid = 'pg_type'::regclass AND d.objid IN ('bloom[]'::regtype, 'cuckoo[]'::regtype, 'hashed_element[]'::regtype));
SELECT obj_description(oid, 'pg_extension') IS NOT NULL AS extension_has_comment
FROM pg_extension WHERE extname = 'bloomfilter';

CREATE TEMP VIEW members AS
SELECT p.*, p.oid::regprocedure AS signature
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'bloomfilter' AND d.deptype = 'e';

-- All functions are immutable, but for estimators that look at statistics, those that
-- query an index or name a type, and the handler; all are parallel safe but the one that runs the expressions of an
-- index, and the one that has no row for what it cannot read, as a worker cannot temporary indexes; and none is
-- leakproof or needs another extension: no rows
SELECT signature FROM members
WHERE provolatile <> CASE WHEN proname ~ 'handler$' THEN 'v'
		WHEN proname ~ '(sel|info)$' OR signature::text ~ 'regclass' THEN 's' ELSE 'i' END
	OR proparallel <> CASE proname WHEN 'membership_check' THEN 'u' WHEN 'membership_info' THEN 'r' ELSE 's' END OR proleakproof OR prosecdef
	OR prolang NOT IN (SELECT oid FROM pg_language WHERE lanname IN ('c', 'internal'));
-- All functions but aggregates' own, the one that has arguments which most formats must not have, the one whose
-- result aggregates would skip if it were NULL, the one that is sent before there is a filter, and those that add or
-- remove elements, which skip NULLs, are strict: no rows
SELECT signature FROM members
WHERE prokind = 'f' AND NOT proisstrict AND NOT signature::text ~ '_agg_' AND proname NOT IN ('bloom_import', 'bloom_element', '_bloom_may_contain')
	AND proname !~ '^(bloom|cuckoo)_(add|remove|replace)';
-- An underscore begins the names of functions that only the server calls, by a type, an operator class, a cast, an
-- aggregate, the planner or a scan; others, which t/010_docs.pl looks for in the reference, may serve an aggregate, too: no
-- rows
SELECT signature FROM members
WHERE proname !~ '^_' AND proname !~ '^(bloom|cuckoo)_(union|intersection)$' AND prokind = 'f'
	AND (ARRAY[prorettype] || proargtypes::oid[] && ARRAY['internal', 'cstring', 'index_am_handler']::regtype[]::oid[]
		OR oid IN (SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend]) FROM pg_type)
		OR oid IN (SELECT amproc FROM pg_amproc) OR oid IN (SELECT castfunc FROM pg_cast)
		OR oid IN (SELECT unnest(ARRAY[aggtransfn, aggcombinefn, aggfinalfn]) FROM pg_aggregate));
-- and they are called by something, or by another server: no rows
SELECT signature FROM members
WHERE proname ~ '^_' AND proname <> '_bloom_may_contain' AND NOT EXISTS (SELECT FROM pg_depend WHERE refclassid = 'pg_proc'::regclass AND refobjid = members.oid);
-- \df and \da show what each argument of the others is: no rows
SELECT signature FROM members
WHERE pronargs > coalesce(cardinality(array_remove(proargnames[:pronargs], '')), 0) AND proname !~ '^_'
ORDER BY signature::text COLLATE "C";
-- and so few: \dx+ shows them all
SELECT count(*) <= 120 AS few FROM members;
-- Functions of one element cost less than those of a whole filter
SELECT max(procost) FILTER (WHERE proname IN ('bloom_contains', '_bloom_contained', 'bloom_hash'))
	   < min(procost) FILTER (WHERE proname IN ('bloom_union', 'bloom_intersection', 'bloom_add'))
	   AS honest_cost
FROM members;
-- and a cuckoo's function as much as that of a bloom; a multiset must not drop DISTINCT: no rows
SELECT b.signature, b.procost AS bloom, c.procost AS cuckoo
FROM members b JOIN members c ON c.proname = replace(b.proname, 'bloom', 'cuckoo') AND c.proargtypes::regtype[]::text = replace(b.proargtypes::regtype[]::text, 'bloom', 'cuckoo')
WHERE b.proname ~ 'bloom' AND (b.procost <> c.procost OR b.prosrc <> replace(c.prosrc, 'cuckoo', 'bloom') OR b.prosupport <> c.prosupport AND b.proname !~ '^bloom_agg' OR b.proargnames IS DISTINCT FROM c.proargnames AND b.proname NOT IN ('bloom_info', 'bloom_size'));
-- A cuckoo has all functions of a bloom that it can have, and more
SELECT signature AS bloom_only FROM members b
WHERE NOT EXISTS (SELECT FROM members c WHERE c.proname = replace(b.proname, 'bloom', 'cuckoo') AND c.proname <> b.proname) AND proname ~ 'bloom' ORDER BY signature::text COLLATE "C";
SELECT signature AS cuckoo_only FROM members c
WHERE NOT EXISTS (SELECT FROM members b WHERE b.proname = replace(c.proname, 'cuckoo', 'bloom') AND c.proname <> b.proname) AND proname ~ 'cuckoo' ORDER BY signature::text COLLATE "C";

-- Every aggregate can be computed in parallel, and its partial state is an
-- ordinary value
SELECT aggfnoid::regprocedure AS aggregate, aggtranstype::regtype AS state,
	   aggcombinefn <> 0 AS combines, aggserialfn = 0 AS needs_no_serialisation,
	   aggfinalmodify AS final_modifies
FROM pg_aggregate WHERE aggfnoid IN (SELECT oid FROM members)
ORDER BY aggfnoid::regprocedure::text COLLATE "C";

-- Operators, their commutators and negators
SELECT o.oid::regoperator AS operator, o.oprcode AS function,
	   c.oid::regoperator AS commutator, n.oid::regoperator AS negator,
	   o.oprcanhash AS hashes, o.oprcanmerge AS merges, o.oprrest <> 0 AND o.oprjoin <> 0 AS estimated
FROM pg_operator o
	LEFT JOIN pg_operator c ON c.oid = o.oprcom
	LEFT JOIN pg_operator n ON n.oid = o.oprnegate
WHERE o.oprcode IN (SELECT oid FROM members)
ORDER BY o.oid::regoperator::text COLLATE "C";

-- Operators and the functions behind them give the same results
SELECT f @> 1 AS here, 1 <@ f AS here_too, f @> 2 AS there, 2 <@ f AS there_too,
	   f | g = bloom_union(f, g) AS united, f & g = bloom_intersection(f, g) AS intersected,
	   f = f AS same, f <> f AS other, f = g AS different, f <> g AS unequal
FROM (SELECT bloom_add(bloom_create(100), 1) AS f, bloom_add(bloom_create(100), 2) AS g) AS t;
SELECT f @> 1 AS here, 1 <@ f AS here_too, f @> 2 AS there, 2 <@ f AS there_too, f | g = cuckoo_union(f, g) AS united,
	   f = f AS same, f <> f AS other, f = g AS different, f <> g AS unequal, _cuckoo_eq(f, f) AS eq, _cuckoo_ne(f, f) AS ne
FROM (SELECT cuckoo_add(cuckoo_create(100), 1) AS f, cuckoo_add(cuckoo_create(100), 2) AS g) AS t;

-- Casts to and from bytea must be explicit
SELECT castsource::regtype AS source, casttarget::regtype AS target,
	   castcontext, castmethod
FROM pg_cast
WHERE castsource IN ('bloom'::regtype, 'cuckoo'::regtype) OR casttarget IN ('bloom'::regtype, 'cuckoo'::regtype)
ORDER BY castsource::regtype::text COLLATE "C", casttarget::regtype::text COLLATE "C";

-- A hash and a btree operator class
SELECT amname, opcname, opcdefault
FROM pg_opclass JOIN pg_am ON pg_am.oid = opcmethod
WHERE opcintype = 'bloom'::regtype ORDER BY amname;
SELECT count(*) AS support_functions FROM pg_amproc WHERE amproclefttype = 'bloom'::regtype;
SELECT amname, opcname, opcdefault
FROM pg_opclass JOIN pg_am ON pg_am.oid = opcmethod
WHERE opcintype = 'cuckoo'::regtype ORDER BY amname;
SELECT count(*) AS support_functions FROM pg_amproc WHERE amproclefttype = 'cuckoo'::regtype;

-- Arrays, composites and domains of filters
CREATE DOMAIN filter_of_ints AS bloom CHECK (bloom_contains(VALUE, 42));
SELECT bloom_contains(bloom_add(bloom_create(10), 42)::filter_of_ints, 42) AS domain_asked,
	   bloom_contains(bloom_add(bloom_add(bloom_create(10), 42)::filter_of_ints, 43), 43) AS domain_added;
DO $$
BEGIN
	PERFORM bloom_create(10)::filter_of_ints;
EXCEPTION WHEN check_violation THEN
	RAISE NOTICE 'the domain is checked';
END
$$;
SELECT (array_agg(bloom_add(bloom_create(10), i) ORDER BY i))[2] @> 2 AS second_of_array,
	   (array_agg(bloom_add(bloom_create(10), i) ORDER BY i))[2] @> 1 AS not_the_first
FROM generate_series(1, 3) AS i;
DROP DOMAIN filter_of_ints;
CREATE DOMAIN filter_of_ints AS cuckoo CHECK (cuckoo_contains(VALUE, 42));
SELECT cuckoo_contains(cuckoo_add(cuckoo_create(10), 42)::filter_of_ints, 42) AS domain_asked,
	   cuckoo_contains(cuckoo_remove(cuckoo_add(cuckoo_create(10), 42)::filter_of_ints, 42), 42) AS domain_removed,
	   cuckoo_count(cuckoo_add(cuckoo_create(10), 42)::filter_of_ints | cuckoo_add(cuckoo_create(10), 42)::filter_of_ints, 42) AS domains_united;
SELECT cuckoo_remove(cuckoo_add(cuckoo_create(10), 42), 42)::filter_of_ints;
DROP DOMAIN filter_of_ints;

-- The operators do not change what literals beside other types mean
SELECT '{1,2}' @> ARRAY[1] AS array_right, ARRAY[1] <@ '{1,2}' AS array_left,
	   '{"a": 1}' @> '{"a": 1}'::jsonb AS jsonb_right, '{"a": 1}'::jsonb <@ '{"a": 1}' AS jsonb_left,
	   3 <@ '[1,5]'::int4range AS range, point(0.5, 0.5) <@ '(1,1),(0,0)'::box AS box,
	   1 | '2' AS bit_or, '6' & 3 AS bit_and;

-- Relocatable: everything works in another schema
CREATE SCHEMA elsewhere;
CREATE TABLE moved (f bloom DEFAULT bloom_add(bloom_create(10), 'default'));
INSERT INTO moved DEFAULT VALUES;
ALTER EXTENSION bloomfilter SET SCHEMA elsewhere;
SET search_path = pg_catalog;
SELECT elsewhere.bloom_contains(f, 'default') AS function,
	   f OPERATOR(elsewhere.@>) 'default'::text AS operator,
	   f OPERATOR(elsewhere.=) f AS equal,
	   elsewhere.bloom_contains(elsewhere.bloom_create(10), 1) AS created
FROM public.moved;
SELECT elsewhere.bloom_contains(elsewhere.bloom_agg(i), 7) AS aggregate FROM generate_series(1, 10) AS i;
SELECT layout, element_class FROM elsewhere.bloom_info((SELECT f FROM public.moved));
SELECT elsewhere.cuckoo_contains(elsewhere.cuckoo_remove(f, 3), 3) AS removed, f OPERATOR(elsewhere.@>) 4 AS operator, (elsewhere.cuckoo_info(f)).elements
FROM (SELECT elsewhere.cuckoo_agg(i) AS f FROM generate_series(1, 10) AS i) AS t;
INSERT INTO public.moved DEFAULT VALUES;
SELECT count(*) AS rows FROM public.moved GROUP BY f;
RESET search_path;
ALTER EXTENSION bloomfilter SET SCHEMA public;
SELECT bloom_contains(f, 'default') AS moved_back FROM moved LIMIT 1;
DROP TABLE moved;
DROP SCHEMA elsewhere;

-- Trusted: anyone with CREATE on the database can create it
SELECT current_database() AS regression_database \gset
CREATE ROLE regress_bloomfilter_user;
CREATE DATABASE regression_bloomfilter_trusted;
GRANT CREATE ON DATABASE regression_bloomfilter_trusted TO regress_bloomfilter_user;
\c regression_bloomfilter_trusted
SET ROLE regress_bloomfilter_user;
CREATE SCHEMA mine;
CREATE EXTENSION bloomfilter SCHEMA mine;
SET search_path = mine;
CREATE TABLE filters AS SELECT bloom_agg(i) AS f FROM generate_series(1, 100) AS i;
SELECT f @> 100 AS found FROM filters;
DROP TABLE filters;
DROP EXTENSION bloomfilter;
SELECT count(*) AS left_behind
FROM pg_proc WHERE pronamespace = 'mine'::regnamespace;
\c :regression_database
DROP DATABASE regression_bloomfilter_trusted;
DROP ROLE regress_bloomfilter_user;
