#!/usr/bin/python3
"""
The largest that clients may send, on XFS at three sites: values of extended attributes up to 64 KiB, lists of thousands of names, ACLs of thousands of entries, and requests by hand
that are larger than any server wants (lib/raw_bounds.py). What is set is the same at all sites, after a repair and on new disks, too; what is not is refused, and nobody waits for an answer.

OPEN_DOWNGRADE by hand (lib/raw_downgrade.py): after a chmod, and while the server that controls the file is silent.
"""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import big_attrs
import trees
from t_views import wait_back, wait_removed

OPTIONS = ('--rtt', '20ms', *bed.SHORT, '--mem', '384M', '--images', '320M', *(o for s in (1, 2, 3) for o in ('--fs', f'{s}=xfs')))
DIR = '/nfs/big'
NAMES, USERS = 1500, (1025, 2700)        # more users do not fit into the 64 KiB that a Linux client sends
IO = 4 << 20
GARBAGE, OK, INVAL, NAMETOOLONG, TOOSMALL, RESOURCE, BADXDR, BADOWNER = 'garbage', 0, 22, 63, 10005, 10018, 10036, 10039
WANTED = {
    **{f'{op} of a name of {n}': NAMETOOLONG if n < 8192 else GARBAGE for op in ('LOOKUP', 'CREATE', 'REMOVE') for n in (256, 4096, 8191, 8192, 100000)},
    'LOOKUP of a name of 255': 2, 'CREATE of a name of 255': OK, 'REMOVE of a name of 255': OK,
    # XFS has links of up to 1,023 bytes
    'CREATE of a link to 1023': OK, 'READLINK of 1023': 1023, **{f'CREATE of a link to {n}': NAMETOOLONG if n < 8192 else GARBAGE for n in (1024, 4095, 4096, 8191, 8192)},
    **{f'SETATTR of an owner of {n}': BADOWNER if 0 < n <= 1024 else INVAL for n in (0, 255, 1024, 1025, 100000)},
    **{f'SETATTR of an ACL of {n}': OK for n in (1024, 1025, 3000, 4096)}, 'SETATTR of an ACL of 4097': BADXDR, 'SETATTR of an ACL of 100000': GARBAGE,
    'SETATTR of an ACL that says it has more': BADXDR, 'SETATTR of an ACL without a name': INVAL, 'SETATTR of an ACL of a stranger': OK,     # who is nobody, as for Ganesha elsewhere
    **{f'{op} with {n} words of bits': OK for op in ('GETATTR', 'READDIR') for n in (3, 100, 100000)},
    'READDIR into 0 bytes': TOOSMALL, 'READDIR into 100 bytes': OK, f'READDIR into {0xffffffff} bytes': OK,
    **{f'WRITE of {n}': IO for n in (IO, IO + 1, 9 << 20)}, f'READ of {IO}': IO, f'READ of {0xffffffff}': IO,
    '1000 operations': RESOURCE, '1025 operations': GARBAGE, '100000 operations': GARBAGE,
}


def attrs(b, site, *args):
    return json.loads(b.must_py(site, 'big_attrs.py', *args, timeout=100))


def all_see(b):
    b.drop_caches()
    wrong = bed.everywhere(lambda s: attrs(b, s, 'seen', DIR, len(b.sites)), b.sites)
    bed.expect(not any(wrong.values()), f'{wrong}')


def values(b):
    b.sh(1, f'mkdir {DIR} && mkdir /nfs/raw && echo x >/nfs/raw/f')
    said = bed.everywhere(lambda s: attrs(b, s, 'set', DIR, s), b.sites)
    bed.expect(all(not any(of.values()) for of in said.values()), f'{said}')
    all_see(b)
    b.no_controls(60)
    all_see(b)
    one = attrs(b, 1, 'one', f'{DIR}/1.0', 65537)
    bed.expect(one == 7, f'one that is too large for Linux: {one}')


class Writer:
    """A program at that site that has the file open and writes to it, so that its server controls it."""
    def __init__(self, b, site, path):
        self.b, self.site, self.path, self.over = b, site, path, os.path.join(b.run, 'over')

    def __enter__(self):
        if os.path.exists(self.over):
            os.unlink(self.over)
        self.b.sh(self.site, f'echo x >{self.path}')
        self.program = self.b.start_sh(self.site, f'exec 3>>{self.path}; until [ -e {self.over} ]; do echo x >&3; sync {self.path}; sleep 0.1; done')
        bed.eventually(20, lambda: int(self.b.sh(self.site, f'stat -c %s {self.path}')) > 10, 'nothing is written')

    def __exit__(self, *_):
        open(self.over, 'w').close()
        self.program.communicate(timeout=100)


def forwarded(b):
    """While another site controls the file."""
    with Writer(b, 1, f'{DIR}/held'):
        before = b.counters()
        said = [attrs(b, 2, 'one', f'{DIR}/held', n) for n in (8192, 65536)]
        after = b.counters()
    bed.expect(said == [0, 0], f'{said}')
    bed.expect(after['forwards_sent'] >= before['forwards_sent'] + 2, 'nothing was forwarded')
    sizes = b.sh(3, f'getfattr -d -e hex {DIR}/held | wc -c')
    bed.expect(int(sizes) > 2 * (8192 + 65536), f'site 3 sees {sizes} characters')


