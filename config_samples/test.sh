#!/bin/bash
# Starts Ganesha with every sample, and with samples that were spoilt in one place each: the good ones must
# serve, the bad ones must be refused with one line that names the key, and the daemon must end with a status that says so.
# Usage: test.sh PLUGIN.so GANESHA_PREFIX NFS4RCTL. Needs root (a network namespace of its own); else exit 77, skipped.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
PLUGIN=$(readlink -f "$1")
PREFIX=$2
NFS4RCTL=$(readlink -f "$3")

if [ "${4:-}" != inside ]; then
	[ "$(id -u)" = 0 ] && unshare -n -m true 2>/dev/null || { echo "skipped: needs root"; exit 77; }
	exec unshare -n -m -- "$0" "$PLUGIN" "$PREFIX" "$NFS4RCTL" inside
fi

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
ip link set lo up
for i in 1 2 3; do ip addr add "192.0.2.$i/24" dev lo; done
mkdir "$TMP/plugins"
ln -s "$PREFIX"/lib/ganesha/*.so "$TMP/plugins/"
ln -s "$PLUGIN" "$TMP/plugins/libfsalrepl.so"
FAILED=0

# Each server makes its key, and what is printed goes into the files, as docs/deploy.md says.
for i in 1 2 3; do
	KEY[i]=$("$NFS4RCTL" key make --files "$TMP/peer$i" | sed -n 's/^ *Key = "\(SHA256:[A-Za-z0-9+/]\{43\}\)";$/\1/p')
	[ -n "${KEY[i]}" ] || { echo "not ok nfs4rctl key make"; exit 1; }
done

# serve CONF: run the daemon until it is up or has ended, leave its log in $TMP/log, 0 in ALIVE when it still lives, else its exit status in STATUS.
serve() {
	local pid id
	id=$(sed -n 's/^[^#]*Server_Id = \([123]\);.*/\1/p' "$1" | head -n 1)
	[ -n "${KEEP:-}" ] || rm -rf "$TMP/data" "$TMP/store" "$TMP/rec"
	rm -f "$TMP/log"
	mkdir -p "$TMP/data" "$TMP/rec"
	sed -e "s#/var/lib/nfs4r/data#$TMP/store#; s#/srv/data#$TMP/data#; s#/run/nfs4r#$TMP#" \
		-e "s#Protocols = 4;#& Plugins_Dir = \"$TMP/plugins\"; allow_set_io_flusher_fail = true;#" \
		-e "s#RecoveryBackend = fs;#& RecoveryRoot = \"$TMP/rec\";#" \
		-e "s#\(Id = 1;.* Key = \"\)SHA256:\.\.\.#\1${KEY[1]}#; s#\(Id = 2;.* Key = \"\)SHA256:\.\.\.#\1${KEY[2]}#; s#\(Id = 3;.* Key = \"\)SHA256:\.\.\.#\1${KEY[3]}#" \
		-e "/Peer_Key/!s#^[^\#]*Peer_Security = tls;#& Peer_Key = \"$TMP/peer${id:-1}.key\"; Peer_Certificate = \"$TMP/peer${id:-1}.crt\";#" "$1" >"$TMP/conf"
	LD_LIBRARY_PATH=$PREFIX/lib ASAN_OPTIONS=detect_leaks=0 \
		"$PREFIX/bin/ganesha.nfsd" -F -x -f "$TMP/conf" -L "$TMP/log" -p "$TMP/pid" >"$TMP/out" 2>&1 &
	pid=$!
	for _ in $(seq 300); do
		grep -qs "NFS SERVER INITIALIZED" "$TMP/log" && break
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	kill -0 "$pid" 2>/dev/null
	ALIVE=$?
	kill "$pid" 2>/dev/null
	for _ in $(seq 100); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	STATUS=$?
}

verdict() {
	if [ "$1" = 0 ]; then
		echo "ok $2"
	else
		echo "not ok $2"
		grep -s "CRIT\|FATAL" "$TMP/log" | cut -c1-300 | sed 's/^/# /'
		sed 's/^/# /' "$TMP/out" | head -20
		FAILED=1
	fi
}

good() {
	serve "$1"
	[ "$ALIVE" = 0 ] && ! grep -q "is refused\|CONFIG :CRIT" "$TMP/log"
	verdict $? "serves: ${1#"$HERE"/}"
}

# with KEYS, tuned KEYS: how `bad` spoils the sample by what stands in REPL { }, or in Tuning { } there. No % in them.
with() { printf '%s' "s%^REPL {%& $1%"; }
tuned() { with "Tuning { $1 }"; }

