# How many instructions a query takes in a function of the library and below it, for
# tests that count where seconds would not tell.
package Instructions;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(need_valgrind instructions);

sub need_valgrind
{
	plan skip_all => 'valgrind is not installed' if system('valgrind --version >/dev/null 2>&1') != 0;
}

# The count, and what the server printed.  The server of $node must not run: one of a
# single user does, and reads queries, one a line, from its input.
sub instructions
{
	my ($node, $function, $query) = @_;
	# other tests, which run at the same time, have theirs
	my $out = PostgreSQL::Test::Utils::tempdir() . '/callgrind.out';
	my ($stdout, $stderr);

	IPC::Run::run(
		[
			'valgrind', '--tool=callgrind', "--toggle-collect=$function",
			"--callgrind-out-file=$out", 'postgres', '--single', '-D', $node->data_dir, 'postgres'
		],
		'<', \"$query\n", '>', \$stdout, '2>', \$stderr);
	my ($total) = slurp_file($out) =~ /^(?:summary|totals): (\d+)/m;
	BAIL_OUT("no count from valgrind: $stderr") if !$total;
	return ($total, $stdout);
}

1;
