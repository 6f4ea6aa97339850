# The filters that a session keeps from statement to statement, while other
# sessions change, remove and rewrite them: it always answers from the one that
# the statement sees.  Also when a new value has the OID, the place and the size
# of one that the session has kept; and on a standby.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('main', init => [ allows_streaming => 1 ],
	conf => "autovacuum = off\nshared_buffers = 2MB\nmax_prepared_transactions = 2\n");

# Filters of 100,000 elements' size, each with the numbers of one class modulo 100.
# A value's OID is given to the next value that is stored.
$node->safe_psql('postgres', q{
	CREATE FUNCTION of_class(class int) RETURNS bloom LANGUAGE sql AS $$
		SELECT bloom_add_all(bloom_create(100000), array_agg(i)) FROM generate_series(class, 100000, 100) AS i $$;
	CREATE FUNCTION classes_in(filter bloom) RETURNS int[] LANGUAGE sql AS $$
		SELECT array_agg(DISTINCT i % 100 ORDER BY i % 100) FROM generate_series(0, 99) AS i
		WHERE bloom_contains_all(filter, ARRAY(SELECT i + 100 * j FROM generate_series(1, 9) AS j)) $$;
	CREATE TABLE filters (f bloom);
	INSERT INTO filters VALUES (of_class(1));
});
my $see = 'SELECT classes_in(f) FROM filters';

# the numbers that some session sees in the filter
sub sees
{
	my ($session, $expected, $what) = @_;

	is($session->query($see), $expected, $what);
}

my $reader = Session->new($node);
my $writer = Session->new($node);
sees($reader, '{1}', 'before any change');

# What commits, what does not, and when
$writer->query('BEGIN; UPDATE filters SET f = of_class(2)');
sees($reader, '{1}', 'not committed');
sees($writer, '{2}', 'its own change');
$writer->query('COMMIT');
sees($reader, '{2}', 'committed');
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
sees($reader, '{2}', 'an old snapshot, before');
$writer->query('UPDATE filters SET f = of_class(3)');
$writer->query('VACUUM filters');
sees($reader, '{2}', 'an old snapshot, after');
sees($writer, '{3}', 'a new one');
$reader->query('COMMIT');
sees($reader, '{3}', 'after its end');

$writer->query(q{BEGIN; UPDATE filters SET f = of_class(4); PREPARE TRANSACTION 'two'});
sees($reader, '{3}', 'prepared');
$writer->query(q{COMMIT PREPARED 'two'});
sees($reader, '{4}', 'a prepared one is committed');
$writer->query(q{BEGIN; UPDATE filters SET f = of_class(5); PREPARE TRANSACTION 'two'; ROLLBACK PREPARED 'two'});
sees($reader, '{4}', 'a prepared one is rolled back');

# Other files with the same values, while the reader has kept them
foreach my $rewrite ('VACUUM FULL filters', 'ALTER TABLE filters ADD COLUMN n int DEFAULT random()')
{
	$writer->query($rewrite);
	sees($reader, '{4}', $rewrite);
}
$writer->query('TRUNCATE filters; INSERT INTO filters VALUES (of_class(6))');
sees($reader, '{6}', 'TRUNCATE');
$writer->query('BEGIN; TRUNCATE filters; INSERT INTO filters VALUES (of_class(7)); ROLLBACK');
sees($reader, '{6}', 'TRUNCATE, rolled back');
$writer->query('DROP TABLE filters; CREATE TABLE filters (f bloom); INSERT INTO filters VALUES (of_class(8))');
sees($reader, '{8}', 'DROP');

# A cursor reads what it saw, while the session keeps the newer one as well
$reader->query('BEGIN; DECLARE c CURSOR FOR SELECT classes_in(f) FROM filters, generate_series(1, 3)');
is($reader->query('FETCH c'), '{8}', 'a cursor, before');
$writer->query('UPDATE filters SET f = of_class(9)');
is($reader->query('FETCH c'), '{8}', 'a cursor, after');
sees($reader, '{9}', 'beside it');
is($reader->query('FETCH c'), '{8}', 'a cursor, then');
$reader->query('COMMIT');

