"""A tree with all that Linux has in one, and a walk that sees all of it. As root, on a local file system; no path in it needs to be shorter than PATH_MAX.

    odd_tree.py make DIR NAMES     about so many small objects besides the odd ones
    odd_tree.py make DIR NAMES nfs what a client of NFS can make of that: no attributes but user.*, no ACLs of POSIX, no flags
    odd_tree.py list DIR           a JSON line for each object: what has to be equal at all copies
    odd_tree.py grow FILE STOP     appends to it all the time, until there is a file STOP
"""
import errno
import hashlib
import json
import os
import socket
import stat
import struct
import subprocess
import sys
import time

SECOND = 10**9
HIDDEN = ('lost+found',)        # and names that begin with .nfs4r-hold
LONG_LINK = b'long/' * 800
CAPABILITY = struct.pack('<IIIII', 0x02000001, 1 << 10, 0, 0, 0)       # cap_net_bind_service=ep
ACL_USER_OBJ, ACL_USER, ACL_GROUP_OBJ, ACL_MASK, ACL_OTHER = 1, 2, 4, 0x10, 0x20


def acl(user, group, other, named, mask):
    """POSIX ACL as the kernel has it: an entry for user 12345 besides the mode's three."""
    entries = ((ACL_USER_OBJ, user, 0xffffffff), (ACL_USER, named, 12345), (ACL_GROUP_OBJ, group, 0xffffffff),
               (ACL_MASK, mask, 0xffffffff), (ACL_OTHER, other, 0xffffffff))
    return struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *e) for e in entries)


class Maker:
    def __init__(self, top, nfs):
        os.chdir(top)
        self.n, self.nfs = 0, nfs

    def time(self):
        """Another one for every object, none near now, some before 1970."""
        self.n += 1
        return (-5 * SECOND if self.n % 7 == 0 else 1_000_000_000 * SECOND) + self.n * SECOND + 123456789 % (self.n + 7)

    def done(self, path):
        os.utime(path, ns=(self.time(), self.time()), follow_symlinks=False)

    def file(self, path, content=b'content\n', mode=0o644, uid=0, gid=0):
        with open(path, 'wb') as f:
            f.write(content)
        os.chown(path, uid, gid)
        os.chmod(path, mode)
        self.done(path)
        return path

    def dir(self, path, mode=0o755, uid=0, gid=0):
        os.mkdir(path)
        os.chown(path, uid, gid)
        os.chmod(path, mode)
        return path

    def xattrs(self, path, names):
        for name, value in names:
            if not self.nfs or (name.startswith('user.') and not os.path.islink(path) and (os.path.isfile(path) or os.path.isdir(path))):
                os.setxattr(path, name, value, follow_symlinks=False)


def names(m):
    for name in (b'\xff\xfe not utf-8', b'new\nline', b'tab\tand\\backslash', b'-rf', b' ', b'x' * 255, 'ä€𝄞'.encode(), b'*?[a]', b'\x01\x7f'):
        m.file(os.path.join(b'names', name))
    m.dir(b'names/\xc3dir\n')
    m.file(b'names/\xc3dir\n/in it')


def modes_and_owners(m):
    for mode in (0o4755, 0o2755, 0o6711, 0o000, 0o1644):
        m.file(f'modes/{mode:o}', mode=mode)
    m.file('modes/nobody', b'', 0o4750, 54321, 65531)
    m.file('modes/high', b'x', 0o640, 4_000_000_000, 4_000_000_001)
    for mode in (0o1777, 0o2775, 0o700):
        m.dir(f'modes/d{mode:o}', mode, 33, 44)
        m.done(f'modes/d{mode:o}')


def special(m, top):
    os.mkfifo('special/fifo', 0o620)
    os.mknod('special/chr', 0o660 | stat.S_IFCHR, os.makedev(1, 3))
    os.mknod('special/blk', 0o600 | stat.S_IFBLK, os.makedev(259, 1 << 15))
    s = socket.socket(socket.AF_UNIX)
    s.bind('special/socket')
    s.close()
    os.symlink(b'\xffno target', 'special/link')
    os.symlink(LONG_LINK, 'special/long-link')
    for name in ('fifo', 'chr', 'blk', 'socket', 'link', 'long-link'):
        path = 'special/' + name
        os.chown(path, 7, 8, follow_symlinks=False)
        os.link(path, f'links/{name}', follow_symlinks=False)
        m.xattrs(path, (('trusted.odd', name.encode()), ('security.odd', b'\0\xff')))
        m.done(path)


