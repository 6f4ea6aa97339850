# A session releases what it caches of a membership index in time: no snapshot is held
# longer than its query, no lock is released before the pending insertions are written,
# and changes by user code meanwhile are noticed.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('lifetimes');
my $session = Session->new($node);
my $other = Session->new($node);

is( $session->query(q{
	CREATE TABLE kept (x int);
	INSERT INTO kept SELECT generate_series(1, 1000);
	CREATE INDEX kept_x ON kept USING membership (x);
	CREATE FUNCTION there(i int) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
	BEGIN RETURN membership_contains('kept_x', i); END $$;
	CREATE FUNCTION add(i int) RETURNS int LANGUAGE plpgsql AS $$
	BEGIN
		IF i % 1000 = 2 THEN RAISE EXCEPTION 'no %', i; END IF;
		INSERT INTO kept VALUES (i);
		RETURN i;
	END $$;
	CREATE PROCEDURE tell(b boolean, INOUT o int) LANGUAGE plpgsql AS $$ BEGIN o := 5; END $$;
	CREATE PROCEDURE hear(b boolean) LANGUAGE plpgsql AS $$ BEGIN END $$;
	CREATE FUNCTION calls() RETURNS void LANGUAGE sql AS $$ CALL hear(there(5)); SELECT $$;
	CREATE FUNCTION changes() RETURNS boolean LANGUAGE sql AS $$
		SELECT there(5); INSERT INTO kept VALUES (5000); SELECT there(5000) $$;
	CREATE RULE also AS ON UPDATE TO kept DO ALSO (SELECT there(new.x); DELETE FROM kept WHERE x = 4999; SELECT there(new.x));
	PREPARE q AS SELECT there(x) FROM kept LIMIT 3}),
	'', 'a table and functions');

# Snapshots: after each of these a transaction holds none, though the call of
# PL/pgSQL's simple expression lives to its end
sub holds_nothing
{
	my ($what, @commands) = @_;

	$session->query('BEGIN');
	$session->query($_) foreach @commands;
	is( $other->query("SELECT backend_xmin IS NULL FROM pg_stat_activity WHERE pid = $session->{pid}"),
		't', "$what: no snapshot is held");
	is($session->query('COMMIT'), '', "$what: committed");
}
holds_nothing('a query', 'SELECT there(x) FROM kept LIMIT 3');
holds_nothing('EXECUTE', 'EXECUTE q');
holds_nothing('EXPLAIN', 'EXPLAIN SELECT * FROM kept WHERE there(x) = there(5)');
holds_nothing('CALL', 'CALL tell(there(5), NULL)');
holds_nothing('CALL within a function', 'SELECT calls()');
holds_nothing('a function of several statements', 'SELECT changes()');
holds_nothing('a rule of several statements', 'UPDATE kept SET x = x WHERE x < 4');
holds_nothing('a query that failed', 'SAVEPOINT s', 'SELECT there(x), 1 / (500 - x) FROM kept', 'ROLLBACK TO s');
holds_nothing('a cursor that failed',
	"DECLARE c CURSOR FOR SELECT membership_contains('kept_x', i), 1 / (2 - i) FROM generate_series(1, 3) i",
	'FETCH c', 'SAVEPOINT s', 'FETCH c', 'ROLLBACK TO s');

# and not once it has ended, where a catalog's snapshot cannot hide it
$session->query('CREATE TABLE dummy ()');
$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
$session->query('SAVEPOINT s; SELECT there(x), 1 / (500 - x) FROM kept');
$session->query('ROLLBACK TO s; DROP TABLE dummy; COMMIT');
is($other->query("SELECT backend_xmin IS NULL FROM pg_stat_activity WHERE pid = $session->{pid}"),
	't', 'a transaction that ended holds no snapshot');

# Locks: those of a cursor that fails go with a later subtransaction, what it has
# inserted before stays
$session->query('BEGIN; DECLARE c CURSOR FOR SELECT add(7000 + i) FROM generate_series(1, 3) i; FETCH c');
$session->query('SAVEPOINT s');
like($session->query('FETCH c'), qr/no 7002/, 'a cursor fails');
$session->query('ROLLBACK TO s');
is( $other->query("SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND relation = 'kept_x'::regclass AND mode = 'RowExclusiveLock'"),
	'1', 'the index is still locked');
$other->start('REINDEX INDEX kept_x');
ok($other->waits($node), 'REINDEX waits');
is($session->query('COMMIT'), '', 'the transaction commits');
$other->end;
is($session->query("SELECT membership_contains('kept_x', 7001), membership_check('kept_x') = (SELECT count(*) FROM kept)"),
	't|t', 'and its row is in the index');

