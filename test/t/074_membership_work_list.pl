# The view of docs/operations.md that lists what to REINDEX: beside indexes that nobody
# can read here, and by whoever monitors the server.  Its commands run, and mend what
# it lists.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my ($view) = slurp_file("$FindBin::RealBin/../../docs/operations.md") =~ /^(CREATE VIEW membership_work .*?;)$/ms;
my $node = start_server('work_list', conf => 'allow_system_table_mods = on');
my $session = Session->new($node);
my $other = Session->new($node);

sub work_is
{
	my ($expected, $when) = @_;

	is($session->query('SELECT * FROM membership_work ORDER BY command'), $expected, $when);
}

sub has_no_row
{
	my ($index, $when) = @_;

	is($session->query("SELECT count(*) FROM membership_info($index)"), '0', "no row: $when");
}

is($session->query($view), '', 'the view');
$session->query(q{
	CREATE TABLE kept (x int);
	INSERT INTO kept SELECT generate_series(1, 1000);
	CREATE INDEX kept_x ON kept USING membership (x);
	CREATE INDEX kept_btree ON kept (x)});
is($session->query("SELECT index, layers FROM membership_info('kept_x')"), 'kept_x|1', 'a row');
work_is('', 'nothing to do');

# ---------------------------------------------------------------- what cannot be read
# a table whose rows are elsewhere, as Citus's catalog says
$session->query(q{
	CREATE TABLE spread (x int);
	CREATE INDEX spread_x ON spread USING membership (x);
	CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL);
	INSERT INTO pg_dist_partition VALUES ('spread')});
has_no_row("'spread_x'", 'of a distributed table');

# another session's
$other->query('CREATE TEMP TABLE passing (x int); CREATE INDEX passing_x ON passing USING membership (x)');
my $passing = $other->query("SELECT 'passing_x'::regclass::oid");
is($other->query("SELECT count(*) FROM membership_info($passing)"), '1', 'a temporary index');
has_no_row($passing, 'of another session');

# one that has been dropped since the catalog was read
$session->query('CREATE INDEX gone ON kept USING membership (x)');
my $gone = $session->query("SELECT 'gone'::regclass::oid");
$session->query('DROP INDEX gone');
has_no_row($gone, 'dropped');

# failed builds
$session->query('CREATE TABLE odd (x int); INSERT INTO odd VALUES (0), (1), (2)');
like($session->query('CREATE INDEX CONCURRENTLY odd_x ON odd USING membership ((6 / x))'), qr/division by zero/, 'a build fails');
like($session->query('REINDEX INDEX CONCURRENTLY odd_x'), qr/division by zero/, 'and is tried again');
has_no_row("'odd_x'", 'not valid');
has_no_row("'odd_x_ccnew'", 'not valid either');
work_is(
	"DROP INDEX CONCURRENTLY odd_x_ccnew; -- not valid\n"
	  . 'REINDEX INDEX CONCURRENTLY odd_x; -- not valid', 'what failed is listed');

# while an index is being built, it is not valid either
$other->query('BEGIN; DELETE FROM odd WHERE x = 0');
my $third = Session->new($node);
$third->start('CREATE INDEX CONCURRENTLY odd_plain ON odd USING membership (x)');
ok($third->waits($node), 'a build waits');
work_is('', 'its table is left alone');
$other->query('COMMIT');
is($third->end, '', 'the build ends');

# partitions that are elsewhere, or lack an index
$session->query(q{
	CREATE TABLE parted (x int) PARTITION BY LIST (x);
	CREATE TABLE near PARTITION OF parted FOR VALUES IN (1);
	CREATE INDEX parted_x ON parted USING membership (x);
	CREATE INDEX lacking ON ONLY parted USING membership (x);
	CREATE FOREIGN DATA WRAPPER elsewhere;
	CREATE SERVER elsewhere FOREIGN DATA WRAPPER elsewhere;
	CREATE FOREIGN TABLE far PARTITION OF parted FOR VALUES IN (2) SERVER elsewhere});
is($session->query("SELECT index FROM membership_info('parted_x')"), 'near_x_idx', 'the partition that is here');
has_no_row("'lacking'", 'a partition without the index');

# ---------------------------------------------------------------- rules that have changed
# ICU is not replaced here: the catalog says that the index was made by another version
$session->query(q{
	CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	CREATE COLLATION strict (provider = icu, locale = 'und-u-ks-level2');
	CREATE TABLE words (loose text COLLATE loose, strict text COLLATE strict);
	CREATE INDEX words_loose ON words USING membership (loose);
	CREATE INDEX words_both ON words USING membership (strict, loose);
	CREATE INDEX words_strict ON words USING membership (strict);
	CREATE TABLE failures AS SELECT * FROM membership_work});
