# How many instructions a query takes in a function of the library and below it, for
# tests that count where seconds would not tell.
package Instructions;

use strict;
use warnings;

use Exporter qw(import);
use List::Util qw(sum);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(need_valgrind instructions);

sub need_valgrind
{
	plan skip_all => 'valgrind is not installed' if system('valgrind --version >/dev/null 2>&1') != 0;
}

# What the server printed, and the count of each case: queries, one a line, which its
# only session is asked in turn.  The server of $node must not run: one of a single user does.
# Of several functions, "f g h", what runs in g and h, called by f, is not counted.
sub instructions
{
	my ($node, $function, @cases) = @_;
	my @toggles = map { "--toggle-collect=$_" } split ' ', $function;
	# other tests, which run at the same time, have theirs
	my $out = PostgreSQL::Test::Utils::tempdir() . '/callgrind.out';
	my @lines = map { split /\n/ } @cases;
	my ($stdout, $stderr, @counts);

	# Each query begins with this function, and its count ends where the next one begins
	IPC::Run::run(
		[
			'valgrind', '--tool=callgrind', @toggles, '--dump-before=pg_parse_query',
			"--callgrind-out-file=$out", 'postgres', '--single', '-D', $node->data_dir, 'postgres'
		],
		'<', \join('', map { "$_\n" } @lines), '>', \$stdout, '2>', \$stderr);
	foreach my $file ((map { "$out.$_" } 2 .. @lines), $out)
	{
		push @counts, -e $file && slurp_file($file) =~ /^(?:summary|totals): (\d+)/m ? $1 : BAIL_OUT("no count from valgrind: $stderr");
	}
	BAIL_OUT('a query was parsed twice') if -e "$out." . (@lines + 1);
	my @totals = map { sum(splice @counts, 0, tr/\n// + 1) } @cases;
	BAIL_OUT("$function was not called: $stderr") if grep { !$_ } @totals;
	return ($stdout, @totals);
}

1;
