# Damaged pages of membership indexes: whatever bytes are wrong, lookups, insertions
# and scans give an answer or an error, the server goes on, and REINDEX repairs the
# index.
#
#     DAMAGE_ROUNDS=100    more than the few that take seconds
#     DAMAGE_SEED=2        other damage
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $rounds = $ENV{DAMAGE_ROUNDS} || 2;
my $seed = $ENV{DAMAGE_SEED} || 1;
my $indexes = 16;
my $block_size = 8192;
# Where the metapage has its content, and what is in it for each layer of ten
my ($page_header, $meta_bytes) = (24, 700);

note("seed $seed");
srand($seed);

# A loop that damage makes endless is a failure, too: no statement takes minutes
my $node = start_server('main', conf => "log_statement = none\nrestart_after_crash = off\nstatement_timeout = 300s\n");
$node->safe_psql('postgres', join ';', map {
	my $error_rate = $_ % 2 ? 0.01 : 0.0001;

	"CREATE TABLE t$_ (x int)",
	  "CREATE INDEX i$_ ON t$_ USING membership (x) WITH (capacity = 100, error_rate = $error_rate)",
	  "INSERT INTO t$_ SELECT generate_series(1, 3000)"
} 1 .. $indexes);

# Random bytes in place of some, mostly in the metapage
sub damage
{
	my ($file) = @_;
	my $bytes = slurp_file($file);

	for (0 .. int(rand(4)))
	{
		my $at =
		    rand() < 0.6 ? $page_header + int(rand($meta_bytes))
		  : rand() < 0.5 ? $block_size * (1 + int(rand(length($bytes) / $block_size))) - 1 - int(rand(8))
		  :                int(rand(length $bytes));

		substr($bytes, $at, 1) = rand() < 0.3 ? chr(255) : chr(int(rand(256)));
	}
	open my $out, '>:raw', $file or die "$file: $!";
	print $out $bytes;
	close $out;
}

my $errors = 0;
for my $round (1 .. $rounds)
{
	my %file = map { $_ => $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('i$_')") } 1 .. $indexes;

	$node->stop;
	damage($_) foreach values %file;
	$node->start;
	my $session = Session->new($node);
	my @strange;
	for my $i (1 .. $indexes)
	{
		foreach my $command (
			"SELECT membership_contains('i$i', 1)",
			"SELECT count(*) FROM t$i WHERE membership_contains('i$i', x)",
			"SELECT membership_info('i$i')",
			"SELECT length(membership_filter('i$i')::bytea)",
			"SELECT membership_check('i$i')",
			"SET enable_seqscan = off; SELECT count(*) FROM t$i WHERE x = 1",
			"INSERT INTO t$i SELECT generate_series(10001, 13000)",
			"VACUUM t$i")
		{
			# in a backend that has read nothing yet
			my $said = $session->query("\\connect -\n$command");

			if ($said =~ /[A-Z]/)
			{
				$errors++;
				# index_corrupted; data_corrupted, of a page header; "altered since it was built"; a page
				# behind the last one, in a file that is not there; and more than a filter may have
				push @strange, "$command: $said" unless $said =~ /ERROR:  (XX002|XX001|55000|58P01|54000)/;
			}
		}
	}
	is("@strange", '', "round $round: an answer, or an error that says what it is");
	my @wrong = grep { $session->query("REINDEX INDEX i$_; SELECT membership_check('i$_') = count(*) FROM t$_") ne 't' } 1 .. $indexes;
	is("@wrong", '', "round $round: rebuilt");
	$session->quit;
}
cmp_ok($errors, '>', $rounds, 'damage was noticed');

# A half that a crash has left empty: a probe reads, and checks, only one of the two
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE whole (x int);
	INSERT INTO whole SELECT generate_series(1, 3000);
	CREATE INDEX halves ON whole USING membership (x);
	CREATE FUNCTION answers(OUT no int, OUT errors int) LANGUAGE plpgsql AS $$
	BEGIN
		no := 0;
		errors := 0;
		FOR x IN 1 .. 3000 LOOP
			BEGIN
				no := no + (NOT membership_contains('halves', x))::int;
			EXCEPTION WHEN index_corrupted OR data_corrupted THEN
				errors := errors + 1;
			END;
		END LOOP;
	END $$
	SQL
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('halves')");
$node->stop;
my $whole = slurp_file($file);
foreach my $half (0, 1)
{
	my $bytes = $whole;

	substr($bytes, $_ * $block_size + $half * $block_size / 2, $block_size / 2) = "\0" x ($block_size / 2)
	  for 1 .. length($bytes) / $block_size - 1;
	open my $out, '>:raw', $file or die "$file: $!";
	print $out $bytes;
	close $out;
	$node->start;
	like($node->safe_psql('postgres', 'SELECT * FROM answers()'), qr/^0\|[1-9]/, "half $half is empty: an error, not a \"no\"");
	$node->stop;
}
$node->start;

$node->stop;
done_testing();
