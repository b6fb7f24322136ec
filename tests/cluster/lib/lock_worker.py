"""What the processes of t_locks.py do, in a site's client.

	lock_worker.py counter FILE KIND N PROCESSES [START]  each of them adds N times 1 to a number in FILE, under a lock: fcntl, ofd, flock, range (two of four ranges of
	                                                    100 bytes in turn, the number in each), try (without waiting, again and again). They begin at START of this
	                                                    machine's clock
	lock_worker.py handover FILE N                      two processes give a lock to each other N times; how long each waited after the other's unlock began
	lock_worker.py pairs FILE SECONDS                   how many times in a second a lock is taken and given back
	lock_worker.py rules FILE                           what must and must not be granted to two owners, one by one

Prints JSON.
"""
import errno
import fcntl
import json
import os
import struct
import sys
import time

F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW = 36, 37, 38


def flock64(kind, start, length):
    return struct.pack('hhqqi4x', kind, os.SEEK_SET, start, length, 0)


def ofd(fd, kind, start=0, length=0, wait=True):
    fcntl.fcntl(fd, F_OFD_SETLKW if wait else F_OFD_SETLK, flock64(kind, start, length))


def posix(fd, kind, start=0, length=0, wait=True):
    fcntl.fcntl(fd, fcntl.F_SETLKW if wait else fcntl.F_SETLK, flock64(kind, start, length))


def whole(fd, kind, start=0, length=0, wait=True):
    fcntl.flock(fd, {fcntl.F_WRLCK: fcntl.LOCK_EX, fcntl.F_RDLCK: fcntl.LOCK_SH, fcntl.F_UNLCK: fcntl.LOCK_UN}[kind] | (0 if wait else fcntl.LOCK_NB))


def patiently(fd, kind, start=0, length=0):
    """Without waiting in the server."""
    while True:
        try:
            return posix(fd, kind, start, length, wait=False)
        except OSError as e:
            if e.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            time.sleep(0.005)


LOCKS = {'fcntl': posix, 'range': posix, 'ofd': ofd, 'flock': whole, 'try': patiently}


def add(fd, at):
    n = int(os.pread(fd, 20, at).strip(b'\0') or b'0')     # another range's number may lie behind a hole
    os.pwrite(fd, b'%019d\n' % (n + 1), at)


def children(n, function):
    """Each in a process of its own; what each returned. A pipe holds what is short."""
    ends = []
    for i in range(n):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.write(w, json.dumps(function(i)).encode())
            except OSError as e:
                os.write(w, json.dumps({'error': errno.errorcode.get(e.errno, str(e))}).encode())
            os._exit(0)
        os.close(w)
        ends.append((pid, r))
    results = []
    for pid, r in ends:
        text = b''
        while part := os.read(r, 65536):
            text += part
        os.waitpid(pid, 0)
        results.append(json.loads(text or b'null'))
    return results


def counter(path, kind, n, processes, start='0'):
    lock, n = LOCKS[kind], int(n)

    def one(i):
        fd, waited = os.open(path, os.O_RDWR), []
        time.sleep(max(0, float(start) - time.time()))
        for k in range(n):
            at = 100 * ((i + k) % 4) if kind == 'range' else 0
            t = time.monotonic()
            lock(fd, fcntl.F_WRLCK, at, 100)
            waited.append(time.monotonic() - t)
            add(fd, at)
            lock(fd, fcntl.F_UNLCK, at, 100)
        return {'longest': max(waited)}
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o666))
    begin = time.monotonic()
    results = children(int(processes), one)
    return {'seconds': time.monotonic() - begin, 'longest': max(r.get('longest', -1) for r in results), 'errors': [r['error'] for r in results if 'error' in r]}


def pairs(path, seconds):
    fd, n, begin = os.open(path, os.O_RDWR | os.O_CREAT, 0o666), 0, time.monotonic()
    while time.monotonic() < begin + float(seconds):
        posix(fd, fcntl.F_WRLCK, 0, 100)
        posix(fd, fcntl.F_UNLCK, 0, 100)
        n += 1
    return {'a second': n / (time.monotonic() - begin)}


