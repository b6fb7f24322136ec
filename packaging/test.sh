#!/bin/bash
# Makes the Debian package, asks lintian about it, and uses it as docs/deploy.md says, in a minimal Debian 12 (scripts/minimal-debian.sh): apt installs
# it with nothing but what it depends on, the sample of one server serves with the unit's command line, a user who is not root writes and reads
# through NFS; it is installed again below the running server, stops, serves again, is removed and purged.
# The minimal system lies below an overlay, in a mount and network namespace of its own: nothing is downloaded, and nothing stays.
# Needs root and .deps/debian-12 (make deps); else exit 77, skipped.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
DEBIAN=$(readlink -f "$HERE/../.deps/debian-12")
FAILED=0

if [ "${1:-}" != inside ]; then
	[ "$(id -u)" = 0 ] && unshare -n -m true 2>/dev/null || { echo "skipped: needs root"; exit 77; }
	[ -f "$DEBIAN/.key" ] || { echo "skipped: needs .deps/debian-12, which make deps makes"; exit 77; }
	TMP=$(mktemp -d)
	trap 'rm -rf "$TMP"' EXIT
	unshare -n -m -p --fork --kill-child --mount-proc -- "$0" inside "$TMP"
	exit
fi

verdict() {
	if [ "$1" = 0 ]; then
		echo "ok $2"
	else
		echo "not ok $2"
		[ ! -s "$TMP/why" ] || tail -n 20 "$TMP/why" | cut -c1-300 | sed 's/^/# /'
		[ ! -s "$TMP/log" ] || tail -n 20 "$TMP/log" | cut -c1-300 | sed 's/^/# log: /'
		FAILED=1
	fi
}

# try NAME CMD...: the command succeeds.
try() {
	local name=$1
	shift
	"$@" >"$TMP/why" 2>&1
	verdict $? "$name"
}

# The minimal system, at $R. The volume and its store lie on a real file system, as they would.
minimal_system() {
	mkdir -p "$R" "$TMP/over" "$TMP/data" "$TMP/store"
	mount -t tmpfs tmpfs "$TMP/over" &&
		mkdir "$TMP/over/upper" "$TMP/over/work" &&
		mount -t overlay overlay -o "lowerdir=$DEBIAN,upperdir=$TMP/over/upper,workdir=$TMP/over/work" "$R" &&
		mount -t proc proc "$R/proc" &&
		mount --rbind /dev "$R/dev" &&
		mount -t tmpfs tmpfs "$R/run" &&
		mkdir -p "$R/srv/data" "$R/var/lib/nfs4r" &&
		mount --bind "$TMP/data" "$R/srv/data" &&
		mount --bind "$TMP/store" "$R/var/lib/nfs4r" &&
		ln -s ../proc/self/mounts "$R/etc/mtab" # systemd makes it at the start of a machine
}

UNIT=$HERE/nfs4r@.service

