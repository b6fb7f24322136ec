"""An OPEN_DOWNGRADE by hand, after something has happened. NFSv4.0.

	raw_downgrade.py ADDRESS PATH UID GO      opens the file to read and write, and once more to read; says "ready", waits until GO exists, and gives the writing
	                                          back. Prints {"first": status, "then": status of a second try, which has the next seqid, if the first one failed}

PATH begins at the server's pseudo root.
"""
import json
import os
import struct
import sys
import time

from raw_open import DELAY, GRACE, Client, Owner
from raw_readdir import walk

OPEN_DOWNGRADE, READ, WRITE = 21, 1, 2


class Opener(Owner):
    def downgrade(self):
        op = struct.pack('>I', OPEN_DOWNGRADE) + self.stateid + struct.pack('>III', self.next(), READ, 0)
        status, r = self.client.run(walk(self.client.path) + [op], OPEN_DOWNGRADE)
        if status == 0:
            self.stateid = r.take(16)
        return status


def main(address, path, uid, go):
    owner = Opener(Client(address, path, int(uid)), 'o')
    for access in (READ | WRITE, READ):
        while (status := owner.open(access, 0, False)) in (DELAY, GRACE):
            time.sleep(0.2)
        if status:
            sys.exit(f'OPEN: {status}')
    print('ready', flush=True)
    end = time.monotonic() + 30
    while not os.path.exists(go) and time.monotonic() < end:
        time.sleep(0.05)
    said = {'first': owner.downgrade()}
    if said['first']:
        said['then'] = owner.downgrade()
    print(json.dumps(said))


if __name__ == '__main__':
    main(*sys.argv[1:])
