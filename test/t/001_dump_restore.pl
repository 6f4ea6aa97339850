# Filters in a database that is dumped and restored are the same, byte for byte, and
# give the same answers.  The same holds in a database of another encoding, because
# text elements are hashed as UTF-8.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $dir = $node->backup_dir;
mkdir $dir;

# Filters of every layout, small enough for the row and too large for it, as
# column, default, in a materialized view, in an array, a composite and a
# domain, and elements of a class that has no OID in it.
my $fill = q{
CREATE EXTENSION bloomfilter;
CREATE TABLE filters (
	id int PRIMARY KEY, what text,
	f bloom DEFAULT bloom_add(bloom_create(10), 'default'));
INSERT INTO filters (id, what) VALUES (1, 'default');
INSERT INTO filters VALUES
	(2, 'null', NULL),
	(3, 'empty', (SELECT bloom_agg(1) WHERE false)),
	(4, 'explicit', bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY['a', 'b'])),
	(5, 'block512', bloom_add_all(bloom_create(2000), ARRAY['a', 'b'])),
	(6, 'block512x2', bloom_add_all(bloom_create(2000, 1e-6, 0, -1), ARRAY['a', 'b'])),
	(7, 'classic', bloom_add_all(bloom_create_bits(1001, 7), ARRAY['a', 'b'])),
	(8, 'without elements', bloom_create(2000)),
	(15, 'small', bloom_add_all(bloom_create(100), ARRAY['a', 'b'])),
	(16, 'small, low rate', bloom_add_all(bloom_create(100, 1e-6, 0, -1), ARRAY['a', 'b'])),
	(17, 'small, without elements', bloom_create(1)),
	(18, 'small, of an aggregate', (SELECT bloom_agg('word ' || i) FROM generate_series(1, 10) AS i)),
	(9, 'large', (SELECT bloom_agg('word ' || i) FROM generate_series(1, 100000) AS i)),
	(10, 'large, two blocks', (SELECT bloom_agg('word ' || i, NULL, 1e-5) FROM generate_series(1, 20000) AS i)),
	(11, 'grown', (SELECT bloom_agg('word ' || i, 100, NULL) FROM generate_series(1, 20000) AS i)),
	(12, 'large explicit', (SELECT bloom_add_all(f, ARRAY(SELECT 'word ' || i FROM generate_series(1, 1000) AS i))
							FROM (SELECT bloom_agg(1) AS f WHERE false) AS t)),
	(13, 'large classic', bloom_add_all(bloom_create_bits(1000000, 5), ARRAY(SELECT 'word ' || i FROM generate_series(1, 20000) AS i)));
ALTER TABLE filters ALTER f SET STORAGE extended;
INSERT INTO filters VALUES (14, 'compressed', bloom_add_all(bloom_create(50000), ARRAY['a', 'b']));

CREATE TABLE cuckoos (
	id int PRIMARY KEY, what text,
	f cuckoo DEFAULT cuckoo_add(cuckoo_create(10), 'default'));
INSERT INTO cuckoos (id, what) VALUES (1, 'default');
INSERT INTO cuckoos VALUES
	(2, 'null', NULL),
	(3, 'empty', (SELECT cuckoo_agg(1) WHERE false)),
	(4, 'small', cuckoo_add_all(cuckoo_create(100), ARRAY['a', 'b', 'a'])),
	(5, 'fixed and keyed', cuckoo_add_all(cuckoo_create(100, 1e-6, 0, -1), ARRAY['a', 'b'])),
	(6, 'without elements', cuckoo_create(100)),
	(7, 'emptied', cuckoo_remove(cuckoo_add(cuckoo_create(100), 'a'), 'a')),
	(8, 'saturated', cuckoo_add_all(cuckoo_create(100), array_fill('a'::text, ARRAY[10]))),
	(9, 'large', (SELECT cuckoo_agg('word ' || i) FROM generate_series(1, 100000) AS i)),
	(10, 'large, grown', (SELECT cuckoo_agg('word ' || i, 100, 0.001) FROM generate_series(1, 20000) AS i)),
	(11, 'grown and emptied', (SELECT cuckoo_remove_all(cuckoo_agg('word ' || i, 100, 0.001), array_agg('word ' || i) FILTER (WHERE i > 1000)) FROM generate_series(1, 20000) AS i));
