#!/usr/bin/python3
"""Locks of clients that are far from each other: exclusion, bytes under a lock, POSIX rules, order, what is left by who dies.

	t_lock_sites.py [one|far|sites]     one: three clients of one server; far: 40 ms from each other; sites: each has a server of its own. Default: one, sites

SECONDS_OF_LOCKS (default 8 and 30) and SEED may be set in the environment. The requests are kept when something is violated.
"""
import collections
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import lock_history
from lock_clients import PARTS, Agents, bed_for, cells, mount_first, none_left
from t_views import stop_process, wait_back

DIR = '/nfs/locks'
SEED = os.environ.get('SEED', '1')
RTT = 0.040
NO = 'EAGAIN|EACCES'


class Part:
    """What differs between the two."""

    def __init__(self, name):
        self.name, self.sites, self.far = name, name == 'sites', name != 'one'
        self.seconds = float(os.environ.get('SECONDS_OF_LOCKS', 30 if self.far else 8))
        self.processes = 3 if self.far else 2
        # An unlock has returned before another site's server knows of it.
        self.late = 0.5 if self.sites else 0
        # A client that asked itself would do so after 30 s. `one` runs beside other tests.
        self.idle = lock_history.IDLE if self.far else 15
        self.increments = 60 if self.far else 20


# ---- torture -------------------------------------------------------------------------------------

def torture(b, part, kept):
    """Processes of all clients at random; their requests into @kept."""
    directory = f'{DIR}/torture'
    b.sh(1, f'mkdir {directory}; touch {directory}/cells {directory}/block {directory}/lines')
    start = time.time() + 3
    workers = [(s, b.start_py(s, 'lock_torture.py', directory, str(s), str(part.processes), SEED, str(start + b.clocks[s][0]), str(part.seconds),
                              timeout=int(part.seconds) + 120)) for s in b.clients]
    broken = []
    for s, p in workers:
        out, _ = p.communicate(timeout=part.seconds + 150)
        broken += [f'site {s}, status {p.returncode}: {out[-1500:]}{b.about_guest(s, out)}'] if p.returncode else []
        for line in out.splitlines():
            if line.startswith('{'):
                e = json.loads(line)
                for t in 'asked', 'granted', 'leaving', 'left':
                    e[t] = e[t] - b.clocks[s][0] if e.get(t) is not None else None
                kept.append(e)
    bed.expect(not broken, '\n'.join(broken))
    return f'{len(kept)} requests'


def clocks_stand(b):
    """The clients' clocks are where they were, within half of the judge's slack."""
    worst = 0
    for s, (offset, error) in b.clocks.items():
        after, error_after = b.clock(s)
        worst = max(worst, abs(after - offset) + error + error_after)
    bed.expect(worst < lock_history.SLACK, f'clocks moved by {worst * 1000:.1f} ms; the slack is {lock_history.SLACK * 1000:.0f} ms')
    return f'within {worst * 1000:.1f} ms'


def keep(events):
    path = os.path.join(bed.ROOT, 'build', f'locks-{int(time.time())}.log')
    with open(path, 'w') as f:
        f.writelines(json.dumps(e) + '\n' for e in events)
    return path


def judge(b, part, events):
    b.drop_caches([1])
    final = {('cells', i): text for i, text in enumerate(cells(b, 1, f'{DIR}/torture/cells'))}
    bad, n = lock_history.check(events, late=part.late, idle=None if bed.STOCK else part.idle, final=final)
    if bad:
        raise bed.Failed(f'{len(bad)} violations (all requests: {keep(events)})\n' + '\n'.join(bad[:8]))
    least = {'w ok': 10, 'r ok': 2, 'w busy': 1}
    few = {k: n[k] for k, m in least.items() if n[k] < m}
    bed.expect(not few, f'too little happened to judge: {few}')
    return ', '.join(f'{m} {k}' for k, m in sorted(n.items()))


