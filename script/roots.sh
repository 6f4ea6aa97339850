# shellcheck shell=bash
#
# Throw-away roots: other suites of Debian, to run another PostgreSQL in, made
# by mmdebstrap, and entered as root only.  A script that has sourced lib.sh
# sources this, calls need_root with the name of one, and runs commands with in_root.
#
# pg15, pg17, pg18, pg19
#               Debian's packages of that PostgreSQL and what script/test
#               needs, without LLVM; and 15's packages, to upgrade from.  Its source,
#               if it can be had, lies in /usr/local/src
# pg15-cassert, ...
#               instead of the packages a server built from Debian's source of
#               them, with assertions and with requests to valgrind: it lies in
#               /usr/local/pgsql, and valgrind.supp in its share/
#
# A root is made within five minutes (with a server: ten), and kept for
# root_days in $BLOOMFILTER_ROOTS, default bloomfilter-roots in XDG_CACHE_HOME or
# /var/cache; if that cannot be written, until the script ends.  What runs in
# a root leaves no trace there.

# Several parts source this; what is held is held once
[ -z "${root_days:-}" ] || return 0

# Debian has updates now and then
root_days=30

# What a root has beside its server
root_packages=(make gcc libc6-dev libxxhash-dev libipc-run-perl valgrind bzip2)
# For a server with the features that the tests need
build_packages=(bison flex perl dpkg-dev pkgconf libicu-dev libxml2-dev liblz4-dev
	zlib1g-dev)

# The version that one upgrades from
old_major=15

# The suites that have a major version, best first.  Of suites with a comma
# between them, the second has the server and the first all else.
root_suites()
{
	case $1 in
		15) echo bookworm ;;
		17) echo trixie ;;
		18) echo forky sid ;;
		19) echo sid,experimental ;;
		*) return 1 ;;
	esac
}

# root_pg_config NAME: where it is in that root
root_pg_config()
{
	case $1 in
		*-cassert) echo /usr/local/pgsql/bin/pg_config ;;
		*) echo "/usr/lib/postgresql/${1#pg}/bin/pg_config" ;;
	esac
}

# The mirror that this machine's apt uses
debian_mirror()
{
	local uri

	# shellcheck disable=SC2016
	uri=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 2>/dev/null |
		sed -n 's/^Debian \(http[^ ]*\)$/\1/p' | head -n 1)
	echo "${uri:-http://deb.debian.org/debian}"
}