# bad NAME 'SED' 'PATTERN': the sample, spoilt by SED, is refused once, with a text that has PATTERN.
bad() {
	sed "$2" "$HERE/repl.conf" >"$TMP/spoilt"
	cmp -s "$TMP/spoilt" "$HERE/repl.conf" && echo "# the sample has nothing that '$2' changes"
	serve "$TMP/spoilt"
	[ "$ALIVE" != 0 ] && [ "$STATUS" = 1 ] && [ "$(grep -c 'REPL: .*is refused' "$TMP/log")" = 1 ] &&
		grep "is refused" "$TMP/log" | grep -q -- "$3"
	verdict $? "refused: $1"
}

# ends NAME 'SED' 'PATTERN': the sample, spoilt by SED outside REPL { }, ends the daemon (-x, as packaging/nfs4r@.service has it) before it has started, with PATTERN in the log.
ends() {
	sed "$2" "$HERE/repl.conf" >"$TMP/spoilt"
	cmp -s "$TMP/spoilt" "$HERE/repl.conf" && echo "# the sample has nothing that '$2' changes"
	serve "$TMP/spoilt"
	[ "$ALIVE" != 0 ] && [ "$STATUS" != 0 ] && ! grep -q "NFS SERVER INITIALIZED" "$TMP/log" && grep -q -- "$3" "$TMP/log"
	verdict $? "ends: $1"
}

good "$HERE/repl.conf"
for f in "$HERE"/three-sites/*.conf; do good "$f"; done
# The README's, whose servers have names.
awk '/^```$/ { if (text ~ /REPL \{/) { printf "%s", text; exit } text = ""; next } { text = text $0 "\n" }' "$HERE/../README.md" |
	sed 's/paris.example.org/192.0.2.1/; s/oslo.example.org/192.0.2.2/; s/rome.example.org/192.0.2.3/' >"$TMP/README.conf"
good "$TMP/README.conf"
sed 's/Peer_Security = tls;/Peer_Security = none;/' "$HERE/three-sites/site1.conf" >"$TMP/none.conf"
good "$TMP/none.conf"

# agree KEY: all samples say the same.
agree() {
	[ "$(sed -n "s/^[^#]*\b$1 = \([^;]*\);.*/\1/p" "$HERE/repl.conf" "$HERE"/three-sites/*.conf "$TMP/README.conf" | sort | uniq -c | sed 's/ *\([0-9]*\) .*/\1/')" = 5 ]
	verdict $? "the samples agree: $1"
}
for key in Peer_Security Squash Path Pseudo Store Control_Socket Lease_Lifetime Grace_Period Expired_Client_Threshold Active_krb5 Root_Kerberos_Principal Dir_Chunk Delegations SecType; do agree $key; done

