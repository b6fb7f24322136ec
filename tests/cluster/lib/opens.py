"""Processes of one client that open, read and close one file: how often each could in SECONDS.

	opens.py FILE SECONDS PROCESSES     prints [times, ..], one for each process
"""
import json
import multiprocessing
import os
import sys
import time


def work(path, seconds, results):
    end, n = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        fd = os.open(path, os.O_RDONLY)
        os.read(fd, 4096)
        os.close(fd)
        n += 1
    results.put(n)


def main():
    path, seconds, count = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    results = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=work, args=(path, seconds, results)) for _ in range(count)]
    for p in processes:
        p.start()
    for p in processes:
        p.join()
    print(json.dumps(sorted(results.get() for _ in processes)))


if __name__ == '__main__':
    main()
