#!/bin/bash
# Makes the Debian package and uses it as docs/deploy.md says: installs it, serves the sample of one server with the unit's command line,
# writes and reads through NFS, installs it again below the running server, stops, restarts, removes it. What the package touches
# (/usr, /etc, /var/lib, /run, /srv) is covered for the time of the test, in a mount namespace of its own.
# Needs root; else exit 77, skipped.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
FAILED=0

if [ "${1:-}" != inside ]; then
	[ "$(id -u)" = 0 ] && unshare -n -m true 2>/dev/null || { echo "skipped: needs root"; exit 77; }
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
		[ ! -s "$TMP/why" ] || sed 's/^/# /' "$TMP/why"
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

cover() {
	local d
	mkdir "$TMP/over"
	mount -t tmpfs tmpfs "$TMP/over" || return 1
	for d in "$@"; do
		mkdir -p "$TMP/over/upper$d" "$TMP/over/work$d"
		mount -t overlay overlay -o "lowerdir=$d,upperdir=$TMP/over/upper$d,workdir=$TMP/over/work$d" "$d" || return 1
	done
	mount -t tmpfs tmpfs /run
}

# The volume lies on a real file system, as it would.
real_disk() {
	mkdir -p "$TMP/disk/$1" "$2"
	mount --bind "$TMP/disk/$1" "$2"
}

# of_unit KEY: what the unit says, for the instance `data`.
of_unit() { sed -n "s/^$1=//p" '/usr/lib/systemd/system/nfs4r@.service' | sed 's/%i/data/g'; }

folders() {
	local d
	for d in $(of_unit RuntimeDirectory); do mkdir -p "/run/$d"; done
	for d in $(of_unit StateDirectory); do mkdir -p "/var/lib/$d"; done
}

is_up() {
	for _ in $(seq 300); do
		nfs4rctl status >"$TMP/why" 2>&1 && grep -q "serving" "$TMP/why" && return 0
		kill -0 "$PID" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

start() {
	# shellcheck disable=SC2046
	$(of_unit ExecStart) >>"$TMP/log" 2>&1 &
	PID=$!
	is_up
}

stop() {
	kill -TERM "$PID" && timeout 60 tail --pid="$PID" -f /dev/null && wait "$PID"
}

# A client that does not try again by itself: not before the end of the grace period.
reads() {
	for _ in $(seq 30); do
		timeout 20 nfs-cat "nfs://127.0.0.1/data/$1?version=4" >"$TMP/read" && break
		sleep 1
	done
	cmp "$TMP/read" "$2"
}

# Of some bytes: what this client has for NFSv4 gives up beyond 4 KiB.
writes() { timeout 20 nfs-cp "$2" "nfs://127.0.0.1/data/$1?version=4"; }

needs_nothing_else() {
	! ldd /usr/lib/nfs4r/bin/ganesha.nfsd /usr/lib/nfs4r/lib/*.so.* /usr/lib/nfs4r/lib/ganesha/*.so /usr/bin/nfs4rctl | grep "not found"
}

stays() { [ -f /etc/nfs4r/data.conf ] && cmp /srv/nfs4r/data/first "$TMP/first" && [ -n "$(ls /var/lib/nfs4r/data)" ]; }
is_gone() { [ ! -e /usr/lib/nfs4r ] && [ ! -e /usr/bin/nfs4rctl ] && [ ! -e '/usr/lib/systemd/system/nfs4r@.service' ]; }

main() {
	local deb
	try "the package is made" "$HERE/../scripts/package.sh" "$TMP/out"
	deb=$(echo "$TMP"/out/nfs4r_*.deb)
	[ -f "$deb" ] || return
	try "what it covers is covered" cover /usr /etc /var/lib /srv
	[ "$FAILED" = 0 ] || return
	ip link set lo up && ip addr add 192.0.2.1/24 dev lo
	real_disk data /srv/nfs4r/data
	real_disk store /var/lib/nfs4r

	try "it is installed, its dependencies are" dpkg -i "$deb"
	try "no library is missing" needs_nothing_else
	try "the unit is right" systemd-analyze verify --man=no 'nfs4r@data.service'
	echo "written by a client" >"$TMP/first"
	try "the sample serves" sample_serves
	try "a client writes" writes first "$TMP/first"
	try "... into the exported directory" cmp /srv/nfs4r/data/first "$TMP/first"
	try "it is installed again below a server that runs" dpkg -i "$deb"
	try "... which goes on" reads first "$TMP/first"
	try "it stops in order" stop
	try "it serves again" start
	try "... what was there" reads first "$TMP/first"
	try "it stops in order, again" stop
	try "it is removed" dpkg --purge nfs4r
	try "... whole" is_gone
	try "the volume and its configuration stay" stays
}

sample_serves() {
	folders
	# A container may lack the capability.
	sed -e 's#Protocols = 4;#& allow_set_io_flusher_fail = true;#' -e 's#RecoveryBackend = fs;#& Grace_Period = 5;#' /usr/share/doc/nfs4r/examples/repl.conf >/etc/nfs4r/data.conf
	start
}

PID=
TMP=$2
main
exit $FAILED
