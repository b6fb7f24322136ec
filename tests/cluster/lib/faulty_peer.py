"""A server of the volume that is faulty or lies, by hand: it speaks protocol/nfs4r.x from the address of server 3 while that one is stopped. Runs as root in the network of its site.

	faulty_peer.py learn SELF ADDRESS OTHER...              the HELLOs of those servers in hex, by their id, as JSON: they ask at ADDRESS whether anybody is there, and say all that a HELLO needs
	faulty_peer.py attack KIND SELF ADDRESS HELLO ARG...    attacks the server whose HELLO it is, when it is told to

An attack reads its standard input: `on` begins it, `off` ends it, and closes all connections. Each word is answered by one line of JSON: what was sent and heard since the start. At the end of the input the
program ends. KINDS has the attacks and says what their arguments are; another one is added there.

Records, HELLO and messages are written as far as attacks need them. What is heard is counted by type, keep-alives are answered, everything else is thrown away.
"""
import collections
import json
import os
import random
import select
import socket
import struct
import sys
import time

PORT = 294
HELLO, REFUSED, KEEPALIVE, NUMBER, PADDING = 101, 102, 103, 105, 107
READ, POSITIONS, ENTRIES, VERIFY, HEARTBEAT, PREPARE, ACCEPT, ACCEPTED, VIEW = 9, 11, 12, 14, 16, 18, 20, 21, 22
CONTROL, REQUEST, BULK = 0, 1, 2
LAST = 1 << 31                  # of a record mark
OUT_MAX = 1 << 17               # bytes that wait here: an attack makes no more before they are gone
GETATTR_TYPE, READLINK_TYPE = 1, 5
VERSIONS = 10, 2         # protocol and disk format of a new volume
KEYS = (1, 1, 200, 2000, 2000, 10, 0) # settings of the volume: local, strict, Max_Round_Trip, Lease, Failure_Timeout, Clock_Drift, no log ends
FAR = 1 << 39                   # an entry that no log has
BULK_MORE = 16                  # connections of lane BULK that a server takes


def u32(*numbers):
    return struct.pack(f'>{len(numbers)}I', *numbers)


def u64(*numbers):
    return struct.pack(f'>{len(numbers)}Q', *(n & (1 << 64) - 1 for n in numbers))


def opaque(data):
    return u32(len(data)) + data + bytes(-len(data) % 4)


def record(data):
    return u32(LAST | len(data)) + data


# ---- HELLO ----

class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if self.at + n > len(self.data):
            raise ValueError('a message ends too early')
        self.at += n
        return self.data[self.at - n:self.at]

    def u32(self):
        return struct.unpack('>I', self.take(4))[0]

    def u64(self):
        return struct.unpack('>Q', self.take(8))[0]

    def opaque(self):
        n = self.u32()
        data = self.take(n)
        self.take(-n % 4)
        return data


WORDS = ('magic', 'protocol', 'server', 'to', 'lane')
NUMBERS = (('lowest', 'u32'), ('inc', 'u64'), ('session', 'u64'), ('index', 'u32'), ('volume', 16), ('export_id', 'u32'), ('fsid_major', 'u64'), ('fsid_minor', 'u64'), ('disk_format', 'u32'), ('disk_format_lowest', 'u32'),
           ('security', 'u32'), ('lease_ms', 'u32'), ('silence_ms', 'u32'), ('drift', 'u32'), ('durability', 'u32'), ('view', 'u64'), ('asks', 'u32'))


def hello_of(data):
    """A HELLO, without its type, as a dictionary."""
    r = Reader(data)
    h = {w: r.u32() for w in WORDS}
    h['release'] = r.opaque()
    for name, kind in NUMBERS:
        h[name] = r.take(kind) if isinstance(kind, int) else getattr(r, kind)()
    h['servers'] = [(r.u32(), r.u32()) for _ in range(r.u32())]
    h['keys'] = [(r.opaque(), r.opaque(), r.u32()) for _ in range(r.u32())]
    return h


