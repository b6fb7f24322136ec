#!/usr/bin/env bash
# make demo: three sites 40 ms apart on this machine, with real NFS clients. Builds first what is missing.
# Shows what replication does, with times; exit status 0 when all of it held. About a minute and a half.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

"$ROOT/scripts/deps.sh" release # on the first run: a few minutes
counted "building what the demonstration needs" "$ROOT/scripts/build.sh" release:demo
exec "$ROOT/tests/cluster/demo.py"
