# Filter Scans and join filters on a standby: they lose no row while the primary writes,
# rebuilds and drops the index, not even for a transaction that is older than the index.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', q{
autovacuum = off
max_parallel_workers_per_gather = 0
bloomfilter.filter_scan = force
});
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION bloomfilter;
	CREATE TABLE visits (id int, url text);
	INSERT INTO visits SELECT i, 'url' || i FROM generate_series(1, 20000) i;
	CREATE TABLE blacklist (url text);
	INSERT INTO blacklist SELECT 'url' || i FROM generate_series(1, 100000, 20) i;
	CREATE INDEX blacklist_url ON blacklist USING membership (url);
	CREATE TABLE filters AS SELECT bloom_agg(url) AS f FROM blacklist;
	CREATE UNLOGGED TABLE unlogged AS SELECT * FROM blacklist;
	CREATE INDEX unlogged_url ON unlogged USING membership (url);
	VACUUM ANALYZE;
});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', q{
max_standby_streaming_delay = -1
wal_receiver_status_interval = 1
});
$standby->start;
$primary->wait_for_catchup($standby);

my $join = 'SELECT count(*) FROM visits JOIN blacklist USING (url)';
like($standby->safe_psql('postgres', "EXPLAIN (COSTS off) $join"), qr/Probe: url in index blacklist_url/, 'a join on a standby is filtered');
is($standby->safe_psql('postgres', $join), '1000', 'and has all its rows');
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET bloomfilter.filter_scan = on';
like($standby->safe_psql('postgres', "$parallel; EXPLAIN (COSTS off) SELECT count(*) FROM visits WHERE bloom_contains((SELECT f FROM filters), url)"), qr/Parallel Custom Scan \(Filter Scan\)/, 'a scan by a filter, in workers');
is($standby->safe_psql('postgres', "$parallel; SELECT count(*) BETWEEN 1000 AND 1400 FROM visits WHERE bloom_contains((SELECT f FROM filters), url)"), 't', 'and has all its rows');

# Partitions that are not read, by their index or by their bound
$primary->safe_psql('postgres', q{
	CREATE TABLE parts (k int, url text) PARTITION BY RANGE (k);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES FROM (0) TO (100);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (100) TO (200);
	CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (200) TO (300);
	CREATE INDEX ON parts (url);
	CREATE INDEX ON parts USING membership (url);
	INSERT INTO parts SELECT i % 300, 'url' || i FROM generate_series(1, 3000) i;
	CREATE TABLE few AS SELECT 250 AS k;
	VACUUM ANALYZE parts, few;
});
$primary->wait_for_catchup($standby);
my $lookup = q{LOAD 'bloomfilter'; SET enable_seqscan = off; SET bloomfilter.partition_filter = on; %s SELECT * FROM parts WHERE url = 'url150'};
like($standby->safe_psql('postgres', sprintf($lookup, 'EXPLAIN (ANALYZE, COSTS off)')), qr/Partitions Skipped: 2/, 'a lookup on a standby skips partitions');
is($standby->safe_psql('postgres', sprintf($lookup, '')), '150|url150', 'and has its row');
# a transaction that is older than the index, and sees a row that is not in it
my $older = Session->new($standby);
$older->query("LOAD 'bloomfilter'; SET enable_seqscan = off; SET bloomfilter.partition_filter = on; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM few");
my $built = $primary->safe_psql('postgres', q{
	DELETE FROM parts WHERE url = 'url150';
	REINDEX INDEX parts_1_url_idx1;
	SELECT pg_current_wal_insert_lsn()});
