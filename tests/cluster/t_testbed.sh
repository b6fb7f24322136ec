#!/bin/bash
# The test bed's own test, on stock Ganesha: what every other cluster test relies on.
# Prints 'ok NAME' or 'not ok NAME'; exit status 0 when all are ok. t_testbed.sh [netem] [wire]: one of the two routers only.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
TMP=$(mktemp -d /tmp/nfs4r-t-testbed.XXXXXX)
export TB_RUN=$TMP/bed
OTHER=$TMP/other
BAD=0

tb() { "$HERE/testbed" "$@"; }
sh_in() { "$HERE/testbed" sh "$@"; }

cleanup() {
	tb down
	tb --run "$OTHER" down
	rm -rf "$TMP"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# check NAME CMD...
check() {
	local name=$1 start=$EPOCHREALTIME
	shift
	if "$@" >"$TMP/out" 2>&1; then
		printf 'ok %s (%.1f s)\n' "$name" "$(since "$start")"
		return 0
	fi
	printf 'not ok %s\n' "$name"
	sed 's/^/# /' "$TMP/out"
	BAD=1
	tb link all all heal rtt=40ms loss=0 rate=none >/dev/null 2>&1	# the next ones want links
	return 1
}

since() { echo "$EPOCHREALTIME $1" | awk '{ print $1 - $2 }'; }

equal() { [ "$1" = "$2" ] || { echo "got '$1', expected '$2'"; return 1; }; }

# status EXPECTED CMD...
status() {
	local want=$1 rc
	shift
	"$@"
	rc=$?
	equal "$rc" "$want"
}

# between VALUE LOW HIGH
between() { awk "BEGIN { exit !($1 >= $2 && $1 <= $3) }" || { echo "$1 not in $2..$3"; return 1; }; }

rtt() { sh_in "$1" -n -- ping -c 7 -i 0.1 -q "10.0.$2.1" | sed -n 's,.*= \([0-9.]*\)/\([0-9.]*\)/.*,\1,p'; }

# The least of seven: what the link adds; load on the machine only adds to the others.
rtt_between() { between "$(rtt "$1" "$2")" "$3" "$4"; }

unreachable() { ! sh_in "$1" -n -- ping -c 2 -W 1 -q "10.0.$2.1"; }

# ---- up and guests -----------------------------------------------------------------------------

t_up() {
	local start=$SECONDS
	tb up --sites 3 --rtt 40ms --stock --local-stock --lease 10 --grace 5 "$@" || return 1
	between $((SECONDS - start)) 0 59
}

t_mounts() {
	local i
	for i in 1 2 3; do
		sh_in $i -n -- grep -q '^10.0.1.1:/data /nfs nfs4 .*vers=4.2' /proc/mounts || return 1
		sh_in $i -n -- grep -q "^10.0.$i.1:/data /stock nfs4 .*port=2050" /proc/mounts || return 1
	done
}

t_visible() {
	local i j
	for i in 1 2 3; do
		sh_in $i -n -- sh -c "echo from $i >/nfs/f$i" || return 1
		for j in 1 2 3; do equal "$(sh_in $j -n -- cat /nfs/f$i)" "from $i" || return 1; done
	done
	equal "$(cat "$TB_RUN/g1/data/f3")" "from 3"
}

t_local_stock_is_local() {
	sh_in 2 -n -- sh -c 'echo two >/stock/own' || return 1
	equal "$(cat "$TB_RUN/g2/stock/data/own")" two || return 1
	! sh_in 3 -n -- test -e /stock/own || return 1
	local owners
	owners=$(sed -n 's/.*Server_Owner = //p' "$TB_RUN"/g*/ganesha.conf "$TB_RUN"/g*/stock/ganesha.conf | sort -u | wc -l)
	equal "$owners" 4
}

t_host_tmp() {
	echo host >"$TMP/h"
	equal "$(sh_in 1 -n -- cat "$TMP/h")" host || return 1
	sh_in 1 -n -- sh -c "echo guest >$TMP/g" || return 1
	equal "$(cat "$TMP/g")" guest
}

t_exit_statuses() {
	status 0 sh_in 1 -n -- true && status 7 sh_in 1 -n -- sh -c 'exit 7' &&
		status 127 sh_in 1 -n -- no-such-program && status 124 sh_in 1 -n -t 1 -- sleep 30 &&
		status 137 sh_in 1 -n -- sh -c 'kill -9 $$'
}

t_streams() {
	head -c 5000000 /dev/urandom >"$TMP/big"
	sh_in 2 -- cat <"$TMP/big" | cmp - "$TMP/big" || return 1
	equal "$(sh_in 1 -n -- sh -c 'echo out; echo err >&2' 2>/dev/null)" out || return 1
	equal "$(sh_in 1 -n -- sh -c 'echo out; echo err >&2' 2>&1 >/dev/null)" err
}

t_parallel() {
	local i n=0 pids=
	for i in 1 2 3 1 2 3; do
		n=$((n + 1))
		sh_in $i -n -t 60 -- sh -c "mkdir $TMP/at-once.$n; until [ -d $TMP/at-once.6 ] && [ \$(ls -d $TMP/at-once.* | wc -l) = 6 ]; do sleep 0.1; done" &
		pids="$pids $!"
	done
	for i in $pids; do wait "$i" || return 1; done	# each waits for all others
}

t_killed_gx_kills_command() {
	local pid
	"$HERE/testbed" sh 1 -n -- sleep 4242 &	# no function: the pid must be that of gx
	pid=$!
	eventually 5 sh_in 1 -n -- pidof sleep || return 1
	kill -KILL $pid
	wait $pid 2>/dev/null
	eventually 5 not sh_in 1 -n -- pidof sleep
}

not() { ! "$@"; }

# eventually SECONDS CMD...
eventually() {
	local end=$((SECONDS + $1))
	shift
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# ---- links -------------------------------------------------------------------------------------

t_link_rtt() {
	rtt_between 1 2 39.9 44 && tb link 1 2 rtt=100ms && rtt_between 1 2 99.9 105 &&
		rtt_between 1 3 39.9 44 && tb link 2 1 rtt=40ms && rtt_between 1 2 39.9 44
}

t_server_to_server() {
	between "$(tb ns 1 -- ping -c 7 -i 0.1 -q 10.0.3.1 | sed -n 's,.*= \([0-9.]*\)/.*,\1,p')" 39.9 44
}

t_cut_and_heal() {
	tb link 1 2 cut || return 1
	unreachable 1 2 || return 1
	status 124 sh_in 2 -n -t 2 -- ls /nfs || return 1
	sh_in 3 -n -t 20 -- ls /nfs && sh_in 2 -n -- ls /stock || return 1
	tb link 1 2 rtt=60ms && unreachable 1 2 || return 1	# a setting does not heal
	tb link 1 2 heal && rtt_between 1 2 59.9 65 && sh_in 2 -n -t 20 -- ls /nfs && tb link 1 2 rtt=40ms
}

t_cut_site() {
	tb link 2 all cut && unreachable 1 2 && unreachable 3 2 && rtt_between 1 3 39.9 44 &&
		tb link all all heal && rtt_between 3 2 39.9 44
}

# udp_arrives FROM TO [SECONDS]: a packet from one site's server to another's, within so many seconds. 1: it does not; 2: none was sent.
# Each time at another port, since the receiver of one that was lost goes on.
UDP=9000
udp_arrives() {
	UDP=$((UDP + 1))
	"$HERE/testbed" ns "$2" -- timeout 30 socat -u UDP-RECV:$UDP "CREATE:$TMP/udp.$UDP" &
	eventually 20 listens "$2" && echo packet | tb ns "$1" -- socat -u - "UDP-SENDTO:10.0.$2.1:$UDP" || return 2
	eventually "${3:-10}" grep -q packet "$TMP/udp.$UDP"
}

listens() { tb ns "$1" -- ss -Hlun "sport = $UDP" | grep -q .; }

lost() { status 1 udp_arrives "$1" "$2" 2; }

t_cut_one_way() {
	udp_arrives 2 1 && tb link 2 all cut-from=2 && udp_arrives 1 2 && lost 2 1 && lost 2 3 &&
		tb link 3 2 cut-from=3 && udp_arrives 2 3 && lost 3 2 || return 1
	equal "$(tb status | grep '^link 1 2')" 'link 1 2: rtt 40 ms, loss 0 %, rate unlimited, CUT from 2' || return 1
	status 1 tb link 1 2 cut-from=3 && tb link all all heal && udp_arrives 2 1
}

t_link_keeps_settings() {
	tb link 1 3 loss=100% rate=10mbit && unreachable 1 3 && tb link 1 3 rtt=50ms && unreachable 1 3 &&
		tb link 1 3 loss=0 && rtt_between 1 3 49.9 56 || return 1
	equal "$(tb status | grep '^link 1 3')" 'link 1 3: rtt 50 ms, loss 0 %, rate 10 Mbit/s' || return 1
	tb link 1 3 rtt=40ms rate=none
}

# Below 1 ms there is no netem; it comes back for a delay, for loss and for a cut.
t_link_without_delay() {
	tb link 1 3 rtt=0.2ms && rtt_between 1 3 0 5 && tb link 1 3 cut && unreachable 1 3 && tb link 1 3 heal &&
		rtt_between 1 3 0 5 && tb link 1 3 loss=100% && unreachable 1 3 && tb link 1 3 loss=0 rtt=40ms && rtt_between 1 3 39.9 44
}

# 2 MB at 8 Mbit/s take two seconds and some; without a limit a fraction of one.
t_link_rate() {
	local start
	sh_in 2 -n -- sh -c 'head -c 2000000 /dev/zero >/nfs/two; echo 3 >/proc/sys/vm/drop_caches' || return 1
	tb link 1 2 rate=8mbit rtt=10ms
	start=$EPOCHREALTIME
	sh_in 2 -n -t 60 -- cksum /nfs/two || return 1
	between "$(since "$start")" 1.9 12 && tb link 1 2 rate=none rtt=40ms
}

# Between servers as they are; to and from a client, whose own link has less, as ever.
t_large_frames() {
	tb ns 1 -- ping -c 3 -M "do" -s 8900 -q 10.0.3.1 >/dev/null || return 1
	sh_in 1 -n -- sh -c 'head -c 3000000 /dev/urandom >/stock/large && cksum </stock/large' >"$OTHER.sum" || return 1
	sh_in 3 -n -t 60 -- sh -c 'mount -t nfs4 -o vers=4.2,hard,port=2050 10.0.1.1:/data /mnt && cksum </mnt/large && umount /mnt' | cmp - "$OTHER.sum"
}

t_bad_arguments() {
	status 1 tb link 1 4 cut && status 1 tb link 1 2 nonsense && status 1 tb server 9 kill &&
		status 1 tb sh 0 -- true && status 2 tb nonsense && status 1 tb up --stock &&
		status 1 tb --run "$OTHER" up --stock --lease 9 && status 1 tb --run "$OTHER" up --stock --mem lots && status 1 tb --run "$OTHER" up --stock --mtu 9000 &&
		status 1 tb --run "$OTHER" up --stock --wire --mtu 90000 && status 1 tb --run /etc up --stock
}

# ---- servers and clients -----------------------------------------------------------------------

t_server_kill_start() {
	local before
	before=$(tb server 1 pid) && [ -d "/proc/$before" ] || return 1
	sh_in 1 -n -t 90 -- sh -c 'for i in $(seq 200); do echo $i; sleep 0.01; done >/nfs/writer && sync' &
	tb server 1 kill && status 1 tb server 1 pid && status 1 tb server 1 kill || return 1
	[ ! -d "/proc/$before" ] || return 1
	tb server 1 start || return 1
	[ "$(tb server 1 pid)" != "$before" ] && wait $! || return 1
	equal "$(wc -l <"$TB_RUN/g1/data/writer")" 200
}

t_server_stop_start() { tb server 2:stock stop && tb server 2:stock start && sh_in 2 -n -t 60 -- ls /stock; }

t_client_kill_start() {
	tb client 3 kill && status 125 sh_in 3 -n -t 3 -- true
	tb client 3 start && equal "$(sh_in 3 -n -t 60 -- cat /nfs/f1)" 'from 1'
}

t_client_remount() {
	tb client 2 remount vers=4.1 && sh_in 2 -n -- grep -q '/nfs nfs4 .*vers=4.1' /proc/mounts &&
		tb client 2 remount && sh_in 2 -n -- grep -q '/nfs nfs4 .*vers=4.2' /proc/mounts
}

reads_of_nfs() { sh_in 1 -n -- awk '/^device/ { on = $5 == "/nfs" } on && $1 == "READ:" { print $2 }' /proc/self/mountstats; }

# What the client has written it reads from its cache; after the drop it asks the server.
t_client_drop_caches() {
	local before
	sh_in 1 -n -- sh -c 'head -c 100000 /dev/zero >/nfs/cached; cat /nfs/cached >/dev/null' || return 1
	before=$(reads_of_nfs)
	sh_in 1 -n -- cksum /nfs/cached && equal "$(reads_of_nfs)" "$before" || return 1
	tb client 1 drop-caches && sh_in 1 -n -- cksum /nfs/cached && between "$(reads_of_nfs)" $((before + 1)) 1000000
}

# Classes of all threads of a server, and the weight of its session.
classes() {
	local p
	p=$(tb server "$1" pid) || return 1
	echo $(ps -L -o cls= -p "$p" | sort -u) $(sed -n 's/.* nice //p' "/proc/$p/autogroup" 2>/dev/null) $(taskset -p -c "$p" | sed 's/.*: //')
}

t_sched() {
	local usual weight=19
	usual=$(classes 2:stock) && [ -n "$usual" ] || return 1
	[ -e /proc/self/autogroup ] || weight=
	tb sched 2 idle cpus=0 && equal "$(classes 2:stock)" "$(echo IDL $weight 0)" || return 1
	tb server 2:stock kill && tb server 2:stock start && equal "$(classes 2:stock)" "$(echo IDL $weight 0)" || return 1
	tb status | grep -q '^processors for site 2: idle 0' || return 1
	tb sched 2 normal && equal "$(classes 2:stock)" "$usual" && sh_in 2 -n -t 60 -- ls /stock && status 1 tb sched 2 never && status 1 tb sched 2 idle 1
}

t_status() {
	equal "$(tb status | grep -c '^client . *: up\|^client .: up\|^server .*: up')" 7
}

# ---- beds and their end ------------------------------------------------------------------------

t_side_by_side() {
	tb --run "$OTHER" up --sites 2 --stock --rtt 10ms || return 1
	"$HERE/testbed" sh --run "$OTHER" 2 -n -- sh -c 'echo other >/nfs/x' || return 1
	status 1 sh_in 2 -n -- test -e /nfs/x && equal "$(tb --run "$OTHER" sh 1 -n -- cat /nfs/x)" other &&
		tb --run "$OTHER" down && sh_in 1 -n -- true
}

# What of the main namespaces a bed could leave something in.
traces() {
	ip -br link | awk '{ print $1 }' | sort
	awk '{ print $2 }' /proc/self/mounts | sort
	ls /run/netns 2>/dev/null
}

pid_namespace() { readlink "/proc/$(cat "$TB_RUN/pid1")/ns/pid"; }

empty_namespace() {
	local p
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/ns/pid" 2>/dev/null)" != "$1" ] || return 1
	done
}

t_down_leaves_nothing() {
	local ns
	ns=$(pid_namespace) && tb down && empty_namespace "$ns" && equal "$(traces)" "$BEFORE" &&
		status 1 tb status && tb down
}

t_crash_leaves_nothing() {
	local ns
	tb up --sites 2 --stock || return 1
	ns=$(pid_namespace)
	kill -KILL "$(cat "$TB_RUN/pid")"
	eventually 15 empty_namespace "$ns" && equal "$(traces)" "$BEFORE" || return 1
	tb up --sites 2 --stock && sh_in 2 -n -- ls /nfs && tb down	# over the leftovers
}

t_conf_is_parsed() {
	# shellcheck disable=SC2034
	local RUN=$TMP/conf SITES=3 MODE=repl LOCAL_STOCK='' LEASE=20 GRACE=25 PEER_SECURITY=none
	local SETS=$'Peer_Security = krb5\nLease=0\nNew_Key=7\n' SETS_FSAL=$'Durability = commit\n' f=$TMP/conf/g2/ganesha.conf
	. "$HERE/bed/conf.sh"
	conf_site 2
	grep -q '^	Peer_Security = krb5;' "$f" && grep -q '^	New_Key = 7;' "$f" &&
		grep -q '^	Durability = commit;' "$f" && equal "$(grep -c 'Server { Id' "$f")" 3 &&
		equal "$(sed -n '/^	Tuning {/,/^	}/p' "$f" | tr -d '\t\n')" 'Tuning {Restart_Pause = 0;Lease = 0;}' && equal "$(grep -c 'Lease = ' "$f")" 1 &&
		equal "$(grep -c Peer_Security "$f")" 1 && grep -q '^	Server_Id = 2;' "$f"
}

t_servers_have_keys() {
	# shellcheck disable=SC2034
	local RUN=$TMP/keys SITES=3 MODE=repl LOCAL_STOCK='' LEASE=20 GRACE=25 PEER_SECURITY=tls SETS='' SETS_FSAL='' NFS4RCTL=$HERE/../../build/release/src/ctl/nfs4rctl i
	. "$HERE/bed/conf.sh"
	conf_keys && conf_site 2 && grep -q '^	Peer_Security = tls;' "$RUN/g2/ganesha.conf" || return 1
	for i in 1 2 3; do
		grep -q "Id = $i; .* Key = \"$(sed -n 's/.*\(SHA256:[^"]*\).*/\1/p' "$RUN/g$i/key" | head -n 1)\"; }$" "$RUN/g2/ganesha.conf" || return 1
	done
	equal "$(grep -o 'SHA256:[^"]*' "$RUN/g2/ganesha.conf" | sort -u | wc -l)" 3
}

