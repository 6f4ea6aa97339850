# Random queries that read rows in every way: some first rows, samples, cursors back and
# forth, rows that are locked or changed, workers, prepared plans, parameters.  Each is run
# without filters, and with filters from indexes and hash tables, as the planner likes
# them and wherever they are legal.  All have to return the same rows, in the same order
# under ORDER BY, and to lock and change the same rows.
#
# Whatever a query reads is the same for every plan: samples are REPEATABLE, a LIMIT below
# another node comes after a total order.  Of first rows in no order, their number is
# compared, and whether the whole query has them.
#
#     QUERY_CASES=10000      more than the 600
#     FUZZ_SEED=1            the same statements again
#     QUERY_ROUND=7          only this round of that seed
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";

use List::Util qw(min shuffle);
use PostgreSQL::Test::Utils;
use Random;
use Server;
use Test::More;

my $cases = $ENV{QUERY_CASES} || 600;
my $seed = $ENV{FUZZ_SEED} || time;
my $only_round = $ENV{QUERY_ROUND};
my $round_cases = 150;
# A case with a statement that takes longer is not compared.  More rounds are played until all
# but this share is, but no more than so many times as many: where most are slow, plans are bad.
my ($statement_ms, $slow_share_most, $more_rounds) = (500, 0.1, 4);
# Of the cases at most this share fails, with filters or without; and at least these have
# the plans that are to be tested
my ($failed_share_most, $indexed_share_least, $built_share_least, $parallel_share_least) = (0.1, 0.15, 0.25, 0.1);
my $most_told = 8;

# pick(WEIGHT => CHOICE...): a choice, or what it returns if it is a function
sub pick
{
	my @choices;

	push @choices, [ splice @_, 0, 2 ] while @_;
	my $choice = weighted(@choices);
	return ref $choice eq 'CODE' ? $choice->() : $choice;
}

# ------------------------------------------------------------------ tables

# Kinds of keys: types that can be compared, and the value of a number x
my %keys = (
	ki => { types => [qw(int2 int4 int8 int8)], value => 'x' },
	kt => { types => [qw(text text varchar)], value => "'key ' || x" },
	ku => { types => ['uuid'], value => 'md5(x::text)::uuid' },
	ks => { types => [qw(date timestamp timestamptz)], value => "timestamp '2001-01-01' + x * interval '1 day'" },
	kn => { types => ['numeric'], value => 'x / 2.0' });
my @keys = sort keys %keys;
my @all_columns = ('id', 'g', @keys);

# The tables of a round, and the number of their values
my (@tables, $values);

sub key_value
{
	my ($key, $type, $rows) = @_;
	my $x = pick(
		4 => "n * 7 % $values",
		3 => "abs(hashint4(n + " . roll(100) . ")) % $values",
		1 => 'n % ' . ($rows > 100 ? 50 : 5),
		2 => 'CASE WHEN n % ' . ($rows > 1000 ? 100 : 10) . " < 2 THEN 3 ELSE n % $values END",
		1 => "n");
	my $null = one_of(0, 0, 3, 10);
	my $value = $keys{$key}{value} =~ s/\bx\b/($x)/gr;

	return ($null ? "CASE WHEN abs(hashint4(n)) % $null = 0 THEN NULL ELSE ($value) END" : "($value)") . "::$type";
}

