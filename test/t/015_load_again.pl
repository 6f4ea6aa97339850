# Memory that runs out while the library is loaded, at each of its allocations: the statement
# fails, and the next one loads the library.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Module;

# More than there are; the last ones must find nothing to fail
my $allocations = 200;

plan skip_all => 'LD_PRELOAD is not known here' if $^O ne 'linux';
my $module = compile_module("$FindBin::RealBin/../load/fail_allocation.c");
plan skip_all => 'no compiler' unless defined $module;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
{
	# behind a sanitizer's own library, whose malloc() then remains
	local $ENV{LD_PRELOAD} = join(' ', grep { defined } $ENV{LD_PRELOAD}, $module);
	$node->start;
}
$node->safe_psql('postgres', qq{
	CREATE EXTENSION bloomfilter;
	CREATE FUNCTION fail_after(int) RETURNS int STRICT LANGUAGE C AS '$module';
	CREATE TABLE t (x text);
	CREATE INDEX t_m ON t USING membership (x) WITH (capacity = 1000);
	INSERT INTO t SELECT i::text FROM generate_series(1, 1000) AS i;
	ANALYZE t;});

# Load the library, fail, and load it again; then use what it has installed.
sub script
{
	my ($after) = @_;
	return qq{
\\c
\\echo $after begins
SELECT fail_after($after) AS was \\gset
LOAD 'bloomfilter';
\\set failed :ERROR
SELECT fail_after(-1) AS was \\gset
LOAD 'bloomfilter';
BEGIN;
SAVEPOINT a;
INSERT INTO t VALUES ('new');
RELEASE a;
SELECT (SELECT count(*) FROM pg_settings WHERE name LIKE 'bloomfilter.%') AS settings,
	current_setting('bloomfilter.join_filter') AS join_filter,
	membership_contains('t_m', 'new') AS has,
	(SELECT count(*) FROM t WHERE membership_contains('t_m', x || 'y')) AS passed \\gset
ALTER INDEX t_m SET (growth = 2);
ROLLBACK;
\\echo $after load: :failed was: :was settings: :settings :join_filter has: :has passed: :passed
};
}

local $ENV{PGOPTIONS} = '-c bloomfilter.join_filter=on -c bloomfilter.cache_size=1MB';
my (@lines, $errors);
for (my $after = 0; $after < $allocations;)
{
	my ($code, $stdout, $stderr) = $node->psql('postgres',
		join('', map { script($_) } $after .. $allocations - 1), on_error_stop => 0);

	push @lines, grep { /load:/ } split(/\n/, $stdout);
	$errors .= $stderr;
	# the server itself ends some sessions, and psql then goes no further
	my @begun = $stdout =~ /^(\d+) begins$/mg;
	last unless @begun;
	$after = $begun[-1] + 1;
}
my @failed = grep { /load: true/ } @lines;
my @odd = grep { !/^\d+ load: (true|false) was: -?\d+ settings: 6 on has: t passed: \d{1,2}$/ } @lines;
my $ended = () = slurp_file($node->logfile) =~ /FATAL:  out of memory/g;

is(@lines + $ended, $allocations, 'each session has ended');
is(join("\n", @odd[ 0 .. ($#odd < 9 ? $#odd : 9) ]), '', 'each has loaded the library, and used it');
ok(@failed > 10, 'some have failed before');
note(scalar(@failed) . " have failed, $ended were ended");
like($lines[-1], qr/^\d+ load: false was: \d/, 'there are no more allocations');
unlike($errors, qr/redefine/, 'without another error');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'and without a crash');

$node->stop;
done_testing();
