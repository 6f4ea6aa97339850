# Insertions, savepoints and commands that give an index another file, in every order:
# whatever is rolled back, each remaining row is found, within the transaction and after it.
#
# A sequence of letters is a transaction.  The test runs all short ones that make sense, and
# all in which three nested subtransactions end in every way with one such command anywhere.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# What a letter does; "%d" is a number that no row has yet
my %command = (
	i => 'INSERT INTO kept VALUES (%d)',
	s => 'SAVEPOINT s',
	r => 'RELEASE s',
	b => 'ROLLBACK TO s',
	# ends the savepoint, too
	e => 'ROLLBACK TO s; RELEASE s',
	t => 'TRUNCATE kept',
	x => 'REINDEX INDEX kept_x',
	c => 'CLUSTER kept USING kept_order',
	# the new index takes the file of the old one
	a => 'ALTER TABLE kept ALTER x TYPE int',
	# all is written anew
	w => 'ALTER TABLE kept ALTER x TYPE int USING x + 0',
	d => 'DROP INDEX kept_x',
	n => 'CREATE INDEX kept_x ON kept USING membership (x) WITH (capacity = 100)',
	D => 'DROP TABLE kept',
	q => q{SELECT :'sequence', 'lookup', x FROM kept WHERE NOT membership_contains('kept_x'::text::regclass, x)});
my $all = join '', sort keys %command;
# Commands between two insertions
my $longest = 4;

my $number = 0;
my $sequences = 0;
my $script = '';

# Does each command of a sequence have what it needs?  At the end all must exist.
sub makes_sense
{
	my ($sequence) = @_;
	my %now = (table => 1, index => 1);
	my @saved;

	foreach my $letter (split //, $sequence)
	{
		return 0 if $letter =~ /[rbe]/ && !@saved;
		return 0 if $letter !~ /[srbe]/ && !$now{table};
		return 0 if $letter =~ /[xdq]/ && !$now{index};
		return 0 if $letter eq 'n' && $now{index};
		push @saved, {%now} if $letter eq 's';
		%now = %{ $saved[-1] } if $letter =~ /[be]/;
		pop @saved if $letter =~ /[re]/;
		$now{index} = 0 if $letter =~ /[dD]/;
		$now{index} = 1 if $letter eq 'n';
		$now{table} = 0 if $letter eq 'D';
	}
	return $now{table} && $now{index};
}

sub add_sequence
{
	my ($sequence) = @_;

	return if !makes_sense($sequence);
	$script .= "\\set sequence $sequence\nTRUNCATE kept;\nBEGIN;\n";
	$script .= sprintf("$command{$_};\n", ++$number) foreach split //, $sequence;
	$script .= "COMMIT;\n$command{q};\nSELECT :'sequence', 'checked' FROM membership_check('kept_x') n WHERE n <> (SELECT count(*) FROM kept);\n";
	$sequences++;
}

my $node = PostgreSQL::Test::Cluster->new('sequences');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
log_statement = none
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomfilter;
	CREATE TABLE kept (x int);
	CREATE INDEX kept_order ON kept (x);
	CREATE INDEX kept_x ON kept USING membership (x) WITH (capacity = 100);
});

# Short ones: with a savepoint that is rolled back, because other tests have the rest, and
# without two insertions or lookups in a row
my @sequences = ('');
foreach (1 .. $longest)
{
	@sequences = map { my $begun = $_; map { "$begun$_" } split //, $all } @sequences;
	add_sequence("i${_}i") foreach grep { /s.*[be]/ && !/ii|qq|^i|i$/ } @sequences;
}
cmp_ok($sequences, '>', 300, "$sequences short sequences");

# Subtransactions in each other
$sequences = 0;
foreach my $ends (map { my $last = $_; map { my $next = $_; map { [ $last, $next, $_ ] } 'r', 'b' } 'r', 'b' } 'r', 'b')
{
	my @shape = ('i', 's', 'i', 's', 'i', 's', 'i', $ends->[0], 'i', $ends->[1], 'i', $ends->[2], 'i');

	foreach my $place (1 .. $#shape)
	{
		add_sequence(join('', @shape[ 0 .. $place - 1 ], $_, @shape[ $place .. $#shape ])) foreach split //, 'txcawdDq';
	}
	# nothing but insertions, and a rebuild on each level
	add_sequence(join('', @shape));
	foreach my $rebuild (split //, 'txaw')
	{
		add_sequence(join('', map { $_ eq 's' ? "s$rebuild" : $_ } @shape));
		add_sequence(join('', map { /[rbe]/ ? "$rebuild$_" : $_ } @shape));
	}
}
cmp_ok($sequences, '>', 500, "$sequences deep sequences");

my $file = "$PostgreSQL::Test::Utils::tmp_check/sequences.sql";
open my $handle, '>', $file or die "$file: $!";
print $handle "SET client_min_messages = warning;\n$script";
close $handle;
my ($out, $err) = ('', '');
IPC::Run::run([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $file ],
	'<', \undef, '>', \$out, '2>', \$err);
is($out, '', 'every row is found');
is($err, '', 'and no command fails');

$node->stop;
done_testing();