def hello_bytes(h):
    data = u32(HELLO, *(h[w] for w in WORDS)) + opaque(h['release'])
    for name, kind in NUMBERS:
        data += h[name] if isinstance(kind, int) else globals()[kind](h[name])
    data += u32(len(h['servers'])) + b''.join(u32(*s) for s in h['servers']) + u32(len(h['keys']))
    return data + b''.join(opaque(k) + opaque(v) + u32(differs) for k, v, differs in h['keys'])


def hello_from(heard, me, **other):
    """What server @me says to the server whose HELLO was heard."""
    keys = [(k, v + b' of %d' % me if differs else v, differs) for k, v, differs in heard['keys']]
    return {**heard, 'server': me, 'to': heard['server'], 'asks': 0, 'session': 1, 'inc': 1, 'index': 0, 'lane': CONTROL, 'keys': keys, **other}


# ---- one connection ----

class Gone(Exception):
    """The other side closed it, or refused it: cause and text."""
    def __init__(self, cause=0, text=''):
        super().__init__(f'refused, cause {cause}: {text}' if cause else 'closed')
        self.cause, self.text = cause, text


def one_connection(here, to, wait):
    """wait: seconds; 0: for nothing, the connection comes about by itself."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.settimeout(wait)
    try:
        s.bind(here)
        s.connect(to)
    except BlockingIOError:
        pass
    except OSError:
        s.close()
        raise
    return s


def connect(address, to, port=None, wait=5):
    """From a port of root; None: any of those that servers use. 0: one that every user gets"""
    ports = [port] if port is not None else random.sample(range(600, 1024), 424)
    for p in ports:
        try:
            return one_connection((address, p), to, wait)
        except OSError as e:
            if p == ports[-1] or isinstance(e, (PermissionError, ConnectionRefusedError, TimeoutError)):
                raise
    raise OSError('no port is left')


class Lane:
    def __init__(self, s):
        self.socket, self.data, self.out, self.deaf = s, b'', bytearray(), False

    def fileno(self):
        return self.socket.fileno()

    def tell(self, message):
        self.out += record(message)

    def flush(self):
        try:
            while self.out:
                del self.out[:self.socket.send(memoryview(self.out)[:1 << 20].tobytes())]
        except BlockingIOError:
            pass
        except OSError:
            raise Gone from None

    def hear(self):
        """The messages that came: their bytes with the type."""
        try:
            more = self.socket.recv(1 << 20)
        except BlockingIOError:
            return []
        except OSError:
            raise Gone from None
        if not more:
            raise Gone
        self.data += more
        messages = []
        while len(self.data) >= 4:
            n = struct.unpack('>I', self.data[:4])[0] & ~LAST
            if len(self.data) < 4 + n:
                break
            messages.append(self.data[4:4 + n])
            self.data = self.data[4 + n:]
        return messages

    def wait(self, seconds=5):
        """The next message, on a socket that blocks."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self], [], [], max(0, end - time.monotonic()))[0]:
                for m in self.hear():       # one at a time: the other side waits for an answer
                    if struct.unpack('>I', m[:4])[0] == REFUSED:
                        r = Reader(m[4:])
                        raise Gone(r.u32(), r.opaque().decode())
                    return m
        raise TimeoutError('no message came')

    def close(self):
        self.socket.close()


def keepalive(answer, clock, day=0):
    return u32(KEEPALIVE, answer) + u64(clock, day)


