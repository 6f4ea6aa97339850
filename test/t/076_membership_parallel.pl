# CREATE INDEX with parallel workers makes the same pages as without, whatever is indexed, in
# little memory, and with fewer workers than planned.  An error or a cancel in any process ends
# all, and nothing remains.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

# workers are counted in the log
my $node = start_server('parallel_build', conf => q{
autovacuum = off
log_min_messages = debug1
max_worker_processes = 8
max_parallel_workers = 8
});
my $session = Session->new($node);
my $page = $session->query('SHOW block_size');

# Run a statement, and return how many workers were started for it.
sub workers
{
	my ($sql) = @_;
	my $log = -s $node->logfile;

	is($session->query($sql), '', $sql);
	return scalar(() = slurp_file($node->logfile, $log) =~ /DEBUG:  registering background worker "parallel worker/g);
}

# An index's pages, without what writing them to the log and to disk changes
sub pages
{
	my ($index) = @_;
	my $file = $session->query("CHECKPOINT; SELECT pg_relation_filepath('$index')");

	open my $in, '<:raw', $node->data_dir . "/$file" or die "$file: $!";
	local $/;
	return join '', map { substr $_, 10 } unpack "(a$page)*", <$in>;
}

$session->query(q{
	CREATE TABLE none (x int) WITH (parallel_workers = 2);
	INSERT INTO none VALUES (NULL);
	CREATE TABLE many (x int, s text) WITH (parallel_workers = 2, fillfactor = 50);
	INSERT INTO many SELECT nullif(n % 250000, 7), n % 1000 || 'x' FROM generate_series(1, 300000) n;
	CREATE TABLE arrays (a int[]) WITH (parallel_workers = 2);
	INSERT INTO arrays SELECT array_agg(n) FROM generate_series(1, 2200000) n GROUP BY n / 1000;
	INSERT INTO arrays SELECT a FROM arrays LIMIT 500;
	SELECT set_config('test.leader', pg_backend_pid()::text, false);

	-- what the leader does now and then, or a worker
	CREATE FUNCTION acting(x int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
	BEGIN
		IF x % 100 = 1 THEN
			EXECUTE current_setting(CASE WHEN pg_backend_pid() = current_setting('test.leader')::int
				THEN 'test.leader_does' ELSE 'test.worker_does' END);
		END IF;
		RETURN x;
	END $$;
	SET test.leader_does = 'SELECT';
	SET test.worker_does = 'SELECT';
	CREATE FUNCTION unsafe(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN x; END $$});

foreach my $case ([ 'none (x)' ], [ 'many (x)' ], [ 'many (x)', '1MB' ],
	[ 'many (x) WITH (error_rate = 0.0001)', '1MB' ], [ 'many (s)', '1MB' ], [ 'many (s, x)' ],
	[ 'many ((x % 100), s)' ], [ 'many (s) WHERE x % 3 = 0' ], [ 'many (acting(x))' ],
	[ 'arrays (a array_elements_ops)', '1MB' ])
{
	my ($definition, $memory) = ($case->[0] =~ s/ / USING membership /r, $case->[1] // '1GB');
	my $serial;

	$session->query("SET max_parallel_maintenance_workers = 0; SET maintenance_work_mem = '1GB'");
	is(workers("CREATE INDEX i ON $definition"), 0, 'without workers');
	$serial = pages('i');
	$session->query("DROP INDEX i; SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '$memory'");
	is(workers("CREATE INDEX i ON $definition"), 2, "with workers, in $memory");
	ok(pages('i') eq $serial, 'the same pages');
	foreach my $had ($definition =~ /many.*\(x\)$/ ? (0, 1) : ())
	{
		$session->query("SET max_parallel_workers = $had");
		is(workers('REINDEX INDEX i'), $had, "with $had of them");
		ok(pages('i') eq $serial, 'the same pages');
		$session->query('RESET max_parallel_workers');
	}
	# with a snapshot, which excludes what is dead; and there is none
	is(workers('REINDEX INDEX CONCURRENTLY i'), 2, 'concurrently');
	ok(pages('i') eq $serial, 'the same pages');
	$session->query('DROP INDEX i');
}

foreach my $where ('many USING membership (unsafe(x))', 'many USING membership (x) WHERE unsafe(x) > 0', 'temporary USING membership (x)')
{
	$session->query('CREATE TEMPORARY TABLE IF NOT EXISTS temporary WITH (parallel_workers = 2) AS SELECT * FROM many');
	is(workers("CREATE INDEX i ON $where"), 0, 'without workers');
	$session->query('DROP INDEX i');
}

# Nor when core empties a table; then it runs no code of users, either.
$session->query('BEGIN; CREATE TABLE emptied (x int) WITH (parallel_workers = 2); CREATE INDEX ON emptied USING membership (x)');
is(workers('TRUNCATE emptied'), 0, 'without workers');
is($session->query('COMMIT; CREATE TEMPORARY TABLE committed (x int) ON COMMIT DELETE ROWS; CREATE STATISTICS committed_x ON (x + acting(1)), x FROM committed'), '', 'a table that COMMIT empties');
is($session->query('CREATE INDEX ON committed USING membership (x)'), '', 'and its index');

# Few different values take no disk
$session->query("SET temp_file_limit = '100kB'");
is(workers('CREATE INDEX i ON many USING membership ((x % 100))'), 2, 'within a limit');
$session->query('RESET temp_file_limit; DROP INDEX i');

# Workers, too, find what the transaction has inserted
$session->query(q{
	BEGIN;
	SET LOCAL test.leader_does = 'SELECT pg_sleep(1)';
	SET LOCAL test.worker_does = 'SELECT 1 / public.membership_contains(''public.own_x'', 1)::int';
	CREATE TABLE own (x int);
	CREATE INDEX own_x ON own USING membership (x);
	INSERT INTO own VALUES (1)});
is(workers('CREATE INDEX i ON many USING membership (acting(x))'), 2, 'an expression that asks an index');
$session->query('ROLLBACK');

# A row that changed after a snapshot, and is found through its old place.  A worker sees it.
my $old = Session->new($node);
$session->query("SET test.leader_does = 'SELECT pg_sleep(1)'");
foreach my $workers (0, 2)
{
	$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM many');
	$session->query("SET max_parallel_maintenance_workers = $workers; UPDATE many SET x = -x WHERE ctid = (SELECT max(ctid) FROM many)");
	is(workers($workers > 0 ? 'CREATE INDEX i ON many USING membership (acting(x))' : 'CREATE INDEX i ON many USING membership (x)'), $workers, 'a broken HOT chain');
	is($session->query("SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'i'::regclass"), 't', 'is noticed');
	$old->query('COMMIT');
	$session->query('DROP INDEX i');
}

# A composite type is altered meanwhile, and all hear of it.
$old->query('CREATE TYPE place AS (x int, y int); SELECT pg_advisory_lock(1);
	CREATE TABLE placed WITH (parallel_workers = 2) AS SELECT ROW(n, n)::place AS at, n AS x FROM generate_series(1, 20000) n');
$session->query("SET test.$_ = 'SELECT pg_advisory_xact_lock_shared(1) FROM (SELECT count(*) FROM public.none) n'") foreach qw(leader_does worker_does);
$session->start('CREATE INDEX i ON placed USING membership (at, acting(x))');
ok($session->waits($node), 'hashes of an old type');
$old->query('ALTER TYPE place ADD ATTRIBUTE z int; SELECT pg_advisory_unlock(1)');
like($session->end, qr/^ERROR:  55006/, 'and of a new one');
$old->quit;

# What fails leaves nothing, in whatever process and phase.
foreach my $fails ([ 'SELECT 1 / 0', 'SELECT pg_sleep(1)', qr/^ERROR:  22012/, 0 ],
	[ 'SELECT pg_sleep(1)', 'SELECT 1 / 0', qr/^ERROR:  22012.*^CONTEXT:.*parallel worker/ms, 0 ],
	[ 'SELECT pg_sleep(100)', 'SELECT pg_sleep(100)', qr/^ERROR:  57014/, '1s' ],
	[ 'SELECT', 'SELECT pg_sleep(100)', qr/^ERROR:  57014/, '1s' ])
{
	my ($leader_does, $worker_does, $error, $timeout) = @$fails;

	$session->query("SET test.leader_does = '$leader_does'; SET test.worker_does = '$worker_does'; SET statement_timeout = '$timeout'");
	like($session->query('CREATE INDEX i ON many USING membership (acting(x))'), $error, "$leader_does, $worker_does");
	$session->query('RESET statement_timeout');
	is($session->query("SELECT to_regclass('i')"), '', 'no index');
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'}), 'no workers');
	is($session->query('SELECT count(*) FROM pg_ls_tmpdir()'), 0, 'no files');
}

# The pages are in the log
$session->query(q{SET test.leader_does = 'SELECT'; SET test.worker_does = 'SELECT'});
is(workers('CREATE INDEX i ON many USING membership (x)'), 2, 'an index before a crash');
my $made = pages('i');
$session->query('UPDATE many SET s = s WHERE x = 1');
$session->quit;
$node->stop('immediate');
$node->start;
$session = Session->new($node);
ok(pages('i') eq $made, 'and after it');
is($session->query("SELECT membership_check('i') = count(*) FROM many"), 't', 'has all elements');
# a warning of ours shows that the log has those of the server; a statement is logged, too
$session->query(q{DO $$ BEGIN RAISE WARNING '%', 'lea' || 'k'; END $$});
is(join(', ', slurp_file($node->logfile) =~ /leak|TRAP|PANIC/g), 'leak', 'nothing else in the log');
$session->quit;
done_testing();
