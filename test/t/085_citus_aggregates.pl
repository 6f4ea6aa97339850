# Aggregates of hashed elements are pushed down by Citus, which calls their functions in a
# way of its own: looked up for each row, without an expression, the states sent as text.
# test/citus/stand_in.c does the same, without Citus; test/citus/run asks a cluster.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Instructions;
use Module;
use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('citus', init => [ extra => [ '--encoding=UTF8', '--locale=C' ] ], conf => 'allow_system_table_mods = on');

# ---------------------------------------------------------------- the stand-in

my $library = compile_module("$FindBin::RealBin/../citus/stand_in.c");

# Of all of them, a filter has blocks; of a fifth, a small layer
my $rows = 5000;
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
	skip 'no compiler', 1 unless defined $library;

	$node->safe_psql('postgres', qq{
		CREATE FUNCTION partial_step(internal, oid, anyelement) RETURNS internal AS '$library' LANGUAGE C;
		CREATE FUNCTION partial_text(internal) RETURNS text AS '$library' LANGUAGE C;
		CREATE FUNCTION combine_step(internal, oid, text, anyelement) RETURNS internal AS '$library' LANGUAGE C;
		CREATE FUNCTION combine_final(internal, oid, text, anyelement) RETURNS anyelement AS '$library' LANGUAGE C;
		CREATE AGGREGATE partial_agg(oid, anyelement) (SFUNC = partial_step, STYPE = internal, FINALFUNC = partial_text);
		CREATE AGGREGATE combine_agg(oid, text, anyelement) (SFUNC = combine_step, STYPE = internal, FINALFUNC = combine_final, FINALFUNC_EXTRA);
	});

	my @columns = ('url', 'host', 'number', 'uuid', 'hash', 'ROW(id, host)', "date '2024-01-01' + id", 'ARRAY[host]');
	my @forms = ([ '', '' ], [ ',bigint,double precision', ', 30000::bigint, 0.001::float8' ]);

	foreach my $kind ('bloom', 'cuckoo')
	{
		foreach my $form (@forms)
		{
			my $aggregate = "${kind}_agg(hashed_element$form->[0])";

			foreach my $column (@columns)
			{
				foreach my $group ('1', 'id % 5')
				{
					my $hashed = "bloom_element($column)$form->[1]";
					my $pushed = pushed_down($aggregate, $kind, $hashed, $group);

					is($node->safe_psql('postgres', qq{
						SELECT bool_and(p.f = a.f), bool_and(p.f = b.f), count(*)
						FROM ($pushed) p
						JOIN (SELECT $group AS g, ${kind}_agg($column$form->[1]) AS f FROM visits GROUP BY 1) a USING (g)
						JOIN (SELECT $group AS g, ${kind}_agg($hashed) AS f FROM visits GROUP BY 1) b USING (g)}),
						't|t|' . ($group eq '1' ? 1 : 5),
						"$aggregate of $column, by $group: the bytes of ${kind}_agg");
				}
			}
		}
		is($node->safe_psql('postgres', pushed_down("${kind}_agg(hashed_element,bigint,double precision)", $kind, 'bloom_element(url, 42), NULL::bigint, NULL::float8', '1')
			  =~ s/^SELECT g, (.*) AS f /SELECT $1 = (SELECT ${kind}_agg(bloom_element(url, 42)) FROM visits) AS f /r), 't', "$kind: a seed, and NULLs for defaults");
	}

	# bloom_agg() itself cannot be called like this
	like(($node->psql('postgres', pushed_down('bloom_agg(anycompatible)', 'bloom', 'url', '1')))[2],
		qr/could not determine the data type of the element/, 'bloom_agg needs an expression');
	# what is refused stays so
	like(($node->psql('postgres', pushed_down('bloom_agg(hashed_element,bigint,double precision)', 'bloom', 'bloom_element(url), id::bigint, 0.01::float8', '1')))[2],
		qr/capacity, error rate and seed of bloom_agg must be the same/, 'the capacity must be the same');
	like(($node->psql('postgres', pushed_down('bloom_agg(hashed_element)', 'bloom', 'bloom_element(url, id)', '1')))[2],
		qr/capacity, error rate and seed of bloom_agg must be the same/, 'so must the seed');
	my $session = Session->new($node);
	like($session->query(q{
		CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		SELECT partial_agg('bloom_agg(hashed_element)'::regprocedure, bloom_element(url COLLATE loose)) FROM visits}),
		qr/^ERROR:  0A000: nondeterministic collation "loose" is not supported/, 'a nondeterministic collation is refused');
	like($session->query(q{
		SELECT partial_agg('bloom_agg(hashed_element,bigint,double precision)'::regprocedure,
			ROW(bloom_element(url COLLATE loose), 1000::bigint, 0.01::float8)) FROM visits}),
		qr/^ERROR:  0A000: nondeterministic collation "loose" is not supported/, 'also with a capacity');
	$session->quit;

	# The hash is made by bloom_element; a step that is looked up for each row costs less than
	# one of bloom_agg, which hashes.
	$node->stop;
	SKIP:
	{
		skip 'valgrind is not installed', 1 if system('valgrind --version >/dev/null 2>&1') != 0;
		my (undef, $plain) = instructions($node, 'bloomfilter_bloom_agg_trans',
			'SELECT bloom_agg(number) IS NULL FROM visits');
		my (undef, $called) = instructions($node, 'bloomfilter_bloom_hashed_agg_trans',
			"SELECT partial_agg('bloom_agg(hashed_element)'::regprocedure, bloom_element(number)) IS NULL FROM visits");

		cmp_ok($called, '<', $plain, sprintf('a step: %.0f instructions, %.0f in bloom_agg of a bigint', $called / $rows, $plain / $rows));
	}
	$node->start;
}

$node->stop;
done_testing();
