# The cost of a lookup in a membership index does not depend on the number of other
# transactions: counted in instructions, on a quiet server and beside prepared
# transactions with as many subtransactions as a snapshot lists.
#
# What COMMIT adds to an insertion of one row is bounded, too: no page is copied or compared.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Instructions;
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

need_valgrind();

my $rows = 20000;
my $transactions = 40;
my $subtransactions = 60;

my $node = start_server('instructions', conf => "max_prepared_transactions = $transactions");
plan skip_all => 'assertions are instructions too'
  if $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';
$node->safe_psql('postgres', qq{
	CREATE TABLE noise (x int);
	CREATE TABLE numbers AS SELECT i::bigint AS number FROM generate_series(1, $rows) i;
	CREATE INDEX numbers_number ON numbers USING membership (number);
	VACUUM ANALYZE numbers;
});

# Of a lookup, for each row, which is not in WHERE: there a Filter Scan would take the
# function's place.  A single-user server has the prepared transactions, too.
sub lookup
{
	$node->stop;
	my ($out, $total) = instructions($node, 'bloomfilter_membership_contains',
		q{SELECT count(*) FILTER (WHERE membership_contains('numbers_number'::regclass, number)) FROM numbers});
	$node->start;
	like($out, qr/count = "$rows"/, 'every row is found');
	return $total / $rows;
}

my $quiet = lookup();
$node->safe_psql('postgres', join ';',
	map {
		('BEGIN', 'INSERT INTO noise VALUES (0)',
			('SAVEPOINT s', 'INSERT INTO noise VALUES (1)') x $subtransactions,
			"PREPARE TRANSACTION 'p$_'")
	} 1 .. $transactions);
# so that all of these are before the last xid that has ended
$node->safe_psql('postgres', 'INSERT INTO noise VALUES (2)');
my $busy = lookup();
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), $transactions, 'the prepared transactions are there');
# the first lookup reads the whole index into memory, which is most of the difference
cmp_ok($busy, '<=', 1.05 * $quiet, sprintf('a lookup takes %.0f instructions beside %d transactions, and %.0f alone', $busy, $transactions, $quiet));

$node->stop;
# The first fill caches, and the first into each page after a checkpoint logs that page as a
# whole, whose checksum costs twice as much on some processors: the least is of none of these
my (undef, undef, @commits) = instructions($node, 'flush_before_commit', map { "INSERT INTO numbers VALUES (-$_)" } 1 .. 20);
my $commit = min(@commits);
cmp_ok($commit, '<=', 12000, "COMMIT writes one row in $commit instructions, at most 12000");

# and the whole of it by what the same one takes without the index
my $plain = 'CREATE TABLE plain (number bigint)';
my (undef, @whole) = instructions($node, 'PostgresMain', $plain,
	map { ("INSERT INTO plain VALUES (-$_)", "INSERT INTO numbers VALUES (-$_)") } 101 .. 120);
shift @whole;
my $without = min(@whole[ grep { $_ % 2 == 0 } 0 .. $#whole ]);
my $with = min(@whole[ grep { $_ % 2 == 1 } 0 .. $#whole ]);
cmp_ok($with, '<=', 1.3 * $without, "an INSERT of one row takes $with instructions, and $without without the index");
done_testing();
