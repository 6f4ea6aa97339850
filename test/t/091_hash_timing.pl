# A server that hashes the inner rows of a join later than Join Filter Build expects: the filter is
# not used, the log says so, and no row is lost.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib $FindBin::RealBin;
use Module;
use Server;

my $library = compile_module("$FindBin::RealBin/../server/read_ahead.c");
plan skip_all => 'no C compiler here' unless $library;

my $node = start_server('hashing', conf => q{
	enable_mergejoin = off
	enable_nestloop = off
	min_parallel_table_scan_size = 0
	parallel_setup_cost = 0
	parallel_tuple_cost = 0
	max_parallel_workers_per_gather = 0
	log_min_messages = log
	session_preload_libraries = 'bloomfilter'
	bloomfilter.join_filter = force});
# a tenth of the small table's keys are NULL, and a tenth have no partner
$node->safe_psql('postgres', q{
	CREATE TABLE large AS SELECT n, CASE WHEN n % 11 <> 0 THEN n::text END AS t FROM generate_series(1, 40000) n;
	CREATE TABLE small AS SELECT n, CASE WHEN n % 10 <> 0 THEN (n * 3)::text END AS t, repeat('x', 100) AS filler
		FROM generate_series(1, 15000) n;
	ANALYZE large, small});

my $joins = q{
	SELECT 'inner', count(*), sum(a.n) FROM large a JOIN small b USING (t);
	SELECT 'two columns', count(*), sum(a.n) FROM large a JOIN small b ON a.t = b.t AND a.n::text || 'x' = (b.n * 3)::text || 'x';
	SELECT 'left', count(*), sum(b.n) FROM large a LEFT JOIN small b USING (t);
	SELECT 'anti', count(*), sum(a.n) FROM large a WHERE NOT EXISTS (SELECT FROM small b WHERE b.t = a.t);
	SELECT 'semi', count(*), sum(a.n) FROM large a WHERE EXISTS (SELECT FROM small b WHERE b.t = a.t);
	SELECT 'right', count(*), sum(a.n), count(b.n), sum(length(filler)) FROM large a RIGHT JOIN small b USING (t);
	SELECT 'full', count(*), sum(a.n), count(b.n), sum(length(filler)) FROM large a FULL JOIN small b USING (t);
};
my %states = (
	'one batch' => '',
	'many batches' => 'SET work_mem = 256; SET hash_mem_multiplier = 1;',
	'parallel' => 'SET max_parallel_workers_per_gather = 2;',
	'parallel, many batches' => 'SET max_parallel_workers_per_gather = 2; SET work_mem = 256; SET hash_mem_multiplier = 1;');
my $message = qr/join filter \d+ is not used: its hash table has \d+ rows, but \d+ were expected/;

for my $state (sort keys %states)
{
	my $plain = $node->safe_psql('postgres', "SET bloomfilter.join_filter = off; $joins");
	my $start = -s $node->logfile;

	is($node->safe_psql('postgres', "$states{$state} $joins"), $plain, "$state: the rows of core");
	unlike(slurp_file($node->logfile, $start), $message, "$state: each filter is used");

	$start = -s $node->logfile;
	is($node->safe_psql('postgres', "LOAD '$library'; $states{$state} $joins"), $plain, "$state, read ahead: the rows of core");
	my $said = () = slurp_file($node->logfile, $start) =~ /$message/g;
	cmp_ok($said, '>=', 4, "$state, read ahead: the log says that filters are not used");
}

$node->stop;
done_testing();
