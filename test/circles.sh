#!/bin/bash
#
# test/circles.sh: script/circles on small sources that are made up.  In TAP.

set -euo pipefail

circles=$(cd "$(dirname "${BASH_SOURCE[0]}")/../script" && pwd -P)/circles
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
status=0

# begin: a.c calls b, which is filter/c's only user; nothing stands in a circle
begin()
{
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/src/filter" "$tree/script"
	cd "$tree/src"
	printf '%s\n' '#pragma once' 'extern int a(void);' >a.h
	printf '%s\n' '#pragma once' 'extern int b(void);' >b.h
	printf '%s\n' '#pragma once' 'extern int c;' >filter/c.h
	printf '%s\n' '#include "a.h"' '#include "b.h"' 'int a(void) { return b(); }' >a.c
	printf '%s\n' '#include "b.h"' '#include "filter/c.h"' 'int b(void) { return c; }' >b.c
	printf '%s\n' '#include "c.h"' 'int c = 1;' >filter/c.c
}

# expect NAME STATUS TEXT...: what script/circles returns, and says among other lines
expect()
{
	local name=$1 wanted=$2 result=0 source output text good=yes

	shift 2
	for source in *.c filter/*.c; do
		gcc -c -I. -o "${source%.c}.o" "$source"
	done
	output=$("$circles" "$tree" 2>&1) || result=$?
	[ "$result" = "$wanted" ] || good=no
	for text; do
		grep -qxF -- "$text" <<<"$output" || good=no
	done
	if [ "$good" = yes ]; then
		echo "ok - $name"
	else
		printf '%s\n' "not ok - $name; it returned $result, and said:" "$output"
		status=1
	fi
}

begin
expect "no circle" 0 "ok - no circle of includes" "ok - no circle of calls"

begin
echo '#include "a.h"' >>b.h
echo '#include "b.h"' >>a.h
expect "headers that include each other" 1 "not ok - a circle of includes: a -> b -> a" \
	"#   src/b.h:3 includes a.h" "ok - no circle of calls"

begin
sed -i 's/return c/extern int a(void); return a()/' b.c
expect "functions that call each other, though nothing says so" 1 \
	"ok - no circle of includes" "not ok - a circle of calls: a -> b -> a" "#   b uses a of a"

begin
echo '#include "../a.h"' >>filter/c.c
echo 'extern int a(void); int (*d)(void) = a;' >>filter/c.c
expect "three files, one in another folder" 1 \
	"not ok - a circle of includes: a -> b -> filter/c -> a" \
	"not ok - a circle of calls: a -> b -> filter/c -> a" "#   filter/c uses a of a"

echo 'calls filter/c b a' >../script/circles.known
expect "one of two is known" 1 "not ok - a circle of includes: a -> b -> filter/c -> a" \
	"ok - a known circle of calls: a -> b -> filter/c -> a"
echo 'includes a b filter/c more' >>../script/circles.known
expect "both are" 0 "ok - a known circle of includes: a -> b -> filter/c -> a"

begin
echo 'calls a b' >../script/circles.known
expect "what is known is gone" 1 \
	"not ok - no circle is left of line 1 of script/circles.known: delete it"

exit "$status"
