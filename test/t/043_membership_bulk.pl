# Many insertions that wait, and are written at once: the server is killed while they wait,
# while COMMIT writes them, and after it.  Each time a transaction is there with all its
# elements or not at all, and a standby, which compares each page that it replays with the
# primary's, has the same bits without loading the library.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

plan skip_all => 'needs the /proc of Linux' unless -r "/proc/$$/maps";

my $rows = 120_000;
my $primary = start_server('primary', init => [ allows_streaming => 1 ], conf => q{
wal_consistency_checking = 'generic'
wal_keep_size = 1GB
restart_after_crash = on
autovacuum = off
shared_buffers = 16MB
maintenance_work_mem = 64MB
});
$primary->safe_psql('postgres', q{
	CREATE TABLE bulk (x int);
	CREATE INDEX bulk_x ON bulk USING membership (x) WITH (capacity = 4000000);
	INSERT INTO bulk VALUES (0);
});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

my $next = 1;

# Kill the server when the session has worked so long at COMMIT, or before it if undef.
sub crash
{
	my ($seconds, $when) = @_;
	my $session = Session->new($primary);
	my $said = $session->query("BEGIN; INSERT INTO bulk SELECT generate_series($next, $next + $rows - 1)");

	is($said, '', "$when: inserted");
	if (defined $seconds)
	{
		$session->start('COMMIT');
		$session->works($seconds);
	}
	my $committed = defined $seconds && $session->answered;
	my $log = -s $primary->logfile;
	# the session may not live to commit after all
	kill 'KILL', $session->{pid};
	$session->quit;
	# before it notices, the server lets others in, and ends them
	$primary->wait_for_log(qr/all server processes terminated; reinitializing/, $log);
	# no query: a psql whose connection is refused does not read its input
	$primary->poll_query_until('postgres', undef, '') or die 'the server does not come back';

	my $there = $primary->safe_psql('postgres', "SELECT count(*) FROM bulk WHERE x BETWEEN $next AND $next + $rows - 1");
	ok($there == $rows || ($there == 0 && !$committed), "$when: $there rows are there");
	is($primary->safe_psql('postgres', q{SELECT membership_check('bulk_x') = count(*) FROM bulk}), 't', "$when: and all their elements");
	$next += $rows;
	return $there;
}

# How long COMMIT takes
my $session = Session->new($primary);
$session->query("BEGIN; INSERT INTO bulk SELECT generate_series($next, $next + $rows - 1)");
my $lsn = $primary->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
my $seconds = -$session->cpu;
is($session->query('COMMIT'), '', 'COMMIT');
$seconds += $session->cpu;
$session->quit;
$next += $rows;
cmp_ok($primary->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$lsn'"), '>', 500 * 8192, 'it writes each page of the index');

is(crash(undef, 'killed before COMMIT'), 0, 'which are not');
my $lost = grep { crash($_ * $seconds, "killed in COMMIT after $_ of its time") == 0 } 0.1, 0.3, 0.5, 0.7;
cmp_ok($lost, '>', 0, 'COMMIT was cut off');
is(crash(1000, 'killed after COMMIT'), $rows, 'which are');

$primary->wait_for_catchup($standby);
my $content = q{SELECT md5(membership_filter('bulk_x')::bytea), membership_check('bulk_x')};
my $startup = $standby->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'});
unlike(slurp_file("/proc/$startup/maps"), qr/bloomfilter/, 'replay needs no library');
is($standby->safe_psql('postgres', $content), $primary->safe_psql('postgres', $content), 'the standby has the same bits');

$standby->stop;
$primary->stop;
done_testing();
