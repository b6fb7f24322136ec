"""Part `trees`: what people do to source trees. Goal: <= 1.10 x stock at every RTT; <= 10 elections for an unpack.

Every workload begins when no site controls anything, so the copy that is removed, the repository and the sources
are old. The build uses tcc: gcc spends so much time in the guest's processor that the file system hardly shows, tcc a
tenth; both read the sources over NFS and write the .o files over it.
"""
import os
import shutil
import subprocess

import project

ARCHIVE = os.path.join(os.environ.get('NFS4R_CACHE', os.path.expanduser('~/.cache/nfs4r')), 'nfs-ganesha_6.5.orig.tar.gz')
RATIO, ELECTIONS = 1.10, 10
WORKLOADS = ('unpack', 'cp -a', 'git checkout', 'build', 'rm -rf')


def prepare(bench):
    """What all RTTs use: the archive where guests see it, a repository and a project on both mounts. Unpacks once on
    each, to warm up."""
    if os.path.exists(os.path.join(bench.dir, 'archive.tgz')):
        return
    if not os.path.exists(ARCHIVE):
        raise FileNotFoundError(f'{ARCHIVE} is missing; run: make deps')
    shutil.copy(ARCHIVE, os.path.join(bench.dir, 'archive.tgz'))
    project.repository(os.path.join(bench.dir, 'git'))
    project.sources(os.path.join(bench.dir, 'src'))
    for m in ('/nfs', '/stock'):
        bench.shell(1, f'mkdir -p {m}/trees/new {m}/trees/warm && cp -a {bench.dir}/git {bench.dir}/src {m}/trees/ && '
                       f'git -C {m}/trees/git status >/dev/null && tar xzf {bench.dir}/archive.tgz -C {m}/trees/warm')


def run(bench):
    prepare(bench)
    elections = []
    tag = bench.name()

    def unpack(m, t):
        return bench.shell(1, f'mkdir {m}/trees/new/{tag}-{t} && tar xzf {bench.dir}/archive.tgz -C {m}/trees/new/{tag}-{t}')

    def copy(m, t):
        return bench.shell(1, f'cp -a {m}/trees/new/{tag}-{t} {m}/trees/new/{tag}-{t}c')

    def checkout(m, t):
        # There and back on old trees alike: each trial is one checkout of the version that is not there.
        return bench.shell(1, f'cd {m}/trees/git && if [ "$(git symbolic-ref --short HEAD)" = v1 ]; then git checkout -q v2; '
                              'else git checkout -q v1; fi')

    def build(m, t):
        return bench.shell(1, f'make -s -C {m}/trees/src OUT={m}/trees/new/{tag}-{t}o')

    def remove(m, t):
        return bench.shell(1, f'rm -rf {m}/trees/new/{tag}-{t}c')

    def note(what, n):
        bench.res.trial('trees', f'{what}, elections', 'repl', bench.rtt_ms, n, '')
        if what == 'unpack':
            elections.append(n)

    cases = list(zip(WORKLOADS, ['s'] * 5, (unpack, copy, checkout, build, remove)))
    bench.pairs('trees', cases, after=note)
    for what in WORKLOADS:
        n = bench.res.median('trees', f'{what}, elections', 'repl', bench.rtt_ms)
        bench.res.time_ratio('trees', what, bench.rtt_ms, RATIO, f'{n:g} elections')
    bench.res.judge('trees', 'unpack, elections', bench.rtt_ms, max(elections), 'at most', '<=', ELECTIONS)


def versions():
    out = []
    for argv in (['git', '--version'], ['tcc', '-v'], ['tar', '--version'], ['make', '--version']):
        r = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        out.append((r.stdout or r.stderr).splitlines()[0])
    return out
