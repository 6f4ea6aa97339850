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
use Time::HiRes qw(usleep);

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
$writer->start("SET statement_timeout = '500ms'; SAVEPOINT s");
my $at_once = $writer->ends_within($Session::soon);
ok($at_once, 'a savepoint does not wait');
# release a writer that waits
$other->query('ROLLBACK') if !$at_once;
is($writer->end, '', 'nor fails');
is($writer->query("INSERT INTO kept VALUES (11); ROLLBACK TO s; INSERT INTO kept VALUES (12); RELEASE s; COMMIT"), '', 'the transaction ends');
is(locks($writer), '', 'and the lock with it');
is($other->end . $other->query('COMMIT'), '', 'then the index is moved') if $at_once;
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

# --- A layer so large that it takes seconds to write
$node->safe_psql('postgres', q{
	CREATE TABLE vast (x int);
	CREATE INDEX vast_x ON vast USING membership (x) WITH (capacity = 400000000);
});

sub index_size
{
	return $node->safe_psql('postgres', "SELECT pg_relation_size('vast_x')");
}

my $empty = index_size();

# Half a gigabyte takes longer than this to be written
my $a_while = 100_000;

# Start a command that has to write the layer, and cancel it meanwhile.
sub cancel_the_layer
{
	my ($what, $command) = @_;

	$writer->start($command);
	usleep(1000)
	  until $node->safe_psql('postgres', "SELECT state = 'active' FROM pg_stat_activity WHERE pid = $writer->{pid}") eq 't'
	  || $writer->ends_within(0);
	usleep($a_while);
	ok(!$writer->ends_within(0), "$what: the layer is being written");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($writer->{pid})");
	ok($writer->ends_within(1), "$what: it ends within a second");
	like($writer->end, qr/ERROR:  57014/, "$what: it is cancelled");
	$writer->query('ROLLBACK');
	is($node->safe_psql('postgres', "SELECT membership_check('vast_x'), membership_contains('vast_x'::regclass, 1)"), '0|f', "$what: the index is as it was");
}

$writer->query('BEGIN; INSERT INTO vast VALUES (1); SAVEPOINT s');
is(index_size(), $empty, 'a savepoint writes no layer');
cancel_the_layer('a lookup', "SELECT membership_contains('vast_x'::regclass, 1)");
$writer->query('BEGIN; INSERT INTO vast VALUES (1); SAVEPOINT s; RELEASE s');
cancel_the_layer('the commit', 'COMMIT');
is($writer->query('SELECT pg_backend_pid()'), $writer->{pid}, 'the session lives');

$_->quit foreach $writer, $other, $gate;
$node->stop;
done_testing();
