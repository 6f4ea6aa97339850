# shellcheck shell=bash
#
# The fast part of script/test once more for each supported PostgreSQL that it
# was not run with, one of them built with assertions, in throw-away roots (see
# script/roots.sh).  Needs root, and Debian's mirror where no root is kept; what
# cannot be had is skipped.

# shellcheck source-path=SCRIPTDIR source=../roots.sh
. "$root/script/roots.sh"

part_majors()
{
	local major own

	own=$("$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	for major in "${majors[@]}"; do
		if [ "$major" = "$own" ]; then
			continue
		elif in_time; then
			test_in_root "PostgreSQL $major, in a root" "pg$major"
		else
			skip "PostgreSQL $major, in a root" "no time is left"
		fi
	done
}
