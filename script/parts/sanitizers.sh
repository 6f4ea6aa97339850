# shellcheck shell=bash
#
# The regression tests, fuzz.sql and model.sql on a library that was built with
# gcc's sanitizers for addresses and undefined behaviour.  Debian's PostgreSQL 15
# hangs under the former, in a library that it links: then 17 in a root (see
# script/roots.sh), which is skipped if it cannot be had.  The regression tests run
# with each kernel that the processor has.  Some six minutes.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/script/parts/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../roots.sh
. "$root/script/roots.sh"

# The first PostgreSQL whose packages of Debian run under the sanitizers
sanitized_major=17

# Those of src/filter/block512.c
block_kernels=(avx512 avx2 portable)

part_sanitizers()
{
	local kernel

	if [ "$(server_major)" -lt "$sanitized_major" ]; then
		test_in_root "Sanitizers, in a root" "pg$sanitized_major" sanitizers
		return
	fi

	fresh_build sanitizers COPT="-fsanitize=address,undefined,float-cast-overflow \
		-fno-sanitize-recover=all -fno-omit-frame-pointer"
	for kernel in "${block_kernels[@]}"; do
		sanitized_server "BLOOMFILTER_KERNEL=$kernel"
		if ! has_kernel; then
			skip "SQL tests, sanitized, kernel $kernel" "not on this processor"
			continue
		fi
		suite "SQL tests, sanitized, kernel $kernel" regress "$work/sanitizers"
		no_fault
	done

	sanitized_server
	suite "Damaged filters in SQL, sanitized" run_sql fuzz/fuzz.sql \
		-v seed="${FUZZ_SEED:-1}" -v steps=1000 -v file="$work/tmp/fuzz.copy"
	suite "Random operations, sanitized" run_sql model/model.sql \
		-v seed="${MODEL_SEED:-1}" -v steps=2000 -v filters=1000
	no_fault
}

# sanitized_server [VARIABLE=VALUE]: with this in its environment
sanitized_server()
{
	fresh_server "restart_after_crash = off"
	stop_server
	as_server env LD_PRELOAD="$(gcc -print-file-name=libasan.so)" \
		ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 \
		UBSAN_OPTIONS=print_stacktrace=1 "$@" \
		"$bindir/pg_ctl" -s -w -D "$work/data" -l "$work/log/server" start
}

# Where the processor lacks it, the library cannot be loaded; other reasons fail a test
has_kernel()
{
	! as_server "$bindir/psql" -X -q -d postgres -c "LOAD 'bloomfilter'" 2>&1 |
		grep -q "is not supported by this CPU"
}

no_fault()
{
	suite "The server after these" no_crash
	suite "Reports of the sanitizers" no_sanitizer_report
}

no_sanitizer_report()
{
	if grep -A 20 -E 'ERROR: AddressSanitizer|runtime error:' "$work/log/server"; then
		echo "not ok - a sanitizer found something"
		return 1
	fi
	echo "ok - no sanitizer found anything"
}
