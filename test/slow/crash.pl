# kill -9 of a backend, of the postmaster and of all processes, again and again,
# while sessions add to filters, let them grow, remove elements from them, build
# them and vacuum them.  After each recovery every filter is, byte for byte, what
# its log says, and what was acknowledged is in the log.
#
# Each session changes filters of its own, and writes what it does into the log in
# the same transaction.
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

# Elements of a round; those of each command are its own
my $round_elements = 10_000_000;
my $command_elements = 100;

my $node = start_crash_server('4MB');
$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE log (n bigserial PRIMARY KEY, id text, what text, element bigint);
	CREATE TABLE blooms (id text PRIMARY KEY, f bloom NOT NULL);
	CREATE TABLE cuckoos (id text PRIMARY KEY, f cuckoo NOT NULL);
	CREATE TABLE built (first bigint, last bigint, f bloom NOT NULL, c cuckoo NOT NULL);
	CREATE INDEX built_f ON built USING hash (f);
	-- what is in the cuckoo filters
	CREATE TABLE members (id text, element bigint);
	CREATE INDEX members_element ON members (id, element);

	-- one grows from very little, one is changed by a hundred elements at once
	INSERT INTO blooms VALUES ('one by one', bloom_create(10)), ('by the hundred', bloom_create(20000, 1e-4));
	-- one has several layers and turns over, one grows and shrinks
	INSERT INTO cuckoos VALUES ('turnover', cuckoo_create(500)), ('wave', cuckoo_create(100));
	INSERT INTO members SELECT 'turnover', n FROM generate_series(1, 3000) AS n;
	UPDATE cuckoos SET f = cuckoo_add_all(f, ARRAY(SELECT n FROM generate_series(1, 3000) AS n)) WHERE id = 'turnover';

	-- Each does one command for an element, in one transaction, and returns it.
	CREATE FUNCTION grow(element bigint) RETURNS bigint LANGUAGE sql AS $$
		INSERT INTO log (id, what, element) VALUES ('one by one', 'add', element);
		UPDATE blooms SET f = bloom_add(f, element) WHERE id = 'one by one';
		SELECT element;
	$$;
	CREATE FUNCTION hundred(element bigint) RETURNS bigint LANGUAGE sql AS $$
		INSERT INTO log (id, what, element) VALUES ('by the hundred', 'add all', element);
		UPDATE blooms SET f = bloom_add_all(f, ARRAY(SELECT generate_series(element, element + 99))) WHERE id = 'by the hundred';
		SELECT element;
	$$;
	CREATE FUNCTION turn(element bigint) RETURNS bigint LANGUAGE plpgsql AS $$
		DECLARE
			old bigint;
		BEGIN
			DELETE FROM members m WHERE id = 'turnover' AND m.element = (SELECT min(m.element) FROM members m WHERE id = 'turnover')
			RETURNING m.element INTO STRICT old;
			INSERT INTO members VALUES ('turnover', turn.element);
			INSERT INTO log (id, what, element) VALUES ('turnover', 'remove', old), ('turnover', 'add', turn.element);
			UPDATE cuckoos SET f = cuckoo_add(cuckoo_remove(f, old), turn.element) WHERE id = 'turnover';
			RETURN element;
		END
	$$;
	CREATE FUNCTION wave(element bigint) RETURNS bigint LANGUAGE plpgsql AS $$
		BEGIN
			IF (SELECT count(*) FROM members WHERE id = 'wave') < 2000 THEN
				INSERT INTO members SELECT 'wave', n FROM generate_series(element, element + 99) AS n;
				INSERT INTO log (id, what, element) VALUES ('wave', 'add all', element);
				UPDATE cuckoos SET f = cuckoo_add_all(f, ARRAY(SELECT generate_series(element, element + 99))) WHERE id = 'wave';
			ELSE
				INSERT INTO log (id, what, element) VALUES ('wave', 'empty', element);
				UPDATE cuckoos SET f = cuckoo_compact(cuckoo_remove_all(f, ARRAY(SELECT m.element FROM members m WHERE id = 'wave' ORDER BY 1)))
				WHERE id = 'wave';
				DELETE FROM members WHERE id = 'wave';
			END IF;
			RETURN element;
		END
	$$;
	CREATE FUNCTION build(element bigint) RETURNS bigint LANGUAGE sql AS $$
		INSERT INTO log (id, what, element) VALUES ('built', 'build', element);
		INSERT INTO built SELECT element, element + 19999, bloom_agg(n), cuckoo_agg(n) FROM generate_series(element, element + 19999) AS n;
		-- a hundred are kept
		DELETE FROM built WHERE first <= element - 100 * 100;
		SELECT element;
	$$;

	-- The filters as they should be, up to the log's entry n
	CREATE TABLE expected (id text PRIMARY KEY, n bigint, f bloom, c cuckoo);
	INSERT INTO expected SELECT id, 0, f, NULL FROM blooms UNION ALL SELECT id, 0, NULL, f FROM cuckoos;

	-- Do to these what the log says since.
	CREATE PROCEDURE follow_log() LANGUAGE plpgsql AS $$
		DECLARE
			e expected;
			l log;
			members bigint[] := '{}';
		BEGIN
			FOR e IN SELECT * FROM expected LOOP
				FOR l IN SELECT * FROM log WHERE id = e.id AND n > e.n ORDER BY n LOOP
					CASE l.what
						WHEN 'add' THEN
							e.f := bloom_add(e.f, l.element);
							e.c := cuckoo_add(e.c, l.element);
						WHEN 'remove' THEN
							e.c := cuckoo_remove(e.c, l.element);
						WHEN 'add all' THEN
							e.f := bloom_add_all(e.f, ARRAY(SELECT generate_series(l.element, l.element + 99)));
							e.c := cuckoo_add_all(e.c, ARRAY(SELECT generate_series(l.element, l.element + 99)));
						WHEN 'empty' THEN
							e.c := cuckoo_compact(cuckoo_remove_all(e.c, ARRAY(
								SELECT generate_series(w.element, w.element + 99) FROM log w
								WHERE w.id = l.id AND w.what = 'add all' AND w.n < l.n
								AND w.n > (SELECT coalesce(max(m.n), 0) FROM log m WHERE m.id = l.id AND m.what = 'empty' AND m.n < l.n)
								ORDER BY 1)));
					END CASE;
					e.n := l.n;
				END LOOP;
				UPDATE expected SET n = e.n, f = e.f, c = e.c WHERE id = e.id;
			END LOOP;
		END
	$$;
});

