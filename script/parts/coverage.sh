# shellcheck shell=bash
#
# Which lines of src/ the tests run: the unit, SQL, isolation and TAP tests on
# a library that counts, and a table of each file's share.  Fails if the share
# of all lines falls below coverage_floor.  Needs gcc's gcov; docs/dev/internals.md
# says what is not run, and why.

# Percent: 97.8 were run in November 2026, and other machines may lack what takes
# some lines, such as an instruction set
coverage_floor=96

# Without optimization, each line is itself; fortified functions want some
coverage_flags="-O0 --coverage -U_FORTIFY_SOURCE"

# What gcov says of every object, as lines "file:line:1 or 0:text"; those of a
# header that several objects have are run if any of them ran it.
covered_lines()
{
	(cd "$1" && find . -name '*.gcda' -print0 | as_server xargs -0 gcov --stdout --relative-only) |
		awk -F : '
			$2 + 0 == 0 {
				if ($3 == "Source")
				{
					file = $4
					while (sub(/[^\/.]+\/\.\.\//, "", file))
						continue
				}
				next
			}
			file ~ /^src\// && $1 !~ /-$/ {
				place = file ":" $2 + 0
				ran[place] = ran[place] || $1 ~ /[0-9]/
				code = $0
				sub(/^[^:]*:[^:]*:[ \t]*/, "", code)
				text[place] = code
			}
			END {
				for (place in ran)
					print place ":" (ran[place] ? 1 : 0) ":" text[place]
			}' | sort -t : -k 1,1 -k 2,2n
}

coverage_table()
{
	awk -F : '
		function row(name, ran, all) {
			printf "%-32s %6d of %6d lines  %5.1f %%\n", name, ran, all, 100 * ran / all
		}
		{ all[$1]++; ran[$1] += $3; total++; total_ran += $3 }
		!($1 in seen) { seen[$1] = 1; files[++count] = $1 }
		END {
			for (i = 1; i <= count; i++)
				row(files[i], ran[files[i]], all[files[i]])
			row("total", total_ran, total)
		}' "$1"
}

enough_coverage()
{
	awk -F : -v floor="$coverage_floor" '
		{ total++; ran += $3 }
		END {
			share = total ? 100 * ran / total : 0
			printf "%s - %.1f %% of all lines are run, %s %% must be\n",
				share < floor ? "not ok" : "ok", share, floor
			exit share < floor
		}' "$1"
}

part_coverage()
{
	local work=$work/coverage tap

	as_server mkdir "$work" "$work/log"
	copy_sources "$work/gcc"
	suite "Coverage: build" builds "$work/gcc" with_llvm=no COPT="$coverage_flags"
	# Beside the server's, which mostly wait for one backend
	beside unit build "$work/gcc" CC="gcc $coverage_flags" unit-check
	install_extension "$work/gcc" with_llvm=no COPT="$coverage_flags" \
		>"$work/log/install" 2>&1 ||
		{ cat "$work/log/install"; die "make install failed"; }
	start_server "statement_timeout = '600s'"
	suite "Coverage: SQL tests" installcheck ISOLATION= TAP_TESTS=
	if has_any "$work/gcc/test/specs/*.spec"; then
		suite "Coverage: isolation tests" installcheck REGRESS= TAP_TESTS=
	fi
	# It counts instructions, of which counting lines takes its share
	tap=$(cd "$work/gcc" && printf '%s\n' test/t/*.pl | grep -v _instructions | xargs)
	suite "Coverage: TAP tests" installcheck REGRESS= ISOLATION= \
		PROVE_TESTS="$tap" PROVE_FLAGS=--verbose
	suite "Coverage: unit tests" finished unit
	# The last processes write what they counted when they end
	as_server "$bindir/pg_ctl" -s -D "$work/data" -m fast stop
	covered_lines "$work/gcc" >"$work/log/lines"
	coverage_table "$work/log/lines"
	say "Not run:"
	awk -F : '!$3' "$work/log/lines" | sed 's/:0:/: /'
	suite "Coverage: all of src/" enough_coverage "$work/log/lines"
}
