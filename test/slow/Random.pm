# What tests choose by chance, the same after the same srand(), and how they tell what
# differs then.
package Random;

use strict;
use warnings;

use Exporter qw(import);
use List::Util qw(min sum);
use PostgreSQL::Test::Utils;

our @EXPORT = qw(roll between one_of chance weighted weighted_entry false_statistics lost_and_added server_faults);

sub roll { return int(rand($_[0])) }
sub between { return $_[0] + roll($_[1] - $_[0] + 1) }
sub one_of { return $_[ roll(scalar @_) ] }
sub chance { return rand() < $_[0] }

# weighted_entry([ WEIGHT, CHOICE ]...): an entry, as often as its weight says
sub weighted_entry
{
	my $rest = rand(sum(map { $_->[0] } @_));

	foreach my $entry (@_)
	{
		return $entry if ($rest -= $entry->[0]) < 0;
	}
	return $_[-1];
}

# The same, but the choice alone
sub weighted { return weighted_entry(@_)->[1] }

# Statistics of a table, its partitions and children that are wrong, as old ones are: then hash
# joins hash the larger side, or expect few outer rows, or many
sub false_statistics
{
	my ($name) = @_;
	my $tables = "(SELECT oid FROM pg_class WHERE relname ~ '^$name(_|\$)' AND relkind = 'r')";
	my ($rows, $width) = (one_of(1, 20, 200, 100_000), one_of(1, 8, 3000));

	return ("ANALYZE $name", "UPDATE pg_statistic SET stawidth = $width WHERE starelid IN $tables",
		"UPDATE pg_class SET reltuples = $rows, relpages = GREATEST(relpages, 1) WHERE oid IN $tables");
}

# What two lists of rows differ in, whatever their order: the first lines of what to tell,
# lost rows first
sub lost_and_added
{
	my ($one, $two) = @_;
	my $most = 10;
	my (%count, @lines);

	$count{$_}++ foreach @$one;
	$count{$_}-- foreach @$two;
	foreach my $row (sort { $count{$b} <=> $count{$a} || $a cmp $b } grep { $count{$_} } keys %count)
	{
		push @lines, sprintf '%s %d x %s', $count{$row} > 0 ? 'lost' : 'added', abs $count{$row}, $row;
	}
	return @lines[ 0 .. min($most, scalar @lines) - 1 ];
}

# What a server's log tells of its own faults
sub server_faults
{
	my ($node) = @_;
	return slurp_file($node->logfile) =~ /^.*(?:TRAP:|terminated by signal|PANIC:|leak).*$/m ? "the server's log: $&" : ();
}

1;
