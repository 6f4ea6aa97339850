# A library for tests, compiled from a file in C.
package Module;

use strict;
use warnings;

use Exporter qw(import);
use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(compile_module);

sub pg_config
{
	my ($what) = @_;
	my ($stdout, $stderr) = run_command([ $ENV{PG_CONFIG} // 'pg_config', $what ]);

	return $stdout;
}

# The library's path; undef if there is no compiler.  It needs the server's headers, which the
# extension was built with.
sub compile_module
{
	my ($source) = @_;
	my $library = PostgreSQL::Test::Utils::tempdir() . '/' . basename($source, '.c') . '.so';
	my $messages;
	my @command = ('cc', '-shared', '-fPIC', '-O2', '-std=gnu99', '-isystem', pg_config('--includedir-server'),
		'-D_GNU_SOURCE', '-o', $library, $source);

	return $library if eval { IPC::Run::run(\@command, '>&', \$messages) };
	diag($messages // $@);
	return;
}

1;
