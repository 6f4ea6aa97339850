# shellcheck shell=bash
#
# script/demo --keep with few rows: the command that it prints reaches the server, and
# Ctrl-C ends all of it.

demo_is_kept()
{
	local log=$work/log/demo pid command status=0

	seq -f 'bad%g.example' 1000 >"$work/bad"
	# A shell's background processes ignore Ctrl-C
	env --default-signal=INT bash "$root/script/demo" --keep --rows 100000 \
		--blacklist "$work/bad" >"$log" 2>&1 &
	pid=$!
	while ! command=$(grep -E '^    .*/psql -h ' "$log") && kill -0 "$pid"; do
		sleep 0.5
	done
	verdict "the server runs beside the demo, and psql reaches it" \
		[ "$(eval "$command -XAtc 'SELECT count(*) FROM visits'")" = 100000 ] || status=1
	kill -INT "$pid"
	wait "$pid"
	verdict "Ctrl-C ends it" [ $? -eq 130 ] || status=1
	verdict "and nothing remains" [ -z "$(find "$TMPDIR" -name 'bloomfilter.*')" ] || status=1
	[ "$status" -eq 0 ] || cat "$log"
	return "$status"
}

part_demo()
{
	suite "script/demo --keep" demo_is_kept
}