def links(m):
    m.file('links/a', b'many names', 0o600)
    for name in ('links/b', 'names/c', 'links/sub/d'):
        os.link('links/a', name)


def holes(m):
    with open('holes/middle', 'wb') as f:
        f.seek(30 << 20)
        f.write(b'in the middle' * 1000)
        f.truncate(90 << 20)
    with open('holes/all', 'wb') as f:
        f.truncate(100 << 20)
    with open('holes/begins', 'wb') as f:
        f.write(os.urandom(3 << 20))
        f.truncate(20 << 20)
    m.file('holes/none', os.urandom((5 << 20) + 17))
    for name in ('middle', 'all', 'begins'):
        m.done('holes/' + name)


def attributes(m):
    m.file('xattrs/file')
    m.xattrs('xattrs/file', (('user.empty', b''), ('user.' + 'n' * 240, b'long name'), ('user.big', os.urandom(1500)), ('user.nul', b'a\0b\0'),
                             ('user.trusted.not', b'user'), ('trusted.x', b'\0'), ('trusted.user.y', b't'), ('security.other', b's')))
    m.file('xattrs/program', b'#!/bin/sh\n', 0o755, 12, 13)
    m.xattrs('xattrs/program', (('security.capability', CAPABILITY),))
    m.file('xattrs/label')
    m.xattrs('xattrs/label', (('security.selinux', b'system_u:object_r:odd_t:s0\0'),))
    m.file('xattrs/acl', mode=0o640)
    m.xattrs('xattrs/acl', (('system.posix_acl_access', acl(6, 7, 0, 5, 6)),))
    m.dir('xattrs/dir', 0o750)
    m.xattrs('xattrs/dir', (('user.d', b'd'), ('trusted.d', b'd')))
    m.file('xattrs/dir/before', mode=0o600)     # before its directory has a default ACL, so without one
    m.dir('xattrs/dir/sub', 0o700)
    os.mkfifo('xattrs/dir/fifo', 0o600)
    m.xattrs('xattrs/dir', (('system.posix_acl_access', acl(7, 5, 0, 7, 7)), ('system.posix_acl_default', acl(7, 5, 1, 6, 7))))
    m.file('xattrs/dir/inherits', mode=0o664)
    m.dir('xattrs/dir/inherits-too')
    for name in ('file', 'program', 'label', 'acl', 'dir/before', 'dir/sub', 'dir/fifo', 'dir/inherits', 'dir/inherits-too', 'dir'):
        m.done('xattrs/' + name)


def flags(m):
    m.file('flags/immutable', b'i' * 10000)
    m.file('flags/append', b'a' * 100)
    m.dir('flags/dir')
    m.file('flags/dir/in')
    m.done('flags/dir')


def set_flags():
    """At last: nothing can be changed then."""
    subprocess.run(['chattr', '+i', 'flags/immutable', 'flags/dir'], check=True)
    subprocess.run(['chattr', '+a', 'flags/append'], check=True)


def deep(m):
    """Longer than PATH_MAX."""
    at = os.open('.', os.O_RDONLY)
    os.chdir('deep')
    for i in range(25):
        name = f'{i:03}' + 'd' * 220
        os.mkdir(name)
        os.chdir(name)
    m.file('at the end')
    m.xattrs('at the end', (('user.deep', b'deep'),))
    m.done('at the end')
    os.fchdir(at)
    os.close(at)


def many(m, count):
    for i in range(count):
        if i % 500 == 0:
            m.dir(f'many/{i // 500}')
        path = f'many/{i // 500}/n{i}'
        if i % 10 == 9:
            os.symlink(f'target {i}', path)
            m.done(path)
        elif i % 10 == 8 and i > 10:
            os.link(f'many/{(i - 8) // 500}/n{i - 8}', path)
        else:
            m.file(path, b'%d\n' % i * (i % 40), 0o600 | i % 0o100, i % 5000, i % 3000)
            if i % 10 == 7:
                m.xattrs(path, (('user.n', b'%d' % i), ('trusted.n', b't')))
                m.done(path)


