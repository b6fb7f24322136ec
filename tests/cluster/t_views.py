#!/usr/bin/python3
"""The active view: a server that dies, is cut off or stands still is removed, the others go on, nobody sees anything old, and it
comes back by itself. Clients at all three sites work meanwhile, and what they saw is judged as in t_history.py.

    t_views.py                       each kind of failure once: at most 90 s
    t_views.py --rounds N [--seed S] in addition N rounds of random failures, about 40 s each
"""
import argparse
import json
import os
import random
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import history
import trees

LEASE, SILENCE = 2.0, 2.0   # the defaults, in seconds
PAUSE_MAX = SILENCE + LEASE + 2
RETURN_MAX = 1.0            # of the others' updates, when a server comes back
DIR = '/nfs/views'
SECONDS = 34                # of failures under judgement, in the short form


# ---- what clients do -------------------------------------------------------------------------

class Probes:
    """views_probe.py at all sites; what each update took, on our clock."""

    def __init__(self, b):
        self.b, self.stop = b, os.path.join(b.run, f'stop-{time.monotonic_ns()}')
        self.clocks = {s: b.clock(s)[0] for s in b.sites}
        self.running = {s: b.start_py(s, 'views_probe.py', f'{DIR}/probe', str(s), self.stop, timeout=400) for s in b.sites}

    def end(self):
        """{site: [(begin, seconds, what)]}"""
        with open(self.stop, 'w'):
            pass
        logs = {}
        for s, p in self.running.items():
            out, _ = p.communicate(timeout=120)
            bed.expect(p.returncode == 0, f'probe at site {s}: status {p.returncode}\n{out[-3000:]}')
            logs[s] = [(t - self.clocks[s], took, what) for t, took, what in json.loads(out.strip().splitlines()[-1])]
        return logs

    def kill(self):
        for p in self.running.values():
            p.kill()


class History:
    """history_worker.py at all sites for so many seconds. A server that is killed may lose the answer of an operation on names, which the
    client then repeats and hears EEXIST or ENOENT: at such sites only files are worked on, where a repetition does not show."""

    def __init__(self, b, name, seconds, killed):
        self.b, self.seconds, directory = b, seconds, f'{DIR}/{name}'
        self.clocks = {s: b.clock(s) for s in b.sites}
        b.must_py(1, 'history_worker.py', 'prepare', directory)
        b.no_controls(20)
        start = time.time() + 2
        workers = [(s, n) for s in b.sites for n in range(2) if n == 0 or s not in killed]
        self.running = [b.start_py(s, 'history_worker.py', directory, str(s), str(n), name, str(start + self.clocks[s][0]), str(seconds), '0',
                                   timeout=seconds + 150) for s, n in workers]
        time.sleep(max(0, start - time.time()))

    def judge(self):
        events, broken = [], []
        for p in self.running:
            out, _ = p.communicate(timeout=self.seconds + 180)
            broken += [f'status {p.returncode}: {out[-1500:]}'] if p.returncode else []
            events += [json.loads(line) for line in out.splitlines() if line.startswith('{')]
        bed.expect(not broken, '\n'.join(broken))
        errors = [e for e in events if e['op'] == 'error']
        bed.expect(not errors, f'{len(errors)} unexpected errors, e.g. {errors[:3]}')
        for e in events:
            e['t0'] -= self.clocks[e['site']][0]
            e['t1'] -= self.clocks[e['site']][0]
        bad, counts = history.check(events)
        bed.expect(not bad, f'{len(bad)} violations\n' + '\n'.join(bad[:8]))
        bed.expect(counts['read'] >= self.seconds and counts['write'] >= self.seconds / 2, f'too little happened to judge: {dict(counts)}')
        return ', '.join(f'{n} {op}' for op, n in sorted(counts.items()))

    def kill(self):
        for p in self.running:
            p.kill()


# ---- failures ----------------------------------------------------------------------------------

def others(b, site):
    return [s for s in b.sites if s != site]


def members(b, site):
    return b.ask(site, 'status')['view']['members']


def wait_removed(b, site, seconds=PAUSE_MAX):
    bed.eventually(seconds, lambda: all(site not in members(b, s) for s in others(b, site)), f'server {site} is not removed from the view', 0.1)


def is_back(b):
    for s in b.sites:
        a = b.ask(s, 'status')
        if a['state'] != 'serving' or a['view']['members'] != b.sites:
            return False
    return True


def wait_back(b, seconds=30):
    def seen():
        return [(s, (a := b.ask(s, 'status'))['state'], a.get('why'), a['view']['members']) for s in b.sites]
    bed.eventually(seconds, lambda: is_back(b), lambda: f'not everybody is back: {seen()}', 0.1)


def answers(b, site, path, seconds):
    """What the site reads within so many seconds; None: it waits."""
    r = b.tb('sh', site, '-n', '-t', seconds, '--', 'cat', path, timeout=seconds + 30)
    bed.expect(r.returncode in (0, 124), f'cat {path} at site {site}: status {r.returncode}\n{r.stdout}{r.stderr}')
    return r.stdout if r.returncode == 0 else None