$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$built'") or die 'not replayed';
is($standby->safe_psql('postgres', sprintf($lookup, '')), '', 'the row is deleted');
like($older->query("EXPLAIN (ANALYZE, COSTS off) SELECT * FROM parts WHERE url = 'url150'"), qr/Partition Filter.*Partitions Skipped: 2/s, 'an older transaction skips the others');
is($older->query("SELECT * FROM parts WHERE url = 'url150'"), '150|url150', 'and still has it');
$older->quit;
my $few = q{LOAD 'bloomfilter'; SET enable_nestloop = off; SET enable_mergejoin = off; SET bloomfilter.join_filter = force; %s SELECT count(*) FROM parts JOIN few USING (k)};
like($standby->safe_psql('postgres', sprintf($few, 'EXPLAIN (ANALYZE, COSTS off)')), qr/Scans Skipped by Partition Bound: 1/, 'a join, too');
is($standby->safe_psql('postgres', sprintf($few, '')), '10', 'and has its rows');

# Blocks that are not read, by an index of the table: a transaction that is older than the index
# sees rows that are not in it
$primary->safe_psql('postgres', 'CREATE TABLE few_days AS SELECT 1000 + i AS day FROM generate_series(1, 5) i; ANALYZE few_days');
my $read_few = q{LOAD 'bloomfilter'; SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_indexscan = off; SET enable_bitmapscan = off; SET bloomfilter.join_filter = force};
foreach my $kind ('brin', 'btree')
{
	my $with = $kind eq 'brin' ? 'WITH (pages_per_range = 8)' : '';
	my $by_day = "SELECT count(*) FROM days_$kind JOIN few_days USING (day)";
	my $old = Session->new($standby);

	$primary->safe_psql('postgres', qq{
		CREATE TABLE days_$kind AS SELECT i / 10 AS day, repeat('x', 100) AS filler FROM generate_series(1, 20000) i;
		CREATE INDEX days_${kind}_day ON days_$kind USING $kind (day) $with;
		VACUUM ANALYZE days_$kind;
	});
	$primary->wait_for_catchup($standby);
	$old->query("$read_few; BEGIN ISOLATION LEVEL REPEATABLE READ");
	like($old->query("EXPLAIN (ANALYZE, COSTS off) $by_day"), qr/Block Index: days_${kind}_day.*Blocks Skipped: [1-9]/s, "a join on a standby skips blocks by a $kind index");
	$old->query('COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM few');
	my $rebuilt = $primary->safe_psql('postgres', qq{
		DELETE FROM days_$kind WHERE day BETWEEN 900 AND 1100;
		REINDEX INDEX days_${kind}_day;
		SELECT pg_current_wal_insert_lsn()});
	$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$rebuilt'") or die 'not replayed';
	is($old->query($by_day), 50, 'an older transaction has all rows that it sees');
	is($standby->safe_psql('postgres', "$read_few; $by_day"), 0, 'a younger one has not');
	$old->quit;
}

# What the primary does between and beside the queries of a session
my $session = Session->new($standby);
$session->query("SET plan_cache_mode = force_generic_plan; PREPARE joined AS $join");
my $rows = 1000;

sub is_joined
{
	my ($after) = @_;

	$primary->wait_for_catchup($standby);
	is($session->query('EXECUTE joined'), $rows, "$after: a kept plan");
	is($standby->safe_psql('postgres', $join), $rows, "$after: a new session");
}

is_joined('at first');
foreach my $done ('REINDEX INDEX blacklist_url', 'REINDEX INDEX CONCURRENTLY blacklist_url', 'VACUUM FULL blacklist',
	'DROP INDEX blacklist_url; CREATE INDEX blacklist_url ON blacklist USING membership (url)', 'VACUUM blacklist')
{
	$primary->safe_psql('postgres', $done);
	is_joined($done);
	$primary->safe_psql('postgres', "INSERT INTO blacklist SELECT 'url' || i FROM generate_series(2, 20000, 1000) i; DELETE FROM blacklist WHERE ctid IN (SELECT ctid FROM blacklist WHERE url LIKE 'url%1' LIMIT 3)");
	$rows = $primary->safe_psql('postgres', "SET bloomfilter.join_filter = off; $join");
	is_joined("$done, rows inserted and deleted");
}
like($session->query('EXPLAIN EXECUTE joined'), qr/Filter Scan/, 'the plan is filtered still');

