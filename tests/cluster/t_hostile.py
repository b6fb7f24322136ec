#!/usr/bin/python3
"""Clients that want to do harm: a site's other clients do not notice. Twenty connections without a mount ask for handles that nobody gave out, and for objects whose owner is dead or cut off; meanwhile another client
looks names up. What is printed: how long a look-up takes, before and meanwhile, and what the attackers hear. The attacks are in lib/hostile.py.

Then clients that take all they can get (lib/greedy.py), on and off in turns, while one client works at the same site and one at another: both keep 90 % of their speed, by the medians of a look-up and of what a small file costs. When
the greedy one has gone without a word and its lease is over, the server has given back the memory and the descriptors, and goes on.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import hostile

OPTIONS = ('--rtt', '20ms', '--local-stock', *bed.SHORT)
SITE, OTHER, OWNER = 1, 2, 3    # the attacked one, one that is not, and the one that has control
PUBLIC = '/data/hostile/public'
CLIENTS, SECONDS = 20, 8
MEDIAN_MAX = 2                  # ms of a look-up meanwhile, or what it takes on this machine without an attack, and half as much
OK, BADHANDLE = 0, 10001

# How many files each makes.
GREEDY = {'opens': 10000, 'locks': 1, 'lock-files': 1000, 'silent': 0, 'mid-record': 0, 'mid-mark': 0, 'unread': 1}
TURN, TURNS_MIN, TURNS_MAX = 2, 4, 16                       # seconds; pairs of turns, more only where the machine's other work hides what is asked
SPEED_MIN = 0.9
GONE = 60                                                   # seconds: the lease (10), what looks for those that are over (each 10), and jemalloc's decay (10)
WORKERS, WORKER_KIB, FILE_KIB, DESCRIPTORS = 200, 128, 4, 16



def command(site, *args):
    return ('ns', site, '--', '/usr/bin/python3', os.path.join(bed.LIB, 'hostile.py'), *args)


def hostile_says(b, site, *args):
    return json.loads(b.must(*command(site, *args)))


def address(site):
    return f'10.0.{site}.1'


def begin(b):
    b.sh(SITE, 'mkdir /nfs/hostile /nfs/hostile/private && echo public >/nfs/hostile/public && echo secret >/nfs/hostile/private/plan && chmod 700 /nfs/hostile/private')
    b.sh(OWNER, 'mkdir /nfs/hostile/owned && cd /nfs/hostile/owned && for i in $(seq 100); do echo $i >f$i; done')
    b.no_controls(30)


def quiet(b):
    return hostile_says(b, SITE, 'probe', address(SITE), PUBLIC, 3)


def under_attack(b, kind, *handles):
    """(a probe before, one meanwhile, what the attackers heard)"""
    before = quiet(b)
    attack = subprocess.Popen(b.command(*command(SITE, 'flood', address(SITE), SECONDS, CLIENTS, kind, *handles)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL)
    time.sleep(1)
    meanwhile = hostile_says(b, SITE, 'probe', address(SITE), PUBLIC, SECONDS - 3)
    out, err = attack.communicate(timeout=60)
    bed.expect(attack.returncode == 0, f'the attack itself failed: {err}')
    return before, meanwhile, json.loads(out)


def unhurt(before, meanwhile):
    most = max(MEDIAN_MAX, 1.5 * before['median_ms'])
    bed.expect(meanwhile['status'] == {'0': meanwhile['n']}, f'look-ups meanwhile have status {meanwhile["status"]}')
    bed.expect(meanwhile['median_ms'] < most, f'a look-up takes {meanwhile["median_ms"]} ms, {before["median_ms"]} without the attack')
    return f'a look-up takes {meanwhile["median_ms"]} ms, at most {meanwhile["max_ms"]}; {before["median_ms"]} without'


def counted_through(b):
    """From the handle of a file to those made before and after it."""
    handle = bytes.fromhex(hostile_says(b, SITE, 'handle', address(SITE), PUBLIC))
    head, oid, check = handle[:hostile.OPAQUE_AT], handle[hostile.OPAQUE_AT:hostile.OPAQUE_AT + hostile.OID], handle[hostile.OPAQUE_AT + hostile.OID:]
    sequence = int.from_bytes(oid[8:], 'big')
    tries = [(head + oid[:8] + (sequence + i).to_bytes(8, 'big') + c).hex() for i in range(-min(10, sequence), 11) for c in (check, b'', bytes(8)) if i or c != check]
    said = hostile_says(b, SITE, 'ask', address(SITE), *tries)
    bed.expect(set(said) == {BADHANDLE}, f'handles that were counted on to are answered with {sorted(set(said))}')
    bed.expect(hostile_says(b, 2, 'ask', address(2), handle.hex()) == [OK], 'the handle is not good at another site')
    return f'{len(tries)} tries'


def made_up(b):
    before, meanwhile, said = under_attack(b, 'made-up', hostile_says(b, SITE, 'handle', address(SITE), PUBLIC))
    bed.expect(set(said['status']) == {str(BADHANDLE)}, f'made-up handles are answered with {said["status"]}')
    return f'{said["calls"]} calls; {unhurt(before, meanwhile)}'


def take_control(b):
    """The owner updates these files, and so controls them; their handles."""
    handles = list(hostile_says(b, SITE, 'names', address(SITE), '/data/hostile/owned').values())
    b.sh(OWNER, 'cd /nfs/hostile/owned && for i in $(seq 100); do echo more >>f$i; done; touch new')
    return handles


def owner_is_dead(b):
    handles = take_control(b)
    b.kill(OWNER)
    try:
        before, meanwhile, said = under_attack(b, 'objects', *handles)
    finally:
        b.must('server', OWNER, 'start')
    return f'{said["calls"]} calls, {said["status"]}; {unhurt(before, meanwhile)}'


def owner_is_cut_off(b):
    handles = take_control(b)
    b.must('link', OWNER, 'all', 'cut')
    try:
        before, meanwhile, said = under_attack(b, 'objects', *handles)
    finally:
        b.must('link', OWNER, 'all', 'heal')
    return f'{said["calls"]} calls, {said["status"]}; {unhurt(before, meanwhile)}'


# ---- clients that take all they can get ----

class Worker:
    """A program of lib/greedy.py at a site's network."""
    def __init__(self, b, site, *args):
        self.said = []
        self.process = subprocess.Popen(b.command('ns', site, '--', '/usr/bin/python3', os.path.join(bed.LIB, 'greedy.py'), *args), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def say(self, line):
        self.said.append(line)
        self.process.stdin.write(f'{line}\n')
        self.process.stdin.flush()

    def hear(self):
        line = bed.line_of(self.process)
        bed.expect(line, f'{self.process.args[-3:]} ended: {"" if line else self.process.stderr.read()}')
        return json.loads(line)

    def tell(self, line):
        self.say(line)
        return self.hear()

    def end(self):
        """Without a word to the server: its standard input ends."""
        self.process.stdin.close()
        self.process.wait(30)


def usage(b):
    """Of the attacked server: memory that no file backs, descriptors, threads."""
    pid = b.must('server', SITE, 'pid').strip()
    with open(f'/proc/{pid}/status') as f:
        status = f.read()
    return {'KiB': int(re.search(r'RssAnon:\s+(\d+)', status)[1]), 'descriptors': len(os.listdir(f'/proc/{pid}/fd')),
            'threads': int(re.search(r'Threads:\s+(\d+)', status)[1])}


def speeds(took):
    """{(who, what): median with the attack off / on}"""
    return {k: statistics.median(t['off']) / statistics.median(t['on']) for k, t in took.items()}


def in_turns(attack, workers):
    """Milliseconds of all that the workers did: {(who, what): {'off': [..], 'on': [..]}}. Off and on swap places from pair to pair, so that what grows or shrinks meanwhile counts for both."""
    took = {}
    for pair in range(TURNS_MAX):
        for state in ('on', 'off') if pair % 2 else ('off', 'on'):
            attack.tell(state)
            for w in workers.values():
                w.say(TURN)
            for who, w in workers.items():
                for what, ms in w.hear().items():
                    took.setdefault((who, what), {'off': [], 'on': []})[state] += ms
        if pair % 2 and pair + 1 >= TURNS_MIN and min(speeds(took).values()) >= SPEED_MIN:
            break
    return took


def medians(took):
    return '; '.join(f'{what} {who}: {statistics.median(t["off"]):.2f} ms, with it {statistics.median(t["on"]):.2f}' for (who, what), t in took.items())


def slow(took, least):
    return {k: round(v, 2) for k, v in speeds(took).items() if v < least.get(k[1], SPEED_MIN)}


def keeps_speed(b, kind, took):
    """What stock Ganesha loses by the same is its own: then it is 90 % of what stock keeps."""
    said = medians(took)
    if slow(took, {}):
        stock = f'{address(SITE)}:2050'
        attack, worker = Worker(b, SITE, kind, stock, '/data/greedy/attack'), Worker(b, SITE, 'works', stock, '/data/greedy/here')
        try:
            attack.tell('on')
            attack.tell('off')
            beside = in_turns(attack, {'stock': worker})
        finally:
            attack.end()
            worker.end()
        said += f'; {medians(beside)}'
        least = {what: SPEED_MIN * min(1, v) for (_, what), v in speeds(beside).items()}
        bed.expect(not slow(took, least), f'of their speed is left {slow(took, least)}, stock keeps {speeds(beside)}. {said}')
    return said


def gives_back(b, kind, before):
    """
    What may be left. Of each of Ganesha's workers, which end later: its stack and what jemalloc keeps for it, 40 to 90 KiB in what was seen. Of each file that was made: what is cached of it,
    3.7 KiB, 3.1 at stock Ganesha (MDCACHE, up to Entries_HWMark files). Descriptors: files that Ganesha keeps open for a while, and connections between servers. Nothing of a connection, also when it broke
    while answers waited for it (patches/0006): each that is lost keeps two descriptors, so one in twenty would be seen.
    """
    most, descriptors = WORKERS * WORKER_KIB + GREEDY[kind] * FILE_KIB, DESCRIPTORS

    def back():
        now = usage(b)
        return now if now['KiB'] <= before['KiB'] + most and now['descriptors'] <= before['descriptors'] + descriptors else None
    return bed.eventually(GONE, back, lambda: f'before {before}, now {usage(b)}; at most {most} KiB and {descriptors} descriptors more', 1)


def greedy(b, kind, near, far):
    before = usage(b)
    attack = Worker(b, SITE, kind, address(SITE), '/data/greedy/attack')
    try:
        attack.tell('on')                       # the files are made
        attack.tell('off')
        took = in_turns(attack, {'here': near, 'elsewhere': far})
        held = attack.tell('on')['held']
        meanwhile = usage(b)
    finally:
        attack.end()
    after = gives_back(b, kind, before)
    for w in (near, far):
        w.tell(0.5)                             # opens, among others
    b.sh(SITE, f'echo {kind} >/nfs/greedy/{kind} && cat /nfs/greedy/{kind}')
    b.servers_alive()
    return f'{held} held; {keeps_speed(b, kind, took)}; MiB before {before["KiB"] >> 10}, with it {meanwhile["KiB"] >> 10}, after {after["KiB"] >> 10}; ' \
           f'descriptors {before["descriptors"]}, {meanwhile["descriptors"]}, {after["descriptors"]}'


def who_work(b):
    workers = Worker(b, SITE, 'works', address(SITE), '/data/greedy/here'), Worker(b, OTHER, 'works', address(OTHER), '/data/greedy/elsewhere')
    for w in workers:
        w.tell(1)
    return workers


def greedy_clients(t, b):
    b.sh(SITE, 'mkdir -p /nfs/greedy/here /nfs/greedy/elsewhere /nfs/greedy/attack /stock/greedy/here /stock/greedy/attack')
    workers = who_work(b)
    for kind in GREEDY:
        t.check(f'greedy: {kind}', greedy, b, kind, *workers)
    for w in workers:
        w.end()


def works_after(b):
    """Nothing of it lasts."""
    def all_works():
        b.sh(SITE, 'echo again >>/nfs/hostile/owned/f1', timeout=60)
        return 'again' in b.sh(OWNER, 'cat /nfs/hostile/owned/f1', timeout=60)
    bed.eventually(60, all_works, 'the owner does not see what site 1 writes')
    b.servers_alive()


def main():
    t = bed.Report('hostile')
    with bed.Bed.own(*OPTIONS) as b:
        if t.check('a bed', begin, b):
            for part in (counted_through, made_up, owner_is_dead, works_after, owner_is_cut_off, works_after):
                t.check(part.__name__.replace('_', ' '), part, b)
            greedy_clients(t, b)
    return t.status()


if __name__ == '__main__':
    sys.exit(main())
