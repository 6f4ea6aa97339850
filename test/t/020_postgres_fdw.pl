# A filter made here is probed where the rows are: postgres_fdw sends
# bloom_contains() to a foreign server that has the extension, and only the
# rows that pass travel.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $local = start_server('local');
my $remote = start_server('remote');

$remote->safe_psql('postgres', q{
	CREATE TABLE visits AS
		SELECT i AS id, 'https://example.com/' || i AS url
		FROM generate_series(1, 10000) i;
	ANALYZE visits;
});

my ($host, $port) = ($remote->host, $remote->port);
$local->safe_psql('postgres', qq{
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER shard FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'postgres',
				 extensions 'bloomfilter');
	CREATE USER MAPPING FOR CURRENT_USER SERVER shard;
	IMPORT FOREIGN SCHEMA public LIMIT TO (visits) FROM SERVER shard INTO public;
	CREATE TABLE filters (name text PRIMARY KEY, urls bloom);
	INSERT INTO filters
		SELECT 'bad', bloom_agg('https://example.com/' || i, NULL, 0.0001)
		FROM generate_series(1, 10000, 100) i;
});

# A filter from a subquery is a parameter of the remote query.
foreach my $case (
	[ 'url', 100, q{(SELECT urls FROM filters WHERE name = 'bad')} ],
	[ 'id', 10, q{(SELECT bloom_agg(i, NULL, 0.0001) FROM generate_series(1, 10) i)} ])
{
	my ($column, $expected, $filter) = @$case;
	my $plan = $local->safe_psql('postgres',
		'EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off, SUMMARY off) '
		  . "SELECT * FROM visits WHERE bloom_contains($filter, $column)");
	my ($rows) = $plan =~ /Foreign Scan on public\.visits \(actual rows=(\d+)/;

	like($plan, qr/Remote SQL: .*public\.bloom_contains\(\$1::public\.bloom, $column\)/,
		"the remote server probes the filter for $column");
	cmp_ok($rows, '>=', $expected, 'rows that are in the filter travel');
	cmp_ok($rows, '<=', $expected + 10, 'and hardly any others');
}

my $query = 'SELECT id FROM visits WHERE bloom_add(bloom_create(10), 5) @> id';
like($local->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS off) $query"),
	qr/Remote SQL: .*OPERATOR\(public\.@>\)/, 'an operator travels too');
is($local->safe_psql('postgres', $query), '5', 'and gives the same answer');

done_testing();
