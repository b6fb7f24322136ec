#!/usr/bin/python3
"""Servers that are killed and started again under a light load: a pause, and nothing lost."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import kills
import stands
import trees

DIR = '/nfs/restart'


class Load:
    """load.py, or another program that ends as it does, at all sites."""

    def __init__(self, b, what, program='load.py', limit=400):
        self.b, self.dir, self.stop = b, f'{DIR}/{what}', os.path.join(b.run, f'stop-{what}')
        self.clocks = bed.everywhere(b.clock, b.sites)
        self.running = {s: b.start_py(s, program, f'{self.dir}/site{s}', str(s), self.stop, timeout=limit) for s in b.sites}
        bed.eventually(60, lambda: all(n >= 5 for n in self.steps().values()), 'the load does not begin')

    def steps(self):
        return {s: self.count(s) for s in self.b.sites}

    def count(self, site):
        try:
            with open(f'{self.stop}.{site}') as f:
                return int(f.read() or 0)
        except FileNotFoundError:
            return 0

    def goes_on(self, seconds=120, sites=None):
        """Every one of these sites, or of all, does another ten steps."""
        before = self.steps()

        def more():
            ended = [s for s, p in self.running.items() if p.poll() is not None]
            bed.expect(not ended, f'the load ended at sites {ended}: ' + ''.join(self.running[s].stdout.read() for s in ended))
            return not self.standing(before, sites)
        bed.eventually(seconds, more, lambda: f'the load stands still: {before} -> {self.steps()}\n{self.why(self.standing(before, sites))}')

    def standing(self, before, sites=None):
        return [s for s in sites or self.b.sites if self.count(s) < before[s] + 10]

    def why(self, sites):
        return '\n'.join(l for s in sites for l in stands.explain(self.b, s))

    def end(self):
        """{site: what it printed}"""
        with open(self.stop, 'w'):
            pass
        results = {}
        for s, p in self.running.items():
            try:
                out, _ = p.communicate(timeout=150)
            except subprocess.TimeoutExpired:
                raise bed.Failed(f'the load at site {s} does not end\n{self.why([s])}')
            bed.expect(p.returncode == 0, f'load at site {s}: status {p.returncode}\n{out}')
            results[s] = json.loads(out.strip().splitlines()[-1])
            heard = [(op, t0 - self.clocks[s][0], t1 - self.clocks[s][0], error) for op, t0, t1, error in results[s]['heard']]
            wrong = [h for h in heard if not self.b.kills.repeated(s, h[0], h[3], *h[1:3])]
            bed.expect(not wrong, f'load at site {s}: {wrong}; killed: {self.b.kills.all}')
        return results

    def kill(self):
        for p in self.running.values():
            p.kill()


def lost(b, load, results):
    """Everything that was made is there, read at another site."""
    bad = []
    for site, r in results.items():
        tree = trees.through_client(b, site % 3 + 1, f'{load.dir}/site{site}')
        want = set(r['files']) | {'held', '.'} | {n for f in r['files'] if '/' in f for n in [os.path.dirname(f)]}
        bad += [f'site {site}: {n} is {"missing" if n in want else "too much"}' for n in sorted(want ^ set(tree))]
        text = b.sh(site % 3 + 1, f'cat {load.dir}/site{site}/held')
        if text != ''.join(f'line {i}\n' for i in range(r['held'])):
            bad.append(f'site {site}: the file that was open has {len(text.splitlines())} lines, not {r["held"]} in order')
        bad += [] if r['lock'] else [f'site {site}: the lock was lost']
        bad += wrong_contents(b, site % 3 + 1, f'{load.dir}/site{site}', r['files'])
    bed.expect(not bad, '\n'.join(bad[:30]))
    return ', '.join(f'site {s}: {r["steps"]} steps, longest {r["gap"]} s' for s, r in results.items())


def wrong_contents(b, site, directory, files):
    path = os.path.join(b.run, 'expected.json')
    with open(path, 'w') as f:
        json.dump(files, f)
    out = b.must('sh', site, '-n', '-d', directory, '--', '/usr/bin/python3', '-c',
                 'import json,sys\nfor n, t in json.load(open(sys.argv[1])).items():\n'
                 ' if open(n).read() != t: print(n, repr(open(n).read()))', path)
    return [f'{directory}: wrong content: {line}' for line in out.splitlines()]


def handles(b, site, directory=DIR):
    return json.loads(b.must_py(site, 'handles.py', directory))


def start_and_wait(b, sites):
    bed.everywhere(lambda s: b.must('server', s, 'start'), sites)
    for s in b.sites:
        bed.expect(b.status_of(s, f'ls {DIR}', 60) == 0, f'site {s} does not answer after the start')


def one_killed(b, results):
    load = Load(b, 'one')
    try:
        b.kill(2)
        time.sleep(3)
        start_and_wait(b, [2])
        load.goes_on()
        results['one killed'] = (load, load.end())
    finally:
        load.kill()


def reason(function, *args):
    """What it says when it fails."""
    try:
        function(*args)
    except bed.Failed as e:
        return str(e)
    return 'it does not fail'


def says_why(b):
    """A load that stands still: what is said of it tells a server that hangs from a guest that does. Each stands for longer than a lease, so its program may have lost its lock afterwards."""
    told, load = {}, Load(b, 'why-server')
    try:
        os.kill(int(b.must('server', 3, 'pid')), signal.SIGSTOP)
        told['server'] = reason(load.goes_on, 2, [3])
        b.kill(3)
        start_and_wait(b, [3])
    finally:
        load.kill()
    load, guest = Load(b, 'why-guest'), int(stands.processes(b, 3)[0])
    try:
        os.kill(guest, signal.SIGSTOP)
        told['guest'] = reason(load.goes_on, 2, [3])
        told['guest that is asked'] = reason(b.sh, 3, 'true', 1)
    finally:
        os.kill(guest, signal.SIGCONT)
        load.kill()
    for what, patterns in WHY.items():
        for pattern in patterns:
            bed.expect(re.search(pattern, told[what]), f'nothing like {pattern} when the {what} is stopped:\n{told[what]}')


# Of a stopped server: nobody answers nfs4rctl, packets of the client's stay unread, the program waits in the client of NFS. Of a stopped guest: its server answers, and the guest's kernel is stopped.
WHY = {'server': (r'-- nfs4rctl status: TimeoutExpired', r'-- packets of the client', r'10\.0\.1\.1: 3 packets transmitted, 3 received', r'timer: now at [0-9.]+, expires_next [0-9.]+', r'load\.py .*: .*(rpc_wait_bit_killable|folio_wait|nfs_)', r'-- threads of the server\n.* x '),
       'guest': (r'state +serving', r'status \d+: no program runs to its end in the guest', r'\d+: T .*; 0 % of a processor'),
       'guest that is asked': (r'gx: ', r'-- console of the client', r'\d+: T .*; 0 % of a processor')}


def all_killed(b, results):
    load = Load(b, 'all')
    try:
        bed.everywhere(b.kill, b.sites)
        time.sleep(1)
        start_and_wait(b, b.sites)
        load.goes_on()
        results['all killed'] = (load, load.end())
    finally:
        load.kill()


def one_stopped(b, results):
    """In order, while its client writes: that file, and the directory in which it works, are the others' at once, though the server stays away."""
    load = Load(b, 'stopped')
    try:
        marks = {s: len(b.log(s)) for s in b.sites}
        b.kill(1, 'stop')
        b.says(1, marks[1], r'all controls were released before shutdown')
        for s in 2, 3:      # before any silence is over
            b.says(s, marks[s], r'server 1 was removed from the active view: it is shutting down')
        start = time.monotonic()
        b.sh(2, f'cd {load.dir}/site1 && touch held && echo two >two && rm two', timeout=60)
        took = time.monotonic() - start
        bed.expect(took < 8, f'what the client of the stopped server worked with was changed after {took:.1f} s')
        load.goes_on(sites=[2, 3])
        start_and_wait(b, [1])
        load.goes_on()
        results['one stopped'] = (load, load.end())
    finally:
        load.kill()
    return f'{took:.1f} s'


