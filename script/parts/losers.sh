# shellcheck shell=bash
#
# Does a filter make a query slower?  Random queries, whose CPU time without filters is
# compared with that with membership indexes, and with that with join_filter = on
# (test/slow/losers.pl), with four states of the statistics.  Some five minutes; for longer by hand:
#
#     LOSER_QUERIES=1000 FUZZ_SEED=$RANDOM script/test losers

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/script/parts/lib.sh"

part_losers()
{
	need_installed
	suite "Queries that filters make slower" slow_tests losers
}
