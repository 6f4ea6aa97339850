# What an administrator sees of a membership index: whether it is used, its options, and
# which operator classes are valid.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('seen');
my $session = Session->new($node);
is( $session->query(q{
	CREATE TABLE kept (x int);
	CREATE INDEX kept_x ON kept USING membership (x);
	CREATE INDEX kept_more ON kept USING membership (x);
	INSERT INTO kept SELECT generate_series(1, 1000);
	CREATE TABLE parted (x int) PARTITION BY RANGE (x);
	CREATE TABLE part_1 PARTITION OF parted FOR VALUES FROM (0) TO (500);
	CREATE TABLE part_2 PARTITION OF parted FOR VALUES FROM (500) TO (1001);
	CREATE INDEX parted_x ON parted USING membership (x);
	INSERT INTO parted SELECT generate_series(1, 1000)}),
	'', 'tables with indexes');

# Scans of an index that a statement has made
sub scans
{
	my ($index, $statement) = @_;
	my $count = "SELECT pg_stat_force_next_flush(); SELECT coalesce(sum(idx_scan), 0) FROM pg_stat_user_indexes WHERE indexrelname LIKE '$index'";
	my ($before) = $session->query($count) =~ /(\d+)$/;

	$session->query($statement);
	my ($after) = $session->query($count) =~ /(\d+)$/;
	return $after - $before;
}

is(scans('kept_x', "SELECT membership_contains('kept_x'::regclass, 1)"), 1, 'one lookup is one scan');
is(scans('kept_x', "SELECT count(*) FROM generate_series(1, 5000) i WHERE membership_contains('kept_x'::regclass, i)"), 1, 'so is a query with a lookup for each row');
is(scans('kept_x', "SELECT membership_contains_$_('kept_x'::regclass, ARRAY[1, 2])"), 1, "and $_ of an array") foreach qw(any all each);
is(scans('kept_x', "SELECT membership_filter('kept_x'::regclass) IS NULL"), 1, 'and the filter');
is(scans('kept\_%', "SET enable_seqscan = off; SELECT count(*) FROM kept WHERE x = -1 OR x = -2; RESET enable_seqscan"), 2, "the planner's scans count, each of them");
is(scans('kept_x', "SELECT membership_contains('kept_more'::regclass, 1)"), 0, 'another index does not');
is(scans('kept_more', "SELECT membership_contains('kept_x'::regclass, 1), membership_contains('kept_more'::regclass, 1)"), 1, 'each index counts for itself');
is(scans('part\_%', "SELECT membership_contains('part_1_x_idx'::regclass, 1)"), 1, "a partition's index");

# The range of an option, readable and correct
sub refused
{
	my ($option) = @_;
	return $session->query("CREATE INDEX kept_bad ON kept USING membership (x) WITH ($option); DROP INDEX IF EXISTS kept_bad");
}

foreach my $value ('1', '0', '0.9')
{
	like(refused("error_rate = $value"), qr/^ERROR:  22023: [^\n]*\b\Q$value\E\b/, "error_rate = $value names the value");
}
my ($least, $most) = refused('error_rate = 1') =~ /between "?([0-9.e-]+?)"? and "?([0-9.e-]+?)"?\.?$/m;
ok(defined($least), 'the error names the range');
$least //= 0;
$most //= 0;
cmp_ok($least, '>', 0, 'its lower end is not zero');
is(refused("error_rate = $_"), '', "error_rate = $_ may be set") foreach $least, $most;
like(refused("error_rate = $_"), qr/ERROR/, "error_rate = $_ may not") foreach 0.99 * $least, 1.01 * $most;
like($session->query('ALTER INDEX kept_x SET (error_rate = 1)'), qr/^ERROR:  22023: /, 'nor by ALTER INDEX');
unlike($session->query('ALTER INDEX kept_x SET (error_rate = 1)'), qr/0\.000000/, 'which names the range, too');
like(refused('capacity = 0'), qr/^ERROR:  22023: [^\n]*\b0\b/, 'another option');
is(refused('error_rate = 0.001, capacity = 10, growth = 2'), '', 'valid input is accepted');

# An operator other than the type's own equality would give false answers: it is
# refused, and amvalidate() notices one that a catalog has nevertheless
my $valid = "SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'lsn_ops' AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'membership')";
is( $node->safe_psql('postgres', q{
	SELECT count(*) > 25, bool_and(amvalidate(oid)) FROM pg_opclass
	WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'membership')}),
	't|t', 'our operator classes are valid');
$session->query(q{
	CREATE FUNCTION same_text(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT lower($1) = lower($2) $$;
	CREATE OPERATOR =~= (LEFTARG = text, RIGHTARG = text, FUNCTION = same_text)});
foreach my $class ('text =~=', 'int <', 'point ~=')
{
	my ($type, $operator) = split / /, $class;

	like($session->query("CREATE OPERATOR CLASS other_ops FOR TYPE $type USING membership AS OPERATOR 1 $operator"), qr/^ERROR:  42P17: .*\Q$operator\E.*cannot be number 1/, "$operator is refused");
}
is($session->query('CREATE OPERATOR CLASS lsn_ops FOR TYPE pg_lsn USING membership AS OPERATOR 1 ='), '', 'an equality is not');
is($session->query($valid), 't', 'lsn_ops is valid');
$session->query(q{
	UPDATE pg_amop SET amopopr = '<(pg_lsn,pg_lsn)'::regoperator
	WHERE amopfamily = (SELECT opcfamily FROM pg_opclass WHERE opcname = 'lsn_ops')});
like($session->query($valid), qr/^INFO: .*not the default equality.*^f$/ms, 'with another operator it is not');

$session->quit;
$node->stop;
done_testing();
