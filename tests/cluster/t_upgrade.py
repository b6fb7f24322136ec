#!/usr/bin/python3
"""Two releases in one volume, under a light load: the rolling upgrade of docs/deploy.md as it is written, rounds of failures with mixed releases in both directions, and the way back.

The older release is the last one that has a tag, built beside the tree, and the newer one is the tree. A tag from before 0.2.0 speaks no common protocol and does not count; until there is another one, the tree is the older one, too.
While the older one knows the tree's protocol already, the newer one is the tree built with -DNFS4R_REHEARSAL=ON, which speaks one protocol more. So a release always meets the next one, and the upgrade has something to finish."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
from t_restart import DIR, Load, lost
from t_views import wait_back

FIRST = (0, 2, 0)       # the first release that lives beside others


def last_tag():
    """The last release with a tag, or None."""
    r = subprocess.run(['git', '-C', bed.ROOT, 'tag', '--list', '[0-9]*.[0-9]*.[0-9]*', 'v[0-9]*.[0-9]*.[0-9]*'], capture_output=True, text=True)
    tags = [(tuple(map(int, m.groups())), t) for t in r.stdout.split() if (m := re.fullmatch(r'v?(\d+)\.(\d+)\.(\d+)', t))]
    tags = [t for t in sorted(tags) if t[0] >= FIRST]
    return tags[-1][1] if tags else None


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


class Releases:
    """The older and the newer one, as folders of plugins in the bed's run directory."""

    def __init__(self, b):
        self.b, tag, source = b, last_tag(), bed.ROOT
        mine = os.path.join(bed.ROOT, 'build/release/FSAL_REPL/libfsalrepl.so')
        if tag:
            source = os.path.join(bed.ROOT, 'build', f'tag-{tag}')
            if not os.path.exists(source):
                subprocess.run(['git', '-C', bed.ROOT, 'worktree', 'add', '--detach', source, tag], check=True, capture_output=True)
        old = build(source, os.path.join(source, 'build/release')) if tag else mine
        rehearsal = protocol(source) == protocol(bed.ROOT)
        new = build(bed.ROOT, os.path.join(bed.ROOT, 'build/rehearsal'), '-DNFS4R_REHEARSAL=ON') if rehearsal else mine
        self.what = f'{tag or "no tag: the tree"} and the tree{", rehearsing the next protocol" if rehearsal else ""}'
        self.folder = {'old': self.plugins('old', old), 'new': self.plugins('new', new)}
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
    r = b.ctl(1, 'upgrade', 'finish', '--yes')
    bed.expect(r.returncode == 0, f'upgrade finish: {r.stdout}{r.stderr}')
    bed.eventually(20, lambda: all(settings(b, s)['protocol'] == want['protocol'] for s in b.sites), 'not all servers follow')
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
    with bed.Bed.own('--rtt', '40ms', *bed.SHORT) as b:
        releases = Releases(b)
        report.say(f'# {releases.what}')
        for s in b.sites:
            releases.install(s, 'old')
        bed.everywhere(lambda s: b.kill(s, 'stop'), b.sites)
        bed.everywhere(lambda s: b.must('server', s, 'start'), b.sites)
        wait_back(b, 60)
        b.sh(1, f'mkdir -p {DIR}', timeout=90)
        load = Load(b, 'upgrade')
        try:
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
