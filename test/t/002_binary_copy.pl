# A client reads filters in binary by COPY, and writes the same back.  Damaged bytes are
# refused, like damaged text and bytea.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $dir = $node->backup_dir;
mkdir $dir;

$node->safe_psql('postgres', q{
CREATE EXTENSION bloomfilter;
CREATE TABLE filters (id int, f bloom);
INSERT INTO filters VALUES
	(1, (SELECT bloom_agg(1) WHERE false)),
	(2, bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY[1, 2, 3])),
	(3, bloom_add_all(bloom_create(100), ARRAY[1, 2, 3])),
	(4, bloom_add_all(bloom_create(100, 1e-6, 0, -1), ARRAY[1, 2, 3])),
	(5, bloom_add_all(bloom_create_bits(1001, 7), ARRAY[1, 2, 3])),
	(6, bloom_create(100)),
	(7, (SELECT bloom_agg(i, 10) FROM generate_series(1, 1000) AS i)),
	(8, (SELECT bloom_agg(i) FROM generate_series(1, 100000) AS i)),
	(9, NULL);
CREATE TABLE copied (LIKE filters);
CREATE TABLE damaged (f bloom);
CREATE TABLE cuckoos (id int, f cuckoo);
INSERT INTO cuckoos VALUES
	(1, (SELECT cuckoo_agg(1) WHERE false)),
	(2, cuckoo_create(100)),
	(3, cuckoo_add_all(cuckoo_create(100), ARRAY[1, 2, 3])),
	(4, cuckoo_add_all(cuckoo_create(100, 1e-7, 0, -1), ARRAY[1, 1, 1, 1, 2])),
	(5, (SELECT cuckoo_agg(i, 10) FROM generate_series(1, 1000) AS i)),
	(6, (SELECT cuckoo_agg(i) FROM generate_series(1, 100000) AS i)),
	(7, NULL);
CREATE TABLE copied_cuckoos (LIKE cuckoos);
CREATE TABLE damaged_cuckoos (f cuckoo);
});

sub copy
{
	my ($command) = @_;
	return $node->psql('postgres', $command);
}

# There and back
copy("\\copy filters TO '$dir/filters' (FORMAT binary)");
copy("\\copy copied FROM '$dir/filters' (FORMAT binary)");
is( $node->safe_psql('postgres',
		'SELECT count(*), bool_and(f.f IS NOT DISTINCT FROM c.f) FROM filters f JOIN copied c USING (id)'),
	'9|t', 'binary COPY: the same');
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
	return $node->psql('postgres', "\\set VERBOSITY verbose\n\\copy $table FROM '$file' (FORMAT binary)");
}

sub bytes_of
{
	my ($id, $table) = @_;
	$table //= 'filters';
	return pack('H*', $node->safe_psql('postgres', "SELECT encode(f::bytea, 'hex') FROM $table WHERE id = $id"));
}

foreach my $id (1 .. 8)
{
	my $bytes = bytes_of($id);
	my ($status, $out, $err) = load($bytes);
	is($status, 0, "filter $id as it is") or diag $err;

	my %damage = (
		'no byte' => '',
		'one byte' => substr($bytes, 0, 1),
		'half of the header' => substr($bytes, 0, 30),
		'the header alone, without its last byte' => substr($bytes, 0, 59),
		'one byte less' => substr($bytes, 0, -1),
		'one byte more' => $bytes . "\0",
		'twice' => $bytes . $bytes,
		'other magic' => 'x' . substr($bytes, 1),
		'another version' => substr($bytes, 0, 3) . "\2" . substr($bytes, 4),
		'flags' => substr($bytes, 0, 5) . "\1" . substr($bytes, 6),
		'all zero' => "\0" x length $bytes,
		'all ones' => "\377" x length $bytes,
		'a length of 2^64 - 1' => substr($bytes, 0, 52) . "\377" x 8 . substr($bytes, 60));
	$damage{'bits that are not counted'} = substr($bytes, 0, -8) . ~substr($bytes, -8) if $id > 2;
	foreach my $what (sort keys %damage)
	{
		($status, $out, $err) = load($damage{$what});
		like($err, qr/ERROR:  22P03: invalid bloom filter: /, "filter $id, $what");
	}
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM damaged'), '8', 'nothing damaged came in');

# A length of the field that is not that of the value
my ($status, $out, $err) = load(bytes_of(3), 10);
isnt($status, 0, 'a field that ends early');

# The same bytes as parameter, result, text, bytea and by COPY in text and CSV
foreach my $format ('text', 'csv')
{
	copy("TRUNCATE copied");
	copy("\\copy filters TO '$dir/filters.$format' (FORMAT $format)");
	copy("\\copy copied FROM '$dir/filters.$format' (FORMAT $format)");
	is( $node->safe_psql('postgres',
			'SELECT count(*), bool_and(f.f IS NOT DISTINCT FROM c.f) FROM filters f JOIN copied c USING (id)'),
		'9|t', "COPY as $format: the same");
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
	($status, $out, $err) = load($bytes, undef, 'damaged_cuckoos');
	is($status, 0, "cuckoo filter $id as it is") or diag $err;

	my %damage = (
		'no byte' => '',
		'half of the header' => substr($bytes, 0, 30),
		'one byte less' => substr($bytes, 0, -1),
		'one byte more' => $bytes . "\0",
		'twice' => $bytes . $bytes,
		'other magic' => 'x' . substr($bytes, 1),
		'that of bloom' => 'blm' . substr($bytes, 3),
		'another version' => substr($bytes, 0, 3) . "\2" . substr($bytes, 4),
		'flags' => substr($bytes, 0, 5) . "\1" . substr($bytes, 6),
		'all zero' => "\0" x length $bytes,
		'all ones' => "\377" x length $bytes,
		'a length of 2^64 - 1' => substr($bytes, 0, 52) . "\377" x 8 . substr($bytes, 60));
	$damage{'slots that are not counted'} = substr($bytes, 0, -64) . ~substr($bytes, -64) if $id > 1;
	foreach my $what (sort keys %damage)
	{
		($status, $out, $err) = load($damage{$what}, undef, 'damaged_cuckoos');
		like($err, qr/ERROR:  22P03: invalid cuckoo filter: /, "cuckoo filter $id, $what");
	}
	# one type's filter is not the other's
	($status, $out, $err) = load($bytes);
	like($err, qr/ERROR:  22P03: invalid bloom filter: is a cuckoo filter/, "cuckoo filter $id as a bloom");
}
($status, $out, $err) = load(bytes_of(3), undef, 'damaged_cuckoos');
like($err, qr/ERROR:  22P03: invalid cuckoo filter: is a bloom filter/, 'a bloom as a cuckoo filter');
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

$node->stop;
done_testing();
