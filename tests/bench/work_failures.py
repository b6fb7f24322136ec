#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Work of failures.py inside a site's client. The last line printed is the result; times are the client's clock.

	work_failures.py fsync FILE N          milliseconds of each of N times 4 KiB + fsync
	work_failures.py append FILE STOP      open, append, close, again and again, until STOP exists: [when the open began, when closed] of each
	work_failures.py create DIR STOP       a new file each time, the same
	work_failures.py fill DIR N MB         N files of 1 KiB, and one of MB megabytes
	work_failures.py read DIR              every file of DIR opened, read, closed: seconds
"""
import json
import os
import sys
import time


def fsync(path, n):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    took = []
    for i in range(int(n)):
        os.pwrite(fd, os.urandom(4096), i * 4096)
        start = time.perf_counter()
        os.fsync(fd)
        took.append((time.perf_counter() - start) * 1000)
    os.close(fd)
    return took


def until(stop, one):
    times, n = [], 0
    while not os.path.exists(stop):
        start = time.time()
        one(n)
        times.append([start, time.time()])
        n += 1
        time.sleep(0.01)
    return times


def append(path, stop):
    def one(n):
        with open(path, 'a') as f:
            f.write(f'{n}\n')
    return until(stop, one)


def create(directory, stop):
    os.makedirs(directory, exist_ok=True)

    def one(n):
        with open(f'{directory}/{n}', 'w') as f:
            f.write(f'{n}\n')
    return until(stop, one)


def fill(directory, n, mb):
    os.makedirs(directory)
    for i in range(int(n)):
        with open(f'{directory}/{i}', 'wb') as f:
            f.write(os.urandom(1024))
    block = os.urandom(1 << 20)
    with open(f'{directory}/large', 'wb') as f:
        for _ in range(int(mb)):
            f.write(block)
    return None


def read(directory):
    start = time.perf_counter()
    for name in os.listdir(directory):
        with open(f'{directory}/{name}', 'rb') as f:
            f.read()
    return time.perf_counter() - start


if __name__ == '__main__':
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