def lines_are_there(b, events):
    """Every line that was appended under a lock, once, and those of one process in their order."""
    b.drop_caches([1])
    lines = b.sh(1, f'cat {DIR}/torture/lines').splitlines()
    told = [e['line'] for e in events if 'line' in e and e['result'] == 'ok']
    twice = [line for line, n in collections.Counter(lines).items() if n > 1]
    missing = sorted(set(told) - set(lines))
    bed.expect(not twice and not missing and len(lines) == len(told), f'{len(told)} were appended, {len(lines)} are there; missing {missing[:5]}, twice {twice[:5]}')
    of_process = collections.defaultdict(list)
    for line in lines:
        of_process[line.rpartition('.')[0]].append(int(line.rpartition('.')[2]))
    bed.expect(all(numbers == sorted(numbers) for numbers in of_process.values()), 'not in the order in which they were appended')
    return f'{len(lines)} lines'


def counted(b, part, kind, n):
    """Two processes of each client add to a number."""
    path = f'{DIR}/counter-{kind}'
    b.sh(1, f'touch {path}')
    start = time.time() + 1.5       # all begin at once
    r = bed.everywhere(lambda s: json.loads(b.must_py(s, 'lock_worker.py', 'counter', path, kind, str(n), '2', str(start + b.clocks[s][0]), timeout=300).splitlines()[-1]), b.clients)
    errors = [e for of_site in r.values() for e in of_site['errors']]
    bed.expect(not errors, f'{errors}')
    b.drop_caches([1])
    there, expected = sum(int(x) for x in b.sh(1, f'tr -d "\\0" <{path}').split()), 2 * n * len(b.clients)
    bed.expect(there == expected, f'{there} of {expected} were counted')
    return f'{expected} in {time.time() - start:.1f} s, longest wait {max(of_site["longest"] for of_site in r.values()):.2f} s'


# ---- POSIX rules ---------------------------------------------------------------------------------

# owner, what it does, type, start, length, what it hears. a1 and a2 are owners at one client, b at another.
RULES = [
    ('a1', 'lock', 'w', 0, 100, 'ok'), ('b', 'lock', 'w', 50, 100, NO), ('b', 'lock', 'r', 99, 1, NO), ('a2', 'lock', 'r', 99, 1, NO), ('b', 'lock', 'w', 100, 10, 'ok'),
    ('b', 'test', 'r', 10, 10, 'w0+100'),
    ('a1', 'lock', 'r', 40, 20, 'ok'),          # lowered in the middle
    ('b', 'lock', 'r', 45, 5, 'ok'), ('b', 'lock', 'r', 39, 2, NO), ('a2', 'lock', 'r', 45, 5, 'ok'),
    ('a1', 'lock', 'w', 0, 100, NO),            # raised with readers in it
    ('b', 'lock', 'u', 45, 5, 'ok'),
    ('a1', 'lock', 'w', 0, 100, NO),            # there is still one, of its own client
    ('a2', 'lock', 'u', 45, 5, 'ok'),
    ('a1', 'lock', 'w', 0, 100, 'ok'), ('b', 'lock', 'r', 45, 5, NO),
    ('a1', 'lock', 'u', 30, 10, 'ok'),          # split
    ('b', 'lock', 'w', 30, 10, 'ok'), ('b', 'lock', 'w', 40, 1, NO), ('b', 'lock', 'w', 29, 1, NO), ('a1', 'lock', 'w', 30, 10, NO),
    ('b', 'lock', 'u', 30, 10, 'ok'),
    ('a1', 'lock', 'w', 30, 10, 'ok'),          # filled
    ('b', 'lock', 'r', 30, 10, NO), ('b', 'test', 'w', 35, 1, 'w0+100'),
    ('a1', 'lock', 'w', 1000, 0, 'ok'),         # to the end of all files
    ('b', 'lock', 'r', 1 << 60, 1, NO),
    ('b', 'lock', 'u', 0, 0, 'ok'), ('a1', 'lock', 'u', 0, 0, 'ok'),
    ('b', 'lock', 'w', 0, 0, 'ok'), ('b', 'lock', 'r', 0, 0, 'ok'), ('a1', 'lock', 'r', 7, 1, 'ok'), ('b', 'lock', 'w', 0, 0, NO),
]


def is_given_back(i):
    """Has the other client just unlocked what step i wants?"""
    return i and RULES[i][5] == 'ok' and RULES[i - 1][2] == 'u' and (RULES[i][0] == 'b') != (RULES[i - 1][0] == 'b')


