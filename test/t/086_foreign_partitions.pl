# A partitioned table whose partitions are on two other servers: what travels to them, what
# comes back, whether both work at the same time, and a large filter.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $local = start_server('coordinator');
my $rows = 20000;    # on each server
# Of a filter of 25 MB: the bytes are read and sent as those of 100 MB are
my $large_capacity = 20_000_000;

my $setup = q{
	CREATE EXTENSION postgres_fdw;
	CREATE TABLE visits (day integer NOT NULL, id integer NOT NULL, url text COLLATE "C" NOT NULL) PARTITION BY LIST (day);
};
my @remote;
foreach my $i (1, 2)
{
	my $node = start_server("shard$i");
	my ($host, $port) = ($node->host, $node->port);

	push @remote, $node;
	$node->safe_psql('postgres', qq{
		CREATE TABLE visits AS SELECT $i AS day, n + $i * $rows AS id, 'https://example.com/' || n + $i * $rows AS url
			FROM generate_series(1, $rows) n;
		ALTER TABLE visits ALTER url TYPE text COLLATE "C";
		ANALYZE visits});
	$setup .= qq{
		CREATE SERVER shard$i FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'bloomfilter', async_capable 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER shard$i;
		CREATE FOREIGN TABLE visits_$i PARTITION OF visits FOR VALUES IN ($i) SERVER shard$i OPTIONS (table_name 'visits');
	};
}
# 100 of the URLs, one of 50 on each server
$local->safe_psql('postgres', $setup . qq{
	ANALYZE visits;
	CREATE TABLE recalled AS SELECT ('https://example.com/' || n) COLLATE "C" AS url FROM generate_series($rows + 1, 3 * $rows, 400) n;
	CREATE INDEX recalled_url ON recalled USING membership (url) WITH (error_rate = 0.000001);
	CREATE TABLE filters (name text PRIMARY KEY, urls bloom NOT NULL);
	INSERT INTO filters SELECT 'recalled', bloom_agg(url, NULL, 0.000001) FROM recalled;
	-- the same elements in 25 MB
	INSERT INTO filters SELECT 'large', bloom_add_all(bloom_create($large_capacity, 0.01), (SELECT array_agg(url) FROM recalled));
	ANALYZE recalled});
my $expected = 100;

