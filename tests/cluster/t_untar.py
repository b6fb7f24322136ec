#!/usr/bin/python3
"""Archives unpacked at one site, and at three sites at once, are the same everywhere; sites are 40 ms apart."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import snapshot
import trees

ARCHIVE = os.path.join(os.environ.get('NFS4R_CACHE', os.path.expanduser('~/.cache/nfs4r')), 'nfs-ganesha_6.5.orig.tar.gz')
CONTENT = ('type', 'mode', 'size', 'link', 'sha')      # what an archive says; times of directories are set by tar, too


class Reference:
    """The archive in a directory that the guests see, and its content unpacked on the host."""

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix='nfs4r-untar-', dir='/tmp')
        self.archive = shutil.copy(ARCHIVE, self.dir)
        self.plain = os.path.join(self.dir, 'plain')
        os.mkdir(self.plain)
        subprocess.run(['tar', 'xzf', self.archive, '-C', self.plain], check=True)
        self.tree = snapshot.take(self.plain)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir)

    def part(self, prefix):
        """The tree below a directory of the archive."""
        return {n[len(prefix) + 1:] or '.': e for n, e in self.tree.items() if (n + '/').startswith(prefix + '/')}

    def top(self):
        return next(n for n in self.tree if n != '.' and '/' not in n)

    def files(self):
        return sum(e['sha'] is not None for e in self.tree.values())


def without_root(tree):
    return {n: e for n, e in tree.items() if n != '.'}


def unpack(b, ref):
    start = time.monotonic()
    b.sh(2, f'mkdir -p /nfs/untar/whole && tar xzf {ref.archive} -C /nfs/untar/whole', timeout=300)
    return f'{ref.files()} files in {time.monotonic() - start:.1f} s of unpacking'


def same(b, ref, site):
    """At once, from every site, without waiting: tar has returned."""
    lines = snapshot.difference(without_root(ref.tree), without_root(trees.through_client(b, site, '/nfs/untar/whole')), CONTENT)
    bed.expect(not lines, f'archive and client {site} differ:\n' + '\n'.join(lines))


def at_once(b, ref):
    """Three sites unpack into one directory: a part each of the same tree, whose upper directories they all make. Not tar itself: it gives up when others made all
    of those that it missed a moment ago (on any file system)."""
    top = ref.top()
    parts = {1: f'{top}/src/include', 2: f'{top}/src/FSAL', 3: f'{top}/src/Protocols'}
    b.sh(1, 'mkdir -p /nfs/untar/shared')
    bed.everywhere(lambda s: b.sh(s, f'cd /nfs/untar/shared && mkdir -p {top}/src && tar xzf {ref.archive} {parts[s]}', timeout=300), b.sites)
    want = {n: e for n, e in ref.tree.items() if any((n + '/').startswith(p + '/') for p in parts.values())}
    for s in b.sites:
        got = {n: e for n, e in trees.through_client(b, s, '/nfs/untar/shared').items() if n not in ('.', top, f'{top}/src')}
        lines = snapshot.difference(want, got, CONTENT)
        bed.expect(not lines, f'client {s}:\n' + '\n'.join(lines))
    return f'{len(want)} names'


def remove(b, ref):
    directory = f'/nfs/untar/whole/{ref.top()}/src/FSAL'
    b.sh(3, f'rm -r {directory}', timeout=300)
    for s in b.sites:
        b.must('client', s, 'drop-caches')
        bed.expect(b.status_of(s, f'test -e {directory}') == 1, f'site {s} still has {directory}')


def main():
    report = bed.Report('untar')
    if not os.path.exists(ARCHIVE):
        report.fail('archive', f'{ARCHIVE} is missing; run: make deps')
        return 1
    with Reference() as ref, bed.Bed.get('--rtt', '40ms') as b:
        b.remount()
        if report.check('unpacked at site 2', unpack, b, ref):
            for s in (3, 1, 2):
                report.check(f'the same at site {s} at once', same, b, ref, s)
            report.check('equal in every attribute', trees.clients_equal, b, '/nfs/untar')
        report.check('three sites unpack into one tree', at_once, b, ref)
        report.check('a part of it removed at site 3', remove, b, ref)
        report.check('equal disks', trees.disks_equal, b, 60, 'untar')
        report.check('all servers alive', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
