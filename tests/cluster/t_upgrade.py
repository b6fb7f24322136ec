#!/usr/bin/python3
"""Two releases in one volume, under a light load: the rolling upgrade of docs/deploy.md as it is written, rounds of failures with mixed releases in both directions, and the way back.

The older release is the last one that has a tag, built beside the tree, and the newer one is the tree. A clone may have no tags: then it is the last one that `releases` names, if the clone has that commit.
A release from before 0.2.0 speaks no common protocol and does not count; until there is another one, the tree is the older one, too. While the older one knows the tree's protocol already, the newer one is the tree built with
-DNFS4R_REHEARSAL=ON, which speaks one protocol more. So a release always meets the next one, and the upgrade has something to finish.

A new volume begins with the highest protocol that its servers know, so the bed comes up with the older release.

	t_upgrade.py [build|finish]   build: the modules of both releases, and no bed; finish: no failures and no way back before the upgrade is finished

	TB_OLDER=list: as in a clone without tags; TB_OLDER=tree: as if there were no release"""
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
from lock_clients import Agents
from t_lock_shares import raw
from t_restart import DIR, Load, lost
from t_views import wait_back

FIRST = (0, 2, 0)       # the first release that lives beside others
LOCKS = 10              # the protocol by which locks hold at all sites


LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'releases')


def git(*args):
    return subprocess.run(['git', '-C', bed.ROOT, *args], capture_output=True, text=True)


def commit_of(name):
    """The commit of that name, or None: this clone does not have it."""
    r = git('rev-parse', '--verify', '--quiet', f'{name}^{{commit}}')
    return r.stdout.strip() if r.returncode == 0 else None


def listed():
    """(release, commit) of each line of `releases`."""
    with open(LIST) as f:
        return [line.split() for line in f if line.strip() and not line.startswith('#')]


def last_release(how):
    """Name and commit of the last release that this clone has, or None. A tag counts before the list. how: TB_OLDER."""
    found = {}
    names = [] if how == 'tree' else listed()
    if how == '':
        names += [(t, t) for t in git('tag', '--list', '[0-9]*.[0-9]*.[0-9]*', 'v[0-9]*.[0-9]*.[0-9]*').stdout.split()]
    for name, where in names:
        m, commit = re.fullmatch(r'v?(\d+)\.(\d+)\.(\d+)', name), commit_of(where)
        if m and commit and tuple(map(int, m.groups())) >= FIRST:
            found[tuple(map(int, m.groups()))] = name, commit
    return found[max(found)] if found else None


def source_of(release):
    """That release beside the tree. What was called the same before and is another commit has another folder."""
    name, commit = release
    source = os.path.join(bed.ROOT, 'build', f'release-{name}-{commit[:8]}')
    if not os.path.exists(source):
        r = git('worktree', 'add', '--detach', source, commit)
        bed.expect(r.returncode == 0, f'git worktree add {source}: {r.stderr}')
    return source


def protocol(source):
    """The protocol of that source."""
    with open(os.path.join(source, 'src/base/version.h')) as f:
        return int(re.search(r'#define NFS4R_PROTOCOL_VERSION (\d+)', f.read()).group(1))


def build(source, where, *options):
    """The module of that source, built in that folder."""
    deps = os.path.join(bed.ROOT, '.deps')
    if not os.path.exists(os.path.join(source, '.deps')):
        os.symlink(deps, os.path.join(source, '.deps'))
    for command in (['cmake', '-S', source, '-B', where, '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=RelWithDebInfo', *options], ['ninja', '-C', where, '-j', '2', 'fsalrepl']):
        r = subprocess.run(command, capture_output=True, text=True)
        bed.expect(r.returncode == 0, f'{" ".join(command)}: {r.stdout[-4000:]}{r.stderr[-4000:]}')
    return os.path.join(where, 'FSAL_REPL/libfsalrepl.so')


class Modules:
    """The older and the newer one."""

    def __init__(self):
        how = os.environ.get('TB_OLDER', '')
        bed.expect(how in ('', 'list', 'tree'), f'TB_OLDER is list or tree, not {how}')
        release, mine = last_release(how), os.path.join(bed.ROOT, 'build/release/FSAL_REPL/libfsalrepl.so')
        source = source_of(release) if release else bed.ROOT
        self.older = build(source, os.path.join(source, 'build/release')) if release else mine
        self.rehearsal = protocol(source) == protocol(bed.ROOT)
        self.newer = build(bed.ROOT, os.path.join(bed.ROOT, 'build/rehearsal'), '-DNFS4R_REHEARSAL=ON') if self.rehearsal else mine
        self.first = protocol(source)
        self.what = f'{" ".join(release) if release else "no release: the tree"} and the tree{", rehearsing the next protocol" if self.rehearsal else ""}'