# The sessions: a name, and a command for an element
my @sessions = (
	[ 'one by one', 'SELECT grow(%d)' ],
	[ 'by the hundred', 'SELECT hundred(%d)' ],
	[ 'turnover', 'SELECT turn(%d)' ],
	[ 'wave', 'SELECT wave(%d)' ],
	[ 'built', 'SELECT build(%d)' ],
	[ undef, 'CHECKPOINT; SELECT pg_sleep(0.1); VACUUM blooms, cuckoos, built, members; SELECT pg_sleep(0.1)' ]);

sub start_session
{
	my ($round, $number) = @_;
	my ($name, $command) = @{ $sessions[$number] };
	my $session = start_script($node, "session_$number",
		map { sprintf $command, $round * $round_elements + $_ * $command_elements } 0 .. $commands - 1);

	$session->{name} = $name;
	return $session;
}

# What is wrong with the filters, as text; "first" is the first element of the round
sub verify
{
	my ($first) = @_;

	return $node->safe_psql('postgres', qq{
		CALL follow_log();
		SELECT 'not what the log says', id FROM expected LEFT JOIN blooms USING (id) LEFT JOIN cuckoos USING (id)
			WHERE expected.f IS DISTINCT FROM blooms.f OR expected.c IS DISTINCT FROM cuckoos.f
		UNION ALL SELECT 'missing', id FROM log JOIN blooms USING (id) WHERE NOT f @> log.element
		UNION ALL SELECT 'missing', id FROM log JOIN blooms USING (id) WHERE what = 'add all' AND NOT f @> (log.element + 99)
		UNION ALL SELECT 'missing', id FROM members JOIN cuckoos USING (id) WHERE NOT f @> members.element
		UNION ALL SELECT 'wrong number', id FROM cuckoos WHERE cuckoo_cardinality(f) <> (SELECT count(*) FROM members m WHERE m.id = cuckoos.id)
		UNION ALL SELECT 'unsound', id FROM blooms WHERE f::text::bloom <> f
		UNION ALL SELECT 'unsound', id FROM cuckoos WHERE f::text::cuckoo <> f
		UNION ALL SELECT 'wrongly built', first::text FROM built,
			LATERAL (SELECT bloom_agg(n) AS bloom, cuckoo_agg(n) AS cuckoo FROM generate_series(first, last) AS n) AS again
			WHERE f <> bloom OR c <> cuckoo
		UNION ALL SELECT 'built, not logged', first::text FROM built WHERE first NOT IN (SELECT element FROM log WHERE what = 'build')
		UNION ALL SELECT 'logged, not built', element::text FROM (SELECT element FROM log WHERE what = 'build' ORDER BY n DESC LIMIT 100) AS t
			WHERE element NOT IN (SELECT first FROM built) AND element >= $first
		UNION ALL SELECT 'corrupt', t.relname || ': ' || msg FROM pg_class t, LATERAL verify_heapam(t.oid, check_toast => true)
			WHERE relname IN ('blooms', 'cuckoos', 'built', 'members', 'log');
		-- each is found by the index
		SET enable_seqscan = off;
		SELECT 'not in the index', first FROM built b WHERE NOT EXISTS (SELECT FROM built i WHERE i.f = b.f);
	});
}

