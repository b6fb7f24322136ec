#!/usr/bin/env bash
# All tests of the project, from a clean clone. Prints the time of each stage; the last line is
# 'N passed, N failed'; exit status 0 only when nothing failed.
#
#   asan build      every test
#   tsan build      tests with the label tsan
#   release build   tests with the label release
#   cluster         tests/cluster/run: those that wait, and the others
#   searches        beside these: tests with the label sim, once more as the long run (NFS4R_SIM_LONG=1), and the models
#   fuzz            beside these, too: each target of tests/fuzz, its kept corpus and then a minute, two at a time
#   cluster-asan    some cluster tests once more with sanitized servers
#
# A stage that breaks without naming a failed test (a build, a missing package) counts as one failure.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

PASSED=0
FAILED=0
OUT=$ROOT/build/check

count() {
	PASSED=$((PASSED + $1))
	FAILED=$((FAILED + $2))
}

# stage NAME CMD...: runs CMD with its output shown and kept; leaves its status in RC.
stage() {
	local name=$1 start=$SECONDS
	shift
	say "== $name"
	"$@" 2>&1 </dev/null | tee "$OUT/$name.log"
	RC=${PIPESTATUS[0]}
	say "== $name: $([ "$RC" = 0 ] && echo 'done' || echo "FAILED ($RC)") in $((SECONDS - start)) s"
}

build_stage() {
	stage "$@"
	[ "$RC" = 0 ] || count 0 1
	return "$RC"
}

# ctest's own summary: '98% tests passed, 2 tests failed out of 113'. The stage is over.
count_ctest() {
	local name=$1 failed total
	read -r failed total < <(sed -n 's/.* tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' \
		"$OUT/$name.log")
	failed=${failed:-0} total=${total:-0}
	count $((total - failed)) "$failed"
	[ "$RC" = 0 ] || [ "$failed" -gt 0 ] || count 0 1
}

# Tests that do not wait all the time count as two (nfs4r_add_test).
CTEST=(ctest --output-on-failure -j "$((2 * $(nproc)))" --test-dir)

ctest_stage() {
	local name=$1 preset=$2
	shift 2
	stage "$name" "${CTEST[@]}" "$ROOT/build/$preset" "$@"
	count_ctest "$name"
}

# A cluster test prints 'ok NAME' and 'not ok NAME' lines, and so does scripts/fuzz.sh.
cluster_stage() {
	local name=$1 ok bad
	shift
	stage "$name" "$@"
	case $RC in 124 | 137) say "not ok $name: cut off, since it had not ended in time" | tee -a "$OUT/$name.log" ;; esac
	ok=$(grep -c '^ok ' "$OUT/$name.log")
	bad=$(grep -c '^not ok ' "$OUT/$name.log")
	[ "$RC" = 0 ] || [ "$bad" -gt 0 ] || bad=1
	count "$ok" "$bad"
}

# It takes 25 minutes on a machine that does nothing else. The limit is for a test that hangs.
CLUSTER=(timeout --kill-after=30 3000 "$ROOT/tests/cluster/run")

SEARCHES='^(sim|model)'
BESIDE='' FUZZ=''
trap '[ -z "$BESIDE" ] || kill -- "-$BESIDE"; [ -z "$FUZZ" ] || kill -- "-$FUZZ"' EXIT
trap 'exit 1' INT TERM

# In a session of its own, at the lowest priority. Where the kernel schedules sessions as groups (sched_autogroup), nice
# counts inside of one only, and the group has a priority of its own.
LOWEST=(setsid bash -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 19 "$@"' lowest)

# Searches judge no time: at the lowest priority they take what the cluster tests leave of the processors.
begin_searches() {
	NFS4R_SIM_LONG=1 "${LOWEST[@]}" "${CTEST[@]}" "$ROOT/build/release" -L '^(sim|release)$' -R "$SEARCHES" \
		>"$OUT/searches" 2>&1 </dev/null &
	BESIDE=$!
}

# Before the cluster tests: nothing is left to build then.
begin_fuzz() {
	build_stage build-fuzz "$ROOT/scripts/build.sh" fuzz || return
	"${LOWEST[@]}" "$ROOT/scripts/fuzz.sh" --seconds 60 >"$OUT/fuzzing" 2>&1 </dev/null &
	FUZZ=$!
}

end_fuzz() {
	local rc
	[ -n "$FUZZ" ] || return
	wait "$FUZZ"
	rc=$?
	FUZZ=
	cluster_stage fuzz said "$OUT/fuzzing" "$rc"
}

# said FILE STATUS: what a program that has ended wrote.
said() {
	cat "$1"
	return "$2"
}

end_searches() {
	local rc start=$SECONDS
	wait "$BESIDE"
	rc=$?
	BESIDE=
	stage searches said "$OUT/searches" "$rc"
	say "== the cluster tests had waited for them for $((SECONDS - start)) s"
	count_ctest searches
}

main() {
	local start=$SECONDS preset built=
	mkdir -p "$OUT"
	build_stage deps "$ROOT/scripts/deps.sh" release asan debian
	# Of each build what its stages run: the asan build has all tests.
	for preset in "release:needed-release release:needed-sim release:demo" asan tsan:needed-tsan; do
		# shellcheck disable=SC2086
		build_stage "build-${preset%%:*}" "$ROOT/scripts/build.sh" $preset && built="$built ${preset%%:*} "
	done
	case $built in *" asan "*) ctest_stage test-asan asan --no-tests=error ;; esac
	case $built in *" tsan "*) ctest_stage test-tsan tsan -L '^tsan$' ;; esac
	case $built in *" release "*)
		ctest_stage test-release release -L '^(sim|release)$' -E "$SEARCHES"
		build_stage build-older "$ROOT/tests/cluster/t_upgrade.py" build # and the rehearsed release, if it takes one
		begin_fuzz
		begin_searches
		cluster_stage cluster-waiting "${CLUSTER[@]}" waiting
		cluster_stage cluster "${CLUSTER[@]}" others
		end_searches
		end_fuzz
		TB_BUILD=asan cluster_stage cluster-asan "${CLUSTER[@]}" operations
		;;
	esac
	say "== all stages in $((SECONDS - start)) s"
	say "$PASSED passed, $FAILED failed"
	[ "$FAILED" = 0 ]
}

main "$@"
