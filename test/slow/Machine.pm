# What the machine has to spare, for tests that need much of it.
package Machine;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Utils;

our @EXPORT = qw(too_small);

my $kb_of_gb = 1024 * 1024;

sub memory_kb
{
	my $meminfo = -r '/proc/meminfo' ? slurp_file('/proc/meminfo') : '';
	return $meminfo =~ /^MemAvailable:\s+(\d+) kB/m ? $1 : 0;
}

# Where the test's servers keep their data
sub disk_kb
{
	my ($out) = run_command([ 'df', '-Pk', $PostgreSQL::Test::Utils::tmp_check ]);
	return $out =~ /^\S+\s+\d+\s+\d+\s+(\d+)\s+\d+%/m ? $1 : 0;
}

# Why a test that needs so much cannot be run here, if so
sub too_small
{
	my ($memory_gb, $disk_gb) = @_;

	return "less than $memory_gb GB of memory are available"
	  if memory_kb() < $memory_gb * $kb_of_gb;
	return "less than $disk_gb GB of disk are available"
	  if disk_kb() < $disk_gb * $kb_of_gb;
	return undef;
}

1;
