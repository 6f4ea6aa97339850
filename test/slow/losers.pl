# Does a filter make a query slower?  Random queries over tables without membership indexes,
# over a copy of them with the same statistics that has some, and over the former with
# bloomfilter.join_filter = on.  The results are compared; and the CPU time of the backend and
# its workers, which others on the machine change less than the time that a query takes.
# A query is slower only if it is by both: workers use more CPU time to end sooner.
#
#     LOSER_QUERIES=1000     more than the 400
#     FUZZ_SEED=1            the same tables and queries again
#     LOSER_QUERY=17         only this one of them, with its plans and times
#
# Each round has another state of the statistics: they are true; they are, but conditions leave
# no row of a list; the large tables have grown since ANALYZE, by rows of which most have a
# partner; or the number of distinct values is set wrongly.
#
# The time of a short query is known only to some milliseconds.  So these are added to both
# times, and what looks slower is repeated, in turns, of which the least time counts.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin", "$FindBin::RealBin/../t";

use List::Util qw(min sum);
use Time::HiRes qw(time);
use POSIX ();
use Random;
use Server;
use Session;
use Test::More;

my $queries = $ENV{LOSER_QUERIES} || 400;
my $seed = $ENV{FUZZ_SEED} || 1;
my $only_query = $ENV{LOSER_QUERY};
# What is added, in milliseconds.  Workers' time is known in ticks of 10 ms, of which two may
# be wrong: so a query with workers is run so many times in a row.
my ($slack_ms, $tick_ms, $parallel_runs) = (3, 10, 5);
# A query is repeated so many times while it looks slower than this
my ($repeats, $suspect) = (5, 1.08);
# States of statistics, one for each round in turn
my @states = ('true', 'empty', 'stale', 'wrong n_distinct');
# Of the queries with true statistics, and of all, these shares may be slower by each factor, and
# none by the worst.  Of some hundred queries chance finds more or fewer: two standard deviations
# are allowed.  What remains by two are plans of another order, where core's meets an empty join,
# or a first row, before it reads a large table: none with true statistics are wanted, and two of a
# thousand of all.
my @factors = (1.1, 1.3, 2);
my %limits = (true => { slower => [ 0.015, 0.004, 0.002 ], worst => 2.5 }, all => { slower => [ 0.025, 0.01, 0.003 ], worst => 4 });
# A query that is slower by this is shown with its plans
my $shown = 1.3;
# Queries that take longer without a filter are left out, at most this share; and those with
# one are cut off at so many times the time without, and some more on a busy machine
my ($plain_ms_most, $left_out_share_most, $cut_off, $busy_ms) = (1500, 0.2, 20, 500);
# So long it may take to count the rows of a plan that is told
my $explained_ms_most = 10_000;
# New tables after so many queries
my $round_queries = 100;
# Kinds of filters: the database and its settings, and the least mean gain of the queries with
# another plan: geometric, so that a loss by two counts as much as a gain by two.
my @kinds = (
	{ name => 'membership indexes', database => 'indexed', settings => '', gain_least => { true => 1.25, all => 1.3 } },
	{ name => 'join_filter = on', database => 'plain', settings => 'SET bloomfilter.join_filter = on', gain_least => { true => 1.15, all => 1.15 } });

# A session waits for as long as all of this takes
$PostgreSQL::Test::Utils::timeout_default = 24 * 3600;

# ------------------------------------------------------------------ tables

# Rows of the tables of a round: large ones, whose rows a filter drops, and lists
my %rows = (a => 400_000, b => 300_000, c => 200_000, m => 100_000, n => 30_000, l => 5_000, o => 1_000, s => 200);
my @large = qw(a b c);
my @lists = qw(m n l o s);
# Columns by which tables are joined, and other keys of indexes
my @keys = qw(k r z t);
my @other_keys = ('k, p', 't, p', 'lower(t)');
# Values of k
my $domain = 1_000_000;
# The value of p of one row in so many of large tables, which all have keys of list l: whoever
# picks them gets other rows than the statistics of the key tell
my ($picked, $picked_of) = (11, 100);
# The part of a large table that ANALYZE has seen if statistics are stale
my $seen = 0.1;
# The numbers of distinct values that are set wrongly, of large tables and of lists
my @wrong_distinct = (20, -0.001);
my $state;

