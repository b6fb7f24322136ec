"""Directories in which every site works at once: single operations, and bursts below shared and own directories.

	shared/  s0 .. s3 and what grows below: everybody
	own/oS/  p0 .. p5, each with old files: site S, now and then somebody else
	meet/K/        every MEET seconds all sites make a name in one of these at the same moment
	homes/, away/  the homes of trees_home.py, which are moved to and fro

TOLERATED says, for each operation, which errors an honest race on a shared name space can give.
"""
import errno
import os
import stat

E = errno
# The path led elsewhere a moment ago: a name is gone, is no directory any more, its object was removed at another site. Or a directory's
# name is a symbolic link now: `a` that points to `a`, or to `b` that points back.
PATH = {E.ENOENT, E.ENOTDIR, E.ESTALE, E.ELOOP}
TOLERATED = {
    'create': PATH | {E.EEXIST, E.EISDIR},
    'write': PATH | {E.EISDIR},  # a directory has the name now
    'read': PATH | {E.EISDIR},
    'truncate': PATH | {E.EISDIR},
    'chmod': PATH,
    'utime': PATH,
    'stat': PATH,
    'list': PATH,
    'mkdir': PATH | {E.EEXIST},
    'symlink': PATH | {E.EEXIST},
    'link': PATH | {E.EEXIST, E.EPERM},     # EPERM: a directory
    'unlink': PATH | {E.EISDIR, E.ENOTEMPTY},   # a directory has the name now; REMOVE says no type, so of a full one the server says that
    'rmdir': PATH | {E.ENOTEMPTY},
    # a directory over a full one, a file over a directory, a directory into itself
    'rename': PATH | {E.ENOTEMPTY, E.EEXIST, E.EISDIR, E.EINVAL},
    # Another site was faster. ESTALE: a Linux client that finds a known directory in a new place gives up (d_splice_alias) when
    # another of its processes is renaming.
    'move home': PATH - {E.ELOOP} | {E.ENOTEMPTY, E.EEXIST},
}
DIRS = ['s0', 's1', 's2', 's3', 's0/a', 's1/b', 's2/c', 's0/a/d', 's1/b/e']
NAMES = ['n0', 'n1', 'n2', 'n3', 'n4', 'a', 'b', 'c', 'd', 'e']
SITES = (1, 2, 3)
OWN_DIRS = 6
OWN_FILES = 5
MEET = 5                    # s: fewer elections in ten seconds than make a site ask for all of meet/
MEETINGS = 24


def prepare(base):
    """By one site, before the others begin."""
    for d in ['homes', 'away'] + [f'homes/h{s}' for s in SITES] + ['shared/' + d for d in DIRS] + [f'meet/{k}' for k in range(MEETINGS)]:
        os.makedirs(f'{base}/{d}', exist_ok=True)
    for s in SITES:
        for p in range(OWN_DIRS):
            os.makedirs(f'{base}/own/o{s}/p{p}')
            for f in range(OWN_FILES):
                with open(f'{base}/own/o{s}/p{p}/old{f}', 'w') as out:
                    out.write(f'old file {f} of site {s}\n')


