#!/usr/bin/env bash
# Fetches, verifies, unpacks and builds the pinned NFS-Ganesha with its libntirpc.
#
#   scripts/ganesha.sh release|asan       called by scripts/deps.sh, which holds the lock
#
# The Debian source archive of trixie serves the upstream tarballs; a private apt configuration reads
# them from the machine's own mirror, so that neither the system's apt nor a git host is involved.
# Results: .deps/src/ganesha (source tree), .deps/build-VARIANT (build tree: FSAL_REPL needs its
# config.h), .deps/ganesha-VARIANT (what goes to $PREFIX of a server, packaging/). Programs run from the last one and are compiled against the
# one before, those of other trees among them: both are replaced when the new one is complete.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

GANESHA_VERSION=6.5
GANESHA_DEB=6.5-5
GANESHA_TAR=nfs-ganesha_$GANESHA_VERSION.orig.tar.gz
GANESHA_SHA256=ece6cf138dd8602f33294eee75233051229867ea7fd1b3f7d6545e989303bfd9
NTIRPC_VERSION=6.3
NTIRPC_DEB=6.3-2
NTIRPC_TAR=ntirpc_$NTIRPC_VERSION.orig.tar.gz
NTIRPC_SHA256=4caf7de4a6bd2de85b3f538a7f137852dcdcdea0b841e44fb3f73293cd7bf5b4
SUITE=trixie

SRC=$DEPS/src/ganesha
PREFIX=/usr/lib/nfs4r

verified() { echo "$2  $1" | sha256sum --check --status 2>/dev/null; }

# The mirror this machine already trusts, from deb822 or one-line sources.
mirror() {
	[ -z "${NFS4R_DEB_MIRROR:-}" ] || { echo "$NFS4R_DEB_MIRROR"; return; }
	local uri
	uri=$({
		sed -n 's/^URIs:[[:space:]]*//p' /etc/apt/sources.list.d/*.sources
		sed -n 's/^deb[[:space:]]\+\(\[[^]]*\][[:space:]]*\)\?\([^[:space:]]*\).*/\2/p' \
			/etc/apt/sources.list /etc/apt/sources.list.d/*.list
	} 2>/dev/null | tr ' ' '\n' | sed -n '\,/debian/\?$,{p;q}') || true
	[ -n "$uri" ] || {
		echo "no Debian mirror in /etc/apt; set NFS4R_DEB_MIRROR to one" >&2
		return 1
	}
	echo "$uri"
}

download() {
	local apt=$DEPS/apt opts uri
	uri=$(mirror) || return 1
	rm -rf "$apt"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/out"
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $SUITE main" \
		>"$apt/sources.list"
	opts="-oDir::Etc::sourcelist=$apt/sources.list -oDir::Etc::sourceparts=/nonexistent
		-oDir::State::lists=$apt/lists -oDir::Cache=$apt/cache -oAPT::Sandbox::User=root"
	# shellcheck disable=SC2086
	(cd "$apt/out" && apt-get $opts update &&
		apt-get $opts source --download-only --tar-only \
			"nfs-ganesha=$GANESHA_DEB" "ntirpc=$NTIRPC_DEB") || return 1
	verified "$apt/out/$GANESHA_TAR" $GANESHA_SHA256 &&
		verified "$apt/out/$NTIRPC_TAR" $NTIRPC_SHA256 ||
		{ echo "SHA-256 of a downloaded file is not the pinned one"; return 1; }
	mkdir -p "$CACHE"
	for f in $GANESHA_TAR $NTIRPC_TAR; do
		cp "$apt/out/$f" "$CACHE/$f.new" && mv "$CACHE/$f.new" "$CACHE/$f"
	done
	rm -rf "$apt"
}

fetch() {
	if verified "$CACHE/$GANESHA_TAR" $GANESHA_SHA256 && verified "$CACHE/$NTIRPC_TAR" $NTIRPC_SHA256; then
		return 0
	fi
	logged fetch "download nfs-ganesha $GANESHA_VERSION, ntirpc $NTIRPC_VERSION" download ||
		die "no sources; put $GANESHA_TAR and $NTIRPC_TAR into $CACHE, or set NFS4R_DEB_MIRROR"
}

