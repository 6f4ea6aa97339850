# The programs in docs/clients.md print what the page says.  Each is run if its driver is
# installed, and skipped otherwise.
#
# A block of code has the name of its language, and of the driver; the block that follows
# is its output.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $page = abs_path(dirname(__FILE__) . '/../../docs/clients.md');
# Debian's, whatever else is in PATH
my $python = '/usr/bin/python3';
my $jdbc = '/usr/share/java/postgresql.jar';
my $dir = PostgreSQL::Test::Utils::tempdir('clients');

# Of each driver: what provides it, how to try whether it is there, the name of the
# program's file, and how to run that
my %drivers = (
	(map { ($_->[0] => python_driver(@$_)) }
		[ 'psycopg', 'python3-psycopg' ], [ 'psycopg2', 'python3-psycopg2' ], [ 'asyncpg', 'python3-asyncpg' ],
		[ 'sqlalchemy', 'python3-sqlalchemy and python3-psycopg2' ], [ 'django', 'python3-django and python3-psycopg2' ]),
	'pg' => {
		from => 'node-pg, or pg of npm', try => [ 'node', '-e', q{require('pg')} ],
		file => 'example.js', run => [ 'node', "$dir/example.js" ]
	},
	'Example.java' => {
		from => 'libpostgresql-jdbc-java and default-jdk-headless',
		try => [ 'sh', '-c', "test -e $jdbc && javac -version" ],
		file => 'Example.java', run => [ 'java', '-cp', $jdbc, "$dir/Example.java" ]
	});

sub python_driver
{
	my ($name, $package) = @_;
	my $modules = $package =~ /psycopg2/ ? "$name, psycopg2" : $name;

	return {
		from => $package, try => [ $python, '-c', "import $modules" ],
		file => "$name-example.py", run => [ $python, "$dir/$name-example.py" ]
	};
}

# What a command prints, and whether it succeeds
sub output_of
{
	my @command = @_;
	my $output = '';
	my $good = eval { IPC::Run::run(\@command, '<', \undef, '>&', \$output, IPC::Run::timeout(120)) };

	return ($output . ($@ // ''), $good);
}

my $text = slurp_file($page);
my $node = PostgreSQL::Test::Cluster->new('clients');
$node->init;
# JDBC knows no other sockets
$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION bloomfilter');
$node->safe_psql('postgres', $1) while $text =~ /^```sql\n(.*?)^```$/msg;

$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';
# Debian's libraries of node, and those that script/parts/clients.sh has fetched
$ENV{NODE_PATH} = join ':', grep { defined } $ENV{CLIENTS_NODE_PATH}, '/usr/share/nodejs';

my %seen;
while ($text =~ /^```(\w+) (\S+)\n(.*?)^```\n+```text\n(.*?)^```\n/msg)
{
	my ($name, $program, $expected) = ($2, $3, $4);
	my $driver = $drivers{$name} or die "nothing is known of $name";
	my @run = @{ $driver->{run} };

	$seen{$name} = 1;
  SKIP:
	{
		skip("$name: not installed ($driver->{from})", 1) unless (output_of(@{ $driver->{try} }))[1];
		append_to_file("$dir/$driver->{file}", $program);
		# a user who may connect by the network needs no password here
		push @run, "jdbc:postgresql://127.0.0.1:$ENV{PGPORT}/postgres?user=" . getpwuid($<) if $name eq 'Example.java';
		is((output_of(@run))[0], $expected, $name);
	}
}
is(join(' ', sort keys %seen), join(' ', sort keys %drivers), 'the page has a program for each driver');

$node->stop;
done_testing();
