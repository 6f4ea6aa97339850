# Random queries over random tables with membership indexes, and each asked thrice: by
# core's plans alone, as the planner likes best, and with Filter Scans and join filters
# wherever they are legal.  All three have to return the same rows and the same
# errors.  Which rows pass a join filter must not matter; so tables, joins and conditions
# of every form are made here, transactions that have changed what they ask, cursors,
# prepared plans, and the rows of other users.
#
#     JOIN_SECONDS=3600      more than the 150
#     FUZZ_SEED=1            the same statements again
#     JOIN_ROUND=7           only this round of that seed
use strict;
use warnings;

use List::Util qw(min shuffle sum);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $seconds = $ENV{JOIN_SECONDS} || 150;
my $seed = $ENV{FUZZ_SEED} || time;
my $only_round = $ENV{JOIN_ROUND};
# Of a round: tables, and what is asked of them
my ($tables_count, $cases_count) = (7, 120);
# Rows of a table, and values of a column
my ($rows_least, $rows_most, $values_least, $values_most) = (40, 900, 300, 1200);
# Relations of a query, and of a subquery in it
my ($relations_most, $inner_relations_most) = (4, 2);
# A query that takes longer is not compared, but only so many may be
my ($statement_ms, $slow_share_most) = (2000, 0.1);
# Of what is asked at least this share must have run with a join filter; the part
# that fails because the statement itself is wrong is at most that
my ($filtered_share_least, $failed_share_most) = (0.15, 0.25);
# Cases told in full
my $most_told = 5;
# In every third round other sessions change the tables, and their indexes, meanwhile
my ($disturbed_every, $disturbers, $disturbances, $lock_ms) = (3, 2, 2000, 300);
# At least so many of their statements succeed in each
my $changes_least = 50;

my @variants = (
	[ plain => "SET bloomfilter.filter_scan = off; SET bloomfilter.join_filter = off" ],
	[ chosen => "RESET bloomfilter.filter_scan; RESET bloomfilter.join_filter" ],
	[ forced => "SET bloomfilter.filter_scan = force; SET bloomfilter.join_filter = index" ]);

note("seed $seed");

my $node = PostgreSQL::Test::Cluster->new('joins');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
jit = off
fsync = off
restart_after_crash = off
max_worker_processes = 16
max_parallel_workers = 8
max_prepared_transactions = 5
log_statement = none
});
$node->start;
my $dir = $PostgreSQL::Test::Utils::tmp_check;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $force_parallel = $version < 160000 ? 'force_parallel_mode' : 'debug_parallel_query';

sub roll { return int(rand($_[0])) }
sub between { return $_[0] + roll($_[1] - $_[0] + 1) }
sub one_of { return $_[ roll(scalar @_) ] }
sub chance { return rand() < $_[0] }

sub weighted
{
	my $rest = rand(sum(map { $_->[0] } @_));

	foreach my $choice (@_)
	{
		return $choice->[1] if ($rest -= $choice->[0]) < 0;
	}
	return $_[-1][1];
}

# ------------------------------------------------------------------ types

# Families of types whose values can be compared.  Of each: the types; the value of a
# number n, of which h is a hash; whether equal values look alike.  No bpchar without a
# length: an assertion of core's btree fails where its values differ in blanks.
my %families = (
	int => { types => [qw(int2 int4 int4 int8 int8 dom_int)], value => 'n', alike => 1 },
	text => { types => [ 'text', 'text', 'varchar', 'varchar(40)', 'name', 'dom_text', 'text', 'varchar', 'text COLLATE "C"', 'text COLLATE other' ], value => "'v' || n", alike => 1 },
	char => { types => [ 'char(12)', 'char(12)', 'char(20)', 'text', 'varchar(30)' ], value => "'v' || n || CASE h % 3 WHEN 0 THEN '  ' ELSE '' END" },
	folded => { types => [ 'text COLLATE folding', 'text COLLATE folding', 'text COLLATE folding', 'varchar COLLATE folding' ], value => "CASE h % 2 WHEN 0 THEN 'V' ELSE 'v' END || n" },
	numeric => { types => [ 'numeric', 'numeric', 'numeric(14,3)', 'dom_numeric' ], value => 'CASE h % 2 WHEN 0 THEN n / 4.0 ELSE (n / 4.0)::numeric(14,5) END' },
	float => { types => [qw(float4 float8 float8)], value => "CASE n % 60 WHEN 0 THEN 'NaN' WHEN 1 THEN CASE h % 2 WHEN 0 THEN '-0' ELSE '0' END ELSE (n / 8.0)::text END::float8" },
	date => { types => [qw(date date timestamp timestamptz)], value => "'2001-02-03'::date + n::int", alike => 1 },
	uuid => { types => ['uuid'], value => 'md5(n::text)::uuid', alike => 1 },
	bytea => { types => ['bytea'], value => "('x' || n)::bytea", alike => 1 },
	inet => { types => [ 'inet', 'inet', 'cidr' ], value => "('10.' || n % 9 || '.' || n / 250 || '.' || n % 250)::inet", alike => 1 },
	interval => { types => ['interval'], value => "CASE h % 2 WHEN 0 THEN n * interval '1 day' ELSE n * interval '24 hours' END" },
	array => { types => ['int[]'], value => 'ARRAY[n, n + 1]', alike => 1 },
	range => { types => ['int4range'], value => 'int4range(n::int, n::int + 2)', alike => 1 },
	row => { types => ['pair'], value => "ROW(n, 'v' || n)::pair", alike => 1 },
	oid => { types => [ 'oid', 'regclass' ], value => 'n::oid', alike => 1 },
	timetz => { types => [ 'timetz', 'timetz', 'time' ], value => "(make_time(12, (n % 60)::int, n::int / 60) || CASE h % 2 WHEN 0 THEN '+00' ELSE '+00:00' END)::timetz" },
	decimals => { types => ['numeric[]'], value => 'ARRAY[CASE h % 2 WHEN 0 THEN n::numeric ELSE n::numeric(12,3) END, 7]' },
	jsonb => { types => ['jsonb'], value => 'jsonb_build_array(CASE h % 2 WHEN 0 THEN n::numeric ELSE n::numeric(12,3) END)' });
my @others = grep { $_ ne 'int' && $_ ne 'text' } sort keys %families;

# What a round is about: the families of its columns k1 to k4, and its values
my (%family_of, $values, @tables, @relations, $aliases, @setup);

# ------------------------------------------------------------------ tables

# Kinds of tables, each with the statements that make it of these columns
my @kinds = (
	[ 6, sub { my ($t) = @_; return "CREATE TABLE $t->{name} ($t->{columns})" } ],
	[ 1, sub { my ($t) = @_; return "CREATE UNLOGGED TABLE $t->{name} ($t->{columns})" } ],
	[ 1.5, sub { my ($t) = @_; $t->{temporary} = 1; return "CREATE TEMPORARY TABLE $t->{name} ($t->{columns})" } ],
	[ 1.5, \&hash_partitioned ],
	[ 1.5, \&list_partitioned ],
	[ 1.5, \&range_partitioned ],
	[ 2, \&inherited ],
	[ 2, \&with_policies ]);

