# shellcheck shell=bash
#
# script/bench filters, accuracy and growth: src/filter/ without a server.

quick_option=()

make_programs()
{
	begin "building programs"
	[ -d "$work/source" ] || copy_sources "$work/source"
	build "$work/source" bench/layouts bench/error_rate bench/growth \
		>"$work/log/programs" 2>&1 ||
		{ cat "$work/log/programs" >&2; die "the build failed"; }
	finish
	[ "$quick" = no ] || quick_option=(--quick)
}

# program NAME [OPTION...]
program()
{
	local name=$1

	shift
	"$work/source/bench/$name" "${quick_option[@]}" "$@"
}

# to_result NAME PROGRAM...: only a program that came to its end has a result
to_result()
{
	local name=$1

	shift
	program "$@" >"$work/log/$name.csv"
	result "$name" <"$work/log/$name.csv"
}

part_filters()
{
	begin "filters without a server"
	to_result filters layouts
	finish
}

part_accuracy()
{
	begin "requested and measured"
	to_result accuracy error_rate --csv
	finish
	begin "the textbook's table"
	to_result textbook error_rate --csv --classic
	finish
}

part_growth()
{
	begin "filters that grow"
	to_result growth growth
	finish
}
