#!/usr/bin/python3
"""
A volume without room, with programs at three sites (log 4.12). Site 2's file system is smaller than the others': blocks of 1 KiB, few inodes.

In each case clients hear "no space" (or "file too large"), files can be removed at every site within 5 s, and no server stops. Last, a server that has no room left for its journal halts, and is back by itself; and
one that is started like that waits until there is room.
"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import trees

OPTIONS = ('--rtt', '40ms', '--mem', '384M', '--images', '64M', '--disk', '1=32M', '--disk', '2=32M', '--disk', '3=32M',
           '--fs', '1=ext4:-b 4096', '--fs', '2=ext4:-b 1024 -N 600 -I 128', '--fs', '3=ext4:-b 4096')
XATTR = "/usr/bin/python3 -c 'import os; os.setxattr(\"/nfs/odd\", \"user.odd\", b\"v\" * {})'"
REMOVAL = 5                 # seconds
LINKS = 2500                # names of one file, at each site: removed they are more journal than is laid out
# A name that is gone already was taken away by the update that found no room for its end.
NAMES = """/usr/bin/python3 -c '
import os
os.chdir("{0}/d{1}")
for n in ("l%d" % i for i in range({2})):
    try:
        {3}
    except FileNotFoundError:
        pass
'"""
PAUSE_MAX = 15              # seconds: a lease, a silence, and what a busy machine needs


def refused(b, site, script, error='No space left on device', timeout=60):
    """It fails, with that error; what it said."""
    out = b.sh(site, f'({script}) 2>&1 && echo it worked || true', timeout=timeout)
    bed.expect(error in out and 'it worked' not in out, f'site {site}: {script}\ninstead of "{error}": {out}')


def free(b, site, what):
    return int(b.sh(site, f"/usr/bin/python3 -c 'import os; v = os.statvfs(\"/nfs\"); print(v.{what})'"))


def removals_work(b, path):
    """At each site a file of its own, and none waits."""
    for s in b.sites:
        begin = time.monotonic()
        b.sh(s, f'rm {path}/{s}', timeout=60)
        took = time.monotonic() - begin
        bed.expect(took < REMOVAL, f'site {s}: a removal takes {took:.1f} s')


def victims(b, path):
    b.sh(1, f'mkdir -p {path} && for s in {" ".join(map(str, b.sites))}; do echo victim >{path}/$s || exit 1; done')


def all_serve(b, path):
    """There is room again: every site makes a file, and all are members."""
    bed.eventually(20, lambda: not any(b.ask(s, 'status')['space']['refused'] for s in b.sites), 'updates are refused although there is room')
    for s in b.sites:
        b.sh(s, f'mkdir -p {path} && echo {s} >{path}/after.{s}', timeout=60)
        said = b.ask(s, 'status')
        bed.expect(said['state'] == 'serving' and len(said['view']['members']) == len(b.sites), f'site {s}: {said["state"]}, {said["view"]["members"]}')


def another_file_system_is_smaller(b):
    refused(b, 1, 'truncate -s 5T /nfs/image', 'File too large')
    b.sh(1, 'rm -f /nfs/image; echo x >/nfs/odd')
    refused(b, 3, XATTR.format(3000), 'Argument list too long')
    b.sh(3, XATTR.format(30))
    refused(b, 1, "/usr/bin/python3 -c 'import os; [os.setxattr(\"/nfs/odd\", f\"user.n{i}\", b\"v\" * 200) for i in range(8)]'")
    b.sh(1, 'touch -a -d @5000000000 /nfs/odd; touch -m -d @-5000000000 /nfs/odd')  # site 2 has inodes of 128 bytes: 1901 to 2038
    times = [b.sh(s, 'stat -c "%X %Y" /nfs/odd').strip() for s in b.sites]
    bed.expect(times == ['2147483647 -2147483648'] * 3, f'{times}')
    refused(b, 1, f'/usr/bin/python3 {bed.LIB}/big_attrs.py acl /nfs/odd 300 && false', '28')
    b.sh(1, f'test $(/usr/bin/python3 {bed.LIB}/big_attrs.py acl /nfs/odd_too 20) = 0')
    for s in b.sites:  # a block of 1 KiB, its NUL included
        refused(b, s, 'ln -s $(printf %02000d 0) /nfs/link', 'File name too long')
    b.sh(1, 'ln -s $(printf %01023d 0) /nfs/link')
    limits = b.ask(1, 'status')['space']['limits']
    bed.expect(limits['link_text_bytes'] == {'max': 1023, 'server': 2}, f'{limits}')
    bed.expect(limits['times'] == {'first': -2147483648, 'last': 2147483647, 'server': 2}, f'{limits["times"]}')
    bed.expect(limits['file_bytes']['server'] == 2 and limits['attribute_bytes']['server'] == 2, f'{limits}')
    all_serve(b, '/nfs/limits')
    return f'{limits["file_bytes"]["max"]} bytes in a file, {limits["attribute_bytes"]["max"]} in an attribute'