for my $round (1 .. $rounds)
{
	my $victim = $victims[ $round % @victims ];
	my $last = $node->safe_psql('postgres', 'SELECT coalesce(max(n), 0) FROM log');
	my @running = map { start_session($round, $_) } 0 .. $#sessions;

	$node->poll_query_until('postgres', "SELECT count(DISTINCT id) = $#sessions FROM log WHERE n > $last")
	  or die 'a session does not work';
	work_a_while();
	kill_some($node, $victim);
	foreach my $session (@running)
	{
		was_in_the_middle($session, "round $round: " . ($session->{name} // 'vacuum'));
	}
	wait_until_back($node);

	my $lost = '';
	my $committed = 0;
	foreach my $session (grep { defined $_->{name} } @running)
	{
		my @elements = split /\n/, slurp_file($session->{out});
		my $list = join ',', @elements;

		$committed += @elements;
		$lost .= $node->safe_psql('postgres', qq{
			SELECT '$session->{name}', told FROM unnest('{$list}'::bigint[]) AS told
			WHERE told NOT IN (SELECT element FROM log WHERE id = '$session->{name}' AND what <> 'remove' AND n > $last)});
	}
	is($lost, '', "round $round, killed $victim: none of $committed commands is lost");
	is(verify($round * $round_elements), '', "round $round, killed $victim: filters are what the log says");
}

note($node->safe_psql('postgres', q{
	SELECT id, layers, elements FROM blooms, bloom_info(f) UNION ALL SELECT id, layers, elements FROM cuckoos, cuckoo_info(f)}));
is( $node->safe_psql('postgres', q{
		SELECT (SELECT min(layers) > 1 FROM blooms, bloom_info(f)), (SELECT layers > 1 FROM cuckoos, cuckoo_info(f) WHERE id = 'turnover'),
			(SELECT count(*) > 0 FROM log WHERE what = 'empty')}),
	't|t|t', 'filters have grown, and shrunk');

$node->stop;
done_testing();
