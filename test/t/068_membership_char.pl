# Blanks at the end of a char(n) don't count: an index of such a column compares
# elements of any type of text as char(n) does.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

# for collations of ICU, which not every encoding has
my $node = start_server('char', init => [ extra => [ '--encoding=UTF8', '--locale=C' ] ]);
my $session = Session->new($node);

is( $session->query(q{
	CREATE DOMAIN code AS char(5);
	CREATE TABLE kept (c char(5), n int, t text, d code, a char(5)[], da code[]);
	CREATE INDEX kept_c ON kept USING membership (c);
	CREATE INDEX kept_cn ON kept USING membership (c, n);
	CREATE INDEX kept_t ON kept USING membership (t);
	CREATE INDEX kept_d ON kept USING membership (d);
	CREATE INDEX kept_a ON kept USING membership (a);
	INSERT INTO kept VALUES ('ab', 1, 'ab', 'ab', '{ab,c}', '{ab,c}')}),
	'', 'a table');

# What "=" says in the table, too, where the same can be queried
my @texts = ("'ab   '::text", "'ab'::text", "'ab '::varchar", "'ab   '::varchar(5)", "'ab'::char(2)", "'ab'::char(5)", "'ab'::char(9)", "'ab'", "'ab   '", "'ab'::code", "'ab'::name");

foreach my $text (@texts)
{
	is($session->query("SELECT membership_contains('kept_c'::regclass, $text)"), 't', "char(5): $text");
	is($session->query("SELECT membership_contains('kept_d'::regclass, $text)"), 't', "a domain over it: $text");
	is($session->query("SELECT membership_contains_each('kept_c'::regclass, ARRAY[$text])"), '{t}', "char(5), in an array: $text");
	is($session->query("SELECT membership_contains('kept_cn'::regclass, ROW($text, 1))"), 't', "char(5) and int: $text");
}
is($session->query("SELECT membership_contains_all('kept_c'::regclass, ARRAY['ab   ', 'ab', 'ab ']::text[]), membership_contains_any('kept_c'::regclass, ARRAY['ab   ']::varchar[])"), 't|t', 'all and any of an array');
is($session->query("SELECT membership_contains_each('kept_cn'::regclass, ARRAY[ROW('ab   '::text, 1), ROW('ab', 1)])"), '{t,t}', 'an array of rows');
is($session->query("SELECT bool_and(membership_contains('kept_c'::regclass, c)), bool_and(membership_contains('kept_c'::regclass, c::text)), bool_and(membership_contains('kept_c'::regclass, c::char(9)::varchar)) FROM kept"), 't|t|t', 'the column itself');
is($session->query("PREPARE probe(text) AS SELECT membership_contains('kept_c'::regclass, \$1); EXECUTE probe('ab   ')"), 't', 'a parameter');

# other values as before
is($session->query("SELECT membership_contains_each('kept_c'::regclass, ARRAY['abc', 'a', '', '     ', ' ab', 'ab  x']::text[])"), '{f,f,f,f,f,f}', 'other values');
is($session->query("INSERT INTO kept (c) VALUES (''); SELECT membership_contains_each('kept_c'::regclass, ARRAY['', '  ', 'x']::text[])"), '{t,t,f}', 'blanks alone');
# only blanks
is($session->query("SELECT membership_contains('kept_c'::regclass, E'ab\\t'::text)"), 'f', 'a tab is no blank');

# arrays of them are elements, too
foreach my $array ("ARRAY['ab   ', 'c ']::text[]", "ARRAY['ab', 'c']::text[]", "ARRAY['ab', 'c']::varchar[]", "ARRAY['ab', 'c']::char(2)[]", "ARRAY['ab', 'c']::code[]", "'{ab,c}'::char(5)[]")
{
	is($session->query("SELECT membership_contains('kept_a'::regclass, $array)"), 't', "char(5)[]: $array");
}
is($session->query("SELECT membership_contains('kept_a'::regclass, ARRAY['ab', 'd']::text[])"), 'f', 'another array');

# An index of text has other elements: "=" compares a char(n) with text as text, without
# its blanks
is($session->query("SELECT membership_contains('kept_t'::regclass, 'ab'::char(5)), (SELECT count(*) FROM kept WHERE t = 'ab'::char(5))"), 't|1', 'text: a char(5)');
is($session->query("SELECT membership_contains('kept_t'::regclass, 'ab   '::text), (SELECT count(*) FROM kept WHERE t = 'ab   '::text)"), 'f|0', 'text: blanks count');
is($session->query("SELECT membership_contains_each('kept_t'::regclass, ARRAY['ab', 'x']::char(5)[])"), '{t,f}', 'text: an array of char(5)');
is($session->query("SELECT membership_contains('kept_t'::regclass, 'ab'::code)"), 't', 'text: the domain');

# Text is compared by the collation of the index's column, also within a row, whatever
# collation it comes with
SKIP:
{
	skip 'no ICU here', 3
	  if $session->query("SELECT count(*) FROM pg_collation WHERE collprovider = 'i'") eq '0';
	is( $session->query(q{
		CREATE COLLATION strength1 (PROVIDER = icu, LOCALE = 'und-u-ks-level1', DETERMINISTIC = false);
		CREATE COLLATION strength2 (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
		CREATE TABLE strengths (t text COLLATE strength1, n int);
		CREATE INDEX strengths_tn ON strengths USING membership (t, n);
		INSERT INTO strengths VALUES ('abc', 1);
		CREATE TABLE probes (t text COLLATE strength2, n int);
		INSERT INTO probes VALUES ('Abc', 1)}),
		'', 'nondeterministic collations');
	is($session->query("SELECT membership_contains('strengths_tn', ROW(t, n)), membership_contains('strengths_tn', probes) FROM probes"), 't|t', 'a row of another collation');
	is($session->query("SELECT membership_contains('strengths_tn', ROW('ABC', 1)), membership_contains('strengths_tn', ROW('abd', 1))"), 't|f', 'a row of literals');
}

# An index of text by the class of char(n) compares as that does
is( $session->query(q{
	CREATE TABLE cut (t text, v varchar, n int);
	CREATE INDEX cut_t ON cut USING membership (t bpchar_ops);
	CREATE INDEX cut_vn ON cut USING membership (v bpchar_ops, n);
	INSERT INTO cut VALUES ('ab ', 'ab ', 1);
	SET enable_seqscan = off}),
	'', 'text by the class of char(n)');
foreach my $text (@texts)
{
	is($session->query("SELECT membership_contains('cut_t'::regclass, $text), membership_contains('cut_vn'::regclass, ROW($text, 1))"), 't|t', "text as char(n): $text");
}
is($session->query("SELECT (SELECT count(*) FROM cut WHERE t::bpchar = 'ab'), (SELECT count(*) FROM cut WHERE v::bpchar = 'ab' AND n = 1)"), '1|1', 'scans of such indexes');
is($session->query("EXPLAIN (COSTS off) SELECT FROM cut WHERE v::bpchar = 'ab' AND n = 1") =~ /on cut_vn/, 1, 'which use them');
is($session->query("SELECT membership_contains('cut_t'::regclass, 'abc'), membership_contains('cut_vn'::regclass, ROW(' ab'::text, 1)); RESET enable_seqscan"), 'f|f', 'and not others');

# The planner's own scans
foreach my $text (@texts)
{
	is($session->query("SET enable_seqscan = off; SELECT n FROM kept WHERE c = $text"), $session->query("SET enable_seqscan = on; SET enable_bitmapscan = off; SELECT n FROM kept WHERE c = $text; RESET ALL"), "a scan: $text");
}

$session->quit;
$node->stop;
done_testing();
