# What one probe and one step of an aggregate cost, in instructions: the same
# count on every run, which shows a slower path where seconds would not.
#
# The bounds are some 15 % above what was counted when they were written (gcc
# 12, AVX2, which is what valgrind shows to the library).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Instructions;
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

need_valgrind();

my $rows = 20000;

my $node = start_server('instructions');
plan skip_all => 'assertions are instructions too'
  if $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';
$node->safe_psql('postgres', qq{
	CREATE TABLE urls AS
		SELECT 'https://example.com/a/directory/of/pages/' || md5(i::text) AS url,
			i::bigint AS number
		FROM generate_series(1, $rows) i;
	CREATE TABLE filters AS
		SELECT bloom_agg(url) AS urls, bloom_agg(number) AS numbers,
			cuckoo_agg(url) AS cuckoo_urls, cuckoo_agg(number) AS cuckoo_numbers,
			cuckoo_agg(number, 6000, NULL) AS cuckoo_layers,
			bloom_agg(upper(url)) AS other_urls, bloom_agg(-number) AS other_numbers,
			bloom_add_all(bloom_create_foreign('guava', 'text', $rows), array_agg(url)) AS guava_urls,
			bloom_add_all(bloom_create_foreign('parquet', 'int8', $rows), array_agg(number)) AS parquet_numbers
		FROM urls;
	CREATE TABLE keys AS SELECT url || 'x' AS url, -number * number * number AS number FROM urls WHERE number < 1000;
	CREATE TABLE visits AS SELECT number FROM urls;
	CREATE UNIQUE INDEX ON visits (number);
	CREATE TABLE listed AS SELECT number FROM keys;
	CREATE INDEX ON listed USING membership (number);
	CREATE TABLE pairs AS TABLE keys;
	CREATE INDEX ON pairs USING membership (number, url);
	VACUUM ANALYZE urls, keys, visits, listed, pairs;
});
$node->stop;

