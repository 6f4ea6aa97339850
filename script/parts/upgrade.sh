# shellcheck shell=bash
#
# Filters made under PostgreSQL 15 are the same under later ones, after
# pg_upgrade and after pg_dump: test/slow/upgrade.pl.  Joins send their filters
# from either to the other: test/slow/foreign_majors.pl.  In throw-away roots that
# have both versions (see script/roots.sh).  Needs what the part majors needs.

# shellcheck source-path=SCRIPTDIR source=../roots.sh
. "$root/script/roots.sh"

# The versions to which one upgrades
upgrade_majors=(17 18 19)

part_upgrade()
{
	local major

	if [ -e /etc/bloomfilter-root ]; then
		upgrade_here
		return
	fi
	for major in "${upgrade_majors[@]}"; do
		if in_time; then
			test_in_root "Upgrade from $old_major to $major" "pg$major" upgrade
		else
			skip "Upgrade from $old_major to $major" "no time is left"
		fi
	done
}

# Within a root: the extension is installed, as a user installs it, for both
upgrade_here()
{
	local old=/usr/lib/postgresql/$old_major

	copy_sources "$work/gcc"
	copy_sources "$work/old"
	suite "Build for both versions" both_installed "$old/bin/pg_config"
	suite "Filters that move" as_server env OLD_INSTALLATION="$old" \
		make -C "$work/gcc" --no-print-directory PG_CONFIG="$PG_CONFIG" \
		installcheck REGRESS= ISOLATION= PROVE_FLAGS=--verbose \
		PROVE_TESTS="test/slow/upgrade.pl test/slow/foreign_majors.pl"
}

both_installed()
{
	verdict "built for the new version" build "$work/gcc" with_llvm=no || return
	PG_CONFIG=$1 verdict "built for the old version" build "$work/old" with_llvm=no || return
	make -C "$work/gcc" PG_CONFIG="$PG_CONFIG" with_llvm=no install &&
		make -C "$work/old" PG_CONFIG="$1" with_llvm=no install
}
