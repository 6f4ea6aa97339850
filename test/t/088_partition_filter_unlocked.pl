# A Partition Filter asks indexes that its session knows without locking them.  So REINDEX
# need not wait for it, and the rows of its snapshot are found although the file that it has
# begun to ask is gone.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

# Now and then an index is locked nevertheless, see RECENT_IN_A_ROW in src/index/page.c
my $attempts = 20;
my $node = start_server('unlocked');
my $session = Session->new($node);
my $other = Session->new($node);

$session->query(q{
	CREATE TABLE parted (part int, key int) PARTITION BY LIST (part);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
	CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
	CREATE INDEX ON parted (key);
	CREATE INDEX parted_filter ON parted USING membership (key) WITH (capacity = 2000, error_rate = 0.001);
	-- so many that the indexes have two layers, which REINDEX makes one of
	INSERT INTO parted SELECT i % 2 + 1, i FROM generate_series(1, 5000) i;
	CREATE TABLE asked AS SELECT n, n * 100 AS key FROM generate_series(1, 50) n;
	CREATE FUNCTION pause(n int) RETURNS int VOLATILE LANGUAGE plpgsql AS $$
	BEGIN
		IF n = 2 THEN
			PERFORM pg_advisory_xact_lock(1);
		END IF;
		RETURN n;
	END $$;
	LOAD 'bloomfilter';
	SET bloomfilter.partition_filter = on;
	SET plan_cache_mode = force_generic_plan;
	SET enable_seqscan = off;
	SET enable_memoize = off;
	PREPARE look_up(int) AS SELECT count(*) FROM parted WHERE key = $1;
	PREPARE look_up_all AS SELECT count(*), sum(found), min(pause) FROM (
		SELECT pause(n), (SELECT count(*) FROM parted p WHERE p.key = a.key) AS found FROM (SELECT * FROM asked ORDER BY n OFFSET 0) a OFFSET 0) s});
like($session->query('EXPLAIN EXECUTE look_up_all'), qr/Partition Filter/, 'the plan');
is($session->query("SELECT min(layers), max(layers) FROM membership_info('parted_filter')"), '2|2', 'two layers');

# How many indexes has the session locked?
my $locked = q{SELECT count(*) FROM pg_locks WHERE relation IN (SELECT relid FROM pg_partition_tree('parted_filter')) AND pid = } . $session->{pid};

sub tried
{
	my ($try) = @_;

	foreach my $attempt (1 .. $attempts)
	{
		# so that each begins at another place of that row
		$session->query('EXECUTE look_up(-1);' x $attempt);
		my $result = $try->();
		return $result if defined $result;
	}
	return 'only with locks';
}

is($session->query('EXECUTE look_up_all'), '50|50|1', 'all keys are found');
is(tried(sub {
		my ($found, $locks) = split /\n/, $session->query("BEGIN; EXECUTE look_up(-1); $locked; COMMIT");
		return $locks == 0 ? $found : undef;
	}), '0', 'looked up without a lock');

foreach my $change ('REINDEX INDEX parted_1_key_idx1; REINDEX INDEX parted_2_key_idx1', 'ALTER INDEX parted_1_key_idx1 SET TABLESPACE elsewhere; ALTER INDEX parted_1_key_idx1 SET TABLESPACE pg_default')
{
	if ($change =~ /TABLESPACE/)
	{
		my $directory = PostgreSQL::Test::Utils::tempdir();

		$other->query("CREATE TABLESPACE elsewhere LOCATION '$directory'");
	}
	$session->query('EXECUTE look_up_all');
	is(tried(sub {
			my $answer;

			$other->query('SELECT pg_advisory_lock(1)');
			$session->start('EXECUTE look_up_all');
			$session->waits($node) or die 'it does not wait';
			if ($other->query($locked) eq '0')
			{
				$answer = $other->query("SET lock_timeout = '10s'; $change; INSERT INTO parted SELECT i % 2 + 1, -i FROM generate_series(1, 5000) i; CHECKPOINT");
			}
			$other->query('SELECT pg_advisory_unlock(1)');
			is($session->end, '50|50|1', 'all keys are found');
			return $answer;
		}), '', "does not wait: $change");
	is($session->query('EXECUTE look_up(100); EXECUTE look_up(-100); DELETE FROM parted WHERE key < 0'), "1\n1", 'and the new rows are found');
}

done_testing();
