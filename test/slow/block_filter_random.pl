# Random joins of a table whose blocks an index lets skip, each asked with and without
# filters: the table is stored in the order of its values, nearly so, or not at all; its BRIN
# indexes have ranges of any size, of which some are not summarized; rows are updated, deleted
# and inserted between the queries, in transactions that are rolled back, too, and by another
# session.  Some of the queries are executed by several processes.  Both have to return the
# same rows.
#
#     BLOCK_SECONDS=3600     more than the 60
#     FUZZ_SEED=1            the same statements again
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";

use PostgreSQL::Test::Utils;
use Random;
use Server;
use Session;
use Test::More;
use Time::HiRes qw(time);

my $seconds = $ENV{BLOCK_SECONDS} || 60;
my $seed = $ENV{FUZZ_SEED} || int(time);
# At least this share of the queries skips blocks
my $skipping_share_least = 0.2;
# And at most this share fails, because another session has changed a row
my $failed_share_most = 0.1;
my $queries_of_table = 25;

# Columns of a value: its type, and SQL that makes it of an integer
my %value_of = (
	s => [ int2 => '(%s)::int2' ],
	k => [ int4 => '(%s)::int4' ],
	big => [ int8 => '(%s)::int8 * 1000003' ],
	wide => [ int8 => '(%s)::int8' ],
	day => [ date => "date '2000-01-01' + (%s)::int" ],
	at => [ timestamp => "timestamp '2000-01-01' + (%s) * interval '17 minutes'" ],
	tz => [ timestamptz => "timestamptz '2000-01-01' + (%s) * interval '1 day'" ],
	t => [ text => "'t' || (%s)" ],
	# in the order of the integers
	o => [ text => "to_char((%s) + 1000, 'FM000000')" ],
	v => [ 'varchar(20)' => "to_char((%s) + 1000, 'FM000000')" ],
	c => [ 'char(10)' => "to_char((%s) + 1000, 'FM000000')" ],
	d => [ 'text COLLATE "C"' => "CASE (%1\$s) %% 9 WHEN 0 THEN '' ELSE chr(40 + (%1\$s) / 700) END || (%1\$s)" ],
	# with several spellings of a value
	nd => [ 'text COLLATE blunt' => "CASE (%1\$s) %% 2 WHEN 0 THEN 'A' ELSE 'a' END || to_char((%1\$s) / 2 + 1000, 'FM000000')" ],
	lo => [ text => "to_char((%s) + 1000, 'FM000000') || repeat('long', 60)" ],
	num => [ numeric => "CASE (%1\$s) %% 1000 WHEN 7 THEN 'NaN' ELSE round((%1\$s) / 7.0, (%1\$s) %% 3 + 3) END" ],
	dbl => [ float8 => "CASE (%1\$s) %% 1000 WHEN 7 THEN 'NaN' WHEN 8 THEN '-0' ELSE (%1\$s)::float8 END" ],
	flt => [ float4 => "CASE (%1\$s) %% 1000 WHEN 7 THEN 'NaN' ELSE (%1\$s)::float4 END" ],
	u => [ uuid => "overlay('00000000-0000-4000-8000-000000000000'::text PLACING to_char((%s) + 1000, 'FM00000000') FROM 1 FOR 8)::uuid" ],
	b => [ bytea => "decode(lpad(to_hex((%s) + 1000), 8, '0'), 'hex')" ],
	i => [ inet => "'10.0.0.0'::inet + (%s)" ],
	iv => [ interval => "(%s) * interval '1 hour'" ]
);
my @columns = sort keys %value_of;
# Names of operator classes, where they are not those of the types
my %class_of = ('varchar(20)' => 'text', 'char(10)' => 'bpchar', 'text COLLATE "C"' => 'text', 'text COLLATE blunt' => 'text');
my %has_no_multi = map { $_ => 1 } qw(text bpchar bytea);

sub values_of
{
	my ($integer) = @_;

	return join ', ', map { sprintf $value_of{$_}[1], $integer } @columns;
}

