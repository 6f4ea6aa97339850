# shellcheck shell=bash
#
# The same bytes on every machine: the unit tests, golden vectors among them, as s390x
# (big-endian) and as aarch64, built by Debian's cross compilers and run under
# qemu-user; and a clear error where the compiler has no integers of 128 bits.  Both
# at once, with a fifth of the random trials (see trials() in test/unit/unit.h).

machine_packages=(qemu-user-static gcc-s390x-linux-gnu libc6-dev-s390x-cross
	gcc-aarch64-linux-gnu libc6-dev-arm64-cross)

# machine_unit CPU: build the unit tests in a copy of the sources of its own, and run them
machine_unit()
{
	local cpu=$1 copy=$work/machine-$1

	copy_sources "$copy" &&
		as_server make -C "$copy" --no-print-directory PG_CONFIG="$PG_CONFIG" \
			CC="$cpu-linux-gnu-gcc -static -Werror" test/unit/unit_test || return
	as_server env -u UNIT_ALL "qemu-$cpu-static" "$copy/test/unit/unit_test"
}

# i686 has no __int128, and the error says what is wanted
refuses_32_bits()
{
	local errors

	! errors=$(gcc -m32 -fsyntax-only -Isrc src/filter/bits.c 2>&1) &&
		grep -q 'error.*needs a 64-bit machine' <<<"$errors"
}

part_machines()
{
	if ! (need_packages "${machine_packages[@]}") >"$work/log/apt" 2>&1; then
		skip "Unit tests as s390x and aarch64" "Debian's cross compilers or qemu cannot be had"
		return
	fi
	beside s390x machine_unit s390x
	suite "Unit tests as aarch64" machine_unit aarch64
	suite "Unit tests as s390x" finished s390x
	if [ "$(uname -m)" = x86_64 ]; then
		cd "$root" && suite "32-bit machines are refused" verdict "by a clear error" refuses_32_bits
	else
		skip "32-bit machines are refused" "-m32 is a flag of x86-64's compiler"
	fi
}
