#!/bin/bash
#
# bench/redis.sh: batches of elements, beside RedisBloom's BF.MADD and BF.MEXISTS.
# Builds, starts a throw-away server of each (see script/lib.sh), fills both alike, and
# prints microseconds a batch, elapsed and of the server's CPU, and ratios to Redis.
# What adds elements is taken from the documents, as it is there.
#
#     REDISBLOOM=redisbloom.so bench/redis.sh             three minutes
#     REDISBLOOM=... bench/redis.sh --rounds 15
#
# Debian has Redis, but not RedisBloom; its module is built from its sources.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rounds=15

read_numbers rounds "$@"
module=$(readlink -e "${REDISBLOOM:-}") || die "REDISBLOOM does not name the module of RedisBloom"

# Elements there before, and room; FULL is the filter that is only asked
there=500000
capacity=1000000
full=1000000

# statement FILE BEGIN END: from the document, the lines from one that begins so to one that does
statement()
{
	awk -v from="$2" -v to="$3" 'index($0, from) == 1 { on = 1 } on { print } on && index($0, to) == 1 { exit }' "$root/$1"
}

make_sets()
{
	{
		statement docs/redisbloom.md "CREATE TABLE visited " "CREATE INDEX"
		statement docs/redisbloom.md "CREATE FUNCTION visited_add_all" "END"
		statement docs/redisbloom.md "CREATE TABLE seen " "ANALYZE seen"
		statement examples/new_batches.md "CREATE FUNCTION seen_add_all" "END"
		echo "CREATE FUNCTION item(n bigint) RETURNS text
			RETURN 'https://www.example.com/catalogue/section/articles/item-' || lpad(n::text, 14, '0');
			INSERT INTO visited SELECT item(n) FROM generate_series(1, $there) n;
			SELECT cardinality(seen_add_all(array_agg(item(n)))) FROM generate_series(1, $there) n GROUP BY n / 5000;
			CREATE TABLE filters AS SELECT bloom_agg(item(n), $full, NULL) AS f FROM generate_series(1, $full) n;"
	} | sql -f - >"$work/log/sets"
	sql -c "VACUUM (FREEZE, ANALYZE)"
}

start_redis()
{
	as_server redis-server --port 0 --unixsocket "$work/redis.sock" --unixsocketperm 777 \
		--save '' --appendonly no --dir "$work" --loadmodule "$module" --pidfile "$work/redis.pid" \
		--daemonize yes --logfile "$work/log/redis" >"$work/log/redis.start"
	until [ -s "$work/redis.pid" ] && [ -S "$work/redis.sock" ]; do sleep 0.1; done
}

main()
{
	local status=0

	build_extension
	start_bench_server "autovacuum = on" "synchronous_commit = off"
	make_sets
	start_redis
	python3 "$here/redis.py" "$work/redis.sock" "$(cat "$work/redis.pid")" "$PGHOST" \
		"$rounds" "$capacity" "$there" "$full" || status=$?
	kill "$(cat "$work/redis.pid")"
	return "$status"
}

need_packages python3 redis-server
PATH=$bindir:$PATH
in_workplace main
