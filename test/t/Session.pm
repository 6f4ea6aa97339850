# A session that lives while others work: psql behind a pipe.
#
#     my $session = Session->new($node);
#     print $session->query('SELECT 1');         # what it prints, errors too
#     $session->start('COMMIT');               # which may have to wait
#     print $session->end unless $session->waits($node);
#
# Errors come with their SQLSTATE, DETAIL and HINT (VERBOSITY verbose).  A query that hangs
# ends after some minutes: PG_TEST_TIMEOUT_DEFAULT, or 180 seconds.
package Session;

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

sub new
{
	my ($class, $node, $user, $database) = @_;
	my $self = bless { in => '', out => '', queries => 0 }, $class;
	my $connection = $node->connstr($database // 'postgres') . ($user ? " user=$user" : '');

	$self->{timer} = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
	$self->{psql} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $connection ],
		'<', \$self->{in}, '>&', \$self->{out}, $self->{timer});
	$self->{pid} = $self->query('SELECT pg_backend_pid()');
	return $self;
}

# Send SQL, and don't wait.  A session that has ended, with its server perhaps, says
# nothing more.
sub start
{
	my ($self, $sql) = @_;

	$self->{queries}++;
	$self->{in} .= "$sql\n;\n\\echo answered $self->{queries}\n";
	# each query has all of it, however long the session lives
	$self->{timer}->start;
	$self->_pump;
}

# What has come so far
sub _pump
{
	my ($self) = @_;

	eval { $self->{psql}->pump_nb } if $self->{psql}->pumpable;
}

# Has it answered, or ended?
sub answered
{
	my ($self) = @_;

	$self->_pump;
	return $self->{out} =~ /^answered $self->{queries}$/m || !$self->{psql}->pumpable;
}

# Wait for the answer; return what was printed
sub end
{
	my ($self) = @_;
	my $out;

	until ($self->answered)
	{
		eval { $self->{psql}->pump } or last;
	}
	$out = $self->{out};
	$self->{out} = '';
	$out =~ s/^answered \d+$//m;
	# places in the source are not the same from one version to the next
	$out =~ s/^LOCATION: .*\n//mg;
	$out =~ s/\s+\z//;
	return $out;
}

sub query
{
	my ($self, $sql) = @_;

	$self->start($sql);
	return $self->end;
}

# Wait until it has printed this; false if it answers without.
sub says
{
	my ($self, $pattern) = @_;

	until ($self->answered)
	{
		return 1 if $self->{out} =~ $pattern;
		usleep(1_000);
	}
	return $self->{out} =~ $pattern;
}

# Processor time that its backend has used, in seconds
sub cpu
{
	my ($self) = @_;
	my ($nanoseconds) = split ' ', slurp_file("/proc/$self->{pid}/schedstat");

	return $nanoseconds / 1e9;
}

# Wait until its backend has used so much more of it; false if it answers before.
sub works
{
	my ($self, $seconds) = @_;
	my $enough = $self->cpu + $seconds;

	until ($self->answered)
	{
		return 1 if $self->cpu >= $enough;
		usleep(1_000);
	}
	return 0;
}

# Wait until it waits for a lock; false if it answers instead.
sub waits
{
	my ($self, $node) = @_;

	until ($self->answered)
	{
		return 1 if $node->safe_psql('postgres',
			"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $self->{pid}") eq 't';
		usleep(10_000);
	}
	return 0;
}

sub quit
{
	my ($self) = @_;

	$self->{in} .= "\\q\n";
	eval { $self->{psql}->finish };
}

1;
