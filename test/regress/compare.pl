# compare.pl PLAIN FORCED: do two runs of PostgreSQL's regression tests have the same
# results, but for plans?  Both are directories with a file for each test.
#
# What a plan decides is taken out: what EXPLAIN says, and the order of rows.  All
# else has to be the same, except for what stands in %known.
use strict;
use warnings;

use File::Temp qw(tempdir);

# Lines of a test that are not the same in any two runs
my %known = (
	# the relation's file and its oldest transaction
	rules => qr/^ \d+ \| r \| \d+$/);

# Names of columns with the lines of a plan: EXPLAIN itself, and functions of the tests
# that return what it says
my $plan = qr/^ *(QUERY PLAN|explain_\w+) *$/;
# Lines of a file that are told
my $told = 80;

# The lines of a file without plans, the rows of each result sorted
sub results
{
	my ($file) = @_;
	my ($name) = $file =~ m,(\w+)\.out$,;
	my @results;

	open my $in, '<', $file or return "(there is no such file)\n";
	my @lines = <$in>;
	close $in;
	s/ +/ /g foreach @lines;
	while (defined(my $line = shift @lines))
	{
		my @rows;

		push @results, $line unless $known{$name} && $line =~ $known{$name};
		# the names of columns, and not a comment in SQL
		next unless $line =~ /^ / && @lines && $lines[0] =~ /^--[-+]+$/;
		shift @lines;
		push @rows, shift @lines while @lines && $lines[0] !~ /^\(\d+ rows?\)$/;
		@rows = () if $line =~ $plan;
		@rows = grep { $_ !~ $known{$name} } @rows if $known{$name};
		push @results, sort @rows;
		# as many as the plan has lines
		shift @lines if $line =~ $plan;
	}
	return join '', @results;
}

my ($plain, $forced) = @ARGV;
my $differences = tempdir(CLEANUP => 1);
my $count = 0;

foreach my $name (sort map { m,(\w+)\.out$,; $1 } glob("$plain/*.out"))
{
	my ($one, $two) = map { results("$_/$name.out") } $plain, $forced;

	$count++;
	if ($one eq $two)
	{
		print "ok - $name\n";
		next;
	}
	print "not ok - $name\n";
	foreach ([ 'plain', $one ], [ 'forced', $two ])
	{
		open my $out, '>', "$differences/$_->[0]" or die "$differences/$_->[0]: $!";
		print $out $_->[1];
		close $out;
	}
	system("diff -U3 $differences/plain $differences/forced | head -n $told");
}
print "not ok - no results\n" unless $count;