def no_inodes(b):
    victims(b, '/nfs/inodes')
    refused(b, 1, 'cd /nfs/inodes; i=0; while [ $i -lt 700 ]; do i=$((i+1)); : >f$i || exit 1; done', timeout=100)
    made = int(b.sh(1, 'ls /nfs/inodes | wc -l'))
    left = free(b, 3, 'f_favail')
    bed.expect(made < 600 and left < 30, f'{made} files, and df says that {left} more are possible')
    removals_work(b, '/nfs/inodes')
    b.sh(2, 'rm -r /nfs/inodes', timeout=100)
    all_serve(b, '/nfs/inodes')
    return f'{made} files'


def a_big_file(b):
    """While small ones are made elsewhere."""
    victims(b, '/nfs/big')
    small = b.start_sh(3, 'i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo $i >/nfs/big/small$i 2>/dev/null; sleep 0.1; done; true')
    refused(b, 1, 'dd if=/dev/urandom of=/nfs/big/big bs=1M count=64 conv=fsync', timeout=150)
    left = free(b, 2, 'f_bavail * v.f_frsize') >> 10
    removals_work(b, '/nfs/big')
    b.sh(3, 'rm /nfs/big/big', timeout=60)
    small.communicate(timeout=100)
    all_serve(b, '/nfs/big')
    b.sh(1, 'rm -r /nfs/big', timeout=100)
    bed.expect(left < 16000, f'df says that {left} KiB are free when a write was refused')
    return f'{left} KiB were left'


def all_write(b):
    victims(b, '/nfs/all')
    script = ('mkdir /nfs/all/d{0}; i=0; full=0; while [ $full -lt 5 ]; do i=$((i+1)); head -c $((30000 + i * 3700 % 90000)) /dev/urandom >/nfs/all/d{0}/f$i 2>/dev/null '
              '|| full=$((full+1)); done; ls /nfs/all/d{0} | wc -l')
    writers = [b.start_sh(s, script.format(s)) for s in b.sites]
    made = [w.communicate(timeout=200)[0].split()[-1] for w in writers]
    removals_work(b, '/nfs/all')
    b.sh(2, 'rm -r /nfs/all', timeout=100)
    all_serve(b, '/nfs/all')
    return f'{" ".join(made)} files'


def filled_by_others(b, site, what):
    """Something else than clients fills a disk of one server, to the last byte."""
    path = f'{b.server_dir(site)}/{what}/.ballast'
    victims(b, '/nfs/one')
    b.no_controls(30)
    b.must_in_bed('sh', '-c', f'cat /dev/zero >{path} 2>/dev/null; sync {path}')
    try:
        bed.eventually(10, lambda: all(b.ask(s, 'status')['space']['refused'] for s in b.sites), 'nobody says that updates are refused')
        for s in b.sites:
            refused(b, s, f'echo more >/nfs/one/more{s} && sync /nfs/one/more{s}')
        removals_work(b, '/nfs/one')
    finally:
        b.must_in_bed('rm', path)
    all_serve(b, '/nfs/one')


