"""One worker of the history test, in a client: random operations, each logged with its times.

	history_worker.py DIR SITE WORKER SEED START SECONDS     events as JSON lines on stdout (see history.py)

Files d0, d1 are written by every site, with O_DIRECT: a Linux client that writes a file cannot tell another's
write from its own, so for such a file its page cache promises nothing. c1, c2, c3 are written through the cache
by their own site only and read by all.
"""
import errno
import json
import os
import random
import sys
import time

LENGTH = 64                 # of every value: one WRITE, so never a mixture
GROUPS = {'g0': ['a', 'b', 'c'], 'g1': ['x', 'y']}


class Worker:
    def __init__(self, directory, site, worker, seed):
        self.site, self.worker, self.n = site, worker, 0
        self.random = random.Random(f'{seed} {site} {worker}')
        os.chdir(directory)

    def value(self):
        self.n += 1
        return f'{self.site}.{self.worker}.{self.n} '.ljust(LENGTH - 1, '-') + '\n'

    def log(self, op, t0, result, **what):
        print(json.dumps({'site': self.site, 'worker': self.worker, 'op': op, 't0': t0, 't1': time.time(),
                          'result': result, **what}), flush=True)

    def write(self):
        own = f'c{self.site}'
        file = self.random.choice(['d0', 'd1', own])
        value, trunc = self.value(), self.random.random() < 0.3
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if trunc else 0) | (0 if file == own else os.O_DIRECT)
        t0, result = time.time(), 'ok'
        try:
            fd = os.open(file, flags)
            try:
                os.pwrite(fd, value.encode(), 0)
                if self.random.random() < 0.2:
                    os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as e:
            result = 'unknown'
            self.log('error', t0, errno.errorcode[e.errno], group='errors', name=f'write {file}')
        self.log('write', t0, result, file=file, value=value, trunc=trunc)

    def read(self):
        file = self.random.choice(['d0', 'd1', 'c1', 'c2', 'c3'])
        t0 = time.time()
        try:
            fd = os.open(file, os.O_RDONLY | (os.O_DIRECT if file[0] == 'd' else 0))
            try:
                data = os.pread(fd, 4096, 0)
            finally:
                os.close(fd)
        except FileNotFoundError:
            data = b''          # as good as empty: before the first write
        self.log('read', t0, 'ok', file=file, value=data.decode(errors='replace'))

    def names(self):
        """One operation on a name of a group; what its errors say is part of the history."""
        group = self.random.choice(list(GROUPS))
        name, to = self.random.sample(GROUPS[group], 2)
        op = self.random.choice(['create', 'create', 'unlink', 'rename', 'look', 'look', 'look', 'list'])
        t0, result, what = time.time(), 'ok', {'name': name}
        try:
            what.update(getattr(self, op)(group, name, to))
        except (FileExistsError, FileNotFoundError) as e:
            result = errno.errorcode[e.errno]
            if op == 'rename':
                what['to'] = to
        except OSError as e:
            if e.errno != errno.ESTALE:
                raise
            # The object was removed at another site between the client's look-up and its use.
            if op in ('look', 'list'):
                return # says nothing
            result = 'unknown'
            if op == 'rename':
                what['to'] = to
        self.log(op, t0, result, group=group, **what)

    def create(self, group, name, _):
        fd = os.open(f'{group}/{name}', os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        try:
            return {'id': os.fstat(fd).st_ino}
        except OSError as e:
            if e.errno != errno.ESTALE:
                raise
            # Another site has removed it before this one had a copy to hold open. The checker wants to see who:
            # an id of its own fits no later look at the name.
            return {'id': f'removed before {time.time()}'}
        finally:
            os.close(fd)

    def unlink(self, group, name, _):
        os.unlink(f'{group}/{name}')
        return {}

    def rename(self, group, name, to):
        os.rename(f'{group}/{name}', f'{group}/{to}')
        return {'to': to}

    def look(self, group, name, _):
        try:
            return {'id': os.stat(f'{group}/{name}').st_ino}
        except FileNotFoundError:
            return {'id': None}

    def list(self, group, *_):
        return {'names': os.listdir(group), 'names_asked': GROUPS[group]}

    def run(self, end):
        kinds = {0: [self.write, self.read, self.read], 1: [self.names]}[self.worker % 2]
        while time.time() < end:
            self.random.choice(kinds)()
            # Sometimes a pause: controls end, and start again elsewhere.
            time.sleep(self.random.choice([0, 0, 0, 0.02, 0.2, 1.5]))


def main(args):
    directory, site, worker, seed, start, seconds = args
    while time.time() < float(start):
        time.sleep(0.01)
    Worker(directory, int(site), int(worker), seed).run(float(start) + float(seconds))


main(sys.argv[1:])
