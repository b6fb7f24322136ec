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
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import past
import trees

LEASE, SILENCE = 2.0, 2.0   # the defaults, in seconds
PAUSE_MAX = SILENCE + LEASE + 2
RETURN_MAX = 1.0            # of the others' updates, when a server comes back
DIR = '/nfs/views'
QUIET = '/nfs/quiet'        # where the others do nothing: no deep control of theirs is above it
SECONDS = 20                # of failures under judgement, in the short form


# ---- what clients do -------------------------------------------------------------------------

class Probes:
    """views_probe.py at all sites; what each update took, on our clock."""

    def __init__(self, b):
        self.b, self.stop = b, os.path.join(b.run, f'stop-{time.monotonic_ns()}')
        self.clocks = {s: b.clock(s)[0] for s in b.sites}
        self.running = {s: b.start_py(s, 'views_probe.py', f'{DIR}/probe', str(s), self.stop, timeout=400) for s in b.sites}

    def end(self):
        """{site: [(begin, seconds, what, error)]}; an error that is no repetition of what a dead server had done fails."""
        with open(self.stop, 'w'):
            pass
        logs = {}
        for s, p in self.running.items():
            out, _ = p.communicate(timeout=120)
            bed.expect(p.returncode == 0, f'probe at site {s}: status {p.returncode}\n{out[-3000:]}')
            logs[s] = [(t - self.clocks[s], took, what, error) for t, took, what, error in json.loads(out.strip().splitlines()[-1])]
        wrong = [f'site {s}: {e}' for s, log in logs.items() for e in log if e[3] and not self.excused(s, log, *e)]
        bed.expect(not wrong, '\n'.join(wrong) + f'\nkilled: {self.b.kills.all}')
        return logs

    def excused(self, site, log, begin, took, what, error):
        op, name = what.split()
        created = [t + seconds for t, seconds, w, e in log if w == f'create {name}' and not e]
        tail = op == 'unlink' and error == 'ENOENT' and created and self.b.kills.in_lost_tail(site, created[0], begin)
        return tail or self.b.kills.repeated(site, op, error, begin, begin + took)

    def went_on(self, logs):
        logs.update(self.end())
        return ', '.join(f'site {s}: {what} {error}' for s, log in logs.items() for _, _, what, error in log if error) or None

    def kill(self):
        for p in self.running.values():
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


