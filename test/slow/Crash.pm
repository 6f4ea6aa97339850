# kill -9 of processes of a server while sessions work, for the tests of crashes.
package Crash;

use strict;
use warnings;

use Exporter qw(import);
use FindBin;
use lib "$FindBin::RealBin/../t";

use PostgreSQL::Test::Utils;
use Server ();
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(@victims $rounds $commands start_crash_server start_script work_a_while kill_some
  was_in_the_middle wait_until_back);

# What can be killed
our @victims = ('a backend', 'all processes', 'the postmaster');

our $rounds = $ENV{CRASH_ROUNDS} || 20;
# A session works until it is killed; it waits for that once it has done this many
our $commands = 20000;
# Once all sessions have begun, they work for a random time between
my ($least_ms, $most_ms) = (10, 1000);

# Processes see that their postmaster is gone, unless they hang: then this fails after minutes
my $gone_seconds = 300;

# A server with little memory and WAL, so that pages are written all the time
sub start_crash_server
{
	my ($shared_buffers) = @_;
	my $seed = $ENV{CRASH_SEED} || time;

	plan skip_all => 'needs the /proc of Linux' unless -r "/proc/$$/stat";
	note("seed $seed");
	srand($seed);

	return Server::start_server('crash', init => [ allows_streaming => 1 ], conf => qq{
restart_after_crash = on
shared_buffers = $shared_buffers
min_wal_size = 32MB
max_wal_size = 64MB
log_statement = none
});
}

# A session of psql that runs commands until it is cut off: {out} is the file of what
# they return
sub start_script
{
	my ($node, $name, @commands) = @_;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/$name";
	my %session = (out => "$file.out", err => "$file.err");

	open my $script, '>', "$file.sql" or die "$file.sql: $!";
	print $script "$_;\n" foreach @commands, 'SELECT FROM pg_sleep(1e9)';
	close $script;
	$session{psql} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', "$file.sql" ],
		'<', \undef, '>', $session{out}, '2>', $session{err});
	return \%session;
}

sub work_a_while
{
	usleep(1000 * ($least_ms + int(rand($most_ms - $least_ms))));
}

# A test: a session was cut off, and had neither ended nor failed before.
sub was_in_the_middle
{
	my ($session, $name) = @_;

	$session->{psql}->finish;
	# "the connection to the server went bad"
	is($session->{psql}->result(0), 2, "$name was in the middle") or diag slurp_file($session->{err});
}

# Connect without a query: a psql whose connection is refused does not read its input, and
# writing to it would fail with a broken pipe.
sub wait_until_back
{
	my ($node) = @_;

	$node->poll_query_until('postgres', undef, '') or die 'the server does not come back';
}

# State and parent of a process, or nothing if there is none
sub process
{
	my ($pid) = @_;

	open my $file, '<', "/proc/$pid/stat" or return;
	my $stat = <$file>;
	close $file;
	return defined $stat && $stat =~ /^\d+ \(.*\) (\S) (\d+) / ? ($1, $2) : ();
}

sub children
{
	my ($parent) = @_;

	return grep { my (undef, $its_parent) = process($_); defined $its_parent && $its_parent == $parent }
	  map { m{(\d+)$} } glob('/proc/[0-9]*');
}

# Before another postmaster starts, the old one has to be gone with all its children;
# zombies count as gone.
sub wait_until_gone
{
	my ($postmaster, @pids) = @_;

	for (1 .. 100 * $gone_seconds)
	{
		@pids = grep { my ($state) = process($_); defined $state && $state ne 'Z' } @pids;
		return if !@pids && !process($postmaster);
		usleep(10_000);
	}
	die "processes outlive their postmaster $postmaster: @pids";
}

# Kill the postmaster, and perhaps its children, and have the server run again.
sub kill_server
{
	my ($node, $also_children) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my @processes = children($postmaster);

	$node->kill9;
	kill 'KILL', @processes if $also_children;
	wait_until_gone($postmaster, @processes);
	$node->start;
}

sub kill_backend
{
	my ($node) = @_;
	my @backends = split /\n/, $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");

	kill 'KILL', $backends[ int(rand(@backends)) ];
}

# Kill one of @victims.
sub kill_some
{
	my ($node, $victim) = @_;

	if ($victim eq 'a backend')
	{
		kill_backend($node);
	}
	else
	{
		kill_server($node, $victim eq 'all processes');
	}
}

1;
