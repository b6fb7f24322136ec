"""Opens of one file by hand, as no Linux client makes them. NFSv4.0.

	raw_open.py ADDRESS PATH UID OWNER,ACCESS,DENY[,cut] ...       prints {"opens": [status of each], "size": of the file in the end}

One OPEN after the other, UNCHECKED, of a file that exists; cut: with size 0. All are open together, and are closed in the end. PATH
begins at the server's pseudo root.
"""
import json
import os
import struct
import sys
import time

from raw_readdir import Malformed, ask, compound, opaque, results_of, walk

CLOSE, GETATTR, LOOKUP, OPEN, OPEN_CONFIRM, PUTROOTFH, SETCLIENTID, SETCLIENTID_CONFIRM = 4, 9, 15, 18, 20, 24, 35, 36
SIZE = 1 << 4
DELAY, GRACE = 10008, 10013
CONFIRM = 2


def run(address, uid, ops, last):
    """(status, Reader at what the last operation answered). All before have no result but OK."""
    return answer_of(ask(address, compound(ops, uid)), last)


def answer_of(data, last):
    """The same, of an answer's bytes."""
    r, results = results_of(data)
    for _ in range(results):
        op, status = r.u32(), r.u32()
        if op == last or status:
            return status, r
    raise Malformed(f'no result of operation {last}')


def set_client_id(run_ops, name):
    """A new client of that name (bytes), confirmed: its number. run_ops: (operations, the last one) -> (status, Reader)"""
    op = struct.pack('>I', SETCLIENTID) + os.urandom(8) + opaque(name)
    op += struct.pack('>I', 0x40000000) + opaque(b'tcp') + opaque(b'0.0.0.0.0.0') + struct.pack('>I', 0)
    status, r = run_ops([op], SETCLIENTID)
    if status:
        raise Malformed(f'SETCLIENTID: {status}')
    number, = struct.unpack('>Q', r.take(8))
    status, _ = run_ops([struct.pack('>IQ', SETCLIENTID_CONFIRM, number) + r.take(8)], SETCLIENTID_CONFIRM)
    if status:
        raise Malformed(f'SETCLIENTID_CONFIRM: {status}')
    return number


class Owner:
    def __init__(self, client, name):
        self.client, self.name, self.seqid, self.stateid = client, name, 0, None

    def next(self):
        self.seqid += 1
        return self.seqid - 1

    def open(self, access, deny, cut):
        return self.create(access, deny, struct.pack('>II', 1, SIZE) + opaque(bytes(8)) if cut else struct.pack('>II', 0, 0))

    def create(self, access, deny, attrs):
        """An OPEN that makes the file if it is not there. attrs: encoded, of a file that is made; a size counts for any"""
        op = struct.pack('>IIIIQ', OPEN, self.next(), access, deny, self.client.id) + opaque(self.name.encode())
        op += struct.pack('>II', 1, 0) + attrs + struct.pack('>I', 0) + opaque(self.client.file.encode())
        status, r = self.client.run(walk(self.client.directory) + [op], OPEN)
        if status:
            return status
        self.stateid = r.take(16)
        r.take(20)                              # change_info4
        if r.u32() & CONFIRM:
            op = struct.pack('>I', OPEN_CONFIRM) + self.stateid + struct.pack('>I', self.next())
            status, r = self.client.run(walk(self.client.path) + [op], OPEN_CONFIRM)
            self.stateid = r.take(16) if status == 0 else None
        return status

    def close(self):
        op = struct.pack('>II', CLOSE, self.next()) + self.stateid
        return self.client.run(walk(self.client.path) + [op], CLOSE)[0]


class Client:
    def __init__(self, address, path, uid):
        self.address, self.path, self.uid = address, path, uid
        self.directory, self.file = os.path.split(path)
        self.begin()

    def begin(self):
        """As after a restart of the client: the server drops all that it holds."""
        self.id = set_client_id(self.run, b'raw_open %d' % os.getpid())

    def run(self, ops, last):
        return run(self.address, self.uid, ops, last)

    def size(self):
        status, r = self.run(walk(self.path) + [struct.pack('>III', GETATTR, 1, SIZE)], GETATTR)
        if status:
            raise Malformed(f'GETATTR: {status}')
        r.take(12)                              # bitmap, length
        return struct.unpack('>Q', r.take(8))[0]


def main(address, path, uid, *opens):
    client = Client(address, path, int(uid))
    owners, said = {}, []
    for step in opens:
        name, access, deny, *cut = step.split(',')
        owner = owners.setdefault(name, Owner(client, name))
        while (status := owner.open(int(access), int(deny), bool(cut))) in (DELAY, GRACE):
            time.sleep(0.2)
        said.append(status)
    size = client.size()
    for owner in owners.values():
        if owner.stateid:
            owner.close()
    print(json.dumps({'opens': said, 'size': size}))


if __name__ == '__main__':
    main(*sys.argv[1:])