def rules(b, part, updater):
    """
    updater: the client that writes to the file before each step, so that its server controls it. An unlock does not wait for other
    sites, so what one site gives back is another's a moment later.
    """
    bad, again = [], 0
    with Agents(b, f'{DIR}/rules-{updater}', [1, 2, updater]) as (a, other, writer):
        for i, (owner, do, kind, start, length, expected) in enumerate(RULES):
            writer.ask('write', at=5000, text=f'{i:04}')
            end = time.monotonic() + (part.late if is_given_back(i) else 0)
            while True:
                got = (other if owner == 'b' else a).ask(do, type=kind, start=start, length=length, owner=owner, **({'wait': False} if do == 'lock' else {}))['result']
                if got in expected.split('|') or time.monotonic() > end:
                    break
                again += 1
            if got not in expected.split('|'):
                bad.append(f'{i}: {owner} {do} {kind} {start}+{length}: {got}, not {expected}')
    bed.expect(not bad, f'{len(bad)} of {len(RULES)} are wrong\n' + '\n'.join(bad))
    return f'{len(RULES)} steps, {again} once more'


def raised(b):
    """A reader waits to become a writer until the reader at another site has gone, and reads then what is there."""
    with Agents(b, f'{DIR}/raised', [1, 2]) as (one, other):
        one.ask('write', at=0, text='first')
        one.must_lock('r')
        other.must_lock('r')
        waits = one.begin('lock', type='w', start=0, length=0, wait=True)
        time.sleep(1)
        bed.expect(not one.answered(waits), 'raised beside a reader')
        bed.expect(other.lock('w')['result'] in NO, 'two raised it at a time')
        t = other.unlock()['t0']
        had = one.end(waits)
        bed.expect(had['result'] == 'ok' and had['t1'] - t < 5, f'raised {had["t1"] - t:.2f} s after the reader has gone: {had}')
        one.ask('write', at=0, text='second')
        one.unlock()
        other.must_lock('r')
        bed.expect(other.ask('read', at=0, length=6)['result'] == 'second', 'what was written under the lock was not read')
        return f'after {1000 * (had["t1"] - t):.0f} ms'


# ---- time and order ------------------------------------------------------------------------------

def handed_over(b, part, n=12):
    """Two clients give a lock to each other; from the unlock on."""
    gaps = []
    with Agents(b, f'{DIR}/handover', [1, 2]) as pair:
        pair[0].must_lock()
        for i in range(n):
            has, wants = pair[i % 2], pair[1 - i % 2]
            waits = wants.begin('lock', type='w', start=0, length=0, wait=True)
            time.sleep(0.3)
            has.ask('add', at=0)
            bed.expect(not wants.answered(waits), 'two had the lock at a time')
            t = has.unlock()['t0']
            gaps.append(wants.end(waits)['t1'] - t)
        there = pair[n % 2].ask('read', at=0, length=20)['result']
    bed.expect(int(there) == n, f'{there} of {n} were counted')
    middle = statistics.median(gaps)
    if not bed.STOCK:
        # One round trip and a half, and 20 ms of two machines.
        bed.expect(middle < (1.5 * RTT + 0.020 if part.far else 0.2) and max(gaps) < 5, f'{[round(g, 3) for g in gaps]}')
    return f'median {1000 * middle:.0f} ms, longest {1000 * max(gaps):.0f} ms'


def in_order(b, part):
    """Who waits has the lock in the order of asking, wherever he is. A client that has the lock asks nobody for its own programs that wait, so none of them do."""
    sites = [3, 2, 2, 3, 2, 3]
    with Agents(b, f'{DIR}/order', [1] + sites) as (first, *others):
        first.must_lock()
        waits = []
        for a in others:
            waits.append(a.begin('lock', type='w', start=0, length=0, wait=True))
            time.sleep(0.4)
        t, had = first.unlock()['t0'], []
        left = list(range(len(others)))
        while left:
            got = bed.eventually(60, lambda: [i for i in left if others[i].answered(waits[i])], 'nobody has the free lock', 0.01)
            had += [(others[i].end(waits[i])['t1'], i) for i in got]
            for i in got:
                others[i].unlock()
                left.remove(i)
        order, seconds = [i for _, i in sorted(had)], max(t1 for t1, _ in had) - t
    if not bed.STOCK:
        bed.expect(order == list(range(len(others))) and seconds < 6, f'order {order}, {seconds:.1f} s')
    return f'{seconds:.2f} s for {len(others)}'


