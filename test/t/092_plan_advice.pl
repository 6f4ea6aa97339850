# pg_plan_advice, of PostgreSQL 19 and later, beside each of our nodes: it describes every plan, and
# its advice can be given back, with the same rows.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib $FindBin::RealBin;
use Server;

my $node = start_server('advised', conf => q{
	session_preload_libraries = 'bloomfilter'
	min_parallel_table_scan_size = 0
	parallel_setup_cost = 0});
if (($node->psql('postgres', q{LOAD 'pg_plan_advice'}))[0] != 0)
{
	$node->stop;
	plan skip_all => 'no pg_plan_advice here';
}
$node->safe_psql('postgres', q{
	CREATE TABLE big AS SELECT n AS id, 'k' || n AS k FROM generate_series(1, 20000) n;
	CREATE TABLE list AS SELECT 'k' || n * 30 AS k, n AS cat FROM generate_series(1, 5000) n;
	CREATE TABLE third AS SELECT n * 7 AS id, n % 10 AS x FROM generate_series(1, 1000) n;
	CREATE INDEX ON list USING membership (k);
	CREATE TABLE parts (day int, id int) PARTITION BY RANGE (day);
	CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
	CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (10) TO (20);
	INSERT INTO parts SELECT n % 20, n FROM generate_series(1, 20000) n;
	CREATE INDEX ON parts USING membership (id);
	CREATE INDEX ON parts (id);
	VACUUM ANALYZE big, list, third, parts});

my %queries = (
	'a join' => 'SELECT count(*) FROM big JOIN list USING (k)',
	'a condition' => 'SELECT count(*) FROM big JOIN third USING (id) WHERE bloom_contains((SELECT bloom_agg(k) FROM list), k)',
	'a bypass' => 'SELECT count(*) FROM big WHERE NOT EXISTS (SELECT FROM list WHERE list.k = big.k)',
	'a bypass of a left join' => 'SELECT count(*), count(cat) FROM big LEFT JOIN list USING (k)',
	'a bypass of a full join' => 'SELECT count(*), count(cat) FROM big FULL JOIN list USING (k)',
	'a bypass in a join' => 'SELECT count(*) FROM big JOIN third USING (id) WHERE NOT EXISTS (SELECT FROM list WHERE list.k = big.k)',
	'a left join in a join' => 'SELECT count(*), count(cat) FROM big LEFT JOIN list USING (k) JOIN third USING (id)',
	'two bypasses' => 'SELECT count(*) FROM big WHERE NOT EXISTS (SELECT FROM list WHERE list.k = big.k) AND NOT EXISTS (SELECT FROM list l WHERE l.k = big.k AND cat > 5)',
	'a bypass in a subquery' => 'SELECT count(*) FROM third JOIN (SELECT id FROM big WHERE NOT EXISTS (SELECT FROM list WHERE list.k = big.k) OFFSET 0) b USING (id)',
	'a partitioned table' => 'SELECT count(*) FROM parts WHERE id = 7',
	'a join with partitions' => 'SELECT count(*) FROM parts JOIN third USING (id)');
my %settings = (
	'the defaults' => 'SET max_parallel_workers_per_gather = 0',
	'workers' => 'SET max_parallel_workers_per_gather = 2',
	'all filters' => 'SET max_parallel_workers_per_gather = 0; SET bloomfilter.join_filter = force; SET bloomfilter.filter_scan = force; SET bloomfilter.partition_filter = on',
	'all filters, workers' => 'SET max_parallel_workers_per_gather = 2; SET bloomfilter.join_filter = force; SET bloomfilter.filter_scan = force; SET bloomfilter.partition_filter = on');
my %seen;

for my $query (sort keys %queries)
{
	my $rows = $node->safe_psql('postgres', "SET bloomfilter.filter_scan = off; SET bloomfilter.join_filter = off; $queries{$query}");

	for my $setting (sort keys %settings)
	{
		my $start = "LOAD 'pg_plan_advice'; $settings{$setting}";
		my ($status, $plan, $error) = $node->psql('postgres', "$start; EXPLAIN (COSTS off, PLAN_ADVICE) $queries{$query}");
		my ($advice) = $plan =~ /Generated Plan Advice:\n(.*)/s;

		is("$status$error", '0', "$query, $setting: described");
		$seen{$_}++ for $plan =~ /Custom Scan \(([^)]*)\)/g;
		$advice //= '';
		$advice =~ s/'/''/g;
		is($node->safe_psql('postgres', "$start; SET pg_plan_advice.advice = '$advice'; $queries{$query}"), $rows,
			"$query, $setting: the same rows by its advice");
		($status, $plan, $error) = $node->psql('postgres', "$start; SET pg_plan_advice.advice = '$advice'; EXPLAIN (COSTS off) $queries{$query}");
		is("$status$error", '0', "$query, $setting: a plan by its advice");
	}
}
is(join(', ', sort keys %seen),
	'Bypass Feeder, Filter Bypass, Filter Scan, Join Filter Build, Join Filter Probe, Partition Filter',
	'each of our nodes was among them');

$node->stop;
done_testing();
