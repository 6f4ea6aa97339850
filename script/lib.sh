# shellcheck shell=bash
#
# What script/test and script/demo share: fetch what is missing, build, start
# a server of our own, and take all of it away again.
#
# A script sources this file, calls need_packages for what it needs, and hands
# its work to in_workplace as a function.  That function runs with $work set,
# a temporary directory that holds everything: the copy of the sources, the
# installed extension, the server, its socket and its log.  The clone and the
# system's own PostgreSQL stay as they were; only Debian packages remain.
#
# PG_CONFIG chooses the server (default: PostgreSQL 15, else the newest one
# installed, else Debian's own).  TMPDIR chooses where the workplace is.

set -euo pipefail
umask 022
export LC_ALL=C.UTF-8
# For runuser, which an ordinary "su" does not find
PATH=$PATH:/usr/sbin:/sbin

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
work=
job=

# The caller's own connection and make settings are not for our server.
unset PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGOPTIONS PGSERVICE PGDATA
unset PGPASSFILE PGSSLMODE PGAPPNAME PGCLIENTENCODING PGTZ PGDATESTYLE
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR TEMP_CONFIG

say()
{
	printf '%s\n' "$*"
}

# What the script that runs says of itself: its first comment, but for its name
usage()
{
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
}

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

is_root()
{
	[ "$(id -u)" -eq 0 ]
}

