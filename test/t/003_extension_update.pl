# ALTER EXTENSION ... UPDATE: filters stay what they are, and the extension is what
# CREATE EXTENSION would make of the new version.  Walks every update from
# one version to the default one; and, to test the walk itself, a made-up one, and one
# that leaves something out.
use strict;
use warnings;

use File::Copy;
use File::Path qw(make_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# ----------------------------------------------------------------
# A copy of the extension's files, where versions can be made up
# ----------------------------------------------------------------

sub setting
{
	my ($name) = @_;
	return $node->safe_psql('postgres',
		"SELECT setting FROM pg_settings WHERE name = '$name'");
}

my $sharedir = $node->config_data('--sharedir');
my $pkglibdir = $node->config_data('--pkglibdir');
my $copy = $node->basedir . '/copy';
my $search = setting('extension_control_path');
my $destdir = setting('extension_destdir');
my $known = $node->safe_psql('postgres',
	q{SELECT name FROM pg_settings WHERE name IN ('extension_control_path', 'extension_destdir') ORDER BY name LIMIT 1});
my @places = ($sharedir);

if ($known eq 'extension_control_path')
{
	# PostgreSQL 18 and later
	@places = map { s/^\$system$/$sharedir/r } split(/:/, $search);
	$node->append_conf('postgresql.conf',
		"extension_control_path = '$copy$sharedir:$search'");
}
elsif ($known eq 'extension_destdir')
{
	# Debian's 17 and earlier
	unshift @places, "$destdir$sharedir";
	$node->append_conf('postgresql.conf', "extension_destdir = '$copy'");
	make_path("$copy$pkglibdir");
	foreach my $library ("$destdir$pkglibdir/bloomfilter.so", "$pkglibdir/bloomfilter.so")
	{
		copy($library, "$copy$pkglibdir") && last if -e $library;
	}
}
else
{
	plan skip_all => 'this server reads extensions from one directory only';
}

my ($place) = grep { -e "$_/extension/bloomfilter.control" } @places;
my $scripts = "$copy$sharedir/extension";
make_path($scripts);
copy($_, $scripts) || die "$_: $!" foreach glob("'$place/extension/bloomfilter'*");
$node->restart;

sub write_script
{
	my ($versions, $text) = @_;
	append_to_file("$scripts/bloomfilter--$versions.sql", $text);
	return;
}

my ($default) = slurp_file("$scripts/bloomfilter.control") =~ /^default_version = '(.*)'/m;
my ($first) = map { /bloomfilter--((?:(?!--).)+)\.sql$/ } sort glob("'$scripts'/*.sql");
my $install = slurp_file("$scripts/bloomfilter--$first.sql");
my $update = q{
CREATE FUNCTION bloom_elements(bloom) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomfilter_cardinality'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE OR REPLACE FUNCTION bloom_cardinality(filter bloom) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomfilter_cardinality'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION bloom_cardinality(bloom) IS 'another comment';
};

write_script("$first--changed", $update);
write_script('changed', $install . $update);
# What an update may omit: to repeat what CREATE OR REPLACE takes away, and a
# comment
write_script("$first--incomplete", $update =~ s/ COST 20//r);
write_script('incomplete', $install . $update);
write_script("$first--silent", $update =~ s/COMMENT.*//r);
write_script('silent', $install . $update);

# ----------------------------------------------------------------
# The walk
# ----------------------------------------------------------------

my $fill = q{
CREATE TABLE filters (
	id int PRIMARY KEY, b bloom DEFAULT bloom_add(bloom_create(10), 'default'),
	c cuckoo CHECK (c @> 'default' OR id < 10) DEFAULT cuckoo_add(cuckoo_create(10), 'default'));
CREATE INDEX by_bloom ON filters USING hash (b);
CREATE INDEX by_cuckoo ON filters USING hash (c);
INSERT INTO filters SELECT n, bloom_agg('word ' || i, 10, NULL), cuckoo_agg('word ' || i, 10, NULL)
FROM generate_series(1, 4) AS n, generate_series(1, (10 ^ n)::int) AS i GROUP BY n;
INSERT INTO filters (id) VALUES (10);
CREATE VIEW known AS SELECT id FROM filters WHERE b @> 'word 20' AND 'word 20' <@ c;
CREATE TABLE others AS
	SELECT bloom_add_all(bloom_create(100, counting => true), '{1, 2, 2}'::int[]) AS counting,
		bloom_add(bloom_create_foreign('guava', 'int8', 10), 7::bigint) AS imported;
CREATE TABLE list (n int);
CREATE INDEX by_membership ON list USING membership (n) WITH (error_rate = 0.001);
INSERT INTO list SELECT generate_series(1, 1000);
CREATE INDEX pairs ON list USING membership (n, (n::text)) WHERE n % 2 = 0;
CREATE FUNCTION in_list(wanted int) RETURNS boolean STABLE
	RETURN membership_contains('by_membership', wanted);
};
my $look = q{
SELECT id, md5(b::bytea), md5(c::bytea), bloom_info(b), cuckoo_info(c) FROM filters ORDER BY id;
SELECT id, md5(string_agg((b @> ('word ' || i))::text || (c @> ('word ' || i)), '' ORDER BY i))
FROM filters, generate_series(1, 2000) AS i GROUP BY id ORDER BY id;
SELECT id FROM known ORDER BY id;
SET enable_seqscan = off;
SELECT id FROM filters WHERE b = bloom_add(bloom_create(10), 'default');
SELECT id FROM filters WHERE c = cuckoo_add(cuckoo_create(10), 'default');
SELECT bloom_count(counting, 2), bloom_count(bloom_remove(counting, 2), 2), md5(bloom_export(imported, 'guava')) FROM others;
SELECT membership_check(i), md5(membership_filter(i)::bytea), elements
FROM unnest('{by_membership, pairs}'::regclass[]) AS i, membership_info(i);
SELECT in_list(1000), in_list(-1), membership_contains('pairs', ROW(8, '8')), membership_contains('pairs', ROW(7, '7'));
SELECT * FROM list WHERE n = 700;
};
# An index goes on as before, and so does what the old version has defined
my $go_on = q{
INSERT INTO list SELECT generate_series(1001, 2000);
SELECT in_list(2000), membership_check('by_membership'), membership_check('pairs');
REINDEX TABLE list;
SELECT membership_check('by_membership');
};
my $gone_on = "t|2000|1000\n2000";

# What the extension consists of, each with its definition, comment and
# privileges, as pg_upgrade would make them again
sub definitions
{
	my ($database) = @_;
	my ($dump) = run_command(
		[ 'pg_dump', '--binary-upgrade', '--schema-only', '-d', $node->connstr($database) ]);

	$dump =~ s/^(--.*|\\(un)?restrict .*|SELECT pg_catalog\.binary_upgrade_set_.*)?\n//mg;
	return join("\n", sort split(/(?<=;)\n/, $dump));
}

# Update from one version to another; return what the extension is then, and what
# it is where it is made afresh.
sub walk
{
	my ($from, $to) = @_;
	my ($updated, $fresh) = map { s/\W/_/gr } ("from_${from}_to_$to", "fresh_$to");

	$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE template0")
	  foreach $updated, $fresh;
	$node->safe_psql($fresh, "CREATE EXTENSION bloomfilter VERSION '$to'");
	$node->safe_psql($updated, "CREATE EXTENSION bloomfilter VERSION '$from'");
	$node->safe_psql($updated, $fill);
	my $held = $node->safe_psql($updated, $look);
	like($held, qr/^4\|[0-9a-f]{32}\|[0-9a-f]{32}\|/m, "$from: filters are there");
	$node->safe_psql($updated, "ALTER EXTENSION bloomfilter UPDATE TO '$to'");
	is($node->safe_psql($updated, $look), $held, "$from to $to: filters and indexes stay");
	is($node->safe_psql($updated, $go_on), $gone_on, "$from to $to: indexes take rows");
	$node->safe_psql($updated, 'DROP FUNCTION in_list; DROP TABLE filters, others, list CASCADE');
	return (definitions($updated), definitions($fresh));
}

my @updates = split /\n/, $node->safe_psql('postgres', qq{
SELECT source FROM pg_extension_update_paths('bloomfilter')
WHERE target = '$default' AND path IS NOT NULL ORDER BY 1});
foreach my $from (@updates)
{
	my ($updated, $fresh) = walk($from, $default);
	is($updated, $fresh, "$from to $default: as made afresh");
}
note 'updates to the default version: ' . (@updates ? "@updates" : 'none');

my ($updated, $fresh) = walk($first, 'changed');
is($updated, $fresh, 'as made afresh');
my @named = (qr/^CREATE TYPE public\.bloom /m, qr/^CREATE OPERATOR public\.@> /m,
	qr/^CREATE AGGREGATE public\.cuckoo_agg\(/m, qr/^CREATE CAST \(bytea AS public\.bloom\)/m,
	qr/^CREATE OPERATOR CLASS public\.bloom_ops/m, qr/^CREATE FUNCTION public\.bloom_elements\(/m,
	qr/^COMMENT ON OPERATOR public\.=/m, qr/^ALTER EXTENSION bloomfilter ADD FUNCTION public\.bloom_elements\(/m);
like($updated, $_, 'what is compared') foreach @named;
foreach my $version ('incomplete', 'silent')
{
	($updated, $fresh) = walk($first, $version);
	isnt($updated, $fresh, "a $version update is noticed");
}

$node->stop;
done_testing();