# Pages that have left shared buffers: the value is looked up by the index
$writer->query('CREATE TABLE large (t text)');
my $other_pages = q{INSERT INTO large SELECT repeat('x', 1000) FROM generate_series(1, 5000); SELECT count(*) > 0 FROM large; TRUNCATE large};
$writer->query($other_pages);
sees($reader, '{9}', 'after many other pages');
$writer->query('UPDATE filters SET f = of_class(10)');
sees($reader, '{10}', 'changed after that');

# ---------------------------------------------------------------- one OID, two values

# OIDs are given again when their counter has gone round, after four billion.  So
# that this happens today, a function sets the counter.
my $include = $node->config_data('--includedir-server');
my $folder = PostgreSQL::Test::Utils::tempdir();
my $helper = "$folder/next_oid";
open(my $source, '>', "$helper.c") or die "$helper.c: $!";
print $source <<'END';
#include "postgres.h"
#include "access/transam.h"
#include "fmgr.h"
#include "storage/lwlock.h"

PG_MODULE_MAGIC;
#if PG_VERSION_NUM >= 170000
#define counter TransamVariables
#else
#define counter ShmemVariableCache
#endif
PG_FUNCTION_INFO_V1(set_next_oid);

Datum
set_next_oid(PG_FUNCTION_ARGS)
{
	LWLockAcquire(OidGenLock, LW_EXCLUSIVE);
	counter->nextOid = PG_GETARG_OID(0);
	counter->oidCount = 0;
	LWLockRelease(OidGenLock);
	PG_RETURN_VOID();
}
END
close($source);
my $compiled = system('cc', '-fPIC', '-shared', "-I$include", '-o', "$helper.so", "$helper.c") == 0;

