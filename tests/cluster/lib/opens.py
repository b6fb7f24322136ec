"""Processes of one client that open, read and close one file: how often each could in SECONDS, and how long the slowest open took.

	opens.py FILE SECONDS PROCESSES     prints {"times": [opens of each process], "longest": seconds}
"""
import json
import multiprocessing
import os
import sys
import time


def work(path, seconds, results):
    now = time.monotonic()
    end, n, longest = now + seconds, 0, 0
    while now < end:
        fd = os.open(path, os.O_RDONLY)
        longest = max(longest, time.monotonic() - now)
        os.read(fd, 4096)
        os.close(fd)
        n += 1
        now = time.monotonic()
    results.put((n, longest))


def main():
    path, seconds, count = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    results = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=work, args=(path, seconds, results)) for _ in range(count)]
    for p in processes:
        p.start()
    of_each = [results.get() for _ in processes]
    for p in processes:
        p.join()
    print(json.dumps({'times': sorted(n for n, _ in of_each), 'longest': round(max(longest for _, longest in of_each), 3)}))


if __name__ == '__main__':
    main()
