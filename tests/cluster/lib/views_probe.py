"""How long a client's updates take while servers come and go.

	views_probe.py prepare DIR SITE     makes the directories
	views_probe.py DIR SITE STOP        until the file STOP (on the host, in /tmp) exists

A few threads make and remove a file, each in a directory of its own beside those of the other sites, and then pause until
control of it has ended: so updates need elections, and whenever something happens one of them is about to begin. Prints one JSON list of
[begin, seconds, what, error or null] by this machine's clock. A server that goes away is only a pause, so there should be no error; which there may
be all the same is judged outside.
"""
import errno
import json
import os
import sys
import threading
import time
import traceback

THREADS = 5
PAUSE = 2.2


def prepare(directory, site):
    for n in range(THREADS):
        os.makedirs(f'{directory}/{n}/site{site}', exist_ok=True)


def timed(log, what, function):
    start, error = time.time(), None
    try:
        function()
    except OSError as e:
        error = errno.errorcode[e.errno]
    log.append([start, round(time.time() - start, 3), what, error])


def create(path):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def work(directory, n, stop, log):
    i = 0
    time.sleep(n * PAUSE / THREADS)
    while not os.path.exists(stop):
        timed(log, f'create {n}/f{i}', lambda: create(f'{directory}/f{i}'))
        if i:
            timed(log, f'unlink {n}/f{i - 1}', lambda: os.unlink(f'{directory}/f{i - 1}'))
        i += 1
        time.sleep(PAUSE)


def guarded(errors, *args):
    try:
        work(*args)
    except Exception:
        errors.append(traceback.format_exc())


def main(directory, site, stop):
    log, errors = [], []
    threads = [threading.Thread(target=guarded, args=(errors, f'{directory}/{n}/site{site}', n, stop, log)) for n in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(json.dumps(log) if not errors else '\n'.join(errors))
    sys.exit(bool(errors))


if sys.argv[1] == 'prepare':
    prepare(*sys.argv[2:])
else:
    main(*sys.argv[1:])
