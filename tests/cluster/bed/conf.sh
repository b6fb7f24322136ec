# Configuration files of the servers; sourced by `testbed`.
# Uses RUN SITES MODE LOCAL_STOCK LEASE GRACE LATE KRB5 PEER_SECURITY NFS4RCTL, and SETS, SETS_FSAL: lists of KEY=VALUE, one a line.

KEYS=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../../src/base/config.def
VOLUME_UUID=6f1c2b1e-8d0a-4a55-9c3e-2f7b10c4d977

# conf_items SETS <base: 'KEY = VALUE' lines: the user's settings replace or follow the base.
conf_items() {
	awk -v sets="$1" '
		BEGIN {
			n = split(sets, line, "\n")
			for (i = 1; i <= n; i++) {
				p = index(line[i], "=")
				if (!p) continue
				k = substr(line[i], 1, p - 1); gsub(/^[ \t]+|[ \t]+$/, "", k)
				v = substr(line[i], p + 1); sub(/^[ \t]+/, "", v)
				if (!(k in mine)) order[++m] = k
				mine[k] = v
			}
		}
		{ k = $1; if (k in mine) { print "\t" k " = " mine[k] ";"; used[k] = 1 } else print "\t" $0 ";" }
		END { for (i = 1; i <= m; i++) if (!(order[i] in used)) print "\t" order[i] " = " mine[order[i]] ";" }'
}

# conf_sets tuning|public: those of SETS that belong into Tuning { }, or the others, by the table of keys.
conf_sets() {
	sed -n 's/^KEY_[A-Z0-9]*(TUNING, \([A-Za-z_]*\),.*/\1/p' "$KEYS" |
		awk -v sets="$SETS" -v want="$1" '
			{ tuning[$1] }
			END {
				if (!NR) { print "no_table_of_keys=1"; exit 1 }
				n = split(sets, line, "\n")
				for (i = 1; i <= n; i++) {
					k = line[i]; sub(/=.*/, "", k); gsub(/[ \t]/, "", k)
					if ((k in tuning) == (want == "tuning")) print line[i]
				}
			}'
}

# conf_common ADDRESS PORT PLUGINS DIR OWNER SCOPE [LINE of NFS_CORE_PARAM]
conf_common() {
	cat <<-END
	NFS_CORE_PARAM {
	    Protocols = 4;
	    Bind_addr = $1;
	    NFS_Port = $2;
	    Enable_UDP = false;
	    allow_set_io_flusher_fail = true;
	    Plugins_Dir = "$3";
	    ${7:-}
	}
	NFSv4 {
	    Minor_Versions = 0,1,2;
	    Only_Numeric_Owners = true;
	    RecoveryBackend = fs;
	    RecoveryRoot = "$4/rec";
	    Lease_Lifetime = $LEASE;
	    Grace_Period = $GRACE;
	    Expired_Client_Threshold = 0;
	    Delegations = false;
	    Server_Owner = "$5";
	    Server_Scope = "$6";
	}
	DIRECTORY_SERVICES { Root_Kerberos_Principal = None; }
	END
}

# conf_export DIR EXTRA FSAL
conf_export() {
	cat <<-END
	EXPORT {
	    Export_Id = 77;
	    Path = "$1/data";
	    Pseudo = /data;
	    Access_Type = RW;
	    Squash = No_Root_Squash;
	    SecType = sys${KRB5:+, krb5, krb5i, krb5p};
	    Filesystem_Id = 77.1;
	$2
	$3
	}
	END
}

# conf_stock SITE PORT DIR. An owner for each of a site's two: to a client, servers of one owner are one server with several addresses.
conf_stock() {
	conf_common "10.0.$1.1" "$2" "$RUN/plugins" "$3" "stock$1-$2" stock
	conf_krb5 "$1" "$3"
	conf_export "$3" "" "    FSAL { Name = VFS; }"
}

# conf_keys: with tls each server makes its key, as an administrator does. Before the first conf_site, which needs all of them.
conf_keys() {
	local i
	[ "$MODE" = repl ] && [ "$PEER_SECURITY" = tls ] || return 0
	for i in $(seq "$SITES"); do
		mkdir -p "$RUN/g$i"
		"$NFS4RCTL" key make --files "$RUN/g$i/peer" >"$RUN/g$i/key" || return 1
	done
}

# conf_key SITE: what its Server block has beside the address.
conf_key() {
	case $PEER_SECURITY in
	tls) sed -n 's/^ *\(Key = "SHA256:.*";\)$/ \1/p' "$RUN/g$1/key" ;;
	krb5*) printf ' Principal = "nfs4r/s%s.%s";' "$1" "$DOMAIN" ;;
	esac
}

# A server is killed here as often as a test likes, and no pause is wanted for that.
conf_repl() {
	local i=$1 d=$RUN/g$1 j
	conf_common "10.0.$i.1" 2049 "$RUN/plugins" "$d" "s$i" cell "Getattrs_In_Complete_Read = false;"
	conf_krb5 "$i" "$d"
	echo "MDCACHE { Dir_Chunk = 0; Use_Cached_Owner_On_Owner_Override = false; }"
	echo "REPL {"
	conf_items "$(conf_sets public)" <<-END
	Server_Id = $i
	Volume = "data"
	Volume_UUID = "$VOLUME_UUID"
	Store = "$d/store"
	Peer_Security = $PEER_SECURITY
	Peer_Key = "$d/peer.key"
	Peer_Certificate = "$d/peer.crt"
	Peer_Keytab = "$d/peer.keytab"
	Control_Socket = "$d/ctl.sock"
	END
	echo "	Tuning {"
	conf_items "$(conf_sets tuning)" <<<'Restart_Pause = 0'
	echo "	}"
	for j in $(seq "$SITES"); do
		[ "$j" = "$i" ] || ! is_late "$j" || continue
		echo "	Server { Id = $j; Address = \"10.0.$j.1\"; Port = 294;$(conf_key "$j") }"
	done
	echo "}"
	conf_export "$d" "    Attr_Expiration_Time = 0;
    Trust_Readdir_Negative_Cache = false;" "    FSAL {
	Name = REPL;
$(conf_items "$SETS_FSAL" </dev/null)
	FSAL { Name = VFS; }
    }"
}

# conf_site SITE: directories and configuration of the site's servers.
conf_site() {
	local i=$1 d=$RUN/g$1
	mkdir -p "$d"
	if [ "$MODE" = repl ]; then
		mkdir -p "$d/data" "$d/store" "$d/rec"
		conf_repl "$i" >"$d/ganesha.conf"
	elif [ "$i" = 1 ]; then
		mkdir -p "$d/data" "$d/rec"
		conf_stock "$i" 2049 "$d" >"$d/ganesha.conf"
	fi
	if [ -n "$LOCAL_STOCK" ]; then
		mkdir -p "$d/stock/data" "$d/stock/rec"
		conf_stock "$i" 2050 "$d/stock" >"$d/stock/ganesha.conf"
	fi
}
