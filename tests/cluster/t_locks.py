#!/usr/bin/python3
"""Byte-range locks of the clients of one site: who has one, who is next, and how soon.

	t_locks.py [4.1]        with all versions of NFS, or these
	t_locks.py elsewhere    the same at each of three sites at once, while another site writes to the files, so that control of them comes and goes. Or of: elsewhere 4.1
	t_locks.py machines     two machines that were copied from one, at two sites: they call themselves the same, and are two owners
	t_locks.py space        what an administrator sees of the locks of three sites: nfs4rctl, and the log
"""
import contextlib
import json
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
from lock_clients import Agent, Agents, bed_for, none_left

DIR = '/nfs/locks'
VERSIONS = [v for v in sys.argv[1:] if v.startswith('4')] or ['4.2', '4.1', '4.0']
# A client with NFSv4.0 cannot be told that a lock is free. It asks after 1, 2, 4 ... 30 s.
TOLD = '4.2', '4.1'


class Place:
    """A site with its client, for tests of one client. @by: the site that works with the same files meanwhile, or nobody does."""

    def __init__(self, b, site, version, by=None):
        self.b, self.site, self.version, self.by = b, site, version, by

    def name(self, what):
        return f'{what}-{self.version}-{self.site}'

    def work(self, do, what, *args, timeout=150):
        path = f'{DIR}/{self.name(what)}'
        with self.controlled_elsewhere(path):
            return json.loads(self.b.must_py(self.site, 'lock_worker.py', do, path, *args, timeout=timeout).splitlines()[-1])

    @contextlib.contextmanager
    def controlled_elsewhere(self, path):
        """Somebody there writes where nobody reads."""
        if self.by is None:
            yield
            return
        over = threading.Event()
        with Agents(self.b, path, [self.by]) as (writer,):
            def write():
                while not over.wait(0.05):
                    writer.ask('write', at=100000, text='\0')
            writer.ask('write', at=100000, text='\0')
            thread = threading.Thread(target=write)
            thread.start()
            try:
                yield
            finally:
                over.set()
                thread.join()


def rules(at):
    bad = at.work('rules', 'rules')['bad']
    bed.expect(not bad, '\n'.join(bad))


def counted(at, kind, n, processes):
    r = at.work('counter', kind, kind, str(n), str(processes))
    bed.expect(not r['errors'], f'{r["errors"]}')
    numbers = [int(x) for x in at.b.sh(at.site, f'tr -d "\\0" <{DIR}/{at.name(kind)}').split()]
    bed.expect(sum(numbers) == n * processes, f'{sum(numbers)} of {n * processes} were counted')
    return f'{n * processes} in {r["seconds"]:.1f} s, longest wait {r["longest"]:.2f} s'


def handed_over(at):
    r = at.work('handover', 'handover', '20')
    bed.expect(r['overlaps'] == 0, f'two had the lock at a time: {r}')
    bed.expect(r['changes'] >= 20, f'{r}')
    if not bed.STOCK:
        bed.expect(r['median'] < 0.1 and r['longest'] < 5, f'{r}')
    return f'median {1000 * r["median"]:.0f} ms, longest {1000 * r["longest"]:.0f} ms'


