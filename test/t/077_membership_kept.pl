# A session keeps its copy of a membership index for later statements, but only for those
# that see what the one that made it saw: whatever has been committed or inserted since is found.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

# nothing else may end a transaction
my $node = start_server('kept', init => [ allows_streaming => 1 ], conf => "autovacuum = off\nmax_prepared_transactions = 1");
my $session = Session->new($node);
my $other = Session->new($node);
my $third = Session->new($node);
my $added = 1000000;

is( $session->query(q{
	CREATE TABLE kept (x int);
	INSERT INTO kept SELECT generate_series(1, 100000);
	CREATE INDEX kept_x ON kept USING membership (x);
	CREATE FUNCTION there(i int) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
	BEGIN RETURN membership_contains('kept_x', i); END $$}),
	'', 'an index');

# How many pages does a batch read?
sub pages
{
	my ($in) = @_;
	my $plan = $in->query(q{EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)
		SELECT membership_contains_each('kept_x', ARRAY(SELECT generate_series(1, 1000)))});

	$plan =~ s/Planning:.*//s;
	return $plan =~ /shared hit=(\d+)/ ? $1 : 0;
}

# Look up until that is answered from a copy
sub copy
{
	my ($in, $what) = @_;

	pages($in) foreach 1 .. 10;
	is(pages($in), 0, "$what: answered from a copy");
}

sub is_there
{
	my ($in, $element, $what) = @_;

	is($in->query("SELECT membership_contains('kept_x', $element)"), 't', $what);
}

# What statements spend adds up
pages($session);
$other->query('INSERT INTO kept VALUES (0)');
cmp_ok(pages($session), '>', 10, 'the first batch reads pages');
cmp_ok(pages($session), '>', 10, 'so does the second');
copy($session, 'then');
$session->query('SELECT count(*) FROM kept');
$other->query('SELECT count(*) FROM kept');
is(pages($session), 0, 'transactions that write nothing change nothing');

# The metapages of partitions' indexes are kept as copies are
$session->query(q{
	CREATE TABLE parted (part int, key int) PARTITION BY LIST (part);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
	CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
	INSERT INTO parted SELECT i % 2 + 1, i FROM generate_series(1, 10000) i;
	CREATE INDEX ON parted (key);
	CREATE INDEX ON parted USING membership (key) WITH (error_rate = 0.000001);
	SET enable_seqscan = off;
	SET bloomfilter.partition_filter = on});

sub pages_asked
{
	return $session->query(q{EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM parted WHERE key = -1}) =~
	  /Partitions Skipped: 2.*?shared hit=(\d+)/s ? $1 : 0;
}
pages_asked();
my $asked = pages_asked();
cmp_ok($asked, '>', 0, 'partitions are asked');
$other->query('INSERT INTO parted VALUES (1, 0)');
is(pages_asked(), $asked + 2, 'two metapages are read after a commit');
is(pages_asked(), $asked, 'and not again');

# Other sessions
$added++;
$other->query("INSERT INTO kept VALUES ($added)");
is_there($session, $added, 'another session has committed');
copy($session, 'after a commit');
$added++;
$other->query("BEGIN; INSERT INTO kept VALUES ($added)");
copy($session, 'while another session inserts');
$other->query('COMMIT');
is_there($session, $added, 'a transaction that ran when the copy was made');
copy($session, 'after its commit');
$added++;
$other->query("BEGIN; SAVEPOINT s; INSERT INTO kept VALUES ($added); RELEASE s");
copy($session, 'beside a subtransaction');
$session->query('BEGIN; DECLARE c CURSOR FOR SELECT 1');
$other->query('COMMIT');
is_there($session, $added, 'a subtransaction that ran then');
$session->query('COMMIT');

# One that ran between transactions that go on and that have ended: xmin and xmax stay
sub between
{
	my ($reader, $what) = @_;

	$added++;
	$other->query('BEGIN; SELECT pg_current_xact_id()');
	$third->query("BEGIN; INSERT INTO kept VALUES ($added)");
	$node->safe_psql('postgres', 'INSERT INTO kept VALUES (-4)');
	$node->wait_for_catchup('standby') unless $reader == $session;
	copy($reader, $what);
	$third->query('COMMIT');
	$node->wait_for_catchup('standby') unless $reader == $session;
	is_there($reader, $added, $what);
	$other->query('COMMIT');
}
between($session, 'a transaction between others');

