# Filters of other systems: what Guava, DuckDB, Spark, DataSketches, RedisBloom
# and Redis wrote (test/vectors) gives their answers here, is exported as the same
# bytes, and is made anew with the same bytes; damaged files are refused.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $vectors = abs_path(dirname(__FILE__) . '/../vectors/foreign');
my $node = start_server('main', conf => "client_min_messages = warning\n");
my $session = Session->new($node);

sub refused
{
	my ($sql, $message, $name) = @_;

	like($session->query($sql), qr/^ERROR:  22P03: .*$message/, $name);
	return;
}

# ----------------------------------------------------------------
# Every file, in every way to probe
# ----------------------------------------------------------------

open(my $files, '<:encoding(UTF-8)', "$vectors/files.tsv") or die "files.tsv: $!";
while (my $line = <$files>)
{
	chomp $line;
	my ($file, $format, $form, $type, $bits, $hashes, $capacity, $rate, $rule) =
	  split /\t/, $line;
	my $shape = $bits eq '\N' ? '' : ", $bits, $hashes";
	my $bytes = "pg_read_binary_file('$vectors/$file.bin')";
	my $import = "bloom_import($bytes, '$format', '$form'$shape)";

	my $said = $session->query(qq(
		DROP TABLE IF EXISTS asked, stored;
		CREATE TABLE asked (added boolean, answer boolean, e $type);
		COPY asked FROM '$vectors/$file.tsv';
		CREATE TABLE stored (f bloom);
		INSERT INTO stored SELECT $import;));
	die $said if $said ne '';

	# DataSketches never adds '', so its own "no" is not one
	my $right = $file =~ /^datasketches/ && $type eq 'text' ?
	  "(bloom_contains(f, e) = answer OR e = '')" : 'bloom_contains(f, e) = answer';
	is($session->query("SELECT count(*) FROM asked, stored WHERE NOT $right"), '0',
		"$file: the library's answers");
	is($session->query("SELECT count(*) FROM asked, stored WHERE answer AND NOT bloom_contains(f, e)"),
		'0', "$file: none lost");
	is($session->query("SELECT count(*) FROM stored,
				unnest(bloom_contains_each(f, ARRAY(SELECT e FROM asked ORDER BY added, e)),
					ARRAY(SELECT bloom_contains(f, e) FROM asked ORDER BY added, e)) AS t(a, b)
			WHERE a <> b"),
		'0', "$file: the same in a batch");
	is($session->query("SELECT bool_and(s.n = (SELECT count(*) FROM asked, stored WHERE bloom_contains(f, e)))
			FROM (SELECT count(*) AS n FROM asked
				WHERE bloom_contains((SELECT f FROM stored), e)) s"),
		't', "$file: the same in a Filter Scan");
	is($session->query("SELECT bloom_export(f, '$format') = $bytes AND f::text::bloom = f FROM stored"),
		't', "$file: exported as it was");
	next if $capacity eq '\N';
	my $elements = $rule =~ /^from/ ?
	  "SELECT e FROM asked WHERE added LIMIT 10" : "SELECT $rule";
	is($session->query("SELECT bloom_export(bloom_add_all(
				bloom_create_foreign('$format', '$form', $capacity, $rate),
				ARRAY($elements)::$type" . "[]), '$format') = $bytes"),
		't', "$file: made anew with the same bytes");
}
close $files;

# Elements leave RedisBloom's cuckoo filters, and none enters: each once, those that were
# added four times three times more, those that were removed never
$session->query(q(
	DROP TABLE stored;
	CREATE TABLE stored (f bloom);
	INSERT INTO stored SELECT bloom_import(pg_read_binary_file('$vectors/redisbloom/cf-url-1000-exp4.bin'),
		'redisbloom', 'text');
) =~ s/\$vectors/$vectors/r);
is($session->query("SELECT bloom_cardinality(f), bloom_count(f, 'http://bad.example/1') >= 4,
			bloom_count(f, 'http://bad.example/2'::varchar) >= 1, bloom_count(f, 'absent'::text) FROM stored"),
	'964|t|t|0', 'redisbloom:cuckoo: counts');
is($session->query(q(
	DO $$
	DECLARE
		g bloom := (SELECT f FROM stored);
		lost int := 0;
	BEGIN
		FOR i IN 1..1000 LOOP
			CONTINUE WHEN i BETWEEN 500 AND 540;
			lost := lost + (NOT bloom_contains(g, 'http://bad.example/' || i))::int;
			g := bloom_remove(g, 'http://bad.example/' || i);
		END LOOP;
		g := bloom_remove_all(g, '{http://bad.example/1,http://bad.example/1}'::text[]);
		g := bloom_remove_all(g, '{http://bad.example/1,http://bad.example/21,http://bad.example/41,absent}'::text[]);
		RAISE EXCEPTION 'lost %, left %', lost, bloom_cardinality(g);
	END $$;)) =~ s/.*(lost \d+, left \d+).*/$1/sr,
	'lost 0, left 0', 'redisbloom:cuckoo: each element removed, and none lost by that');
is($session->query("SELECT count(*) FROM stored, generate_series(1, 450) i
		WHERE NOT bloom_contains(bloom_remove(f, 'http://bad.example/' || 1000 - i), 'http://bad.example/' || 1 + (i - 1) % 400)"),
	'0', 'redisbloom:cuckoo: a removal loses no other');
is($session->query("SELECT count(*) FROM stored, LATERAL bloom_remove(f, 'http://bad.example/77'::text) g,
			LATERAL bloom_import(bloom_export(g, 'redisbloom:cuckoo'), 'redisbloom:cuckoo', 'text') h
		WHERE h = g AND bloom_cardinality(h) = 963 AND bloom_cardinality(bloom_clear(h)) = 0
			AND bloom_clear(g) = bloom_clear(f)"),
	'1', 'redisbloom:cuckoo: exported after a removal, and cleared');
is($session->query("SELECT bloom_count(g, 5000000000), bloom_remove(g, 5000000000) = g, bloom_remove_all(g, '{5000000000}'::bigint[]) = g
		FROM stored, LATERAL bloom_import(bloom_export(f, 'redisbloom:cuckoo'), 'redisbloom:cuckoo', 'int4') g"),
	'0|t|t', 'redisbloom:cuckoo: a number that no element can be');
# a filter of one slot, with each fingerprint: one of them is that of the string with blanks
is($session->query("SELECT count(*), bool_and(bloom_count(f, 'a'::char(8)) = 1 AND NOT bloom_contains(f, 'a'::text)
			AND bloom_cardinality(bloom_remove(f, 'a'::char(8))) = 0
			AND bloom_cardinality(bloom_remove_all(f, '{b,a,a}'::char(8)[])) = 0)
		FROM generate_series(1, 255) fingerprint,
			LATERAL bloom_import(decode('0100000000000000260000000100000000000000010000000000000000000000'
				|| '0000000001000000000000000100140001000200000000000000' || '01000000' || lpad(to_hex(fingerprint), 2, '0'), 'hex'),
				'redisbloom:cuckoo', 'text') f
		WHERE bloom_contains(f, 'a       '::text)"),
	'1|t', 'redisbloom:cuckoo: a char(n) that was added with its blanks');
is($session->query("SELECT bloom_add_all(f, '{}'::text[]) = f AND bloom_add_all(f, '{NULL}'::text[]) = f FROM stored"),
	't', 'redisbloom:cuckoo: nothing may be added');
like($session->query("SELECT bloom_add(f, 'http://bad.example/1'::text) FROM stored"),
	qr/^ERROR:  55000: elements cannot be added to a cuckoo filter of RedisBloom/, 'redisbloom:cuckoo: no additions');
like($session->query("SELECT bloom_union(f, f) FROM stored"),
	qr/^ERROR:  22023: cannot combine incompatible filters/, 'redisbloom:cuckoo: no union');
like($session->query("SELECT bloom_create_foreign('redisbloom:cuckoo', 'text', 100)"),
	qr/^ERROR:  22023: filters of format redisbloom:cuckoo can only be imported\nHINT: /, 'redisbloom:cuckoo: not made here');
refused("SELECT bloom_import(pg_read_binary_file('$vectors/redisbloom/bf-uni-10.bin'), 'redisbloom:cuckoo', 'text')",
	'length of the header', 'a Bloom filter of RedisBloom is no cuckoo filter');

# BF.RESERVE ... NONSCALING: its file has option 8, and the whole error rate
is($session->query("SELECT bloom_export(bloom_add_all(
			bloom_create_foreign('redisbloom:nonscaling', 'text', 1000, 0.1),
			ARRAY(SELECT 'http://bad.example/' || i FROM generate_series(1, 1000) i)), 'redisbloom') =
		pg_read_binary_file('$vectors/redisbloom/bf-url-1000-nonscaling.bin')"),
	't', 'redisbloom:nonscaling: made anew with the same bytes');

# ----------------------------------------------------------------
# Damaged files
# ----------------------------------------------------------------

# What is refused, by which words; the others cannot be told from whole ones
my %damage = (
	'guava' => {
		'cut-1' => 'shorter than a header',
		'cut-header-6' => 'shorter than its number of words',
		'cut-last-byte' => 'shorter than its number of words',
		'cut-last-word' => 'shorter than its number of words',
		'words-minus-1' => 'number of words out of range',
		'words-one-more' => 'shorter than its number of words',
	},
	'parquet' => {
		'all-ones' => 'neither a header nor whole blocks',
		'all-zero' => 'neither a header nor whole blocks',
		'compression-2' => 'unknown algorithm, hash or compression',
		'cut-bitset' => 'shorter than its number of bytes',
		'cut-header' => 'neither a header nor whole blocks',
		'empty' => 'shorter than a block',
		'field-types-wrong' => 'unknown (field|algorithm)|numBytes',
		'numbytes-0' => 'numBytes',
		'numbytes-2e9' => 'numBytes',
		'numbytes-64-too-many' => 'numBytes',
		'numbytes-varint-endless' => 'numBytes|neither a header',
		'trailing-byte' => 'bytes after the last block',
	},
	'spark' => {
		'v1-cut-header' => 'shorter than a header',
		'v1-cut-last-byte' => 'shorter than its number of words',
		'v1-cut-last-word' => 'shorter than its number of words',
		'v1-version-little-endian' => 'unknown version',
		'v1-k-2e9' => 'number of hashes out of range',
		'v2-empty' => 'shorter than a header',
		'v2-cut-last-byte' => 'shorter than its number of words',
		'v2-trailing-byte' => 'bytes after the last word',
		'v2-version-0' => 'unknown version',
		'v2-version-little-endian' => 'unknown version',
		'v2-k-0' => 'number of hashes out of range',
		'v2-k-minus-1' => 'number of hashes out of range',
		'v2-k-2e9' => 'number of hashes out of range',
		'v2-words-2e9' => 'number of words out of range',
	},
	'datasketches' => {
		'empty-file' => 'shorter than a header',
		'cut-16' => 'shorter than a header',
		'cut-32' => 'shorter than its number of words',
		'cut-last-word' => 'shorter than its number of words',
		'prelongs-2' => 'preamble',
		'prelongs-5' => 'preamble',
		'server-2' => 'unknown version',
		'family-7' => 'family of another sketch',
		'k-0' => 'number of hashes out of range',
		'k-32767' => 'number of hashes out of range',
		'words-0' => 'number of words out of range',
		'words-2e9' => 'number of words out of range',
		'words-one-more' => 'shorter than its number of words',
		'words-one-less' => 'bytes after the last word',
		'unused-not-0' => 'reserved bytes are not zero',
	},
	'redisbloom' => {
		'bf-header-cut-19' => 'cut short',
		'bf-header-longer' => 'length of the header|cut short',
		'bf-nfilters-2' => 'length of the header',
		'bf-iterator-wrong' => 'iterator',
		'bf-bytes-0' => 'number of bytes',
		'bf-bytes-2e63' => 'number of bytes',
		'bf-bits-more' => 'number of (bytes|bits)',
		'bf-bits-0' => 'number of bits',
		'bf-k-0' => 'number of hashes',
		'bf-n2-200' => 'n2',
		'bf-error-nan' => 'error rate',
		'cf-items-11' => 'number of elements',
		'cf-entry-more' => 'number of elements',
		'cf-buckets-0' => 'number of buckets',
		'cf-buckets-2e60' => 'number of buckets',
		'cf-buckets-256' => 'bytes after the last layer',
		'cf-buckets-341' => 'not a power of two',
		'cf-layers-0' => 'number of layers',
		'cf-layers-33' => 'number of layers',
		'cf-layers-2' => 'chunks are missing',
		'cf-slots-0' => 'slots of a bucket',
		'cf-slots-256' => 'slots of a bucket',
		'cf-growth-0' => 'number of buckets',
		'cf-cut' => 'cut short',
	});

foreach my $format (sort keys %damage)
{
	my $refused = $damage{$format};

	foreach my $file (glob "$vectors/$format/damaged/*.bin")
	{
		my $name = basename($file, '.bin');
		my $import = "bloom_import(pg_read_binary_file('$file'), '$format', 'int8')";

		if ($refused->{$name})
		{
			refused("SELECT $import", $refused->{$name}, "$format: $name is refused");
			delete $refused->{$name};
		}
		else
		{
			is($session->query("SELECT count(*) > 0 FROM generate_series(1, 100) i
					WHERE bloom_contains($import, i) IS NOT NULL"),
				't', "$format: $name is harmless");
		}
	}
	is_deeply($refused, {}, "$format: all damaged files were there");
}

$session->quit;
$node->stop;
done_testing();
