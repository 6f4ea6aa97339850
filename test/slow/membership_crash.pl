# kill -9 of a backend, of the postmaster and of all processes, again and again, while
# sessions insert into a table with membership indexes that grow, change and delete its
# rows, and rebuild the indexes.  After each recovery the pages are valid, what was
# acknowledged is there, and every kind of lookup finds every row.
#
#     CRASH_ROUNDS=500    more than the 20 that take a minute or two
#     CRASH_SEED=1        the same choices again (but not the same moments)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Crash;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = start_crash_server('2MB');
$node->safe_psql('postgres', q{
	CREATE TABLE urls (id bigint PRIMARY KEY, url text NOT NULL);
	CREATE INDEX urls_url ON urls USING membership (url) WITH (capacity = 100);
	CREATE INDEX urls_both ON urls USING membership (id, url) WITH (capacity = 1, growth = 4, error_rate = 0.0001);
	CREATE TABLE rebuilt (x bigint);
	CREATE INDEX rebuilt_x ON rebuilt USING membership (x) WITH (capacity = 100);
	CREATE UNLOGGED TABLE quick (x bigint);
	CREATE INDEX quick_x ON quick USING membership (x) WITH (capacity = 100);

	CREATE FUNCTION faults() RETURNS SETOF text LANGUAGE sql
	SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
		SELECT 'missing: ' || id FROM urls WHERE NOT membership_contains('urls_url', url)
		UNION ALL SELECT 'both missing: ' || id FROM urls WHERE NOT membership_contains('urls_both', ROW(id, url))
		UNION ALL SELECT 'rebuilt missing: ' || x FROM rebuilt WHERE NOT membership_contains('rebuilt_x', x)
		UNION ALL SELECT 'quick missing: ' || x FROM quick WHERE NOT membership_contains('quick_x', x)
		UNION ALL SELECT 'checked: ' || n FROM membership_check('urls_url') n WHERE n <> (SELECT count(*) FROM urls)
		UNION ALL SELECT 'both checked: ' || n FROM membership_check('urls_both') n WHERE n <> (SELECT count(*) FROM urls)
		UNION ALL SELECT 'rebuilt checked: ' || n FROM membership_check('rebuilt_x') n WHERE n <> (SELECT count(*) FROM rebuilt)
		UNION ALL SELECT 'quick checked: ' || n FROM membership_check('quick_x') n WHERE n <> (SELECT count(*) FROM quick)
		UNION ALL SELECT 'not scanned: ' || s.id FROM (SELECT id, url FROM urls ORDER BY id DESC LIMIT 3) s
			WHERE NOT EXISTS (SELECT FROM urls u WHERE u.url = s.url)
		UNION ALL SELECT 'imprecise: ' || i::text FROM (VALUES ('urls_url'), ('urls_both'), ('rebuilt_x')) AS t (name), membership_info(name::regclass) i
			WHERE estimated_error_rate > 1.2 * error_rate;
	$$;
});

# The sessions: a name, and a command for the numbers from %1$d to %2$d, a hundred,
# which it returns the first of
my @sessions = (
	[ 'single', q{INSERT INTO urls VALUES (%1$d, 'single %1$d') RETURNING id} ],
	[ 'many', q{WITH i AS (INSERT INTO urls SELECT n, 'many ' || n FROM generate_series(%1$d, %2$d) n RETURNING id) SELECT min(id) FROM i} ],
	[ 'nested', q{BEGIN; INSERT INTO urls VALUES (%1$d, 'nested %1$d'); SAVEPOINT s;
		INSERT INTO urls SELECT n, 'not to be' || n FROM generate_series(%1$d + 1, %2$d) n; ROLLBACK TO s;
		INSERT INTO urls VALUES (%1$d + 1, 'nested again %1$d'); COMMIT; SELECT %1$d} ],
	[ 'changed', q{WITH d AS (DELETE FROM urls WHERE id %% 100 = 50 RETURNING id) SELECT count(*) \gset
		INSERT INTO urls VALUES (%1$d, 'changed %1$d'); UPDATE urls SET url = 'changed again ' || id WHERE id = %1$d RETURNING id} ],
	[ undef, q{INSERT INTO quick SELECT generate_series(%1$d, %2$d)} ],
	[ undef, q{INSERT INTO rebuilt SELECT generate_series(%1$d, %2$d); REINDEX INDEX rebuilt_x;
		BEGIN; TRUNCATE rebuilt; INSERT INTO rebuilt SELECT generate_series(%1$d, %2$d); COMMIT} ],
	[ undef, 'CHECKPOINT; SELECT pg_sleep(0.1); VACUUM urls, quick, rebuilt; SELECT pg_sleep(0.1)' ]);
my $next = 100;

sub start_session
{
	my ($number) = @_;
	my ($name, $command) = @{ $sessions[$number] };
	my $first = $next;
	my $session;

	no warnings 'redundant';
	$next += 100 * $commands;
	$session = start_script($node, "session_$number",
		map { sprintf $command, $first + 100 * $_, $first + 100 * $_ + 99 } 0 .. $commands - 1);
	$session->{name} = $name;
	return $session;
}

for my $round (1 .. $rounds)
{
	my $victim = $victims[ $round % @victims ];
	my @running = map { start_session($_) } 0 .. $#sessions;

	foreach my $session (grep { defined $_->{name} } @running)
	{
		usleep(1000) until -s $session->{out} || !$session->{psql}->pumpable;
	}
	work_a_while();
	kill_some($node, $victim);
	foreach my $session (@running)
	{
		was_in_the_middle($session, "round $round: " . ($session->{name} // 'another session'));
	}
	wait_until_back($node);

	my $lost = '';
	my $committed = 0;
	foreach my $session (grep { defined $_->{name} } @running)
	{
		my @ids = split /\n/, slurp_file($session->{out});
		my $list = join ',', @ids;

		$committed += @ids;
		$lost .= $node->safe_psql('postgres', qq{
			SELECT '$session->{name}', told.id FROM unnest('{$list}'::bigint[]) AS told (id) WHERE NOT EXISTS (SELECT FROM urls WHERE urls.id = told.id)});
	}
	is($lost, '', "round $round, killed $victim: none of $committed commands is lost");
	my ($status, $out, $err) = $node->psql('postgres', 'SELECT * FROM faults()');
	is("$out$err", '', "round $round, killed $victim: every row is found");
}

note($node->safe_psql('postgres', q{SELECT name, i FROM (VALUES ('urls_url'), ('urls_both')) AS t (name), membership_info(name::regclass) i}));
is( $node->safe_psql('postgres', q{SELECT min(layers) > 3 FROM (VALUES ('urls_url'), ('urls_both')) AS t (name), membership_info(name::regclass)}),
	't', 'indexes have grown');

$node->stop;
done_testing();