bad "no Server_Id" '/Server_Id/d' 'Server_Id'
bad "Server_Id out of range" 's/Server_Id = 1/Server_Id = 99/' 'Server_Id'
bad "no Volume" '/Volume = /d' 'Volume'
bad "no Volume_UUID" '/Volume_UUID = /d' 'Volume_UUID'
bad "Volume_UUID no UUID" 's/3b0d7a3c-5b0e/zzzzzzzz-5b0e/' 'Volume_UUID'
bad "no Store" '/Store = /d' 'Store'
bad "no Peer_Security" '/Peer_Security = /d' 'Peer_Security'
bad "Kerberos that protects nothing" 's/Peer_Security = tls/Peer_Security = krb5/' 'Peer_Security = krb5 .*write krb5p'
bad "Kerberos without a keytab" "s%Peer_Security = tls;%Peer_Security = krb5p; Peer_Keytab = \"$TMP/none\";%" 'Peer_Keytab = .*is not there'
bad "tls without a key" "s%Peer_Security = tls;%Peer_Security = tls; Peer_Key = \"$TMP/none.key\"; Peer_Certificate = \"$TMP/none.crt\";%" "Peer_Key = .*is not there: run .nfs4rctl key make --files $TMP/none"
bad "tls without a key of anybody else" 's/Peer_Security = tls;/Peer_Security = tls; Server { Id = 2; Address = "192.0.2.2"; }/' 'Peer_Security = tls has nothing by which to know another server'
bad "a key that is no fingerprint" "$(with 'Server { Id = 2; Address = "192.0.2.2"; Key = "SHA256:nine"; }')" 'Server 2: Key = "SHA256:nine" is no fingerprint'
touch "$TMP/loose.key" "$TMP/loose.crt"
chmod 644 "$TMP/loose.key"
bad "a key that others can read" "s%Peer_Security = tls;%Peer_Security = tls; Peer_Key = \"$TMP/loose.key\"; Peer_Certificate = \"$TMP/loose.crt\";%" 'Peer_Key = .*mode 0644.*chmod 600'
bad "Peer_Security misspelt" 's/Peer_Security = tls/Peer_Security = nine/' 'Peer_Security\|nine'
bad "Peer_Ports misspelt" "$(tuned 'Peer_Ports = all;')" 'Peer_Ports\|all'
bad "a port of every user" 's/Port = 294/Port = 20490/' 'Server 1 has Port = 20490, which every user of its machine can use.*write Port = 294'
bad "unknown key" "$(with 'Imports = false;')" 'Unknown parameter (Imports): .* the most similar is Import, in REPL { }'
bad "a key's old name" "$(with 'Silence = 2000;')" 'Silence is called Failure_Timeout now: write that, in Tuning { }'
bad "a key in the wrong block" "$(with 'Lease = 2000;')" 'Lease belongs in Tuning { }'
bad "Max_Round_Trip out of range" "$(with 'Max_Round_Trip = 7000;')" 'Max_Round_Trip = 7000'
bad "Op_Wait out of range" "$(tuned 'Op_Wait = 5;')" 'Op_Wait'
bad "Stop_Wait out of range" "$(with 'Stop_Wait = 900000;')" 'Stop_Wait'
bad "Restart_Pause out of range" "$(tuned 'Restart_Pause = 900000;')" 'Restart_Pause'
bad "Window too small" "$(with 'Window = 10;')" 'Window'
bad "Bandwidth_Probe out of range" "$(tuned 'Bandwidth_Probe = 9999999999;')" 'Bandwidth_Probe'
bad "no Peer_Connections" "$(tuned 'Peer_Connections = 0;')" 'Peer_Connections'
bad "Lease too short" "$(tuned 'Lease = 50;')" 'Lease'
bad "Lease out of range" "$(tuned 'Lease = 100000;')" 'Lease'
bad "Failure_Timeout too short for the lease" "$(tuned 'Failure_Timeout = 900;')" 'Failure_Timeout'
bad "Clock_Drift out of range" "$(tuned 'Clock_Drift = 900;')" 'Clock_Drift'
bad "Durability misspelt" "$(with 'Durability = all;')" 'Durability\|all'
bad "Durability needs a lease" "$(with 'Durability = commit; Tuning { Lease = 0; }')" 'Durability'
bad "Abandon_After too short" "$(with 'Abandon_After = 5;')" 'Abandon_After'
bad "Abandon_After where nobody waits" "$(with 'Abandon_After = 600; Durability = commit;')" 'Abandon_After'
bad "Retention_Bytes too few" "$(with 'Retention_Bytes = 1000000;')" 'Retention_Bytes'
bad "Free_Min too few" "$(with 'Free_Min = 5;')" 'Free_Min'
bad "Quotas misspelt" "$(with 'Quotas = obey;')" 'Quotas\|obey'
bad "Retention_Time too short" "$(with 'Retention_Time = 60;')" 'Retention_Time'
bad "Conflicts not absolute" "$(with 'Conflicts = "x/conflicts";')" 'Conflicts'
bad "no Server block" '/Server {/d' 'Server'
bad "own Server block missing" 's/Id = 1;/Id = 2;/; s/Server_Id = 2/Server_Id = 1/' 'Server'
bad "no REPL block" 's/^REPL {/NOREPL {/' 'REPL block'
bad "attributes cached above" 's/Attr_Expiration_Time = 0/Attr_Expiration_Time = 60/' 'Attr_Expiration_Time = 0'
bad "attributes cached by default" '/Attr_Expiration_Time = 0/d' 'Attr_Expiration_Time = 0'
bad "directories cached above" '/Dir_Chunk = 0/d' 'Dir_Chunk = 0'
bad "no Filesystem_Id" '/Filesystem_Id/d' 'Filesystem_Id'
bad "owners cached above" '/Use_Cached_Owner_On_Owner_Override/d' 'Use_Cached_Owner_On_Owner_Override = false'
bad "missing names cached above" 's/Trust_Readdir_Negative_Cache = false/Trust_Readdir_Negative_Cache = true/' 'Trust_Readdir_Negative_Cache = false'
bad "no Server_Scope" '/Server_Scope/d' 'Server_Scope = '
bad "delegations" 's/Delegations = false/Delegations = true/' 'Delegations = false'
bad "Store in the exported directory" 's#Store = "[^"]*"#Store = "/srv/data/store"#' 'Store = .* lies in the exported directory .*write a directory outside it'
bad "exported directory in Store" 's#Store = "[^"]*"#Store = "'"$TMP"'"#' 'Path = .* lies in Store'
bad "Control_Socket in the exported directory" 's#Control_Socket = "[^"]*"#Control_Socket = "/srv/data/s"#' 'Control_Socket = .* lies in the exported directory'
bad "Conflicts in the exported directory" "$(with 'Conflicts = "/srv/data/lost";')" 'Conflicts = .* lies in the exported directory'
bad "RecoveryRoot in the exported directory" 's#RecoveryBackend = fs;#RecoveryRoot = "/srv/data/rec";#' 'RecoveryRoot = .* lies in the exported directory'
bad "Path on /proc" 's#Path = "[^"]*"#Path = "/proc/sys"#' 'Path = .*persistent file handles'
bad "Path of the whole machine" 's#Path = "[^"]*"#Path = "/"#' 'a separate directory'
bad "nothing below" '/^		FSAL {/,/^		}/d' 'FSAL'
bad "a second REPL export" '$a EXPORT { Export_Id = 78; Filesystem_Id = 78.1; Path = "/srv/data"; Pseudo = "/two"; Access_Type = RW; SecType = sys; Attr_Expiration_Time = 0; Trust_Readdir_Negative_Cache = false; FSAL { Name = REPL; FSAL { Name = VFS; } } }' 'a REPL export already'

