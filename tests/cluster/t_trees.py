#!/usr/bin/python3
"""Random trees of operations from three sites under deep control, 20 and 60 ms apart; then equal trees.

	t_trees.py [--seconds N] [--seed N]     default 60; the long form is 600

At each site one worker has a home of its own and knows what must be in it (lib/trees_home.py), another works with all the
others in shared directories, in its own, and in theirs (lib/trees_shared.py). Every way of the policy of control must have been taken.
"""
import argparse
import collections
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import snapshot
import trees

NAME = f'trees-{os.getpid()}'
DIR = f'/nfs/{NAME}'
LINKS = [(1, 2, 'rtt=20ms'), (1, 3, 'rtt=60ms'), (2, 3, 'rtt=60ms')]
ENDS = 20                   # s. Controls end after a second; their release waits for the last checkpoint at every server
WAYS = ('deep_asked', 'deep_refused', 'escalations', 'raises', 'drops', 'deescalations', 'revokes_received', 'forwards_served')
SHOWN = WAYS + ('escalations_lost', 'raises_lost', 'elections', 'elections_waited', 'elections_preempted', 'aborts', 'not_primary', 'releases', 'delays',
                'entries_executed', 'entries_void', 'reads_served', 'bad_messages')


def options():
    p = argparse.ArgumentParser()
    p.add_argument('--seconds', type=int, default=60)
    p.add_argument('--seed', type=int, default=random.SystemRandom().randrange(1 << 30))
    return p.parse_args()


def work(b, opts, results):
    """All workers; what each printed, by (kind, site)."""
    go, broken = os.path.join(b.run, NAME + '.go'), []
    workers = {(kind, s): b.start_py(s, 'trees_worker.py', kind, DIR, s, opts.seed, go, opts.seconds,
                                     timeout=opts.seconds + 180) for kind in ('home', 'shared') for s in b.sites}
    bed.eventually(60, lambda: all(os.path.exists(f'{go}.{kind}.{s}') or p.poll() for (kind, s), p in workers.items()),
                   'the workers do not begin')
    offset = {s: b.clock(s)[0] for s in b.sites}
    with open(go + '.tmp', 'w') as f:
        json.dump({s: time.time() + 1 + offset[s] for s in b.sites}, f)
    os.rename(go + '.tmp', go)
    for who, p in workers.items():
        out, _ = p.communicate(timeout=opts.seconds + 210)
        if p.returncode:
            broken.append(f'{who}: status {p.returncode}\n{out[-1500:]}')
        else:
            results[who] = json.loads(out)
            broken += [f'{who}: {text}' for text in results[who]['unexpected'][:5]]
    bed.expect(not broken, '\n'.join(broken))
    done = tally(results)
    good = sum(n for what, n in done.items() if not what.split()[-1].isupper())
    return f'{good} operations, {sum(done.values()) - good} tolerated errors, slowest {max(r["slowest"] for r in results.values())}'


def tally(results):
    total = collections.Counter()
    for r in results.values():
        total.update(r['count'])
    return total


def show(results, counters):
    """For who wants to know what happened."""
    done = tally(results)
    print('# operations: ' + ', '.join(f'{w} {n}' for w, n in sorted(done.items()) if not w.split()[-1].isupper()))
    print('# errors: ' + ', '.join(f'{w} {n}' for w, n in sorted(done.items()) if w.split()[-1].isupper()))
    print('# counters: ' + ', '.join(f'{k} {counters[k]}' for k in SHOWN), flush=True)


def ways(counters):
    missing = [w for w in WAYS if not counters[w]]
    bed.expect(not missing, f'never happened: {missing}')
    bed.expect(not counters['bad_messages'], f'{counters["bad_messages"]} messages that made no sense')
    return ', '.join(f'{w} {counters[w]}' for w in WAYS)


def homes(b, results):
    """What each home's worker knows is what all sites see."""
    seen, bad = b.seen, []
    for s in b.sites:
        places = [f'{d}/h{s}' for d in ('homes', 'away') if f'{d}/h{s}' in seen]
        bed.expect(len(places) == 1, f'the home of site {s} is in {places}')
        model, top = results['home', s]['model'], places[0]
        got = {os.path.relpath(n, top): e for n, e in seen.items() if n == top or n.startswith(top + '/')}
        for name in sorted(set(model) | set(got)):
            have = {k: got[name].get(k) for k in model[name]} if name in got and name in model else None
            if have is None or have != model[name]:
                bad.append(f'{top}: {name!r}: is {have or got.get(name)}, should be {model.get(name)}')
    bed.expect(not bad, '\n'.join(bad))
    return f'{sum(len(r["model"]) for (kind, _), r in results.items() if kind == "home")} names'


def link_counts(b):
    """Of every file: as many names on the disk as its link count says."""
    for s in b.sites:
        disk = trees.on_disk(b, s, NAME)
        names = collections.Counter(e['fileid'] for e in disk.values())
        bad = [n for n, e in disk.items() if int(e['type'], 8) not in (snapshot.stat.S_IFDIR,)
               and names[e['fileid']] != b.seen[n]['nlink']]
        bed.expect(not bad, f'site {s}: as many names on its disk as links: not so for {bad[:10]}')
    return f'{sum(n > 1 for n in names.values())} objects with several names' if b.sites else ''


def verify(b):
    r = b.ctl(1, 'verify', f'/{NAME}', timeout=120)
    bed.expect(r.returncode == 0, f'status {r.returncode}\n{r.stdout[-2000:]}{r.stderr[-2000:]}')
    return r.stdout.strip().splitlines()[-1]


def no_silly_left(b):
    left = [n for n in b.seen if os.path.basename(n).startswith('.nfs')]
    bed.expect(not left, f'left over: {left}')


def main():
    opts, results = options(), {}
    report = bed.Report('trees')
    print(f'# t_trees.py --seconds {opts.seconds} --seed {opts.seed}', flush=True)
    with bed.Bed.get('--rtt', '20ms') as b:
        b.remount()
        b.links(*LINKS)
        try:
            run(b, report, opts, results)
        finally:
            if b.shared:
                b.links(('all', 'all', 'rtt=40ms'))
    return report.status()


def run(b, report, opts, results):
    b.must_py(1, 'trees_worker.py', 'prepare', DIR)
    b.no_controls(ENDS)
    before = b.counters()
    worked = report.check(f'random trees of operations at three sites (--seed {opts.seed})', work, b, opts, results)
    counters = b.counters() - before
    show(results, counters)
    report.check('equal trees through the clients at once', trees.clients_equal, b, DIR)
    report.check('every way of the policy was taken', ways, counters)
    report.check('no control is left', b.no_controls, ENDS)
    report.check('equal trees through the clients', trees.clients_equal, b, DIR)
    report.check('equal trees on the servers\' disks', trees.disks_equal, b, 30, NAME)
    report.check('what a client reads is what the disk has', trees.client_equals_disk, b, DIR)
    report.check('nfs4rctl verify', verify, b)
    if b.seen:
        report.check('link counts are counts of names', link_counts, b)
        report.check('nothing left of open-unlinked files', no_silly_left, b)
    if worked and b.seen:
        report.check('the homes are as their workers know them', homes, b, results)
    report.check('all servers alive', b.servers_alive)


if __name__ == '__main__':
    sys.exit(main())
