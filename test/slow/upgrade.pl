# Filters that were made under an older PostgreSQL, in $OLD_INSTALLATION, come to
# this one by pg_upgrade and by pg_dump: the bytes are the same, and so is every
# answer, those about absent elements included.  So are the bytes of what is made
# and changed here from the same elements.
#
# The extension must be installed in both (script/parts/upgrade.sh).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old_installation = $ENV{OLD_INSTALLATION}
  or plan skip_all => 'OLD_INSTALLATION names no older PostgreSQL';

# An element of each class (docs/dev/format.md), made of the number i.  Types with a hash function
# of their own are left out, because that may change.
my %elements = (
	'integer' => 'i',
	'integer, of eight bytes' => 'i::bigint * 5000000000',
	'float' => 'i * 0.25::float8',
	'numeric' => 'i * 1.10',
	'text' => q{U&'Fu\00DF ' || i},
	'bytea' => q{decode(md5(i::text), 'hex')},
	'uuid' => 'md5(i::text)::uuid',
	'boolean' => 'i % 2 = 0',
	'char' => 'chr(32 + i % 90)::"char"',
	'oid' => 'i::oid',
	'money' => 'i::money',
	'macaddr' => q{lpad(to_hex(i), 12, '0')::macaddr},
	'macaddr8' => q{lpad(to_hex(i), 16, '0')::macaddr8},
	'date' => q{date '2000-01-01' + i},
	'time' => q{time '00:00' + i * interval '1 second'},
	'time with time zone' => q{timetz '00:00+02' + i * interval '1 second'},
	'timestamp' => q{timestamp '2000-01-01' + i * interval '1 hour'},
	'timestamp with time zone' => q{timestamptz '2000-01-01 00:00+00' + i * interval '1 hour'},
	'interval' => q{i * interval '1 month 1 second'},
	'bit string' => 'i::bit(20)',
	'network address' => q{inet '10.0.0.0/8' + i},
	'jsonb' => q{jsonb_build_object('a', ARRAY[i, 1], 'b', NULL)},
	'enum' => '(enum_range(NULL::mood))[1 + i % 3]',
	'array' => 'ARRAY[i, NULL, 3]',
	'range' => 'int8range(i, i + 3)',
	'multirange' => 'int4multirange(int4range(i, i + 3), int4range(i + 5, NULL))',
	'composite' => q{ROW(i, 'x' || i)::pair},
	'anonymous record' => q{ROW(i, 'x' || i, NULL::date)},
	'domain' => 'i::positive',
	'structure of many parts' => q{ROW(i, ROW('x'::text, ARRAY[i = 7]), 1.5::float8, int4range(i, i))});

# All layouts, and how they come about; "element" is what is looked up in the filter.
my $fill = q{
CREATE EXTENSION bloomfilter;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a integer, b text);
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE FUNCTION words(first int, last int) RETURNS text[] LANGUAGE sql IMMUTABLE AS
$$ SELECT array_agg('word ' || i ORDER BY i) FROM generate_series(first, last) AS i $$;

