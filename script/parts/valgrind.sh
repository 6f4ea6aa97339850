# shellcheck shell=bash
#
# Some of the regression tests under valgrind, which sees what the sanitizers do
# not: a byte read behind a chunk of palloc(), or one that nobody has written.  For
# that the server must have been built with USE_VALGRIND, as the one with
# assertions in a root is (see script/roots.sh); skipped if that cannot be had.  Some
# four minutes.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/script/parts/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../roots.sh
. "$root/script/roots.sh"

# Those that take minutes under valgrind tell what others tell, too
valgrind_scripts=(add union batch equality aggregate cuckoo_union membership membership_true)

part_valgrind()
{
	local suppressions

	suppressions=$("$PG_CONFIG" --sharedir)/valgrind.supp
	if [ ! -e "$suppressions" ]; then
		test_in_root "valgrind, in a root" pg18-cassert valgrind
		return
	fi

	fresh_build valgrind
	# which is slow there, and keeps VACUUM from removing rows
	fresh_server "autovacuum = off"
	stop_server
	as_server tee "$work/valgrind-postgres" >/dev/null <<-END
		#!/bin/sh
		exec valgrind --quiet --trace-children=yes --leak-check=no \\
			--suppressions='$suppressions' --error-markers=FOUND-,-FOUND \\
			--log-file='$work/log/valgrind.%p' '$bindir/postgres' "\$@"
	END
	as_server chmod +x "$work/valgrind-postgres"
	as_server "$bindir/pg_ctl" -s -w -t 300 -D "$work/data" \
		-l "$work/log/server" -p "$work/valgrind-postgres" start

	suite "SQL tests under valgrind" regress "$work/valgrind" "${valgrind_scripts[@]}"
	suite "The server after these" no_crash
	suite "Reports of valgrind" no_valgrind_report
}

no_valgrind_report()
{
	if ! compgen -G "$work/log/valgrind.*" >/dev/null; then
		echo "not ok - the server did not run under valgrind"
		return 1
	fi
	if grep -h -A 20 FOUND- "$work"/log/valgrind.*; then
		echo "not ok - valgrind found something"
		return 1
	fi
	echo "ok - valgrind found nothing"
}
