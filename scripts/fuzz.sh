#!/usr/bin/env bash
# scripts/fuzz.sh [--minutes N | --seconds N] [--keep] [NAME...]: coverage-guided fuzzing, tests/fuzz/README.md.
#
# Each target (default: all of them, a minute each, two at a time) is fed with its kept corpus first, then with mutations of that, of the seeds, and of what earlier runs have
# found (build/fuzz/found/NAME). A line for each says executions, coverage and findings; 'ok fuzz_NAME' or 'not ok fuzz_NAME' follows. A finding is a crash, a report of a
# sanitizer, a leak, 25 s for one input, 64 MiB in one allocation, or 2 GiB in all. Exit status 0 only without any.
#
# --keep: afterwards the kept corpus is made anew: the smallest inputs that reach what the old one and this run have reached. Those with a name that says what they showed stay.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

TARGETS="record tls krb5 answer store ctl config"
BIN=$ROOT/build/fuzz/tests/fuzz
WORK=$ROOT/build/fuzz/found
SEEDS=$ROOT/build/fuzz/seeds
CORPUS=$ROOT/tests/fuzz/corpus
LIMITS="-timeout=25 -malloc_limit_mb=64 -rss_limit_mb=2048"
KEPT_MAX=36 # inputs of a target
KEPT_BYTES=4096

# field NAME KEY: of libFuzzer's last line on coverage.
field() { grep -ao "$2: [0-9]*" "$WORK/$1.log" | tail -n 1 | grep -o '[0-9]*$'; }

report() {
	local name=$1 runs
	runs=$(sed -n 's/^stat::number_of_executed_units: //p' "$WORK/$name.log" | tail -n 1)
	say "$name: ${runs:-0} executions in $2 s, $(field "$name" cov) edges, $(field "$name" ft) features, findings: $3"
}

# one SECONDS NAME
one() {
	local seconds=$1 name=$2 start=$SECONDS found=none
	mkdir -p "$WORK/$name"
	# shellcheck disable=SC2086
	if ! "$BIN/fuzz_$name" $LIMITS "$CORPUS/$name"/* >"$WORK/$name.replay" 2>&1; then
		tail -n 40 "$WORK/$name.replay"
		say "$name: an input of the kept corpus fails: $(sed -n 's/^Running: //p' "$WORK/$name.replay" | tail -n 1)"
		say "not ok fuzz_$name"
		return 1
	fi
	# shellcheck disable=SC2086
	"$BIN/fuzz_$name" $LIMITS -max_len=8192 -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$WORK/$name-" \
		"$WORK/$name" "$CORPUS/$name" "$SEEDS/$name" >"$WORK/$name.log" 2>&1 ||
		found=$(sed -n 's/.*Test unit written to //p' "$WORK/$name.log" | tail -n 1)
	[ "$found" = none ] || grep -aE -A 20 'ERROR:|runtime error|not true' "$WORK/$name.log" | head -n 40
	report "$name" $((SECONDS - start)) "${found:-one without an input, see $WORK/$name.log}"
	[ "$found" = none ] && say "ok fuzz_$name" || { say "not ok fuzz_$name"; return 1; }
}

# keep NAME: those that reach most, of old and new ones that are small.
keep() {
	local name=$1 new=$WORK/$1.merged control=$WORK/$1.control file
	rm -rf "$new" "$control"
	mkdir -p "$new"
	# shellcheck disable=SC2086
	"$BIN/fuzz_$name" $LIMITS -max_len=$KEPT_BYTES -set_cover_merge=1 -merge_control_file="$control" "$new" "$CORPUS/$name" "$WORK/$name" \
		>"$WORK/$name.merge" 2>&1 || die "merging the corpus of $name failed: $WORK/$name.merge"
	find "$new" -type f -delete
	"$ROOT/tests/fuzz/choose.py" "$control" $KEPT_MAX | while read -r file; do
		head -c $KEPT_BYTES "$file" >"$new/$(head -c $KEPT_BYTES "$file" | sha1sum | cut -c 1-12)"
	done
	find "$CORPUS/$name" -type f -regextype egrep -regex '.*/[0-9a-f]{12}' -delete
	cp "$new"/* "$CORPUS/$name/"
	say "$name: $(find "$CORPUS/$name" -type f | wc -l) inputs are kept, $(du -sb "$CORPUS/$name" | cut -f 1) bytes"
}

main() {
	local seconds=60 keeps='' names=''
	while [ $# -gt 0 ]; do
		case $1 in
		--minutes | --seconds)
			[[ ${2:-} =~ ^[0-9]+$ ]] || die "$1 wants a number"
			seconds=$2
			[ "$1" = --seconds ] || seconds=$((60 * $2))
			shift
			;;
		--keep) keeps=1 ;;
		*) case " $TARGETS " in *" $1 "*) names="$names $1" ;; *) die "there is no target $1; there are: $TARGETS" ;; esac ;;
		esac
		shift
	done
	names=${names:-$TARGETS}
	"$ROOT/scripts/build.sh" fuzz || exit 1
	rm -rf "$SEEDS"
	mkdir -p "$SEEDS" "$WORK"
	"$BIN/fuzz_seeds" "$SEEDS" "$ROOT/tests/unit/ctl/show" || die "the seeds cannot be made"
	export -f one report field say
	export BIN WORK SEEDS CORPUS LIMITS
	# shellcheck disable=SC2086
	printf '%s\n' $names | xargs -P 2 -I NAME bash -uc "one $seconds NAME" || exit 1
	[ -z "$keeps" ] || for name in $names; do keep "$name"; done
}

main "$@"
