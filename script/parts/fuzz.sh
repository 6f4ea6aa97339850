# shellcheck shell=bash
#
# Hostile bytes: libFuzzer on the validator and on all that may be done with
# what it lets through (test/fuzz/*.c), from the corpus in test/fuzz/corpus; and
# damaged filters through every way into a server (test/fuzz/fuzz.sql).  Then random
# SQL over tables with membership indexes, from several sessions, compared with exact
# answers (test/slow/membership_random.pl); and random joins, and queries that read, lock
# and change rows in every way, compared with plans without filters
# (test/slow/join_filter_random.pl, random_queries.pl); and lookups in partitions that
# others attach and detach (test/slow/partition_random.pl), and blocks that joins skip
# (test/slow/block_filter_random.pl).  Needs clang, with its libraries
# for the sanitizers.  Ten minutes; for longer by hand:
#
#     FUZZ_SECONDS=1800 FUZZ_STEPS=200000 RANDOM_SECONDS=3600 JOIN_SECONDS=3600 \
#         PARTITION_SECONDS=3600 BLOCK_SECONDS=3600 QUERY_CASES=10000 FUZZ_SEED=$RANDOM script/test fuzz
#
# is 75 minutes of libFuzzer on two cores, and an hour of each SQL.  "make fuzz" does the
# former alone, and keeps what it finds in test/fuzz/found, to go on from there.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/script/parts/lib.sh"

part_fuzz()
{
	local seed=${FUZZ_SEED:-1} clang

	# the one that the server was built with comes with its packages
	clang=$(make_variable CLANG)
	clang=$(basename "${clang:-clang}")
	need_packages "$clang" "libclang-rt-${clang#clang-}-dev"
	need_installed
	fresh_build fuzz

	suite "Corpus of the fuzzers" same_corpus
	suite "libFuzzer on src/filter" build "$work/fuzz" --output-sync=target \
		FUZZ_CC="$clang" FUZZ_SEED="$seed" FUZZ_SECONDS="${FUZZ_SECONDS:-30}" fuzz
	fresh_server "restart_after_crash = off"
	suite "Damaged filters in SQL" run_sql fuzz/fuzz.sql -v seed="$seed" \
		-v steps="${FUZZ_STEPS:-3000}" -v file="$work/tmp/fuzz.copy"
	suite "The server after these" no_crash
	stop_server
	# the same statements each time, unless told otherwise: what fails in an hour's
	# run of everything can then be repeated by itself
	export FUZZ_SEED=$seed
	suite "Random SQL over membership indexes" slow_tests membership_random
	suite "Random joins with join filters" slow_tests join_filter_random
	suite "Blocks that an index lets a join skip" slow_tests block_filter_random
	suite "Random queries of every form" slow_tests random_queries
	suite "Partition Filters beside other sessions" slow_tests partition_random
}

# test/fuzz/corpus is what make_corpus.c writes now.
same_corpus()
{
	as_server mkdir "$work/fuzz/made"
	build "$work/fuzz" test/fuzz/make_corpus &&
		as_server "$work/fuzz/test/fuzz/make_corpus" "$work/fuzz/made" &&
		diff -r "$work/fuzz/made" "$work/fuzz/test/fuzz/corpus" &&
		echo "ok - the corpus is what make_corpus.c writes"
}
