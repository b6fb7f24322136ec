#!/usr/bin/env bash
# Packages of the systems that the wide-area benchmark compares with (tests/bench/peers.py). Only `make bench ARGS=wan-...`
# installs them. The benchmark runs them in namespaces of its own; where systemd starts glusterd by itself, `systemctl disable --now glusterd`.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

PKG_PEERS="globus-gridftp-server-progs globus-gass-copy-progs glusterfs-server glusterfs-client fuse3 rsync"

# shellcheck disable=SC2086
need=$(missing_packages $PKG_PEERS)
[ -n "$need" ] || exit 0
# shellcheck disable=SC2086
logged peers "$(echo "$need" | wc -l) Debian packages of other systems" apt_install $need ||
	die "could not install: $(echo $need); as root: apt-get install $(echo $need)"
