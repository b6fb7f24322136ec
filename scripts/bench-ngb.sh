#!/usr/bin/env bash
# NAS Grid Benchmarks over three sites against other ways of sharing files (tests/bench/ngb.py).
#   bench-ngb.sh [options of ngb.py]     class S, 20 and 120 ms, one trial: about ten minutes
#   bench-ngb.sh --full                  classes S, W, A, five round trip times, five trials: days. Ended and started again it goes on where it was;
#                                        remove build/bench/ngb-full, or name another --out, to begin anew
set -euo pipefail
. "$(dirname "$0")/lib.sh"

if [ "${1:-}" = --full ]; then
	shift
	set -- --class S,W,A --rtt 0.2,20,40,80,120 --trials 5 --out "$ROOT/build/bench/ngb-full" "$@"
fi
"$ROOT/scripts/peers.sh"
"$ROOT/scripts/build.sh" release
exec "$ROOT/tests/bench/ngb.py" "$@"
