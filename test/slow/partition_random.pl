# Partition Filters lose no row, nor do joins that skip partitions by their bounds, whatever
# happens to the partitions meanwhile: random queries, cursors and changes in the snapshot
# of one transaction, without filters, with them, and without again, while other sessions attach, detach, truncate, reindex and move
# rows.  All three find the same rows if no partition comes between them and none is being
# detached.  Otherwise core's own pruning misses rows, and the filter must lose none of
# those it finds.  Rows of some keys are always there: a change of them, READ COMMITTED,
# finds all.
#
#     PARTITION_SECONDS=3600      more than the 40
#     FUZZ_SEED=1                 the same statements again (but not the same moments)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";

use PostgreSQL::Test::Utils;
use Random;
use Server;
use Session;
use Test::More;
use Time::HiRes qw(usleep);

my $seconds = $ENV{PARTITION_SECONDS} || 40;
my $seed = $ENV{FUZZ_SEED} || time;
my $days = 10;
my $keys = 60;
my $readers = 2;
my $changers = 3;
my $counters = 2;
# partitions that stay: of rows that are always there, with keys from this one on
my $kept_days = 2;
my $first_kept = 1000;
my $kept_keys = 3;
my %count = map { $_ => 0 } qw(compared equal filtered joined skipped failed changed refused counted);
my @faults;

srand($seed);
note("seed $seed");

my $node = start_server('partitions', conf => q{
max_connections = 30
deadlock_timeout = 20ms
autovacuum_naptime = 1s
max_parallel_workers_per_gather = 0
# the first statement of a session has filters, too
session_preload_libraries = bloomfilter
});

# The bounds of the partition of one day, by table; one has a default partition
my %bounds = (
	range => sub { "FOR VALUES FROM ($_[0]) TO ($_[0] + 1)" },
	list => sub { "FOR VALUES IN ($_[0])" },
	hash => sub { "FOR VALUES WITH (MODULUS $days, REMAINDER $_[0])" },
	rest => sub { $_[0] == $kept_days ? 'DEFAULT' : "FOR VALUES IN ($_[0])" });
my @tables = sort keys %bounds;

foreach my $table (@tables)
{
	my $kind = $table eq 'rest' ? 'list' : $table;
	my $setup = "CREATE TABLE $table (day int, k bigint, name text, n int) PARTITION BY $kind (day);\n";

	foreach my $day (0 .. $days - 1)
	{
		# a partition with partitions
		my $below = $day == $days - 1 ? ' PARTITION BY HASH (k)' : '';

		$setup .= "CREATE TABLE ${table}_$day PARTITION OF $table " . $bounds{$table}->($day) . "$below;\n";
		$setup .= join '', map { "CREATE TABLE ${table}_${day}_$_ PARTITION OF ${table}_$day FOR VALUES WITH (MODULUS 2, REMAINDER $_);\n" } 0, 1 if $below;
		# those of one table are nobody's part, so each can be dropped by itself
		$setup .= "CREATE INDEX ${table}_${day}_filter ON ${table}_$day USING membership (k);\n" if $table eq 'list';
	}
	$setup .= "CREATE INDEX ON $table (k); CREATE INDEX ON $table (name);\n";
	$setup .= "CREATE INDEX ON $table USING membership (k);\n" if $table ne 'list';
	$setup .= "CREATE INDEX ON $table USING membership (name);\n";
	$setup .= "INSERT INTO $table SELECT i % $days, i % $keys, 'n' || i % $keys, i FROM generate_series(1, 300) i WHERE i % 7 < 3;\n";
	$setup .= "INSERT INTO $table SELECT d, $first_kept + i, 'kept', 0 FROM generate_series(0, $kept_days - 1) d, generate_series(0, $kept_keys - 1) i;\n";
	$node->safe_psql('postgres', $setup);
}
$node->safe_psql('postgres', q{
	CREATE TABLE wanted AS SELECT i::bigint AS id FROM generate_series(1, 40, 3) i;
	CREATE TABLE days AS SELECT i AS day, i::bigint * 1000000 AS far FROM generate_series(0, 12) i;
	CREATE FUNCTION looped(query text) RETURNS SETOF text LANGUAGE plpgsql AS
		$$ DECLARE r record; BEGIN FOR r IN EXECUTE query LOOP RETURN NEXT r::text; END LOOP; END $$;
	VACUUM ANALYZE});

sub key { return roll($keys + 3) }

