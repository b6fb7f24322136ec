"""Random operations on one file, each checked against a copy in memory.

	fsx.py FILE SECONDS SEED        prints {"operations": .., "syncs": .., "sha256": of the file in the end}; fails at the first byte that is wrong

Writes, truncations, holes, allocations, reads from the page cache and past it, fsync, and closing and opening again. The server may lose
power meanwhile, once the file itself is durable: a client sends what was not committed again, so nothing that the program did may be missing.
"""
import ctypes
import hashlib
import json
import os
import random
import sys
import time

SIZE_MAX, PIECE_MAX = 256 << 10, 64 << 10
KEEP_SIZE, PUNCH_HOLE = 1, 2
libc = ctypes.CDLL(None, use_errno=True)


class File:
    def __init__(self, path, seed):
        self.path, self.random, self.model, self.syncs, self.log = path, random.Random(seed), bytearray(), 0, []
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        os.fsync(self.fd)

    def span(self, end):
        at = self.random.randrange(end)
        return at, self.random.randint(1, min(PIECE_MAX, SIZE_MAX - at))

    def grow(self, size):
        self.model.extend(bytes(max(0, size - len(self.model))))

    def write(self):
        at, n = self.span(SIZE_MAX)
        data = self.random.randbytes(n)
        self.grow(at + n)
        self.model[at:at + n] = data
        done = os.pwrite(self.fd, data, at)
        assert done == n, f'{done} of {n} bytes were written'

    def truncate(self):
        size = self.random.randrange(SIZE_MAX)
        del self.model[size:]
        self.grow(size)
        os.ftruncate(self.fd, size)

    def fallocate(self, mode, at, n):
        if libc.fallocate(self.fd, mode, ctypes.c_long(at), ctypes.c_long(n)) != 0:
            raise OSError(ctypes.get_errno(), f'fallocate, mode {mode}')

    def punch(self):
        if self.model:
            at, n = self.span(len(self.model))
            n = min(n, len(self.model) - at)
            self.model[at:at + n] = bytes(n)
            self.fallocate(PUNCH_HOLE | KEEP_SIZE, at, n)

    def allocate(self):
        at, n = self.span(SIZE_MAX)
        self.grow(at + n)
        self.fallocate(0, at, n)

    def check(self, at, n):
        found, expected = os.pread(self.fd, n, at), bytes(self.model[at:at + n])
        if found == expected:
            return
        wrong = next((i for i, (a, b) in enumerate(zip(found, expected)) if a != b), min(len(found), len(expected)))
        raise SystemExit(f'{self.path}: wrong from byte {at + wrong} on, {len(found)} bytes in place of {len(expected)}; '
                         f'size {os.fstat(self.fd).st_size}, should be {len(self.model)}; last: {self.log[-12:]}')

    def read(self):
        self.check(*self.span(SIZE_MAX))

    def read_again(self):
        """From the server."""
        os.fsync(self.fd)
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)
        self.check(0, SIZE_MAX + 1)

    def sync(self):
        os.fsync(self.fd)
        self.syncs += 1

    def reopen(self):
        os.close(self.fd)
        self.fd = os.open(self.path, os.O_RDWR)

    def step(self):
        job = self.random.choices((self.write, self.read, self.truncate, self.punch, self.allocate, self.read_again, self.sync, self.reopen),
                                  (30, 20, 8, 8, 8, 6, 10, 5))[0]
        self.log.append(job.__name__)
        job()


def main(path, seconds, seed):
    f, operations, end = File(path, seed), 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        f.step()
        operations += 1
    f.read_again()
    os.close(f.fd)
    print(json.dumps({'operations': operations, 'syncs': f.syncs, 'sha256': hashlib.sha256(f.model).hexdigest()}))


if __name__ == '__main__':
    main(*sys.argv[1:])
