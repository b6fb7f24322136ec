#!/usr/bin/env bash
# make demo: three sites 40 ms apart on this machine, with real NFS clients. Builds first what is missing.
# Shows what replication does, with times; exit status 0 when all of it held. About a minute and a half.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

if [ ! -e "$ROOT/build/release/FSAL_REPL/libfsalrepl.so" ] || [ ! -x "$ROOT/build/release/src/ctl/nfs4rctl" ]; then
	say "building (deps on the first run: a few minutes)"
fi
"$ROOT/scripts/build.sh" release # also what changed since the last time
exec "$ROOT/tests/cluster/demo.py"
