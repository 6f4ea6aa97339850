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

# Lines of a test that a filter may save: a function of a condition is called for fewer
# rows.  There must not be more of any.
my %fewer = (
	select_views => qr/^NOTICE: f_leak /);

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

# Take the lines of %fewer out of what a test has said, and count each
sub take_fewer
{
	my ($name, $results) = @_;
	my %count;

	return ($results, \%count) unless $fewer{$name};
	my @lines = split /^/, $results;
	$count{$_}++ foreach grep { $_ =~ $fewer{$name} } @lines;
	return (join('', grep { $_ !~ $fewer{$name} } @lines), \%count);
}

my ($plain, $forced) = @ARGV;
my $differences = tempdir(CLEANUP => 1);
my $count = 0;

foreach my $name (sort map { m,(\w+)\.out$,; $1 } glob("$plain/*.out"))
{
	my ($one, $two) = map { results("$_/$name.out") } $plain, $forced;

	my ($counts_one, $counts_two);

	$count++;
	($one, $counts_one) = take_fewer($name, $one);
	($two, $counts_two) = take_fewer($name, $two);
	# these are told
	$two .= "+$_" foreach grep { $counts_two->{$_} > ($counts_one->{$_} // 0) } sort keys %$counts_two;
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
