#!/usr/bin/python3
"""Share reservations: a program that opens a file may say what nobody else may open it for (DENY of NFSv4). LibreOffice and Windows do.

	t_lock_shares.py [one|sites]    one: clients of one server; sites: each has a server of its own. Default: both. `far` is `one` with longer ways

The opens are made by hand (lib/raw_shares.py), because a Linux client never denies anything. It hears of what others deny.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
from lock_clients import PARTS, bed_for

DIR = '/nfs/shares'
DENIED = 10015                      # NFS4ERR_SHARE_DENIED
# A client that says nothing any more has what it had until its lease is over, and the server has looked for ended ones, which it does every 10 s.
LEASE = 10

# (program, what it does, the status that it must hear). a, b and c are clients of different servers; a/2 is a second program at a.
STORIES = {
    'LibreOffice: one edits, the others read': [
        ('a,open,3,2', 0), ('b,open,3,2', DENIED), ('b,open,1,0', 0), ('c,open,1,0', 0), ('a/2,open,3,2', DENIED), ('a,close', 0), ('c/2,open,3,2', 0),
        ('b/2,open,3,2', DENIED), ('a,open,2,0', DENIED), ('c/2,close', 0), ('a,open,2,0', 0)],
    'Windows: nobody else': [
        ('a,open,3,3', 0), ('a/2,open,1,0', DENIED), ('b,open,1,0', DENIED), ('c,open,2,0', DENIED), ('b,open,3,3', DENIED), ('a,close', 0), ('b,open,3,3', 0), ('a,open,1,0', DENIED)],
    'not beside one who is there already': [
        ('b,open,1,0', 0), ('a,open,3,3', DENIED), ('a,open,3,1', DENIED), ('a,open,3,2', 0), ('c,open,3,0', DENIED), ('c,open,1,1', DENIED), ('c,open,1,2', DENIED), ('b,close', 0),
        ('c,open,1,0', 0)],
    'readers who deny writers': [
        ('a,open,1,2', 0), ('b,open,1,2', 0), ('c,open,1,2', 0), ('a/2,open,2,0', DENIED), ('b/2,open,2,0', DENIED), ('a,close', 0), ('b,close', 0), ('a/2,open,2,0', DENIED),
        ('c,close', 0), ('a/2,open,2,0', 0), ('b,open,1,2', DENIED)],
    'raised and lowered by its owner': [
        ('a,open,1,0', 0), ('b,open,1,0', 0), ('a,open,3,2', 0), ('b,open,2,0', DENIED), ('a,downgrade,1,0', 0), ('b,open,2,0', 0), ('a,open,1,2', DENIED), ('b,downgrade,1,0', 0),
        ('a,open,1,2', 0), ('c,open,2,0', DENIED)],
}


def ways(part):
    return [f'{who}=10.0.{site if part == "sites" and not bed.STOCK else 1}.1' for who, site in (('a', 1), ('b', 2), ('c', 3))]


def raw(b, *args):
    return ['ns', 1, '--', '/usr/bin/python3', os.path.join(bed.LIB, 'raw_shares.py'), *args]


def story(b, part, name):
    file = f'story{list(STORIES).index(name)}'
    b.sh(1, f'echo text >{DIR}/{file}')
    if part == 'sites' and not bed.STOCK:
        b.no_controls(20)           # the file is at every server
    said = json.loads(b.must(*raw(b, 'steps', f'/data/shares/{file}', *ways(part), '--', *(step for step, _ in STORIES[name])), timeout=300))
    bad = [f'{i}: {step}: {got}, not {expected}' for i, ((step, expected), got) in enumerate(zip(STORIES[name], said['said'])) if got != expected]
    bed.expect(not bad, f'{len(bad)} of {len(STORIES[name])} are wrong\n' + '\n'.join(bad))
    return f'{len(STORIES[name])} steps, longest {max(said["seconds"]):.2f} s'


def holder(b, part, path, access, deny):
    p = subprocess.Popen(b.command(*raw(b, 'hold', path, ways(part)[0].split('=')[1], access, deny)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    line = bed.line_of(p).strip()
    if line != 'open':
        p.kill()
    bed.expect(line == 'open', f'the open that denies: {line}')
    return p


def linux_hears_of_it(b, part):
    """A Linux client at another site, and one who is silent: what it denied is free when its lease is over."""
    path = f'{DIR}/linux'
    b.sh(1, f'echo text >{path}')
    if part == 'sites' and not bed.STOCK:
        b.no_controls(20)
    p = holder(b, part, '/data/shares/linux', 3, 2)
    start, client = time.monotonic(), b.clients[-1]
    try:
        bed.expect(b.sh(client, f'cat {path}') == 'text\n', 'a reader is not denied')
        r = b.tb('sh', client, '-n', '-t', 60, '--', 'sh', '-c', f'echo more >>{path}')
        bed.expect(r.returncode and 'denied' in r.stderr, f'a writer: status {r.returncode} {r.stderr}')
    finally:
        p.kill()
        p.wait()
    free = bed.eventually(LEASE + 20, lambda: b.status_of(client, f'echo more >>{path}') == 0 and time.monotonic() - start, 'what a silent client denies is not free', 0.5)
    return f'free after {free:.1f} s'


def run(part, report):
    with bed_for(part, *bed.SHORT, clients=2 if part == 'one' else 3) as b:
        b.sh(1, f'mkdir {DIR}')
        for name in STORIES:
            report.check(f'{part}: {name}', story, b, part, name)
        report.check(f'{part}: a Linux client hears of it', linux_hears_of_it, b, part)
        report.check(f'{part}: servers live', b.servers_alive)


def main():
    report = bed.Report('lock_shares')
    for part in sys.argv[1:] or PARTS:
        run(part, report)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
