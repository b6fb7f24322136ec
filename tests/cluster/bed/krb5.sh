# Kerberos for the bed (up --krb5): a realm of its own with a KDC at site 1, principals, keytabs, users and their groups. Sourced by lib.sh and `testbed`.
# Uses RUN SITES KRB5 SEC. Nothing of it is installed anywhere: servers and guests see RUN/krb5/etc, or gI/etc, laid over /etc.
#
#   RUN/krb5/kdc/       the KDC's database, kdc.log
#   RUN/krb5/keytabs/   of servers (sI), machines of clients (cI), and users: a test's way to a ticket (kinit -k)
#   RUN/krb5/etc/       over /etc of the guests: krb5.conf idmapd.conf hosts passwd group
#   gI/peer.keytab      nfs4r/sI.bed.test, by which a server proves itself to the others (up --peer-security krb5p)
#   gI/etc/             the same for the site's servers, a copy that a test may change before a start

REALM=BED.TEST
DOMAIN=bed.test

# NAME UID GID: alice is in 3 groups besides her own, bob in 40, carol in 1,023 and dave in 1,024. A server counts a user's own group, too.
# u1000, who is in group 7, and u1002 are users that the suites work as; they have tickets wherever there is a mount.
KRB5_USERS='alice 2001 2001
bob 2002 2002
carol 2003 2003
dave 2004 2004
u1000 1000 1001
u1002 1002 1002'
KRB5_CROWD=3000 # gid of group crowd0; the others follow
KRB5_GROUPS=1024

krb5_conf() {
	cat <<-END
	[libdefaults]
	    default_realm = $REALM
	    dns_lookup_realm = false
	    dns_lookup_kdc = false
	    dns_canonicalize_hostname = false
	    rdns = false
	    default_ccache_name = FILE:/run/krb5/krb5cc_%{uid}
	[realms]
	    $REALM = {
	        kdc = 10.0.1.1
	    }
	[domain_realm]
	    .$DOMAIN = $REALM
	END
}

# aes*-sha1: what RPCSEC_GSS of Linux 6.1 has.
kdc_conf() {
	cat <<-END
	[kdcdefaults]
	    kdc_listen = 10.0.1.1:88
	    kdc_tcp_listen = 10.0.1.1:88
	[realms]
	    $REALM = {
	        database_name = $1/principal
	        key_stash_file = $1/stash
	        acl_file = $1/acl
	        max_life = 10h
	        supported_enctypes = aes256-cts-hmac-sha1-96:normal
	    }
	[logging]
	    kdc = FILE:$1/kdc.log
	    default = FILE:$1/other.log
	END
}

idmapd_conf() {
	cat <<-END
	[General]
	Domain = $DOMAIN
	Local-Realms = $REALM
	[Translation]
	Method = nsswitch
	GSS-Methods = nsswitch
	END
}

krb5_hosts() {
	local i
	cat /etc/hosts
	for i in $(seq "$SITES"); do
		echo "10.0.$i.1 s$i.$DOMAIN"
		echo "10.0.$i.2 c$i.$DOMAIN c$i"
	done
}

krb5_passwd() {
	local name uid gid
	cat /etc/passwd
	while read -r name uid gid; do
		echo "$name:x:$uid:$gid::/:/bin/sh"
	done <<<"$KRB5_USERS"
}

krb5_group() {
	local name gid
	awk -F: -v OFS=: '$3 == 7 { $4 = $4 ($4 == "" ? "" : ",") "u1000" } { print }' /etc/group
	while read -r name _ gid; do
		echo "$name:x:$gid:"
	done <<<"$KRB5_USERS"
	awk -v first="$KRB5_CROWD" -v n="$KRB5_GROUPS" 'BEGIN {
		for (i = 0; i < n; i++)
			print "crowd" i ":x:" first + i ":dave" (i < n - 1 ? ",carol" : "") (i < 40 ? ",bob" : "") (i < 3 ? ",alice" : "") }'
}

# With these the KDC's programs, and no others, work on the bed's realm.
kdc_run() { env KRB5_CONFIG="$RUN/krb5/etc/krb5.conf" KRB5_KDC_PROFILE="$RUN/krb5/kdc/kdc.conf" "$@"; }

kdc_admin() { kdc_run kadmin.local -r $REALM "$@"; }

