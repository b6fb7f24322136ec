"""Clients that take all they can get, and one that only works. Each does what it is told: a line on standard input, an answer in JSON on standard output.

	greedy.py works ADDRESS DIRECTORY       SECONDS: look-ups and small files for so long. {"look-up": [ms of each], "file": [ms of each]}
	greedy.py KIND ADDRESS DIRECTORY        on: takes what KIND says, if it has not, and goes on asking a little. {"held": how many, "seconds": ..}
	                                        off: gives it back

NFSv4.0 by hand; DIRECTORY exists, below the pseudo root of the server at ADDRESS or ADDRESS:PORT. KINDS:

	opens           10,000 open files
	locks           1,000 byte-range locks of a file
	lock-files      1,000 locked files
	silent          600 connections that say nothing
	mid-record      600 connections that stop in the middle of a record
	mid-mark        600 connections that stop in the middle of a record's mark
	unread          20 connections that read no answer, of 10 MiB for each

For `off` a client that has state says SETCLIENTID anew, and the server drops all. At the end of its input the program ends without a word: the server has to find out that the lease is over.
"""
import itertools
import json
import os
import select
import socket
import struct
import sys
import time

from raw_lock import Locker
from raw_many import Many
from raw_open import DELAY, GRACE, Client, Owner, answer_of
from raw_readdir import Connection, Malformed, compound, opaque, walk

READ, RENEW, WRITE = 25, 30, 38
NO_STATEID = bytes(16)
MIB = 1 << 20
OPENS, LOCKS, CONNECTIONS, READERS, ANSWERS = 10000, 1000, 600, 20, 10
EVERY = 0.02            # seconds between what a greedy client asks for while it holds all: little, so that it is not the machine that is short
PAUSE = 0.005           # between what the client that works does


def patiently(ask):
    """Its status, when it is not DELAY or GRACE any more."""
    while (status := ask()) in (DELAY, GRACE):
        time.sleep(0.05)
    if status:
        raise Malformed(f'status {status}')


class Session(Client):
    """One connection, one client, files of one directory."""
    def __init__(self, address, directory):
        self.connection = Connection(address)
        super().__init__(address, os.path.join(directory, 'any'), 0)

    def run(self, ops, last):
        return answer_of(self.connection.ask(compound(ops)), last)

    def at(self, name):
        self.file, self.path = name, os.path.join(self.directory, name)


class Opens:
    def __init__(self, address, directory):
        self.session, self.numbers = Session(address, directory), itertools.cycle(range(OPENS))
        self.owner = Owner(self.session, 'o')

    def open(self, name):
        self.session.at(name)
        patiently(lambda: self.owner.open(3, 0, False))

    def on(self):
        for n in range(OPENS):
            self.open(f'o{n}')
        return OPENS

    def step(self):
        self.open(f'o{next(self.numbers)}')

    def off(self):
        self.session.begin()
        self.owner = Owner(self.session, 'o')


class Locks(Opens):
    """Ranges that do not touch, else they would be one."""
    def on(self):
        self.open('l')
        self.locker = Locker(self.owner, 'l')
        for n in range(LOCKS):
            patiently(lambda: self.locker.lock(where=(2 * n, 1)))
        return LOCKS

    def step(self):
        """The same again, behind all others."""
        patiently(lambda: self.locker.lock(where=(2 * LOCKS, 1)))


class LockFiles(Opens):
    def on(self):
        self.lockers = []
        for n in range(LOCKS):
            self.open(f'f{n}')
            locker = Locker(self.owner, f'l{n}')
            patiently(locker.lock)
            self.lockers.append((f'f{n}', locker))
        return LOCKS

    def step(self):
        name, locker = self.lockers[next(self.numbers) % LOCKS]
        self.session.at(name)
        patiently(locker.lock)


class Connections:
    said = b''

    def __init__(self, address, _):
        self.address, self.connections = address, []

    def on(self):
        for _ in range(CONNECTIONS):
            c = Connection(self.address)
            c.socket.sendall(self.said)
            self.connections.append(c)
        return CONNECTIONS

    def step(self):
        pass

    def off(self):
        for c in self.connections:
            c.socket.close()
        self.connections = []


class MidRecord(Connections):
    said = struct.pack('>I', 1 << 31 | 1000) + bytes(500)


class MidMark(Connections):
    said = struct.pack('>I', 1 << 31 | 1000)[:2]


class Unread(Connections):
    def __init__(self, address, directory):
        super().__init__(address, directory)
        session = Session(address, directory)
        owner = Owner(session, 'o')
        session.at('unread')
        patiently(lambda: owner.open(3, 0, False))
        patiently(lambda: session.run(walk(session.path) + [struct.pack('>I', WRITE) + NO_STATEID + struct.pack('>QI', 0, 2) + opaque(bytes(MIB))], WRITE)[0])
        owner.close()
        self.read = compound(walk(session.path) + [struct.pack('>I', READ) + NO_STATEID + struct.pack('>QI', 0, MIB)])

    def on(self):
        self.connections = [Connection(self.address) for _ in range(READERS)]
        for c in self.connections:
            c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            for _ in range(ANSWERS):
                c.send(self.read)
        return READERS * ANSWERS


class Works(Many):
    def __init__(self, address, directory):
        super().__init__(address, directory, 0)
        self.names = itertools.count()

    def look_up(self):
        status, _ = self.run(walk(self.dir), 15)
        if status:
            raise Malformed(f'a look-up has status {status}')

    def file(self):
        name = f'w{next(self.names)}'
        self.open(name)
        if name in self.files:
            self.use(name)
            self.close(name)
            del self.files[name]
        if self.wrong:
            raise Malformed(str(self.wrong))

    def work(self, seconds):
        took, end = {'look-up': [], 'file': []}, time.monotonic() + seconds
        while time.monotonic() < end:
            for what, job in (('look-up', self.look_up), ('file', self.file)):
                begin = time.monotonic()
                job()
                took[what].append(round(1000 * (time.monotonic() - begin), 3))
                time.sleep(PAUSE)
        return took

    def step(self):
        """So that the lease goes on."""
        self.run([struct.pack('>IQ', RENEW, self.id)], RENEW)


KINDS = {'opens': Opens, 'locks': Locks, 'lock-files': LockFiles, 'silent': Connections, 'mid-record': MidRecord, 'mid-mark': MidMark, 'unread': Unread}


def told(seconds, idle):
    """The next line, '' when there is none any more. Meanwhile idle() is called, once in so many seconds."""
    while not select.select([sys.stdin], [], [], seconds)[0]:
        idle()
    return sys.stdin.readline().strip()


def works(address, directory):
    client = Works(address, directory)
    while line := told(2, client.step):
        print(json.dumps(client.work(float(line))), flush=True)


def greedy(kind, address, directory):
    client, held = KINDS[kind](address, directory), 0
    while line := told(EVERY, client.step if held else lambda: None):
        begin = time.monotonic()
        if line == 'on' and not held:
            held = client.on()
        elif line == 'off' and held:
            client.off()
            held = 0
        print(json.dumps({'held': held, 'seconds': round(time.monotonic() - begin, 1)}), flush=True)


if __name__ == '__main__':
    works(*sys.argv[2:]) if sys.argv[1] == 'works' else greedy(*sys.argv[1:])