class Queue:
    """
    Programs of the site's client that wait, one after the other, for a lock that another machine has: programs of one machine do not ask the server for what one of them has, and ask all at once when that is free.
    Each begins when the server knows that the one before waits.
    """

    def __init__(self, at, what, n):
        self.at, self.n, self.name = at, n, at.name(what)

    def __enter__(self):
        self.open = contextlib.ExitStack()
        with self.open:
            self.open.enter_context(self.at.controlled_elsewhere(f'{DIR}/{self.name}'))
            self.agents = self.open.enter_context(Agents(self.at.b, f'{DIR}/{self.name}', [self.at.site] * self.n))
            self.keep()
            self.waits = []
            for agent in self.agents:
                self.waits.append(agent.begin('lock', type='w', start=0, length=0, wait=True))
                self.wait_known()
            self.open = self.open.pop_all()
        return self

    def __exit__(self, *_):
        self.open.close()

    def keep(self):
        server = 1 if bed.STOCK else self.at.site
        self.keeper = subprocess.Popen(self.at.b.command('ns', server, '--', '/usr/bin/python3', os.path.join(bed.LIB, 'raw_lock.py'), 'keep', f'10.0.{server}.1', '/data/locks', self.name),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.open.callback(self.keeper.wait)
        self.open.callback(self.keeper.kill)
        said = bed.line_of(self.keeper)
        bed.expect(said == 'locked\n', f'the machine that is to have the lock: {said}')

    def wait_known(self):
        if bed.STOCK:
            time.sleep(0.4)
            return

        def known():
            rows = locks_of(self.at.b, self.at.site, f'/locks/{self.name}')['locks']
            return [r['state'] for r in rows if r['address'] == f'10.0.{self.at.site}.2'].count('waiting') == len(self.waits)
        bed.eventually(30, known, f'the server of site {self.at.site} does not know that {len(self.waits)} of its client wait', 0.05)

    def unlock(self):
        """When that began."""
        bed.expect(not any(map(Agent.answered, self.agents, self.waits)), 'two had the lock at a time')
        t = time.time()
        self.keeper.stdin.write('\n')
        self.keeper.stdin.flush()
        bed.expect((said := bed.line_of(self.keeper)) == 'unlocked\n', f'the machine that had the lock: {said}')
        return t

    def pass_on(self, left):
        """Until each of these, which are numbers of programs, has had the lock: (when, number) in the order of time."""
        had, left = [], list(left)
        while left:
            got = bed.eventually(60, lambda: [i for i in left if self.agents[i].answered(self.waits[i])], 'nobody has the free lock', 0.01)
            bed.expect(len(got) == 1, f'two had the lock at a time: {got}')
            had.append((self.agents[got[0]].end(self.waits[got[0]])['t1'], got[0]))
            self.agents[got[0]].unlock()
            left.remove(got[0])
        return had


def in_order(at):
    with Queue(at, 'order', 6) as q:
        t = q.unlock()
        had = q.pass_on(range(6))
    order, seconds = [i for _, i in had], had[-1][0] - t
    if not bed.STOCK:
        bed.expect(order == sorted(order) and seconds < 6, f'order {order}, {seconds:.1f} s')
    return f'{seconds:.2f} s for 6'


def a_waiter_is_killed(at):
    """The one behind it waits for it as long as its lock is reserved, and not for a lease."""
    with Queue(at, 'killed', 3) as q:
        q.agents[1].kill()
        t = q.unlock()
        (first, one), (second, other) = q.pass_on((0, 2))
    if not bed.STOCK:
        bed.expect((one, other) == (0, 2) and first - t < 2 and second - first < 9, f'{one} after {first - t:.2f} s, {other} {second - first:.2f} s later')
    return f'first {first - t:.2f} s, the one behind the killed {second - first:.2f} s'


def reported(at):
    """Who has the lock and who waits, by nfs4rctl, while they do."""
    with Queue(at, 'report', 3) as q:
        q.unlock()
        q.agents[0].end(q.waits[0])
        seen = []

        def shown():
            seen[:] = locks_of(at.b, at.site, f'/locks/{q.name}')['locks']
            return [r['state'] for r in seen] == ['held', 'waiting', 'waiting']
        bed.eventually(10, shown, lambda: f'nfs4rctl locks does not show one holder and two that wait: {seen}', 0.1)
        q.agents[0].unlock()
        q.pass_on((1, 2))
    row = seen[0]
    bed.expect((row['path'], row['type'], row['start'], row['length'], row['address']) == (f'/locks/{q.name}', 'write', 0, None, f'10.0.{at.site}.2'), f'{row}')
    bed.expect(row['client'].startswith('Linux NFSv4'), f'{row}')
    return row['client']


def checks(report, at, prefix=''):
    def check(name, *what):
        report.check(f'{prefix}{at.version}: {name}', what[0], at, *what[1:])
    check('what two owners may have', rules)
    for kind, n, processes in (('fcntl', 20, 8), ('ofd', 20, 8), ('flock', 20, 8), ('range', 20, 8), ('try', 10, 4)) if at.version in TOLD else (('fcntl', 2, 3), ('try', 10, 4)):
        check(f'a number under a lock, {kind}', counted, kind, n, processes)
    if at.version in TOLD:
        check('a lock is handed over', handed_over)
        check('first come, first served', in_order)
        check('a waiter is killed', a_waiter_is_killed)
        if not bed.STOCK:
            check('who has a lock, and who waits', reported)


def elsewhere(report):
    with bed_for('sites') as b:
        b.sh(1, f'mkdir {DIR}')
        for v in VERSIONS:
            b.remount(f'vers={v}', b.clients)
            bed.everywhere(lambda s: checks(report, Place(b, s, v, s % len(b.clients) + 1), f'site {s}, {s % len(b.clients) + 1} writes, '), b.clients)
        report.check('elsewhere: no lock is left', none_left, b)
        report.check('elsewhere: servers live', b.servers_alive)


# ---- machines of one image -----------------------------------------------------------------------

def one_name(b):
    """Client 2 gets the name of client 1, of which its id for NFSv4.1 and later is made."""
    b.sh(2, f'umount /nfs && echo {b.sh(1, "hostname").strip()} >/proc/sys/kernel/hostname')
    b.must('client', 2, 'remount', timeout=150)
    if not bed.STOCK:
        b.no_controls(20)


def two_owners(b):
    """And what becomes of one machine's mount is nothing to the other one's locks."""
    path = f'{DIR}/two'
    with Agents(b, path, [1]) as (one,):
        one.must_lock()
        rows = [row for s in b.sites for row in b.ask(s, 'locks')['locks']]
        for again in 'a machine', 'after a new mount':
            with Agents(b, path, [2]) as (other,):
                result = other.lock()['result']
                bed.expect(result in ('EAGAIN', 'EACCES'), f'{again} of the same name, at another site: {result}; locks: {rows}')
            b.must('client', 2, 'remount', timeout=150)
        bed.expect(one.ask('write', at=0, text='mine')['result'] == 'ok', 'the first one cannot write under its lock')
        with Agents(b, path, [2]) as (other,):
            waits = other.begin('lock', type='w', start=0, length=0, wait=True)
            time.sleep(1)
            bed.expect(not other.answered(waits), 'two had the lock at a time')
            one.unlock()
            bed.expect(other.end(waits)['result'] == 'ok', 'the lock is free, and was not given')
            result = one.lock()['result']
            bed.expect(result in ('EAGAIN', 'EACCES'), f'the first one has what the other has: {result}')


def counted_by_both(b):
    path = f'{DIR}/both'
    b.sh(1, f'touch {path}')
    start = time.time() + 2
    said = bed.everywhere(lambda s: json.loads(b.must_py(s, 'lock_worker.py', 'counter', path, 'fcntl', '20', '2', str(start + b.clocks[s][0])).splitlines()[-1]), [1, 2])
    bed.expect(not any(r['errors'] for r in said.values()), f'{said}')
    b.drop_caches([1])
    there = int(b.sh(1, f'tr -d "\\0" <{path}'))
    bed.expect(there == 80, f'{there} of 80 were counted')


def machines(report):
    with bed_for('sites', clients=2) as b:
        b.sh(1, f'mkdir {DIR}')
        report.check('machines: they call themselves the same', one_name, b)
        report.check('machines: two owners', two_owners, b)
        report.check('machines: a number under a lock', counted_by_both, b)
        report.check('machines: servers live', b.servers_alive)


# ---- what an administrator sees of three sites ---------------------------------------------------

def locks_of(b, site, path):
    r = b.ctl(site, '--json', 'locks', path)
    bed.expect(r.returncode == 0, f'nfs4rctl locks {path} at site {site}: {r.stdout}{r.stderr}')
    return json.loads(r.stdout)


def all_rows(rows):
    return [(r['state'], r['server'], r['address']) for r in rows]


def who_has_and_who_waits(b):
    """Of all sites, in the order in which they came, at the server that controls the file. The others know their own, and name it."""
    path = f'{DIR}/waiters'
    with Agents(b, path, [2, 3, 1]) as (has, second, third):
        has.must_lock(start=10, length=5)
        waiting = []
        for agent in second, third:
            waiting.append((agent, agent.begin('lock', type='w', start=12, length=1, wait=True)))
            time.sleep(1)
        want = [('held', 2, '10.0.2.2'), ('waiting', 3, '10.0.3.2'), ('waiting', 1, '10.0.1.2')]
        seen = {}

        def seen_by_the_authority():
            seen.update({s: locks_of(b, s, '/locks/waiters') for s in b.sites})
            return any(a['decided_by'] == s and all_rows(a['locks']) == want for s, a in seen.items())
        bed.eventually(20, seen_by_the_authority, lambda: f'no server controls the file and lists {want}: {seen}', 0.2)
        authority = next(s for s, a in seen.items() if a['decided_by'] == s)
        row = seen[authority]['locks'][0]
        bed.expect((row['type'], row['start'], row['length'], row['path']) == ('write', 10, 5, '/locks/waiters') and row['client'].startswith('Linux NFSv4'), f'{row}')
        for s, a in seen.items():
            own = [w for w in want if w[1] == s]
            bed.expect(s == authority or (a['decided_by'] == authority and all_rows(a['locks']) == own), f'server {s}, which does not control the file: {a}')
        counts = b.ask(authority, 'status')['locks']['decided_here']
        bed.expect(counts['held'] >= 1 and counts['waiting'] == 2, f'{counts}')
        text = b.ctl(authority, 'status').stdout
        bed.expect('of all servers\' clients' in text, text)
        other = next(s for s in b.sites if s != authority)
        text = b.ctl(other, 'locks', '/locks/waiters').stdout
        bed.expect(f'server {authority} decides about this file' in text, text)
        has.unlock()
        for agent, number in waiting:
            bed.expect(agent.end(number)['result'] == 'ok', 'a waiter has not got the lock')
            agent.unlock()


def nobody_controls_it(b):
    """All servers list what outlived control."""
    path = f'{DIR}/left'
    with Agents(b, path, [3]) as (has,):
        has.must_lock()
        b.no_controls(30)

        def all_know():
            return all(all_rows(locks_of(b, s, '/locks/left')['locks']) == [('held', 3, '10.0.3.2')] for s in b.sites)
        bed.eventually(10, all_know, lambda: f'not everybody lists it: {[locks_of(b, s, "/locks/left") for s in b.sites]}', 0.2)


def refused_when_a_file_is_full(b):
    """4,096 ranges over all sites: the program hears of it, and the log of its server says why."""
    path, mark = f'{DIR}/full', {s: len(b.log(s)) for s in b.sites}
    with Agents(b, path, [1, 2]) as (has, other):
        for i in range(4090):
            answer = has.lock(start=10 * i, length=1)
            bed.expect(answer['result'] == 'ok', f'range {i}: {answer}')
        taken = [other.lock(start=50000 + 10 * i, length=1)['result'] for i in range(10)]
        bed.expect('EREMOTEIO' in taken and set(taken[taken.index('EREMOTEIO'):]) == {'EREMOTEIO'}, f'{taken}')
        b.says(2, mark[2], 'a lock of file .* is refused: the clients of all servers have 4096 locks of it')
        other.lock('u', start=0, length=0)
        has.lock('u', start=0, length=0)
        other.must_lock(start=0, length=1)      # the volume hears of an unlock a moment later


def denied_opens(b):
    b.sh(1, f'echo text >{DIR}/denied')
    b.no_controls(30)
    command = b.command('ns', 1, '--', '/usr/bin/python3', os.path.join(bed.LIB, 'raw_shares.py'), 'hold', '/data/locks/denied', '10.0.2.1', '3', '2')
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = bed.line_of(p).strip()
        bed.expect(line == 'open', f'the open that denies: {line}')
        rows = locks_of(b, 2, '/locks/denied')['shares']
        bed.expect([(r['server'], r['writers'], r['deny_write'], r['deny_read']) for r in rows] == [(2, 1, 1, 0)], f'{rows}')
        bed.expect(b.ask(2, 'status')['locks']['shares']['denying'] == 1, f'{b.ask(2, "status")["locks"]}')
    finally:
        p.kill()
        p.wait()


def grace_names_who_is_waited_for(b):
    """The authority has started anew, and the server of a client that has a lock is gone."""
    path = f'{DIR}/grace'
    with Agents(b, path, [1, 3]) as (near, far):
        b.no_controls(30)
        near.ask('write', at=100, text='x')     # site 1 controls the file from here on
        far.must_lock(start=10, length=1)
        b.kill(3)
        b.kill(1)
        b.must('server', 1, 'start')
        bed.eventually(40, lambda: 3 not in b.ask(1, 'status')['view']['members'], 'server 3 is not removed')

        def said():
            r = b.ctl(1, '--json', 'locks', '/locks/grace')
            graces = json.loads(r.stdout).get('graces', []) if r.returncode == 0 else []
            waits = {c['server']: c['left_ms'] for g in graces for c in g['clients_of']}
            return 3 in waits and waits
        waits = bed.eventually(40, said, lambda: f'no grace that waits for the clients of server 3: {b.ctl(1, "--json", "locks").stdout}', 0.2)
        bed.expect(0 < waits[3] <= 75000, f'{waits}')
        text = b.ctl(1, 'locks').stdout + b.ctl(1, 'status').stdout
        bed.expect('clients of server 3 (' in text and 'no new locks under' in text, text)
        b.must('server', 3, 'start')
        bed.eventually(60, lambda: not locks_of(b, 1, '/locks/grace')['graces'], lambda: f'the grace does not end: {b.ctl(1, "locks").stdout}', 0.5)
        result = near.lock(start=10, length=1)['result']
        bed.expect(result in ('EAGAIN', 'EACCES'), f'the lock of the client of server 3: {result}')


def space(report):
    with bed_for('sites') as b:
        r = b.ctl(1, 'set', 'Durability', 'commit')     # what a dead server controlled is not waited for
        bed.expect(r.returncode == 0, f'set: {r.stdout}{r.stderr}')
        b.sh(1, f'mkdir {DIR}')
        report.check('space: who has a lock and who waits, of all sites', who_has_and_who_waits, b)
        report.check('space: locks of a file that nobody controls', nobody_controls_it, b)
        report.check('space: an open that denies', denied_opens, b)
        report.check('space: a file is full', refused_when_a_file_is_full, b)
        report.check('space: for whom a grace waits', grace_names_who_is_waited_for, b)
        report.check('space: servers live', b.servers_alive)


def main():
    report = bed.Report('locks')
    if sys.argv[1:] == ['space']:
        space(report)
        sys.exit(report.status())
    if sys.argv[1:] == ['machines']:
        machines(report)
        sys.exit(report.status())
    if sys.argv[1:2] == ['elsewhere']:
        elsewhere(report)
        sys.exit(report.status())
    with bed.Bed.own('--sites', '1', '--rtt', '0.1ms') as b:
        b.sites = [1]
        b.clocks = {1: b.clock(1)}
        b.sh(1, f'mkdir {DIR}')
        for v in VERSIONS:
            b.remount(f'vers={v}')
            checks(report, Place(b, 1, v))
        report.check('servers live', b.servers_alive)
    sys.exit(report.status())


main()
