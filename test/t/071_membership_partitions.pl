# The index of a partitioned table is queried as a whole: the answer is for all of its
# partitions, whichever are attached, and of whatever depth.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('partitions');
my $session = Session->new($node);
my $other = Session->new($node);

is( $session->query(q{
	CREATE TABLE parted (x int, t text) PARTITION BY RANGE (x);
	CREATE INDEX parted_x ON parted USING membership (x);
	CREATE INDEX parted_xt ON parted USING membership (x, t);
	CREATE FUNCTION there(element int) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		RETURN membership_contains('parted_x'::regclass, element);
	END $$;
	PREPARE probe(int) AS SELECT membership_contains('parted_x'::regclass, $1)}),
	'', 'a partitioned table');
is($session->query("SELECT membership_contains('parted_x'::regclass, 1), membership_contains_each('parted_x'::regclass, ARRAY[1, 2]), membership_check('parted_x'), (SELECT count(*) FROM membership_info('parted_x'))"), 'f|{f,f}|0|0', 'no partitions');
is($session->query('SELECT there(1)'), 'f', 'looked up in PL/pgSQL');
is($session->query('EXECUTE probe(1)'), 'f', 'and by a prepared statement');

# Answers of each kind of lookup: which of 1, 101, 201, 301 and 401 are there
sub answers_are
{
	my ($expected, $when) = @_;
	my @there = map { /t/ ? 1 : 0 } split /,/, $expected;
	my @values = (1, 101, 201, 301, 401);
	my @present = map { $values[$_] } grep { $there[$_] } 0 .. $#values;
	my @absent = map { $values[$_] } grep { !$there[$_] } 0 .. $#values;

	is($session->query("SELECT membership_contains_each('parted_x'::regclass, ARRAY[1, 101, 201, 301, 401])"), "{$expected}", "$when: each");
	is($session->query("SELECT string_agg(membership_contains('parted_x'::regclass, x)::text, ',') FROM unnest(ARRAY[1, 101, 201, 301, 401]) x") =~ s/(t)rue|(f)alse/$1 || $2/egr, $expected, "$when: one after the other");
	is(join(',', map { $session->query("EXECUTE probe($_)") } @values), $expected, "$when: prepared");
	is(join(',', map { $session->query("SELECT there($_)") } @values), $expected, "$when: in PL/pgSQL");
	is($session->query("SELECT membership_contains_all('parted_x'::regclass, ARRAY[" . join(',', @present) . "])"), 't', "$when: all of what is there") if @present;
	is($session->query("SELECT membership_contains_any('parted_x'::regclass, ARRAY[" . join(',', @absent) . "])"), 'f', "$when: any of what is not there") if @absent;
	is($session->query("SELECT membership_contains_any('parted_x'::regclass, ARRAY[$absent[0], $present[0]]), membership_contains_all('parted_x'::regclass, ARRAY[$absent[0], $present[0]])"), 't|f', "$when: any and all") if @present && @absent;
	is($session->query("SELECT membership_check('parted_x') = (SELECT count(*) FROM parted), count(*) FROM parted WHERE NOT membership_contains('parted_x'::regclass, x)"), 't|0', "$when: checked");
}

# One row of membership_info() for each partition that has rows of its own
sub partitions_are
{
	my ($expected, $when) = @_;
	is($session->query("SELECT string_agg(index::text, ' ' ORDER BY index::text) FROM membership_info('parted_x')"), $expected, $when);
}

$other->query(q{
	CREATE TABLE part_0 PARTITION OF parted FOR VALUES FROM (0) TO (100);
	CREATE TABLE part_1 PARTITION OF parted FOR VALUES FROM (100) TO (200);
	INSERT INTO parted VALUES (1, 'one'), (2, 'two'), (101, 'more')});
answers_are('t,t,f,f,f', 'two partitions');
partitions_are('part_0_x_idx part_1_x_idx', 'named');
is($session->query("SELECT index, layers, elements FROM membership_info('parted_x') ORDER BY index::text"), "part_0_x_idx|1|2\npart_1_x_idx|1|1", 'each has its own figures');
is($session->query("SELECT index, layers, elements FROM membership_info('part_0_x_idx')"), 'part_0_x_idx|1|2', 'and can be queried alone');
is($session->query("SELECT membership_contains('part_0_x_idx'::regclass, 101), membership_check('part_0_x_idx')"), 'f|2', 'for its own rows');
is($session->query("SELECT membership_contains_each('parted_xt'::regclass, ARRAY[ROW(1, 'one'::text), ROW(1, 'two'), ROW(101, 'more')])"), '{t,f,t}', 'several columns');

# A table with its columns in another order, with rows and an index or without
$other->query(q{
	CREATE TABLE part_2 (gone int, t text, x int);
	ALTER TABLE part_2 DROP gone;
	INSERT INTO part_2 VALUES ('three', 201);
	CREATE INDEX mine ON part_2 USING membership (x) WITH (capacity = 10);
	ALTER TABLE parted ATTACH PARTITION part_2 FOR VALUES FROM (200) TO (300)});
answers_are('t,t,t,f,f', 'ATTACH');
partitions_are('mine part_0_x_idx part_1_x_idx', 'its own index');
is($session->query("SELECT membership_contains('parted_xt'::regclass, ROW(201, 'three'::text))"), 't', 'in another order of columns');

