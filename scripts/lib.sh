# Shared by the scripts of this folder; sourced, not run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
DEPS=$(readlink -f "$ROOT/.deps") # a worktree's may be a link to that of another
LOGS=$DEPS/log
CACHE=${NFS4R_CACHE:-$HOME/.cache/nfs4r}

say() { printf '%s\n' "$*"; }

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# logged NAME TEXT CMD...: one progress line on the terminal, all output in .deps/log/NAME.log.
logged() {
	local log=$LOGS/$1.log text=$2 start=$SECONDS
	shift 2
	mkdir -p "$LOGS"
	printf '  %-46s' "$text"
	if "$@" </dev/null >"$log" 2>&1; then
		say "$((SECONDS - start)) s"
		return 0
	fi
	say "FAILED (log: ${log#"$ROOT"/})"
	tail -n 15 "$log" >&2
	return 1
}

# counted TEXT CMD...: as logged, for a build: on a terminal the line counts ninja's steps while they run. Output in build/counted.log.
counted() {
	local log=$ROOT/build/counted.log text=$1 start=$SECONDS step rc=0
	shift
	mkdir -p "${log%/*}"
	printf '  %-46s' "$text"
	"$@" </dev/null 2>&1 | tee "$log" | while read -r step; do
		[[ ! -t 1 || ! $step =~ ^\[([0-9]+/[0-9]+)\] ]] || printf '\r  %-46s%-13s' "$text" "${BASH_REMATCH[1]}"
	done || rc=1
	[ ! -t 1 ] || printf '\r  %-46s%-13s\r  %-46s' "$text" '' "$text"
	if [ "$rc" = 0 ]; then
		say "$((SECONDS - start)) s"
		return 0
	fi
	say "FAILED (log: ${log#"$ROOT"/})"
	tail -n 15 "$log" >&2
	return 1
}

# missing_packages NAME...: those that are not installed, one a line.
missing_packages() {
	local p
	for p in "$@"; do
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
	done
}

# No service of a package is started (policy-rc.d(8)): the tests start what they need, in namespaces of their own.
apt_install() {
	local sudo=
	[ "$(id -u)" = 0 ] || sudo="sudo -n"
	$sudo env DEBIAN_FRONTEND=noninteractive sh -c '
		policy=/usr/sbin/policy-rc.d
		if [ ! -e $policy ]; then
			trap "rm -f $policy" EXIT
			printf "#!/bin/sh\nexit 101\n" >$policy && chmod 755 $policy || exit 1
		fi
		apt-get update && apt-get install -y --no-install-recommends "$@"' sh "$@"
}
