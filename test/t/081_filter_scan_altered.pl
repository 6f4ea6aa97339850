# Plans with join filters that sessions keep, while others drop, rebuild and rename the
# index, and change the tables: never an error, never a lost row.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

# How many transactions each client has, while things are changed beside it, each way
my $transactions = 25;

my $node = PostgreSQL::Test::Cluster->new('altered');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
plan_cache_mode = force_generic_plan
max_parallel_workers_per_gather = 0
bloomfilter.filter_scan = force
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomfilter;
	CREATE TABLE visits (id serial, url text, listed boolean);
	INSERT INTO visits (url, listed) SELECT md5(i::text), i % 20 = 1 FROM generate_series(1, 5000) i;
	CREATE TABLE blacklist (url text, n int DEFAULT 0);
	INSERT INTO blacklist SELECT md5(i::text) FROM generate_series(1, 100000, 20) i;
	CREATE INDEX blacklist_url ON blacklist USING membership (url);
	VACUUM ANALYZE visits, blacklist;
});
my $join = 'SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)';

# ---------------------------------------------------------------- step by step
my $session = Session->new($node);
my $other = Session->new($node);
$session->query("PREPARE joined AS $join");
like($session->query('EXPLAIN (COSTS off) EXECUTE joined'), qr/Probe: url in index blacklist_url/, 'a kept plan');

# What is done elsewhere, between two executions
foreach my $done (
	'REINDEX INDEX blacklist_url',
	'REINDEX INDEX CONCURRENTLY blacklist_url',
	'REINDEX TABLE CONCURRENTLY blacklist',
	'ALTER INDEX blacklist_url RENAME TO renamed',
	'ALTER INDEX renamed RENAME TO blacklist_url',
	'CREATE INDEX CONCURRENTLY another ON blacklist USING membership (url)',
	'DROP INDEX CONCURRENTLY blacklist_url',
	'ALTER INDEX another RENAME TO blacklist_url',
	'DROP INDEX blacklist_url',
	'CREATE INDEX blacklist_url ON blacklist USING membership (url)',
	'VACUUM FULL blacklist',
	'CLUSTER blacklist USING sorted',
	'ALTER TABLE blacklist ALTER url TYPE varchar(40)',
	'ALTER TABLE visits ALTER url TYPE varchar(50)',
	'ALTER TABLE blacklist SET UNLOGGED',
	'ALTER TABLE blacklist SET LOGGED',
	'ANALYZE blacklist')
{
	$other->query('CREATE INDEX IF NOT EXISTS sorted ON blacklist (url)') if $done =~ /CLUSTER/;
	is($other->query($done), '', $done);
	is($session->query('EXECUTE joined'), '250', "after $done");
	$other->query('DROP INDEX IF EXISTS sorted');
	if ($done =~ /^DROP INDEX blacklist_url$/)
	{
		unlike($session->query('EXPLAIN EXECUTE joined'), qr/Filter Scan/, 'without the index');
	}
	else
	{
		like($session->query('EXPLAIN EXECUTE joined'), qr/Filter Scan/, "after $done: the plan");
	}
}

