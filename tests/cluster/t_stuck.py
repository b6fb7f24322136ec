#!/usr/bin/python3
"""One server cannot apply an update (log 4.11, 4.13, 4.18, 6.12): a directory that somebody made immutable, a file that is larger than it may write, and a disk that stands still. The others go on within seconds, every server says
why, and it comes back by itself: when it can, or when the file is gone. Nobody restarts anything. What is printed: how long the others waited, and how long it took to be back.
"""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import trees
from t_views import wait_back

SITE = 2
DIR = '/nfs/stuck'
OPTIONS = ('--rtt', '20ms', *bed.SHORT, '--vers', '4.2,actimeo=0', '--images', '512M')
PAUSE_MAX = 15      # seconds: half a lease, the lease, and what a busy machine needs
HUNG = 10           # five silences before that
LIMIT = 1 << 30     # bytes of a file that the server of the site may write


def begin(b):
    b.sh(1, f'mkdir {DIR} {DIR}/d {DIR}/big && echo old >{DIR}/d/f && echo elsewhere >{DIR}/g')
    b.no_controls(30)


def pause(b, script, most=PAUSE_MAX):
    """Runs it at site 1, and then an update at site 3 in the same directory; how long that took."""
    start = time.monotonic()
    b.sh(1, script, timeout=60)
    b.sh(3, f'mkdir {DIR}/d/at3 && rmdir {DIR}/d/at3 && echo 3 >>{DIR}/g', timeout=60)
    took = time.monotonic() - start
    bed.expect(took < most, f'the others waited for {took:.1f} s')
    return took


def row_of(b, site):
    """What the server of another site says of the one that is stuck."""
    return [row for row in b.ask(site, 'status')['view']['servers'] if row['server'] == SITE][0]


def says_why(b, mark, reason, remedy):
    bed.eventually(20, lambda: b.ask(SITE, 'status')['state'] == 'cannot apply', lambda: f'{b.ask(SITE, "status")["state"]}: {b.ask(SITE, "status").get("why")}', 0.2)
    why = b.ask(SITE, 'status')['why']
    bed.expect(re.search(reason, why) and re.search(remedy, why), f'status at site {SITE} says: {why}')
    for s in (1, 3):
        bed.eventually(20, lambda: re.search(reason, row_of(b, s).get('cannot_apply', '')) and not row_of(b, s)['member'], lambda: f'status at site {s} says of it: {row_of(b, s)}', 0.2)
        bed.expect(row_of(b, s)['state'] == 'cannot apply', f'status at site {s} says of it: {row_of(b, s)}')
        b.says(s, mark[s], rf'server {SITE} was removed from the active view: it cannot apply an update \({reason}\)')
    bed.expect('cannot apply: it cannot apply update' in b.ctl(SITE, 'status').stdout, b.ctl(SITE, 'status').stdout)


def back(b, since):
    wait_back(b, 40)
    took = time.monotonic() - since
    b.no_controls(30)
    trees.disks_equal(b)
    return took


def marks(b):
    return {s: len(b.log(s)) for s in b.sites}


def immutable_directory(b):
    """Somebody made a directory immutable in what server 2 exports."""
    mark = marks(b)
    flagged = f'{b.data(SITE)}/stuck/d'
    b.must_in_bed('chattr', '+i', f'{b.server_dir(SITE)}/data/stuck/d')
    try:
        took = pause(b, f'for i in 1 2 3; do echo new >{DIR}/d/new$i || exit 1; done')
        says_why(b, mark, 'operation not permitted|permission denied', 'chattr -ia')
        b.sh(1, f'rm {DIR}/d/new3 && mkdir {DIR}/other && echo x >{DIR}/other/x')
        # What does not wait for that directory is applied there meanwhile.
        bed.eventually(20, lambda: os.path.exists(f'{b.data(SITE)}/stuck/other/x'), 'other updates are not applied there')
        bed.expect(not os.path.exists(f'{flagged}/new1'), 'the directory was not immutable')
    finally:
        b.must_in_bed('chattr', '-i', f'{b.server_dir(SITE)}/data/stuck/d')
    since = time.monotonic()
    return f'the others waited {took:.1f} s; it was back {back(b, since):.1f} s after the flag was gone'


def too_large_until_it_is_removed(b):
    """The server of site 2 may write no file beyond LIMIT. The file is removed, and nothing else is changed: what it could not write is passed over."""
    mark = marks(b)
    subprocess.run(['prlimit', '--pid', b.must('server', SITE, 'pid').strip(), f'--fsize={LIMIT}'], check=True)
    took = pause(b, f'dd if=/dev/urandom of={DIR}/big/file bs=1M seek={LIMIT >> 20} count=8 conv=notrunc 2>/dev/null')
    says_why(b, mark, 'file too large', 'remove the object at another server')
    b.sh(3, f'rm {DIR}/big/file')
    since = time.monotonic()
    return f'the others waited {took:.1f} s; it was back {back(b, since):.1f} s after the file was gone'


def too_large_until_it_is_cut(b):
    mark = marks(b)
    took = pause(b, f'echo head >{DIR}/big/file; dd if=/dev/urandom of={DIR}/big/file bs=1M seek={LIMIT >> 20} count=8 conv=notrunc 2>/dev/null')
    says_why(b, mark, 'file too large', 'remove the object at another server')
    b.sh(1, f'truncate -s 5 {DIR}/big/file')
    since = time.monotonic()
    note = f'the others waited {took:.1f} s; it was back {back(b, since):.1f} s after the file was cut'
    bed.expect(b.sh(SITE, f'cat {DIR}/big/file') == 'head\n', 'another content')
    return note


def a_disk_that_stands_still(b):
    """No call fails, and none returns."""
    mark = marks(b)
    data = f'{b.server_dir(SITE)}/data'
    b.must_in_bed('fsfreeze', '-f', data)
    try:
        took = pause(b, f'for i in 1 2 3; do echo new >{DIR}/d/frozen$i || exit 1; done', HUNG + PAUSE_MAX)
        says_why(b, mark, 'no answer for too long', 'fsfreeze -u')
        b.sh(3, f'rm {DIR}/d/frozen3')
    finally:
        b.must_in_bed('fsfreeze', '-u', data)
    since = time.monotonic()
    return f'the others waited {took:.1f} s; it was back {back(b, since):.1f} s after the disk answered again'


def all_equal(b):
    b.drop_caches()
    trees.clients_equal(b)
    trees.verify(b)
    b.servers_alive()


# Each in a bed of its own: of one server the log has few such lines in a minute.
BEDS = (immutable_directory, too_large_until_it_is_removed, too_large_until_it_is_cut), (a_disk_that_stands_still,)


def main():
    t = bed.Report('stuck')
    for parts in BEDS:
        with bed.Bed.own(*OPTIONS) as b:
            if t.check('a bed', begin, b):
                for part in (*parts, all_equal):
                    t.check(part.__name__.replace('_', ' '), part, b)
    return t.status()


if __name__ == '__main__':
    sys.exit(main())