class Releases:
    """Both as folders of plugins in the bed's run directory."""

    def __init__(self, b, modules):
        self.b, self.rehearsal = b, modules.rehearsal
        self.folder = {'old': self.plugins('old', modules.older), 'new': self.plugins('new', modules.newer)}
        self.runs = {}

    def plugins(self, name, module):
        folder, here = os.path.join(self.b.run, f'plugins.{name}'), os.path.join(self.b.run, 'plugins')
        os.mkdir(folder)
        for f in os.listdir(here):
            if f != 'libfsalrepl.so':
                os.symlink(os.path.join(here, f), os.path.join(folder, f))
        shutil.copy(module, os.path.join(folder, 'libfsalrepl.so'))
        return folder

    def install(self, site, name):
        """What a package does: the running server stays as it is."""
        path = os.path.join(self.b.server_dir(site), 'ganesha.conf')
        with open(path) as f:
            text = f.read()
        with open(path, 'w') as f:
            f.write(re.sub(r'Plugins_Dir = "[^"]*"', f'Plugins_Dir = "{self.folder[name]}"', text))
        self.runs[site] = name

    def replace(self, site, name):
        """One site of the rolling upgrade: install, restart, wait until it is a member again and the others are not behind."""
        self.install(site, name)
        self.b.kill(site, 'stop')
        self.b.must('server', site, 'start')
        wait_back(self.b, 60)
        bed.eventually(60, lambda: not any(p['we_have_of_its_log']['lag_entries'] > 1000 for p in self.b.ask(site, 'status')['peers']), f'server {site} stays behind')


def highest(b, site):
    return b.ask(site, 'status')['protocols']['highest']


def settings(b, site):
    return b.ask(site, 'status')['volume_settings']


def everybody_says(b, releases):
    """`server list` at each site has the version and the protocols of all, and peers speak the highest common one."""
    know = {s: highest(b, s) for s in b.sites}
    for s in b.sites:
        rows = {r['server']: r for r in json.loads(b.ctl(s, '--json', 'server', 'list').stdout)['servers']}
        bed.expect({n: r['protocols']['highest'] for n, r in rows.items()} == know, f'server list of site {s}: {rows}; they say {know}')
        for p in b.ask(s, 'status')['peers']:
            bed.expect(p['protocol'] == min(know[s], know[p['server']]), f'server {s} speaks {p["protocol"]} with {p["server"]}; they know {know}')
            bed.expect(p['version'] and p['commit'] and p['disk_formats'], f'server {s} says of {p["server"]}: {p}')
    return know


def failures(b, load):
    """One round with this mixture: a server is killed, another one cut off for longer than the lease."""
    for site in b.sites:
        b.kill(site)
        time.sleep(1)
        b.must('server', site, 'start')
        wait_back(b, 60)
        other = site % 3 + 1
        b.must('link', other, 'all', 'cut')
        time.sleep(6)
        b.must('link', other, 'all', 'heal')
        wait_back(b, 60)
        load.goes_on()


def upgrade(b, releases, load):
    """Each site, with failures while releases are mixed; nothing finishes by itself."""
    was = settings(b, 1)
    for i, site in enumerate(b.sites):
        if i:
            r = b.ctl(1, 'upgrade', 'finish', '--yes')
            bed.expect(r.returncode == 2 and 'install the new release there first' in r.stderr, f'not refused: {r.stdout}{r.stderr}')
        releases.replace(site, 'new')
        everybody_says(b, releases)
        failures(b, load) if i < 2 else load.goes_on()
    bed.expect(settings(b, 1)['protocol'] == was['protocol'], f'the volume has {settings(b, 1)}, it had {was}')


def back(b, releases, load):
    """Before it is finished, in the other order, and forward again."""
    for i, site in enumerate(reversed(b.sites)):
        releases.replace(site, 'old')
        everybody_says(b, releases)
        failures(b, load) if i == 0 else load.goes_on()
    for site in b.sites:
        releases.replace(site, 'new')
        load.goes_on()


def raise_protocol(b, want):
    r = b.ctl(1, 'upgrade', 'finish', '--yes')
    bed.expect(r.returncode == 0, f'upgrade finish: {r.stdout}{r.stderr}')
    bed.eventually(20, lambda: all(settings(b, s)['protocol'] == want['protocol'] for s in b.sites), 'not all servers follow')