# Patches apply in the order of patches/series; none is needed to work, and docs/decisions/0029 says what each is for.
patches() { [ ! -f "$ROOT/patches/series" ] || sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$ROOT/patches/series"; }

source_key() {
	{
		echo "$DEPS" $GANESHA_SHA256 $NTIRPC_SHA256
		cat "$ROOT/scripts/ganesha.sh"
		patches | while read -r p; do cat "$ROOT/patches/$p"; done
	} | sha256sum | cut -c1-64
}

# replace NEW OLD: in a moment, and what is open of the old one goes on.
replace() {
	rm -rf "$2.old" &&
		{ [ ! -e "$2" ] || mv "$2" "$2.old"; } &&
		mv "$1" "$2" &&
		rm -rf "$2.old"
}

# The functions given to `logged` run in a condition, where errexit is off: hence the && chains.
unpack() {
	local new=$DEPS/src/new p
	rm -rf "$new"
	# Ganesha's CMake looks upwards for a .git and would take ours for its own: src/.git stops it.
	mkdir -p "$new/src/.git" &&
		tar -xf "$CACHE/$GANESHA_TAR" -C "$new" --strip-components=1 &&
		rm -rf "$new/src/libntirpc" &&
		mkdir "$new/src/libntirpc" &&
		tar -xf "$CACHE/$NTIRPC_TAR" -C "$new/src/libntirpc" --strip-components=1 || return 1
	for p in $(patches); do
		patch -d "$new" -p1 <"$ROOT/patches/$p" || return 1
	done
	source_key >"$new/.key" && replace "$new" "$SRC"
}

configure() {
	local variant=$1 off on
	on="USE_GSS USE_DBUS USE_FSAL_MEM USE_FSAL_NULL USE_FSAL_VFS USE_ACL_MAPPING ENABLE_VFS_POSIX_ACL"
	off="USE_SYSTEM_NTIRPC USE_FSAL_CEPH USE_FSAL_GLUSTER USE_FSAL_RGW USE_FSAL_GPFS USE_FSAL_LIZARDFS
		USE_FSAL_SAUNAFS USE_FSAL_KVSFS USE_FSAL_LUSTRE USE_FSAL_XFS USE_NFS3 USE_NLM USE_RQUOTA
		USE_9P USE_NFS_RDMA USE_MONITORING USE_RADOS_RECOV RADOS_URLS USE_GUI_ADMIN_TOOLS
		USE_MAN_PAGE USE_ADMIN_TOOLS USE_LTTNG"
	set -- -DALLOCATOR=jemalloc
	[ "$variant" != asan ] || set -- -DALLOCATOR=libc -DSANITIZE_ADDRESS=ON
	for o in $on; do set -- "$@" "-D$o=ON"; done
	for o in $off; do set -- "$@" "-D$o=OFF"; done
	cmake -G Ninja -S "$SRC/src" -B "$DEPS/building-$variant" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_INSTALL_PREFIX=$PREFIX -DSYSCONFDIR=/etc -DSYSSTATEDIR=/var \
		-DCMAKE_INSTALL_RPATH='$ORIGIN/../lib:$ORIGIN/..' "$@"
}

build() {
	local variant=$1 new=$DEPS/new-$1
	rm -rf "$DEPS/building-$variant" "$new"
	# Leak reports of build-time helpers would fail the build.
	export ASAN_OPTIONS=detect_leaks=0
	configure "$variant" &&
		cmake --build "$DEPS/building-$variant" &&
		DESTDIR=$new cmake --install "$DEPS/building-$variant" &&
		replace "$new$PREFIX" "$DEPS/ganesha-$variant" &&
		replace "$DEPS/building-$variant" "$DEPS/build-$variant" &&
		rm -rf "$new"
}

main() {
	local variant=${1:-} key stamp
	case $variant in release | asan) ;; *) die "usage: ganesha.sh release|asan" ;; esac
	stamp=$DEPS/ganesha-$variant/.stamp
	key=$(source_key)
	if [ "$(cat "$stamp" 2>/dev/null)" = "$key" ]; then
		return 0
	fi
	fetch
	if [ "$(cat "$SRC/.key" 2>/dev/null)" != "$(source_key)" ]; then
		logged unpack "unpack sources" unpack
	fi
	logged "ganesha-$variant" "build ganesha $GANESHA_VERSION ($variant)" build "$variant"
	echo "$key" >"$stamp"
}

main "$@"
