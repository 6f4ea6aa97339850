# membership_check() evaluates an index's expressions as the owner of the table.  No
# caller can substitute a function for theirs.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Server;
use Session;
use Test::More;

my $node = start_server('rights');
$node->safe_psql('postgres', q{
	CREATE ROLE ann LOGIN;
	CREATE ROLE eve LOGIN;
	CREATE SCHEMA ann AUTHORIZATION ann;
	CREATE SCHEMA eve AUTHORIZATION eve;
	GRANT USAGE ON SCHEMA ann TO eve;
});

my $ann = Session->new($node, 'ann');
is( $ann->query(q{
	SET search_path = ann, public;
	CREATE TABLE secret (x int);
	INSERT INTO secret VALUES (42);
	-- neither is safe, but they are the owner's: their bodies name other functions
	-- without a schema
	CREATE FUNCTION fold(t text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT lower(t) $$;
	CREATE FUNCTION key(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN fold(t); END $$;
	CREATE FUNCTION wanted(t text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN fold(t) <> 'no'; END $$;
	CREATE FUNCTION key_safe(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE SET search_path = ann, pg_temp AS $$ BEGIN RETURN fold(t); END $$;
	CREATE TABLE kept (t text);
	CREATE INDEX kept_key ON kept USING membership ((ann.key(t)));
	CREATE INDEX kept_wanted ON kept USING membership (t) WHERE ann.wanted(t);
	CREATE INDEX kept_safe ON kept USING membership ((ann.key_safe(t)));
	CREATE INDEX kept_plain ON kept USING membership (t);
	-- where an index is made, 17 and later would not find the functions either
	INSERT INTO kept VALUES ('A'), ('B');
	GRANT SELECT ON kept TO eve}),
	'', 'a table with indexes of expressions');
$ann->quit;

my $eve = Session->new($node, 'eve');
is( $eve->query(q{
	SET search_path = eve, ann, public;
	GRANT USAGE ON SCHEMA eve TO PUBLIC;
	CREATE FUNCTION eve.fold(t text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		RAISE WARNING 'runs as %', current_user;
		GRANT SELECT ON ann.secret TO eve;
		RETURN lower(t);
	END $$}),
	'', 'somebody has a function of the same name');
foreach my $index (qw(kept_key kept_wanted))
{
	unlike($eve->query("SELECT membership_check('ann.$index')"), qr/runs as/, "$index: which does not run");
}
is($node->safe_psql('postgres', "SELECT has_table_privilege('eve', 'ann.secret', 'SELECT')"), 'f', 'and gives no rights');
is($eve->query("SELECT membership_check('ann.kept_safe'), membership_check('ann.kept_plain')"), '2|2', 'indexes that need no search_path are checked');
is($eve->query('SHOW search_path'), 'eve, ann, public', 'and it is unchanged afterwards');

# nor by other functions on the index, which evaluate none
unlike($eve->query("SELECT membership_contains('ann.$_', 'a'), membership_filter('ann.$_') IS NULL, count(*) FROM membership_info('ann.$_')"), qr/runs as/, "$_ is queried")
  foreach qw(kept_key kept_wanted);
is($node->safe_psql('postgres', "SELECT has_table_privilege('eve', 'ann.secret', 'SELECT')"), 'f', 'which gives no rights either');

# also where an error comes from the owner's function
like($eve->query("SET search_path = public; SELECT membership_check('ann.kept_key')"), qr/^ERROR:  42883: function fold\(text\) does not exist/, 'a function that is not found');
is($eve->query('SHOW search_path; SELECT current_user'), "public\neve", 'leaves the session as it was');

$eve->quit;
$node->stop;
done_testing();
