#!/usr/bin/env bash
# Builds the Debian package for servers (packaging/).
#
#   scripts/package.sh [FOLDER]      default: build
#
# Its version ends with the time and name of the last commit, so a later one is an upgrade for apt. The last line is the package's path.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

version() {
	local v commit
	v=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")$/\1/p' "$ROOT/build/release/CPackConfig.cmake")
	commit=$(TZ=UTC git -C "$ROOT" log -1 --format=%cd.%h --date=format-local:%Y%m%d%H%M%S 2>/dev/null) || commit=
	[ -z "$commit" ] || v=$v+$commit
	[ -z "$commit" ] || git -C "$ROOT" diff --quiet HEAD || v=$v.changed
	echo "$v"
}

# Debian's form: one entry, for what is packaged.
changelog() {
	local contact
	contact=$(sed -n 's/^set(CPACK_PACKAGE_CONTACT "\(.*\)")$/\1/p' "$ROOT/build/release/CPackConfig.cmake")
	printf 'nfs4r (%s) unstable; urgency=medium\n\n  * What is new is in CHANGELOG.md.gz beside this file.\n\n -- %s  %s\n' "$1" "$contact" \
		"$(git -C "$ROOT" log -1 --format=%cD 2>/dev/null || date -R)"
}

main() {
	local out log=$LOGS/package.log v
	out=$(mkdir -p "${1:-$ROOT/build}" && cd "${1:-$ROOT/build}" && pwd)
	"$ROOT/scripts/build.sh" release:installed
	v=$(version)
	mkdir -p "$LOGS"
	changelog "$v" | gzip -9n >"$ROOT/build/release/packaging/changelog.gz"
	gzip -9nc "$ROOT/CHANGELOG.md" >"$ROOT/build/release/packaging/CHANGELOG.md.gz"
	cpack --config "$ROOT/build/release/CPackConfig.cmake" -B "$out/cpack" -D CPACK_PACKAGE_VERSION="$v" >"$log" 2>&1 ||
		{ cat "$log" >&2; die "cannot make the package"; }
	mv "$out/cpack"/nfs4r_*.deb "$out/"
	rm -rf "$out/cpack"
	say "$out/nfs4r_${v}_$(dpkg --print-architecture).deb"
}

main "$@"