# make_root NAME DIRECTORY
make_root()
{
	local major=${1#pg} mirror suites
	local -a packages=("${root_packages[@]}") types=(deb deb-src) sources hooks=()
	local source

	major=${major%-cassert}
	mirror=$(debian_mirror)
	source="cd \"\$1/usr/local/src\" && APT_CONFIG=\$MMDEBSTRAP_APT_CONFIG \
		apt-get source --download-only postgresql-$major"
	case $1 in
		*-cassert)
			packages+=("${build_packages[@]}")
			hooks+=(--customize-hook='chroot "$1" useradd --system postgres'
				--customize-hook="$source")
			;;
		*)
			packages+=("postgresql-$major" "postgresql-$old_major")
			# Their headers depend on LLVM, half a gigabyte, which the server does
			# without
			hooks+=(--customize-hook="cd \"\$1/tmp\" &&
					APT_CONFIG=\$MMDEBSTRAP_APT_CONFIG apt-get download \
						postgresql-server-dev-$major postgresql-server-dev-$old_major &&
					chroot \"\$1\" sh -c 'dpkg --force-depends -i /tmp/*.deb &&
						rm /tmp/*.deb'"
				--customize-hook="$source || true")
			;;
	esac

	for suites in $(root_suites "$major"); do
		sources=()
		for suite in ${suites//,/ }; do
			sources+=("${types[@]/%/ $mirror $suite main}")
		done
		[ "$suites" = bookworm ] || sources+=("deb $mirror bookworm main")
		rm -rf "$2"
		# The suites that are still being made let their Release files expire
		if printf '%s\n' "${sources[@]}" |
			mmdebstrap --variant=minbase --mode=root \
				--include="$(IFS=,; echo "${packages[*]}")" \
				--aptopt='Acquire::Check-Valid-Until "false"' \
				--dpkgopt=force-unsafe-io \
				--dpkgopt='path-exclude=/usr/share/doc/*' \
				--dpkgopt='path-exclude=/usr/share/man/*' \
				--dpkgopt='path-exclude=/usr/share/locale/*' \
				--setup-hook='mkdir -p "$1/etc/apt/preferences.d" "$1/etc/postgresql-common/createcluster.d"' \
				--setup-hook="printf 'Package: src:postgresql-$major\nPin: release a=experimental\nPin-Priority: 500\n' >\"\$1/etc/apt/preferences.d/experimental\"" \
				--setup-hook='echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.d/none.conf"' \
				"${hooks[@]}" "${suites%%,*}" "$2" -
		then
			return 0
		fi
	done
	return 1
}

# build_server DIRECTORY: from the source that make_root has put there
build_server()
{
	empty_root_tmp
	# shellcheck disable=SC2016
	in_root "$1" bash -euc '
		cd /tmp
		dpkg-source --extract /usr/local/src/*.dsc postgresql
		cd postgresql
		./configure --quiet --prefix=/usr/local/pgsql --without-readline \
			--with-icu --with-libxml --with-lz4 --enable-tap-tests \
			--enable-cassert --enable-debug CFLAGS="-O1 -g -DUSE_VALGRIND"
		make -s -j "$(nproc)" world-bin
		make -s install-world-bin DESTDIR=/tmp/built
		cp src/tools/valgrind.supp /tmp/built/usr/local/pgsql/share/
	' && cp -a "$root_tmp/built/." "$1/"
}

# ------------------------------------------------------------------ entering

# What is /tmp in a root: everything else that is written there goes into memory
root_tmp=

empty_root_tmp()
{
	root_tmp=$work/root-tmp
	rm -rf "$root_tmp"
	mkdir "$root_tmp"
	chmod 1777 "$root_tmp"
}

# The first process in namespaces of its own, with which all others end
enter_root()
{
	local dir=$1 tmp=$2 layer=$3 top=$3/root

	shift 3
	trap 'exit 143' HUP INT TERM
	mount -t tmpfs tmpfs "$layer"
	mkdir "$layer/upper" "$layer/work" "$top"
	mount -t overlay overlay \
		-o "lowerdir=$dir,upperdir=$layer/upper,workdir=$layer/work" "$top"
	mount -t proc proc "$top/proc"
	mount --rbind /dev "$top/dev"
	mount -t tmpfs tmpfs "$top/dev/shm"
	mount --bind "$tmp" "$top/tmp"
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
		chroot "$top" "$@" &
	wait $!
}

# in_root DIRECTORY COMMAND...
in_root()
{
	local dir=$1 layer=$work/root-layer

	shift
	[ -n "$root_tmp" ] || empty_root_tmp
	mkdir -p "$layer"
	unshare --mount --pid --ipc --fork --kill-child \
		bash -euc "$(declare -f enter_root); enter_root \"\$@\"" bash \
		"$dir" "$root_tmp" "$layer" "$@"
}

# ------------------------------------------------------------------- keeping

declare -A roots_held=()
root_dir=
root_lacks=

# root_works NAME DIRECTORY
root_works()
{
	in_root "$2" "$(dirname "$(root_pg_config "$1")")/postgres" --version
}

# Of these depends what a root is
root_recipe()
{
	{
		declare -f root_suites make_root build_server
		declare -p root_packages build_packages old_major
	} | cksum
}

# root_is_new NAME: it works, is made as one is made now, and not long ago
root_is_new()
{
	local stamp=$root_dir/etc/bloomfilter-root

	[ "$(cat "$stamp" 2>/dev/null)" = "$(root_recipe)" ] &&
		[ -z "$(find "$stamp" -mtime "+$root_days")" ] &&
		root_works "$1" "$root_dir" >/dev/null 2>&1
}

# need_root NAME: make it unless it is kept, and set root_dir.  If it cannot be
# had say in root_lacks why, and return 1; if its server cannot be built, 2.
need_root()
{
	local name=$1 log=$work/log/root keep lock status=0

	root_suites "$(sed 's/^pg//; s/-cassert$//' <<<"$name")" >/dev/null ||
		die "there is no root $name"
	is_root || { root_lacks="only root can enter a root"; return 1; }
	need_packages mmdebstrap dpkg-dev
	in_root / true >"$log" 2>&1 ||
		{ root_lacks="no namespaces or no overlay file system here"; return 1; }

	keep=${BLOOMFILTER_ROOTS:-${XDG_CACHE_HOME:-/var/cache}/bloomfilter-roots}
	if ! mkdir -p "$keep" 2>/dev/null || [ ! -w "$keep" ]; then
		keep=$work/roots
		mkdir -p "$keep"
	fi
	root_dir=$keep/$name
	[ -z "${roots_held[$name]:-}" ] || return 0

	# Others may be making it; and none may replace it while it is used
	exec {lock}>>"$root_dir.lock"
	flock --shared "$lock"
	if ! root_is_new "$name"; then
		flock "$lock"
		if ! root_is_new "$name"; then
			renew_root "$name" "$log" || status=$?
			if [ "$status" -ne 0 ] && root_works "$name" "$root_dir" >/dev/null 2>&1; then
				say "The old one must do."
				status=0
			fi
		fi
		flock --shared "$lock"
	fi
	[ "$status" -ne 0 ] || roots_held[$name]=$lock
	return "$status"
}

# renew_root NAME LOG: what need_root returns, and only a whole one is kept
renew_root()
{
	local new=$root_dir.new since=$EPOCHREALTIME status=0

	say "Making the root $1 ..."
	if ! make_root "$1" "$new" >"$2" 2>&1; then
		root_lacks="Debian's mirror does not have it: $(grep '^E:' "$2" | tail -n 1)"
		status=1
	elif [[ $1 == *-cassert ]] && ! build_server "$new" >"$2" 2>&1; then
		status=2
	fi
	if [ "$status" -ne 0 ]; then
		say "It could not be made."
		rm -rf --one-file-system "$new"
		return "$status"
	fi
	root_recipe >"$new/etc/bloomfilter-root"
	rm -rf --one-file-system "$root_dir"
	mv -T "$new" "$root_dir"
	say "Made in $(seconds_since "$since") s."
}

# script_in_root NAME ARGUMENT...: script/test with these; reports the results of
# its suites as they end.
script_in_root()
{
	local name=$1 line

	shift
	empty_root_tmp
	copy_sources "$root_tmp/bloomfilter"
	in_root "$root_dir" env PG_CONFIG="$(root_pg_config "$name")" \
		bash /tmp/bloomfilter/script/test --verbose "$@" |
		while IFS= read -r line; do
			printf '%s\n' "$line"
			if [[ $line =~ \ passed\ .*\ failed\  ]]; then
				printf '    %s\n' "$line" >&3
			fi
		done
}

# test_in_root TITLE NAME ARGUMENT...: that, as one suite
test_in_root()
{
	local title=$1 name=$2 status=0

	shift
	need_root "$name" || status=$?
	case $status in
		0) suite "$title" script_in_root "$@" ;;
		1) skip "$title" "$root_lacks" ;;
		*) suite "$title" server_not_built ;;
	esac
}

server_not_built()
{
	cat "$work/log/root"
	return 1
}
