# hidden.pl LOG: do plans in a server's log count rows that policies or security barriers
# hide?  The server has run with debug_print_rewritten, auto_explain.log_analyze and
# log_line_prefix '%p '.  The rewritten query shows of which tables rows are hidden.
# A probe in the scan of such a table comes before they are, so such a scan may tell one
# number, as core's does: how many rows it has not returned, for whatever reason.
use strict;
use warnings;

my $number = qr/^\s*Rows Removed by (?:Filter|Probe):/m;
my $others = qr/^\s*(?:Rows (?:Not )?Probed|Probe Pauses):/m;
# Scans with probes of such tables: more than these
my $least = 1;
# Scans that are told
my $most_told = 5;

my ($log) = @ARGV;
my ($scans, @telling) = (0);
# Of each process, of its latest query: the names of such tables, and is there a barrier,
# behind which any table may be?
my (%hidden, %barrier);

# The names of the tables whose rows a policy hides, in a query as the server writes it
sub hidden_tables
{
	my ($query) = @_;
	my (@open, %names);

	# the fields of a table come between these, and those of a subquery's tables
	while ($query =~ /:aliasname (\S+)(?= :colnames)|:securityQuals (<>|\()/g)
	{
		if (defined $1) { push @open, $1 }
		else
		{
			my $name = pop @open;
			$names{$name} = 1 if $2 eq '(' && defined $name;
		}
	}
	return \%names;
}

# The Filter Scans of a plan: the name in the query, and the lines of each
sub filter_scans
{
	my ($plan) = @_;

	my @scans;

	foreach my $node (split /\n(?=\s*->)/, $plan)
	{
		push @scans, [ $2 // $1, $node ] if $node =~ /Custom Scan \(Filter Scan\) on (\S+)(?: ([^\s(]\S*))?/;
	}
	return @scans;
}

open my $in, '<', $log or die "$log: $!";
my $text = do { local $/; <$in> };
close $in;
# An entry goes on after tabs
foreach my $entry (split /\n(?!\t)/, $text)
{
	my ($pid, $kind, $said) = $entry =~ /^(\d+) (\w+): +(.*)/s or next;

	if ($kind eq 'DETAIL' && $said =~ /^\(?\s*\{QUERY/)
	{
		# lines are broken where they are long
		$said =~ s/\s+/ /g;
		$hidden{$pid} = hidden_tables($said);
		$barrier{$pid} = $said =~ /:security_barrier true/;
	}
	next unless $kind eq 'LOG' && $said =~ /^duration: .* plan:/;
	foreach my $scan (filter_scans($said))
	{
		my ($name, $lines) = @$scan;

		# that of a partition has a number
		next unless $barrier{$pid} || grep { $hidden{$pid}{$_} } $name, $name =~ s/_\d+$//r;
		$scans++;
		push @telling, $said if $lines =~ $others || 1 < (() = $lines =~ /$number/g);
	}
}
print $scans >= $least ? 'ok' : 'not ok', " - $scans scans with probes of tables with hidden rows\n";
print @telling ? 'not ok' : 'ok', ' - ' . @telling . " of them tell more than one number of rows\n";
print "$_\n" foreach splice @telling, 0, $most_told;
