"""A directory that one worker has for itself, with a model beside it: every call must do what POSIX says.

Nobody else changes names or files in it, but others read it, control what is above it, and move it about, so its
worker uses names relative to its working directory. No error is tolerated.
"""
import hashlib
import os
import stat

FILES_MAX = 250             # beyond it a subtree is removed


class Node:
    def __init__(self, kind, mode, data=b''):
        self.kind, self.mode, self.data, self.names, self.mtime = kind, mode, data, {}, None


class Home:
    def __init__(self, directory, random, count):
        os.chdir(directory)
        os.umask(0)
        self.random, self.count = random, count
        self.root = Node('dir', stat.S_IMODE(os.stat('.').st_mode))

    # ---- the model

    def walk(self, kind):
        """[(path, parent, name, node)] of one kind; directories include the root (parent None)."""
        found, todo = [('.', None, None, self.root)] if kind == 'dir' else [], [('', self.root)]
        while todo:
            path, d = todo.pop()
            for name, node in d.names.items():
                if node.kind == kind:
                    found.append((path + name, d, name, node))
                if node.kind == 'dir':
                    todo.append((f'{path}{name}/', node))
        return found

    def any(self, kind):
        found = self.walk(kind)
        return self.random.choice(found) if found else None

    def new_name(self):
        """(path, parent) of a name that is not there."""
        path, _, _, d = self.any('dir')
        name = f'n{self.random.randrange(30)}'
        while name in d.names:
            name = f'n{self.random.randrange(10 * len(d.names) + 30)}'
        return (name if path == '.' else f'{path}/{name}'), d, name

    def bytes(self, most=8000):
        return self.random.randbytes(self.random.randrange(most))

    def model(self):
        """{path: what `snapshot` must say}"""
        links, out = {}, {}
        for _, _, _, node in self.walk('file') + self.walk('link'):
            links[id(node)] = links.get(id(node), 0) + 1
        for kind in ('dir', 'file', 'link'):
            for path, _, _, n in self.walk(kind):
                e = {'type': oct({'dir': stat.S_IFDIR, 'file': stat.S_IFREG, 'link': stat.S_IFLNK}[kind])}
                if kind != 'link':
                    e['mode'] = oct(n.mode)
                if kind == 'dir':
                    e['nlink'] = 2 + sum(c.kind == 'dir' for c in n.names.values())
                else:
                    e['nlink'], e['size'] = links[id(n)], len(n.data)
                if kind == 'link':
                    e['link'] = n.data.decode()
                if kind == 'file':
                    e['sha'] = hashlib.sha256(n.data).hexdigest()
                if n.mtime is not None:
                    e['mtime'] = n.mtime
                out[path] = e
        return out

    # ---- single operations

    def put(self, path, d, name):
        mode, data = self.random.choice([0o644, 0o600, 0o755]), self.bytes()
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)
        d.names[name], d.mtime = Node('file', mode, data), None

    def change(self, found, flags, offset):
        path, _, _, node = found
        data = self.bytes() or b'x'
        fd = os.open(path, os.O_WRONLY | flags)
        try:
            os.lseek(fd, offset, os.SEEK_SET)
            os.write(fd, data)
        finally:
            os.close(fd)
        old = b'' if flags & os.O_TRUNC else node.data
        at = len(old) if flags & os.O_APPEND else offset
        node.data, node.mtime = old[:at].ljust(at, b'\0') + data + old[at + len(data):], None

    def create(self):
        self.put(*self.new_name())

    def append(self):
        if f := self.any('file'):
            self.change(f, os.O_APPEND, 0)

    def overwrite(self):
        if f := self.any('file'):
            self.change(f, 0, self.random.randrange(12000))

    def rewrite(self):
        if f := self.any('file'):
            self.change(f, os.O_TRUNC, 0)

    def truncate(self):
        if f := self.any('file'):
            size = self.random.randrange(10000)
            os.truncate(f[0], size)
            f[3].data, f[3].mtime = f[3].data[:size].ljust(size, b'\0'), None

    def save(self):
        """As editors do: a new file under the old name."""
        if not (f := self.any('file')):
            return
        tmp, d, name = self.new_name()
        self.put(tmp, d, name)
        self.moved(tmp, d, name, f[0], f[1], f[2])

    def moved(self, path, d, name, to, to_d, to_name):
        """The rename and the model's."""
        os.rename(path, to)
        if to_d.names.get(to_name) is not d.names[name]:    # two names of one file: nothing happens
            to_d.names[to_name] = d.names.pop(name)
            d.mtime = to_d.mtime = None

    def rename(self):
        f = self.any(self.random.choice(['file', 'link']))
        if f:
            self.moved(*f[:3], *self.new_name())

    def rename_dir(self):
        path, d, name, node = self.any('dir')
        to, to_d, to_name = self.new_name()
        inside = (to + '/').startswith(path + '/')
        if d and not inside:
            self.moved(path, d, name, to, to_d, to_name)

    def rename_over_dir(self):
        path, d, name, node = self.any('dir')
        empty = [e for e in self.walk('dir') if e[1] and not e[3].names and e[3] is not node]
        if d and empty:
            to = self.random.choice(empty)
            if not (to[0] + '/').startswith(path + '/'):
                self.moved(path, d, name, *to[:3])

    def link(self):
        if f := self.any('file'):
            to, d, name = self.new_name()
            os.link(f[0], to)
            d.names[name], d.mtime = f[3], None

    def symlink(self):
        path, d, name = self.new_name()
        text = 'to/' * self.random.randrange(30) + 'nowhere'
        os.symlink(text, path)
        d.names[name], d.mtime = Node('link', 0o777, text.encode()), None

    def unlink(self):
        if f := self.any(self.random.choice(['file', 'link'])):
            os.unlink(f[0])
            del f[1].names[f[2]]
            f[1].mtime = None

    def mkdir(self):
        path, d, name = self.new_name()
        mode = self.random.choice([0o755, 0o700, 0o1777])
        os.mkdir(path, mode)
        d.names[name], d.mtime = Node('dir', mode), None

    def rmdir(self):
        empty = [e for e in self.walk('dir') if e[1] and not e[3].names]
        if empty:
            path, d, name, _ = self.random.choice(empty)
            os.rmdir(path)
            del d.names[name]
            d.mtime = None

    def chmod(self):
        if f := self.any(self.random.choice(['file', 'dir'])):
            f[3].mode = self.random.choice([0o700, 0o750, 0o755])
            os.chmod(f[0], f[3].mode)

    def utimes(self):
        if f := self.any('file'):
            f[3].mtime = self.random.randrange(1 << 60)
            os.utime(f[0], ns=(1, f[3].mtime))

    def read(self):
        if f := self.any('file'):
            with open(f[0], 'rb') as file:
                data = file.read()
            if data != f[3].data:
                raise AssertionError(f'{f[0]}: {len(data)} bytes read, {len(f[3].data)} expected, or not these')

    def list(self):
        path, _, _, d = self.any('dir')
        names = [n for n in os.listdir(path) if not n.startswith('.nfs')]
        if sorted(names) != sorted(d.names):
            raise AssertionError(f'{path}: listed {sorted(names)}, expected {sorted(d.names)}')

    # ---- bursts

    def unpack(self):
        """A new tree with files in it, as tar leaves it: modes and times last."""
        top, d, name = self.new_name()
        os.mkdir(top, 0o700)
        tree = d.names[name] = Node('dir', 0o700)
        d.mtime = None
        for i in range(self.random.randrange(1, 5)):
            os.mkdir(f'{top}/d{i}', 0o755)
            sub = tree.names[f'd{i}'] = Node('dir', 0o755)
            for j in range(self.random.randrange(8)):
                self.put(f'{top}/d{i}/f{j}', sub, f'f{j}')
                sub.names[f'f{j}'].mtime = self.random.randrange(1 << 60)
                os.utime(f'{top}/d{i}/f{j}', ns=(1, sub.names[f'f{j}'].mtime))
        tree.mode = 0o755
        os.chmod(top, 0o755)

    def remove_tree(self):
        path, d, name, node = self.any('dir')
        if d:
            self.remove_below(path, node)
            os.rmdir(path)
            del d.names[name]
            d.mtime = None

    def remove_below(self, path, node):
        for name in list(node.names):
            child = node.names[name]
            if child.kind == 'dir':
                self.remove_below(f'{path}/{name}', child)
                os.rmdir(f'{path}/{name}')
            else:
                os.unlink(f'{path}/{name}')
            del node.names[name]

    def below(self, kind):
        """Everything of a kind under some directory."""
        path = self.any('dir')[0]
        prefix = '' if path == '.' else path + '/'
        return [e for e in self.walk(kind) if e[0].startswith(prefix)]

    def chmod_all(self):
        mode = self.random.choice([0o640, 0o644, 0o755])
        for path, _, _, node in self.below('file'):
            os.chmod(path, mode)
            node.mode = mode

    def append_all(self):
        for f in self.below('file')[:60]:
            self.change(f, os.O_APPEND, 0)

    def spread(self):
        """A file in each of several old directories."""
        for path, _, _, d in self.walk('dir')[1:9]:
            if 'spread' not in d.names:
                self.put(f'{path}/spread', d, 'spread')

    SINGLE = ('create create append overwrite rewrite truncate save rename rename rename_dir rename_over_dir link symlink '
              'unlink mkdir mkdir rmdir chmod utimes read read list').split()
    BURSTS = 'unpack unpack chmod_all append_all spread'.split()

    def act(self):
        if len(self.walk('file')) > FILES_MAX:
            what = 'remove_tree'
        elif self.random.random() < 0.04:
            what = self.random.choice(self.BURSTS + ['remove_tree'])
        else:
            what = self.random.choice(self.SINGLE)
        getattr(self, what)()
        self.count[f'home {what}'] += 1
        return what
