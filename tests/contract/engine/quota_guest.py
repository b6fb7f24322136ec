#!/usr/bin/python3
"""
Quotas of real file systems (log 4.16), in a guest of User-mode Linux, whose kernel has them. quota_guest.py PROBE.

Each case is a file system with its mount options, what `quota_probe` has to say of it, and whether a server starts there. It needs root and User-mode Linux (scripts/deps.sh).
"""
import os
import shutil
import subprocess
import sys
import tempfile

# name, how it is made, options of mount, commands in the guest, the line about quotas, does a server start
CASES = [
    ('ext4 without', 'mkfs.ext4 -q {}', 'rw', '', 'no quotas, type ext4', True),
    ('ext4 that only counts', 'mkfs.ext4 -q -O quota {}', 'rw', '', 'no quotas, type ext4', True),
    ('ext4 by user and group', 'mkfs.ext4 -q -O quota {}', 'usrquota,grpquota', '', 'user and group quotas, type ext4', False),
    ('ext4 by project', 'mkfs.ext4 -q -O quota,project -E quotatype=prjquota {}', 'prjquota', '', 'project quotas, type ext4', False),
    ('ext4, limits turned on later', 'mkfs.ext4 -q -O quota {}', 'rw', 'quotaon', 'user quotas, type ext4', False),
    ('ext4, the directory is a project', 'mkfs.ext4 -q -O quota,project -E quotatype=prjquota {}', 'prjquota', 'project', 'no quotas, type ext4, 20480 KiB', True),
    ('XFS without', 'mkfs.xfs -q {}', 'rw', '', 'no quotas, type xfs', True),
    ('XFS that only counts', 'mkfs.xfs -q {}', 'uqnoenforce,pqnoenforce', '', 'no quotas, type xfs', True),
    ('XFS by user', 'mkfs.xfs -q {}', 'uquota', '', 'user quotas, type xfs', False),
    ('XFS by all', 'mkfs.xfs -q {}', 'uquota,gquota,pquota', '', 'user, group and project quotas, type xfs', False),
    ('XFS by project', 'mkfs.xfs -q {}', 'pquota', '', 'project quotas, type xfs', False),
    ('XFS, the directory is a project', 'mkfs.xfs -q {}', 'pquota', 'project', 'no quotas, type xfs, 20480 KiB', True),
    ('XFS by user, the directory is a project', 'mkfs.xfs -q {}', 'uquota,pquota', 'project', 'user quotas, type xfs, 20480 KiB', False),
    ('btrfs without', 'mkfs.btrfs -q {}', 'rw', '', 'no quotas, type btrfs', True),
    ('btrfs that only counts', 'mkfs.btrfs -q {}', 'rw', 'qgroups', 'no quotas, type btrfs', True),
    ('btrfs with a limit', 'mkfs.btrfs -q {}', 'rw', 'limit', 'qgroup quotas, type btrfs', False),
    ('btrfs with a limit elsewhere', 'mkfs.btrfs -q {}', 'rw', 'elsewhere', 'no quotas, type btrfs', True),
    ('btrfs with a limit above', 'mkfs.btrfs -q {}', 'rw', 'above', 'qgroup quotas, type btrfs', False),
]
SETUP = {
    '': ':',
    'quotaon': f'/usr/bin/python3 -S -E {os.path.abspath(__file__)} --quotaon /mnt',
    'project': f'/usr/bin/python3 -S -E {os.path.abspath(__file__)} --project /mnt /mnt/dir',
    'qgroups': 'btrfs quota enable /mnt',
    'limit': 'btrfs quota enable /mnt && btrfs qgroup limit 100M 0/5 /mnt',
    'elsewhere': 'btrfs quota enable /mnt && btrfs subvolume create /mnt/other && btrfs qgroup limit 100M /mnt/other',
    'above': 'btrfs quota enable /mnt && btrfs qgroup create 1/7 /mnt && btrfs qgroup assign 0/5 1/7 /mnt && btrfs qgroup limit 100M 1/7 /mnt',
}
INIT = '''#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
insmod MODULES/fs/quota/quota_tree.ko
insmod MODULES/fs/quota/quota_v2.ko
try() { # number, device, options, commands
	if mount -o "$3" "/dev/$2" /mnt && mkdir -p /mnt/dir && eval "$4" >/run/out 2>&1; then
		sync
		PROBE /mnt/dir | sed "s/^/case $1: /"
	else
		echo "case $1: $(cat /run/out)"
	fi
	umount /mnt
}
'''
DISKS = 16                  # of a guest, at most
QCMD_QUOTAON, QCMD_XSETQLIM, QFMT_VFS_V1 = 0x800002, 0x5804, 4


