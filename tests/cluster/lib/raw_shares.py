"""Opens with share reservations by several clients of several servers, as programs of Windows and LibreOffice make them. NFSv4.0, by hand.

	raw_shares.py steps PATH WHO=ADDRESS ... -- STEP ...     each WHO is a client of its own, of the server at ADDRESS
	raw_shares.py hold PATH ADDRESS ACCESS DENY              one open; says "open" (or the status), and stays without a word until it is killed

A STEP is WHO,open,ACCESS,DENY or WHO,close or WHO,downgrade,ACCESS,DENY. ACCESS: 1 read, 2 write, 3 both; DENY: the same, 0 nothing.
WHO/x is a second program of that client. Prints {"said": [status of each], "seconds": [...]}.
"""
import json
import os
import struct
import sys
import time

from raw_downgrade import OPEN_DOWNGRADE
from raw_open import DELAY, GRACE, Client, Owner, set_client_id
from raw_readdir import walk

PATIENCE = 40               # seconds


class Program(Owner):
    def downgrade(self, access, deny):
        op = struct.pack('>I', OPEN_DOWNGRADE) + self.stateid + struct.pack('>III', self.next(), access, deny)
        status, r = self.client.run(walk(self.client.path) + [op], OPEN_DOWNGRADE)
        if status == 0:
            self.stateid = r.take(16)
        return status

    def close(self):
        status = super().close()
        self.stateid = None
        return status


class Machine(Client):
    def __init__(self, address, path, name):
        self.name = name
        super().__init__(address, path, 0)

    def begin(self):
        self.id = set_client_id(self.run, f'raw_shares {os.getpid()} {self.name}'.encode())


def patiently(function, *args):
    end = time.monotonic() + PATIENCE
    while (status := function(*args)) in (DELAY, GRACE) and time.monotonic() < end:
        time.sleep(0.05)
    return status


def steps(path, args):
    split = args.index('--')
    machines = {who: Machine(address, path, who) for who, address in (a.split('=') for a in args[:split])}
    programs, said, seconds = {}, [], []
    for step in args[split + 1:]:
        who, do, *rest = step.split(',')
        program = programs.setdefault(who, Program(machines[who.split('/')[0]], who))
        start = time.monotonic()
        if do == 'open':
            said.append(patiently(program.open, int(rest[0]), int(rest[1]), False))
        elif do == 'downgrade':
            said.append(patiently(program.downgrade, int(rest[0]), int(rest[1])))
        else:
            said.append(patiently(program.close))
        seconds.append(round(time.monotonic() - start, 3))
    for program in programs.values():
        if program.stateid:
            program.close()
    print(json.dumps({'said': said, 'seconds': seconds}))


def hold(path, address, access, deny):
    program = Program(Machine(address, path, 'hold'), 'hold')
    print(patiently(program.open, int(access), int(deny), False) or 'open', flush=True)
    time.sleep(600)


if __name__ == '__main__':
    if sys.argv[1] == 'steps':
        steps(sys.argv[2], sys.argv[3:])
    else:
        hold(*sys.argv[2:])