def held_in_turn(path, turns, hold):
    """turns(i) times each of two processes has the lock for a moment. (time at which it began to wait, had it, began to unlock)"""
    def one(i):
        fd, seen = os.open(path, os.O_RDWR | os.O_CREAT, 0o666), []
        for _ in range(turns):
            t0 = time.monotonic()
            posix(fd, fcntl.F_WRLCK)
            t1 = time.monotonic()
            time.sleep(hold)
            t2 = time.monotonic()
            posix(fd, fcntl.F_UNLCK)
            seen.append((t0, t1, t2))
        return seen
    return children(2, one)


def handover(path, n):
    events = sorted((t1, t2, i) for i, seen in enumerate(held_in_turn(path, int(n), 0.05)) for _, t1, t2 in seen)
    gaps = sorted(b[0] - a[1] for a, b in zip(events, events[1:]) if a[2] != b[2])
    return {'changes': len(gaps), 'median': gaps[len(gaps) // 2], 'longest': gaps[-1], 'overlaps': sum(b[0] < a[1] for a, b in zip(events, events[1:]))}


# ---- two owners: descriptors with locks of their own ----

def rules(path):
    bad = []
    a, b = (os.open(path, os.O_RDWR | os.O_CREAT, 0o666) for _ in range(2))

    def say(what, expected, function, *args):
        try:
            function(*args)
            got = 'ok'
        except OSError as e:
            got = errno.errorcode[e.errno]
        if got not in expected.split('|'):
            bad.append(f'{what}: {got}, not {expected}')

    def test(fd, kind, start, length):
        k, _, s, n, _ = struct.unpack('hhqqi4x', fcntl.fcntl(fd, F_OFD_GETLK, flock64(kind, start, length)))
        return 'free' if k == fcntl.F_UNLCK else f'{"r" if k == fcntl.F_RDLCK else "w"}{s}+{n}'

    def expect(what, expected, got):
        if got != expected:
            bad.append(f'{what}: {got}, not {expected}')
    no = 'EAGAIN|EACCES'
    R, W, U = fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK
    say('a write lock', 'ok', ofd, a, W, 0, 100, False)
    say('over it', no, ofd, b, W, 50, 100, False)
    say('over its end', no, ofd, b, R, 99, 1, False)
    say('behind it', 'ok', ofd, b, W, 100, 10, False)
    expect('who is in the way', 'w0+100', test(b, R, 10, 10))
    say('lowered in the middle', 'ok', ofd, a, R, 40, 20, False)
    say('shared there', 'ok', ofd, b, R, 45, 5, False)
    say('not before it', no, ofd, b, R, 39, 2, False)
    say('raised with a reader in it', no, ofd, a, W, 0, 100, False)
    say('the reader goes', 'ok', ofd, b, U, 45, 5, False)
    say('raised', 'ok', ofd, a, W, 0, 100, False)
    say('a hole', 'ok', ofd, a, U, 30, 10, False)
    say('in the hole', 'ok', ofd, b, W, 30, 10, False)
    say('beside the hole', no, ofd, b, W, 40, 1, False)
    expect('the rest', 'w40+60', test(b, W, 40, 0))
    say('to the end of all', 'ok', ofd, a, W, 1000, 0, False)
    say('far behind', no, ofd, b, R, 1 << 60, 1, False)
    say('all goes', 'ok', ofd, a, U, 0, 0, False)
    say('all of it', 'ok', ofd, b, W, 0, 0, False)
    say('all of it again', 'ok', ofd, b, W, 0, 0, False)
    expect('all of it', 'w0+0', test(a, W, 5, 5))
    os.close(b)         # its locks go with it
    expect('after the close', 'free', test(a, W, 0, 0))
    say('flock', 'ok', whole, a, W, 0, 0, False)
    b = os.open(path, os.O_RDWR)
    say('flock of another', no, whole, b, R, 0, 0, False)
    say('shared', 'ok', whole, a, R, 0, 0, False)
    say('shared by two', 'ok', whole, b, R, 0, 0, False)
    say('raised by one of two', no, whole, b, W, 0, 0, False)
    return {'bad': bad}


if __name__ == '__main__':
    print(json.dumps({'counter': counter, 'handover': handover, 'pairs': pairs, 'rules': rules}[sys.argv[1]](*sys.argv[2:])))
