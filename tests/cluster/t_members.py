#!/usr/bin/python3
"""Servers are added and taken out while clients work: a fourth one comes; one dies, is taken out and comes back with an empty disk; one
that works is taken out. What is printed: what each took, and the longest pause of the other sites' updates. No Server block is ever changed.
"""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import trees
from t_views import DIR as VIEWS, Probes, longest

DIR = '/nfs/members'
FILES = int(os.environ.get('FILES', 100))
OPTIONS = ('--rtt', '20ms', '--sites', '4', '--late', '4', *bed.SHORT, '--set', 'Durability=commit')
ADD_MAX = 1.0       # pause of the others' updates when a server is added; nothing has to wait for it


def servers(b, site):
    """{server: row} as `nfs4rctl server list` says."""
    r = b.ctl(site, '--json', 'server', 'list')
    bed.expect(r.returncode == 0, f'server list at site {site}: {r.stdout}{r.stderr}')
    return {row['server']: row for row in json.loads(r.stdout)['servers']}


def voters(b, site):
    return sorted(s for s, row in servers(b, site).items() if row['voter'])


def must_ctl(b, site, *args):
    r = b.ctl(site, *args, timeout=60)
    bed.expect(r.returncode == 0, f'nfs4rctl {" ".join(args)} at site {site}: status {r.returncode}\n{r.stdout}{r.stderr}\n' + '\n'.join(b.log(site).splitlines()[-15:]))
    return r.stdout


def state(b, site):
    r = b.ctl(site, '--json', 'status')
    return json.loads(r.stdout)['state'] if r.returncode == 0 else None


def wait_serves(b, site, seconds=30):
    bed.eventually(seconds, lambda: state(b, site) == 'serving', lambda: f'server {site}: {state(b, site)}\n' + '\n'.join(b.log(site).splitlines()[-15:]), 0.1)


def wait_set(b, sites):
    """These and only these, as all of them say."""
    bed.eventually(20, lambda: all(voters(b, s) == sites == sorted(servers(b, s)) for s in sites), lambda: f'{[(s, servers(b, s)) for s in sites]}', 0.1)
    for s in sites:
        wait_serves(b, s)


class Window:
    """The time that something took, for the pauses of others."""

    def __init__(self, windows, name):
        self.windows, self.name = windows, name

    def __enter__(self):
        self.begun = time.time()
        return self

    def __exit__(self, kind, value, trace):
        self.windows[self.name] = (self.begun, time.time() + 1)

    def took(self):
        return time.time() - self.begun


def empty(b, site):
    b.must_in_bed('sh', '-ec', f'cd {b.server_dir(site)}; find store data -mindepth 1 -delete')


def fill(b):
    b.must_py(1, 'many_files.py', f'{DIR}/files', FILES, 4, timeout=300)
    b.sh(1, f'for s in 1 2 3 4; do mkdir {DIR}/site$s; for n in 0 1 2 3 4; do mkdir -p {VIEWS}/probe/$n/site$s; done; done')
    bed.everywhere(lambda s: b.sh(s, f'echo of site {s} >{DIR}/site{s}/f'), b.sites)
    return f'{FILES} files'


def key_of(b, site):
    """The fingerprint of its key as `key make` printed it, or None in a bed without keys."""
    path = os.path.join(b.server_dir(site), 'key')
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return re.search(r'SHA256:[^"\s]+', f.read())[0]


def add(b, at, site, windows, name):
    key = key_of(b, site)
    with Window(windows, name) as w:
        must_ctl(b, at, 'server', 'add', str(site), f'10.0.{site}.1', *(['--key', key] if key else []))
        wait_serves(b, site)
        took = w.took()
    return f'it counts and serves after {took:.1f} s'


def start_outside(b, site, removed=False):
    """It does not belong to the volume, or not any more, and says what to do about that. With keys it hears no more than that it is refused (docs/security.md)."""
    mark = len(b.log(site))
    b.must('server', site, 'start')
    if key_of(b, site):
        pattern = f'refused this server: security differs, .*nfs4rctl server add {site} ADDRESS --key FINGERPRINT at a member'
    else:
        pattern = f'server {site} was removed from this volume' if removed else f'nfs4rctl server add {site} ADDRESS at a member'
    b.says(site, mark, pattern, 30)
    bed.expect(state(b, site) != 'serving', f'server {site} serves, and does not belong to the volume')


