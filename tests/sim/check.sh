#!/bin/sh
# What ctest runs: past failing seeds, new ones, and each of some seeds twice with the same hash.
#   check.sh NFS4R-SIM SEEDS.TXT      NFS4R_SIM_LONG=1: 20,000 new seeds instead of 60; SEEDS=n: that many. Of the modes that no seed draws 1,000 instead of 20
#
# Which seeds are new follows from the sources of the core and of the simulator: each change of them tries others, and the same
# tree always the same, so that whoever repeats a run of it sees what it saw. NFS4R_SIM_FRESH=1 (make sim) goes by the clock instead.
set -eu
sim=$1
seeds=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ -n "${NFS4R_SIM_LONG:-}" ]; then count=20000 named=1000; else count=60 named=20; fi
count=${SEEDS:-$count}
jobs=$(nproc)

first_seed() {
	hash=$(cd "$root" && LC_ALL=C ls src/base/*.[ch] src/core/*.[ch] src/core/*/*.[ch] tests/sim/*.[ch] | xargs sha256sum | sha256sum)
	printf '%d' "0x$(printf '%.12s' "$hash")"
}

# Those with real stores: check_store.sh.
grep -v " store-" "$seeds" | "$sim" --jobs "$jobs" --file /dev/stdin
"$sim" --jobs "$jobs" --twice --seeds 1 20
for mode in locks locks-hot locks-deep locks-restart locks-power locks-cut locks-storm releases settings durability secret full views-full views-full-one seals-full views-liar seals-liar; do
	"$sim" --jobs "$jobs" --mode "$mode" --seeds "$(first_seed)" "$named"
done
if [ -n "${NFS4R_SIM_FRESH:-}" ]; then
	"$sim" --jobs "$jobs" --fresh "$count"
else
	"$sim" --jobs "$jobs" --seeds "$(first_seed)" "$count"
fi
