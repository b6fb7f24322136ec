"""One measurement in a client. Prints seconds, one number (a JSON object for those that have parts).

	work.py write FILE MB | read FILE MB          sequential, 1 MiB at a time; write ends after close
	work.py create DIR N                          N files of 1 KiB in one new directory
	work.py first FILE                            open an existing file, write a byte, close
	work.py one-write FILE | one-read FILE        {"each": [...]}: single O_DIRECT operations on an open file
	work.py shell SCRIPT
"""
import json
import os
import subprocess
import sys
import time

CHUNK = b'\xa5' * (1 << 20)


def write(path, mb):
    start = time.perf_counter()
    with open(path, 'wb', buffering=0) as f:
        for _ in range(int(mb)):
            f.write(CHUNK)
    return time.perf_counter() - start


def read(path, mb):
    with open('/proc/sys/vm/drop_caches', 'w') as f:
        f.write('3')
    start, n = time.perf_counter(), 0
    with open(path, 'rb', buffering=0) as f:
        while chunk := f.read(1 << 20):
            n += len(chunk)
    assert n == int(mb) << 20, n
    return time.perf_counter() - start


def create(directory, n):
    os.mkdir(directory)
    start = time.perf_counter()
    for i in range(int(n)):
        with open(f'{directory}/f{i:04}', 'wb', buffering=0) as f:
            f.write(CHUNK[:1024])
    return time.perf_counter() - start


def first(path):
    start = time.perf_counter()
    fd = os.open(path, os.O_WRONLY | os.O_DIRECT)
    opened = time.perf_counter()
    os.pwrite(fd, b'x', 0)
    written = time.perf_counter()
    os.close(fd)
    return {'open': opened - start, 'write': written - opened, 'close': time.perf_counter() - written}


def single(path, flags, operation):
    fd, each = os.open(path, flags | os.O_DIRECT), []
    for _ in range(8):
        start = time.perf_counter()
        operation(fd)
        each.append(time.perf_counter() - start)
    os.close(fd)
    return {'each': each}


def one_write(path):
    return single(path, os.O_WRONLY, lambda fd: os.pwrite(fd, b'y' * 4096, 0))


def one_read(path):
    return single(path, os.O_RDONLY, lambda fd: os.pread(fd, 4096, 0))


def shell(script):
    start = time.perf_counter()
    r = subprocess.run(['sh', '-e', '-c', script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    if r.returncode:
        sys.exit(f'{script}: status {r.returncode}\n{r.stderr[-2000:]}')
    return seconds


def at(start, work, *args):
    """The same, begun at this time of this machine's clock."""
    while time.time() < float(start):
        time.sleep(0.0005)
    return WORK[work](*args)


def hold(path, stop):
    """Writes a file again and again, so that this site keeps control of it, until STOP exists."""
    fd = os.open(path, os.O_WRONLY | os.O_DIRECT)
    os.pwrite(fd, b'h' * 4096, 0)
    print('held', flush=True)
    while not os.path.exists(stop):
        os.pwrite(fd, b'h' * 4096, 0)
        time.sleep(0.1)
    os.close(fd)


WORK = {'write': write, 'read': read, 'create': create, 'first': first, 'one-write': one_write, 'one-read': one_read,
        'at': at, 'shell': shell, 'hold': hold}

if __name__ == '__main__':
    print(json.dumps(WORK[sys.argv[1]](*sys.argv[2:])))
