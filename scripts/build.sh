#!/usr/bin/env bash
# scripts/build.sh PRESET...: configure and build; gets the dependencies first where they are missing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

variants() { case " $* " in *" asan "*) echo release asan ;; *) echo release ;; esac; }

main() {
	local preset
	[ $# -gt 0 ] || die "usage: build.sh release|debug|asan|tsan|fuzz..."
	# shellcheck disable=SC2046
	"$ROOT/scripts/deps.sh" $(variants "$@")
	cd "$ROOT"
	for preset in "$@"; do
		mkdir -p "build/$preset"
		# Two builds of one tree at a time would tread on each other.
		exec 8>"build/$preset/.lock"
		flock 8
		[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >"build/$preset/configure.log" 2>&1 ||
			{ cat "build/$preset/configure.log" >&2; die "cannot configure $preset"; }
		cmake --build --preset "$preset"
		exec 8>&-
	done
}

main "$@"