def stop_process(b, site, go_on=False):
    os.kill(int(b.must('server', site, 'pid')), signal.SIGCONT if go_on else signal.SIGSTOP)


# Writes without a pause, so that control does not end.
HOLDER = 'exec 3>{0}; i=0; while :; do i=$((i + 1)); echo $i >&3; sync {0}; echo $i; sleep 0.1; done'


def killed(b, windows):
    """Server 3 dies while its client writes to a file; sites 1 and 2 go on, and that file waits for it."""
    held, path = b.start_sh(3, HOLDER.format(f'{DIR}/held')), f'{DIR}/held'
    try:
        for _ in range(5):
            held.stdout.readline()
        bed.expect(b.sh(1, f'cat {path}').split()[:3] == ['1', '2', '3'], 'site 1 does not see what is written at site 3')
        mark, start = len(b.log(1)), time.time()
        b.must('server', 3, 'kill')
        wait_removed(b, 3)
        removed = time.time() - start
        bed.expect(re.search(r'server 3 was removed from the active view: not heard for [\d.]+ s; members now 1, 2', b.log(1)[mark:]),
                   f'no line of the log at server 1 says that server 3 was removed:\n{b.log(1)[mark:]}')
        got = answers(b, 1, path, 2)
        bed.expect(got is None, f'site 1 reads {got!r} of a file that only the dead server knows')
        windows['outage'] = (start, time.time())
        b.must('server', 3, 'start')
        back = time.time()
        wait_back(b)
        windows['return'] = (back, time.time() + 2)
        bed.expect('server 3 is back in the active view; members now 1, 2, 3' in b.log(2), 'no line of the log at server 2 says that server 3 is back')
        took = time.time() - back
        time.sleep(1)
        held.terminate()
        last = int(held.communicate(timeout=60)[0].split()[-1])
        lines = b.sh(1, f'cat {path}', timeout=60).split()
        bed.expect(lines == [str(n + 1) for n in range(len(lines))] and len(lines) >= last, f'{last} lines were synced, site 1 reads {lines[-20:]}')
        return f'removed after {removed:.1f} s, back {took:.1f} s after the start'
    finally:
        held.kill()
        if b.tb('server', 3, 'pid').returncode:
            b.must('server', 3, 'start')


def cut_off(b, windows, how='cut', site=2):
    """A site that is cut off answers nothing; another site changes what it had read."""
    b.sh(1, f'echo old >{DIR}/cut')
    bed.expect(b.sh(site, f'cat {DIR}/cut') == 'old\n', 'before the cut')
    start = time.time()
    b.must('link', site, 'all', how)
    try:
        wait_removed(b, site)
        removed = time.time() - start
        b.sh(1, f'echo new >{DIR}/cut')
        got = answers(b, site, f'{DIR}/cut', 2)
        bed.expect(got is None, f'site {site} reads {got!r} while it is cut off')
        reader = b.start_sh(site, f'cat {DIR}/cut', timeout=60)
        time.sleep(0.5)
    finally:
        b.must('link', site, 'all', 'heal')
    healed = time.time()
    out, _ = reader.communicate(timeout=90)
    bed.expect(out == 'new\n', f'after the cut site {site} reads {out!r}')
    wait_back(b)
    back = time.time()
    windows[how] = (start, healed)
    return f'removed after {removed:.1f} s, back {back - healed:.1f} s after the link'


def stands_still(b, windows, site=2):
    """SIGSTOP for longer than the lease: when the process goes on it must not answer what waited for it out of its old copy."""
    b.sh(1, f'echo old >{DIR}/still')
    bed.expect(b.sh(site, f'cat {DIR}/still') == 'old\n', 'before the stop')
    start, mark = time.time(), len(b.log(site))
    stop_process(b, site)
    try:
        readers = [b.start_sh(site, f'cat {DIR}/still', timeout=60) for _ in range(3)]
        bed.eventually(PAUSE_MAX, lambda: all(site not in members(b, s) for s in others(b, site)), f'server {site} is not removed', 0.1)
        b.sh(1, f'echo new >{DIR}/still')
    finally:
        stop_process(b, site, go_on=True)
    resumed = time.time()
    outs = [r.communicate(timeout=90)[0] for r in readers]
    bed.expect(set(outs) == {'new\n'}, f'after the stop site {site} reads {outs}')
    wait_back(b)
    windows['stop'] = (start, resumed)
    bed.expect('this server did nothing for' in b.log(site)[mark:], f'no line of the log at server {site} says that it stood still')
    return f'stopped for {resumed - start:.1f} s, back {time.time() - resumed:.1f} s later'


