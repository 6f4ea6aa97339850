# A table that Citus distributes has its rows in shards: the index of the table itself,
# empty or stale, is not used.  This does not need Citus itself, only its catalog,
# which is made here.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('distributed', conf => 'allow_system_table_mods = on');
my $session = Session->new($node);

is( $session->query(q{
	CREATE TABLE spread (x int);
	CREATE INDEX spread_x ON spread USING membership (x);
	INSERT INTO spread VALUES (1);
	CREATE TABLE spread_102008 (x int);
	CREATE INDEX spread_x_102008 ON spread_102008 USING membership (x);
	INSERT INTO spread_102008 VALUES (1);
	CREATE FUNCTION there(index regclass, element int) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		RETURN membership_contains(index, element);
	END $$}),
	'', 'two tables');

sub is_asked
{
	my ($index, $when) = @_;

	is($session->query("SELECT membership_contains('$index'::regclass, 1), membership_contains('$index'::regclass, 2)"), 't|f', "$when: $index is queried");
	is($session->query("SELECT membership_contains_any('$index'::regclass, ARRAY[1, 2]), membership_contains_all('$index'::regclass, ARRAY[1, 2]), membership_contains_each('$index'::regclass, ARRAY[1, 2])"), 't|f|{t,f}', "$when: $index, about an array");
	is($session->query("SELECT there('$index', 2), bloom_contains(membership_filter('$index'), 1)"), 'f|t', "$when: $index, in PL/pgSQL and whole");
}

my $refused = qr/^ERROR:  0A000: [^\n]*\n(DETAIL: [^\n]*\n)?HINT: /;

sub is_refused
{
	my ($index, $when) = @_;

	foreach my $call (
		"membership_contains('$index'::regclass, 2)",
		(map { "membership_contains_$_('$index'::regclass, ARRAY[2])" } qw(any all each)),
		"there('$index', 2)",
		"membership_filter('$index') IS NULL")
	{
		like($session->query("SELECT $call"), $refused, "$when: $call is refused");
	}
}

# a lookup in partitions, by a session that has noted of all but the first that it may ask the index
my $partitions = Session->new($node);
my $asked = q{SELECT jsonb_path_query_first(plan_of('SELECT FROM parted WHERE x = 3'), '$.**."Partitions Probed"')};
is( $partitions->query(q{
	CREATE TABLE parted (part int, x int) PARTITION BY LIST (part);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
	CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
	CREATE INDEX ON parted (x);
	CREATE INDEX ON parted USING membership (x);
	CREATE FUNCTION plan_of(query text, OUT plan jsonb) LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
	END $$;
	SET enable_seqscan = off;
	SET bloomfilter.partition_filter = on;
	BEGIN ISOLATION LEVEL REPEATABLE READ}),
	'', 'a partitioned table');
is($partitions->query($asked), '2', 'no such catalog: both partitions are asked') foreach 1 .. 3;

$session->query('BEGIN');
is_asked($_, 'no such catalog') foreach qw(spread_x spread_x_102008);

# as Citus makes it, while a session goes on
is( $node->safe_psql('postgres', q{
	CREATE TABLE pg_catalog.pg_dist_partition (
		logicalrelid regclass NOT NULL,
		partmethod "char" NOT NULL,
		partkey text,
		colocationid integer DEFAULT 0 NOT NULL,
		repmodel "char" DEFAULT 'c' NOT NULL,
		autoconverted boolean DEFAULT false NOT NULL);
	CREATE UNIQUE INDEX pg_dist_partition_logical_relid_index ON pg_catalog.pg_dist_partition (logicalrelid);
	CREATE INDEX pg_dist_partition_colocationid_index ON pg_catalog.pg_dist_partition (colocationid);
	INSERT INTO pg_catalog.pg_dist_partition VALUES ('spread', 'h', NULL), ('parted_2', 'h', NULL)}),
	'', 'the catalog');
like($session->query("SELECT membership_contains('spread_x'::regclass, 2)"), $refused, 'it is made within a transaction');
is($partitions->query($asked), '1', 'a listed partition is not asked any more');
$partitions->quit;
$session->query('ROLLBACK; DELETE FROM pg_dist_partition');
is_asked($_, 'nothing is listed') foreach qw(spread_x spread_x_102008);

$session->query("INSERT INTO pg_dist_partition VALUES ('spread', 'h', NULL)");
is_refused('spread_x', 'listed');
is_asked('spread_x_102008', 'its shard');

# users who may not read the catalog get the same error
$session->query('CREATE ROLE eve; GRANT SELECT ON spread, spread_102008 TO eve; REVOKE ALL ON pg_dist_partition FROM PUBLIC; SET ROLE eve');
is_refused('spread_x', 'of another role');
is_asked('spread_x_102008', 'of another role');
$session->query('RESET ROLE');

# a table of this name in another schema is ignored
$session->query('DELETE FROM pg_dist_partition');
is_asked('spread_x', 'not listed any more');
$session->query("CREATE TABLE public.pg_dist_partition (logicalrelid regclass); INSERT INTO public.pg_dist_partition VALUES ('spread')");
is_asked('spread_x', 'listed in another schema');
$session->query('DROP TABLE pg_catalog.pg_dist_partition');
is_asked('spread_x', 'the catalog is dropped');

$session->quit;
$node->stop;
done_testing();