sub partitions_of { my ($t, @names) = @_; push @{ $t->{parts} }, @names }

sub hash_partitioned
{
	my ($t) = @_;
	my $name = $t->{name};

	partitions_of($t, map { "${name}_$_" } 0 .. 2);
	return ("CREATE TABLE $name ($t->{columns}) PARTITION BY HASH (" . one_of('k1', 'p', 'k2') . ')',
		map { "CREATE TABLE ${name}_$_ PARTITION OF $name FOR VALUES WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2);
}

sub list_partitioned
{
	my ($t) = @_;
	my $name = $t->{name};

	partitions_of($t, "${name}_0", "${name}_1");
	# two levels, and a partition whose columns are in another order
	return ("CREATE TABLE $name ($t->{columns}) PARTITION BY LIST (p)",
		"CREATE TABLE ${name}_0 PARTITION OF $name FOR VALUES IN (0, 2)",
		"CREATE TABLE ${name}_1 (" . join(', ', 'lost int', reverse @{ $t->{column_list} }) . ')',
		"ALTER TABLE ${name}_1 DROP COLUMN lost",
		"ALTER TABLE $name ATTACH PARTITION ${name}_1 FOR VALUES IN (1)",
		"CREATE TABLE ${name}_d PARTITION OF $name DEFAULT PARTITION BY RANGE (id)",
		"CREATE TABLE ${name}_d0 PARTITION OF ${name}_d FOR VALUES FROM (MINVALUE) TO (500)",
		"CREATE TABLE ${name}_d1 PARTITION OF ${name}_d FOR VALUES FROM (500) TO (MAXVALUE)");
}

sub range_partitioned
{
	my ($t) = @_;
	my $name = $t->{name};
	my $middle = int($values / 2);

	partitions_of($t, "${name}_0", "${name}_1");
	# the same bounds for all, so that they are joined partition by partition
	return ("CREATE TABLE $name ($t->{columns}) PARTITION BY RANGE (k1)",
		"CREATE TABLE ${name}_0 PARTITION OF $name FOR VALUES FROM (MINVALUE) TO ($middle)",
		"CREATE TABLE ${name}_1 PARTITION OF $name FOR VALUES FROM ($middle) TO (MAXVALUE)",
		"CREATE TABLE ${name}_n PARTITION OF $name DEFAULT");
}

sub inherited
{
	my ($t) = @_;
	my $name = $t->{name};

	$t->{children} = ["${name}_child"];
	return ("CREATE TABLE $name ($t->{columns})", "CREATE TABLE ${name}_child (more int) INHERITS ($name)");
}

sub with_policies
{
	my ($t) = @_;
	return ("CREATE TABLE $t->{name} ($t->{columns})", "ALTER TABLE $t->{name} ENABLE ROW LEVEL SECURITY",
		"CREATE POLICY visible ON $t->{name} USING (" . one_of('id % 3 <> 0', 'p = 1', 'true', 'k1 IS NOT NULL') . ')');
}

sub value
{
	my ($column, $type) = @_;
	my $number = "(abs(hashint8(n * 31 + " . roll(1000) . ")) % $values)::bigint";
	my $value = $families{ $family_of{$column} }{value};
	my $cast = $type =~ s/ COLLATE.*//r;

	$value =~ s/\bn\b/x.n/g;
	$value =~ s/\bh\b/x.h/g;
	my $null = chance(0.6) ? sprintf('abs(hashint8(n + %d)) %% %d = 0', roll(1000), between(3, 20)) : 'false';
	return "CASE WHEN $null THEN NULL ELSE (SELECT ($value)::$cast FROM (VALUES ($number, abs(hashint8(n + 77)))) AS x (n, h)) END";
}

sub insertion
{
	my ($t, $from, $to, $into) = @_;
	my @columns = sort keys %{ $t->{types} };

	return sprintf 'INSERT INTO %s (id, p, %s) SELECT n, abs(hashint8(n + %d)) %% 4, %s FROM generate_series(%d, %d) AS n',
	  $into // $t->{name}, join(', ', @columns), roll(100), join(', ', map { value($_, $t->{types}{$_}) } @columns), $from, $to;
}

sub options
{
	return sprintf ' WITH (capacity = %d, error_rate = %s)', one_of(1, 100, 5000), one_of(0.3, 0.1, 0.01, 0.001, 0.00001);
}

# Indexes of a table or a partition; some cannot be made, of types without a hash
sub index_on
{
	my ($t, $name) = @_;
	my @sql;

	foreach my $column (sort keys %{ $t->{types} })
	{
		if (chance(0.75))
		{
			push @sql, "CREATE INDEX ${name}_$column ON $name USING membership ($column)" . options();
			$t->{asked}{$column} = "${name}_$column" if $name eq $t->{name} && !$t->{children} && !$t->{temporary};
		}
		push @sql, "CREATE INDEX ON $name ($column)" if chance(0.3);
	}
	push @sql, "CREATE INDEX ON $name USING membership (k1, k2)" if chance(0.2);
	push @sql, "CREATE INDEX ON $name USING membership (k1)" . options() . ' WHERE p = 1' if chance(0.3);
	push @sql, "CREATE INDEX ON $name USING membership (k2 COLLATE \"C\")" if chance(0.2);
	push @sql, "CREATE INDEX ON $name USING membership ((k1 + 1))" if chance(0.2);
	push @sql, "CREATE INDEX ON $name USING membership (p)" if chance(0.3);
	push @sql, "CREATE UNIQUE INDEX ON $name (id)" if chance(0.4) && !$t->{parts};
	return @sql;
}

sub create_table
{
	my ($number) = @_;
	my $t = { name => "t$number", number => $number, types => {}, parts => [] };
	my $rows = between($rows_least, $rows_most);
	my (@sql, @added);

	foreach my $column (sort keys %family_of)
	{
		$t->{types}{$column} = one_of(@{ $families{ $family_of{$column} }{types} });
	}
	my @list = ('gone text', 'id int', 'p int', map { "$_ $t->{types}{$_}" } sort keys %{ $t->{types} });
	# a column that rows of before do not have
	push @added, [ (pop @list) =~ /^(\w+) (.*)/ ] if chance(0.3);
	push @list, 'g int GENERATED ALWAYS AS (id * 2) STORED' if chance(0.2);
	$t->{column_list} = \@list;
	$t->{columns} = join ', ', @list;
	push @sql, weighted(@kinds)->($t), "ALTER TABLE $t->{name} DROP COLUMN gone";
	if (@added)
	{
		my ($column, $type) = @{ $added[0] };
		my $late = { %$t, types => { %{ $t->{types} } } };

		delete $late->{types}{$column};
		push @sql, insertion($late, -200, 0),
		  sprintf "ALTER TABLE %s ADD COLUMN %s %s DEFAULT (SELECT (%s)::%s FROM (VALUES (%d, 1)) AS x (n, h))", $t->{name}, $column, $type, $families{ $family_of{$column} }{value}, $type =~ s/ COLLATE.*//r, roll($values);
		# a default is no subquery
		$sql[-1] =~ s/DEFAULT \(SELECT \((.*)\)::(.*?) FROM \(VALUES \((\d+), 1\)\).*/my ($v, $c, $n) = ($1, $2, $3); $v =~ s,\bn\b,${n}::bigint,g; $v =~ s,\bh\b,1,g; "DEFAULT ($v)::$c"/e;
	}
	my @indexes = map { index_on($t, $_) } $t->{name}, (grep { chance(0.5) } @{ $t->{parts} }, @{ $t->{children} // [] });
	my $first = between(0, $rows);

	push @sql, insertion($t, 1, $first) if $first > 0;
	push @sql, insertion($t, 5001, 5001 + between(5, 300), $_) foreach @{ $t->{children} // [] };
	# made at different moments of the table's life
	push @sql, splice(@indexes, 0, roll(scalar @indexes + 1)) if chance(0.7);
	push @sql, insertion($t, $first + 1, $rows) if $rows > $first;
	push @sql, change($t) if chance(0.5);
	push @sql, @indexes;
	push @sql, change($t) if chance(0.5);
	push @sql, one_of('VACUUM', 'ANALYZE', 'VACUUM FULL', 'VACUUM ANALYZE') . " $t->{name}" if chance(0.6);
	push @sql, "ALTER TABLE $t->{name} SET (parallel_workers = 2)" if chance(0.3) && !@{ $t->{parts} };
	push @tables, $t;
	push @relations, { name => $_, table => $t, columns => [ 'id', 'p', sort keys %{ $t->{types} } ] }
	  foreach $t->{name}, @{ $t->{parts} }, @{ $t->{children} // [] };
	push @relations, { %{ $relations[-1] }, name => "ONLY $t->{name}" } if $t->{children};
	return @sql;
}

# A change of rows that leaves each id unique
sub change
{
	my ($t) = @_;
	my $column = one_of(sort keys %{ $t->{types} });
	my $other = one_of(@tables ? @tables : $t);
	my $new = one_of(10000, 20000, 30000) + roll(5000);

	return weighted(
		[ 2, "DELETE FROM $t->{name} WHERE id % 5 = " . roll(5) ],
		[ 3, "UPDATE $t->{name} SET $column = (SELECT s.$column FROM $other->{name} s WHERE s.id % 100 = " . roll(100) . " ORDER BY s.id LIMIT 1) WHERE id % 4 = " . roll(4) ],
		[ 1, "UPDATE $t->{name} SET p = (p + 1) % 4 WHERE id % 6 = " . roll(6) ],
		[ 1, "UPDATE $t->{name} SET $column = $column WHERE id % 3 = " . roll(3) ],
		[ 4, insertion($t, $new, $new + between(1, 100)) ]);
}

sub create_views
{
	my $tables = $#relations;
	my @sql;

	foreach my $number (1 .. 4)
	{
		my $name = "v$number";
		# not of views, which may lack columns
		my $of = one_of(@relations[ 0 .. $tables ]);
		my $with = one_of('', '', 'WITH (security_barrier)', 'WITH (security_invoker)', 'WITH (security_barrier, security_invoker)');
		my $query = weighted(
			[ 3, sub { "SELECT * FROM $of->{name} WHERE " . one_of('id % 4 <> 1', 'p < 3', 'k1 IS NOT NULL') } ],
			[ 2, sub { my $two = one_of(@relations[ 0 .. $tables ]); "SELECT a.id, b.p, " . join(', ', map { one_of('a', 'b') . ".$_" } sort keys %family_of) . " FROM $of->{name} a JOIN $two->{name} b ON a.k1 = b.k1" } ],
			[ 1, sub { "SELECT min(id) AS id, 1 AS p, k1 FROM $of->{name} GROUP BY k1" } ],
			[ 2, sub { my $two = one_of(@relations[ 0 .. $tables ]); "SELECT id, p, k1, k2 FROM $of->{name} UNION ALL SELECT id, p, k1, k2 FROM $two->{name}" } ])->();

		# of what is in the table, and not only when the view is made
		my @columns = $query =~ /GROUP BY/ ? qw(id p k1) : $query =~ /UNION ALL/ ? qw(id p k1 k2) : @{ $of->{columns} };
		push @sql, "CREATE VIEW $name $with AS $query";
		push @relations, { name => $name, columns => \@columns };
	}
	my $of = one_of(grep { !$_->{table}{temporary} } @relations[ 0 .. $tables ]);
	return @sql unless $of;
	push @sql, "CREATE MATERIALIZED VIEW m1 AS SELECT " . join(', ', @{ $of->{columns} }) . " FROM $of->{name} WHERE p <> 2",
	  (map { "CREATE INDEX ON m1 USING membership ($_)" } 'k1', 'k2');
	push @relations, { name => 'm1', columns => $of->{columns} };
	return @sql;
}

sub create_functions
{
	my @sql;

	foreach my $language (qw(sql plpgsql))
	{
		my ($one, $two) = (one_of(@tables), one_of(@tables));
		my $query = "SELECT count(*) FROM $one->{name} a JOIN $two->{name} b ON a.k1 = b.k1 WHERE a.id % 50 = x % 50";

		push @sql, "CREATE FUNCTION f_$language(x int) RETURNS bigint LANGUAGE $language STABLE AS \$\$ "
		  . ($language eq 'sql' ? $query : "BEGIN RETURN ($query); END") . ' $$';
		push @sql, "CREATE FUNCTION s_$language(x int) RETURNS TABLE (id int) LANGUAGE $language STABLE AS \$\$ "
		  . ($language eq 'sql' ? '' : '#variable_conflict use_column BEGIN RETURN QUERY ') . "SELECT a.id FROM $one->{name} a WHERE EXISTS (SELECT FROM $two->{name} b WHERE b.k2 = a.k2) AND a.id % 10 = x % 10; " . ($language eq 'sql' ? '' : 'END') . ' $$';
	}
	return @sql;
}

# Filters that are stored: of the rows of each table
sub create_filters
{
	my @sql = 'CREATE TABLE filters (name text PRIMARY KEY, b bloom, c cuckoo)';

	foreach my $t (@tables)
	{
		push @sql, sprintf "INSERT INTO filters SELECT '%s', bloom_agg(%s, 1000), cuckoo_agg(%s, 5000) FROM %s", "$t->{name}.$_", $_, $_, $t->{name}
		  foreach sort keys %family_of;
	}
	return @sql;
}

# ----------------------------------------------------------------- queries

# A relation of a query: what stands in FROM, its alias, its columns
sub relation
{
	my ($q, $depth) = @_;
	my $alias = 'a' . ++$aliases;
	my $what = $depth > 1 || chance(0.75) ? 'table' : one_of(qw(subquery subquery cte values union grouped limited));

	if ($what eq 'table')
	{
		my $relation = one_of(@relations);
		return { sql => "$relation->{name} $alias", alias => $alias, columns => $relation->{columns}, table => $relation->{table} };
	}
	if ($what eq 'values')
	{
		return { sql => "(VALUES " . join(', ', map { "($_, " . roll(4) . ', ' . roll($values) . ", 'v" . roll($values) . "')" } 1 .. between(1, 40)) . ") AS $alias (id, p, k1, k2)", alias => $alias, columns => [qw(id p k1 k2)] };
	}
	my ($select, @columns) = exported($q, $depth + 1, $what);
	if ($what eq 'cte')
	{
		push @{ $q->{with} }, "c_$alias AS " . one_of('', 'MATERIALIZED ', 'NOT MATERIALIZED ') . "($select)";
		return { sql => "c_$alias $alias", alias => $alias, columns => \@columns };
	}
	return { sql => "($select) $alias", alias => $alias, columns => \@columns };
}

# A subquery that has an id and some columns of its relations
sub exported
{
	my ($q, $depth, $what) = @_;
	my ($from, @inner) = joined($q, between(1, $inner_relations_most), $depth);
	my $where = where($q, $depth, @inner);
	my $first = $inner[0];

	if ($what eq 'grouped')
	{
		my ($column) = shuffle(grep { /^k/ && $families{ $family_of{$_} }{alike} } @{ $first->{columns} });
		return ("SELECT min($first->{alias}.id) AS id, $first->{alias}.$column, count(*)::int AS p FROM $from$where GROUP BY 2", 'id', $column, 'p') if $column;
	}
	if ($what eq 'union')
	{
		my ($other, @others) = joined($q, 1, $depth);
		my %has = map { $_ => 1 } @{ $others[0]{columns} };
		my @both = grep { $has{$_} } @{ $first->{columns} };

		return ('SELECT ' . join(', ', map { "$first->{alias}.$_" } @both) . " FROM $from$where UNION ALL SELECT "
			. join(', ', map { "$others[0]{alias}.$_" } @both) . " FROM $other" . where($q, $depth, @others), @both);
	}
	my %columns;
	foreach my $inner (@inner)
	{
		foreach (@{ $inner->{columns} })
		{
			$columns{$_} = "$inner->{alias}.$_" if !$columns{$_} || chance(0.4);
		}
	}
	my @columns = sort keys %columns;
	my $limit = '';
	if ($what eq 'limited')
	{
		@columns = grep { !/^k/ || $families{ $family_of{$_} }{alike} } @columns;
		$limit = ' ORDER BY ' . join(', ', 1 .. @columns) . ' LIMIT ' . between(1, 200);
	}
	return ('SELECT ' . join(', ', map { "$columns{$_} AS $_" } @columns) . " FROM $from$where$limit", @columns);
}

# A pair of columns that can be compared
sub pair
{
	my ($left, $right, @only) = @_;
	my %has = map { $_ => 1 } @{ $right->{columns} };
	my @both = grep { /^k/ && $has{$_} } @{ $left->{columns} };
	my $column = @both ? one_of(@both, 'k1') : 'k1';

	$column = $both[0] // 'id' unless grep { $_ eq $column } @both;
	return ("$left->{alias}.$column", "$right->{alias}.$column", $column);
}

sub equality
{
	my ($left, $right) = @_;
	my ($x, $y, $column) = pair($left, $right);

	return weighted(
		[ 12, "$x = $y" . ($column =~ /^k/ && $family_of{$column} =~ /^(text|folded)$/ && chance(0.2) ? one_of(' COLLATE "C"', ' COLLATE folding', ' COLLATE other') : '') ],
		[ 8, "$y = $x" ],
		[ 2, "($x = $y AND $left->{alias}.id <> $right->{alias}.id)" ],
		[ 1, "$x IS NOT DISTINCT FROM $y" ],
		[ 1, "($x, $left->{alias}.id % 2) = ($y, $right->{alias}.id % 2)" ],
		[ 1, "$x = COALESCE($y, $x) AND $left->{alias}.id % 40 = $right->{alias}.id % 40" ],
		[ 1, "($x = $y OR ($x IS NULL AND $left->{alias}.id = $right->{alias}.id))" ],
		[ 1, "NOT ($x <> $y)" ],
		[ 1, "$left->{alias}.id = $right->{alias}.id" ],
		[ 1, $column =~ /^k[12]$/ ? "$x = $y" . ($column eq 'k2' ? one_of('::text', '::varchar', ' COLLATE "C"', '::char(12)') : one_of('::int8', '::int4', ' + 0')) : "$x = $y" ]);
}

sub joined
{
	my ($q, $count, $depth) = @_;

	if ($count == 1)
	{
		my $relation = relation($q, $depth);
		return ($relation->{sql}, $relation);
	}
	my $split = between(1, $count - 1);
	my ($left, @left) = joined($q, $split, $depth);
	if ($count - $split == 1 && chance(0.1))
	{
		return lateral($q, $left, $depth, @left);
	}
	my ($right, @right) = joined($q, $count - $split, $depth);
	my $on = equality(one_of(@left), one_of(@right));
	$on .= ' AND ' . condition($q, $depth + 1, @left, @right) if chance(0.25);
	my $type = weighted([ 5, 'JOIN' ], [ 4, 'LEFT JOIN' ], [ 1.5, 'RIGHT JOIN' ], [ 1, 'FULL JOIN' ], [ 2, 'CROSS' ]);

	$right = "($right)" if @right > 1;
	if ($type eq 'CROSS' && $depth == 0)
	{
		# the condition stands in WHERE, of a query's own FROM
		push @{ $q->{where} }, $on;
		return ("$left CROSS JOIN $right", @left, @right);
	}
	$type = 'JOIN' if $type eq 'CROSS';
	return ("$left $type $right ON $on", @left, @right);
}

sub lateral
{
	my ($q, $left, $depth, @left) = @_;
	my $right = relation($q, 2);
	my $alias = 'a' . ++$aliases;
	my ($type, $on) = @{ one_of([ 'CROSS JOIN', '' ], [ 'LEFT JOIN', ' ON true' ], [ 'JOIN', ' ON true' ]) };
	my $outer = one_of(@left);
	my @alike = grep { !/^k/ || $families{ $family_of{$_} }{alike} } @{ $right->{columns} };
	my $more = chance(0.5) ? '' : ' ORDER BY ' . join(', ', 1 .. @alike) . ' LIMIT ' . between(1, 3);

	return ("$left $type LATERAL (SELECT " . join(', ', map { "$right->{alias}.$_" } @alike) . " FROM $right->{sql} WHERE " . equality($outer, $right) . "$more) $alias$on",
		@left, { alias => $alias, columns => \@alike });
}

sub where
{
	my ($q, $depth, @relations) = @_;
	my @conditions;

	push @conditions, condition($q, $depth, @relations) foreach 1 .. one_of(0, 0, 1, 1, 1, 2);
	return @conditions ? ' WHERE ' . join(' AND ', @conditions) : '';
}

# Is it in a filter?
sub probe
{
	my ($q, $of) = @_;
	my ($column) = shuffle(grep { /^k/ } @{ $of->{columns} });
	my $t = one_of(@tables);

	return "$of->{alias}.id > 10" unless $column;
	# elements of another class are an error, but only once one is asked for
	my $x = "($of->{alias}.$column)::" . $t->{types}{$column} =~ s/ COLLATE.*//r;
	my $index = $t->{asked}{$column};
	return one_of('', '', 'NOT ') . "membership_contains('$index', $x)"
	  if $index && !$q->{changes} && !$q->{no_index} && chance(0.5);
	my $name = "$t->{name}.$column";
	return weighted(
		[ 4, "bloom_contains((SELECT b FROM filters WHERE name = '$name'), $x)" ],
		[ 2, "(SELECT b FROM filters WHERE name = '$name') @> $x" ],
		[ 2, "cuckoo_contains((SELECT c FROM filters WHERE name = '$name'), $x)" ],
		[ 1, "$x <@ (SELECT b FROM filters WHERE name = '$name')" ],
		[ 1, "NOT bloom_contains((SELECT b FROM filters WHERE name = '$name'), $x)" ]);
}

sub condition
{
	my ($q, $depth, @relations) = @_;
	my $of = one_of(@relations);
	my $other = one_of(@relations);
	my $a = $of->{alias};
	my ($x, $y) = pair($of, $other);
	my $deep = $depth > 1 ? 0 : 1;

	return weighted(
		[ 2, sub { "$a.id % " . between(2, 5) . ' <> 0' } ],
		[ 1, sub { "$a.id IS " . one_of('', 'NOT ') . 'NULL' } ],
		[ 1, sub { "$x IS " . one_of('', 'NOT ') . 'NULL' } ],
		[ 1.5, sub { $of == $other ? "$a.id > 0" : "$x = $y" } ],
		[ 1, sub { $of == $other ? "$a.id < 1000" : "$x <= $y" } ],
		[ 1, sub { "$a.p = " . roll(4) } ],
		[ 2, sub { probe($q, $of) } ],
		[ $deep * 4, sub { subquery_condition($q, $depth, $of) } ],
		[ $deep, sub { '(' . condition($q, 2, @relations) . ' OR ' . subquery_condition($q, $depth, $of) . ')' } ],
		[ $deep, sub { "CASE WHEN " . condition($q, 2, @relations) . ' THEN ' . subquery_condition($q, $depth, $of) . " ELSE $a.id % 3 = 0 END" } ],
		[ 0.3, sub { one_of('f_sql', 'f_plpgsql') . "($a.id) > " . roll(3) . " AND $a.id % 40 = 1" } ],
		[ 0.3, sub { "$a.id IN (SELECT s.id FROM " . one_of('s_sql', 's_plpgsql') . '(' . roll(10) . ') s)' } ])->();
}

sub subquery_condition
{
	my ($q, $depth, $outer) = @_;
	my ($from, @inner) = joined($q, between(1, $inner_relations_most), $depth + 1);
	my $inner = one_of(@inner);
	my $and = chance(0.4) ? ' AND ' . condition($q, 2, @inner, chance(0.2) ? $outer : ()) : '';
	my ($x, $y) = pair($outer, $inner);
	my $correlated = chance(0.2) ? " AND $outer->{alias}.p = $inner->{alias}.p" : '';

	return weighted(
		[ 5, "EXISTS (SELECT FROM $from WHERE " . equality($outer, $inner) . "$and)" ],
		[ 4, "NOT EXISTS (SELECT FROM $from WHERE " . equality($outer, $inner) . "$and)" ],
		[ 5, "$x IN (SELECT $y FROM $from WHERE true$and$correlated)" ],
		[ 2, "$x NOT IN (SELECT $y FROM $from WHERE true$and$correlated)" ],
		[ 1, "$x = ANY (SELECT $y FROM $from WHERE true$and)" ],
		[ 1, "$x = (SELECT $y FROM $from WHERE $y IS NOT NULL$and ORDER BY $y LIMIT 1)" ],
		[ 1, "(SELECT count(*) FROM $from WHERE " . equality($outer, $inner) . "$and) " . one_of('> 0', '= 0', '> 1') . " AND $outer->{alias}.id % 10 = 1" ],
		[ 1, "$outer->{alias}.id = ANY (ARRAY(SELECT $inner->{alias}.id FROM $from WHERE true$and))" ]);
}

# A whole query, whose rows are the same whatever the plan
sub query
{
	my (%options) = @_;
	my $q = { %options, with => [], where => [] };
	my ($from, @relations) = joined($q, between(1, $relations_most), 0);
	my $where = where($q, 0, @relations);
	my @ids = map { "$_->{alias}.id" } @relations;
	my $ids = join ', ', @ids;

	$where = ($where eq '' ? ' WHERE ' : "$where AND ") . join ' AND ', @{ $q->{where} } if @{ $q->{where} };
	$where .= ($where eq '' ? ' WHERE ' : ' AND ') . $options{and}->($relations[0]) if $options{and};
	my $of = one_of(@relations);
	my ($alike) = shuffle(grep { /^k/ && $families{ $family_of{$_} }{alike} } @{ $of->{columns} });
	my @columns = map { my $r = $_; map { "$r->{alias}.$_" } @{ $r->{columns} } } @relations;
	my $body = weighted(
		[ 8, sub { "SELECT $ids FROM $from$where" } ],
		[ 4, sub { 'SELECT ' . join(', ', @columns) . " FROM $from$where" } ],
		[ 2, sub { "SELECT * FROM $from$where" } ],
		[ 3, sub { "SELECT count(*), " . join(', ', map { "sum($_)" } @ids) . " FROM $from$where" } ],
		[ 2, sub { $alike ? "SELECT $of->{alias}.$alike, count(*), min($of->{alias}.id) FROM $from$where GROUP BY 1" : "SELECT DISTINCT $ids FROM $from$where" } ],
		[ 2, sub { "SELECT DISTINCT $ids FROM $from$where" } ],
		[ 3, sub { "SELECT $ids FROM $from$where ORDER BY " . join(', ', map { "$_" . one_of('', ' DESC', ' NULLS FIRST') } 1 .. @ids) . ' LIMIT ' . between(1, 50) . one_of('', ' OFFSET ' . roll(20)) } ],
		[ 1, sub { "SELECT $ids, count(*) OVER (PARTITION BY $of->{alias}.p) FROM $from$where" } ],
		[ 1, sub { my ($other, @others) = joined($q, 1, 1); "SELECT $ids[0] FROM $from$where " . one_of('EXCEPT', 'INTERSECT', 'UNION', 'UNION ALL', 'EXCEPT ALL') . " SELECT $others[0]{alias}.id FROM $other" } ],
		[ 1, sub { my $table = $of->{table} ? ", $of->{alias}.tableoid::regclass" . ($options{changes} ? '' : ", $of->{alias}.ctid") : ''; "SELECT $ids$table FROM $from$where" } ],
		[ 1, sub { my ($inner, @inner) = joined($q, 2, 2); "SELECT $ids, (SELECT count(*) FROM $inner WHERE " . equality($of, $inner[0]) . ") FROM $from$where" } ])->();

	return (@{ $q->{with} } ? 'WITH ' . join(', ', @{ $q->{with} }) . ' ' : '') . $body;
}

# ------------------------------------------------------------------- cases

# A case is a list of statements; of those that EXPLAIN can plan the plan is looked at.
sub explained { return { explain => 1, sql => $_[0] } }

sub changed_table
{
	return one_of(grep { !@{ $_->{parts} } || chance(0.5) } @tables);
}

# Which rows change must not depend on the order in which they are found
sub modification
{
	my ($t) = @_;
	my $with = { changes => 1, with => [], where => [] };
	my $target = { alias => 'target', columns => [ 'id', 'p', sort keys %{ $t->{types} } ], table => $t };
	my ($from, @others) = joined($with, between(1, 2), 1);
	my $where = equality($target, $others[0]) . (chance(0.3) ? ' AND ' . condition($with, 1, $target, @others) : '');
	my $ctes = @{ $with->{with} } ? 'WITH ' . join(', ', @{ $with->{with} }) . ' ' : '';
	my $returning = $version >= 180000 ? 'RETURNING target.id, old.p, new.p' : 'RETURNING target.id';
	my $column = one_of(grep { /^k/ } @{ $target->{columns} });
	my $source = one_of(@relations);
	my $exists = subquery_condition($with, 1, $target);

	$ctes = @{ $with->{with} } ? 'WITH ' . join(', ', @{ $with->{with} }) . ' ' : '';
	return weighted(
		[ 3, "${ctes}UPDATE $t->{name} target SET p = target.p + 1 FROM $from WHERE $where $returning" ],
		[ 1, "${ctes}UPDATE $t->{name} target SET $column = NULL FROM $from WHERE $where RETURNING target.id" ],
		[ 3, "${ctes}DELETE FROM $t->{name} target USING $from WHERE $where RETURNING target.id" ],
		[ 2, "${ctes}DELETE FROM $t->{name} target WHERE $exists RETURNING target.id" ],
		[ 2, "${ctes}UPDATE $t->{name} target SET p = target.p + 1 WHERE $exists RETURNING target.id" ],
		[ 2, "MERGE INTO $t->{name} target USING (SELECT k1, min(id) AS id FROM $source->{name} GROUP BY k1) s ON target.k1 = s.k1 WHEN MATCHED AND target.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET p = 3"
			. one_of('', ' WHEN NOT MATCHED THEN INSERT (id, p, k1) VALUES (s.id + 100000, 1, s.k1)', $version >= 170000 ? ' WHEN NOT MATCHED BY SOURCE AND target.id % 3 = 0 THEN DELETE' : '') ],
		[ 1, "${ctes}INSERT INTO $t->{name} (id, p, k1) SELECT o.id + 200000, o.p, o.k1 FROM $source->{name} o WHERE EXISTS (SELECT FROM $from WHERE o.k1 = $others[0]{alias}." . ((grep { $_ eq 'k1' } @{ $others[0]{columns} }) ? 'k1' : 'id') . ') RETURNING id' ],
		[ 1, "WITH gone AS (DELETE FROM $t->{name} target WHERE target.id % 3 = 0 RETURNING id, k1) SELECT g.id, o.id FROM gone g " . one_of('', 'LEFT ') . "JOIN $source->{name} o ON g.k1 = o.k1" ],
		[ 1, "SELECT target.id FROM $t->{name} target JOIN $source->{name} o ON target.k1 = o.k1 FOR UPDATE OF target" ]);
}

sub case_select { return explained(query()) }

# Asked in the transaction, or the savepoint, that has changed the tables
sub case_transaction
{
	my @lines = 'BEGIN' . one_of('', '', ' ISOLATION LEVEL REPEATABLE READ', ' ISOLATION LEVEL SERIALIZABLE');

	push @lines, change(one_of(@tables)) foreach 1 .. between(1, 3);
	push @lines, explained(query(changes => 1)) if chance(0.7);
	if (chance(0.6))
	{
		push @lines, 'SAVEPOINT s', (map { change(one_of(@tables)) } 1 .. between(1, 2));
		push @lines, explained(query(changes => 1)) if chance(0.7);
		push @lines, one_of('ROLLBACK TO s', 'RELEASE s');
	}
	push @lines, 'TRUNCATE ' . one_of(@tables)->{name} if chance(0.1);
	push @lines, explained(query(changes => 1)), explained(query(changes => 1)), 'ROLLBACK';
	return @lines;
}

sub case_modification
{
	my $t = changed_table();

	return ('BEGIN', (chance(0.3) ? change(one_of(@tables)) : ()), explained(modification($t)), "SELECT * FROM $t->{name}", explained(query(changes => 1)), 'ROLLBACK');
}

sub case_cursor
{
	my $query = query(changes => 1);
	my $scroll = one_of('', '', 'SCROLL ', 'NO SCROLL ');
	my @between = chance(0.5) ? (change(one_of(@tables)), change(one_of(@tables))) : ();
	# what is read twice, or again from the start; all rows, in any order
	my @read = $scroll eq 'SCROLL ' ? ('FETCH ALL FROM c', 'MOVE ABSOLUTE 0 FROM c', 'FETCH FORWARD ALL FROM c', 'FETCH BACKWARD ALL FROM c') : ('FETCH 3 FROM c', 'FETCH 100 FROM c', @between, 'FETCH ALL FROM c');
	my $hold = chance(0.2);

	@read = 'FETCH ALL FROM c' if $hold;

	return ('BEGIN', explained($query), "DECLARE c ${scroll}CURSOR " . ($hold ? 'WITH HOLD ' : '') . "FOR $query", ($hold ? 'COMMIT' : @between), @read, $hold ? 'CLOSE c' : 'ROLLBACK');
}

# A generic plan outlives what happens to the indexes it asks
sub case_prepared
{
	my $query = query(changes => 1, and => sub { "$_[0]{alias}.id >= \$1" });
	my $t = one_of(@tables);
	my $column = one_of(sort keys %{ $t->{types} });
	my $index = "$t->{name}_$column";
	my @events = (
		"REINDEX TABLE $t->{name}", "ALTER TABLE $t->{name} ALTER COLUMN $column SET STATISTICS 5", "TRUNCATE $t->{name}",
		"DROP INDEX IF EXISTS $index", "ANALYZE $t->{name}", "CREATE INDEX ON $t->{name} USING membership ($column)", change($t), change($t),
		"ALTER TABLE $t->{name} ALTER COLUMN $column TYPE " . one_of(@{ $families{ $family_of{$column} }{types} }));

	return ('SET plan_cache_mode = ' . one_of('force_generic_plan', 'force_generic_plan', 'auto'), "PREPARE q (int) AS $query", 'BEGIN',
		{ explain => 1, sql => 'EXECUTE q(1)' }, 'EXECUTE q(500)', one_of(@events), 'EXECUTE q(1)', one_of(@events), 'EXECUTE q(20)', 'ROLLBACK', 'EXECUTE q(7)', 'DEALLOCATE q', 'RESET plan_cache_mode');
}

# Rows of another user
sub case_role
{
	return ('SET ROLE joins_user', explained(query(no_index => 1)), 'RESET ROLE');
}

sub case_plpgsql
{
	my ($one, $two) = (query(changes => 1), query(changes => 1));

	return ('BEGIN', q{DO $do$ DECLARE r record; n int := 0; BEGIN FOR r IN } . $one . q{ LOOP n := n + 1; IF n % 7 = 0 THEN BEGIN DELETE FROM } . one_of(@tables)->{name}
		  . q{ WHERE id = n; IF n % 2 = 0 THEN RAISE division_by_zero; END IF; EXCEPTION WHEN division_by_zero THEN NULL; END; END IF; END LOOP; PERFORM set_config('my.count', n::text, false); END $do$},
		"SELECT current_setting('my.count')", explained($two), 'ROLLBACK');
}

my @case_kinds = (
	[ 55, \&case_select ], [ 12, \&case_transaction ], [ 12, \&case_modification ], [ 6, \&case_cursor ], [ 6, \&case_prepared ],
	[ 7, \&case_role ], [ 2, \&case_plpgsql ]);

sub settings
{
	my @sql;

	push @sql, 'SET parallel_setup_cost = 0', 'SET parallel_tuple_cost = 0', 'SET min_parallel_table_scan_size = 0', 'SET max_parallel_workers_per_gather = 2' if chance(0.35);
	push @sql, 'SET parallel_leader_participation = off' if chance(0.1);
	push @sql, "SET $force_parallel = on" if chance(0.05);
	push @sql, "SET enable_$_ = off" foreach grep { chance(0.15) } qw(hashjoin mergejoin nestloop material memoize hashagg sort seqscan indexscan bitmapscan parallel_hash incremental_sort partition_pruning);
	push @sql, 'SET enable_partitionwise_join = on' if chance(0.4);
	push @sql, 'SET enable_partitionwise_aggregate = on' if chance(0.3);
	push @sql, 'SET work_mem = 64' if chance(0.2);
	push @sql, 'SET join_collapse_limit = 1' if chance(0.15);
	push @sql, 'SET from_collapse_limit = 1' if chance(0.1);
	push @sql, 'SET geqo_threshold = 2' if chance(0.1);
	push @sql, 'SET cursor_tuple_fraction = 1' if chance(0.2);
	push @sql, "SET timezone = '" . one_of('America/New_York', 'Asia/Kolkata', 'UTC') . "'" if chance(0.2);
	push @sql, 'SET jit = on', 'SET jit_above_cost = 0' if chance(0.03);
	return @sql;
}

# ------------------------------------------------------------------ rounds

my %counts = map { $_ => 0 } qw(cases statements filtered scans failed slow disturbed changes);

sub setup_round
{
	my %used;

	($values, $aliases, @tables, @relations) = (between($values_least, $values_most), 0);
	%family_of = (k1 => 'int', k2 => 'text', k3 => one_of(@others), k4 => one_of(@others));
	my @sql = (
		'CREATE EXTENSION bloomfilter',
		'CREATE DOMAIN dom_int AS int8', 'CREATE DOMAIN dom_text AS text', 'CREATE DOMAIN dom_numeric AS numeric CHECK (VALUE IS NULL OR VALUE >= 0)',
		'CREATE TYPE pair AS (n int, t text)',
		q{CREATE COLLATION other (provider = icu, locale = 'de')}, q{CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)});

	push @sql, create_table($_) foreach 1 .. $tables_count;
	push @sql, create_views(), create_functions(), create_filters(), 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO joins_user', map { "GRANT SELECT ON $_->{name} TO joins_user" } grep { $_->{temporary} } @tables;
	return @sql;
}

# A case of a round in which others change the tables: its variants share a snapshot
sub script_of_snapshot
{
	my ($number, $settings, $query) = @_;
	my @script = ('BEGIN ISOLATION LEVEL ' . one_of('REPEATABLE READ', 'REPEATABLE READ', 'SERIALIZABLE') . ';', 'SELECT count(*) FROM filters;');

	foreach my $variant (@variants)
	{
		push @script, 'SAVEPOINT v;', script_of($number, $variant, $settings, $query) =~ s/\\echo \@end\K.*//sr, 'ROLLBACK TO v;';
	}
	return join "\n", @script, 'ROLLBACK;', '';
}

# What another session does meanwhile.  Nothing that changes rows that an old snapshot
# sees, as TRUNCATE and some of ALTER TABLE do.
sub disturbance
{
	my $t = one_of(grep { !$_->{temporary} } @tables);
	my $column = one_of(sort keys %{ $t->{types} });
	my $index = "$t->{name}_$column";

	return weighted(
		[ 12, change($t) ],
		[ 1, "BEGIN;\n" . change($t) . ";\n" . change($t) . ";\n" . one_of('ROLLBACK', 'COMMIT') ],
		[ 1, "VACUUM $t->{name}" ],
		[ 1, "ANALYZE $t->{name}" ],
		[ 0.3, "VACUUM FULL $t->{name}" ],
		[ 2, "REINDEX TABLE CONCURRENTLY $t->{name}" ],
		[ 1, "REINDEX TABLE $t->{name}" ],
		[ 2, "DROP INDEX CONCURRENTLY IF EXISTS $index;\nCREATE INDEX CONCURRENTLY $index ON $t->{name} USING membership ($column)" ],
		[ 1, "DROP INDEX IF EXISTS $index;\nCREATE INDEX $index ON $t->{name} USING membership ($column)" . options() ]);
}

# Sessions that do such things until they are ended
sub start_disturbers
{
	my ($database, $file) = @_;
	my @pids;

	foreach my $number (1 .. $disturbers)
	{
		append_to_file("$file.$number.sql", join '', map { "$_;\n" } "SET lock_timeout = $lock_ms", map { disturbance() } 1 .. $disturbances);
		my $pid = fork // die "fork: $!";
		if (!$pid)
		{
			# once the tables are there
			usleep(10_000) until -e "$file.ready";
			open STDOUT, '>', "$file.$number.out" or POSIX::_exit(1);
			open STDERR, '>&', \*STDOUT or POSIX::_exit(1);
			exec('psql', '-XAt', '-d', $node->connstr($database), '-f', "$file.$number.sql") or POSIX::_exit(1);
		}
		push @pids, $pid;
	}
	return @pids;
}

# What psql is to do for one case in one variant.  Each statement's end is told with its
# SQLSTATE, and the plan of what is forced comes before its rows.
sub script_of
{
	my ($number, $variant, $settings, @lines) = @_;
	my @script = ("\\echo \@case $number $variant->[0]", map { "$_;" } $variant->[1], @$settings);

	foreach my $line (@lines)
	{
		my $sql = ref $line ? $line->{sql} : $line;

		if (ref $line)
		{
			push @script, '\\echo @plan', "EXPLAIN (COSTS off) $sql;", '\\echo @planned :SQLSTATE';
		}
		push @script, $sql =~ /^(FETCH|MOVE)/ ? '\\echo @rows some' : '\\echo @rows', "$sql;", '\\echo @state :SQLSTATE';
	}
	# a statement that failed may have left anything
	return join "\n", @script, '\\echo @end', 'ROLLBACK;', 'DEALLOCATE ALL;', 'CLOSE ALL;', 'RESET ALL;', "SET statement_timeout = $statement_ms;", '';
}

# { case => { variant => [ [ rows sorted, state ], ... ] } }, and plans
sub read_output
{
	my ($file) = @_;
	my (%of, %plans, %ended, $case, $variant, $where);

	open my $out, '<', $file or die "$file: $!";
	while (my $line = <$out>)
	{
		chomp $line;
		if ($line =~ /^\@case (\d+) (\w+)/) { ($case, $variant, $where) = ($1, $2, ''); $of{$case}{$variant} = []; $plans{$case} //= [] }
		elsif (!defined $case) { next }
		elsif ($line eq '@plan') { $where = $variant eq 'forced' ? 'plan' : ''; push @{ $plans{$case} }, '' if $where }
		elsif ($line =~ /^\@planned (\S+)/) { $where = ''; push @{ $of{$case}{$variant} }, [ [], $1 ] }
		elsif ($line =~ /^\@rows( some)?/) { $where = 'rows'; push @{ $of{$case}{$variant} }, [ [], '', $1 ] }
		elsif ($line =~ /^\@state (\S+)/) { $where = ''; $of{$case}{$variant}[-1][1] = $1 }
		elsif ($line eq '@end') { $where = ''; $ended{$case}{$variant} = 1 }
		elsif ($where eq 'plan') { $plans{$case}[-1] .= "$line\n" }
		elsif ($where eq 'rows') { push @{ $of{$case}{$variant}[-1][0] }, $line }
	}
	close $out;
	# in which order a cursor's rows come depends on the plan
	foreach my $statements (map { values %$_ } values %of)
	{
		my ($first, @more) = grep { $_->[2] } @$statements;

		push @{ $first->[0] }, splice @{ $_->[0] } foreach @more;
	}
	foreach my $statement (map { @$_ } map { values %$_ } values %of)
	{
		@{ $statement->[0] } = sort @{ $statement->[0] };
	}
	return (\%of, \%plans, \%ended);
}

# What two runs of a case differ in, or ''
sub difference
{
	my ($plain, $other) = @_;

	foreach my $at (0 .. $#$plain)
	{
		my ($rows, $state) = @{ $plain->[$at] };
		my ($other_rows, $other_state) = @{ $other->[$at] // [ [], 'nothing' ] };

		# by chance, in a machine that is busy; what comes then is of another transaction
		return 'slow' if grep { /^(57014|40P01|40001)$/ } $state, $other_state;
		# operands of two collations are an error, but only once they are compared
		return 'failed' if grep { $_ eq '42P22' } $state, $other_state;
		return "statement $at: SQLSTATE $state, and $other_state" if $state ne $other_state;
		next if $state ne '00000' || join("\n", @$rows) eq join("\n", @$other_rows);
		my (%count, @lines);
		$count{$_}++ foreach @$rows;
		$count{$_}-- foreach @$other_rows;
		foreach (sort keys %count)
		{
			push @lines, sprintf '%s %d x %s', $count{$_} > 0 ? 'lost' : 'added', abs $count{$_}, $_ if $count{$_};
		}
		return sprintf "statement %d: %d rows, and %d\n%s", $at, scalar @$rows, scalar @$other_rows, join "\n", @lines[ 0 .. min(9, $#lines) ];
	}
	return '';
}

sub play_round
{
	my ($round) = @_;
	my $database = "round_$round";
	my $file = "$dir/$database";
	my $disturbed = $round % $disturbed_every == 0;
	my (@cases, @faults, @pids);

	srand($seed + $round);
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my @setup = setup_round();
	my $script = join '', map { "$_;\n" } "SET max_parallel_workers_per_gather = 0", @setup, "SET statement_timeout = $statement_ms";
	$script .= "\\! touch $file.ready\n";
	foreach my $number (0 .. $cases_count - 1)
	{
		my @settings = settings();
		my @lines = $disturbed ? explained(query(changes => 1)) : weighted(@case_kinds)->();

		push @cases, [ \@settings, @lines ];
		$script .= $disturbed ? script_of_snapshot($number, \@settings, @lines) : join '', map { script_of($number, $_, \@settings, @lines) } @variants;
	}
	append_to_file("$file.sql", $script);
	@pids = start_disturbers($database, $file) if $disturbed;
	system("psql -XAtq -v VERBOSITY=terse -d '" . $node->connstr($database) . "' -f $file.sql >$file.out 2>$file.err");
	kill 'TERM', @pids;
	waitpid $_, 0 foreach @pids;
	$counts{disturbed}++ if $disturbed;
	$counts{changes} += () = slurp_file("$file.$_.out") =~ /^(?:INSERT|UPDATE|DELETE|VACUUM|REINDEX|CREATE)\b/mg foreach $disturbed ? 1 .. $disturbers : ();
	my ($of, $plans, $ended) = read_output("$file.out");

	foreach my $number (0 .. $#cases)
	{
		my ($settings, @lines) = @{ $cases[$number] };
		my $plain = $of->{$number}{plain};
		my $told = '';

		$counts{cases}++;
		$counts{statements} += grep { ref } @lines;
		foreach my $plan (@{ $plans->{$number} // [] })
		{
			$counts{scans}++ if $plan =~ /Filter Scan/;
			$counts{filtered}++ if $plan =~ / in index /;
		}
		$counts{failed}++ if grep { $_->[1] !~ /^(00000|57014|40P01|40001)$/ } @{ $plain // [] };
		foreach my $variant (map { $_->[0] } @variants)
		{
			my $told_now = !$ended->{$number}{$variant} ? 'not answered' : difference($plain, $of->{$number}{$variant});

			$counts{slow}++, last if $told_now eq 'slow';
			last if $told_now eq 'failed';
			$told .= "$variant: $told_now\n" if $told_now ne '';
		}
		next if $told eq '';
		push @faults, "case $number of round $round, seed $seed: $told" . join('', map { "$_;\n" } @$settings, map { ref $_ ? $_->{sql} : $_ } @lines)
		  . join('', map { "plan:\n$_" } @{ $plans->{$number} // [] });
		last if !$ended->{$number}{forced};
	}
	my $log = slurp_file($node->logfile);
	push @faults, "the server's log: $&" if $log =~ /^.*(?:TRAP:|terminated by signal|PANIC:|leak).*$/m;
	# what it said remains, if anybody has to read it
	if (@faults) { note("see $file.sql, .out, .err") }
	else { unlink glob("$file.*") }
	$node->psql('postgres', "DROP DATABASE $database WITH (FORCE)") unless @faults;
	return @faults;
}

$node->safe_psql('postgres', 'CREATE ROLE joins_user');

my $round = $only_round ? $only_round - 1 : 0;
my $until = time + $seconds;

do
{
	my @faults = play_round(++$round);

	is(scalar @faults, 0, "round $round of seed $seed");
	diag(map { "$_\n---\n" } @faults[ 0 .. min($most_told, scalar @faults) - 1 ]) if @faults;
} while (!$only_round && time < $until && $node->poll_query_until('postgres', 'SELECT true'));

note(join ', ', map { "$_ $counts{$_}" } sort keys %counts);
cmp_ok($counts{filtered}, '>=', $filtered_share_least * $counts{statements}, 'enough plans had a join filter');
cmp_ok($counts{changes}, '>=', $changes_least * $counts{disturbed}, 'other sessions have changed tables');
cmp_ok($counts{failed}, '<=', $failed_share_most * $counts{cases}, 'most cases are right by themselves');
cmp_ok($counts{slow}, '<=', $slow_share_most * $counts{cases}, 'most cases end in time');

$node->stop;
done_testing();
