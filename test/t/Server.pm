# A server with the extension, in the database postgres.
#
#     my $node = start_server('main');
#     my $primary = start_server('primary', init => [ allows_streaming => 1 ],
#         conf => "autovacuum = off\n");
package Server;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(start_server);

sub start_server
{
	my ($name, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(@{ $options{init} // [] });
	$node->append_conf('postgresql.conf', $options{conf}) if defined $options{conf};
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION bloomfilter');
	return $node;
}

1;
