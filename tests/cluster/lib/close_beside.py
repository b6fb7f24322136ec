"""Closes of a writer, of files that nobody controls; and what another site reads after each.

	close_beside.py write DIR GO COUNT      of DIR/old-0 while it is open for reading, too, then of DIR/old-1, alone, and so on; prints [seconds that each close took]
	close_beside.py read DIR GO COUNT       prints [what it reads of each right after that]

The reader says "ready" when it has read all once; the writer makes the file GO-I when it has closed old-I, and waits for GO-I.read.
"""
import json
import os
import sys
import time


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.001)


def get(path):
    with open(path) as f:
        return f.read()


def write(go, count):
    took = []
    os.mkdir('new')             # from here on this site controls the directory
    for i in range(count):
        reader = os.open(f'old-{i}', os.O_RDONLY) if i % 2 == 0 else None
        writer = os.open(f'old-{i}', os.O_WRONLY)
        os.write(writer, b'new')
        t0 = time.monotonic()
        os.close(writer)
        took.append(time.monotonic() - t0)
        open(f'{go}-{i}', 'w').close()
        wait_for(f'{go}-{i}.read')
        if reader is not None:
            os.close(reader)
    return took


def read(go, count):
    seen = []
    for i in range(count):
        get(f'old-{i}')
    print('ready', flush=True)
    for i in range(count):
        wait_for(f'{go}-{i}')
        seen.append(get(f'old-{i}'))
        open(f'{go}-{i}.read', 'w').close()
    return seen


if __name__ == '__main__':
    os.chdir(sys.argv[2])
    print(json.dumps({'write': write, 'read': read}[sys.argv[1]](sys.argv[3], int(sys.argv[4]))))