# Another process has a port: PORT of ADDRESS is listened on while the next case runs.
taken() {
	/usr/bin/python3 -c 'import socket, sys, time; s = socket.create_server((sys.argv[1], int(sys.argv[2]))); print(flush=True); time.sleep(100)' "$1" "$2" >"$TMP/taken" &
	TAKER=$!
	until [ -s "$TMP/taken" ]; do sleep 0.05; done
}
taken 127.0.0.1 2049
bad "NFS_Port is taken" 's/Protocols = 4;/& /' 'NFS_Port = 2049 is in use'
kill "$TAKER"
bad "Bind_addr of another machine" 's/Protocols = 4;/& Bind_addr = 198.51.100.9;/' 'Bind_addr is not an address of this machine'

mkdir "$TMP/real"
ln -s real "$TMP/linked"
bad "Path is a link" "s#Path = \"[^\"]*\"#Path = \"$TMP/linked\"#" "is a symbolic link.*write its target instead, Path = \"$TMP/real\""
sed 's#Pseudo = "/data"#Pseudo = "/"#' "$HERE/repl.conf" >"$TMP/root.conf"
good "$TMP/root.conf"

ends "no braces" '/^REPL {/d' 'rror'
ends "a value of another type" 's/Export_Id = 77/Export_Id = "none"/' 'Expected a number'
ends "Pseudo that is no path" 's#Pseudo = "/data"#Pseudo = "data"#' 'Pseudo path must be'
ends "a key of EXPORT misspelt" 's/Access_Type = RW/Acess_Type = RW/' 'Acess_Type'
good "$HERE/repl.conf"
KEEP=1 # a copy that was served by REPL
VFS='/^		FSAL {/,/^		}/d; s/Name = REPL;/Name = VFS;/; /^REPL {/,/^}/d'
ends "a copy exported by VFS" "$VFS" 'is refused: Path = .* is the copy of a replicated volume (.* server 1).* write FSAL { Name = REPL;'
mkdir -p "$TMP/data/sub"
ends "... below its root" "$VFS; s#Path = \"/srv/data\"#Path = \"/srv/data/sub\"#" 'is refused: Path = .* is the copy of a replicated volume'
ln -s data/sub "$TMP/link"
ends "... by a link" "$VFS; s#Path = \"[^\"]*\"#Path = \"$TMP/link\"#" 'is refused: Path = .* is the copy of a replicated volume'
setfattr -x trusted.nfs4r.volume "$TMP/data"
sed "$VFS" "$HERE/repl.conf" >"$TMP/vfs.conf"
good "$TMP/vfs.conf" # none any more
unset KEEP
ends "VFS in place of REPL" '/^		FSAL {/,/^		}/d; s/Name = REPL;/Name = VFS;/' 'no volume is exported by it: write FSAL'
exit $FAILED