SKIP:
{
	skip 'there is no C compiler', 17 unless $compiled;

	chmod 0755, $folder;
	$node->safe_psql('postgres', qq{CREATE FUNCTION set_next_oid(oid) RETURNS void STRICT LANGUAGE C AS '$helper'});
	my $toast = $node->safe_psql('postgres', q{SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'filters'});
	my $place = "SELECT chunk_id, ctid FROM $toast WHERE chunk_seq = 0";

	# removed, and another one in its place: only the writer of the chunk differs
	$writer->query('TRUNCATE filters; INSERT INTO filters VALUES (of_class(20))');
	my $before = $writer->query($place);
	my ($oid) = split /\|/, $before;
	sees($reader, '{20}', 'an OID, for the first value');
	$writer->query("DELETE FROM filters; VACUUM filters; SELECT set_next_oid($oid); INSERT INTO filters VALUES (of_class(21))");
	is($writer->query($place), $before, 'the next one has its OID and its place');
	sees($reader, '{21}', 'an OID, for the next value');

	# in another place
	$writer->query('DELETE FROM filters; VACUUM filters; INSERT INTO filters SELECT of_class(30); DELETE FROM filters');
	$writer->query("SELECT set_next_oid($oid); INSERT INTO filters VALUES (of_class(22))");
	isnt($writer->query($place), $before, 'another place');
	sees($reader, '{22}', 'the same OID in another place');

	# stored by a subtransaction that aborts, and again: the session's own
	$writer->query('DELETE FROM filters; VACUUM filters');
	my $result = $reader->query(qq{
		BEGIN;
		SAVEPOINT a;
		SELECT set_next_oid($oid);
		INSERT INTO filters VALUES (of_class(23));
		$see;
		ROLLBACK TO a;
		COMMIT;
		VACUUM filters;
		SELECT set_next_oid($oid);
		INSERT INTO filters VALUES (of_class(24));
		$see
	});
	is($result =~ s/^\n+//mgr, "{23}\n{24}", 'after a subtransaction has aborted');

	# removed, and still in its page, but no longer in the index: so its OID is free
	$writer->query("DELETE FROM filters; REINDEX TABLE $toast; SELECT set_next_oid($oid); INSERT INTO filters VALUES (of_class(27))");
	like($writer->query($place), qr/^$oid\|/, 'an OID that no index entry has');
	sees($reader, '{27}', 'removed and indexed again');
	# the same of one that was stored by a transaction that aborts
	$result = $reader->query(qq{
		TRUNCATE filters;
		BEGIN;
		SELECT set_next_oid($oid);
		INSERT INTO filters VALUES (of_class(28));
		$see;
		ROLLBACK;
		REINDEX TABLE $toast;
		SELECT set_next_oid($oid);
		INSERT INTO filters VALUES (of_class(29));
		$see
	});
	is($result =~ s/^\n+//mgr, "{28}\n{29}", 'rolled back and indexed again');

	# a command of the same transaction that is no query, with a snapshot of its own
	$reader->query('BEGIN');
	sees($reader, '{29}', 'in a transaction');
	$writer->query("DELETE FROM filters; VACUUM filters; SELECT set_next_oid($oid); INSERT INTO filters VALUES (of_class(24))");
	is($reader->query('ALTER TABLE filters ADD CHECK (bloom_contains_all(f, ARRAY[124, 224, 324, 424, 524])); ROLLBACK'),
		'', 'a command that checks rows');

	# the same place by the same transaction; so empty that the beginnings are alike
	$result = $writer->query(qq{
		BEGIN;
		CREATE TABLE own AS SELECT bloom_add(bloom_create(100000), 1) AS f;
		SELECT bloom_contains_all(f, ARRAY(SELECT 1 FROM generate_series(1, 1000))) FROM own;
		SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE relname = 'own' \\gset
		SELECT chunk_id AS oid FROM :toast LIMIT 1 \\gset
		TRUNCATE own;
		SELECT set_next_oid(:oid);
		INSERT INTO own VALUES (bloom_add(bloom_create(100000), 2));
		SELECT bloom_contains_each(f, ARRAY[1, 2]) FROM own;
		ROLLBACK
	});
	is($result =~ s/^\n+//mgr, "t\n{f,t}", 'truncated by the transaction that has made the table');

	# while the page of the first chunk has left its buffer
	sees($reader, '{24}', 'kept');
	$writer->query("DELETE FROM filters; VACUUM filters; $other_pages; SELECT set_next_oid($oid); INSERT INTO filters VALUES (of_class(25)); $other_pages");
	sees($reader, '{25}', 'changed again');

	# in a query that still sees the first one
	$reader->query("BEGIN; DECLARE c CURSOR FOR SELECT classes_in(f) FROM filters, generate_series(1, 3)");
	is($reader->query('FETCH c'), '{25}', 'a cursor holds the value');
	$writer->query("DELETE FROM filters; VACUUM filters; SELECT set_next_oid($oid); INSERT INTO filters VALUES (of_class(26))");
	is($reader->query('FETCH c'), '{25}', 'its OID is not given to another');
	sees($reader, '{26}', 'which has another OID');
	$reader->query('COMMIT');
	$writer->query('DROP FUNCTION set_next_oid');
}

# ---------------------------------------------------------------- a standby

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = 0');
$standby->start;
my $away = Session->new($standby);
my $class = 50;
foreach my $change ('UPDATE filters SET f = of_class(%d)',
	'DELETE FROM filters; VACUUM filters; INSERT INTO filters VALUES (of_class(%d))',
	'TRUNCATE filters; INSERT INTO filters VALUES (of_class(%d))',
	'UPDATE filters SET f = of_class(%d); VACUUM FULL filters',
	'DROP TABLE filters; CREATE TABLE filters AS SELECT of_class(%d) AS f')
{
	$class++;
	$node->safe_psql('postgres', $_) foreach split /; /, sprintf($change, $class);
	$node->wait_for_catchup($standby);
	sees($away, "{$class}", "on a standby: $change");
	sees($away, "{$class}", 'and again');
}
$standby->promote;
sees($away, "{$class}", 'after its promotion');
$away->query('UPDATE filters SET f = of_class(70)');
sees($away, '{70}', 'and a change of its own');

done_testing();
