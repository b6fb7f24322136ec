"""A file that is removed elsewhere while it is open here goes on for who has it open.

	orphan.py PATH GO       opens PATH, which has the attribute user.old, says "ready", waits for the file GO (on the host, in /tmp), and prints `ok NAME` and `not ok NAME`
"""
import errno
import os
import sys
import time
import traceback

from ops import equal, fails
from ops_files import KEEP_SIZE, PUNCH_HOLE, fallocate


def read(fd, length, offset):
    """From the server."""
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return os.pread(fd, length, offset)


def bytes_of(fd):
    os.pwrite(fd, b'written after', 100)
    equal(read(fd, 13, 100), b'written after')


def allocation(fd):
    fallocate(fd, 0, 0, 1 << 20)
    equal(read(fd, 100, (1 << 20) - 10), bytes(10))
    os.pwrite(fd, b'x' * 8192, 0)
    fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 4096, 4096)
    os.pwrite(fd, b'end', (1 << 20) - 3)
    equal(read(fd, 8192, 0), b'x' * 4096 + bytes(4096))
    equal(read(fd, 100, (1 << 20) - 3), b'end')


def user_names(fd):
    return [n for n in os.listxattr(fd) if n.startswith('user.')]


def extended_attributes(fd):
    equal(user_names(fd), ['user.old'])
    equal(os.getxattr(fd, 'user.old'), b'from before')
    os.setxattr(fd, 'user.new', b'1', os.XATTR_CREATE)
    fails(errno.EEXIST, os.setxattr, fd, 'user.new', b'2', os.XATTR_CREATE)
    os.removexattr(fd, 'user.old')
    equal(user_names(fd), ['user.new'])
    fails(errno.ENODATA, os.getxattr, fd, 'user.old')


def attributes(fd):
    """A Linux client that hears of a link count of 0 answers fstat by itself, with ESTALE."""
    os.fchmod(fd, 0o640)
    os.ftruncate(fd, 50)
    equal(read(fd, 100, 0), (b'x' * 4096)[:50])


def main(path, go):
    fd = os.open(path, os.O_RDWR)
    os.pwrite(fd, b'written before', 0)
    os.fsync(fd)
    print('ready', flush=True)
    while not os.path.exists(go):
        time.sleep(0.01)
    bad = 0
    for step in (bytes_of, allocation, extended_attributes, attributes, bytes_of):
        try:
            step(fd)
            print(f'ok {step.__name__}')
        except Exception:
            print(f'not ok {step.__name__}\n# ' + traceback.format_exc().rstrip().replace('\n', '\n# '))
            bad += 1
    os.close(fd)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