def status_of(b, asked, server):
    """What one server's status says of another."""
    return [row for row in b.ask(asked, 'status')['view']['servers'] if row['server'] == server][0]


def state_of(b, site):
    """Without an answer while it starts anew."""
    try:
        return b.ask(site, 'status')['state']
    except bed.Failed:
        return 'no answer'


class Filled:
    """
    Something else fills Store of one server and keeps it full, `spare` included, while programs at all sites remove names, which is all that is not refused then: until the server halts. At the end that is gone.
    """

    def __init__(self, b, site, path):
        self.b, self.site, self.path = b, site, path
        self.store, self.ballast = f'{b.server_dir(site)}/store', f'{b.server_dir(site)}/store/.ballast'

    def __enter__(self):
        b, site = self.b, self.site
        dirs = ' '.join(f'{self.path}/d{s}' for s in b.sites)
        b.sh(1, f'mkdir -p {dirs} && for d in {dirs}; do echo first >$d/first; done')
        bed.everywhere(lambda s: b.sh(s, NAMES.format(self.path, s, LINKS, 'os.link("first", n)'), timeout=300), b.sites)
        self.full = b.start_in_bed('sh', '-c', f'while [ ! -e {self.store}/.enough ]; do cat /dev/zero >>{self.ballast} 2>/dev/null; sleep 0.1; done')
        try:
            bed.eventually(20, lambda: all(b.ask(s, 'status')['space']['refused'] for s in b.sites), 'nobody says that updates are refused')
            begin = time.monotonic()
            self.removers = [b.start_sh(s, NAMES.format(self.path, s, LINKS, 'os.unlink(n)')) for s in b.sites]
            bed.eventually(120, lambda: b.ask(site, 'status')['state'] == 'halted', lambda: f'it does not halt: {b.ask(site, "status")["state"]}', 0.2)
            self.took = time.monotonic() - begin
        except BaseException:
            self.empty()
            raise
        return self

    def __exit__(self, *_):
        self.empty()

    def empty(self):
        """There is room. May be called again."""
        self.b.must_in_bed('sh', '-c', f'touch {self.store}/.enough; sleep 1; rm -f {self.ballast} {self.store}/.enough')
        self.full.communicate(timeout=30)

    def ends_well(self):
        """It serves: what was done meanwhile is everywhere, and all trees are equal."""
        b = self.b
        for r in self.removers:
            said = r.communicate(timeout=200)[0]
            bed.expect(r.returncode == 0, said)
        b.no_controls(30)
        for s in b.sites:
            bed.expect(b.sh(s, f'cat {self.path}/d*/on*').split() == ['on'] * (len(b.sites) - 1), f'site {s} lacks what was made meanwhile')
            names = b.sh(s, f'ls {self.path}/d*').split()
            bed.expect(names.count('first') == 3 and 'l1' not in names, f'site {s}: another tree')
        all_serve(b, self.path)
        trees.disks_equal(b)


def others_go_on(b, site, path):
    """Without that server, each in its own directory: what a server controls when it halts waits for its return (Durability = local)."""
    for s in b.sites:
        if s == site:
            continue
        start = time.monotonic()
        b.sh(s, f'until echo on >{path}/d{s}/on{s}; do sleep 0.2; done 2>/dev/null', timeout=60)
        bed.expect(time.monotonic() - start < PAUSE_MAX, f'site {s} does not go on')


