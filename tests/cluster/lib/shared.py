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


def storm_calls(r):
    """Functions of two random paths."""
    def write(a, _):
        with open(a, r.choice(['wb', 'ab'])) as f:
            f.write(os.urandom(r.randrange(1, 20000)))

    def overwrite(a, _):
        with open(a, 'r+b') as f:
            f.seek(r.randrange(10000))
            f.write(b'overwritten')

    return [write, write, overwrite, lambda a, b: os.rename(a, b), lambda a, b: os.rename(a, b),
            lambda a, b: os.link(a, b, follow_symlinks=False), lambda a, _: os.unlink(a), lambda a, _: os.mkdir(a),
            lambda a, _: os.rmdir(a), lambda a, b: os.symlink(os.path.basename(b), a),
            lambda a, _: os.chmod(a, r.choice([0o644, 0o755, 0o600])), lambda a, _: os.chown(a, r.randrange(9), 5),
            lambda a, _: os.truncate(a, r.randrange(30000)), lambda a, _: os.utime(a, ns=(1, r.randrange(1 << 60))),
            lambda a, _: os.mkfifo(a), lambda a, _: os.listdir(os.path.dirname(a)), lambda a, _: os.stat(a)]


def main(directory, site, seed, operations):
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    for d in DIRS[1:]:
        os.makedirs(d, exist_ok=True)
    r = random.Random(f'{seed} {site}')
    counts, bad = collections.Counter(), 0

    def path():
        d = r.choice(DIRS)
        return os.path.join(d, r.choice(NAMES + ['d2', 'd3']) if r.random() < 0.9 else f'own-{site}-{r.randrange(9)}')
    calls = storm_calls(r)
    for i in range(int(operations)):
        call, a, b = r.randrange(len(calls)), path(), path()
        # No open of a fifo: it would wait for a reader for ever.
        try:
            if call < 3 and os.path.exists(a) and not os.path.isfile(a):
                continue
            calls[call](a, b)
            counts['done'] += 1
        except OSError as e:
            counts[errno.errorcode[e.errno]] += 1
            if e.errno not in EXPECTED:
                bad += 1
                print(f'# call {i} {call} {a} {b}: {e}')
    print(json.dumps(counts))
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
