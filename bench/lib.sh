# shellcheck shell=bash
#
# What the benchmarks with a server have in common, beside script/lib.sh, on
# which this builds: a server that has memory enough and nothing else to do,
# and the functions of lib.sql in it.

# shellcheck source-path=SCRIPTDIR source=../script/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../script/lib.sh"

here=$root/bench

# read_numbers NAMES ARGUMENT...: each of the arguments --NAME NUMBER sets the variable
# of that name
read_numbers()
{
	local names=" $1 "

	shift
	while [ $# -gt 0 ]; do
		if [[ $1 == --* && $names == *" ${1#--} "* ]]; then
			[[ ${2:-} =~ ^[1-9][0-9]{0,9}$ ]] || die "$1 wants a number, from 1"
			declare -g "${1#--}=$2"
			shift 2
		elif [ "$1" = -h ] || [ "$1" = --help ]; then
			usage
			exit 0
		else
			usage >&2
			exit 2
		fi
	done
}

sql()
{
	PGOPTIONS=-cclient_min_messages=warning psql -XAtq -v ON_ERROR_STOP=1 -d bench "$@"
}

# The extension, built from the sources as they are now
build_extension()
{
	copy_sources "$work/source"
	install_extension "$work/source" with_llvm=no >"$work/log/build" 2>&1 ||
		{ cat "$work/log/build" >&2; die "the build failed"; }
}

# start_bench_server [SETTING...]: with a database "bench"; a setting given
# here outdoes the one below
start_bench_server()
{
	start_server "jit = off" "max_parallel_workers_per_gather = 0" \
		"shared_buffers = '5GB'" "work_mem = '1GB'" "hash_mem_multiplier = 2" \
		"maintenance_work_mem = '256MB'" "wal_level = minimal" \
		"max_wal_senders = 0" "max_wal_size = '16GB'" "autovacuum = off" "$@"
	make_bench_database
}

make_bench_database()
{
	createdb bench
	sql -f "$here/lib.sql"
}

# timed TEXT SQL: run it, and say how long it took; its answer in $answer
timed()
{
	local since=$EPOCHREALTIME

	printf '  %-58s' "$1"
	# shellcheck disable=SC2034
	answer=$(sql -c "$2")
	printf '%8s s\n' "$(seconds_since "$since")"
}

# The plan of a query, without its costs
plan()
{
	sql -c "EXPLAIN (COSTS off) $1" | sed 's/^/      /'
}