class Shared:
    def __init__(self, base, site, random, count):
        os.umask(0o022)
        self.base, self.site, self.random, self.count, self.unexpected = base, site, random, count, []

    def call(self, what, function, *args, **kw):
        """One operation; its result, or None when it met an error that is tolerated."""
        try:
            result = function(*args, **kw)
        except OSError as e:
            name = errno.errorcode[e.errno]
            self.count[f'{what} {name}'] += 1
            if e.errno not in TOLERATED[what]:
                self.unexpected.append(f'{what} {args}: {name}')
            return None
        self.count[what] += 1
        return result

    # ---- single operations

    def path(self):
        return f'{self.base}/shared/{self.random.choice(DIRS)}/{self.random.choice(NAMES)}'

    def write_file(self, path, flags):
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | flags, 0o644)
        try:
            os.write(fd, self.random.randbytes(self.random.randrange(1, 6000)))
        finally:
            os.close(fd)

    def read_file(self, path):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.read(fd, 1 << 20)
        finally:
            os.close(fd)

    def single(self):
        r, a, b = self.random, self.path(), self.path()
        what = r.choice('create create write write truncate rename rename rename link symlink unlink mkdir mkdir rmdir chmod '
                        'utime stat list read'.split())
        calls = {
            'create': lambda: self.write_file(a, os.O_CREAT | r.choice([0, os.O_EXCL, os.O_TRUNC])),
            'write': lambda: self.write_file(a, r.choice([0, os.O_APPEND, os.O_TRUNC])),
            'truncate': lambda: os.truncate(a, r.randrange(9000)),
            'rename': lambda: os.rename(a, b),
            'link': lambda: os.link(a, b, follow_symlinks=False),
            'symlink': lambda: os.symlink(os.path.basename(b), a),
            'unlink': lambda: os.unlink(a),
            'mkdir': lambda: os.mkdir(a),
            'rmdir': lambda: os.rmdir(a),
            'chmod': lambda: os.chmod(a, r.choice([0o644, 0o755, 0o600])),
            'utime': lambda: os.utime(a, ns=(1, r.randrange(1 << 60))),
            'stat': lambda: os.lstat(a),
            'list': lambda: os.listdir(os.path.dirname(a)),
            'read': lambda: self.read_file(a),
        }
        self.call(what, calls[what])

    # ---- bursts

    def somewhere(self):
        """A directory to work below: mostly own, often shared, now and then another's."""
        x = self.random.random()
        if x < 0.35:
            return f'{self.base}/shared/{self.random.choice(DIRS)}'
        site = self.site if x < 0.85 else self.random.choice(SITES)
        return f'{self.base}/own/o{site}/p{self.random.randrange(OWN_DIRS)}'

    def entries(self, directory):
        """(directories, others), as far as they can be seen."""
        dirs, others = [], []
        for name in sorted(self.call('list', os.listdir, directory) or []):
            st = self.call('stat', os.lstat, f'{directory}/{name}')
            if st and not name.startswith('.nfs'):
                (dirs if stat.S_ISDIR(st.st_mode) else others).append((f'{directory}/{name}', st))
        return dirs, others

    def files_below(self, directory, most=60):
        found, todo = [], [directory]
        while todo and len(found) < most:
            dirs, others = self.entries(todo.pop())
            todo += [d for d, _ in dirs]
            found += [f for f, st in others if stat.S_ISREG(st.st_mode)]
        return found[:most]

    def unpack(self, top=None):
        top = top or f'{self.somewhere()}/t{self.random.randrange(4)}'
        self.call('mkdir', os.mkdir, top)
        for i in range(self.random.randrange(1, 5)):
            self.call('mkdir', os.mkdir, f'{top}/d{i}')
            for j in range(self.random.randrange(8)):
                file = f'{top}/d{i}/f{j}'
                self.call('create', self.write_file, file, os.O_CREAT | os.O_TRUNC)
                self.call('utime', os.utime, file, ns=(1, self.random.randrange(1 << 60)))

    def remove_tree(self):
        self.remove(f'{self.somewhere()}/t{self.random.randrange(4)}')

    def remove(self, top):
        dirs, others = self.entries(top)
        for d, _ in dirs:
            self.remove(d)
        for f, _ in others:
            self.call('unlink', os.unlink, f)
        self.call('rmdir', os.rmdir, top)

    def move_tree(self):
        """A whole tree into another directory, perhaps another site's."""
        self.call('rename', os.rename, f'{self.somewhere()}/t{self.random.randrange(4)}', f'{self.somewhere()}/t{self.random.randrange(4)}')

    def chmod_all(self):
        for f in self.files_below(os.path.dirname(self.somewhere())):
            self.call('chmod', os.chmod, f, self.random.choice([0o644, 0o640]))

    def append_all(self):
        for f in self.files_below(f'{self.base}/own/o{self.site}'):
            self.call('write', self.write_file, f, os.O_APPEND)

    def spread(self):
        """A file in each of the own directories: elections in many places."""
        for p in range(OWN_DIRS):
            self.call('create', self.write_file, f'{self.base}/own/o{self.site}/p{p}/spread{self.random.randrange(9)}', os.O_CREAT)

    def visit(self):
        """Read all that another site has of its own; change a little of it."""
        site = self.random.choice([s for s in SITES if s != self.site])
        for f in self.files_below(self.random.choice([f'{self.base}/own/o{site}', f'{self.base}/homes/h{site}']), 40):
            self.call('read', self.read_file, f)
        self.call('create', self.write_file, f'{self.base}/own/o{site}/p0/from{self.site}', os.O_CREAT | os.O_TRUNC)

    def move_home(self):
        there, back = self.random.sample(['homes', 'away'], 2)
        home = f'h{self.random.choice(SITES)}'
        self.call('move home', os.rename, f'{self.base}/{there}/{home}', f'{self.base}/{back}/{home}')

    def meet(self, k):
        self.call('create', self.write_file, f'{self.base}/meet/{k % MEETINGS}/from{self.site}', os.O_CREAT)

    BURSTS = ('unpack unpack remove_tree remove_tree move_tree move_tree chmod_all append_all spread spread visit '
              'move_home move_home move_home').split()

    def act(self):
        what = self.random.choice(self.BURSTS) if self.random.random() < 0.15 else 'single'
        getattr(self, what)()
        return what
