#!/usr/bin/env bash
# Everything the build and the tests need from outside. The only script that downloads.
#
#   scripts/deps.sh [release] [asan] [debian]      default: release
#
# 1. Debian packages, those that are missing.
# 2. Ganesha, pinned: scripts/ganesha.sh, once per variant.
# 3. debian: a minimal Debian 12 for the test of the package, scripts/minimal-debian.sh.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

PKG_BUILD="gcc libc6-dev make cmake ninja-build pkg-config bison flex patch rpcsvc-proto
	libkrb5-dev liburcu-dev libdbus-1-dev libcap-dev libblkid-dev uuid-dev libacl1-dev
	libnfsidmap-dev libjemalloc-dev liblmdb-dev libuv1-dev libcmocka-dev libjansson-dev nettle-dev libssl-dev uthash-dev spin tcc
	clang-14 libclang-rt-14-dev llvm-14"
PKG_LINT="shellcheck pyflakes3 clang-format-14 clang-tidy-14 gcovr"
PKG_FETCH="ca-certificates dpkg-dev debian-archive-keyring"
PKG_BED="user-mode-linux nfs-common wireguard-tools wireguard-go iproute2 ethtool socat kmod iputils-ping procps
	python3 libnfs-utils bc attr acl iperf3 tcpdump util-linux e2fsprogs xfsprogs btrfs-progs
	git rsync tcc python3-matplotlib systemd debootstrap lintian"
PKG_PROGRAMS="subversion mercurial qemu-utils procmail" # that lock files; the tests run them in the bed's clients
PKG_KRB5="krb5-kdc krb5-admin-server krb5-user faketime" # the tests start a KDC of their own; that of the package is not started

packages() {
	local need
	command -v dpkg-query >/dev/null || die "this is not Debian; install by hand what PKG_* in scripts/deps.sh name"
	# shellcheck disable=SC2086
	need=$(missing_packages $PKG_BUILD $PKG_LINT $PKG_FETCH $PKG_BED $PKG_PROGRAMS $PKG_KRB5)
	[ -n "$need" ] || return 0
	# shellcheck disable=SC2086
	logged packages "$(echo "$need" | wc -l) Debian packages" apt_install $need ||
		die "could not install: $(echo $need); as root: apt-get install $(echo $need)"
}

# Ganesha finds the file system of an export there; containers and chroots often come without.
mtab() {
	[ -e /etc/mtab ] || ln -s ../proc/self/mounts /etc/mtab || die "no /etc/mtab; as root: ln -s ../proc/self/mounts /etc/mtab"
}

main() {
	local variant
	mkdir -p "$DEPS"
	exec 9>"$DEPS/lock"
	flock 9
	packages
	mtab
	for variant in "${@:-release}"; do
		case $variant in
		debian) "$ROOT/scripts/minimal-debian.sh" ;;
		*) "$ROOT/scripts/ganesha.sh" "$variant" ;;
		esac
	done
}

main "$@"
