#!/usr/bin/env bash
# scripts/format.sh [--check] [FILE...]: clang-format over all C files, or over these. --check: changes nothing, and fails if it would. How: .clang-format.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

main() {
	local files mode=-i
	[ "${1:-}" != --check ] || { mode='--dry-run -Werror'; shift; }
	cd "$ROOT"
	mapfile -t files < <([ $# -gt 0 ] && printf '%s\n' "$@" || find src protocol FSAL_REPL tests -name '*.[ch]' | LC_ALL=C sort)
	# shellcheck disable=SC2086
	printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 40 clang-format-14 $mode || die "not all of ${#files[@]} files have the form of .clang-format: make format"
	say "${#files[@]} files are in form"
}

main "$@"