inside() { chroot "$R" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"; }

# What it does not depend on it does not get; what it depends on lies in the cache, for there is no network.
install() { inside apt-get -oAPT::Sandbox::User=root install -y --no-install-recommends "$@" /tmp/nfs4r.deb; }

# of_unit KEY: what the unit says, for the instance `data`.
of_unit() { sed -n "s/^$1=//p" "$R/usr/lib/systemd/system/nfs4r@.service" "$R/lib/systemd/system/nfs4r@.service" 2>/dev/null | sed 's/%i/data/g' | head -n 1; }

unit_is_right() {
	cp "$R/usr/lib/systemd/system/nfs4r@.service" "$TMP/nfs4r@.service" && sed -i 's#/usr/lib/nfs4r/bin/ganesha.nfsd#/bin/true#' "$TMP/nfs4r@.service" &&
		systemd-analyze verify --man=no "$TMP/nfs4r@data.service"
}

# What systemd makes of the unit's protection, as a number. Below that something that a server needs would be missing: docs/decisions/0037.
EXPOSURE=34
is_protected() { systemd-analyze security --no-pager --offline=true --threshold="$EXPOSURE" "$TMP/nfs4r@data.service"; }

# All that a server does with its rights, with those of the unit, on the file system of the exported directory.
allows_what_is_needed() {
	mkdir "$TMP/store/probe" && unshare -m --propagation private "$HERE/sandbox.py" "$HERE/nfs4r@.service" / "$HERE/sandbox_probe.py" "$TMP/store/probe" && rm -rf "$TMP/store/probe"
}

# A tree with what only privileges can make and read becomes the volume, under the unit's sandbox.
imports() {
	find "$TMP/data" "$TMP/store" -mindepth 1 -delete
	setfattr -x trusted.nfs4r.volume "$TMP/data"
	echo "written by a client" >"$TMP/data/first" && mknod "$TMP/data/disk" b 7 200 && cp /bin/true "$TMP/data/program" && chmod 4755 "$TMP/data/program" &&
		setfattr -n trusted.mine -v 1 "$TMP/data/first" && setfacl -m u:1001:r "$TMP/data/program" && chattr +i "$TMP/data/first" &&
		sed -i 's/# Import = false;/Import = true;/' "$R/etc/nfs4r/data.conf" && grep -q '^[[:space:]]*Import = true;' "$R/etc/nfs4r/data.conf" && launch && imported && ! lsattr "$TMP/data/first" | cut -c1-20 | grep i &&
		[ "$(stat -c %t:%T "$TMP/data/disk") $(stat -c %a "$TMP/data/program")" = "7:c8 4755" ]
}

# The commands of the guide that make the exported directory are run as they stand there.
folders_of_the_guide() {
	local line
	line=$(grep '^install -d.*/srv/data' "$R/usr/share/doc/nfs4r/docs/deploy.md") && inside sh -ec "$line"
}

key_of_the_guide() {
	local line
	line=$(grep '^nfs4rctl key make' "$R/usr/share/doc/nfs4r/docs/deploy.md") && inside sh -ec "$line" && [ "$(stat -c %a "$R/etc/nfs4r/peer.key")" = 600 ]
}

folders() {
	local d
	for d in $(of_unit RuntimeDirectory); do mkdir -p "$R/run/$d"; done
	for d in $(of_unit StateDirectory); do mkdir -p "$R/var/lib/$d"; done
}

ctl() { inside nfs4rctl "$@"; }

is_up() {
	for _ in $(seq 300); do
		ctl health >"$TMP/why" 2>&1 && return 0
		kill -0 "$PID" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

launch() {
	# shellcheck disable=SC2046
	unshare -m --propagation private "$HERE/sandbox.py" "$UNIT" "$R" $(of_unit ExecStart) >>"$TMP/log" 2>&1 &
	PID=$!
}

start() { launch && is_up; }

# It tells of the flag that it took away until somebody has seen to it, so it is not "up" for a monitoring system.
imported() {
	for _ in $(seq 300); do
		grep -q 'import is complete: 3 objects' "$TMP/log" && return 0
		kill -0 "$PID" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

stop() {
	kill -TERM "$PID" && timeout 60 tail --pid="$PID" -f /dev/null && wait "$PID"
}

# A user of the volume, by number. The client does not try again by itself: not before the end of the grace period.
url() { echo "nfs://127.0.0.1/data/$1?version=4&uid=1000&gid=1000"; }

reads() {
	for _ in $(seq 30); do
		timeout 20 nfs-cat "$(url "$1")" >"$TMP/read" && break
		sleep 1
	done
	cmp "$TMP/read" "$2"
}

# Of some bytes: what this client has for NFSv4 gives up beyond 4 KiB.
writes() { timeout 20 nfs-cp "$2" "$(url "$1")"; }

needs_nothing_else() {
	! inside sh -c 'ldd /usr/lib/nfs4r/bin/ganesha.nfsd /usr/lib/nfs4r/lib/*.so.* /usr/lib/nfs4r/lib/ganesha/*.so /usr/bin/nfs4rctl' | grep "not found"
}

# What is not configured is no reason for a line that calls somebody. (Ganesha asks rpcbind in any case, which NFSv4 does not need: docs/failures.md.)
is_quiet() { ! grep -E ':(CRIT|MAJ|FATAL) :' "$TMP/log" | grep -v 'Cannot register NFS V4 on TCP'; }

stays() { [ -f "$R/etc/nfs4r/data.conf" ] && [ -f "$R/etc/nfs4r/peer.key" ] && cmp "$R/srv/data/first" "$TMP/first" && [ -n "$(ls "$R/var/lib/nfs4r/data")" ]; }
is_gone() {
	[ ! -e "$R/usr/lib/nfs4r" ] && [ ! -e "$R/usr/bin/nfs4rctl" ] && [ ! -e "$R/usr/lib/systemd/system/nfs4r@.service" ] && [ ! -e "$R/usr/share/doc/nfs4r" ]
}

# A container may lack the capability.
sample_serves() {
	folders
	sed -e 's#Protocols = 4;#& allow_set_io_flusher_fail = true;#' -e 's#Grace_Period = [0-9]*;#Grace_Period = 5;#' \
		"$R/usr/share/doc/nfs4r/examples/repl.conf" >"$R/etc/nfs4r/data.conf"
	start
}

main() {
	local deb
	try "the package is made" "$HERE/../scripts/package.sh" "$TMP/out"
	deb=$(echo "$TMP"/out/nfs4r_*.deb)
	[ -f "$deb" ] || return
	try "lintian finds no error" lintian --allow-root --fail-on error "$deb"
	try "a minimal Debian 12 is there" minimal_system
	[ "$FAILED" = 0 ] || return
	ip link set lo up && ip addr add 192.0.2.1/24 dev lo
	cp "$deb" "$R/tmp/nfs4r.deb"

	try "apt installs it, and what it depends on" install
	[ "$FAILED" = 0 ] || return
	try "no library is missing" needs_nothing_else
	try "the unit is right" unit_is_right
	try "... and leaves little exposed" is_protected
	try "... and no right that is needed is missing" allows_what_is_needed
	try "the exported directory is made as the guide says" folders_of_the_guide
	echo "written by a client" >"$TMP/first"
	try "the server's key is made as the guide says" key_of_the_guide
	try "the sample serves" sample_serves
	try "a user writes, though root is squashed" writes first "$TMP/first"
	try "... into the exported directory" cmp "$R/srv/data/first" "$TMP/first"
	try "... as the user" test "$(stat -c %u "$R/srv/data/first")" = 1000
	try "it is installed again below a server that runs" install --reinstall
	try "... which goes on" reads first "$TMP/first"
	try "it stops in order" stop
	try "it serves again" start
	try "... what was there" reads first "$TMP/first"
	try "it stops in order, again" stop
	try "it takes a tree in, with what only privileges make" imports
	try "... and serves it" reads first "$TMP/first"
	try "it stops in order after that" stop
	try "its log calls nobody" is_quiet
	try "it is removed" inside apt-get remove -y nfs4r
	try "... and purged" inside apt-get purge -y nfs4r
	try "... whole" is_gone
	try "the volume and its configuration stay" stays
}

PID=
TMP=$2
R=$TMP/root
main
exit $FAILED
