"""One worker of the history test, in a client: random operations, each logged with its times.

	history_worker.py prepare DIR                                makes the files
	history_worker.py DIR SITE WORKER SEED START SECONDS REST    events as JSON lines on stdout (see history.py)

Files d0, d1 are written by every site, with O_DIRECT: a Linux client that writes a file cannot tell another's
write from its own, so for such a file its page cache promises nothing. c1, c2, c3, and the trees t1, t2, t3 are written
through the cache by their own site only and read by all. A tree is written as a whole, in a storm that deep+ is for.

Names: a few in g0 and g1, for which all fight; directories in m, which are moved between parents; and bursts, new directories
full of files that one worker makes and later removes, while the others look. After REST seconds without updates every name of
g0, g1 and m is looked at once more.
"""
import errno
import json
import os
import random
import sys
import time

LENGTH = 64                 # of every value: one WRITE, so never a mixture
GROUPS = {'g0': ['a', 'b', 'c'], 'g1': ['x', 'y'], 'm': ['p/a', 'p/b', 'q/a']}
SITES = (1, 2, 3)
TREE = [f'k{k}/f{f}' for k in range(3) for f in range(5)]
BURST = [f'f{i}' for i in range(8)]


def value_of(site, worker, n):
    return f'{site}.{worker}.{n} '.ljust(LENGTH - 1, '-') + '\n'


def written_by(site):
    return ['d0', 'd1', f'c{site}'] + [f't{site}/{file}' for file in TREE]


def prepare(directory):
    """Before the others begin: no name of a file that is written changes after."""
    for d in ['g0', 'g1', 'm/p', 'm/q', 'bursts', 'new'] + [f't{s}/k{k}' for s in SITES for k in range(3)]:
        os.makedirs(f'{directory}/{d}')
    for file in {file for s in SITES for file in written_by(s)}:
        with open(f'{directory}/{file}', 'w'):
            pass