sub condition
{
	my @all = map { key() } 1 .. 3;

	return one_of("k = $all[0]", "k = $all[0]", "k = ANY ('{$all[0], NULL, $all[1]}')", "k IN ($all[0], $all[1], $all[2])",
		"k = (SELECT $all[0]::bigint)", "k = $all[0]::int", "name = 'n$all[0]'", "name IN ('n$all[0]', 'n$all[1]')",
		"k = $all[0] AND day >= " . roll($days), "k = ANY (ARRAY(SELECT id FROM wanted WHERE id < $all[0]))");
}

sub query
{
	my ($table) = @_;
	my $condition = condition();

	return one_of("SELECT * FROM $table WHERE $condition", "SELECT k FROM $table WHERE $condition",
		"SELECT tableoid::regclass, ctid, * FROM $table WHERE $condition AND n >= 0",
		"SELECT * FROM wanted w JOIN $table t ON t.k = w.id",
		"SELECT * FROM wanted w LEFT JOIN $table t ON t.k = w.id AND t.day = w.id % $days",
		"SELECT *, (SELECT count(*) FROM $table t WHERE t.k = w.id) FROM wanted w",
		"SELECT * FROM wanted w, LATERAL (SELECT * FROM $table t WHERE t.k IN (w.id, w.id + 1) OFFSET 0) l",
		"SELECT 1, * FROM $table WHERE $condition UNION ALL SELECT 2, * FROM " . one_of(@tables) . " WHERE " . condition(),
		"SELECT looped('SELECT * FROM $table WHERE k = " . key() . "')");
}

# Of the days' table, so that core cannot prune by it
sub some_days
{
	my @all = map { roll($days + 2) } 1 .. 3;

	return one_of("d.day IN ($all[0], $all[1])", "d.day IN ($all[0], $all[1], $all[2])", "d.day BETWEEN $all[0] AND $all[0] + 1",
		"d.far = $all[0] * 1000000", "d.day + 0 = $all[0]");
}

# Of a hash join, whose keys are days
sub joined
{
	my ($table) = @_;
	my $days = some_days();

	return one_of("SELECT t.* FROM $table t JOIN days d ON t.day = d.day WHERE $days", "SELECT t.* FROM $table t JOIN days d ON t.day = d.day WHERE $days",
		"SELECT t.tableoid::regclass, t.ctid, t.* FROM $table t WHERE day IN (SELECT day FROM days d WHERE $days)",
		"SELECT t.* FROM $table t JOIN days d ON t.day = d.day JOIN wanted w ON t.k = w.id WHERE $days",
		# so sparse that only the least and the greatest are known
		"SELECT t.* FROM $table t JOIN days d ON t.day = d.far WHERE d.day < " . between(1, 5),
		"SELECT t.* FROM $table t RIGHT JOIN (SELECT * FROM days d WHERE $days OFFSET 0) d ON t.day = d.day WHERE t.k >= 0");
}

sub joined_change
{
	my ($table) = @_;
	my $days = some_days();

	return one_of("UPDATE $table t SET n = n + 1 FROM days d WHERE t.day = d.day AND $days RETURNING t.*",
		"DELETE FROM $table t USING days d WHERE t.day = d.day AND $days RETURNING t.*",
		"SELECT t.* FROM $table t JOIN days d ON t.day = d.day WHERE $days FOR UPDATE OF t");
}

sub change
{
	my ($table) = @_;
	my $condition = condition();

	return one_of("UPDATE $table SET n = n + 1 WHERE $condition RETURNING *", "UPDATE $table SET day = (day + 1) % $days WHERE $condition RETURNING *",
		"UPDATE $table t SET n = -n FROM wanted w WHERE t.k = w.id RETURNING *", "DELETE FROM $table WHERE $condition RETURNING *",
		"SELECT * FROM $table WHERE $condition FOR UPDATE", "SELECT * FROM $table WHERE $condition FOR SHARE");
}

