# The readers in examples/ know the golden vectors of docs/dev/format.md, and give the
# answers of test/vectors/images/1.0.0.tsv; Guava reads what bloom_export() gives; and the
# filters of Parquet files are loaded.
# Each is run if its libraries are installed, and skipped otherwise.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = abs_path(dirname(__FILE__) . '/../..');
my $dir = PostgreSQL::Test::Utils::tempdir('examples');
# Debian's, whatever else is in PATH
my $python = '/usr/bin/python3';
my @jars = map { "/usr/share/java/$_.jar" } qw(postgresql guava);

# Those that script/parts/clients.sh has fetched
$ENV{NODE_PATH} = join ':', grep { defined } $ENV{CLIENTS_NODE_PATH}, '/usr/share/nodejs';
$ENV{PYTHONPATH} = "$root/examples";
$ENV{PYTHONDONTWRITEBYTECODE} = 1;

sub output_of
{
	my @command = @_;
	# no program takes minutes unless it hangs
	my $hangs_after = 600;
	my $output = '';
	my $good = eval { IPC::Run::run(\@command, '<', \undef, '>&', \$output, IPC::Run::timeout($hangs_after)) };

	return ($output . ($@ // ''), $good);
}

# Lines of three fields, for both readers: "bits", layout, size, k and hash, and the
# bits; "image", type, number of elements and base64, and the answers, as 0 and 1.
my %layout = (block512 => 2, block512x2 => 3, classic => 4, small => 6, counting => 7, countingx2 => 8);
my @questions;
foreach my $line (split /\n/, slurp_file("$root/docs/dev/format.md"))
{
	push @questions, "bits\t$layout{$1} $2 $3 $4\t$5"
	  if $line =~ /^\| `bloom_create\S*\(.*\)` \| (\w+) \| (\d+) \| (\d+) \| `([0-9a-f]{16})` \| ([\d ]+) \|$/;
}
cmp_ok(scalar(@questions), '>=', 21, 'golden vectors were found');
foreach my $line (split /\n/, slurp_file("$root/test/vectors/images/1.0.0.tsv"))
{
	my ($kind, $type, undef, $asked, $answers, $image) = split /\t/, $line;

	push @questions, "image\t$type $asked $image\t" . substr(unpack('B*', pack 'H*', $answers), 0, $asked)
	  if $kind eq 'bloom';
}
append_to_file("$dir/questions", join '', map { "$_\n" } @questions);

append_to_file("$dir/ask.py", <<'PYTHON');
import base64, sys
from bloomfilter import Filter, layer_bits

make = {"integer": int, "text": lambda n: f"e{n}", "bytea": lambda n: f"e{n}".encode(), "boolean": bool}
for line in open(sys.argv[1]):
    what, question, expected = line.rstrip("\n").split("\t")
    words = question.split()
    if what == "bits":
        layout, size, k = map(int, words[:3])
        answer = " ".join(map(str, sorted({*layer_bits(layout, size, k, int(words[3], 16))})))
    else:
        f = Filter(base64.b64decode(words[2]))
        answer = "".join("01"[make[words[0]](n) in f] for n in range(1, int(words[1]) + 1))
    print("ok" if answer == expected else f"{question}: {answer}")
damaged = bytearray(base64.b64decode(words[2]))
damaged[45] ^= 4
try:
    Filter(damaged)
except ValueError as error:
    print(error)
try:
    1.5 in f
except TypeError as error:
    print(error)
PYTHON

append_to_file("$dir/ask.js", <<'JS');
const fs = require('fs');
const { Filter, layerBits } = require(process.argv[3]);
const make = { integer: (n) => n, text: (n) => `e${n}`, bytea: (n) => Buffer.from(`e${n}`), boolean: () => true };

(async () => {
    let image, f;
    for (const line of fs.readFileSync(process.argv[2], 'utf8').trimEnd().split('\n')) {
        const [what, question, expected] = line.split('\t');
        const words = question.split(' ');
        let answer = '';
        if (what === 'bits') {
            const layer = { layout: Number(words[0]), size: BigInt(words[1]), k: Number(words[2]) };
            const bits = new Set(layerBits(layer, BigInt('0x' + words[3])));
            answer = [...bits].sort((a, b) => a - b).join(' ');
        } else {
            image = Buffer.from(words[2], 'base64');
            f = await Filter.read(image);
            for (let n = 1; n <= Number(words[1]); n++) answer += f.contains(make[words[0]](n)) ? '1' : '0';
        }
        console.log(answer === expected ? 'ok' : `${question}: ${answer}`);
    }
    image[45] ^= 4;
    await Filter.read(image).catch((error) => console.log(error.message));
    try {
        f.contains(1.5);
    } catch (error) {
        console.log(error.message);
    }
})();
JS

my $right = "ok\n" x @questions . "no bloom filter, or a damaged one\n";
SKIP:
{
	skip('bloomfilter.py: not installed (python3-xxhash)', 1)
	  unless (output_of($python, '-c', 'import xxhash'))[1];
	is((output_of($python, "$dir/ask.py", "$dir/questions"))[0],
		"${right}no elements of type float\n", 'bloomfilter.py');
}
SKIP:
{
	skip('bloomfilter.js: not installed (hash-wasm of npm)', 1)
	  unless (output_of('node', '-e', q{require('hash-wasm')}))[1];
	is((output_of('node', "$dir/ask.js", "$dir/questions", "$root/examples/bloomfilter.js"))[0],
		"${right}no element: 1.5\n", 'bloomfilter.js');
}
foreach my $name ('bloomfilter.py', 'bloomfilter.js')
{
	cmp_ok(scalar(() = slurp_file("$root/examples/$name") =~ /\n/g), '<=', 150, "$name can be read");
}
SKIP:
{
	skip('AskGuava.java: not installed (libguava-java, libpostgresql-jdbc-java and default-jdk-headless)', 1)
	  unless (output_of('sh', '-c', "ls $jars[0] $jars[1] && javac -version"))[1];
	my $node = PostgreSQL::Test::Cluster->new('examples');

	$node->init;
	# JDBC knows no other sockets
	$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\n");
	$node->start;
	$node->safe_psql('postgres', q{
		CREATE EXTENSION bloomfilter;
		CREATE TABLE filters (name text, f bloom);
		INSERT INTO filters SELECT 'hosts', bloom_add_all(bloom_create_foreign('guava', 'text', 1000, 1e-6),
			ARRAY(SELECT 'host-' || n FROM generate_series(1, 1000) n))});
	is((output_of('java', '-cp', join(':', @jars), "$root/examples/AskGuava.java",
				'jdbc:postgresql://127.0.0.1:' . $node->port . '/postgres?user=' . getpwuid($<),
				'hosts', 'host-7', 'other'))[0],
		"host-7 perhaps\nother no\n", 'AskGuava.java');
	$node->stop;
}

# Which files may have a value, by the filters of each of their columns
my $node = PostgreSQL::Test::Cluster->new('parquet');
my @parquet = map { "$root/test/vectors/parquet/visits_$_.parquet" } 1, 2;

$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION bloomfilter');

sub files_with
{
	my ($column, $value) = @_;
	my ($load, $good) = output_of($python, "$root/examples/parquet_filters.py", $column, @parquet);

	return $load unless $good;
	return $node->safe_psql('postgres', "$load
		SELECT string_agg(DISTINCT file, ' '), count(*) FROM file_filters WHERE bloom_contains(f, $value) IS NOT FALSE;
		DROP TABLE file_filters");
}

is(files_with('url', "'http://site-2.example/7'::text"), 'visits_2.parquet|2', 'Parquet files: a string');
is(files_with('visitor', '1007::bigint'), 'visits_1.parquet|2', 'Parquet files: a number');
is(files_with('day', "date '2024-05-03'"), 'visits_2.parquet|2', 'Parquet files: a date');
is(files_with('price', '4.75'), 'visits_1.parquet visits_2.parquet|4', 'Parquet files: a decimal');
is(files_with('price', '4.8'), '|0', 'Parquet files: none');
is(files_with('weight', '1::float8'), 'visits_1.parquet visits_2.parquet|4', 'Parquet files: without filters');
$node->stop;
done_testing();
