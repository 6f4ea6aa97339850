# The largest filter, of 2^32 bits or 512 MB: built from more elements than an
# aggregate keeps hashes of, stored, probed, changed, copied, dumped and restored,
# in no more memory than it should take.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Machine;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# The largest capacity at the usual error rate
my $capacity = 411_290_354;
my $filter_kb = 512 * 1024;
# Other memory of a query, and the precision of the measurement
my $some_kb = 16 * 1024;
my $hashes_kb = 256 * 1024;
# More than are kept as hashes, 2^25 while repeated ones may be among them
my $elements = 34_000_000;
# A probe reads a header and a block through an index of three levels, and the
# catalogs, once each
my $probe_pages = 100;

my $dir = $PostgreSQL::Test::Utils::tmp_check;

# Base64 of a filter is built in one piece and sent in another, each up to 1 GB,
# while pg_dump holds a third; the tables, WAL and dumps are on disk
my $too_small = too_small(8, 10);
plan skip_all => $too_small if defined $too_small;

my $node = PostgreSQL::Test::Cluster->new('large');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_buffers = 32MB
max_wal_size = 1GB
max_parallel_workers_per_gather = 0
});
$node->start;

# The backend's own memory, without what it shares with others: now, and the most
# that it has been, in kB
my $memory = q{
	CREATE FUNCTION own_memory() RETURNS bigint LANGUAGE sql VOLATILE AS $$
		SELECT (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\s+(\d+) kB'))[1]::bigint
	$$;
	CREATE FUNCTION peak_memory() RETURNS bigint LANGUAGE sql VOLATILE AS $$
		SELECT (regexp_match(status, 'VmHWM:\s+(\d+) kB'))[1]::bigint - (regexp_match(status, 'RssShmem:\s+(\d+) kB'))[1]::bigint
		FROM pg_read_file('/proc/self/status') AS status
	$$;
};

my $begun;

sub say_time
{
	my ($what) = @_;
	note(sprintf '%s: %.1f s', $what, time - $begun);
}

# Run queries in a session of their own: what they return, a line each
sub lines
{
	my ($database, @queries) = @_;

	$begun = time;
	return split /\n/, $node->safe_psql($database, join ";\n", @queries);
}

lines('postgres', 'CREATE EXTENSION bloomfilter', $memory);

is_deeply([ lines('postgres', "SELECT bits = 2::bigint ^ 32, layers FROM bloom_info(bloom_create($capacity))") ],
	['t|1'], 'it takes 2^32 bits');
my ($status, $out, $err) = $node->psql('postgres', 'SELECT bloom_create(' . ($capacity + 1) . ') IS NULL');
like($err, qr/filter would have more than 4294967296 bits.*distribute the elements among several filters/s, 'one more is too much');

# Built and stored
my ($before, $peak) = lines('postgres', 'SELECT own_memory()', qq{
	CREATE TABLE filters AS SELECT bloom_agg(n, $capacity, NULL) AS f FROM (SELECT generate_series(1, $elements) AS n) AS t},
	'SELECT peak_memory()');
say_time("built from $elements elements, and stored");
note("memory: $before kB before, at most $peak kB");
# the hashes, the filter that takes their place, the result, and two copies that
# the server makes of any value to store it
cmp_ok($peak - $before, '<', $hashes_kb + 4 * $filter_kb + $some_kb, 'it is built within its memory');
is_deeply([ lines('postgres', q{SELECT layers, bits, bytes > 2::bigint ^ 29, round(elements / 1e6) FROM filters, bloom_info(f)}) ],
	[ '1|4294967296|t|' . $elements / 1_000_000 ], 'all are in');

# Probed once: it reads a header and a block
my $lookup = 'SELECT bloom_contains((SELECT f FROM filters), %s)';
my @once = lines('postgres', 'SELECT own_memory()', sprintf($lookup, 1), sprintf($lookup, -1), 'SELECT own_memory()');
is_deeply([ @once[ 1, 2 ] ], [ 't', 'f' ], 'it answers');
cmp_ok($once[3] - $once[0], '<', $some_kb, 'one lookup takes no memory');
my $plan = $node->safe_psql('postgres', 'EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off) ' . sprintf($lookup, 2));
my ($pages) = $plan =~ /^(?:Result.*\n)\s+Buffers: shared(.*)$/m;
my $read = 0;
$read += $1 while $pages =~ /(?:hit|read)=(\d+)/g;
cmp_ok($read, '<', $probe_pages, "nor more than some pages ($read)");
my @times = map { $node->safe_psql('postgres', 'EXPLAIN (ANALYZE, COSTS off, TIMING off) ' . sprintf($lookup, $_)) =~ /Execution Time: ([\d.]+) ms/ } 1 .. 5;
note("one lookup in a new session: @times ms");

# Probed often: it is read in full, once
my $often = 200_000;
my @often = lines('postgres', 'SELECT own_memory()',
	"SELECT count(*) FROM generate_series(1, $often) AS n WHERE bloom_contains((SELECT f FROM filters), n)",
	"SELECT count(*) < 20 FROM generate_series(1, $often) AS n WHERE bloom_contains((SELECT f FROM filters), -n)",
	'SELECT peak_memory()', 'SELECT own_memory()');
say_time("probed twice $often times");
is_deeply([ @often[ 1, 2 ] ], [ $often, 't' ], 'it finds all elements, and no others');
cmp_ok($often[3] - $often[0], '<', $filter_kb + 2 * $some_kb, 'in the memory of one');
cmp_ok($often[4] - $often[0], '<', $some_kb, 'which is given back');

# A function that reads it in full releases it, too
my @whole = lines('postgres', 'SELECT own_memory()', 'SELECT bloom_cardinality(f) > 0 FROM filters',
	'SELECT bytes > 0 FROM filters, bloom_info(f)', 'SELECT f = f FROM filters', 'SELECT own_memory()');
cmp_ok($whole[4] - $whole[0], '<', $some_kb, 'the memory of a filter read in full is released');

# Added to
lines('postgres', 'UPDATE filters SET f = bloom_add_all(f, ARRAY[-1, -2])', 'VACUUM filters');
say_time('an element added');
my $look = 'SELECT md5(f::bytea), bloom_contains_all(f, ARRAY[1, 34000000, -1, -2]) FROM filters';
my ($contents) = lines('postgres', $look);
like($contents, qr/^[0-9a-f]{32}\|t$/, 'and found');

# In binary
lines('postgres', "COPY filters TO '$dir/filter' (FORMAT binary)", 'CREATE TABLE copied (f bloom)',
	"COPY copied FROM '$dir/filter' (FORMAT binary)");
say_time('copied in binary');
is(join(' ', lines('postgres', 'SELECT a.f = b.f FROM filters a, copied b')), 't', 'a binary copy is the same');
lines('postgres', 'DROP TABLE copied');
unlink "$dir/filter";

# Dumped as pg_dump does by default, and in its own format; compressed as fast as
# it can, which by default takes a minute
my %dump = (plain => [], custom => [ '--format=custom', '--compress=1' ]);
foreach my $format (sort keys %dump)
{
	my $file = "$dir/filter.$format";

	$begun = time;
	$node->command_ok([ 'pg_dump', @{ $dump{$format} }, "--file=$file", 'postgres' ], "dumped, $format");
	say_time('dump of ' . (-s $file) . ' bytes');
	lines('postgres', "CREATE DATABASE $format");
	$begun = time;
	$node->command_ok(
		$format eq 'plain'
		? [ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-o', "$dir/restored", '-f', $file, $format ]
		: [ 'pg_restore', '--exit-on-error', "--dbname=$format", $file ],
		"restored, $format");
	say_time('restored');
	unlink $file;
	is(join("\n", lines($format, $look)), $contents, "$format: the same");
	lines('postgres', "DROP DATABASE $format");
}

$node->stop;
done_testing();
