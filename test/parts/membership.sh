# shellcheck shell=bash
#
# kill -9 of backends and of the postmaster while membership indexes are filled, grow
# and are rebuilt, twenty times.  Some two minutes.

part_membership()
{
	need_installed
	suite "Membership indexes, killed and recovered" slow_tests membership_crash
}
