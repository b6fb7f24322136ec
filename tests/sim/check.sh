#!/bin/sh
# What ctest runs: past failing seeds, new ones, and each of some seeds twice with the same hash.
#   check.sh NFS4R-SIM SEEDS.TXT      NFS4R_SIM_LONG=1: 20,000 new seeds instead of 60; SEEDS=n: that many
#
# Which seeds are new follows from the sources of the core and of the simulator: each change of them tries others, and the same
# tree always the same, so that whoever repeats a run of it sees what it saw. NFS4R_SIM_FRESH=1 (make sim) goes by the clock instead.
set -eu
sim=$1
seeds=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ -n "${NFS4R_SIM_LONG:-}" ]; then count=20000; else count=60; fi
count=${SEEDS:-$count}
jobs=$(nproc)

first_seed() {
	hash=$(cd "$root" && LC_ALL=C ls src/base/*.[ch] src/core/*.[ch] tests/sim/*.[ch] | xargs sha256sum | sha256sum)
	printf '%d' "0x$(printf '%.12s' "$hash")"
}

# Those with real stores: check_store.sh.
grep -v " store-" "$seeds" | "$sim" --jobs "$jobs" --file /dev/stdin
"$sim" --jobs "$jobs" --twice --seeds 1 20
"$sim" --jobs "$jobs" --mode secret --seeds "$(first_seed)" 20
"$sim" --jobs "$jobs" --mode full --seeds "$(first_seed)" 20
if [ -n "${NFS4R_SIM_FRESH:-}" ]; then
	"$sim" --jobs "$jobs" --fresh "$count"
else
	"$sim" --jobs "$jobs" --seeds "$(first_seed)" "$count"
fi
