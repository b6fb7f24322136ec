#!/usr/bin/env bash
# make quick: what finds most mistakes in a minute: unit tests, scenarios (also those with rules switched off), layers, rules, linters. In the release build.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

START=$SECONDS
counted "building what the quick tests need" "$ROOT/scripts/build.sh" release:needed-quick
say "tests with the label quick (tests/unit, tests/scenario): $(ctest --test-dir "$ROOT/build/release" -L '^quick$' -N | sed -n 's/^ *Test *#[0-9]*: //p' | tr '\n' ' ')"
ctest --test-dir "$ROOT/build/release" -L '^quick$' -j "$((2 * $(nproc)))" --output-on-failure --progress
say "not run: contract tests, simulator, models, fuzzing, cluster ('make check'); quick took $((SECONDS - START)) s"
