# shellcheck shell=bash
#
# kill -9 of backends and of the postmaster while membership indexes are filled, grow
# and are rebuilt, twenty times; and many sessions that insert, while indexes are
# created, rebuilt and dropped concurrently.  Some three minutes.

part_membership()
{
	need_installed
	suite "Membership indexes, killed and recovered" slow_tests membership_crash
	suite "Membership indexes under load" slow_tests membership_load
}
