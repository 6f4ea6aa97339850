# The index of a table with inheritance children has only the rows of that table, whereas a
# query of the table also returns those of the children.  So it says "yes", or raises an error.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('inheritance');
my $session = Session->new($node);
my $other = Session->new($node);
my $refused = qr/^ERROR:  42809: [^\n]*"par_x?"[^\n]*\n(DETAIL: [^\n]*\n)?HINT: /;

# Every kind of lookup, of a value that only a child has and of one that is nowhere
sub is_refused
{
	my ($when) = @_;

	like($session->query("SELECT membership_contains('par_x'::regclass, 2)"), $refused, "$when: a value of a child");
	like($session->query("SELECT membership_contains('par_x'::regclass, 99)"), $refused, "$when: a value that is nowhere");
	foreach my $which (qw(any all each))
	{
		like($session->query("SELECT membership_contains_$which('par_x'::regclass, ARRAY[2, 99])"), $refused, "$when: ${which} of an array");
	}
	like($session->query("SELECT membership_filter('par_x'::regclass) IS NULL"), $refused, "$when: a filter");
	like($session->query("SELECT count(*) FROM par WHERE membership_contains('par_x'::regclass, x)"), $refused, "$when: in a query of the table");
	is($session->query("SELECT membership_contains('par_x'::regclass, 1)"), 't', "$when: a value of the table itself");
}

sub is_exact
{
	my ($when) = @_;

	is($session->query("SELECT membership_contains_each('par_x'::regclass, ARRAY[1, 2, 99])"), '{t,f,f}', "$when: exact answers");
	is($session->query("SELECT bloom_contains(membership_filter('par_x'::regclass), 1), membership_check('par_x')"), 't|1', "$when: and a filter");
}

is( $session->query(q{
	CREATE TABLE par (x int);
	CREATE INDEX par_x ON par USING membership (x);
	INSERT INTO par VALUES (1);
	CREATE FUNCTION there(element int) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		RETURN membership_contains('par_x'::regclass, element);
	END $$;
	PREPARE probe(int) AS SELECT membership_contains('par_x'::regclass, $1)}),
	'', 'a table without children');
is_exact('no children');
is($session->query('SELECT there(2)'), 'f', 'PL/pgSQL, before there are children');
is($session->query('EXECUTE probe(2)'), 'f', 'a prepared statement, before there are children');

# made after another session, and this one, have looked up
$other->query('CREATE TABLE chi () INHERITS (par); INSERT INTO chi VALUES (2)');
is($session->query('SELECT x FROM par ORDER BY x'), "1\n2", 'the query finds the row of the child');
is_refused('a child');
like($session->query('SELECT there(2)'), $refused, 'PL/pgSQL, when there are children');
like($session->query('EXECUTE probe(2)'), $refused, 'a prepared statement, when there are children');
is($session->query('SET enable_seqscan = off; SELECT x FROM par WHERE x = 2'), '2', 'the planner scans the child');
is($session->query('SELECT x FROM ONLY par WHERE x = 2; RESET enable_seqscan'), '', 'and the index knows that the table has no such row');

# an index of the child, which has no children itself
is($session->query("CREATE INDEX chi_x ON chi USING membership (x); SELECT membership_contains_each('chi_x'::regclass, ARRAY[1, 2])"), '{f,t}', 'the index of a child');

$other->query('ALTER TABLE chi NO INHERIT par');
is_exact('NO INHERIT');
is($session->query('SELECT there(2)'), 'f', 'PL/pgSQL, when the child has left');
is($session->query('EXECUTE probe(2)'), 'f', 'a prepared statement, when the child has left');

# in a transaction with earlier lookups, one by a call that PL/pgSQL keeps
$session->query('BEGIN');
is($session->query('SELECT there(2)'), 'f', 'in a transaction');
$session->query('ALTER TABLE chi INHERIT par');
like($session->query('SAVEPOINT s; SELECT there(2)'), $refused, 'which makes a child');
$session->query('ROLLBACK');
is($session->query('SELECT there(2)'), 'f', 'and is rolled back');

$other->query('ALTER TABLE chi INHERIT par');
is_refused('INHERIT');
# a child of the child
$other->query('CREATE TABLE grandchild () INHERITS (chi); INSERT INTO grandchild VALUES (2); DELETE FROM ONLY chi');
is_refused('a grandchild');
$other->query('DROP TABLE grandchild, chi');
is_exact('no children any more');

$_->quit foreach $session, $other;
$node->stop;
done_testing();
