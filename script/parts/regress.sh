# shellcheck shell=bash
#
# PostgreSQL's own regression tests, from its source, twice on a server whose tables
# all have membership indexes (test/regress/indexes.sql): once by core's plans, and
# once with Filter Scans and join filters wherever they are legal.  The results have to
# be the same (test/regress/compare.pl).  On several majors, in throw-away roots, one
# with assertions; what cannot be had is skipped.  Some ten minutes, once the roots are
# there.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/script/parts/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../roots.sh
. "$root/script/roots.sh"

# One of each kind of plan tree and heap scan that we know; vanilla servers before 18
# cannot read an extension from elsewhere, so only that one has assertions
regress_roots=(pg15 pg17 pg18-cassert)
# Plans with join filters in one run: far more than these
regress_joins_least=300

part_regress()
{
	local name run source_dir=$work/postgresql

	if [ ! -e /etc/bloomfilter-root ]; then
		for name in "${regress_roots[@]}"; do
			if in_time; then
				test_in_root "PostgreSQL's own tests, $name" "$name" regress
			else
				skip "PostgreSQL's own tests, $name" "no time is left"
			fi
		done
		return
	fi
	if ! compgen -G "/usr/local/src/postgresql-*.orig.tar.*" >/dev/null; then
		skip "PostgreSQL's own tests" "Debian's mirror does not have the source"
		return
	fi

	fresh_build regress
	suite "Library of PostgreSQL's own tests" regress_library "$source_dir"
	for run in plain forced; do
		if [ "$run" = plain ]; then
			regress_server off off
		else
			regress_server force index
		fi
		as_server mkdir "$work/regress-$run"
		suite "PostgreSQL's own tests, $run" regress_run "$source_dir" "$work/regress-$run"
		suite "The server after these" no_crash
	done
	suite "Plans with join filters" regress_counts
	suite "Results of PostgreSQL's own tests" regress_compare
}

# What tests ask the server to load
regress_library()
{
	as_server mkdir "$1"
	as_server tar -xf /usr/local/src/postgresql-*.orig.tar.* -C "$1" \
		--strip-components=1 --wildcards '*/src/test/regress/*' &&
		as_server mkdir "$1/lib" &&
		as_server gcc -shared -fPIC -O1 -w -I "$("$PG_CONFIG" --includedir-server)" \
			-o "$1/lib/regress.so" "$1/src/test/regress/regress.c" &&
		as_server cp "$("$PG_CONFIG" --pkglibdir)"/{autoinc,refint}.so "$1/lib" &&
		echo "ok - built"
}

# regress_server FILTER_SCAN JOIN_FILTER: with the database that pg_regress would make
regress_server()
{
	local psql=("$bindir/psql" -X -q -v ON_ERROR_STOP=1)

	fresh_server "restart_after_crash = off" "max_prepared_transactions = 2" \
		"shared_preload_libraries = 'auto_explain'" \
		"auto_explain.log_min_duration = 0" "auto_explain.log_nested_statements = on" \
		"bloomfilter.filter_scan = $1" "bloomfilter.join_filter = $2"
	as_server "${psql[@]}" -d postgres -c "CREATE DATABASE regression
		TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
	as_server "${psql[@]}" -d regression -f "$root/test/regress/indexes.sql" \
		-c "ALTER DATABASE regression SET lc_messages = 'C'" \
		-c "ALTER DATABASE regression SET lc_monetary = 'C'" \
		-c "ALTER DATABASE regression SET lc_numeric = 'C'" \
		-c "ALTER DATABASE regression SET lc_time = 'C'" \
		-c "ALTER DATABASE regression SET bytea_output = 'hex'" \
		-c "ALTER DATABASE regression SET timezone_abbreviations = 'Default'"
}

# regress_run SOURCE OUTPUT: tests differ from what is expected by their indexes, so only
# that all have run is told here
regress_run()
{
	local tests=$1/src/test/regress expected=() runs

	[ "$(server_major)" -lt 16 ] || expected=(--expecteddir="$tests")
	as_server "$(dirname "$("$PG_CONFIG" --pgxs)")/../test/regress/pg_regress" \
		--use-existing --dbname=regression --host="$PGHOST" --user=postgres \
		--bindir="$bindir" --dlpath="$1/lib" --inputdir="$tests" "${expected[@]}" \
		--outputdir="$2" --schedule="$tests/parallel_schedule" >"$work/log/pg_regress" 2>&1 ||
		true
	runs=$(find "$2/results" -name '*.out' | wc -l)
	if [ "$runs" -lt "$(sed -n 's/^test: //p' "$tests/parallel_schedule" | wc -w)" ]; then
		cat "$work/log/pg_regress"
		echo "not ok - only $runs tests have run"
		return 1
	fi
	echo "ok - $runs tests have run"
}

regress_counts()
{
	local joins

	joins=$(grep -c 'Probe: .* in index ' "$work/log/server" || true)
	if [ "$joins" -lt "$regress_joins_least" ]; then
		echo "not ok - only $joins scans had a join filter"
		return 1
	fi
	echo "ok - $joins scans had a join filter"
}

regress_compare()
(
	cd "$work/tmp" &&
		perl "$root/test/regress/compare.pl" "$work/regress-plain/results" \
			"$work/regress-forced/results"
)