# ---- who dies ------------------------------------------------------------------------------------

def a_waiter_is_killed(b, part):
    """The next one waits as long as its lock is reserved for it, and not for a lease."""
    with Agents(b, f'{DIR}/killed', [1, 2, 3, 2]) as (has, first, second, third):
        has.must_lock()
        waits = []
        for a in first, second, third:
            waits.append(a.begin('lock', type='w', start=0, length=0, wait=True))
            time.sleep(0.4)
        second.kill()
        bed.expect(not any(a.answered(w) for a, w in ((first, waits[0]), (third, waits[2]))), 'two had the lock at a time')
        t = has.unlock()['t0']
        one = first.end(waits[0], 90)['t1'] - t
        t = first.unlock()['t0']
        other = third.end(waits[2], 90)['t1'] - t
    if not bed.STOCK:
        bed.expect(one < 2 and other < 9, f'the first {one:.1f} s, the one behind the killed {other:.1f} s')
    return f'the one behind the killed {other:.1f} s'


def a_client_dies(b, part, lease=10):
    """With a lock, while it waits for another. Its lock is free when its lease is over."""
    with Agents(b, f'{DIR}/of-the-dead', [3, 1]) as (dead, heir), Agents(b, f'{DIR}/wanted-by-the-dead', [1, 3, 2]) as (has, waited, behind):
        dead.must_lock()
        has.must_lock()
        bed.expect(heir.lock()['result'] in NO, 'two had the lock at a time')
        waited.begin('lock', type='w', start=0, length=0, wait=True)
        time.sleep(0.4)
        waits = behind.begin('lock', type='w', start=0, length=0, wait=True)
        time.sleep(0.4)
        b.must('client', 3, 'kill')
        died = time.time()
        inherits = heir.begin('lock', type='w', start=0, length=0, wait=True)
        for a in dead, waited:
            a.process.kill()
        bed.expect(not behind.answered(waits), 'two had the lock at a time')
        t = has.unlock()['t0']
        behind_it = behind.end(waits, 90)['t1'] - t
        inherited = heir.end(inherits, 120)
        late = inherited['t1'] - died
        b.must('client', 3, 'start', timeout=150)
        if not part.sites and not bed.STOCK:
            mount_first(b, 3)
        b.clocks[3] = b.clock(3)
    bed.expect(inherited['result'] == 'ok', f'{inherited}')
    if not bed.STOCK:
        bed.expect(behind_it < 9, f'the one behind the dead waiter {behind_it:.1f} s')
        # An idle client may have renewed its lease just before; the server looks for ended ones every 10 s.
        bed.expect(late < lease + 15, f'its lock after {late:.1f} s')
    return f'its lock after {late:.1f} s, the one behind it {behind_it:.1f} s'


def a_server_dies(b, site, away=1):
    """While one program has a lock through it, or waits. The lock is what it was, and the next has it."""
    path = f'{DIR}/server-{site}'
    with Agents(b, path, [1, 2, 3]) as (has, wants, other):
        has.must_lock()
        has.ask('write', at=0, text='begun')
        waits = wants.begin('lock', type='w', start=0, length=0, wait=True)
        time.sleep(0.5)
        t = time.time()
        b.kill(site)
        time.sleep(away)
        b.must('server', site, 'start')
        result = has.ask('write', 90, at=0, text='ended')['result']
        bed.expect(result == 'ok', f'the holder was served again, and heard {result}')
        back = time.time() - t
        bed.expect(not wants.answered(waits), 'the waiter has what another has')
        refused = other.lock(seconds=90)['result']
        bed.expect(refused in NO, f'a third one: {refused}')
        t = has.unlock()['t0']
        had = wants.end(waits, 90)
        bed.expect(had['result'] == 'ok', f'{had}')
        bed.expect(wants.ask('read', at=0, length=5)['result'] == 'ended', 'the last write was not read under the lock')
        wants.unlock()
    return f'served after {back:.1f} s, handed over in {had["t1"] - t:.1f} s'


