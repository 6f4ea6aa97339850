# Snapshots that do not list all running transactions: beside more subtransactions than
# the server keeps in memory for each transaction (64), a snapshot is "suboverflowed" and
# its copies have no list of subtransactions.  With such snapshots, with imported ones,
# in cursors, beside prepared transactions and in parallel workers, a membership index
# answers, and finds every row that the snapshot sees.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

# A crash fails this test, and does not stop all others
my $node = start_server('overflow', conf => q{
max_prepared_transactions = 10
restart_after_crash = on
});
my $parallel = $node->safe_psql('postgres', q{SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')});
$node->safe_psql('postgres', q{
	CREATE TABLE noise (x int);
	CREATE TABLE kept (x int);
	CREATE INDEX kept_x ON kept USING membership (x);
	INSERT INTO kept SELECT generate_series(1, 3000);
	ANALYZE kept;
	-- a call that PL/pgSQL keeps for all of a transaction
	CREATE FUNCTION there(element int) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		RETURN membership_contains('kept_x'::regclass, element);
	END $$;
});

my $count = 'SELECT count(*), count(*) FILTER (WHERE NOT membership_contains(\'kept_x\'::regclass, x)) FROM kept';
my @open;

# Open transactions, each with a number of subtransactions that have an xid
sub open_transactions
{
	foreach my $subtransactions (@_)
	{
		my $session = Session->new($node);

		$session->query('BEGIN; INSERT INTO noise VALUES (0)');
		$session->query(join(';', map { 'SAVEPOINT s; INSERT INTO noise VALUES (1)' } 1 .. $subtransactions));
		push @open, $session;
	}
	# an xid that ends: those before it are of interest to snapshots
	$node->safe_psql('postgres', 'INSERT INTO noise VALUES (2)');
}

sub close_transactions
{
	foreach my $session (splice @open)
	{
		$session->query('COMMIT');
		$session->quit;
	}
}

open_transactions(3, 3, 3, 70, 3, 3);
my $reader = Session->new($node);
is($reader->query($count), '3000|0', 'looked up beside overflowed transactions');
is($reader->query("SELECT membership_contains('kept_x'::regclass, 1), membership_contains('kept_x'::regclass, 123456789)"), 't|f', 'looked up once');
is($reader->query("SELECT membership_contains_each('kept_x'::regclass, ARRAY[1, 123456789])"), '{t,f}', 'an array');
is($reader->query("SELECT bloom_contains(membership_filter('kept_x'::regclass), 1), membership_check('kept_x')"), 't|3000', 'read in full');

# One snapshot for a whole transaction, while others overflow, insert and end
my $old = Session->new($node);
$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($old->query($count), '3000|0', 'REPEATABLE READ');
my $inserting = $open[0];
$inserting->query('INSERT INTO kept SELECT generate_series(10001, 11000)');
$reader->query('BEGIN');
# the answer may be either, but PL/pgSQL keeps this call
like($reader->query('SELECT there(10001)'), qr/^[tf]$/, 'READ COMMITTED, before another transaction commits');
close_transactions();
is($reader->query('SELECT there(10001)'), 't', 'READ COMMITTED, after that');
$reader->query('COMMIT');
is($old->query($count), '3000|0', 'REPEATABLE READ, after that');
is($reader->query($count), '4000|0', 'a new snapshot');
open_transactions(3, 70, 3);
is($old->query($count), '3000|0', 'REPEATABLE READ, when others have overflowed again');

# The snapshot of another session
my $exported = $old->query('SELECT pg_export_snapshot()');
my $imported = Session->new($node);
is($imported->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$exported'"), '', 'a snapshot is imported');
is($imported->query($count), '3000|0', 'and looked up by');
$node->safe_psql('postgres', 'INSERT INTO kept SELECT generate_series(20001, 21000)');
is($imported->query($count), '3000|0', 'after another one was committed');
$imported->query('COMMIT');
$old->query('COMMIT');
# one that is overflowed itself
$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
$exported = $old->query('SELECT pg_export_snapshot()');
close_transactions();
$imported->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$exported'");
$node->safe_psql('postgres', 'DELETE FROM kept WHERE x BETWEEN 20001 AND 20500');
is($imported->query($count), '5000|0', 'an overflowed snapshot is imported');
is($old->query($count), '5000|0', 'and it is used where it is from');
$_->query('COMMIT') foreach $imported, $old;
$imported->quit;

# A cursor's snapshot lives while its transaction takes others
open_transactions(3, 70, 3);
$reader->query("BEGIN; DECLARE c CURSOR FOR SELECT x, membership_contains('kept_x'::regclass, x) FROM kept");
is($reader->query('FETCH c'), '1|t', 'a cursor');
$open[0]->query('INSERT INTO kept VALUES (30001)');
close_transactions();
is($reader->query("SELECT count(*), bool_and(membership_contains('kept_x'::regclass, x)) FROM kept"), '4501|t', 'another snapshot in between');
is($reader->query('SELECT there(30001)'), 't', 'which PL/pgSQL notices');
my @fetched = split(/\n/, $reader->query('FETCH ALL FROM c'));
is(scalar(grep { /^\d+\|t$/ } @fetched), 4499, 'the cursor again');
is(scalar(@fetched), 4499, 'and nothing else');
$reader->query('COMMIT');

# Prepared transactions
open_transactions(3, 70, 3);
$open[$_]->query("INSERT INTO kept VALUES (4000$_); PREPARE TRANSACTION 'p$_'") foreach 0 .. $#open;
$_->quit foreach splice @open;
$node->safe_psql('postgres', 'INSERT INTO noise VALUES (3)');
is($reader->query($count), '4501|0', 'beside prepared transactions');
$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($old->query($count), '4501|0', 'REPEATABLE READ beside prepared transactions');
$reader->query("COMMIT PREPARED 'p0'; COMMIT PREPARED 'p1'");
is($reader->query($count), '4503|0', 'two are committed');
is($old->query($count), '4501|0', 'REPEATABLE READ when they are committed');
$reader->query("ROLLBACK PREPARED 'p2'");
$old->query('COMMIT');
$old->quit;

# Parallel workers get a copy of the snapshot
open_transactions(3, 3, 70, 3);
$reader->query("SET $parallel = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0");
like($reader->query("EXPLAIN (COSTS off) $count"), qr/Workers Planned/, 'a parallel plan');
is($reader->query($count), '4503|0', 'parallel workers');
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($reader->query($count), '4503|0', 'parallel workers under REPEATABLE READ');
$open[0]->query('INSERT INTO kept VALUES (50001)');
close_transactions();
is($reader->query($count), '4503|0', 'and when others have committed');
$reader->query('COMMIT');
is($reader->query($count), '4504|0', 'and by a new snapshot');
$reader->quit;

$node->stop;
done_testing();
