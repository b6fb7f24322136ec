#!/usr/bin/python3
"""What a server has to be able to do with the capabilities and system calls of its unit: sandbox.py runs this. Argument: an empty directory of a file system with extended attributes. One line for each; fails if one is not possible."""
import ctypes
import fcntl
import os
import socket
import stat
import struct
import sys

FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, IMMUTABLE = 0x80086601, 0x40086602, 0x10
SO_RCVBUFFORCE, F_OFD_SETLK = 33, 37
libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


def device(d):
    os.mknod(d + '/dev', stat.S_IFBLK | 0o600, os.makedev(7, 200))


def set_ids(d):
    open(d + '/program', 'w').close()
    os.chown(d + '/program', 1001, 1002)
    os.chmod(d + '/program', 0o6755)
    assert stat.S_IMODE(os.stat(d + '/program').st_mode) == 0o6755


def attributes(d):
    open(d + '/attr', 'w').close()
    os.setxattr(d + '/attr', 'trusted.nfs4r.volume', b'x')
    assert os.getxattr(d + '/attr', 'trusted.nfs4r.volume') == b'x'
    os.setxattr(d + '/attr', 'security.capability', struct.pack('<5I', 0x02000001, 1 << 13, 0, 0, 0))
    os.setxattr(d + '/attr', 'system.posix_acl_access', struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *e) for e in ((1, 6, -1), (2, 4, 1001), (4, 4, -1), (16, 4, -1), (32, 0, -1))))


def flags(d):
    with open(d + '/flags', 'w') as f:
        for value in (IMMUTABLE, 0):
            try:
                fcntl.ioctl(f, FS_IOC_SETFLAGS, struct.pack('l', value))
            except OSError as e:
                if e.errno != 25 and e.errno != 95:     # not of this file system
                    raise


def handles(d):
    handle, mount = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128)), ctypes.c_int()
    checked(libc.name_to_handle_at(-100, d.encode(), handle, ctypes.byref(mount), 0), 'name_to_handle_at')
    at = os.open(d, os.O_RDONLY)
    os.close(checked(libc.open_by_handle_at(at, handle, os.O_RDONLY), 'open_by_handle_at'))


def as_a_user(d):
    os.mkdir(d + '/private', 0o700)
    libc.syscall(116, 2, (ctypes.c_int * 2)(5000, 5001))        # setgroups of this thread alone, as Ganesha does it
    libc.setfsgid(1001)
    libc.setfsuid(1001)
    try:
        open(d + '/private/f', 'w').close()
    except PermissionError:
        pass
    else:
        raise OSError(0, 'a user writes where he may not')
    finally:
        libc.setfsuid(0)
        libc.setfsgid(0)


def locks(d):
    with open(d + '/lock', 'w') as f:
        fcntl.fcntl(f, F_OFD_SETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 10, 0))


def buffers(d):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)


def low_port(d):
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
    for port in range(600, 1024):
        with socket.socket() as s:
            try:
                s.bind(('127.0.0.1', port))
                return
            except PermissionError:
                raise
            except OSError:
                pass


def quotas(d):
    fd = os.open(d, os.O_RDONLY)
    if libc.syscall(443, fd, 0x58050000 >> 8 << 8, 0, ctypes.create_string_buffer(4096)) < 0 and ctypes.get_errno() == 1:
        raise OSError(1, 'quotactl_fd')


def all_on_disk(d):
    fd = os.open(d, os.O_RDONLY)
    checked(libc.syncfs(fd), 'syncfs')


def boot(d):
    with open('/proc/sys/kernel/random/boot_id') as f:
        assert len(f.read()) > 30


def not_a_root(d):
    try:
        os.chroot('/')
    except PermissionError:
        return
    raise RuntimeError('chroot is possible')


def not_a_mount(d):
    if libc.mount(b'tmpfs', d.encode(), b'tmpfs', 0, None) == 0:
        raise RuntimeError('something was mounted')


def not_its_own_priority(d):
    try:
        os.nice(1)
    except PermissionError:
        return
    raise RuntimeError('the priority can be changed')


def main():
    bad = 0
    for test in (device, set_ids, attributes, flags, handles, as_a_user, locks, buffers, low_port, quotas, all_on_disk, boot, not_a_root, not_a_mount, not_its_own_priority):
        try:
            test(sys.argv[1])
            print('can', test.__name__)
        except (OSError, AssertionError, RuntimeError) as e:
            bad += 1
            print('CANNOT', test.__name__, repr(e))
    return bad != 0


sys.exit(main())
