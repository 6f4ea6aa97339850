# Join filters without an index do not depend on when a session loads the library, nor on
# which other libraries look at its queries; nothing is left of one whose query
# was cancelled, or failed, while it was built; and workers share one copy of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('sessions', conf => q{
autovacuum = off
max_parallel_workers_per_gather = 0
# in files, which a query can see
dynamic_shared_memory_type = mmap
});
$node->safe_psql('postgres', q{
	CREATE TABLE parts AS SELECT n AS part, n % 100 AS brand, 'part ' || n AS name FROM generate_series(1, 20000) n;
	CREATE TABLE sales AS SELECT n AS id, n % 20000 + 1 AS part, 'part ' || n % 20000 + 1 AS name
		FROM generate_series(1, 200000) n;
	VACUUM ANALYZE parts, sales;
	CREATE ROLE analyst LOGIN;
	GRANT SELECT ON parts, sales TO analyst;
	CREATE FUNCTION slept(part int) RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE AS
		$$ BEGIN IF part % 100 = 7 THEN PERFORM pg_sleep(0.02); END IF; RETURN true; END $$;
	CREATE FUNCTION failed(part int) RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE AS
		$$ BEGIN IF part = 15007 THEN RAISE EXCEPTION 'part %', part; END IF; RETURN true; END $$;
});

# Keys that are integers, and others
my @queries = map { "SELECT count(*) FROM sales s JOIN parts p USING ($_) WHERE p.brand = 7" } qw(part name);
my $on = "SET bloomfilter.join_filter = 'on'";
my $build = qr/Custom Scan \(Join Filter Build\)/;

sub is_filtered
{
	my ($what, $run) = @_;

	foreach my $query (@queries)
	{
		like($run->("EXPLAIN $query"), $build, "$what: the plan");
		is($run->($query), 2000, "$what: the rows");
	}
}

sub run_new
{
	my (@before) = @_;

	return sub { $node->safe_psql('postgres', join(';', @before, $_[0])) };
}

is_filtered('after LOAD', run_new("LOAD 'bloomfilter'", $on));
is_filtered('set before LOAD', run_new($on, "LOAD 'bloomfilter'"));
unlike(run_new($on)->("EXPLAIN $queries[0]"), $build, 'the setting alone loads nothing');
is_filtered('by default, after LOAD', run_new("LOAD 'bloomfilter'"));
unlike(run_new("LOAD 'bloomfilter'", 'SET bloomfilter.join_filter = index')->("EXPLAIN $queries[0]"), $build, 'not if only indexes filter');

# For a role, and a database
$node->safe_psql('postgres', q{
	ALTER ROLE analyst SET session_preload_libraries = 'bloomfilter';
	ALTER ROLE analyst SET bloomfilter.join_filter = on});
my $session = Session->new($node, 'analyst');
is_filtered('a role', sub { $session->query($_[0]) });
$session->quit;
$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET session_preload_libraries = 'bloomfilter';
	ALTER DATABASE postgres SET bloomfilter.join_filter = on});
is_filtered('a database', run_new());
$node->safe_psql('postgres', q{
	ALTER DATABASE postgres RESET session_preload_libraries;
	ALTER DATABASE postgres RESET bloomfilter.join_filter});

# Plans that were made before
$session = Session->new($node);
$session->query("SET plan_cache_mode = force_generic_plan; PREPARE sold AS $queries[0]");
is($session->query('EXECUTE sold'), '2000', 'prepared without filters');
$session->query("LOAD 'bloomfilter'; $on");
is($session->query('EXECUTE sold'), '2000', 'executed with the library');
like($session->query('EXPLAIN EXECUTE sold'), $build, 'by a new plan');
$session->query('SET bloomfilter.join_filter = off');
like($session->query('EXPLAIN EXECUTE sold'), $build, 'which it keeps');
is($session->query('EXECUTE sold'), '2000', 'executed with filters');
$session->quit;

# Cancelled and failed, half-way, by one process and several
foreach my $workers (0, 2)
{
	$session = Session->new($node);
	$session->query("LOAD 'bloomfilter'; $on; SET max_parallel_workers_per_gather = $workers; SET parallel_setup_cost = 0;
		SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0");
	foreach my $query (@queries)
	{
		$session->query("SET statement_timeout = '500ms'");
		like($session->query("$query AND slept(p.part)"), qr/canceling statement due to statement timeout/, "$workers workers: cancelled");
		$session->query('RESET statement_timeout');
		is($session->query($query), '2000', "$workers workers: after that");
		like($session->query("$query AND failed(p.part)"), qr/part 15007/, "$workers workers: failed");
		is($session->query($query), '2000', "$workers workers: after that");
		# a subtransaction, which goes on
		$session->query("BEGIN; SAVEPOINT s");
		$session->query("$query AND failed(p.part)");
		$session->query('ROLLBACK TO s');
		is($session->query($query), '2000', "$workers workers: after a savepoint");
		$session->query('COMMIT');
	}
	$session->quit;
}

# Workers get one copy of a filter, however many partitions probe it: this one has 120 kB
$node->safe_psql('postgres', q{
	CREATE TABLE parted (part bigint) PARTITION BY HASH (part);
	DO $$ BEGIN FOR i IN 0..63 LOOP
		EXECUTE format('CREATE TABLE parted_%s PARTITION OF parted FOR VALUES WITH (MODULUS 64, REMAINDER %s)', i, i);
	END LOOP; END $$;
	INSERT INTO parted SELECT n * 1000003::bigint FROM generate_series(1, 200000) n;
	CREATE TABLE sparse AS SELECT n * 1000003::bigint AS part FROM generate_series(1, 100000) n;
	VACUUM ANALYZE parted, sparse;
	CREATE FUNCTION shared_kb(part bigint) RETURNS numeric LANGUAGE plpgsql STABLE PARALLEL RESTRICTED AS
		$$ BEGIN RETURN sum((pg_stat_file('pg_dynshmem/' || f, true)).size) / 1024 FROM pg_ls_dir('pg_dynshmem') f; END $$;
});
$session = Session->new($node);
$session->query("LOAD 'bloomfilter'; $on; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET enable_mergejoin = off; SET enable_nestloop = off");
my $parted = 'FROM parted JOIN (SELECT part FROM sparse OFFSET 0) s USING (part)';
like($session->query("EXPLAIN SELECT count(*) $parted"), qr/Gather.*Parallel Custom Scan \(Filter Scan\) on parted_63/s,
	'probed by workers');
is($session->query("SELECT count(*) $parted"), '100000', 'all rows');
cmp_ok($session->query("SELECT max(shared_kb(part)) FILTER (WHERE part % 100 = 0) $parted"), '<', 64 * 120 / 2, 'one copy');
$session->quit;

# Other libraries, in both orders
SKIP:
{
	my ($failed) = $node->psql('postgres', "LOAD 'auto_explain'");
	skip 'no auto_explain here', 1 if $failed;
	foreach my $libraries ('auto_explain, bloomfilter', 'bloomfilter, auto_explain')
	{
		my $offset = -s $node->logfile;

		$node->safe_psql('postgres', qq{
			ALTER DATABASE postgres SET session_preload_libraries = $libraries;
			ALTER DATABASE postgres SET auto_explain.log_min_duration = 0;
			ALTER DATABASE postgres SET auto_explain.log_analyze = on;
			ALTER DATABASE postgres SET bloomfilter.join_filter = on});
		is_filtered($libraries, run_new());
		like(slurp_file($node->logfile, $offset), qr/Join Filter Build.*Elements: 200\b/s, "$libraries: the log");
	}
}

done_testing();