class Worker:
    def __init__(self, directory, site, worker, seed):
        self.site, self.worker, self.n = site, worker, 0
        self.random = random.Random(f'{seed} {site} {worker}')
        self.bursts = 0
        os.chdir(directory)

    def value(self):
        self.n += 1
        return value_of(self.site, self.worker, self.n)

    def log(self, op, t0, result, **what):
        print(json.dumps({'site': self.site, 'worker': self.worker, 'op': op, 't0': t0, 't1': time.time(),
                          'result': result, **what}), flush=True)

    # ---- files

    def write(self):
        own = f'c{self.site}'
        file = self.random.choice(['d0', 'd1', own])
        self.write_one(file, 0 if file == own else os.O_DIRECT)

    def write_one(self, file, flags):
        value, trunc = self.value(), self.random.random() < 0.3
        t0, result = time.time(), 'ok'
        try:
            fd = os.open(file, os.O_WRONLY | flags | (os.O_TRUNC if trunc else 0))
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

    def storm(self):
        for file in TREE:
            self.write_one(f't{self.site}/{file}', 0)

    def read(self):
        file = self.random.choice(['d0', 'd1', 'c1', 'c2', 'c3'])
        self.read_one(file, os.O_DIRECT if file[0] == 'd' else 0)

    def read_trees(self):
        site = self.random.choice(SITES)
        for file in self.random.sample(TREE, 4):
            self.read_one(f't{site}/{file}', 0)

    def read_one(self, file, flags):
        t0 = time.time()
        fd = os.open(file, os.O_RDONLY | flags)
        try:
            data = os.pread(fd, 4096, 0)
        finally:
            os.close(fd)
        self.log('read', t0, 'ok', file=file, value=data.decode(errors='replace'))

    # ---- names

    def names(self):
        group = self.random.choice(list(GROUPS))
        name, to = self.random.sample(GROUPS[group], 2)
        op = self.random.choice(['create', 'create', 'unlink', 'rename', 'look', 'look', 'look', 'list'])
        self.attempt('place' if (op, group) == ('create', 'm') else op, group, name, to)

    def attempt(self, op, group, name, to=None):
        """One operation on a name of a group; what its errors say is part of the history."""
        t0, result, what = time.time(), 'ok', {'name': name}
        if op == 'place':
            what['id'] = self.new_directory()
            t0 = time.time()
        try:
            what.update(getattr(self, op)(group, name, to) or {})
        except (FileExistsError, FileNotFoundError) as e:
            if op == 'list':
                return # the directory of a burst is gone
            result = errno.errorcode[e.errno]
            if op == 'rename':
                what['to'] = to
        except OSError as e:
            if e.errno != errno.ESTALE:
                raise
            # The object was removed at another site between the client's look-up and its use.
            if op == 'look' or (op == 'list' and group not in GROUPS):
                return # says nothing
            if op == 'list':
                raise   # that directory is always there
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

    def new_path(self):
        return f'new/{self.site}.{self.worker}.{self.n}'

    def new_directory(self):
        """Made where nobody else looks, so that its id is known before others move it."""
        self.n += 1
        os.mkdir(self.new_path())
        return os.stat(self.new_path()).st_ino

    def place(self, group, name, _):
        os.rename(self.new_path(), f'{group}/{name}')

    def unlink(self, group, name, _):
        (os.rmdir if group == 'm' else os.unlink)(f'{group}/{name}')

    def rename(self, group, name, to):
        os.rename(f'{group}/{name}', f'{group}/{to}')
        return {'to': to}

    def look(self, group, name, _):
        try:
            return {'id': os.stat(f'{group}/{name}').st_ino}
        except FileNotFoundError:
            return {'id': None}

    def list(self, group, name, *_):
        """The directory that the name is in."""
        asked = BURST if group not in GROUPS else [n for n in GROUPS[group] if os.path.dirname(n) == os.path.dirname(name)]
        names = os.listdir(os.path.dirname(f'{group}/{name}'))
        return {'names': [n for n in asked if os.path.basename(n) in names], 'names_asked': asked}

    # ---- bursts: a group for each, whose name '.' is the directory itself

    def burst(self):
        group = f'bursts/{self.site}.{self.worker}.{self.bursts}'
        t0 = time.time()
        os.mkdir(group)
        self.log('create', t0, 'ok', group=group, name='.', id=os.stat(group).st_ino)
        for name in BURST:
            self.attempt('create', group, name)
        if self.bursts >= 2:
            self.remove(f'bursts/{self.site}.{self.worker}.{self.bursts - 2}')
        self.bursts += 1

    def remove(self, group):
        for name in BURST:
            self.attempt('unlink', group, name)
        t0 = time.time()
        os.rmdir(group)
        self.log('unlink', t0, 'ok', group=group, name='.')

    def look_at_bursts(self):
        there = sorted(n for n in os.listdir('bursts') if n[0] != '.')
        if not there:
            return
        group = f'bursts/{self.random.choice(there)}'
        self.attempt('look', group, '.')
        self.attempt('look', group, self.random.choice(BURST))
        self.attempt('list', group, BURST[0])

    # ---- all

    def run(self, end, rest):
        kinds = {0: [self.write] * 6 + [self.read] * 8 + [self.read_trees] * 4 + [self.storm],
                 1: [self.names] * 12 + [self.look_at_bursts] * 3 + [self.burst]}[self.worker % 2]
        while time.time() < end:
            self.random.choice(kinds)()
            # Sometimes a pause: controls end, and start again elsewhere.
            time.sleep(self.random.choice([0, 0, 0, 0.02, 0.2, 1.5]))
        if self.worker % 2:
            time.sleep(max(0, end + rest - time.time()))
            for group, names in GROUPS.items():
                for name in names:
                    self.attempt('look', group, name)
                    self.attempt('list', group, name)


def main(args):
    if args[0] == 'prepare':
        return prepare(args[1])
    directory, site, worker, seed, start, seconds, rest = args
    while time.time() < float(start):
        time.sleep(0.01)
    Worker(directory, int(site), int(worker), seed).run(float(start) + float(seconds), float(rest))


if __name__ == '__main__':
    main(sys.argv[1:])
