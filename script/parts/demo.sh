# shellcheck shell=bash
#
# script/demo with few rows: what it says of plans is in the plans that it shows.  With
# --keep, the command that it prints reaches the server, and Ctrl-C ends all of it.

# says_of_plans LOG: of the plans with the index it says what they have
says_of_plans()
{
	local exists not_exists said status=0

	exists=$(awk '/^The plans after/ { on = 1 } on && /Aggregate/ { n++ } on && n == 1' "$1")
	not_exists=$(awk '/^The plans after/ { on = 1 } /^CPU time/ { exit } on && /Aggregate/ { n++ } on && n == 2' "$1")
	case $exists in
		*"in index blacklist_filter"*) said='^The Filter Scan looks the hosts of a page' ;;
		*"in join filter"*) said='^The Filter Scan looks the hosts up in a filter' ;;
		*) said='^The planner expects no gain' ;;
	esac
	verdict "of EXISTS" grep -q "$said" <(sed -n '/^EXISTS/,/^NOT EXISTS/p' "$1") || status=1
	case $not_exists in
		*"Filter Bypass"*) said='^The Filter Bypass returns' ;;
		*"Join Filter Build"*) said='^The Join Filter Build makes' ;;
		*) said='^The planner expects no gain' ;;
	esac
	verdict "of NOT EXISTS" grep -q "$said" <(sed -n '/^NOT EXISTS/,/^2\. /p' "$1") || status=1
	return "$status"
}

# demo_shows HOSTS PART: of a list of so many, the text
demo_shows()
{
	local log=$work/log/demo status=0

	seq -f 'bad%g.example' "$1" >"$work/bad"
	bash "$root/script/demo" --rows 100000 --blacklist "$work/bad" >"$log" 2>&1 || status=1
	says_of_plans "$log" || status=1
	verdict "\"$2\" is seen with $1 hosts" grep -qF "$2" "$log" || status=1
	[ "$status" -eq 0 ] || cat "$log"
	return "$status"
}

# A short list, which is not worth a Filter Bypass, and a long one
demo_looks_at_plans()
{
	local status=0

	demo_shows 1000 "The Join Filter Build makes" || status=1
	demo_shows 300000 "The Filter Bypass returns" || status=1
	return "$status"
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
