# On a server whose heap scans the extension does not know, queries find their rows without
# Filter Scans: the log says so once, and from 19 on EXPLAIN of what misses one.
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

# the hooks of the planner are there once the library is loaded
sub plan_of
{
	return $node->safe_psql('postgres', "LOAD 'bloomfilter'; EXPLAIN (COSTS off) $_[0]");
}

like(plan_of($join), qr/Custom Scan \(Filter Scan\)/, 'a Filter Scan on a server that is known');
unlike(plan_of($join), qr/none on/, 'of which EXPLAIN says no more');
unlike(slurp_file($node->logfile), qr/makes no Filter Scans/, 'nor does the log');

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

my $log = slurp_file($node->logfile, $before);
like($log, qr/LOG:  bloomfilter makes no Filter Scans on PostgreSQL $major/, 'the log says so');
is(() = $log =~ /makes no Filter Scans/g, 1, 'once, not in each session');
$node->restart;
plan_of($plain);
is(() = slurp_file($node->logfile, $before) =~ /makes no Filter Scans/g, 2, 'and once more when the server starts anew');

# a server may not be made older than it is known to be
$node->stop;
$ENV{BLOOMFILTER_LAST_MAJOR} = 99;
$node->start;
like(plan_of($join), qr/Custom Scan \(Filter Scan\)/, 'what is known stays known');

$node->stop;
done_testing();
