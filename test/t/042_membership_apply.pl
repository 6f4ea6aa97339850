# Logical replication into a table that has a membership index at the subscriber: the
# first copy, changes, a large transaction streamed while it runs with parts of it rolled
# back, prepared transactions.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', q{
max_prepared_transactions = 10
logical_decoding_work_mem = 64kB
log_statement = none
});
$publisher->start;
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->append_conf('postgresql.conf', q{
max_prepared_transactions = 10
log_statement = none
});
$subscriber->start;

# The publisher need not know of the index, nor have the extension.
my $table = 'CREATE TABLE urls (id int PRIMARY KEY, url text NOT NULL);';
$publisher->safe_psql('postgres', qq{
	$table
	INSERT INTO urls SELECT i, 'copied ' || i FROM generate_series(1, 3000) i;
	CREATE PUBLICATION all_urls FOR TABLE urls;
});
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', qq{
	CREATE EXTENSION bloomfilter;
	$table
	CREATE INDEX urls_url ON urls USING membership (url) WITH (capacity = 100);
	-- looks up each row that is applied
	CREATE TABLE seen (id int, twice boolean);
	CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS \$\$
	BEGIN
		INSERT INTO seen VALUES (NEW.id, membership_contains('urls_url', NEW.url));
		RETURN NEW;
	END \$\$;
	CREATE TRIGGER look BEFORE INSERT ON urls FOR EACH ROW WHEN (NEW.url LIKE 'looked %') EXECUTE FUNCTION look();
	ALTER TABLE urls ENABLE ALWAYS TRIGGER look;
	CREATE SUBSCRIPTION all_urls CONNECTION '$connection' PUBLICATION all_urls WITH (streaming = on, two_phase = on);
});
$subscriber->wait_for_subscription_sync($publisher, 'all_urls');

sub applied
{
	my ($what) = @_;

	$publisher->wait_for_catchup('all_urls');
	is( $subscriber->safe_psql('postgres', q{
			SELECT count(*), count(*) FILTER (WHERE NOT membership_contains('urls_url', url)), membership_check('urls_url') = count(*) FROM urls}),
		$publisher->safe_psql('postgres', "SELECT count(*), 0, true FROM urls"), "$what: every row is found");
}

applied('the first copy');
$publisher->safe_psql('postgres', q{
	INSERT INTO urls SELECT i, 'inserted ' || i FROM generate_series(10001, 11000) i;
	UPDATE urls SET url = 'updated ' || id WHERE id <= 1000;
	DELETE FROM urls WHERE id BETWEEN 1001 AND 1100;
});
applied('inserted, updated, deleted');
$publisher->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO urls SELECT i, 'large ' || i FROM generate_series(20001, 25000) i;
	SAVEPOINT a;
	INSERT INTO urls SELECT i, 'rolled back ' || i FROM generate_series(30001, 35000) i;
	ROLLBACK TO a;
	INSERT INTO urls SELECT i, 'after ' || i FROM generate_series(40001, 45000) i;
	SAVEPOINT b;
	UPDATE urls SET url = 'again ' || id WHERE id BETWEEN 20001 AND 21000;
	RELEASE b;
	COMMIT;
});
applied('streamed');
is( $publisher->safe_psql('postgres', q{SELECT stream_txns > 0 FROM pg_stat_replication_slots WHERE slot_name = 'all_urls'}),
	't', 'it was streamed');
$publisher->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO urls SELECT i, 'prepared ' || i FROM generate_series(50001, 52000) i;
	PREPARE TRANSACTION 'kept';
	BEGIN;
	INSERT INTO urls SELECT i, 'not kept ' || i FROM generate_series(60001, 61000) i;
	PREPARE TRANSACTION 'not kept';
	COMMIT PREPARED 'kept';
	ROLLBACK PREPARED 'not kept';
});
applied('prepared');
$publisher->safe_psql('postgres', q{
	INSERT INTO urls SELECT i, 'looked ' || i % 100 FROM generate_series(70001, 70200) i;
	TRUNCATE urls;
	INSERT INTO urls SELECT i, 'truncated ' || i FROM generate_series(1, 1000) i;
});
applied('truncated');
# each element comes a second time, but may also seem to have been there before
is( $subscriber->safe_psql('postgres', q{SELECT count(*) FILTER (WHERE NOT twice AND id > 70100), count(*) FILTER (WHERE NOT twice) > 80 FROM seen}),
	'0|t', 'a trigger finds the rows that were applied before');
is($subscriber->safe_psql('postgres', q{SELECT layers > 2 FROM membership_info('urls_url')}), 't', 'the index has grown');

$subscriber->stop;
$publisher->stop;
done_testing();
