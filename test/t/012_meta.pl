# META.json conforms to PGXN's specification 1.0.0 and names files that exist; the
# version of this extension and its date are the same everywhere; and its contacts are
# made up nowhere: there are none before MAINTAINERS.md has them, and then everywhere.
use strict;
use warnings;

use Cwd qw(abs_path);
use Digest::SHA;
use File::Basename;
use JSON::PP;
use Test::More;
use Time::Piece;

my $root = abs_path(dirname(__FILE__) . '/../..');

# "X.Y.Z", each without leading zeros, and perhaps "-word"
my $number = qr/(?:0|[1-9][0-9]*)/;
my $version = qr/$number\.$number\.$number(?:-?[A-Za-z][0-9A-Za-z-]*)?/;

# A name of a distribution or an extension, and a tag
my $term = qr/[^\s\/\\\p{Cntrl}]{2,}/;
my $tag = qr/[^\/\\\p{Cntrl}]{1,255}/;

my %licenses = map { $_ => 1 } qw(agpl_3 apache_1_1 apache_2_0 artistic_1
  artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3 gpl_1 gpl_2 gpl_3 lgpl_2_1 lgpl_3_0
  mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib
  open_source restricted unrestricted unknown);

my %known = map { $_ => 1 } qw(abstract description generated_by license
  maintainer meta-spec name no_index prereqs provides release_status resources
  tags version);

sub read_text
{
	my ($name) = @_;
	open(my $file, '<:encoding(UTF-8)', "$root/$name") or die "$name: $!";
	local $/;
	return scalar <$file>;
}

# The first group of a pattern in a file
sub found_in
{
	my ($name, $pattern) = @_;
	return read_text($name) =~ $pattern ? $1 : "nothing in $name";
}

# One or more strings, none of them empty
sub strings
{
	my ($value) = @_;
	my @values = ref $value eq 'ARRAY' ? @$value : ($value);
	return @values > 0
	  && !grep { !defined || ref || !/\S/ } @values;
}

my $meta = decode_json(read_text('META.json'));

# What must be there
ok(strings($meta->{abstract}) && !ref $meta->{abstract}, 'abstract');
ok(strings($meta->{maintainer}), 'maintainer');
ok(strings($meta->{license}), 'license');
my @licenses = ref $meta->{license} ? @{ $meta->{license} } : $meta->{license};
is_deeply([ grep { !$licenses{$_} } @licenses ],
	[], 'no license that PGXN does not know');
like($meta->{name}, qr/^$term$/, 'name');
like($meta->{version}, qr/^$version$/, 'version is a semantic one');
is($meta->{'meta-spec'}{version}, '1.0.0', 'version of the specification');

# What may be there
is_deeply([ grep { !$known{$_} && !/^x_/i } sort keys %$meta ],
	[], 'no field that the specification does not know');
like($meta->{release_status}, qr/^(?:stable|testing|unstable)$/,
	'release status');
is_deeply([ grep { !/^$tag$/ } @{ $meta->{tags} } ], [], 'tags');
ok(strings($meta->{description}), 'description');

foreach my $phase (sort keys %{ $meta->{prereqs} })
{
	my $relations = $meta->{prereqs}{$phase};

	like($phase, qr/^(?:configure|build|test|runtime|develop)$/,
		"phase $phase of prereqs");
	foreach my $relation (sort keys %$relations)
	{
		my $wanted = $relations->{$relation};

		like($relation, qr/^(?:requires|recommends|suggests|conflicts)$/,
			"prereqs that $phase $relation");
		is_deeply([ grep { !/^$term$/ } sort keys %$wanted ],
			[], "names of what $phase $relation");
		is_deeply(
			[ grep { !/^(?:0|(?:[<>=!]{1,2}\s*)?$version)$/ } values %$wanted ],
			[],
			"versions of what $phase $relation");
	}
}

# Extensions, each by its file
is_deeply([ keys %{ $meta->{provides} } ],
	['bloomfilter'], 'provides this extension alone');
my $extension = $meta->{provides}{bloomfilter};
ok(strings($extension->{abstract}), "the extension's abstract");
foreach my $field (qw(file docfile))
{
	ok( defined $extension->{$field} && -s "$root/$extension->{$field}",
		"the extension's $field is there");
}

