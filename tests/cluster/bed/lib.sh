# Functions that run inside the bed's namespaces; sourced by `inside`, or run from outside with
# `testbed` through nsenter: bash lib.sh RUN FUNCTION ARGS...
# Variables come from RUN/vars, written by `testbed up`:
#   BED ROOT SITES DELAY_US VERS MODE (repl|stock) LOCAL_STOCK BUILD PREFIX PLUGIN CLIENT_MEM ENVS NO_MOUNT DISKS
#   IMAGES PEERS_IDLE ROUTER (netem|wire) MTU LATE KRB5 SEC

GROOT=/run/groot
# shellcheck disable=SC1091
. "$(dirname "${BASH_SOURCE[0]}")/krb5.sh"

# ---- guests ---------------------------------------------------------------------------------

# uml NETNS NAME MEM ARGS...
uml() {
	local ns=$1 name=$2 mem=$3
	shift 3
	# setarch -R: without it UML maps 0.1-1 GB of random gap. TMPDIR holds its unlinked memory file.
	TMPDIR=/dev/shm LD_PRELOAD=$RUN/umlshim.so ip netns exec "$ns" setarch -R linux "mem=$mem" \
		"umid=$name" uml_dir=/run/uml rootfstype=hostfs rootflags=/ "hostfs=$GROOT" ro \
		init=/tb/guest-init con=null con0=null,fd:1 ssl=null "NAME=$name" "PROJECT=$ROOT" "$@" \
		</dev/null >>"$RUN/$name.log" 2>&1 &
}

mac() { printf '02:00:00:00:%02x:%02x' "$1" "$2"; }

# gro=1 on every tap: without it a large frame from the host is lost for good.
client_boot() {
	local i=$1
	uml "s$i" "c$i" "$CLIENT_MEM" \
		"vec0:transport=tap,ifname=c$i,depth=256,gro=1,mac=$(mac "$i" 2)" \
		"vec1:transport=tap,ifname=k$i,depth=64,gro=1,mac=$(mac $((0x10 + i)) 2)" \
		CTL=vec1 "CIP=192.168.$i.2" "IP=10.0.$i.2" "GW=10.0.$i.254" ${KRB5:+KRB5=1}
	# Linux makes the verifier of an exclusive create of the ticks since the boot and the pid. Guests do the same things
	# from the first process on: booted in one tick, two that race for a name would be one client for the server, and both win.
	sleep 0.3
}

router_boot() {
	local i args=
	if [ "$ROUTER" = wire ]; then
		for i in $(seq "$SITES"); do ip netns exec "s$i" ethtool -K "u$i" tx off >/dev/null; done # frames come with their checksums
		ip netns exec wan "$RUN/wire" "$RUN/links" "$SITES" </dev/null >>"$RUN/r.log" 2>&1 &
		return
	fi
	for i in $(seq "$SITES"); do
		args="$args vec$((i - 1)):transport=raw,ifname=w$i,depth=256,mac=$(mac "$i" 254)"
	done
	# shellcheck disable=SC2086
	uml wan r 192M $args "vec$SITES:transport=tap,ifname=k0,depth=64,gro=1,mac=$(mac 0 2)" \
		"CTL=vec$SITES" CIP=192.168.0.2 "SITES=$(seq -s, "$SITES")" "DELAY_US=$DELAY_US"
}

# The exec channel as a UNIX socket, reachable from any namespace.
channel() {
	local n=c$1 ns=s$1
	[ "$1" != 0 ] || { n=r; ns=wan; }
	ip netns exec "$ns" socat -T 86400 "UNIX-LISTEN:$RUN/$n.sock,fork" \
		"TCP:192.168.$1.2:77,nodelay,connect-timeout=5" </dev/null >/dev/null 2>&1 &
}

# wire reads the files of the links again.
wire_links() { pkill -HUP -f "^$RUN/wire $RUN/links " || fail "the router died (log: $RUN/r.log)"; }

# Several beds may begin at once, beside searches that have all processors.
guest_wait() {
	local n
	for n in "$@"; do
		wait_until 120 "$BED/gx" "$RUN/$n.sock" --ping ||
			fail "guest $n does not answer (console: $RUN/$n.log)"
	done
}