def many_names(b):
    said = attrs(b, 1, 'names', f'{DIR}/many', NAMES)
    b.drop_caches()
    seen = bed.everywhere(lambda s: attrs(b, s, 'list', f'{DIR}/many'), b.sites)
    bed.expect(said == NAMES and set(seen.values()) == {NAMES}, f'{said}, then {seen}')


def acls(b):
    for n in USERS:
        path = f'{DIR}/acl{n}'
        said = attrs(b, 1, 'acl', path, n)
        b.drop_caches()
        seen = bed.everywhere(lambda s: attrs(b, s, 'users', path), b.sites)
        bed.expect(said == 0 and set(seen.values()) == {n}, f'an ACL of {n}: {said}, then {seen}')


def raw(b, site, program, *args):
    return b.command('ns', site, '--', '/usr/bin/python3', os.path.join(bed.LIB, program), f'10.0.{site}.1', *args)


def by_hand(b):
    r = subprocess.run(raw(b, 1, 'raw_bounds.py', '/data/raw'), capture_output=True, text=True, timeout=200)
    bed.expect(r.returncode == 0, r.stdout + r.stderr)
    said = json.loads(r.stdout)
    wrong = {what: (said.get(what), WANTED.get(what)) for what in {*said, *WANTED} if said.get(what) != WANTED.get(what)}
    bed.expect(not wrong, f'(said, wanted): {wrong}')
    return f'{len(said)} requests'


def downgrade(b, path, uid, meanwhile):
    """What an OPEN_DOWNGRADE at site 1 hears after that."""
    go = os.path.join(b.run, 'go')
    if os.path.exists(go):
        os.unlink(go)
    p = subprocess.Popen(raw(b, 1, 'raw_downgrade.py', path, uid, go), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        ready = bed.line_of(p)
        bed.expect(ready == 'ready\n', ready + (p.stdout.read() if ready != 'ready\n' else ''))
        meanwhile()
        open(go, 'w').close()
        return json.loads(p.communicate(timeout=60)[0])
    finally:
        p.kill()


def downgrade_without_permission(b):
    b.sh(1, 'echo x >/nfs/raw/d && chmod 666 /nfs/raw/d')
    said = downgrade(b, '/data/raw/d', 1000, lambda: b.sh(1, 'chmod 0 /nfs/raw/d'))
    bed.expect(said == {'first': 0}, f'{said}')


def downgrade_while_silent(b):
    pid = int(b.must('server', 2, 'pid'))
    with Writer(b, 2, '/nfs/raw/silent'):
        try:
            said = downgrade(b, '/data/raw/silent', 0, lambda: os.kill(pid, signal.SIGSTOP))
        finally:
            os.kill(pid, signal.SIGCONT)
    bed.expect(said == {'first': 0}, f'{said}')
    wait_back(b, 60)


def repaired(b):
    """A value that somebody changed on one server's disk."""
    b.no_controls(60)
    path = f'{b.server_dir(2)}/data/big/1.65536'
    b.must_in_bed('setfattr', '-n', 'user.big', '-v', 'changed behind NFS', path)
    r = b.ctl(1, 'verify', '/big')
    bed.expect(r.returncode == 1, f'verify does not see it: {r.stdout}{r.stderr}')
    r = b.ctl(2, 'repair', '/big', timeout=90)
    bed.expect(r.returncode == 0 and 'repaired here' in r.stdout, f'repair: {r.returncode} {r.stdout}{r.stderr}')
    got = b.inside('getfattr', '--only-values', '-n', 'user.big', path).stdout
    bed.expect(got.encode() == big_attrs.value(1, 65536), f'{len(got)} bytes, {got[:40]!r}')


def new_disks(b):
    b.no_controls(60)
    b.kill(3, lost=True)
    wait_removed(b, 3)
    b.must_in_bed('sh', '-ec', f'cd {b.server_dir(3)}; find store data -mindepth 1 -delete')
    b.must('server', 3, 'start')
    wait_back(b, 120)
    all_see(b)
    seen = attrs(b, 3, 'list', f'{DIR}/many'), attrs(b, 3, 'users', f'{DIR}/acl{USERS[-1]}')
    bed.expect(seen == (NAMES, USERS[-1]), f'{seen}')


def main():
    report = bed.Report('bounds')
    with bed.Bed.own(*OPTIONS) as b:
        start = time.monotonic()
        report.check('values of all sizes at all sites', values, b)
        report.check('a value for a file that another site controls', forwarded, b)
        report.check('many names', many_names, b)
        report.check('ACLs of many entries', acls, b)
        report.check('requests by hand', by_hand, b)
        report.check('a downgrade asks for no permission', downgrade_without_permission, b)
        report.check('a downgrade while the owner is silent', downgrade_while_silent, b)
        report.check('a repair', repaired, b)
        report.check('new disks', new_disks, b)
        report.check('equal trees on the disks', trees.disks_equal, b)
        report.check('nfs4rctl verify', trees.verify, b)
        report.check('all servers alive', b.servers_alive)
        report.say(f'# {time.monotonic() - start:.0f} s')
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
