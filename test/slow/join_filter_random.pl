# Random queries over random tables (RandomJoins.pm), and each asked four times: by core's
# plans alone, with the join filters that the planner likes best, with those from
# membership indexes wherever they are legal, and with those made while hash tables
# are built, too.  All have to return the same rows and the same errors.
#
#     JOIN_SECONDS=3600      more than the 150
#     FUZZ_SEED=1            the same statements again
#     JOIN_ROUND=7           only this round of that seed
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use List::Util qw(min);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Random;
use RandomJoins;
use Test::More;
use Time::HiRes qw(time usleep);

my $seconds = $ENV{JOIN_SECONDS} || 150;
my $seed = $ENV{FUZZ_SEED} || time;
my $only_round = $ENV{JOIN_ROUND};
# What is asked in a round
my $cases_count = 120;
# A query that takes longer is not compared; it goes on until so many cases are
my ($statement_ms, $compared_least) = (2000, $cases_count);
# Of what is asked at least this share must have run with a join filter from an index;
# the part that fails because the statement itself is wrong is at most that
my ($filtered_share_least, $failed_share_most) = (0.15, 0.25);
# At least this share has rows that pass a join at once, in a hash join or in any
my ($bypassed_share_least, $hashed_share_least) = (0.03, 0.01);
# At least these have one of several columns, of an expression of the scan's columns, of an
# index's expression, with a predicate, and of a table with partitions or children
my %of_kind_least = (columns => 0.003, expressions => 0.01, indexed_expressions => 0.002, predicates => 0.003, lists => 0.01);
# At least these shares have one that is made for a hash table; for one below a Gather;
# for one that is in several batches, of the plans that tell; and one that has removed
# rows, of these plans
my ($built_share_least, $parallel_share_least, $batches_share_least, $removed_share_least) = (0.2, 0.02, 0.01, 0.05);
# At least these have outer rows that are stored first; also below a Gather; and a Bypass Feeder that
# collects keys
my %stored_share_least = (stored => 0.03, stored_parallel => 0.003, fed => 0.003);
# Cases told in full
my $most_told = 5;
# In every third round other sessions change the tables, and their indexes, meanwhile;
# half of what is asked then wants rows without a partner
my ($disturbed_every, $disturbers, $disturbances, $lock_ms) = (3, 2, 2000, 300);
# At least so many of their statements succeed in each
my $changes_least = 50;
# And so many plans have a Filter Bypass
my $bypassed_disturbed_least = 3;

my @variants = (
	[ plain => "SET bloomfilter.filter_scan = off; SET bloomfilter.join_filter = off" ],
	[ chosen => "RESET bloomfilter.filter_scan; SET bloomfilter.join_filter = on" ],
	[ indexed => "SET bloomfilter.filter_scan = force; SET bloomfilter.join_filter = index" ],
	# scans probe themselves in one case, and nodes above them in the next
	[ forced => "SET bloomfilter.filter_scan = EITHER; SET bloomfilter.join_filter = force" ]);

note("seed $seed");

my $node = PostgreSQL::Test::Cluster->new('joins');
$node->init;
# A REINDEX CONCURRENTLY that waits too long leaves an index, and each is locked by what
# asks the table: many locks
$node->append_conf('postgresql.conf', q{
max_locks_per_transaction = 1000
autovacuum = off
jit = off
fsync = off
restart_after_crash = off
max_worker_processes = 16
max_parallel_workers = 8
max_prepared_transactions = 5
log_statement = none
session_preload_libraries = 'bloomfilter'
});
$node->start;
my $dir = $PostgreSQL::Test::Utils::tmp_check;
$server_version = $node->safe_psql('postgres', 'SHOW server_version_num');

# ------------------------------------------------------------------ rounds

my %kinds = (
	columns => qr/ in index \w+_two/,
	expressions => qr/\) in (?:index (?!\w+_two)|\d+ indexes)/,
	indexed_expressions => qr/ in index \w+_other/,
	predicates => qr/ in index \w+_some/,
	lists => qr/ in \d+ indexes of /);
