# shellcheck shell=bash
#
# PostgreSQL's own regression tests, from its source, on a server whose tables all
# have membership indexes (test/regress/indexes.sql): once by core's plans, and once with
# Filter Scans and join filters wherever they are legal, made from indexes and while
# hash tables are built.  The results have to be the same (test/regress/compare.pl),
# and no plan may count rows that are hidden from the user (test/regress/hidden.pl).
# On several majors, in throw-away roots, one with assertions; what cannot be had is
# skipped.  Two of them run more, see regress_extra.  Some twelve minutes, once the
# roots are there.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/script/parts/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../roots.sh
. "$root/script/roots.sh"

# One of each kind of plan tree and heap scan that we know; vanilla servers before 18
# cannot read an extension from elsewhere, so only that one has assertions
regress_roots=(pg15 pg17 pg18-cassert pg19)
# What a major runs beside: "indexed" has filters from indexes alone, in plans that
# those made for hash tables do not change; "parallel" is a pair with workers wherever
# they are legal; "hidden" has the tests whose rows policies or security barriers hide.
# A run on 15 takes half a minute, elsewhere over a minute: so the first is there alone,
# and the others there and where assertions are.
declare -A regress_extra=([15]="indexed parallel hidden" [18]="parallel hidden")
# To start workers for each statement of all tests takes four minutes, and most do not
# join: so these have them, which do, and those that make their tables.  Not vacuum,
# whose VACUUM FULL of catalogs others then meet in a deadlock, nor portals, which reads
# a table in the order in which workers have copied it, nor window, where peers come in
# the order in which workers append the branches of UNION ALL.
regress_parallel_tests=(test_setup copy create_misc create_function_c create_index create_view
	select select_distinct select_having subselect union case join aggregates random
	join_hash groupingsets update delete rowsecurity rangefuncs tsrf limit plancache plpgsql
	prepare returning rowtypes with equivclass select_views portals_p2 matview merge
	tablesample select_parallel write_parallel partition_join partition_prune
	partition_aggregate memoize incremental_sort inherit updatable_views)
# Those that hide rows, and those that make their tables
regress_hidden_tests=(test_setup copy create_misc create_function_c create_index create_view
	privileges rowsecurity updatable_views select_views)
# Plans in one forced run that have a join filter from an index, and that make one for
# a hash table: far more than these
regress_joins_least=300
regress_builds_least=200

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
	regress_in "$source_dir" plain off off
	regress_in "$source_dir" forced force force
	for run in ${regress_extra[$(server_major)]:-}; do
		case $run in
			indexed)
				regress_in "$source_dir" indexed force index
				;;
			parallel)
				regress_in "$source_dir" parallel-plain off off
				regress_in "$source_dir" parallel-forced force force
				;;
			hidden)
				regress_hidden "$source_dir"
				;;
		esac
	done
}

# regress_in SOURCE NAME FILTER_SCAN JOIN_FILTER: all tests on a server of their own,
# counted, and compared with the plain ones
regress_in()
{
	local source_dir=$1 name=$2 plain=plain parallel=()

	case $name in
		parallel-*)
			plain="parallel-plain"
			parallel=("$(regress_parallel_mode) = regress" "max_worker_processes = 32"
				"max_parallel_workers = 32" "parallel_setup_cost = 0"
				"parallel_tuple_cost = 0" "min_parallel_table_scan_size = 0")
			;;
	esac
	regress_server "$3" "$4" "${parallel[@]}"
	as_server mkdir "$work/regress-$name"
	regress_schedule "$source_dir" "$name" >"$work/tmp/schedule"
	suite "PostgreSQL's own tests, $name" regress_run "$source_dir" "$work/regress-$name"
	suite "The server after these" no_crash
	[ "$name" != "$plain" ] || return 0
	suite "Plans with join filters" regress_counts "$4"
	suite "Results of PostgreSQL's own tests, $name" regress_compare "$plain" "$name"
}

