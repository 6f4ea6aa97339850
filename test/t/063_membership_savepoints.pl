# Savepoints beside long or failing operations: a subtransaction begins at once and cannot
# fail, and the work left for its end reacts to a cancel.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('savepoints');
$node->safe_psql('postgres', q{
	CREATE TABLE kept (x int);
	CREATE INDEX kept_x ON kept USING membership (x);
	INSERT INTO kept VALUES (0);
});
# in a call of its own, because it cannot be in a transaction
$node->psql('postgres', qq{SET allow_in_place_tablespaces = on;\nCREATE TABLESPACE elsewhere LOCATION ''});

# --- Under SERIALIZABLE: a conflict that comes between an insertion and the next
# subtransaction is an ordinary error.
my $writer;
my $other = Session->new($node);
my $gate = Session->new($node);

foreach my $case (
	[ 'two blocks', q{
		BEGIN
			INSERT INTO kept VALUES (2);
			PERFORM pg_advisory_xact_lock(1);
			BEGIN
				PERFORM 1;
			EXCEPTION WHEN division_by_zero THEN
				NULL;
			END;
		EXCEPTION WHEN OTHERS THEN
			RAISE;
		END;} ],
	[ 'three blocks', q{
		BEGIN
			BEGIN
				INSERT INTO kept VALUES (2);
				PERFORM pg_advisory_xact_lock(1);
				BEGIN
					INSERT INTO kept VALUES (3);
					BEGIN
						PERFORM 1;
					EXCEPTION WHEN division_by_zero THEN
						NULL;
					END;
				EXCEPTION WHEN division_by_zero THEN
					NULL;
				END;
			EXCEPTION WHEN serialization_failure THEN
				RAISE;
			END;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;} ])
{
	my ($what, $blocks) = @$case;

	$writer = Session->new($node);
	$gate->query('SELECT pg_advisory_lock(1)');
	$writer->query('BEGIN ISOLATION LEVEL SERIALIZABLE');
	$writer->query("SELECT membership_contains('kept_x'::regclass, 1)");
	$writer->start("DO \$\$ BEGIN $blocks END \$\$");
	ok($writer->waits($node), "$what: after its insertion");
	$other->query(q{
		BEGIN ISOLATION LEVEL SERIALIZABLE;
		SELECT membership_contains('kept_x'::regclass, 2);
		INSERT INTO kept VALUES (1);
		COMMIT});
	$gate->query('SELECT pg_advisory_unlock(1)');
	my $said = $writer->end . $writer->query('COMMIT');
	like($said, qr/ERROR:  40001/, "$what: the conflict is found");
	unlike($said, qr/FATAL|unexpected state|server closed/, "$what: by an ordinary error");
	$writer->query('ROLLBACK');
	is($writer->query('SELECT pg_backend_pid()'), $writer->{pid}, "$what: the session lives");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM kept WHERE x IN (2, 3)'), '0', "$what: and has inserted nothing");
	$writer->quit;
	$node->safe_psql('postgres', 'DELETE FROM kept WHERE x = 1; REINDEX INDEX kept_x');
}

# --- A session that has inserted holds the index until its transaction ends
my $locks = q{SELECT mode FROM pg_locks WHERE relation = 'kept_x'::regclass AND granted AND pid = %d};

sub locks
{
	my ($session) = @_;
	return $node->safe_psql('postgres', sprintf($locks, $session->{pid}));
}

$writer = Session->new($node);
$writer->query('BEGIN; INSERT INTO kept VALUES (10)');
is(locks($writer), 'RowExclusiveLock', 'the index is locked after an insertion');
$other->query('BEGIN');
$other->start('ALTER INDEX kept_x SET TABLESPACE elsewhere');
ok($other->waits($node), 'another session cannot move the index');
$writer->start('SAVEPOINT s');
my $waits = $writer->waits($node);
ok(!$waits, 'a savepoint does not wait');
# release a writer that does
$other->query('ROLLBACK') if $waits;
is($writer->end, '', 'nor fails');
is($writer->query("INSERT INTO kept VALUES (11); ROLLBACK TO s; INSERT INTO kept VALUES (12); RELEASE s; COMMIT"), '', 'the transaction ends');
is(locks($writer), '', 'and the lock with it');
is($other->end . $other->query('COMMIT'), '', 'then the index is moved') if !$waits;
is($node->safe_psql('postgres', "SELECT membership_check('kept_x'), membership_contains_all('kept_x'::regclass, ARRAY[10, 12])"), '3|t', 'with all that was inserted');

