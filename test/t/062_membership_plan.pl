# A plan reveals nothing of hidden rows: EXPLAIN shows the same for a value that a hidden
# row has and for one that no row has, whether a policy of the table hides the row, one of
# the partitioned table through which it is queried, or a view.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('plan');
$node->init;
$node->start;
# No statistics can tell one value from another: all are different
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomfilter;
	CREATE ROLE ann;
	CREATE ROLE bob;
	GRANT CREATE ON SCHEMA public TO ann;
	SET ROLE ann;

	CREATE TABLE plain (owner name, secret text, other int);
	INSERT INTO plain SELECT 'ann', 's' || i, i FROM generate_series(1, 20000) i;
	INSERT INTO plain SELECT 'bob', 'b' || i, i FROM generate_series(1, 10) i;
	CREATE INDEX plain_secret ON plain USING membership (secret);
	ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON plain USING (owner = current_user);
	GRANT SELECT ON plain TO bob;

	CREATE TABLE parted (owner name, secret text, other int) PARTITION BY RANGE (other);
	CREATE TABLE part PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (10000);
	CREATE TABLE part_next PARTITION OF parted FOR VALUES FROM (10000) TO (MAXVALUE);
	INSERT INTO parted SELECT * FROM plain;
	CREATE INDEX parted_secret ON parted USING membership (secret);
	ALTER TABLE parted ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON parted USING (owner = current_user);
	GRANT SELECT ON parted, part, part_next TO bob;

	-- bob may read the table directly, too, but sees only his own rows there
	CREATE VIEW of_plain AS SELECT * FROM plain WHERE owner = 'bob';
	CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM plain WHERE owner = 'bob';
	CREATE VIEW of_parted AS SELECT * FROM parted WHERE owner = 'bob';
	-- bob may not read this one
	CREATE TABLE unseen AS SELECT * FROM plain;
	CREATE INDEX unseen_secret ON unseen USING membership (secret);
	CREATE VIEW of_unseen AS SELECT * FROM unseen WHERE owner = 'bob';
	CREATE VIEW unseen_barrier WITH (security_barrier) AS SELECT * FROM unseen WHERE owner = 'bob';
	GRANT SELECT ON of_plain, barrier, of_parted, of_unseen, unseen_barrier TO bob;
});
$node->safe_psql('postgres', 'VACUUM ANALYZE');

# The whole of a plan for a value, with a name in its place
sub plan_for
{
	my ($settings, $relation, $value) = @_;
	my ($status, $out, $err) = $node->psql('postgres',
		"SET ROLE bob; $settings; EXPLAIN SELECT * FROM $relation WHERE secret = '$value'");

	$out =~ s/$value/VALUE/g;
	return "$out$err";
}

foreach my $relation (qw(plain parted of_plain barrier of_parted of_unseen unseen_barrier))
{
	foreach my $settings ('SET enable_seqscan = on', 'SET enable_seqscan = off')
	{
		my $hidden = plan_for($settings, $relation, 's7777');

		is($hidden, plan_for($settings, $relation, 'z7777'), "$relation, $settings: the plan does not tell");
		like($hidden, qr/_secret\b|secret_idx/, "$relation, $settings: the index is used") if $settings =~ /off/;
	}
}

# nor does one that is prepared
foreach my $relation (qw(plain parted of_plain barrier of_parted))
{
	my %plan;

	foreach my $value (qw(s7777 z7777))
	{
		$plan{$value} = $node->safe_psql('postgres', qq{
			SET ROLE bob;
			SET enable_seqscan = off;
			PREPARE q AS SELECT * FROM $relation WHERE secret = \$1;
			EXPLAIN EXECUTE q('$value')});
		$plan{$value} =~ s/$value/VALUE/g;
	}
	is($plan{s7777}, $plan{z7777}, "$relation: the plan of a prepared statement does not tell");
}

$node->stop;
done_testing();