class Peer:
    """Server @me, connected with one server by all lanes."""
    sessions = int(time.time() * 1000)      # of all processes one after the other: they have to rise

    def __init__(self, me, address, heard, **other):
        Peer.sessions = max(Peer.sessions + 1, int(time.time() * 1000))
        self.me, self.address, self.server = me, address, (f'10.0.{heard["server"]}.1', PORT)
        self.hello = hello_from(heard, me, session=Peer.sessions, **other)
        self.heard, self.day, self.number, self.lanes = collections.Counter(), 0, 0, []
        self.beat = None                    # the last HEARTBEAT that was heard
        try:
            for lane in (CONTROL, REQUEST, BULK):
                self.lanes.append(self.enter(lane))
        except Exception:
            self.close()
            raise

    def enter(self, lane, index=0):
        c = Lane(connect(self.address, self.server))
        c.tell(hello_bytes({**self.hello, 'lane': lane, 'index': index}))
        c.flush()
        c.wait()
        c.tell(keepalive(0, time.monotonic_ns()))
        c.flush()
        c.socket.setblocking(False)
        return c

    def take(self, lane, message):
        kind = struct.unpack('>I', message[:4])[0]
        self.heard[kind] += 1
        if kind == KEEPALIVE and not Reader(message[4:]).u32():
            lane.tell(keepalive(1, struct.unpack('>Q', message[8:16])[0], time.time_ns() + self.day))
        elif kind == HEARTBEAT:
            self.beat = message

    def turn(self, seconds=0.0, more=()):
        """Hears and sends what can be. Which of @more can be read."""
        ready, writable, _ = select.select([c for c in self.lanes if not c.deaf] + list(more), [c for c in self.lanes if c.out], [], seconds)
        for c in ready:
            if c in self.lanes:
                for m in c.hear():
                    self.take(c, m)
        for c in self.lanes:
            if c.out:
                c.flush()
        return [r for r in ready if r in more]

    def bulk(self, message):
        self.number += 1
        self.lanes[BULK].tell(u32(NUMBER) + u64(self.number))
        self.lanes[BULK].tell(message)

    def room(self, lane):
        return len(self.lanes[lane].out) < OUT_MAX

    def close(self):
        for c in self.lanes:
            c.close()


# ---- messages ----

def set_of(*servers):
    return sum(1 << s for s in servers)


def view_bytes(number, base, members):
    """Without its type: no seal, nobody's address, no secret, VERSIONS, KEYS; there are no other servers."""
    return u64(number, base, members, members) + u32(0, 0) + u64(members, members) + u32(0) + bytes(16) + u32(*VERSIONS, *KEYS)


def mixed(numbers):
    """nfs4r_view_digest() of src/base/msg.c, of its parts."""
    h = 0
    for n in numbers:
        h = (h ^ n) * 0x9e3779b97f4a7c15 & (1 << 64) - 1
        h = (h ^ h >> 32) * 0xd6e8feb86659fd93 & (1 << 64) - 1
        h ^= h >> 29
    return h


def digest_of(number, base, members):
    """Of view_bytes(the same)."""
    return mixed([number, base, members, members, 0, members, members, 0, 0] + 16 * [0] + [*VERSIONS, *KEYS])