sub create_table
{
	my ($number) = @_;
	my $t = { name => "t$number", rows => pick(1 => 0, 1 => 1, 3 => between(10, 100), 8 => between(200, 1500), $number == 1 && chance(0.5) ? 50 : 0, between(21_000, 25_000)) };
	my $name = $t->{name};
	my %types = map { $_ => one_of(@{ $keys{$_}{types} }) } @keys;
	my @columns = shuffle('id int', 'g int', map { "$_ $types{$_}" } @keys);
	my @sql;

	$t->{types} = \%types;
	$t->{parts} = pick(6 => 0, 1 => 'HASH (id)', 1 => 'HASH (ki)', 1 => 'LIST (g)', 1 => 'RANGE (ki)', 1 => 'inherited');
	if (!$t->{parts})
	{
		push @sql, 'CREATE ' . one_of('', '', '', 'UNLOGGED ') . "TABLE $name (" . join(', ', @columns) . ')';
		push @sql, "ALTER TABLE $name ADD UNIQUE (id)" if chance(0.6) && ($t->{unique} = 1);
	}
	elsif ($t->{parts} eq 'inherited')
	{
		push @sql, "CREATE TABLE $name (" . join(', ', @columns) . ')',
		  "CREATE TABLE ${name}_c () INHERITS ($name)";
	}
	else
	{
		my %bounds = (
			HASH => [ map { "WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2 ],
			LIST => [ 'IN (0, 1, 2)', 'IN (3, 4, 5, 6)' ],
			RANGE => [ "FROM (MINVALUE) TO (" . int($values / 3) . ')', 'FROM (' . int($values / 3) . ') TO (' . int($values / 2) . ')' ]);
		my ($kind) = $t->{parts} =~ /(\w+)/;
		my $count = 0;

		push @sql, "CREATE TABLE $name (" . join(', ', @columns) . ") PARTITION BY $t->{parts}";
		push @sql, map { "CREATE TABLE ${name}_" . $count++ . " PARTITION OF $name FOR VALUES $_" } @{ $bounds{$kind} };
		push @sql, "CREATE TABLE ${name}_d PARTITION OF $name DEFAULT" if $kind ne 'HASH';
	}
	my @indexes = map { my $k = $_; ((chance(0.7) ? "CREATE INDEX ${name}_$k ON $name USING membership ($k)" : ()), (chance(0.25) ? "CREATE INDEX ON $name ($k)" : ())) } @keys;
	push @indexes, "CREATE INDEX ON $name USING membership (" . join(', ', (shuffle @keys)[ 0, 1 ]) . ')' if chance(0.3);
	$t->{index}{$_} = "${name}_$_" foreach grep { $t->{parts} ne 'inherited' } map { /^CREATE INDEX ${name}_(k\w)/ ? $1 : () } @indexes;
	push @sql, splice(@indexes, 0, roll(@indexes + 1));
	push @sql, "INSERT INTO $name (" . join(', ', @all_columns) . ") SELECT n, n % 10, " . join(', ', map { key_value($_, $types{$_}, $t->{rows}) } @keys) . " FROM generate_series(1, $t->{rows}) AS n";
	push @sql, "INSERT INTO ${name}_c SELECT * FROM (SELECT (s).* FROM (SELECT s FROM $name s WHERE id % 3 = 0) AS r) AS q" if $t->{parts} eq 'inherited';
	push @sql, "DELETE FROM $name WHERE id % 7 = 3" if chance(0.3);
	push @sql, @indexes;
	push @sql, "VACUUM ANALYZE $name" if chance(0.7);
	push @sql, "ALTER TABLE $name SET (parallel_workers = " . between(1, 3) . ')' if !$t->{parts} && chance(0.3);
	push @tables, $t;
	return @sql;
}

# Of each key of each table a bloom filter of some of its values
sub create_filters
{
	return ('CREATE TABLE filters (name text PRIMARY KEY, f bloom)',
		map { my $t = $_; map { "INSERT INTO filters SELECT '$t->{name}.$_', bloom_agg($_) FROM $t->{name} WHERE g < " . between(1, 10) } @keys } @tables);
}

# ----------------------------------------------------------------- queries

# A relation in FROM: { sql, alias, columns => [...], table if it is one }
my ($aliases, @ctes, $params, $samples);

sub new_alias { return 'x' . ++$aliases }
sub column { return "$_[0]{alias}.$_[1]" }
sub has { return grep { $_ eq $_[1] } @{ $_[0]{columns} } }
sub keys_of { return grep { /^k/ } @{ $_[0]{columns} } }

sub table
{
	my ($of, $sampled) = @_;
	my $alias = new_alias();
	my $sample = $sampled && $samples && chance(0.15) ? ' TABLESAMPLE ' . one_of('BERNOULLI', 'SYSTEM') . ' (' . one_of(5, 30, 50, 90) . ') REPEATABLE (' . roll(5) . ')' : '';
	my $only = $of->{parts} eq 'inherited' && chance(0.2) ? 'ONLY ' : '';

	return { sql => "$only$of->{name} AS $alias$sample", alias => $alias, columns => \@all_columns, table => $of };
}

sub relation
{
	my ($depth) = @_;

	return pick(
		8 => sub { table(one_of(@tables), 1) },
		$depth < 2 ? 3 : 0, sub {
			my ($sql, @columns) = subselect($depth + 1);
			my $alias = new_alias();

			return { sql => "($sql) AS $alias", alias => $alias, columns => \@columns };
		},
		$depth < 2 ? 0.7 : 0, sub {
			my ($sql, @columns) = subselect($depth + 1);
			my $alias = new_alias();

			push @ctes, "c$alias AS " . one_of('', 'MATERIALIZED ', 'NOT MATERIALIZED ') . "($sql)";
			return { sql => "c$alias AS $alias", alias => $alias, columns => \@columns };
		},
		0.5 => sub {
			my $alias = new_alias();
			my $rows = join ', ', map { '(' . roll(2000) . ', ' . roll(10) . ', ' . roll($values) . ", 'key " . roll($values) . "')" } 1 .. between(1, 8);

			return { sql => "(VALUES $rows) AS $alias (id, g, ki, kt)", alias => $alias, columns => [qw(id g ki kt)] };
		},
		0.3 => sub {
			my $alias = new_alias();

			return { sql => "(SELECT n AS id, n % 10 AS g, n * 3 AS ki FROM generate_series(1, " . between(1, 400) . ") AS n) AS $alias", alias => $alias, columns => [qw(id g ki)] };
		});
}

# SELECT with the columns that it returns.  Its rows do not depend on the plan.
sub subselect
{
	my ($depth) = @_;
	my ($from, @of) = joined(one_of(1, 1, 2), $depth);
	my $where = where($depth, @of);
	my $first = $of[0];
	my %sources;

	foreach my $of (shuffle @of)
	{
		$sources{$_} //= column($of, $_) foreach @{ $of->{columns} };
	}
	my @columns = grep { $sources{$_} } @all_columns;
	my $list = join ', ', map { "$sources{$_} AS $_" } @columns;
	my $order = join ', ', map { $_ . one_of('', ' DESC', ' NULLS FIRST') } 1 .. @columns;
	my ($key) = shuffle(grep { /^k/ } @columns);
	my $by = $sources{$key};
	my $id = $sources{id};
	my $g = $sources{g} // "($id % 10)";

	return pick(
		4 => sub { ("SELECT $list FROM $from$where", @columns) },
		1 => sub { ("SELECT $list FROM $from$where OFFSET 0", @columns) },
		1 => sub { ("SELECT DISTINCT $list FROM $from$where", @columns) },
		1 => sub { ("SELECT DISTINCT ON ($by) " . join(', ', map { "$sources{$_} AS $_" } $key, grep { $_ ne $key } @columns) . " FROM $from$where ORDER BY $by, $order", $key, grep { $_ ne $key } @columns) },
		2 => sub { ("SELECT $by AS $key, min($id) AS id, (count(*) % 10)::int AS g FROM $from$where GROUP BY $by" . one_of('', '', ' HAVING count(*) < 4'), $key, 'id', 'g') },
		1 => sub { ("SELECT $by AS $key, min($id) AS id, $g AS g FROM $from$where GROUP BY " . one_of("ROLLUP ($by, $g)", "GROUPING SETS (($by), ($g))", "CUBE ($by, $g)", "$by, $g"), $key, 'id', 'g') },
		2 => sub { ("SELECT $list FROM $from$where ORDER BY $order LIMIT " . between(1, 300) . one_of('', ' OFFSET 3'), @columns) },
		1 => sub { ("SELECT $by AS $key, $id AS id, (" . one_of("count(*) OVER (PARTITION BY $by)", "rank() OVER (PARTITION BY $by ORDER BY $id)", "dense_rank() OVER (ORDER BY $by)", "count(*) OVER ()") . " % 10)::int AS g FROM $from$where", $key, 'id', 'g') },
		1 => sub {
			my ($other, $two) = joined(1, $depth);
			my @both = grep { my $c = $_; has($two, $c) } @columns;

			return ('SELECT ' . join(', ', map { $sources{$_} . same_type($_) . " AS $_" } @both) . " FROM $from$where " . one_of('UNION ALL', 'UNION ALL', 'UNION', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL') . ' SELECT ' . join(', ', map { column($two, $_) . same_type($_) } @both) . " FROM $other" . where($depth, $two), @both);
		},
		0.5 => sub { ("SELECT $by AS $key, unnest(ARRAY[$id, $id + 1]) AS id FROM $from$where", $key, 'id') },
		0.5 => sub { ("SELECT $by AS $key, $id AS id FROM $from$where ORDER BY $by, $id", $key, 'id') });
}

# Types of a UNION agree by themselves, but of these keys look differently
sub same_type { return $_[0] eq 'ks' && chance(0.8) ? '::timestamp' : '' }

sub equality
{
	my ($one, $two) = @_;
	my @both = grep { my $k = $_; has($two, $k) } keys_of($one);

	return column($one, 'id') . ' = ' . column($two, 'id') unless @both;
	my $key = one_of(@both);
	my ($x, $y) = (column($one, $key), column($two, $key));
	my $more = one_of(@both);

	return pick(
		10 => "$x = $y",
		5 => "$y = $x",
		3 => "$x = $y AND " . column($one, $more) . ' = ' . column($two, $more),
		1 => "($x, " . column($one, 'id') . ") = ($y, " . column($two, 'id') . ')',
		1 => "$x = $y AND " . column($one, 'id') . ' < ' . column($two, 'id'),
		1 => "$x IS NOT DISTINCT FROM $y AND " . column($one, 'id') . ' % 20 = ' . column($two, 'id') . ' % 20',
		1 => "coalesce($x, $y) = $y",
		$key eq 'ki' ? 1 : 0, "$x + 1 = $y",
		$key eq 'kt' ? 1 : 0, "$x || '' = $y");
}

sub condition
{
	my ($depth, @of) = @_;
	my $of = one_of(@of);
	my ($key) = shuffle keys_of($of);
	my $x = column($of, $key);
	my $id = column($of, 'id');
	my $g = has($of, 'g') ? column($of, 'g') : "($id % 10)";
	my $t = one_of(@tables);
	my $type = $t->{types}{$key};
	my $inner = $depth < 3 ? 1 : 0;

	return pick(
		2 => "$g = " . roll(10),
		2 => "$g < " . between(2, 9),
		1 => "$id < " . between(10, 1000),
		1 => "$id % 3 <> 1",
		0.5 => "$x IS " . one_of('', 'NOT ') . 'NULL',
		0.5 => "$id < 0",
		$params ? 3 : 0, sub { one_of("$g = \$1", "$id > \$2", "$id < \$2", "$g IN (\$1, 3, 4)", "$id = ANY (\$3)", "$id <> ALL (\$3)", "$x = ANY (ARRAY(SELECT $key FROM $t->{name} WHERE id = ANY (\$3)))") },
		1 => "bloom_contains((SELECT f FROM filters WHERE name = '$t->{name}.$key'), $x\::$type)",
		0.5 => "(SELECT f FROM filters WHERE name = '$t->{name}.$key') @> $x\::$type",
		$t->{index}{$key} ? 1 : 0, sub { "membership_contains('$t->{index}{$key}', $x\::$type)" },
		4 * $inner, sub { inner_condition($depth, $of, $key) },
		$inner, sub { '(' . inner_condition($depth, $of, $key) . " OR $g = 4)" },
		0.5 * $inner, sub { "CASE WHEN $g > 3 THEN " . inner_condition($depth, $of, $key) . " ELSE $id % 2 = 0 END" });
}

# A condition with a subquery
sub inner_condition
{
	my ($depth, $of, $key) = @_;
	my ($from, @inner) = joined(one_of(1, 1, 2), $depth + 1);
	my ($two) = grep { has($_, $key) } shuffle @inner;
	my $x = column($of, $key);
	my $and = chance(0.4) ? ' AND ' . condition(3, @inner) : '';
	my $few = ' AND ' . column($of, 'id') . ' % 20 = 1';

	return column($of, 'id') . " IN (SELECT " . column($inner[0], 'id') . " FROM $from WHERE true$and)" unless $two;
	my $y = column($two, $key);
	return pick(
		4 => "EXISTS (SELECT FROM $from WHERE " . equality($of, $two) . "$and)",
		4 => "NOT EXISTS (SELECT FROM $from WHERE " . equality($of, $two) . "$and)",
		4 => "$x IN (SELECT $y FROM $from WHERE true$and)",
		1 => "$x NOT IN (SELECT $y FROM $from WHERE true$and)",
		1 => "$x = (SELECT max(" . ($key eq 'ku' ? "$y\::text)::uuid" : "$y)") . " FROM $from WHERE true$and)",
		1 => "(SELECT count(*) FROM $from WHERE " . equality($of, $two) . "$and) " . one_of('> 0', '= 0', '= 1') . $few,
		1 => "EXISTS (SELECT FROM $from WHERE " . equality($of, $two) . " AND " . column($of, 'id') . ' > ' . column($two, 'id') . "$and)",
		2 => "$x = ANY (ARRAY(SELECT $y FROM $from WHERE true$and))",
		2 => "$x <> ALL (ARRAY(SELECT $y FROM $from WHERE " . one_of('true', 'false', "$y IS NOT NULL", "$y IS NOT NULL") . "$and))");
}

sub where
{
	my ($depth, @of) = @_;
	my @conditions = map { condition($depth, @of) } 1 .. one_of(0, 0, 1, 1, 2);

	return @conditions ? ' WHERE ' . join(' AND ', @conditions) : '';
}

# joined(COUNT, DEPTH): what stands after FROM, and its relations
sub joined
{
	my ($count, $depth) = @_;

	if ($count == 1)
	{
		my $one = relation($depth);
		return ($one->{sql}, $one);
	}
	my $split = between(1, $count - 1);
	my ($left, @left) = joined($split, $depth);
	return lateral($left, $depth, @left) if $count - $split == 1 && chance(0.1);
	my ($right, @right) = joined($count - $split, $depth);
	my $on = equality(one_of(@left), one_of(@right));

	$on .= ' AND ' . condition(3, @left, @right) if chance(0.15);
	my $type = pick(10 => 'JOIN', 4 => 'LEFT JOIN', 1.5 => 'RIGHT JOIN', 0.7 => 'FULL JOIN');
	# FULL JOIN wants conditions that can be merged or hashed
	$on = $on =~ /^\S+ = \S+$/ ? $on : 'x.id = y.id' if $type eq 'FULL JOIN';
	$on = column($left[0], 'id') . ' = ' . column($right[0], 'id') if $on eq 'x.id = y.id';
	$right = "($right)" if @right > 1;
	return ("$left $type $right ON $on", @left, @right);
}

sub lateral
{
	my ($left, $depth, @left) = @_;
	my $right = table(one_of(@tables));
	my $outer = one_of(@left);
	my $alias = new_alias();
	my $rest = one_of('', ' ORDER BY 1, 2, 3 LIMIT ' . between(1, 4), ' OFFSET 0');
	my ($key) = keys_of($outer);
	my ($type, $on) = @{ one_of([ 'CROSS JOIN', '' ], [ 'LEFT JOIN', ' ON true' ]) };

	return ("$left $type LATERAL (SELECT " . join(', ', map { column($right, $_) } 'id', 'g', $key) . " FROM $right->{sql} WHERE " . equality($outer, $right) . "$rest) AS $alias$on",
		@left, { alias => $alias, columns => [ 'id', 'g', $key ] });
}

# A query: { sql, ordered if its order is total }.  Where rows lie that this transaction has
# changed, and with it what a sample has of them, depends on the plan.
sub query
{
	my (%options) = @_;

	($aliases, @ctes) = (0);
	$samples = !$options{changed};
	my ($from, @of) = joined($options{count} // pick(2 => 1, 6 => 2, 5 => 3, 2 => 4), 0);
	my $where = where(0, @of);
	my @list = map { column($_, 'id') } @of;
	my $of = one_of(@of);
	my $key = one_of(keys_of($of));

	push @list, column($of, $key);
	my $list = join ', ', @list;
	my $order = ' ORDER BY ' . join(', ', map { $_ . one_of('', ' DESC', ' NULLS FIRST') } 1 .. @list);
	my $limit = ' LIMIT ' . one_of(1, 3, 20, 100, 1000) . one_of('', '', ' OFFSET 5');
	my $ordered = $options{ordered};
	my $body = $ordered ? "SELECT $list FROM $from$where$order" : $options{plain} ? "SELECT $list FROM $from$where" : pick(
		5 => "SELECT $list FROM $from$where",
		3 => sub { $ordered = 1; "SELECT $list FROM $from$where$order$limit" },
		1 => sub { $ordered = 1; "SELECT $list FROM $from$where$order" },
		2 => 'SELECT count(*), ' . join(', ', map { "sum($_)" } map { column($_, 'id') } @of) . " FROM $from$where",
		1 => 'SELECT ' . column($of, $key) . ", count(*) FROM $from$where GROUP BY 1",
		1 => sub { $ordered = 1; 'SELECT DISTINCT ' . column($of, $key) . " FROM $from$where ORDER BY 1$limit" },
		1 => 'SELECT ' . join(', ', map { "$_->{alias}.*" } @of) . " FROM $from$where",
		1 => sub { my ($inner, $two) = joined(1, 2); "SELECT $list, (SELECT count(*) FROM $inner WHERE " . equality($two, $of) . ") FROM $from$where" });

	return { sql => (@ctes ? 'WITH ' . join(', ', @ctes) . ' ' : '') . $body, ordered => $ordered, of => \@of };
}

# ------------------------------------------------------------------- cases

# A case is a list of steps { sql, how } : how its rows are compared.
#   rows       the same rows, in any order
#   ordered    the same rows in this order
#   first      as many rows, that are among those of "whole", which comes next in the plain variant
#   whole      all rows of a query of which others read some
#   any        only whether it succeeds
#   forward    all rows of a cursor, in an order of the plan's
#   backward   these backward
#   current    a row of the plan's choice
#   same       the row of "current"

sub step { return { how => $_[0], sql => $_[1], explain => $_[2] } }

sub asked
{
	my ($query) = @_;
	return step($query->{ordered} ? 'ordered' : 'rows', $query->{sql}, 1);
}

sub case_select { return asked(query()) }

# Some first rows of any
sub case_first
{
	my $query = query(plain => 1);

	return (step('first', "$query->{sql} LIMIT " . one_of(1, 1, 2, 10, 50, 500), 1), step('whole', $query->{sql}));
}

# A cursor that goes back and forth over rows in a total order
sub case_cursor
{
	my $query = query(ordered => 1);
	my $scroll = one_of('SCROLL', 'SCROLL', 'NO SCROLL', '');
	my $hold = chance(0.2) ? 'WITH HOLD ' : '';
	my @steps = map { one_of('FETCH', 'FETCH 3', 'FETCH 20', 'FETCH ALL', $scroll eq 'SCROLL' ? ('FETCH PRIOR', 'FETCH BACKWARD 4', 'FETCH ABSOLUTE 3', 'FETCH RELATIVE -2', 'FETCH LAST', 'FETCH FIRST', 'FETCH BACKWARD ALL', 'MOVE ABSOLUTE 0', 'FETCH ABSOLUTE -2') : ('MOVE 2')) } 1 .. between(3, 10);

	return (step('any', 'BEGIN'), step('any', "DECLARE c $scroll CURSOR ${hold}FOR $query->{sql}"),
		($hold ? step('any', 'COMMIT') : ()),
		(map { step('ordered', "$_ FROM c") } @steps, 'FETCH ALL'), step('any', $hold ? 'CLOSE c' : 'ROLLBACK'));
}

# The same rows backward as forward, whatever their order
sub case_scroll
{
	my $query = query(plain => 1);

	return (step('any', 'BEGIN'), step('any', 'DECLARE c SCROLL CURSOR FOR ' . $query->{sql}), step('forward', 'FETCH ALL FROM c'), step('backward', 'FETCH BACKWARD ALL FROM c'),
		step('rows', 'FETCH ALL FROM c'), step('any', 'ROLLBACK'));
}

# Rows of a table that can be changed through a cursor
sub simple_query
{
	my $of = table(one_of(@tables));
	my @conditions = ('true', map { condition(3, $of) } 1 .. one_of(0, 1, 1, 2));

	return ($of, "SELECT $of->{alias}.* FROM $of->{sql} WHERE " . join ' AND ', @conditions);
}

sub case_current
{
	my ($of, $sql) = simple_query();
	my $name = $of->{sql} =~ s/ AS .*//r;
	my @steps;

	foreach (1 .. between(1, 5))
	{
		push @steps, step('current', 'FETCH ' . one_of('', '', 'RELATIVE 3 ') . 'FROM c');
		push @steps, step('same', one_of("UPDATE $name SET g = g WHERE CURRENT OF c RETURNING *", "DELETE FROM $name WHERE CURRENT OF c RETURNING *"));
	}
	return (step('any', 'BEGIN'), step('any', 'DECLARE c ' . one_of('', '', 'SCROLL ', 'NO SCROLL ') . "CURSOR FOR $sql" . one_of('', ' FOR UPDATE', ' ORDER BY id FOR UPDATE')),
		@steps, step('any', 'ROLLBACK'));
}

# Rows of the tables that this transaction has locked or changed
sub locked_rows
{
	return map { step('rows', "SELECT '$_', count(*), sum(id) FROM $_ WHERE xmax = pg_current_xact_id()::xid") } map { $_->{name} } grep { $_->{rows} < 20_000 } @tables;
}

# Rows that a query returns are locked
sub case_lock
{
	($aliases, @ctes) = (0);
	my @of = map { table(one_of(@tables)) } 1 .. one_of(1, 2, 2, 3);
	my $from = join ', ', map { $_->{sql} } @of;
	my @where = ((map { equality($of[ $_ - 1 ], $of[$_]) } 1 .. $#of), map { condition(1, @of) } 1 .. one_of(0, 1, 2));
	my $lock = ' FOR ' . one_of('UPDATE', 'SHARE', 'NO KEY UPDATE', 'KEY SHARE') . (chance(0.5) ? " OF $of[0]{alias}" : '') . one_of('', '', ' SKIP LOCKED', ' NOWAIT');
	my $ids = join ', ', map { "$_->{alias}.id" } @of;

	return (step('any', 'BEGIN'), step('rows', "SELECT $ids FROM $from" . (@where ? ' WHERE ' . join(' AND ', @where) : '') . $lock, 1), locked_rows(), step('any', 'ROLLBACK'));
}

# All rows of a subquery are locked, whatever it is joined to: a hash join reads both sides,
# unless one is empty
sub case_lock_subquery
{
	($aliases, @ctes) = (0);
	my ($a, $b, $c) = map { table($_) } (shuffle(grep { $_->{rows} > 5 } @tables))[ 0 .. 2 ];
	my $locked = "(SELECT * FROM $b->{sql} FOR " . one_of('UPDATE', 'SHARE') . ") AS $b->{alias}";
	my @join = shuffle($a->{sql}, $locked);
	my $from = "$join[0] JOIN $join[1] ON " . equality($a, $b);

	if ($c && chance(0.6))
	{
		my $on = equality(one_of($a, $b), $c) . (chance(0.5) ? " AND $c->{alias}.id < 4" : '');

		$from = chance(0.5) ? "$from JOIN $c->{sql} ON $on" : "$c->{sql} JOIN ($from) ON $on";
	}
	return (step('any', 'BEGIN'), (map { step('any', "SET LOCAL $_") } 'enable_nestloop = off', 'enable_mergejoin = off', 'join_collapse_limit = 1'),
		step('rows', "SELECT $a->{alias}.id, $b->{alias}.id FROM $from", 1), locked_rows(), step('any', 'ROLLBACK'));
}

# Which rows change does not depend on the order in which they are found
sub case_modify
{
	($aliases, @ctes) = (0);
	my $target = table(one_of(@tables));
	$samples = 1;
	my ($from, @of) = joined(one_of(1, 1, 2), 1);
	my $where = equality($target, one_of(@of)) . (chance(0.5) ? ' AND ' . condition(2, $target) : '');
	my $with = sub { @ctes ? 'WITH ' . join(', ', @ctes) . ' ' : '' };
	my $a = $target->{alias};
	my $name = $target->{sql} =~ s/ AS .*//r;
	my $key = one_of(@keys);
	my $sql = pick(
		3 => "UPDATE $name AS $a SET g = ($a.g + 1) % 10 FROM $from WHERE $where RETURNING $a.*",
		1 => "UPDATE $name AS $a SET $key = NULL FROM $from WHERE $where RETURNING $a.id",
		3 => "DELETE FROM $name AS $a USING $from WHERE $where RETURNING $a.*",
		2 => sub { "DELETE FROM $name AS $a WHERE " . inner_condition(1, $target, $key) . " RETURNING $a.id" },
		2 => sub { "UPDATE $name AS $a SET $key = (SELECT max($key" . ($key eq 'ku' ? '::text)::uuid' : ')') . " FROM $tables[0]{name}) WHERE " . inner_condition(1, $target, $key) . " RETURNING $a.id" },
		2 => sub { "INSERT INTO $name SELECT ($a).* FROM (SELECT $a FROM $target->{sql}, $from WHERE $where GROUP BY $a) AS s" . ($target->{table}{unique} ? ' ON CONFLICT DO NOTHING' : '') . ' RETURNING id' },
		$name =~ /ONLY/ || $target->{table}{parts} eq 'inherited' ? 0 : 2, sub { "MERGE INTO $name AS $a USING (SELECT ki AS k, count(*)::int AS n FROM " . one_of(@tables)->{name} . " GROUP BY 1) AS s ON $a.ki = s.k WHEN MATCHED AND $a.g < 5 THEN DELETE WHEN MATCHED THEN UPDATE SET g = s.n % 10" });

	return (step('any', 'BEGIN'), step('rows', ($sql =~ /^MERGE/ ? '' : $with->()) . $sql, 1), step('rows', "SELECT * FROM " . ($name =~ s/ONLY //r)),
		asked(query(count => 2, changed => 1)), step('any', 'ROLLBACK'));
}

sub case_prepared
{
	$params = 1;
	my $query = query();
	$params = 0;
	my $array = sub { "'{" . join(',', map { chance(0.02) ? 'NULL' : roll(2000) } 1 .. one_of(0, 3, 8, 9, 40, 400)) . "}'" };
	my @arguments = map { '(' . roll(10) . ', ' . roll(2000) . ', ' . (chance(0.1) ? 'NULL' : $array->()) . ')' } 1 .. between(2, 7);
	my $how = $query->{ordered} ? 'ordered' : 'rows';

	return (step('any', 'SET plan_cache_mode = ' . one_of('auto', 'force_generic_plan', 'force_generic_plan', 'force_custom_plan')),
		step('any', "PREPARE q (int, int, int[]) AS $query->{sql}"), map { step($how, "EXECUTE q$_", 1) } @arguments);
}

# A cursor of PL/pgSQL, and a query for each of its rows
sub case_function
{
	my ($outer, $inner) = (query(ordered => 1), query(count => 2, plain => 1));
	my $body = "DECLARE one record; found bigint; sum bigint := 0; turn int := 0; BEGIN FOR one IN $outer->{sql} LOOP turn := turn + 1; EXIT WHEN turn > 5; SELECT count(*) INTO found FROM ($inner->{sql}) AS q (a) WHERE a % 7 = turn; sum := sum * 31 + found; END LOOP; RETURN sum; END";

	return (step('any', "CREATE OR REPLACE FUNCTION f() RETURNS bigint LANGUAGE plpgsql AS \$\$ $body \$\$"), step('rows', 'SELECT f()'), step('rows', 'SELECT f() FROM generate_series(1, 3)'));
}

sub random_case
{
	return pick(40 => \&case_select, 12 => \&case_first, 8 => \&case_cursor, 6 => \&case_scroll, 5 => \&case_current, 6 => \&case_lock, 4 => \&case_lock_subquery,
		12 => \&case_modify, 9 => \&case_prepared, 3 => \&case_function);
}

my $force_parallel;

sub random_settings
{
	return (
		(chance(0.4) ? ('parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'min_parallel_index_scan_size = 0', 'max_parallel_workers_per_gather = ' . between(1, 3)) : ()),
		(chance(0.1) ? "$force_parallel = " . one_of('on', 'regress') : ()),
		(chance(0.4) ? ('enable_mergejoin = off', 'enable_nestloop = off') : ()),
		(map { chance(0.1) ? "enable_$_ = off" : () } qw(hashjoin hashagg sort seqscan indexscan bitmapscan material memoize parallel_hash parallel_append incremental_sort partition_pruning)),
		(map { chance(0.3) ? "$_ = on" : () } qw(enable_partitionwise_join enable_partitionwise_aggregate)),
		(chance(0.3) ? ('work_mem = 64', 'hash_mem_multiplier = ' . one_of(1, 2)) : ()),
		(chance(0.1) ? 'parallel_leader_participation = off' : ()),
		(chance(0.2) ? 'cursor_tuple_fraction = ' . one_of(0.001, 1) : ()),
		(chance(0.1) ? 'join_collapse_limit = 1' : ()));
}

# The settings of each variant
sub variants
{
	return (
		[ plain => 'off', 'off' ], [ index => one_of('on', 'force'), 'index' ],
		[ chosen => one_of('on', 'force'), 'on' ], [ forced => one_of('force', 'force', 'off'), 'force' ]);
}

# ------------------------------------------------------------------ rounds

my $node = start_server('queries', conf => q{
autovacuum = off
jit = off
fsync = off
restart_after_crash = off
max_worker_processes = 16
max_parallel_workers = 8
log_statement = none
synchronize_seqscans = off
session_preload_libraries = 'bloomfilter'
});
my $dir = $PostgreSQL::Test::Utils::tmp_check;
$force_parallel = $node->safe_psql('postgres', 'SHOW server_version_num') < 160000 ? 'force_parallel_mode' : 'debug_parallel_query';
my %counts = map { $_ => 0 } qw(cases queries plans indexed built stored parallel failed slow);

# What psql is to do for one variant of a case
sub script_of
{
	my ($number, $variant, $settings, @steps) = @_;
	my ($name, $filter_scan, $join_filter) = @$variant;
	# what takes too long without filters is not asked again
	my @script = ($name eq 'plain' ? '\\set slow off' : (), '\\if :slow', '\\else', "\\echo \@case $number $name", (map { "SET $_;" } "bloomfilter.filter_scan = $filter_scan", "bloomfilter.join_filter = $join_filter", @$settings));

	foreach my $at (0 .. $#steps)
	{
		my $step = $steps[$at];

		next if $step->{how} eq 'whole' && $name ne 'plain';
		push @script, '\\echo @plan', "EXPLAIN (COSTS off) $step->{sql};" if $step->{explain} && $name eq 'forced';
		push @script, "\\echo \@step $at", "$step->{sql};", '\\echo @state :SQLSTATE';
		push @script, '\\if :ERROR', '\\set slow `[ :SQLSTATE = 57014 ] && echo on || echo :slow`', '\\endif' if $name eq 'plain';
	}
	return join "\n", @script, '\\echo @end', 'ROLLBACK;', 'DEALLOCATE ALL;', 'CLOSE ALL;', 'RESET ALL;', "SET statement_timeout = $statement_ms;", '\\endif', '';
}

# { case => { variant => { step => { rows, state } } } } of what psql has said, and plans
sub read_output
{
	my ($file) = @_;
	my (%of, %plans, $case, $variant, $rows);

	open my $out, '<', $file or die "$file: $!";
	while (my $line = <$out>)
	{
		chomp $line;
		if ($line =~ /^\@case (\d+) (\w+)/) { ($case, $variant, $rows) = ($1, $2, []); $of{$case}{$variant} = {} }
		elsif ($line eq '@plan') { push @{ $plans{$case} }, $rows = [] }
		elsif ($line =~ /^\@step (\d+)/) { $rows = []; $of{$case}{$variant}{$1} = { rows => $rows, at => $1 } }
		elsif ($line =~ /^\@state (\S+)/) { $_->{state} //= $1 foreach values %{ $of{$case}{$variant} }; $rows = [] }
		elsif ($line eq '@end') { $of{$case}{$variant}{end} = 1; $rows = [] }
		else { push @$rows, $line }
	}
	close $out;
	return (\%of, \%plans);
}

# What two lists of rows differ in
sub differing
{
	my ($one, $two) = @_;
	my @lines = lost_and_added($one, $two);

	return sprintf "%d rows, and %d\n%s", scalar @$one, scalar @$two, join "\n", @lines ? @lines : 'in another order';
}

# Is a step of a variant as it has to be?  '' or what is wrong
sub fault
{
	my ($steps, $at, $plain, $other) = @_;
	my $how = $steps->[$at]{how};
	my ($one, $two) = map { $_->{$at}{rows} } $plain, $other;

	return '' if $how eq 'any' || $how eq 'whole';
	if ($how eq 'same')
	{
		my ($before) = $other->{ $at - 1 }{rows}[0];
		return ($before // '') eq ($two->[0] // '') ? '' : 'another row than that of the cursor';
	}
	return @$one == @$two ? '' : differing($one, $two) if $how eq 'current';
	if ($how eq 'first')
	{
		my %left;

		$left{$_}++ foreach @{ $plain->{ $at + 1 }{rows} };
		return sprintf '%d rows, and %d', scalar @$one, scalar @$two if @$one != @$two;
		return (grep { --($left{$_} //= 0) < 0 } @$two) ? 'rows that the whole does not have' : '';
	}
	if ($how eq 'backward')
	{
		my @forward = reverse @{ $other->{ $at - 1 }{rows} };
		return join("\n", @forward) eq join("\n", @$two) ? '' : differing(\@forward, $two);
	}
	($one, $two) = map { [ sort @$_ ] } $one, $two if $how ne 'ordered';
	return join("\n", @$one) eq join("\n", @$two) ? '' : differing($one, $two);
}

# Compare a variant with the plain one: '', 'slow' or what is wrong
sub compare
{
	my ($steps, $plain, $other) = @_;

	foreach my $at (0 .. $#$steps)
	{
		next if $steps->[$at]{how} eq 'whole';
		my ($state, $other_state) = map { $_->{$at}{state} // 'nothing' } $plain, $other;

		return 'slow' if grep { $_ eq '57014' } $state, $other_state;
		# an error that EXPLAIN has found, too, has ended the transaction
		$state = $other_state if $state ne '00000' && $other_state eq '25P02';
		return "step $at: SQLSTATE $state, and $other_state" if $state ne $other_state;
		next if $state ne '00000';
		my $fault = fault($steps, $at, $plain, $other);
		return "step $at, $steps->[$at]{how}: $fault" if $fault ne '';
	}
	return '';
}

sub play_round
{
	my ($round) = @_;
	my $file = "$dir/queries_$round";
	my (@cases, @faults);

	srand($seed * 1000 + $round);
	($values, @tables) = (between(100, 1500));
	my @setup = ('CREATE EXTENSION bloomfilter', (map { create_table($_) } 1 .. 7));
	push @setup, map { false_statistics($_->{name}) } grep { chance(0.5) } @tables;
	my $script = join '', map { "$_;\n" } @setup, create_filters(), "SET statement_timeout = $statement_ms";

	foreach my $number (0 .. $round_cases - 1)
	{
		my @settings = random_settings();
		my @steps = random_case();

		push @cases, [ \@settings, @steps ];
		$script .= join '', map { script_of($number, $_, \@settings, @steps) } variants();
	}
	append_to_file("$file.sql", $script);
	$node->safe_psql('postgres', "CREATE DATABASE round_$round");
	system("psql -XAtq -v VERBOSITY=terse -d '" . $node->connstr("round_$round") . "' -f $file.sql >$file.out 2>$file.err");
	my ($of, $plans) = read_output("$file.out");

	foreach my $number (0 .. $#cases)
	{
		my ($settings, @steps) = @{ $cases[$number] };
		my $plain = $of->{$number}{plain};
		my $told = '';
		my $plan = join "\n", map { @$_ } @{ $plans->{$number} // [] };

		$counts{cases}++;
		$counts{queries} += grep { !/^(?:any|whole|same)$/ } map { $_->{how} } @steps;
		$counts{plans}++ if $plan ne '';
		$counts{indexed}++ if $plan =~ / in index /;
		$counts{built}++ if $plan =~ /Join Filter Build/;
		$counts{stored}++ if $plan =~ /Join Filter Store/;
		$counts{parallel}++ if $plan =~ /Gather/;
		$counts{failed}++ if grep { ref && $_->{state} !~ /^(00000|57014)$/ } values %$plain;
		$counts{slow}++, next if grep { ref && ($_->{state} // '') eq '57014' } values %$plain;
		foreach my $variant (grep { $_ ne 'plain' } map { $_->[0] } variants())
		{
			my $other = $of->{$number}{$variant};
			my $fault = !$other || !$other->{end} ? 'not answered' : compare(\@steps, $plain, $other);

			$counts{slow}++, last if $fault eq 'slow';
			$told .= "$variant: $fault\n" if $fault ne '';
		}
		push @faults, "case $number of round $round, seed $seed: $told" . join('', map { "SET $_;\n" } @$settings) . join('', map { "$_->{sql};\n" } @steps) . "plan:\n$plan\n" if $told ne '';
		last if $told =~ /not answered/;
	}
	push @faults, server_faults($node);
	# what it said remains, if anybody has to read it
	if (@faults) { note("see $file.sql, .out, .err") }
	else
	{
		unlink glob("$file.*");
		$node->safe_psql('postgres', "DROP DATABASE round_$round");
	}
	return @faults;
}

sub enough_compared { return $counts{cases} - $counts{slow} >= (1 - $slow_share_most) * $cases }

my $rounds = int(($cases + $round_cases - 1) / $round_cases);
foreach my $round ($only_round // 1 .. $only_round // $rounds * $more_rounds)
{
	last if !$only_round && $round > $rounds && enough_compared();
	my @faults = play_round($round);

	is(scalar @faults, 0, "round $round of seed $seed");
	diag(map { "$_\n---\n" } @faults[ 0 .. min($most_told, scalar @faults) - 1 ]) if @faults;
	last unless $node->poll_query_until('postgres', 'SELECT true');
}
note(join ', ', map { "$_ $counts{$_}" } sort keys %counts);
cmp_ok($counts{indexed}, '>=', $indexed_share_least * $counts{plans}, 'enough plans had a filter from an index');
cmp_ok($counts{built}, '>=', $built_share_least * $counts{plans}, 'enough plans made a filter');
cmp_ok($counts{parallel}, '>=', $parallel_share_least * $counts{plans}, 'enough plans had workers');
cmp_ok($counts{failed}, '<=', $failed_share_most * $counts{cases}, 'most cases are right by themselves');
ok($only_round || enough_compared(), 'enough cases were compared');

$node->stop;
done_testing();
