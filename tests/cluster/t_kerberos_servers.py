#!/usr/bin/python3
"""
Servers that prove themselves by Kerberos (docs/decisions/0044), with tickets that live for seconds, while clients at three sites write, and no other operation goes by without being timed.

Renewal: all connections are renewed several times, one server gets a new key, and later loses its old one. No connection is made anew, no operation of a client takes 2 s, and every line that is on
the disk of its own site is on those of the others within 2 s.
Outage: the KDC is down for longer than a ticket lives. Connections stay until their tickets end. A server that is started meanwhile waits, says once a minute what to do, and is up by itself when the KDC
is back. Nothing is lost, and trees are equal.

TICKET_LIFE: seconds of a ticket, 36; SECONDS_OF_WRITING: of the first part, 110. TICKET_LIFE=300 SECONDS_OF_WRITING=900 is the long form, 25 minutes.
"""
import collections
import contextlib
import datetime
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import t_restart
import trees

LIFE = int(os.environ.get('TICKET_LIFE', 36))
WRITING = int(os.environ.get('SECONDS_OF_WRITING', 110))
PAUSE = 2.0                 # seconds
A_MINUTE = 60
LIMIT = WRITING + 2 * LIFE + 600    # of a load
NO_KDC = r'no KDC of realm BED\.TEST answers; start it'
CALLS = ((2, 1), (3, 1), (3, 2))    # the server with the higher number calls


def principal(site):
    return f'nfs4r/s{site}.bed.test'


def peers(b):
    return {(s, p['server']): p for s in b.sites for p in b.ask(s, 'status')['peers']}


def connects(b):
    return {k: p['connects'] for k, p in peers(b).items()}


def states(b):
    return {k: 'up' if p['up'] else p['state'] for k, p in peers(b).items()}


def all_up(b, seconds):
    bed.eventually(seconds, lambda: set(states(b).values()) == {'up'}, lambda: f'not all are up: {states(b)}', 1)


def tickets(b):
    """{(who calls, whom): how many tickets the KDC gave for that}"""
    log = b.must('kdc', 'log')
    return {(a, to): len(re.findall(rf'ISSUE: .* {principal(a)}@BED\.TEST for {principal(to)}@', log)) for a, to in CALLS}


class Load(t_restart.Load):
    """steady.py at all sites. Beside it somebody watches the disks: how late a line is on another server's disk."""

    def __init__(self, b, what):
        super().__init__(b, what, 'steady.py', LIMIT)
        self.late, self.ends = {}, threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()

    def path(self, on, name):
        return f'{self.b.data(on)}{self.dir[len("/nfs"):]}/{name}'

    def size(self, of, on):
        path = self.path(on, f'site{of}/held')
        return os.path.getsize(path) if os.path.exists(path) else 0

    def watch(self):
        ways = [(of, on) for of in self.b.sites for on in self.b.sites if of != on]
        missing = {way: collections.deque() for way in ways}    # (when a size was first seen at its own site, the size), the oldest first
        while not self.ends.wait(0.05):
            for of, on in ways:
                own, copy, now = self.size(of, of), self.size(of, on), time.monotonic()
                queue = missing[of, on]
                if own > copy and (not queue or own > queue[-1][1]):
                    queue.append((now, own))
                if queue:
                    self.late[of, on] = max(self.late.get((of, on), 0), now - queue[0][0])
                while queue and queue[0][1] <= copy:
                    queue.popleft()

    def latest(self):
        """(seconds, whose line, on which server's disk) of the one that was late most."""
        self.ends.set()
        self.watcher.join()
        return max((round(t, 2), *k) for k, t in self.late.items())

    def kill(self):
        self.ends.set()
        self.watcher.join()
        super().kill()

    def lost(self, results):
        """Every line and every file of every site is on every disk, and nothing besides."""
        self.b.no_controls(60)
        want, bad = sorted(f for r in results.values() for f in r['files']), []
        for on in self.b.sites:
            names = sorted(os.listdir(self.path(on, 'together')))
            bad += [f'disk {on}, in the shared directory: {sorted(set(names) ^ set(want))} are missing or too much'] if names != want else []
            for of, r in results.items():
                with open(self.path(on, f'site{of}/held')) as f:
                    lines = f.read()
                if lines != ''.join(f'line {i}\n' for i in range(r['held'])):
                    bad.append(f'disk {on}: the file of site {of} has {len(lines.splitlines())} lines, not {r["held"]} in order')
        bed.expect(not bad, '\n'.join(bad))

    def said(self, results):
        return '; '.join(f'site {s}: {r["steps"]} rounds, longest {r["longest"][1]} {r["longest"][0]} s' for s, r in results.items())


@contextlib.contextmanager
def load_of(b, what):
    load = Load(b, what)
    try:
        yield load
    finally:
        load.kill()


def short_tickets(b):
    """The servers start anew, and with them the hours end that their first tickets have."""
    for s in b.sites:
        b.must('kdc', '--', f'modprinc -maxlife {LIFE}seconds {principal(s)}')
    bed.everywhere(lambda s: b.kill(s, 'stop'), b.sites)
    t_restart.start_and_wait(b, b.sites)
    all_up(b, 90)
    wrong = {k: p['security'] for k, p in peers(b).items() if p['security'] != 'krb5p'}
    bed.expect(not wrong, f'the security of connections is {wrong}')


