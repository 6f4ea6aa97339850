# A session loads the library late, often while it plans its first statement.  Plans that
# were made before, or just then, are made again: of prepared statements, as poolers keep
# them, and in functions.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Server;
use Test::More;

my $node = start_server('late', conf => q{
autovacuum = off
max_parallel_workers_per_gather = 0
bloomfilter.partition_filter = on
bloomfilter.join_filter = on
plan_cache_mode = force_generic_plan
});
$node->safe_psql('postgres', q{
	CREATE TABLE events (day int, trace bigint) PARTITION BY LIST (day);
	CREATE TABLE events_1 PARTITION OF events FOR VALUES IN (1);
	CREATE TABLE events_2 PARTITION OF events FOR VALUES IN (2);
	INSERT INTO events SELECT 1 + n % 2, n FROM generate_series(1, 20000) n;
	CREATE INDEX ON events (trace);
	CREATE INDEX ON events USING membership (trace);
	CREATE TABLE sales AS SELECT n % 20000 AS part, 'x'::text AS x FROM generate_series(1, 200000) n;
	CREATE TABLE parts AS SELECT n AS part, 'brand ' || n % 100 AS brand FROM generate_series(0, 19999) n;
	VACUUM ANALYZE events, sales, parts;
	CREATE FUNCTION days_of(x bigint) RETURNS SETOF int LANGUAGE plpgsql AS
		$$ BEGIN RETURN QUERY SELECT day FROM events WHERE trace = x; END $$;
});

# Each in a new session
sub run_new
{
	return $node->safe_psql('postgres', join(";\n", @_));
}

my $lookup = 'PREPARE lookup(bigint) AS SELECT day FROM events WHERE trace = $1';
# before PostgreSQL 18, no condition of this loads the library
my $join = "PREPARE joined AS SELECT count(*) FROM sales JOIN parts USING (part) WHERE brand LIKE 'brand 7'";
my $load = q{SELECT bloom_agg(1) @> 1};
my $partition_filter = qr/Custom Scan \(Partition Filter\)/;
my $join_filter = qr/Custom Scan \(Join Filter Build\)/;

like(run_new($lookup, 'EXECUTE lookup(7)', 'EXPLAIN EXECUTE lookup(7)'), $partition_filter,
	'a prepared statement that loads the library');
like(run_new($lookup, 'EXPLAIN EXECUTE lookup(7)', 'EXPLAIN EXECUTE lookup(7)'),
	$partition_filter, 'one that is explained first');
is(run_new($lookup, ('EXECUTE lookup(7)') x 3), "2\n2\n2", 'its rows');
like(run_new($join, 'EXECUTE joined', $load, 'EXPLAIN EXECUTE joined'), $join_filter,
	'one whose plan is older than the library');
like(run_new($join, 'EXECUTE joined', "LOAD 'bloomfilter'", 'EXPLAIN EXECUTE joined'),
	$join_filter, 'or older than LOAD');
is(run_new($join, 'EXECUTE joined', $load, 'EXECUTE joined'), "2000\nt\n2000", 'its rows');

# A plan in use when the library comes is executed to its end
is(run_new($join, 'BEGIN', 'DECLARE c CURSOR FOR SELECT part FROM parts ORDER BY part',
		'FETCH 1 FROM c', $load, 'FETCH 1 FROM c', 'COMMIT'),
	"0\nt\n1", 'a cursor that was open');
is(run_new(q{DO $$
		DECLARE
			x bigint;
			found int;
		BEGIN
			FOR x IN SELECT generate_series(1, 4) LOOP
				IF x = 2 THEN
					PERFORM bloom_agg(1) @> 1;
				END IF;
				SELECT count(*) INTO found FROM events WHERE trace = x;
				ASSERT found = 1;
			END LOOP;
		END $$},
		'SELECT days_of(7)', 'SELECT days_of(8)'),
	"2\n1", 'loops and functions');

# What a function's second call executes
SKIP:
{
	my ($failed) = $node->psql('postgres', "LOAD 'auto_explain'");
	skip 'no auto_explain here', 1 if $failed;
	my ($status, $out, $err) = $node->psql('postgres', join(";\n", q{LOAD 'auto_explain'},
			q{SET auto_explain.log_nested_statements = on}, 'SELECT days_of(7)',
			q{SET auto_explain.log_level = notice}, q{SET auto_explain.log_min_duration = 0},
			'SELECT days_of(8)'));
	like($err, $partition_filter, 'the second call of a function');
}

done_testing();
