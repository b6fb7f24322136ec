#!/usr/bin/python3
"""The disk of a server is lost, or comes from the past, while clients work at the other sites: it takes everything from the others and is as before. What is
printed: how long until it serves, objects and bytes per second, the longest pause of the others' updates.

    t_disk.py                        200 small files
    FILES=5000 BIG=64 t_disk.py      as many, and one of so many MiB
"""
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import trees
from t_views import DIR as VIEWS, Probes, longest, others, wait_back, wait_removed

FILES, BIG = int(os.environ.get('FILES', 200)), int(os.environ.get('BIG', 8))
DIR, SITE, RETURN_MAX = '/nfs/disk', 3, 1.0
OPTIONS = ('--rtt', '40ms', *bed.SHORT, '--images', '512M', '--set', 'Durability=commit')
DELAY, DENIED = 10008, 10010  # NFS4ERR
LOCK_TRIES = 10
LEAST = 30      # objects per second; one after the other they would be 6


def in_server(b, script):
    """On the machine of the server."""
    b.must_in_bed('sh', '-ec', f'cd {b.server_dir(SITE)}; {script}')


def empty(b, *names):
    for n in names:
        in_server(b, f'find {n} -mindepth 1 -delete')


def image(b, save):
    """Both disks of the server, which does not run, are kept as they are, or become what they were."""
    for n in ('data', 'store'):
        copy = f'cp --sparse=always {n}.img {n}.old' if save else f'cp --sparse=always {n}.old {n}.img'
        in_server(b, f'umount {n}; {copy}; mount -o loop,commit=600,noauto_da_alloc {n}.img {n}')


def fill(b):
    start = time.monotonic()
    b.must_py(1, 'many_files.py', f'{DIR}/files', FILES, BIG, timeout=600)
    b.sh(1, f'for s in 1 2 3; do mkdir {DIR}/site$s; for n in 0 1 2 3 4; do mkdir -p {VIEWS}/probe/$n/site$s; done; done')
    bed.everywhere(lambda s: b.sh(s, f'echo of site {s} >{DIR}/site{s}/f'), b.sites)
    filled = time.monotonic() - start
    b.no_controls(60)
    return f'{FILES} files in {filled:.0f} s'


def odd_objects(b):
    """What has several names, or is no file."""
    b.sh(1, f'mkdir {DIR}/odd && cd {DIR}/odd && mkfifo fifo && mknod device c 1 3 && mknod block b 7 200 && ln device another && echo x >one && ln one two && ln -s one soft && '
            'python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\'socket\')" && chmod 640 socket device')


def inodes(b):
    r = b.inside('sh', '-c', f'cd {b.server_dir(SITE)}/data/disk/odd && stat -c "%n %i" *')
    bed.expect(r.returncode == 0, r.stdout + r.stderr)
    return r.stdout


def keep_image(b):
    b.must('server', SITE, 'stop')
    image(b, save=True)
    b.must('server', SITE, 'start')
    wait_back(b, 60)


def work_away(b, name):
    """What the others do while the server is away."""
    b.sh(1, f'mkdir {DIR}/{name} && cd {DIR}/files/d0 && echo {name} >f1 && echo {name} >../../{name}/new && mv f2 ../../{name}/ && rm f3 && touch f2 f3')
    b.sh(2, f'cd {DIR}/files/d1 && echo {name} >>f100 && ln f101 ../../{name}/link')


def watch(b, seconds):
    """Until it serves: how long, and the best of what status said meanwhile."""
    start, seen, state = time.monotonic(), [], None
    while time.monotonic() < start + seconds:
        r = b.ctl(SITE, '--json', 'status')
        if r.returncode == 0:
            a = b.ask(SITE, 'status')
            state, repair = a['state'], a['durability']['resync']
            if repair and repair.get('objects') and repair.get('eta_seconds') is not None:
                seen.append(repair)
            if state == 'serving' and a['view']['members'] == b.sites:
                return time.monotonic() - start, seen
        time.sleep(0.02)
    raise bed.Failed(f'server {SITE} does not serve after {seconds} s: {state}\n' + '\n'.join(b.log(SITE).splitlines()[-25:]))


def come_back(b, name, windows):
    mark = len(b.log(SITE))
    begun = time.time()
    b.must('server', SITE, 'start')
    took, seen = watch(b, 60 + FILES / 20)
    wait_back(b, 60)
    windows[name] = (begun, time.time() + 1)
    m = re.search(r'resync complete, from server \d: (\d+) objects, (\d+) bytes in ([\d.]+) s', b.log(SITE)[mark:])
    bed.expect(m, 'no line of the log says that the copy was repaired:\n' + '\n'.join(b.log(SITE)[mark:].splitlines()[-20:]))
    objects, size, seconds = int(m[1]), int(m[2]), max(float(m[3]), 0.1)
    bed.expect(seen, 'status never said how far it is')
    bed.expect(objects >= FILES and objects / seconds >= LEAST, f'{objects} objects in {seconds} s')
    return f'serves {took:.1f} s after the start; {objects} objects in {seconds:.1f} s: {objects / seconds:.0f}/s, {size / seconds / 1e6:.1f} MB/s'


def lost(b, name, windows, names, old=False):
    b.kill(SITE, lost=True)
    wait_removed(b, SITE)
    empty(b, *names)
    if old:
        image(b, save=False)
    elif names == ['store']:
        in_server(b, 'echo precious >data/precious')
    before = inodes(b) if names == ['store'] else None
    work_away(b, name)
    note = come_back(b, name, windows)
    if before:
        bed.expect(inodes(b) == before, f'made anew, although they were there:\n{before}\n{inodes(b)}')
    bed.expect(b.sh(SITE, f'cat {DIR}/files/d0/f1; echo again >{DIR}/site{SITE}/{name}; cat {DIR}/site{SITE}/f', timeout=90).split('\n')[:2] == [name, f'of site {SITE}'],
               'the site does not read what the others wrote')
    bed.expect(b.sh(1, f'cat {DIR}/site{SITE}/{name}') == 'again\n', 'site 1 does not read what the site wrote')
    time.sleep(2)       # what was begun in that window ends before the next failure
    return note


