"""A client that only works, by hand and so without a guest's noise. NFSv4.0.

	works.py KIND ADDRESS PATH      for each line of standard input, a number of seconds, it works for so long, and prints {"look-up": [ms of each], "file": [ms of each]}

KIND is `look-ups` of PATH, `files` that it makes, writes, reads and removes in the directory PATH, or `both` in turns, with a pause after each. PATH exists, below the pseudo root of the server at ADDRESS or ADDRESS:PORT.
DELAY and GRACE are waited for, and are part of the time. Between two lines it renews its lease.
"""
import itertools
import json
import select
import struct
import sys
import time

from raw_many import Many
from raw_readdir import Malformed, walk

LOOKUP, RENEW = 15, 30
PAUSE = 0.005           # seconds
RENEW_EVERY = 2


class Works(Many):
    def __init__(self, address, path):
        super().__init__(address, path, 0)
        self.names = itertools.count()

    def look_up(self):
        self.timed('LOOKUP', lambda: walk(self.dir), LOOKUP)

    def file(self):
        name = f'w{next(self.names)}'
        self.open(name)
        self.use(name)
        self.close(name)
        del self.files[name]

    def work(self, seconds, jobs, pause):
        took, end = {what: [] for what in jobs}, time.monotonic() + seconds
        while time.monotonic() < end:
            for what in jobs:
                begin = time.monotonic()
                (self.file if what == 'file' else self.look_up)()
                took[what].append(round(1000 * (time.monotonic() - begin), 3))
                if self.wrong:
                    raise Malformed(str(self.wrong))
                time.sleep(pause)
        return took

    def step(self):
        """So that the lease goes on."""
        self.run([struct.pack('>IQ', RENEW, self.id)], RENEW)


KINDS = {'look-ups': (('look-up',), 0), 'files': (('file',), 0), 'both': (('look-up', 'file'), PAUSE)}


def told(seconds, idle):
    """The next line, '' when there is none any more. Meanwhile idle() is called, once in so many seconds."""
    while not select.select([sys.stdin], [], [], seconds)[0]:
        idle()
    return sys.stdin.readline().strip()


def main(kind, address, path):
    client = Works(address, path)
    while line := told(RENEW_EVERY, client.step):
        print(json.dumps(client.work(float(line), *KINDS[kind])), flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
