"""One wide-area job in a client, or on the host in a site's network. Prints a JSON object; times are of this machine's clock.

	work_wan.py write FILE MB             writes 1 MiB at a time and closes: {"start": t, "close": t, "end": t}
	work_wan.py await FILE BYTES          waits until an open shows that size, then reads all: {"seen": t, "end": t, "sum": crc32}
	work_wan.py many DIR N                N files of 1 KiB in one new directory: {"start": t, "end": t}
	work_wan.py await-many DIR N          waits until the newest of them has its bytes, then reads all: {"seen": t, "end": t}
"""
import json
import os
import random
import sys
import time
import zlib

MIB = 1 << 20
PAUSE = 0.01
DROP = '/proc/sys/vm/drop_caches'


def block():
    """No compressor makes it smaller."""
    return random.Random(1).randbytes(MIB)


def write(path, mb):
    data = block()
    start = time.time()
    with open(path, 'wb', buffering=0) as f:
        for _ in range(int(mb)):
            f.write(data)
        close = time.time()
    return {'start': start, 'close': close, 'end': time.time()}


def size(path):
    """As an open sees it: after a close elsewhere that is the file's size, whatever this client remembers."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return -1
    try:
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def await_(path, n):
    while size(path) < int(n):
        time.sleep(PAUSE)
    seen, crc, got = time.time(), 0, 0
    with open(path, 'rb', buffering=0) as f:
        while chunk := f.read(MIB):
            crc, got = zlib.crc32(chunk, crc), got + len(chunk)
    end = time.time()
    assert got == int(n), got
    want = 0
    for _ in range(int(n) // MIB):
        want = zlib.crc32(block_once, want)
    assert crc == want, 'wrong bytes'
    return {'seen': seen, 'end': end}


block_once = block()


def many(directory, n):
    start = time.time()
    os.mkdir(directory)
    for i in range(int(n)):
        with open(f'{directory}/f{i:05}', 'wb', buffering=0) as f:
            f.write(block_once[:1024])
    return {'start': start, 'end': time.time()}


def await_many(directory, n):
    last = f'{directory}/f{int(n) - 1:05}'
    while size(last) < 1024:
        time.sleep(PAUSE)
    seen = time.time()
    for i in range(int(n)):
        with open(f'{directory}/f{i:05}', 'rb') as f:
            assert f.read() == block_once[:1024], i
    return {'seen': seen, 'end': time.time()}


WORK = {'write': write, 'await': await_, 'many': many, 'await-many': await_many}

if __name__ == '__main__':
    print(json.dumps(WORK[sys.argv[1]](*sys.argv[2:])))
