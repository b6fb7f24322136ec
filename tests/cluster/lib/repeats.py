"""One operation of each kind on names, each in a directory of its own, all under way when the server dies.

	repeats.py prepare DIR
	repeats.py DIR GO       says "ready", begins when the file GO (on the host, in /tmp) exists, and prints
	                        {operation: [begin, end, error or null]} by this machine's clock
"""
import errno
import json
import os
import sys
import threading
import time


def create():
    os.close(os.open('create/new', os.O_CREAT | os.O_EXCL | os.O_WRONLY))


# A client does one operation at a time in a directory.
OPERATIONS = {'create': create, 'mkdir': lambda: os.mkdir('mkdir/new'), 'unlink': lambda: os.unlink('unlink/old'),
              'rename': lambda: os.rename('rename/old', 'rename/new'), 'link': lambda: os.link('link/old', 'link/new')}


def prepare(directory):
    for op in OPERATIONS:
        os.makedirs(f'{directory}/{op}')
        if op in ('unlink', 'rename', 'link'):
            with open(f'{directory}/{op}/old', 'w') as f:
                f.write(op)


def run(op, results):
    begin, error = time.time(), None
    try:
        OPERATIONS[op]()
    except OSError as e:
        error = errno.errorcode[e.errno]
    results[op] = [begin, time.time(), error]


def main(directory, go):
    os.chdir(directory)
    results = {}
    threads = [threading.Thread(target=run, args=(op, results)) for op in OPERATIONS]
    print('ready', flush=True)
    while not os.path.exists(go):
        time.sleep(0.01)
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(json.dumps(results))


if sys.argv[1] == 'prepare':
    prepare(sys.argv[2])
else:
    main(*sys.argv[1:])