sub plan_of
{
	my ($query, $settings) = @_;
	return $local->safe_psql('postgres', ($settings // '') . " EXPLAIN (VERBOSE, COSTS off) $query");
}

sub counted
{
	my ($what, $pattern, $text) = @_;
	my $count = () = $text =~ /$pattern/g;
	is($count, 2, $what) or diag($text);
}

my $shipped = qr/Remote SQL: [^\n]*public\.bloom_contains\(\$1::public\.bloom, url\)/;

# ---------------------------------------------------------------- probing

my $query = q{SELECT count(*) FROM visits WHERE bloom_contains((SELECT urls FROM filters WHERE name = 'recalled'), url)};
my $plan = plan_of($query);
counted('both servers probe the filter', $shipped, $plan);
counted('at the same time', qr/Async Foreign Scan/, $plan);
is($local->safe_psql('postgres', $query), $expected, 'the rows that pass');

# What docs/scaling.md says of this setting: where many rows are expected to pass, here because
# the planner does not know the filter, they are counted apart
my $partitionwise = 'SET enable_partitionwise_aggregate = on;';
my $unknown = q{SELECT count(*) FROM visits WHERE bloom_contains((SELECT bloom_agg(url, NULL, 0.000001) FROM recalled), url)};
counted('of an unknown filter, too', qr/Async Foreign Scan/, plan_of($unknown));
unlike(plan_of($unknown, $partitionwise), qr/Async/, 'not with partitionwise aggregation');
is($local->safe_psql('postgres', "$partitionwise $unknown"), $expected, 'which counts the same rows');

# A membership index is of this server; its content can be sent, as a filter.
my $by_index = q{SELECT count(*) FROM visits WHERE membership_contains('recalled_url', url)};
my $by_content = q{SELECT count(*) FROM visits WHERE bloom_contains((SELECT membership_filter('recalled_url')), url)};
unlike(plan_of($by_index), qr/Remote SQL: [^\n]*membership_contains/, 'an index is asked here');
counted('its content travels', $shipped, plan_of($by_content));
is($local->safe_psql('postgres', $_), $expected, 'with the same rows') foreach $by_index, $by_content;

# ---------------------------------------------------------------- building

# of one server, the aggregate is the query
foreach my $aggregate ('bloom_agg', 'cuckoo_agg')
{
	my $union = $aggregate =~ s/_agg/_union_agg/r;
	my $build = "SELECT $union(f) FROM (SELECT $aggregate(url, 50000, NULL) AS f FROM visits_1 UNION ALL SELECT $aggregate(url, 50000, NULL) FROM visits_2) shards";

	counted("$aggregate is computed by the servers", qr/Remote SQL: SELECT public\.$aggregate\(url, 50000::bigint, NULL::double precision\) FROM public\.visits\n/, plan_of($build) . "\n");
	is($local->safe_psql('postgres', "SELECT ($build) = (SELECT $aggregate(url, 50000, NULL) FROM visits)"),
		't', 'and its bytes are those of one server') if $union eq 'bloom_union_agg';
}
# by partition, if it is the key
my $grouped = 'SELECT day, bloom_agg(url) FROM visits GROUP BY day';
counted('a filter for each partition', qr/Remote SQL: SELECT day, public\.bloom_agg\(url\) FROM public\.visits GROUP BY/, plan_of($grouped, $partitionwise));
# else the partial aggregates are computed here
my $whole = 'SELECT bloom_agg(url) FROM visits';
counted('a partial state for each partition', qr/Partial Aggregate/, plan_of($whole, $partitionwise));
is($local->safe_psql('postgres', qq{
	CREATE TABLE built AS $whole;
	$partitionwise
	SELECT (SELECT bloom_agg FROM built) = ($whole), bool_and(f.bloom_agg = bloom_of_day), count(*)
	FROM ($grouped) f JOIN (SELECT day, bloom_agg(url) AS bloom_of_day FROM (SELECT * FROM visits OFFSET 0) v GROUP BY day) g USING (day)}),
	't|t|2', 'all with the same bytes');

# ---------------------------------------------------------------- joining

# Their Append talks to asynchronous scans itself, so rows cannot be dropped between: then no
# keys are collected either.
my $forced = q{LOAD 'bloomfilter'; SET bloomfilter.join_filter = force; SET enable_nestloop = off; SET enable_mergejoin = off;};
my $joined = q{SELECT count(*) FROM visits JOIN recalled USING (url)};
$plan = plan_of($joined, $forced);
counted('a join reads both servers at the same time', qr/Async Foreign Scan/, $plan);
unlike($plan, qr/Join Filter/, 'without a filter that nothing probes');
is($local->safe_psql('postgres', "$forced $joined"), $expected, 'all its rows');

# ---------------------------------------------------------------- large filters

my $large = q{SELECT count(*) FROM visits WHERE bloom_contains((SELECT urls FROM filters WHERE name = 'large'), url)};
is($local->safe_psql('postgres', q{SELECT bytes > 25e6 FROM filters, bloom_info(urls) WHERE name = 'large'}), 't', 'a filter of 25 MB');
counted('it travels, too', $shipped, plan_of($large));
is($local->safe_psql('postgres', $large), $expected, 'and the servers probe it');
is($local->safe_psql('postgres', qq{
	SELECT bloom_union_agg(f) = (SELECT bloom_agg(url, $large_capacity, NULL) FROM visits)
	FROM (SELECT bloom_agg(url, $large_capacity, NULL) AS f FROM visits_1 UNION ALL SELECT bloom_agg(url, $large_capacity, NULL) FROM visits_2) shards}),
	't', 'servers send filters of 25 MB');

$_->stop foreach @remote, $local;
done_testing();
