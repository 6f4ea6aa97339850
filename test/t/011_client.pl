# A client that reads filters by docs/format.md alone gives the server's answers.
#
# The functions of the first part follow that page and nothing else; they take
# the hash of an element from bloom_hash(), since a Perl without extra modules
# has no XXH3.  They are compared with the page's golden vectors, and with
# bloom_contains() for filters of every layout, fixed, growing and grown.
use strict;
use warnings;

use Cwd qw(abs_path);
use Config;
use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs integers of 64 bits' if $Config{ivsize} < 8;

# ----------------------------------------------------------------
# The client
# ----------------------------------------------------------------

use constant {
	LAYOUT_EMPTY => 0,
	LAYOUT_EXPLICIT => 1,
	LAYOUT_BLOCK512 => 2,
	LAYOUT_BLOCK512X2 => 3,
	LAYOUT_CLASSIC => 4
};
use constant A => (0x9E3779B9 << 32) | 0x7F4A7C15;
use constant B => (0xBF58476D << 32) | 0x1CE4E5B9;

# Sum and product modulo 2^64, unsigned
sub add64
{
	use integer;
	my $sum = $_[0] + $_[1];
	no integer;
	return $sum & ~0;
}

sub mul64
{
	use integer;
	my $product = $_[0] * $_[1];
	no integer;
	return $product & ~0;
}

# Upper half of the 128-bit product; $range is at most 2^32, as all sizes are
sub mulhi
{
	my ($hash, $range) = @_;
	my $low = ($hash & 0xFFFFFFFF) * $range;
	return (($hash >> 32) * $range + ($low >> 32)) >> 32;
}

sub remix
{
	my ($word) = @_;
	return mul64($word ^ ($word >> 32), B);
}

# The bits of an element in its block
sub block_bits
{
	my ($word, $k) = @_;
	my $start = $word >> 61;
	my @bits;

	for (; $k >= 8; $k -= 8)
	{
		push @bits, map { 64 * $_ + (($word >> (13 + 6 * $_)) & 63) } 0 .. 7;
		$word = remix($word);
	}
	push @bits,
	  map { 64 * $_ + (($word >> (13 + 6 * $_)) & 63) }
	  map { ($start + $_) % 8 } 0 .. $k - 1;
	return @bits;
}

# The bits of an element in a layer
sub layer_bits
{
	my ($layer, $hash) = @_;
	my ($layout, $size, $k) = @{$layer}{qw(layout size k)};

	if ($layout == LAYOUT_CLASSIC)
	{
		my $step = remix(mul64($hash, A)) | 1;
		return map {
			my $place = mulhi($hash, $size);
			$hash = add64($hash, $step);
			$step = mul64($step, A);
			$place;
		} 1 .. $k;
	}

	my $first = mulhi($hash, $size);
	my @bits = map { 512 * $first + $_ } block_bits(mul64($hash, A), $k);
	if ($layout == LAYOUT_BLOCK512X2)
	{
		my $other = remix($hash);
		my $second = mulhi($other, $size - 1);
		$second++ if $second >= $first;
		push @bits,
		  map { 512 * $second + $_ } block_bits(mul64($other, A), $k);
	}
	return @bits;
}

# A filter from its bytes
sub parse
{
	my ($bytes) = @_;
	my %filter = (bytes => $bytes, layers => []);
	my $layers;

	(   $filter{magic}, $filter{layout}, $filter{flags},
		$filter{growth}, $layers, $filter{class},
		$filter{seed}, $filter{capacity}, $filter{error_rate},
		$filter{count}, $filter{length}
	) = unpack 'a4 C C C C x4 a8 Q< Q< d< Q< Q<', $bytes;
	die 'not a filter' if $filter{magic} ne "blm\x01";
	die 'wrong length' if $filter{length} != length $bytes;
	if ($filter{layout} == LAYOUT_EXPLICIT)
	{
		$filter{hashes} = { map { $_ => 1 } unpack "x60 Q<$filter{count}", $bytes };
	}
	foreach my $i (0 .. $layers - 1)
	{
		my %layer;
		@layer{qw(layout k size capacity error_rate set full offset)} =
		  unpack 'C C x6 Q< Q< d< Q< Q< Q<', substr($bytes, 60 + 64 * $i, 64);
		push @{ $filter{layers} }, \%layer;
	}
	return \%filter;
}

sub contains
{
	my ($filter, $hash) = @_;

	return exists $filter->{hashes}{$hash}
	  if $filter->{layout} == LAYOUT_EXPLICIT;
  LAYER:
	foreach my $layer (reverse @{ $filter->{layers} })
	{
		foreach my $bit (layer_bits($layer, $hash))
		{
			next LAYER
			  if !vec($filter->{bytes}, 8 * $layer->{offset} + $bit, 1);
		}
		return 1;
	}
	return 0;
}

# ----------------------------------------------------------------
# The comparison
# ----------------------------------------------------------------

my %layout_number = (
	block512 => LAYOUT_BLOCK512,
	block512x2 => LAYOUT_BLOCK512X2,
	classic => LAYOUT_CLASSIC);

my $node = PostgreSQL::Test::Cluster->new('client');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION bloomfilter');
# for the page's example of an enum
$node->safe_psql('postgres', q{CREATE TYPE mood AS ENUM ('sad', 'ok')});

sub server_filter
{
	my ($expression) = @_;
	return parse(
		pack 'H*',
		$node->safe_psql(
			'postgres', "SELECT encode(($expression)::bytea, 'hex')"));
}

