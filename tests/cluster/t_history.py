#!/usr/bin/python3
"""Close-to-open and the single order of directory operations, from the logs of clients at three sites.

	t_history.py [strict|local]     with this Directory_Reads in a bed of its own; default: on a shared bed with the bed's, alone with both

SECONDS_OF_HISTORY (default 30) and SEED may be set in the environment; the logs are kept when something is violated.
"""
import collections
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import history

SECONDS = float(os.environ.get('SECONDS_OF_HISTORY', 30))
SEED = os.environ.get('SEED', '1')
WORKERS = 4                 # at each site: two for files, two for names
DIR = f'/nfs/history-{os.getpid()}'   # new for each round: events begin from nothing
LEAST = {'write': 30, 'read': 60, 'create': 10, 'place': 2, 'unlink': 5, 'rename': 5, 'look': 30}   # in 30 seconds, for a judgement
ROUNDS = 6                  # at most, on a machine that is too busy for so much in one
WAYS = ('deep_asked', 'raises', 'revokes_received')  # deep control and deep+ have been there, and were wanted by others


def clocks(b, events, before):
    """Puts the events on our clock; the guests' offsets must not have moved more than the slack allows."""
    worst = 0
    for site, (offset, error) in before.items():
        after, error_after = b.clock(site)
        worst = max(worst, abs(after - offset) + error + error_after)
        for e in events:
            if e['site'] == site:
                e['t0'] -= offset
                e['t1'] -= offset
    bed.expect(worst < history.SLACK / 2, f'clocks moved by {worst * 1000:.1f} ms; the slack is {history.SLACK * 1000:.0f} ms')
    return f'within {worst * 1000:.1f} ms'


def record(b, lag, directory, seed):
    """Runs the workers; all events."""
    b.must_py(1, 'history_worker.py', 'prepare', directory)
    if not bed.STOCK:
        b.no_controls(20)       # every site has the names of the files
    start = time.time() + 3
    workers = [b.start_py(site, 'history_worker.py', directory, str(site), str(n), seed, str(start), str(SECONDS), str(lag),
                          timeout=int(SECONDS) + 120) for site in b.sites for n in range(WORKERS)]
    events, broken = [], []
    for p in workers:
        out, _ = p.communicate(timeout=SECONDS + 150)
        if p.returncode:
            broken.append(f'status {p.returncode}: {out[-1500:]}')
        events += [json.loads(line) for line in out.splitlines() if line.startswith('{')]
    bed.expect(not broken, '\n'.join(broken))
    return events


def record_enough(b, lag, rounds):
    """Appends the events of each round to @rounds, until there is enough of everything."""
    counts = collections.Counter()
    while len(rounds) < ROUNDS and (not rounds or too_few(counts)):
        n = len(rounds)
        rounds.append(record(b, lag, f'{DIR}-{n}', f'{SEED}-{n}' if n else SEED))
        counts += history.counts(rounds[-1])


def keep(events):
    path = os.path.join(bed.ROOT, 'build', f'history-{int(time.time())}.log')
    with open(path, 'w') as f:
        f.writelines(json.dumps(e) + '\n' for e in events)
    return path


def too_few(counts):
    return {op: counts[op] for op, n in LEAST.items() if counts[op] < n * min(1, SECONDS / 30)}


def judge(rounds, lag):
    counts = collections.Counter()
    for events in rounds:
        errors = [e for e in events if e['op'] == 'error']
        bed.expect(not errors, f'{len(errors)} unexpected errors, e.g. {errors[:3]}')
        bad, of_round = history.check(events, lag=lag)
        bed.expect(not bad, f'{len(bad)} violations (all events: {keep(events)})\n' + '\n'.join(bad[:8]))
        counts += of_round
    few = too_few(counts)
    bed.expect(not few, f'too little happened to judge, in {len(rounds)} rounds: {few}')
    return ', '.join(f'{n} {op}' for op, n in sorted(counts.items())) + f'; {len(rounds)} rounds'


def ways(b, before):
    if bed.STOCK:
        return 'stock: no control'
    counters = b.counters() - before
    missing = [w for w in WAYS if not counters[w]]
    bed.expect(not missing, f'never happened: {missing}')
    return ', '.join(f'{w} {counters[w]}' for w in WAYS)


def one_setting(b, report):
    setting = b.setting('Directory_Reads', 'strict')
    lag = history.LAG if setting == 'local' else 0
    b.remount('vers=4.2,actimeo=0,lookupcache=none')
    before = {site: b.clock(site) for site in b.sites}
    counters = collections.Counter() if bed.STOCK else b.counters()
    rounds = []
    if report.check(f'{setting}: workers at three sites', record_enough, b, lag, rounds):
        report.check(f'{setting}: clocks', clocks, b, [e for events in rounds for e in events], before)
        report.check(f'{setting}: no site ever saw an older closed version', judge, rounds, lag)
        report.check(f'{setting}: deep control was there', ways, b, counters)
    report.check(f'{setting}: all servers alive', b.servers_alive)


def main():
    report = bed.Report('history')
    report.check('the checker finds what it must', bed.judge_itself, 'test_history.py')
    for setting in ['shared'] if os.environ.get('TB_SHARED') or bed.STOCK else sys.argv[1:] or ['strict', 'local']:
        options = [] if bed.STOCK else ['--set', f'Directory_Reads={setting}', *(['--set', 'Lease=0'] if setting == 'local' else [])]
        with bed.Bed.get('--rtt', '40ms', *options) as b:
            one_setting(b, report)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
