#!/usr/bin/python3
"""A server that is cut off goes on for the time of its lease, dies, is given up, and comes back: the others go on with what it controlled, what only it had
is saved at its return, and all copies are equal afterwards.
"""
import glob
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import trees

DIR = '/nfs/giveup'


def status(b, site):
    return b.ask(site, 'status')


def members(b, site):
    return status(b, site)['view']['members']


def write_until_gone(b):
    """Site 3 works alone in its directory, at what needs nobody else: new files, and one that stays open. The link goes first, then, within its lease, the server."""
    b.sh(1, f'mkdir {DIR} && echo old >{DIR}/f')
    b.sh(3, f'mkdir {DIR}/mine && echo old >{DIR}/mine/f && echo old >{DIR}/mine/shared && sync')
    writer = b.start_sh(3, f'for i in $(seq 2000); do echo $i >{DIR}/mine/n$i; done & '
                        f'dd if=/dev/zero of={DIR}/mine/f bs=64 count=5000 oflag=append,sync conv=notrunc; wait', timeout=100)
    made_more(b, 20)
    b.must('link', 3, 'all', 'cut')
    made_more(b, 20)
    b.kill(3)
    bed.eventually(30, lambda: members(b, 1) == [1, 2], lambda: f'members: {members(b, 1)}', 0.2)
    return writer


def made_more(b, files):
    """Site 3 makes so many."""
    directory = f'{b.data(3)}/giveup/mine'
    before = len(os.listdir(directory))
    bed.eventually(20, lambda: len(os.listdir(directory)) >= before + files, f'site 3 does not make {files} files', 0.02)


def give_up(b):
    blocked = b.status_of(1, f'echo now >>{DIR}/mine/shared', 6)
    bed.expect(blocked != 0, 'what server 3 controls is not waited for, so there is nothing to give up')
    r = b.ctl(1, 'abandon', '3', '--yes')
    bed.expect(r.returncode == 0, f'abandon: {r.stdout}{r.stderr}')
    start = time.time()
    bed.eventually(30, lambda: status(b, 2)['durability']['sealed'] == [3], lambda: f'{status(b, 2)["durability"]}', 0.1)
    took = time.time() - start
    b.sh(2, f'echo others >{DIR}/mine/others && echo others >>{DIR}/mine/shared')
    return f'{r.stdout.split(".")[0].strip()}; its log had ended {took:.1f} s later'


def come_back(b, writer):
    b.must('link', 3, 'all', 'heal')  # not before its log has ended: the kernel still has what the dead server had sent, and others would get it after all
    start = time.time()
    b.must('server', 3, 'start')
    bed.eventually(60, lambda: b.tb('server', 3, 'pid').returncode == 0 and status(b, 3)['state'] == 'serving',
                   lambda: f'state: {status(b, 3)["state"]}', 0.3)
    took = time.time() - start
    writer.communicate(timeout=120)
    lists = glob.glob(os.path.join(b.server_dir(3), '**', 'conflicts', '3-*', 'LIST.txt'), recursive=True)
    bed.expect(len(lists) == 1, f'lists of what was undone: {lists}\n' + '\n'.join(b.log(3).splitlines()[-15:]))
    with open(lists[0]) as f:
        text = f.read()
    bed.expect('Undone at server 3:' in text and '/giveup/mine/' in text, text[:2000])
    saved = os.path.join(os.path.dirname(lists[0]), 'files/giveup/mine/f')
    bed.expect(os.path.exists(saved), f'{saved} is missing')
    # (not the file that site 3's client had open: it writes its own pages once more)
    bed.expect('others\n' in b.sh(3, f'cat {DIR}/mine/shared'), 'site 3 does not read what the others wrote')
    return f'serves after {took:.1f} s; {len(text.splitlines()) - 4} updates undone'


def main():
    report = bed.Report('giveup')
    with bed.Bed.own('--rtt', '20ms', *bed.SHORT) as b:
        writer = write_until_gone(b)
        ok = report.check('the others go on after abandon', give_up, b)
        if ok and report.check('the given-up server returns', come_back, b, writer):
            b.no_controls(30)
            report.check('equal disks', trees.disks_equal, b)
            report.check('nfs4rctl verify', trees.verify, b)
        report.check('all servers alive', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
