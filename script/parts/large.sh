# shellcheck shell=bash
#
# The largest filters: built, stored, probed, dumped and restored, and the longest
# operations on them cancelled.  Some three minutes, 8 GB of memory and 10 GB of
# disk below TMPDIR; without these the tests say so and are skipped.

part_large()
{
	need_installed
	suite "Filters of 512 MB" slow_tests large
	suite "Long operations, cancelled" slow_tests cancel
}