client_kill() {
	local p
	for p in $(pgrep -f "umid=c$1 "); do kill -KILL "$p"; done
	wait_until 10 no_process "umid=c$1 "
}

no_process() { ! pgrep -f "$1" >/dev/null; }

client_mount() {
	local i=$1 site=$1 options=vers=$2,hard,sec=$SEC
	[ "$MODE" != stock ] || site=1
	[ -z "$KRB5" ] || krb5_ready "$i"
	guest_mount "$i" "$(server_name "$site")" /nfs "$options"
	[ -z "$LOCAL_STOCK" ] || guest_mount "$i" "$(server_name "$i")" /stock "$options,port=2050"
}

# server_name SITE: by which clients mount; Kerberos wants a name.
server_name() { [ -n "$KRB5" ] && echo "s$1.$DOMAIN" || echo "10.0.$1.1"; }

guest_mount() {
	"$BED/gx" "$RUN/c$1.sock" -n -t 50 -- mount -t nfs4 -o "$4" "$2:/data" "$3" ||
		fail "client $1 cannot mount $2:/data at $3"
}

# A mount whose server is away must not hold up anything: -l after a short try.
client_umount() {
	"$BED/gx" "$RUN/c$1.sock" -n -t 30 -- sh -c '
		for m in /nfs /stock; do
			grep -q " $m nfs4 " /proc/mounts || continue
			timeout -s KILL 5 umount $m 2>/dev/null || umount -f -l $m
		done'
}

client_start() {
	client_boot "$1"
	guest_wait "c$1"
	sched_apply "$1"
	[ -n "$NO_MOUNT" ] || client_mount "$1" "$VERS"
}

# ---- servers: SITE is N, or N:stock for the extra stock server -------------------------------

server_dir() {
	case $1 in
	*:stock) echo "$RUN/g${1%:stock}/stock" ;;
	*) echo "$RUN/g$1" ;;
	esac
}

# is_late SITE: its server is none of the first ones.
is_late() { [[ "$LATE" = *" $1 "* ]]; }

server_port() { case $1 in *:stock) echo 2050 ;; *) echo 2049 ;; esac; }

server_pid() {
	local d p
	d=$(server_dir "$1")
	p=$(cat "$d/ganesha.pid" 2>/dev/null) && [ -n "$p" ] || return 1
	tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -qF "$d/ganesha.conf" && echo "$p"
}

server_listens() {
	[ -n "$(ip netns exec "s${1%:stock}" ss -Htln "sport = $(server_port "$1")")" ]
}

server_start() {
	local d
	d=$(server_dir "$1")
	[ -d "$d" ] || fail "no server $1 in this bed"
	! server_pid "$1" >/dev/null || fail "server $1 runs already"
	rm -f "$d/ganesha.pid"
	# shellcheck disable=SC2046,SC2086
	env LD_LIBRARY_PATH="$PREFIX/lib" ASAN_OPTIONS="detect_leaks=0:log_path=$d/asan" \
		UBSAN_OPTIONS="print_stacktrace=1:log_path=$d/ubsan" $ENVS \
		setsid ip netns exec "s${1%:stock}" $(boot "$d") $(with_etc "$RUN/g${1%:stock}") $(with_clock "$d") "$PREFIX/bin/ganesha.nfsd" -F -f "$d/ganesha.conf" \
		-L "$d/ganesha.log" -p "$d/ganesha.pid" </dev/null >>"$d/out" 2>&1 &
	wait_until 30 server_up_or_dead "$1" $! || fail "server $1 does not listen (log: $d/ganesha.log)"
	server_listens "$1" || fail "server $1 died at start (see $d/out and $d/ganesha.log)"
	sched_apply "${1%:stock}"
}

server_up_or_dead() { server_listens "$1" || ! kill -0 "$2" 2>/dev/null; }

# server_end SITE SIGNAL SECONDS
server_end() {
	local p
	p=$(server_pid "$1") || fail "server $1 does not run"
	kill "-$2" "$p"
	wait_until "$3" pid_gone "$p" || fail "server $1 (pid $p inside) still there $3 s after SIG$2"
}

pid_gone() { [ ! -e "/proc/$1" ]; }

