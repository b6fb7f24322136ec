"""Requests with texts and lists that are longer than a server wants, by hand. NFSv4.0.

	raw_bounds.py ADDRESS DIRECTORY         prints {what: status of the operation, or what became of the call}

DIRECTORY lies below the server's pseudo root. After each request the server has to answer another one on a new connection.
"""
import json
import os
import socket
import struct
import sys
import time

from raw_open import DELAY, GRACE
from raw_readdir import Malformed, Reader, ask, compound, opaque, walk

CREATE, GETATTR, LOOKUP, READ, READDIR, READLINK, REMOVE, SAVEFH, SETATTR, WRITE = 6, 9, 15, 25, 26, 27, 28, 32, 34, 38
ACL, OWNER = 12, 36
NO_STATEID = bytes(16)
GARBAGE_ARGS = 4


def u32(*n):
    return struct.pack(f'>{len(n)}I', *n)


def bits(*attrs):
    words = [0] * (max(attrs) // 32 + 1)
    for a in attrs:
        words[a // 32] |= 1 << a % 32
    return u32(len(words), *words)


def setattr(attr, value):
    return u32(SETATTR) + NO_STATEID + bits(attr) + opaque(value)


def ace(who):
    return u32(0, 0, 1) + opaque(who)


def acl(n, who=None):
    return setattr(ACL, u32(n) + b''.join(ace(who if who is not None else b'%d' % (1000 + i)) for i in range(n)))


def symlink(name, text):
    return u32(CREATE, 5) + opaque(text) + opaque(name) + u32(0, 0)


class Server:
    def __init__(self, address, directory):
        self.address, self.directory = address, directory

    def compound(self, ops):
        """The status of the whole, or what became of the call. self.rest: what the last operation answered if all before have no result but OK."""
        try:
            r = Reader(ask(self.address, compound(ops)))
        except (OSError, Malformed) as e:
            return f'no answer: {e}'
        r.take(16)
        r.opaque()
        accepted = r.u32()
        if accepted:
            return 'garbage' if accepted == GARBAGE_ARGS else f'the call has status {accepted}'
        status = r.u32()
        r.opaque()
        if r.u32() == len(ops):
            r.take(8 * len(ops))
        elif status == 0:
            raise Malformed('some operations have no result, and none failed')
        self.rest = r
        return status

    def status(self, op, path=''):
        """Of that operation, at that object."""
        end = time.monotonic() + 40
        while (status := self.compound(walk(os.path.join(self.directory, path)) + [op])) in (DELAY, GRACE) and time.monotonic() < end:
            time.sleep(0.1)
        return status

    def serves(self):
        return self.status(u32(GETATTR) + bits(1)) == 0


def texts(s):
    for n in (255, 256, 4096, 8191, 8192, 100000):
        name = b'n' * n
        yield f'LOOKUP of a name of {n}', s.status(u32(LOOKUP) + opaque(name))
        yield f'CREATE of a name of {n}', s.status(symlink(name, b'x'))
        yield f'REMOVE of a name of {n}', s.status(u32(REMOVE) + opaque(name))
    for n in (1023, 1024, 4095, 4096, 8191, 8192):
        yield f'CREATE of a link to {n}', s.status(symlink(b'link%d' % n, b't' * n))
        if s.status(u32(LOOKUP) + opaque(b'link%d' % n)) == 0:
            yield f'READLINK of {n}', s.status(u32(READLINK), f'link{n}') or len(s.rest.opaque())
    for n in (0, 255, 1024, 1025, 100000):
        yield f'SETATTR of an owner of {n}', s.status(setattr(OWNER, opaque(b'o' * n)), 'f')


def lists(s):
    for n in (1024, 1025, 3000, 4096, 4097, 100000):
        yield f'SETATTR of an ACL of {n}', s.status(acl(n), 'f')
    yield 'SETATTR of an ACL that says it has more', s.status(setattr(ACL, u32(1000) + ace(b'1000')), 'f')
    yield 'SETATTR of an ACL without a name', s.status(setattr(ACL, u32(2) + ace(b'OWNER@') + ace(b'')), 'f')
    yield 'SETATTR of an ACL of a stranger', s.status(acl(1, b'nobody.knows@nowhere.invalid'), 'f')
    for n in (3, 100, 100000):
        yield f'GETATTR with {n} words of bits', s.status(u32(GETATTR, n, 2) + bytes(4 * (n - 1)))
        listing = struct.pack('>IQQII', READDIR, 0, 0, 8192, 32768)
        yield f'READDIR with {n} words of bits', s.status(listing + u32(n, 2) + bytes(4 * (n - 1)))
    for n in (0, 100, 0xffffffff):
        yield f'READDIR into {n} bytes', s.status(struct.pack('>IQQII', READDIR, 0, 0, n, n) + bits(1))


def data(s):
    for n in (4 << 20, (4 << 20) + 1, 9 << 20):
        yield f'WRITE of {n}', s.status(u32(WRITE) + NO_STATEID + struct.pack('>QI', 0, 2) + opaque(bytes(n)), 'f') or s.rest.u32()
    for n in (4 << 20, 0xffffffff):
        yield f'READ of {n}', s.status(u32(READ) + NO_STATEID + struct.pack('>QI', 0, n), 'f') or (s.rest.flag(), len(s.rest.opaque()))[1]
    for n in (1000, 1025, 100000):
        yield f'{n} operations', s.compound(walk(s.directory) + [u32(SAVEFH)] * n)


def main(address, directory):
    s, said = Server(address, directory), {}
    for part in (texts, lists, data):
        for what, status in part(s):
            said[what] = status
            if not s.serves():
                said[what] = f'{status}, and then no answer to others'
    print(json.dumps(said))


if __name__ == '__main__':
    socket.setdefaulttimeout(30)
    main(*sys.argv[1:])