# The rollback of a subtransaction releases its lock, unless there were insertions
# before it
$writer->query('BEGIN; SAVEPOINT s; INSERT INTO kept VALUES (13)');
is(locks($writer), 'RowExclusiveLock', 'locked in a subtransaction');
$writer->query('ROLLBACK TO s');
is(locks($writer), '', 'which is rolled back');
$writer->query('INSERT INTO kept VALUES (14); SAVEPOINT t; INSERT INTO kept VALUES (15); ROLLBACK TO t');
is(locks($writer), 'RowExclusiveLock', 'locked before a subtransaction that is rolled back');
$writer->query('COMMIT');
is($node->safe_psql('postgres', "SELECT membership_check('kept_x'), membership_contains('kept_x'::regclass, 14)"), '4|t', 'and inserted');

# --- The index is being moved already: the insertion waits, and can be cancelled
$other->query('BEGIN; ALTER INDEX kept_x SET TABLESPACE pg_default');
$writer->query("SET statement_timeout = '300ms'");
like($writer->query('INSERT INTO kept VALUES (20)'), qr/ERROR:  57014: canceling statement due to statement timeout/, 'an insertion heeds statement_timeout');
$writer->query('SET statement_timeout = 0; BEGIN; SAVEPOINT s');
$writer->start('INSERT INTO kept VALUES (21)');
ok($writer->waits($node), 'an insertion waits');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($writer->{pid})");
like($writer->end, qr/ERROR:  57014: canceling statement due to user request/, 'and heeds pg_cancel_backend');
$other->query('COMMIT');
is($writer->query('ROLLBACK TO s; INSERT INTO kept VALUES (22); COMMIT'), '', 'then it goes on');
is($node->safe_psql('postgres', "SELECT membership_check('kept_x'), membership_contains('kept_x'::regclass, 22)"), '5|t', 'and is there');

# --- A large layer is written by the statement that inserts, where a timeout ends it;
# what was written is kept for the next attempt
$node->safe_psql('postgres', q{
	CREATE TABLE vast (x int);
	CREATE INDEX vast_x ON vast USING membership (x) WITH (capacity = 60000000);
});

sub index_size
{
	return $node->safe_psql('postgres', "SELECT pg_relation_size('vast_x')");
}

# The layer takes 79 MB.  A file of the server may have so many bytes, more than a
# segment of WAL; and so much else may be logged meanwhile.
my $least = 70 * 1024 * 1024;
my $limit = 32 * 1024 * 1024;
my $slack = $limit / 2;

{
	# of this command alone
	local $ENV{PGOPTIONS} = '-c statement_timeout=1';
	my (undef, undef, $error) = $node->psql('postgres', 'INSERT INTO vast VALUES (1)');
	like($error, qr/canceling statement due to statement timeout/, 'a timeout ends it');
}
cmp_ok(index_size(), '<', $least, 'before it is complete');
is($node->safe_psql('postgres', "SELECT membership_check('vast_x'), membership_contains('vast_x'::regclass, 1)"), '0|f', 'the index is as it was');
SKIP:
{
	skip 'no prlimit', 2 if system("prlimit --pid $writer->{pid} --fsize=$limit:") != 0;
	like($writer->query('INSERT INTO vast VALUES (1)'), qr/ERROR:  .*could not extend file/, 'an error ends it');
	system("prlimit --pid $writer->{pid} --fsize=unlimited:");
	my $size = index_size();
	my $lsn = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
	$writer->query('INSERT INTO vast VALUES (1)');
	cmp_ok($node->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$lsn'"), '<', (index_size() - $size) * 1.02 + $slack, 'the next one goes on where that ended');
}
$writer->query('BEGIN; SAVEPOINT s; INSERT INTO vast VALUES (2)');
my $whole = index_size();
cmp_ok($whole, '>', $least, 'the layer is complete');
$writer->query('RELEASE s; COMMIT');
is(index_size(), $whole, 'COMMIT writes no layer');
is($node->safe_psql('postgres', "SELECT membership_contains('vast_x'::regclass, 2)"), 't', 'but the element');
is($writer->query('SELECT pg_backend_pid()'), $writer->{pid}, 'the session lives');

# Nor does it when three sessions have together inserted more than the last layer has room for
$node->safe_psql('postgres', q{
	CREATE TABLE shared (x int);
	CREATE INDEX shared_x ON shared USING membership (x) WITH (capacity = 400000, growth = 16, error_rate = 0.0000001);
	INSERT INTO shared SELECT generate_series(1, 380000);
});
foreach ([ $writer, 400001 ], [ $other, 500001 ], [ $gate, 600001 ])
{
	my ($session, $first) = @$_;
	$session->query("BEGIN; INSERT INTO shared SELECT generate_series($first, $first + 9999)");
}
my $shared_size = q{SELECT pg_relation_size('shared_x')};
my $before = $node->safe_psql('postgres', $shared_size);
is(join('', map { $_->query('COMMIT') } $writer, $other, $gate), '', 'three sessions commit');
is($node->safe_psql('postgres', $shared_size), $before, 'and write no layer');
is($node->safe_psql('postgres', q{SELECT membership_check('shared_x')}), '410000', 'but all elements');

$_->quit foreach $writer, $other, $gate;
$node->stop;
done_testing();
