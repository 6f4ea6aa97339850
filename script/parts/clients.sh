# shellcheck shell=bash
#
# The programs in examples/clients/ and docs/redisbloom.md (test/slow/clients.pl) and in examples/
# (test/slow/examples.pl), with the drivers that Debian and npm have.  Those that cannot be
# installed are skipped.  Half a minute, and as much to install them.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/script/parts/lib.sh"

clients_packages=(python3-psycopg python3-psycopg2 python3-asyncpg python3-sqlalchemy
	python3-django libpostgresql-jdbc-java default-jdk-headless nodejs node-pg python3-xxhash libguava-java
	python3-alembic golang-go golang-github-jackc-pgx-v4-dev)

# What Debian does not have, and pg where Debian's package cannot be installed beside
# another node
npm_modules=(hash-wasm pg drizzle-orm drizzle-kit)

fetch_npm_modules()
{
	command -v npm >/dev/null || return 0
	as_server mkdir -p "$work/npm"
	as_server npm install --silent --no-audit --no-fund --cache "$work/npm/cache" \
		--prefix "$work/npm" "${npm_modules[@]}" >"$work/log/npm" 2>&1 || cat "$work/log/npm"
	export CLIENTS_NODE_PATH=$work/npm/node_modules
}

part_clients()
{
	local package

	# one by one: the test skips what is missing afterwards, and says so
	for package in "${clients_packages[@]}"; do
		(need_packages "$package") >"$work/log/apt" 2>&1 || true
	done
	fetch_npm_modules
	need_installed
	suite "Programs with drivers" slow_tests clients
	suite "Programs in examples/" slow_tests examples
}
