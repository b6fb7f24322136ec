#!/usr/bin/python3
"""Clients that want to do harm: a site's other clients do not notice. Twenty connections without a mount ask for handles that nobody gave out, and for objects whose owner is dead or cut off; meanwhile another client
looks names up. What is printed: how long a look-up takes, before and meanwhile, and what the attackers hear. The attacks are in lib/hostile.py.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import hostile

OPTIONS = ('--rtt', '20ms', *bed.SHORT)
SITE, OWNER = 1, 3              # the attacked one, and the one that has control
PUBLIC = '/data/hostile/public'
CLIENTS, SECONDS = 20, 8
MEDIAN_MAX = 2                  # ms of a look-up meanwhile, or what it takes on this machine without an attack, and half as much
OK, BADHANDLE = 0, 10001


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
    return t.status()


if __name__ == '__main__':
    sys.exit(main())
