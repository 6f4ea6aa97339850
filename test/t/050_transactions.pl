# Filters in transactions that are partly rolled back, and in prepared ones that are
# interrupted by a crash: they have what was committed, byte for byte.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('transactions');
$node->init;
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 4');
$node->start;

# Each kind of filter in its row, and too large for it.  grow() puts enough into
# one to make it grow.
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomfilter;
	CREATE TABLE blooms (id text PRIMARY KEY, f bloom NOT NULL);
	CREATE TABLE cuckoos (id text PRIMARY KEY, f cuckoo NOT NULL);
	INSERT INTO blooms VALUES
		('large', bloom_add(bloom_create(100000), 'before'::text)),
		('small', bloom_add(bloom_create(100), 'before'::text));
	INSERT INTO cuckoos VALUES
		('large', cuckoo_add(cuckoo_create(100000), 'before'::text)),
		('small', cuckoo_add(cuckoo_create(100), 'before'::text));
	CREATE PROCEDURE add(element text) LANGUAGE sql AS $$
		UPDATE blooms SET f = bloom_add(f, element);
		UPDATE cuckoos SET f = cuckoo_add(f, element);
	$$;
	CREATE PROCEDURE remove(element text) LANGUAGE sql AS $$
		UPDATE cuckoos SET f = cuckoo_remove(f, element);
	$$;
	CREATE PROCEDURE grow() LANGUAGE sql AS $$
		UPDATE blooms SET f = bloom_add_all(f, ARRAY(SELECT 'more ' || n FROM generate_series(1, 1000) AS n)) WHERE id = 'small';
		UPDATE cuckoos SET f = cuckoo_add_all(f, ARRAY(SELECT 'more ' || n FROM generate_series(1, 1000) AS n)) WHERE id = 'small';
	$$;
});

# What the filters are, and that their bytes are sound
my $look = q{
	SELECT 'bloom', id, md5(f::text::bloom::bytea) FROM blooms
	UNION ALL SELECT 'cuckoo', id, md5(f::text::cuckoo::bytea) FROM cuckoos
	ORDER BY 1, 2
};

# What they would be after these commands, which are taken back
sub expected
{
	my ($commands) = @_;
	return $node->safe_psql('postgres', "BEGIN; $commands; $look; ROLLBACK");
}

sub contents
{
	return $node->safe_psql('postgres', $look);
}

my $before = contents();
my $expected = expected(q{CALL add('kept'); CALL add('later'); CALL remove('kept')});
isnt($expected, $before, 'filters change');
is(contents(), $before, 'and a rollback takes all back');

$node->safe_psql('postgres', q{
	BEGIN;
	CALL add('kept');
	SAVEPOINT a;
	CALL add('dropped');
	CALL remove('before');
	SAVEPOINT b;
	CALL grow();
	ROLLBACK TO b;
	CALL grow();
	RELEASE b;
	ROLLBACK TO a;
	CALL add('later');
	SAVEPOINT c;
	CALL remove('kept');
	RELEASE c;
	COMMIT;
});
is(contents(), $expected, 'insertions rolled back to savepoints are not there');

# An error in PL/pgSQL takes back the block that it is caught in.
$before = contents();
$expected = expected(q{CALL add('one'); CALL add('three')});
$node->safe_psql('postgres', q{
	DO $$
	BEGIN
		CALL add('one');
		BEGIN
			CALL add('two');
			CALL grow();
			UPDATE blooms SET f = bloom_add(f, 2);
		EXCEPTION WHEN datatype_mismatch THEN
			NULL;
		END;
		CALL add('three');
	END
	$$
});
is(contents(), $expected, 'insertions undone by a caught error are not there');

# Prepared: seen by nobody, neither lost in a crash, and then committed or not.
# Both cannot change the same rows, so the second one makes new ones.
$before = contents();
$expected = expected(q{CALL grow(); CALL add('prepared'); CALL remove('before')});
$node->safe_psql('postgres', q{
	BEGIN;
	CALL grow();
	CALL add('prepared');
	CALL remove('before');
	PREPARE TRANSACTION 'to be committed';
	BEGIN;
	INSERT INTO blooms SELECT 'new', bloom_agg(n) FROM generate_series(1, 100000) AS n;
	INSERT INTO cuckoos SELECT 'new', cuckoo_agg(n) FROM generate_series(1, 100000) AS n;
	PREPARE TRANSACTION 'to be rolled back';
	BEGIN;
	INSERT INTO blooms SELECT 'newer', bloom_agg(n) FROM generate_series(1, 50000) AS n;
	PREPARE TRANSACTION 'to be committed, too';
});
is(contents(), $before, 'prepared insertions are not seen');
my ($status, $out, $err) = $node->psql('postgres', "SET lock_timeout = '10ms'; CALL add('other')");
like($err, qr/canceling statement due to lock timeout/, 'and holds its rows');

$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), 3, 'prepared transactions outlive a crash');
is(contents(), $before, 'still not seen');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'to be rolled back'");
$node->safe_psql('postgres', "COMMIT PREPARED 'to be committed'");
is(contents(), $expected, 'committed elements are there, rolled-back ones are not');
$node->safe_psql('postgres', "COMMIT PREPARED 'to be committed, too'");
is( $node->safe_psql('postgres', q{
		SELECT f = (SELECT bloom_agg(n) FROM generate_series(1, 50000) AS n), (SELECT bool_and(f @> n) FROM generate_series(1, 50000) AS n)
		FROM blooms WHERE id = 'newer'}),
	't|t', 'a filter that was built in a prepared transaction');

$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', "DELETE FROM blooms WHERE id = 'newer'");
is(contents(), $expected, 'and all is there after another crash');

$node->stop;
done_testing();
