# A membership index after accidents of its server: a backend killed while it inserts and
# the index grows, a crash, a base backup taken meanwhile, replay on a standby and its
# promotion, prepared transactions.  Each time, every row is found and the pages are valid.
# The standby compares each page that it replays with the primary's.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
# Little memory, so that pages are written and read again
$primary->append_conf('postgresql.conf', q{
wal_consistency_checking = 'all'
max_prepared_transactions = 10
shared_buffers = 2MB
restart_after_crash = on
autovacuum = off
log_statement = none
});
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION bloomfilter;
	CREATE TABLE urls (id bigint PRIMARY KEY, url text NOT NULL);
	-- one grows from little, one has two blocks for an element, one is not logged
	CREATE INDEX urls_url ON urls USING membership (url) WITH (capacity = 100);
	INSERT INTO urls SELECT i, 'http://example.com/' || i FROM generate_series(1, 5000) i;
	CREATE INDEX urls_both ON urls USING membership (id, url) WITH (error_rate = 0.0001, capacity = 100);
	CREATE UNLOGGED TABLE quick (x int);
	CREATE INDEX quick_x ON quick USING membership (x) WITH (capacity = 100);
	INSERT INTO quick SELECT generate_series(1, 1000);

	CREATE FUNCTION faults() RETURNS SETOF text LANGUAGE sql
	SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
		SELECT 'missing: ' || id FROM urls WHERE NOT membership_contains('urls_url', url)
		UNION ALL SELECT 'both missing: ' || id FROM urls WHERE NOT membership_contains('urls_both', ROW(id, url))
		UNION ALL SELECT 'checked: ' || n FROM membership_check('urls_url') n WHERE n <> (SELECT count(*) FROM urls)
		UNION ALL SELECT 'both checked: ' || n FROM membership_check('urls_both') n WHERE n <> (SELECT count(*) FROM urls)
		UNION ALL SELECT 'not scanned: ' || s.id FROM (SELECT id, url FROM urls ORDER BY id DESC LIMIT 3) s
			WHERE NOT EXISTS (SELECT FROM urls u WHERE u.url = s.url)
		UNION ALL SELECT 'imprecise: ' || estimated_error_rate FROM membership_info('urls_url')
			WHERE estimated_error_rate > 1.1 * error_rate;
	$$;
});

sub sound
{
	my ($node, $when) = @_;
	my ($status, $out, $err) = $node->psql('postgres', 'SELECT * FROM faults()');

	is("$out$err", '', "$when: every row is found");
}

# Do they hold the same bits?
sub same
{
	my ($a, $b, $when) = @_;
	my $content = q{
		SELECT md5(membership_filter('urls_url')::bytea), membership_info('urls_url'),
			md5(membership_filter('urls_both')::bytea), membership_info('urls_both')};

	is($b->safe_psql('postgres', $content), $a->safe_psql('postgres', $content), "$when: the same bits");
}

# A session that inserts, one row or a hundred in a transaction, and says up to
# which id that is committed
my $dir = $PostgreSQL::Test::Utils::tmp_check;
my $next = 1_000_000;

sub start_inserting
{
	my ($node) = @_;
	my $script = "$dir/insert.sql";
	my %session = (first => $next, out => "$dir/insert.out");

	open my $file, '>', $script or die "$script: $!";
	for (1 .. 50_000)
	{
		my $last = $next + ($_ % 10 == 0 ? 99 : 0);

		print $file "INSERT INTO urls SELECT i, 'http://example.com/' || i FROM generate_series($next, $last) i;\n\\echo $last\n";
		$next = $last + 1;
	}
	# should it ever come to that, until it is ended
	print $file "SELECT FROM pg_sleep(1e9);\n";
	close $file;
	$session{psql} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $script ],
		'<', \undef, '>', $session{out}, '2>', "$dir/insert.err");
	until (slurp_file($session{out}) =~ /\d\n\d/)
	{
		$session{psql}->pumpable or die slurp_file("$dir/insert.err");
		usleep(10_000);
	}
	return \%session;
}

# All sessions but that which asks
my $others = q{FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()};

sub stop_inserting
{
	my ($session, $node) = @_;

	$session->{psql}->kill_kill;
	# what it has sent may still run
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $others");
	$node->poll_query_until('postgres', "SELECT count(*) = 0 $others")
	  or die 'a session does not end';
}

# The same until it is cut off
sub is_cut_off
{
	my ($session, $node, $when) = @_;

	$session->{psql}->finish;
	# its exit status is that of a lost connection or of a statement that failed, whichever
	# psql sees first
	like(slurp_file("$dir/insert.err"), qr/server closed the connection|terminating connection|connection to server was lost/, "$when: in the middle of insertions");
	# no query: a psql whose connection is refused does not read its input, and writing
	# to it then dies of a broken pipe
	$node->poll_query_until('postgres', undef, '') or die 'the server does not come back';
	my ($last) = slurp_file($session->{out}) =~ /(\d+)\n\z/;
	is( $node->safe_psql('postgres', "SELECT count(*) FROM urls WHERE id BETWEEN $session->{first} AND $last"),
		$last - $session->{first} + 1, "$when: what was committed is there");
	sound($node, $when);
	$next = $node->safe_psql('postgres', 'SELECT max(id) + 1 FROM urls');
}

# A base backup while rows are inserted
my $session = start_inserting($primary);
$primary->safe_psql('postgres', q{SELECT pg_create_physical_replication_slot('standby', true)});
$primary->backup('backup');
my $backup = PostgreSQL::Test::Cluster->new('backup');
$backup->init_from_backup($primary, 'backup');
$backup->start;
sound($backup, 'base backup');
$backup->stop;
stop_inserting($session, $primary);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "primary_slot_name = 'standby'");
$standby->start;

