# Filters that version 1.0.0 has made (test/vectors/images) are read for ever: each is
# accepted as text, in binary and as bytea, gives the answers that it gave, is sent out
# as the same bytes, and takes elements without losing any.  And what made it then
# makes the same bytes now.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use FindBin;
use lib $FindBin::RealBin;

use Server;
use Session;
use PostgreSQL::Test::Utils;
use Test::More;

my @files = glob abs_path(dirname(__FILE__) . '/../vectors/images') . '/*.tsv';

# Element number n of each type; other files have its expression in place of the type
my %element = (
	integer => 'n',
	bigint => 'n::bigint',
	text => "'e' || n",
	bytea => "convert_to('e' || n, 'UTF8')",
	boolean => 'true');

my $node = start_server('images', init => [ extra => [ '--encoding=UTF8', '--locale=C' ] ]);
my $session = Session->new($node);
$session->query("SET timezone = 'Asia/Kathmandu';
	CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'glad', 'e5', 'e6', 'e7', 'e8');
	CREATE TYPE pair AS (n bigint, t text)");
# PostgreSQL 19 is the first that has this type
my $has_oid8 = $session->query("SELECT count(to_regtype('oid8'))");
my $images = 0;

foreach my $line (grep { $has_oid8 || !/::oid8\t/ } map { split /\n/, slurp_file($_) } @files)
{
	my ($kind, $type, $made_by, $asked, $answers, $image) = split /\t/, $line;
	my $data_type = $kind eq 'cuckoo' ? 'cuckoo' : 'bloom';
	my $element = $element{$type} // $type;
	my $ask = sub { "${data_type}_contains($_[0], $element)" };
	my $answers_of = sub {
		"(SELECT string_agg(" . $ask->($_[0]) . "::int::text, '' ORDER BY n) FROM generate_series(1, $asked) n)";
	};
	my $expected = substr unpack('B*', pack('H*', $answers)), 0, $asked;

	$session->query("DROP TABLE IF EXISTS held;
		CREATE TABLE held AS SELECT '$image'::$data_type AS f");
	is($session->query('SELECT ' . $answers_of->('f') . ' FROM held'), $expected, "the answers of $made_by");
	is($session->query("SELECT translate(f::text, E'\\n', '') = '$image'
			AND _${data_type}_send(f) = decode('$image', 'base64')
			AND f::bytea = decode('$image', 'base64') AND f::bytea::$data_type = f FROM held"),
		't', 'sent out and read in as the same bytes');
	is($session->query("SELECT ($made_by)::bytea = decode('$image', 'base64')"), 't', 'made anew');

	# Fixed filters may be full; of no other is there an element that it refuses
	my $grown = $session->query("SELECT bool_and(NOT " . $ask->('f') . ' OR '
		  . $ask->("${data_type}_add(f, $element)")
		  . ") FROM held, generate_series(1, least($asked, 10)) n");
	ok($grown eq 't' || $grown =~ /is full/, 'takes elements, and loses none')
	  or diag($grown);
	$images++;
}
cmp_ok($images, '>=', 95 + $has_oid8, 'images were found');

$session->quit;
$node->stop;
done_testing();