# The statements that make table NAME.  Column k is unique or nearly so, r has each value
# some times, z a few of them in most rows, and t is the text of k.  A list has the keys of a
# small part of the large tables' rows, and others.
sub create_table
{
	my ($name) = @_;
	my $rows = $rows{$name};
	my $large = $rows >= 200_000;
	my $kind = $large ? weighted([ 4, '' ], [ 1, 'hash' ], [ 1, 'range' ]) : '';
	my ($from, $often, $most) = (roll($domain), one_of(3, 10, 50), one_of(0.5, 0.8, 0.95));
	# an odd number, so each value once; another for each table, so some are in both of two
	my $k = "(n * " . one_of(7919, 104_729, 611_953, 746_773) . "::bigint + $from) % " . ($large || chance(0.7) ? $domain : 4 * $domain);
	my @sql;

	push @sql, "CREATE TABLE $name (id int NOT NULL, k int, r int, z int, p int, t text, more text)"
	  . ($kind ? " PARTITION BY $kind (id)" : '');
	if ($kind eq 'hash')
	{
		push @sql, map { "CREATE TABLE ${name}_$_ PARTITION OF $name FOR VALUES WITH (MODULUS 4, REMAINDER $_)" } 0 .. 3;
	}
	elsif ($kind eq 'range')
	{
		push @sql, map { sprintf 'CREATE TABLE %s_%d PARTITION OF %s FOR VALUES FROM (%d) TO (%d)', $name, $_, $name, $rows * $_ / 3, $rows * ($_ + 1) / 3 + ($_ == 2) } 0 .. 2;
	}
	my ($wide, $order) = (one_of(0, 20, 80), one_of(' ORDER BY n', ' ORDER BY n', ' ORDER BY random()'));
	my $fill = sub {
		my ($n, $key, $from_list) = @_;

		return "INSERT INTO $name SELECT n, k, k / $often, CASE WHEN random() < $most THEN (random() * 5)::int ELSE k END, p,"
		  . " 'http://example.org/' || k % 97 || '/' || k, repeat('x', $wide)"
		  . ' FROM (SELECT n, ' . ($from_list
			? "coalesce(listed.k, $key), CASE WHEN listed.k IS NULL THEN n % 10 ELSE $picked END FROM $n AS n LEFT JOIN l AS listed ON n % $from_list = 0 AND listed.id = 1 + n / $from_list % $rows{l}"
			: "$key, n % 10 FROM $n AS n") . ") AS s (n, k, p)$order";
	};
	push @sql, 'SELECT setseed(' . rand() . ')';
	if ($large && $state eq 'stale')
	{
		my $first = $rows * $seen;

		# the new rows: most have keys of a list
		push @sql, $fill->("generate_series(1, $first)", "$k + 10 * $domain"), "ANALYZE $name",
		  $fill->("generate_series($first + 1, $rows)", $k, one_of(1, 2, 4));
	}
	else
	{
		push @sql, $fill->("generate_series(1, $rows)", $k, $large ? $picked_of : 0);
	}
	push @sql, map { "ALTER TABLE $name ALTER $_ SET (n_distinct = $wrong_distinct[!$large])" } $state eq 'wrong n_distinct' ? grep { chance(0.5) } qw(k r t) : ();
	push @sql, "ALTER TABLE $name ADD PRIMARY KEY (id)" if chance(0.7);
	push @sql, map { "CREATE INDEX ON $name ($_)" } grep { chance(0.3) } @keys;
	return @sql;
}

# The membership indexes of a round
sub create_indexes
{
	return map { my $name = $_; map { "CREATE INDEX ON $name USING membership ($_)" } (grep { chance(0.75) } @keys), (grep { chance(0.4) } @other_keys) } @lists, @large;
}

# ----------------------------------------------------------------- queries

my $aliases;

sub relation
{
	my ($name) = @_;

	$aliases++;
	return { name => $name, alias => "$name$aliases" };
}

sub large { return relation(one_of(@large)) }
sub list { return relation(one_of(@lists)) }
sub from { return join ', ', map { "$_->{name} $_->{alias}" } @_ }

# That a row of one has a partner in the other
sub equality
{
	my ($one, $two) = @_;
	my $key = weighted([ 4, 'k' ], [ 4, 't' ], [ 2, 'r' ], [ 1, 'z' ]);
	my $other = $key ne 't' && chance(0.1) ? one_of(qw(k r id)) : $key;

	return "lower($one->{alias}.t) = lower($two->{alias}.t)" if chance(0.1);
	return "$one->{alias}.$key = $two->{alias}.$other" . (chance(0.15) ? " AND $one->{alias}.p = $two->{alias}.p" : '');
}

