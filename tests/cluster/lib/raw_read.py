"""READs by hand, and what each says of the end of the file. NFSv4.0, with the stateid that is all zeroes.

	raw_read.py ADDRESS PATH OFFSET,COUNT ...      prints [[eof, bytes] or the status of what failed, for each] as JSON; bytes are text
"""
import json
import struct
import sys
import time

from raw_open import DELAY, run
from raw_readdir import walk

READ = 25


def read(address, path, offset, count):
    op = struct.pack('>I', READ) + bytes(16) + struct.pack('>QI', offset, count)
    while (answer := run(address, 0, walk(path) + [op], READ))[0] == DELAY:
        time.sleep(0.1)
    status, r = answer
    return status or [r.flag(), r.opaque().decode()]


def main(address, path, *reads):
    print(json.dumps([read(address, path, *map(int, r.split(','))) for r in reads]))


if __name__ == '__main__':
    main(*sys.argv[1:])
