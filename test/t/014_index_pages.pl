# Membership indexes that version 1.0.0 has made (test/vectors/pages) are read for ever: in
# place of the pages of an index of the same rows, theirs give the answers that they gave,
# have every row, and take more.
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

plan skip_all => 'pages differ on big-endian machines' if unpack('C', pack 'S', 1) != 1;

my $node = start_server('index_pages', conf => "autovacuum = off\n",
	init => [ extra => [ '--encoding=UTF8', '--locale=C' ] ]);
plan skip_all => 'pages of another size' if $node->safe_psql('postgres', 'SHOW block_size') != 8192;

my @kept = map { [ split /\t/ ] } map { split /\n/, slurp_file($_) } glob abs_path(dirname(__FILE__) . '/../vectors/pages') . '/*.tsv';
my @file;
foreach my $i (0 .. $#kept)
{
	my ($stored, $rows, $definition) = @{ $kept[$i] };

	push @file, $node->safe_psql('postgres', "CREATE TABLE t$i AS SELECT $stored AS x FROM generate_series(1, $rows) n;
		CREATE INDEX i$i ON t$i USING membership $definition;
		SELECT pg_relation_filepath('i$i')");
}
$node->stop;
# they have none; fails where there are none anyway
run_log([ 'pg_checksums', '--disable', '--pgdata', $node->data_dir ]);
foreach my $i (0 .. $#kept)
{
	my $pages = $kept[$i][6] =~ s/\[(\d+)\]/'00' x $1/ger;

	open my $out, '>:raw', $node->data_dir . "/$file[$i]" or die "$file[$i]: $!";
	print $out pack 'H*', $pages;
	close $out or die "$file[$i]: $!";
}
$node->start;
my $session = Session->new($node);
foreach my $i (0 .. $#kept)
{
	my ($stored, $rows, undef, $element, $asked, $answers) = @{ $kept[$i] };

	is($session->query("SELECT string_agg(membership_contains('i$i', $element)::int::text, '' ORDER BY n)
			FROM generate_series(1, $asked) n"),
		substr(unpack('B*', pack 'H*', $answers), 0, $asked), "the answers of an index of $stored");
	is($session->query("SELECT membership_check('i$i')"), $rows, 'every row is found');
	is($session->query("INSERT INTO t$i SELECT $stored FROM generate_series($rows + 1, 4 * $rows) n;
			VACUUM t$i; SELECT membership_check('i$i')"),
		4 * $rows, 'and more, when more have come');
}
cmp_ok(scalar(@kept), '>=', 5, 'pages were found');

$session->quit;
$node->stop;
done_testing();