# Seconds since the given value of $EPOCHREALTIME, with one decimal.
seconds_since()
{
	local now=$EPOCHREALTIME tenths

	tenths=$(( (${now/[.,]/} - ${1/[.,]/}) / 100000 ))
	printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# ---------------------------------------------------------------- packages

# Which major version's packages to install from Debian, when PG_CONFIG is not set.
default_major()
{
	local newest version=

	if [ -x /usr/lib/postgresql/15/bin/postgres ]; then
		echo 15
		return
	fi
	newest=$(printf '%s\n' /usr/lib/postgresql/*/bin/postgres |
		sort -t / -k 5 -n | tail -n 1)
	if [ -x "$newest" ]; then
		newest=${newest#/usr/lib/postgresql/}
		echo "${newest%%/*}"
		return
	fi
	if [ -r /etc/os-release ]; then
		# shellcheck source=/dev/null
		version=$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-}")
	fi
	case $version in
		'debian 13') echo 17 ;;
		*) echo 15 ;;
	esac
}

# need_packages PACKAGE...: what every script needs, and the named ones.
# Checks with dpkg first; apt is called only when something is missing.
need_packages()
{
	local -a wanted=(make gcc libc6-dev libxxhash-dev "$@") missing=()
	local have package since

	PG_CONFIG=${PG_CONFIG:-/usr/lib/postgresql/$(default_major)/bin/pg_config}
	if [[ $PG_CONFIG =~ ^/usr/lib/postgresql/([0-9]+)/ ]]; then
		wanted+=("postgresql-${BASH_REMATCH[1]}"
			"postgresql-server-dev-${BASH_REMATCH[1]}")
	fi

	if command -v dpkg-query >/dev/null; then
		have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' \
			"${wanted[@]}" 2>/dev/null || true)
		for package in "${wanted[@]}"; do
			grep -qxF "$package installed" <<<"$have" || missing+=("$package")
		done
	else
		say "This is not Debian; I trust that these, or what is like them," \
			"are installed: ${wanted[*]}"
	fi

	if [ ${#missing[@]} -gt 0 ]; then
		say "Installing with apt: ${missing[*]}"
		since=$EPOCHREALTIME
		apt_install "${missing[@]}"
		say "Installed in $(seconds_since "$since") s."
	fi

	command -v "$PG_CONFIG" >/dev/null || die "there is no pg_config at $PG_CONFIG"
	PG_CONFIG=$(readlink -f "$(command -v "$PG_CONFIG")")
	bindir=$("$PG_CONFIG" --bindir)
}

# A fresh postgresql package would create a cluster named "main" and start it
# on the usual port.  Prevent that by a file that is removed again.
guard=/etc/postgresql-common/createcluster.d/bloomfilter-script.conf

as_root()
{
	if is_root; then
		"$@"
	else
		sudo "$@"
	fi
}

drop_guard()
{
	as_root rm -f "$guard"
	as_root rmdir -p --ignore-fail-on-non-empty "${guard%/*}"
}

# In a process of its own, whose traps are not the caller's
apt_install()
(
	local -a apt=(env DEBIAN_FRONTEND=noninteractive
		NEEDRESTART_SUSPEND=1 apt-get -q -y -o DPkg::Lock::Timeout=300
		-o Dpkg::Use-Pty=0)
	local output status=0

	is_root || command -v sudo >/dev/null ||
		die "there is no sudo here; as root, run: apt-get install $*"
	trap drop_guard EXIT
	as_root mkdir -p "${guard%/*}"
	as_root tee "$guard" >/dev/null <<<"create_main_cluster = false"
	output=$({
		as_root "${apt[@]}" update ||
			echo "apt-get update failed; trying with the package lists at hand"
		as_root "${apt[@]}" install --no-install-recommends "$@"
	} 2>&1 </dev/null) || status=$?
	if [ "$status" -ne 0 ]; then
		tail -n 30 <<<"$output" >&2
		die "apt could not install what is missing: $*"
	fi
)

# --------------------------------------------------------------- workplace

# Run a command as the server's user: initdb refuses to run as root.
as_server()
{
	if is_root; then
		HOME=$work runuser -u postgres -- "$@"
	else
		HOME=$work "$@"
	fi
}

# in_workplace FUNCTION [ARGUMENT...]: run it in a process group of its own,
# so that a signal to the script ends all of it at once, and clean up.
in_workplace()
{
	local base=${TMPDIR:-/tmp} status=0

	if is_root && ! id postgres >/dev/null 2>&1; then
		die "PostgreSQL does not run as root, and there is no user postgres here"
	fi
	# A socket's path has room for 107 bytes
	[ ${#base} -le 50 ] || base=/tmp
	work=$(mktemp -d "$base/bloomfilter.XXXXXX")
	trap clean_up EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	if is_root; then
		chown postgres: "$work"
	fi
	cd "$work"
	as_server test -w . || die "the user postgres cannot write in $work; set TMPDIR"
	as_server mkdir tmp log
	export TMPDIR=$work/tmp

	set -m
	"$@" </dev/null &
	job=$!
	set +m
	wait "$job" || status=$?
	job=
	return "$status"
}

clean_up()
{
	local pidfile

	trap '' HUP INT TERM
	if [ -n "$job" ]; then
		kill -TERM -- "-$job" 2>/dev/null || true
		wait "$job" 2>/dev/null || true
	fi
	# Also the servers of TAP tests that were cut short
	if [ -n "$work" ]; then
		cd /
		while IFS= read -r pidfile; do
			as_server "$bindir/pg_ctl" -s -D "${pidfile%/*}" -m immediate stop \
				>/dev/null 2>&1 || true
		done < <(find "$work" -name postmaster.pid 2>/dev/null)
		rm -rf -- "$work"
	fi
}

# ------------------------------------------------------------------- build

# copy_sources DIRECTORY: what git tracks or would track, as it is now.
# Without git, or in an unpacked archive, everything.
copy_sources()
{
	local list=$work/log/files name

	# root in a user's clone: git would call its ownership dubious
	if ! git -c safe.directory='*' -C "$root" ls-files -z -co \
		--exclude-standard >"$list" 2>/dev/null || [ ! -s "$list" ]; then
		(cd "$root" && find . -name .git -prune -o -type f -print0) >"$list"
	fi
	as_server mkdir "$1"
	# A file that is tracked but deleted stays out
	while IFS= read -r -d '' name; do
		if [ -e "$root/$name" ] || [ -L "$root/$name" ]; then
			printf '%s\0' "$name"
		fi
	done <"$list" |
		tar -C "$root" --null --no-recursion -T - -cf - |
		as_server tar -C "$1" --no-same-owner -xf -
}

# build DIRECTORY [MAKE ARGUMENT...]
build()
{
	local dir=$1

	shift
	as_server make -s -C "$dir" -j "$(nproc)" --no-print-directory \
		PG_CONFIG="$PG_CONFIG" "$@"
}

# make_variable NAME: how the server itself was configured and built
make_variable()
{
	sed -n "s/^$1[[:space:]]*=[[:space:]]*//p" \
		"$(dirname "$("$PG_CONFIG" --pgxs)")/../Makefile.global"
}

# install_extension DIRECTORY [MAKE ARGUMENT...]: into $work/installed, which
# only our own servers read.
install_extension()
{
	build "$@" install DESTDIR="$work/installed"
}

# ------------------------------------------------------------------ server

# The settings that let a server find what install_extension installed, before what
# the README's "make install" may have put into the server's own directories.
extension_settings()
{
	local installed=$work/installed sharedir pkglibdir known

	known=$("$bindir/postgres" --describe-config | cut -f 1)
	sharedir=$("$PG_CONFIG" --sharedir)
	pkglibdir=$("$PG_CONFIG" --pkglibdir)
	if grep -qx extension_control_path <<<"$known"; then
		# 18 and later
		echo "extension_control_path = '$installed$sharedir:\$system'"
	elif grep -qx extension_destdir <<<"$known"; then
		# Debian's 17 and earlier
		echo "extension_destdir = '$installed'"
	else
		die "this server cannot read an extension from elsewhere than its own" \
			"directories; use Debian's, or PostgreSQL 18 or later"
	fi
	# for LOAD and preloading
	echo "dynamic_library_path = '$installed$pkglibdir:\$libdir'"
}

# start_server [SETTING...]: a cluster of our own, reachable through a socket
# in the workplace and by no network.
start_server()
{
	local setting

	extension_settings >"$work/extension.conf"
	as_server "$bindir/initdb" -D "$work/data" -U postgres -A trust -N \
		-E UTF8 --locale=C.UTF-8 >"$work/log/initdb" 2>&1 ||
		{ cat "$work/log/initdb" >&2; die "initdb failed"; }
	as_server mkdir "$work/socket"
	{
		cat "$work/extension.conf"
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$work/socket'"
		echo "fsync = off"
		for setting; do
			echo "$setting"
		done
	} | as_server tee -a "$work/data/postgresql.conf" >/dev/null
	as_server "$bindir/pg_ctl" -s -w -D "$work/data" -l "$work/log/server" start \
		>/dev/null ||
		{ cat "$work/log/server" >&2; die "the server did not start"; }
	export PGHOST=$work/socket PGUSER=postgres
}