def all_killed(b, windows):
    bed.everywhere(lambda s: b.must('server', s, 'kill'), b.sites)
    time.sleep(0.5)
    start = time.time()
    bed.everywhere(lambda s: b.must('server', s, 'start'), b.sites)
    wait_back(b)
    took = time.time() - start
    bed.everywhere(lambda s: b.sh(s, f'echo {s} >{DIR}/after-all-{s} && ls {DIR} >/dev/null', timeout=60), b.sites)
    return f'all members serve {took:.1f} s after the start'


# ---- judgement -----------------------------------------------------------------------------------

def longest(logs, window, sites):
    """The update that took longest of those begun in the window, or just before."""
    begin, end = window
    took = [(seconds, s, what, t - begin) for s in sites for t, seconds, what in logs[s] if begin - 0.5 < t < end]
    bed.expect(len(took) >= 5, f'only {len(took)} updates were begun')
    return max(took)


def pauses(b, logs, windows, site, names, limit):
    text = []
    for name in names:
        if name in windows:
            seconds, s, what, at = longest(logs, windows[name], others(b, site))
            text.append(f'{name}: {seconds:.1f} s')
            bed.expect(seconds < limit, f'{name}: {what} at site {s}, begun {at:.1f} s after, took {seconds} s; the limit is {limit} s')
    return ', '.join(text)


def short(b, report):
    windows, logs = {}, {}
    b.sh(1, f'mkdir -p {DIR}')
    for s in b.sites:
        b.must_py(s, 'views_probe.py', 'prepare', f'{DIR}/probe', str(s))
    past, probes = History(b, 'short', SECONDS, killed=[3]), Probes(b)
    try:
        report.check('a killed server is removed, the others go on, and it returns', killed, b, windows)
        report.check('a site that is cut off answers nothing old', cut_off, b, windows)
        report.check('a server that stood still answers nothing old', stands_still, b, windows)
        report.check('no site ever saw an older closed version', past.judge)
        report.check('all servers killed at once return', all_killed, b, windows)
        report.check('updates went on', lambda: logs.update(probes.end()))
    finally:
        past.kill()
        probes.kill()
    if logs:
        report.check(f'pause of the others when a server dies below {PAUSE_MAX:.0f} s', pauses, b, logs, windows, 3, ['outage'], PAUSE_MAX)
        report.check(f'pause of the others when it returns below {RETURN_MAX:.0f} s', pauses, b, logs, windows, 3, ['return'], RETURN_MAX)
        report.check(f'pause of the others at a cut and a stop below {PAUSE_MAX:.0f} s', pauses, b, logs, windows, 2, ['cut', 'stop'], PAUSE_MAX)


# ---- the long form -------------------------------------------------------------------------------

def fail_kill(b, rnd, site):
    b.must('server', site, 'kill')
    time.sleep(rnd.choice([0.2, 1, 3, 6, 9]))
    b.must('server', site, 'start')


def fail_link(b, rnd, site):
    peer = rnd.choice(['all'] + others(b, site))
    b.must('link', site, peer, rnd.choice(['cut', f'cut-from={site}']))
    time.sleep(rnd.choice([1, 3, 5, 8, 14]))
    b.must('link', site, peer, 'heal')


def fail_stop(b, rnd, site):
    stop_process(b, site)
    time.sleep(rnd.choice([0.5, 1.9, 2.5, 5, 6.5]))
    stop_process(b, site, go_on=True)


def fail_slow(b, rnd, site):
    b.must('link', site, 'all', 'rtt=600ms', 'loss=3%')
    time.sleep(5)
    b.must('link', site, 'all', 'rtt=40ms', 'loss=0')


def one_round(b, n, rnd):
    kinds = rnd.choice([[fail_link, fail_stop, fail_slow], [fail_kill, fail_link, fail_stop]])
    dies, said = rnd.choice(b.sites), []
    past = History(b, f'round{n}', 25, killed=[dies] if fail_kill in kinds else [])
    try:
        end = time.time() + 15
        while time.time() < end:
            kind = rnd.choice(kinds)
            site = dies if kind is fail_kill else rnd.choice(b.sites)
            said.append(f'{kind.__name__[5:]} {site}')
            kind(b, rnd, site)
            if rnd.random() < 0.5:
                wait_back(b, 60)
        judged = past.judge()
        wait_back(b, 60)
    finally:
        past.kill()
    b.no_controls(30)
    trees.disks_equal(b, 30)
    trees.verify(b)
    return f'{", ".join(said)}: {judged}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=0)
    parser.add_argument('--seed', default=str(int(time.time())))
    args = parser.parse_args()
    report, rnd = bed.Report('views'), random.Random(args.seed)
    with bed.Bed.own('--rtt', '40ms', '--lease', '8', '--grace', '8') as b:
        b.remount('vers=4.2,actimeo=0,lookupcache=none')
        short(b, report)
        for n in range(args.rounds):
            if not report.check(f'round {n} (seed {args.seed})', one_round, b, n, rnd):
                break
        report.check('equal trees through the clients', trees.clients_equal, b)
        report.check('equal disks', trees.disks_equal, b)
        report.check('nfs4rctl verify', trees.verify, b)
        report.check('all servers alive', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