my %counts = map { $_ => 0 } keys %of_kind_least, qw(cases statements filtered scans bypassed hashed stored stored_parallel fed built parallel analyzed batches removed failed slow disturbed changes bypassed_disturbed);

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

# How many changes they have made so far
sub changes_in
{
	my ($file) = @_;
	my $changes = 0;

	$changes += () = slurp_file($_) =~ /^(?:INSERT|UPDATE|DELETE|VACUUM|REINDEX|CREATE)\b/mg foreach grep { -e } map { "$file.$_.out" } 1 .. $disturbers;
	return $changes;
}

# Sessions that do such things until they are ended
sub start_disturbers
{
	my ($database, $file) = @_;
	my @pids;

	foreach my $number (1 .. $disturbers)
	{
		append_to_file("$file.$number.sql", join '', map { "$_;\n" } "SET lock_timeout = $lock_ms", map { random_disturbance() } 1 .. $disturbances);
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
	my $setting = $variant->[1] =~ s/EITHER/$number % 2 ? 'force' : 'off'/er;
	my @script = ("\\echo \@case $number $variant->[0]", map { "$_;" } $setting, @$settings);

	foreach my $line (@lines)
	{
		my $sql = ref $line ? $line->{sql} : $line;

		if (ref $line)
		{
			my $analyze = $line->{analyze} ? 'ANALYZE, TIMING off, SUMMARY off, ' : '';

			push @script, '\\echo @plan', "EXPLAIN (${analyze}COSTS off) $sql;", '\\echo @planned :SQLSTATE';
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
		return join "\n", sprintf('statement %d: %d rows, and %d', $at, scalar @$rows, scalar @$other_rows), lost_and_added($rows, $other_rows);
	}
	return '';
}

# What a plan of the variant that forces has
sub count_plan
{
	my ($plan) = @_;
	my $built = $plan =~ /Custom Scan \(Join Filter Build\)/;

	$counts{scans}++ if $plan =~ /Filter Scan/;
	$counts{filtered}++ if $plan =~ / in (?:index|\d+ indexes) /;
	$counts{bypassed}++ if $plan =~ /Filter Bypass/;
	$counts{hashed}++ if $plan =~ /Filter Bypass\)[^>]*->  Hash/;
	foreach (keys %kinds)
	{
		$counts{$_}++ if $plan =~ $kinds{$_};
	}
	$counts{built}++ if $built;
	$counts{stored}++ if $plan =~ /Join Filter Store/;
	$counts{stored_parallel}++ if $plan =~ /Gather.*Join Filter Store/s;
	$counts{fed}++ if $plan =~ /Bypass Feeder\)[^>]*Join Filter: /;
	$counts{parallel}++ if $plan =~ /Gather.*Join Filter Build/s;
	return if $plan !~ /\(actual rows=|\(never executed\)/;
	$counts{analyzed}++;
	$counts{batches}++ if $built && $plan =~ /Batches: (?!1\b)/;
	$counts{removed}++ if $built && $plan !~ / in (?:index|\d+ indexes) / && $plan =~ /Rows Removed by (?:Join Filter Probe|Probe): [1-9]/;
}

sub play_round
{
	my ($round) = @_;
	my $database = "round_$round";
	my $file = "$dir/joins_$round";
	my $disturbed = $round % $disturbed_every == 0;
	my (@cases, @faults, @pids);

	srand($seed + $round);
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my @setup = round_setup();
	my $script = join '', map { "$_;\n" } "SET max_parallel_workers_per_gather = 0", @setup, "SET statement_timeout = $statement_ms";
	$script .= "\\! touch $file.ready\n";
	foreach my $number (0 .. $cases_count - 1)
	{
		my @settings = random_settings();
		my @lines = !$disturbed ? random_case() : $number % 2 ? random_query(changes => 1) : RandomJoins::case_preserved(changes => 1);

		push @cases, [ \@settings, @lines ];
		$script .= $disturbed ? script_of_snapshot($number, \@settings, @lines) : join '', map { script_of($number, $_, \@settings, @lines) } @variants;
	}
	append_to_file("$file.sql", $script);
	@pids = start_disturbers($database, $file) if $disturbed;
	system("psql -XAtq -v VERBOSITY=terse -d '" . $node->connstr($database) . "' -f $file.sql >$file.out 2>$file.err");
	# on a busy machine they may have begun late
	while (@pids && changes_in($file) < $changes_least)
	{
		usleep(10_000);
		@pids = grep { waitpid($_, POSIX::WNOHANG) == 0 } @pids;
	}
	kill 'TERM', @pids;
	waitpid $_, 0 foreach @pids;
	$counts{disturbed}++ if $disturbed;
	$counts{changes} += changes_in($file) if $disturbed;
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
			count_plan($plan);
			$counts{bypassed_disturbed}++ if $disturbed && $plan =~ /Filter Bypass/;
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
	push @faults, server_faults($node);
	# what it said remains, if anybody has to read it
	if (@faults) { note("see $file.sql, .out, .err") }
	else { unlink glob("$file.*") }
	$node->psql('postgres', "DROP DATABASE $database WITH (FORCE)") unless @faults;
	return @faults;
}

$node->safe_psql('postgres', 'CREATE ROLE joins_user');

# The least of so many that chance may leave: two standard deviations less
sub by_chance
{
	my ($expected) = @_;

	return $expected - 2 * sqrt($expected);
}

my $round = $only_round ? $only_round - 1 : 0;
my $until = time + $seconds;

do
{
	my @faults = play_round(++$round);

	is(scalar @faults, 0, "round $round of seed $seed");
	diag(map { "$_\n---\n" } @faults[ 0 .. min($most_told, scalar @faults) - 1 ]) if @faults;
} while (!$only_round && (time < $until || $counts{cases} - $counts{slow} - $counts{failed} < $compared_least) && $node->poll_query_until('postgres', 'SELECT true'));

note(join ', ', map { "$_ $counts{$_}" } sort keys %counts);
cmp_ok($counts{filtered}, '>=', $filtered_share_least * $counts{statements}, 'enough plans had a join filter');
cmp_ok($counts{bypassed}, '>=', $bypassed_share_least * $counts{statements}, 'enough plans had a Filter Bypass');
cmp_ok($counts{hashed}, '>=', $hashed_share_least * $counts{statements}, 'enough of them above a hash join');
cmp_ok($counts{$_}, '>=', by_chance($of_kind_least{$_} * $counts{statements}), "enough had one of $_") foreach sort keys %of_kind_least;
cmp_ok($counts{built}, '>=', $built_share_least * $counts{statements}, 'enough plans made a join filter');
cmp_ok($counts{parallel}, '>=', $parallel_share_least * $counts{statements}, 'enough of them in workers');
cmp_ok($counts{batches}, '>=', $batches_share_least * $counts{analyzed}, 'enough of them for several batches');
cmp_ok($counts{removed}, '>=', $removed_share_least * $counts{analyzed}, 'enough of them removed rows');
cmp_ok($counts{$_}, '>=', by_chance($stored_share_least{$_} * $counts{statements}), "enough plans: $_") foreach sort keys %stored_share_least;
cmp_ok($counts{changes}, '>=', $changes_least * $counts{disturbed}, 'other sessions have changed tables');
cmp_ok($counts{bypassed_disturbed}, '>=', $bypassed_disturbed_least * $counts{disturbed}, 'a Filter Bypass ran meanwhile');
cmp_ok($counts{failed}, '<=', $failed_share_most * $counts{cases}, 'most cases are right by themselves');

$node->stop;
done_testing();
