# A physical standby has the filters of its primary, answers from them, and goes
# on with them when it is promoted.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $primary = start_server('primary', init => [ allows_streaming => 1 ]);
$primary->safe_psql('postgres', q{
	CREATE TABLE blooms (id text PRIMARY KEY, f bloom NOT NULL);
	CREATE TABLE cuckoos (id text PRIMARY KEY, f cuckoo NOT NULL);
	CREATE INDEX blooms_f ON blooms USING hash (f);
	INSERT INTO blooms VALUES ('before', (SELECT bloom_agg(n) FROM generate_series(1, 100000) AS n));
});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
# The primary must not prune, as it reads them, pages of which a reader of the standby
# needs old rows: that would end the reader
$standby->append_conf('postgresql.conf', q{
hot_standby_feedback = on
wal_receiver_status_interval = 1s
});
$standby->start;

my $look = q{
	SELECT 'bloom', id, md5(f::text::bloom::bytea), bloom_info(f)::text FROM blooms
	UNION ALL SELECT 'cuckoo', id, md5(f::text::cuckoo::bytea), cuckoo_info(f)::text FROM cuckoos
	ORDER BY 1, 2
};

# Are the standby's filters those of the primary?
sub same
{
	my ($when) = @_;

	$primary->wait_for_catchup($standby);
	is($standby->safe_psql('postgres', $look), $primary->safe_psql('postgres', $look), "$when: the same filters");
}

# How many of the numbers are in a stored filter, probed so often that it is read
# whole and kept
sub found
{
	my ($node, $table, $id, $first, $last) = @_;

	return $node->safe_psql('postgres', qq{
		SELECT count(*) FROM generate_series($first, $last) AS n
		WHERE (SELECT f FROM $table WHERE id = '$id') @> n
	});
}

same('from the backup');
$primary->safe_psql('postgres', q{
	INSERT INTO blooms SELECT 'large', bloom_agg(n) FROM generate_series(1, 100000) AS n;
	INSERT INTO blooms SELECT 'grown', bloom_agg(n, 100, NULL) FROM generate_series(1, 20000) AS n;
	INSERT INTO cuckoos SELECT 'large', cuckoo_agg(n) FROM generate_series(1, 100000) AS n;
	INSERT INTO cuckoos SELECT 'grown', cuckoo_agg(n, 100, NULL) FROM generate_series(1, 20000) AS n;
	INSERT INTO cuckoos VALUES ('small', cuckoo_create(10));
});
same('built on the primary');

# Probed on the standby: often, once (from single blocks), by index, by an
# aggregate
is(found($standby, 'blooms', $_, 1, 20000), 20000, "a bloom is probed on the standby: $_") foreach qw(before large grown);
is(found($standby, 'cuckoos', $_, 1, 20000), 20000, "a cuckoo is probed on the standby: $_") foreach qw(large grown);
is($standby->safe_psql('postgres', "SELECT f @> 77777, f @> -1 FROM $_ WHERE id = 'large'"),
	't|f', "a single lookup on the standby: $_") foreach qw(blooms cuckoos);
is( $standby->safe_psql('postgres', q{
		SET enable_seqscan = off;
		SELECT id FROM blooms WHERE f = (SELECT bloom_agg(n, 100, NULL) FROM generate_series(1, 20000) AS n)}),
	'grown', 'a filter is built on the standby, and found by the index');

# Changed on the primary, in what a reader of the standby has open
my $reader = Session->new($standby);
my $old = $standby->safe_psql('postgres', $look);
is($reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ'), '', 'a reader begins');
is($reader->query($look), $old, 'a transaction on the standby begins');
ok($primary->poll_query_until('postgres', 'SELECT backend_xmin IS NOT NULL FROM pg_stat_replication'), 'of which the primary knows');
$primary->safe_psql('postgres', q{
	UPDATE blooms SET f = bloom_add_all(f, ARRAY(SELECT generate_series(200001, 205000)));
	UPDATE cuckoos SET f = cuckoo_add_all(cuckoo_remove_all(f, ARRAY(SELECT generate_series(1, 5000))), ARRAY(SELECT generate_series(200001, 205000)))
	WHERE id <> 'small';
	UPDATE cuckoos SET f = cuckoo_compact(f);
	BEGIN;
	UPDATE blooms SET f = bloom_clear(f);
	ROLLBACK;
});
$primary->wait_for_catchup($standby);
is($reader->query($look), $old, 'and sees the old filters, while the new ones are there');
is($reader->query('COMMIT'), '', 'it ends');
isnt($reader->query($look), $old, 'and sees the new ones');
$reader->quit;
same('changed on the primary');
is(found($standby, 'blooms', 'grown', 200001, 205000), 5000, 'elements that were added later');
is(found($standby, 'cuckoos', 'grown', 5001, 20000) + found($standby, 'cuckoos', 'grown', 200001, 205000),
	20000, 'and what is left where others were removed');

# Promoted, it goes on.
$primary->wait_for_catchup($standby);
$old = $primary->safe_psql('postgres', $look);
$primary->stop('immediate');
$standby->promote;
is($standby->safe_psql('postgres', $look), $old, 'the promoted standby has all filters');
$standby->safe_psql('postgres', q{
	UPDATE blooms SET f = bloom_add_all(f, ARRAY(SELECT generate_series(300001, 400000)));
	UPDATE cuckoos SET f = cuckoo_add_all(f, ARRAY(SELECT generate_series(300001, 400000)));
	UPDATE cuckoos SET f = cuckoo_remove_all(f, ARRAY(SELECT generate_series(200001, 205000))) WHERE id = 'grown';
	INSERT INTO blooms SELECT 'promoted', bloom_agg(n) FROM generate_series(1, 100000) AS n;
});
$old = $standby->safe_psql('postgres', $look);
$standby->stop('immediate');
$standby->start;
is($standby->safe_psql('postgres', $look), $old, 'its changes after that outlive a crash');
is(found($standby, 'blooms', 'grown', 300001, 400000), 100000, 'blooms have grown');
is(found($standby, 'cuckoos', $_, 300001, 400000), 100000, "cuckoos have grown: $_") foreach qw(large grown small);
is(found($standby, 'cuckoos', 'grown', 5001, 20000), 15000, 'and keep what was not removed');
is( $standby->safe_psql('postgres', q{SELECT a.f = b.f FROM blooms a, (SELECT bloom_agg(n) AS f FROM generate_series(1, 100000) AS n) b WHERE id = 'promoted'}),
	't', 'and it builds filters');

$standby->stop;
done_testing();