def add_fourth(b, windows):
    start_outside(b, 4)
    note = add(b, 1, 4, windows, 'added')
    wait_set(b, [1, 2, 3, 4])
    b.must('client', 4, 'remount')
    bed.expect(b.sh(4, f'echo by 4 >{DIR}/site4/f; cat {DIR}/site2/f') == 'of site 2\n', 'site 4 does not read what site 2 wrote')
    bed.expect(b.sh(2, f'cat {DIR}/site4/f') == 'by 4\n', 'site 2 does not read what site 4 wrote')
    return note


def take_out_dead(b, windows):
    with Window(windows, 'died'):
        b.must('server', 3, 'kill')
        bed.eventually(20, lambda: all(3 not in b.ask(s, 'status')['view']['members'] for s in (1, 2, 4)), 'server 3 is not removed', 0.1)
    with Window(windows, 'taken out') as w:
        must_ctl(b, 2, 'server', 'remove', '3')
        took = w.took()
    wait_set(b, [1, 2, 4])
    start_outside(b, 3, removed=True)
    b.must('server', 3, 'kill')
    return f'{took:.1f} s'


def add_dead(b, windows):
    empty(b, 3)
    b.must('server', 3, 'start')
    note = add(b, 4, 3, windows, 'added again')
    wait_set(b, [1, 2, 3, 4])
    bed.expect(b.sh(3, f'cat {DIR}/site1/f; echo again >{DIR}/site3/f', timeout=60) == 'of site 1\n', 'site 3 does not read what site 1 wrote')
    return note


def pauses(windows, logs):
    text = []
    for name, sites in (('added', (1, 2, 3)), ('died', (1, 2)), ('taken out', (1, 2)), ('added again', (1, 2))):
        seconds, site, what, at = longest(logs, windows[name], sites)
        text.append(f'{name}: {seconds:.1f} s')
        bed.expect(not name.startswith('added') or seconds < 2 * ADD_MAX, f'{name}: {what} at site {site}, begun {at:.1f} s after, took {seconds} s')
    return ', '.join(text)


def equal(b, sites):
    all_sites, b.sites = b.sites, sites
    try:
        b.no_controls(60)
        note = trees.disks_equal(b)
        trees.verify(b)
    finally:
        b.sites = all_sites
    return note


def take_out_living(b):
    start = time.monotonic()
    must_ctl(b, 1, 'server', 'remove', '4')
    took = time.monotonic() - start
    wait_set(b, [1, 2, 3])
    bed.eventually(20, lambda: state(b, 4) == 'removed from the volume', lambda: f'{state(b, 4)}', 0.1)
    b.must('server', 4, 'stop')
    r = b.ctl(1, 'server', 'remove', '4')
    bed.expect(r.returncode == 2 and r.stderr, f'taken out twice: {r.stdout}{r.stderr}')
    return f'{took:.1f} s'


def main():
    report, windows, logs = bed.Report('members'), {}, {}
    with bed.Bed.own(*OPTIONS) as b:
        good = report.check('a volume of three', fill, b)
        probes = Probes(b) if good else None
        try:
            good = good and report.check('a fourth server', add_fourth, b, windows)
            good = good and report.check('one that died is taken out', take_out_dead, b, windows)
            good = good and report.check('and comes back with an empty disk', add_dead, b, windows)
            good = good and report.check('updates went on', lambda: logs.update(probes.end()))
        finally:
            if probes:
                probes.kill()
        if logs:
            report.check('pauses', pauses, windows, logs)
        good = good and report.check('equal copies of four', equal, b, [1, 2, 3, 4])
        good = good and report.check('one that works is taken out', take_out_living, b)
        if good:
            report.check('equal copies of three', equal, b, [1, 2, 3])
            report.check('all servers alive', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
