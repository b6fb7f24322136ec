#!/usr/bin/env bash
# scripts/tidy.sh [FILE...]: clang-tidy over all of src, protocol and FSAL_REPL, or over these files. What it looks for: .clang-tidy. Fails on any warning.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

main() {
	local files start=$SECONDS
	"$ROOT/scripts/build.sh" clang:nfs4r_build_header
	cd "$ROOT"
	mapfile -t files < <([ $# -gt 0 ] && printf '%s\n' "$@" || find src protocol FSAL_REPL -name '*.c' | LC_ALL=C sort)
	printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 clang-tidy-14 --quiet -p build/clang 2>build/tidy.log ||
		die "clang-tidy found something in ${#files[@]} files (what it suppressed: build/tidy.log)"
	say "${#files[@]} files are tidy, $((SECONDS - start)) s"
}

main "$@"
