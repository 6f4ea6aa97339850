# Random tables with membership indexes, random queries of them, and random settings, for
# the tests of join filters.  Which rows pass a join filter must not matter; so tables,
# joins and conditions of every form are made here, transactions that have changed
# what they ask, cursors, prepared plans, and the rows of other users.
#
# A case is a list of statements, strings or what explained() returns; whatever
# their plans, they return the same rows.
package RandomJoins;

use strict;
use warnings;

use Exporter qw(import);
use List::Util qw(shuffle);
use Random;

our @EXPORT = qw($server_version round_setup random_case random_query random_settings random_disturbance);

# What the statements are for: server_version_num
our $server_version = 0;

# Tables of a round
my $tables_count = 7;
# Rows of a table, and values of a column
my ($rows_least, $rows_most, $values_least, $values_most) = (40, 900, 300, 1200);
# Rows of the one large table: more than a filter that drops little looks at before it
# stands aside, and before it tries again
my $large_rows = 160_000;
# Relations of a query, and of a subquery in it
my ($relations_most, $inner_relations_most) = (5, 2);

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
my (%family_of, $values, @tables, @relations, $aliases);

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

	# one value in many rows
	$number = 'CASE WHEN n % ' . between(8, 20) . " = 0 THEN 7 ELSE $number END" if chance(0.1);
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
	# plans are counted by these names
	push @sql, "CREATE INDEX ${name}_two$_->[0] ON $name USING membership ($_->[1])" . options()
	  foreach grep { chance(0.3) } [ 1, 'k1, k2' ], [ 2, 'k2, k1' ], [ 3, 'p, k1' ], [ 4, '(k1 + 1), p' ], [ 5, 'k1, k3, k4' ];
	push @sql, "CREATE INDEX ${name}_some$_->[0] ON $name USING membership (k1)" . options() . " WHERE $_->[1]"
	  foreach grep { chance(0.2) } [ 1, 'p = 1' ], [ 2, 'k1 IS NOT NULL' ], [ 3, 'id > 100' ];
	push @sql, "CREATE INDEX ${name}_other$_->[0] ON $name USING membership ($_->[1])" . options()
	  foreach grep { chance(0.3) } [ 1, '(k1 + 1)' ], [ 2, '(COALESCE(k1, 7))' ], [ 3, 'lower(k2)' ], [ 4, '(abs(k1 - 100))' ];
	push @sql, "CREATE INDEX ON $name USING membership (k2 COLLATE \"C\")" if chance(0.2);
	push @sql, "CREATE INDEX ON $name USING membership (p)" if chance(0.3);
	push @sql, "CREATE UNIQUE INDEX ON $name (id)" if chance(0.4) && !$t->{parts};
	return @sql;
}

