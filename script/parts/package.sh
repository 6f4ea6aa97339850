# shellcheck shell=bash
#
# Checks the release archive and the Debian package: "make dist" makes the same bytes
# twice; the package is built from the archive, in a root that has what debian/control
# requires; then lintian; the SQL tests, out of the archive, on the installed package
# (debian/tests); and in a root with a server and no compiler the package
# installed, where an ordinary user creates the extension and does what
# README.md shows first.  Needs mmdebstrap, git, unzip, and root to enter roots.

# shellcheck source-path=SCRIPTDIR source=../roots.sh
. "$root/script/roots.sh"

# The suite of Debian that is packaged for, and its PostgreSQL
package_suite=bookworm
package_major=15

# clean_root DIRECTORY PACKAGE...
clean_root()
{
	local dir=$1

	shift
	# shellcheck disable=SC2016
	mmdebstrap --variant=minbase --mode=root --include="$*" \
		--dpkgopt=force-unsafe-io \
		--setup-hook='mkdir -p "$1/etc/postgresql-common/createcluster.d"' \
		--setup-hook='echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.d/none.conf"' \
		"$package_suite" "$dir" "$(debian_mirror)"
}

# What debian/control requires, without versions: mmdebstrap has but one
build_depends()
{
	sed -n 's/^Build-Depends: //p' "$root/debian/control" |
		sed 's/([^)]*)//g; s/debhelper-compat/debhelper/; s/,/ /g'
}

# Both at once, one core each
make_clean_roots()
{
	local building status=0

	# shellcheck disable=SC2046
	clean_root "$work/build_root" build-essential $(build_depends) lintian \
		"postgresql-$package_major" &
	building=$!
	clean_root "$work/install_root" "postgresql-$package_major" || status=1
	wait "$building" || status=1
	return "$status"
}

# What the sources are now, committed, archived and unpacked; and archived again
# in a clone of another place, clock and umask
dist()
{
	local -a git=(as_server git -c user.name=test -c user.email=test@localhost)

	copy_sources "$work/clone" &&
		"${git[@]}" -C "$work/clone" init -q &&
		"${git[@]}" -C "$work/clone" add -A &&
		"${git[@]}" -C "$work/clone" commit -q -m test &&
		"${git[@]}" clone -q "$work/clone" "$work/again" &&
		build "$work/clone" dist &&
		(umask 077 && TZ=Asia/Kathmandu build "$work/again" dist) || return
	verdict "two archives of a commit are the same bytes" \
		cmp "$work/clone/$archive.zip" "$work/again/$archive.zip"
	as_server unzip -q -d "$work" "$work/clone/$archive.zip"
	verdict "$archive.zip holds all that is committed" \
		diff -r --exclude=.git --exclude="$archive.zip" "$work/clone" "$work/$archive"
}

# As a builder does, in /tmp/build
build_package()
{
	cp -R "$work/$archive" "$root_tmp/build/"
	verdict "debian/control is what debian/control.in makes" \
		in_root "$work/build_root" sh -euc 'cd /tmp/build/*/ && pg_buildext checkcontrol'
	verdict "built" in_root "$work/build_root" sh -euc '
		cd /tmp/build/*/
		dpkg-buildpackage --build=binary --no-sign'
}

lint_package()
{
	# no bug requests the package, because it is not in Debian
	verdict "lintian finds nothing" in_root "$work/build_root" sh -euc '
		lintian --fail-on=error,warning,info --display-info \
			--suppress-tags=initial-upload-closes-no-bugs /tmp/build/*.changes'
}

# pg_regress says how many
test_package()
{
	in_root "$work/build_root" sh -euc '
		dpkg --install /tmp/build/*-bloomfilter_*.deb
		chown -R postgres: /tmp/build
		cd /tmp/build/*/
		runuser -u postgres debian/tests/installcheck'
}

# The first example of README.md: its SQL, or what that prints
first_example()
{
	awk -v fence="\`\`\`$1" '
		/^```/ && inside { exit }
		inside { print }
		$0 == fence { inside = 1 }' "$root/README.md"
}

# dpkg refuses a package that needs more than there is
install_package()
{
	in_root "$work/install_root" sh -euc '
		dpkg --install /tmp/build/*-bloomfilter_*.deb
		runuser -u postgres -- pg_virtualenv sh -eu /tmp/use'
}

use_package()
{
	first_example sql >"$root_tmp/example"
	first_example text >"$root_tmp/expected"
	cat >"$root_tmp/use" <<-'END'
		psql="psql -Xq -v ON_ERROR_STOP=1"
		$psql -c "CREATE ROLE ordinary LOGIN PASSWORD 'word'" \
			-c "GRANT CREATE ON DATABASE postgres TO ordinary"
		export PGUSER=ordinary PGPASSWORD=word
		$psql -c "CREATE SCHEMA ordinary" -c "CREATE EXTENSION bloomfilter"
		$psql -f /tmp/example >/tmp/printed
	END
	verdict "an ordinary user creates the extension" install_package
	verdict "README.md's first example prints what it says" \
		diff "$root_tmp/expected" <(sed 's/ *$//; /^$/d' "$root_tmp/printed")
}

part_package()
{
	local work=$work/package archive since=$EPOCHREALTIME

	as_server mkdir "$work" "$work/log"
	(need_packages git unzip)
	archive=bloomfilter-$(sed -n 's/^   "version": "\(.*\)",$/\1/p' "$root/META.json")
	suite "Archive" dist

	if ! is_root; then
		skip "Debian package" "only root can enter a root"
		return
	fi
	(need_packages mmdebstrap)
	if ! make_clean_roots >"$work/log/roots" 2>&1; then
		skip "Debian package" "no roots: $(grep '^E:' "$work/log/roots" | tail -n 1)"
		return
	fi
	say "Two roots of $package_suite made in $(seconds_since "$since") s."
	in_root "$work/build_root" true
	mkdir "$root_tmp/build"
	suite "Debian package: build" build_package
	suite "Debian package: lintian" lint_package
	suite "Debian package: SQL tests" test_package
	suite "Debian package: installed in a clean root" use_package
}
