#!/usr/bin/env bash
# scripts/build.sh PRESET[:TARGET]...: configure and build; gets the dependencies first where they are missing.
#
# Without a target all of the preset is built. tests/CMakeLists.txt has targets for those who need less.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

PRESETS="release debug asan tsan clang coverage fuzz"

variants() { case " $* " in *" asan"[\ :]*) echo release asan ;; *) echo release ;; esac; }

main() {
	local what preset target
	[ $# -gt 0 ] || die "usage: build.sh PRESET[:TARGET]...; presets: $PRESETS"
	for what in "$@"; do
		[[ " $PRESETS " = *" ${what%%:*} "* ]] || die "there is no preset ${what%%:*}; there are: $PRESETS"
	done
	# shellcheck disable=SC2046
	"$ROOT/scripts/deps.sh" $(variants "$@")
	cd "$ROOT"
	for what in "$@"; do
		preset=${what%%:*} target=${what#"$preset"}
		mkdir -p "build/$preset"
		# Two builds of one tree at a time would tread on each other.
		exec 8>"build/$preset/.lock"
		flock 8
		[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >"build/$preset/configure.log" 2>&1 ||
			{ cat "build/$preset/configure.log" >&2; die "cannot configure $preset"; }
		cmake --build --preset "$preset" ${target:+--target "${target#:}"}
		exec 8>&-
	done
}

main "$@"
