# A client reads filters in binary by COPY, and writes the same back.  Damaged bytes are
# refused, like damaged text and bytea.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Server;
use Session;
use Test::More;

my $node = start_server('main');
# one for all commands, which are many
my $session = Session->new($node);
my $dir = $node->backup_dir;
mkdir $dir;

$node->safe_psql('postgres', q{
CREATE TABLE filters (id int, f bloom);
INSERT INTO filters VALUES
	(1, (SELECT bloom_agg(1) WHERE false)),
	(2, bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY[1, 2, 3])),
	(3, bloom_add_all(bloom_create(2000), ARRAY[1, 2, 3])),
	(4, bloom_add_all(bloom_create(2000, 1e-6, 0, -1), ARRAY[1, 2, 3])),
	(5, bloom_add_all(bloom_create_bits(1001, 7), ARRAY[1, 2, 3])),
	(6, bloom_create(2000)),
	(7, (SELECT bloom_agg(i, 10, NULL) FROM generate_series(1, 1000) AS i)),
	(8, (SELECT bloom_agg(i) FROM generate_series(1, 100000) AS i)),
	(9, NULL),
	(10, bloom_add_all(bloom_create(100), ARRAY[1, 2, 3])),
	(11, bloom_add_all(bloom_create(100, 1e-6, 0, -1), ARRAY[1, 2, 3])),
	(12, (SELECT bloom_agg(i) FROM generate_series(1, 10) AS i));
CREATE TABLE copied (LIKE filters);
CREATE TABLE damaged (f bloom);
CREATE TABLE cuckoos (id int, f cuckoo);
INSERT INTO cuckoos VALUES
	(1, (SELECT cuckoo_agg(1) WHERE false)),
	(2, cuckoo_create(100)),
	(3, cuckoo_add_all(cuckoo_create(100), ARRAY[1, 2, 3])),
	(4, cuckoo_add_all(cuckoo_create(100, 1e-7, 0, -1), ARRAY[1, 1, 1, 1, 2])),
	(5, (SELECT cuckoo_agg(i, 10, NULL) FROM generate_series(1, 1000) AS i)),
	(6, (SELECT cuckoo_agg(i) FROM generate_series(1, 100000) AS i)),
	(7, NULL);
CREATE TABLE copied_cuckoos (LIKE cuckoos);
CREATE TABLE damaged_cuckoos (f cuckoo);
});

sub copy
{
	my ($command) = @_;
	return $session->query($command);
}

# There and back
copy("\\copy filters TO '$dir/filters' (FORMAT binary)");
copy("\\copy copied FROM '$dir/filters' (FORMAT binary)");
is( $node->safe_psql('postgres',
		'SELECT count(*), bool_and(f.f IS NOT DISTINCT FROM c.f) FROM filters f JOIN copied c USING (id)'),
	'12|t', 'binary COPY: the same');
is( $node->safe_psql('postgres',
		'SELECT count(*) FILTER (WHERE NOT f @> i) FROM copied, generate_series(1, 1000) AS i WHERE id IN (7, 8)'),
	'0', 'and complete');

