# compare.pl PLAIN FORCED: do two runs of PostgreSQL's regression tests have the same
# results, but for plans?  Both are directories with a file for each test.
#
# What a plan decides is taken out: what EXPLAIN says, and the order of rows, unless the
# statement has an ORDER BY.  Then the columns by which it sorts have to be in the same
# order; rows that are equal in these may come in any.  All else has to be the same,
# except for what stands in %known.
use strict;
use warnings;

use File::Temp qw(tempdir);

# Lines of a test that are not the same in any two runs, or of a plan that it tells itself
my %known = (
	# what a join filter adds to the plan of a full join
	plpgsql => qr/^ (?:-> Custom Scan \(Join Filter Build\)|Output: nt\.id, nt\.val|Join Filter: \d+|Key: nt\.id)$/,
	# the relation's file and its oldest transaction
	rules => qr/^ \d+ \| r \| \d+$/);

# Lines of a test that a filter may save: a function of a condition is called for fewer
# rows.  There must not be more of any.
my %fewer = (
	select_views => qr/^NOTICE: f_leak /);

# Lines of a test that come in the order in which a plan returns rows
my %unordered = (
	merge => qr/^NOTICE: \w+ \w+ ROW trigger /);

# Names of columns with the lines of a plan: EXPLAIN itself, and functions of the tests
# that return what it says
my $plan = qr/^ *(QUERY PLAN|explain_\w+) *$/;
# Lines of a file that are told
my $told = 80;
# Results that are compared in order: far more than these
my $ordered_least = 200;

# What psql and the server say between a statement and its result
my $said = qr/^(?:NOTICE|INFO|WARNING|ERROR|DETAIL|HINT|CONTEXT|LOG|LINE \d+):|^ *\^?$|^\\|^\(\d+ rows?\)$/;

# The same lines of SQL without what may hold any text: comments, strings, and what is
# within parentheses
sub outermost
{
	my ($sql) = @_;

	$sql =~ s/--.*$//mg;
	$sql =~ s,/\*.*?\*/,,sg;
	$sql =~ s/'(?:[^']|'')*'/''/g;
	$sql =~ s/\$(\w*)\$.*?\$\1\$/''/sg;
	# one level of them after the other
	1 while $sql =~ s/\([^()]*\)/ _ /;
	return $sql;
}

# The queries of cursors and prepared statements
sub remember
{
	my ($sql, $remembered) = @_;

	$remembered->{$2} = $3 if $sql =~ /^\s*(DECLARE|PREPARE)\s+(\w+)\b.*?\b(?:FOR|AS)\s+(.*)/si;
}

# What a statement sorts by: the terms of its ORDER BY, those within parentheses as "_"
sub sort_terms
{
	my ($sql, $remembered) = @_;

	$sql = $remembered->{$1} // '' if $sql =~ /^\s*(?:FETCH|EXECUTE)\b.*?(\w+)\s*(?:\(.*)?;\s*$/si;
	$sql = outermost($sql);
	# not one that only begins with a query, or is followed by another
	return () if $sql =~ /;.*\S/s || $sql !~ /^\s*(?:SELECT|WITH|VALUES|TABLE|_)(?!\w)/i;
	my ($terms) = $sql =~ /.*\bORDER\s+BY\s+(.*?)(?:\b(?:LIMIT|OFFSET|FETCH|FOR)\b.*)?;?\s*$/si;
	return defined $terms ? map { s/^\s+|\s+$//gr } split /,/, $terms : ();
}

# The numbers of the columns by which a result is sorted, up to a term that is none of them
sub sort_columns
{
	my ($names, @terms) = @_;
	my @columns;

	foreach my $term (@terms)
	{
		$term =~ s/\s+(?:ASC|DESC|USING\s*\S+|NULLS\s+(?:FIRST|LAST)|COLLATE\s+\S+)(?!\w)//gi;
		my ($name) = $term =~ /^(?:\w+\.)?"?(\w+)"?$/ or last;
		my @found = $name =~ /^\d+$/ ? $name - 1 : grep { lc $names->[$_] eq lc $name } 0 .. $#$names;

		last if @found != 1 || $found[0] > $#$names;
		push @columns, $found[0];
	}
	return @columns;
}

# What has to be in order of a result, given the line with its columns' names, the terms of
# ORDER BY and its rows: of each row the columns by which it is sorted
sub keys_in_order
{
	my ($header, @terms) = @_;
	my $rows = pop @terms;
	my @names = map { s/^\s+|\s+$//gr } split /\|/, $header, -1;
	my @columns = sort_columns(\@names, @terms);
	my @keys;

	return () unless @columns && @$rows > 1;
	foreach my $row (@$rows)
	{
		my @cells = map { s/^\s+|\s+$//gr } split /\|/, $row =~ s/\n//r, -1;

		# text with such characters, or of several lines
		return () if @cells != @names || $row =~ /\+$/;
		push @keys, join('|', @cells[@columns]) . "\n";
	}
	return ("(in order)\n", @keys);
}

# The lines of a file without plans, the rows of each result sorted, and with what has to
# be in order of them; and of how many results something has
sub results
{
	my ($file) = @_;
	my ($name) = $file =~ m,(\w+)\.out$,;
	my (@results, %remembered);
	my ($ordered, $sql) = (0, '');

	open my $in, '<', $file or return ("(there is no such file)\n", 0);
	my @lines = <$in>;
	close $in;
	s/ +/ /g foreach @lines;
	while (defined(my $line = shift @lines))
	{
		my @rows;

		push @results, $line unless $known{$name} && $line =~ $known{$name};
		# the names of columns, and not a comment in SQL
		if ($line !~ /^ / || !@lines || $lines[0] !~ /^--[-+]+$/)
		{
			next if $line =~ $said;
			$sql = '' if $sql =~ /;\s*(?:--.*)?$/;
			$sql .= $line;
			remember($sql, \%remembered);
			next;
		}
		shift @lines;
		push @rows, shift @lines while @lines && $lines[0] !~ /^\(\d+ rows?\)$/;
		@rows = () if $line =~ $plan;
		@rows = grep { $_ !~ $known{$name} } @rows if $known{$name};
		push @results, sort @rows;
		my @keys = keys_in_order($line, sort_terms($sql, \%remembered), \@rows);
		push @results, @keys;
		$ordered++ if @keys;
		$sql = '';
		# as many as the plan has lines
		shift @lines if $line =~ $plan;
	}
	return (join('', @results), $ordered);
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

# What a test has said, with lines of %unordered that follow each other sorted
sub put_in_order
{
	my ($name, $results) = @_;
	my (@lines, @run);

	return $results unless $unordered{$name};
	foreach my $line (split(/^/, $results), '')
	{
		if ($line =~ $unordered{$name})
		{
			push @run, $line;
			next;
		}
		push @lines, sort(@run), $line;
		@run = ();
	}
	return join '', @lines;
}

my ($plain, $forced) = @ARGV;
my $differences = tempdir(CLEANUP => 1);
my ($count, $ordered) = (0, 0);

foreach my $name (sort map { m,(\w+)\.out$,; $1 } glob("$plain/*.out"))
{
	my ($one, $in_order, $two) = map { results("$_/$name.out") } $plain, $forced;
	my ($counts_one, $counts_two);

	($one, $two) = map { put_in_order($name, $_) } $one, $two;

	$count++;
	$ordered += $in_order;
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
print $ordered >= $ordered_least ? 'ok' : 'not ok', " - $ordered results in order\n";