def tree_lost(b):
    """Only the exported directory: never deletions for the others; a line that says what to do."""
    mark = len(b.log(SITE))
    b.must('server', SITE, 'stop')
    empty(b, 'data')
    b.tb('server', SITE, 'start')
    bed.eventually(20, lambda: 'move the store away, too' in b.log(SITE)[mark:], lambda: 'no line says what to do:\n' + b.log(SITE)[mark:][-2000:])
    b.tb('server', SITE, 'kill')
    bed.expect(b.sh(1, f'ls {DIR}/files/d0 | wc -l').strip() == '100', 'files are missing at site 1')


def no_strays(b):
    """What the store knew nothing of is in the hidden directory, and there only."""
    in_server(b, 'grep -q precious data/.nfs4r-hold/stray.*; [ ! -e data/precious ]; rm -r data/.nfs4r-hold')


def locks_of(b, d):
    """
    What raw_lock.py hears of a file that it makes there while the server's disk stands still. None: site 1 was just giving its control back, which waits for that disk, so nobody could make it, or
    decide about its locks (locks 1).
    """
    b.sh(1, f'mkdir {d}')
    local = os.path.join(b.server_dir(SITE), 'data', os.path.relpath(d, '/nfs'), 'f')
    busy = b.start_sh(1, f'echo begins; while [ -e {d} ]; do : >{d}/busy; rm {d}/busy; done')     # so that site 1 makes the file
    bed.line_of(busy)
    bed.eventually(10, lambda: b.ask(SITE, 'controls')['controls'], f'server {SITE} knows of no control of site 1')
    in_server(b, 'fsfreeze -f data')
    try:
        p = subprocess.Popen(b.command('ns', SITE, '--', '/usr/bin/python3', os.path.join(bed.LIB, 'raw_lock.py'), f'10.0.{SITE}.1', '/data' + d[4:], 'f', local),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        said = bed.line_of(p)
        in_server(b, 'fsfreeze -u data')
        bed.expect(said in ('arrive\n', 'not made\n'), said)
        heard = json.loads(p.communicate(timeout=90)[0]) if said == 'arrive\n' else None
        return heard if heard and DELAY not in heard['before'].values() else None
    finally:
        b.inside('sh', '-c', f'cd {b.server_dir(SITE)}; fsfreeze -u data')
        p.kill()
        b.sh(1, f'while [ -e {d} ]; do rm -rf {d}; done')
        busy.wait(90)


def locks_before_the_file(b):
    """A file that was made at another site, and cannot be brought to this server's disk yet, is locked as any other."""
    free = {'lock': 0, 'test by another': DENIED, 'lock by another': DENIED, 'test by the holder': 0, 'unlock': 0, 'test when it is free': 0, 'lock when it is free': 0}
    tries = (locks_of(b, f'{DIR}/locks{n}') for n in range(LOCK_TRIES))
    got = next((said for said in tries if said), None)
    bed.expect(got, f'no server makes the file and decides about its locks, in {LOCK_TRIES} tries')
    bed.expect(got['early'], f'the file came too early: {got}')
    bed.expect(got['before'] == free, f'before it came: {got["before"]}')
    want = {'held from before': DENIED, 'unlock': 0, **{f'then {k}': v for k, v in free.items()}, 'last unlock': 0}
    bed.expect(got['after'] == want, f'when it had come: {got["after"]}')


def pauses(b, logs, windows):
    """Two of the three: a client that heard DELAY waits on its own for up to twice as long as it has waited, which may make one pause longer than the servers'."""
    found = sorted((*longest(logs, windows[name], others(b, SITE)), name) for name in windows)
    seconds, site, what, at, name = found[1]
    bed.expect(seconds < RETURN_MAX, f'{name}: {what} at site {site}, begun {at:.1f} s after, took {seconds} s, and one was longer; the limit is {RETURN_MAX} s')
    bed.expect(found[2][0] < 2 * RETURN_MAX, f'the longest: {found[2]}')
    return ', '.join(f'{f[4]}: {f[0]:.1f} s' for f in found)


def main():
    report, windows, logs = bed.Report('disk'), {}, {}
    with bed.Bed.own(*OPTIONS) as b:
        good = report.check('a volume', fill, b) and report.check('objects of all kinds', odd_objects, b) and report.check('an image of its disks is kept', keep_image, b)
        report.check('locks of a file that has not arrived', locks_before_the_file, b)
        probes = Probes(b) if good else None
        try:
            good = good and report.check('an empty disk', lost, b, 'empty', windows, ['store', 'data'])
            good = good and report.check('the store alone is lost', lost, b, 'store', windows, ['store'])
            good = good and report.check('what lay there is kept aside', no_strays, b)
            good = good and report.check('an image from the past', lost, b, 'image', windows, [], True)
            good = good and report.check('updates went on', probes.went_on, logs)
        finally:
            if probes:
                probes.kill()
        if logs:
            report.check(f'pause of the others when it returns below {RETURN_MAX:.0f} s', pauses, b, logs, windows)
        if good:
            report.check('no control is left', b.no_controls, 60)
            report.check('equal disks', trees.disks_equal, b)
            report.check('nfs4rctl verify', trees.verify, b)
            report.check('all servers alive', b.servers_alive)
            report.check('the tree alone is lost', tree_lost, b)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