def a_lock_is_lost(b, how, begin, end, lease=10):
    """Its server is away for longer than its lock waits for it. Somebody else has it then, and the program that had it hears EIO before it does anything else under it."""
    with Agents(b, f'{DIR}/lost-{how}', [2, 1, 3]) as (had, heir, other):
        had.must_lock()
        had.ask('add', at=0)
        waits = heir.begin('lock', type='w', start=0, length=0, wait=True)
        time.sleep(0.5)
        t = time.time()
        begin()
        try:
            inherited = heir.end(waits, 90)
            after = inherited['t1'] - t
            bed.expect(inherited['result'] == 'ok' and after > lease, f'another had the lock after {after:.1f} s, and a lease is {lease} s: {inherited}')
            bed.expect(heir.ask('add', at=0)['result'] == 2, 'who got the lock counts on from what the one before wrote')
        finally:
            end()
        wait_back(b, 60)
        result = had.ask('add', 90, at=0)['result']
        bed.expect(result in ('EIO', 'ESTALE'), f'it counted on under a lock that another had meanwhile: {result}')
        bed.expect(heir.ask('add', at=0)['result'] == 3, 'who has the lock counts on')
        bed.expect(other.lock()['result'] in NO, 'two had the lock at a time')
        heir.unlock()
        had.close()     # until then its kernel keeps its other programs out
        with Agents(b, f'{DIR}/lost-{how}', [2]) as (again,):
            again.must_lock(seconds=90)
            bed.expect(again.ask('add', at=0)['result'] == 4, 'the client of the site that was away has the lock, and not what was counted')
    return f'another had it after {after:.1f} s'


def cut_off(b):
    return lambda: b.must('link', 2, 'all', 'cut'), lambda: b.must('link', 2, 'all', 'heal')


def killed(b):
    return lambda: b.kill(2), lambda: b.must('server', 2, 'start')


def stands_still(b):
    return lambda: stop_process(b, 2), lambda: stop_process(b, 2, go_on=True)


# ---- all -----------------------------------------------------------------------------------------

def run(part, report):
    with bed_for(part.name, *bed.SHORT) as b:
        def check(name, *args):
            return report.check(f'{part.name}: {name}', *args)
        b.sh(1, f'mkdir {DIR}')
        events = []
        if check('torture', torture, b, part, events):
            check('clocks', clocks_stand, b)
            check('no two have what excludes each other', judge, b, part, events)
            check('lines that are appended', lines_are_there, b, events)
        for kind in 'fcntl', 'ofd', 'flock', 'range', 'try':
            check(f'a number under a lock, {kind}', counted, b, part, kind, part.increments if kind == 'fcntl' else max(part.increments // 3, 10))
        check('POSIX rules, the file is updated here', rules, b, part, 1)
        check('POSIX rules, the file is updated elsewhere', rules, b, part, 2)
        if part.sites:
            check('POSIX rules, the file is updated at a third site', rules, b, part, 3)
        check('raised, with a reader elsewhere', raised, b)
        check('a lock is handed over', handed_over, b, part)
        check('first come, first served', in_order, b, part)
        check('a waiter is killed', a_waiter_is_killed, b, part)
        check('a client dies', a_client_dies, b, part)
        for site in b.sites:
            check(f'server {site} dies', a_server_dies, b, site)
        check('no lock is left', none_left, b)
        check('servers live', b.servers_alive)
    if part.sites:
        without_a_site(report)


def without_a_site(report):
    """Where the others go on without a server that is away, and take over what it controlled."""
    with bed_for('sites', *bed.SHORT, '--set', 'Durability=commit') as b:
        b.sh(1, f'mkdir {DIR}')
        report.check('sites: a lock of a site that is cut off is lost', a_lock_is_lost, b, 'cut', *cut_off(b))
        report.check('sites: a lock of a site that stands still is lost', a_lock_is_lost, b, 'still', *stands_still(b))
        report.check('sites: a lock of a site whose server is dead is lost', a_lock_is_lost, b, 'killed', *killed(b))
        for site in b.sites:
            report.check(f'sites: server {site} dies, and is removed', a_server_dies, b, site, 6)
        report.check('sites: no lock is left of them', none_left, b)
        report.check('sites: servers live without one', b.servers_alive)


def main():
    report = bed.Report('lock_sites')
    report.check('the judge finds what it must', bed.judge_itself, 'test_lock_history.py')
    for name in sys.argv[1:] or PARTS:
        run(Part(name), report)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