# The versions.  Archives have three numbers, the extension's SQL two: what is
# mended in C alone changes only the third.
my $sql_version = found_in('bloomfilter.control',
	qr/^default_version\s*=\s*'([0-9]+\.[0-9]+)'$/m);
like($meta->{version}, qr/^\Q$sql_version\E\.[0-9]+$/,
	"META.json's version begins with default_version");
is($extension->{version}, $meta->{version}, "the extension's version");
# CREATE EXTENSION begins with the script of the version itself or, where there is none, of
# the first version, from which scripts lead to it
my ($begins_with) = grep { -e "$root/$_" } "sql/bloomfilter--$sql_version.sql", 'sql/bloomfilter--1.0.sql';
is($extension->{file}, $begins_with, "the extension's file is that with which CREATE EXTENSION begins");
ok( $begins_with =~ /--\Q$sql_version\E\.sql$/ || glob("'$root/sql/bloomfilter'--*--$sql_version.sql"),
	'a script leads to default_version');
# Databases have what it made: later objects come by scripts from version to version
is(Digest::SHA->new(256)->addfile("$root/sql/bloomfilter--1.0.sql")->hexdigest,
	'276c8e91ec0167f95d7e5513286ff757602472d6c0264716c99c2a4140413551',
	'the script of 1.0 does not change');
is(found_in('CHANGELOG.md', qr/^## ([0-9.]+)/m),
	$sql_version, "CHANGELOG.md's newest version");
is( found_in('debian/changelog', qr/^\S+ \(([^)]+)-[0-9]+\)/),
	$meta->{version},
	"debian/changelog's newest version");
is(found_in('packaging/bloomfilter.spec', qr/^Version:\s+(\S+)$/m),
	$meta->{version}, "the RPM spec's version");

# The contacts
my $named = read_text('MAINTAINERS.md') !~ /to be filled in/;
my $url = qr{^[a-z][a-z0-9+.-]*://[^\s<>"]+$};
my %resource_of = (
	homepage => { '' => $url },
	bugtracker => { web => $url, mailto => qr/^[^\s@]+@[^\s@]+$/ },
	repository => { url => $url, web => $url, type => qr/^[a-z]+$/ });

# The names of those that do not conform
sub faults_of_resources
{
	my ($resources) = @_;
	my @faults;

	foreach my $name (grep { !/^x_/i } sort keys %$resources)
	{
		my $value = $resources->{$name};
		my $known = $resource_of{$name} // {};
		my %fields = ref $value ? %$value : ('' => $value);

		push @faults, $name
		  if !%fields || grep { $fields{$_} !~ ($known->{$_} // qr/(?!)/) } keys %fields;
	}
	return @faults;
}

is_deeply(
	[ faults_of_resources(
		{ homepage => 'https://x.org/y', bugtracker => { mailto => 'a@x.org' },
			repository => { url => 'git://x.org/y.git', type => 'git' }, x_chat => 'z' }) ],
	[], 'resources that conform');
is_deeply(
	[ faults_of_resources(
		{ homepage => 'x.org', bugtracker => { web => 'https://x.org', mail => 'a@x.org' },
			repository => {}, wiki => 'https://x.org' }) ],
	[ 'bugtracker', 'homepage', 'repository', 'wiki' ], 'resources that do not');
is_deeply([ faults_of_resources($meta->{resources}) ], [], 'resources');
is_deeply([ grep { !/^x_/i } sort keys %{ $meta->{resources} } ], [ sort keys %resource_of ], 'all resources');
foreach my $name ('META.json', 'debian/control.in', 'debian/control', 'debian/changelog')
{
	is(read_text($name) !~ /example\.org/, $named, "$name has a true address once MAINTAINERS.md has it");
}
is(read_text('packaging/bloomfilter.spec') =~ /^URL:/m ? 1 : '', $named, 'the RPM spec has an URL then');

# The date, as Debian and as the changelog write it
my $date = found_in('debian/changelog', qr/^ -- .*>  \w{3}, ([0-9]+ \w{3} [0-9]{4}) /m);
is( found_in('CHANGELOG.md', qr/^## [0-9.]+ \(([^)]+)\)/m),
	Time::Piece->strptime($date, '%d %b %Y')->ymd,
	"the newest version's date is that of debian/changelog");

done_testing();