def does_not_wait_for_the_missing(b):
    """An update waits for a server that is down until that is removed from the view (t_views.py has more); the log says so."""
    b.sh(1, f'mkdir -p {DIR}/quiet && echo old >{DIR}/quiet/f')
    b.no_controls(30)
    mark = len(b.log(1))
    b.kill(3)
    start = time.monotonic()
    b.sh(1, f'echo new >{DIR}/quiet/g && mkdir {DIR}/quiet/d')
    took = time.monotonic() - start
    bed.expect(took < 8, f'updates without server 3 took {took:.1f} s')
    for line in (r'server 3 is not connected .*updates wait', r'server 3 was removed from the active view'):
        b.says(1, mark, line)
    bed.expect(b.sh(2, f'cat {DIR}/quiet/f') == 'old\n', 'a read at site 2')
    b.must('server', 3, 'start')
    bed.expect(b.sh(3, f'cat {DIR}/quiet/g; ls {DIR}/quiet', timeout=90) == 'new\nd\nf\ng\n', 'the updates at site 3')
    return f'{took:.1f} s'


EXECUTED = {'create/new', 'link/new', 'link/old', 'mkdir/new', 'rename/new'}


def repetitions(b, site=3):
    """A server dies after it has executed and before it may answer. Its client repeats to the new one: an exclusive create is known again, of all else it hears
    that it is done; it was done once."""
    path, go = f'{DIR}/window', os.path.join(b.run, 'go-window')
    b.must_py(1, 'repeats.py', 'prepare', path)
    b.no_controls(30)
    clock, data = b.clock(site)[0], f'{b.data(site)}{path[len("/nfs"):]}'
    client = b.start_py(site, 'repeats.py', path, go, timeout=120)
    bed.expect(bed.line_of(client) == 'ready\n', 'the client does not begin')
    b.must('link', site, 2, 'cut')      # a majority is there to elect it, and one is missing to answer
    try:
        with open(go, 'w'):
            pass
        bed.eventually(20, lambda: names(data) == EXECUTED, lambda: f'executed so far: {names(data)}', 0.02)
        b.kill(site)
    finally:
        b.must('link', site, 2, 'heal')
    start_and_wait(b, [site])
    results = json.loads(client.communicate(timeout=150)[0].strip().splitlines()[-1])
    heard = {op: error for op, (_, _, error) in results.items()}
    bed.expect(heard == {'create': None, **kills.REPEATED}, f'the client heard {heard}')
    bed.expect(all(b.kills.repeated(site, op, error, t0 - clock, t1 - clock) for op, (t0, t1, error) in results.items() if error), f'{results}; {b.kills.all}')
    for s in b.sites:
        seen = set(b.sh(s, f'cd {path} && ls -d */*', timeout=90).split())
        bed.expect(seen == EXECUTED, f'the names at site {s}: {seen}')


