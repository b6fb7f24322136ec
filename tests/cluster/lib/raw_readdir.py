"""One READDIR of a directory, by hand: whether the reply is well-formed XDR to its last byte, which a forgiving client does not ask.

	raw_readdir.py ADDRESS PATH        prints {"op": 26, "status": of READDIR, "names": [..], "eof": ..} as JSON; fails when the reply is malformed

If an operation before READDIR hears DELAY, `op` is that one.

NFSv4.0, from the first cookie on. PATH begins at the server's pseudo root.
"""
import json
import socket
import struct
import sys

PUTROOTFH, LOOKUP, READDIR = 24, 15, 26
DELAY = 10008               # NFS4ERR_DELAY
ATTRS = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 11 | 1 << 20       # type, change, size, rdattr_error, fileid (RFC 7530, 5.6 and 5.7)


class Malformed(Exception):
    pass


def opaque(data):
    return struct.pack('>I', len(data)) + data + bytes(-len(data) % 4)


def walk(path):
    """The operations that lead to it."""
    return [struct.pack('>I', PUTROOTFH)] + [struct.pack('>I', LOOKUP) + opaque(n.encode()) for n in path.strip('/').split('/') if n]


def compound(ops, uid=0):
    cred = struct.pack('>I', 0) + opaque(b'test') + struct.pack('>III', uid, uid, 0)
    call = struct.pack('>IIIIII', 0x4e465334, 0, 2, 100003, 4, 1) + struct.pack('>I', 1) + opaque(cred) + struct.pack('>II', 0, 0)
    return call + opaque(b'') + struct.pack('>II', 0, len(ops)) + b''.join(ops)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if self.at + n > len(self.data):
            raise Malformed(f'the reply ends at {len(self.data)}, {self.at + n - len(self.data)} bytes too early')
        self.at += n
        return self.data[self.at - n:self.at]

    def u32(self):
        return struct.unpack('>I', self.take(4))[0]

    def flag(self):
        value = self.u32()
        if value > 1:
            raise Malformed(f'{value} in place of a boolean at {self.at - 4}')
        return value == 1

    def opaque(self):
        n = self.u32()
        data = self.take(n)
        self.take(-n % 4)
        return data


def receive(s, n):
    data = b''
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            raise Malformed('the server closed the connection')
        data += more
    return data


class Connection:
    """To ADDRESS, or ADDRESS:PORT. Each call has a number of its own: else Ganesha takes the second for a repetition of the first."""
    def __init__(self, address):
        host, _, port = address.partition(':')
        self.socket = socket.create_connection((host, int(port or 2049)), 30)
        self.under_way = self.calls = 0

    def send(self, request):
        self.calls += 1
        self.socket.sendall(struct.pack('>II', 1 << 31 | len(request), self.calls) + request[4:])
        self.under_way += 1

    def take(self):
        """An answer, its fragments put together."""
        data, last = b'', False
        while not last:
            mark, = struct.unpack('>I', receive(self.socket, 4))
            last = bool(mark >> 31)
            data += receive(self.socket, mark & 0x7fffffff)
        self.under_way -= 1
        return data

    def ask(self, request):
        self.send(request)
        return self.take()


def ask(address, request):
    """The reply to one call on a connection of its own."""
    c = Connection(address)
    with c.socket:
        return c.ask(request)


def results_of(data):
    """A Reader at the first result, and how many there are."""
    r = Reader(data)
    header = [r.u32() for _ in range(4)]        # xid, REPLY, accepted, flavour of the verifier
    r.opaque()
    if header[1:3] != [1, 0] or r.u32() != 0:
        raise Malformed('the call was not accepted')
    r.u32()                                     # status of the compound: that of its last operation
    r.opaque()
    return r, r.u32()


def parse(data):
    r, results = results_of(data)
    for n in range(results):
        op, status = r.u32(), r.u32()
        if op == READDIR:
            break
        if status == DELAY:
            return {'op': op, 'status': status, 'names': [], 'eof': False}
        if status:
            raise Malformed(f'operation {op} has status {status}')
    names, eof = [], False
    if status == 0:
        r.take(8)                               # cookie verifier
        while r.flag():
            r.take(8)                           # cookie
            names.append(r.opaque().decode())
            for _ in range(r.u32()):
                r.u32()
            r.opaque()
        eof = r.flag()
    if r.at != len(data) or n + 1 != results:
        raise Malformed(f'{len(data) - r.at} bytes after the end')
    return {'op': READDIR, 'status': status, 'names': names, 'eof': eof}


if __name__ == '__main__':
    listing = struct.pack('>IQQIIII', READDIR, 0, 0, 8192, 32768, 1, ATTRS)
    print(json.dumps(parse(ask(sys.argv[1], compound(walk(sys.argv[2]) + [listing])))))