ALTER TABLE cuckoos ALTER f SET STORAGE extended;
INSERT INTO cuckoos VALUES (12, 'compressed', cuckoo_add_all(cuckoo_create(50000), ARRAY['a', 'b']));
CREATE VIEW known_to_cuckoos AS SELECT what, cuckoo_count(f, 'a') AS count FROM cuckoos WHERE f @> 'a' OR 'b' <@ f;
CREATE MATERIALIZED VIEW cuckoo_summary AS SELECT cuckoo_union_agg(f) FILTER (WHERE id IN (4, 6)) AS f FROM cuckoos;
CREATE INDEX by_cuckoo ON cuckoos USING hash (f);

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (name text, f bloom);
CREATE DOMAIN filter_of_moods AS bloom CHECK (bloom_contains(VALUE, 'happy'::mood));
CREATE TABLE others (m filter_of_moods, a bloom[], p pair,
	g bloom GENERATED ALWAYS AS (bloom_add(bloom_create(10), (p).name)) STORED,
	CHECK (bloom_contains(bloom_add_all(bloom_create(10), ARRAY['x', 'y']), (p).name)));
INSERT INTO others (m, a, p)
SELECT bloom_agg(x), ARRAY[bloom_agg(1), NULL, bloom_agg('x'::text)], ROW('x', bloom_agg(ROW(x, 1)))::pair
FROM unnest(ARRAY['happy', 'ok']::mood[]) AS x;
CREATE MATERIALIZED VIEW summary AS
SELECT count(*) AS n, bloom_union_agg(f) FILTER (WHERE id IN (5, 8)) AS f FROM filters;
CREATE VIEW known AS SELECT what FROM filters WHERE f @> 'a' AND id <> 8;
CREATE INDEX by_filter ON filters USING hash (f);
CREATE TABLE parted (f bloom) PARTITION BY HASH (f);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT bloom_add(bloom_create(10), i) FROM generate_series(1, 20) AS i;

-- a membership index, and what asks it as docs/current.md says
CREATE TABLE list AS SELECT 'listed ' || i AS x FROM generate_series(1, 100) AS i;
CREATE INDEX list_x ON list USING membership (x);
CREATE TABLE checked (x text);
CREATE VIEW listed AS SELECT x FROM checked WHERE membership_contains('public.list_x'::text::regclass, x);
CREATE MATERIALIZED VIEW listed_then AS SELECT x FROM checked WHERE membership_contains('public.list_x'::text::regclass, x);
INSERT INTO checked VALUES ('listed 7'), ('other');
CREATE FUNCTION refuse_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF membership_contains('public.list_x', NEW.x) THEN
		RAISE 'listed: %', NEW.x;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER refuse_listed BEFORE INSERT ON checked FOR EACH ROW EXECUTE FUNCTION refuse_listed();
REINDEX INDEX CONCURRENTLY list_x;
REFRESH MATERIALIZED VIEW listed_then;

-- a type whose class for membership indexes is restored before its classes for btree and hash, by their names
CREATE TYPE number;
CREATE FUNCTION number_in(cstring) RETURNS number LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION number_out(number) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE number (INPUT = number_in, OUTPUT = number_out, LIKE = integer);
CREATE FUNCTION number_equal(number, number) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION number_hash(number, bigint) RETURNS bigint LANGUAGE internal IMMUTABLE STRICT AS 'hashint4extended';
CREATE FUNCTION number_hash(number) RETURNS integer LANGUAGE internal IMMUTABLE STRICT AS 'hashint4';
CREATE OPERATOR = (LEFTARG = number, RIGHTARG = number, FUNCTION = number_equal, COMMUTATOR = =, HASHES);
CREATE OPERATOR CLASS number_2 DEFAULT FOR TYPE number USING hash
	AS OPERATOR 1 =, FUNCTION 1 number_hash(number), FUNCTION 2 number_hash(number, bigint);
CREATE OPERATOR CLASS number_1 DEFAULT FOR TYPE number USING membership AS OPERATOR 1 =;
CREATE TABLE numbers AS SELECT n::text::number AS x FROM generate_series(1, 100) AS n;
CREATE INDEX numbers_x ON numbers USING membership (x);
};