def heartbeat(heard, view, digest):
    """As that of the start which the receiver knows, and says in its own HEARTBEAT. This view is adopted and accepted, and is on the disk."""
    your = Reader(heard[4 + 32 + 16 + 24:]).take(24)        # its start, and the position in its journal
    return u32(HEARTBEAT) + u64(time.monotonic_ns() // 10 ** 6, view, view, set_of(1, 2, 3)) + u32(0, 0, 0, 3) + your + bytes(24) + u64(0) + u32(1) + u64(0, 0, digest, view, digest) + u32(0, 0, 9, VERSIONS[0], 1, VERSIONS[1], 1)


def entry(log, lsn, oid):
    """A WRITE of 8 bytes at offset 0."""
    head = u32(log) + u64(lsn, 1) + u32(9) + u32(log) + u64(1, lsn) + u64(0) + bytes(16) + u32(0)
    part = oid + u64(1 << 20, (1 << 20) + 1, time.time_ns(), time.time_ns()) + u32(3) + u64(0, 8)
    return head + u32(1) + part + u32(1, 0) + u64(0) + u32(0) + u32(1) + opaque(b'not ours')


def entries(log, first, n, oid):
    return u32(ENTRIES, log) + u64(first + n - 1) + u32(n) + b''.join(entry(log, first + i, oid) for i in range(n))


def read(number, kind, oid, length=0, copy=1):
    return u32(READ) + u64(number) + u32(kind) + oid + opaque(b'') + u64(0, length, 0) + u32(copy)


def verify(number, oid):
    return u32(VERIFY) + u64(number) + oid + u32(0) + u64(0) + bytes(32) + u64(0) + u32(0) + opaque(b'')


def positions(log, lsn):
    return u32(POSITIONS) + u64(0, 0, 0, 0) + u32(0, 0, 1, log) + u64(lsn, lsn, lsn, 0, 1)


# ---- attacks: step() is called again and again while it is on ----

class Attack:
    """Connects, and then does step() for ever; whenever the connection is gone it comes again."""
    pause = 0.0                 # between two steps

    def __init__(self, me, address, heard):
        self.me, self.address, self.heard, self.peer, self.said, self.n, self.due = me, address, heard, None, collections.Counter(), 0, 0

    def connected(self):
        return Peer(self.me, self.address, self.heard)

    def step(self):
        pass

    def turn(self):
        if not self.peer:
            try:
                self.peer = self.connected()
                self.said['connected'] += 1
            except Gone as e:
                self.said[f'refused {e.cause}'] += 1
                time.sleep(0.05)
                return
        try:
            if (now := time.monotonic()) >= self.due:
                self.due = now + self.pause
                self.step()
            self.peer.turn(min(self.pause, 0.01))
        except Gone:
            self.said['lost'] += 1
            self.off()

    def off(self):
        if self.peer:
            for kind, n in self.peer.heard.items():
                self.said[f'heard {kind}'] += n
            self.peer.close()
        self.peer = None


class OtherServer(Attack):
    """ARG: the server that it says it is. HELLO in the name of another server of the volume, from its own address, as a newer start."""
    def __init__(self, me, address, heard, name):
        super().__init__(me, address, heard)
        self.name = int(name)

    def connected(self):
        time.sleep(0.02)
        return Peer(self.name, self.address, self.heard, inc=(1 << 64) - 2)


class View(Attack):
    """ARG...: the members of a view that nobody agreed on. VIEW of it again and again, with HEARTBEATs that say it is adopted, and ACCEPT."""
    pause = 0.02

    def __init__(self, me, address, heard, *members):
        super().__init__(me, address, heard)
        self.members = set_of(*map(int, members))

    def step(self):
        self.n += 1
        number = (1 << 20) + 64 * self.n + self.me
        view, digest = view_bytes(number, self.heard['view'], self.members), digest_of(number, self.heard['view'], self.members)
        control = self.peer.lanes[CONTROL]
        for message in (u32(VIEW) + view, u32(ACCEPT) + view, u32(ACCEPTED) + u64(number, digest)):
            control.tell(message)
        if self.peer.beat:
            control.tell(heartbeat(self.peer.beat, number, digest))
        self.said['views'] += 1


class Entries(Attack):
    """ARG LSN OID...: the server whose log it is, the first entry, an object. Entries in another server's name, of the log of the attacked one, too, and what both have of it."""
    pause = 0.02

    def __init__(self, me, address, heard, log, first, oid):
        super().__init__(me, address, heard)
        self.log, self.first, self.oid = int(log), int(first), bytes.fromhex(oid)

    def step(self):
        self.n += 1
        for log in (self.log, self.heard['server']):
            self.peer.bulk(entries(log, self.first, 20, self.oid))
            self.peer.lanes[CONTROL].tell(positions(log, FAR))
        self.said['messages'] += 4


def shapes(oid):
    """[(lane, bytes of a record with its mark)]: what nobody right sends. Each ends the connection."""
    long = u32(ENTRIES, 3) + u64(1) + u32(0xffffffff)
    symlink = u32(READ) + u64(1) + u32(5) + oid         # READLINK, cut
    return [(CONTROL, u32(0x7fffffff)), (BULK, u32(LAST | 0x7fffffff)), (CONTROL, u32(0, 0)), (REQUEST, record(b'')), (BULK, record(u32(NUMBER) + u64(1)) + record(long)),
            (REQUEST, record(symlink)), (REQUEST, record(read(1, 99, oid))), (CONTROL, record(read(1, GETATTR_TYPE, oid))), (REQUEST, record(verify(1, oid) + b'more')),
            (CONTROL, record(u32(PADDING) + opaque(b'0'))), (CONTROL, record(u32(99))), (BULK, record(entries(3, 1, 1, oid))), (REQUEST, record(os.urandom(1000)))]


class Shapes(Attack):
    """ARG: an object. Records of wrong sizes, messages of wrong counts and shapes, one after the other."""
    pause = 0.05

    def __init__(self, me, address, heard, oid):
        super().__init__(me, address, heard)
        self.shapes = shapes(bytes.fromhex(oid))
        self.n = random.randrange(len(self.shapes))         # after each it is not let in for longer: one run has some of them

    def step(self):
        if self.peer.number:
            return              # until the other side has closed
        lane, data = self.shapes[self.n % len(self.shapes)]
        self.n += 1
        self.peer.number = 1
        self.peer.lanes[lane].out += data
        self.said['shapes'] += 1


class Questions(Attack):
    """ARG OID...: `attributes`, `link` or `verify`, an object. As many questions as are taken."""
    def __init__(self, me, address, heard, what, oid):
        super().__init__(me, address, heard)
        self.what, self.oid = what, bytes.fromhex(oid)

    def question(self):
        self.n += 1
        return verify(self.n, self.oid) if self.what == 'verify' else read(self.n, READLINK_TYPE if self.what == 'link' else GETATTR_TYPE, self.oid)

    def step(self):
        if not self.peer.room(REQUEST):
            self.peer.turn(0.01)
            return
        for _ in range(500):
            self.peer.lanes[REQUEST].tell(self.question())
        self.said['questions'] += 500


class Deaf(Questions):
    """ARG OID...: the same, and does not read one answer."""
    def connected(self):
        peer = super().connected()
        for c in peer.lanes:
            c.deaf = True
        self.alive = 0
        return peer

    def step(self):
        if time.monotonic() > self.alive:       # it is there: only what comes back is not read
            self.alive = time.monotonic() + 0.2
            for c in self.peer.lanes:
                if not c.out:
                    c.tell(keepalive(0, time.monotonic_ns()))
        super().step()


class Stall(Attack):
    """All connections of all lanes, each with a record of which the last byte never comes."""
    pause = 0.1

    def connected(self):
        peer = super().connected()
        for index in range(1, BULK_MORE):
            peer.lanes.append(peer.enter(BULK, index))
        for c in peer.lanes:
            c.out += u32(LAST | 4 << 20) + bytes((4 << 20) - 1)
        self.said['stalled'] += len(peer.lanes)
        return peer


class Flood(Attack):
    """ARG N: so many messages of lane CONTROL in a second, in turns what it has of its own log, and HEARTBEATs. Each is right, and is taken."""
    pause = 0.01

    def __init__(self, me, address, heard, n):
        super().__init__(me, address, heard)
        self.each = int(n) // 100

    def step(self):
        control = self.peer.lanes[CONTROL]
        if not self.peer.room(CONTROL) or not self.peer.beat:
            return
        beat = heartbeat(self.peer.beat, self.heard['view'], 0)
        for i in range(self.each):
            self.n += 1
            control.tell(positions(self.me, 0) if i % 2 else beat)
        self.said['messages'] += self.each


class HalfOpen(Attack):
    """ARG: how many connections that say nothing. Those that the other side closes are opened again."""
    def __init__(self, me, address, heard, n):
        super().__init__(me, address, heard)
        self.most, self.open, self.port = int(n), [], 0

    def turn(self):
        for _ in range(20):
            self.port = self.port % 1023 + 1
            if len(self.open) >= self.most or self.port == PORT:
                break
            try:
                self.open.append(connect(self.address, (f'10.0.{self.heard["server"]}.1', PORT), self.port, 0))     # round trips would bound how many there are
                self.said['opened'] += 1
            except OSError:
                pass                            # that port has another one
        left = []
        for s in self.open:
            try:
                if s.recv(100):
                    left.append(s)
                else:
                    s.close()
            except BlockingIOError:
                left.append(s)
            except OSError:
                s.close()
        self.said['closed'] += len(self.open) - len(left)
        self.open = left
        time.sleep(0.02)

    def off(self):
        for s in self.open:
            s.close()
        self.open = []


class Lines(Attack):
    """Comes and goes, with a clock that is another one each time, HELLOs that are wrong in many ways, and messages that are refused: all that the other side may want to say something about."""
    pause = 0.01
    wrong = ('protocol', 'to', 'export_id', 'fsid_major', 'disk_format', 'security', 'lease_ms', 'durability')

    def connected(self):
        self.n += 1
        field = self.wrong[self.n % len(self.wrong)]
        try:
            Peer(self.me, self.address, self.heard, **{field: random.randrange(1 << 20) if field != 'to' else 7}).close()
        except Gone as e:
            self.said[f'refused {e.cause}'] += 1
        keys = [(k, v if differs else bytes(random.choices(b'abcdefgh', k=200)), differs) for k, v, differs in self.heard['keys']]
        try:
            Peer(self.me, self.address, {**self.heard, 'keys': keys}).close()
        except Gone as e:
            self.said[f'refused {e.cause}'] += 1
        peer = super().connected()
        peer.day = random.randrange(-10 ** 15, 10 ** 15)
        self.left = time.monotonic() + 0.05
        return peer

    def step(self):
        control = self.peer.lanes[CONTROL]
        for message in (u32(PREPARE) + u64(self.n * 64, 0, 0, 0), positions(self.heard['server'], FAR), u32(VIEW) + view_bytes((1 << 30) + self.n * 64 + self.me, 0, set_of(1, 3))):
            control.tell(message)
        self.peer.bulk(entries(self.heard['server'], 1, 0, b''))
        self.peer.turn(0.01)
        self.said['messages'] += 4
        if time.monotonic() > self.left:
            self.off()
            raise Gone


KINDS = {'other-server': OtherServer, 'view': View, 'entries': Entries, 'shapes': Shapes, 'questions': Questions, 'deaf': Deaf, 'flood': Flood, 'stall': Stall, 'half-open': HalfOpen, 'lines': Lines}


class LocalUser(Attack):
    """A user of the machine without rights: calls as the server there, takes its ports, and says what it hears. Only what is no secret to it, the address, is right by its own strength; it
    is given all that a HELLO needs besides."""
    def __init__(self, me, address, heard):
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        super().__init__(me, address, heard)
        for port in (PORT, 600, 1023):
            try:
                socket.socket().bind((address, port))
                self.said['ports of root'] += 1
            except PermissionError:
                pass

    def turn(self):
        c = Lane(connect(self.address, (f'10.0.{self.heard["server"]}.1', PORT), 0))
        c.tell(hello_bytes(hello_from(self.heard, self.me, inc=(1 << 64) - 2)))
        try:
            c.flush()
            c.wait()
            self.said['let in'] += 1
        except Gone as e:
            self.said[f'refused {e.cause}'] += 1
            self.said['told'] += bool(e.text)
        c.close()
        time.sleep(0.005)


KINDS['local-user'] = LocalUser


def attack(kind, me, address, hello, *args):
    os.nice(19)                                 # its own work is another machine's
    a, on = KINDS[kind](int(me), address, hello_of(bytes.fromhex(hello)), *args), False
    words = b''
    while True:
        if select.select([0], [], [], 0 if on else None)[0]:
            more = os.read(0, 100)
            if not more:
                break
            words += more
            while b'\n' in words:
                word, words = words.split(b'\n', 1)
                on = word == b'on'
                if not on:
                    a.off()
                print(json.dumps(dict(a.said)), flush=True)
        if on:
            a.turn()
    a.off()


# ---- what others say to whom they do not hear ----

def learn(me, address, *others):
    heard = {}
    listener = socket.create_server((address, PORT))
    end = time.monotonic() + 30
    while set(map(int, others)) - set(heard) and time.monotonic() < end:
        listener.settimeout(max(0.1, end - time.monotonic()))
        c = Lane(listener.accept()[0])
        m = c.wait()
        if Reader(m).u32() == HELLO:
            heard[hello_of(m[4:])['server']] = m[4:].hex()
        c.close()
    print(json.dumps(heard))


def main(what, *args):
    {'learn': learn, 'attack': attack}[what](*args)


if __name__ == '__main__':
    main(*sys.argv[1:])
