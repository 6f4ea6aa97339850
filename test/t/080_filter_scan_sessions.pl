# A plan with a Filter Scan does not depend on when a session loads the library, nor on
# which other libraries look at its queries: the first statement has it already.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('sessions');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
max_parallel_workers_per_gather = 0
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomfilter;
	CREATE TABLE visits (id int, url text);
	INSERT INTO visits SELECT i, md5(i::text) FROM generate_series(1, 20000) i;
	CREATE TABLE blacklist (url text);
	INSERT INTO blacklist SELECT md5(i::text) FROM generate_series(1, 100000, 20) i;
	CREATE INDEX blacklist_url ON blacklist USING membership (url);
	CREATE TABLE filters (f bloom, c cuckoo);
	INSERT INTO filters SELECT bloom_agg(url), cuckoo_agg(url) FROM blacklist;
	VACUUM ANALYZE visits, blacklist, filters;
});

my $join = 'SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)';
my %query = (
	'a join' => $join,
	'an index' => "SELECT count(*) BETWEEN 1000 AND 1400 FROM visits WHERE membership_contains('blacklist_url', url)",
	'a filter' => 'SELECT count(*) BETWEEN 1000 AND 1400 FROM visits WHERE bloom_contains((SELECT f FROM filters), url)',
	'an operator' => 'SELECT count(*) BETWEEN 1000 AND 1400 FROM visits WHERE (SELECT c FROM filters) @> url');
my %answer = ('a join' => 1000);

# The first statement of a session, after these
sub first
{
	my ($sql, $before) = @_;

	return $node->safe_psql('postgres', ($before ? "$before;" : '') . $sql);
}

