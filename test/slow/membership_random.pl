# Random SQL over tables with membership indexes, from several sessions at once: lookups
# of every form, insertions, savepoints, cursors, DDL.  Every lookup is part of a
# statement that reads the table by the same snapshot, so the table itself is the exact
# answer: a row that is visible, and not in the index, is a fault.  So is an unexpected
# error, a lost connection, a statement that outlives its timeout, and
# what an assertion or a leak leaves in the server's log.
#
#     RANDOM_SECONDS=3600    more than the 75
#     FUZZ_SEED=1            the same statements again (but not the same moments)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Crash qw(wait_until_back);
use List::Util qw(min);
use POSIX qw(WNOHANG);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Random qw(roll one_of chance weighted_entry);
use Test::More;
use Time::HiRes qw(usleep time);

my $seconds = $ENV{RANDOM_SECONDS} || 75;
my $seed = $ENV{FUZZ_SEED} || time;
# At once, and what each does in a round: single statements or whole transactions
my ($sessions, $turns) = (12, 50);
# The most statements in a transaction
my $most_in_transaction = 10;
# What a session inserts at once, and how many values there are
my ($most_rows, $values) = (60, 1_000_000_000);
# Subtransactions whose xids a snapshot cannot hold: PGPROC has room for 64
my $many_subtransactions = 70;
# Tables that a round is mostly about, and how much
my ($tables_in_focus, $focus) = (3, 0.6);
# Long commands that do not wait have more time
my ($statement_ms, $lock_ms, $patient_ms) = (1000, 100, 2000);
# An index alone is locked this long; no other statement may take as long
my ($hold_seconds, $too_long_ms) = (5, 4000);
# A round takes some seconds; one that takes longer than this hangs
my $round_seconds = 180;
# Kinds of faults reported of a round, and the lines before each
my ($most_faults, $lines_before) = (10, 25);

note("seed $seed");

my $node = PostgreSQL::Test::Cluster->new('random');
$node->init;
$node->append_conf('postgresql.conf', q{
restart_after_crash = on
autovacuum_naptime = 1s
deadlock_timeout = 50ms
max_connections = 50
max_prepared_transactions = 50
max_worker_processes = 16
max_parallel_workers = 12
jit = off
log_statement = none
log_line_prefix = '%m [%p] %a %e '
});
$node->start;
my $dir = $PostgreSQL::Test::Utils::tmp_check;
my $force_parallel = $node->safe_psql('postgres', 'SHOW server_version_num') < 160000
  ? 'force_parallel_mode' : 'debug_parallel_query';

# ------------------------------------------------------------------ tables

# All have the same columns.  Of each: what is indexed, how an element is written of a
# row, which rows have one; and what may be done beside reading and writing rows.
# "index" is what is indexed if that is not what "=" compares: an element of an array.
my %tables = (
	plain => { on => 'x', key => ['x'], ddl => 1, cluster => 1, types => [ 'x bigint', 'x integer' ] },
	expr => { on => 'lower(t)', key => ['lower(t)'], ddl => 1, types => [ 't text', 't varchar(100)' ] },
	partial => { on => 'x', key => ['x'], where => 'y > 0', ddl => 1, types => [ 'x bigint', 'x integer' ] },
	padded => { on => 'c', key => [ 'c', 'c::text', 'rpad(c::text, 10)' ], ddl => 1, types => [ 'c char(8)', 'c char(10)' ] },
	pair => { on => 'x, t', key => ['ROW(x, t)'], ddl => 1, cluster => 1, types => [ 't text', 't varchar(100)' ] },
	elements => { on => 'x', index => '(ARRAY[x, NULL, x + 1]) array_elements_ops', key => [ 'x', 'x + 1' ], ddl => 1, types => [ 'x bigint', 'x integer' ] },
	quick => { on => 'x', key => ['x'], ddl => 1, options => 'UNLOGGED' },
	own => { on => 'x', key => ['x'], ddl => 1, options => 'TEMPORARY' },
	# nothing but REINDEX is done to it: a query that reads it finds a valid index
	steady => { on => 'x', key => ['x'] },
	parted => { on => 'x', key => ['x'] },
	(map { ("parted_$_" => { on => 'x', key => ['x'], partition => $_ }) } 0 .. 3),
	# refused, because the index does not have the rows of "child"
	parent => { on => 'x', key => ['x'], refused => 1 },
	child => { on => 'x', key => ['x'], child => 1 });
my @names = sort keys %tables;
my @partitions = grep { defined $tables{$_}{partition} } @names;
$tables{$_}{name} = $_ foreach @names;

sub create_index
{
	my ($table, $how) = @_;
	my $where = $table->{where} ? "WHERE $table->{where}" : '';

	return sprintf 'CREATE INDEX %s%s_i ON %s USING membership (%s) WITH (capacity = %d, error_rate = %s, growth = %d) %s',
	  $how // '', $table->{name}, $table->{name}, $table->{index} // $table->{on}, one_of(1, 10, 100, 1000), one_of(0.3, 0.01, 0.001, 0.00001),
	  one_of(1, 2, 2, 4), $where;
}