def make(top, count, nfs):
    m = Maker(top, nfs)
    for d in ('names', 'modes', 'special', 'links', 'links/sub', 'holes', 'xattrs', 'flags', 'deep', 'empty', 'many', 'large'):
        m.dir(d)
    names(m)
    modes_and_owners(m)
    links(m)
    special(m, top)
    holes(m)
    attributes(m)
    deep(m)
    many(m, count)
    for i in range(count // 2):
        os.close(os.open(f'large/{i}', os.O_CREAT | os.O_WRONLY, 0o644))
    flags(m)
    os.chmod('.', 0o2771)
    os.chown('.', 21, 22)
    m.xattrs('.', (('user.root', b'root'), ('system.posix_acl_default', acl(7, 5, 0, 7, 7))))
    for path, dirs, _ in os.walk('.', topdown=False):
        m.done(path)
    if not nfs:
        set_flags()


def data_ranges(fd, size):
    out, at = [], 0
    while at < size:
        try:
            begin = os.lseek(fd, at, os.SEEK_DATA)
        except OSError as e:
            if e.errno != errno.ENXIO:
                raise
            break
        at = os.lseek(fd, begin, os.SEEK_HOLE)
        out.append([begin, at])
    return out


def content(fd, ranges):
    """Of what is no hole, without zeros: where one file system has a hole another may have a few blocks."""
    h, last = hashlib.sha1(), -1
    for begin, end in ranges:
        for at in range(begin - begin % 65536, end, 65536):
            piece = os.pread(fd, 65536, at)
            if at != last and piece.strip(b'\0'):
                h.update(b'%d ' % at + piece)
            last = at
    return h.hexdigest()


def text(path):
    return path.decode('utf-8', 'surrogateescape')


def xattrs(path, mode):
    try:
        return {n: os.getxattr(path, n).hex() for n in sorted(os.listxattr(path)) if not n.startswith(('system.nfs4_', 'trusted.nfs4r.'))}
    except PermissionError:
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            raise
        return {}               # through NFS: none can be there


def one(dir_fd, name, path, groups):
    """What has to be equal. Not: times of access and change, inode numbers, the size and links of a directory."""
    s = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=dir_fd)
    me = f'/proc/self/fd/{fd}'
    out = {'path': text(path), 'type': stat.S_IFMT(s.st_mode), 'mode': s.st_mode & 0o7777, 'uid': s.st_uid, 'gid': s.st_gid, 'mtime': s.st_mtime_ns}
    out['xattrs'] = xattrs(me, s.st_mode)
    if stat.S_ISREG(s.st_mode):
        opened = os.open(me, os.O_RDONLY)
        ranges = data_ranges(opened, s.st_size)
        out.update(size=s.st_size, content=content(opened, ranges), data=sum(e - b for b, e in ranges) >> 20)
        os.close(opened)
    elif stat.S_ISLNK(s.st_mode):
        out['target'] = text(os.readlink(name, dir_fd=dir_fd))
    elif stat.S_ISCHR(s.st_mode) or stat.S_ISBLK(s.st_mode):
        out['rdev'] = s.st_rdev
    if not stat.S_ISDIR(s.st_mode):
        out['same'] = groups.setdefault(s.st_ino, out['path'])
        out['nlink'] = s.st_nlink
    os.close(fd)
    return out


def walk(dir_fd, path, groups, dev):
    for name in sorted(os.fsencode(n) for n in os.listdir(dir_fd)):
        if not path and (text(name) in HIDDEN or name.startswith(b'.nfs4r-hold')):
            continue
        s = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        if s.st_dev != dev:
            continue            # mounted there
        below = path + b'/' + name
        yield one(dir_fd, name, below, groups)
        if stat.S_ISDIR(s.st_mode):
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NOATIME, dir_fd=dir_fd)
            yield from walk(fd, below, groups, dev)
            os.close(fd)


def listing(top):
    """Objects in one order, the top first."""
    fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    yield one(fd, b'.', b'', {})
    yield from walk(fd, b'', {}, os.fstat(fd).st_dev)
    os.close(fd)


def grow(path, stop):
    with open(path, 'ab', buffering=0) as f:
        n = 0
        while not os.path.exists(stop):
            f.write(b'line %d\n' % n)
            n += 1
            time.sleep(0.02)


def main():
    sys.setrecursionlimit(10000)
    if sys.argv[1] == 'make':
        make(sys.argv[2], int(sys.argv[3]), sys.argv[4:] == ['nfs'])
    elif sys.argv[1] == 'grow':
        grow(sys.argv[2], sys.argv[3])
    else:
        for o in listing(sys.argv[2]):
            print(json.dumps(o))


if __name__ == '__main__':
    main()
