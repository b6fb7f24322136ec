#!/usr/bin/python3
"""A majority is lost for good: two of three servers are killed, and one of them loses its disk. The third goes on alone when it is told to; its
clients, who waited, go on; the old server that comes back is refused and serves nothing; new ones are added. What is printed: what each took.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import trees
from t_members import add, empty, start_outside, state, wait_set

DIR = '/nfs/reconfigure'
FILES = int(os.environ.get('FILES', 100))
OPTIONS = ('--rtt', '20ms', '--sites', '4', '--late', '4', *bed.SHORT, '--set', 'Durability=commit')
FLAG = '--the-others-are-off-for-good'


def fill(b):
    b.must_py(1, 'many_files.py', f'{DIR}/files', FILES, 4, timeout=300)
    b.sh(1, f'for s in 1 2 3 4; do mkdir {DIR}/site$s; done')
    for site in (1, 2, 3):
        b.sh(site, f'echo of site {site} >{DIR}/site{site}/f; sync {DIR}/site{site}/f')
    return f'{FILES} files'


def lose_two(b):
    refused = b.ctl(3, 'force-reconfigure', '3', FLAG)
    bed.expect(refused.returncode == 2 and 'the volume works' in refused.stderr, f'{refused.stdout}{refused.stderr}')
    b.must('server', 1, 'kill')
    b.must('server', 2, 'kill')
    empty(b, 2)
    bed.eventually(30, lambda: state(b, 3) not in ('serving', None), lambda: f'{state(b, 3)}', 0.2)
    r = b.ctl(3, 'force-reconfigure', '3')
    bed.expect(r.returncode == 2 and FLAG in r.stderr, f'{r.stdout}{r.stderr}')
    return f'server 3 is {state(b, 3)}'


def go_on(b):
    """The lease may end before a server that was killed has been silent for Failure_Timeout: then the command waits for that."""
    begun = time.monotonic()
    r = b.ctl(3, 'force-reconfigure', '3', FLAG)
    took = time.monotonic() - begun
    bed.expect(r.returncode == 0, f'{r.stdout}{r.stderr}')
    said = r.stdout
    bed.expect('You confirm that these servers are off for good' in said and ' 1, 2.' in said, said)
    wait_set(b, [3])
    read = b.sh(3, f'cat {DIR}/site1/f {DIR}/site2/f && echo alone >{DIR}/site3/f', timeout=60)
    bed.expect(read == 'of site 1\nof site 2\n', f'what the lost servers had answered is not there: {read!r}')
    return f'{took:.1f} s'


def old_one(b):
    start_outside(b, 1, removed=True)
    b.must('server', 1, 'kill')
    bed.expect(b.sh(3, f'cat {DIR}/site3/f') == 'alone\n', 'the one that went on has something else')


def add_fourth(b):
    start_outside(b, 4)
    note = add(b, 3, 4, {}, 'added')
    wait_set(b, [3, 4])
    b.must('client', 4, 'remount')
    bed.expect(b.sh(4, f'echo by 4 >{DIR}/site4/f; cat {DIR}/site3/f') == 'alone\n', 'site 4 does not read what site 3 wrote')
    return note


def add_second(b):
    b.must('server', 2, 'start')
    note = add(b, 3, 2, {}, 'added')
    wait_set(b, [2, 3, 4])
    bed.expect(b.sh(2, f'cat {DIR}/site4/f {DIR}/site1/f', timeout=120) == 'by 4\nof site 1\n', 'site 2 does not read what the others have')
    return note


def equal(b, sites):
    b.sites = sites
    b.no_controls(60)
    note = trees.disks_equal(b)
    r = b.ctl(sites[0], 'verify', '/', timeout=120)
    bed.expect(r.returncode == 0, f'nfs4rctl verify: {r.stdout[-2000:]}{r.stderr[-2000:]}')
    return note


def main():
    report = bed.Report('reconfigure')
    with bed.Bed.own(*OPTIONS) as b:
        good = report.check('a volume of three', fill, b)
        good = good and report.check('two are lost for good', lose_two, b)
        good = good and report.check('the third goes on', go_on, b)
        good = good and report.check('an old one comes back', old_one, b)
        good = good and report.check('a fourth server', add_fourth, b)
        good = good and report.check('one of the lost with an empty disk', add_second, b)
        if good:
            report.check('equal copies', equal, b, [2, 3, 4])
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
