"""Operations on the bytes of files, and locks."""
import ctypes
import errno
import fcntl
import hashlib
import mmap
import os
import struct

from ops import equal, fails, operation

libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
KEEP_SIZE, PUNCH_HOLE = 1, 2


def fallocate(fd, mode, offset, length):
    if libc.fallocate(fd, mode, offset, length):
        raise OSError(ctypes.get_errno(), 'fallocate')


def pattern(seed, size):
    """Bytes that do not repeat, the same for the same seed."""
    blocks = [hashlib.sha256(f'{seed}:{i}'.encode()).digest() for i in range(size // 32 + 1)]
    return b''.join(blocks)[:size]


@operation()
def writes(op):
    """Unstable and stable, sequential, scattered, overlapping, over a commit."""
    fd = os.open(op.path('f'), os.O_CREAT | os.O_RDWR)
    data = bytearray(pattern(op.site, 300000))
    for i in range(0, len(data), 7777):
        os.pwrite(fd, data[i:i + 7777], i)
    os.fsync(fd)
    for off, n in ((5, 10), (4090, 12), (299990, 20), (100000, 65536), (4096, 4096)):
        piece = pattern(off, n)
        os.pwrite(fd, piece, off)
        data[off:off + n] = piece
    os.close(fd)
    equal(op.get('f'), bytes(data))
    fd = os.open(op.path('sync'), os.O_CREAT | os.O_WRONLY | os.O_SYNC)
    for i in range(5):
        os.write(fd, b'stable %d\n' % i)
    os.close(fd)
    fd = os.open(op.path('dsync'), os.O_CREAT | os.O_WRONLY | os.O_DSYNC)
    os.write(fd, pattern(1, 70000))
    os.close(fd)


@operation()
def direct(op):
    buf = mmap.mmap(-1, 65536)
    buf[:] = pattern(op.site + 100, 65536)
    fd = os.open(op.path('f'), os.O_CREAT | os.O_RDWR | os.O_DIRECT)
    os.pwrite(fd, buf, 0)
    os.pwrite(fd, memoryview(buf)[:8192], 131072)
    back = mmap.mmap(-1, 65536)
    equal(os.preadv(fd, [back], 0), 65536, 'bytes read')
    equal(bytes(back), bytes(buf))
    os.close(fd)
    equal(os.stat(op.path('f')).st_size, 131072 + 8192, 'size')


@operation()
def appends(op):
    for i in range(20):
        with open(op.path('f'), 'ab', buffering=0) as f:
            f.write(b'line %d\n' % i)
    a, b = (os.open(op.path('f'), os.O_WRONLY | os.O_APPEND) for _ in range(2))
    for i in range(10):
        os.write((a, b)[i % 2], b'both %d\n' % i)
    os.close(a)
    os.close(b)
    equal(op.get('f'), b''.join(b'line %d\n' % i for i in range(20)) + b''.join(b'both %d\n' % i for i in range(10)))


@operation()
def mapped(op):
    fd = os.open(op.put('f', b'.' * 50000), os.O_RDWR)
    with mmap.mmap(fd, 50000) as m:
        m[10000:10010] = b'0123456789'
        m[49990:] = b'0123456789'
        m.flush()
        m[5] = ord('x')
    os.close(fd)
    data = op.get('f')
    equal((data[5:6], data[10000:10010], data[-10:], len(data)), (b'x', b'0123456789', b'0123456789', 50000))


@operation()
def sizes(op):
    """Truncate, extend, cut under an open file, ftruncate in the middle of writing; big and sparse."""
    path = op.put('f', pattern(3, 10000))
    os.truncate(path, 5000)
    equal(op.get('f'), pattern(3, 10000)[:5000])
    os.truncate(path, 8000)
    equal(op.get('f'), pattern(3, 10000)[:5000] + bytes(3000), 'extended')
    fd = os.open(path, os.O_RDWR)
    os.pwrite(fd, b'tail', 20000)
    os.ftruncate(fd, 20002)
    os.close(fd)
    equal((os.stat(path).st_size, op.get('f')[-6:]), (20002, b'\0\0\0\0ta'))
    os.truncate(path, 0)
    equal(op.get('f'), b'')
    os.truncate(op.put('sparse', b'head'), 1 << 33)
    with open(op.path('sparse'), 'r+b') as f:
        f.seek((1 << 33) - 4)
        f.write(b'last')
    os.truncate(op.path('sparse'), 3 << 20)     # small enough to be read by the comparison
    with open(op.path('sparse'), 'r+b') as f:
        f.seek(2 << 20)
        f.write(b'middle')
    fails(errno.EINVAL, os.truncate, path, -1)


@operation(4.2)
def allocation(op):
    """ALLOCATE, DEALLOCATE, SEEK."""
    fd = os.open(op.path('f'), os.O_CREAT | os.O_RDWR)
    os.pwrite(fd, b'\xff' * 200000, 0)
    fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 65536, 65536)
    equal(os.pread(fd, 200000, 0), b'\xff' * 65536 + bytes(65536) + b'\xff' * (200000 - 131072), 'hole')
    fallocate(fd, 0, 200000, 100000)
    equal(os.fstat(fd).st_size, 300000, 'size after allocate')
    equal(os.lseek(fd, 0, os.SEEK_DATA), 0)
    equal(os.lseek(fd, 0, os.SEEK_HOLE) in (65536, 300000), True, 'SEEK_HOLE')
    os.close(fd)
    fd = os.open(op.path('allocated'), os.O_CREAT | os.O_RDWR)
    fallocate(fd, 0, 0, 1 << 20)
    os.pwrite(fd, b'in the middle', 500000)
    os.close(fd)
    equal(os.stat(op.path('allocated')).st_size, 1 << 20, 'size')


@operation(4.2)
def big_file(op):
    h = hashlib.sha256()
    with open(op.path('f'), 'wb', buffering=0) as f:
        for i in range(32):
            chunk = hashlib.sha256(f'{op.site} {i}'.encode()).digest() * 32768
            h.update(chunk)
            f.write(chunk)
    got = hashlib.sha256()
    with open(op.path('f'), 'rb', buffering=0) as f:
        while chunk := f.read(1 << 20):
            got.update(chunk)
    equal(got.hexdigest(), h.hexdigest())


def in_child(function):
    """The result of function() in another process (locks belong to processes)."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(w, repr(function()).encode())
        finally:
            os._exit(0)
    os.close(w)
    with os.fdopen(r, 'rb') as f:
        text = f.read()
    os.waitpid(pid, 0)
    return text.decode()


def try_lock(path, kind, start, length):
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.lockf(fd, kind | fcntl.LOCK_NB, length, start)
        return 'locked'
    except OSError as e:
        return errno.errorcode[e.errno]


def holder(path, start, length):
    """F_GETLK: which kind of lock stands in the way."""
    fd = os.open(path, os.O_RDWR)
    ask = struct.pack('hhqqi', fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
    return struct.unpack('hhqqi', fcntl.fcntl(fd, fcntl.F_GETLK, ask))[0]


@operation()
def record_locks(op):
    path = op.put('f', b'.' * 1000)
    fd = os.open(path, os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 100, 0)
    fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB, 100, 200)
    refused = (repr('EAGAIN'), repr('EACCES'))
    equal(in_child(lambda: try_lock(path, fcntl.LOCK_EX, 50, 10)) in refused, True, 'a lock over a lock')
    equal(in_child(lambda: try_lock(path, fcntl.LOCK_SH, 210, 10)), repr('locked'), 'two readers')
    equal(in_child(lambda: try_lock(path, fcntl.LOCK_EX, 210, 10)) in refused, True, 'writer over a reader')
    equal(in_child(lambda: try_lock(path, fcntl.LOCK_EX, 500, 10)), repr('locked'), 'elsewhere')
    equal(in_child(lambda: holder(path, 0, 10)), repr(fcntl.F_WRLCK), 'F_GETLK')
    os.pwrite(fd, b'locked', 10)
    fcntl.lockf(fd, fcntl.LOCK_UN, 100, 0)
    equal(in_child(lambda: try_lock(path, fcntl.LOCK_EX, 50, 10)), repr('locked'), 'after the unlock')
    os.close(fd)
    fd = os.open(path, os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)


@operation()
def many_small(op):
    """Create, write, close, and a second writer of each."""
    for i in range(40):
        op.put(f'f{i}', b'%d' % i)
    for i in range(0, 40, 3):
        with open(op.path(f'f{i}'), 'ab') as f:
            f.write(b' again')
    equal([op.get(f'f{i}') for i in (0, 1, 39)], [b'0 again', b'1', b'39 again'])