# A condition of one table, or ''
sub condition
{
	my ($of, $chance) = @_;
	my $alias = $of->{alias};
	my $rows = $rows{ $of->{name} };

	return " AND $alias.p < 0" if $state eq 'empty' && $rows < 200_000 && chance(0.4);
	return '' unless chance($chance // 0.4);
	return ' AND ' . weighted(
		[ 3, "$alias.p = " . roll(10) ],
		[ 1, "$alias.p = $picked" ],
		[ 2, "$alias.p < " . between(2, 8) ],
		[ 2, "$alias.id % 10 = " . roll(10) ],
		[ 2, "$alias.id < " . int($rows * one_of(0.02, 0.1, 0.5)) ],
		[ 1, "$alias.id BETWEEN " . int($rows / 2) . ' AND ' . int($rows / 2 + $rows * one_of(0.01, 0.1)) ],
		[ 1, "$alias.t LIKE 'http://example.org/" . between(1, 9) . "%'" ],
		[ 1, "$alias.k > " . roll($domain) ]);
}

# What is asked of joined tables whose rows are those after FROM: aggregates, rows in some
# order, the first of them...
# Of what is asked first rows without a total order, only their number is compared.
sub shaped
{
	my ($rest, @of) = @_;
	my ($one, $two) = map { $_->{alias} } @of[ 0, $#of ];
	my $ids = join ', ', map { "$_->{alias}.id" } @of;
	my $order = one_of("$one.id", "$one.id DESC", "$two.id", "$one.p, $one.id", "$one.k", "$one.t");
	my $limit = one_of(1, 10, 100, 500, 5000);

	return weighted(
		[ 8, { sql => "SELECT count(*), sum($one.id), max($two.k) FROM $rest" } ],
		[ 3, { sql => "SELECT $ids, $one.t FROM $rest" } ],
		[ 2, { sql => "SELECT $one.p, count(*), sum($two.id) FROM $rest GROUP BY $one.p" } ],
		[ 1, { sql => "SELECT $one.k, count(*) FROM $rest GROUP BY $one.k HAVING count(*) > 1" } ],
		[ 2, { sql => "SELECT DISTINCT $one.r FROM $rest" } ],
		[ 1, { sql => "SELECT DISTINCT ON ($one.p) $ids FROM $rest ORDER BY $one.p, $ids", ordered => 1 } ],
		[ 2, { sql => "SELECT $ids FROM $rest ORDER BY $order, $ids", ordered => 1 } ],
		[ 3, { sql => "SELECT $ids FROM $rest ORDER BY $order, $ids LIMIT $limit", ordered => 1 } ],
		[ 4, { sql => "SELECT $ids, $one.t FROM $rest ORDER BY $order LIMIT $limit", counted => 1 } ],
		[ 2, { sql => "SELECT $ids FROM $rest LIMIT $limit", counted => 1 } ],
		[ 1, { sql => "SELECT $ids, $one.k FROM $rest ORDER BY $ids LIMIT $limit OFFSET " . one_of(10, 1000), ordered => 1 } ],
		[ 1, { sql => "SELECT EXISTS (SELECT FROM $rest)" } ],
		[ 2, { sql => "SELECT * FROM (SELECT $ids, row_number() OVER (PARTITION BY $one.p ORDER BY $ids) AS n FROM $rest) AS w WHERE n <= $limit" } ],
		[ 1, { sql => "SELECT sum(n) FROM (SELECT count(*) OVER (PARTITION BY $one.r) AS n FROM $rest) AS w" } ]);
}

sub join_of_two
{
	my ($a, $b) = (large(), list());

	($a, $b) = ($b, $a) if chance(0.3);
	return shaped(from($a, $b) . ' WHERE ' . equality($a, $b) . condition($a) . condition($b), $a, $b);
}

sub join_of_large
{
	my ($a, $b) = (large(), large());

	return shaped(from($a, $b) . ' WHERE ' . equality($a, $b) . condition($a) . condition($b, 0.7), $a, $b);
}

sub join_of_three
{
	my ($a, $b, $c) = (large(), list(), chance(0.5) ? list() : large());

	return shaped(from($a, $b, $c) . ' WHERE ' . equality($a, $b) . ' AND ' . equality(one_of($a, $b), $c) . condition($a) . condition($b) . condition($c), $a, $b, $c);
}

# A large table with some lists, as facts with their dimensions
sub star
{
	my ($fact, @lists) = (large(), map { list() } 1 .. between(2, 4));

	return shaped(from($fact, @lists) . ' WHERE ' . join(' AND ', map { equality($fact, $_) } @lists) . join('', map { condition($_) } $fact, @lists), $fact, @lists);
}

# A page of rows in the order of an index, each with what is known of it
sub page
{
	my ($a, $b, $c) = (large(), list(), list());
	my ($order, $descending) = (one_of('id', 'id', 'k'), one_of('', ' DESC'));
	my $after = one_of('true', "$a->{alias}.$order > " . roll($domain / 4), "$a->{alias}.p = " . roll(10));
	my $known = weighted(
		[ 2, sub { "LEFT JOIN $b->{name} $b->{alias} ON " . equality($a, $b) . " WHERE $after" } ],
		[ 2, sub { "JOIN $b->{name} $b->{alias} ON " . equality($a, $b) . condition($b) . " WHERE $after" } ],
		[ 2, sub { 'WHERE NOT EXISTS (SELECT FROM ' . from($b) . ' WHERE ' . equality($a, $b) . condition($b) . ") AND $after" } ],
		[ 1, sub { "JOIN $b->{name} $b->{alias} ON " . equality($a, $b) . " LEFT JOIN $c->{name} $c->{alias} ON " . equality($b, $c) . " WHERE $after" } ])->();

	return { sql => "SELECT $a->{alias}.id, $a->{alias}.t FROM " . from($a) . " $known ORDER BY $a->{alias}.$order$descending LIMIT " . one_of(1, 20, 50), counted => 1 };
}

sub outer_join
{
	my ($a, $b, $c) = (large(), list(), list());
	my $kind = weighted([ 6, 'LEFT' ], [ 2, 'RIGHT' ], [ 1, 'FULL' ]);
	my $where = chance(0.3) ? "$b->{alias}.id IS NULL" : 'true';

	($a, $b) = ($b, $a) if chance(0.5);
	my $on = equality($a, $b);
	return shaped("$a->{name} $a->{alias} $kind JOIN $b->{name} $b->{alias} ON $on" . ($kind eq 'FULL' ? '' : condition($b)) . " WHERE $where" . condition($a), $a, $b) if chance(0.7);
	return shaped("$a->{name} $a->{alias} LEFT JOIN $b->{name} $b->{alias} ON $on LEFT JOIN $c->{name} $c->{alias} ON " . equality(one_of($a, $b), $c) . " WHERE true" . condition($a), $a);
}

sub semi_join
{
	my ($a, $b) = (large(), chance(0.8) ? list() : large());

	($a, $b) = ($b, $a) if chance(0.2);
	my $inner = from($b) . ' WHERE ' . equality($a, $b) . condition($b);
	my $key = one_of(qw(k r t));
	my $in = "$a->{alias}.$key IN (SELECT $b->{alias}.$key FROM " . from($b) . ' WHERE true' . condition($b) . ')';
	my $where = weighted(
		[ 5, "EXISTS (SELECT FROM $inner)" ],
		[ 4, $in ],
		[ 4, "NOT EXISTS (SELECT FROM $inner)" ],
		[ 1, "(EXISTS (SELECT FROM $inner) OR $a->{alias}.p = 3)" ],
		[ 1, "($in OR $a->{alias}.id < 10)" ],
		[ 1, 'NOT ' . $in ],
		[ 1, "$a->{alias}.$key = ANY (ARRAY(SELECT $b->{alias}.$key FROM " . from($b) . ' WHERE true' . condition($b, 1) . ' LIMIT 50))' ]);

	if (chance(0.3))
	{
		my $c = list();
		return shaped(from($a, $c) . " WHERE $where AND " . equality($a, $c) . condition($a), $a, $c);
	}
	return shaped(from($a) . " WHERE $where" . condition($a), $a);
}

# What is asked again for each row
sub subplan
{
	my ($a, $b) = (chance(0.6) ? large() : list(), list());
	my $inner = from($b) . ' WHERE ' . equality($b, $a) . condition($b);
	my $few = condition($a, 0.8);

	return weighted(
		[ 3, shaped(from($a) . " WHERE (SELECT count(*) FROM $inner) > 0$few", $a) ],
		[ 2, { sql => "SELECT $a->{alias}.id, (SELECT count(*) FROM $inner) FROM " . from($a) . " WHERE true$few" } ],
		[ 1, { sql => "SELECT sum((SELECT min($b->{alias}.id) FROM $inner)) FROM " . from($a) . " WHERE true$few" } ],
		[ 2, { sql => "SELECT count(*), sum(s.id) FROM " . from($a) . ", LATERAL (SELECT $b->{alias}.id FROM $inner ORDER BY 1 LIMIT 1) AS s WHERE true$few" } ],
		[ 1, { sql => "SELECT $a->{alias}.id, EXISTS (SELECT FROM $inner) FROM " . from($a) . " WHERE true$few" } ],
		[ 1, { sql => "SELECT count(*) FROM " . from($a) . " WHERE CASE WHEN $a->{alias}.p < 5 THEN EXISTS (SELECT FROM $inner) ELSE false END$few" } ]);
}

# Subqueries in FROM
sub derived
{
	my ($a, $b, $c) = (large(), list(), large());
	my $key = one_of(qw(k r t));

	return weighted(
		[ 3, { sql => "SELECT count(*), sum(g.n) FROM (SELECT $key, count(*) AS n FROM $a->{name} GROUP BY $key) AS g JOIN $b->{name} $b->{alias} ON g.$key = $b->{alias}.$key" . condition($b) } ],
		[ 3, { sql => "SELECT count(*), sum(u.id) FROM (SELECT id, $key FROM $a->{name} UNION ALL SELECT id, $key FROM $c->{name}) AS u JOIN $b->{name} $b->{alias} ON u.$key = $b->{alias}.$key" . condition($b) } ],
		[ 2, { sql => 'WITH w AS' . one_of('', ' MATERIALIZED') . " (SELECT DISTINCT $key FROM $b->{name} $b->{alias} WHERE true" . condition($b) . ") SELECT count(*), sum($a->{alias}.id) FROM " . from($a) . " JOIN w ON w.$key = $a->{alias}.$key" . condition($a) } ],
		[ 1, { sql => "SELECT $key FROM $a->{name} " . one_of('INTERSECT', 'EXCEPT') . " SELECT $key FROM $b->{name}" } ],
		[ 2, { sql => "SELECT count(*) FROM (SELECT * FROM $a->{name} ORDER BY id LIMIT 5000) AS f JOIN $b->{name} $b->{alias} ON f.$key = $b->{alias}.$key" } ]);
}

sub random_query
{
	$aliases = 0;
	return weighted([ 30, \&join_of_two ], [ 8, \&join_of_large ], [ 20, \&join_of_three ], [ 8, \&star ], [ 12, \&page ], [ 12, \&outer_join ], [ 25, \&semi_join ], [ 10, \&subplan ], [ 10, \&derived ])->();
}

sub random_settings
{
	return ('work_mem = ' . one_of("'4MB'", "'256MB'"),
		'max_parallel_workers_per_gather = ' . one_of(0, 0, 2),
		'enable_partitionwise_join = ' . one_of('off', 'off', 'on'),
		'random_page_cost = ' . one_of(4, 4, 1.1));
}

# ---------------------------------------------------------------- measure

my $node = start_server('losers', conf => q{
shared_buffers = 256MB
autovacuum = off
jit = off
fsync = off
max_parallel_workers = 8
log_statement = none
session_preload_libraries = 'bloomfilter'
});
my $file = "$PostgreSQL::Test::Utils::tmp_check/rows";
my ($postmaster) = PostgreSQL::Test::Utils::slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
my $ticks = POSIX::sysconf(POSIX::_SC_CLK_TCK());

# CPU time in ms that a backend has used, and the workers that have ended
sub cpu_ms
{
	my ($session) = @_;
	my @of_postmaster = split ' ', PostgreSQL::Test::Utils::slurp_file("/proc/$postmaster/stat") =~ s/.*\) //sr;

	# cutime and cstime
	return 1000 * $session->cpu + ($of_postmaster[13] + $of_postmaster[14]) * 1000 / $ticks;
}

# Run a query; return the CPU time and the time that it took, and its error or ''
sub run
{
	my ($session, $sql, $limit_ms, $parallel) = @_;
	my $runs = $parallel ? $parallel_runs : 1;
	my $said = '';

	$session->query('SET statement_timeout = ' . int($limit_ms));
	my ($before, $begun) = (cpu_ms($session), time);
	$said .= $session->query("$sql \\g $file") foreach 1 .. $runs;
	my $took = (time - $begun) * 1000;
	return ({ cpu => (cpu_ms($session) - $before) / $runs, took => $took / $runs }, $said =~ /(ERROR:.*)/ ? $1 : '');
}

# What has to be the same of its rows
sub rows_of
{
	my ($query) = @_;
	my @rows = split /^/, PostgreSQL::Test::Utils::slurp_file($file);

	return scalar @rows if $query->{counted};
	@rows = sort @rows unless $query->{ordered};
	return join '', @rows;
}

sub plan_of
{
	my ($session, $sql, $options) = @_;

	return $session->query("EXPLAIN ($options) $sql");
}

# ------------------------------------------------------------------ rounds

my %sessions;
my ($left_out, $different) = (0, 0);

# The same tables, with the same statistics, without and with membership indexes
sub start_round
{
	my ($round) = @_;

	srand($seed * 1000 + $round);
	$state = $states[ $round % @states ];
	$_->quit foreach values %sessions;
	$node->safe_psql('postgres', "DROP DATABASE IF EXISTS $_") foreach 'plain', 'indexed';
	$node->safe_psql('postgres', 'CREATE DATABASE plain');
	$node->safe_psql('plain', join ";\n", 'CREATE EXTENSION bloomfilter', (map { create_table($_) } sort { $rows{$a} <=> $rows{$b} } keys %rows), 'VACUUM',
		$state eq 'stale' ? 'ANALYZE ' . join(', ', @lists) : 'ANALYZE');
	$node->safe_psql('postgres', 'CREATE DATABASE indexed TEMPLATE plain STRATEGY file_copy');
	$node->safe_psql('indexed', join ";\n", create_indexes());
	%sessions = (plain => Session->new($node, undef, 'plain'), map { $_->{name} => Session->new($node, undef, $_->{database}) } @kinds);
	$sessions{plain}->query('SET bloomfilter.join_filter = off');
	$sessions{ $_->{name} }->query($_->{settings}) foreach grep { $_->{settings} } @kinds;
}

# The least of two times, of each kind
sub least
{
	my ($one, $other) = @_;

	return $one unless $other;
	return { map { $_ => min($one->{$_}, $other->{$_}) } keys %$one };
}

# How often the filtered query takes the time of the plain one, of each kind
sub slowness
{
	my ($plain, $filtered, $parallel) = @_;
	my $slack = $slack_ms + ($parallel ? 2 * $tick_ms / $parallel_runs : 0);

	return { map { $_ => ($filtered->{$_} + $slack) / ($plain->{$_} + $slack) } keys %$plain };
}

# A query as it can be repeated by hand
sub as_script
{
	my ($query, $settings) = @_;
	return join ";\n", (map { "SET $_" } @$settings), $query->{sql};
}

# The plan with what it counts; without, if that takes too long
sub plan_with_counts
{
	my ($session, $sql) = @_;

	$session->query("SET statement_timeout = $explained_ms_most");
	my $plan = plan_of($session, $sql, 'ANALYZE, TIMING off, SUMMARY off');
	return $plan =~ /^ERROR/m ? plan_of($session, $sql, 'COSTS on') : $plan;
}

# Compare one kind of filter with the plain query, whose plan, rows and least time are given
sub compare
{
	my ($kind, $number, $query, $settings, $plain) = @_;
	my $session = $sessions{ $kind->{name} };
	my $plan = plan_of($session, $query->{sql}, 'COSTS off');
	my $name = "query $number of seed $seed ($state)";
	my ($filtered, $slowness);

	$kind->{count}{$_}++ foreach 'all', $state;
	return if $plan eq $plain->{plan};
	my $parallel = "$plan$plain->{plan}" =~ /Gather/;
	# the first run was not one of so many in a row
	($plain->{ms}) = run($sessions{plain}, $query->{sql}, 2 * $plain_ms_most, 1) if $parallel && !$plain->{parallel}++;
	foreach my $turn (1 .. $repeats)
	{
		my ($ms, $error) = run($session, $query->{sql}, $cut_off * $plain->{ms}{cpu} + $busy_ms, $parallel);

		if ($error eq '' && rows_of($query) ne $plain->{rows})
		{
			$different++;
			diag("$name: other rows with $kind->{name}\n" . as_script($query, $settings) . "\n$plan\n");
		}
		diag("$name: $kind->{name}: $error") if $error !~ /^$|57014/;
		$filtered = least($ms, $filtered);
		$slowness = slowness($plain->{ms}, $filtered, $parallel);
		last if $error ne '' || min(values %$slowness) < $suspect && !$only_query;
		my ($again) = run($sessions{plain}, $query->{sql}, 2 * $plain_ms_most, $parallel);
		$plain->{ms} = least($again, $plain->{ms});
		$slowness = slowness($plain->{ms}, $filtered, $parallel);
	}
	my $slower_by = min(values %$slowness);
	foreach my $of ('all', $state)
	{
		push @{ $kind->{gains}{$of} }, 1 / $slowness->{cpu};
		push @{ $kind->{slower}{$of} }, $slower_by;
	}
	return if $slower_by < $shown && !$only_query;
	diag(sprintf "%s: %.2f times slower with %s: %.1f ms, and %.1f ms of CPU time\n%s;\nwithout:\n%s\nwith:\n%s\n",
		$name, $slower_by, $kind->{name}, $plain->{ms}{cpu}, $filtered->{cpu}, as_script($query, $settings), map { plan_with_counts($_, $query->{sql}) } $sessions{plain}, $session);
}

my $started = -1;
foreach my $number ($only_query // 1 .. $only_query // $queries)
{
	my $round = int(($number - 1) / $round_queries);

	start_round($started = $round) if $started != $round;
	srand($seed * 1000_000 + $number);
	my $query = random_query();
	my @settings = random_settings();

	foreach my $session (values %sessions)
	{
		$session->query("SET $_") foreach @settings;
	}
	my %plain = (plan => plan_of($sessions{plain}, $query->{sql}, 'COSTS off'));
	($plain{ms}, my $error) = run($sessions{plain}, $query->{sql}, $plain_ms_most);
	if ($error ne '')
	{
		$left_out++;
		diag("query $number: $error\n$query->{sql}") if $error !~ /57014/;
		next;
	}
	$plain{rows} = rows_of($query);
	compare($_, $number, $query, \@settings, \%plain) foreach @kinds;
}

# ---------------------------------------------------------------- verdicts

sub mean { return @_ ? sum(@_) / @_ : 0 }

note(sprintf 'seed %d: %d queries, %d of them left out', $seed, $queries, $left_out);
is($different, 0, 'the same rows');
cmp_ok($left_out, '<=', $left_out_share_most * $queries, 'most queries end in time');
foreach my $kind (@kinds)
{
	foreach my $of (@states, 'all')
	{
		my $count = $kind->{count}{$of} or next;
		my @gains = sort { $a <=> $b } @{ $kind->{gains}{$of} // [] };
		my @slower_by = sort { $b <=> $a } @{ $kind->{slower}{$of} // [] };
		my $worst = $slower_by[0] // 1;
		my @found;

		foreach my $factor (@factors)
		{
			push @found, scalar grep { $_ > $factor } @slower_by;
		}
		note(sprintf '%s, %s: %d queries, %d with another plan, whose mean gain is %.2f (geometric %.2f; of all queries %.2f); slower %s, at most %.2f times',
			$kind->{name}, $of, $count, scalar @gains, mean(@gains), exp(mean(map { log } @gains)),
			mean(@gains, (1) x ($count - @gains)), join(', ', map { "by $factors[$_] $found[$_]" } 0 .. $#factors), $worst);
		my $limit = $limits{$of} or next;

		foreach my $i (0 .. $#factors)
		{
			my $expected = $limit->{slower}[$i] * $count;

			cmp_ok($found[$i], '<=', $expected + 2 * sqrt($expected), "$kind->{name}, $of: slower than $factors[$i]");
		}
		cmp_ok($worst, '<', $limit->{worst}, "$kind->{name}, $of: none as slow as $limit->{worst}");
		cmp_ok(exp(mean(map { log } @gains)), '>=', $kind->{gain_least}{$of}, "$kind->{name}, $of: mean gain of other plans");
	}
}

$_->quit foreach values %sessions;
$node->stop;
done_testing();
