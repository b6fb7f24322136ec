#!/usr/bin/env bash
# Benchmarks against stock Ganesha in the same run (tests/bench/bench.py); builds first what is missing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ -e "$ROOT/build/release/tests/bench/nfs4r-bench-grant" ] || "$ROOT/scripts/build.sh" release
case " $* " in *" wan-"*) "$ROOT/scripts/peers.sh" ;; esac
exec "$ROOT/tests/bench/bench.py" "$@"