# In a transaction that goes on: a query that has begun, and one that is begun while the
# index is on its way out
foreach my $done ('REINDEX INDEX CONCURRENTLY blacklist_url', 'DROP INDEX CONCURRENTLY blacklist_url')
{
	foreach my $isolation ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
	{
		$session->query("BEGIN ISOLATION LEVEL $isolation");
		$session->query("DECLARE c CURSOR FOR SELECT v.id FROM visits v JOIN blacklist b USING (url)");
		is($session->query('FETCH 5 FROM c') =~ tr/\n//, 4, "$done, $isolation: a cursor");
		is($session->query('EXECUTE joined'), '250', "$done, $isolation: before");
		$other->start($done);
		ok($other->waits($node), "$done, $isolation: it waits");
		is($session->query('EXECUTE joined'), '250', "$done, $isolation: while it waits");
		is($session->query($join), '250', "$done, $isolation: planned anew");
		# a batch of the cursor's rows from before, the rest from after
		is(($session->query('FETCH ALL FROM c') =~ tr/\n//) + 1, 245, "$done, $isolation: the cursor's other rows");
		is($session->query("INSERT INTO visits (url, listed) VALUES ('own', true) RETURNING 1; INSERT INTO blacklist VALUES ('own') RETURNING 1; EXECUTE joined"), "1\n1\n251", "$done, $isolation: own rows");
		is($session->query('ROLLBACK'), '', "$done, $isolation: rolled back");
		is($other->end, '', "$done, $isolation: done");
		is($session->query('EXECUTE joined'), '250', "$done, $isolation: after");
		$other->query('CREATE INDEX IF NOT EXISTS blacklist_url ON blacklist USING membership (url)');
	}
}

# A plan of an index that this transaction makes, drops, and gets back
$session->query('BEGIN; DROP INDEX blacklist_url');
is($session->query('EXECUTE joined'), '250', 'dropped here');
$session->query('ROLLBACK');
is($session->query('EXECUTE joined'), '250', 'and not');
like($session->query('EXPLAIN EXECUTE joined'), qr/Filter Scan/, 'the index is there');
$session->query('BEGIN; SAVEPOINT s; REINDEX INDEX blacklist_url');
is($session->query('EXECUTE joined'), '250', 'rebuilt here');
$session->query('ROLLBACK TO s');
is($session->query('EXECUTE joined'), '250', 'and not');
$session->query("INSERT INTO blacklist SELECT url FROM visits WHERE id = 2");
is($session->query('EXECUTE joined'), '251', 'with an insertion');
$session->query('ROLLBACK');

# A snapshot that is older than the index, and sees rows that are not in it
foreach my $isolation ('REPEATABLE READ', 'SERIALIZABLE')
{
	$session->query("BEGIN ISOLATION LEVEL $isolation; SELECT 1");
	$other->query("DELETE FROM blacklist WHERE url IN (SELECT url FROM visits WHERE id <= 100); REINDEX INDEX blacklist_url");
	is($other->query($join), '245', "$isolation: rows are deleted, and the index rebuilt");
	is($session->query('EXECUTE joined'), '250', "$isolation: an older snapshot has them, by a kept plan");
	is($session->query($join), '250', "$isolation: and by a new one");
	$session->query('COMMIT');
	is($session->query('EXECUTE joined'), '245', "$isolation: a new snapshot has not");
	$other->query("INSERT INTO blacklist SELECT url FROM visits WHERE listed AND id <= 100");
	is($session->query('EXECUTE joined'), '250', "$isolation: until they come back");
}

# An open cursor, while a subtransaction fails that has used the index, or built another
$session->query("BEGIN; DECLARE c CURSOR FOR SELECT v.id FROM visits v WHERE membership_contains('blacklist_url', url) AND listed");
is($session->query('FETCH 5 FROM c') =~ tr/\n//, 4, 'a cursor');
$session->query("SAVEPOINT s; SELECT count(*) FROM visits WHERE membership_contains('blacklist_url', url); INSERT INTO blacklist VALUES ('gone')");
is($session->query('FETCH 5 FROM c') =~ tr/\n//, 4, 'in a subtransaction');
like($session->query("SELECT 1 / count(*) FROM visits WHERE membership_contains('blacklist_url', url) AND id < 0"), qr/division by zero/, 'which fails');
$session->query('ROLLBACK TO s; CREATE INDEX another ON blacklist USING membership (url); ROLLBACK TO s');
is(($session->query('FETCH ALL FROM c') =~ tr/\n//) + 1, 240, "the cursor's other rows");
$session->query('COMMIT');

# Without the right to read the other table, the executor says so, as ever
$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN; GRANT SELECT ON visits, blacklist TO reader');
my $reader = Session->new($node, 'reader');
$reader->query("PREPARE joined AS $join");
is($reader->query('EXECUTE joined'), '250', 'a user');
$node->safe_psql('postgres', 'REVOKE SELECT ON blacklist FROM reader');
like($reader->query('EXECUTE joined'), qr/42501: permission denied for table blacklist/, 'who may not any more');
$node->safe_psql('postgres', 'GRANT SELECT ON blacklist TO reader; CREATE POLICY none ON blacklist USING (false); ALTER TABLE blacklist ENABLE ROW LEVEL SECURITY');
is($reader->query('EXECUTE joined'), '0', 'to whom a policy shows no rows');
unlike($reader->query('EXPLAIN EXECUTE joined'), qr/Filter Scan/, 'is told nothing by a plan');
$node->safe_psql('postgres', 'ALTER TABLE blacklist DISABLE ROW LEVEL SECURITY');
is($reader->query('EXECUTE joined'), '250', 'until it does');
$reader->quit;
$_->quit foreach $session, $other;

# ---------------------------------------------------------------- all at once
# Each visit that is listed has its entry, put there by the same transaction: a query
# that misses one divides by zero.
my $query = $node->basedir . '/query.sql';
append_to_file($query, q{
SELECT 1 / (count(*) = count(*) FILTER (WHERE listed))::int FROM visits v WHERE EXISTS (SELECT FROM blacklist b WHERE b.url = v.url);
SELECT 1 / ((SELECT count(*) FROM visits WHERE listed) = (SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)))::int;
SELECT 1 / ((SELECT count(*) FROM visits WHERE listed) = (SELECT count(*) FROM visits v JOIN blacklist b ON b.url = v.url))::int;
});
my $write = $node->basedir . '/write.sql';
append_to_file($write, q{
\set a random(1, 1000000000)
\set b random(1, 1000000000)
WITH added AS (INSERT INTO blacklist VALUES (md5('new' || :a || ' ' || :b)) RETURNING url)
INSERT INTO visits (url, listed) SELECT url, true FROM added;
INSERT INTO visits (url, listed) VALUES (md5('other' || :a || ' ' || :b), false);
BEGIN;
INSERT INTO blacklist VALUES (md5('late' || :a || ' ' || :b));
SAVEPOINT s;
INSERT INTO blacklist VALUES (md5('gone' || :a || ' ' || :b));
ROLLBACK TO s;
INSERT INTO visits (url, listed) VALUES (md5('gone' || :a || ' ' || :b), false), (md5('late' || :a || ' ' || :b), true);
COMMIT;
WITH gone AS (SELECT url FROM visits WHERE listed ORDER BY id DESC LIMIT 1 OFFSET 20 FOR UPDATE SKIP LOCKED),
	unlisted AS (DELETE FROM blacklist b USING gone WHERE b.url = gone.url RETURNING b.url)
DELETE FROM visits v USING unlisted u WHERE u.url = v.url;
});
foreach my $way (
	[ 'REINDEX', 'REINDEX INDEX blacklist_url' ],
	[ 'REINDEX CONCURRENTLY', 'REINDEX INDEX CONCURRENTLY blacklist_url' ],
	[ 'DROP and CREATE', 'BEGIN; DROP INDEX blacklist_url; CREATE INDEX blacklist_url ON blacklist USING membership (url); COMMIT' ],
	[ 'CONCURRENTLY', 'DROP INDEX CONCURRENTLY blacklist_url', 'CREATE INDEX CONCURRENTLY blacklist_url ON blacklist USING membership (url)' ],
	[ 'VACUUM, RENAME', 'VACUUM blacklist', 'ALTER INDEX blacklist_url RENAME TO renamed', 'ANALYZE visits', 'ALTER INDEX renamed RENAME TO blacklist_url' ])
{
	my ($what, @statements) = @$way;
	my %out;
	my @clients = map {
		my ($name, $file, $clients, $isolation) = @$_;
		my $log = \$out{$name};
		IPC::Run::start(
			# a thread waits while it prepares a statement, for all of its clients
			[ 'pgbench', '-n', '-M', 'prepared', '-t', $transactions, '-c', $clients, '-j', $clients, '-f', $file,
				'-d', $node->connstr('postgres') . " options='-c default_transaction_isolation=$isolation'" ],
			'>&', $log)
	} ([ 'queries', $query, 2, 'read\\\\ committed' ], [ 'repeatable', $query, 1, 'repeatable\\\\ read' ], [ 'writes', $write, 2, 'read\\\\ committed' ]);
	my $rounds = 0;
	my $failed = '';

	# until all clients have ended
	do
	{
		foreach my $statement (@statements)
		{
			my ($status, $stdout, $stderr) = $node->psql('postgres', $statement);

			$failed .= $stderr if $status != 0;
		}
		$rounds++;
	} while (grep { $_->pumpable && ($_->pump_nb, $_->pumpable) } @clients);
	$_->finish foreach @clients;
	is($failed, '', "$what: done");
	note("$what: $rounds times");
	like($out{$_}, qr{^number of transactions actually processed: (\d+)/\1$}m, "$what: $_") || diag($out{$_}) foreach sort keys %out;
	is($node->safe_psql('postgres', "SELECT (SELECT count(*) FROM visits WHERE listed) = (SELECT count(*) FROM visits JOIN blacklist USING (url)), membership_check('blacklist_url') >= 5000"), 't|t', "$what: in the end");
}

$node->stop;
done_testing();
