# A client that reads and writes filters by docs/dev/format.md alone gives the
# server's answers.
#
# The functions of the first part follow that page and nothing else; they take
# the hash of an element, and a checksum, from bloom_hash(), since a Perl
# without extra modules has no XXH3.  They are compared with the page's golden
# vectors, with bloom_contains() for filters of every layout, fixed, growing and
# grown, and with the bytes of bloom_add_all().
use strict;
use warnings;

use Cwd qw(abs_path);
use Config;
use File::Basename;
use FindBin;
use lib $FindBin::RealBin;

use Server;
use Session;
use Test::More;

plan skip_all => 'needs integers of 64 bits' if $Config{ivsize} < 8;

# One session for all queries, which are many
my $session;

# ----------------------------------------------------------------
# The client
# ----------------------------------------------------------------

use constant {
	LAYOUT_EMPTY => 0,
	LAYOUT_EXPLICIT => 1,
	LAYOUT_BLOCK512 => 2,
	LAYOUT_BLOCK512X2 => 3,
	LAYOUT_CLASSIC => 4,
	LAYOUT_SMALL => 6,
	LAYOUT_COUNTING => 7,
	LAYOUT_COUNTINGX2 => 8
};
use constant CHECKSUM_BYTES => 8;
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

	if ($layout == LAYOUT_CLASSIC || $layout == LAYOUT_SMALL)
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
	if ($layout == LAYOUT_BLOCK512X2 || $layout == LAYOUT_COUNTINGX2)
	{
		my $other = remix($hash);
		my $second = mulhi($other, $size - 1);
		$second++ if $second >= $first;
		push @bits,
		  map { 512 * $second + $_ } block_bits(mul64($other, A), $k);
	}
	return @bits;
}

# XXH3 of bytes with seed 0, as the server computes it
sub xxh3
{
	my ($bytes) = @_;
	return $session->query("SELECT bloom_hash('\\x" . unpack('H*', $bytes) . "'::bytea)") & ~0;
}

# Number of bits set
sub count_bits
{
	my ($bytes) = @_;
	return unpack '%64b*', $bytes;
}

