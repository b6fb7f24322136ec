"""Beds for the tests of locks, and programs in their clients that lock what a test asks them to.

Every test of locks has parts. `one`: the clients of one server, near to it. `sites`: clients of three servers, each with its own, which exclude each other only where
the servers know of each other's locks. `far`: the same work and the same links as in `sites`, with one server for all; it shows what the test itself is worth.
"""
import json
import queue
import subprocess
import threading

import bed
from lock_torture import CELL, text_of

PARTS = 'one', 'sites'


class Agent:
    """lock_agent.py in a client. Times in its answers are those of the host."""

    def __init__(self, b, site, path):
        self.b, self.site, self.number, self.answers, self.waiting = b, site, 0, {}, threading.Condition()
        self.process = subprocess.Popen(b.command('sh', site, '--', '/usr/bin/python3', f'{bed.LIB}/lock_agent.py', path), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        line = bed.line_of(self.process)
        bed.expect(line.startswith('{'), f'an agent at site {site}: {line}{"" if line.startswith("{") else self.process.stdout.read()}')
        self.pid = json.loads(line)['pid']
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            answer = json.loads(line) if line.startswith('{') else {'id': -1, 'result': line}
            for t in 't0', 't1':
                answer[t] = answer.get(t, 0) - self.b.clocks[self.site][0]
            with self.waiting:
                self.answers[answer['id']] = answer
                self.waiting.notify_all()

    def begin(self, do, **what):
        """Asks; the number of its answer."""
        self.number += 1
        self.process.stdin.write(json.dumps({'id': self.number, 'do': do, **what}) + '\n')
        self.process.stdin.flush()
        return self.number

    def end(self, number, seconds=60):
        with self.waiting:
            there = self.waiting.wait_for(lambda: number in self.answers, seconds)
            bed.expect(there, f'the agent at site {self.site} has not answered within {seconds} s: {self.answers.get(-1, "")}')
            return self.answers[number]

    def answered(self, number):
        return number in self.answers

    def ask(self, do, seconds=60, **what):
        return self.end(self.begin(do, **what), seconds)

    def lock(self, type='w', start=0, length=0, wait=False, seconds=60, **what):
        return self.ask('lock', seconds, type=type, start=start, length=length, wait=wait, **what)

    def must_lock(self, type='w', **what):
        answer = self.lock(type, **{'wait': True, **what})
        bed.expect(answer['result'] == 'ok', f'a lock at site {self.site}: {answer["result"]}')
        return answer

    def unlock(self):
        return self.must_lock('u', wait=False)

    def close(self):
        try:
            self.process.stdin.close()      # it ends, and its locks with it
        except OSError:
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def kill(self):
        """kill -9 of the program in the client."""
        self.b.sh(self.site, f'kill -9 {self.pid}')
        self.process.wait(20)


class Agents:
    """One for each of @sites, all with the same file; closed in the end."""

    def __init__(self, b, path, sites):
        self.all = []
        try:
            made = queue.Queue()
            bed.everywhere(lambda i: made.put((i, Agent(b, sites[i], path))), range(len(sites)))
            self.all = [a for _, a in sorted([made.get() for _ in sites], key=lambda pair: pair[0])]
        except BaseException:
            while not made.empty():
                made.get()[1].close()
            raise

    def __enter__(self):
        return self.all

    def __exit__(self, kind, value, trace):
        for a in self.all:
            a.close()


def bed_for(part, *options, clients=3, rtt='40ms', vers='4.2'):
    """A bed of so many clients, at one server or at one each; b.clients are their sites, b.clocks their clocks."""
    rtt = '2ms' if part == 'one' else rtt
    if part == 'sites' or bed.STOCK:
        b = bed.Bed.own('--sites', str(clients), '--rtt', rtt, '--vers', vers, *options)
        b.sites = [1] if bed.STOCK else list(range(1, clients + 1))
    else:
        late = [o for site in range(2, clients + 1) for o in ('--late', str(site))]
        b = bed.Bed.own('--rtt', rtt, '--sites', str(clients), '--no-mount', *late, *options)
        b.sites = [1]
    b.clients = list(range(1, clients + 1))
    try:
        if part != 'sites' and not bed.STOCK:
            bed.everywhere(lambda site: mount_first(b, site, vers), b.clients)
        b.clocks = bed.everywhere(b.clock, b.clients)
    except BaseException:
        b.down()
        raise
    return b


def mount_first(b, site, vers='4.2'):
    """A client of the first server, at whichever site."""
    b.sh(site, f'mount -t nfs4 -o vers={vers},hard,sec=sys 10.0.1.1:/data /nfs')


def cells(b, site, path, n=4):
    """What lock_torture.py has left in each cell of a file, read at that site."""
    data = b.sh(site, f'cat {path}').encode()
    return [text_of(data[CELL * i:CELL * (i + 1)]) for i in range(n)]


def none_left(b, seconds=30):
    """No lock, waiter or grace at any server."""
    if bed.STOCK:
        return 'stock: not asked'

    def left():
        found = {}
        for s in b.sites:
            rows, counts = b.ask(s, 'locks')['locks'], b.ask(s, 'status')['locks']
            if rows or any(counts.get('decided_here', {}).get(what) for what in ('held', 'waiting', 'gaps')):
                found[s] = {'locks': rows, 'counts': counts}
        return found
    bed.eventually(seconds, lambda: not left(), lambda: f'locks are left: {json.dumps(left())[:3000]}', 0.5)
    return None
