# shellcheck shell=bash
#
# Checks the release archive and the Debian package: "make dist" makes the same bytes
# twice; the package is built from the archive, in a root that has what debian/control
# requires; then lintian; the SQL tests, out of the archive, on the installed package
# (debian/tests); and in a root with a server and no compiler the package
# installed, where an ordinary user creates the extension and does what
# README.md shows first; and there, the package of the version before, upgraded while its
# filters and indexes are in use.  That is the newest tag before, or the commit that
# $BLOOMFILTER_PREVIOUS names.  Needs mmdebstrap, git, unzip, and root to enter roots.

# shellcheck source-path=SCRIPTDIR source=../roots.sh
. "$root/script/roots.sh"

# The PostgreSQL that is packaged for, and the suite of Debian that has it
package_major=${BLOOMFILTER_PACKAGE_MAJOR:-15}
package_suite=$(root_suites "$package_major")

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

previous_version()
{
	echo "${BLOOMFILTER_PREVIOUS:-$(git -c safe.directory='*' -C "$root" describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null)}"
}

# As a builder has built it then, in /tmp/before
build_previous()
{
	mkdir -p "$root_tmp/before/source" &&
		git -c safe.directory='*' -C "$root" archive "$(previous_version)" |
		tar -C "$root_tmp/before/source" -xf - || return
	verdict "built" in_root "$work/build_root" sh -euc '
		cd /tmp/before/source
		dpkg-buildpackage --build=binary --no-sign'
}

# dpkg needs root, whose pg_virtualenv runs the server as postgres
upgrade_package()
{
	cat >"$root_tmp/make.sql" <<-'END'
		CREATE EXTENSION bloomfilter;
		CREATE TABLE filters AS
			SELECT bloom_agg(n) AS b, cuckoo_agg(n) AS c FROM generate_series(1, 5000) n;
		CREATE TABLE list AS SELECT n, n::text AS t FROM generate_series(1, 5000) n;
		CREATE INDEX by_number ON list USING membership (n);
		CREATE INDEX by_both ON list USING membership (n, t) WITH (error_rate = 0.0001);
		CREATE VIEW seen AS SELECT n FROM filters, generate_series(1, 20000) n WHERE b @> n AND n <@ c;
	END
	cat >"$root_tmp/look.sql" <<-'END'
		SELECT md5(b::bytea), md5(c::bytea) FROM filters;
		SELECT count(*), sum(n) FROM seen;
		SELECT i, membership_check(i), md5(membership_filter(i)::bytea) FROM unnest('{by_number, by_both}'::regclass[]) AS i;
		SELECT membership_contains('by_both', ROW(7, '7')), membership_contains('by_both', ROW(7, '8'));
	END
	cat >"$root_tmp/upgrade" <<-'END'
		psql="psql -XqAt -v ON_ERROR_STOP=1"
		$psql -f /tmp/make.sql
		$psql -f /tmp/look.sql >/tmp/looked_before
		dpkg --install /tmp/build/*-bloomfilter_*.deb
		$psql -f /tmp/look.sql >/tmp/looked_between
		$psql -c "ALTER EXTENSION bloomfilter UPDATE" -f /tmp/look.sql >/tmp/looked_after
		$psql -c "INSERT INTO list SELECT n, n FROM generate_series(5001, 6000) n" \
			-c "SELECT membership_check('by_number'), membership_check('by_both')" \
			-c "SELECT extversion = (SELECT default_version FROM pg_available_extensions WHERE name = extname)
				FROM pg_extension WHERE extname = 'bloomfilter'" >/tmp/gone_on
	END
	verdict "installed over the version before, and updated" in_root "$work/install_root" sh -euc '
		dpkg --install /tmp/before/*-bloomfilter_*.deb
		pg_virtualenv sh -eu /tmp/upgrade'
	verdict "what the version before has made is read before the update" \
		cmp "$root_tmp/looked_before" "$root_tmp/looked_between"
	verdict "and after it" cmp "$root_tmp/looked_before" "$root_tmp/looked_after"
	verdict "indexes take rows, and the version is the new one" \
		cmp "$root_tmp/gone_on" <(printf '6000|6000\nt\n')
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
	if [ -z "$(previous_version)" ]; then
		skip "Debian package: upgrade" "no version was tagged before"
		return
	fi
	suite "Debian package: the version before" build_previous
	suite "Debian package: upgrade in a clean root" upgrade_package
}
