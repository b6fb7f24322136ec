"""READs by hand, and what each says of the end of the file. NFSv4.0, with the stateid that is all zeroes.

	raw_read.py ADDRESS PATH OFFSET,COUNT[,back] ...      prints [[eof, bytes] or the status of what failed, for each] as JSON; bytes are text

back: the file is put aside, the server's root is the current object, and then the file again.
"""
import json
import struct
import sys
import time

from raw_open import DELAY, run
from raw_readdir import walk

PUTROOTFH, READ, RESTOREFH, SAVEFH = 24, 25, 31, 32


def read(address, path, offset, count, back):
    op = struct.pack('>I', READ) + bytes(16) + struct.pack('>QI', int(offset), int(count))
    way = walk(path) + ([struct.pack('>I', o) for o in (SAVEFH, PUTROOTFH, RESTOREFH)] if back else [])
    while (answer := run(address, 0, way + [op], READ))[0] == DELAY:
        time.sleep(0.1)
    status, r = answer
    return status or [r.flag(), r.opaque().decode()]


def main(address, path, *reads):
    print(json.dumps([read(address, path, *r.split(',')[:2], r.endswith(',back')) for r in reads]))


if __name__ == '__main__':
    main(*sys.argv[1:])
