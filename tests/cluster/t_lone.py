#!/usr/bin/python3
"""A volume begins with one server, and gets a second and a third one while its clients work. What is printed: what each took, and the longest step of
the client that worked all the time. Until the second one counts nobody waits for anybody, and then for a round trip now and then.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import trees
from t_members import add, key_of, must_ctl, servers, start_outside, wait_serves, wait_set

DIR = '/nfs/lone'
FILES = int(os.environ.get('FILES', 100))
OPTIONS = ('--rtt', '20ms', '--sites', '3', '--late', '2', '--late', '3', *bed.SHORT, '--set', 'Durability=commit')
STEP_MAX = 4.0      # of the client that works all the time: the view changes twice, nothing is removed


def fill(b):
    wait_serves(b, 1)
    bed.expect(sorted(servers(b, 1)) == [1], f'{servers(b, 1)}')
    b.must_py(1, 'many_files.py', f'{DIR}/files', FILES, 4, timeout=300)
    b.sh(1, f'for s in 1 2 3; do mkdir {DIR}/site$s; done; echo of site 1 >{DIR}/site1/f')
    return f'{FILES} files'


def refusals(b):
    key = key_of(b, 2)
    for args, text in ((('add', '2', 'no.such.host.invalid'), 'cannot be resolved here'), (('add', '2', '10.0.1.1'), 'is the address of server 1'),
                       (('add', '1', '10.0.2.1'), 'already belongs to this volume'), (('remove', '1', '--yes'), 'ask another member')):
        r = b.ctl(1, 'server', *args, *(['--key', key] if key and args[0] == 'add' else []))
        bed.expect(r.returncode == 2 and text in r.stderr, f'server {" ".join(args)}: {r.returncode} {r.stdout}{r.stderr}')
    if key:
        r = b.ctl(1, 'server', 'add', '2', '10.0.2.1')
        bed.expect(r.returncode == 2 and 'would not know the new server: add --key' in r.stderr, f'server add without a key: {r.returncode} {r.stdout}{r.stderr}')
    wait_serves(b, 1)


def grow(b, site, windows):
    start_outside(b, site)
    note = add(b, 1, site, windows, f'{site}')
    wait_set(b, list(range(1, site + 1)))
    b.must('client', site, 'remount')
    bed.expect(b.sh(site, f'set -e; echo by {site} >{DIR}/site{site}/f; cat {DIR}/site1/f') == 'of site 1\n', f'site {site} does not read what site 1 wrote')
    bed.expect(b.sh(1, f'cat {DIR}/site{site}/f') == f'by {site}\n', f'site 1 does not read what site {site} wrote')
    bed.expect('was removed from the active view' not in b.log(1), f'somebody was removed\n{b.log(1)[-2000:]}')
    return note


class Worker:
    """load.py at site 1."""

    def __init__(self, b):
        self.stop = b.run + '.stop'
        self.running = b.start_py(1, 'load.py', f'{DIR}/work', 1, self.stop)

    def end(self):
        open(self.stop, 'w').close()
        out, _ = self.running.communicate(timeout=60)
        try:
            did = json.loads(out)
        except ValueError:
            raise bed.Failed(f'load.py: {out[-2000:]}')
        bed.expect(not did['heard'] and did['lock'], f'{did["heard"]}, its lock: {did["lock"]}')
        bed.expect(did['gap'] < STEP_MAX, f'one step took {did["gap"]} s')
        return f'{did["steps"]} steps, the longest {did["gap"]} s'

    def kill(self):
        if self.running.poll() is None:
            self.running.kill()
        if os.path.exists(self.stop):
            os.unlink(self.stop)


def equal(b):
    b.no_controls(60)
    note = trees.disks_equal(b)
    trees.verify(b)
    return note


def two_stay(b):
    must_ctl(b, 1, 'server', 'remove', '3')
    wait_set(b, [1, 2])
    r = b.ctl(1, 'server', 'remove', '2', '--yes')
    bed.expect(r.returncode == 2 and 'no majority without it' in r.stderr, f'two become one: {r.stdout}{r.stderr}')


def main():
    report, windows = bed.Report('lone'), {}
    with bed.Bed.own(*OPTIONS) as b:
        good = report.check('a volume of one server', fill, b) and report.check('what is refused', refusals, b)
        worker = Worker(b) if good else None
        try:
            good = good and report.check('a second server', grow, b, 2, windows)
            good = good and report.check('a third server', grow, b, 3, windows)
            good = good and report.check('its client went on', worker.end)
        finally:
            if worker:
                worker.kill()
        good = good and report.check('equal copies', equal, b)
        good = good and report.check('two servers stay', two_stay, b)
        if good:
            report.check('all servers alive', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