# A binary COPY of one column and one row: signature, flags, length of the
# extension, number of columns, length of the value, value, end of data
sub copy_file
{
	my ($bytes, $length) = @_;
	my $file = "$dir/one";

	open(my $out, '>:raw', $file) or die "$file: $!";
	print $out "PGCOPY\n\377\r\n\0", pack('NNnN', 0, 0, 1, $length // length $bytes), $bytes, pack('n', 0xffff);
	close $out;
	return $file;
}

sub load
{
	my ($bytes, $length, $table) = @_;
	my $file = copy_file($bytes, $length);

	$table //= 'damaged';
	return $session->query("\\copy $table FROM '$file' (FORMAT binary)");
}

sub bytes_of
{
	my ($id, $table) = @_;
	$table //= 'filters';
	return pack('H*', $session->query("SELECT encode(f::bytea, 'hex') FROM $table WHERE id = $id"));
}

# An image with a right checksum behind it: what is wrong is in the image.  As the
# checksum is a hash of bytes, the server can tell it.
sub seal
{
	my (@images) = @_;
	my $hashes = $session->query(
		"SELECT encode(int8send(bloom_hash(decode(image, 'hex'))), 'hex') FROM unnest('{"
		  . join(',', map { '"' . unpack('H*', $_) . '"' } @images) . "}'::text[]) WITH ORDINALITY AS u(image, n) ORDER BY n");
	my @hashes = split /\n/, $hashes;
	return map { $images[$_] . reverse pack('H*', $hashes[$_]) } 0 .. $#images;
}

# One inverted byte, here and there, is one in the image or one in the checksum
sub invert
{
	my ($bytes, $at) = @_;
	substr($bytes, $at, 1) = ~substr($bytes, $at, 1);
	return $bytes;
}

sub inverted
{
	my ($bytes) = @_;
	my $step = int(length($bytes) / 10);
	return map { invert($bytes, $step * $_ + $_ % 7) } 0 .. 9;
}

foreach my $id (1 .. 8, 10 .. 12)
{
	my $bytes = bytes_of($id);
	my $said = load($bytes);
	is($said, '', "filter $id as it is");

	my $image = substr($bytes, 0, -8);
	is((seal($image))[0], $bytes, "filter $id, checksum");
	my $compact = ord(substr($image, 4, 1)) == 6;
	my %damage = (
		'no byte' => '',
		'one byte' => substr($image, 0, 1),
		'half of the header' => substr($image, 0, 30),
		'the header alone, without its last byte' => substr($image, 0, $compact ? 38 : 59),
		'one byte less' => substr($image, 0, -1),
		'one byte more' => $image . "\0",
		'twice' => $image . $image,
		'other magic' => 'x' . substr($image, 1),
		'another version' => substr($image, 0, 3) . "\2" . substr($image, 4),
		'flags' => substr($image, 0, 5) . "\1" . substr($image, 6),
		'all zero' => "\0" x length $image,
		'all ones' => "\377" x length $image,
		'the largest length' => $compact ?
		  substr($image, 0, 34) . "\377" x 2 . substr($image, 36) :
		  substr($image, 0, 48) . "\377" x 8 . substr($image, 56));
	$damage{'bits that are not counted'} = substr($image, 0, -8) . ~substr($image, -8) if $id > 2 && !$compact;
	my @what = sort keys %damage;
	my @sealed = seal(map { $damage{$_} } @what);
	foreach my $i (0 .. $#what)
	{
		$said = load($sealed[$i]);
		like($said, qr/ERROR:  22P03: invalid bloom filter: (?!checksum)/, "filter $id, $what[$i]");
	}
	# and damage in transit, without another checksum
	my %transit = (
		'no byte' => '',
		'half' => substr($bytes, 0, length($bytes) / 2),
		'one byte less' => substr($bytes, 0, -1),
		'one byte more' => $bytes . "\0",
		'twice' => $bytes . $bytes,
		'no checksum' => $image,
		'a checksum of zero' => $image . "\0" x 8);
	my $n = 0;
	$transit{'inverted byte ' . $n++} = $_ foreach inverted($bytes);
	foreach my $what (sort keys %transit)
	{
		$said = load($transit{$what});
		like($said, qr/ERROR:  22P03: invalid bloom filter: /, "filter $id, $what, in transit");
	}
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM damaged'), '11', 'nothing damaged came in');

# A length of the field that is not that of the value
my $said = load(bytes_of(3), 10);
like($said, qr/^ERROR/, 'a field that ends early');

# The same bytes as parameter, result, text, bytea and by COPY in text and CSV
foreach my $format ('text', 'csv')
{
	copy("TRUNCATE copied");
	copy("\\copy filters TO '$dir/filters.$format' (FORMAT $format)");
	copy("\\copy copied FROM '$dir/filters.$format' (FORMAT $format)");
	is( $node->safe_psql('postgres',
			'SELECT count(*), bool_and(f.f IS NOT DISTINCT FROM c.f) FROM filters f JOIN copied c USING (id)'),
		'12|t', "COPY as $format: the same");
}

# The same with cuckoo filters
copy("\\copy cuckoos TO '$dir/cuckoos' (FORMAT binary)");
copy("\\copy copied_cuckoos FROM '$dir/cuckoos' (FORMAT binary)");
is( $node->safe_psql('postgres',
		'SELECT count(*), bool_and(f.f IS NOT DISTINCT FROM c.f) FROM cuckoos f JOIN copied_cuckoos c USING (id)'),
	'7|t', 'cuckoo, binary COPY: the same');
is( $node->safe_psql('postgres',
		'SELECT count(*) FILTER (WHERE NOT f @> i) FROM copied_cuckoos, generate_series(1, 1000) AS i WHERE id IN (5, 6)'),
	'0', 'and complete');
foreach my $id (1 .. 6)
{
	my $bytes = bytes_of($id, 'cuckoos');
	$said = load($bytes, undef, 'damaged_cuckoos');
	is($said, '', "cuckoo filter $id as it is");

	my $image = substr($bytes, 0, -8);
	is((seal($image))[0], $bytes, "cuckoo filter $id, checksum");
	my %damage = (
		'no byte' => '',
		'half of the header' => substr($image, 0, 30),
		'one byte less' => substr($image, 0, -1),
		'one byte more' => $image . "\0",
		'twice' => $image . $image,
		'other magic' => 'x' . substr($image, 1),
		'that of bloom' => 'blm' . substr($image, 3),
		'another version' => substr($image, 0, 3) . "\2" . substr($image, 4),
		'flags' => substr($image, 0, 5) . "\1" . substr($image, 6),
		'all zero' => "\0" x length $image,
		'all ones' => "\377" x length $image,
		'a length of 2^64 - 1' => substr($image, 0, 48) . "\377" x 8 . substr($image, 56));
	$damage{'slots that are not counted'} = substr($image, 0, -64) . ~substr($image, -64) if $id > 1;
	my @what = sort keys %damage;
	my @sealed = seal(map { $damage{$_} } @what);
	foreach my $i (0 .. $#what)
	{
		$said = load($sealed[$i], undef, 'damaged_cuckoos');
		like($said, qr/ERROR:  22P03: invalid cuckoo filter: (?!checksum)/, "cuckoo filter $id, $what[$i]");
	}
	my %transit = (
		'one byte less' => substr($bytes, 0, -1),
		'one byte more' => $bytes . "\0",
		'no checksum' => $image,
		'a checksum of zero' => $image . "\0" x 8);
	my $n = 0;
	$transit{'inverted byte ' . $n++} = $_ foreach inverted($bytes);
	foreach my $what (sort keys %transit)
	{
		$said = load($transit{$what}, undef, 'damaged_cuckoos');
		like($said, qr/ERROR:  22P03: invalid cuckoo filter: /, "cuckoo filter $id, $what, in transit");
	}
	# one type's filter is not the other's
	$said = load($bytes);
	like($said, qr/ERROR:  22P03: invalid bloom filter: is a cuckoo filter/, "cuckoo filter $id as a bloom");
}
$said = load(bytes_of(3), undef, 'damaged_cuckoos');
like($said, qr/ERROR:  22P03: invalid cuckoo filter: is a bloom filter/, 'a bloom as a cuckoo filter');
is($node->safe_psql('postgres', 'SELECT count(*) FROM damaged_cuckoos'), '6', 'nothing damaged came in');
foreach my $format ('text', 'csv')
{
	copy("TRUNCATE copied_cuckoos");
	copy("\\copy cuckoos TO '$dir/cuckoos.$format' (FORMAT $format)");
	copy("\\copy copied_cuckoos FROM '$dir/cuckoos.$format' (FORMAT $format)");
	is( $node->safe_psql('postgres',
			'SELECT count(*), bool_and(f.f IS NOT DISTINCT FROM c.f) FROM cuckoos f JOIN copied_cuckoos c USING (id)'),
		'7|t', "cuckoo, COPY as $format: the same");
}

$session->quit;
$node->stop;
done_testing();