# The realm with all its principals and keytabs, before anything runs.
krb5_prepare() {
	local d=$RUN/krb5 i p
	mkdir -p "$d/kdc" "$d/keytabs" "$d/etc"
	krb5_conf >"$d/etc/krb5.conf"
	idmapd_conf >"$d/etc/idmapd.conf"
	krb5_hosts >"$d/etc/hosts"
	krb5_passwd >"$d/etc/passwd"
	krb5_group >"$d/etc/group"
	for i in $(seq "$SITES"); do cp -r "$d/etc" "$RUN/g$i/etc"; done
	kdc_conf "$d/kdc" >"$d/kdc/kdc.conf"
	kdc_run kdb5_util -r $REALM create -s -P "$RANDOM$RANDOM$RANDOM$RANDOM" >"$d/prepare.log" 2>&1 || fail "no realm; see $d/prepare.log"
	{
		for i in $(seq "$SITES"); do
			for p in s c; do printf 'addprinc -randkey nfs/%s%s.%s\nktadd -k %s/keytabs/%s%s.keytab nfs/%s%s.%s\n' $p "$i" $DOMAIN "$d" $p "$i" $p "$i" $DOMAIN; done
		done
		for i in $(seq "$SITES"); do printf 'addprinc -randkey nfs4r/s%s.%s\nktadd -k %s/g%s/peer.keytab nfs4r/s%s.%s\n' "$i" $DOMAIN "$RUN" "$i" "$i" $DOMAIN; done
		for p in root $(cut -d' ' -f1 <<<"$KRB5_USERS"); do printf 'addprinc -randkey %s\nktadd -k %s/keytabs/%s.keytab %s\n' "$p" "$d" "$p" "$p"; done
	} | kdc_admin >>"$d/prepare.log" 2>&1
	for p in s1 c1 root alice; do [ -s "$d/keytabs/$p.keytab" ] || fail "no keytab $p; see $d/prepare.log"; done
	chmod 644 "$d"/keytabs/*
}

# conf_krb5 SITE DIR: what a server's configuration has besides.
conf_krb5() {
	[ -n "$KRB5" ] || return 0
	cat <<-END
	NFS_KRB5 {
	    Active_krb5 = true;
	    PrincipalName = "nfs@s$1.$DOMAIN";
	    KeytabPath = "$RUN/krb5/keytabs/s$1.keytab";
	    CCacheDir = "$2/krb5cc";
	}
	END
}

# ---- inside the bed ----

kdc_pid() { pgrep -f "^[^ ]*krb5kdc -n -P $RUN/krb5/kdc/pid"; }

kdc_listens() { [ -n "$(ip netns exec s1 ss -Htln 'sport = 88')" ]; }

kdc_start() {
	! kdc_pid >/dev/null || fail "the KDC runs already"
	kdc_run setsid ip netns exec s1 krb5kdc -n -P "$RUN/krb5/kdc/pid" </dev/null >>"$RUN/krb5/kdc/out" 2>&1 &
	wait_until 20 kdc_listens || fail "the KDC does not listen (see $RUN/krb5/kdc)"
}

kdc_stop() {
	local p
	p=$(kdc_pid) || fail "the KDC does not run"
	kill "$p"
	wait_until 10 pid_gone "$p" || fail "the KDC (pid $p inside) does not end"
}

# with_etc DIR: a server's command begins with this.
with_etc() { [ ! -d "$1/etc" ] || printf '%s ' env KRB5RCACHEDIR="$1" "$BED/with-etc" "$1/etc"; }

# with_clock DIR: and with this; its clock is so many seconds ahead.
with_clock() { [ ! -s "$1/clock" ] || printf '%s ' env LD_PRELOAD="$RUN/clockshim.so" BED_CLOCK_AHEAD="$(cat "$1/clock")"; }

# krb5_ready SITE: root of the guest has a ticket of its own, as whoever works in the guest has. Not that of its machine, which is nobody in the volume.
krb5_ready() {
	"$BED/gx" "$RUN/c$1.sock" -n -t 30 -- sh -c '
		for user in root:0 u1000:1000 u1002:1002; do
			setpriv --reuid ${user#*:} --regid ${user#*:} --clear-groups kinit -k -t /tb/keytabs/${user%:*}.keytab ${user%:*} || exit 1
		done' >>"$RUN/c$1.log" 2>&1 || fail "no tickets at site $1 (log: $RUN/c$1.log)"
}