CREATE TABLE bloom_filters (what text PRIMARY KEY, element text DEFAULT '''word '' || i', f bloom);
CREATE TABLE cuckoo_filters (what text PRIMARY KEY, element text DEFAULT '''word '' || i', f cuckoo);
CREATE INDEX by_bloom ON bloom_filters USING hash (f);
CREATE INDEX by_cuckoo ON cuckoo_filters USING hash (f);

INSERT INTO bloom_filters (what, f) VALUES
('empty', (SELECT bloom_agg(1) WHERE false)),
('explicit', bloom_add_all((SELECT bloom_agg(1) WHERE false), words(1, 50))),
('explicit, large', bloom_add_all((SELECT bloom_agg(1) WHERE false), words(1, 1500))),
('without elements', bloom_create(2000)),
('block512, fixed', bloom_add_all(bloom_create(1501, 0.1, 0), words(1, 1500))),
('block512, growing', bloom_add_all(bloom_create(1501, 0.1), words(1, 1500))),
('block512, keyed', bloom_add_all(bloom_create(1501, 0.1, 2, -42), words(1, 1500))),
('block512 from an aggregate', (SELECT bloom_agg(w, NULL, 0.03) FROM unnest(words(1, 1600)) AS w)),
('small, without elements', bloom_create(100)),
('small of few bytes', bloom_add_all(bloom_create(8, 0.1, 0), words(1, 5))),
('small, fixed', bloom_add_all(bloom_create(1000, 0.1, 0), words(1, 1000))),
('small, growing', bloom_add_all(bloom_create(1000, 0.1), words(1, 1000))),
('small, keyed', bloom_add_all(bloom_create(1000, 0.1, 2, -42), words(1, 1000))),
('small at a low rate', bloom_add_all(bloom_create(1000, 1e-4), words(1, 1000))),
('small from an aggregate', (SELECT bloom_agg(w, NULL, 0.03) FROM unnest(words(1, 1500)) AS w)),
('small layers', bloom_add_all(bloom_add_all(bloom_create(50, 0.1), words(1, 200)), words(201, 500))),
('grown by two', bloom_add_all(bloom_add_all(bloom_add_all(bloom_create(50, 0.1), words(1, 150)), words(151, 500)), words(501, 1500))),
('grown by one', bloom_add_all(bloom_add_all(bloom_create(100, 0.1, 1), words(1, 300)), words(301, 1000))),
('grown from blocks', bloom_add_all(bloom_add_all(bloom_create(1501, 0.3), words(1, 3500)), words(3501, 6000))),
('grown to block512x2, keyed', bloom_add_all(bloom_create(20, 0.002, 4, 7), words(1, 2000))),
('block512x2, fixed', bloom_add_all(bloom_create(1501, 1e-4, 0), words(1, 1500))),
('block512x2, growing', bloom_add_all(bloom_create(1501, 1e-4), words(1, 1500))),
('classic', bloom_add_all(bloom_create_bits(4001, 3), words(1, 1000))),
('classic, keyed', bloom_add_all(bloom_create_bits(4001, 3, 12345), words(1, 1000))),
('side by side', bloom_union(bloom_add_all(bloom_create(1501, 0.1), words(1, 1500)), bloom_add_all(bloom_create(1501, 0.1), words(1501, 3000)))),
('small side by side', bloom_union(bloom_add_all(bloom_create(100, 0.1), words(1, 100)), bloom_add_all(bloom_create(100, 0.1), words(101, 200)))),
('intersection', bloom_intersection(bloom_add_all(bloom_create(1501, 0.1), words(1, 900)), bloom_add_all(bloom_create(1501, 0.1), words(101, 1000)))),
('small intersection', bloom_intersection(bloom_add_all(bloom_create(1000, 0.1), words(1, 900)), bloom_add_all(bloom_create(1000, 0.1), words(101, 1000)))),
('large', (SELECT bloom_agg(w) FROM unnest(words(1, 100000)) AS w));

INSERT INTO cuckoo_filters (what, f) VALUES
('empty', (SELECT cuckoo_agg(1) WHERE false)),
('without elements', cuckoo_create(100)),
('fixed', cuckoo_add_all(cuckoo_create(1000, 0.1, 0), words(1, 990))),
('growing', cuckoo_add_all(cuckoo_create(1000, 0.1), words(1, 1000))),
('keyed', cuckoo_add_all(cuckoo_create(1000, 0.1, 2, -42), words(1, 1000))),
('from an aggregate', (SELECT cuckoo_agg(w, NULL, 0.03) FROM unnest(words(1, 1500)) AS w)),
('grown by two', cuckoo_add_all(cuckoo_create(50, 0.1), words(1, 1500))),
('grown by one', cuckoo_add_all(cuckoo_create(100, 0.1, 1), words(1, 1000))),
('grown by three, keyed', cuckoo_add_all(cuckoo_create(50, 0.01, 3, 7), words(1, 1000))),
('with repeated elements', cuckoo_add_all(cuckoo_create(1000, 0.1), words(1, 500) || words(1, 300) || words(1, 10))),
('saturated', cuckoo_add_all(cuckoo_create(100), array_fill('word 1'::text, ARRAY[10]))),
('grown and emptied', cuckoo_remove_all(cuckoo_add_all(cuckoo_create(50, 0.1), words(1, 1500)), words(101, 1500))),
('compacted', cuckoo_compact(cuckoo_remove_all(cuckoo_add_all(cuckoo_create(50, 0.1), words(1, 1500)), words(101, 1500)))),
('united', cuckoo_union(cuckoo_add_all(cuckoo_create(1000, 0.1), words(1, 600)), cuckoo_add_all(cuckoo_create(1000, 0.1), words(401, 900)))),
('large', (SELECT cuckoo_agg(w) FROM unnest(words(1, 100000)) AS w));

-- Compressed values are read in another way
ALTER TABLE bloom_filters ALTER f SET STORAGE extended;
ALTER TABLE cuckoo_filters ALTER f SET STORAGE extended;
INSERT INTO bloom_filters (what, f) VALUES ('compressed', bloom_add_all(bloom_create(50000), words(1, 20)));
INSERT INTO cuckoo_filters (what, f) VALUES ('compressed', cuckoo_add_all(cuckoo_create(50000), words(1, 20)));

-- Other places in which a filter or a function of the extension may be
CREATE TABLE guarded (f bloom DEFAULT bloom_add(bloom_create(10), 'here') CHECK (f @> 'here'),
	g bloom GENERATED ALWAYS AS (bloom_add(f, 'more')) STORED);
INSERT INTO guarded DEFAULT VALUES;
CREATE VIEW grown AS SELECT what FROM bloom_filters WHERE (bloom_info(f)).layers > 1;
CREATE MATERIALIZED VIEW summary AS
SELECT cuckoo_union_agg(f) AS f FROM cuckoo_filters WHERE what IN ('growing', 'united');
CREATE TABLE parted (f cuckoo) PARTITION BY HASH (f);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT cuckoo_add(cuckoo_create(10), i) FROM generate_series(1, 20) AS i;
};

