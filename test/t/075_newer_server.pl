# On a server of a later major version than the extension knows, no node of ours is planned: the
# log says so once, and from 19 on EXPLAIN of what misses a Filter Scan.  Insertions into indexes
# are logged by the server's own functions.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib $FindBin::RealBin;
use Server;

my $node = start_server('newer');
my ($major) = $node->safe_psql('postgres', 'SHOW server_version_num') =~ /^(\d\d)/;
$node->safe_psql('postgres', q{
	CREATE TABLE list AS SELECT n * 100 AS n FROM generate_series(1, 1000) AS n;
	CREATE TABLE numbers AS SELECT n FROM generate_series(1, 100000) AS n;
	CREATE INDEX ON list USING membership (n);
	ANALYZE list, numbers});
my $join = 'SELECT count(*) FROM numbers JOIN list USING (n)';
my $condition = "SELECT count(*) FROM numbers WHERE bloom_contains((SELECT bloom_agg(n) FROM list), n)";
my $plain = 'SELECT count(*) FROM numbers WHERE n < 10';

# each other node, and what marks rows, with the settings that make it
$node->safe_psql('postgres', q{
	CREATE TABLE texts AS SELECT n, n::text AS t FROM numbers;
	CREATE TABLE parts (day int, id int) PARTITION BY RANGE (day);
	CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
	CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (10) TO (20);
	INSERT INTO parts SELECT n % 20, n FROM numbers;
	CREATE INDEX ON parts USING membership (id);
	CREATE INDEX ON parts (id);
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw OPTIONS (extensions 'bloomfilter');
	CREATE FOREIGN TABLE remote (n int) SERVER there OPTIONS (table_name 'numbers');
	ANALYZE texts, parts;
	ALTER DATABASE postgres SET enable_mergejoin = off;
	ALTER DATABASE postgres SET enable_nestloop = off;
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0;
	CREATE USER MAPPING FOR PUBLIC SERVER there});
my $force = 'SET bloomfilter.join_filter = force';
my %nodes = (
	'Join Filter Build|Join Filter Probe' =>
		[ $force, 'SELECT * FROM texts a JOIN (SELECT t FROM texts GROUP BY t LIMIT 100) b USING (t)' ],
	'Outer Rows Unmatched' => [ $force, 'SELECT * FROM texts a LEFT JOIN texts b ON b.t = a.t AND b.n < 100', 'ANALYZE, ' ],
	'Filter Bypass' => [ 'SET bloomfilter.filter_scan = force', 'SELECT * FROM numbers a WHERE NOT EXISTS (SELECT FROM list b WHERE b.n = a.n)' ],
	'Partition Filter' => [ 'SET bloomfilter.partition_filter = on', 'SELECT * FROM parts WHERE id = 7' ],
	'Filter Servers|_bloom_may_contain' => [ "$force; SET bloomfilter.foreign_filter = on",
		'SELECT * FROM remote JOIN list USING (n)' ],
	'Filter Scan' => [ $force, $join ]);

sub node_plan
{
	my ($settings, $query, $options) = @_;

	return $node->safe_psql('postgres',
		"LOAD 'bloomfilter'; $settings; EXPLAIN (" . ($options // '') . "VERBOSE, COSTS off) $query");
}
like(node_plan(@{$nodes{$_}}), qr/$_/, "planned on a server that is known: $_") for sort keys %nodes;

# the hooks of the planner are there once the library is loaded
sub plan_of
{
	return $node->safe_psql('postgres', "LOAD 'bloomfilter'; EXPLAIN (COSTS off) $_[0]");
}

like(plan_of($join), qr/Custom Scan \(Filter Scan\)/, 'a Filter Scan on a server that is known');
unlike(plan_of($join), qr/none on/, 'of which EXPLAIN says no more');
unlike(slurp_file($node->logfile), qr/changes no query plans/, 'nor does the log');

# as if the extension knew one major less than the server's
$node->stop;
$ENV{BLOOMFILTER_LAST_MAJOR} = $major - 1;
$node->start;
my $before = -s $node->logfile;
for my $query ($join, $condition)
{
	my $plan = plan_of($query);
	unlike($plan, qr/Custom Scan/, 'no Filter Scan on a newer server');
	SKIP:
	{
		skip 'PostgreSQL before 19 has no place for it in EXPLAIN', 1 if $major < 19;
		like($plan, qr/^Filter Scan: none on PostgreSQL $major, bloomfilter knows 15 to @{[$major - 1]}$/m,
			'and EXPLAIN says why');
	}
}
unlike(plan_of($plain), qr/Filter Scan/, 'but not of a query that misses none');
$node->safe_psql('postgres', "CREATE FUNCTION folded() RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN ($join); END'");
unlike(plan_of('SELECT folded()'), qr/Filter Scan/, 'even if another is planned meanwhile, that does');
SKIP:
{
	skip 'PostgreSQL before 19 keeps nothing with a plan', 1 if $major < 19;
	like($node->safe_psql('postgres', qq{
		LOAD 'bloomfilter'; SET plan_cache_mode = force_generic_plan;
		PREPARE p AS $join; EXECUTE p; $plain; EXPLAIN EXECUTE p}),
		qr/Filter Scan: none/, 'a plan from the cache says it, too');
}
is($node->safe_psql('postgres', $join), 1000, 'all rows are found');

unlike(node_plan(@{$nodes{$_}}), qr/Custom Scan|$_/, "not planned on a newer server: $_") for sort keys %nodes;

# Insertions are logged, and survive a crash; also of several sessions, and in unlogged tables
$node->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE quick (n int); CREATE INDEX quick_n ON quick USING membership (n);
	INSERT INTO quick SELECT generate_series(1, 1000)});
is($node->safe_psql('postgres', q{SELECT membership_check('quick_n')}), 1000, 'insertions into an unlogged table');
$node->safe_psql('postgres', 'CHECKPOINT');
for my $session (1 .. 3)
{
	$node->safe_psql('postgres', "INSERT INTO list SELECT n * 100 + $session FROM generate_series(1, 3000) AS n; INSERT INTO list VALUES (-$session)");
}
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', q{SELECT membership_check('list_n_idx')}), 10003, 'insertions survive a crash');

my $log = slurp_file($node->logfile, $before);
like($log, qr/LOG:  bloomfilter changes no query plans on PostgreSQL $major/, 'the log says so');
like($log, qr/Filter Scans, Filter Bypasses, join filters, Partition Filters and filters for foreign servers are off/,
	'and names all that is off');
is(() = slurp_file($node->logfile, $before) =~ /changes no query plans/g, 2, 'once, not in each session, and once more when the server starts anew');
$node->restart;
plan_of($plain);
is(() = slurp_file($node->logfile, $before) =~ /changes no query plans/g, 3, 'and again after a restart');

# a server may not be made older than it is known to be
$node->stop;
$ENV{BLOOMFILTER_LAST_MAJOR} = 99;
$node->start;
like(plan_of($join), qr/Custom Scan \(Filter Scan\)/, 'what is known stays known');

$node->stop;
done_testing();