sub create_table
{
	my ($table) = @_;
	my $name = $table->{name};
	my @sql;

	if (defined $table->{partition})
	{
		push @sql, "CREATE TABLE $name PARTITION OF parted FOR VALUES IN ($table->{partition})";
	}
	else
	{
		push @sql, 'CREATE ' . ($table->{options} // '') . " TABLE $name "
		  . ($table->{child} ? '() INHERITS (parent)' : q{(x bigint, t text DEFAULT 'Text ' || random(), c char(8) DEFAULT left(random()::text, 6), y int DEFAULT 1, z int)})
		  . ($name eq 'parted' ? ' PARTITION BY LIST (y)' : '');
	}
	push @sql, create_index($table) unless $name eq 'parted';
	push @sql, "CREATE INDEX ${name}_b ON $name (x)" if $table->{cluster};
	return @sql;
}

my $functions = q{
	CREATE FUNCTION run(lookup text) RETURNS SETOF text LANGUAGE plpgsql VOLATILE AS $$
	BEGIN RETURN QUERY EXECUTE lookup; END $$;
	CREATE FUNCTION run_stable(lookup text) RETURNS SETOF text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
	BEGIN RETURN QUERY EXECUTE lookup; END $$;
	CREATE FUNCTION wrong(lookup text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
	DECLARE n bigint; BEGIN EXECUTE 'SELECT count(*) FROM (' || lookup || ') q' INTO n; RETURN n; END $$;

	-- Exceptions within exceptions; an insertion has %s for its first value
	CREATE FUNCTION nested(insertion text, lookup text, first bigint, depth int) RETURNS SETOF text LANGUAGE plpgsql AS $$
	BEGIN
		IF depth = 0 THEN RETURN; END IF;
		BEGIN
			EXECUTE format(insertion, first);
			IF depth % 2 = 0 THEN RETURN QUERY EXECUTE lookup; ELSE PERFORM pg_sleep(0.02); END IF;
			RETURN QUERY SELECT * FROM nested(insertion, lookup, first + 100, depth - 1);
			IF depth % 3 = 0 THEN RAISE EXCEPTION SQLSTATE 'UN000'; END IF;
		EXCEPTION WHEN SQLSTATE 'UN000' OR serialization_failure OR deadlock_detected OR lock_not_available THEN
			RETURN QUERY EXECUTE lookup;
		END;
		RETURN QUERY EXECUTE lookup;
	END $$;
	CREATE FUNCTION many(insertion text, lookup text, first bigint, count int) RETURNS SETOF text LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. count LOOP
			BEGIN
				EXECUTE format(insertion, first + 100 * i);
				IF i % 7 = 0 THEN RAISE EXCEPTION SQLSTATE 'UN000'; END IF;
			EXCEPTION WHEN SQLSTATE 'UN000' THEN NULL;
			END;
		END LOOP;
		RETURN QUERY EXECUTE lookup;
	END $$;

	-- Lookups while a row is inserted: the rows before it are seen
	CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE bad bigint;
	BEGIN
		EXECUTE format('SELECT x FROM %I WHERE x BETWEEN $1 - 20 AND $1 AND membership_contains(%L::text::regclass, %s) IS FALSE LIMIT 1',
			TG_TABLE_NAME, TG_TABLE_NAME || '_i', TG_ARGV[0]) INTO bad USING NEW.x;
		IF bad IS NOT NULL THEN RAISE EXCEPTION 'FALSE NO of % in a trigger', bad; END IF;
		RETURN NEW;
	END $$;
	CREATE FUNCTION probed() RETURNS int LANGUAGE sql STABLE AS $$
		SELECT membership_contains('steady_i'::text::regclass, 5::bigint)::int $$;
	CREATE FUNCTION allowed(x bigint) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN RETURN membership_contains('steady_i'::text::regclass, x) IS NOT NULL; END $$;
};

sub setup
{
	my @sql = ('CREATE EXTENSION bloomfilter');
	push @sql, map { create_table($tables{$_}) } grep { $_ ne 'own' && $_ ne 'child' } @names;
	push @sql, create_table($tables{child}), create_index($tables{parted}), $functions,
	  'CREATE TRIGGER tell AFTER INSERT ON plain FOR EACH ROW WHEN (NEW.y = 2) EXECUTE FUNCTION tell(\'x\')',
	  'CREATE TRIGGER tell BEFORE INSERT ON pair FOR EACH ROW WHEN (NEW.y = 2) EXECUTE FUNCTION tell(\'ROW(x, t)\')',
	  'ALTER TABLE steady ALTER COLUMN z SET DEFAULT probed(), ADD CHECK (allowed(x))',
	  map { insertion($_, 100) } grep { $_ ne 'own' } @names;
	return join ";\n", @sql, '';
}

# --------------------------------------------------------------- lookups

# A partial index is probed for its rows alone, and NULL is no element
sub rows_of { return $_[0]{where} // 'true' }

# The name of an index, looked up when the query is parsed, or when it runs
sub index_of
{
	my ($table, $late) = @_;
	return "'$table->{name}_i'" . ($late || chance(0.5) ? '::text::regclass' : '');
}

# A query that returns rows, of one column of text, only if something is wrong
my @forms = (
	[ 6, sub { my ($t, $k, $i, $w) = @_; "FROM $t->{name} WHERE $w AND membership_contains($i, $k) IS FALSE" } ],
	[ 1, sub { my ($t, $k, $i, $w) = @_; "FROM $t->{name} WHERE $w AND membership_contains_any($i, ARRAY[$k]) IS FALSE" } ],
	[ 1, sub { my ($t, $k, $i, $w) = @_; "FROM $t->{name} WHERE $w AND membership_contains_all($i, ARRAY[$k, $k]) IS FALSE" } ],
	[ 1, sub { my ($t, $k, $i, $w) = @_; "FROM $t->{name} WHERE $w AND false = ANY (membership_contains_each($i, ARRAY[$k, $k]))" } ],
	[ 2, sub { my ($t, $k, $i, $w) = @_; "FROM (SELECT array_agg($k) AS all_keys FROM $t->{name} WHERE $w) AS s WHERE membership_contains_all($i, all_keys) IS FALSE" } ],
	[ 1, sub { my ($t, $k, $i, $w) = @_; "FROM (SELECT x FROM $t->{name} WHERE $w ORDER BY random() LIMIT 5) AS s NATURAL JOIN (SELECT *, $k AS k FROM $t->{name} WHERE $w) AS r WHERE membership_contains($i, k) IS FALSE" } ],
	[ 1, sub { my ($t, $k, $i, $w) = @_; "FROM $t->{name} WHERE $w GROUP BY y HAVING count(*) FILTER (WHERE membership_contains($i, $k) IS FALSE) > 0" } ],
	[ 1, sub { my ($t, $k, $i, $w) = @_; "FROM generate_series(1, 2) g, LATERAL (SELECT $k AS k FROM $t->{name} WHERE $w AND y <> g) AS s WHERE membership_contains($i, k) IS FALSE" } ],
	[ 2, sub { my ($t, $k, $i, $w) = @_; "FROM (SELECT membership_filter($i) AS f FROM (SELECT FROM $t->{name} LIMIT 1) l OFFSET 0) AS s, (SELECT $t->{key}[0] AS k FROM $t->{name} WHERE $w) AS r WHERE NOT bloom_contains(f, k)" }, 'a filter' ],
	[ 2, sub { my ($t, $k, $i, $w) = @_; "FROM (SELECT bloom_agg($k) AS f FROM $t->{name} WHERE $w) AS s, $t->{name} WHERE $w AND bloom_contains(f, $k) IS FALSE" } ],
	[ 1, sub { my ($t, $k, $i, $w) = @_; "FROM (SELECT DISTINCT $k AS k FROM $t->{name} WHERE $w) AS s WHERE NOT membership_contains($i, k) AND EXISTS (SELECT FROM $t->{name} WHERE $w AND $k = s.k)" } ],
	# (another session may attach a partition after the query was planned, and before the check:
	# partitioned tables are compared at the end of the round)
	[ 2, sub { my ($t, $k, $i, $w) = @_; "FROM (SELECT sum(n) AS n FROM (SELECT membership_check($i) AS n FROM (SELECT FROM $t->{name} LIMIT 1) l) AS c) AS s WHERE n " . ($t->{name} eq 'parted' ? '< 0' : '<> (SELECT count(*) FROM ' . ($t->{refused} ? 'ONLY ' : '') . "$t->{name} WHERE $w)") } ],
	# by the planner's own scan of the index
	[ 3, sub { my ($t, $k, $i, $w) = @_; "FROM (SELECT DISTINCT $t->{on} FROM $t->{name} WHERE $w AND $t->{key}[0] IS NOT NULL LIMIT 20) AS s ($t->{columns}) WHERE NOT EXISTS (SELECT FROM $t->{name} WHERE $w AND ($t->{on}) = ($t->{values}))" } ],
	[ 3, sub { my ($t, $k, $i, $w) = @_; "FROM (SELECT DISTINCT $k AS k FROM $t->{name} WHERE $w AND $k IS NOT NULL LIMIT 20) AS s WHERE NOT EXISTS (SELECT FROM $t->{name} WHERE $w AND (ARRAY[x, NULL, x + 1]) @> ARRAY[s.k])" }, 'an array' ]);

foreach my $table (values %tables)
{
	my $columns = $table->{on} =~ /,/ ? 2 : 1;

	$table->{columns} = join ', ', map { "k$_" } 1 .. $columns;
	$table->{values} = join ', ', map { "s.k$_" } 1 .. $columns;
}

# May a query of such a kind be asked?  There is no filter of all partitions.
sub possible
{
	my ($table, $kind) = @_;

	return $table->{name} ne 'parted' if $kind eq 'a filter';
	return defined $table->{index} if $kind eq 'an array';
	return 1;
}

sub lookup
{
	my ($name, $late) = @_;
	my $table = $tables{$name};
	my $query = weighted_entry(grep { possible($table, $_->[2] // '') } @forms)->[1]->($table, one_of(@{ $table->{key} }), index_of($table, $late), rows_of($table));

	return "SELECT 'FALSE NO of ${name}_i'::text $query";
}

# The index is opened, and its table locked, long before the first probe
sub late_lookup
{
	my ($name) = @_;
	my $table = $tables{$name};

	return "SELECT 'FALSE NO of ${name}_i'::text FROM (SELECT pg_sleep(" . one_of(0.02, 0.1, 0.3) . ")::text AS slept OFFSET 0) AS l, LATERAL (SELECT FROM $name WHERE slept IS NOT NULL AND "
	  . rows_of($table) . ' AND membership_contains(' . index_of($table) . ", $table->{key}[0]) IS FALSE) AS s";
}

# ------------------------------------------------------------- changing rows

# For a partition they all have its y
sub rows
{
	my ($name, $from, $to) = @_;
	my $y = $tables{$name}{partition} // 'n % 4';
	return "SELECT n AS x, 'Text ' || n AS t, left(n::text, 5) AS c, $y AS y FROM generate_series($from, $to) AS n";
}

sub insertion
{
	my ($name, $count) = @_;
	my $first = roll($values);
	return "INSERT INTO $name (x, t, c, y) " . rows($name, $first, $first + ($count // roll($most_rows)));
}

# with a %s, for format()
sub insertion_from { return "INSERT INTO $_[0] (x, t, c, y) " . rows($_[0], '%1$s', '%1$s + 5') =~ s/n % 4/n %% 4/r }

# --------------------------------------------------------------- sessions

my @focused;

# Of a session that is being written: its lines; whether it is in a transaction; its
# savepoints; how many of what it has named
sub emit { my ($s, @sql) = @_; push @{ $s->{lines} }, map { "$_;" } @sql }
sub any_table { return chance($focus) ? one_of(@focused) : one_of(@names) }
sub altered { return $tables{ one_of(grep { $tables{$_}{ddl} } @names) } }
sub fresh { my ($s, $what) = @_; return $what . '_' . $s->{number} . '_' . ++$s->{named} }

my @looking_up = (
	[ 30, sub { my ($s, $name) = @_; emit($s, lookup($name)) } ],
	[ 4, sub { my ($s, $name) = @_; emit($s, sprintf 'SELECT * FROM run($q$%s$q$)', lookup($name)) } ],
	[ 4, sub { my ($s, $name) = @_; emit($s, sprintf 'SELECT * FROM run_stable($q$%s$q$)', lookup($name)) } ],
	[ 4, sub { my ($s, $name) = @_; emit($s, sprintf 'EXECUTE q_%s', $name) } ],
	[ 2, sub { my ($s, $name) = @_; emit($s, "SELECT layers, elements FROM (SELECT FROM $name LIMIT 1) l, membership_info('${name}_i'::text::regclass)") } ],
	[ 2, sub { my ($s, $name) = @_; emit($s, "SET enable_seqscan = off", lookup($name), "RESET enable_seqscan") } ]);

my @changing = (
	[ 20, sub { my ($s, $name) = @_; emit($s, insertion($name)) } ],
	[ 5, sub { my ($s, $name) = @_; emit($s, insertion($name) . " RETURNING CASE WHEN membership_contains(" . index_of($tables{$name}) . ", $tables{$name}{key}[0]) IS NULL THEN 'no answer' WHEN y = 1 AND wrong(\$q\$" . lookup($name, 1) . "\$q\$) > 0 THEN 'FALSE NO of ${name}_i in RETURNING' END") } ],
	[ 5, sub { my ($s, $name) = @_; my $first = roll($values); emit($s, "COPY $name (x) FROM PROGRAM 'seq $first " . ($first + roll($most_rows)) . "'") } ],
	[ 8, sub { my ($s, $name) = @_; emit($s, "UPDATE $name SET x = x + " . roll(10000) . ', t = t || 7, c = left(c, 4) || y WHERE x % 7 = ' . roll(7)) } ],
	[ 4, sub { my ($s, $name) = @_; emit($s, "UPDATE $name SET z = y WHERE x % 3 = " . roll(3)) } ],
	[ 3, sub { my ($s, $name) = @_; emit($s, "UPDATE $name SET y = (y + 1) % 4 WHERE x % 3 = " . roll(3)) } ],
	[ 8, sub { my ($s, $name) = @_; emit($s, "DELETE FROM $name WHERE x % 4 = " . roll(4)) } ],
	[ 4, sub { my ($s, $name) = @_; my $first = roll($values); emit($s, "MERGE INTO $name USING (" . rows($name, $first, $first + 20) . " UNION ALL (SELECT x, t, c, y FROM $name LIMIT 5)) AS s ON $name.x = s.x WHEN MATCHED THEN UPDATE SET x = s.x + 1 WHEN NOT MATCHED THEN INSERT (x, t, c, y) VALUES (s.x, s.t, s.c, s.y)") } ],
	[ 10, sub { my ($s, $name) = @_; emit($s, sprintf 'SELECT * FROM nested($q$%s$q$, $q$%s$q$, %d, %d)', insertion_from($name), lookup(chance(0.5) ? $name : any_table(), 1), roll($values), 2 + roll(4)) } ],
	[ 3, sub { my ($s, $name) = @_; emit($s, sprintf 'SELECT * FROM many($q$%s$q$, $q$%s$q$, %d, %d)', insertion_from($name), lookup($name, 1), roll($values), one_of(5, $many_subtransactions)) } ]);

sub patiently { my ($s, @sql) = @_; emit($s, "SET statement_timeout = $patient_ms", 'SET lock_timeout = 0', @sql, 'RESET statement_timeout', 'RESET lock_timeout') }

sub reindex
{
	my ($s, $concurrently) = @_;
	# more would only wait for each other
	my $name = $s->{number} < 2 ? 'steady' : any_table();

	$concurrently = '' if $name eq 'own';
	my $sql = chance(0.7) ? "REINDEX INDEX ${concurrently}${name}_i" : "REINDEX TABLE ${concurrently}$name";

	$concurrently ? patiently($s, $sql) : emit($s, $sql);
}

# [ weight, where: anywhere, in a transaction, or out of it; what ]
my @actions = (
	[ 30, 'any', sub { weighted_entry(@looking_up)->[1]->($_[0], any_table()) } ],
	[ 30, 'any', sub { weighted_entry(@changing)->[1]->($_[0], any_table()) } ],
	# the same table, one after the other
	[ 20, 'any', sub { my $name = any_table(); weighted_entry(@changing)->[1]->($_[0], $name); weighted_entry(@looking_up)->[1]->($_[0], $name) } ],
	[ 8, 'any', sub { emit($_[0], late_lookup(chance(0.5) ? any_table() : 'steady')) } ],
	[ 12, 'in', \&savepoint ],
	[ 8, 'in', sub { emit($_[0], (map { insertion(one_of(@names)) } 1 .. 3), 'SELECT pg_sleep(0.4)'); savepoint($_[0]) } ],
	[ 8, 'in', \&leave_savepoint ],
	[ 2, 'in', \&many_savepoints ],
	[ 6, 'in', \&open_cursor ],
	[ 8, 'in', \&fetch ],
	[ 4, 'in', \&export_snapshot ],
	[ 2, 'any', sub { emit($_[0], 'TRUNCATE ' . one_of(grep { $_ ne 'parent' } @names)) } ],
	[ 2, 'any', sub { emit($_[0], 'CLUSTER ' . one_of(map { "$_ USING ${_}_b" } grep { $tables{$_}{cluster} } @names)) } ],
	[ 2, 'any', sub { my $t = altered(); emit($_[0], "ALTER TABLE $t->{name} ALTER COLUMN " . (one_of(@{ $t->{types} // ['z bigint'] }) =~ s/ / TYPE /r)) } ],
	[ 1, 'any', sub { emit($_[0], "ALTER TABLE " . one_of(qw(quick partial)) . ' SET ' . one_of(qw(LOGGED UNLOGGED))) } ],
	[ 1, 'any', sub { my $t = altered(); emit($_[0], "DROP INDEX IF EXISTS $t->{name}_i", create_index($t)) } ],
	[ 2, 'any', sub { emit($_[0], 'ALTER TABLE parted ' . one_of("DETACH PARTITION parted_0", "ATTACH PARTITION parted_0 FOR VALUES IN (0)")) } ],
	[ 3, 'any', sub { reindex($_[0], '') } ],
	[ 6, 'out', sub { reindex($_[0], 'CONCURRENTLY ') } ],
	[ 2, 'out', sub { my $t = altered(); patiently($_[0], "DROP INDEX CONCURRENTLY IF EXISTS $t->{name}_i", create_index($t, 'CONCURRENTLY '), "REINDEX INDEX $t->{name}_i") } ],
	[ 1, 'out', sub { emit($_[0], 'ALTER TABLE parted DETACH PARTITION parted_1 CONCURRENTLY', lookup('parted_1'), 'ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES IN (1)') } ],
	[ 4, 'out', sub { emit($_[0], one_of('VACUUM ', 'VACUUM FULL ', 'ANALYZE ') . any_table()) } ],
	[ 1, 'any', sub { my $name = altered()->{name}; emit($_[0], "ALTER INDEX ${name}_i SET (capacity = " . (1 + roll(100)) . ')') } ],
	[ 1, 'any', sub { emit($_[0], "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE application_name = 's" . roll($sessions) . "'") } ],
	[ 2, 'any', \&in_no_time ],
	[ 3, 'any', \&set_parallel ],
	[ 0.5, 'out', \&hold_index ],
	[ 60, 'out', \&transaction ]);

sub act
{
	my ($s) = @_;
	my $where = $s->{in} ? 'in' : 'out';

	weighted_entry(grep { $_->[1] eq 'any' || $_->[1] eq $where } @actions)->[2]->($s);
}

sub savepoint
{
	my ($s) = @_;
	push @{ $s->{savepoints} }, fresh($s, 'sp');
	emit($s, "SAVEPOINT $s->{savepoints}[-1]");
}

sub leave_savepoint
{
	my ($s) = @_;
	my @savepoints = @{ $s->{savepoints} } or return savepoint($s);
	my $which = roll(scalar @savepoints);
	my $back = chance(0.6);

	emit($s, ($back ? 'ROLLBACK TO ' : 'RELEASE ') . $savepoints[$which]);
	splice @{ $s->{savepoints} }, $back ? $which + 1 : $which;
}

sub many_savepoints
{
	my ($s) = @_;
	my $name = any_table();

	for (1 .. $many_subtransactions)
	{
		savepoint($s);
		emit($s, insertion($name, 1));
	}
	emit($s, 'SELECT pg_sleep(0.2)', lookup($name));
}

sub open_cursor
{
	my ($s) = @_;
	my $name = any_table();
	my $table = $tables{$name};
	my $w = rows_of($table);

	$s->{cursor} = fresh($s, 'c');
	emit($s, "DECLARE $s->{cursor} " . one_of('', 'NO SCROLL ', 'SCROLL ') . 'CURSOR ' . one_of('', '', 'WITH HOLD ')
	  . "FOR SELECT CASE WHEN membership_contains(" . index_of($table) . ", $table->{key}[0]) IS FALSE THEN 'FALSE NO of ${name}_i by a cursor' ELSE 'a row' END FROM $name WHERE $w");
}

sub fetch
{
	my ($s) = @_;
	return open_cursor($s) unless $s->{cursor};
	emit($s, one_of('FETCH 3', 'FETCH 20', 'FETCH ALL', 'MOVE 5', 'MOVE ABSOLUTE 0') . " FROM $s->{cursor}");
}

# For any session that takes it in time
sub export_snapshot
{
	my ($s) = @_;
	my $file = "$dir/snapshot_$s->{number}";

	push @{ $s->{lines} }, "SELECT pg_export_snapshot() \\g $file", "\\! test -s $file && mv $file $dir/snapshot";
	emit($s, 'SELECT pg_sleep(0.2)');
	push @{ $s->{lines} }, "\\! rm -f $dir/snapshot";
}

sub in_no_time
{
	my ($s) = @_;
	my $setting = one_of('statement_timeout', 'lock_timeout');

	emit($s, "SET $setting = " . one_of(1, 3, 10, 30));
	act($s);
	emit($s, "RESET $setting");
}

sub set_parallel
{
	my ($s) = @_;
	# starting workers takes most of the time
	my $on = chance(0.15);

	emit($s, "SET $force_parallel = " . ($on ? 'on' : 'off'), 'SET parallel_setup_cost = ' . ($on ? 0 : 1000), 'SET parallel_tuple_cost = 0',
		'SET min_parallel_table_scan_size = 0');
}

# A lock on the index alone, which the table's do not keep away
sub hold_index
{
	my ($s) = @_;
	emit($s, 'BEGIN', 'SET LOCAL statement_timeout = 0', "SET LOCAL lock_timeout = $patient_ms", (map { 'ALTER INDEX ' . one_of(@names) . '_i SET TABLESPACE pg_default' } 1 .. 3), "SELECT pg_sleep($hold_seconds)", 'COMMIT');
}

sub transaction
{
	my ($s) = @_;
	my $level = one_of('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE', 'SERIALIZABLE');

	emit($s, "BEGIN ISOLATION LEVEL $level");
	if ($level ne 'READ COMMITTED' && !$s->{goes_on} && chance(0.3))
	{
		my $file = "$dir/imported_$s->{number}";

		push @{ $s->{lines} }, "\\set found `for i in 1 2 3 4; do cp $dir/snapshot $file 2>/dev/null && echo on && exit; sleep 0.1; done; echo off`",
		  '\if :found', "\\set snapshot `cat $file`", "SET TRANSACTION SNAPSHOT :'snapshot';", '\endif';
	}
	@$s{qw(in savepoints cursor)} = (1, [], undef);
	for (1 .. 1 + roll($most_in_transaction))
	{
		act($s);
		push @{ $s->{lines} }, '\if :ERROR', "ROLLBACK TO $s->{savepoints}[-1];", '\endif' if @{ $s->{savepoints} } && chance(0.7);
	}
	$s->{in} = 0;
	my $end = rand();
	if ($end < 0.65)
	{
		emit($s, 'COMMIT');
		emit($s, "FETCH ALL FROM $s->{cursor}", "CLOSE $s->{cursor}") if $s->{cursor} && chance(0.3);
	}
	elsif ($end < 0.85)
	{
		emit($s, 'ROLLBACK');
	}
	else
	{
		my $name = fresh($s, 'prepared');

		emit($s, "PREPARE TRANSACTION '$name'", lookup(any_table()), 'SELECT pg_sleep(0.05)', one_of('COMMIT', 'COMMIT', 'ROLLBACK') . " PREPARED '$name'");
	}
}

sub session_script
{
	my ($number) = @_;
	my $s = { number => $number, in => 0, named => 0, savepoints => [], lines => [ '\set VERBOSITY verbose', '\timing on' ] };

	emit($s, "SET application_name = 's$number'");
	# psql makes a savepoint before each statement, and goes back to it after an error
	if ($s->{goes_on} = chance(0.3))
	{
		push @{ $s->{lines} }, '\set ON_ERROR_ROLLBACK on';
	}
	emit($s, create_table($tables{own}), insertion('own'));
	emit($s, 'SET plan_cache_mode = force_generic_plan') if chance(0.5);
	# what a prepared query has looked up for good is gone after REINDEX CONCURRENTLY
	emit($s, map { "PREPARE q_$_ AS " . lookup($_, $_ eq 'steady') } @names);
	set_parallel($s);
	act($s) for 1 .. $turns;
	return join "\n", @{ $s->{lines} }, '';
}

# ----------------------------------------------------------------- faults

# Errors to be expected: an SQLSTATE, and what of its messages
my %expected = (
	'40001' => qr/./,    # serialization failure
	'40P01' => qr/./,    # deadlock
	'57014' => qr/./,    # cancelled, or out of time
	'55P03' => qr/./,    # out of time for a lock
	'25P02' => qr/./,    # the transaction is aborted
	'25001' => qr/./,    # not in a transaction block, not after a query
	'25P01' => qr/./,    # only in a transaction
	'3B001' => qr/./,    # a savepoint that was never begun
	'34000' => qr/./,    # a cursor, likewise
	'26000' => qr/./,    # a prepared query, likewise
	'42P01' => qr/_i"|"own"|is not a partition/,    # an index that is dropped, or is not created yet
	'42704' => qr/_i"|prepared transaction|index with OID|snapshot/,
	'42P07' => qr/_i"/,
	'55006' => qr/being used by active queries|pending trigger events/,
	'55000' => qr/is not valid|cannot be read by this transaction yet|portal .* cannot be run|could not import the requested snapshot|partition|cursor can only scan forward/,
	'23514' => qr/violates check constraint "parted_|no partition of relation|is violated by some row|partition constraint/,
	'21000' => qr/MERGE command cannot affect row/,
	'23505' => qr/pg_\w+_index/,    # two create the same index
	'22023' => qr/invalid snapshot identifier/,
	'0A000' => qr/cannot PREPARE|cannot import a snapshot/,
	'25000' => qr/parallel/,
	'42809' => qr/is already a partition|is not a partition/,
	'42804' => qr/type of parameter/,    # in PL\/pgSQL, since the column has another
	'38000' => qr/program "seq/,
	'XX000' => qr/tuple concurrently (updated|deleted)/);

sub is_expected
{
	my ($state, $message) = @_;

	# an index that was looked up by a query which reads its table stays usable
	return 0 if $message =~ /"steady_i\w*" is not valid/;
	return 1 if $state =~ /^(?:42809|0A000|55000)$/ && $message =~ /"parent(?:_i)?"/;
	return $expected{$state} && $message =~ $expected{$state};
}

# REINDEX CONCURRENTLY of an index that another one has replaced while it waited for
# the table: the server looks the index up before, and does not find it again.
sub replaced_meanwhile
{
	my ($state, $message, $statement) = @_;

	return $state eq 'XX000' && $message =~ /^could not open relation with OID/
	  && $statement =~ /^REINDEX \w+ CONCURRENTLY/;
}

# Faults in the output of a session: each with the lines before it
sub faults_of
{
	my ($name, $text) = @_;
	my @lines = split /\n/, $text;
	my @faults;

	for my $i (0 .. $#lines)
	{
		my $what;

		if ($lines[$i] =~ /^(?:.*\|)?FALSE NO of|(?:ERROR|FATAL|PANIC): .*FALSE NO/)
		{
			$what = 'a false no';
		}
		elsif ($lines[$i] =~ /ERROR:  (\w{5}): (.*)/)
		{
			$what = 'an error'
			  unless is_expected($1, $2) || replaced_meanwhile($1, $2, $i > 0 ? $lines[ $i - 1 ] : '');
		}
		elsif ($lines[$i] =~ /(?:FATAL|PANIC):|server closed the connection|connection to server was lost/)
		{
			$what = 'a lost session';
		}
		elsif ($lines[$i] =~ /^Time: ([\d.]+) ms/ && $1 > $too_long_ms)
		{
			$what = 'a statement without end' unless grep { /pg_sleep\($hold_seconds\)/ } @lines[ ($i < 3 ? 0 : $i - 3) .. $i ];
		}
		push @faults, "$what: $lines[$i]\n$name had said:\n" . join "\n", @lines[ ($i < $lines_before ? 0 : $i - $lines_before) .. min($i + 3, $#lines) ] if $what;
	}
	return @faults;
}

my $log_fault = qr/PANIC:|TRAP:|server process .* was terminated by signal|was not closed|snapshot reference|leak|unexpected state|is missing in index|\bXX00[12] (?!WARNING)/;

# One fault of each kind: those that differ only in numbers are of one kind
sub kinds
{
	my %kinds;

	foreach my $fault (@_)
	{
		my $kind = (split /\n/, $fault)[0] =~ s/^.*?: psql:\S+ //r =~ s/\d+/N/gr;
		$kinds{$kind} //= $fault;
	}
	return map { $kinds{$_} } sort keys %kinds;
}

# What the server has logged since then
sub log_faults
{
	my ($from) = @_;
	return map { "the log: $_" } grep { $_ =~ $log_fault } split /\n/, substr(slurp_file($node->logfile), $from);
}

# The indexes at the end, when all sessions have ended
sub final_faults
{
	my ($database) = @_;
	my @faults;

	$node->psql($database, q{SELECT format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts WHERE database = current_database() \gexec});
	foreach my $name (grep { $_ ne 'own' && !$tables{$_}{refused} } @names)
	{
		my $table = $tables{$name};
		my $valid = $node->safe_psql($database, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('${name}_i')");

		next unless $valid eq 't';
		my ($status, $out, $err) = $node->psql($database, "SELECT (SELECT sum(n) FROM membership_check('${name}_i') AS n) = count(*), count(*) FILTER (WHERE membership_contains('${name}_i', $table->{key}[0]) IS FALSE) FROM $name WHERE " . rows_of($table));
		push @faults, "$name in the end: $out$err" if "$out$err" ne 't|0';
	}
	return @faults;
}

# ------------------------------------------------------------------ rounds

sub start_psql
{
	my ($database, $file) = @_;
	my $pid = fork // die "fork: $!";

	return $pid if $pid;
	$ENV{PGOPTIONS} = "-c statement_timeout=$statement_ms -c lock_timeout=$lock_ms";
	open STDOUT, '>', "$file.out" or POSIX::_exit(1);
	open STDERR, '>&', \*STDOUT or POSIX::_exit(1);
	exec('psql', '-XAte', '-d', $node->connstr($database), '-f', "$file.sql") or POSIX::_exit(1);
}

# Those that are still running when time is over
sub wait_for
{
	my ($until, @pids) = @_;

	while ((@pids = grep { waitpid($_, WNOHANG) == 0 } @pids) && time < $until)
	{
		usleep(10_000);
	}
	return @pids;
}

sub play_round
{
	my ($round) = @_;
	my $database = "round_$round";
	my $log_size = -s $node->logfile;
	my (@pids, @faults);

	srand($seed + $round);
	@focused = map { one_of(grep { !$tables{$_}{refused} } @names) } 1 .. $tables_in_focus;
	unlink "$dir/snapshot";
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, setup());
	foreach my $number (0 .. $sessions - 1)
	{
		my $file = "$dir/${database}_session_$number";

		append_to_file("$file.sql", session_script($number));
		push @pids, start_psql($database, $file);
	}
	if (my @hanging = wait_for(time + $round_seconds, @pids))
	{
		push @faults, 'sessions hang: ' . $node->safe_psql('postgres', 'SELECT application_name, wait_event_type, wait_event, state, query FROM pg_stat_activity');
		kill 'KILL', @hanging;
		wait_for(time + $round_seconds, @hanging);
	}
	push @faults, faults_of("session $_", slurp_file("$dir/${database}_session_$_.out")) foreach 0 .. $sessions - 1;
	wait_until_back($node);
	push @faults, final_faults($database), log_faults($log_size);
	$node->psql('postgres', "DROP DATABASE $database WITH (FORCE)");
	# their output remains, for diagnosis
	unlink glob("$dir/${database}_*") unless @faults;
	return @faults;
}

my $round = 0;
my $until = time + $seconds;

while (time < $until)
{
	my @faults = play_round(++$round);

	is(scalar @faults, 0, "round $round of seed $seed");
	my @kinds = kinds(@faults);
	diag(map { "$_\n---\n" } @kinds[ 0 .. min($most_faults, scalar @kinds) - 1 ]) if @kinds;
}

$node->stop;
done_testing();
