#!/usr/bin/python3
"""Runs a program with what a unit allows, as far as that is possible without a running systemd.

	sandbox.py UNIT ROOT PROGRAM ARGUMENT...

As root, in a mount namespace of its own. ROOT becomes the root directory ("/": it stays), writable only where the unit says so. What is applied: capabilities, NoNewPrivileges, UMask, LimitCORE, ProtectSystem=strict with
ReadWritePaths and the state and run-time directories, PrivateTmp, SystemCallFilter, RestrictAddressFamilies, MemoryDenyWriteExecute. What is not: DevicePolicy and DeviceAllow (a control group), RestrictNamespaces, and the Protect keys that hide or freeze what the program does not use.
"""
import ctypes
import os
import platform
import re
import resource
import struct
import subprocess
import sys

CAPS = ('CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO '
        'SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM '
        'BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE').split()
FAMILIES = {'AF_UNIX': 1, 'AF_INET': 2, 'AF_INET6': 10, 'AF_NETLINK': 16}
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 24, 38, 2
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, ARCH, ARGUMENTS = 0, 4, 16
ALLOW, REFUSE = 0x7fff0000, 0x00050000      # REFUSE: with an errno
X86_64, EPERM, EAFNOSUPPORT = 0xc000003e, 1, 97
WRITE_PROT, EXEC_PROT = 2, 4


def keys(unit):
    """Each key with all its values."""
    found = {}
    with open(unit) as f:
        for line in f:
            m = re.match(r'([A-Z]\w+)=(.*)', line)
            if m:
                without = '~' if m[2].startswith('~') else ''       # it counts for the whole line
                found.setdefault(m[1], []).extend(without + word.lstrip('~') for word in m[2].split())
    return found


def numbers():
    with open('/usr/include/x86_64-linux-gnu/asm/unistd_64.h') as f:
        return {m[1]: int(m[2]) for m in re.finditer(r'#define __NR_(\w+) (\d+)', f.read())}


def calls(names):
    """System calls by name; @groups are systemd's own, and what begins with ~ is taken away."""
    out = set()
    for name in names:
        if name.startswith('~'):
            out -= calls((name[1:],))
        elif name.startswith('@'):
            text = subprocess.run(('systemd-analyze', '--no-pager', 'syscall-filter', name), check=True, capture_output=True, text=True).stdout
            out |= calls(line.strip() for line in text.splitlines()[1:] if line.strip() and line.strip()[0] not in '#')
        else:
            out.add(name)
    return out


def instruction(code, value, yes=0, no=0):
    return struct.pack('=HBBI', code, yes, no, value)


def program(allowed, families, number):
    """For the kernel: what is not allowed ends with EPERM."""
    out = [instruction(LOAD, ARCH), instruction(EQUAL, X86_64, 1, 0), instruction(RETURN, REFUSE | EPERM), instruction(LOAD, NUMBER)]
    out += [instruction(EQUAL, number['socket'], 0, 2 + len(families)), instruction(LOAD, ARGUMENTS)]
    out += [instruction(EQUAL, f, len(families) - i, 0) for i, f in enumerate(families)]
    out += [instruction(RETURN, REFUSE | EAFNOSUPPORT), instruction(LOAD, NUMBER)]
    for name, bits in (('mprotect', EXEC_PROT), ('pkey_mprotect', EXEC_PROT)):
        out += [instruction(EQUAL, number[name], 0, 4), instruction(LOAD, ARGUMENTS + 2 * 8), instruction(ANY_BIT, bits, 0, 1), instruction(RETURN, REFUSE | EPERM), instruction(LOAD, NUMBER)]
    out += [instruction(EQUAL, number['mmap'], 0, 5), instruction(LOAD, ARGUMENTS + 2 * 8), instruction(ANY_BIT, WRITE_PROT, 0, 2), instruction(ANY_BIT, EXEC_PROT, 0, 1),
            instruction(RETURN, REFUSE | EPERM), instruction(LOAD, NUMBER)]
    for n in sorted(number[name] for name in allowed if name in number):
        out += [instruction(EQUAL, n, 0, 1), instruction(RETURN, ALLOW)]
    return b''.join(out + [instruction(RETURN, REFUSE | EPERM)])


def prctl(*args):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in args), *[ctypes.c_ulong(0)] * (5 - len(args))) != 0:
        raise OSError(ctypes.get_errno(), f'prctl {args[0]}')


def mount(*args):
    subprocess.run(('mount', *args), check=True)


def file_system(unit, root):
    """As ProtectSystem=strict has it: nothing is written but where it is said."""
    writable = ['/run/' + d for d in unit['RuntimeDirectory']] + ['/var/lib/' + d for d in unit['StateDirectory']] + [p.lstrip('-') for p in unit['ReadWritePaths']]
    for path in writable:
        if os.path.isdir(root + path):
            mount('--rbind', root + path, root + path)
    mount('-t', 'tmpfs', 'tmpfs', root + '/tmp')
    for path in ('/run', '/'):
        mount('-o', 'remount,bind,ro', os.path.normpath(root + path))


def load(code):
    buffer = ctypes.create_string_buffer(code, len(code))
    fprog = ctypes.create_string_buffer(struct.pack('@HP', len(code) // 8, ctypes.addressof(buffer)))
    prctl(PR_SET_SECCOMP, FILTER, fprog)


def main():
    unit, root, argv = keys(sys.argv[1]), sys.argv[2], sys.argv[3:]
    code = None
    if platform.machine() == 'x86_64':
        code = program(calls(unit['SystemCallFilter']), [FAMILIES[f] for f in unit['RestrictAddressFamilies']], numbers())
    else:
        print('# system calls are not filtered here: this program knows the numbers of x86_64 only', file=sys.stderr)
    assert unit['ProtectSystem'] == ['strict'] and unit['NoNewPrivileges'] == unit['MemoryDenyWriteExecute'] == ['yes']
    kept = [c.removeprefix('CAP_') for c in unit['CapabilityBoundingSet']]
    if root != '/':
        file_system(unit, root)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(int(unit['UMask'][0], 8))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if root != '/':
        os.chroot(root)
    os.chdir('/')
    for i, cap in enumerate(CAPS):
        if cap not in kept:
            prctl(PR_CAPBSET_DROP, i)
    if code:
        load(code)
    os.execvp(argv[0], argv)


if __name__ == '__main__':
    main()
