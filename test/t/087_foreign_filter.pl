# Join filters that are sent to foreign servers: which joins send one, what travels, and that
# the result is the same as without, whatever types, collations and encodings the servers have,
# and whatever happens between two executions.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Module;
use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $rows = 20000;
my $local = start_server('local');
my $remote = start_server('remote');
my ($host, $port) = ($remote->host, $remote->port);
my $options = "host '$host', port '$port'";

$remote->safe_psql('postgres', qq{
	CREATE TABLE visits AS SELECT n AS id, 'https://example.com/' || n AS url, n % 7 AS site FROM generate_series(1, $rows) n;
	CREATE TABLE sites AS SELECT n AS site, 'site ' || n AS name FROM generate_series(0, 6) n;
	ANALYZE visits, sites;
	CREATE DATABASE second;
	CREATE DATABASE bare;
	CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
	CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0;
	CREATE DATABASE utf ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0});
foreach my $database ('second', 'latin', 'ascii', 'utf')
{
	$remote->safe_psql($database, 'CREATE EXTENSION bloomfilter');
}
$remote->safe_psql('second', qq{
	CREATE TABLE visits AS SELECT n AS id, 'https://example.com/' || n AS url, n % 7 AS site FROM generate_series($rows + 1, 2 * $rows) n});
$remote->safe_psql('bare', q{CREATE TABLE visits AS SELECT n AS id, 'https://example.com/' || n AS url, 1 AS site FROM generate_series(1, 2000) n});

$local->safe_psql('postgres', qq{
	ALTER SYSTEM SET session_preload_libraries = 'bloomfilter';
	SELECT pg_reload_conf();
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER remote FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, dbname 'postgres', extensions 'other, bloomfilter');
	CREATE SERVER second FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, dbname 'second', extensions 'bloomfilter', async_capable 'true');
	CREATE SERVER bare FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, dbname 'bare', extensions 'bloomfilter');
	CREATE SERVER silent FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER remote;
	CREATE USER MAPPING FOR CURRENT_USER SERVER second;
	CREATE USER MAPPING FOR CURRENT_USER SERVER bare;
	CREATE USER MAPPING FOR CURRENT_USER SERVER silent;
	CREATE FOREIGN TABLE visits (id integer, url text, site integer) SERVER remote;
	CREATE FOREIGN TABLE sites (site integer, name text) SERVER remote;
	CREATE FOREIGN TABLE bare_visits (id integer, url text) SERVER bare OPTIONS (table_name 'visits');
	CREATE FOREIGN TABLE silent_visits (id integer, url text) SERVER silent OPTIONS (table_name 'visits');
	ANALYZE visits, sites, silent_visits, bare_visits;
	CREATE TABLE parts (id integer, url text, site integer) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO ($rows + 1) SERVER second OPTIONS (table_name 'visits');
	CREATE FOREIGN TABLE parts_2 PARTITION OF parts FOR VALUES FROM ($rows + 1) TO (2 * $rows + 1) SERVER remote OPTIONS (table_name 'visits');
	CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (2 * $rows + 1) TO (3 * $rows + 1);
	INSERT INTO parts SELECT n, 'https://example.com/' || n, n % 7 FROM generate_series(2 * $rows + 1, 3 * $rows) n;
	ANALYZE parts;
	CREATE TABLE list AS SELECT 'https://example.com/' || n AS url, n AS id, n::bigint AS long FROM generate_series(100, $rows, 200) n;
	INSERT INTO list VALUES (NULL, NULL, NULL), ('nowhere', -1, -1);
	ANALYZE list});