# A transaction that is older than the index, and sees rows that are not in it
$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
$session->query("SELECT count(*) FROM pg_am WHERE amname = 'membership'");
my $until = $primary->safe_psql('postgres', q{
	SELECT pg_current_wal_insert_lsn() \gset
	DELETE FROM blacklist WHERE url LIKE 'url1%';
	REINDEX INDEX blacklist_url;
	SELECT pg_current_wal_insert_lsn()});
$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$until'") or die 'not replayed';
my $fewer = $primary->safe_psql('postgres', $join);
cmp_ok($fewer, '<', $rows, 'rows are deleted');
is($session->query($join), $rows, 'an older transaction still has them');
is($session->query('EXECUTE joined'), $rows, 'and by a kept plan');
like($session->query("EXPLAIN $join"), qr/Filter Scan/, 'that is filtered');
is($standby->safe_psql('postgres', $join), $fewer, 'a younger one has not');
$session->query('COMMIT');
$rows = $fewer;
is_joined('after the old transaction');

# A scan that is underway while the primary goes on.  (Not with a VACUUM of that table: its
# replay may wait for the page that any cursor holds.  So may that of what a query pruned,
# and a query flushes no WAL: wait_for_catchup would not wait for it.)
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
$primary->wait_for_catchup($standby);
$session->query("BEGIN; DECLARE c CURSOR FOR SELECT v.id FROM visits v JOIN blacklist b USING (url)");
is($session->query('FETCH 5 FROM c') =~ tr/\n//, 4, 'a cursor');
$until = $primary->safe_psql('postgres', q{
	INSERT INTO blacklist SELECT url FROM visits;
	SELECT pg_current_wal_insert_lsn()});
$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$until'") or die 'not replayed';
is(($session->query('FETCH ALL FROM c') =~ tr/\n//) + 1, $rows - 5, "the cursor's other rows");
$session->query('COMMIT');
$rows = $primary->safe_psql('postgres', "SET bloomfilter.join_filter = off; $join");
is_joined('all rows listed');

# An unlogged table is no standby's: the server says so, with a join filter and without
foreach my $setting ('index', 'off')
{
	my ($status, $out, $err) = $standby->psql('postgres', "SET bloomfilter.join_filter = '$setting'; SELECT count(*) FROM visits JOIN unlogged USING (url)");

	like($err, qr/cannot access temporary or unlogged relations during recovery/, "an unlogged table, $setting");
}
is($session->query("SELECT count(*) FROM visits WHERE membership_contains('blacklist_url', url)"), '20000', 'the session goes on');

# Where it is promoted, temporary and unlogged tables filter as they do elsewhere
$standby->promote;
is($session->query('SELECT count(*) FROM visits JOIN unlogged USING (url)'), '0', 'promoted: the unlogged table is empty');
is($session->query("INSERT INTO unlogged SELECT url FROM visits WHERE id <= 30; SELECT count(*) FROM visits JOIN unlogged USING (url)"), '30', 'and can be filled');
like($session->query('EXPLAIN SELECT count(*) FROM visits JOIN unlogged USING (url)'), qr/in index unlogged_url/, 'and filters');
is($session->query("CREATE TEMP TABLE mine AS SELECT url FROM visits WHERE id <= 40; CREATE INDEX mine_url ON mine USING membership (url); SELECT count(*) FROM visits JOIN mine USING (url)"), '40', 'a temporary table');
like($session->query('EXPLAIN SELECT count(*) FROM visits JOIN mine USING (url)'), qr/in index mine_url/, 'filters, too');
is($session->query('EXECUTE joined'), $rows, 'the kept plan');
$session->quit;

$standby->stop;
$primary->stop;
done_testing();