# Statements that make the tables
sub new_tables
{
	my ($rows, $repeated) = (between(2000, 20000), one_of(1, 3, 40));
	my $order = one_of('n', 'n', 'n', "n + random() * $rows / 20", 'random()');
	my $null = one_of(0, 0.1);
	my $partitions = chance(0.25);
	my $columns = join ', ', map { "$_ $value_of{$_}[0]" } @columns;
	my @statements = (
		"DROP TABLE IF EXISTS facts, keys",
		"CREATE TABLE facts (id int, filler text, $columns)" . ($partitions ? ' PARTITION BY RANGE (id)' : ''),
		"CREATE TABLE keys (id int, $columns)");

	my $fillfactor = one_of(20, 50, 100);

	if ($partitions)
	{
		push @statements, map { "CREATE TABLE facts_$_ PARTITION OF facts FOR VALUES FROM (@{[ $_ * 6000 ]}) TO (@{[ $_ * 6000 + 6000 ]})
			WITH (autovacuum_enabled = off, fillfactor = $fillfactor)" } 0 .. 4;
	}
	else
	{
		push @statements, "ALTER TABLE facts SET (autovacuum_enabled = off, fillfactor = $fillfactor)";
	}
	push @statements, "INSERT INTO facts SELECT n, repeat('x', @{[ roll(200) ]}), " . values_of('x') . " FROM
			(SELECT n, CASE WHEN random() >= $null THEN n / $repeated - 500 END AS x FROM generate_series(1, $rows) n) a ORDER BY $order";
	foreach my $column (@columns)
	{
		my $type = $class_of{ $value_of{$column}[0] } // $value_of{$column}[0];
		my $class = one_of('', '', $has_no_multi{$type} ? '' : "${type}_minmax_multi_ops", "${type}_bloom_ops");
		my $also = chance(0.2) ? ', id' : '';
		my $ranges = one_of(1, 8, 8, 8, 16, 32, 64);

		push @statements, "CREATE INDEX ON facts ($column)" if chance(0.3);
		push @statements, "CREATE INDEX ON facts ($column @{[ one_of('DESC', 'COLLATE \"POSIX\"', 'text_pattern_ops') ]})"
			if $type eq 'text' && $column ne 'nd' && chance(0.2);
		next if chance(0.3);
		push @statements, "CREATE INDEX ON facts USING brin ($column $class$also) WITH (pages_per_range = $ranges)";
	}
	push @statements, chance(0.7) ? 'VACUUM ANALYZE facts' : 'ANALYZE facts';
	return @statements;
}

# The keys are near each other, at both ends, or anywhere
sub new_keys
{
	my $count = one_of(0, 1, 5, 16, 20, 50, 600);
	my $from = one_of(between(-700, 0), between(0, 2000), between(2000, 20000));
	my $integer = one_of("$from + n", "$from + n", "$from + n % 7", "n * 37 % 20000 - 500", "n % 2 * 15000 - 300",
		"CASE WHEN n % 3 > 0 THEN $from + n END", "n % 4 * 4000 + n % 9", "CASE WHEN n % 2 > 0 THEN n ELSE 20000 - n END");

	return ("TRUNCATE keys", "INSERT INTO keys SELECT n, " . values_of($integer) . " FROM generate_series(1, $count) n",
		chance(0.7) ? 'ANALYZE keys' : false_statistics('keys'));
}

sub new_change
{
	my ($low, $high) = (between(0, 20000), between(1, 3000));
	my $where = one_of("id BETWEEN $low AND $low + $high", "id % $high = 0");
	my $integer = one_of("$low + id % 10", "id - 500", "-id % 500");

	return one_of(
		"UPDATE facts SET (@{[ join ', ', @columns ]}) = ROW (@{[ values_of($integer) ]}) WHERE $where",
		"UPDATE facts SET k = $low % 1000 WHERE $where",
		"DELETE FROM facts WHERE $where",
		"INSERT INTO facts SELECT id % 20000, 'new', @{[ values_of($integer) ]} FROM generate_series($low, $low + $high) id",
		"SELECT brin_summarize_new_values(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
			WHERE indrelid::regclass::text ~ '^facts' AND relam = (SELECT oid FROM pg_am WHERE amname = 'brin') AND relkind = 'i'",
		"SELECT brin_desummarize_range(indexrelid, @{[ roll(100) ]}) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
			WHERE indrelid::regclass::text ~ '^facts' AND relam = (SELECT oid FROM pg_am WHERE amname = 'brin') AND relkind = 'i'");
}

sub new_query
{
	my %alike = (s => [qw(s k wide)], k => [qw(s k wide)], wide => [qw(s k wide)], o => [qw(o v)], v => [qw(o v)], dbl => [qw(dbl flt)], flt => [qw(dbl flt)]);
	my $column = one_of(@columns);
	my $other = one_of(@{ $alike{$column} // [$column] });
	my $second = one_of(@columns);
	my $condition = chance(0.3) ? "f.id % 3 = 0" : 'true';
	my $keys = chance(0.3) ? "(SELECT * FROM keys WHERE id % 2 = 0)" : 'keys';

	return one_of(
		"SELECT f.id, l.id FROM facts f JOIN $keys l ON f.$column = l.$other WHERE $condition",
		"SELECT f.id FROM facts f WHERE $condition AND f.$column IN (SELECT $other FROM $keys l)",
		"SELECT f.id FROM facts f WHERE NOT EXISTS (SELECT FROM $keys l WHERE l.$other = f.$column)",
		"SELECT f.id, l.id FROM facts f RIGHT JOIN $keys l ON f.$column = l.$other",
		"SELECT l.id, f.id FROM $keys l LEFT JOIN facts f ON f.$column = l.$other AND $condition",
		"SELECT l.id FROM $keys l WHERE NOT EXISTS (SELECT FROM facts f WHERE f.$column = l.$other)",
		"SELECT g.$column, g.n FROM (SELECT $column, count(*) AS n FROM facts GROUP BY $column) g JOIN $keys l ON g.$column = l.$other",
		"SELECT f.id, l.id FROM facts f JOIN $keys l ON f.$second = l.$second AND f.$column = l.$other WHERE $condition",
		"SELECT l.id, f.id FROM $keys l LEFT JOIN facts f ON f.$column = l.$other AND f.$second = l.$second",
		"SELECT f.id, l.id FROM facts f JOIN $keys l ON f.$column = l.$other JOIN keys m ON f.$second = m.$second",
		"SELECT f.id, l.id FROM (SELECT id, $column FROM facts f WHERE $condition ORDER BY id OFFSET 0) f JOIN $keys l ON f.$column = l.$other");
}

my $node = start_server('main', conf => "autovacuum = off\nparallel_setup_cost = 0\nparallel_tuple_cost = 0\nmin_parallel_table_scan_size = 0\nsession_preload_libraries = 'bloomfilter'\n");
my $session = Session->new($node);
my $other = Session->new($node);
my ($queries, $skipping, $failed, $different) = (0, 0, 0, 0);
my $end = time + $seconds;

# A query that may fail is of no use here
sub ask
{
	my ($of, $sql) = @_;

	return $of->query($sql);
}

srand($seed);
note "seed $seed";
ask($session, 'SELECT setseed(' . rand() . ')');
ask($session, "CREATE COLLATION blunt (provider = icu, locale = 'en-u-ks-level1', deterministic = false)");
ask($session, "SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_indexscan = off; SET enable_bitmapscan = off");
while (time < $end && $different == 0)
{
	ask($session, $_) foreach new_tables();
	foreach (1 .. $queries_of_table)
	{
		my @open = chance(0.3) ? 'BEGIN ISOLATION LEVEL ' . one_of('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE') : ();
		my $query = new_query();
		my @said;

		ask($session, $_) foreach new_keys();
		ask($session, "BEGIN; @{[ new_change() ]}; ROLLBACK") if chance(0.1);
		if (@open)
		{
			ask($session, $open[0]);
			ask($session, 'SELECT count(*) FROM keys');
			# its rows are seen or not, by the snapshot
			ask($other, new_change());
		}
		ask($session, new_change()) if chance(0.6);
		ask($session, "SET max_parallel_workers_per_gather = @{[ chance(0.3) ? 2 : 0 ]}; SET parallel_leader_participation = @{[ one_of('on', 'on', 'off') ]};
			SET enable_parallel_hash = @{[ one_of('on', 'off') ]}");
		foreach my $setting ('force', 'off')
		{
			ask($session, "SET bloomfilter.join_filter = $setting");
			push @said, ask($session, "SELECT md5(string_agg(q::text, ' ' ORDER BY q::text)), count(*) FROM ($query) q");
			next if $setting eq 'off';
			my $plan = ask($session, "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) $query");
			$skipping++ if $plan =~ /Blocks Skipped: [1-9]/;
		}
		ask($session, one_of('COMMIT', 'ROLLBACK')) if @open;
		$queries++;
		$failed++ if $said[1] =~ /ERROR/;
		next if $said[0] eq $said[1];
		$different++;
		diag "seed $seed: $query\nwith filters $said[0], without $said[1]";
	}
}
is($different, 0, "$queries queries have the same rows with filters");
cmp_ok($skipping / $queries, '>=', $skipping_share_least, "$skipping of them skip blocks");
cmp_ok($failed / $queries, '<=', $failed_share_most, "$failed of them fail");
done_testing();