netem() {
	local t
	check conf_is_parsed t_conf_is_parsed
	check servers_have_keys t_servers_have_keys
	check up t_up || return 1
	for t in mounts visible local_stock_is_local host_tmp exit_statuses streams parallel \
		killed_gx_kills_command link_rtt server_to_server cut_and_heal cut_site cut_one_way \
		link_keeps_settings link_without_delay link_rate bad_arguments server_kill_start server_stop_start \
		client_kill_start client_remount client_drop_caches sched status side_by_side \
		down_leaves_nothing crash_leaves_nothing; do
		check "$t" "t_$t"
	done
}

# The other router is held to the same.
wire() {
	local t
	check wire_up t_up --wire || return 1
	for t in link_rtt server_to_server cut_and_heal cut_site cut_one_way link_keeps_settings link_without_delay link_rate down_leaves_nothing; do
		check "wire_$t" "t_$t"
	done
	check large_up t_up --wire --mtu 9000 || return 1
	for t in large_frames link_rtt link_rate down_leaves_nothing; do
		check "large_$t" "t_$t"
	done
}

BEFORE=$(traces)
for part in ${*:-netem wire}; do
	case $part in netem | wire) $part || exit 1 ;; *) echo "t_testbed.sh [netem] [wire]" >&2; exit 2 ;; esac
done
exit $BAD
