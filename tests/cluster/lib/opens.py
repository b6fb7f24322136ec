"""Processes of one client that open, read and close one file: how often each could in SECONDS, how long it was kept waiting, and how long the slowest open took.

	opens.py FILE SECONDS PROCESSES     prints {"times": [opens of each process], "waited": [seconds of each], "longest": seconds}

A Linux client that is told to come again does so after 100 ms. So opens that take as long as WAIT are those that were refused, or that stood still; and all those for which the machine had no time.
"""
import json
import multiprocessing
import os
import sys
import time

WAIT = 0.09


def work(path, seconds, results):
    now = time.monotonic()
    end, n, longest, waited = now + seconds, 0, 0, 0
    while now < end:
        fd = os.open(path, os.O_RDONLY)
        took = time.monotonic() - now
        longest = max(longest, took)
        waited += took if took >= WAIT else 0
        os.read(fd, 4096)
        os.close(fd)
        n += 1
        now = time.monotonic()
    results.put((n, waited, longest))


def main():
    path, seconds, count = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    results = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=work, args=(path, seconds, results)) for _ in range(count)]
    for p in processes:
        p.start()
    of_each = [results.get() for _ in processes]
    for p in processes:
        p.join()
    print(json.dumps({'times': [n for n, _, _ in of_each], 'waited': [round(waited, 2) for _, waited, _ in of_each], 'longest': round(max(longest for _, _, longest in of_each), 3)}))


if __name__ == '__main__':
    main()
