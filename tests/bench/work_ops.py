"""Bursts of single operations in a client. Prints one JSON value.

	work_ops.py rates DIR THREADS N            {"creates": per second, ...}: N of each by every thread
	work_ops.py fill DIR N                     N files of 1 KiB in directories of 100, unless they are there
	work_ops.py rewrite DIR                    seconds: 1 KiB in place in every file below
	work_ops.py burst DIR START SECONDS        create, write, rename, unlink from START (this machine's clock) on, again
	                                           and again: {"done": [seconds after START at which each round ended]}
	work_ops.py turns DIR START SECONDS INTERVAL TURN
	                                           create and unlink whenever it is this site's turn (0: even intervals)
"""
import json
import os
import sys
import threading
import time

KIB = b'\xa5' * 1024
WARM = 10                   # operations of each thread before the clock starts


def close(fd):
    os.close(fd)


def create(path):
    close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))


def phase(threads, n, operation):
    """Operations per second of all threads; each has done some before all begin together."""
    errors = []
    barrier = threading.Barrier(threads + 1)

    def run(t):
        try:
            for i in range(WARM):
                operation(t, f'w{i}')
            barrier.wait()
            for i in range(n):
                operation(t, str(i))
            barrier.wait()
        except BaseException as e:
            errors.append(e)
            barrier.abort()
    workers = [threading.Thread(target=run, args=(t,)) for t in range(threads)]
    for w in workers:
        w.start()
    try:
        barrier.wait()
        start = time.perf_counter()
        barrier.wait()
        seconds = time.perf_counter() - start
    except threading.BrokenBarrierError:
        seconds = None
    for w in workers:
        w.join()
    if errors:
        raise next((e for e in errors if not isinstance(e, threading.BrokenBarrierError)), errors[0])
    return threads * n / seconds


def rates(directory, threads, n):
    threads, n = int(threads), int(n)
    os.mkdir(directory)
    for t in range(threads):
        os.mkdir(f'{directory}/{t}')
    kinds = {
        'creates': lambda t, i: create(f'{directory}/{t}/f{i}'),
        'mkdirs': lambda t, i: os.mkdir(f'{directory}/{t}/d{i}'),
        'renames': lambda t, i: os.rename(f'{directory}/{t}/f{i}', f'{directory}/{t}/g{i}'),
        'unlinks': lambda t, i: os.unlink(f'{directory}/{t}/g{i}'),
    }
    return {kind: phase(threads, n, operation) for kind, operation in kinds.items()}


def fill(directory, n):
    for i in range(int(n)):
        d = f'{directory}/d{i // 100}'
        os.makedirs(d, exist_ok=True)
        if not os.path.exists(f'{d}/f{i}'):
            with open(f'{d}/f{i}', 'wb', buffering=0) as f:
                f.write(KIB)
    return int(n)


def rewrite(directory):
    paths = [f'{d}/{f}' for d, _, files in os.walk(directory) for f in files]
    start = time.perf_counter()
    for p in paths:
        fd = os.open(p, os.O_WRONLY)
        os.pwrite(fd, KIB, 0)
        close(fd)
    return time.perf_counter() - start


def until(moment):
    while (left := moment - time.time()) > 0:
        time.sleep(min(left, 0.05))


def burst(directory, start, seconds):
    start, end, done, i = float(start), float(start) + float(seconds), [], 0
    until(start)
    while time.time() < end:
        path = f'{directory}/f{i}'
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(fd, KIB)
        close(fd)
        os.rename(path, f'{directory}/g{i}')
        if i:
            os.unlink(f'{directory}/g{i - 1}')
        done.append(time.time() - start)
        i += 1
    return {'done': done}


def turns(directory, start, seconds, interval, turn):
    start, interval, end, i = float(start), float(interval), float(start) + float(seconds), 0
    done, slowest = [], 0.0
    while (now := time.time()) < end:
        k = int((now - start) // interval)
        if now < start or k % 2 != int(turn):
            mine = max(k, -1) + 1
            mine += (mine - int(turn)) % 2
            until(min(end, start + mine * interval))
            continue
        path = f'{directory}/{turn}-{i}'
        create(path)
        os.unlink(path)
        i += 1
        took = time.time() - now
        slowest = max(slowest, took)
        if now + took <= end:
            done.append(now + took - start)
    return {'done': done, 'slowest': slowest}


WORK = {'rates': rates, 'fill': fill, 'rewrite': rewrite, 'burst': burst, 'turns': turns}

if __name__ == '__main__':
    print(json.dumps(WORK[sys.argv[1]](*sys.argv[2:])))