# The golden vectors: the page's hashes are the server's, and its bits are the
# client's and the server's
my $page = abs_path(dirname(__FILE__) . '/../../docs/format.md');
open(my $file, '<', $page) or die "$page: $!";
my ($elements, $vectors) = (0, 0);
while (my $line = <$file>)
{
	# an element: expression, canonical bytes, seed (0 if there is none), hash
	if ($line =~
		/\| `([^`]+)` \| (?:`([0-9a-f]*)`|\d+ bytes) \| (?:(-?\d+) \| )?`([0-9a-f]{16})` \|$/
	  )
	{
		my ($element, $canonical, $seed, $hash) = ($1, $2, $3 || 0, $4);
		my $query = "SELECT lpad(to_hex(bloom_hash(%s, $seed)), 16, '0')";

		is($node->safe_psql('postgres', sprintf($query, $element)),
			$hash, "element $element, seed $seed");
		# the canonical bytes of bytea are its own
		is( $node->safe_psql(
				'postgres', sprintf($query, "'\\x$canonical'::bytea")),
			$hash, "bytes of element $element, seed $seed")
		  if defined $canonical;
		$elements++;
		next;
	}

	# or bits: a filter, its layout, size and k, a hash, the bits it sets
	my ($expression, $layout, $size, $k, $hash, $bits) = $line =~
	  /^\| `(bloom_create\S*\(.*\))` \| (\w+) \| (\d+) \| (\d+) \| `([0-9a-f]{16})` \| ([\d ]+) \|$/
	  or next;
	my $high = hex substr($hash, 0, 8);
	my $low = hex substr($hash, 8);
	my %layer = (layout => $layout_number{$layout}, size => $size, k => $k);
	my %seen;
	my @client =
	  sort { $a <=> $b } grep { !$seen{$_}++ } layer_bits(\%layer, $high << 32 | $low);
	is("@client", $bits, "golden vector: client, $expression, $hash");

	my $element = $hash eq '2fbc593564db792e' ? '1' : "'abc'::text";
	my $filter = server_filter("bloom_add($expression, $element)");
	my $got = $filter->{layers}[0];
	my @server = grep { vec($filter->{bytes}, 8 * $got->{offset} + $_, 1) }
	  0 .. 8 * (length($filter->{bytes}) - $got->{offset}) - 1;
	is( "$got->{layout} $got->{size} $got->{k}: @server",
		"$layout_number{$layout} $size $k: $bits",
		"golden vector: server, $expression, $hash");
	$vectors++;
}
close $file;
cmp_ok($elements, '>=', 30, 'golden vectors of elements were found');
cmp_ok($vectors, '>=', 12, 'golden vectors of bits were found');

# Filters of every kind, filled with the numbers from 1 on, and probed for them
# and as many absent ones.  Error rates are high where a layout allows it, so
# that absent ones are found, too.
foreach my $case (
	# an expression that makes a filter, number of elements, layers at least
	[ 'bloom_create(5000, 0.5, 0)', 5000, 1 ],
	[ 'bloom_create(5000, 0.01, 0)', 5000, 1 ],
	[ 'bloom_create(5000, 0.0002, 0)', 5000, 1 ],
	[ 'bloom_create_bits(40003, 5)', 5000, 1 ],
	[ 'bloom_create(1000, 0.1, 0)', 1000, 1 ],
	[ 'bloom_create(1000, 0.0003, 0)', 1000, 1 ],
	[ 'bloom_create(1000, 1e-7, 0)', 1000, 1 ],
	[ 'bloom_create(1, 0.01)', 1000, 5 ],
	[ 'bloom_create(100, 0.1, 2)', 1000, 3 ],
	[ 'bloom_create(100, 0.001, 2)', 1000, 3 ],
	[ 'bloom_create(10, 1e-5, 16)', 1000, 2 ],
	[ 'bloom_create(200, 0.1, 1, 42)', 1000, 4 ],
	[ 'bloom_create(1000, 0.01, 2, -1)', 1000, 1 ],
	[ 'bloom_create_bits(8003, 1)', 1000, 1 ],
	[ 'bloom_create_bits(80003, 64, 7)', 1000, 1 ],
	# explicit, and empty
	[ '(SELECT bloom_agg(x) FROM generate_series(1, 0) x)', 1000, 0 ],
	[ '(SELECT bloom_agg(x) FROM generate_series(1, 0) x)', 0, 0 ])
{
	my ($expression, $count, $layers) = @$case;
	my $full =
	  "bloom_add_all($expression, ARRAY(SELECT generate_series(1, $count)))";
	my $filter = server_filter($full);
	my ($false, $missed, $differ) = (0, 0, 0);

	cmp_ok(scalar(@{ $filter->{layers} }),
		'>=', $layers, "$expression: layers");
	my @rows = split /\n/, $node->safe_psql(
		'postgres', qq{
		WITH f AS MATERIALIZED (SELECT $full AS f)
		SELECT n, bloom_hash(n, seed), bloom_contains((SELECT f FROM f), n)
		FROM generate_series(1, 2 * $count + 100) n,
			LATERAL (SELECT seed FROM f, bloom_info(f)) s});
	foreach my $row (@rows)
	{
		my ($n, $hash, $server) = split /\|/, $row;
		my $client = contains($filter, $hash & ~0);

		$missed++ if $n <= $count && !$client;
		$false++ if $n > $count && $client;
		$differ++ if ($client ? 't' : 'f') ne $server;
	}
	is(scalar(@rows), 2 * $count + 100, "$expression: answers");
	is($differ, 0,
		"$expression: client and server agree ($false false positives)");
	is($missed, 0, "$expression: no false negative");
}

done_testing();
