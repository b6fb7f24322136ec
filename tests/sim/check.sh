#!/bin/sh
# What ctest runs: past failing seeds, fresh ones, and each of some seeds twice with the same hash.
#   check.sh NFS4R-SIM SEEDS.TXT      NFS4R_SIM_LONG=1: 5000 fresh seeds instead of 60; SEEDS=n: that many
set -eu
sim=$1
seeds=$2
if [ -n "${NFS4R_SIM_LONG:-}" ]; then count=5000; else count=60; fi
count=${SEEDS:-$count}
jobs=$(nproc)

# Those with real stores: check_store.sh.
grep -v " store-" "$seeds" | "$sim" --jobs "$jobs" --file /dev/stdin
"$sim" --jobs "$jobs" --twice --seeds 1 20
"$sim" --jobs "$jobs" --fresh "$count"
