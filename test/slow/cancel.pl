# The longest operations can be cancelled within a second, and leave only valid filters
# behind.
#
# Each is run once as a whole, and then cancelled in the middle of it.  All times are of
# the processor that the backend has used, since others may use it, too; where these
# fill its caches, the same work takes longer, so each has three tries.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";

use List::Util qw(min);
use Machine;
use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

# Two filters of 512 MB, their copies and the union; what is stored
my $too_small = too_small(8, 10);
plan skip_all => $too_small if defined $too_small;

# Seconds from the request to the error
my $promised = 1;
my $tries = 3;
# The longest time of a whole run; a longer operation counts as this long
my $most = 4;

# Elements of a large array: just below what an aggregate keeps as hashes
my $elements = 33_000_000;
# Hashes of an explicit filter as a client may send it
my $hashes = 10_000_000;

my $cancelled = qr/canceling statement due to user request/;
# No error, or this one
my $fine = qr/\A(?!.*ERROR)|$cancelled/s;
# A session waits for as long as all of this takes
$PostgreSQL::Test::Utils::timeout_default = 24 * 3600;

my $node = start_server('cancel', conf => q{
shared_buffers = 32MB
max_wal_size = 2GB
max_parallel_workers_per_gather = 0
jit = off
});

# The bytes of an explicit filter, as docs/dev/format.md has them, with the checksum
sub explicit
{
	my ($magic) = @_;
	my $file = $PostgreSQL::Test::Utils::tmp_check . "/explicit.$magic";
	my $step = int(2**63 / $hashes) * 2;
	my $at_once = 100_000;

	open my $out, '>:raw', $file or die "$file: $!";
	print $out pack('a3 C C x3 a8 x8 x8 x8 Q< Q< x4', $magic, 1, 1, 'i', $hashes, 60 + 8 * $hashes);
	for (my $i = 0; $i < $hashes; $i += $at_once)
	{
		print $out pack('Q<*', map { $_ * $step } $i .. $i + $at_once - 1);
	}
	close $out;
	return "sealed(pg_read_binary_file('$file'))";
}

# Everything in a table of its own, as it is read in a moment
my %stored = (
	bloom_a => 'bloom_add(bloom_create(411000000), 1)',
	bloom_b => 'bloom_add(bloom_create(411000000), 2)',
	cuckoo_a => 'cuckoo_add(cuckoo_create(300000000), 1)',
	array_a => "ARRAY(SELECT generate_series(1, $elements))",
	array_b => 'ARRAY(SELECT generate_series(1, 5000000))',
	# one element in an index, so that this is soon made
	array_c => 'array_fill(1, ARRAY[20000000])',
	explicit_a => explicit('blm') . '::bloom',
	explicit_b => explicit('cko') . '::cuckoo',
	# many layers
	cuckoo_b => 'cuckoo_add_all(cuckoo_create(100000), (SELECT x FROM array_b))',
	cuckoo_c => 'cuckoo_remove_all((SELECT x FROM cuckoo_b), (SELECT x[100000:] FROM array_b))');
$node->safe_psql('postgres', q{
	-- an image with its checksum, eight bytes, little-endian
	CREATE FUNCTION sealed(image bytea) RETURNS bytea LANGUAGE sql
	RETURN image || (SELECT string_agg(substr(int8send(bloom_hash(image)), 8 - i, 1), '' ORDER BY i) FROM generate_series(0, 7) AS i)});
foreach my $name (qw(bloom_a bloom_b cuckoo_a array_a array_b array_c explicit_a explicit_b cuckoo_b cuckoo_c))
{
	my $type = $name =~ /^array/ ? 'int[]' : $name =~ /cuckoo|explicit_b/ ? 'cuckoo' : 'bloom';

	# in one transaction, and so without WAL
	$node->safe_psql('postgres', qq{
		BEGIN;
		CREATE TABLE $name (x $type);
		ALTER TABLE $name ALTER x SET STORAGE external;
		INSERT INTO $name SELECT $stored{$name};
		COMMIT});
}

$node->safe_psql('postgres', 'CREATE INDEX array_c_x ON array_c USING membership (x array_elements_ops)');

my $session = Session->new($node);

# Cancel what the session does; return how long it goes on, and what it has said
sub cancel
{
	my $requested = $session->cpu;

	kill 'INT', $session->{pid};
	my $said = $session->end;
	return ($session->cpu - $requested, $said);
}