# The same number of them, if this session's own one is prepared meanwhile
$added++;
$other->query('BEGIN; SELECT pg_current_xact_id()');
$third->query("BEGIN; INSERT INTO kept VALUES ($added)");
$session->query('BEGIN; SELECT pg_current_xact_id()');
$node->safe_psql('postgres', 'INSERT INTO kept VALUES (-4)');
copy($session, 'before it is prepared');
$session->query("PREPARE TRANSACTION 'kept'");
$third->query('COMMIT');
is_there($session, $added, 'another one has committed, this one is prepared');
$session->query("ROLLBACK PREPARED 'kept'");
$other->query('COMMIT');

# This session, beside one whose transaction is older, and which keeps xmin where it is
$other->query('BEGIN; INSERT INTO kept VALUES (-1)');
$session->query('BEGIN; INSERT INTO kept VALUES (-2)');
copy($session, 'of its own transaction');
$added++;
$session->query("INSERT INTO kept VALUES ($added)");
is_there($session, $added, 'what it has inserted since');
copy($session, 'with that');
$added++;
$session->query("SAVEPOINT s; INSERT INTO kept VALUES ($added)");
is_there($session, $added, 'within a savepoint');
$session->query('ROLLBACK TO s');
copy($session, 'after a rollback');
$session->query("INSERT INTO kept VALUES ($added); COMMIT");
is_there($session, $added, 'what it has committed since');
$other->query('COMMIT');

# Other files
copy($session, 'before a rebuild');
$session->query('BEGIN; TRUNCATE kept; INSERT INTO kept VALUES (-3)');
is_there($session, -3, 'another file');
copy($session, 'of that');
$session->query('ROLLBACK');
is_there($session, $added, 'the file of before');
$session->query(q{
	CREATE FUNCTION stored(i int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT i';
	CREATE INDEX kept_stored ON kept USING membership (stored(x));
	BEGIN;
	SELECT pg_current_xact_id();
	SELECT count(*) FROM generate_series(1, 1000) i WHERE membership_contains('kept_stored', i);
	CREATE OR REPLACE FUNCTION stored(i int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT -i';
	REINDEX INDEX kept_stored});
is( $session->query("SELECT membership_contains('kept_stored', -500)"), 't', 'built anew, with other elements');
$session->query('ROLLBACK');
copy($session, 'before REINDEX');
$other->query('REINDEX INDEX kept_x');
is_there($session, $added, 'after REINDEX');

# SERIALIZABLE finds what a transaction has written that still runs
$other->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT pg_current_xact_id()');
copy($session, 'beside a serializable transaction');
$added++;
$other->query("INSERT INTO kept VALUES ($added)");
is_there($other, $added, 'its insertion is written');
$session->query('BEGIN ISOLATION LEVEL SERIALIZABLE');
is_there($session, $added, 'and seen by another one');
$session->query('COMMIT');
$other->query('COMMIT');

# Memory
my $copied = q{SELECT coalesce(sum(used_bytes), 0) > 100000 FROM pg_backend_memory_contexts WHERE name = 'membership copy'};
copy($session, 'for its memory');
is($session->query($copied), 't', 'a copy takes memory');
$session->query("INSERT INTO kept SELECT 2000000 + i FROM generate_series(1, 1000) i WHERE NOT membership_contains('kept_x', 2000000 + i)");
is($session->query($copied), 'f', 'but not when the statement has inserted');
$other->query(q{CREATE TABLE many (); BEGIN;
	DO $$ BEGIN FOR i IN 1..40 LOOP BEGIN INSERT INTO many DEFAULT VALUES; EXCEPTION WHEN division_by_zero THEN END; END LOOP; END $$});
$node->safe_psql('postgres', 'INSERT INTO kept VALUES (-5)');
is($session->query(q{SELECT count(*) FROM generate_series(1, 10000) i WHERE membership_contains('kept_x', i)}), '10000', 'beside many subtransactions');
is($session->query($copied), 'f', 'and no copy is kept that no other statement can use');
$other->query('COMMIT');
copy($session, 'for the cache');
$session->query("SET bloomfilter.cache_size = '50kB'");
is($session->query($copied), 'f', 'which a smaller setting frees');
cmp_ok(pages($session), '>', 10, 'then pages are read');
$session->query('RESET bloomfilter.cache_size');
copy($session, 'after RESET');
$other->query('DROP TABLE kept');
like($session->query("SELECT membership_contains('kept_x', 1)"), qr/ERROR/, 'a dropped index');

# A standby
$node->safe_psql('postgres', q{
	CREATE TABLE kept (x int);
	INSERT INTO kept SELECT generate_series(1, 100000);
	CREATE INDEX kept_x ON kept USING membership (x)});
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
my $reader = Session->new($standby);
between($reader, 'on a standby');

done_testing();