sub is_filtered
{
	my ($what, $before) = @_;

	foreach my $query (sort keys %query)
	{
		like(first("EXPLAIN (COSTS off) $query{$query}", $before), qr/Custom Scan \(Filter Scan\)/, "$what: $query: the plan");
		is(first($query{$query}, $before), $answer{$query} // 't', "$what: $query: the rows");
	}
}

is_filtered('a new session');
is_filtered('after LOAD', "LOAD 'bloomfilter'");
is_filtered('after another statement', 'SELECT FROM visits WHERE false');

# Settings that come before the library
unlike(first("EXPLAIN $join", "SET bloomfilter.$_"), qr/Filter Scan/, "$_ before the library")
  foreach 'join_filter = off', 'filter_scan = off';
like(first("EXPLAIN $join", "SET bloomfilter.filter_scan = 'on'; SET bloomfilter.join_filter = 'index'"), qr/Filter Scan/, 'on before the library');
my ($status, $out, $err) = $node->psql('postgres', "SET bloomfilter.filter_scan = 'perhaps'; EXPLAIN $join; SHOW bloomfilter.filter_scan");
like($err, qr/invalid value for parameter "bloomfilter.filter_scan": "perhaps"/, 'a wrong value is told of');
like($out, qr/Filter Scan.*^on$/ms, 'and not used');
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET bloomfilter.join_filter = off');
unlike(first("EXPLAIN $join"), qr/Filter Scan/, 'a setting of the database');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET bloomfilter.join_filter');

# A session that has planned the statement before there was an index, or the extension
my $session = Session->new($node);
$node->safe_psql('postgres', 'DROP INDEX blacklist_url');
$session->query("SET bloomfilter.join_filter = index; SET plan_cache_mode = force_generic_plan; PREPARE joined AS $join");
is($session->query('EXECUTE joined'), '1000', 'prepared without an index');
unlike($session->query('EXPLAIN EXECUTE joined'), qr/Filter Scan/, 'which is not filtered');
$node->safe_psql('postgres', 'CREATE INDEX blacklist_url ON blacklist USING membership (url)');
is($session->query('EXECUTE joined'), '1000', 'and executed with one');
like($session->query('EXPLAIN EXECUTE joined'), qr/Filter Scan/, 'by which it is filtered');

# It goes with the extension
$session->query('BEGIN; DROP EXTENSION bloomfilter CASCADE');
is($session->query('EXECUTE joined'), '1000', 'executed without the extension');
unlike($session->query('EXPLAIN EXECUTE joined'), qr/Filter Scan/, 'which is not filtered');
$session->query('ROLLBACK');
like($session->query('EXPLAIN EXECUTE joined'), qr/Filter Scan/, 'and is again, after a rollback');
is($session->query('EXECUTE joined'), '1000', 'with the same rows');
$session->quit;

# A cursor that another session's library does not know of
$session = Session->new($node);
$session->query("BEGIN; DECLARE c CURSOR FOR SELECT v.id FROM visits v JOIN blacklist b USING (url) WHERE v.id < 101 ORDER BY 1");
is($session->query('FETCH 2 FROM c'), "1\n21", 'a cursor');
$session->query("LOAD 'bloomfilter'");
is($session->query('FETCH ALL FROM c'), "41\n61\n81", 'after LOAD');
$session->quit;

# Parallel workers load the library of the plan that they get
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off';
foreach my $query (sort keys %query)
{
	like(first("EXPLAIN (COSTS off) $query{$query}", $parallel), qr/Parallel Custom Scan \(Filter Scan\)/, "workers: $query: the plan");
	is(first($query{$query}, $parallel), $answer{$query} // 't', "workers: $query: the rows");
}

# Other libraries, in both orders
sub restarts_with
{
	my ($libraries) = @_;

	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
	return $node->restart(fail_ok => 1);
}

sub library_exists
{
	my ($name) = @_;
	my ($failed) = $node->psql('postgres', "LOAD '$name'");

	return $failed == 0;
}

restarts_with('bloomfilter');
is_filtered('preloaded');
like(first('SHOW bloomfilter.filter_scan'), qr/^on$/, 'its settings are there from the start');

SKIP:
{
	skip 'no pg_stat_statements and auto_explain here', 1
	  unless library_exists('auto_explain') && $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'");
	$node->append_conf('postgresql.conf', q{
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_nested_statements = on
compute_query_id = on
});
	foreach my $libraries ('pg_stat_statements, auto_explain', 'bloomfilter, auto_explain, pg_stat_statements', 'auto_explain, pg_stat_statements, bloomfilter')
	{
		restarts_with($libraries);
		$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT pg_stat_statements_reset()');
		my $start = -s $node->logfile;

		is_filtered($libraries);
		first($join, $parallel);
		first('SELECT v.id FROM visits v JOIN blacklist b USING (url) LIMIT 3', $parallel);
		my $log = slurp_file($node->logfile, $start);
		like($log, qr/Custom Scan \(Filter Scan\) on visits v.*?Rows Probed: 20000\b.*?Rows Removed by Probe: \d+/s, "$libraries: auto_explain");
		like($log, qr/Parallel Custom Scan \(Filter Scan\) on visits v[^:]*\n[^\n]*Probe: [^\n]*\n(?:[^\n]*Filter Size[^\n]*\n)?\s*Rows Probed: 20000\b/s, "$libraries: of workers, too");
		is($node->safe_psql('postgres', q{SELECT bool_and(rows = calls) FROM pg_stat_statements WHERE query LIKE 'SELECT count(*)%EXISTS%'}), 't', "$libraries: pg_stat_statements");
	}
}

SKIP:
{
	restarts_with('');
	skip 'no pg_hint_plan here', 1 unless library_exists('pg_hint_plan');
	foreach my $libraries ('pg_hint_plan', 'bloomfilter, pg_hint_plan', 'pg_hint_plan, bloomfilter')
	{
		restarts_with($libraries);
		is_filtered($libraries);
		like(first("/*+ HashJoin(v b) */ EXPLAIN (COSTS off) SELECT * FROM visits v JOIN blacklist b USING (url)"), qr/Hash Join.*Filter Scan/s, "$libraries: a hint for the join");
		is(first('/*+ SeqScan(v) */ SELECT count(*) FROM visits v JOIN blacklist b USING (url)'), '1000', "$libraries: a hint for the scan");
	}
}

$node->stop;
done_testing();
