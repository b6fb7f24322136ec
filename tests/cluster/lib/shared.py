"""One site's part of a storm over the same directories and files: whatever any client may do, at once.

	shared.py DIR SITE SEED OPERATIONS

Nothing is promised about who wins; every call must end with success or a refusal that POSIX has for it, and
afterwards all sites must show the same tree. Prints how many calls did what.
"""
import collections
import errno
import json
import os
import random
import sys

NAMES = [f'n{i}' for i in range(8)]
DIRS = ['.', 'd0', 'd1', 'd0/d2']
EXPECTED = {errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.ESTALE,
            errno.ELOOP, errno.EXDEV, errno.EBUSY}
DIRECTORY = {errno.EPERM}                # POSIX: link() of a directory
FIFO = {errno.ENXIO, errno.ESPIPE}       # no reader; no position


def open_and_write(path, flags, data, at=None):
    """Never waits for a fifo's reader, which another site may make between any look and this."""
    fd = os.open(path, flags | os.O_NONBLOCK, 0o666)
    try:
        if at is not None:
            os.lseek(fd, at, os.SEEK_SET)
        while data:
            data = data[os.write(fd, data):]
    finally:
        os.close(fd)


def storm_calls(r):
    """Functions of two random paths, each with the refusals that only it may hear."""
    def write(a, _):
        open_and_write(a, os.O_WRONLY | os.O_CREAT | r.choice([os.O_TRUNC, os.O_APPEND]), os.urandom(r.randrange(1, 20000)))

    def overwrite(a, _):
        open_and_write(a, os.O_RDWR, b'overwritten', at=r.randrange(10000))

    none = set()
    return [(write, FIFO), (write, FIFO), (overwrite, FIFO), (os.rename, none), (os.rename, none),
            (lambda a, b: os.link(a, b, follow_symlinks=False), DIRECTORY), (lambda a, _: os.unlink(a), none),
            (lambda a, _: os.mkdir(a), none), (lambda a, _: os.rmdir(a), none),
            (lambda a, b: os.symlink(os.path.basename(b), a), none),
            (lambda a, _: os.chmod(a, r.choice([0o644, 0o755, 0o600])), none),
            (lambda a, _: os.chown(a, r.randrange(9), 5), none), (lambda a, _: os.truncate(a, r.randrange(30000)), none),
            (lambda a, _: os.utime(a, ns=(1, r.randrange(1 << 60))), none), (lambda a, _: os.mkfifo(a), none),
            (lambda a, _: os.listdir(os.path.dirname(a)), none), (lambda a, _: os.stat(a), none)]


def main(directory, site, seed, operations):
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    for d in DIRS[1:]:
        try:
            os.mkdir(d)
        except OSError as e:            # others may be at it already
            if e.errno not in EXPECTED:
                raise
    r = random.Random(f'{seed} {site}')
    counts, bad = collections.Counter(), 0

    def path():
        d = r.choice(DIRS)
        return os.path.join(d, r.choice(NAMES + ['d2', 'd3']) if r.random() < 0.9 else f'own-{site}-{r.randrange(9)}')
    calls = storm_calls(r)
    for i in range(int(operations)):
        number, a, b = r.randrange(len(calls)), path(), path()
        call, refusals = calls[number]
        try:
            call(a, b)
            counts['done'] += 1
        except OSError as e:
            counts[errno.errorcode[e.errno]] += 1
            if e.errno not in EXPECTED | refusals:
                bad += 1
                print(f'# call {i} {number} {a} {b}: {e}')
    print(json.dumps(counts))
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