# All bytes, and answers
my $look = q{
SELECT id, what, md5(f::bytea), f @> 'a', f @> 'word 1', f @> 'word -1', bloom_info(f) FROM filters ORDER BY id;
SELECT id, bool_and(f @> ('word ' || i)) FROM filters, generate_series(1, 1000) AS i
WHERE id BETWEEN 9 AND 13 GROUP BY id ORDER BY id;
SELECT md5(m::bytea), m @> 'happy'::mood, m @> 'sad'::mood, a[1] @> 1, a[2] IS NULL, a[3] @> 'x', md5((p).f::bytea), g @> 'x' FROM others;
SELECT n, md5(f::bytea), f @> 'b' FROM summary;
SELECT what FROM known ORDER BY what COLLATE "C";
SELECT tableoid::regclass, count(*), bool_or(f = bloom_add(bloom_create(10), 7)) FROM parted GROUP BY 1 ORDER BY 1;
SELECT id, what, md5(f::bytea), f @> 'a', cuckoo_count(f, 'a'), f @> 'word 1', f @> 'word -1', cuckoo_info(f) FROM cuckoos ORDER BY id;
SELECT id, bool_and(f @> ('word ' || i)) FROM cuckoos, generate_series(1, 1000) AS i WHERE id IN (9, 10, 11) GROUP BY id ORDER BY id;
SELECT what, count FROM known_to_cuckoos ORDER BY what COLLATE "C";
SELECT md5(f::bytea), cuckoo_count(f, 'a') FROM cuckoo_summary;
SELECT x, membership_check('list_x') FROM listed;
SELECT x FROM listed_then;
SELECT membership_check('numbers_x'), membership_contains('numbers_x', '7'::number), amvalidate(oid) FROM pg_opclass WHERE opcname = 'number_1';
SET enable_seqscan = off;
SELECT id FROM filters WHERE f = bloom_add(bloom_create(10), 'default');
SELECT id FROM cuckoos WHERE f = cuckoo_add(cuckoo_create(10), 'default');
};

sub look
{
	my ($database) = @_;
	return $node->safe_psql($database, $look);
}

# Dump a database in one format, restore it into a new one; return what it holds
sub restore
{
	my ($source, $target, $format, @options) = @_;
	my $file = "$dir/$target.dump";

	$node->command_ok(
		[ 'pg_dump', "--format=$format", "--file=$file", @options, $source ],
		"dump $source as $format @options");
	$node->safe_psql('postgres',
		"CREATE DATABASE $target TEMPLATE template0 ENCODING UTF8 LC_COLLATE 'C' LC_CTYPE 'C'");
	if ($format eq 'plain')
	{
		$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', "$dir/$target.out", '-f', $file, $target ],
			"restore $target");
	}
	else
	{
		$node->command_ok([ 'pg_restore', '--exit-on-error', "--dbname=$target", $file ],
			"restore $target");
	}
	return look($target);
}

$node->safe_psql('postgres',
	"CREATE DATABASE source TEMPLATE template0 ENCODING UTF8 LC_COLLATE 'C' LC_CTYPE 'C'");
$node->safe_psql('source', $fill);
my $held = look('source');
like($held, qr/^9\|large\|[0-9a-f]{32}\|f\|t\|f\|/m, 'filters are there');
like($held, qr/^4\|small\|[0-9a-f]{32}\|t\|2\|f\|f\|/m, 'cuckoo filters are there');
unlike($held, qr/^ERROR/m, 'no error');

is(restore('source', 'from_plain', 'plain'), $held, 'plain: the same');
is(restore('source', 'from_custom', 'custom'), $held, 'custom: the same');
is(restore('source', 'from_directory', 'directory', '--jobs=2'), $held, 'directory: the same');
is(restore('source', 'from_inserts', 'plain', '--inserts'), $held, 'INSERT commands: the same');
is(restore('from_plain', 'once_more', 'custom'), $held, 'dumped and restored again: the same');

# A restored filter works, as does one made after the restoration
is( $node->safe_psql('from_custom', q{
UPDATE filters SET f = bloom_add(f, 'later') WHERE what = 'large';
INSERT INTO filters (id) VALUES (100);
REFRESH MATERIALIZED VIEW summary;
SELECT (SELECT f @> 'later' AND f @> 'word 99999' FROM filters WHERE what = 'large'),
	(SELECT a.f = b.f FROM filters a, filters b WHERE a.id = 1 AND b.id = 100),
	(SELECT f @> 'a' FROM summary), (SELECT m @> 'ok'::mood FROM others)}),
	't|t|t|t', 'restored filters are used');