class Reader:
    """A file that a site's client has open, and that nobody controls; answers are the server's, not the client's cache."""

    def __init__(self, b, site, path):
        self.site, self.path, name = site, path, path[len('/nfs'):]
        bed.eventually(20, lambda: not any(c['path'] == name for c in b.ask(site, 'controls')['controls']), f'{path} stays controlled', 0.1)
        self.p = subprocess.Popen(b.command('sh', site, '-t', 120, '--', '/usr/bin/python3', os.path.join(bed.LIB, 'views_reader.py'), path),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        bed.expect(bed.line_of(self.p) == 'open\n', f'{path} cannot be opened at site {site}')

    def ask(self):
        self.p.stdin.write('read\n')
        self.p.stdin.flush()

    def answers(self, seconds):
        """What all reads say within so many seconds; None: they wait."""
        return set(json.loads(self.p.stdout.readline())) if select.select([self.p.stdout], [], [], seconds)[0] else None

    def expect(self, text, when, seconds=40):
        got = self.answers(seconds)
        bed.expect(got == {text}, f'{when} site {self.site} reads {got} of {self.path}; written was {text!r}')

    def kill(self):
        self.p.kill()
        self.p.wait()


def answers(b, site, path, seconds):
    """What the site reads within so many seconds, when it opens the file now; None: it waits."""
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
            bed.line_of(held)
        bed.expect(b.sh(1, f'cat {path}').split()[:3] == ['1', '2', '3'], 'site 1 does not see what is written at site 3')
        mark, mark2, start = len(b.log(1)), len(b.log(2)), time.time()
        b.kill(3)
        wait_removed(b, 3)
        removed = time.time() - start
        b.says(1, mark, r'server 3 was removed from the active view: (not heard for [\d.]+ s|it was silent for too long.*); members now 1, 2')
        got = answers(b, 1, path, 2)
        bed.expect(got is None, f'site 1 reads {got!r} of a file that only the dead server knows')
        windows['outage'] = (start, time.time())
        b.must('server', 3, 'start')
        back = time.time()
        wait_back(b)
        windows['return'] = (back, time.time() + 2)
        b.says(2, mark2, 'server 3 is back in the active view; members now 1, 2, 3')
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


def removed_and_changed(b, site, reader):
    """The others have removed the site, and one of them changes what it reads. How long that took."""
    start = time.time()
    wait_removed(b, site)
    removed = time.time() - start
    by = others(b, site)[0]
    controls = b.ctl(by, 'controls').stdout
    bed.expect(b.status_of(by, f'echo new >{reader.path}', 20) == 0, f'{reader.path} cannot be written at site {by}; controls there:\n{controls}')
    reader.ask()
    return removed


def cut_off(b, windows, how='cut', site=2):
    """A site that is cut off answers nothing, neither of what it has open nor of what is opened."""
    path = f'{QUIET}/{how}-{time.monotonic_ns()}'
    b.sh(1, f'echo old >{path}')
    reader = Reader(b, site, path)
    try:
        reader.ask()
        reader.expect('old\n', 'before the cut')
        start = time.time()
        b.must('link', site, 'all', how)
        try:
            removed = removed_and_changed(b, site, reader)
            got = reader.answers(1.5)
            bed.expect(got is None, f'site {site} reads {got} while it is cut off')
            got = answers(b, site, path, 1.5)
            bed.expect(got is None, f'site {site} opens and reads {got!r} while it is cut off')
        finally:
            b.must('link', site, 'all', 'heal')
        healed = time.time()
        reader.expect('new\n', 'after the cut')
        wait_back(b)
        windows.setdefault('cut', (start, healed))
        return f'removed after {removed:.1f} s, back {time.time() - healed:.1f} s after the link'
    finally:
        reader.kill()


def stands_still(b, windows, site=2):
    """SIGSTOP for longer than the lease: when the process goes on it must not answer what waited for it out of its old copy."""
    path = f'{QUIET}/still-{time.monotonic_ns()}'
    b.sh(1, f'echo old >{path}')
    reader = Reader(b, site, path)
    try:
        reader.ask()
        reader.expect('old\n', 'before the stop')
        start, mark = time.time(), len(b.log(site))
        stop_process(b, site)
        try:
            removed_and_changed(b, site, reader)
            time.sleep(0.5)     # the questions lie in the socket
        finally:
            stop_process(b, site, go_on=True)
        resumed = time.time()
        reader.expect('new\n', 'after the stop')
        wait_back(b)
        windows['stop'] = (start, resumed)
        b.says(site, mark, 'this server did not run for')
        return f'stopped for {resumed - start:.1f} s, back {time.time() - resumed:.1f} s later'
    finally:
        reader.kill()


def all_killed(b, windows):
    bed.everywhere(b.kill, b.sites)
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
    took = [(seconds, s, what, t - begin) for s in sites for t, seconds, what, _ in logs[s] if begin - 0.5 < t < end]
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
    b.sh(1, f'mkdir -p {DIR} {QUIET}')
    for s in b.sites:
        b.must_py(s, 'views_probe.py', 'prepare', f'{DIR}/probe', str(s))
    work, probes = None, Probes(b)
    try:
        report.check('a site that is cut off answers nothing old', cut_off, b, windows)
        report.check('a server that stood still answers nothing old', stands_still, b, windows)
        work = past.History(b, f'{DIR}/short', 'short', SECONDS, killed=[3])
        report.check('a killed server is removed, the others go on, and it returns', killed, b, windows)
        report.check('a site is cut off under load', cut_off, b, windows)
        report.check('no site ever saw an older closed version', work.judge)
        report.check('all servers killed at once return', all_killed, b, windows)
        report.check('updates went on', probes.went_on, logs)
    finally:
        probes.kill()
        if work:
            work.kill()
    if logs:
        report.check(f'pause of the others when a server dies below {PAUSE_MAX:.0f} s', pauses, b, logs, windows, 3, ['outage'], PAUSE_MAX)
        report.check(f'pause of the others when it returns below {RETURN_MAX:.0f} s', pauses, b, logs, windows, 3, ['return'], RETURN_MAX)
        report.check(f'pause of the others at a cut and a stop below {PAUSE_MAX:.0f} s', pauses, b, logs, windows, 2, ['cut', 'stop'], PAUSE_MAX)


# ---- the long form -------------------------------------------------------------------------------

def stale_reads(b, site=2):
    """With Stale_Reads a server that is cut off serves its old copy for reading, and nothing else."""
    path, conf = f'{QUIET}/stale-{time.monotonic_ns()}', b.must('server', site, 'conf').strip()
    b.sh(1, f'echo old >{path}')
    b.must('server', site, 'stop')
    with open(conf) as f:
        text = f.read()
    with open(conf, 'w') as f:
        f.write(re.sub(r'(Peer_Security = \w+;)', r'\1 Stale_Reads = true;', text))
    b.must('server', site, 'start')
    wait_back(b)
    bed.eventually(20, lambda: answers(b, site, path, 10) == 'old\n', 'the file cannot be read before the cut')
    b.must('link', site, 'all', 'cut')
    try:
        wait_removed(b, site)
        b.sh(1, f'echo new >{path}')
        got = answers(b, site, path, 10)
        bed.expect(got == 'old\n', f'site {site} reads {got!r} while it is cut off')
        bed.expect(b.status_of(site, f'touch {path}-2', 3) == 124, 'an update at the site that is cut off did not wait')
        said = b.ask(site, 'status')['view']
        bed.expect(said['stale_reads'] and said['lease_remaining_ms'] is None, f'status says {said}')
    finally:
        b.must('link', site, 'all', 'heal')
    wait_back(b)
    bed.eventually(20, lambda: answers(b, site, path, 10) == 'new\n', 'after the cut: the new content')


def fail_kill(b, rnd, site):
    b.kill(site)
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
    work = past.History(b, f'{DIR}/round{n}', f'round{n}', 25, killed=[dies] if fail_kill in kinds else [])
    try:
        end = time.time() + 15
        while time.time() < end:
            kind = rnd.choice(kinds)
            site = dies if kind is fail_kill else rnd.choice(b.sites)
            said.append(f'{kind.__name__[5:]} {site}')
            kind(b, rnd, site)
            if rnd.random() < 0.5:
                wait_back(b, 60)
        judged = work.judge()
        wait_back(b, 60)
    finally:
        work.kill()
    b.no_controls(30)           # none is left over from a view that is gone
    trees.disks_equal(b, 30)
    trees.verify(b)
    return f'{", ".join(said)}: {judged}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=0)
    parser.add_argument('--seed', default=str(int(time.time())))
    args = parser.parse_args()
    report, rnd = bed.Report('views'), random.Random(args.seed)
    # No promotions: one that is being asked for at the cut, of a directory high up, would control what the others go on with. That waits,
    # as all that a removed server may control (docs/failures.md).
    with bed.Bed.own('--rtt', '40ms', *bed.SHORT, '--set', 'Escalate_After=0') as b:
        b.remount('vers=4.2,actimeo=0,lookupcache=none')
        short(b, report)
        if args.rounds:
            report.check('what a site sends is lost, what it is sent arrives', cut_off, b, {}, 'cut-from=2')
            report.check('Stale_Reads', stale_reads, b)
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