# Partitions of partitions
$other->query(q{
	CREATE TABLE deep PARTITION OF parted FOR VALUES FROM (300) TO (500) PARTITION BY LIST (x);
	CREATE TABLE deep_3 PARTITION OF deep FOR VALUES IN (301);
	CREATE TABLE deep_more PARTITION OF deep DEFAULT PARTITION BY RANGE (x);
	CREATE TABLE deepest PARTITION OF deep_more DEFAULT;
	INSERT INTO parted VALUES (301), (401)});
answers_are('t,t,t,t,t', 'partitions of partitions');
partitions_are('deep_3_x_idx deepest_x_idx mine part_0_x_idx part_1_x_idx', 'those that have rows');
is($session->query("SELECT membership_contains_each('deep_x_idx'::regclass, ARRAY[1, 301, 401]), membership_check('deep_x_idx')"), '{f,t,t}|2', 'a partition that is partitioned');

# As many lookups as make copies of the indexes, in one query and in several workers
my $parallel = $node->safe_psql('postgres', q{SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')});
$other->query('INSERT INTO part_1 SELECT x FROM generate_series(110, 199) x');
is($session->query("SELECT count(*) FILTER (WHERE membership_contains('parted_x'::regclass, x)) BETWEEN 95 AND 120 FROM generate_series(-2000, 2000) x"), 't', 'many lookups');
is($session->query("SET $parallel = on; SELECT count(*), count(*) FILTER (WHERE NOT membership_contains('parted_x'::regclass, x)) FROM parted; SET $parallel = off"), '96|0', 'and by a worker');

# Rows that this session inserts in the same transaction, and rolls back
$session->query('BEGIN; INSERT INTO parted VALUES (20), (120); SAVEPOINT s; INSERT INTO parted VALUES (320), (21)');
is($session->query("SELECT membership_contains_each('parted_x'::regclass, ARRAY[20, 120, 320, 21])"), '{t,t,t,t}', 'own insertions');
$session->query('ROLLBACK TO s');
is($session->query("SELECT membership_contains_all('parted_x'::regclass, ARRAY[20, 120])"), 't', 'and those that are not rolled back');
$session->query('ROLLBACK');

# DETACH
$other->query('ALTER TABLE parted DETACH PARTITION part_0');
answers_are('f,t,t,t,t', 'DETACH');
partitions_are('deep_3_x_idx deepest_x_idx mine part_1_x_idx', 'but what is detached');
$other->query('ALTER TABLE parted DETACH PARTITION part_2 CONCURRENTLY');
answers_are('f,t,f,t,t', 'DETACH CONCURRENTLY');
$other->query('ALTER TABLE deep DETACH PARTITION deep_3');
answers_are('f,t,f,f,t', 'DETACH from a partition');
$session->query('BEGIN; ALTER TABLE parted ATTACH PARTITION part_0 FOR VALUES FROM (0) TO (100)');
answers_are('t,t,f,f,t', 'ATTACH in a transaction');
$session->query('ROLLBACK');
answers_are('f,t,f,f,t', 'which is rolled back');
$other->query('ALTER TABLE parted ATTACH PARTITION part_0 FOR VALUES FROM (0) TO (100)');
answers_are('t,t,f,f,t', 'attached again');

# While a partition is being detached, snapshots that have seen it still see it
$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM parted');
$other->start('ALTER TABLE parted DETACH PARTITION part_0 CONCURRENTLY');
ok($other->waits($node), 'a partition is being detached');
is($session->query('SELECT count(*) FROM parted WHERE x = 1'), '1', 'an old snapshot sees its rows');
is($session->query("SELECT membership_contains('parted_x'::regclass, 1), count(*) FROM parted WHERE NOT membership_contains('parted_x'::regclass, x)"), 't|0', 'and the index knows of them');
$session->query('COMMIT');
$other->end;
answers_are('f,t,f,f,t', 'it is detached');

# TRUNCATE, and DROP of a partition
$other->query('TRUNCATE part_1');
answers_are('f,f,f,f,t', 'TRUNCATE of a partition');
$other->query('DROP TABLE deepest');
answers_are('f,f,f,f,f', 'DROP of a partition');

# An index that not all partitions have is not valid, until they do
like($session->query("CREATE INDEX only_x ON ONLY parted USING membership (x); SELECT membership_contains('only_x'::regclass, 1)"), qr/^ERROR:  55000: [^\n]*"only_x": partition "part_1" has no index/, 'an index that partitions lack');

# A foreign partition has rows that are not known here
$other->query(q{
	INSERT INTO parted VALUES (101);
	CREATE FOREIGN DATA WRAPPER elsewhere;
	CREATE SERVER elsewhere FOREIGN DATA WRAPPER elsewhere;
	CREATE FOREIGN TABLE far PARTITION OF parted FOR VALUES FROM (0) TO (100) SERVER elsewhere});
foreach my $call ("membership_contains('parted_x'::regclass, 1)", "membership_contains_any('parted_x'::regclass, ARRAY[1])", "membership_contains_all('parted_x'::regclass, ARRAY[1, 101])", "membership_contains_each('parted_x'::regclass, ARRAY[1])", 'there(1)')
{
	like($session->query("SELECT $call"), qr/^ERROR:  42809: [^\n]*\n(DETAIL: [^\n]*\n)?HINT: /, "a foreign partition: $call is refused");
	like($session->query("SELECT $call"), qr/"far"/, 'and it is named');
}
is($session->query("SELECT membership_contains('part_1_x_idx'::regclass, 101)"), 't', 'those of the others can be queried');
$other->query('DROP FOREIGN TABLE far');
answers_are('f,t,f,f,f', 'without it');

$_->quit foreach $session, $other;
$node->stop;
done_testing();
