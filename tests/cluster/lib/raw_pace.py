"""How fast a client works, by hand and so without a guest's noise: it works for as long as it is told, and says how long its operations took. NFSv4.0.

	raw_pace.py files ADDRESS DIRECTORY     one after the other: makes a small file there, writes it, closes it, and removes it
	raw_pace.py look-ups ADDRESS PATH       looks PATH up

For each line of its standard input, a number of seconds, it prints one line of JSON: {"n": operations, "median_ms", "max_ms"}. Paths begin below the pseudo root. Each call has a number of its own (xid), since
Ganesha answers one that comes twice from its memory. DELAY and GRACE are waited for, and are part of the time.
"""
import json
import os
import struct
import sys
import time

from hostile import Connection
from raw_open import CLOSE, CONFIRM, DELAY, GRACE, OPEN, OPEN_CONFIRM, answer_of, set_client_id
from raw_readdir import Malformed, compound, opaque, walk

GETFH, REMOVE, WRITE = 10, 28, 38
BYTES = 4096
AGAIN = 0.05


class LookUps:
    def __init__(self, address, path):
        self.connection, self.request = Connection(address), compound(walk(path) + [struct.pack('>I', GETFH)])
        self.once()

    def once(self):
        self.ask(lambda: self.request, GETFH)

    def ask(self, make, last):
        """A Reader at what the last operation answered."""
        while True:
            self.connection.send(make())
            status, r = answer_of(self.connection.take(), last)
            if status == 0:
                return r
            if status not in (DELAY, GRACE):
                raise Malformed(f'operation {last}: status {status}')
            time.sleep(AGAIN)


class Files(LookUps):
    def __init__(self, address, directory):
        self.connection, self.directory, self.seqid, self.n = Connection(address), directory, 0, 0
        self.id = set_client_id(self.run, b'raw_pace %d' % os.getpid())
        self.once()

    def run(self, ops, last):
        self.connection.send(compound(ops))
        return answer_of(self.connection.take(), last)

    def next(self):
        self.seqid += 1
        return self.seqid - 1

    def open(self, name):
        def request():
            op = struct.pack('>IIIIQ', OPEN, self.next(), 3, 0, self.id) + opaque(b'o')
            op += struct.pack('>II', 1, 0) + struct.pack('>III', 2, 0, 2) + opaque(struct.pack('>I', 0o644))
            return compound(walk(self.directory) + [op + struct.pack('>I', 0) + opaque(name.encode())])
        r = self.ask(request, OPEN)
        stateid = r.take(16)
        r.take(20)                              # change_info4
        if r.u32() & CONFIRM:
            confirm = struct.pack('>I', OPEN_CONFIRM) + stateid + struct.pack('>I', self.next())
            stateid = self.ask(lambda: compound(walk(f'{self.directory}/{name}') + [confirm]), OPEN_CONFIRM).take(16)
        return stateid

    def once(self):
        self.n += 1
        name = f'f{self.n}'
        stateid, path = self.open(name), walk(f'{self.directory}/{name}')
        write = struct.pack('>I', WRITE) + stateid + struct.pack('>QI', 0, 0) + opaque(bytes(BYTES))
        self.ask(lambda: compound(path + [write]), WRITE)
        self.ask(lambda: compound(path + [struct.pack('>II', CLOSE, self.next()) + stateid]), CLOSE)
        self.ask(lambda: compound(walk(self.directory) + [struct.pack('>I', REMOVE) + opaque(name.encode())]), REMOVE)


def main(kind, address, path):
    worker = {'files': Files, 'look-ups': LookUps}[kind](address, path)
    print(json.dumps({'n': 1}), flush=True)
    for line in sys.stdin:
        took, end = [], time.monotonic() + float(line)
        while (start := time.monotonic()) < end:
            worker.once()
            took.append(1000 * (time.monotonic() - start))
        took.sort()
        print(json.dumps({'n': len(took), 'median_ms': round(took[len(took) // 2], 3), 'max_ms': round(took[-1], 3)}), flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
