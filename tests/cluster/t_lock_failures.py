#!/usr/bin/python3
"""What clients with locks, and others, notice of a server that starts anew, that stands still, and of a client that does not come back.

	t_lock_failures.py [restart|outside|gone]     default: all

Grace_Period is 90 s here, as it is by default: nobody may wait for it. Only what the server covered waits, and only for its own clients.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
from lock_clients import Agents
from t_views import stop_process, wait_back

DIR = '/nfs/failures'
LEASE = 10                  # s, of clients
GRACE = LEASE + 10          # s, for which a client may reclaim (FSAL_REPL: lock_grace_ms)
VERSIONS = '4.2', '4.1', '4.0'
DOWN = 1                    # s
# What a Linux client takes to connect again is in these.
SHORT, LONG = 5, 12         # s

OTHER = '/mnt'              # a client of server 1 that has no locks: the guest of site 3


class Probes:
    """Clients whose longest steps are looked at, by name."""

    def __init__(self, b, name, which):
        self.b, self.stop, self.running = b, os.path.join(b.run, f'stop-{name}'), {}
        for who, (site, root, how) in which.items():
            self.running[who] = site, b.start_py(site, 'lock_probe.py', f'{root}{DIR[4:]}/{name}-{who.replace(" ", "-")}', self.stop, how, timeout=200)
        for who, (site, p) in self.running.items():
            line = bed.line_of(p)
            bed.expect(line == 'begun\n', f'{who}: {line}')
        time.sleep(1)

    def end(self):
        """{who: its steps, by the host's clock}. Nobody heard of an error."""
        with open(self.stop, 'w'):
            pass
        steps, bad = {}, []
        for who, (site, p) in self.running.items():
            out, _ = p.communicate(timeout=120)
            bed.expect(p.returncode == 0, f'{who}: status {p.returncode}\n{out}')
            said = json.loads(out.strip().splitlines()[-1])
            bad += [f'{who}: {what}: {error}' for what, _, error in said['errors']]
            steps[who] = [(what, t0 - self.b.clocks[site][0], t1 - self.b.clocks[site][0]) for what, t0, t1 in said['steps']]
        bed.expect(not bad, '\n'.join(bad[:10]))
        return steps

    def kill(self):
        for _, p in self.running.values():
            p.kill()


def longest(steps, since):
    """(seconds, what) of the longest step that had not ended by then."""
    return max((t1 - t0, what) for what, t0, t1 in steps if t1 > since)


def mount_other(b, vers):
    b.sh(3, f'umount -l {OTHER} 2>/dev/null; mount -t nfs4 -o vers={vers},hard,sec=sys 10.0.1.1:/data {OTHER}')


def in_use(b, site, agent, path):
    """The server of that site controls the file now, so that a start finds it so."""
    agent.must_lock('w', start=60, length=1)
    bed.expect(any(c['path'] == path[4:] and c['owner'] == site for c in b.ask(site, 'controls')['controls']), f'server {site} does not control {path}')


def never(agent, **lock):
    """Another one has it."""
    said = agent.lock('w', **lock)['result']
    bed.expect(said == 'EAGAIN', f'a lock that another one has, at site {agent.site}: {said}')


# ---- a start -----------------------------------------------------------------------------------

WHO = {'with a lock at site 1': (1, '/nfs', 'keeps'), 'without one at site 1': (3, OTHER, 'plain'), 'with locks at site 2': (2, '/nfs', 'locks'), 'with a lock at site 3': (3, '/nfs', 'keeps')}
LIMITS = {'with a lock at site 1': DOWN + LONG, 'without one at site 1': DOWN + LONG, 'with locks at site 2': SHORT, 'with a lock at site 3': SHORT}


def started_anew(b, vers, how):
    """Locks at both sites, in a file that server 1 controls and one that server 2 does; server 1 starts anew."""
    name = f'{vers}-{how}'
    own, far = f'{DIR}/own-{name}', f'{DIR}/far-{name}'
    b.sh(1, f'echo text >{own}')
    b.sh(2, f'echo text >{far}')
    with Agents(b, own, [1, 2, 3]) as (own1, own2, own3), Agents(b, far, [2, 1, 3]) as (far2, far1, far3):
        own1.must_lock('w', start=0, length=10)
        far2.must_lock('w', start=0, length=10)
        own2.must_lock('w', start=20, length=10)
        far1.must_lock('w', start=20, length=10)
        probes = Probes(b, name, WHO)
        try:
            in_use(b, 1, own1, own)
            in_use(b, 2, far2, far)
            since = time.time()
            b.kill(1, how)
            down = time.time()
            time.sleep(DOWN)
            b.must('server', 1, 'start')
            up = time.time()
            wait_back(b, 30)
            # What nobody has, in the file that is waited for, and what others have.
            free = own3.must_lock('w', start=40, length=10, seconds=60)['t1'] - up
            for start in 0, 20:
                never(own3, start=start, length=1)
                never(far3, start=start, length=1)
            for agent in own1, own2, far1, far2:
                bed.expect(agent.ask('write', at=0 if agent in (own1, far2) else 20, text='x' * 10)['result'] == 'ok', f'site {agent.site} cannot write under its lock')
                agent.unlock()
            own3.must_lock('w', start=0, length=30, seconds=10)
            far3.must_lock('w', start=0, length=30, seconds=10)
            time.sleep(1)
            steps = probes.end()
        finally:
            probes.kill()
    pauses = {who: longest(s, since) for who, s in steps.items()}
    text = ', '.join(f'{who}: {seconds:.1f} s ({what})' for who, (seconds, what) in pauses.items())
    bad = [who for who, (seconds, _) in pauses.items() if seconds > LIMITS[who] + down - since]
    bed.expect(not bad, f'paused for too long: {bad}\n{text}')
    limit = LEASE + 5 if vers == '4.0' else LONG
    bed.expect(free < limit, f'what nobody has is free {free:.1f} s after the start; the limit is {limit} s')
    return f'{text}; new locks of the file that was waited for {free:.1f} s after the start'


# ---- outside -----------------------------------------------------------------------------------

def removed(b, site):
    def is_out():
        return all(site not in b.ask(s, 'status')['view']['members'] for s in b.sites if s != site)
    bed.eventually(30, is_out, f'server {site} is not removed', 0.1)


def keeps_its_lock(b, vers):
    """The server is outside for a shorter time than clients have to reclaim."""
    path = f'{DIR}/short-{vers}'
    b.sh(1, f'echo text >{path}')
    with Agents(b, path, [1, 3]) as (mine, other):
        mine.must_lock('w', start=0, length=10)
        mark = len(b.log(1))
        stop_process(b, 1)
        try:
            removed(b, 1)
            waiting = other.begin('lock', type='w', start=0, length=10, wait=True)
            time.sleep(1)
        finally:
            stop_process(b, 1, go_on=True)
        resumed = time.time()
        wait_back(b, 30)
        wrote = mine.ask('write', at=0, text='still mine')
        bed.expect(wrote['result'] == 'ok', f'a write under a lock that nobody else had: {wrote["result"]}')
        b.says(1, mark, 'this server was outside the active view', 5)
        time.sleep(1)
        bed.expect(not other.answered(waiting), 'another one has the lock')
        mine.unlock()
        bed.expect(other.end(waiting, 15)['result'] == 'ok', 'the waiter does not get it')
    return f'the holder writes {wrote["t1"] - resumed:.1f} s after its server goes on'


def loses_its_lock(b, vers):
    """For a longer one: somebody else gets it, and the program that had it hears EIO; another one of the same client goes on."""
    path, free_path = f'{DIR}/long-{vers}', f'{DIR}/free-{vers}'
    b.sh(1, f'echo text >{path}; echo text >{free_path}')
    with Agents(b, path, [1, 3]) as (mine, other), Agents(b, free_path, [1]) as (without,):
        mine.must_lock('w', start=0, length=10)
        bed.expect(without.ask('write', at=0, text='before')['result'] == 'ok', 'a file without locks')
        stopped = time.time()
        stop_process(b, 1)
        try:
            removed(b, 1)
            got = other.must_lock('w', start=0, length=10, seconds=GRACE + 30)['t1'] - stopped
            bed.expect(other.ask('write', at=0, text='others')['result'] == 'ok', 'the next one cannot write')
        finally:
            stop_process(b, 1, go_on=True)
        resumed = time.time()
        wait_back(b, 30)
        heard = mine.ask('write', at=0, text='too late!!')
        bed.expect(heard['result'] == 'EIO', f'a write under a lock that somebody else has: {heard["result"]}')
        went_on = without.ask('write', at=0, text='after')
        bed.expect(went_on['result'] == 'ok', f'a program without a lock: {went_on["result"]}')
        text = other.ask('read', at=0, length=10)['result']
        bed.expect(text.startswith('others'), f'the file has {text!r}')
    return f'another one had it {got:.1f} s after the server stood still, and its holder heard EIO {heard["t1"] - resumed:.1f} s after it went on; who had no lock wrote after {went_on["t1"] - resumed:.1f} s'


# ---- a client that does not come back -------------------------------------------------------------

def does_not_come_back(b, vers):
    """With its server, which comes back. Its locks are free when it could have reclaimed them."""
    path, else_ = f'{DIR}/gone-{vers}', f'{DIR}/else-{vers}'
    b.sh(2, f'echo text >{path}; echo text >{else_}')
    agents = Agents(b, path, [2, 3])
    gone, other = agents.all
    try:
        gone.must_lock('w', start=0, length=10)
        b.must('client', 2, 'kill')
        b.kill(2)
        since = time.time()
        b.must('server', 2, 'start')
        wait_back(b, 30)
        with Agents(b, else_, [3]) as (quick,):
            at_once = quick.must_lock('w', seconds=GRACE + 20)['t1'] - since
        got = other.must_lock('w', start=0, length=10, seconds=GRACE + 20)['t1'] - since
        bed.expect(got < GRACE + 10, f'the lock of a client that does not come back is free after {got:.1f} s')
    finally:
        gone.process.kill()     # its client has gone
        other.close()
    return f'free {got:.1f} s after the start; what its server controlled and nobody had after {at_once:.1f} s'


def main():
    report, parts = bed.Report('lock_failures'), sys.argv[1:] or ['restart', 'outside', 'gone']
    # With Durability = local what the clients of a server have that is outside stays until it is back.
    with bed.Bed.own('--rtt', '40ms', '--lease', str(LEASE), '--grace', '90', '--set', 'Durability=commit') as b:
        report.check('up', lambda: None)
        b.clocks = bed.everywhere(b.clock, b.sites)
        b.sh(1, f'mkdir {DIR}')
        if 'restart' in parts:
            for i, vers in enumerate(VERSIONS):
                if i:
                    b.remount(f'vers={vers}')
                mount_other(b, vers)
                for how in ('kill', 'stop') if vers != '4.1' else ('kill',):
                    report.check(f'NFS {vers}: a server starts anew ({how})', started_anew, b, vers, how)
            b.sh(3, f'umount -l {OTHER}')
            b.remount('vers=4.2')
        if 'outside' in parts:
            report.check('a server that was outside for a short time: locks stay', keeps_its_lock, b, '4.2')
            report.check('a server that was outside for a long time: its clients hear of it', loses_its_lock, b, '4.2')
        if 'gone' in parts:
            report.check('a client that does not come back', does_not_come_back, b, '4.2')
        report.check('servers live', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
