"""Steps of a client whose pauses are measured, until a file appears.

	lock_probe.py DIR STOP plain|locks|keeps

Makes, writes, renames and removes files of its own in DIR; `locks` locks each of them besides, and `keeps` has one file open and locked all the time, and writes to it.
Prints one JSON object when STOP (on the host, in /tmp) exists: {"steps": [[what, begin, end]], "errors": [[what, begin, errno]]}. Times are this machine's. A repetition may say
that something was done already, when a server started anew meanwhile: that is none.
"""
import errno
import fcntl
import json
import os
import sys
import time

STEPS, ERRORS = [], []


def step(what, function, *args):
    begin = time.time()
    try:
        function(*args)
    except OSError as e:
        if e.errno not in (errno.EEXIST, errno.ENOENT):
            ERRORS.append([what, begin, errno.errorcode.get(e.errno, str(e))])
    STEPS.append([what, begin, time.time()])


def make(name, locks):
    fd = os.open(name, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        if locks:
            fcntl.lockf(fd, fcntl.LOCK_EX)
        os.write(fd, b'text\n')
        os.fsync(fd)
        if locks:
            fcntl.lockf(fd, fcntl.LOCK_UN)
    finally:
        os.close(fd)


def keep(fd, i):
    os.pwrite(fd, b'step %d\n' % i, 0)
    os.fsync(fd)


def main(directory, stop, how):
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    kept, i = None, 0
    if how == 'keeps':
        kept = os.open('kept', os.O_CREAT | os.O_RDWR, 0o644)
        fcntl.lockf(kept, fcntl.LOCK_EX)
    print('begun', flush=True)
    while not os.path.exists(stop):
        step('make', make, f'f{i}', how == 'locks')
        step('rename', os.rename, f'f{i}', f'g{i}')
        step('remove', os.unlink, f'g{i}')
        if kept is not None:
            step('write under the lock', keep, kept, i)
        i += 1
        time.sleep(0.02)
    print(json.dumps({'steps': STEPS, 'errors': ERRORS}))


main(*sys.argv[1:])
