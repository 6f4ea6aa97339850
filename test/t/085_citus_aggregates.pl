# Aggregates of one type are pushed down by Citus, which calls their functions in a way of
# its own: looked up for each row, without an expression, the states sent as text.
# test/citus/stand_in.c does the same, without Citus; test/citus/run asks a cluster.
#
# bloom_agg_shards() sends a command to each shard.  What Citus has for that is made here,
# of tables of this server: its catalog, and its function.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Instructions;
use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('citus', init => [ extra => [ '--encoding=UTF8', '--locale=C' ] ], conf => 'allow_system_table_mods = on');

# ---------------------------------------------------------------- the stand-in

sub pg_config
{
	my ($what) = @_;
	my ($stdout, $stderr) = run_command([ $ENV{PG_CONFIG} // 'pg_config', $what ]);

	return $stdout;
}

my $library = PostgreSQL::Test::Utils::tempdir() . '/stand_in.so';
my $source = "$FindBin::RealBin/../citus/stand_in.c";
# stand_in.c needs the server's headers, which the extension was built with
my ($compiled, $messages);
{
	my @command = ('cc', '-shared', '-fPIC', '-O2', '-std=gnu99', '-isystem', pg_config('--includedir-server'),
		'-D_GNU_SOURCE', '-o', $library, $source);
	$compiled = eval { IPC::Run::run(\@command, '>&', \$messages) };
	diag($messages // $@) unless $compiled;
}

my $rows = 20000;
$node->safe_psql('postgres', qq{
	CREATE TABLE visits AS
		SELECT i AS id, 'https://example.com/a/directory/of/pages/' || md5(i::text) AS url,
			i::bigint AS number, md5(i::text)::uuid AS uuid, sha256(i::text::bytea) AS hash,
			CASE WHEN i % 10 <> 0 THEN 'host ' || i % 700 END AS host
		FROM generate_series(1, $rows) i;
	-- as its shards
	CREATE TABLE visits_1 AS SELECT * FROM visits WHERE id % 3 = 0;
	CREATE TABLE visits_2 AS SELECT * FROM visits WHERE id % 3 = 1;
	CREATE TABLE visits_3 AS SELECT * FROM visits WHERE id % 3 = 2;
	CREATE TABLE visits_4 AS SELECT * FROM visits WHERE false;
	VACUUM ANALYZE visits;
});

# What the workers send of an aggregate's arguments, with a name, and what the coordinator makes of it
sub pushed_down
{
	my ($aggregate, $kind, $arguments, $group) = @_;
	my $argument = $arguments =~ /,/ ? "ROW($arguments)" : $arguments;
	my $parts = join(' UNION ALL ', map {
		"SELECT $group AS g, partial_agg('$aggregate'::regprocedure, $argument) AS part FROM visits_$_ GROUP BY 1" } 1 .. 4);

	return "SELECT g, combine_agg('$aggregate'::regprocedure, part, NULL::$kind) AS f FROM ($parts) parts GROUP BY g";
}

SKIP:
{
	skip 'no compiler', 1 unless $compiled;

	$node->safe_psql('postgres', qq{
		CREATE FUNCTION partial_step(internal, oid, anyelement) RETURNS internal AS '$library' LANGUAGE C;
		CREATE FUNCTION partial_text(internal) RETURNS text AS '$library' LANGUAGE C;
		CREATE FUNCTION combine_step(internal, oid, text, anyelement) RETURNS internal AS '$library' LANGUAGE C;
		CREATE FUNCTION combine_final(internal, oid, text, anyelement) RETURNS anyelement AS '$library' LANGUAGE C;
		CREATE AGGREGATE partial_agg(oid, anyelement) (SFUNC = partial_step, STYPE = internal, FINALFUNC = partial_text);
		CREATE AGGREGATE combine_agg(oid, text, anyelement) (SFUNC = combine_step, STYPE = internal, FINALFUNC = combine_final, FINALFUNC_EXTRA);
	});

	my %columns = (text => [ 'url', 'host' ], bigint => ['number'], uuid => ['uuid'], bytea => ['hash']);
	my @forms = (
		[ '', '' ],
		[ ',integer', ', 30000' ],
		[ ',bigint', ', 30000::bigint' ],
		[ ',double precision', ', 0.001::float8' ],
		[ ',bigint,double precision', ', 30000::bigint, 0.001::float8' ]);

	foreach my $kind ('bloom', 'cuckoo')
	{
		foreach my $type (sort keys %columns)
		{
			foreach my $form (@forms)
			{
				my $aggregate = "${kind}_agg_$type($type$form->[0])";

				foreach my $column (@{ $columns{$type} })
				{
					foreach my $group ('1', 'id % 5')
					{
						my $arguments = "$column$form->[1]";
						my $pushed = pushed_down($aggregate, $kind, $arguments, $group);

						is($node->safe_psql('postgres', qq{
							SELECT bool_and(p.f = a.f), bool_and(p.f = b.f), count(*)
							FROM ($pushed) p
							JOIN (SELECT $group AS g, ${kind}_agg($arguments) AS f FROM visits GROUP BY 1) a USING (g)
							JOIN (SELECT $group AS g, ${kind}_agg_$type($arguments) AS f FROM visits GROUP BY 1) b USING (g)}),
							't|t|' . ($group eq '1' ? 1 : 5),
							"$aggregate of $column, by $group: the bytes of ${kind}_agg");
					}
				}
			}
		}
	}

	# bloom_agg() itself cannot be called like this
	like(($node->psql('postgres', pushed_down('bloom_agg(anycompatible)', 'bloom', 'url', '1')))[2],
		qr/could not determine the data type of the element/, 'bloom_agg needs an expression');
	# what is refused stays so
	like(($node->psql('postgres', pushed_down('bloom_agg_text(text,bigint)', 'bloom', 'url, id::bigint', '1')))[2],
		qr/capacity, error rate and seed of bloom_agg must be the same/, 'the capacity must be the same');
	like(($node->psql('postgres', pushed_down('bloom_agg_text(text,bigint)', 'bloom', 'url, NULL::bigint', '1')))[2],
		qr/capacity of a filter must not be null/, 'the capacity must not be null');

	# A function of any other type can be declared in the same way; collations that are
	# given count, also those that cannot be used
	my $session = Session->new($node);
	is($session->query(q{
		CREATE FUNCTION bloom_agg_date_trans(bloom, date) RETURNS bloom AS '$libdir/bloomfilter', 'bloomfilter_bloom_agg_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
		CREATE AGGREGATE bloom_agg_date(date) (SFUNC = bloom_agg_date_trans, STYPE = bloom, COMBINEFUNC = bloom_agg_combine, FINALFUNC = bloom_agg_final, PARALLEL = SAFE);
		SELECT combine_agg('bloom_agg_date(date)'::regprocedure, part, NULL::bloom) = (SELECT bloom_agg(date '2024-01-01' + id) FROM visits)
		FROM (SELECT partial_agg('bloom_agg_date(date)'::regprocedure, date '2024-01-01' + id) AS part FROM visits GROUP BY id % 3) t}),
		't', 'an aggregate of dates');
	like($session->query(q{
		CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		SELECT partial_agg('bloom_agg_text(text)'::regprocedure, url COLLATE loose) FROM visits}),
		qr/^ERROR:  0A000: nondeterministic collation "loose" is not supported/, 'a nondeterministic collation is refused');

	# One query may call several, in turns, and another may run within its calls
	is($session->query(q{
		CREATE FUNCTION inner_query(text) RETURNS text LANGUAGE plpgsql AS $$
		BEGIN
			IF (SELECT partial_agg('bloom_agg_bigint(bigint)'::regprocedure, i) IS NULL FROM generate_series(1, 3::bigint) i) THEN
				RAISE EXCEPTION 'nothing';
			END IF;
			RETURN $1;
		END $$;
		SELECT count(*), bool_and(t.f = a.t), bool_and(n.f = a.n)
		FROM (SELECT id % 100 AS g, bloom_agg(url) AS t, bloom_agg(number) AS n FROM visits WHERE id <= 1000 GROUP BY 1) a
		JOIN (SELECT g, combine_agg('bloom_agg_text(text)'::regprocedure, t, NULL::bloom) AS f, min(n) AS n FROM (
			SELECT id % 100 AS g, partial_agg('bloom_agg_text(text)'::regprocedure, inner_query(url)) AS t,
				partial_agg('bloom_agg_bigint(bigint)'::regprocedure, number) AS n
			FROM visits WHERE id <= 1000 GROUP BY 1) parts GROUP BY g) t USING (g),
			LATERAL (SELECT combine_agg('bloom_agg_bigint(bigint)'::regprocedure, part, NULL::bloom) AS f FROM unnest(ARRAY[t.n]) part) n}),
		'100|t|t', 'queries within queries');
	# as long as its query, and no longer: errors, cursors that end in any order
	is($session->query(q{
		BEGIN;
		DECLARE a CURSOR FOR SELECT partial_agg('bloom_agg_text(text)'::regprocedure, url) FROM visits GROUP BY id;
		DECLARE b CURSOR FOR SELECT partial_agg('bloom_agg_text(text)'::regprocedure, url) FROM visits GROUP BY id % 9;
		DECLARE c CURSOR FOR SELECT partial_agg('bloom_agg_bigint(bigint)'::regprocedure, number) FROM visits GROUP BY id;
		MOVE 10 IN a; MOVE 5 IN b; MOVE 5 IN c; MOVE 5 IN a; CLOSE b; MOVE 10 IN c; CLOSE a; MOVE 10 IN c;
		SAVEPOINT s}) . $session->query('SELECT partial_agg(\'bloom_agg_bigint(bigint)\'::regprocedure, number / (number - 900)) FROM visits')
		  . $session->query(q{ROLLBACK TO s; MOVE 5 IN c; COMMIT}), 'ERROR:  22012: division by zero',
		'cursors and an error');
	$session->quit;

	# A hasher is not made for each row.  The step itself is what bloom_agg()'s is.
	$node->stop;
	SKIP:
	{
		skip 'valgrind is not installed', 2 if system('valgrind --version >/dev/null 2>&1') != 0;
		foreach my $case ([ 'url', 'text' ], [ 'number', 'bigint' ])
		{
			my ($column, $type) = @$case;
			my ($plain) = instructions($node, 'bloomfilter_bloom_agg_trans',
				"SELECT bloom_agg($column) IS NULL FROM visits");
			my ($called) = instructions($node, 'bloomfilter_bloom_agg_trans',
				"SELECT partial_agg('bloom_agg_$type($type)'::regprocedure, $column) IS NULL FROM visits");

			cmp_ok($called, '<', 1.5 * $plain, sprintf('a step for a %s: %.0f instructions, %.0f in bloom_agg',
				$type, $called / $rows, $plain / $rows));
		}
	}
	$node->start;
}

# ---------------------------------------------------------------- bloom_agg_shards

my $session = Session->new($node);

my $answer = q{SELECT bloom_agg_shards('visits', 'url', 30000) = (SELECT bloom_agg(url, 30000) FROM visits),
	bloom_agg_shards('visits', 'lower(url) || id', 30000, 0.001) = (SELECT bloom_agg(lower(url) || id, 30000, 0.001) FROM visits),
	bloom_agg_shards('visits', 'number % 1000', 2000) = (SELECT bloom_agg(number % 1000, 2000) FROM visits),
	bloom_agg_shards('visits', 'id, host', 30000) = (SELECT bloom_agg(ROW(id, host), 30000) FROM visits),
	bloom_agg_shards('visits', E'host --x\n || ''%s 100%'' -- the end', 30000) = (SELECT bloom_agg(host || '%s 100%', 30000) FROM visits),
	bloom_agg_shards('visits', 'date ''01/02/2024'' + id', 30000) = (SELECT bloom_agg(date '01/02/2024' + id, 30000) FROM visits),
	bloom_agg_shards('visits', 'visits.id', 30000) = (SELECT bloom_agg(id, 30000) FROM visits)};
my $same = 't|t|t|t|t|t|t';

sub refusals
{
	my ($when) = @_;
	foreach my $case (
		[ 'url) FROM visits; DROP TABLE visits; SELECT (1', '42601' ],
		[ 'url) FROM visits WHERE (id = 1', '42601' ],
		[ 'url), (id', '42601' ],
		[ '1) UNION SELECT (2', '42601' ],
		[ 'url) ORDER BY (id', '42601' ],
		[ 'url /*', '42601' ],
		[ 'url +', '42601' ],
		[ '', '42601' ],
		[ 'nothing', '42703' ],
		[ '(SELECT 1)', '0A000' ],
		[ 'max(url)', '0A000' ],
		[ 'row_number() OVER ()', '0A000' ],
		[ 'generate_series(1, id)', '0A000' ])
	{
		my ($expression, $state) = @$case;
		like($session->query(qq{SELECT bloom_agg_shards('visits', \$x\$$expression\$x\$, 1000)}),
			qr/^ERROR:  $state: /, "$when: $expression");
	}
	like($session->query(q{SELECT bloom_agg_shards('visits', 'nothing', 1000)}),
		qr/LINE 1: nothing\n\s+\^/, "$when: where it is wrong");
	like($session->query(q{SELECT bloom_agg_shards('visits', 'url', 0)}),
		qr/22023: capacity of a filter must be at least 1/, "$when: no capacity");
	like($session->query(q{SELECT bloom_agg_shards('visits', 'url', 1000, 2)}),
		qr/22023: error rate of a filter must be/, "$when: an error rate of 2");
	like($session->query(q{SELECT bloom_agg_shards('visits', '1000 / (id - 7)', 1000)}),
		qr/division by zero/, "$when: an error of the expression");
	is($session->query(q{SELECT bloom_agg_shards('visits', 'url', NULL) IS NULL}), 't', "$when: strict");
}

$session->query("SET datestyle = 'SQL, DMY'");
is($session->query($answer), $same, 'no Citus: the bytes of bloom_agg');
refusals('no Citus');
is($session->query(q{
	CREATE TABLE "odd %s Table" AS SELECT * FROM visits WHERE id < 100;
	SELECT bloom_agg_shards('"odd %s Table"', 'url', 1000) = (SELECT bloom_agg(url, 1000) FROM "odd %s Table")}),
	't', 'a table with an odd name');
$session->query('CREATE ROLE eve; SET ROLE eve');
like($session->query(q{SELECT bloom_agg_shards('visits', 'url', 1000)}), qr/42501: permission denied for table visits/,
	'with the rights of the caller');
$session->query('RESET ROLE');

# What Citus has: the catalog, and the function.  Its answers come from other sessions, as
# text; here, with other settings.
# names that the caller has qualified are not looked up along the path
is($session->query(q{
	CREATE SCHEMA evil;
	CREATE FUNCTION evil.lower(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT 'evil'$$;
	SET search_path = evil, pg_catalog, public;
	SELECT bloom_contains(f, 'evil'), bloom_contains(f, (SELECT pg_catalog.lower(min(url)) FROM visits))
	FROM (SELECT bloom_agg_shards('visits', 'pg_catalog.lower(url)', 1000) AS f OFFSET 0) x}), 'f|t', 'a path with another schema first');
$session->query('RESET search_path; DROP SCHEMA evil CASCADE');

is($session->query(q{
	CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL);
	INSERT INTO pg_catalog.pg_dist_partition VALUES ('visits', 'h');
	CREATE FUNCTION pg_catalog.run_command_on_shards(table_name regclass, command text, parallel boolean DEFAULT true,
		OUT shardid bigint, OUT success boolean, OUT result text)
	RETURNS SETOF record LANGUAGE plpgsql SET search_path = '' SET datestyle = 'ISO, MDY' AS $$
	BEGIN
		FOR i IN 1 .. 4 LOOP
			shardid := i;
			BEGIN
				EXECUTE format(command, table_name::text || '_' || i) INTO result;
				success := true;
			EXCEPTION WHEN others THEN
				success := false;
				result := 'ERROR:  ' || SQLERRM;
			END;
			RETURN NEXT;
		END LOOP;
	END $$;
	GRANT SELECT ON pg_dist_partition TO PUBLIC;
	ALTER TABLE visits_3 RENAME TO visits_here;
	CREATE VIEW visits_3 AS SELECT * FROM visits_here;
	DELETE FROM visits}) =~ s/^NOTICE.*\n//mgr, '', 'a distributed table');
# its rows are in the shards
my $distributed = $answer =~ s/FROM visits\)/FROM everything)/gr;
$session->query('CREATE VIEW everything AS SELECT * FROM visits_1 UNION ALL SELECT * FROM visits_2 UNION ALL SELECT * FROM visits_here');
is($session->query($distributed), $same, 'shards: the bytes of bloom_agg');
refusals('shards');
like($session->query(q{SELECT bloom_agg_shards('visits', '1000 / (id - 7)', 1000)}),
	qr/could not make the filter of shard 2 of table "visits": ERROR:  division by zero/, 'which shard, and why');
# a shard's session may have other settings, and so may this one: a literal remains one
$session->query(q{CREATE TABLE noted (x text);
	CREATE FUNCTION note(x text) RETURNS text LANGUAGE sql VOLATILE AS $$INSERT INTO public.noted VALUES (x) RETURNING x$$;
	SET escape_string_warning = off});
foreach my $here ('on', 'off')
{
	foreach my $there ('on', 'off')
	{
		$session->query("ALTER FUNCTION pg_catalog.run_command_on_shards(regclass, text, boolean) SET standard_conforming_strings = $there");
		$session->query("SET standard_conforming_strings = $here; SET escape_string_warning = off");
		is($session->query(q{
			SELECT bloom_contains(bloom_agg_shards('visits', $$url || E'\\\\'$$, 1000), (SELECT min(url) FROM visits_1) || E'\\\\')
				AND bloom_contains(bloom_agg_shards('visits', $$url || E'\\\\x41''\\\\'$$, 1000), (SELECT min(url) FROM visits_1) || E'\\\\x41''\\\\')
				AND bloom_contains(bloom_agg_shards('visits', $$convert_to(url, 'utf8') || E'\\\\x41'::bytea$$, 1000),
					(SELECT convert_to(min(url), 'utf8') FROM visits_1) || E'\\\\x41'::bytea)}),
			't', "backslashes, standard_conforming_strings $here here and $there there");
		$session->query(q{SELECT bloom_agg_shards('visits', $x$url || '\'' || public.note(url)), 10, 0.01) FROM public.visits_1 --'$x$, 1000) IS NOT NULL});
		is($session->query('SELECT count(*) FROM noted'), '0', 'nothing but one expression gets there');
	}
}
$session->query('RESET standard_conforming_strings; RESET escape_string_warning; DROP TABLE noted CASCADE; DROP FUNCTION note');
$session->query('ALTER FUNCTION pg_catalog.run_command_on_shards(regclass, text, boolean) RESET standard_conforming_strings');
# a row of a shard must not query all shards
like($session->query(q{SET application_name = 'citus_internal gpid=1'; SELECT bloom_agg_shards('visits', 'url', 1000)}),
	qr/^ERROR:  0A000: bloom_agg_shards cannot be called by the query of a shard\nHINT: /, 'in the query of a shard');
$session->query('RESET application_name');
$session->query('DROP VIEW visits_3 CASCADE');
like($session->query(q{SELECT bloom_agg_shards('visits', 'url', 1000)}),
	qr/could not make the filter of shard 3 of table "visits": ERROR:  relation "public\.visits_3" does not exist/,
	'a shard that is missing');
# no shard has a row
is($session->query(q{ALTER TABLE visits_here RENAME TO visits_3; DELETE FROM visits_1; DELETE FROM visits_2; DELETE FROM visits_3;
	SELECT bloom_agg_shards('visits', 'url', 1000) = (SELECT bloom_agg(url, 1000) FROM visits)}), 't', 'shards without rows');

$session->quit;
$node->stop;
done_testing();
