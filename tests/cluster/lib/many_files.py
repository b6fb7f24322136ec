"""Fills a directory: many_files.py DIR FILES BIG_MIB. Small files of up to 8 KB in directories of 100, and one big file."""
import concurrent.futures
import os
import random
import sys

THREADS = 32    # each close waits for a majority


def main(directory, files, big_mib):
    rnd = random.Random(files)
    noise = rnd.randbytes(1 << 20)

    def small(i, at, size):
        fd = os.open(f'{directory}/d{i // 100}/f{i}', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        os.write(fd, noise[at:at + size])
        os.close(fd)
    for i in range(0, files, 100):
        os.makedirs(f'{directory}/d{i // 100}')
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(small, i, rnd.randrange(len(noise) // 2), rnd.randrange(8192)) for i in range(files)]:
            done.result()
    with open(f'{directory}/big', 'wb') as f:
        for _ in range(big_mib):
            f.write(noise)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
