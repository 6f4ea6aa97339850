# A join's filter goes from this PostgreSQL to the older one in $OLD_INSTALLATION, and the other
# way round: it is probed there, and no row is lost.  What else matters of such filters, and
# how EXPLAIN tells it, is in test/t/087_foreign_filter.pl.
#
# The extension must be installed in both (script/parts/upgrade.sh).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old_installation = $ENV{OLD_INSTALLATION}
  or plan skip_all => 'OLD_INSTALLATION names no older PostgreSQL';

# Keys of each type made of the number n, there and here: equal values, not always written alike
my %keys = (
	text => [ q{U&'Fu\00DF ' || n}, q{U&'Fu\00DF ' || n} ],
	bigint => [ 'n * 5000000000', 'n * 5000000000' ],
	numeric => [ 'n * 1.1', 'n * 1.100' ],
	timestamptz => [
		q{timestamptz '2000-01-01 00:00+00' + n * interval '90 minutes'},
		q{timestamptz '2000-01-01 05:30+05:30' + n * interval '90 minutes'} ]);
# Only text has a collation, a deterministic one that is not the database's
my %type = map { $_ => $_ } keys %keys;
$type{text} .= ' COLLATE "und-x-icu"';

my $rows = 20000;
my @nodes = map { PostgreSQL::Test::Cluster->new(@$_) } ([ 'old', install_path => $old_installation ], ['new']);
foreach my $node (@nodes)
{
	$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
	$node->append_conf('postgresql.conf', q{
		session_preload_libraries = 'bloomfilter'
		timezone = '} . ($node == $nodes[0] ? 'Asia/Tokyo' : 'America/New_York') . q{'
		enable_nestloop = off
		enable_mergejoin = off
		bloomfilter.join_filter = on});
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION bloomfilter; CREATE EXTENSION postgres_fdw');
	$node->safe_psql('postgres', qq{
		CREATE TABLE visits_$_ (k $type{$_}, n integer);
		INSERT INTO visits_$_ SELECT $keys{$_}[0], n FROM generate_series(1, $rows) n;
		-- 100 of them, and as many that are not there
		CREATE TABLE list_$_ (k $type{$_});
		INSERT INTO list_$_ SELECT $keys{$_}[1] FROM generate_series(200, 2 * $rows, 200) n;
		ANALYZE visits_$_, list_$_}) foreach sort keys %keys;
}

foreach my $direction ([ 0, 1 ], [ 1, 0 ])
{
	my ($here, $there) = @nodes[@$direction];
	my ($from, $to) = map { $_->safe_psql('postgres', 'SHOW server_version') } $here, $there;
	my ($host, $port) = ($there->host, $there->port);

	note "from $from to $to";
	$here->safe_psql('postgres', qq{
		CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'bloomfilter');
		CREATE USER MAPPING FOR CURRENT_USER SERVER there});
	foreach my $key (sort keys %keys)
	{
		my $query = "SELECT v.n FROM far_$key v JOIN list_$key USING (k) ORDER BY 1";
		my $on = 'SET bloomfilter.foreign_filter = on;';

		$here->safe_psql('postgres', qq{
			CREATE FOREIGN TABLE far_$key (k $type{$key}, n integer) SERVER there OPTIONS (table_name 'visits_$key');
			ANALYZE far_$key});
		my $plan = $here->safe_psql('postgres', "$on EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off) $query");
		my ($fetched) = $plan =~ /Rows Fetched: (\d+)/;
		my $result = $here->safe_psql('postgres', $query);

		like($plan, qr/Remote SQL: .*_bloom_may_contain\(\$1.*Sent To: there\n.*Elements Sent: 200\n/s, "$key: the filter is sent") or diag($plan);
		cmp_ok($fetched // $rows, '<=', 130, 'few rows are fetched');
		is($here->safe_psql('postgres', "$on $query"), $result, 'the result is the same');
		is(() = $result =~ /\d+/g, 100, 'all partners are in it');
	}
}

done_testing();
