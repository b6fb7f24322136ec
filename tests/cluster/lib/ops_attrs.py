"""Operations on attributes: mode, owner, times, extended attributes, ACLs."""
import errno
import os
import shutil
import socket
import stat
import struct
import subprocess
import time

from ops import equal, fails, operation


@operation()
def modes(op):
    path = op.put('f')
    for mode in (0o600, 0o4755, 0o2755, 0o000, 0o777, 0o641):
        os.chmod(path, mode)
        equal(stat.S_IMODE(os.stat(path).st_mode), mode, 'mode')
    os.mkdir(op.path('d'), 0o700)
    os.chmod(op.path('d'), 0o3711)
    before = os.stat(path)
    os.chmod(path, 0o640)
    after = os.stat(path)
    equal(after.st_mtime_ns, before.st_mtime_ns, 'mtime after chmod')
    equal(after.st_ctime_ns >= before.st_ctime_ns, True, 'ctime goes forward')


@operation()
def set_ids(op):
    """A new file has its set-id bits in every copy: the comparison of the disks shows it."""
    umask = os.umask(0)
    for mode in (0o4755, 0o2755, 0o6755, 0o6711, 0o2644, 0o7777):
        path = op.path(f'{mode:o}')
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        equal(stat.S_IMODE(os.stat(path).st_mode), mode, 'mode')
    os.mkfifo(op.path('fifo'), 0o6755)
    os.mkdir(op.path('d'), 0o777)
    os.chmod(op.path('d'), 0o2777)
    os.close(os.open(op.path('d', 'f'), os.O_CREAT | os.O_WRONLY, 0o6775))
    os.umask(umask)


@operation()
def owners(op):
    path = op.put('f')
    os.chown(path, 1234, 5678)
    equal((os.stat(path).st_uid, os.stat(path).st_gid), (1234, 5678), 'owner and group')
    os.chown(path, -1, 42)
    equal((os.stat(path).st_uid, os.stat(path).st_gid), (1234, 42), 'group alone')
    os.chmod(op.put('suid'), 0o6755)
    os.chown(op.path('suid'), 0, 4294967290)
    os.mkdir(op.path('d'))
    os.chown(op.path('d'), 99, 98)