# Run a query, cancelled once it has worked so long; return the time that it took, how
# long it went on, or undef if it ended before, and what it said
sub run_query
{
	my ($sql, $seconds) = @_;
	my $begun = $session->cpu;
	my $late;
	my $said;

	$session->start($sql);
	($late, $said) = cancel() if $session->works($seconds);
	$said //= $session->end;
	return ($session->cpu - $begun, $late, $said);
}

# Name, query, and more points in its time at which to stop it
my @everywhere = (0.25, 0.5, 0.75);
foreach my $case (
	[ 'bloom_agg', "SELECT bloom_agg(n) IS NULL FROM (SELECT generate_series(1, 20000000) AS n) AS t",
		# where it sorts
		0.9 ],
	[ 'bloom_add_all to an empty filter: hashes are sorted', 'SELECT bloom_add_all((SELECT bloom_agg(1) WHERE false), x) IS NULL FROM array_a' ],
	[ 'bloom_add_all to a sized filter', "SELECT bloom_add_all(bloom_create($elements), x) IS NULL FROM array_a" ],
	[ 'bloom_contains_each', 'SELECT bloom_contains_each((SELECT x FROM bloom_a), x) IS NULL FROM array_a' ],
	[ 'bloom_union', 'SELECT bloom_union(a.x, b.x) IS NULL FROM bloom_a AS a, bloom_b AS b' ],
	[ 'bloom_intersection', 'SELECT bloom_intersection(a.x, b.x) IS NULL FROM bloom_a AS a, bloom_b AS b' ],
	[ 'union of an explicit and a large filter', 'SELECT bloom_union(a.x, b.x) IS NULL FROM bloom_a AS a, explicit_a AS b' ],
	[ 'intersection of an explicit and a large filter', 'SELECT bloom_intersection(a.x, b.x) IS NULL FROM explicit_a AS a, bloom_b AS b' ],
	[ 'text output', 'SELECT octet_length(x::text) FROM bloom_a' ],
	# not x::text::bloom: the server copies the text twice, and cannot be cancelled
	[ 'text input', 'SELECT _bloom_in(_bloom_out(x)) IS NULL FROM bloom_a' ],
	[ 'bytes validated', 'SELECT x::bytea::bloom IS NULL FROM bloom_a' ],
	[ 'equality', 'SELECT a.x = b.x FROM bloom_a AS a, bloom_a AS b' ],
	[ 'hash', 'SELECT _bloom_hash_value(x) FROM bloom_a' ],
	[ 'an array as an element', 'SELECT bloom_hash(x) FROM array_a' ],
	[ 'bytes of a cuckoo validated', 'SELECT x::bytea::cuckoo IS NULL FROM cuckoo_a' ],
	[ 'membership_check of a large array', "SELECT membership_check('array_c_x')" ],
	[ 'cuckoo_add_all to a filter that grows', 'SELECT cuckoo_add_all(cuckoo_create(1000), x) IS NULL FROM array_b' ],
	[ 'cuckoo_remove_all', 'SELECT cuckoo_remove_all(a.x, b.x) IS NULL FROM cuckoo_b AS a, array_b AS b' ],
	[ 'cuckoo_remove_all from an explicit filter', 'SELECT cuckoo_remove_all(a.x, b.x) IS NULL FROM explicit_b AS a, array_b AS b' ],
	[ 'cuckoo_compact', 'SELECT cuckoo_compact(x) IS NULL FROM cuckoo_c' ],
	[ 'cuckoo_union', 'SELECT cuckoo_union(a.x, b.x) IS NULL FROM cuckoo_b AS a, cuckoo_b AS b' ])
{
	my ($name, $sql, @besides) = @$case;
	my ($seconds, undef, $said) = run_query($sql, @besides ? 1e9 : $most);
	my @late;

	like($said, $fine, "$name: works");
	foreach my $share (@everywhere, @besides)
	{
		my $least;

		for (1 .. $tries)
		{
			(undef, my $late, $said) = run_query($sql, $share * $seconds);
			die "$name: $said" unless $said =~ $fine;
			$least = min($late, $least // $late) if defined $late;
			last if defined $least && $least < $promised;
		}
		push @late, $least if defined $least;
	}
	my ($latest) = sort { $b <=> $a } @late;
	ok(defined $latest && $latest < $promised,
		sprintf '%s: of %.1f s, ended within %.2f s at the latest', $name, $seconds, $latest // 'nan');
}

# A timeout is such a request
like(($node->psql('postgres', 'SET statement_timeout = 100; SELECT bloom_add_all((SELECT bloom_agg(1) WHERE false), x) IS NULL FROM array_a'))[2],
	qr/canceling statement due to statement timeout/, 'statement_timeout');

# Cancelled by another session, as the index is being written
$session->start('CREATE INDEX ON array_a USING membership (x array_elements_ops)');
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_progress_create_index WHERE phase = 'building index: writing filter' AND tuples_done > 0")
  or die 'the index is not built';
my ($late, $said) = cancel();
cmp_ok($late, '<', $promised, 'CREATE INDEX, as it writes pages: cancelled');
like($said, $cancelled, 'and says so');

# So is a COMMIT, as it writes what was inserted
$node->safe_psql('postgres', q{
	CREATE TABLE arrays (x int[]);
	CREATE INDEX arrays_x ON arrays USING membership (x array_elements_ops) WITH (capacity = 60000000);
	INSERT INTO arrays VALUES ('{0}')});
$session->query("BEGIN; SET LOCAL maintenance_work_mem = '1GB'; INSERT INTO arrays SELECT x FROM array_b");
$session->start('COMMIT');
ok($session->works(0.2), 'COMMIT writes insertions');
($late, $said) = cancel();
cmp_ok($late, '<', $promised, 'cancelled');
like($said, $cancelled, 'and says so');
is($node->safe_psql('postgres', "SELECT membership_check('arrays_x')"), 1, 'the index is valid');

# A variable of PL/pgSQL that was being changed is valid after that, and has its old
# elements.  (From PostgreSQL 18 on it is changed in place.)
foreach my $case (
	[ 'bloom', 'bloom_add_all(bloom_create(5000000), kept)', 'bloom_add_all(f, many)' ],
	[ 'bloom', 'bloom_add_all(bloom_create(1000), kept)', 'bloom_add_all(f, many)' ],
	[ 'bloom', 'bloom_add_all(bloom_create(20000000), kept)', 'bloom_union(f, bloom_add_all(bloom_create(20000000), many))' ],
	[ 'cuckoo', 'cuckoo_add_all(cuckoo_create(1000), kept)', 'cuckoo_add_all(f, many)' ],
	[ 'cuckoo', 'cuckoo_add_all(cuckoo_add_all(cuckoo_create(100000), kept), many)', 'cuckoo_remove_all(f, many)' ],
	[ 'cuckoo', 'cuckoo_add_all((SELECT x FROM cuckoo_c), kept)', 'cuckoo_compact(f)' ])
{
	my ($type, $initial, $change) = @$case;
	my $sql = qq{
		DO \$\$
		DECLARE
			many int[] := (SELECT many FROM initial);
			kept int[] := (SELECT kept FROM initial);
			f $type := (SELECT f FROM initial);
		BEGIN
			BEGIN
				RAISE NOTICE 'begins';
				f := $change;
			EXCEPTION WHEN query_canceled THEN
				RAISE NOTICE 'cancelled';
			END;
			RAISE NOTICE 'ends';
			IF ${type}_contains_all(f, kept) AND f::bytea::$type = f THEN
				RAISE NOTICE 'sound';
			END IF;
		END
		\$\$};
	$node->safe_psql('postgres', qq{
		CREATE TABLE initial AS
		SELECT *, $initial AS f
		FROM (SELECT ARRAY(SELECT generate_series(1, 1000000)) AS many, ARRAY(SELECT -generate_series(1, 1000)) AS kept OFFSET 0) AS t});
	my ($stopped, $sound) = (0, 0);

	$session->start($sql);
	$session->says(qr/begins/);
	my $begun = $session->cpu;
	$session->says(qr/ends/);
	my $seconds = $session->cpu - $begun;
	like($session->end, qr/ sound$/m, "$change of $initial is sound");
	foreach my $share (@everywhere)
	{
		$session->start($sql);
		my (undef, $said) = $session->says(qr/begins/) && $session->works($share * $seconds) ? cancel() : (0, $session->end);

		next if $said !~ / cancelled$/m;
		$stopped++;
		$sound += $said =~ / sound$/m;
	}
	$node->safe_psql('postgres', 'DROP TABLE initial');
	cmp_ok($stopped, '>', 0, 'it is cancelled in the middle');
	is($sound, $stopped, 'and sound then');
}

$session->quit;
$node->stop;
done_testing();
