# A transaction of a standby may be older than an index: its snapshot sees rows that were
# deleted on the primary before the index was built there, and which are not in it.  Such
# a transaction gets no false "no", and no filter that lacks its rows; the next one gets
# exact answers again.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $primary = start_server('primary', init => [ allows_streaming => 1 ], conf => 'autovacuum = off');
$primary->safe_psql('postgres', q{
	CREATE TABLE kept (id int, x text);
	INSERT INTO kept SELECT i, 'x' || i FROM generate_series(1, 1000) i;
	CREATE INDEX kept_x ON kept USING membership (x);
	ANALYZE kept;
});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
# Queries are not cancelled: replay waits
$standby->append_conf('postgresql.conf', q{
max_standby_streaming_delay = -1
wal_receiver_status_interval = 1
});
$standby->start;
$primary->wait_for_catchup($standby);

my $row = 0;

# A row is deleted and the index built while a transaction of the standby runs.
sub old_transaction
{
	my ($what, $build, $index) = @_;
	my $gone = 'x' . ++$row;
	my $session = Session->new($standby);
	my $lookup = "SELECT membership_contains('$index', '$gone')";
	my $refused = qr/ERROR:  55000: .*"$index".*\nDETAIL: .*\nHINT: /;

	# neither the table nor the index is locked by this
	$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$session->query("SELECT count(*) FROM pg_am WHERE amname = 'membership'");
	# Not later: what prunes a catalog's page then has to wait for our transaction
	my $until = $primary->safe_psql('postgres', qq{
		SELECT pg_current_wal_insert_lsn() \\gset
		DELETE FROM kept WHERE x = '$gone';
		$build;
		SELECT pg_current_wal_insert_lsn()});
	$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$until'")
	  or die "$what is not replayed";

	is($session->query($lookup), 't', "$what: a visible row is in the index");
	is($session->query("SELECT membership_contains_each('$index', ARRAY['$gone', 'x999'])"), '{t,t}', "$what: in an array, too");
	is($session->query("SELECT membership_contains_all('$index', ARRAY['$gone', 'x999']), membership_contains_any('$index', ARRAY['$gone'])"), 't|t', "$what: all and any of an array");
	is($session->query("SELECT count(*), count(*) FILTER (WHERE NOT membership_contains('$index', x)) FROM kept WHERE x = '$gone' OR id > 990"), '11|0', "$what: in a query of the table");
	is($session->query("SET LOCAL enable_seqscan = off; SELECT x FROM kept WHERE x = '$gone'"), $gone, "$what: the planner's own scan finds the row");
	foreach my $call ("membership_filter('$index') IS NULL", "membership_check('$index')")
	{
		$session->query('SAVEPOINT s');
		like($session->query("SELECT $call"), $refused, "$what: $call is refused");
		$session->query('ROLLBACK TO s');
	}
	is($session->query($lookup), 't', "$what: and the index is used again");
	$session->query('COMMIT');

	# exact again; deleted rows are "no" if they are not in the index any more
	is($session->query($lookup), 'f', "$what: not in the next transaction");
	is($session->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT membership_contains_each('$index', ARRAY['x999', 'never', '$gone']); COMMIT"), '{t,f,f}', "$what: which gets exact answers");
	is($session->query("SELECT bloom_contains(membership_filter('$index'), 'x999'), membership_check('$index') = (SELECT count(*) FROM kept)"), 't|t', "$what: and reads all of it");
	$session->quit;
}

old_transaction('REINDEX', 'REINDEX INDEX kept_x', 'kept_x');
old_transaction('a new index', 'CREATE INDEX kept_new ON kept USING membership (x)', 'kept_new');
old_transaction('another of this name', 'BEGIN; DROP INDEX kept_new; CREATE INDEX kept_new ON kept USING membership (x); COMMIT', 'kept_new');
# With settings that spare readers of a standby.  The index waits for older snapshots on
# the primary only.
$standby->safe_psql('postgres', 'ALTER SYSTEM SET hot_standby_feedback = on');
$standby->reload;
$primary->poll_query_until('postgres', 'SELECT backend_xmin IS NOT NULL FROM pg_stat_replication')
  or die 'no feedback';
old_transaction('REINDEX CONCURRENTLY, with feedback', 'REINDEX INDEX CONCURRENTLY kept_x', 'kept_x');
old_transaction('CREATE INDEX CONCURRENTLY, with feedback', 'VACUUM kept; CREATE INDEX CONCURRENTLY kept_more ON kept USING membership (x)', 'kept_more');

# A snapshot that sees the unfinished index, but not yet the rows it was built from: the
# row is deleted before CONCURRENTLY takes its own snapshot.
my $session = Session->new($standby);
my $writer = Session->new($primary);
my $builder = Session->new($primary);
$writer->query("BEGIN; DELETE FROM kept WHERE x = 'x900'");
$builder->start('CREATE INDEX CONCURRENTLY kept_between ON kept USING membership (x)');
ok($builder->waits($primary), 'an index is begun');
$standby->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_class WHERE relname = 'kept_between'")
  or die 'it is not there';
$session->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_am WHERE amname = 'membership'");
$writer->query('COMMIT');
is($builder->end, '', 'and made');
$primary->wait_for_catchup($standby);
is($session->query("SELECT count(*), count(*) FILTER (WHERE NOT membership_contains('kept_between', x)) FROM kept WHERE x = 'x900'"), '1|0', 'a snapshot between both: a visible row is in the index');
is($session->query("SET LOCAL enable_seqscan = off; SELECT x FROM kept WHERE x = 'x900'"), 'x900', "a snapshot between both: the planner's own scan finds the row");
$session->query('COMMIT');
is($session->query("SELECT membership_contains_each('kept_between', ARRAY['x900', 'x999'])"), '{f,t}', 'a snapshot between both: not in the next transaction');
$_->quit foreach $writer, $builder;

# A transaction that is younger than the index gets exact answers, whatever others do.
$session->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM kept");
is($session->query("SELECT membership_contains_each('kept_x', ARRAY['x999', 'x1', 'never'])"), '{t,f,f}', 'a younger transaction');
$primary->safe_psql('postgres', "INSERT INTO kept VALUES (2000, 'later')");
$primary->wait_for_catchup($standby);
is($session->query("SELECT membership_contains_each('kept_x', ARRAY['x999', 'x1', 'never'])"), '{t,f,f}', 'and after a row was inserted');
$session->query('COMMIT');
is($session->query("SELECT membership_contains('kept_x', 'later')"), 't', 'which the next one notices');
$session->quit;

$standby->stop;
$primary->stop;
done_testing();
