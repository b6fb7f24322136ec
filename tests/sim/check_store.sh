#!/bin/sh
# Real stores: past failing seeds, seeds of each mode that has them, and some twice with the same hash.
#   check_store.sh NFS4R-SIM SEEDS.TXT      SEEDS=n: so many of each mode
set -eu
sim=$1
seeds=$2
count=${SEEDS:-30}

grep " store-" "$seeds" | "$sim" --jobs 1 --file /dev/stdin
"$sim" --jobs 1 --twice --seeds 1 3 --mode store-full
"$sim" --jobs 1 --twice --seeds 1 3 --mode store-seals
for mode in store-crash store-power store-die store-full store-slow store-hole store-process-holes store-long-holes store-aside store-lost store-seals store-seals-lost store-image store-seals-die store-seals-stuck store-seals-full store-members store-reconfigure; do
	"$sim" --jobs 1 --seeds 1 "$count" --mode "$mode" --servers 3
done
for mode in views-stuck views-full; do
	"$sim" --jobs 1 --seeds 1 "$count" --mode $mode --store real --servers 3
done