# What more rows take away from: a count, a row without a partner, a place to go back to
my $fewer_by_more = qr/count\(|LEFT JOIN|BACKWARD/;
# The partitions of the tables that a reader reads, and those that are being detached, as a
# part of it begins; it locks those that it finds
sub partitions
{
	my ($steps) = @_;

	my @read = grep { "@$steps" =~ /\b$_\b|\b${_}_\$/ } @tables;

	return join ' UNION ALL ', map { ("SELECT relid::text FROM pg_partition_tree('$_')",
		"SELECT 'pending' FROM pg_inherits WHERE inhdetachpending AND inhparent = '$_'::regclass") } @read;
}

# Statements to be run in each way, as one who sees the rows of none of the others
sub steps
{
	my ($table) = @_;
	my $query = query($table);
	my $fetched = between(1, 3);

	return weighted([ 5, [$query] ], [ 4, [ change($table) ] ],
		[ 4, [ sprintf 'EXECUTE %s_$way(%d)', $table, key() ] ],
		[ 1, [ "DECLARE c NO SCROLL CURSOR FOR $query", "FETCH $fetched c", 'DO $$ BEGIN PERFORM pg_sleep(0.01); END $$', 'FETCH ALL c' ] ],
		[ 1, [ "DECLARE c SCROLL CURSOR FOR $query", "FETCH $fetched c", 'FETCH BACKWARD 1 c', 'FETCH ALL c', 'FETCH BACKWARD ALL c' ] ],
		[ 2, [ 'DECLARE c CURSOR FOR SELECT * FROM ' . "$table WHERE " . condition() . ' FOR UPDATE', 'MOVE 1 c', 'FETCH ALL c' ] ],
		[ 1, [ "DECLARE c CURSOR FOR SELECT * FROM $table WHERE k = " . key() . ' FOR UPDATE', 'FETCH c', "UPDATE $table SET n = 0 WHERE CURRENT OF c RETURNING k", 'FETCH ALL c' ] ]);
}

sub joined_steps
{
	my ($table) = @_;
	my $query = joined($table);

	return weighted([ 8, [$query] ], [ 2, [ joined_change($table) ] ], [ 1, ["EXECUTE ${table}_days_\$way(" . roll($days) . ')'] ],
		[ 1, [ "DECLARE c SCROLL CURSOR FOR $query", 'FETCH ' . between(1, 3) . ' c', 'FETCH BACKWARD 1 c', 'FETCH ALL c' ] ]);
}

sub reader_start
{
	my ($self) = @_;
	my $table = one_of(@tables);
	my $joins = chance(0.4);
	my $steps = $joins ? joined_steps($table) : steps($table);
	my $partitions = partitions($steps);
	my $explain = $joins ? 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)' : 'EXPLAIN';
	# a lock that ROLLBACK TO does not release: partitions that were read remain so
	my $sql = 'BEGIN ISOLATION LEVEL ' . one_of('REPEATABLE READ', 'REPEATABLE READ', 'SERIALIZABLE') . ";\n"
		. 'LOCK TABLE ' . join(', ', @tables) . " IN ACCESS SHARE MODE;\n"
		. join '', map { "SET LOCAL enable_$_ = off;\n" } $joins ? qw(indexscan bitmapscan nestloop mergejoin) : qw(seqscan hashjoin mergejoin);

	$sql .= 'SET LOCAL ' . one_of(qw(enable_bitmapscan enable_indexscan enable_indexonlyscan enable_memoize)) . " = off;\n" if !$joins && chance(0.5);
	# the snapshot; and rows of its own
	$sql .= "SELECT 1 FROM wanted WHERE false;\n";
	$sql .= "INSERT INTO $table SELECT d, " . key() . ", 'n' || d, 7 FROM generate_series(0, 1) d;\n" if chance(0.3);
	foreach my $part (qw(off on again))
	{
		my $way = $part eq 'on' ? 'on' : 'off';
		my $setting = $joins ? 'join_filter = ' . ($way eq 'on' ? 'force' : 'off') : "partition_filter = $way";

		$sql .= "SET LOCAL bloomfilter.$setting; SAVEPOINT s;\n"
			. "\\echo part before $part\n$partitions;\n\\echo part $part\n";
		$sql .= join '', map { (my $step = $_) =~ s/\$way/$way/; "$step;\n" } @$steps;
		$sql .= "\\echo part plan\n$explain $steps->[0];\n" =~ s/\$way/on/r if $part eq 'on';
		$sql .= "\\echo part none\nROLLBACK TO s;\n";
		$sql .= 'DO $$ BEGIN PERFORM pg_sleep(' . rand(0.02) . "); END \$\$;\n";
	}
	$self->{told} = $sql;
	$self->{session}->start("$sql\\echo part none\n" . one_of('COMMIT', 'ROLLBACK'));
}