# 200 elements of each class, and so few bits that absent ones are found too
foreach my $class (sort keys %elements)
{
	foreach my $type ('bloom', 'cuckoo')
	{
		$fill .= qq{
INSERT INTO ${type}_filters SELECT '$class', \$\$$elements{$class}\$\$, ${type}_agg($elements{$class}, 200, 0.1)
FROM generate_series(1, 200) AS i;};
	}
}

# All results from a database of such filters, before and after additions
sub look
{
	my ($node, $database) = @_;
	my $script = "SET timezone = 'UTC';\n";

	foreach my $type ('bloom', 'cuckoo')
	{
		my $rows = $node->safe_psql($database,
			qq{SELECT what, element FROM ${type}_filters ORDER BY what COLLATE "C"});

		foreach my $row (split /\n/, $rows)
		{
			my ($what, $element) = split /\|/, $row, 2;

			# The answers about 2000 elements, in order, and how many are yes
			$script .= qq{
SELECT '$type', what, md5(f::bytea), ${type}_info(f),
	(SELECT md5(string_agg((f @> x)::int::text, '' ORDER BY i)) || ', ' || count(*) FILTER (WHERE f @> x)
	 FROM (SELECT i, $element AS x FROM generate_series(1, 2000) AS i OFFSET 0) AS e),
	(SELECT md5(${type}_add(f, $element)::bytea) FROM (VALUES (1999)) AS e(i)),
	CASE WHEN (${type}_info(f)).growth > 0 AND (${type}_info(f)).element_class = 'text'
		THEN md5(${type}_add_all(f, words(2001, 2300))::bytea) END
FROM ${type}_filters WHERE what = '$what';};
		}
	}
	$script .= q{
SELECT md5(f::bytea), md5(g::bytea), g @> 'more' FROM guarded;
SELECT what FROM grown ORDER BY what COLLATE "C";
SELECT md5(f::bytea), cuckoo_count(f, 'word 500') FROM summary;
SELECT tableoid::regclass, md5(f::bytea) FROM parted ORDER BY 1, 2;
SET enable_seqscan = off;
SELECT what FROM bloom_filters WHERE f = bloom_create(100);
SELECT what FROM cuckoo_filters WHERE f = cuckoo_create(100);
SELECT tableoid::regclass FROM parted WHERE f = cuckoo_add(cuckoo_create(10), 7);
};
	return $node->safe_psql($database, $script);
}

