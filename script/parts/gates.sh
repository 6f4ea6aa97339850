# shellcheck shell=bash
#
# What a machine can review: no warning of gcc or clang in any C source, as C23, too, tests and
# benchmarks included; no finding of clang-tidy (.clang-tidy)
# or of shellcheck (.shellcheckrc); C as script/indent formats it, with all types
# in script/typedefs.list; no source too long, and docs short enough.  Needs Debian
# packages only, and no server.

# What is made of C, but for the server's library by clang, of which the fast
# tests take care
compile()
{
	local compiler=$1
	local -a targets=(test/unit/unit_test bench/error_rate bench/hash_probe
		bench/layouts bench/growth)

	[ "$compiler" != gcc ] || targets+=(all)
	verdict "$compiler has no warning" build "$work/$compiler" --keep-going \
		--output-sync=target with_llvm=no COPT=-Werror CC="$compiler -Werror" \
		"${targets[@]}"
}

# C23, the default of gcc 15, for what needs no server: the headers of 15 to 17 are made for
# older C (see Makefile), and the roots of later ones have a gcc that builds all as C23.
c23()
{
	local compiler=$1
	local -a sources

	cd "$work/gcc" || return
	mapfile -t sources < <(find src/filter test/unit bench -name '*.c' | sort)
	verdict "$compiler has no warning of C23" "$compiler" -std=gnu2x -Wall -Wextra -Werror \
		-Wno-unused-parameter -fsyntax-only "${sources[@]}"
}

# How clang-tidy is to compile: with assertions, which tell it what holds
tidy_flags()
{
	printf '%s\n' -std=gnu99 -D_GNU_SOURCE -DUSE_ASSERT_CHECKING -Isrc \
		-isystem "$("$PG_CONFIG" --includedir-server)"
}

tidy()
{
	tidy_flags | as_server tee "$work/gcc/compile_flags.txt" >/dev/null
	(cd "$work/gcc" && find src test bench -name '*.c' -print0 | sort -z |
		xargs -0 -n 1 -P "$(nproc)" sh -c '
			if found=$(clang-tidy --quiet "$1" 2>&1); then
				echo "ok - $1"
			else
				printf "%s\nnot ok - %s\n" "$found" "$1"
				exit 1
			fi' sh)
}

# Files that name no shell are sourced by one that sets some of their variables
lint_scripts()
{
	local script status=0
	local -a scripts without

	cd "$work/gcc" || return
	mapfile -t scripts < <(grep -rlIE \
		'^(#!/bin/(ba)?sh|# shellcheck shell=bash)$' . | sort)
	for script in "${scripts[@]}"; do
		without=()
		[ "$(head -c 2 "$script")" = '#!' ] || without=(--exclude=SC2154)
		verdict "${script#./}" shellcheck "${without[@]}" "$script" || status=1
	done
	return "$status"
}

# Of a type that it does not know, pg_bsd_indent makes a product
types_are_listed()
{
	local found missing

	found=$(script/indent --typedefs .) && [ -n "$found" ] || return
	missing=$(comm -23 - script/typedefs.list <<<"$found")
	[ -z "$missing" ] || { say "$missing"; return 1; }
}

format()
{
	local status=0

	cd "$work/gcc" || return
	verdict "script/indent would change nothing" script/indent --check || status=1
	verdict "script/typedefs.list has all types" types_are_listed || status=1
	return "$status"
}

# What a reader can carry: no file of src/ above so many lines, and no more words in all
# that is written for users, with all examples; docs/dev/ is for developers
sizes()
{
	local most_lines=1000 most_words=30000 long words status=0

	cd "$work/gcc" || return
	long=$(find src -name '*.[ch]' -exec awk -v most="$most_lines" \
		'FNR == most + 1 { print FILENAME }' {} +)
	verdict "no file of src/ has more than $most_lines lines${long:+: $long}" [ -z "$long" ] || status=1
	words=$(cat README.md docs/*.md docs/reference/*.md | wc -w)
	verdict "docs for users have $words words, at most $most_words" \
		[ "$words" -le "$most_words" ] || status=1
	return "$status"
}

part_gates()
{
	local work=$work/gates

	(need_packages libbloom-dev clang clang-tidy shellcheck pg-bsd-indent binutils)
	as_server mkdir "$work" "$work/log"
	copy_sources "$work/gcc"
	copy_sources "$work/clang"
	suite "Gates: warnings of gcc" compile gcc
	suite "Gates: warnings of clang" compile clang
	suite "Gates: C23 by gcc" c23 gcc
	suite "Gates: C23 by clang" c23 clang
	suite "Gates: format" format
	suite "Gates: sizes" sizes
	suite "Gates: shellcheck" lint_scripts
	suite "Gates: clang-tidy" tidy
}
