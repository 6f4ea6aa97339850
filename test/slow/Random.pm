# What tests choose by chance.  After the same srand() it is the same.
package Random;

use strict;
use warnings;

use Exporter qw(import);
use List::Util qw(sum);

our @EXPORT = qw(roll between one_of chance weighted);

sub roll { return int(rand($_[0])) }
sub between { return $_[0] + roll($_[1] - $_[0] + 1) }
sub one_of { return $_[ roll(scalar @_) ] }
sub chance { return rand() < $_[0] }

# weighted([ WEIGHT, CHOICE ]...): a choice, as often as its weight says
sub weighted
{
	my $rest = rand(sum(map { $_->[0] } @_));

	foreach my $choice (@_)
	{
		return $choice->[1] if ($rest -= $choice->[0]) < 0;
	}
	return $_[-1][1];
}

1;
