#!/usr/bin/python3
"""Programs that rely on locks, at several clients at a time: nothing that one of them was told is lost, and what may not be is refused.

	t_lock_programs.py [one|far|sites]      one: clients of one server; far: 40 ms from each other; sites: each has a server of its own. Default: one, sites

ROWS: inserts of all clients together (default 200 and 120; the long form has 10000, and takes hours). SQLite, qemu-img, Git, Subversion, Mercurial, mailboxes with procmail's lockfile and with fcntl.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
from lock_clients import PARTS, bed_for, none_left

DIR = '/nfs/programs'


class Part:
    def __init__(self, name):
        self.name, self.far = name, name != 'one'
        self.clients = 3 if self.far else 2
        self.rows = int(os.environ.get('ROWS', 120 if self.far else 200))
        self.commits = {'git': 3, 'svn': 3, 'hg': 2} if self.far else {'git': 2, 'svn': 1, 'hg': 1}
        self.messages = 20 if self.far else 10
        # `one` has little time, and its clients see what one server has.
        self.verified = list(range(1, self.clients + 1)) if self.far else [2]


def at_all(b, do, path, n, timeout):
    """So many at each client at once; what was acknowledged, and a note."""
    start = time.monotonic()
    said = bed.everywhere(lambda s: json.loads(b.must_py(s, 'lock_programs.py', do, path, f'site{s}', str(n), timeout=timeout).splitlines()[-1]), b.clients)
    done = sorted(name for of_site in said.values() for name in of_site['done'])
    seconds = time.monotonic() - start
    bed.expect(len(done) == n * len(b.clients), f'{len(done)} of {n * len(b.clients)} were acknowledged')
    return done, f'{len(done)} in {seconds:.1f} s, {len(done) / seconds:.1f}/s, again {sum(of_site["again"] for of_site in said.values())}'


def nothing_lost(done, there, what):
    missing, more = sorted(set(done) - set(there)), sorted(set(there) - set(done))
    bed.expect(not missing and not more and len(there) == len(done),
               f'{what}: {len(done)} acknowledged, {len(there)} are there; missing {missing[:5]}, by nobody {more[:5]}')


def sqlite(b, part):
    path, n = f'{DIR}/db', part.rows // len(b.clients)

    def sql(site, text):
        return b.sh(site, f"""/usr/bin/python3 -c "
import sqlite3
for row in sqlite3.connect('{path}', timeout=60).execute('''{text}'''): print(*row)" """, timeout=120).splitlines()
    sql(1, 'CREATE TABLE rows (who TEXT, n INTEGER, text TEXT)')
    done, note = at_all(b, 'insert', path, n, part.rows + 120)
    for site in part.verified:
        b.must('client', site, 'drop-caches')
        bed.expect(sql(site, 'PRAGMA integrity_check') == ['ok'], f'integrity_check at site {site} is not ok')
        nothing_lost(done, [line.replace(' ', '.') for line in sql(site, 'SELECT who, n FROM rows')], f'rows at site {site}')
    return note


def disk_image(b, part):
    """qemu-io has the image open to write; qemu-img and a second one are refused, and served when it has ended."""
    path = f'{DIR}/image.qcow2'
    b.sh(1, f'qemu-img create -q -f qcow2 {path} 8M')
    second = f"qemu-io -f qcow2 -c 'write -P 2 0 4k' {path}"
    holder = b.start_sh(1, f"mkfifo /run/say; qemu-io -f qcow2 {path} </run/say & exec 3>/run/say; echo write -P 1 0 64k >&3; echo flush >&3; wait", timeout=120)
    try:
        line = bed.line_of(holder)
        bed.expect('wrote' in line or 'qemu-io>' in line, f'qemu-io: {line}')
        for command in second, f'qemu-img check {path}', f'qemu-img resize -q {path} 16M':
            r = b.tb('sh', b.clients[1], '-n', '-t', 60, '--', 'sh', '-c', command)
            said = r.stdout + r.stderr
            bed.expect('lock' in said and 'wrote' not in said, f'{command}, while it is open at another client: status {r.returncode}, {said}')
    finally:
        b.sh(1, 'pkill -x qemu-io; true')
        holder.communicate(timeout=30)
    said = b.sh(b.clients[1], second)
    bed.expect('wrote' in said, f'{second}, when it is free: {said}')
    return 'three refused, one served'


def repository(b, part, kind):
    path = f'{DIR}/{kind}'
    make = {'git': f'git init -q --bare -b main {path} && git init -q -b main /run/first && cd /run/first && git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m 0 &&'
                   f' git -c safe.directory="*" push -q {path} HEAD:main', 'svn': f'svnadmin create {path}', 'hg': f'hg init {path} && cd {path} && echo first >first && hg commit -q -u test -Am first'}[kind]
    b.sh(1, f'export HOME=/root; {make}')
    done, note = at_all(b, kind, path, part.commits[kind], 600)
    for site in part.verified:
        b.must('client', site, 'drop-caches')
        verify = {'git': f"git -c safe.directory='*' --git-dir={path} fsck --strict 2>&1 && git -c safe.directory='*' --git-dir={path} log --format=%s main | grep site",
                  'svn': f"svnadmin verify -q {path} && svn ls file://{path}", 'hg': f"cd {path} && HGPLAIN=1 hg verify -q && HGPLAIN=1 hg log --template '{{desc}}\\n'"}[kind]
        nothing_lost(done, [line for line in b.sh(site, f'export HOME=/root LC_ALL=C.UTF-8; {verify}', timeout=120).splitlines() if line.startswith('site')], f'{kind} at site {site}')
    return note


def mailbox(b, part, kind):
    """Every message is there, whole."""
    path = f'{DIR}/mbox-{kind}'
    b.sh(1, f'touch {path}')
    done, note = at_all(b, kind, path, part.messages, 300)
    b.drop_caches(b.clients)
    for site in part.verified:
        there, bad = [], []
        for text in b.sh(site, f'cat {path}').split('From test@example.com ')[1:]:
            name = text.split('Subject: ', 1)[1].split('\n')[0] if 'Subject: ' in text else text[:80]
            there.append(name)
            bad += [name] if text.count(f'body of {name}\n') != 50 or text.count('\n') != 54 else []
        nothing_lost(done, there, f'messages at site {site}')
        bed.expect(not bad, f'messages that are not whole, at site {site}: {bad[:5]}')
    return note


def run(part, report):
    with bed_for(part.name, clients=part.clients) as b:
        b.sh(1, f'mkdir {DIR}')
        for name, *what in (('SQLite, a row in each transaction', sqlite), ('qemu-img and a disk image that is open', disk_image), ('Git, pushes', repository, 'git'),
                            ('Subversion, commits', repository, 'svn'), ('Mercurial, pushes', repository, 'hg'), ('a mailbox, lockfile', mailbox, 'dotlock'),
                            ('a mailbox, fcntl', mailbox, 'lockf')):
            report.check(f'{part.name}: {name}', what[0], b, part, *what[1:])
        report.check(f'{part.name}: no lock is left', none_left, b)
        report.check(f'{part.name}: servers live', b.servers_alive)


def main():
    report = bed.Report('lock_programs')
    for name in sys.argv[1:] or PARTS:
        run(Part(name), report)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