$session->query(q{UPDATE pg_collation SET collversion = '0' WHERE collname IN ('loose', 'strict')});
my $changed = 'SELECT * FROM membership_work EXCEPT SELECT * FROM failures ORDER BY command';
is( $session->query($changed),
	"REINDEX INDEX CONCURRENTLY words_both; -- rules of its collation changed\n"
	  . 'REINDEX INDEX CONCURRENTLY words_loose; -- rules of its collation changed',
	'indexes under a nondeterministic collation are listed');
$session->query('REINDEX TABLE words; ALTER COLLATION loose REFRESH VERSION; ALTER COLLATION strict REFRESH VERSION');
is($session->query($changed), '', 'until the version is that of the rules');

# ---------------------------------------------------------------- what may not be read
$session->query(q{
	CREATE ROLE watcher;
	GRANT pg_monitor TO watcher;
	CREATE ROLE stranger;
	GRANT SELECT ON membership_work TO watcher, stranger;
	ALTER TABLE kept ENABLE ROW LEVEL SECURITY});
$session->query('SET ROLE watcher');
is($session->query("SELECT index, layers FROM membership_info('kept_x')"), 'kept_x|1', 'pg_monitor, in spite of row-level security');
like($session->query("SELECT membership_contains('kept_x', 1)"), qr/42501/, 'which may not look elements up');
work_is(
	"DROP INDEX CONCURRENTLY odd_x_ccnew; -- not valid\n"
	  . 'REINDEX INDEX CONCURRENTLY odd_x; -- not valid', 'sees the list');
$session->query('SET ROLE stranger');
like($session->query("SELECT membership_info('kept_x')"), qr/42501: permission denied for table kept/, 'others may not');
like($session->query('SELECT * FROM membership_work'), qr/42501: permission denied for table/, 'nor see the list');
$session->query('RESET ROLE');
like($session->query("SELECT membership_info('kept_btree')"), qr/42809/, 'another access method');
like($session->query("SELECT membership_info('kept')"), qr/42809/, 'no index');

# ---------------------------------------------------------------- the work
$session->query(q{
	CREATE TABLE "many layers" (x int) WITH (autovacuum_enabled = off);
	CREATE INDEX ON "many layers" USING membership (x) WITH (capacity = 1000);
	INSERT INTO "many layers" SELECT generate_series(1, 30000);
	CREATE TABLE emptied (x int) WITH (autovacuum_enabled = off);
	CREATE INDEX emptied_x ON emptied USING membership (x);
	INSERT INTO emptied SELECT generate_series(1, 1000);
	DELETE FROM emptied WHERE x > 500;
	CREATE TABLE failed (x int);
	CREATE FUNCTION part(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		RETURN x / coalesce(current_setting('part.divisor', true), '1')::int;
	END $$;
	CREATE INDEX failed_x ON failed USING membership (public.part(x)) WITH (capacity = 1000);
	INSERT INTO failed SELECT generate_series(1, 30000);
	CREATE TABLE imprecise (x int) WITH (autovacuum_enabled = off);
	CREATE INDEX imprecise_x ON imprecise USING membership (x) WITH (capacity = 1000, growth = 1, error_rate = 0.001);
	INSERT INTO imprecise SELECT generate_series(1, 20000)});
$session->query('VACUUM emptied');
# of a valid index with the same definition, nothing is told
$session->query("SET part.divisor = '0'");
like($session->query('REINDEX INDEX CONCURRENTLY failed_x'), qr/division by zero/, 'a valid index is rebuilt in vain');
$session->query("SET part.divisor = '1'");
my $work = $session->query('SELECT * FROM membership_work ORDER BY command');
like($work, $_, "the list has $_") foreach
  qr/^DROP INDEX CONCURRENTLY odd_x_ccnew; -- not valid$/m,
  qr/^REINDEX INDEX CONCURRENTLY odd_x; -- not valid$/m,
  qr/^DROP INDEX CONCURRENTLY failed_x_ccnew; -- not valid$/m,
  qr/^REINDEX INDEX CONCURRENTLY failed_x; -- \d+ layers$/m,
  qr/^REINDEX INDEX CONCURRENTLY "many layers_x_idx"; -- \d+ layers$/m,
  qr/^REINDEX INDEX CONCURRENTLY emptied_x; -- \d+ of \d+ elements are dead$/m,
  qr/^REINDEX INDEX CONCURRENTLY imprecise_x; -- \d+ layers, error rate 0\.001\d+$/m;
is(($work =~ tr/\n//) + 1, 7, 'and no more');
is($node->safe_psql('postgres', 'SELECT * FROM membership_work \gexec'), '', 'it is done');
work_is('', 'and nothing is left to do');
is($session->query("SELECT membership_check('odd_x'), membership_check('emptied_x')"), '2|500', 'indexes are valid');

$_->quit foreach $session, $other, $third;
$node->stop;
done_testing();
