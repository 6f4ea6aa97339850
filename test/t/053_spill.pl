# Hash aggregation with more filters than work_mem has room for: it knows how
# much memory the states of the aggregates take, puts rows aside, and comes to
# the same filters.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Many groups with states that are flat values, and fewer with states that are
# expanded objects (from 8 kB, 1024 hashes on).  Rows of a group that is in memory
# are not spilled, so the few come one after the other.
my %groups = (flat => [ 3000, 40, 'n % 3000' ], expanded => [ 60, 2500, 'n / 2500' ]);
my $hash_bytes = 8;
my $enough = '1GB';
my $scarce = '256kB';

my $node = PostgreSQL::Test::Cluster->new('spill');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomfilter;
	ALTER DATABASE postgres SET enable_sort = off;
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0;
	ALTER DATABASE postgres SET hash_mem_multiplier = 1;
});
foreach my $kind (sort keys %groups)
{
	my ($groups, $elements, $id) = @{ $groups{$kind} };

	$node->safe_psql('postgres', qq{
		CREATE TABLE $kind AS SELECT $id AS id, n AS element FROM generate_series(0, $groups * $elements - 1) AS n;
		CREATE TABLE ${kind}_filters AS
			SELECT id, bloom_agg(element, 100, NULL) AS f, cuckoo_agg(element, 100, NULL) AS c FROM $kind GROUP BY id, element % 4 ORDER BY id;
		ANALYZE $kind, ${kind}_filters;
	});
}

# The plan's line with the figures of hash aggregation
sub figures
{
	my ($work_mem, $query) = @_;
	my $plan = $node->safe_psql('postgres',
		"SET work_mem = '$work_mem'; EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) $query");

	like($plan, qr/HashAggregate/, 'a hash aggregation');
	my ($batches) = $plan =~ /Batches: (\d+)/;
	my ($memory) = $plan =~ /Memory Usage: (\d+)kB/;
	return ($batches, $memory);
}

sub digest
{
	my ($work_mem, $query) = @_;
	return $node->safe_psql('postgres',
		"SET work_mem = '$work_mem'; SELECT count(*), md5(string_agg(id || ' ' || md5(f::bytea), ',' ORDER BY id)) FROM ($query) AS t");
}

foreach my $kind (sort keys %groups)
{
	my ($groups, $elements) = @{ $groups{$kind} };

	foreach my $case (
		[ "bloom_agg(element)", $kind, $groups * $elements * $hash_bytes ],
		[ "bloom_agg(element, 5000, 0.001)", $kind, $groups * $elements * $hash_bytes ],
		[ "cuckoo_agg(element)", $kind, $groups * $elements * $hash_bytes ],
		[ "bloom_union_agg(f)", "${kind}_filters", 0 ],
		[ "cuckoo_union_agg(c)", "${kind}_filters", 0 ])
	{
		my ($aggregate, $table, $bytes) = @$case;
		my $query = "SELECT id, $aggregate AS f FROM $table GROUP BY id";
		my ($batches, $memory) = figures($enough, $query);

		is($batches, 1, "$kind $aggregate: in one batch with $enough");
		# the least that the states can take is what they hold
		$bytes ||= $node->safe_psql('postgres', "SELECT sum(length(f::bytea)) FROM ($query) AS t");
		cmp_ok($memory, '>=', $bytes / 1024, "$kind $aggregate: the executor counts the states");
		($batches, $memory) = figures($scarce, $query);
		cmp_ok($batches, '>', 1, "$kind $aggregate: in batches with $scarce");
		is(digest($scarce, $query), digest($enough, $query), "$kind $aggregate: the same filters");
	}
}

# Duplicates are removed before memory is enlarged: all elements repeat, or one of them does
my $distinct = 5000;
my $most_kb = 512;
foreach my $element ("n % $distinct", "least(n, $distinct)")
{
	my (undef, $memory) = figures($enough, "SELECT n / 1000000 AS id, bloom_agg($element) FROM generate_series(0, 400000) AS n GROUP BY 1");

	cmp_ok($memory, '<', $most_kb, "$element: memory for distinct elements only");
}

$node->stop;
done_testing();