# where the function is called, and where a Filter Scan takes its place
my $query = 'SELECT count(*) FILTER (WHERE bloom_contains(%s, %s)) FROM urls';
my $cuckoo_query = 'SELECT count(*) FILTER (WHERE cuckoo_contains(%s, %s)) FROM urls';
my $scan = 'SELECT count(*) FROM urls WHERE bloom_contains(%s, %s)';
# of a text, most is the server's hash
my $join = sub {
	my ($column) = @_;

	return "LOAD 'bloomfilter'\nSET bloomfilter.join_filter = on\nSET enable_mergejoin = off\nSET enable_nestloop = off\n" .
	  "SELECT count(*) FROM urls JOIN keys USING ($column)";
};
my @cases = (
	[ 'a probe of a stored filter for a URL of 73 bytes',
		'bloomfilter_contains', 330,
		sprintf($query, '(SELECT urls FROM filters)', 'url') ],
	[ 'a probe of a stored filter for a bigint',
		'bloomfilter_contains', 190,
		sprintf($query, '(SELECT numbers FROM filters)', 'number') ],
	[ 'a probe of an aggregate\'s result for a bigint',
		'bloomfilter_contains', 170,
		sprintf($query, '(SELECT bloom_agg(number) FROM urls)', 'number') ],
	[ 'a row that a Filter Scan removes, with a URL of 73 bytes',
		'filter_scan_exec', 495,
		sprintf($scan, '(SELECT other_urls FROM filters)', 'url') ],
	[ 'a row that a Filter Scan removes, with a bigint, behind a URL',
		'filter_scan_exec', 515,
		sprintf($scan, '(SELECT other_numbers FROM filters)', 'number') ],
	[ 'a row that a join\'s keys remove, by a URL of 73 bytes',
		'filter_scan_exec', 1100, $join->('url') ],
	[ 'a row that a join\'s keys remove, by a bigint behind a URL',
		'filter_scan_exec', 470, $join->('number') ],
	[ 'a row that an index of two columns removes, a bigint and a URL of 73 bytes before it',
		'filter_scan_exec', 940,
		"LOAD 'bloomfilter'\nSET bloomfilter.filter_scan = force\nSELECT count(*) FROM urls JOIN pairs USING (url, number)" ],
	[ 'a row that an array removes, with a bigint behind a URL',
		'filter_scan_exec', 540, "LOAD 'bloomfilter'\nSELECT count(*) FROM urls WHERE number = ANY (ARRAY(SELECT number FROM keys))" ],
	[ 'a row that an array removes, with a URL of 73 bytes',
		'filter_scan_exec', 1245, "LOAD 'bloomfilter'\nSELECT count(*) FROM urls WHERE url = ANY (ARRAY(SELECT url FROM keys))" ],
	[ 'a row that an array lets pass, with a bigint behind a URL',
		'filter_scan_exec', 945, "LOAD 'bloomfilter'\nSELECT count(*) FROM urls WHERE number <> ALL (ARRAY(SELECT number FROM keys))" ],
	[ 'a probe of a stored Guava filter for a URL of 73 bytes',
		'bloomfilter_contains', 790,
		sprintf($query, '(SELECT guava_urls FROM filters)', 'url') ],
	[ 'a probe of a stored Parquet filter for a bigint',
		'bloomfilter_contains', 610,
		sprintf($query, '(SELECT parquet_numbers FROM filters)', 'number') ],
	[ 'a step of bloom_agg for a URL of 73 bytes',
		'bloomfilter_bloom_agg_trans', 385,
		'SELECT bloom_agg(url) IS NULL FROM urls' ],
	[ 'a step of bloom_agg for a bigint',
		'bloomfilter_bloom_agg_trans', 255,
		'SELECT bloom_agg(number) IS NULL FROM urls' ],
	[ 'a probe of a stored cuckoo filter for a URL of 73 bytes',
		'bloomfilter_contains', 370,
		sprintf($cuckoo_query, '(SELECT cuckoo_urls FROM filters)', 'url') ],
	[ 'a probe of a stored cuckoo filter for a bigint',
		'bloomfilter_contains', 245,
		sprintf($cuckoo_query, '(SELECT cuckoo_numbers FROM filters)', 'number') ],
	[ 'a probe of a stored cuckoo filter with layers for a bigint',
		'bloomfilter_contains', 395,
		sprintf($cuckoo_query, '(SELECT cuckoo_layers FROM filters)', 'number') ],
	[ 'a step of cuckoo_agg for a URL of 73 bytes',
		'bloomfilter_cuckoo_agg_trans', 345,
		'SELECT cuckoo_agg(url) IS NULL FROM urls' ],
	[ 'a step of cuckoo_agg for a bigint',
		'bloomfilter_cuckoo_agg_trans', 222,
		'SELECT cuckoo_agg(number) IS NULL FROM urls' ]);
my %of_function;

push @{ $of_function{ $_->[1] } }, $_ foreach @cases;
foreach my $function (sort keys %of_function)
{
	my @of_this = @{ $of_function{$function} };
	# reads the pages, which costs more where they have checksums
	my (undef, @totals) = instructions($node, $function, map { "SELECT count(*) FROM urls\n$_->[3]" } @of_this);

	foreach my $case (@of_this)
	{
		my ($what, undef, $bound) = @$case;
		my $count = shift(@totals) / $rows;

		cmp_ok($count, '<=', $bound,
			sprintf('%s: %.0f instructions, at most %d', $what, $count, $bound));
	}
}

# what adding an element costs that a filter of 1.3 MB contains, by the difference of few and
# many additions to one filter: nothing is copied, which would take 30,000 instructions
my ($few, $many) = (10, 110);
my $flat = q{SELECT count(bloom_add(f, i / i)) FROM (SELECT bloom_add(bloom_create(1000000), 1)::text AS text) t, LATERAL (SELECT text::bloom AS f OFFSET 0) u, generate_series(1, %d) i};
my $expanded = 'SELECT count(bloom_add(f, i / i)) FROM (SELECT bloom_agg(1, 1000000, NULL) AS f OFFSET 0) u, generate_series(1, %d) i';
my (undef, @additions) = instructions($node, 'bloomfilter_add', map { my $query = $_; map { sprintf $query, $_ } $few, $many } $flat, $expanded);

foreach my $case ([ 'flat', 690 ], [ 'expanded', 690 ])
{
	my ($form, $bound) = @$case;
	my ($of_few, $of_many) = splice @additions, 0, 2;
	my $count = ($of_many - $of_few) / ($many - $few);

	cmp_ok($count, '<=', $bound, sprintf('an addition of what a filter contains that is %s: %.0f instructions, at most %d', $form, $count, $bound));
}