my @initdb = (extra => [ '--locale=C', '--encoding=UTF8', '--data-checksums' ]);
my $old = PostgreSQL::Test::Cluster->new('old', install_path => $old_installation);
my $new = PostgreSQL::Test::Cluster->new('new');
my $upgraded = PostgreSQL::Test::Cluster->new('upgraded');

$old->init(@initdb);
$old->start;
$old->safe_psql('postgres', 'CREATE DATABASE source');
$old->safe_psql('source', $fill);
my $held = look($old, 'source');
note $old->safe_psql('source', 'SELECT version()');

# Without these the test would prove nothing
like($held, qr/^bloom\|\Q$_\E\|[0-9a-f]{32}\|/m, "filters of $_")
  foreach sort keys %elements;
cmp_ok($old->safe_psql('source', q{
SELECT count(*) FROM bloom_filters, generate_series(1501, 2000) AS i
WHERE what IN ('block512, fixed', 'classic', 'grown by two') AND f @> ('word ' || i)}),
	'>', 50, 'absent elements that seem to be in are among those looked up');
foreach my $type ('bloom', 'cuckoo')
{
	like($old->safe_psql('source', qq{
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT what FROM ${type}_filters WHERE f = ${type}_create(100)}),
		qr/by_$type/, "an index is used to find a $type");
}

# By pg_dump: the old server's own, and the new one's, as the manual has it
$new->init(@initdb);
$new->start;
note $new->safe_psql('postgres', 'SELECT version()');
my $bindir = $new->config_data('--bindir');
my $dump = $new->basedir . '/dump';
foreach my $way ([ 'plain', 'old' ], [ 'plain', 'new' ], [ 'custom', 'new' ])
{
	my ($format, $whose) = @$way;
	my $from = $whose eq 'old' ? "$old_installation/bin" : $bindir;
	my $target = "${format}_$whose";

	$old->command_ok([ "$from/pg_dump", "--format=$format", "--file=$dump", 'source' ],
		"$format format of the $whose pg_dump");
	$new->safe_psql('postgres', "CREATE DATABASE $target");
	$new->command_ok(
		$format eq 'plain'
		? [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', "$dump.out", '-f', $dump, $target ]
		: [ 'pg_restore', '--exit-on-error', "--dbname=$target", $dump ],
		'restored');
	is(look($new, $target), $held, "$target: the same filters and answers");
}

# Made here
$new->safe_psql('postgres', 'CREATE DATABASE anew');
$new->safe_psql('anew', $fill);
is(look($new, 'anew'), $held, 'made here: the same filters and answers');
$new->stop;

# By pg_upgrade
$upgraded->init(@initdb);
$old->stop;
chdir $PostgreSQL::Test::Utils::tmp_check;
command_ok(
	[
		'pg_upgrade', '--no-sync',
		'-b', "$old_installation/bin", '-B', $bindir,
		'-d', $old->data_dir, '-D', $upgraded->data_dir,
		'-s', $upgraded->host, '-p', $old->port, '-P', $upgraded->port
	],
	'pg_upgrade');
$upgraded->start;
is(look($upgraded, 'source'), $held, 'upgraded: the same filters and answers');
is($upgraded->safe_psql('source', q{
UPDATE bloom_filters SET f = bloom_add_all(f, words(3001, 6000)) WHERE what IN ('grown by two', 'block512, keyed');
UPDATE cuckoo_filters SET f = cuckoo_remove_all(f, words(1, 90)) WHERE what IN ('grown by two', 'keyed', 'grown and emptied');
REFRESH MATERIALIZED VIEW summary;
SELECT (SELECT bool_and(bloom_contains_all(f, words(1, 1000) || words(3001, 6000))) FROM bloom_filters WHERE what IN ('grown by two', 'block512, keyed')),
	(SELECT bool_and(cuckoo_contains_all(f, words(91, 100))) FROM cuckoo_filters WHERE what IN ('grown by two', 'keyed', 'grown and emptied')),
	(SELECT cuckoo_cardinality(f) FROM cuckoo_filters WHERE what = 'grown and emptied')}),
	't|t|10', 'upgraded filters are used');
$upgraded->stop;

done_testing();