sub create_table
{
	my ($number) = @_;
	my $t = { name => "t$number", number => $number, types => {}, parts => [] };
	my $rows = chance(0.06) ? 0 : between($rows_least, $rows_most);
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

# A view's column has one
sub of_one_collation
{
	my ($one, $two) = map { $_->{table}{types}{k2} } @_;

	return $one eq $two ? 'k2' : 'k2::text COLLATE "C" AS k2';
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
			[ 2, sub { my $two = one_of(@relations[ 0 .. $tables ]); my $k2 = of_one_collation($of, $two); "SELECT id, p, k1, $k2 FROM $of->{name} UNION ALL SELECT id, p, k1, $k2 FROM $two->{name}" } ])->();

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

# Half of its rows, the first or the last, have the values of the other tables
sub create_large
{
	my ($key, $text) = (one_of(qw(int4 int8)), one_of(qw(text varchar)));
	my $half = $large_rows / 2;
	my $number = "CASE WHEN n " . one_of('<', '>') . " $half THEN n % $values WHEN n % 50 = 0 THEN NULL ELSE -n END";

	return ("CREATE TABLE large (id int, p int, k1 $key, k2 $text)",
		"INSERT INTO large SELECT n, n % 4, x, 'v' || x FROM generate_series(1, $large_rows) AS n, LATERAL (SELECT $number) AS s (x)",
		chance(0.7) ? 'ANALYZE large' : 'VACUUM large');
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
		push @sql, sprintf "INSERT INTO filters SELECT '%s', bloom_agg(%s, 1000, NULL), cuckoo_agg(%s, 5000, NULL) FROM %s", "$t->{name}.$_", $_, $_, $t->{name}
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
	my $what = $depth > 1 || chance(0.7) ? 'table' : one_of(qw(subquery subquery cte values union grouped limited sets distinct windowed setop recursive));

	if ($what eq 'table')
	{
		my $relation = one_of(@relations);
		return { sql => "$relation->{name} $alias", alias => $alias, columns => $relation->{columns}, table => $relation->{table} };
	}
	if ($what eq 'values')
	{
		return { sql => "(VALUES " . join(', ', map { "($_, " . roll(4) . ', ' . roll($values) . ", 'v" . roll($values) . "')" } 1 .. between(1, 40)) . ") AS $alias (id, p, k1, k2)", alias => $alias, columns => [qw(id p k1 k2)] };
	}
	return recursive($q, $alias) if $what eq 'recursive';
	my ($select, @columns) = exported($q, $depth + 1, $what);
	if ($what eq 'cte')
	{
		push @{ $q->{with} }, "c_$alias AS " . one_of('', 'MATERIALIZED ', 'NOT MATERIALIZED ') . "($select)";
		return { sql => "c_$alias $alias", alias => $alias, columns => \@columns };
	}
	return { sql => "($select) $alias", alias => $alias, columns => \@columns };
}

# A term that is joined to its own rows again and again, in a few steps
sub recursive
{
	my ($q, $alias) = @_;
	my $base = relation($q, 2);
	my ($from, @step) = joined($q, between(1, 2), 2);
	my $step = one_of(@step);
	my ($first, $next) = map { my $r = $_; "$r->{alias}." . ((grep { $_ eq 'k1' } @{ $r->{columns} }) ? 'k1' : 'id') } $base, $step;

	$from = "($from)" if @step > 1;
	push @{ $q->{with} }, "c_$alias (id, k1, p) AS (SELECT $base->{alias}.id, ($first)::bigint, 0 FROM $base->{sql} WHERE $base->{alias}.id % 20 = " . roll(20)
	  . " UNION SELECT $step->{alias}.id, ($next)::bigint, s.p + 1 FROM c_$alias s JOIN $from ON " . one_of("s.k1 = $next", "$next = s.k1", "s.id = $step->{alias}.id AND s.k1 = $next", "s.id % 100 = $next")
	  . ' WHERE s.p < ' . between(1, 3) . ')';
	return { sql => "c_$alias $alias", alias => $alias, columns => [qw(id k1 p)] };
}

# A subquery that has an id and some columns of its relations
sub exported
{
	my ($q, $depth, $what) = @_;
	my ($from, @inner) = joined($q, between(1, $inner_relations_most), $depth);
	my $where = where($q, $depth, @inner);
	my $first = $inner[0];

	my $a = $first->{alias};
	my ($column) = shuffle(grep { /^k/ && $families{ $family_of{$_} }{alike} } @{ $first->{columns} });
	if ($what eq 'grouped' && $column)
	{
		my $two = chance(0.3) ? ", $a.p" : '';
		my $having = chance(0.2) ? ' HAVING count(*) < 5' : '';
		return ("SELECT min($a.id) AS id, $a.$column, count(*)::int AS p FROM $from$where GROUP BY 2$two$having", 'id', $column, 'p');
	}
	if ($what eq 'sets' && $column)
	{
		my $sets = one_of("ROLLUP ($a.$column)", "GROUPING SETS (($a.$column), ($a.p))", "GROUPING SETS (($a.$column), ($a.$column, $a.p), ())", "CUBE ($a.$column, $a.p)");
		return ("SELECT min($a.id) AS id, $a.$column, count(*)::int AS p FROM $from$where GROUP BY $sets", 'id', $column, 'p');
	}
	if ($what eq 'windowed' && $column)
	{
		my $window = one_of("rank() OVER (PARTITION BY $a.$column ORDER BY $a.id)", "count(*) OVER (PARTITION BY $a.$column)", "count(*) OVER (PARTITION BY $a.p)", "dense_rank() OVER (ORDER BY $a.id)");
		return ("SELECT $a.id, $a.$column, ($window)::int AS p FROM $from$where", 'id', $column, 'p');
	}
	if ($what eq 'setop')
	{
		my ($other, @others) = joined($q, between(1, $inner_relations_most), $depth);
		my $key = (2 == grep { $_ eq 'k1' } map { @{ $_->{columns} } } $first, $others[0]) ? 'k1' : 'p';

		return ("SELECT $a.id, $a.p" . ($key eq 'p' ? '' : ", $a.$key") . " FROM $from$where " . one_of('EXCEPT', 'EXCEPT ALL', 'INTERSECT', 'INTERSECT ALL', 'UNION')
			. " SELECT $others[0]{alias}.id, $others[0]{alias}.p" . ($key eq 'p' ? '' : ", $others[0]{alias}.$key") . " FROM $other" . where($q, $depth, @others), 'id', 'p', $key eq 'p' ? () : $key);
	}
	if ($what eq 'union')
	{
		my ($other, @others) = joined($q, 1, $depth);
		my %has = map { $_ => 1 } @{ $others[0]{columns} };
		my @both = grep { $has{$_} } @{ $first->{columns} };

		return ('SELECT ' . join(', ', map { "$a.$_" } @both) . " FROM $from$where UNION ALL SELECT "
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
	my ($distinct, $limit) = ('', '');
	if ($what eq 'limited' || $what eq 'distinct')
	{
		@columns = grep { !/^k/ || $families{ $family_of{$_} }{alike} } @columns;
		my $on = one_of(@columns);
		my $order = ' ORDER BY ' . ($what eq 'distinct' ? "$columns{$on}, " : '') . join(', ', 1 .. @columns);

		$distinct = "DISTINCT ON ($columns{$on}) " if $what eq 'distinct';
		$limit = $order . ($what eq 'limited' ? ' LIMIT ' . between(1, 200) : '');
	}
	return ("SELECT $distinct" . join(', ', map { "$columns{$_} AS $_" } @columns) . " FROM $from$where$limit", @columns);
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

# Expressions that are compared, some of which no NULL makes NULL, and some that have an index
sub expressions
{
	my ($left, $right) = @_;
	my ($x, $y, $column) = pair($left, $right);
	my @forms = $column eq 'k1' ? ('(%s + 1)', 'COALESCE(%s, 7)', 'abs(%s - 100)', '(%s % 100)') : $column eq 'k2' ? ('lower(%s)', "COALESCE(%s, 'v7')", "split_part(%s, 'v', 2)") : $column eq 'id' ? ('(%s % 100)') : ('%s');
	my ($form, $other) = chance(0.6) ? (one_of(@forms)) x 2 : (one_of(@forms, '%s'), one_of(@forms, '%s'));

	return ($form =~ s/%s/$x/r, chance(0.7) ? $form =~ s/%s/$y/r : $other =~ s/%s/$y/r);
}

sub equality
{
	my ($left, $right) = @_;
	my ($x, $y, $column) = pair($left, $right);
	my ($x2, $y2) = pair($left, $right);
	my ($p, $q) = map { "$_->{alias}.p" } $left, $right;
	my ($e, $f) = expressions($left, $right);
	my ($e2, $f2) = expressions($left, $right);

	return weighted(
		[ 3, "$x = $y AND $p = $q" ],
		[ 1, "$x = $y AND $q = " . roll(3) ],
		[ 1, "$x = $y AND $p = $q AND $q = " . roll(3) ],
		[ 5, "$e = $f" ],
		[ 1, "$e = $f AND " . one_of("$x = $y", "$p = $q", "$e2 = $f2") ],
		[ 4, "($x = $y AND $y2 = $x2)" ],
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
	my ($from, @right) = joined($q, between(1, 2), 2);
	my $right = one_of(@right);
	my $alias = 'a' . ++$aliases;
	my ($type, $on) = @{ one_of([ 'CROSS JOIN', '' ], [ 'LEFT JOIN', ' ON true' ], [ 'JOIN', ' ON true' ]) };
	my $outer = one_of(@left);
	my @alike = grep { !/^k/ || $families{ $family_of{$_} }{alike} } @{ $right->{columns} };
	my $more = join '', map { " AND $_->{alias}.p = $outer->{alias}.p" } grep { chance(0.3) } @right;
	$more .= chance(0.5) ? '' : ' ORDER BY ' . join(', ', 1 .. @alike) . ' LIMIT ' . between(1, 3);

	return ("$left $type LATERAL (SELECT " . join(', ', map { "$right->{alias}.$_" } @alike) . " FROM $from WHERE " . equality($outer, $right) . "$more) $alias$on",
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
	my $all = join '', map { " AND $outer->{alias}.p = $_->{alias}.p" } @inner;

	return weighted(
		[ 5, "EXISTS (SELECT FROM $from WHERE " . equality($outer, $inner) . "$and)" ],
		[ 4, "NOT EXISTS (SELECT FROM $from WHERE " . equality($outer, $inner) . "$and)" ],
		[ 5, "$x IN (SELECT $y FROM $from WHERE true$and$correlated)" ],
		[ 2, "$x NOT IN (SELECT $y FROM $from WHERE true$and$correlated)" ],
		[ 1, "$x = ANY (SELECT $y FROM $from WHERE true$and)" ],
		[ 1, "$x = (SELECT $y FROM $from WHERE $y IS NOT NULL$and ORDER BY $y LIMIT 1)" ],
		[ 1, "(SELECT count(*) FROM $from WHERE " . equality($outer, $inner) . "$and) " . one_of('> 0', '= 0', '> 1') . " AND $outer->{alias}.id % 10 = 1" ],
		[ 1, "$x IN (SELECT $y FROM $from WHERE true$and GROUP BY 1)" ],
		[ 1, "$outer->{alias}.id >= (SELECT avg($inner->{alias}.id) FROM $from WHERE true$and)" ],
		[ 1, "(SELECT count(*) FROM $from WHERE true$and$all) " . one_of('> 20', '% 2 = 0') . " AND $outer->{alias}.id % 10 = 1" ],
		[ 1, "$outer->{alias}.id = ANY (ARRAY(SELECT $inner->{alias}.id FROM $from WHERE true$and))" ],
		[ 2, "$x = ANY (ARRAY(SELECT $y FROM $from WHERE true$and$correlated))" ],
		[ 2, "$x <> ALL (ARRAY(SELECT $y FROM $from WHERE " . one_of('true', 'false', "$y IS NOT NULL", "$y IS NOT NULL") . "$and$correlated))" ]);
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
	my $body = $options{ordered} ? "SELECT $ids FROM $from$where ORDER BY " . join(', ', 1 .. @ids) : weighted(
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

	return (@{ $q->{with} } ? 'WITH RECURSIVE ' . join(', ', @{ $q->{with} }) . ' ' : '') . $body;
}

# ------------------------------------------------------------------- cases

# The plan of such a statement is looked at; of some with the rows of each node, too,
# unless that changes tables
sub explained { return { sql => $_[0], analyze => chance(0.2) } }

sub random_query { return explained(query(@_)) }

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
	my $ctes = @{ $with->{with} } ? 'WITH RECURSIVE ' . join(', ', @{ $with->{with} }) . ' ' : '';
	my $returning = $server_version >= 180000 ? 'RETURNING target.id, old.p, new.p' : 'RETURNING target.id';
	my $column = one_of(grep { /^k/ } @{ $target->{columns} });
	my $source = one_of(@relations);
	my $exists = subquery_condition($with, 1, $target);

	$ctes = @{ $with->{with} } ? 'WITH RECURSIVE ' . join(', ', @{ $with->{with} }) . ' ' : '';
	return weighted(
		[ 3, "${ctes}UPDATE $t->{name} target SET p = target.p + 1 FROM $from WHERE $where $returning" ],
		[ 1, "${ctes}UPDATE $t->{name} target SET $column = NULL FROM $from WHERE $where RETURNING target.id" ],
		[ 3, "${ctes}DELETE FROM $t->{name} target USING $from WHERE $where RETURNING target.id" ],
		[ 2, "${ctes}DELETE FROM $t->{name} target WHERE $exists RETURNING target.id" ],
		[ 2, "${ctes}UPDATE $t->{name} target SET p = target.p + 1 WHERE $exists RETURNING target.id" ],
		[ 2, "MERGE INTO $t->{name} target USING (SELECT k1, min(id) AS id FROM $source->{name} GROUP BY k1) s ON target.k1 = s.k1 WHEN MATCHED AND target.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET p = 3"
			. one_of('', ' WHEN NOT MATCHED THEN INSERT (id, p, k1) VALUES (s.id + 100000, 1, s.k1)', $server_version >= 170000 ? ' WHEN NOT MATCHED BY SOURCE AND target.id % 3 = 0 THEN DELETE' : '') ],
		[ 1, "${ctes}INSERT INTO $t->{name} (id, p, k1) SELECT o.id + 200000, o.p, o.k1 FROM $source->{name} o WHERE EXISTS (SELECT FROM $from WHERE o.k1 = $others[0]{alias}." . ((grep { $_ eq 'k1' } @{ $others[0]{columns} }) ? 'k1' : 'id') . ') RETURNING id' ],
		[ 1, "WITH gone AS (DELETE FROM $t->{name} target WHERE target.id % 3 = 0 RETURNING id, k1) SELECT g.id, o.id FROM gone g " . one_of('', 'LEFT ') . "JOIN $source->{name} o ON g.k1 = o.k1" ],
		[ 1, "SELECT target.id FROM $t->{name} target JOIN $source->{name} o ON target.k1 = o.k1 FOR UPDATE OF target" ]);
}

sub case_select { return random_query() }

# Rows of a plain table that have a partner in another one's index, and that have none
sub case_preserved
{
	my @plain = grep { !@{ $_->{parts} } && !$_->{children} } @tables;
	my @lists = grep { $_->{asked} || $_->{children} } @tables;

	return random_query(@_) unless @lists && @plain > 1;
	my $list = one_of(@lists);
	my $of = one_of(grep { $_ != $list } @plain);
	# columns that have an index, or those and expressions of its other indexes
	my $column = one_of(sort keys %{ $list->{asked} // $list->{types} });
	my $key = weighted([ 8, "o.$column = l.$column" ], [ 2, 'o.k1 = l.k1 AND o.k2 = l.k2' ], [ 1, 'o.p = l.p AND o.k1 = l.k1' ],
		[ 2, 'lower(o.k2) = lower(l.k2)' ], [ 1, 'o.k1 = abs(l.k1 - 100)' ], [ 1, 'o.k1 = l.k1 + 1' ], [ 2, 'o.k1 = l.k1 AND l.p = 1' ], [ 1, 'o.k1 = l.k1 AND l.id > 100' ]);
	my $on = $key . one_of('', '', ' AND l.p <> 2', ' AND o.p > l.p', ' AND o.id % 3 > 0');
	my $more = one_of(@tables)->{name};

	return explained(weighted(
		[ 3, "SELECT o.id FROM $of->{name} o WHERE NOT EXISTS (SELECT FROM $list->{name} l WHERE $on)" ],
		[ 3, "SELECT o.id, l.id, l FROM $of->{name} o LEFT JOIN $list->{name} l ON $on" . one_of('', ' WHERE l.id IS NULL', ' WHERE coalesce(l.p, 1) = 1', ' ORDER BY 1, 2 LIMIT 7') ],
		[ 2, "SELECT o.id, l.id FROM $of->{name} o FULL JOIN $list->{name} l ON o.$column = l.$column" ],
		[ 2, "SELECT o.id, l.id, m.id FROM $of->{name} o LEFT JOIN ($list->{name} l " . one_of('LEFT ', '') . "JOIN $more m ON m.id = l.id) ON $on" ],
		[ 2, "SELECT m.id, x.* FROM $more m LEFT JOIN LATERAL (SELECT o.id, l.id AS l FROM $of->{name} o LEFT JOIN $list->{name} l ON $on WHERE o.id % 50 = m.id % 50 OFFSET 0) x ON true WHERE m.id % 20 = 1" ]));
}

# Asked in the transaction, or the savepoint, that has changed the tables
sub case_transaction
{
	my @lines = 'BEGIN' . one_of('', '', ' ISOLATION LEVEL REPEATABLE READ', ' ISOLATION LEVEL SERIALIZABLE');

	push @lines, change(one_of(@tables)) foreach 1 .. between(1, 3);
	push @lines, random_query(changes => 1) if chance(0.7);
	if (chance(0.6))
	{
		push @lines, 'SAVEPOINT s', (map { change(one_of(@tables)) } 1 .. between(1, 2));
		push @lines, random_query(changes => 1) if chance(0.7);
		push @lines, one_of('ROLLBACK TO s', 'RELEASE s');
	}
	push @lines, 'TRUNCATE ' . one_of(@tables)->{name} if chance(0.1);
	push @lines, random_query(changes => 1), random_query(changes => 1), 'ROLLBACK';
	return @lines;
}

sub case_modification
{
	my $t = changed_table();

	return ('BEGIN', (chance(0.3) ? change(one_of(@tables)) : ()), { sql => modification($t) }, "SELECT * FROM $t->{name}", random_query(changes => 1), 'ROLLBACK');
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

# Read back and forth.  All columns are sorted by, so each step reads the same rows.
sub case_scrolled
{
	my $query = query(changes => 1, ordered => 1);
	my $hold = chance(0.3);
	my @read = map { one_of('FETCH 5', 'FETCH 40', 'FETCH BACKWARD 3', 'FETCH ABSOLUTE 7', 'FETCH ABSOLUTE -4', 'FETCH RELATIVE -2', 'FETCH LAST', 'FETCH FIRST', 'FETCH PRIOR', 'MOVE ABSOLUTE 0', 'MOVE 10', 'MOVE BACKWARD ALL') . ' FROM c' } 1 .. between(4, 10);

	return ('BEGIN', explained($query), 'DECLARE c SCROLL CURSOR ' . ($hold ? 'WITH HOLD ' : '') . "FOR $query", ($hold ? 'COMMIT' : ()), @read, 'FETCH ALL FROM c', 'FETCH BACKWARD ALL FROM c', $hold ? 'CLOSE c' : 'ROLLBACK');
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
		(@{ $t->{parts} } ? "ALTER TABLE $t->{name} DETACH PARTITION $t->{parts}[0]" : ()),
		(@{ $t->{children} // [] } ? "ALTER TABLE $t->{children}[0] NO INHERIT $t->{name}" : ()),
		"ALTER TABLE $t->{name} ALTER COLUMN $column TYPE " . one_of(@{ $families{ $family_of{$column} }{types} }));

	return ('SET plan_cache_mode = ' . one_of('force_generic_plan', 'force_generic_plan', 'auto'), "PREPARE q (int) AS $query", 'BEGIN',
		explained('EXECUTE q(1)'), 'EXECUTE q(500)', one_of(@events), 'EXECUTE q(1)', one_of(@events), 'EXECUTE q(20)', 'ROLLBACK', 'EXECUTE q(7)', 'DEALLOCATE q', 'RESET plan_cache_mode');
}

# A plan is as the setting was when it was made, whatever the setting is now
sub case_switched
{
	my $query = query(and => sub { "$_[0]{alias}.id >= \$1" });

	return ('SET plan_cache_mode = force_generic_plan', "PREPARE q (int) AS $query", 'EXECUTE q(1)',
		(map { my $setting = $_; ("SET bloomfilter.join_filter = $setting", explained('EXECUTE q(' . roll(200) . ')'), 'EXECUTE q(5)', (chance(0.3) ? 'DISCARD PLANS' : ())) } shuffle(qw(off index force)), one_of(qw(off on force))),
		'DEALLOCATE q', 'RESET plan_cache_mode');
}

# Rows of another user
sub case_role
{
	return ('SET ROLE joins_user', random_query(no_index => 1), 'RESET ROLE');
}

sub case_plpgsql
{
	my ($one, $two) = (query(changes => 1), query(changes => 1));

	return ('BEGIN', q{DO $do$ DECLARE r record; n int := 0; BEGIN FOR r IN } . $one . q{ LOOP n := n + 1; IF n % 7 = 0 THEN BEGIN DELETE FROM } . one_of(@tables)->{name}
		  . q{ WHERE id = n; IF n % 2 = 0 THEN RAISE division_by_zero; END IF; EXCEPTION WHEN division_by_zero THEN NULL; END; END IF; END LOOP; PERFORM set_config('my.count', n::text, false); END $do$},
		"SELECT current_setting('my.count')", explained($two), 'ROLLBACK');
}

# One plan for all turns of a loop
sub case_loop
{
	my $query = query(changes => 1, and => sub { "$_[0]{alias}.id % 5 >= turn" });

	return ('SET plan_cache_mode = ' . one_of('force_generic_plan', 'force_custom_plan', 'auto'), explained($query =~ s/\bturn\b/1/gr),
		q{DO $do$ DECLARE found text; told text := ''; BEGIN FOR turn IN 1 .. 5 LOOP SELECT string_agg(q::text, ',' ORDER BY q::text COLLATE "C") INTO found FROM (} . $query
		  . q{) AS q; told := md5(told || coalesce(found, '-')); END LOOP; PERFORM set_config('my.told', told, false); END $do$},
		"SELECT current_setting('my.told')", 'RESET plan_cache_mode');
}

# Enough rows for filters that the planner chooses, that stand aside while they drop too
# little, and for hash tables in many batches
sub case_large
{
	my @small = map { { name => $_->{name}, alias => 's' . ++$aliases } } map { one_of(@tables) } 1 .. 3;
	my ($s, $t, $u) = map { $_->{alias} } @small;
	my ($from_s, $from_t, $from_u) = map { "$_->{name} $_->{alias}" } @small;
	my $key = one_of(qw(k1 k1 k2));
	my $few = one_of('', " AND $s.p = " . roll(4), " AND $s.id % 20 = " . roll(20));
	my $result = one_of('count(*), sum(l.id)', 'l.p, count(*), min(l.id), max(l.id)', 'l.p, sum(l.k1)');
	my $group = $result =~ /^l\.p/ ? ' GROUP BY l.p' : '';
	my $grouped = one_of('k1, k2', $key, 'k1, k2, p');

	my $sql = weighted(
		[ 3, "SELECT $result FROM large l JOIN $from_s ON l.$key = $s.$key$few$group" ],
		[ 2, "SELECT $result FROM large l WHERE EXISTS (SELECT FROM $from_s WHERE l.$key = $s.$key$few)$group" ],
		[ 1, "SELECT $result FROM large l WHERE NOT EXISTS (SELECT FROM $from_s WHERE l.$key = $s.$key$few)$group" ],
		[ 1, "SELECT $result FROM large l LEFT JOIN $from_s ON l.$key = $s.$key$few$group" ],
		[ 1, "SELECT $result FROM large l RIGHT JOIN $from_s ON l.$key = $s.$key$few$group" ],
		[ 1, "SELECT $s.id FROM $from_s WHERE $s.$key IN (SELECT $key FROM large)$few" ],
		[ 1, "SELECT $s.id FROM $from_s WHERE NOT EXISTS (SELECT FROM large l WHERE l.$key = $s.$key)$few" ],
		[ 10, "SELECT $result FROM large l JOIN large m ON l.id = m.id AND l.k1 = m.k1 JOIN $from_s ON m.$key = $s.$key$few$group" ],
		[ 2, "SELECT $result FROM large l JOIN $from_s ON l.k1 = $s.k1 AND l.k2 = $s.k2$few$group" ],
		[ 2, "SELECT $result FROM large l JOIN $from_s ON " . one_of("l.k1 + 1 = $s.k1 + 1", "'v' || l.k1 = $s.k2", "lower(l.k2) = $s.k2", "COALESCE(l.k1, 7) = $s.k1", "l.p = $s.p AND l.k1 = $s.k1") . "$few$group" ],
		[ 2, "SELECT $result FROM large l JOIN $from_s ON l.k1 = $s.k1$few JOIN $from_t ON l.k2 = $t.k2 AND $t.p = 1 LEFT JOIN $from_u ON $t.id = $u.id AND $u.p <> 2$group" ],
		[ 3, "SELECT g.*, $s.id FROM (SELECT $grouped, count(*), sum(id) FROM large GROUP BY $grouped) g JOIN $from_s ON g.$key = $s.$key$few" ],
		[ 1, "SELECT g.$key, sum(n), count(*) FROM (SELECT l.$key, count(*) AS n FROM large l JOIN $from_t ON l.k1 = $t.k1 GROUP BY 1) g JOIN $from_s ON g.$key = $s.$key$few GROUP BY 1" ],
		[ 1, "SELECT l.id FROM large l JOIN $from_s ON l.$key = $s.$key$few ORDER BY 1 LIMIT 50 OFFSET 10" ],
		[ 1, "SELECT count(*), sum(l.id) FROM (SELECT id, p, k1, k2 FROM large UNION ALL SELECT id, p, k1, k2 FROM $from_t) l JOIN $from_s ON l.$key = $s.$key$few" ]);

	return ((chance(0.6) ? ('SET work_mem = 64', 'SET hash_mem_multiplier = 1') : ()), { sql => $sql, analyze => 1 });
}

my @case_kinds = (
	[ 42, \&case_select ], [ 14, \&case_preserved ], [ 12, \&case_transaction ], [ 12, \&case_modification ], [ 5, \&case_cursor ], [ 4, \&case_scrolled ], [ 6, \&case_prepared ],
	[ 3, \&case_switched ], [ 7, \&case_role ], [ 2, \&case_plpgsql ], [ 3, \&case_loop ], [ 10, \&case_large ]);

sub random_case { return weighted(@case_kinds)->() }

sub random_settings
{
	my $force_parallel = $server_version < 160000 ? 'force_parallel_mode' : 'debug_parallel_query';
	my @sql;

	# hash joins more often than the planner takes them for tables of this size
	push @sql, 'SET enable_mergejoin = off', 'SET enable_nestloop = off' if chance(0.4);
	push @sql, 'SET parallel_setup_cost = 0', 'SET parallel_tuple_cost = 0', 'SET min_parallel_table_scan_size = 0', 'SET max_parallel_workers_per_gather = 2' if chance(0.35);
	push @sql, 'SET parallel_leader_participation = off' if chance(0.1);
	push @sql, "SET $force_parallel = " . one_of('on', 'regress') if chance(0.1);
	push @sql, 'SET enable_hashjoin = off' if chance(0.05);
	push @sql, "SET enable_$_ = off" foreach grep { chance(0.15) } qw(mergejoin nestloop material memoize hashagg sort seqscan indexscan bitmapscan parallel_hash parallel_append gathermerge incremental_sort partition_pruning);
	push @sql, 'SET enable_partitionwise_join = on' if chance(0.4);
	push @sql, 'SET enable_partitionwise_aggregate = on' if chance(0.3);
	push @sql, 'SET work_mem = 64', 'SET hash_mem_multiplier = ' . one_of(1, 1, 2, 8) if chance(0.3);
	push @sql, 'SET join_collapse_limit = 1' if chance(0.15);
	push @sql, 'SET from_collapse_limit = 1' if chance(0.1);
	push @sql, 'SET geqo_threshold = 2' if chance(0.1);
	push @sql, 'SET cursor_tuple_fraction = 1' if chance(0.2);
	push @sql, "SET timezone = '" . one_of('America/New_York', 'Asia/Kolkata', 'UTC') . "'" if chance(0.2);
	push @sql, 'SET jit = on', 'SET jit_above_cost = 0' if chance(0.03);
	return @sql;
}

# The statements that make the database of a round
sub round_setup
{
	($values, $aliases, @tables, @relations) = (between($values_least, $values_most), 0);
	%family_of = (k1 => 'int', k2 => 'text', k3 => one_of(@others), k4 => one_of(@others));
	my @sql = (
		'CREATE EXTENSION bloomfilter',
		'CREATE DOMAIN dom_int AS int8', 'CREATE DOMAIN dom_text AS text', 'CREATE DOMAIN dom_numeric AS numeric CHECK (VALUE IS NULL OR VALUE >= 0)',
		'CREATE TYPE pair AS (n int, t text)',
		q{CREATE COLLATION other (provider = icu, locale = 'de')}, q{CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)});

	push @sql, create_table($_) foreach 1 .. $tables_count;
	push @sql, map { false_statistics($_->{name}) } grep { chance(0.5) } @tables;
	push @sql, create_views(), create_functions(), create_filters(), create_large(), 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO joins_user', map { "GRANT SELECT ON $_->{name} TO joins_user" } grep { $_->{temporary} } @tables;
	return @sql;
}

# What another session does meanwhile.  Nothing that changes rows that an old snapshot
# sees, as TRUNCATE and some of ALTER TABLE do.
sub random_disturbance
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

1;
