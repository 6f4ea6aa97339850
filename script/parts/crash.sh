# shellcheck shell=bash
#
# kill -9 of backends and of the postmaster while filters are built and changed,
# twenty times.  Some two minutes.

part_crash()
{
	need_installed
	suite "Killed and recovered" slow_tests crash
}