def as_user(uid, gid, groups, function):
    """errno of function() as that user, 0 if it worked."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups(groups)
            os.setgid(gid)
            os.setuid(uid)
            function()
            os._exit(0)
        except OSError as e:
            os._exit(e.errno)
        except BaseException:
            os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def write_in(path):
    with open(path, 'wb') as f:
        f.write(b'mine')


@operation()
def permissions(op):
    """Other users than root: what they may not do is refused; what they make is theirs."""
    os.chmod(op.d, 0o755)
    equal(as_user(1000, 1000, [], lambda: write_in(op.path('no'))), errno.EACCES, 'create in a directory of root')
    os.mkdir(op.path('open'))
    os.chmod(op.path('open'), 0o777)
    equal(as_user(1000, 1001, [7], lambda: write_in(op.path('open', 'theirs'))), 0, 'create in an open directory')
    st = os.stat(op.path('open', 'theirs'))
    equal((st.st_uid, st.st_gid), (1000, 1001), 'owner of what a user made')
    os.mkdir(op.path('group'))
    os.chown(op.path('group'), 0, 7)
    os.chmod(op.path('group'), 0o2770)
    equal(as_user(1000, 1001, [7], lambda: write_in(op.path('group', 'f'))), 0, 'by a supplementary group')
    equal(os.stat(op.path('group', 'f')).st_gid, 7, 'group of a setgid directory')
    equal(as_user(1002, 1002, [], lambda: os.listdir(op.path('group'))), errno.EACCES, 'listing')
    equal(as_user(1000, 1000, [], lambda: os.chmod(op.path('group'), 0o777)), errno.EPERM, 'chmod by another')
    secret = op.put('secret', b's')
    os.chmod(secret, 0o600)
    equal(as_user(1000, 1000, [], lambda: open(secret)), errno.EACCES, 'reading')
    equal(as_user(1000, 1000, [], lambda: os.unlink(secret)), errno.EACCES, 'unlink')
    os.chmod(op.path('open'), 0o1777)
    equal(as_user(1002, 1002, [], lambda: os.unlink(op.path('open', 'theirs'))) in (errno.EPERM, errno.EACCES), True, 'sticky')


def add_byte(path):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(fd, b'!')
    os.close(fd)


@operation()
def written_set_ids(op):
    """Set-id bits go when another user than root writes, in every copy; the comparison of the disks shows it."""
    os.chmod(op.d, 0o755)
    for mode, left in ((0o4777, 0o777), (0o6777, 0o777), (0o2777, 0o777), (0o4666, 0o666), (0o777, 0o777)):
        path = op.put(f'{mode:o}')
        os.chmod(path, mode)
        add_byte(path)
        equal(stat.S_IMODE(os.stat(path).st_mode), mode, 'mode after a write of root')
        equal(as_user(1000, 1000, [], lambda: add_byte(path)), 0, 'a write of a user')
        equal(stat.S_IMODE(os.stat(path).st_mode), left, 'mode after a write of a user')
        os.chmod(path, mode)
        equal(as_user(1000, 1000, [], lambda: add_byte(path)), 0, 'another one')
        equal(stat.S_IMODE(os.stat(path).st_mode), left, 'mode after another one')
        equal(op.get(path), b'content\n!!!')


@operation()
def times(op):
    path = op.put('f')
    for mtime in (1, 0, 1_000_000_000_123_456_789, 1_234_567_890_987_654_321, 4_000_000_000_000_000_001, -1_000_000_000_000_000_001, 0):
        os.utime(path, ns=(mtime + 5, mtime))
        equal(os.stat(path).st_mtime_ns, mtime, 'mtime')
    os.utime(op.put('2300'), (10_413_792_000, 10_413_792_000))      # what cannot be said becomes the nearest that can; some file systems have fewer years
    equal(os.stat(op.path('2300')).st_mtime_ns in (10_413_792_000 * 10 ** 9, 2 ** 63 - 1), True, 'a time of 2300')
    os.utime(op.put('1300'), (-21_000_000_000, -21_000_000_000))
    equal(os.stat(op.path('1300')).st_mtime_ns <= -2 ** 31 * 10 ** 9, True, 'a time of 1300')
    os.utime(path)
    now = time.time()
    equal(abs(os.stat(path).st_mtime - now) < 30, True, 'mtime is about now')
    os.utime(path, ns=(7, 1_000_000_007))
    os.mkdir(op.path('d'))
    os.utime(op.path('d'), ns=(9, 1_600_000_000_000_000_009))
    os.symlink('x', op.path('s'))
    os.utime(op.path('s'), ns=(9, 1_500_000_000_000_000_009), follow_symlinks=False)
    before = os.stat(op.path('d'))
    op.put('d/child')
    after = os.stat(op.path('d'))
    equal(after.st_mtime_ns > before.st_mtime_ns, True, 'a new name moves the mtime of its directory')
    os.utime(op.path('d', 'child'), ns=(1, 2_000_000_000_000_000_002))
    st = os.stat(op.path('d', 'child'))
    with open(op.path('d', 'child'), 'ab') as f:
        f.write(b'more')
    equal(os.stat(op.path('d', 'child')).st_mtime_ns != st.st_mtime_ns, True, 'a write moves the mtime')


@operation(4.2)
def xattrs(op):
    path = op.put('f')
    try:
        os.setxattr(path, 'user.one', b'1')
    except OSError as e:
        if e.errno == errno.ENOTSUP:        # as stock Ganesha says where the file system has none
            return print('# no extended attributes here')
        raise
    os.setxattr(path, 'user.two', bytes(range(256)))
    os.setxattr(path, 'user.empty', b'')
    os.setxattr(path, 'user.' + 'n' * 200, b'long name')
    os.setxattr(path, 'user.one', b'changed')
    os.setxattr(path, 'user.new', b'x', os.XATTR_CREATE)
    fails(errno.EEXIST, os.setxattr, path, 'user.new', b'y', os.XATTR_CREATE)
    fails(errno.ENODATA, os.setxattr, path, 'user.none', b'y', os.XATTR_REPLACE)
    os.removexattr(path, 'user.two')
    fails(errno.ENODATA, os.getxattr, path, 'user.two')
    fails(errno.ENODATA, os.removexattr, path, 'user.two')
    equal(os.getxattr(path, 'user.one'), b'changed')
    names = {n for n in os.listxattr(path) if n.startswith('user.')}
    equal(names, {'user.one', 'user.empty', 'user.new', 'user.' + 'n' * 200})
    os.mkdir(op.path('d'))
    os.setxattr(op.path('d'), 'user.on.a.directory', b'yes')


def user_names(path):
    return {n for n in os.listxattr(path, follow_symlinks=False) if n.startswith('user.')}


@operation(4.2)
def xattrs_of_special_files(op):
    """They have none in the user. name space, which is no error for a program that copies trees."""
    os.chmod(op.d, 0o755)
    os.mkfifo(op.path('fifo'))
    socket.socket(socket.AF_UNIX).bind(op.path('socket'))
    os.mknod(op.path('device'), 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    os.symlink('nowhere', op.path('symlink'))
    for name in ('fifo', 'socket', 'device', 'symlink'):
        path = op.path(name)
        equal(user_names(path), set(), f'list of a {name}')
        fails(errno.ENODATA, os.getxattr, path, 'user.x', follow_symlinks=False)
        fails(errno.EPERM, os.setxattr, path, 'user.x', b'y', follow_symlinks=False)
        fails(errno.EPERM, os.removexattr, path, 'user.x', follow_symlinks=False)
    secret = op.put('secret')
    os.chmod(secret, 0)
    equal(as_user(1000, 1000, [], lambda: os.listxattr(secret)), 0, 'list of an unreadable file')
    os.mkdir(op.path('sticky'))
    os.chmod(op.path('sticky'), 0o1777)
    equal(as_user(1000, 1000, [], lambda: user_names(op.path('sticky'))), 0, 'list of a directory with the sticky bit')
    for copy in (['tar', '-C', op.d, '--xattrs', '--xattrs-include=*', '-cf', '/dev/null', '.'], ['rsync', '-aX', '--dry-run', op.d + '/', '/dev/shm/copy/']):
        if shutil.which(copy[0]):
            r = subprocess.run(copy, capture_output=True, text=True)    # tar warns of the sockets, and of the ACL of the device, which stock has not either
            equal(r.returncode, 0, f'{copy[0]} says {r.stderr}')


def ace(kind, flags, mask, who):
    who = who.encode()
    return struct.pack('>IIII', kind, flags, mask, len(who)) + who + bytes(-len(who) % 4)


@operation()
def acls(op):
    """An NFSv4 ACL as the client's system.nfs4_acl carries it, set and read back."""
    path = op.put('f')
    os.chmod(path, 0o644)
    try:
        first = os.getxattr(path, 'system.nfs4_acl')
    except OSError as e:
        if e.errno in (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENODATA):
            return print('# no ACLs here')
        raise
    count, = struct.unpack('>I', first[:4])
    equal(count > 0, True, 'entries of the ACL of a new file')
    read, write, attrs = 0x1, 0x2 | 0x4, 0x80 | 0x20000 | 0x100000
    acl = [ace(0, 0, read | write | attrs, 'OWNER@'), ace(0, 0, read | attrs, '1234'),
           ace(0, 0x40, read | attrs, 'GROUP@'), ace(0, 0, attrs, 'EVERYONE@')]
    try:
        os.setxattr(path, 'system.nfs4_acl', struct.pack('>I', len(acl)) + b''.join(acl))
    except OSError as e:
        if e.errno in (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL):
            return print(f'# ACLs cannot be set here: {e.strerror}')
        raise
    equal(b'1234' in os.getxattr(path, 'system.nfs4_acl'), True, 'the named user in the ACL')
    os.mkdir(op.path('d'))
    os.chmod(path, 0o640)
