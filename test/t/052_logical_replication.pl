# Tables with filters in logical replication, as text and in binary.  A row
# without a key is found by all of its columns, filters among them.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $tables = q{
	CREATE EXTENSION bloomfilter;
	CREATE TABLE keyed (id text PRIMARY KEY, note text, f bloom, c cuckoo);
	CREATE TABLE keyless (note text, f bloom, c cuckoo);
	ALTER TABLE keyless REPLICA IDENTITY FULL;
};

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->start;
# Small filters lie in their row, large ones are toasted
$publisher->safe_psql('postgres', $tables . q{
	INSERT INTO keyed VALUES
		('small', 'copied', bloom_add(bloom_create(10), 1), cuckoo_add(cuckoo_create(10), 1)),
		('large', 'copied', (SELECT bloom_agg(n) FROM generate_series(1, 100000) AS n), (SELECT cuckoo_agg(n) FROM generate_series(1, 100000) AS n)),
		('null', 'copied', NULL, NULL);
	INSERT INTO keyless SELECT note, f, c FROM keyed;
	CREATE PUBLICATION filters FOR ALL TABLES;
});

# One subscriber of each format, in a database of its own
my %binary = (text => 'false', binary => 'true');
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->start;
my $connection = $publisher->connstr . ' dbname=postgres';
foreach my $format (sort keys %binary)
{
	$subscriber->safe_psql('postgres', "CREATE DATABASE in_$format");
	$subscriber->safe_psql("in_$format", $tables);
	$subscriber->safe_psql("in_$format",
		"CREATE SUBSCRIPTION as_$format CONNECTION '$connection' PUBLICATION filters WITH (binary = $binary{$format})");
	$subscriber->wait_for_subscription_sync($publisher, "as_$format", "in_$format");
}

# All rows, and that their filters' bytes are sound
my $look = q{
	SELECT 'keyed', id, note, md5(f::text::bloom::bytea), md5(c::text::cuckoo::bytea) FROM keyed
	UNION ALL SELECT 'keyless', '', note, md5(f::text::bloom::bytea), md5(c::text::cuckoo::bytea) FROM keyless
	ORDER BY 1, 2, 3, 4, 5
};

# Have the subscribers the rows of the publisher?
sub same
{
	my ($what) = @_;
	my $rows = $publisher->safe_psql('postgres', $look);

	foreach my $format (sort keys %binary)
	{
		$publisher->wait_for_catchup("as_$format");
		is($subscriber->safe_psql("in_$format", $look), $rows, "$what, as $format");
	}
}

same('rows that were there are copied');

$publisher->safe_psql('postgres', q{
	INSERT INTO keyed VALUES
		('grown', 'inserted', (SELECT bloom_agg(n, 100, NULL) FROM generate_series(1, 20000) AS n), (SELECT cuckoo_agg(n, 100, NULL) FROM generate_series(1, 20000) AS n)),
		('explicit', 'inserted', bloom_add((SELECT bloom_agg(1) WHERE false), 1), (SELECT cuckoo_agg(1) WHERE false));
	INSERT INTO keyless SELECT note, f, c FROM keyed WHERE note = 'inserted';
	-- a row twice, of which one is changed later
	INSERT INTO keyless SELECT 'twice', f, c FROM keyed, generate_series(1, 2) WHERE id IN ('small', 'large', 'null');
});
same('insertions');

# Toasted values that do not change are not sent again.
foreach my $table (qw(keyed keyless))
{
	$publisher->safe_psql('postgres', "UPDATE $table SET note = note || ', noted'");
	same("a change of another column of the $table table");
	$publisher->safe_psql('postgres',
		"UPDATE $table SET f = bloom_add_all(f, ARRAY(SELECT generate_series(200001, 205000)))");
	same("blooms of the $table table get more elements");
	$publisher->safe_psql('postgres',
		"UPDATE $table SET c = cuckoo_add_all(cuckoo_remove(c, 1), ARRAY(SELECT generate_series(200001, 205000)))");
	same("cuckoos of the $table table get others");
}
$publisher->safe_psql('postgres', q{
	UPDATE keyless SET note = 'once', f = bloom_add(f, 7), c = cuckoo_add(c, 7) WHERE ctid IN
		(SELECT min(ctid) FROM keyless WHERE note LIKE 'twice%' GROUP BY md5(f::bytea))});
same('one of two equal rows changes');
$publisher->safe_psql('postgres', q{
	BEGIN; UPDATE keyless SET f = bloom_clear(f); ROLLBACK;
	BEGIN; SAVEPOINT a; DELETE FROM keyless; ROLLBACK TO a; UPDATE keyed SET f = bloom_add(f, -8), c = cuckoo_add(c, -8); COMMIT;
	DELETE FROM keyless WHERE note = 'once';
	DELETE FROM keyed WHERE id = 'explicit'});
same('deletions, and what is rolled back');

# The subscribers probe what they got.
foreach my $format (sort keys %binary)
{
	is( $subscriber->safe_psql("in_$format", q{
			SELECT count(*), sum((f @> n AND c @> n)::int) FROM generate_series(200001, 205000) AS n, keyed
			WHERE id IN ('small', 'large', 'grown')}),
		'15000|15000', "filters that came as $format are probed");
	is($subscriber->safe_psql("in_$format", 'SELECT bool_and(f @> -8), sum(cuckoo_count(c, -8)) FROM keyed'),
		't|3', "and hold what was added last, as $format");
}

$subscriber->stop;
$publisher->stop;
done_testing();
