"""Names that one site makes, once, and another one removes as soon as they are there.

	removed_when_made.py make DIR COUNT      PAIRS threads make COUNT names each, the next one when the last is gone; prints [what went wrong]
	removed_when_made.py remove DIR COUNT    says "ready", then as many threads remove each of them

Half of the threads make directories. The one that removes also makes and removes others all the time, so that its site controls the directory.
"""
import errno
import json
import os
import sys
import threading
import time

PAIRS = 6
LIMIT = 20      # seconds for one name


def make_file(path):
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    try:
        os.close(fd)
    except OSError as e:
        if e.errno != errno.ESTALE:
            raise


def gone(path):
    try:
        os.stat(path)
        return False
    except OSError as e:
        if e.errno not in (errno.ENOENT, errno.ESTALE):
            raise
        return True


def patiently(does, limit=LIMIT):
    end = time.monotonic() + limit
    while not does():
        if time.monotonic() > end:
            return False
    return True


def make(t, count, wrong):
    for i in range(count):
        path = f'{t}-{i}'
        try:
            (make_file if t % 2 else os.mkdir)(path)
        except OSError as e:
            wrong.append(f'{path} cannot be made: {e}')
            return
        if not patiently(lambda: gone(path), 2 * LIMIT):        # who made it again has it for good
            wrong.append(f'{path} is still there')
            return


def removed(path, remove):
    try:
        remove(path)
        return True
    except FileNotFoundError:
        return False


def remove(t, count, wrong):
    for i in range(count):
        if not patiently(lambda: removed(f'{t}-{i}', os.unlink if t % 2 else os.rmdir)):
            wrong.append(f'{t}-{i} never came')
            return


def keep(over):
    while not over.is_set():
        os.mkdir('keep')
        os.rmdir('keep')
        time.sleep(0.01)


def run(what, count):
    wrong, threads = [], []
    for t in range(PAIRS):
        threads.append(threading.Thread(target=what, args=(t, count, wrong)))
        threads[-1].start()
    for t in threads:
        t.join()
    return wrong


def main():
    os.chdir(sys.argv[2])
    if sys.argv[1] == 'make':
        print(json.dumps(run(make, int(sys.argv[3]))))
        return
    over = threading.Event()
    keeper = threading.Thread(target=keep, args=(over,))
    keeper.start()
    print('ready', flush=True)
    wrong = run(remove, int(sys.argv[3]))
    over.set()
    keeper.join()
    print(json.dumps(wrong))


if __name__ == '__main__':
    main()