# ---- disks (up --images): what a server keeps, in images that forget what was not synced when the power fails ----

# The server of that directory sees the boot id of its own machine; ip netns exec has given it its own mounts.
boot() { [ ! -e "$1/boot_id" ] || printf '%s ' "$BED/with-boot-id" "$1/boot_id"; }

# disk_make DIR SIZE [TYPE[:OPTIONS OF MKFS]]: DIR gets a file system of its own.
disk_make() {
	local type=${3:-ext4} options=
	case $type in *:*) options=${type#*:} type=${type%%:*} ;; esac
	case $type in
	ext4) options="-F -m 0 $options" ;;
	xfs | btrfs) options="-f $options" ;;
	*) fail "a disk is ext4, xfs or btrfs, not $type" ;;
	esac
	echo "$type" >"$1.fs"
	# shellcheck disable=SC2086
	truncate -s "$2" "$1.img" && "mkfs.$type" -q $options "$1.img" && disk_mount "$1" || return 1
	[ ! -d "$1/lost+found" ] || rmdir "$1/lost+found"
}

# ext4: nothing reaches the disk by itself, no commit every 5 s, no flush when a file is replaced.
disk_mount() {
	case $(cat "$1.fs") in
	ext4) mount -o loop,commit=600,noauto_da_alloc "$1.img" "$1" ;;
	*) mount -o loop "$1.img" "$1" ;;
	esac
}

# EXT4_IOC_SHUTDOWN without a flush of the log (XFS has the same call): what was not synced is gone, as after a loss of power.
disk_forget() {
	/usr/bin/python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' "$1" && umount "$1"
}

machine_boot() { cat /proc/sys/kernel/random/uuid >"$1/boot_id"; }

# Loss of power: first the process, so that it never sees an error, then the disks; and the machine is on again, without its server.
server_crash() {
	local d p
	d=$RUN/g$1
	[ -n "$IMAGES" ] || fail "this bed is not up with --images"
	if p=$(server_pid "$1"); then
		kill -KILL "$p"
		wait_until 10 pid_gone "$p" || fail "server $1 (pid $p inside) does not end"
	fi
	for p in data store; do
		disk_forget "$d/$p" && disk_mount "$d/$p" || fail "the disk $d/$p.img"
	done
	machine_boot "$d"
}

# ---- processors: RUN/sched/SITE says 'idle|normal LIST|all', when it was ever said ------------

sched_pids() {
	pgrep -f "umid=c$1 "
	server_pid "$1"
	server_pid "$1:stock"
	return 0
}

# sched_apply SITE: idle is SCHED_IDLE for every thread. With the kernel's autogroups that only counts within
# a session, and every server and guest has a session of its own: then the session's weight does the same.
# Twice, because guests start processes all the time; those inherit what their parent has by then.
sched_apply() {
	local class cpus p nice=0 policy=--other
	[ -e "$RUN/sched/$1" ] || return 0
	read -r class cpus <"$RUN/sched/$1"
	[ "$class" = normal ] || nice=19 policy=--idle
	[ "$cpus" != all ] || cpus=0-$(($(nproc --all) - 1))
	for p in $(sched_pids "$1") $(sched_pids "$1"); do
		chrt --all-tasks $policy --pid 0 "$p" >/dev/null 2>&1 &&
			taskset -a -p -c "$cpus" "$p" >/dev/null 2>&1 || [ ! -e "/proc/$p" ] ||
			fail "cannot set the scheduling of process $p (site $1: $class, processors $cpus)"
		[ ! -e "/proc/$p/autogroup" ] || echo $nice 2>/dev/null >"/proc/$p/autogroup" || [ ! -e "/proc/$p" ] ||
			fail "cannot set the weight of the session of process $p"
	done
}

# ---- helpers ---------------------------------------------------------------------------------

fail() {
	printf 'testbed: %s\n' "$*" >&2
	exit 1
}

# wait_until SECONDS CMD...
wait_until() {
	local end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$end" ] || return 1
		sleep 0.05
	done
}

load_vars() {
	RUN=$1
	# shellcheck disable=SC1091
	. "$RUN/vars"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	load_vars "$1"
	shift
	"$@"
fi