def quotaon(where):
    """quotaon(8) of a file system that counts already: user quotas are enforced from now on."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(where, os.O_RDONLY)
    return libc.syscall(443, fd, QCMD_QUOTAON << 8, QFMT_VFS_V1, None) and ctypes.get_errno()


def project(mount, path):
    """All below @path is of project 7, which may have 20 MiB."""
    import ctypes
    import fcntl
    import struct
    fd = os.open(path, os.O_RDONLY)
    flags, extsize, extents, _, cow = struct.unpack('=5I8x', fcntl.ioctl(fd, 0x801c581f, bytes(28)))
    fcntl.ioctl(fd, 0x401c5820, struct.pack('=5I8x', flags | 0x200, extsize, extents, 7, cow))
    # struct fs_disk_quota: version, flags of project quotas, fields (block limits), id, block limits in 512 bytes
    limit = struct.pack('=bbHIQQ', 1, 2, 1 << 3 | 1 << 2, 7, 20 << 11, 0) + bytes(112 - 24)
    return ctypes.CDLL(None, use_errno=True).syscall(443, os.open(mount, os.O_RDONLY), QCMD_XSETQLIM << 8 | 2, 7, limit) and ctypes.get_errno()


def boot(top, probe, cases):
    """What the guest prints."""
    modules = '/usr/lib/uml/modules/' + os.listdir('/usr/lib/uml/modules')[0] + '/kernel'
    init, disks = os.path.join(top, 'init'), []
    with open(init, 'w') as f:
        f.write(INIT.replace('MODULES', modules).replace('PROBE', probe))
        for n, i in enumerate(cases):
            disk = f'{top}/disk{i}'
            with open(disk, 'w') as image:
                image.truncate(320 << 20)
            subprocess.run(CASES[i][1].format(disk), shell=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            disks.append(f'ubd{n}={disk}')
            f.write(f"try {i} ubd{chr(97 + n)} {CASES[i][2]} '{SETUP[CASES[i][3]]}'\n")
        f.write('exec /usr/bin/python3 -S -E -c "import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)"\n')
    os.chmod(init, 0o755)
    # setarch -R: without it UML maps up to 1 GB of random gap
    run = subprocess.run(['setarch', '-R', 'linux', 'mem=192M', 'rootfstype=hostfs', 'rootflags=/', 'ro', f'uml_dir={top}/uml', 'umid=quota', 'con=null', 'con0=null,fd:1', 'ssl=null',
                          f'init={init}', *disks], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, env=os.environ | {'TMPDIR': '/dev/shm'})
    return run.stdout.splitlines()


def main():
    if os.geteuid() or not shutil.which('linux') or not os.path.isdir('/usr/lib/uml/modules'):
        print('not ok it needs root and User-mode Linux: scripts/deps.sh installs that')
        return 1
    probe = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix='nfs4r-quota-') as top:
        lines = sum((boot(top, probe, range(len(CASES))[n:n + DISKS]) for n in range(0, len(CASES), DISKS)), [])
    failed = 0
    for i, (name, _, _, _, said, starts) in enumerate(CASES):
        mine = [l.split(': ', 1)[1] for l in lines if l.startswith(f'case {i}: ')]
        ok = len(mine) == 3 and mine[0].startswith(said) and mine[2] == 'ignore: starts' and (mine[1] == 'refuse: starts') == starts and (starts or 'Quotas = ignore' in mine[1])
        print(f'{"ok" if ok else "not ok"} {name}')
        failed += not ok
        if not ok:
            print('\n'.join(f'#   {l}' for l in mine or lines[-30:]))
    return 1 if failed else 0


if __name__ == '__main__':
    if sys.argv[1] == '--quotaon':
        sys.exit(quotaon(sys.argv[2]))
    if sys.argv[1] == '--project':
        sys.exit(project(sys.argv[2], sys.argv[3]))
    sys.exit(main())
