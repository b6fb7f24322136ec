#!/usr/bin/env bash
# Makes the minimal Debian 12 in which packaging/test.sh installs the package: what debootstrap calls minbase, and beside it, not installed, the
# packages that ours may depend on, so that the test itself downloads nothing.
#
#   scripts/minimal-debian.sh       called by scripts/deps.sh, which holds the lock
#
# Result: .deps/debian-12, which nobody changes: the test lays an overlay above it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
# Only this function: the text of ganesha.sh is the key of what it has built, so it stays as it is.
eval "$(sed -n '/^mirror() {/,/^}/p' "$ROOT/scripts/ganesha.sh")"

SUITE=bookworm
DIR=$DEPS/debian-12
# Whatever the package's Depends name, with a margin; a dependency that is not among them fails the test with apt's own line.
RUNTIME="libtirpc-common libacl1 libblkid1 libcap2 libdbus-1-3 libgssapi-krb5-2 libjansson4 libjemalloc2 libkrb5-3 liblmdb0 libmount1
	libnettle8 libnfsidmap1 libnfsidmap-regex libssl3 liburcu8 libuuid1 libuv1 libwbclient0"

key() { cat "$ROOT/scripts/minimal-debian.sh" | sha256sum | cut -c1-64; }

# Into the new system's own cache, where its apt finds them without a network.
archive() {
	local new=$1 uri=$2 opts
	mkdir -p "$new/var/lib/apt/lists/partial" "$new/var/cache/apt/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $SUITE main" >"$new/etc/apt/sources.list"
	opts="-oDir::Etc::sourcelist=$new/etc/apt/sources.list -oDir::Etc::sourceparts=/nonexistent -oDir::Etc::main=/nonexistent -oDir::Etc::parts=/nonexistent
		-oDir::State::lists=$new/var/lib/apt/lists -oDir::State::status=$new/var/lib/dpkg/status -oDir::Cache=$new/var/cache/apt
		-oAPT::Sandbox::User=root -oAcquire::Languages=none"
	# shellcheck disable=SC2086
	env -u APT_CONFIG apt-get $opts update &&
		env -u APT_CONFIG apt-get $opts install -y --no-install-recommends --download-only $RUNTIME
}

make_it() {
	local new=$DEPS/new-debian uri
	uri=$(mirror) || return 1
	rm -rf "$new"
	debootstrap --variant=minbase "$SUITE" "$new" "$uri" &&
		archive "$new" "$uri" &&
		key >"$new/.key" &&
		rm -rf "$DIR" &&
		mv "$new" "$DIR"
}

main() {
	[ "$(cat "$DIR/.key" 2>/dev/null)" != "$(key)" ] || return 0
	[ "$(id -u)" = 0 ] || die "needs root, for debootstrap; only the test of the package wants it"
	logged debian "make a minimal Debian 12" make_it || die "no minimal Debian 12, which the test of the package needs"
}

main "$@"