def denying(b, path):
    """A program at site 1 that has the file open and denies others to write."""
    p = subprocess.Popen(b.command(*raw(b, 'hold', path, '10.0.1.1', '3', '2')), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    line = bed.line_of(p).strip()
    if line != 'open':
        p.kill()
    bed.expect(line == 'open', f'the open that denies: {line}')
    return p


def locks_become_shared(b, want):
    """What clients have when the protocol is raised to the one by which locks hold at all sites holds there, too. Where two have the same, both keep it, and a log says so."""
    names = {n: f'{DIR}/{n}' for n in ('one', 'both', 'denied')}
    b.sh(1, f'cd {DIR} && echo text | tee one both denied')
    bed.everywhere(lambda s: b.sh(s, f'cat {DIR}/one {DIR}/both {DIR}/denied'), b.sites)
    marks = {s: len(b.log(s)) for s in b.sites}
    with Agents(b, names['one'], [1, 2]) as (at1, at2), Agents(b, names['both'], [1, 3]) as (both1, both3):
        at1.must_lock('w', start=0, length=10)
        bed.expect(at2.lock('r', start=20, length=5)['result'] == 'ok', 'two ranges of one file')
        for a in both1, both3:
            a.must_lock('w', wait=False)      # each site by itself
        p = denying(b, names['denied'].replace('/nfs', '/data'))
        try:
            raise_protocol(b, want)
            time.sleep(1)       # each server asks for what its clients have
            said = at2.lock('w', start=0, length=10)['result']
            bed.expect(said == 'EAGAIN', f'a lock of before does not hold at another site: {said}; locks: {b.ask(1, "locks")}\nlog of server 1: {b.log(1)[marks[1]:][-3000:]}')
            bed.expect(at1.lock('w', start=22, length=1)['result'] == 'EAGAIN', 'a lock of site 2 does not hold at site 1')
            r = b.tb('sh', 2, '-n', '-t', 60, '--', 'sh', '-c', f'echo more >>{names["denied"]}')
            bed.expect(r.returncode and 'denied' in r.stderr, f'a writer beside an open that denies it: status {r.returncode} {r.stderr}')
        finally:
            p.kill()
            p.wait()
        waiting = at2.begin('lock', type='w', start=0, length=10, wait=True)
        time.sleep(1)
        bed.expect(not at2.answered(waiting), 'a waiter has what another one has')
        at1.unlock()
        bed.expect(at2.end(waiting, 10)['result'] == 'ok', 'a waiter does not get what is given back')
        bed.eventually(10, lambda: any('a client of another server has' in b.log(s)[marks[s]:] for s in (1, 3)), 'no log names the lock that two have')
        for a in both1, both3:
            bed.expect(a.ask('write', at=0, text='x')['result'] == 'ok', 'one of the two cannot write any more')
            a.unlock()
        both1.must_lock('w')
        bed.expect(both3.lock('w')['result'] == 'EAGAIN', 'both have it again')


def finish(b, releases, load):
    """Refused while a server is down; then it takes a moment and nobody pauses. A server of the old release does not start any more."""
    want = settings(b, 1)['may_finish']
    bed.expect(want, f'nothing to finish: {settings(b, 1)}')
    b.kill(3)
    bed.eventually(20, lambda: settings(b, 1)['may_finish'] is None, 'server 1 does not notice that server 3 is dead')
    r = b.ctl(1, 'upgrade', 'finish', '--yes')
    bed.expect(r.returncode == 2 and 'server 3 is not heard' in r.stderr, f'not refused: {r.stdout}{r.stderr}')
    b.must('server', 3, 'start')
    wait_back(b, 60)
    bed.expect('nfs4rctl upgrade finish' in b.ctl(1, 'status').stdout, 'status has no line upgrade')
    if settings(b, 1)['protocol'] < LOCKS <= want['protocol'] and not releases.rehearsal:
        locks_become_shared(b, want)
    else:
        raise_protocol(b, want)
    load.goes_on()
    mark = len(b.log(2))
    releases.install(2, 'old')
    b.kill(2, 'stop')
    b.tb('server', 2, 'start')
    b.says(2, mark, r'has disk format \d+, but this release reads format|the volume has protocol \d+', 60)
    b.tb('server', 2, 'stop')
    releases.install(2, 'new')
    b.must('server', 2, 'start')
    wait_back(b, 60)
    failures(b, load)
    return json.dumps(want)


def nothing_lost(b, load):
    return lost(b, load, load.end())


def main():
    report = bed.Report('upgrade')
    modules = Modules()
    if sys.argv[1:] == ['build']:
        print(f'{modules.what}: {modules.older}, {modules.newer}')
        return 0
    with bed.Bed.own('--rtt', '40ms', *bed.SHORT, '--module', modules.older) as b:
        releases = Releases(b, modules)
        report.say(f'# {modules.what}')
        for s in b.sites:
            releases.install(s, 'old')
        wait_back(b, 60)
        bed.expect(settings(b, 1)['protocol'] == modules.first, f'the volume of the older release has {settings(b, 1)}')
        b.sh(1, f'mkdir -p {DIR}', timeout=90)
        b.clocks = bed.everywhere(b.clock, b.sites)
        load = Load(b, 'upgrade')
        try:
            if sys.argv[1:] == ['finish']:
                for s in b.sites:
                    releases.replace(s, 'new')
            else:
                report.check('servers are replaced one after the other', upgrade, b, releases, load)
                report.check('and put back, and replaced again', back, b, releases, load)
            report.check('the upgrade is finished', finish, b, releases, load)
            report.check('nothing is lost', nothing_lost, b, load)
        finally:
            load.kill()
        report.check('all servers live', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