def keys(b, site):
    """Numbers of the keys that the keytab has."""
    out = b.inside('klist', '-k', f'{b.server_dir(site)}/peer.keytab').stdout
    return {int(n) for n in re.findall(r'^ *(\d+) nfs4r/', out, re.M)}


def a_new_key(b, site, end):
    """Beside the old one, which is removed when no ticket is left that needs it."""
    keytab = f'{b.server_dir(site)}/peer.keytab'
    old = keys(b, site)
    b.must('kdc', '--', f'ktadd -k {keytab} {principal(site)}')
    bed.expect(len(keys(b, site)) == len(old) + 1, f'the keys {old} became {keys(b, site)}')
    time.sleep(LIFE + 5)
    b.must('kdc', '--', f'ktremove -k {keytab} {principal(site)} old')
    bed.expect(not old & keys(b, site) and end - time.monotonic() > LIFE, f'the keys {old} became {keys(b, site)}, too late for a renewal')


def renewed_without_a_pause(b):
    with load_of(b, 'renewed') as load:
        end = time.monotonic() + WRITING
        before, had = connects(b), tickets(b)
        a_new_key(b, 2, end)
        time.sleep(max(0, end - time.monotonic()))
        after, have = connects(b), tickets(b)
        load.goes_on()
        results, late = load.end(), load.latest()
        load.lost(results)
    bed.expect(after == before, f'connections were made anew: {before} -> {after}')
    few = {k: n - had[k] for k, n in have.items() if n - had[k] < WRITING // LIFE}
    bed.expect(not few, f'in {WRITING} s so few tickets were given: {few}')
    note = f'{load.said(results)}; a line of site {late[1]} was on disk {late[2]} after {late[0]} s, the others earlier; tickets: {[n - had[k] for k, n in have.items()]}'
    bed.expect(max(r['longest'][0] for r in results.values()) < PAUSE and late[0] < PAUSE, f'a pause: {note}')
    return note


def just_renewed(b):
    """Right now all connections have a ticket that is new, or one that is seconds old."""
    had = tickets(b)
    bed.eventually(LIFE + 10, lambda: all(n > had[k] for k, n in tickets(b).items()), lambda: f'tickets {had} -> {tickets(b)}', 1)


def says_it_once_a_minute(b, site, mark):
    """That there is no KDC, and what to do: for each of the others."""
    log = b.log(site)[mark:]
    for peer in (p for p in b.sites if p != site):
        lines = re.findall(rf'^(\S+ \S+) : .*server {peer} \(.*{NO_KDC}.*$', log, re.M)
        at = [datetime.datetime.strptime(t, '%d/%m/%Y %H:%M:%S').timestamp() for t in lines]
        bed.expect(at, f'server {site} does not say why it has no connection with server {peer}:\n{log}')
        bed.expect(all(y - x >= A_MINUTE - 2 for x, y in zip(at, at[1:])), f'server {site} says more than once a minute why it has no connection with server {peer}: {lines}')
    bed.expect(all('no KDC of realm' in state for k, state in states(b).items() if k[0] == site), f'nfs4rctl status: {states(b)}')


def kdc_down_for_longer_than_a_ticket(b):
    with load_of(b, 'down') as load:
        just_renewed(b)
        before, begin, marks = connects(b), time.monotonic(), {s: len(b.log(s)) for s in b.sites}
        b.must('kdc', 'stop')
        try:
            time.sleep(LIFE * 0.3)
            bed.expect(connects(b) == before and set(states(b).values()) == {'up'}, f'connections did not stay: {states(b)}')
            b.kill(3, 'stop')
            mark = len(b.log(3))
            b.must('server', 3, 'start')
            load.goes_on(sites=[1, 2], seconds=60)
            bed.expect(states(b)[2, 1] == 'up' and time.monotonic() - begin < LIFE, 'without server 3 the others did not go on')
            bed.eventually(LIFE + 30, lambda: 'up' not in states(b).values(), lambda: f'the tickets are over: {states(b)}', 1)
            cut, cut_at = time.monotonic() - begin, time.time()
            b.says(2, marks[2], r'the ticket of the connection, with nfs4r/s1\.bed\.test@BED\.TEST, has ended')
            time.sleep(A_MINUTE + 10)
            for s, m in (2, marks[2]), (3, mark):
                says_it_once_a_minute(b, s, m)
            bed.expect(not any(p.poll() is not None for p in load.running.values()), 'a client heard an error')
        finally:
            b.must('kdc', 'start')
        start = time.monotonic()
        all_up(b, 120)
        back = time.monotonic() - start
        b.kills.out_of_reach(cut_at, time.time())
        load.goes_on()
        again = time.monotonic() - start
        results = load.end()
        load.lost(results)
    return f'the last connection went after {cut:.0f} s; all are up {back:.0f} s after the KDC, and all clients write after {again:.0f} s; {load.said(results)}'


def all_equal(b):
    b.no_controls(60)
    trees.disks_equal(b)
    trees.verify(b)
    b.servers_alive()


def main():
    t = bed.Report('kerberos_servers')
    with bed.Bed.own('--peer-security', 'krb5p', '--rtt', '20ms', *bed.SHORT, '--vers', '4.2,actimeo=0,lookupcache=none') as b:
        b.sh(1, f'mkdir {t_restart.DIR}')
        if t.check('short tickets', short_tickets, b):
            for part in renewed_without_a_pause, kdc_down_for_longer_than_a_ticket, all_equal:
                t.check(part.__name__.replace('_', ' '), part, b)
    return t.status()


if __name__ == '__main__':
    sys.exit(main())
