# Sessions that insert, change and look up at the same time: the error rate stays as
# requested however many add to a layer at once, and indexes that are created, rebuilt
# and dropped CONCURRENTLY meanwhile miss no row that a reader's snapshot sees.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $sessions = 8;
# Transactions of a session that works until it is ended
my $without_end = 1_000_000_000;

my $node = PostgreSQL::Test::Cluster->new('load');
$node->init;
$node->append_conf('postgresql.conf', "log_statement = none\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION bloomfilter');
my $dir = $PostgreSQL::Test::Utils::tmp_check;

# Have some sessions run a script in the background
sub start_pgbench
{
	my ($name, $clients, $much, $script) = @_;
	my $file = "$dir/$name.bench";
	my %run;

	append_to_file($file, $script);
	$run{handle} = IPC::Run::start(
		[ 'pgbench', '-n', '-c', $clients, @$much, '-f', $file, '-d', $node->connstr('postgres') ],
		'<', \undef, '>', "$file.out", '2>', $run{err} = "$file.err");
	return \%run;
}

# The pending insertions of each session could fill a layer several times
foreach my $case ([ 'one_block', 10000, 0.01, 10000, 6 ], [ 'two_blocks', 10000, 0.0001, 10000, 3 ], [ 'small', 100, 0.01, 100, 40 ])
{
	my ($name, $capacity, $error_rate, $rows, $transactions) = @$case;

	$node->safe_psql('postgres', qq{
		CREATE TABLE $name (x bigint);
		CREATE INDEX ${name}_x ON $name USING membership (x) WITH (capacity = $capacity, error_rate = $error_rate);
	});
	my $run = start_pgbench($name, $sessions, [ '-t', $transactions ], qq{
\\set seed random(1, 1000000000000000)
INSERT INTO $name SELECT hashint8extended(n, :seed) FROM generate_series(1, $rows) AS n;
});
	$run->{handle}->finish;
	my $all = $node->safe_psql('postgres', "SELECT count(*) FROM $name");
	is($all, $sessions * $rows * $transactions, "$name: $sessions sessions have inserted") or diag slurp_file($run->{err});
	is($node->safe_psql('postgres', "SELECT membership_check('${name}_x')"), $all, "$name: every row is found");
	is($node->safe_psql('postgres', "SELECT estimated_error_rate < 1.15 * error_rate AND layers > 2 FROM membership_info('${name}_x')"),
		't', "$name: the index has grown, and keeps its error rate")
	  or diag $node->safe_psql('postgres', "SELECT membership_info('${name}_x')");
}

# Rows are inserted, changed (by HOT while no index has the column, so that chains
# are broken), deleted; and each transaction checks whether the index misses any of
# some rows, all by one snapshot.  An index that is not there, or not valid, is
# another matter: that is what its error says.
$node->safe_psql('postgres', q{
	CREATE TABLE urls (id bigserial PRIMARY KEY, url text NOT NULL) WITH (fillfactor = 70);
	INSERT INTO urls (url) SELECT 'http://example.com/' || i FROM generate_series(1, 3000) i;
	CREATE TABLE faults (id bigint, what text);
	CREATE TABLE answers (valid boolean, way text);

	CREATE PROCEDURE probe(first bigint) LANGUAGE plpgsql AS $$
	DECLARE
		lacking bigint;
		valid boolean := true;
	BEGIN
		BEGIN
			SELECT id INTO lacking FROM urls WHERE id BETWEEN first AND first + 200
			AND NOT membership_contains('urls_url'::text::regclass, url) LIMIT 1;
			IF FOUND THEN
				INSERT INTO faults VALUES (lacking, 'probed');
			END IF;
		EXCEPTION WHEN undefined_table OR undefined_object OR object_not_in_prerequisite_state THEN
			valid := false;
		END;
		INSERT INTO answers VALUES (valid, 'probed');
	END $$;
	CREATE PROCEDURE scan(first bigint) LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
	DECLARE
		lacking bigint;
	BEGIN
		SELECT s.id INTO lacking FROM (SELECT id, url FROM urls WHERE id >= first LIMIT 3) AS s
		WHERE NOT EXISTS (SELECT FROM urls u WHERE u.url = s.url) LIMIT 1;
		IF FOUND THEN
			INSERT INTO faults VALUES (lacking, 'scanned');
		END IF;
		INSERT INTO answers VALUES (NULL, 'scanned');
	END $$;
});
my $run = start_pgbench('load', $sessions, [ '-t', $without_end ], q{
\set id random(1, 3000)
\set change random(1, 1000000000)
INSERT INTO urls (url) SELECT 'http://example.com/' || :change + i FROM generate_series(1, 3) i;
UPDATE urls SET url = 'http://example.com/changed/' || :change WHERE id = :id;
DELETE FROM urls WHERE id = 3000 + :id;
CALL probe(:id);
CALL scan(:id);
});

# Again and again, until each kind of answer was given often enough
my ($least, $most) = (4, 100);
my $often = q{
	SELECT count(*) FILTER (WHERE valid) > 300 AND count(*) FILTER (WHERE NOT valid) > 10 AND count(*) FILTER (WHERE way = 'scanned') > 300
	FROM answers};

for my $round (1 .. $most)
{
	$node->safe_psql('postgres', 'DROP INDEX CONCURRENTLY urls_url') if $round > 1;
	$node->safe_psql('postgres', $_) foreach (
		'CREATE INDEX CONCURRENTLY urls_url ON urls USING membership (url) WITH (capacity = 100)',
		'REINDEX INDEX CONCURRENTLY urls_url',
		'VACUUM urls',
		'REINDEX TABLE CONCURRENTLY urls',
		"SELECT membership_check('urls_url')");
	last if $round >= $least && $node->safe_psql('postgres', $often) eq 't';
}
# not INT, which is ignored if the tests were started in the background
$run->{handle}->signal('TERM');
$run->{handle}->finish;
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'})
  or die 'a session does not end';
unlike(slurp_file($run->{err}), qr/ERROR|aborted/, 'no session has failed');
is($node->safe_psql('postgres', 'SELECT * FROM faults'), '', 'no row was missed');
is($node->safe_psql('postgres', $often), 't', 'though many were looked up, where there was an index and where not')
  or diag $node->safe_psql('postgres', 'SELECT way, valid, count(*) FROM answers GROUP BY 1, 2');
is($node->safe_psql('postgres', q{SELECT membership_check('urls_url') = count(*), count(*) FILTER (WHERE NOT membership_contains('urls_url', url)) FROM urls}),
	't|0', 'every row is found in the end');

$node->stop;
done_testing();
