#!/bin/bash
#
# test/slow/leak.sh [CALLS]: does a session's memory grow with the number of
# calls?  Calls each function CALLS times in one session, a million by default, and compares the memory after a tenth of them with that at the end.
# By hand, not in CI: a million take half an hour.  Fails if a call leaves a byte
# behind.

# shellcheck source-path=SCRIPTDIR source=../../script/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../script/lib.sh"

calls=${1:-1000000}

main()
{
	copy_sources "$work/gcc"
	install_extension "$work/gcc" COPT=-Werror >"$work/log/install" 2>&1 ||
		{ cat "$work/log/install"; die "make install failed"; }
	start_server
	as_server "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -v calls="$calls" \
		-d postgres -f "$work/gcc/test/slow/leak.sql" | tee "$work/leak"
	! grep LEAKS "$work/leak" >/dev/null || die "memory grows with the number of calls"
}

# shellcheck disable=SC2119
need_packages
in_workplace main
