"""Many clients of one server, by hand, each with a connection of its own and many files open at once. NFSv4.0.

	raw_many.py ADDRESS DIRECTORY CLIENTS FILES       prints {"open": number of files that were open together, "wrong": [..], "seconds": {..}, "longest": {..}}

Each client creates and opens FILES files in DIRECTORY, which lies below the server's pseudo root and exists. When all are open, every
client writes into each of its files and reads it back; then it closes and removes them. `seconds` has the time of each phase, `longest` its slowest
operation in milliseconds, times of DELAY and GRACE included. `wrong` has what did not succeed.
"""
import json
import os
import struct
import sys
import threading
import time

from raw_open import CLOSE, CONFIRM, DELAY, GRACE, OPEN, OPEN_CONFIRM, answer_of, set_client_id
from raw_readdir import Connection, Malformed, compound, opaque, walk

READ, REMOVE, WRITE = 25, 28, 38
ATTEMPTS = 300                                  # with 0.1 s between: longer than a grace period
TOLD_MAX = 10                                   # in `wrong`


class Many:
    """One client: one connection, one open-owner."""
    def __init__(self, address, directory, number):
        self.connection = Connection(address)
        self.dir, self.number, self.seqid, self.files, self.longest, self.wrong = directory, number, 0, {}, 0, []
        self.id = set_client_id(self.run, b'raw_many %d %d' % (os.getpid(), number))

    def run(self, ops, last):
        """(status, Reader at what the last operation answered)"""
        return answer_of(self.connection.ask(compound(ops)), last)

    def timed(self, what, make_ops, last):
        """As run(), again while the server says DELAY or GRACE."""
        start = time.monotonic()
        for _ in range(ATTEMPTS):
            status, r = self.run(make_ops(), last)
            if status not in (DELAY, GRACE):
                break
            time.sleep(0.1)
        self.longest = max(self.longest, time.monotonic() - start)
        if status:
            self.wrong.append(f'{what} of client {self.number}: {status}')
        return status, r

    def next(self):
        self.seqid += 1
        return self.seqid - 1

    def open(self, name):
        def ops():
            op = struct.pack('>IIIIQ', OPEN, self.next(), 3, 0, self.id) + opaque(b'o')
            op += struct.pack('>II', 1, 0) + struct.pack('>III', 2, 0, 2) + opaque(struct.pack('>I', 0o644))
            return walk(self.dir) + [op + struct.pack('>I', 0) + opaque(name.encode())]
        status, r = self.timed('OPEN', ops, OPEN)
        if status:
            return
        stateid = r.take(16)
        r.take(20)                              # change_info4
        if r.u32() & CONFIRM:
            op = struct.pack('>I', OPEN_CONFIRM) + stateid + struct.pack('>I', self.next())
            status, r = self.run(walk(f'{self.dir}/{name}') + [op], OPEN_CONFIRM)
            if status:
                self.wrong.append(f'OPEN_CONFIRM of client {self.number}: {status}')
                return
            stateid = r.take(16)
        self.files[name] = stateid

    def use(self, name):
        stateid, text = self.files[name], f'{name} of client {self.number}'.encode()
        path = walk(f'{self.dir}/{name}')
        self.timed('WRITE', lambda: path + [struct.pack('>I', WRITE) + stateid + struct.pack('>QI', 0, 0) + opaque(text)], WRITE)
        status, r = self.timed('READ', lambda: path + [struct.pack('>I', READ) + stateid + struct.pack('>QI', 0, 1000)], READ)
        if status == 0 and (r.flag(), r.opaque()) != (True, text):
            self.wrong.append(f'READ of client {self.number}: other bytes, or no end of the file')

    def close(self, name):
        op = [struct.pack('>I', CLOSE)]
        self.timed('CLOSE', lambda: walk(f'{self.dir}/{name}') + [op[0] + struct.pack('>I', self.next()) + self.files[name]], CLOSE)
        self.timed('REMOVE', lambda: walk(self.dir) + [struct.pack('>I', REMOVE) + opaque(name.encode())], REMOVE)


def phase(clients, job):
    """The job for every client at once. Seconds, and milliseconds of the slowest operation."""
    def safely(c):
        try:
            job(c)
        except (OSError, Malformed) as e:
            c.wrong.append(f'client {c.number}: {e}')
    for c in clients:
        c.longest = 0
    threads, start = [threading.Thread(target=safely, args=(c,)) for c in clients], time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return round(time.monotonic() - start, 1), round(1000 * max(c.longest for c in clients))


def main(address, directory, clients, files):
    said = {'seconds': {}, 'longest': {}}
    all_clients = [Many(address, directory, n) for n in range(int(clients))]
    names = {c: [f'c{c.number}f{n}' for n in range(int(files))] for c in all_clients}
    for what, job in (('open', lambda c: [c.open(n) for n in names[c]]), ('use', lambda c: [c.use(n) for n in c.files]),
                      ('close', lambda c: [c.close(n) for n in c.files])):
        said['seconds'][what], said['longest'][what] = phase(all_clients, job)
        if what == 'open':
            said['open'] = sum(len(c.files) for c in all_clients)
    said['wrong'] = [w for c in all_clients for w in c.wrong][:TOLD_MAX]
    print(json.dumps(said))


if __name__ == '__main__':
    main(*sys.argv[1:])