# regress_hidden SOURCE: do plans tell what EXPLAIN ANALYZE must not?
regress_hidden()
{
	local source_dir=$1

	regress_server force force "log_line_prefix = '%p '" "debug_print_rewritten = on" \
		"auto_explain.log_analyze = on" "auto_explain.log_timing = off"
	as_server mkdir "$work/regress-hidden"
	regress_schedule "$source_dir" hidden >"$work/tmp/schedule"
	suite "PostgreSQL's own tests, hidden" regress_run "$source_dir" "$work/regress-hidden"
	suite "The server after these" no_crash
	suite "Plans that hide rows" perl "$root/test/regress/hidden.pl" "$work/log/server"
}

# Its name is another since 16
regress_parallel_mode()
{
	if [ "$(server_major)" -lt 16 ]; then
		echo force_parallel_mode
	else
		echo debug_parallel_query
	fi
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

# regress_server FILTER_SCAN JOIN_FILTER [SETTING...]: with the database that
# pg_regress would make
regress_server()
{
	local psql=("$bindir/psql" -X -q -v ON_ERROR_STOP=1) filter_scan=$1 join_filter=$2

	shift 2

	fresh_server "restart_after_crash = off" "max_prepared_transactions = 2" \
		"shared_preload_libraries = 'auto_explain'" \
		"session_preload_libraries = 'bloomfilter'" \
		"auto_explain.log_min_duration = 0" "auto_explain.log_nested_statements = on" \
		"bloomfilter.filter_scan = $filter_scan" \
		"bloomfilter.join_filter = $join_filter" "$@"
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

# regress_schedule SOURCE NAME: which tests a run has
regress_schedule()
{
	local names=() pattern=.

	case $2 in
		parallel-*) names=("${regress_parallel_tests[@]}") ;;
		hidden) names=("${regress_hidden_tests[@]}") ;;
	esac
	[ ${#names[@]} -eq 0 ] || pattern="^($(IFS='|'; echo "${names[*]}"))\$"
	awk -v pattern="$pattern" '$1 == "test:" {
			line = ""
			for (i = 2; i <= NF; i++)
				if ($i ~ pattern)
					line = line " " $i
			if (line != "")
				print "test:" line
		}' "$1/src/test/regress/parallel_schedule"
}

# regress_run SOURCE OUTPUT: tests differ from what is expected by their indexes, so only
# that all have run is told here
regress_run()
{
	local tests=$1/src/test/regress schedule=$work/tmp/schedule expected=() runs

	[ "$(server_major)" -lt 16 ] || expected=(--expecteddir="$tests")
	as_server "$(dirname "$("$PG_CONFIG" --pgxs)")/../test/regress/pg_regress" \
		--use-existing --dbname=regression --host="$PGHOST" --user=postgres \
		--bindir="$bindir" --dlpath="$1/lib" --inputdir="$tests" "${expected[@]}" \
		--outputdir="$2" --schedule="$schedule" >"$work/log/pg_regress" 2>&1 ||
		true
	runs=$(find "$2/results" -name '*.out' | wc -l)
	if [ "$runs" -lt "$(sed -n 's/^test: //p' "$schedule" | wc -w)" ]; then
		cat "$work/log/pg_regress"
		echo "not ok - only $runs tests have run"
		return 1
	fi
	echo "ok - $runs tests have run"
}

# regress_counts JOIN_FILTER
regress_counts()
{
	regress_count 'Probe: .* in index ' "$regress_joins_least" \
		"scans had a join filter from an index"
	[ "$1" != force ] ||
		regress_count 'Custom Scan (Join Filter Build)' "$regress_builds_least" \
			"hash tables had a join filter made"
}

# regress_count PATTERN LEAST WHAT: lines of plans in the server's log
regress_count()
{
	local count

	count=$(grep -c -e "$1" "$work/log/server" || true)
	if [ "$count" -ge "$2" ]; then
		echo "ok - $count $3"
	else
		echo "not ok - only $count $3"
	fi
}

# regress_compare PLAIN OTHER
regress_compare()
(
	cd "$work/tmp" &&
		perl "$root/test/regress/compare.pl" "$work/regress-$1/results" \
			"$work/regress-$2/results"
)