is( $node->safe_psql('from_custom', q{
UPDATE cuckoos SET f = cuckoo_replace(f, 'word 1', 'later') WHERE id IN (9, 10, 11);
INSERT INTO cuckoos (id) VALUES (100);
REFRESH MATERIALIZED VIEW cuckoo_summary;
SELECT (SELECT bool_and(f @> 'later' AND f @> 'word 999') FROM cuckoos WHERE id IN (9, 10, 11)),
	(SELECT bool_or(f @> 'word 1') FROM cuckoos WHERE id IN (10, 11)),
	(SELECT a.f = b.f FROM cuckoos a, cuckoos b WHERE a.id = 1 AND b.id = 100),
	(SELECT cuckoo_count(cuckoo_remove(f, 'a'), 'a') FROM cuckoo_summary),
	(SELECT bool_and(cuckoo_contains_all(cuckoo_compact(f), ARRAY(SELECT 'word ' || i FROM generate_series(2, 1000) AS i))) FROM cuckoos WHERE id IN (10, 11))}),
	't|f|t|1|t', 'restored cuckoo filters are used');

my (undef, undef, $refused) = $node->psql('from_custom', "INSERT INTO checked VALUES ('other'), ('listed 8')");
like($refused, qr/ERROR:  listed: listed 8/, 'a trigger asks the restored index');

# Databases of other encodings.  The same words have the same hashes, so a filter
# that was built in one is probed in the others.
my %text = (
	UTF8 => "E'caf\\u00e9'",
	LATIN1 => "convert_from('\\x636166e9', 'LATIN1')",
	# the encoding of these bytes is unknown; they are those of UTF-8
	SQL_ASCII => "E'caf\\xc3\\xa9'");
my $filter = $node->safe_psql('source',
	"SELECT bloom_agg(word) FROM unnest(ARRAY['plain', $text{UTF8}]) AS word");
foreach my $encoding (sort keys %text)
{
	my $database = 'in_' . lc($encoding);
	my $word = $text{$encoding};

	$node->safe_psql('postgres',
		"CREATE DATABASE $database TEMPLATE template0 ENCODING $encoding LC_COLLATE 'C' LC_CTYPE 'C'");
	$node->safe_psql($database, 'CREATE EXTENSION bloomfilter');
	is( $node->safe_psql($database, "SELECT bloom_hash($word)"),
		$node->safe_psql('source', "SELECT bloom_hash($text{UTF8})"),
		"$encoding: the hash of UTF-8");
	is( $node->safe_psql($database,
			"SELECT f @> 'plain', f @> $word, f @> ($word || 's') FROM (SELECT '$filter'::bloom AS f OFFSET 0) AS t"),
		't|t|f', "$encoding: finds what UTF-8 added");
	is( $node->safe_psql($database,
			"SELECT bloom_agg(word) FROM unnest(ARRAY['plain', $word]) AS word"),
		$filter, "$encoding: builds the same filter");
	is( $node->safe_psql($database, qq{
SELECT bloom_hash(ARRAY[w]) = bloom_hash(ARRAY[w::varchar]), bloom_hash(w::name) = bloom_hash(w), bloom_hash(w::char(20)) = bloom_hash(w)
FROM (SELECT $word AS w) AS t}), 't|t|t', "$encoding: types agree");
	is( $node->safe_psql($database, "SELECT bloom_hash(ARRAY[$word]), bloom_hash(jsonb_build_object($word, $word, 'z', 1))"),
		$node->safe_psql('source', "SELECT bloom_hash(ARRAY[$text{UTF8}]), bloom_hash(jsonb_build_object($text{UTF8}, $text{UTF8}, 'z', 1))"),
		"$encoding: in arrays and jsonb");
}

# A dump moves between them
$node->safe_psql('in_latin1', "CREATE TABLE t AS SELECT bloom_agg(word) AS f FROM unnest(ARRAY['plain', $text{LATIN1}]) AS word");
$node->command_ok([ 'pg_dump', '--format=custom', "--file=$dir/latin1.dump", '--table=t', 'in_latin1' ], 'dump of LATIN1');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname=in_utf8', "$dir/latin1.dump" ], 'restored in UTF8');
is($node->safe_psql('in_utf8', "SELECT f @> $text{UTF8}, f::text = '$filter' FROM t"), 't|t', 'finds what LATIN1 added');

$node->stop;
done_testing();