my $on = 'SET bloomfilter.join_filter = on; SET bloomfilter.foreign_filter = on; SET enable_nestloop = off; SET enable_mergejoin = off;';
my $off = 'SET bloomfilter.join_filter = on; SET enable_nestloop = off; SET enable_mergejoin = off;';
my $analyze = 'EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off, SUMMARY off)';
my $sent = qr/Remote SQL: SELECT \* FROM \(SELECT .*\) f\(c1.*\) WHERE public\._bloom_may_contain\(\$1::public\.bloom, c/;

sub plan_of
{
	my ($query, $settings) = @_;
	return $local->safe_psql('postgres', ($settings // $on) . " EXPLAIN (VERBOSE, COSTS off) $query");
}

# A query sends its filter, fetches few rows, and returns what it does without.
sub sends
{
	my ($what, $query, $most, $settings) = @_;
	$settings //= $on;
	my $plan = $local->safe_psql('postgres', "$settings BEGIN; EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off, SUMMARY off) $query; ROLLBACK");
	my ($fetched) = $plan =~ /Rows Fetched: (\d+)/;
	my $result = "BEGIN; $query; ROLLBACK";

	like($plan, $sent, "$what: the filter is sent") or diag($plan);
	cmp_ok($fetched // -1, '<=', $most // 130, 'few rows are fetched');
	is($local->safe_psql('postgres', "$settings $result"), $local->safe_psql('postgres', "$off $result"), 'the result is the same');
	return $plan;
}

sub stands_aside
{
	my ($what, $query, $settings) = @_;
	my $plan = plan_of($query, $settings);

	unlike($plan, qr/_bloom_may_contain/, $what) or diag($plan);
	is($local->safe_psql('postgres', ($settings // $on) . $query), $local->safe_psql('postgres', "$off $query"), 'the result is the same');
}

# ---------------------------------------------------------------- which joins

my $joined = 'SELECT v.id FROM visits v JOIN list l USING (url) ORDER BY 1';
stands_aside('by default nothing is sent', $joined, $off);
my $by_index = $on =~ s/join_filter = on/join_filter = index/r;
stands_aside('nor, with "index", are keys of a list that has no membership index', $joined, $by_index);
foreach my $index ('(id)', '(url, id)', '(url) WHERE id > 0')
{
	$local->safe_psql('postgres', "CREATE INDEX list_url ON list USING membership $index");
	stands_aside("or one of $index", $joined, $by_index);
	$local->safe_psql('postgres', 'DROP INDEX list_url');
}
$local->safe_psql('postgres', q{
	CREATE INDEX list_url ON list USING membership (url);
	CREATE TABLE lists (url text, id integer) PARTITION BY LIST (id);
	CREATE TABLE lists_1 PARTITION OF lists FOR VALUES IN (1);
	CREATE TABLE lists_2 PARTITION OF lists FOR VALUES IN (2);
	INSERT INTO lists SELECT url, CASE WHEN id < 5000 THEN 1 ELSE 2 END FROM list WHERE id > 0;
	CREATE TABLE kinds AS SELECT 2 AS id; ANALYZE lists, kinds;
	CREATE INDEX ON lists_1 USING membership (url)});
my $of_lists = 'SELECT v.id FROM visits v JOIN lists l USING (url) ORDER BY 1';
foreach my $case (
	[ 'a list that has one', $joined ],
	[ 'a part of it', 'SELECT v.id FROM visits v JOIN (SELECT * FROM list WHERE id % 7 <> 3) l USING (url) ORDER BY 1' ],
	[ 'a list that is joined here', 'SELECT v.id FROM visits v JOIN (SELECT l.url FROM list l JOIN lists ON lists.id = l.id % 200 + 2 OFFSET 0) l USING (url) ORDER BY 1', 260 ],
	[ 'a list in a semi join', 'SELECT v.id FROM visits v WHERE EXISTS (SELECT FROM list l WHERE l.url = v.url) ORDER BY 1' ],
	[ 'an update', 'UPDATE visits v SET site = 8 FROM list l WHERE l.url = v.url RETURNING v.id' ])
{
	my ($what, $query, $most) = @$case;

	like(sends("but those of $what are", $query, $most, $by_index), qr/Sent To: remote\n/, 'as EXPLAIN says');
	stands_aside('not if joins are not filtered', $query, $by_index =~ s/join_filter = index/join_filter = off/r);
}
stands_aside('an index of one partition', $of_lists, $by_index);
$local->safe_psql('postgres', 'CREATE INDEX ON lists_2 USING membership (url)');
sends('indexes of all', $of_lists, undef, $by_index);
$local->safe_psql('postgres', 'CREATE UNIQUE INDEX list_once ON list (url); VACUUM list');
like(sends('a list that is read by another index', $joined, undef, "$by_index SET enable_seqscan = off; SET enable_bitmapscan = off;"), qr/Index Only Scan using list_once/, 'alone');
my $plan = sends('partitions, one of them here', 'SELECT p.id FROM parts p JOIN list l USING (url) ORDER BY 1', 260, $by_index);
like($plan, qr/Sent To: second, remote\n/, 'to the servers');
unlike($plan, qr/join filter/, 'and nothing else is filtered by keys');
# the keys are those of the rows that the query sees, whatever the index knows
$local->safe_psql('postgres', q{CREATE TABLE own AS SELECT url FROM list; CREATE INDEX ON own USING membership (url); ANALYZE own});
foreach my $case (
	[ 'new rows', q{INSERT INTO own SELECT 'https://example.com/' || n FROM generate_series(1, 9) n}, 109 ],
	[ 'rolled back', q{SAVEPOINT s; INSERT INTO own VALUES ('https://example.com/2'); ROLLBACK TO s}, 100 ],
	[ 'deleted', q{DELETE FROM own WHERE url = 'https://example.com/300'}, 99 ])
{
	my ($what, $change, $count) = @$case;
	my $query = 'SELECT v.id FROM visits v JOIN own l USING (url)';
	my $plan = $local->safe_psql('postgres', "$by_index BEGIN; $change; $analyze $query");

	like($plan, qr/Hash Join \(actual rows=$count\b/, "rows of the transaction: $what");
	# and one that is nowhere
	like($plan, qr/Elements Sent: @{[ $count + 1 ]}\n/, 'are sent, and no others');
}
my $beside = 'SELECT v.id FROM visits v JOIN list l USING (url) UNION ALL SELECT p.id FROM parts_3 p LEFT JOIN list l USING (id)';
is(scalar(() = plan_of($beside, $_) =~ /Join Filter Build/g), $_ eq $on ? 2 : 1, 'nor another join') foreach $on, $by_index;
is($local->safe_psql('postgres', "$by_index SET plan_cache_mode = force_generic_plan; PREPARE p AS $joined; EXPLAIN (VERBOSE) EXECUTE p; DROP INDEX list_url; EXPLAIN (VERBOSE) EXECUTE p") =~ s/(_bloom_may_contain|Foreign Scan)|./$1 ? "$1\n" : ''/gesr, "Foreign Scan\n_bloom_may_contain\nForeign Scan\n", 'a prepared plan, and without its index');
$local->safe_psql('postgres', 'DROP INDEX list_once; DROP TABLE lists, kinds');
$plan = sends('an inner join', $joined);
like($plan, qr/Sent To: remote\n.*Elements Sent: 101\n.*Bytes Sent: \d+\n/, 'EXPLAIN says what');
sends('of integers of different widths', 'SELECT v.id FROM visits v JOIN list l ON v.id = l.long ORDER BY 1');
sends('a semi join', 'SELECT id FROM visits v WHERE EXISTS (SELECT FROM list l WHERE l.url = v.url) ORDER BY 1');
sends('a right join', 'SELECT l.id, v.id FROM visits v RIGHT JOIN list l USING (url) ORDER BY 1');
my $version = $local->safe_psql('postgres', 'SHOW server_version_num');
SKIP:
{
	skip 'no right anti joins before PostgreSQL 16', 4 if $version < 160000;
	like(sends('a right anti join', 'SELECT l.id FROM list l WHERE NOT EXISTS (SELECT FROM visits v WHERE v.url = l.url) ORDER BY 1'), qr/Hash Right Anti Join/, 'hashes the list');
}
SKIP:
{
	skip 'no right semi joins before PostgreSQL 18', 4 if $version < 180000;
	like(sends('a right semi join', 'SELECT l.id FROM list l WHERE EXISTS (SELECT FROM visits v WHERE v.url = l.url) ORDER BY 1'), qr/Hash Right Semi Join/, 'hashes the list');
}
sends('with conditions there and here', 'SELECT v.id FROM visits v JOIN list l USING (url) WHERE v.site <> 3 AND md5(v.url) > $$4$$ ORDER BY 1');
$plan = sends('joined tables of the server', 'SELECT v.id, s.name FROM visits v JOIN sites s USING (site) JOIN list l USING (url) WHERE s.name = $$site 3$$ ORDER BY 1');
like($plan, qr/Relations: \(public\.visits v\) INNER JOIN \(public\.sites s\)\n +$sent/, 'joined there');
$plan = sends('groups', 'SELECT * FROM (SELECT url, count(*) FROM visits GROUP BY url OFFSET 0) v JOIN list l USING (url) ORDER BY 1');
like($plan, qr/Relations: Aggregate on \(public\.visits\)\n +$sent/, 'made there');
sends('below a sort and an aggregate here', 'SELECT * FROM (SELECT id, count(md5(url)) FROM visits GROUP BY id OFFSET 0) v JOIN list l USING (id) ORDER BY 1');
$local->safe_psql('postgres', q{CREATE TABLE days AS SELECT n AS site FROM generate_series(2, 3) n; ANALYZE days});
my $two = 'SELECT v.id FROM visits v JOIN list l USING (url) JOIN days d ON d.site = v.site ORDER BY 1';
sends('two lists, two filters', $two);
like(plan_of($two, "$on SET bloomfilter.join_filter = force;"), qr/_bloom_may_contain\(\$5::public\.bloom, c/, 'each with parameters');
sends('an empty list', q{SELECT v.id FROM visits v JOIN (SELECT url FROM list WHERE id = 3 OFFSET 0) l USING (url)}, 0);
$local->safe_psql('postgres', 'DELETE FROM list WHERE url IS NULL');
sends('an update', 'UPDATE visits v SET site = 8 FROM list l WHERE l.url = v.url RETURNING v.id');
sends('a delete', 'DELETE FROM visits v USING list l WHERE l.url = v.url RETURNING v.id');
is($remote->safe_psql('postgres', 'SELECT count(*) < 500 FROM visits WHERE xmax <> 0'), 'f', 'without, all rows are locked');
$remote->safe_psql('postgres', 'VACUUM FULL visits');
$local->safe_psql('postgres', "$on BEGIN; UPDATE visits v SET site = 8 FROM list l WHERE l.url = v.url; ROLLBACK");
is($remote->safe_psql('postgres', 'SELECT count(*) BETWEEN 100 AND 130 FROM visits WHERE xmax <> 0'), 't', 'with it only those that it passes');

$plan = sends('partitions', 'SELECT p.id FROM parts p JOIN list l USING (url) ORDER BY 1', 260);
like($plan, qr/Async Foreign Scan/, 'also those that are read at the same time');
like($plan, qr/Filter Scan\) on public\.parts_3.*\n(.*\n){0,3}.*Probe: /, 'and those that are here');
like($plan, qr/Sent To: second, remote\n/, 'to several servers');
is(() = $plan =~ /$sent/g, 2, 'with each statement');
$local->safe_psql('postgres', q{ALTER SERVER remote OPTIONS (ADD async_capable 'true')});
$plan = sends('partitions of two servers that are read at the same time', 'SELECT p.id FROM parts p JOIN list l USING (url) ORDER BY 1', 260);
is(() = $plan =~ /Async Foreign Scan on .*\n.*\n +$sent/g, 2, 'to both');
$local->safe_psql('postgres', q{ALTER SERVER remote OPTIONS (DROP async_capable)});

my $forced = "$on SET bloomfilter.join_filter = force;";
# few local rows are stored, and their keys sent to the server of the larger side, which is hashed
$local->safe_psql('postgres', q{ALTER TABLE list SET (autovacuum_enabled = off)});
$local->safe_psql('postgres', q{UPDATE pg_statistic SET stawidth = 1000000 WHERE starelid = 'list'::regclass});
for my $kind (
	[ 'a left join', 'SELECT l.id, v.site FROM list l LEFT JOIN visits v USING (url) ORDER BY 1, 2' ],
	[ 'an anti join', 'SELECT l.id FROM list l WHERE NOT EXISTS (SELECT FROM visits v WHERE v.url = l.url) ORDER BY 1' ],
	[ 'a join', 'SELECT l.id, v.site FROM list l JOIN visits v ON v.id = l.long ORDER BY 1' ],
	[ 'a left join of partitions', 'SELECT l.id, p.site FROM list l LEFT JOIN parts p USING (url) ORDER BY 1, 2', 260 ])
{
	like(sends("keys of stored rows, $kind->[0]", $kind->[1], $kind->[2]), qr/Join Filter Store/, 'stored here');
}
$local->safe_psql('postgres', 'ANALYZE list');

stands_aside('a left join keeps its rows', 'SELECT v.id FROM visits v LEFT JOIN list l USING (url) ORDER BY 1', $forced);
stands_aside('an anti join', 'SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM list l WHERE l.url = v.url) ORDER BY 1 LIMIT 9', $forced);
stands_aside('a full join', 'SELECT v.id, l.id FROM visits v FULL JOIN list l USING (url) ORDER BY 1, 2', $forced);
stands_aside('a server without the option "extensions"', 'SELECT v.id FROM silent_visits v JOIN list l USING (url) ORDER BY 1');
stands_aside('several key columns', 'SELECT v.id FROM visits v JOIN list l USING (url, id) ORDER BY 1');
stands_aside('an expression', 'SELECT v.id FROM visits v JOIN list l ON v.id + 1 = l.id ORDER BY 1');
# where few rows are expected to be read, as few are fetched without a filter
stands_aside('LIMIT', 'SELECT count(*) FROM (SELECT v.id FROM visits v JOIN list l USING (url) LIMIT 1) x');
stands_aside('EXISTS', 'SELECT EXISTS (SELECT FROM visits v JOIN list l USING (url) OFFSET 0)');
unlike(plan_of('SELECT v.id FROM visits v JOIN list l USING (url) LIMIT 1'), qr/Join Filter/, 'nor are the rows probed here');
sends('LIMIT, and partners are rare', 'SELECT count(*) FROM (SELECT v.id FROM visits v JOIN list l USING (url) LIMIT 30) x');
sends('LIMIT after OFFSET', 'SELECT count(*) FROM (SELECT v.id FROM visits v JOIN list l USING (url) LIMIT 1 OFFSET 30) x');
sends('LIMIT above a sort', 'SELECT v.id FROM visits v JOIN list l USING (url) ORDER BY 1 LIMIT 1');
sends('LIMIT above a window function', 'SELECT sum(v.id) OVER () FROM visits v JOIN list l USING (url) LIMIT 1');
sends('LIMIT below the join', 'SELECT id FROM visits v JOIN (SELECT url FROM list LIMIT 5) l USING (url) ORDER BY 1');
foreach my $fraction (0.001, 0.9)
{
	my $plan = plan_of("DECLARE c CURSOR FOR SELECT v.id FROM visits v JOIN list l USING (url)", "$on SET cursor_tuple_fraction = $fraction;");

	is($plan =~ $sent, $fraction > 0.5, "a cursor of which $fraction is fetched");
}
stands_aside('row locks', 'SELECT v.id FROM visits v JOIN list l USING (url) ORDER BY 1 FOR UPDATE OF l');
stands_aside('volatile functions', 'SELECT v.id FROM visits v JOIN list l USING (url) WHERE random() >= 0 ORDER BY 1');
sends('two scans on one connection', 'SELECT v.id FROM visits v JOIN list l USING (url) UNION ALL SELECT v.id FROM visits v JOIN list l USING (id) ORDER BY 1');
# rows of partitions here are not filtered, so they save nothing
$local->safe_psql('postgres', q{
	CREATE TABLE tilted (id integer, url text) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE tilted_1 PARTITION OF tilted FOR VALUES FROM (1) TO (2001) SERVER bare OPTIONS (table_name 'visits');
	CREATE TABLE tilted_2 PARTITION OF tilted FOR VALUES FROM (2001) TO (60001);
	INSERT INTO tilted SELECT n, n FROM generate_series(2001, 60000) n;
	CREATE TABLE lots AS SELECT n AS id FROM generate_series(10001, 30000) n;
	CREATE INDEX ON lots USING membership (id); ANALYZE tilted, lots});
foreach my $case ([ 24000, 1 ], [ 16000, 0 ])
{
	my ($from, $sends) = @$case;

	is(plan_of("SELECT id FROM tilted WHERE id IN (SELECT id FROM lots WHERE id > $from)", $by_index) =~ /_bloom_may_contain/ ? 1 : 0, $sends, "keys from $from");
}
# the list is the foreign one: the local table is filtered by its rows, as by any others
my $there = 'SELECT count(*) FROM parts_3 p JOIN sites s ON p.site = s.site WHERE s.name = $$site 3$$';
like($local->safe_psql('postgres', "$on EXPLAIN (COSTS off) $there"), qr/Filter Scan\) on parts_3 p\n +Probe: site in join filter 1/, 'a foreign list filters a local table');

my $groups = 'SELECT count(*) FROM parts_3 p JOIN (SELECT site, count(*) AS n FROM visits GROUP BY site HAVING count(*) > 2857 OFFSET 0) s USING (site)';
like($local->safe_psql('postgres', "$on EXPLAIN (VERBOSE, COSTS off) $groups"), qr/Filter Scan\) on public\.parts_3 p\n(.*\n)*? +Probe: .*site in join filter 1\n(.*\n)*.*Relations: Aggregate on \(public\.visits\)/, 'as does the result of a query there');
foreach my $query ($there, $groups)
{
	is($local->safe_psql('postgres', "$on $query"), $local->safe_psql('postgres', "SET bloomfilter.join_filter = off; $query"), 'with the same result');
}
$local->safe_psql('postgres', q{
	CREATE EXTENSION file_fdw;
	CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
	CREATE FOREIGN TABLE lines (url text) SERVER files OPTIONS (program 'echo https://example.com/100')});
stands_aside('another FDW', 'SELECT * FROM lines JOIN list USING (url)', "$on SET bloomfilter.join_filter = force;");

# what postgres_fdw's plans have is its own: nothing is sent if that has another shape
SKIP:
{
	my $library = compile_module("$FindBin::RealBin/../foreign/other_shape.c");
	skip 'no compiler', 1 unless defined $library;
	local $ENV{PGOPTIONS} = "-c session_preload_libraries=$library,bloomfilter";
	my $of_sites = 'SELECT v.id FROM visits v JOIN sites s USING (site) JOIN list l USING (url)';
	my @changes = ('none', 'more items', 'fewer items', 'no items', 'no statement', 'columns by OID', 'fetch size as text');

	foreach my $case (map { [ $_, $joined ], [ $_, $of_sites ] } @changes)
	{
		my ($change, $query) = @$case;
		my $plan = $local->safe_psql('postgres', "$on SET other_shape.change = '$change'; EXPLAIN $query");

		like($plan, $change eq 'none' ? qr/Sent To: remote$/m : qr/^((?!Sent To).)*$/s, "a plan with other things: $change");
	}
	is($local->safe_psql('postgres', "$on SET other_shape.change = 'more items'; $joined"), $local->safe_psql('postgres', "$off $joined"), 'the result is the same');
}

# the other server loads the library with the parameter, and then plans the statement
$local->safe_psql('postgres', qq{
	CREATE SERVER scanning FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, dbname 'postgres', extensions 'bloomfilter',
		options '-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0');
	CREATE USER MAPPING FOR CURRENT_USER SERVER scanning;
	CREATE FOREIGN TABLE scanned (id integer, url text) SERVER scanning OPTIONS (table_name 'visits');
	ANALYZE scanned});
my $logged = -s $remote->logfile;
# The plans there of statements with a filter
sub plans_there
{
	return join '', slurp_file($remote->logfile, $logged) =~ /Query Text: DECLARE \w+ CURSOR FOR\n\tSELECT \* FROM \(.*\n((?:\t.*\n)+)/g;
}
sends('with a plan there', 'SELECT v.id FROM scanned v JOIN list l USING (url) ORDER BY 1');
like(plans_there(), qr/Custom Scan \(Filter Scan\) on visits .*\n\s+Probe: public\._bloom_may_contain\('bloom of /, 'a Filter Scan probes');

# the least and the greatest key, or few keys, go with it, as conditions that the plan there can use
$remote->safe_psql('postgres', q{
	CREATE DOMAIN number AS bigint;
	CREATE DOMAIN moment AS timestamptz(0);
	CREATE TABLE events (id bigint, day date, at timestamptz, word text, of_domain number, at_second moment) PARTITION BY RANGE (day);
	CREATE TABLE early PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
	CREATE TABLE late PARTITION OF events FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
	INSERT INTO events SELECT n, date '2026-01-01' + n / 1000, timestamptz '2026-01-01 00:00Z' + n * interval '1 minute', n, n, timestamptz '2026-01-01 00:00Z' + n * interval '1 minute'
		FROM generate_series(0, 58999) n;
	CREATE INDEX ON events (id);
	CREATE INDEX ON events (of_domain);
	CREATE INDEX ON events USING brin (at);
	ANALYZE events});
$local->safe_psql('postgres', q{
	CREATE FOREIGN TABLE events (id integer, day date, at timestamptz, word integer, of_domain integer, at_second timestamptz) SERVER scanning;
	CREATE TABLE latest AS SELECT n::bigint AS id, n AS of_domain, date '2026-02-20' AS day, timestamptz '2026-01-01 00:00Z' + n * interval '1 minute' AS at, timestamptz '2026-01-01 00:00Z' + n * interval '1 minute' AS at_second, n AS word
		FROM generate_series(58880, 58999) n;
	CREATE TABLE scattered AS SELECT n::bigint AS id, n AS of_domain, date '2026-02-20' + n / 20000 AS day, timestamptz '2026-01-01 00:00Z' + n * interval '1 minute' AS at, timestamptz '2026-01-01 00:00Z' + n * interval '1 minute' AS at_second, n AS word
		FROM (SELECT generate_series(100, 58999, 600) UNION ALL VALUES (100), (700)) AS s (n);
	ANALYZE events, latest, scattered});
foreach my $of (
	[ 'id', 'latest', qr/Index Cond: \(\(id >= '58880'::bigint\) AND \(id <= '58999'::bigint\)\)/, 140 ],
	[ 'of_domain', 'latest', qr/Index Cond: \(\(\(of_domain\)::bigint >= '58880'::bigint\) AND /, 140 ],
	[ 'at', 'latest', qr/Index Cond: \(\(at >= '[^']*'::timestamp with time zone\) AND \(at <= /, 140 ],
	[ 'day', 'latest', qr/\A(?!.* on early).* on late/s, 1020 ],
	[ 'word', 'latest', qr/\A(?!.*word >=)./s, 60000 ],
	[ 'id', 'scattered', qr/Index Cond: \(id = ANY \('\{100,700,1300,[^}]*,58900\}'::bigint\[\]\)\)/, 101 ],
	[ 'of_domain', 'scattered', qr/Index Cond: \(\(of_domain\)::bigint = ANY \('\{100,700,1300,[^}]*,58900\}'::bigint\[\]\)\)/, 101 ],
	[ 'at_second', 'scattered', qr/\(\(at_second\)::timestamp with time zone = ANY \('\{[^}]*\}'::timestamp with time zone\[\]\)\)/, 101 ],
	[ 'at', 'scattered', qr/\(at = ANY \('\{[^}]*\}'::timestamp with time zone\[\]\)\)/, 101 ],
	[ 'day', 'scattered', qr/\A(?!.* on early).* on late/s, 3020 ],
	[ 'word', 'scattered', qr/\A(?!.*word = ANY)./s, 60000 ])
{
	my ($column, $list, $planned, $most) = @$of;

	$logged = -s $remote->logfile;
	sends("by $column", "SELECT count(*), sum(v.id) FROM events v WHERE $column IN (SELECT $column FROM $list)", $most);
	like(plans_there(), $planned, 'the plan there knows the keys');
}

$logged = -s $remote->logfile;
sends('an update by a range', 'UPDATE events v SET word = 1 FROM latest l WHERE v.id = l.id', 140);
like(plans_there(), qr/LockRows.*Index Cond: \(\(id >= '58880'/s, 'locks no other rows');

$logged = -s $remote->logfile;
like(sends('groups by few keys', 'SELECT day, v.count FROM (SELECT day, count(*) FROM events GROUP BY day OFFSET 0) v JOIN scattered USING (day) ORDER BY 1', 3, "$on SET bloomfilter.join_filter = force;"), qr/Aggregate on \(public\.events\)/, 'made there');
like(plans_there(), qr/\A(?!.* on early).*Aggregate.* on late.*\((\w+\.)?day = ANY \('\{/s, 'of rows that have these');

# a foreign table there may declare another type than a third server has, which nobody knows here
$remote->safe_psql('second', q{
	CREATE TABLE chained AS SELECT n AS id, timestamp '2026-01-01 12:00:00.7' + n * interval '1 day' AS at, n::text AS word FROM generate_series(1, 5000) n});
$remote->safe_psql('postgres', qq{
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER third FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, dbname 'second', extensions 'bloomfilter');
	CREATE USER MAPPING FOR CURRENT_USER SERVER third;
	CREATE FOREIGN TABLE chained (id integer, day date OPTIONS (column_name 'at'), at timestamp(0), word integer) SERVER third;
	CREATE TABLE parents (LIKE chained) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE parents_1 PARTITION OF parents FOR VALUES FROM (1) TO (5001) SERVER third OPTIONS (table_name 'chained');
	ALTER FOREIGN TABLE parents_1 ALTER day OPTIONS (column_name 'at');
	CREATE TABLE parents_2 PARTITION OF parents FOR VALUES FROM (5001) TO (10001);
	INSERT INTO parents SELECT n, date '2026-01-01' + n, timestamp '2026-01-01 12:00:01' + n * interval '1 day', n FROM generate_series(5001, 10000) n;
	CREATE VIEW unions AS SELECT * FROM chained UNION ALL SELECT * FROM parents_2;
	ANALYZE parents});
$local->safe_psql('postgres', join('', map { qq{
	CREATE FOREIGN TABLE $_ (id integer, day date, at timestamp, word integer) SERVER scanning; ANALYZE $_;} } 'chained', 'parents', 'unions')
	. 'CREATE TABLE few AS SELECT * FROM parents WHERE id % 1000 = 5; ANALYZE few');
foreach my $table ('chained', 'parents', 'unions')
{
	foreach my $column ('day', 'at', 'word')
	{
		$logged = -s $remote->logfile;
		$plan = sends("$column of $table, by a foreign table there", "SELECT count(*) FROM $table v JOIN few USING ($column)", 30);
		like($plan, $table eq 'chained' ? qr/Hash Join \(actual rows=5\b/ : qr/Hash Join \(actual rows=10\b/, 'finds all');
	}
	like(plans_there(), qr/ on parents_2 .*\n\s+Probe: .*\(word = ANY \('\{[^}]*,9005\}'::bigint\[\]\)\)/, 'the keys are for its own tables') if $table ne 'chained';
}

# a view there may compute what fails for rows that it does not have
$remote->safe_psql('postgres', q{
	CREATE TABLE mixture AS SELECT CASE WHEN n % 10 = 0 THEN 'x' || n ELSE n::text END AS k, n FROM generate_series(1, 20000) n;
	CREATE TABLE numerals AS SELECT k FROM mixture WHERE k ~ '^[0-9]+$';
	ANALYZE mixture, numerals;
	CREATE VIEW computed AS SELECT k::integer AS id FROM mixture JOIN numerals USING (k);
	CREATE VIEW converted AS SELECT n::bigint AS id FROM mixture;
	CREATE VIEW grouped AS SELECT k::integer AS id, count(*) FROM mixture JOIN numerals USING (k) GROUP BY 1;
	CREATE VIEW summed AS SELECT sum(n) AS id FROM mixture GROUP BY k});
foreach my $case ([ 'computed', 18000 ], [ 'grouped', 18000 ], [ 'converted', 130 ], [ 'summed', 130 ])
{
	my ($table, $most) = @$case;

	$local->safe_psql('postgres', "CREATE FOREIGN TABLE $table (id bigint) SERVER remote");
	sends("$table by a view there", "SELECT v.id FROM $table v JOIN list l ON l.long = v.id ORDER BY 1", $most);
}

# ---------------------------------------------------------------- types

# Real types, or names for them, and values; each is declared as any of the types
my %real = (
	'smallint' => '(1), (2), (300)',
	'integer' => '(1), (2), (300)',
	'bigint' => '(1), (2), (300), (5000000000)',
	'text' => q{('1'), ('2 '), (' 3'), ('01'), ('1.0'), ('ab'), ('ab  '), ('abcd'), ('abcd  '), (''), ('2024-05-01')},
	'varchar' => q{('1'), ('2 '), ('ab'), ('ab  '), ('abcd  '), ('1.50')},
	'varchar(4)' => q{('1'), ('ab'), ('ab  '), ('abcd')},
	'char(6)' => q{('1'), ('ab'), ('abcd'), ('2')},
	'char(4)' => q{('1'), ('ab'), ('abcd'), ('2')},
	'name' => q{('1'), ('ab'), ('abcd')},
	'bytea' => q{('ab'), ('abcd'), ('\x00')},
	'numeric' => '(1), (1.0), (1.50), (2.005), (0.1), (300)',
	'numeric(6,2)' => '(1), (1.50), (2.01)',
	'real' => q{(1), (0.1), (1.5), ('-0'), ('NaN')},
	'double precision' => q{(1), (0.1), (1.5), ('-0'), ('NaN'), (0.1::real)},
	'date' => q{('2024-05-01'), ('infinity')},
	'timestamp' => q{('2024-05-01'), ('2024-05-01 12:00:00.7')},
	'timestamp(0)' => q{('2024-05-01'), ('2024-05-01 12:00:00.7')},
	'timestamptz' => q{('2024-05-01'), ('2024-05-01 12:00:00.7'), ('2024-05-01 12:00:00+05')},
	'uuid' => q{('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')},
	'boolean' => '(true), (false)',
	'money' => '(1), (2)',
	'jsonb' => q{('1'), ('"ab"')},
	'regclass' => q{('pg_class'), ('pg_type')},
	'positive' => '(1), (2)',
	'short' => q{('ab'), ('abcd')},
	# texts of which each can be read as another type
	'digits' => q{('1'), ('01'), ('2 '), (' 3'), ('300')},
	'padded' => q{('1'), ('01'), ('300')},
	'decimals' => q{('1'), ('1.0'), ('1.50'), ('1e0'), ('0.1'), ('0.10'), ('NaN')},
	'moments' => q{('2024-05-01'), ('20240501'), ('2024-05-01 12:00:00.7'), ('2024-05-01T12:00:00.70'), ('infinity')},
	'uuids' => q{('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), ('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'), ('{a0eebc999c0b4ef8bb6d6bb9bd380a11}')});
my %type_of = ((map { $_ => 'text' } qw(digits decimals moments uuids)), 'padded' => 'char(6)');
my @declared = ((grep { !/positive|short/ && !$type_of{$_} } sort keys %real), 'varchar(6)', 'bit(4)');
my $types = 'CREATE DOMAIN positive AS integer CHECK (VALUE > 0); CREATE DOMAIN short AS varchar(4);';
$remote->safe_psql('postgres', $types . join('', map { my $values = $real{$_}; my $table = s/\W/_/gr; qq{
	CREATE TABLE t_$table (k @{[ $type_of{$_} // $_ ]}); INSERT INTO t_$table VALUES $values, (NULL)} . ';' } sort keys %real));
my @cases;
my $create = $types;
foreach my $type (@declared, 'positive', 'short')
{
	foreach my $other (sort keys %real)
	{
		my $table = $other =~ s/\W/_/gr;
		my $name = ($type =~ s/\W/_/gr) . "__$table";

		push @cases, [ $name, $type, $other ];
		$create .= qq{CREATE FOREIGN TABLE $name (k $type) SERVER remote OPTIONS (table_name 't_$table');};
	}
}
$local->safe_psql('postgres', $create . q{
	-- the number of joined rows, or -1 if they cannot be read; and how many were read
	CREATE FUNCTION joined(name text, at text) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE result bigint;
	BEGIN
		PERFORM set_config('bloomfilter.foreign_filter', at, true);
		EXECUTE format('SELECT count(*) FROM %I f JOIN keys k USING (k)', name) INTO result;
		RETURN result;
	EXCEPTION WHEN OTHERS THEN
		RETURN -1;
	END $$;
	-- all values of a foreign table, or but one, or none that it has
	CREATE FUNCTION check_type(name text, type text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE problems text := ''; sent boolean := false; line text; with_filter bigint; without bigint;
	BEGIN
		FOR part IN 0..2 LOOP
			DROP TABLE IF EXISTS pg_temp.keys;
			BEGIN
				EXECUTE format('CREATE TEMP TABLE keys AS SELECT k::%s FROM (SELECT k, row_number() OVER () FROM %I) f WHERE row_number %% 3 <> %s', type, name, part);
				EXECUTE 'SELECT count(*) FROM keys a JOIN keys b USING (k)';
			EXCEPTION WHEN OTHERS THEN
				RETURN 'unreadable';
			END;
			ANALYZE keys;
			PERFORM set_config('bloomfilter.foreign_filter', 'on', true);
			FOR line IN EXECUTE format('EXPLAIN (VERBOSE) SELECT count(*) FROM %I f JOIN keys k USING (k)', name) LOOP
				sent := sent OR line ~ '_bloom_may_contain';
			END LOOP;
			with_filter := joined(name, 'on');
			without := joined(name, 'off');
			IF with_filter <> without AND without <> -1 THEN
				problems := problems || format(' %s instead of %s', with_filter, without);
			END IF;
		END LOOP;
		RETURN problems || CASE WHEN sent THEN 'sent' ELSE 'not sent' END;
	END $$});
my $checked = $local->safe_psql('postgres', "$on SET bloomfilter.join_filter = force;" . join('', map {
	"SELECT '$_->[0]', check_type('$_->[0]', '$_->[1]');" } @cases));
my @wrong = grep { /instead/ } split /\n/, $checked;
is("@wrong", '', 'no row is lost, whatever the types');
cmp_ok(scalar(() = $checked =~ /\|sent$/mg), '>', 100, 'many pairs are sent');
is(scalar(() = $checked =~ /\|unreadable$/mg), 499, 'pairs of which a value cannot be read say nothing');
is(scalar(() = $checked =~ /^(?:(?:bigint|double_precision|integer|numeric|real|smallint)__(?:digits|padded)|(?:date|timestamp|timestamptz)__moments|uuid__uuids)\|sent$/mg), 16, 'but all texts of numbers, dates and uuids can');
$local->safe_psql('postgres', q{DROP FUNCTION joined, check_type});

# What passes: probes by hand, with and without a Filter Scan
sub passing
{
	my ($declared, $modifier, $column, $table, $encoding) = @_;
	my $query = qq{SELECT count(*) FROM $table WHERE _bloom_may_contain((SELECT bloom_agg(x) FROM (VALUES ('ab'::text)) v(x)), $column, '$declared', $modifier, '}
		. ($encoding // 'UTF8') . q{')};
	my ($scan, $plain) = map { $remote->safe_psql('postgres', "LOAD 'bloomfilter'; SET bloomfilter.filter_scan = $_; $query") } 'force', 'off';

	is($scan, $plain, "a Filter Scan lets the same rows of $table pass, declared $declared, $modifier");
	return $plain;
}
is(passing('text', -1, 'k', 't_text'), 1, 'the type itself');
is(passing('varchar', -1, 'k', 't_text'), 1, 'one with the same values');
is(passing('varchar', 8, 'k', 't_text'), 12, 'not with a length');
is(passing('varchar', 8, 'k', 't_varchar_4_'), 1, 'unless that is the real one');
is(passing('varchar', 7, 'k', 't_varchar_4_'), 5, 'another length');
is(passing('bpchar', -1, 'k', 't_text'), 12, 'of a type that drops blanks');
is(passing('text', -1, 'k', 't_char_6_'), 5, 'or adds them');
is(passing('text', -1, 'k', 't_text', 'LATIN1'), 12, 'in another encoding');
is(passing('text', -1, 'k', 't_short'), 1, 'a domain is its base type');
is(passing('integer', -1, 'k', 't_integer'), 4, 'a filter of another class');

# ---------------------------------------------------------------- encodings, collations

my $words = q{('é'), ('e'), ('ß'), ('n')};
foreach my $case ([ 'latin', 'LATIN1' ], [ 'ascii', 'UTF8' ], [ 'utf', 'UTF8' ])
{
	my ($database, $client) = @$case;

	$remote->safe_psql($database, "SET client_encoding = $client; " . ($client eq 'LATIN1' ? 'SET client_encoding = UTF8;' : '')
		. " CREATE TABLE words (w text); INSERT INTO words VALUES $words");
}
$local->safe_psql('postgres', q{
	CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
	CREATE DATABASE utf ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0});
foreach my $here ('latin', 'utf')
{
	$local->safe_psql($here, 'CREATE EXTENSION bloomfilter; CREATE EXTENSION postgres_fdw');
	foreach my $there ('latin', 'ascii', 'utf')
	{
		next if $here eq 'latin' && $there eq 'ascii';    # its bytes are no text of the other
		$local->safe_psql($here, qq{
			SET client_encoding = UTF8;
			CREATE SERVER $there FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, dbname '$there', extensions 'bloomfilter');
			CREATE USER MAPPING FOR CURRENT_USER SERVER $there;
			CREATE FOREIGN TABLE words_$there (w text) SERVER $there OPTIONS (table_name 'words');
			CREATE TABLE list_$there AS SELECT w FROM words_$there WHERE w <> 'n'; ANALYZE list_$there});
		my $query = "SELECT count(*) FROM words_$there JOIN list_$there USING (w)";
		is($local->safe_psql($here, "$on SET bloomfilter.join_filter = force; $query"), 3, "no row is lost from $there to $here");
		like($local->safe_psql($here, "$on SET bloomfilter.join_filter = force; EXPLAIN (VERBOSE) $query"), qr/_bloom_may_contain/, 'though a filter is sent');
	}
}

SKIP:
{
	skip 'no ICU', 22 if $remote->safe_psql('postgres', q{SELECT count(*) FROM pg_collation WHERE collprovider = 'i'}) == 0;
	my $collation = q{CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);};

	$remote->safe_psql('postgres', "$collation CREATE EXTENSION citext; CREATE TABLE loose (k text COLLATE loose, exact text); INSERT INTO loose VALUES ('A', 'A'), ('a', 'a'), ('b', 'b')");
	$local->safe_psql('postgres', qq{
		$collation
		CREATE FOREIGN TABLE loose_here (k text COLLATE loose) SERVER remote OPTIONS (table_name 'loose');
		CREATE FOREIGN TABLE loose_there (k text) SERVER remote OPTIONS (table_name 'loose');
		CREATE TABLE letters (k text); INSERT INTO letters VALUES ('a'), ('c'); ANALYZE letters});
	my $force = "$on SET bloomfilter.join_filter = force;";
	my $here = 'SELECT f.k FROM loose_here f JOIN letters l ON f.k = l.k COLLATE loose ORDER BY 1';
	is($local->safe_psql('postgres', "$force $here"), $local->safe_psql('postgres', "$off $here"), 'a nondeterministic collation here');
	unlike($local->safe_psql('postgres', "$force EXPLAIN (VERBOSE) $here"), qr/_bloom_may_contain/, 'sends no filter');
	my $plan = $local->safe_psql('postgres', "$force EXPLAIN (ANALYZE, VERBOSE) SELECT f.k FROM loose_there f JOIN letters l USING (k)");
	like($plan, $sent, 'one there does not matter');
	like($plan, qr/Rows Fetched: 1\n/, 'bytes are compared');
	# but it does where rows become one there that are equal by it
	my %merged = (
		'groups' => 'SELECT k, count(*) AS n FROM loose GROUP BY k',
		'distinct_rows' => 'SELECT DISTINCT ON (k) k, 1 AS n FROM loose ORDER BY k, exact COLLATE "C"',
		'windows' => 'SELECT k, count(*) OVER (PARTITION BY k) AS n FROM loose',
		'united' => 'SELECT k, 1 AS n FROM loose UNION SELECT k, 1 FROM loose',
		# compared by what the planner does not see in the column that the view returns
		'citext_groups' => 'SELECT k::text AS k, count(*) AS n FROM (SELECT exact::citext AS k FROM loose OFFSET 0) x GROUP BY x.k',
		'exact_groups' => 'SELECT k COLLATE "C" AS k, count(*) AS n FROM loose GROUP BY loose.k',
		'loose_groups' => 'SELECT exact COLLATE loose COLLATE "default" AS k, count(*) AS n FROM loose GROUP BY exact COLLATE loose',
		'exact_windows' => 'SELECT k COLLATE "C" AS k, count(*) OVER (PARTITION BY loose.k) AS n FROM loose',
		'exact_united' => 'SELECT k COLLATE "C" AS k, n FROM (SELECT k, 1 AS n FROM loose UNION SELECT k, 1 FROM loose) x');
	foreach my $view (sort keys %merged)
	{
		$remote->safe_psql('postgres', "CREATE VIEW $view AS $merged{$view}");
		$local->safe_psql('postgres', "CREATE FOREIGN TABLE $view (k text, n bigint) SERVER remote");
		my $query = "SELECT f.k, f.n FROM $view f JOIN letters l USING (k)";
		like($local->safe_psql('postgres', "$force EXPLAIN (VERBOSE) $query"), $sent, "$view there");
		is($local->safe_psql('postgres', "$force $query"), $local->safe_psql('postgres', "$off $query"), 'keep all rows');
	}
}

# ---------------------------------------------------------------- the foreign server

# Not all servers have what the option promises: then the scan goes on without the filter.
$remote->safe_psql('postgres', q{
	CREATE DATABASE older;
	CREATE DATABASE elsewhere;
	CREATE ROLE stranger LOGIN});
$remote->safe_psql('older', q{
	CREATE TYPE bloom AS (x integer);
	CREATE FUNCTION _bloom_may_contain(bloom, anyelement, regtype) RETURNS boolean LANGUAGE sql AS 'SELECT false'});
$remote->safe_psql('elsewhere', 'CREATE SCHEMA ext; CREATE EXTENSION bloomfilter SCHEMA ext');
$remote->safe_psql('utf', q{ALTER DATABASE utf SET bloomfilter.max_filter_size = '2kB'});
$remote->safe_psql('second', q{
	REVOKE EXECUTE ON FUNCTION _bloom_may_contain FROM PUBLIC; GRANT SELECT ON visits TO stranger});
foreach my $database ('older', 'elsewhere', 'utf')
{
	$remote->safe_psql($database, q{CREATE TABLE visits AS SELECT n AS id, 'https://example.com/' || n AS url FROM generate_series(1, 2000) n});
	$local->safe_psql('postgres', qq{
		CREATE SERVER $database FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, dbname '$database', extensions 'bloomfilter');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $database;
		CREATE FOREIGN TABLE ${database}_visits (id integer, url text) SERVER $database OPTIONS (table_name 'visits')});
}
$local->safe_psql('postgres', qq{
	CREATE SERVER denied FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, dbname 'second', extensions 'bloomfilter');
	CREATE USER MAPPING FOR CURRENT_USER SERVER denied OPTIONS (user 'stranger', password_required 'false');
	CREATE FOREIGN TABLE denied_visits (id integer, url text) SERVER denied OPTIONS (table_name 'visits')});
foreach my $case ([ 'bare', 10 ], [ 'older', 10 ], [ 'elsewhere', 10 ], [ 'denied', 0 ], [ 'utf', 10 ])
{
	my ($server, $count) = @$case;
	my $query = "SELECT count(*) FROM ${server}_visits v JOIN list USING (url)";
	my $plan = $local->safe_psql('postgres', "$on EXPLAIN (ANALYZE, VERBOSE, COSTS off) $query");

	is($local->safe_psql('postgres', "$on $query"), $count, "$server: a server that cannot probe the filter");
	like($plan, qr/Not Probed On: $server\n/, 'EXPLAIN says so');
	unlike($plan, qr/_bloom_may_contain|Sent To/, 'and has the statement without it');
	like(plan_of($query), qr/_bloom_may_contain.*\n(.*\n)*.*Sent To: $server\n/, 'the plan tries');
}
# a view reads as its owner, who may be another user there
$local->safe_psql('postgres', q{
	CREATE ROLE keeper;
	CREATE USER MAPPING FOR keeper SERVER second OPTIONS (user 'stranger', password_required 'false');
	CREATE VIEW kept AS SELECT * FROM parts_1; ALTER VIEW kept OWNER TO keeper; GRANT SELECT ON parts_1 TO keeper});
my $ids_of = 'SELECT id, url FROM';
foreach my $tables ("$ids_of parts_1 UNION ALL $ids_of kept", "$ids_of kept UNION ALL $ids_of parts_1")
{
	my $query = "SELECT v.id FROM ($tables) v JOIN (SELECT url FROM parts_1 WHERE id % 500 = 0 OFFSET 0) l USING (url) ORDER BY 1";

	like($local->safe_psql('postgres', "$on EXPLAIN (ANALYZE, VERBOSE) $query"), qr/Sent To: second\n.*Not Probed On: second\n/, 'each user of a server is asked');
	is($local->safe_psql('postgres', "$on $query"), $local->safe_psql('postgres', "$off $query"), 'the result is the same');
}
is($local->safe_psql('postgres', "$on SET bloomfilter.join_filter = force;
	SELECT count(*) FROM utf_visits JOIN (SELECT 'https://example.com/' || n AS url FROM generate_series(1, 3000) n OFFSET 0) l USING (url)"), 2000, 'a filter that is too large there');
# so does one that has no filter for another reason
is($local->safe_psql('postgres', qq{$on SET plan_cache_mode = force_generic_plan; PREPARE b AS SELECT count(*) FROM bare_visits JOIN list USING (url);
	EXECUTE b; SET bloomfilter.foreign_filter = off; EXECUTE b}), "10\n10", 'the setting is off when a plan with a filter is executed');
is($local->safe_psql('postgres', "$on SET work_mem = '64kB'; SET hash_mem_multiplier = 1; SET bloomfilter.join_filter = force;
	SELECT count(*) FROM bare_visits JOIN (SELECT 'https://example.com/' || n AS url FROM generate_series(1, 30000) n OFFSET 0) l USING (url)"), 2000, 'too many keys');
# other filters that start scans late, or never
$local->safe_psql('postgres', q{
	CREATE TABLE mixed (id integer, site integer) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE mixed_1 PARTITION OF mixed FOR VALUES FROM (1) TO (2001) SERVER bare OPTIONS (table_name 'visits');
	CREATE TABLE mixed_2 PARTITION OF mixed FOR VALUES FROM (2001) TO (4001);
	INSERT INTO mixed SELECT n, n FROM generate_series(2001, 4000) n;
	CREATE INDEX ON mixed_2 USING membership (site); ANALYZE mixed});
my $late = q{SELECT m.id FROM mixed m JOIN (SELECT id FROM list OFFSET 0) l USING (id) WHERE m.site = 1};
my $filtered = "$on SET bloomfilter.partition_filter = on;";
is($local->safe_psql('postgres', "$filtered SELECT count(*) FROM ($late) x"), 10, 'a Partition Filter');
$plan = plan_of($late, $filtered);
like($plan, qr/_bloom_may_contain/, 'is not used where a filter is sent') or diag($plan);
unlike($plan, qr/Partition Filter/, 'which asks before');
like(plan_of($late, "$filtered SET bloomfilter.foreign_filter = off;"), qr/Partition Filter/, 'but else');
is($local->safe_psql('postgres', qq{$filtered SET plan_cache_mode = force_generic_plan; PREPARE m(integer) AS
	SELECT count(*) FROM mixed m JOIN (SELECT id FROM list OFFSET 0) l USING (id) WHERE m.id >= \$1; EXECUTE m(2100)}), 10, 'all foreign partitions are pruned');
$local->safe_psql('postgres', "ALTER SERVER bare OPTIONS (ADD async_capable 'true')");
like(plan_of('SELECT FROM mixed WHERE site = 1', $filtered), qr/Async Foreign Scan/, 'an asynchronous scan');
is($local->safe_psql('postgres', "$filtered SELECT count(*) FROM mixed WHERE site = 1"), 2000, 'is executed by its Append');
$local->safe_psql('postgres', 'ALTER SERVER bare OPTIONS (DROP async_capable)');
my $both = 'SELECT v.id FROM (SELECT * FROM bare_visits UNION ALL SELECT id, url FROM visits) v JOIN list l USING (url) ORDER BY 1';
like($local->safe_psql('postgres', "$on EXPLAIN (ANALYZE, VERBOSE) $both"), qr/Sent To: remote\n.*Not Probed On: bare\n/, 'one can, the other cannot');
is($local->safe_psql('postgres', "$on $both"), $local->safe_psql('postgres', "$off $both"), 'the result is the same');
my $bare_twice = 'SELECT v.id FROM bare_visits v JOIN list l USING (url) JOIN (SELECT id FROM list WHERE id % 3 = 0 OFFSET 0) m ON m.id = v.id ORDER BY 1';
is($local->safe_psql('postgres', "$on SET bloomfilter.join_filter = force; $bare_twice"), $local->safe_psql('postgres', "$off $bare_twice"), 'two filters');

# errors and cancels there end the query, and the session goes on
$remote->safe_psql('postgres', q{
	CREATE VIEW fails WITH (security_barrier) AS SELECT * FROM visits WHERE 1 / (id - 500) < 2;
	CREATE VIEW slow WITH (security_barrier) AS SELECT * FROM visits WHERE pg_sleep(0.1) IS NOT NULL;
	CREATE VIEW hasty WITH (security_barrier) AS SELECT * FROM visits WHERE pg_cancel_backend(pg_backend_pid())});
$local->safe_psql('postgres', q{
	CREATE FOREIGN TABLE fails (id integer, url text) SERVER remote;
	CREATE FOREIGN TABLE slow (id integer, url text) SERVER remote;
	CREATE FOREIGN TABLE hasty (id integer, url text) SERVER remote});
foreach my $case (
	[ 'fails', 'division by zero', '' ],
	[ 'slow', 'statement timeout', q{SET statement_timeout = '500ms';} ],
	[ 'hasty', 'canceling statement due to user request\nCONTEXT:  .*SQL command: .*_bloom_may_contain', '' ])
{
	my ($table, $message, $settings) = @$case;
	my ($code, $out, $error) = $local->psql('postgres',
		"$on SET bloomfilter.join_filter = force; $settings SELECT count(*) FROM $table JOIN list USING (url); RESET statement_timeout; SELECT count(*) FROM visits JOIN list USING (url); SELECT 'done'",
		on_error_stop => 0);

	like($error, qr/ERROR:  .*$message/, "$table: an error of the server");
	unlike($error, qr/ERROR.*ERROR/s, 'and only that one');
	like($out, qr/^\d+\ndone$/m, 'the session goes on');
}

# policies there come before the filter, which could tell what they hide
$remote->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN;
	CREATE TABLE secrets AS SELECT n AS id, 'https://example.com/' || n AS url, n % 2 = 0 AS mine FROM generate_series(1, 20000) n;
	ANALYZE secrets;
	ALTER TABLE secrets ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON secrets USING (mine);
	GRANT SELECT ON secrets TO reader;
	CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM secrets WHERE mine;
	GRANT SELECT ON barrier TO reader});
$local->safe_psql('postgres', qq{
	CREATE SERVER policies FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, dbname 'postgres', extensions 'bloomfilter');
	CREATE USER MAPPING FOR CURRENT_USER SERVER policies OPTIONS (user 'reader', password_required 'false');
	CREATE FOREIGN TABLE secrets (id integer, url text) SERVER policies;
	CREATE FOREIGN TABLE barrier (id integer, url text) SERVER policies;
	ANALYZE secrets, barrier});
sends("policies of the server, $_", "SELECT f.id FROM $_ f JOIN list l USING (url) ORDER BY 1") foreach 'secrets', 'barrier';
my $explained = $remote->safe_psql('postgres', q{LOAD 'bloomfilter'; SET bloomfilter.filter_scan = off; SET ROLE reader;
	EXPLAIN (COSTS off) SELECT * FROM (SELECT url FROM secrets) f(c1) WHERE _bloom_may_contain((SELECT bloom_agg('a'::text)), c1, 'text', -1, 'UTF8')});
like($explained, qr/Filter: \(mine AND _bloom_may_contain/, 'these conditions come first');

# policies here: what passes the filter would tell of rows that they hide
$local->safe_psql('postgres', q{
	ALTER TABLE list ADD mine boolean DEFAULT true;
	CREATE VIEW guarded WITH (security_barrier) AS SELECT * FROM list WHERE mine});
$local->safe_psql('postgres', q{
	CREATE ROLE owner; CREATE TABLE hidden AS SELECT * FROM list; ALTER TABLE hidden OWNER TO owner;
	ALTER TABLE hidden ENABLE ROW LEVEL SECURITY; ALTER TABLE hidden FORCE ROW LEVEL SECURITY;
	CREATE POLICY own ON hidden USING (id < 1000); ANALYZE hidden;
	CREATE USER MAPPING FOR owner SERVER remote OPTIONS (user 'reader', password_required 'false'); GRANT SELECT ON visits TO owner});
$remote->safe_psql('postgres', 'GRANT SELECT ON visits TO reader');
my $of_hidden = 'SELECT count(*) FROM visits v JOIN hidden l USING (url)';
unlike(plan_of($of_hidden, "$on SET ROLE owner;"), qr/_bloom_may_contain/, 'policies here send nothing');
is($local->safe_psql('postgres', "$on SET ROLE owner; $of_hidden"), 5, 'the result is that of the policy');
stands_aside('a security barrier here', 'SELECT v.id FROM visits v JOIN guarded l USING (url) ORDER BY 1');

# ---------------------------------------------------------------- again and again

my $prepared = "SET plan_cache_mode = force_generic_plan; PREPARE p AS SELECT count(*) FROM visits v JOIN list l USING (url);";
my $session = Session->new($local);
sub fetched
{
	my $plan = $session->query("$analyze EXECUTE " . (shift // 'p') . ';');
	return $plan =~ /Rows Fetched: (\d+)/ ? $1 : 'all';
}
$session->query($on . $prepared);
cmp_ok(fetched(), '<', 130, 'a prepared plan');
$session->query("INSERT INTO list SELECT 'https://example.com/' || n, n, n FROM generate_series(1001, 1100, 3) n;");
is($session->query('EXECUTE p;'), 134, 'with another list');
$session->query('SET bloomfilter.foreign_filter = off;');
is(fetched(), $rows, 'sends nothing when that is turned off');
is($session->query('EXECUTE p;'), 134, 'with the same result');
$session->query(q{SET bloomfilter.foreign_filter = on; ALTER SERVER remote OPTIONS (SET extensions 'other');});
is(fetched(), 'all', 'and has no filter after ALTER SERVER');
$session->query(q{ALTER SERVER remote OPTIONS (SET extensions 'bloomfilter');});
cmp_ok(fetched(), '<', 170, 'until that is undone');
$session->query(q{SET work_mem = '64kB'; SET hash_mem_multiplier = 1;});
is($session->query('EXECUTE p;'), 134, 'with little memory');
cmp_ok(fetched(), '<', 170, 'the filter is sent');
$session->query("CREATE TABLE many AS SELECT 'https://example.com/' || n AS url FROM generate_series(1, 30000) n; ANALYZE many; SET bloomfilter.join_filter = force;");
my $crowd = 'SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM many m WHERE m.url = v.url)';
is($session->query("$crowd;"), $rows, 'more keys than memory');
# 19 hashes the other side, and plans no filter
like($session->query("$analyze $crowd;"), qr/Elements Sent: 0\n +Bytes Sent: 0\n +Rows Fetched: $rows\n|Remote SQL: SELECT url FROM public\.visits$/m, 'are not sent');
$session->query(q{RESET work_mem; RESET hash_mem_multiplier; SET bloomfilter.join_filter = on;});
# cursors: the servers are asked by whom, and at the level of subtransactions where, the plan was started
$session->query("CREATE ROLE fetcher; BEGIN; DECLARE c CURSOR FOR SELECT v.id FROM visits v JOIN list l USING (url) ORDER BY 1; SET ROLE fetcher;");
is($session->query('FETCH 2 FROM c;'), "100\n300", 'another role fetches');
$session->query('COMMIT; RESET ROLE; SET bloomfilter.join_filter = force; BEGIN; DECLARE c CURSOR FOR SELECT v.id FROM visits v JOIN (SELECT url FROM many LIMIT 2000) m USING (url); SAVEPOINT s;');
like($session->query('FETCH 1 FROM c;'), qr/^\d+$/, 'a subtransaction fetches');
is(scalar(split /\n/, $session->query('ROLLBACK TO s; FETCH ALL FROM c;')), 1999, 'and is rolled back');
like($session->query("$analyze SELECT v.id FROM visits v JOIN (SELECT url FROM many LIMIT 2000) m USING (url);"), qr/Elements Sent: 2000\n/, 'all of its keys are sent');
# what is kept while the cursor is open: the hashes are not
is($session->query(q{SET bloomfilter.join_filter = on; SELECT used_bytes < 1024 FROM pg_backend_memory_contexts WHERE name = 'keys for foreign servers'; COMMIT;}), 't', 'the hashes are freed');
my $held = 'DECLARE h CURSOR WITH HOLD FOR SELECT v.id FROM visits v JOIN list l USING (url)';
like($session->query("EXPLAIN (VERBOSE) $held;"), $sent, 'a cursor that is held');
is(scalar(split /\n/, $session->query("BEGIN; $held; COMMIT; FETCH ALL FROM h; CLOSE h;")), 134, 'returns its rows later');
my $slow = Session->new($local);
$slow->start("$on SET bloomfilter.join_filter = force; SELECT count(*) FROM slow JOIN list USING (url);");
ok($remote->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'}), 'a query waits for the server');
$session->query("SELECT pg_cancel_backend($slow->{pid});");
like($slow->end, qr/57014.*canceling statement/, 'and is cancelled');
is($slow->query('SELECT count(*) FROM visits JOIN list USING (url);'), 134, 'the session goes on');
# the connection is lost while rows are fetched, or between two queries
$slow->start('SELECT count(*) FROM slow JOIN list USING (url);');
ok($remote->poll_query_until('postgres', q{SELECT count(pg_terminate_backend(pid)) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'}), 'the connection is lost');
like($slow->end, qr/^ERROR:  (57P01|08006)/m, 'an error says so');
is($slow->query('SELECT count(*) FROM visits JOIN list USING (url);'), 134, 'the next query connects again');
$remote->safe_psql('postgres', q{SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'postgres_fdw'});
like($slow->query("$analyze SELECT count(*) FROM visits JOIN list USING (url);"), qr/Rows Fetched: 1[0-6]\d$/m, 'also if the server is asked first, and with a filter');
$slow->quit;
$session->query(q{DROP EXTENSION bloomfilter CASCADE;});
is($session->query('EXECUTE p;'), 134, 'after DROP EXTENSION');
is(fetched(), 'all', 'without a filter');
$session->query('CREATE EXTENSION bloomfilter; DISCARD PLANS;');
cmp_ok(fetched(), '<', 170, 'until it is there again');
$session->query('PREPARE there AS SELECT count(*) FROM bare_visits JOIN list USING (url);');
foreach my $case ([ 'CREATE', 50 ], [ 'DROP', 2000 ])
{
	my ($do, $most) = @$case;

	$remote->safe_psql('bare', "$do EXTENSION bloomfilter");
	is(fetched('there') <= $most, $most < 2000 || fetched('there') eq '2000', "$do EXTENSION on the other server");
	is($session->query('EXECUTE there;'), 44, 'does not change the result');
}

# what is executed again, with other keys each time
$session->query($on . 'SET bloomfilter.join_filter = force; SET enable_memoize = off;');
my %again = (
	'a nested loop' => 'SELECT o.n, x.id FROM generate_series(0, 400, 100) o(n) CROSS JOIN LATERAL (SELECT v.id FROM visits v JOIN list l USING (url) WHERE l.id BETWEEN o.n AND o.n + 150 OFFSET 0) x ORDER BY 1, 2',
	'a subquery of each row' => 'SELECT n, ARRAY(SELECT v.id FROM visits v JOIN list l USING (url) WHERE l.id BETWEEN n AND n + 150 ORDER BY 1) FROM generate_series(0, 400, 100) n',
	'a recursion' => 'WITH RECURSIVE r(id) AS (SELECT 100 UNION ALL SELECT v.id + 200 FROM visits v JOIN (SELECT l.url FROM r JOIN list l ON l.id = r.id OFFSET 0) k USING (url)) SELECT count(*) FROM r');
foreach my $what (sort keys %again)
{
	my $query = "$again{$what};";

	unlike($session->query("EXPLAIN (VERBOSE) $query"), qr/_bloom_may_contain/, "$what sends no filter");
	my $result = $session->query($query);
	is($session->query("SET bloomfilter.join_filter = off; $query"), $result, 'and has the same rows');
	cmp_ok(length($result), '>', 2, 'which are some');
	$session->query('SET bloomfilter.join_filter = force;');
}
$session->query(q{CREATE FUNCTION fetched_each() RETURNS SETOF text LANGUAGE plpgsql AS $$
	DECLARE c CURSOR (least integer) FOR SELECT v.id FROM visits v JOIN list l USING (url) WHERE l.id BETWEEN least AND least + 150; r record;
	BEGIN
		FOR n IN 0..4 LOOP
			FOR r IN c(n * 100) LOOP RETURN NEXT n || ' ' || r.id; END LOOP;
		END LOOP;
	END $$;
	SET plan_cache_mode = force_generic_plan;});
my $each = $session->query('SELECT * FROM fetched_each();');
is($session->query('SET bloomfilter.join_filter = off; DISCARD PLANS; SELECT * FROM fetched_each();'), $each, 'a cursor that is opened with other parameters');
cmp_ok(scalar(split /\n/, $each), '>', 4, 'which finds rows');
$session->query('RESET plan_cache_mode; SET bloomfilter.join_filter = force; BEGIN; DECLARE s SCROLL CURSOR FOR SELECT v.id FROM visits v JOIN list l USING (url);');
my $forward = $session->query('FETCH ALL FROM s;');
is($session->query('MOVE ABSOLUTE 0 FROM s; FETCH ALL FROM s;'), $forward, 'a cursor that is rewound');
is($session->query('FETCH BACKWARD ALL FROM s; COMMIT; SET bloomfilter.join_filter = on; RESET enable_memoize;'), join("\n", reverse split /\n/, $forward), 'or read backwards');

# EvalPlanQual: the row of the list changes while its update waits
my $other = Session->new($local);
$other->query("BEGIN; UPDATE list SET url = 'https://example.com/1' WHERE id = 100;");
my $late_update = 'UPDATE list l SET long = -v.id FROM visits v WHERE l.url = v.url AND l.id IN (100, 300) RETURNING l.id, long';
like($session->query("$on SET bloomfilter.join_filter = force; EXPLAIN (VERBOSE) $late_update"), $sent, 'an update of the list sends a filter');
$session->start("$late_update;");
ok($session->waits($local), 'it waits for a row of the list');
$other->query('COMMIT;');
is($session->end, '300|-300', 'and finds what core finds when that has changed');
# EvalPlanQual starts subplans anew, and scans below UNION ALL, and asks no server whether it can probe
my $bare_ids = 'SELECT v.id FROM bare_visits v JOIN list k USING (url)';
my $update_by_joined = 'UPDATE list l SET long = 5 FROM visits v JOIN sites s USING (site) WHERE l.url = v.url AND l.id = 100 AND s.name = $$site 1$$ RETURNING l.id, v.id, s.name';
like($session->query("EXPLAIN (VERBOSE) $update_by_joined;"), qr/Relations: .* INNER JOIN .*\n +$sent/, 'an update by tables that are joined there');
foreach my $case (
	[ "UPDATE list SET long = 5 WHERE id = 100 AND id NOT IN ($bare_ids WHERE k.id > 1000) RETURNING id", 100 ],
	[ "SELECT id FROM list WHERE id = 100 AND id NOT IN ($bare_ids WHERE k.id > 1000) FOR UPDATE", 100 ],
	[ 'UPDATE list l SET long = 5 FROM (SELECT id, url FROM bare_visits UNION ALL SELECT id, url FROM visits) v WHERE l.url = v.url AND l.id = 100 RETURNING l.id, v.id', '100|1' ],
	[ $update_by_joined, '100|1|site 1' ])
{
	my ($statement, $result) = @$case;

	$other->query('BEGIN; UPDATE list SET long = 4 WHERE id = 100;');
	$session->start("$statement;");
	ok($session->waits($local), 'a statement waits');
	$other->query('COMMIT;');
	is($session->end, $result, 'and reads then what core reads');
}

$_->quit foreach $session, $other;
$_->stop foreach $remote, $local;
done_testing();