def names(top):
    return {f'{d}/{n}' for d in os.listdir(top) for n in os.listdir(os.path.join(top, d))}


def same_identities(b, before):
    for s in b.sites:
        b.must('client', s, 'drop-caches')
        after = handles(b, s)
        changed = [n for n in before if after.get(n) != before[n]]
        bed.expect(not changed, f'site {s}: fileid or handle changed: {[(n, before[n], after.get(n)) for n in changed[:5]]}')
    return f'{len(before)} objects'


def what_lies_aside_is_said(b):
    """A name that a server was about to make for another one when it was killed (docs/failures.md). It was made anew since, so disks may be compared without it."""
    found = []
    for s in b.sites:
        hold = os.path.join(b.data(s), '.nfs4r-hold')
        for name in os.listdir(hold) if os.path.isdir(hold) else []:
            bed.expect(f'moved to .nfs4r-hold/{name}\n' in b.log(s), f'server {s} does not say why there is {hold}/{name}')
            found.append(f'{s}: {name}')
        shutil.rmtree(hold, ignore_errors=True)
    return ', '.join(found)


def stopped_and_started(b):
    """An orderly stop, too."""
    bed.everywhere(lambda s: b.must('server', s, 'stop'), b.sites)
    start_and_wait(b, b.sites)
    b.sh(2, f'echo after >{DIR}/after-stop', timeout=90)
    bed.expect(b.sh(1, f'cat {DIR}/after-stop') == 'after\n', 'content after the stop')


def main():
    report, results = bed.Report('restart'), {}
    report.check('what counts as a repetition', bed.judge_itself, 'test_kills.py')
    with bed.Bed.own('--rtt', '40ms', *bed.SHORT) as b:
        b.sh(1, f'mkdir -p {DIR}/d/e && echo x >{DIR}/d/f && mkfifo {DIR}/d/fifo && ln {DIR}/d/f {DIR}/d/e/link')
        before = handles(b, 1)
        report.check('one server killed and started under load', one_killed, b, results)
        report.check('a load that stands still says whether its server or its client hangs', says_why, b)
        report.check('one server stopped in order under load', one_stopped, b, results)
        report.check('updates go on without a server that is down, and log lines say so', does_not_wait_for_the_missing, b)
        report.check('a client hears of its own try only of what was under way when its server died', repetitions, b)
        report.check('all servers killed at once and started', all_killed, b, results)
        for what, (load, r) in results.items():
            report.check(f'nothing lost ({what})', lost, b, load, r)
        report.check('all servers stopped in order and started', stopped_and_started, b)
        report.check('the same handles and inode numbers everywhere', same_identities, b, before)
        b.remount()         # what a client has looked up it may believe for a minute
        report.check('equal trees through the clients', trees.clients_equal, b)
        report.check('what lies aside is said in the log', what_lies_aside_is_said, b)
        report.check('equal disks', trees.disks_equal, b)
        report.check('nfs4rctl verify', trees.verify, b)
        report.check('all servers alive', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
