# shellcheck shell=bash
#
# What parts of script/test share: a build and a server for each of their own,
# and SQL scripts that say in TAP what they found.

server_major()
{
	"$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/'
}

# fresh_server [SETTING...]: as start_server, in the place of one that another
# part has left.
fresh_server()
{
	stop_server
	rm -rf "$work/data" "$work/socket" "$work/log/server"
	# one that hangs is a failure
	start_server "statement_timeout = '900s'" "$@"
}

stop_server()
{
	[ ! -e "$work/data/postmaster.pid" ] ||
		as_server "$bindir/pg_ctl" -s -D "$work/data" -m immediate stop
}

# fresh_build NAME [MAKE ARGUMENT...]: into $work/NAME, and from there to where
# our servers look.
fresh_build()
{
	local name=$1

	shift
	copy_sources "$work/$name"
	suite "Build for the part $name" builds "$work/$name" with_llvm=no "$@"
	rm -rf "$work/installed"
	install_extension "$work/$name" with_llvm=no "$@" >"$work/log/install" 2>&1 ||
		{ cat "$work/log/install"; die "make install failed"; }
}

# run_sql NAME [PSQL ARGUMENT...]: a script of test/ in a database of its own
run_sql()
{
	local name=$1 database

	shift
	database=$(basename "$name" .sql)
	as_server "$bindir/psql" -X -q -d postgres -c "DROP DATABASE IF EXISTS $database" \
		-c "CREATE DATABASE $database"
	as_server "$bindir/psql" -X -d "$database" "$@" -f "$root/test/$name"
}

# regress DIRECTORY [SCRIPT...]: scripts of test/sql, or all
regress()
{
	local dir=$1

	shift
	as_server env PGUSER="$PGUSER" PGHOST="$PGHOST" \
		make -C "$dir" --no-print-directory PG_CONFIG="$PG_CONFIG" with_llvm=no \
		installcheck ISOLATION= TAP_TESTS= ${1:+REGRESS="$*"}
}