# what the library adds to a query of one table, with join filters on: half a percent of it.
# The first queries fill caches, and once a second the server adds up its statistics, after
# whichever query, which makes the two after it dearer, too: hence the least of twelve.  What
# malloc() takes depends on the pieces that earlier queries left, and is no less than all of
# the library.  A count includes reading the next line, so that of the last query is not
# compared.
my $one_table = 'SELECT url FROM urls LIMIT 1';
my (undef, @whole) = instructions($node, 'PostgresMain malloc realloc free', ($one_table) x 15,
	"LOAD 'bloomfilter'", 'SET bloomfilter.join_filter = on', ($one_table) x 15);
my $without = min(@whole[2 .. 13]);
my $added = min(@whole[19 .. 30]) - $without;

cmp_ok($added, '<=', 0.005 * $without,
	"a query of one table: $added instructions more than $without without the library");

# what Partition Filters add to planning where no table has partitions: half a percent of it
my $three_tables = 'EXPLAIN SELECT count(*) FROM urls a JOIN urls b USING (number) JOIN keys c ON a.url = c.url WHERE a.number = 1';
my (undef, @planned) = instructions($node, 'planner', "LOAD 'bloomfilter'\n$three_tables", ($three_tables) x 3,
	"SET bloomfilter.partition_filter = on\n$three_tables", $three_tables);
my $for_partitions = $planned[5] - $planned[3];

cmp_ok($for_partitions, '<=', 0.005 * $planned[3],
	"partition filters add $for_partitions instructions to the $planned[3] of planning without partitions");

# what a table adds that is joined to one row: a scan of the other table is no choice, so
# nothing is asked of the list's index.  A twentieth, where asking it added a third.
my $one_row = 'EXPLAIN SELECT * FROM visits LEFT JOIN listed USING (number) WHERE visits.number = 7';
my (undef, @of_one) = instructions($node, 'planner', "LOAD 'bloomfilter'\nSET bloomfilter.filter_scan = off\n$one_row", ($one_row) x 3,
	"RESET bloomfilter.filter_scan\n$one_row", ($one_row) x 3);
my $for_row = $of_one[7] - $of_one[3];

cmp_ok($for_row, '<=', 0.05 * $of_one[3],
	"a join of one row adds $for_row instructions to the $of_one[3] of planning without filters");

# what a list of constants adds to planning, which the server hashes: half a percent
my $constants = "EXPLAIN SELECT * FROM urls WHERE number IN (" . join(',', 1 .. 20) . ") AND url IN ('a', 'b')";
my (undef, @listed) = instructions($node, 'planner', "LOAD 'bloomfilter'\nSET bloomfilter.filter_scan = off\n$constants", ($constants) x 3,
	"RESET bloomfilter.filter_scan\n$constants", ($constants) x 3);
my $for_list = $listed[7] - $listed[3];

cmp_ok($for_list, '<=', 0.005 * $listed[3],
	"a list of constants adds $for_list instructions to the $listed[3] of planning without filters");

# what filters from keys add to planning grows with the plan's depth, and not by a factor with
# each level: eight more levels would take hundreds of times as much
sub nested
{
	my ($depth) = @_;
	my $deep = 'SELECT number FROM keys';

	$deep = "SELECT number + 1 AS number FROM ($deep) q$_ GROUP BY 1" foreach 1 .. $depth;
	return "EXPLAIN SELECT count(*) FROM urls JOIN ($deep) o USING (number)";
}
my @depths = map { nested($_) } 4, 12;
my (undef, @deep) = instructions($node, 'planner',
	"LOAD 'bloomfilter'\nSET bloomfilter.filter_scan = off\nSET enable_mergejoin = off\nSET enable_nestloop = off\n$depths[0]",
	(map { ($_) x 3 } @depths), "SET bloomfilter.filter_scan = on\nSET bloomfilter.join_filter = force\n$depths[0]", (map { ($_) x 3 } @depths));
my @of_depth = map { $deep[ 10 + 3 * $_ ] - $deep[ 3 + 3 * $_ ] } 0, 1;

cmp_ok($of_depth[1], '<=', 4 * $of_depth[0], "filters from keys add $of_depth[1] instructions to planning 12 levels, and $of_depth[0] to 4");

done_testing();
