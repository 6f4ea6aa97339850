# The programs in docs/clients.md print what the page says.  Each is run if its driver is
# installed, and skipped otherwise.
#
# A block of code has the name of its language, and of the driver; the block that follows
# is its output.
#
# Those in docs/foreign.md that speak with RedisBloom carry each of its filters in
# test/vectors from a module that replays SCANDUMP to the table, and back.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = abs_path(dirname(__FILE__) . '/../..');
# Debian's, whatever else is in PATH
my $python = '/usr/bin/python3';
my $jdbc = '/usr/share/java/postgresql.jar';
my $gopath = '/usr/share/gocode';
my $dir = PostgreSQL::Test::Utils::tempdir('clients');

# Of each driver: what provides it, how to try whether it is there, the name of the
# program's file, and how to run that
my %drivers = (
	(map { ($_->[0] => python_driver(@$_)) }
		[ 'psycopg', 'python3-psycopg', 'psycopg' ], [ 'psycopg-async', 'python3-psycopg', 'psycopg' ],
		[ 'asyncpg', 'python3-asyncpg', 'asyncpg' ],
		[ 'sqlalchemy', 'python3-sqlalchemy and python3-psycopg2', 'sqlalchemy, psycopg2' ],
		[ 'alembic', 'python3-alembic and python3-psycopg2', 'alembic, psycopg2' ],
		[ 'django', 'python3-django and python3-psycopg2', 'django, psycopg2' ]),
	(map { ($_->[0] => node_driver(@$_)) }
		[ 'pg', 'node-pg, or pg of npm', 'pg' ],
		[ 'drizzle', 'pg, drizzle-orm and drizzle-kit of npm', 'pg', 'drizzle-orm', 'drizzle-kit/api' ]),
	'pgx.go' => {
		from => 'golang-go and golang-github-jackc-pgx-v4-dev',
		try => [ 'sh', '-c', "test -d $gopath/src/github.com/jackc/pgx/v4 && go version" ],
		file => 'pgx.go',
		run => [ 'env', 'GO111MODULE=off', "GOPATH=$gopath", "GOCACHE=$dir/go", 'go', 'run', "$dir/pgx.go" ]
	},
	'Example.java' => {
		from => 'libpostgresql-jdbc-java and default-jdk-headless',
		try => [ 'sh', '-c', "test -e $jdbc && javac -version" ],
		file => 'Example.java', run => [ 'java', '-cp', $jdbc, "$dir/Example.java" ]
	});

sub python_driver
{
	my ($name, $package, $modules) = @_;

	return {
		from => $package, try => [ $python, '-c', "import $modules" ],
		file => "$name-example.py", run => [ $python, "$dir/$name-example.py" ]
	};
}

sub node_driver
{
	my ($name, $package, @modules) = @_;

	return {
		from => $package, try => [ 'node', '-e', join '', map { "require('$_');" } @modules ],
		file => "$name-example.js", run => [ 'node', "$dir/$name-example.js" ]
	};
}

# What a command prints, and whether it succeeds
sub output_of
{
	my @command = @_;
	# no program takes minutes unless it hangs
	my $hangs_after = 600;
	my $output = '';
	my $good = eval { IPC::Run::run(\@command, '<', \undef, '>&', \$output, IPC::Run::timeout($hangs_after)) };

	return ($output . ($@ // ''), $good);
}

my $text = slurp_file("$root/docs/clients.md");
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

# The module that docs/foreign.md imports: a server whose key "seen" is the file that
# the environment names, and that keeps what LOADCHUNK brings
append_to_file("$dir/redis.py", <<'PYTHON');
import os
import struct

class Redis:
    def __init__(self):
        path = os.environ["REDISBLOOM_FILE"]
        self.kind = os.path.basename(path)[:2].upper()
        self.chunks, self.loaded = [], []
        with open(path, "rb") as file:
            while head := file.read(12):
                iterator, length = struct.unpack("<QI", head)
                self.chunks.append((iterator, file.read(length)))

    def execute_command(self, command, key, iterator, data=None):
        kind, command = command.split(".")
        if (kind, key) != (self.kind, "seen"):
            raise KeyError(kind, key)
        if command == "LOADCHUNK":
            self.loaded.append((iterator, data))
            return b"OK"
        assert command == "SCANDUMP"
        if iterator == 0:
            return list(self.chunks[0])
        follows = [i for i, _ in self.chunks].index(iterator) + 1
        return list(self.chunks[follows]) if follows < len(self.chunks) else [0, b""]
PYTHON

my $foreign = slurp_file("$root/docs/foreign.md");
my ($dump, $load, $insert, @more) = $foreign =~ /^```python\n(.*?)^```$/msg;
is(scalar(@more), 0, 'docs/foreign.md has three blocks of Python');
my ($table) = $foreign =~ /^(CREATE TABLE filters .*;)$/m;
$node->safe_psql('postgres', 'CREATE DATABASE leaving_redis');
$node->safe_psql('leaving_redis', "CREATE EXTENSION bloomfilter; $table");
$ENV{PGDATABASE} = 'leaving_redis';
$ENV{PYTHONPATH} = $dir;

my @files = glob "$root/test/vectors/foreign/redisbloom/*.bin";
cmp_ok(scalar(@files), '>=', 10, 'filters of RedisBloom were found');
foreach my $file (@files)
{
	my $name = basename($file, '.bin');
	my $program = <<"PYTHON";
import os
import psycopg
os.chdir("$dir")
$dump
connection = psycopg.connect(autocommit=True)
$insert
chunks = connection.execute("DELETE FROM filters RETURNING bloom_export(f, 'redisbloom')").fetchone()[0]
$load
print(r.loaded == r.chunks, open("seen.bin", "rb").read() == open("$file", "rb").read())
PYTHON

	# the page says that the same lines do for CF.
	$program =~ s/"BF\./"CF./g if $name =~ /^cf-/;
  SKIP:
	{
		skip("$name: not installed (python3-psycopg)", 1) unless (output_of($python, '-c', 'import psycopg'))[1];
		append_to_file("$dir/$name.py", $program);
		$ENV{REDISBLOOM_FILE} = $file;
		is((output_of($python, "$dir/$name.py"))[0], "True True\n", "docs/foreign.md: $name");
	}
}

$node->stop;
done_testing();
