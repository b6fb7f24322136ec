"""A tree as data, and the difference of two.

	snapshot.py DIR [OUT]      one JSON line per name (in a guest or on the host), to OUT if given
	snapshot.py --diff A B     two such files; exit status 1 and the differences when they are unequal

Of each name: type, mode, uid, gid, size, nlink, mtime and ctime (ns), fileid, device numbers, link text,
user.* attributes, ACL, SHA-256 of the bytes. `through` views (client mounts) must be equal in all of it;
what FSAL_VFS exports is compared by LOCAL only: times, link counts and numbers are the volume's, not its.
"""
import errno
import hashlib
import json
import os
import stat
import sys

ALL = ('type', 'mode', 'uid', 'gid', 'size', 'nlink', 'mtime', 'ctime', 'fileid', 'rdev', 'link', 'xattrs', 'acl', 'sha')
LOCAL = ('type', 'mode', 'uid', 'gid', 'size', 'rdev', 'link', 'xattrs', 'sha')


def text(b):
    return b.decode('utf-8', 'surrogateescape')


def digest(path):
    h = hashlib.sha256()
    with open(path, 'rb', buffering=0) as f:
        while chunk := f.read(1 << 20):
            h.update(chunk)
    return h.hexdigest()


def xattrs(path):
    """user.* and the ACL; what the file system does not have is None."""
    values, acl = {}, None
    try:
        for name in sorted(os.listxattr(path, follow_symlinks=False)):
            if name.startswith('user.'):
                values[name] = os.getxattr(path, name, follow_symlinks=False).hex()
    except OSError as e:
        if e.errno not in (errno.ENOTSUP, errno.EPERM):
            raise
    try:
        acl = os.getxattr(path, 'system.nfs4_acl', follow_symlinks=False).hex()
    except OSError as e:
        if e.errno not in (errno.ENOTSUP, errno.ENODATA, errno.EINVAL):
            raise
    return values, acl


def attributes(path):
    """
    As the server has them. A client believes for up to a minute what it knows of a directory that it keeps, and it keeps the root of a mount whatever drop_caches does. When a directory is
    opened it asks the server (close-to-open).
    """
    st = os.lstat(path)
    if not stat.S_ISDIR(st.st_mode):
        return st
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def entry(path):
    st = attributes(path)
    kind = stat.S_IFMT(st.st_mode)
    e = {'type': oct(kind), 'mode': oct(stat.S_IMODE(st.st_mode)), 'uid': st.st_uid, 'gid': st.st_gid,
         'size': st.st_size if kind in (stat.S_IFREG, stat.S_IFLNK) else 0, 'nlink': st.st_nlink,
         'mtime': st.st_mtime_ns, 'ctime': st.st_ctime_ns, 'fileid': st.st_ino,
         'rdev': st.st_rdev if kind in (stat.S_IFBLK, stat.S_IFCHR) else 0, 'link': None, 'xattrs': {}, 'acl': None,
         'sha': None}
    if kind == stat.S_IFLNK:
        e['link'] = text(os.readlink(path))
    if kind in (stat.S_IFREG, stat.S_IFDIR):
        e['xattrs'], e['acl'] = xattrs(path)
    if kind == stat.S_IFREG:
        e['sha'] = digest(path)
    return e


def take(root, skip=()):
    """{relative name: entry}; the root is '.'. What vanishes meanwhile or cannot be read is an entry with 'error'."""
    root, tree = os.fsencode(root), {}
    todo = [b'']
    while todo:
        name = todo.pop()
        path = os.path.join(root, name) if name else root
        try:
            e = entry(path)
            if int(e['type'], 8) == stat.S_IFDIR:
                todo += [os.path.join(name, n) for n in os.listdir(path) if text(os.path.join(name, n)) not in skip]
        except OSError as error:
            e = {'error': os.strerror(error.errno)}
        tree[text(name) or '.'] = e
    return tree


def difference(a, b, keys=ALL, limit=25):
    """Lines that say where two trees differ."""
    lines = []
    for name in sorted(set(a) | set(b)):
        if name not in a or name not in b:
            lines.append(f'{name!r}: only in the {"first" if name in a else "second"}')
            continue
        for k in ('error',) + tuple(keys):
            if a[name].get(k) != b[name].get(k):
                lines.append(f'{name!r}: {k}: {a[name].get(k)} / {b[name].get(k)}')
    more = len(lines) - limit
    return lines[:limit] + ([f'... and {more} more'] if more > 0 else [])


def write(tree, out):
    for name in sorted(tree):
        out.write(json.dumps([name, tree[name]]) + '\n')


def load(path):
    with open(path) as f:
        return dict(json.loads(line) for line in f)


def main(args):
    if args[0] == '--diff':
        lines = difference(load(args[1]), load(args[2]))
        print('\n'.join(lines) or 'equal')
        return 1 if lines else 0
    tree = take(args[0])
    if len(args) > 1:
        with open(args[1], 'w') as f:
            write(tree, f)
    else:
        write(tree, sys.stdout)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
