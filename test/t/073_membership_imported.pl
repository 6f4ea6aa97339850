# A snapshot that is imported while CREATE INDEX CONCURRENTLY or REINDEX CONCURRENTLY waits
# for the transaction that exported it: the command does not wait for the importing one,
# whose snapshot sees rows that the new index lacks.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Server;
use Session;
use Test::More;

my $node = start_server('imported');

# In the session $builder, run a command that begins while $exporter has a snapshot of before
# the statement $change, and ends while $importer has imported this snapshot
sub build_beside_import
{
	my ($exporter, $importer, $builder, $change, $command) = @_;

	$exporter->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $exporter->query('SELECT pg_export_snapshot()');
	$node->safe_psql('postgres', $change);
	$builder->start($command);
	ok($builder->waits($node), "$command waits for the exporting transaction");
	$importer->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$importer->query("SET TRANSACTION SNAPSHOT '$snapshot'");
	$exporter->query('COMMIT');
	is($builder->end, '', 'and not for the importing one');
}

my $absent = 'SELECT count(*) FROM filled WHERE membership_contains(%s::regclass, x) IS FALSE';

foreach my $command ('CREATE INDEX CONCURRENTLY filled_x ON filled USING membership (x)', 'REINDEX INDEX CONCURRENTLY filled_x')
{
	$node->safe_psql('postgres', q{
		DROP TABLE IF EXISTS filled;
		CREATE TABLE filled AS SELECT generate_series(1, 1000) AS x});
	$node->safe_psql('postgres', 'CREATE INDEX filled_x ON filled USING membership (x)') if $command =~ /^REINDEX/;

	my ($exporter, $importer, $builder) = map { Session->new($node) } 1 .. 3;
	build_beside_import($exporter, $importer, $builder, 'DELETE FROM filled WHERE x > 500', $command);

	is($importer->query('SELECT count(*) FROM filled'), '1000', 'which sees all rows');
	foreach my $index (q{'filled_x'}, q{'filled_x'::text})
	{
		is($importer->query(sprintf $absent, $index), '0', "and the index $index says no of none");
	}
	is($importer->query('SET enable_seqscan = off; SELECT count(*) FROM filled WHERE x = 701'), '1', 'nor does a scan of it');
	is($importer->query(
			'SET bloomfilter.filter_scan = force; SELECT count(*) FROM filled AS a JOIN filled AS b USING (x)'),
		'1000', 'nor a filter for a join');
	$importer->query('COMMIT');
	is($node->safe_psql('postgres', 'SELECT ' . join ', ', map { "membership_contains('filled_x', $_)" } 1, 700), 't|f',
		'a younger transaction uses the index');
	$_->quit foreach $exporter, $importer, $builder;
}

# Nor does a lookup in partitions miss them, though its session may ask the index for younger
# snapshots, and has noted that (not of the first partition, of which all is tested each time)
{
	my ($exporter, $importer, $builder, $reader) = map { Session->new($node) } 1 .. 4;

	$node->safe_psql('postgres', q{
		CREATE TABLE parted (part int, x int) PARTITION BY LIST (part);
		CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
		CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
		INSERT INTO parted SELECT i % 2 + 1, i FROM generate_series(1, 1000) i;
		CREATE INDEX ON parted (x);
		CREATE INDEX parted_filter ON parted USING membership (x)});
	build_beside_import($exporter, $importer, $builder, 'DELETE FROM parted WHERE x > 500',
		'REINDEX INDEX CONCURRENTLY parted_2_x_idx1');
	my $snapshot = $importer->query('SELECT pg_export_snapshot()');
	my $lookup = 'SELECT count(*) FROM parted WHERE x = 701';
	$reader->query(q{LOAD 'bloomfilter'; SET enable_seqscan = off; SET bloomfilter.partition_filter = on});
	like($reader->query("EXPLAIN $lookup"), qr/Partition Filter/, 'a lookup in partitions');
	is($reader->query($lookup), '0', 'of a young snapshot') foreach 1 .. 3;
	$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$reader->query("SET TRANSACTION SNAPSHOT '$snapshot'");
	is($reader->query($lookup), '1', 'and of the old one');
	$_->quit foreach $exporter, $importer, $builder, $reader;
}

# ALTER TABLE gives the file of such an index to one that the importing transaction makes
{
	my ($exporter, $importer, $builder) = map { Session->new($node) } 1 .. 3;

	$node->safe_psql('postgres', 'CREATE TABLE altered AS SELECT generate_series(1, 1000)::varchar(10) AS x');
	build_beside_import($exporter, $importer, $builder, 'DELETE FROM altered WHERE x::int > 500',
		'CREATE INDEX CONCURRENTLY altered_x ON altered USING membership (x)');
	my $file = $importer->query("SELECT pg_relation_filenode('altered_x')");
	$importer->query('ALTER TABLE altered ALTER x TYPE varchar(20)');
	is($importer->query("SELECT pg_relation_filenode('altered_x')"), $file, 'ALTER TABLE keeps the file');
	is($importer->query(q{SELECT count(*) FROM altered WHERE membership_contains('altered_x', x) IS FALSE}), '0', 'the altered index says no of no row');
	is($importer->query(
			'SET bloomfilter.filter_scan = force; SELECT count(*) FROM altered AS a JOIN altered AS b USING (x)'),
		'1000', 'nor does a filter for a join');
	$importer->query('COMMIT');
	is($node->safe_psql('postgres', q{SELECT membership_contains('altered_x', '1'), membership_contains('altered_x', '700')}), 't|f',
		'a younger transaction uses it');
	$_->quit foreach $exporter, $importer, $builder;
}

# In its own transaction an index is used at once
foreach my $level ('READ COMMITTED', 'REPEATABLE READ')
{
	is($node->safe_psql('postgres', qq{
			BEGIN ISOLATION LEVEL $level;
			CREATE TABLE own AS SELECT generate_series(1, 1000) AS x;
			CREATE INDEX own_x ON own USING membership (x);
			SELECT membership_contains('own_x', 1), membership_contains('own_x', -1);
			REINDEX INDEX own_x;
			SELECT membership_contains('own_x', 1), membership_contains('own_x', -1);
			ROLLBACK}), "t|f\nt|f", "an index of its own transaction, $level");
}

$node->stop;
done_testing();
