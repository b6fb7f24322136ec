"""Processes of one client that lock, read and write at random, and say what they had when (lock_history.py).

	lock_torture.py DIR SITE PROCESSES SEED START SECONDS [trouble]

They work from START, of this machine's clock, on three files of DIR: `cells` has four cells of 100 bytes, locked one by one, by two, or all, by fcntl, by flock and for
open file descriptions; `block` is read and written whole; lines are appended to `lines`. trouble: servers may die meanwhile. Then each write is synced under its lock, and
EIO says that the lock is lost.

Prints one JSON line for each request, and for each line that was appended {"line": text}.
"""
import errno
import fcntl
import json
import os
import random
import sys
import time

from lock_worker import ofd, posix, whole

CELL, CELLS = 100, 4
BLOCK = 400                 # lines of 40 bytes
LOCKS = {'fcntl': posix, 'ofd': ofd, 'flock': whole}
REFUSED = errno.EAGAIN, errno.EACCES
LOST = errno.EIO, errno.ESTALE


def text_of(data):
    """What is written in a cell."""
    return data.strip(b'\0 \n').decode(errors='replace')


def block_of(data):
    """The line that a block repeats, or what else it is."""
    line = data[:40]
    return text_of(line) if data == line * BLOCK or not data else f'a mixture: {sorted(set(text_of(data[i:i + 40]) for i in range(0, len(data), 40)))[:4]}, {len(data)} bytes'


class Worker:
    def __init__(self, directory, site, n, seed, trouble):
        self.directory, self.site, self.name, self.trouble = directory, int(site), f'{site}.{n}', trouble
        self.random, self.n, self.fds = random.Random(f'{seed} {self.name}'), 0, {}

    def fd(self, file):
        """One of each file: a second one that is closed would take the first one's locks along."""
        if file not in self.fds:
            self.fds[file] = os.open(f'{self.directory}/{file}', os.O_RDWR | os.O_CREAT | (os.O_APPEND if file == 'lines' else 0), 0o666)
        return self.fds[file]

    def close(self):
        for fd in self.fds.values():
            try:
                os.close(fd)
            except OSError:
                pass
        self.fds = {}

    def choose(self):
        """(file, kind, start, length, the cell in it)"""
        file = self.random.choice(['cells'] * 4 + (['block', 'lines'] if not self.trouble else []))
        kind = self.random.choice(list(LOCKS))
        if file != 'cells' or kind == 'flock':
            return file, kind, 0, 0, self.random.randrange(CELLS) if file == 'cells' else 0
        cells = self.random.choice([1, 1, 1, 2, CELLS])
        first = self.random.randrange(CELLS - cells + 1)
        return file, kind, CELL * first, CELL * cells, first + self.random.randrange(cells)

    def use(self, e, fd, file, cell):
        """Reads under the lock and, if it is to write, writes."""
        if file == 'lines':
            if e['type'] == 'w':
                e['line'] = f'{self.name}.{self.n}'
                os.write(fd, e['line'].encode() + b'\n')
                os.fsync(fd)
            return
        e['cell'] = cell
        e['read'] = text_of(os.pread(fd, CELL, CELL * cell)) if file == 'cells' else block_of(os.pread(fd, 40 * BLOCK + 1, 0))
        e['leaving'] = time.time()
        if e['type'] == 'w':
            n = int((e['read'].split() or ['0'])[0]) if not e['read'].startswith('a mixture') else 0
            e.update(wrote=f'{n + 1} {self.name}.{self.n}', unsure=True)
            if file == 'cells':
                os.pwrite(fd, e['wrote'].encode().ljust(CELL - 1) + b'\n', CELL * cell)
            else:
                os.pwrite(fd, (e['wrote'].encode().ljust(39) + b'\n') * BLOCK, 0)
            if self.trouble or self.random.random() < 0.3:
                os.fsync(fd)
            del e['unsure']

    def request(self):
        file, kind, start, length, cell = self.choose()
        write = self.random.random() < 0.75
        e = {'site': self.site, 'owner': self.name, 'file': file, 'kind': kind, 'type': 'w' if write else 'r', 'start': start, 'end': start + length if length else None,
             'wait': self.random.random() < 0.7, 'granted': None, 'leaving': None}
        self.n += 1
        fd, lock = self.fd(file), LOCKS[kind]
        e['asked'] = time.time()
        try:
            lock(fd, fcntl.F_WRLCK if write else fcntl.F_RDLCK, start, length, e['wait'])
            e['granted'] = e['leaving'] = time.time()
            self.use(e, fd, file, cell)
            time.sleep(self.random.choice([0, 0, 0.002, 0.01]))
            e['leaving'] = time.time()
            lock(fd, fcntl.F_UNLCK, start, length)
            e['result'] = 'ok'
        except OSError as error:
            e['result'] = 'busy' if error.errno in REFUSED and not e['granted'] and not e['wait'] else \
                'lost' if self.trouble and e['granted'] and error.errno in LOST else errno.errorcode.get(error.errno, str(error))
            if e['result'] != 'busy':
                self.close()        # the rest of what it has goes with it
        e['left'] = time.time()
        return e

    def run(self, start, seconds):
        time.sleep(max(0, start - time.time()))
        events = []
        while time.time() < start + seconds:
            try:
                events.append(self.request())
            except OSError as error:    # an open
                if not self.trouble:
                    raise
                self.close()
                events.append({'error': errno.errorcode.get(error.errno, str(error))})
            time.sleep(self.random.choice([0.02, 0.05, 0.1] if self.trouble else [0, 0.001, 0.005]))   # in trouble others work beside
        self.close()
        return events


def main(directory, site, processes, seed, start, seconds, *trouble):
    out, pids = [], []
    for n in range(int(processes)):
        out.append(os.memfd_create(f'events-{n}'))
        pid = os.fork()
        if pid == 0:
            events = Worker(directory, site, n, seed, bool(trouble)).run(float(start), float(seconds))
            with os.fdopen(out[-1], 'w') as f:
                f.writelines(json.dumps(e) + '\n' for e in events)
            os._exit(0)
        pids.append(pid)
    bad = sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)
    for fd in out:
        os.lseek(fd, 0, os.SEEK_SET)
        with os.fdopen(fd) as f:
            sys.stdout.write(f.read())
    sys.exit(bad)


if __name__ == '__main__':
    main(*sys.argv[1:])