def store_without_any_room(b, site):
    """The others go on, and it is back by itself when there is room."""
    pid, mark = b.must('server', site, 'pid').strip(), len(b.log(site))
    with Filled(b, site, '/nfs/none') as f:
        halted = time.monotonic()
        said = b.ask(site, 'status')['why']
        bed.expect('no space left on device' in said and 'returns by itself' in said, said)
        for s in [s for s in b.sites if s != site]:
            bed.eventually(15, lambda: not status_of(b, s, site)['member'], lambda: f'site {s} says of it: {status_of(b, s, site)}', 0.2)
            row = status_of(b, s, site)
            bed.expect(row['state'] == 'halted' and 'Free space on the file system of its Store' in row['halted'], f'{row}')
        out = time.monotonic() - halted
        bed.expect(out < PAUSE_MAX, f'the others waited {out:.1f} s')
        others_go_on(b, site, '/nfs/none')
    room = time.monotonic()
    b.says(site, mark, 'the cause of the halt is gone')
    bed.eventually(60, lambda: state_of(b, site) == 'serving', lambda: f'it is not back: {state_of(b, site)}', 0.2)
    back = time.monotonic() - room
    bed.expect(b.must('server', site, 'pid').strip() == pid, 'its process is another one')
    f.ends_well()
    return f'halted after {f.took:.1f} s, out {out:.1f} s later, back {back:.1f} s after there was room'


WAITS = 'the server waits before it starts, and will continue by itself: '
STARTS = 20                 # each leaves a record in what is left of the last block of a full journal, until there is nothing


def start_or_halt(b, site):
    """Starts a server whose Store is full: what nfs4rctl says while it waits, or nothing when it began and has halted; and the command, which ends when the server listens."""
    starting = subprocess.Popen(b.command('server', site, 'start'), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)

    def waits_or_halted():
        r = b.ctl(site, 'status')
        return r.stderr + r.stdout if WAITS in r.stderr + r.stdout else r.returncode == 0 and state_of(b, site) == 'halted'
    said = bed.eventually(60, waits_or_halted, lambda: f'it neither waits nor has halted: {state_of(b, site)}, {b.ctl(site, "status")}')
    return (said if isinstance(said, str) else None), starting


def a_start_without_room(b, site):
    """A server is started while its Store is full, spare used up: nfs4rctl says why and what to do, the others go on, and it comes up by itself when there is room."""
    store = f'{b.server_dir(site)}/store'
    with Filled(b, site, '/nfs/start') as f:
        for n in range(STARTS):
            b.kill(site)
            said, starting = start_or_halt(b, site)
            if said:
                break
            starting.communicate(timeout=60)
        bed.expect(said, f'{STARTS} starts in a full Store, and none waits')
        bed.expect('no space left on device' in said and f'Free space on the file system of {store}' in said, said)
        bed.expect(b.ctl(site, 'health').returncode == 2, 'health does not say that it is critical')
        others_go_on(b, site, '/nfs/start')
        r = b.ctl(site, 'status')
        bed.expect(r.returncode == 2 and WAITS in r.stderr + r.stdout, f'it does not wait any more: {r}')
    room = time.monotonic()
    said = starting.communicate(timeout=60)[0]
    bed.expect(starting.returncode == 0 or 'does not listen' in said, said)     # the command waits for 30 s
    bed.eventually(60, lambda: state_of(b, site) == 'serving', lambda: f'it is not up: {state_of(b, site)}', 0.2)
    up = time.monotonic() - room
    f.ends_well()
    return f'start {n + 1} waited, up {up:.1f} s after there was room'


def main():
    report = bed.Report('full')
    with bed.Bed.own(*OPTIONS) as b:
        marks = {s: len(b.log(s)) for s in b.sites}
        report.check('another file system is smaller', another_file_system_is_smaller, b)
        report.check('no inodes', no_inodes, b)
        report.check('a big file', a_big_file, b)
        report.check('programs at all sites', all_write, b)
        report.check('a disk that something else fills', filled_by_others, b, 2, 'data')
        report.check('Store is full', filled_by_others, b, 3, 'store')
        report.check('no server stopped', lambda: bed.expect(not any('stops serving' in b.log(s)[marks[s]:] for s in b.sites), 'one did'))
        report.check('Store has no room at all', store_without_any_room, b, 3)
        report.check('a start with a full Store', a_start_without_room, b, 3)
        b.remount()     # what it has looked up a client may believe for a minute
        report.check('equal trees', trees.clients_equal, b)
        report.check('nfs4rctl verify', trees.verify, b)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