# A backend is killed: all others end, and the server recovers
$session = start_inserting($primary);
my $pid = $primary->safe_psql('postgres', "SELECT pid $others");
kill 'KILL', $pid;
is_cut_off($session, $primary, 'a backend is killed');
$primary->safe_psql('postgres', 'INSERT INTO quick SELECT generate_series(2001, 3000)');
is( $primary->safe_psql('postgres', q{
		SELECT count(*), count(*) FILTER (WHERE membership_contains('quick_x', x)), membership_contains('quick_x', 1) FROM quick}),
	'1000|1000|f', 'the index that is not logged is empty then, and is filled again');

# All of the server stops at once
$session = start_inserting($primary);
$primary->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO urls SELECT -i, 'http://example.com/' || -i FROM generate_series(1, 3000) i;
	SAVEPOINT s;
	INSERT INTO urls SELECT -i, 'http://example.com/' || -i FROM generate_series(3001, 4000) i;
	ROLLBACK TO s;
	INSERT INTO urls SELECT -i, 'http://example.com/' || -i FROM generate_series(5001, 6000) i;
	PREPARE TRANSACTION 'first';
	BEGIN;
	INSERT INTO urls SELECT -i, 'http://example.com/' || -i FROM generate_series(20001, 23000) i;
	PREPARE TRANSACTION 'second';
});
# a layer of many pages, of which one is used
$primary->safe_psql('postgres', q{
	CREATE TABLE roomy (x int);
	CREATE INDEX roomy_x ON roomy USING membership (x) WITH (capacity = 1000000);
	INSERT INTO roomy VALUES (1);
});
$primary->stop('immediate');
$primary->start;
is_cut_off($session, $primary, 'a crash');
my $roomy = q{SELECT membership_check('roomy_x'), membership_contains('roomy_x', 1)};
is(join('', ($primary->psql('postgres', $roomy))[ 1, 2 ]), '1|t', 'all pages of a layer are there after a crash');
is($primary->safe_psql('postgres', 'SELECT count(*) FROM urls WHERE id < 0'), '0', 'prepared: not seen');
$primary->safe_psql('postgres', "COMMIT PREPARED 'first'; ROLLBACK PREPARED 'second'");
is($primary->safe_psql('postgres', 'SELECT count(*) FROM urls WHERE id < 0'), '4000', 'prepared, and committed after the crash');
sound($primary, 'prepared, and committed after the crash');

is($primary->safe_psql('postgres', q{SELECT layers > 3 FROM membership_info('urls_url')}), 't', 'the index has grown meanwhile');

# The standby
$primary->wait_for_catchup($standby);
sound($standby, 'standby');
same($primary, $standby, 'standby');
is(join('', ($standby->psql('postgres', $roomy))[ 1, 2 ]), '1|t', 'all pages of a layer are there on the standby');
is( $standby->safe_psql('postgres', q{
		SELECT membership_contains('urls_url', 'http://example.com/1'), membership_contains('urls_url', 'http://example.com/x'),
			(SELECT count(*) FROM urls WHERE url = 'http://example.com/x')}),
	't|f|0', 'a single lookup on the standby');
my ($status, $out, $err) = $standby->psql('postgres', "SELECT membership_contains('quick_x', 1)");
like($err, qr/cannot access temporary or unlogged relations during recovery/, 'but not of what is not logged');

# Rebuilt, truncated, vacuumed on the primary while the standby replays
$session = start_inserting($primary);
$primary->safe_psql('postgres', $_) foreach (
	'DELETE FROM urls WHERE id % 3 = 0',
	'VACUUM urls',
	'CREATE INDEX CONCURRENTLY urls_more ON urls USING membership (url) WITH (capacity = 100)',
	'DROP INDEX urls_url',
	'ALTER INDEX urls_more RENAME TO urls_url',
	'REINDEX INDEX CONCURRENTLY urls_both',
	"CREATE TABLE other (x int); CREATE INDEX other_x ON other USING membership (x); INSERT INTO other SELECT generate_series(1, 1000); TRUNCATE other; INSERT INTO other VALUES (1)",
	'ALTER TABLE urls ADD more text DEFAULT md5(random()::text)');
stop_inserting($session, $primary);
sound($primary, 'rebuilt');
$primary->wait_for_catchup($standby);
sound($standby, 'rebuilt on the standby');
same($primary, $standby, 'rebuilt');
is( $standby->safe_psql('postgres', "SELECT membership_contains('other_x', 1), membership_contains('other_x', 2), membership_check('other_x')"),
	't|f|1', 'truncated on the standby');

# Promoted, it goes on, and outlives a crash
$primary->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO urls SELECT -i, 'http://example.com/' || -i FROM generate_series(10001, 13000) i;
	PREPARE TRANSACTION 'third';
});
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
$standby->promote;
sound($standby, 'promoted');
$standby->safe_psql('postgres', "COMMIT PREPARED 'third'");
is($standby->safe_psql('postgres', 'SELECT count(*) FROM urls WHERE id BETWEEN -13000 AND -10001'), '3000', 'prepared, and committed after promotion');
sound($standby, 'prepared, and committed after promotion');
$next = $standby->safe_psql('postgres', 'SELECT max(id) + 1 FROM urls');
$session = start_inserting($standby);
$standby->safe_psql('postgres', "INSERT INTO urls SELECT -i, 'http://example.com/' || -i FROM generate_series(100001, 130000) i");
$standby->stop('immediate');
$standby->start;
is_cut_off($session, $standby, 'promoted, and crashed');
$standby->stop;
done_testing();
