"""Locks by hand, without a Linux client. NFSv4.0.

	raw_lock.py ADDRESS DIRECTORY NAME LOCAL       of a file that has not arrived at the server yet
	raw_lock.py keep ADDRESS DIRECTORY NAME        one, from "locked" on standard output to the next line of standard input; then "unlocked"

The first makes NAME in DIRECTORY (a path of the server's pseudo file system), and asks for locks while LOCAL, where the server will have it, is not there. Then says
"arrive" on standard output, waits until it is, and asks again. Prints {"before": {request: status}, "after": {...}, "early": was LOCAL missing until the last answer} as JSON.
Says "not made" instead, and ends, when no server has made the file within a few seconds.
"""
import json
import os
import select
import struct
import sys
import time

from raw_open import DELAY, GRACE, Client, Owner
from raw_readdir import opaque, walk

LOCK, LOCKT, LOCKU, READ_LT, WRITE_LT = 12, 13, 14, 1, 2
RANGE = 0, 100                                  # offset, length
PATIENCE = 5                                    # s
RENEW = 3                                       # s, well within a lease


class Opener(Owner):
    def make(self):
        return self.create(3, 0, struct.pack('>III', 2, 0, 1 << 1) + opaque(struct.pack('>I', 0o644)))     # mode


class Locker:
    def __init__(self, opener, name):
        self.opener, self.client, self.seqid, self.stateid = opener, opener.client, 0, None
        self.owner = struct.pack('>Q', self.client.id) + opaque(name.encode())

    def run(self, op, last):
        return self.client.run(walk(self.client.path) + [op], last)

    def lock(self, kind=WRITE_LT, where=RANGE):
        op = struct.pack('>III', LOCK, kind, 0) + struct.pack('>QQ', *where)
        if self.stateid:
            op += struct.pack('>I', 0) + self.stateid + struct.pack('>I', self.seqid)
        else:
            op += struct.pack('>II', 1, self.opener.next()) + self.opener.stateid + struct.pack('>I', self.seqid) + self.owner
        status, r = self.run(op, LOCK)
        self.seqid += 1
        if status == 0:
            self.stateid = r.take(16)
        return status

    def test(self, kind=WRITE_LT):
        return self.run(struct.pack('>II', LOCKT, kind) + struct.pack('>QQ', *RANGE) + self.owner, LOCKT)[0]

    def unlock(self):
        if not self.stateid:
            return 'it was never locked'
        status, r = self.run(struct.pack('>III', LOCKU, WRITE_LT, self.seqid) + self.stateid + struct.pack('>QQ', *RANGE), LOCKU)
        self.seqid += 1
        if status == 0:
            self.stateid = r.take(16)
        return status


def requests(one, other):
    """One takes it, the other one may not; then the other way round."""
    return {'lock': one.lock(), 'test by another': other.test(), 'lock by another': other.lock(), 'test by the holder': one.test(), 'unlock': one.unlock(),
            'test when it is free': other.test(), 'lock when it is free': other.lock()}


def patiently(function):
    end = time.monotonic() + 12 * PATIENCE
    while (status := function()) in (DELAY, GRACE) and time.monotonic() < end:
        time.sleep(0.1)
    if status:
        sys.exit(f'{function.__name__}: {status}')


def keep(address, directory, name):
    client = Client(address, os.path.join(directory, name), 0)
    opener = Opener(client, 'opener')
    patiently(opener.make)
    locker = Locker(opener, 'keeper')
    patiently(locker.lock)
    print('locked', flush=True)
    while not select.select([sys.stdin], [], [], RENEW)[0]:
        locker.test()
    patiently(locker.unlock)
    print('unlocked', flush=True)
    opener.close()


def main(address, directory, name, local):
    client = Client(address, os.path.join(directory, name), 0)
    opener = Opener(client, 'opener')
    end = time.monotonic() + PATIENCE
    while (status := opener.make()) in (DELAY, GRACE):
        if time.monotonic() > end:
            print('not made', flush=True)
            return
        time.sleep(0.1)
    if status:
        sys.exit(f'OPEN: {status}')
    one, other = Locker(opener, 'one'), Locker(opener, 'other')
    before = requests(one, other)
    early = not os.path.exists(local)
    print('arrive', flush=True)
    end = time.monotonic() + 8
    while not os.path.exists(local):
        if time.monotonic() > end:
            sys.exit(f'{local} does not come')
        time.sleep(0.05)
    after = {'held from before': one.lock(), 'unlock': other.unlock(), **{f'then {k}': v for k, v in requests(one, other).items()}, 'last unlock': other.unlock()}
    opener.close()
    print(json.dumps({'before': before, 'after': after, 'early': early}))


if __name__ == '__main__':
    keep(*sys.argv[2:]) if sys.argv[1] == 'keep' else main(*sys.argv[1:])
