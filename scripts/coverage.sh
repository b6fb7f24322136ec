#!/usr/bin/env bash
# scripts/coverage.sh [options of ctest]: which lines and branches the tests of ctest run, a line for each folder. The models run no code of ours, and others look at symbols and sources; these are left
# out; the cluster tests are not counted.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

main() {
	local build=$ROOT/build/coverage failed=0
	counted "building with counters" "$ROOT/scripts/build.sh" coverage
	find "$build" -name '*.gcda' -delete
	ctest --test-dir "$build" -E '^(model|package|layers|writes|rules|lint|t_core_purity)' -j "$((2 * $(nproc)))" --output-on-failure --progress "$@" || failed=1
	gcovr --root "$ROOT" --filter "$ROOT/(src|protocol|FSAL_REPL)/" --exclude-throw-branches \
		--gcov-ignore-parse-errors -j "$(nproc)" --json "$build/coverage.json" --html-details "$build/coverage.html" "$build"
	"$ROOT/tests/lib/coverage_table.py" "$build/coverage.json"
	say "line by line: build/coverage/coverage.html"
	return $failed
}

main "$@"
