# shellcheck shell=bash
#
# script/demo with few rows: what it says of plans is in the plans that it shows.  With
# --keep, the command that it prints reaches the server, and Ctrl-C ends all of it.

# says_of_plan NODE SENTENCE LOG: printed only if a plan of those with the index has it
says_of_plan()
{
	local plans

	plans=$(sed -n '/^The plans after/,/^EXISTS/p' "$3")
	[ "$(grep -c Aggregate <<<"$plans")" = 2 ] || return
	if grep -qF "Custom Scan ($1)" <<<"$plans"; then
		verdict "a $1, and it says so" grep -q "^The $1 $2" "$3"
	else
		verdict "no $1, and it says so" grep -q "^The plan has no $1" "$3" &&
			! grep -q "^The $1 $2" "$3"
	fi
}

# A short list, which is not worth a Filter Bypass, and a long one
demo_looks_at_plans()
{
	local log=$work/log/demo hosts status=0

	for hosts in 1000 300000; do
		seq -f 'bad%g.example' "$hosts" >"$work/bad"
		bash "$root/script/demo" --rows 100000 --blacklist "$work/bad" >"$log" 2>&1 || status=1
		says_of_plan "Filter Scan" "looks the hosts" "$log" || status=1
		says_of_plan "Filter Bypass" "returns" "$log" || status=1
		[ "$status" -eq 0 ] || { cat "$log"; return 1; }
	done
	verdict "both were seen" grep -q "^The Filter Bypass" "$log"
}

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
	suite "script/demo" demo_looks_at_plans
	suite "script/demo --keep" demo_is_kept
}
