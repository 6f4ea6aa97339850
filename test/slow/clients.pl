# The programs in examples/clients/ print what each says after "Output:".  Each is run if its
# driver is installed, and skipped otherwise.
#
# Those in docs/redisbloom.md that speak with RedisBloom carry each of its filters in
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

# Of each program: what provides its driver, how to try whether that is there, and how to run
# the program
my $programs = "$root/examples/clients";
my %drivers = (
	(map { ($_->[0] => driver([ $python, '-c', "import $_->[2]" ], [$python], @$_)) }
		[ 'use_psycopg.py', 'python3-psycopg', 'psycopg' ],
		[ 'use_psycopg_async.py', 'python3-psycopg', 'psycopg' ],
		[ 'use_asyncpg.py', 'python3-asyncpg', 'asyncpg' ],
		[ 'use_sqlalchemy.py', 'python3-sqlalchemy and python3-psycopg2', 'sqlalchemy, psycopg2' ],
		[ 'use_alembic.py', 'python3-alembic and python3-psycopg2', 'alembic, psycopg2' ],
		[ 'use_django.py', 'python3-django and python3-psycopg2', 'django, psycopg2' ]),
	(map { ($_->[0] => driver([ 'node', '-e', $_->[2] ], ['node'], @$_)) }
		[ 'use_pg.js', 'node-pg, or pg of npm', "require('pg')" ],
		[ 'use_drizzle.js', 'pg, drizzle-orm and drizzle-kit of npm',
		  "require('pg'); require('drizzle-orm'); require('drizzle-kit/api')" ]),
	'use_pgx.go' => driver(
		[ 'sh', '-c', "test -d $gopath/src/github.com/jackc/pgx/v4 && go version" ],
		[ 'env', 'GO111MODULE=off', "GOPATH=$gopath", "GOCACHE=$dir/go", 'go', 'run' ],
		'use_pgx.go', 'golang-go and golang-github-jackc-pgx-v4-dev'),
	'UseJdbc.java' => driver(
		[ 'sh', '-c', "test -e $jdbc && javac -version" ],
		[ 'java', '-cp', $jdbc ],
		'UseJdbc.java', 'libpostgresql-jdbc-java and default-jdk-headless'));

sub driver
{
	my ($try, $run, $program, $package) = @_;

	return { from => $package, try => $try, run => [ @$run, "$programs/$program" ] };
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

my $node = PostgreSQL::Test::Cluster->new('clients');
$node->init;
# JDBC knows no other sockets
$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION bloomfilter');
$node->safe_psql('postgres', slurp_file("$programs/filters.sql"));

$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';
# Debian's libraries of node, and those that script/parts/clients.sh has fetched
$ENV{NODE_PATH} = join ':', grep { defined } $ENV{CLIENTS_NODE_PATH}, '/usr/share/nodejs';

foreach my $file (grep { !/\.sql$/ } sort glob("$programs/*"))
{
	my $name = basename($file);
	my $driver = $drivers{$name} or die "nothing is known of $name";
	my @run = @{ $driver->{run} };
	my ($expected) = slurp_file($file) =~ /^(?:#|\/\/) Output:\n(.*)/ms;

	$expected =~ s/^(?:#|\/\/) //mg;
	delete $drivers{$name};
  SKIP:
	{
		skip("$name: not installed ($driver->{from})", 1) unless (output_of(@{ $driver->{try} }))[1];
		# a user who may connect by the network needs no password here
		push @run, "jdbc:postgresql://127.0.0.1:$ENV{PGPORT}/postgres?user=" . getpwuid($<) if $name eq 'UseJdbc.java';
		is((output_of(@run))[0], $expected, $name);
	}
}
is(join(' ', sort keys %drivers), '', 'there is a program for each driver');

# The module that docs/redisbloom.md imports: a server whose key "seen" is the file that
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

my $page = slurp_file("$root/docs/redisbloom.md");
my ($dump, $insert, $load, @more) = $page =~ /^```python\n(.*?)^```$/msg;
is(scalar(@more), 0, 'docs/redisbloom.md has three blocks of Python');
my ($table) = $page =~ /^(CREATE TABLE filters .*;)$/m;
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
		is((output_of($python, "$dir/$name.py"))[0], "True True\n", "docs/redisbloom.md: $name");
	}
}

$node->stop;
done_testing();