sub reader_end
{
	my ($self) = @_;
	my %rows;
	my $part = 'none';
	my $out = $self->{session}->end;

	foreach my $line (split /\n/, $out)
	{
		if ($line =~ /^part (.+)$/) { $rows{ $part = $1 } //= [] }
		else { push @{ $rows{$part} }, $line }
	}
	# what core alone refuses: a cursor's row in a partition that is pruned, a row
	# without a partition; and what sessions do to each other
	my $refused = join "\n", map { @{ $rows{$_} // [] } } qw(off again);
	my $before = join ' ', sort @{ $rows{'before off'} // [] };
	my $moving = $before =~ /pending/ || $before ne join ' ', sort @{ $rows{'before again'} // [] };
	if ($out =~ /^(?:ERROR|FATAL|PANIC): ++(?!40001|40P01|25P02|3B001)/m)
	{
		$count{failed}++;
		push @faults, "$self->{told}\n$out" if $refused !~ /^ERROR:/m && !$moving;
		return;
	}
	$count{joined}++ if $self->{told} =~ /join_filter/;
	$count{skipped} += $_ foreach map { /Skipped by Partition Bound: (\d+)/ } @{ $rows{plan} };
	$count{filtered}++ if grep { /Partition Filter/ } @{ $rows{plan} };
	if ($out =~ /^ERROR:/m || lost_and_added($rows{off}, $rows{again})) { $count{failed}++; return }
	$count{compared}++;
	$count{equal}++ if !$moving;
	my @differ = lost_and_added($rows{off}, $rows{on});
	@differ = $self->{told} =~ $fewer_by_more ? () : grep { /^lost/ } @differ if $moving;
	push @faults, join "\n", @differ, $self->{told}, @{ $rows{plan} } if @differ;
}

sub changer_start
{
	my ($self) = @_;
	my $table = one_of(@tables);
	my $part = $table . '_' . between($kept_days, $days - 1);
	my ($day) = $part =~ /(\d+)$/;
	my $detached = sub { "ALTER TABLE $table DETACH PARTITION $part" . one_of('', ' CONCURRENTLY') . ";\nALTER TABLE $table DETACH PARTITION $part FINALIZE" };
	my $attach = "ALTER TABLE $table ATTACH PARTITION $part " . $bounds{$table}->($day);
	# a row of that day in the default partition would refuse it
	$attach = "DELETE FROM rest_$kept_days WHERE day = $day;\n$attach" if $table eq 'rest';
	my $in_part = "INSERT INTO $part SELECT day, k, name, n FROM $table WHERE day = $day LIMIT 5";
	my $key = key();

	$self->{session}->start(weighted(
		[ 6, join ";\n", $detached->(), one_of("TRUNCATE $part", "DELETE FROM $part WHERE k % 2 = 0", "UPDATE $part SET k = k + 1", "REINDEX TABLE $part", 'SELECT 1'), "SELECT pg_sleep(0.02)", $attach ],
		[ 3, $attach ],
		[ 2, "BEGIN; ALTER TABLE $table DETACH PARTITION $part; INSERT INTO $part SELECT day, " . key() . ", name, n FROM $part; $attach; COMMIT" ],
		[ 2, 'REINDEX TABLE CONCURRENTLY ' . one_of($table, $part) ],
		[ 1, "REINDEX TABLE $part" ],
		[ 3, "DROP INDEX CONCURRENTLY list_${day}_filter" ],
		[ 3, "CREATE INDEX CONCURRENTLY list_${day}_filter ON list_$day USING membership (k)" ],
		[ 1, "TRUNCATE $part" ],
		[ 1, "BEGIN; TRUNCATE $part; $in_part; " . one_of('COMMIT', 'ROLLBACK') ],
		[ 1, one_of('VACUUM', 'VACUUM FULL', 'ANALYZE') . " $part" ],
		[ 8, "INSERT INTO $table SELECT d, $key, 'n$key', d FROM generate_series(" . roll(5) . ', ' . between(5, $days - 1) . ') d' ],
		[ 3, "DELETE FROM $table WHERE k = $key" ],
		[ 4, "UPDATE $table SET day = (day + " . between(1, 9) . ") % $days WHERE k = $key" ],
		[ 3, "UPDATE $table SET k = " . key() . " WHERE k = $key" ],
		# what DETACH CONCURRENTLY has left, where it waited too long, and REINDEX CONCURRENTLY
		[ 6, q{SELECT format('ALTER TABLE %s DETACH PARTITION %s FINALIZE', inhparent::regclass, inhrelid::regclass) FROM pg_inherits WHERE inhdetachpending} . "\n\\gexec\nSELECT 1" ],
		[ 1, q{SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE NOT indisvalid AND relname LIKE '%\_cc%'} . "\n\\gexec\nSELECT 1" ]));
}

sub changer_end
{
	my ($self) = @_;

	$count{ $self->{session}->end =~ /ERROR/ ? 'refused' : 'changed' }++;
}

sub counter_start
{
	my ($self) = @_;
	# a day's place in a hash is not in the hands of this test
	my $table = one_of(qw(list range rest));
	my $where = "k = $first_kept + " . roll($kept_keys);
	my $join = join '', map { "SET LOCAL enable_$_ = off; " } qw(indexscan bitmapscan nestloop mergejoin);

	$self->{session}->start('BEGIN; ' . one_of("UPDATE $table SET n = n + 1 WHERE $where RETURNING 'kept'",
			"SELECT 'kept' FROM $table WHERE $where FOR UPDATE",
			"UPDATE $table SET n = n + 1 WHERE $where AND name = (SELECT 'kept') RETURNING name",
			$join . "SELECT 'kept' FROM $table t JOIN days d ON t.day = d.day WHERE $where AND d.day < $kept_days" . one_of('', ' FOR UPDATE OF t'))
		. ";\nDO \$\$ BEGIN PERFORM pg_sleep(" . rand(0.01) . "); END \$\$;\nCOMMIT");
}

sub counter_end
{
	my ($self) = @_;
	my $out = $self->{session}->end;

	return if $out =~ /^(?:ERROR): +(?:40P01|40001|55P03)/m;
	$count{counted}++;
	push @faults, "not $kept_days rows that are always there: $out" if join(' ', split /\n/, $out) ne join(' ', ('kept') x $kept_days);
}

# What each kind of session does
my %doing = (reader => [ \&reader_start, \&reader_end ], changer => [ \&changer_start, \&changer_end ], counter => [ \&counter_start, \&counter_end ]);
my @sessions = map { { kind => $_, session => Session->new($node) } } ('reader') x $readers, ('changer') x $changers, ('counter') x $counters;

foreach my $self (@sessions)
{
	my $session = $self->{session};

	if ($self->{kind} eq 'reader')
	{
		$session->query("SET plan_cache_mode = force_generic_plan; SET statement_timeout = '600s'");
		foreach my $table (@tables)
		{
			foreach (qw(on off))
			{
				$session->query("PREPARE ${table}_$_(bigint) AS SELECT * FROM $table WHERE k = \$1");
				$session->query("PREPARE ${table}_days_$_(int) AS SELECT t.* FROM $table t JOIN days d ON t.day = d.day WHERE d.day + 0 = \$1");
			}
		}
	}
	else { $session->query("SET enable_seqscan = off; SET bloomfilter.partition_filter = on; SET bloomfilter.join_filter = force; SET lock_timeout = '300ms'") }
	$doing{ $self->{kind} }[0]->($self);
}
my $until = time + $seconds;
# a slow machine needs longer for as much; minutes later something hangs
my ($compared_least, $counted_least, $hangs) = (2 * $seconds, $seconds, $until + 900);
sub goes_on
{
	return time < $until || time < $hangs && ($count{compared} < $compared_least || $count{counted} < $counted_least);
}
while (my @busy = grep { !$_->{done} } @sessions)
{
	foreach my $self (@busy)
	{
		next unless $self->{session}->answered;
		$doing{ $self->{kind} }[1]->($self);
		if (!@faults && goes_on()) { $doing{ $self->{kind} }[0]->($self) }
		else { $self->{done} = 1 }
	}
	usleep(500);
}
$_->{session}->quit foreach @sessions;
push @faults, server_faults($node);
is(scalar @faults, 0, "no row is lost, seed $seed");
diag(map { "$_\n---\n" } @faults[ 0 .. ($#faults < 3 ? $#faults : 3) ]) if @faults;
note(join ', ', map { "$_ $count{$_}" } sort keys %count);
cmp_ok($count{compared}, '>=', $compared_least, 'enough was compared');
cmp_ok($count{equal}, '>=', $count{compared} / 4, 'enough had to be equal');
cmp_ok($count{filtered}, '>=', $count{compared} / 4, 'enough plans had a filter');
cmp_ok($count{joined}, '>=', $count{compared} / 5, 'enough were joins');
cmp_ok($count{skipped}, '>=', 2 * $count{joined}, 'enough partitions were skipped by their bounds');
cmp_ok($count{changed}, '>=', $count{refused} / 4, 'enough was changed meanwhile');
cmp_ok($count{counted}, '>=', $counted_least, 'enough rows that stay were found');

$node->stop;
done_testing();
