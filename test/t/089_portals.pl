# UPDATE and DELETE ... WHERE CURRENT OF name portals of the extended protocol, too, which
# psql never makes: a Partition Filter shows them its current row, as core's Append does.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IO::Socket::UNIX;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = start_server('portals', conf => "autovacuum = off\n");
$node->safe_psql('postgres', q{
	CREATE TABLE ev (day int, trace bigint, v int) PARTITION BY LIST (day);
	CREATE TABLE ev_0 PARTITION OF ev FOR VALUES IN (0);
	CREATE TABLE ev_1 PARTITION OF ev FOR VALUES IN (1);
	-- other columns, and no membership index
	CREATE TABLE ev_2 (v int, gone int, trace bigint, day int);
	ALTER TABLE ev_2 DROP COLUMN gone;
	CREATE TABLE other (day int, trace bigint, v int);
	INSERT INTO ev SELECT n % 2, n / 4, 0 FROM generate_series(1, 20000) n;
	INSERT INTO ev_2 SELECT 0, n / 4, 2 FROM generate_series(1, 2000) n;
	CREATE INDEX ON ev (trace);
	CREATE INDEX ON ev USING membership (trace);
	CREATE INDEX ON ev_2 (trace);
	DROP INDEX ev_trace_idx1;
	CREATE INDEX ON ev_0 USING membership (trace);
	CREATE INDEX ON ev_1 USING membership (trace);
	ALTER TABLE ev ATTACH PARTITION ev_2 FOR VALUES IN (2);
	VACUUM ANALYZE ev;
});

my $socket = IO::Socket::UNIX->new(Peer => $node->host . '/.s.PGSQL.' . $node->port)
  or die "cannot connect: $!";

sub put
{
	my ($type, $body) = @_;

	print $socket $type . pack('N', length($body) + 4) . $body;
}

sub get
{
	my ($bytes) = @_;
	my $data = '';

	while (length($data) < $bytes)
	{
		my $read = sysread($socket, $data, $bytes - length($data), length($data));
		die 'the server has closed the connection' unless $read;
	}
	return $data;
}

# Read to the end of the answer; return command tags, and SQLSTATEs of errors
sub answer
{
	my @told;

	$socket->flush;
	while (1)
	{
		my ($type, $length) = unpack('a N', get(5));
		my $body = get($length - 4);

		push @told, $body =~ s/\0//r if $type eq 'C';
		push @told, $body =~ /\0C(\w{5})\0/ if $type eq 'E';
		return join(', ', @told) if $type eq 'Z';
	}
}

sub query
{
	put('Q', "$_[0]\0");
	return answer();
}

# Open a portal, and fetch its first rows
sub open_portal
{
	my ($query, $rows) = @_;

	put('P', "\0$query\0" . pack('n', 0));
	put('B', "p\0\0" . pack('nnn', 0, 0, 0));
	put('E', "p\0" . pack('N', $rows)) if $rows;
	put('H', '');
	put('S', '');
	return answer();
}

sub fetch
{
	put('E', "p\0" . pack('N', $_[0]));
	put('S', '');
	return answer();
}

put('', pack('N', 196608) . "user\0" . getpwuid($<) . "\0database\0postgres\0\0");
answer();
query("LOAD 'bloomfilter'");
query('SET enable_seqscan = off');

# What is said, with the rows that were changed; in a transaction that is rolled back.
# [what, query, rows to fetch, commands]
my @cases = (
	[ 'the whole row', 'SELECT * FROM ev WHERE trace = 77', 1, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'a column', 'SELECT v FROM ev WHERE trace = 77', 3, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'the index alone', 'SELECT trace FROM ev WHERE trace = 77', 2, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'a partition', 'SELECT * FROM ev WHERE trace = 77', 1, 'UPDATE ev_0 SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'another partition', 'SELECT * FROM ev WHERE trace = 77', 1, 'UPDATE ev_1 SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'one without index', 'SELECT * FROM ev WHERE trace = 77', 5, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'twice', 'SELECT * FROM ev WHERE trace = 77', 1, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p', 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'DELETE', 'SELECT * FROM ev WHERE trace = 77', 1, 'DELETE FROM ev WHERE CURRENT OF p', 'DELETE FROM ev WHERE CURRENT OF p' ],
	[ 'an expression', 'SELECT v + day FROM ev WHERE trace = 77 OFFSET 1', 1, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'FOR UPDATE', 'SELECT * FROM ev WHERE trace = 77 FOR UPDATE', 2, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'no row yet', 'SELECT * FROM ev WHERE trace = 77', 0, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'no more rows', 'SELECT * FROM ev WHERE trace = 77', 1000, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'another table', 'SELECT * FROM ev WHERE trace = 77', 1, 'UPDATE other SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'a sort', 'SELECT * FROM ev WHERE trace = 77 ORDER BY v', 1, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'a group', 'SELECT trace FROM ev WHERE trace = 77 GROUP BY trace', 1, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ],
	[ 'two queries', 'SELECT trace FROM ev WHERE trace = 77 UNION ALL SELECT trace FROM ev WHERE trace = 78', 1, 'UPDATE ev SET v = v + 1 WHERE CURRENT OF p' ]);
my %told;

foreach my $setting ('off', 'on')
{
	query("SET bloomfilter.partition_filter = $setting");
	foreach my $case (@cases)
	{
		my ($what, $query, $rows, @commands) = @$case;

		query('BEGIN');
		push @{ $told{$what} }, join('; ', open_portal($query, $rows),
			(map { query($_) } @commands), fetch(1));
		# which rows, and how often
		query('CREATE TEMP TABLE changed AS SELECT tableoid::regclass AS t, count(*), sum(v) AS v FROM ev WHERE trace = 77 GROUP BY 1 ORDER BY 1');
		query(q{DO $$ BEGIN RAISE LOG 'changed: %', (SELECT string_agg(c::text, ' ') FROM changed c); END $$});
		query('ROLLBACK');
	}
}
is($told{$_->[0]}[1], $told{$_->[0]}[0], $_->[0]) foreach @cases;
is($told{'the whole row'}[1], '; UPDATE 1; ', 'a row is found');
is($told{'another partition'}[1], '; UPDATE 0; ', 'or is elsewhere');
is($told{'a sort'}[1], '; 24000; 25P02', 'or none can be');

my @changed = slurp_file($node->logfile) =~ /changed: (.*)/g;
my $half = @changed / 2;
cmp_ok($half, '>=', 9, 'rows were compared');
is_deeply([ @changed[$half .. $#changed] ], [ @changed[0 .. $half - 1] ], 'the same rows were changed');

like($node->safe_psql('postgres', q{LOAD 'bloomfilter'; SET enable_seqscan = off; SET bloomfilter.partition_filter = on;
	EXPLAIN SELECT * FROM ev WHERE trace = 77}), qr/Custom Scan \(Partition Filter\)/, 'by a Partition Filter');

done_testing();