# User code: a type whose hash function does what a setting says
is( $session->query(q{
	SET client_min_messages = warning;
	CREATE FUNCTION hash(i int4, seed bigint) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		what text := current_setting('my.what', true);
	BEGIN
		PERFORM set_config('my.what', '', true);
		IF what <> '' THEN
			EXECUTE what;
			PERFORM set_config('my.what', what, true);
		END IF;
		RETURN hashint4extended(i, seed);
	END $$;
	CREATE TYPE own;
	CREATE FUNCTION own_in(cstring) RETURNS own LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
	CREATE FUNCTION own_out(own) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
	CREATE TYPE own (INPUT = own_in, OUTPUT = own_out, LIKE = int4);
	CREATE CAST (own AS int4) WITHOUT FUNCTION;
	CREATE FUNCTION own_eq(own, own) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
	CREATE FUNCTION own_hash(own) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint4';
	CREATE FUNCTION own_hash(own, bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT public.hash($1::int4, $2) $$;
	CREATE OPERATOR = (LEFTARG = own, RIGHTARG = own, FUNCTION = own_eq, HASHES);
	CREATE OPERATOR CLASS own_ops DEFAULT FOR TYPE own USING hash AS
		OPERATOR 1 = (own, own), FUNCTION 1 own_hash(own), FUNCTION 2 own_hash(own, bigint);
	CREATE OPERATOR CLASS own_members DEFAULT FOR TYPE own USING membership AS OPERATOR 1 = (own, own);
	CREATE TABLE owns (x own);
	INSERT INTO owns VALUES ('1'), ('2');
	CREATE INDEX owns_x ON owns USING membership (x)}),
	'', 'a type of its own');
$session->query("SET my.what = 'REINDEX INDEX public.owns_x'");
is($session->query("SELECT membership_contains('owns_x', i::text::own) FROM generate_series(1, 2) i"), "t\nt", 'an index rebuilt while elements are hashed for it');
is($session->query("SELECT membership_contains_each('owns_x', ARRAY['1', '2']::own[])"), '{t,t}', 'and with an array');

# an index that is being rebuilt has no pages, while hashing looks elements up elsewhere
$session->query("SET my.what = ''; BEGIN; INSERT INTO owns VALUES ('3')");
$session->query(q{SET my.what = 'SELECT public.membership_contains(''public.kept_x'', 1)'});
is($session->query('REINDEX INDEX owns_x'), '', 'REINDEX, whose hashing probes another index');
is($session->query(q{SET my.what = ''; SELECT membership_contains_each('owns_x', ARRAY['1', '2', '3']::own[])}), '{t,t,t}', 'nothing is lost');
is($session->query('COMMIT'), '', 'which is committed');
is($session->query("SELECT membership_check('owns_x')"), 3, 'and sound');
$session->query(q{SET my.what = 'SELECT public.membership_contains(''public.owns_x'', ''1''::public.own)'});
like($session->query('REINDEX INDEX owns_x'), qr/55000: cannot access index "owns_x" while it is being reindexed/, 'an index is not probed while it is rebuilt');
$session->query('RESET my.what');

# Privileges that are revoked while a call is kept: a role's membership, BYPASSRLS
is( $session->query(q{
	CREATE ROLE readers;
	CREATE ROLE guest IN ROLE readers;
	GRANT SELECT ON kept TO readers;
	CREATE FUNCTION guest_probes() RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		RETURN membership_contains('kept_x', 1);
	EXCEPTION WHEN insufficient_privilege THEN
		RETURN 'denied';
	END $$}),
	'', 'a role');
$session->query('BEGIN; SET ROLE guest');
is($session->query('SELECT guest_probes()'), 'true', 'a member may query');
$other->query('REVOKE readers FROM guest');
is($session->query('SELECT guest_probes()'), 'denied', 'and no more when it has left');
$session->query('ROLLBACK');

# DROP INDEX CONCURRENTLY marks an index as dead while others hold locks that they took
# meanwhile.  From then on insertions do not reach it, so it gives no answers.
$session->query('CREATE TABLE side (); CREATE INDEX kept_dead ON kept USING membership (x)');
my $dead = $session->query("SELECT 'kept_dead'::regclass::oid");
my ($first, $second) = map { Session->new($node) } 1 .. 2;
$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM side');
$first->query('BEGIN; LOCK TABLE kept IN ACCESS SHARE MODE');
$other->start('DROP INDEX CONCURRENTLY kept_dead; DROP INDEX kept_x');
ok($other->waits($node), 'DROP INDEX CONCURRENTLY waits for a lock');
$second->query('BEGIN; LOCK TABLE kept IN ACCESS SHARE MODE');
$first->query('COMMIT');
$node->poll_query_until('postgres', "SELECT NOT indisready FROM pg_index WHERE indexrelid = $dead")
  or die 'the index is not dead';
$session->query('INSERT INTO kept VALUES (777777)');
is($session->query("SELECT membership_contains($dead, 777777)"), 't', 'not by the dead index, but by one of the same elements');
$session->query('COMMIT');
$second->query('COMMIT');
$other->end;
$session->query('CREATE INDEX kept_x ON kept USING membership (x)');
$_->quit foreach $first, $second;

# DROP INDEX CONCURRENTLY waits for a query, which goes on
$session->query("BEGIN; DECLARE c CURSOR FOR SELECT membership_contains('kept_x', i) FROM generate_series(1, 3) i; FETCH c");
$other->start('DROP INDEX CONCURRENTLY kept_x');
ok($other->waits($node), 'DROP INDEX CONCURRENTLY waits');
is($session->query('FETCH ALL FROM c'), "t\nt", 'a query goes on with the index');
$session->query('COMMIT');
$other->end;
like($session->query("SELECT membership_contains('kept_x', 1)"), qr/42P01/, 'and is the last one');

$_->quit foreach $session, $other;
$node->stop;
done_testing();