# A filter from the bytes that the server sends
sub parse
{
	my ($external) = @_;
	my $bytes = substr $external, 0, -CHECKSUM_BYTES;
	my %filter = (bytes => $bytes, layers => []);
	my $layers;

	die 'damaged'
	  if unpack('Q<', substr $external, -CHECKSUM_BYTES) != xxh3($bytes);
	(   $filter{magic}, $filter{layout}, $filter{flags},
		$filter{growth}, $layers, $filter{class},
		$filter{seed}, $filter{error_rate}
	) = unpack 'a4 C C C C a8 Q< d<', $bytes;
	die 'not a filter' if $filter{magic} ne "blm\x01";
	if ($filter{layout} == LAYOUT_SMALL)
	{
		my ($capacity, $size, $full, $k) = unpack 'x32 S< S< S< C', $bytes;

		die 'wrong length' if 39 + $size != length $bytes;
		$filter{capacity} = $capacity;
		push @{ $filter{layers} },
		  { layout => LAYOUT_SMALL, k => $k, size => 8 * $size, full => $full,
			offset => 39, capacity => $capacity,
			error_rate => $filter{error_rate} *
			  (!$filter{growth} ? 1 : $filter{flags} == 2 ? 0.95 : 0.808),
			set => count_bits(substr $bytes, 39) };
		return \%filter;
	}
	(   $filter{capacity}, $filter{count}, $filter{length}
	) = unpack 'x32 Q< Q< Q<', $bytes;
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

# The bytes to send to the server
sub external
{
	my ($filter) = @_;
	return $filter->{bytes} . pack 'Q<', xxh3($filter->{bytes});
}

sub contains
{
	my ($filter, $hash) = @_;

	return 0 if $filter->{layout} == LAYOUT_EMPTY;
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

# Add a hash of an element of a class.  False if the server must do it, since
# the last layer is full.
sub add
{
	my ($filter, $class, $hash) = @_;

	if ($filter->{class} eq "\0" x 8)
	{
		$filter->{layout} = LAYOUT_EXPLICIT if $filter->{layout} == LAYOUT_EMPTY;
		substr($filter->{bytes}, 4, 1) = pack 'C', $filter->{layout};
		substr($filter->{bytes}, 8, 8) = $filter->{class} = $class;
	}
	die 'another class' if $filter->{class} ne $class;
	if ($filter->{layout} == LAYOUT_EXPLICIT)
	{
		$filter->{hashes}{$hash} = 1;
		my @hashes = sort { $a <=> $b } keys %{ $filter->{hashes} };
		$filter->{count} = @hashes;
		$filter->{length} = 60 + 8 * @hashes;
		substr($filter->{bytes}, 40) =
		  pack 'Q< Q< L< Q<*', $filter->{count}, $filter->{length}, 0, @hashes;
		return 1;
	}
	return 1 if contains($filter, $hash);

	my $last = @{ $filter->{layers} } - 1;
	my $layer = $filter->{layers}[$last];
	return 0 if $layer->{full} != 0 && $layer->{set} >= $layer->{full};
	foreach my $bit (layer_bits($layer, $hash))
	{
		my $place = 8 * $layer->{offset} + $bit;
		$layer->{set}++ if !vec($filter->{bytes}, $place, 1);
		vec($filter->{bytes}, $place, 1) = 1;
	}
	substr($filter->{bytes}, 60 + 64 * $last + 32, 8) = pack 'Q<', $layer->{set}
	  if $filter->{layout} != LAYOUT_SMALL;
	return 1;
}

# The first layer of a counting filter that contains the element, if there is one
sub counting_home
{
	my ($filter, $hash) = @_;

  LAYER:
	foreach my $i (0 .. $#{ $filter->{layers} })
	{
		my $layer = $filter->{layers}[$i];
		foreach my $bit (layer_bits($layer, $hash))
		{
			next LAYER if !vec($filter->{bytes}, 8 * $layer->{offset} + $bit, 1);
		}
		return $i;
	}
	return undef;
}

# Count an element of a counting filter up or down by 1, in this layer.
sub count_element
{
	my ($filter, $i, $hash, $by) = @_;
	my $layer = $filter->{layers}[$i];
	my %once = map { $_ => 1 } layer_bits($layer, $hash);

	foreach my $bit (keys %once)
	{
		my $place = 8 * $layer->{offset} + $bit;
		my $planes =
		  8 * ($layer->{offset} + 64 * $layer->{size} + 192 * int($bit / 512)) + $bit % 512;
		my $counter = vec($filter->{bytes}, $place, 1);

		$counter += vec($filter->{bytes}, $planes + 512 * $_, 1) << $_ foreach 0 .. 2;
		next if $counter == 8;
		$layer->{set} += $by if $counter == ($by > 0 ? 0 : 1);
		$counter += $by;
		vec($filter->{bytes}, $place, 1) = $counter > 0;
		vec($filter->{bytes}, $planes + 512 * $_, 1) = $counter > 0 && ($counter - 1) >> $_ & 1
		  foreach 0 .. 2;
	}
	substr($filter->{bytes}, 60 + 64 * $i + 32, 8) = pack 'Q<', $layer->{set};
	return;
}

# The same as add(), for a counting filter that has a class
sub counting_add
{
	my ($filter, $hash) = @_;
	my $last = @{ $filter->{layers} } - 1;
	my $layer = $filter->{layers}[$last];
	my $home = counting_home($filter, $hash);

	return 0 if !defined $home && $layer->{full} != 0 && $layer->{set} >= $layer->{full};
	count_element($filter, $home // $last, $hash, 1);
	return 1;
}

sub counting_remove
{
	my ($filter, $hash) = @_;
	my $home = counting_home($filter, $hash);

	count_element($filter, $home, $hash, -1) if defined $home;
	return;
}

# The bits of a layer, as bytes without padding
sub bits_of
{
	my ($filter, $layer) = @_;
	my $blocks = $layer->{layout} == LAYOUT_BLOCK512 || $layer->{layout} == LAYOUT_BLOCK512X2;

	return substr $filter->{bytes}, $layer->{offset},
	  $blocks ? 64 * $layer->{size} : ($layer->{size} + 7) / 8;
}

# The union of compatible filters with layers
sub unite
{
	my ($left, $right) = @_;
	my @others = map { { %$_, bits => bits_of($right, $_) } } @{ $right->{layers} };
	my @layers;

	foreach my $layer (@{ $left->{layers} })
	{
		my %united = (%$layer, bits => bits_of($left, $layer));
		my $picks = $layer->{k} * ($layer->{layout} == LAYOUT_BLOCK512X2 ? 2 : 1);

		foreach my $i (0 .. $#others)
		{
			my $other = $others[$i];
			next
			  if grep { $other->{$_} != $layer->{$_} } qw(layout k size capacity error_rate full);
			my $bits = $united{bits} | $other->{bits};
			my $set = count_bits($bits);

			next
			  if $layer->{full} != 0 && $set >= $layer->{full} + $picks
			  && $set > $layer->{set} && $set > $other->{set};
			@united{qw(bits set)} = ($bits, $set);
			splice @others, $i, 1;
			last;
		}
		push @layers, \%united;
	}
	@layers = sort {
		$b->{error_rate} <=> $a->{error_rate} || $a->{capacity} <=> $b->{capacity}
		  || $a->{bits} cmp $b->{bits}
	} @layers, @others;

	my $class = $left->{class} ne "\0" x 8 ? $left->{class} : $right->{class};
	if (@layers == 1 && $layers[0]{layout} == LAYOUT_SMALL)
	{
		return { bytes => substr($left->{bytes}, 0, 8) . $class
			  . substr($left->{bytes}, 16, 23) . $layers[0]{bits} };
	}
	my ($layout) = grep { $_ != LAYOUT_SMALL } map { $_->{layout} } @layers;
	my ($descriptors, $bits) = ('', '');
	foreach my $layer (@layers)
	{
		$descriptors .= pack 'C C x6 Q< Q< d< Q< Q< Q< x8',
		  @{$layer}{qw(layout k size capacity error_rate set full)},
		  60 + 64 * @layers + length $bits;
		$bits .= $layer->{bits} . "\0" x (-length($layer->{bits}) % 64);
	}
	return { bytes => pack('a4 C C C C a8 Q< d< Q< Q< Q< x4',
			$left->{magic}, $layout || LAYOUT_BLOCK512, 0, $left->{growth}, scalar(@layers),
			$class, @{$left}{qw(seed error_rate capacity)}, 0,
			60 + length($descriptors) + length $bits) . $descriptors . $bits };
}

# ----------------------------------------------------------------
# The comparison
# ----------------------------------------------------------------

my %layout_number = (
	block512 => LAYOUT_BLOCK512,
	block512x2 => LAYOUT_BLOCK512X2,
	classic => LAYOUT_CLASSIC,
	small => LAYOUT_SMALL,
	counting => LAYOUT_COUNTING,
	countingx2 => LAYOUT_COUNTINGX2);

my $node = start_server('client', init => [ extra => [ '--encoding=UTF8', '--locale=C' ] ]);
$session = Session->new($node);
# for the page's example of an enum
$session->query(q{CREATE TYPE mood AS ENUM ('sad', 'ok')});

sub server_filter
{
	my ($expression) = @_;
	return parse(pack 'H*',
		$session->query("SELECT encode(($expression)::bytea, 'hex')"));
}

# The golden vectors: the page's hashes are the server's, and its bits are the
# client's and the server's
my $page = abs_path(dirname(__FILE__) . '/../../docs/dev/format.md');
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

		is($session->query(sprintf($query, $element)),
			$hash, "element $element, seed $seed");
		# the canonical bytes of bytea are its own
		is( $session->query(sprintf($query, "'\\x$canonical'::bytea")),
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
cmp_ok($vectors, '>=', 21, 'golden vectors of bits were found');

# Filters of every kind, filled with the numbers from 1 on, and probed for them
# and as many absent ones.  Error rates are high where a layout allows it, so
# that absent ones are found, too.  Elements are added in steps where there are
# to be many layers: of one array, a single new layer takes all.
$session->query(q{
	CREATE FUNCTION filled(f bloom, count integer, step integer) RETURNS bloom
	LANGUAGE plpgsql STABLE AS $$
	BEGIN
		FOR n IN 1 .. count BY step LOOP
			f := bloom_add_all(f, ARRAY(SELECT generate_series(n, least(n + step - 1, count))));
		END LOOP;
		RETURN f;
	END $$});
foreach my $case (
	# an expression that makes a filter, number of elements, layers at least,
	# elements in a step
	[ 'bloom_create(5000, 0.5, 0)', 5000, 1 ],
	[ 'bloom_create(5000, 0.01, 0)', 5000, 1 ],
	[ 'bloom_create(5000, 0.0002, 0)', 5000, 1 ],
	[ 'bloom_create_bits(40003, 5)', 5000, 1 ],
	[ 'bloom_create(2000, 0.1, 0)', 2000, 1 ],
	[ 'bloom_create(2000, 0.0006, 0)', 2000, 1 ],
	[ 'bloom_create(2000, 1e-7, 0)', 2000, 1 ],
	# small: compact images, and layers of grown filters
	[ 'bloom_create(1, 0.5, 0)', 1, 1 ],
	[ 'bloom_create(100, 0.1, 0)', 100, 1 ],
	[ 'bloom_create(1500, 0.01, 0, 42)', 1500, 1 ],
	[ 'bloom_create(1500, 1e-7)', 1500, 1 ],
	[ '(SELECT bloom_agg(x, NULL, 0.1) FROM generate_series(1, 1000) x)', 1000, 1 ],
	[ '(SELECT bloom_agg(x, NULL, 0.1) FROM generate_series(1, 1000) x)', 3000, 2 ],
	[ 'bloom_create(1, 0.01)', 1000, 5, 10 ],
	[ 'bloom_create(100, 0.1, 2)', 1000, 5, 10 ],
	[ 'bloom_create(100, 0.001, 2)', 3000, 2 ],
	[ 'bloom_create(1000, 0.001, 2)', 6000, 5, 100 ],
	[ 'bloom_create(10, 1e-5, 16)', 1000, 3, 10 ],
	[ 'bloom_create(200, 0.1, 1, 42)', 1000, 6, 10 ],
	[ 'bloom_create(1000, 0.01, 2, -1)', 1000, 1 ],
	[ 'bloom_create_bits(8003, 1)', 1000, 1 ],
	[ 'bloom_create_bits(80003, 64, 7)', 1000, 1 ],
	# explicit, and empty
	[ '(SELECT bloom_agg(x) FROM generate_series(1, 0) x)', 1000, 0 ],
	[ '(SELECT bloom_agg(x) FROM generate_series(1, 0) x)', 0, 0 ])
{
	my ($expression, $count, $layers, $step) = @$case;
	my $full = "filled($expression, $count, " . ($step || $count || 1) . ')';
	my $filter = server_filter($full);
	my ($false, $missed, $differ) = (0, 0, 0);

	cmp_ok(scalar(@{ $filter->{layers} }),
		'>=', $layers, "$expression: layers");
	my @rows = split /\n/, $session->query(qq{
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

# Elements that the client adds, in every layout: the server takes the bytes,
# and they are those of bloom_add_all().  Each case begins with a filter of the
# server's that has the elements up to $first.
my @hashes = split /\n/, $session->query('SELECT bloom_hash(n) FROM generate_series(1, 3000) n ORDER BY n');
my $empty = '(SELECT bloom_agg(x) FROM generate_series(1, 0) x)';
foreach my $case (
	# expression, elements of the server, elements in all, layout of the last layer
	[ $empty, 0, 30, undef ],
	[ $empty, 20, 40, undef ],
	[ 'bloom_create(100)', 0, 100, 'small' ],
	[ 'bloom_create(1500, 0.001, 0)', 700, 1500, 'small' ],
	[ 'bloom_create(10)', 12, 40, 'small' ],
	[ 'bloom_create(3000, 0.1)', 0, 3000, 'block512' ],
	[ 'bloom_create(3000, 1e-5)', 1000, 3000, 'block512x2' ],
	[ 'bloom_create_bits(6045, 8)', 10, 500, 'classic' ])
{
	my ($expression, $first, $count, $layout) = @$case;
	my $sql = sub {
		"bloom_add_all($expression, ARRAY(SELECT generate_series(1, $_[0])))";
	};
	my $filter = server_filter($sql->($first));
	my $refused = grep { !add($filter, "i\0\0\0\0\0\0\0", $hashes[ $_ - 1 ] & ~0) }
	  $first + 1 .. $count;
	my $bytes = unpack 'H*', external($filter);

	is($refused, 0, "client adds to $expression with $first elements");
	is($filter->{layers}[-1]{layout}, $layout_number{$layout}, 'last layer is ' . $layout)
	  if defined $layout;
	is( $session->query("SELECT '\\x$bytes'::bytea::bloom = " . $sql->($count)),
		't', "server takes $expression with $count elements");
}

# Elements that the client adds to a counting filter several times, and removes:
# the same bytes again.  Some counters get to eight.
foreach my $case (
	# expression, elements, layers
	[ 'bloom_create(30, 0.1, counting => true)', 50, 1 ],
	[ 'bloom_create(300, 1e-5, counting => true)', 200, 1 ],
	[ 'bloom_create(60, 0.2, counting => true)', 400, 2 ])
{
	my ($expression, $count, $layers) = @$case;
	my $added =
	  "bloom_add_all($expression, ARRAY(SELECT n FROM generate_series(1, $count) n))";
	my $again = "ARRAY(SELECT n FROM generate_series(1, $count) n, generate_series(1, 5) i WHERE i <= n % 6)";
	my $filter = server_filter($added);
	my $refused = 0;

	foreach my $n (1 .. $count)
	{
		$refused += grep { !counting_add($filter, $hashes[ $n - 1 ] & ~0) } 1 .. $n % 6;
	}
	foreach my $n (1 .. $count)
	{
		counting_remove($filter, $hashes[ $n - 1 ] & ~0) foreach 1 .. $n % 6;
	}
	my $bytes = unpack 'H*', external($filter);

	is($refused, 0, "client counts $expression");
	is(scalar @{ $filter->{layers} }, $layers, "layers of $expression");
	is( $session->query("SELECT '\\x$bytes'::bytea::bloom = bloom_remove_all(bloom_add_all($added, $again), $again)"),
		't', "server takes the counters of $expression");
}

# Unions: the client's have the bytes of the server's
foreach my $case (
	# expressions, layers of the union
	[ 'bloom_create(100)', 'bloom_create(100)', 1 ],
	[ 'bloom_create(100)', 'filled(bloom_create(100), 50, 50)', 1 ],
	[ 'filled(bloom_create(100), 100, 100)',
		'bloom_add_all(bloom_create(100), ARRAY(SELECT generate_series(101, 200)))', 2 ],
	[ 'filled(bloom_create(100), 400, 10)', 'filled(bloom_create(100), 50, 50)', 4 ],
	[ 'filled(bloom_create(100), 60, 60)', 'filled(bloom_create(100), 400, 10)', 4 ],
	[ 'filled(bloom_create(100), 400, 10)',
		'bloom_add_all(bloom_create(100), ARRAY(SELECT generate_series(10001, 13000)))', 5 ],
	[ 'filled(bloom_create(1000, 0.001), 5000, 100)', 'filled(bloom_create(1000, 0.001), 6000, 200)', 5 ],
	[ '(SELECT bloom_agg(x) FROM generate_series(1, 100) x)',
		'(SELECT bloom_agg(x) FROM generate_series(101, 200) x)', 2 ],
	[ 'filled(bloom_create(3000, 0.01, 0), 1000, 1000)',
		'bloom_add_all(bloom_create(3000, 0.01, 0), ARRAY(SELECT generate_series(501, 2000)))', 1 ],
	[ 'filled(bloom_create(3000, 1e-5), 3000, 3000)',
		'bloom_add_all(bloom_create(3000, 1e-5), ARRAY(SELECT generate_series(2001, 5000)))', 2 ],
	[ 'filled(bloom_create_bits(999, 2), 10, 10)', 'filled(bloom_create_bits(999, 2), 20, 20)', 1 ])
{
	my ($left, $right, $layers) = @$case;
	my $union = server_filter("bloom_union($left, $right)");
	my $client = unite(server_filter($left), server_filter($right));

	cmp_ok(scalar(@{ $union->{layers} }), '>=', $layers, "$left | $right: layers");
	is(unpack('H*', $client->{bytes}), unpack('H*', $union->{bytes}),
		"$left | $right: the same bytes");
}

# A full layer is full for the client, too
my $fixed = server_filter('bloom_create(20, 0.01, 0)');
my @added = grep { add($fixed, "i\0\0\0\0\0\0\0", $hashes[ $_ - 1 ] & ~0) } 1 .. 100;
cmp_ok(scalar(@added), '>=', 20, 'client adds up to the capacity');
cmp_ok(scalar(@added), '<', 40, 'client notices a full filter');
my $bytes = unpack 'H*', external($fixed);
my $said = $session->query(
	"SELECT bloom_add_all('\\x$bytes'::bytea::bloom, ARRAY(SELECT generate_series(1, 100)))");
like($said, qr/filter of fixed size is full/, 'so does the server');

# Any damaged byte is noticed, by either side
my $sent = external($fixed);
foreach my $at (0, 8, 33, 45, length($sent) - 1)
{
	my $damaged = $sent;
	substr($damaged, $at, 1) ^= "\x04";
	ok(!eval { parse($damaged) }, "client refuses byte $at damaged");
	$said = $session->query(
		"SELECT '\\x" . unpack('H*', $damaged) . "'::bytea::bloom");
	like($said, qr/ERROR:  22P03: invalid bloom filter: /,
		"server refuses byte $at damaged");
}

# What the page says that the server accepts of a compact image, and of the
# layout of a filter with layers: images that differ in one place each
sub accepted
{
	my ($image) = @_;
	my $hex = unpack 'H*', external({ bytes => $image });
	my $said = $session->query(
		"SELECT length('\\x$hex'::bytea::bloom::bytea)");
	return 'accepted' if $said =~ /^\d+\z/;
	return $said =~ /ERROR:  22P03: invalid bloom filter: / ? 'refused' : $said;
}
my %base = (
	compact => server_filter('bloom_add(bloom_create(100), 1)')->{bytes},
	fixed => server_filter('bloom_create(100, 0.01, 0)')->{bytes},
	# two small layers
	grown => server_filter('bloom_add_all(bloom_create(2), ARRAY[1, 2, 3, 4])')->{bytes},
	blocks => server_filter('bloom_add_all(bloom_create(2000), ARRAY[1, 2])')->{bytes});
my $bits = length($base{compact}) - 39;
foreach my $case (
	# image, offset, the bytes there
	[ 'compact', 0, 'blm', 'accepted' ],
	[ 'compact', 3, "\x02", 'refused' ],
	[ 'compact', 4, "\x02", 'refused' ],
	[ 'compact', 5, "\x01", 'refused' ],
	[ 'compact', 5, "\x02", 'accepted' ],
	[ 'compact', 5, "\x03", 'refused' ],
	[ 'fixed', 5, "\x02", 'refused' ],
	[ 'compact', 6, "\x10", 'accepted' ],
	[ 'compact', 6, "\x11", 'refused' ],
	[ 'compact', 7, "\x00", 'refused' ],
	[ 'compact', 7, "\x02", 'refused' ],
	[ 'compact', 8, "\0" x 8, 'refused' ],
	[ 'fixed', 8, "\0" x 8, 'accepted' ],
	[ 'compact', 24, pack('d<', 0), 'refused' ],
	[ 'compact', 24, pack('d<', 0.6), 'refused' ],
	[ 'compact', 32, pack('S<', 0), 'refused' ],
	[ 'compact', 32, pack('S<', 1500), 'accepted' ],
	[ 'compact', 32, pack('S<', 1501), 'refused' ],
	[ 'compact', 34, pack('S<', $bits - 1), 'refused' ],
	[ 'compact', 36, pack('S<', 0), 'accepted' ],
	[ 'compact', 36, pack('S<', 8 * $bits), 'accepted' ],
	[ 'compact', 36, pack('S<', 8 * $bits + 1), 'refused' ],
	[ 'compact', 38, "\x00", 'refused' ],
	[ 'compact', 38, "\x18", 'accepted' ],
	[ 'compact', 38, "\x19", 'refused' ],
	[ 'grown', 4, "\x03", 'refused' ],
	[ 'grown', 4, "\x06", 'refused' ],
	[ 'grown', 5, "\x02", 'refused' ],
	[ 'grown', 56, "\x01", 'refused' ],
	[ 'grown', 61, "\x18", 'accepted' ],
	[ 'grown', 61, "\x19", 'refused' ],
	[ 'grown', 60 + 8, pack('Q<', 33), 'refused' ],
	[ 'grown', 60 + 8, pack('Q<', 40), 'accepted' ],
	[ 'grown', 60 + 16, pack('Q<', 1500), 'accepted' ],
	[ 'grown', 60 + 16, pack('Q<', 1501), 'refused' ],
	[ 'grown', 60 + 40, pack('Q<', 33), 'refused' ],
	[ 'grown', 60 + 128 + 4, "\x01", 'refused' ],
	[ 'grown', length($base{grown}) - 1, "\x01", 'refused' ],
	[ 'blocks', 4, "\x03", 'refused' ])
{
	my ($name, $at, $new, $expected) = @$case;
	my $image = $base{$name};
	substr($image, $at, length $new) = $new;
	is(accepted($image), $expected,
		"$name, " . unpack('H*', $new) . " at $at: $expected");
}

# Compact images of any size, as the page defines it
foreach my $size (1, 8191, 8192)
{
	my $image = substr($base{fixed}, 0, 34) . pack('S< S< C', $size, 1, 1) . "\0" x $size;
	is(accepted($image), $size <= 8191 ? 'accepted' : 'refused', "compact, $size bytes of bits");
}
# and one small layer with a descriptor
{
	my $image = substr $base{grown}, 0, 124;
	my $offset = unpack 'Q<', substr($base{grown}, 60 + 48, 8);
	substr($image, 7, 1) = "\x01";
	substr($image, 48, 8) = pack 'Q<', 124 + 64;
	substr($image, 60 + 48, 8) = pack 'Q<', 124;
	is(accepted($image . substr($base{grown}, $offset, 64)), 'refused',
		'one small layer that is not compact');
}

$session->quit;
$node->stop;
done_testing();
