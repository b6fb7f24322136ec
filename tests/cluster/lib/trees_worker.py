"""One worker of the test of random trees, in a client.

	trees_worker.py prepare DIR
	trees_worker.py home|shared DIR SITE SEED GO SECONDS

Makes the file GO.KIND.SITE (on the host, in /tmp) when it is ready; once there is a file GO, works for SECONDS from the moment
that it names for this SITE (seconds since the epoch, of this clock). Prints one JSON object: {count: {operation or
'operation ERROR': n}, unexpected: [...], slowest: [seconds, operation or burst], model: of a home}. Its choices depend on the seed alone,
except where it looks at what others have made.
"""
import collections
import json
import os
import random
import sys
import time
import traceback

import trees_home
import trees_shared


def wait_until(when):
    while time.time() < when:
        time.sleep(min(0.05, max(0, when - time.time())))


def told_to_start(go, kind, site):
    with open(f'{go}.{kind}.{site}', 'w'):
        pass
    while not os.path.exists(go):
        time.sleep(0.1)
    with open(go) as f:
        return json.load(f)[site]


def main(kind, base, site, seed, go, seconds):
    rnd, count = random.Random(f'{seed} {kind} {site}'), collections.Counter()
    shared = trees_shared.Shared(base, int(site), rnd, count) if kind == 'shared' else None
    worker = shared or trees_home.Home(f'{base}/homes/h{site}', rnd, count)
    pauses, unexpected, slowest = random.Random(f'{seed} pause {kind} {site}'), [], [0, '']
    start, meeting = told_to_start(go, kind, site), 1
    wait_until(start)
    while time.time() < start + float(seconds) and not unexpected:
        t, what = time.monotonic(), ''
        due = start + meeting * trees_shared.MEET - time.time()
        try:
            if shared and due < 0.5:
                if due > 0:
                    wait_until(time.time() + due)
                    shared.meet(meeting)
                meeting += 1
                continue
            what = worker.act()
        except Exception:
            unexpected.append(traceback.format_exc())
        slowest = max(slowest, [round(time.monotonic() - t, 2), f'{kind} {what}'])
        # Controls end in a pause, and begin elsewhere.
        time.sleep(pauses.choice([0] * 60 + [0.05] * 10 + [0.4, 1.5, 2.5]))
    print(json.dumps({'count': count, 'unexpected': unexpected + (shared.unexpected if shared else []), 'slowest': slowest,
                      'model': None if shared else worker.model()}))


if sys.argv[1] == 'prepare':
    os.makedirs(sys.argv[2])
    trees_shared.prepare(sys.argv[2])
else:
    main(*sys.argv[1:])
