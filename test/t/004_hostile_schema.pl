# The extension is trusted: who may create objects in a database can install it, into a
# schema of their own.  Its script runs as a superuser, with that schema in the
# search path, and must not call what waits there.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('hostile');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN');
$node->safe_psql('postgres', 'CREATE DATABASE hers OWNER mallory');

# Each fits its arguments better than what the server has
$node->safe_psql('hers', q{
	SET ROLE mallory;
	CREATE SCHEMA traps;
	CREATE FUNCTION traps.same(oid, regproc) RETURNS boolean LANGUAGE plpgsql
		AS $$ BEGIN RAISE EXCEPTION 'trapped by = as %', current_user; END $$;
	CREATE OPERATOR traps.= (LEFTARG = oid, RIGHTARG = regproc, FUNCTION = traps.same);
	CREATE FUNCTION traps.same(oid, regclass) RETURNS boolean LANGUAGE plpgsql
		AS $$ BEGIN RAISE EXCEPTION 'trapped by = as %', current_user; END $$;
	CREATE OPERATOR traps.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = traps.same);
	CREATE FUNCTION traps.format(text, name, text, regproc, regtype, regproc, regproc, text) RETURNS text LANGUAGE plpgsql
		AS $$ BEGIN RAISE EXCEPTION 'trapped by format as %', current_user; END $$;
	CREATE FUNCTION traps.format(text, text, name, text, regproc, regtype, regproc, regproc, text) RETURNS text LANGUAGE plpgsql
		AS $$ BEGIN RAISE EXCEPTION 'trapped by format as %', current_user; END $$;
	CREATE FUNCTION traps.format(text, text) RETURNS text LANGUAGE plpgsql
		AS $$ BEGIN RAISE EXCEPTION 'trapped by format as %', current_user; END $$});

my ($status, $out, $err) = $node->psql('hers', 'SET ROLE mallory; CREATE EXTENSION bloomfilter SCHEMA traps');
is($err, '', 'installed by a user, into their schema');
is($node->safe_psql('hers', q{
	SET search_path = traps;
	SELECT bloom_agg(DISTINCT n) @> 7, cuckoo_agg(n) @> 7 FROM generate_series(1, 100) AS n}),
	't|t', 'and it works there');
is($node->safe_psql('hers', q{
	SELECT count(*) FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid
	WHERE pronamespace = 'traps'::regnamespace AND (aggtransspace = -1) <> (current_setting('server_version_num')::int >= 190000)
		AND aggtranstype IN ('traps.bloom'::regtype, 'traps.cuckoo'::regtype)}),
	'0', 'and has the aggregates of this version');

$node->stop;
done_testing();
