"""Synchronous writes of 1000 bytes into one file with pauses between them, and how long each took.

	sync_writes.py FILE SECONDS LEAST MOST SEED       pauses of LEAST to MOST seconds; prints a histogram in steps of 20 ms
"""
import collections
import os
import random
import sys
import time


def main(path, seconds, least, most, seed):
    rnd, took = random.Random(int(seed)), []
    fd, end = os.open(path, os.O_RDWR | os.O_CREAT | os.O_SYNC, 0o644), time.monotonic() + float(seconds)
    while time.monotonic() < end:
        start = time.monotonic()
        os.pwrite(fd, b'w' * 1000, int(seed) * 1000)
        took.append(1000 * (time.monotonic() - start))
        time.sleep(rnd.uniform(float(least), float(most)))
    steps = sorted(collections.Counter(int(t // 20 * 20) for t in took).items())
    print(f'{len(took)} writes, longest {max(took):.0f} ms;', ', '.join(f'from {s} ms: {n}' for s, n in steps))


if __name__ == '__main__':
    main(*sys.argv[1:])
