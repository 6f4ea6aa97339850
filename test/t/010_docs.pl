# What README.md and docs/ show is what happens: every example is run, and
# every function that the extension has is described.
#
# A block that begins with ```sql is given to psql, all blocks of a file in
# their order and in a database of the file's own.  A block without a name, or
# ```text, that follows directly is what psql must print, errors included; if
# there is none, psql must print no error.  A block ```sql no-run is not run.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = abs_path(dirname(__FILE__) . '/../..');

sub read_text
{
	my ($name) = @_;
	open(my $file, '<', "$root/$name") or die "$name: $!";
	local $/;
	return scalar <$file>;
}

# The fenced blocks of a page: what follows the three backquotes, the number
# of that line, the content, and whether only blank lines lie between it and
# the block before.
sub blocks
{
	my ($text) = @_;
	my ($block, @blocks);
	my $number = 0;
	my $follows = 0;

	foreach my $line (split /\n/, $text)
	{
		$number++;
		if ($line =~ /^```\s*(.*?)\s*$/)
		{
			if (defined $block)
			{
				push @blocks, $block;
				undef $block;
				$follows = 1;
			}
			else
			{
				$block = {
					name => $1, line => $number,
					text => '', follows => $follows
				};
			}
		}
		elsif (defined $block)
		{
			$block->{text} .= "$line\n";
		}
		elsif ($line =~ /\S/)
		{
			$follows = 0;
		}
	}
	die "a block is not closed" if defined $block;
	return @blocks;
}

# Without blanks at the ends of lines, and blank lines at either end
sub trimmed
{
	my ($text) = @_;
	$text =~ s/[ \t]+$//mg;
	$text =~ s/^\n+//;
	$text =~ s/\n+$//;
	return $text;
}

# What psql prints for each of these, on both of its outputs
sub psql_outputs
{
	my ($node, $database, @blocks) = @_;
	my $output = '';
	# each begins with a session of its own
	my $sql = join "\\x off\n\\connect $database\n\\echo a block ends\n", @blocks;

	IPC::Run::run(
		[ 'psql', '-X', '-q', '-d', $node->connstr($database) ],
		'<', \$sql, '>&', \$output);
	return split /^a block ends\n/m, $output, -1;
}

sub run_page
{
	my ($node, $page) = @_;
	my @blocks = blocks(read_text($page));
	my $database = lc($page) =~ s/[^a-z]+/_/gr;
	my @run = grep { $blocks[$_]{name} eq 'sql' } 0 .. $#blocks;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION bloomfilter');
	my @outputs = psql_outputs($node, $database, map { $blocks[$_]{text} } @run);
	for my $i (@run)
	{
		my $next = $blocks[ $i + 1 ];
		my $output = trimmed(shift @outputs);

		if ($next && $next->{follows} && $next->{name} =~ /^(text)?$/)
		{
			is($output, trimmed($next->{text}),
				"$page, line $blocks[$i]{line}");
		}
		else
		{
			unlike($output, qr/^(ERROR|FATAL|PANIC):/m,
				"$page, line $blocks[$i]{line}");
		}
	}
	cmp_ok(scalar(@run), '>', 0, "$page has examples");
}

# Each link within the repository leads to a file, and to a heading of it.
sub check_links
{
	my ($page) = @_;
	my $text = read_text($page);
	my @broken;

	$text =~ s/^```.*?^```//msg;
	while ($text =~ /\]\(([^)\s]+)\)/g)
	{
		my ($file, $heading) = split /#/, $1, 2;
		next if $file =~ /^[a-z]+:/;
		my $target = $file eq '' ? $page : dirname($page) . "/$file";
		if (!-e "$root/$target")
		{
			push @broken, $file;
		}
		elsif (defined $heading)
		{
			# as GitHub names them
			my %headings = map { s/[^\w\- ]//gr =~ s/ /-/gr => 1 }
			  map { lc } read_text($target) =~ /^#+ +(.*?) *$/mg;
			push @broken, "$file#$heading" unless $headings{$heading};
		}
	}
	is(join(' ', @broken), '', "links of $page");
}

my @pages = ('README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'MAINTAINERS.md', 'SECURITY.md', 'test/README.md',
	map { substr($_, length("$root/")) }
	  sort(map { glob("$root/$_") } 'docs/*.md', 'docs/*/*.md', 'examples/*.md', 'src/*/README.md', 'src/*/*/README.md'));
my @reference = grep { m{^docs/reference/} } @pages;

my $node = PostgreSQL::Test::Cluster->new('docs');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
# Estimates by a usual sample count the false positives among a hundred values, of which now
# and then are so many that a plan changes
$node->append_conf('postgresql.conf', "timezone = 'UTC'\nautovacuum = off\ndefault_statistics_target = 1000");
$node->start;

foreach my $page (@pages)
{
	check_links($page);
	run_page($node, $page) if read_text($page) =~ /^```sql$/m;
}

# The reference names each function that a user calls.
my @functions = split /\n/, $node->safe_psql('readme_md', q{
	SELECT DISTINCT proname
	FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
	WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
		AND d.refobjid = (SELECT oid FROM pg_extension
						  WHERE extname = 'bloomfilter')
		-- an underscore begins the names of those that only the server calls
		AND proname !~ '^_'
	ORDER BY 1});
cmp_ok(scalar(@functions), '>', 15, 'the extension has functions');
my $described = join("\n", map { read_text($_) } @reference);
is(join(' ', grep { $described !~ /\b$_\b/ } @functions),
	'', 'functions that the reference does not mention');
# its first page has all of them in tables
my $listed = join("\n", grep { /^\|/ } split /\n/, read_text('docs/reference.md'));
is(join(' ', grep { $listed !~ /\b$_\b/ } @functions),
	'', 'functions that the tables of docs/reference.md do not mention');

# META.json is JSON, and all versions agree.
my $meta = decode_json(read_text('META.json'));
my ($version) = read_text('bloomfilter.control') =~ /default_version = '(.*)'/;
like($meta->{version}, qr/^\Q$version\E\.\d+$/, 'version in META.json');
is($meta->{provides}{bloomfilter}{version},
	$meta->{version}, 'version of what META.json provides');
ok(-e "$root/$meta->{provides}{bloomfilter}{file}",
	'file that META.json provides');
like(read_text('CHANGELOG.md'), qr/^## \Q$version\E/m, 'CHANGELOG.md');

done_testing();
