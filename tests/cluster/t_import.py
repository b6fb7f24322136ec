#!/usr/bin/python3
"""A tree with all that Linux has in one is imported at one site, and is the same at all: by a walk of our own over the servers' disks, and by nfs4rctl verify. What
cannot be taken is said and listed. Then one server gets all of it from another, with new disks, and a client copies such a tree with rsync.

    t_import.py                  2,000 small objects besides the odd ones
    NAMES=66000 t_import.py      100,000 objects; then only the import
"""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
from t_views import wait_back, wait_removed

NAMES = int(os.environ.get('NAMES', 2000))
TOOL = os.path.join(bed.LIB, 'odd_tree.py')
OPTIONS = ('--rtt', '20ms', *bed.SHORT, '--images', os.environ.get('IMAGES', '1G'), '--no-mount', '--set', 'Durability=commit')
MOUNTED, FAILS = '/flags/mounted', 'this directory is skipped'


def in_server(b, site, script):
    b.must_in_bed('sh', '-ec', f'cd {b.server_dir(site)}; {script}')


def listing(b, site, path=''):
    r = b.inside('python3', TOOL, 'list', os.path.join(b.server_dir(site), 'data', path), timeout=400)
    bed.expect(r.returncode == 0, f'the disk of site {site} cannot be listed: {r.stderr[-2000:]}')
    return {o['path']: o for o in map(json.loads, r.stdout.splitlines())}


def difference(want, got, ignore=()):
    """In words; nothing if they are equal."""
    lines = [f'missing: {p!r}' for p in want if p not in got] + [f'too many: {p!r}' for p in got if p not in want]
    for p in want:
        if p in got and want[p] != got[p]:
            lines += [f'{p[-80:]!r}: {k} is {got[p].get(k)!r}, not {want[p].get(k)!r}' for k in want[p] if k not in ignore and got[p].get(k) != want[p][k]]
    return lines


def expect_equal(what, want, got, ignore=()):
    lines = difference(want, got, ignore)
    bed.expect(not lines, f'{what}: {len(lines)} differences\n' + '\n'.join(lines[:40]))


def plant(b):
    """Empty stores, a tree at site 1."""
    for s in b.sites:
        b.must('server', s, 'stop')
        in_server(b, s, 'find store data -mindepth 1 -delete')
    r = b.inside('python3', TOOL, 'make', os.path.join(b.server_dir(1), 'data'), str(NAMES), timeout=400)
    bed.expect(r.returncode == 0, r.stderr[-2000:])
    want = listing(b, 1)
    in_server(b, 1, 'mkdir data/large/mounted; mount -t tmpfs none data/large/mounted; echo hidden >data/large/mounted/f; : >data/grows')
    set_import(b, 'true')
    b.wanted = want
    return f'{len(want)} objects'


def set_import(b, value):
    path = b.must('server', 1, 'conf').strip()
    with open(path) as f:
        text = f.read()
    text = re.sub(r'\n\s*Import = \w+;', '', text)
    with open(path, 'w') as f:
        f.write(re.sub(r'REPL \{', f'REPL {{\n\tImport = {value};', text, count=1))


def peers_of(b, site):
    """What it says of the others; nothing while it starts."""
    r = b.ctl(site, '--json', 'status')
    return json.loads(r.stdout)['peers'] if r.returncode == 0 else []


def import_it(b):
    """A file grows, not through NFS, while it is imported."""
    states, elsewhere = set(), set()
    start = time.monotonic()
    grower = b.start_in_bed('python3', TOOL, 'grow', os.path.join(b.server_dir(1), 'data/grows'), os.path.join(b.server_dir(1), 'stop'))
    for s in b.sites:
        b.tb('server', s, 'start')

    def complete():
        r = b.ctl(1, '--json', 'status')
        a = json.loads(r.stdout) if r.returncode == 0 else {}
        if a.get('import', {}).get('objects', 0) > 500:
            in_server(b, 1, ': >stop')
        states.add((a.get('state'), a.get('import', {}).get('phase')))
        elsewhere.update(json.dumps(p.get('import')) for p in peers_of(b, 2) if p['server'] == 1)
        return a.get('import', {}).get('phase') in ('complete', 'stopped')
    bed.eventually(60 + NAMES / 50, complete, lambda: b.log(1)[-3000:], 0.05)
    took = time.monotonic() - start
    grower.wait(60)
    bed.expect(any('running' in said for said in elsewhere), f'server 2 never says that server 1 imports: {elsewhere}')
    bed.expect(('importing', 'running') in states, f'it never was in state importing: {states}')
    bed.expect(not any(state == 'serving' and phase != 'complete' for state, phase in states), f'it served a part of the tree: {states}')
    a = b.ask(1, 'status')
    bed.expect(a['state'] == 'serving' and a['import']['phase'] == 'complete', f'{a["state"]}: {a["import"]}\n{b.log(1)[-3000:]}')
    b.no_controls(60)
    return f'{a["import"]["objects"]} objects in {took:.1f} s'


def lines_of(b, name):
    r = b.inside('cat', os.path.join(b.server_dir(1), 'store', name))
    bed.expect(r.returncode == 0, r.stderr)
    return dict(line.split('\t') for line in r.stdout.splitlines())


def said(b):
    a = b.ask(1, 'status')['import']
    skipped, changed = lines_of(b, 'import-skipped.txt'), lines_of(b, 'import-changed.txt')
    bed.expect(list(skipped) == ['/large/mounted'] and 'mounted' in skipped['/large/mounted'], f'skipped: {skipped}')
    flags = {p: why for p, why in changed.items() if p != '/grows'}
    bed.expect(set(flags) == {'/flags/immutable', '/flags/append', '/flags/dir'} and 'append-only' in flags['/flags/append'], f'changed: {changed}')
    bed.expect(a['skipped']['objects'] == 1 and a['changed']['objects'] == len(changed), f'status: {a}')
    for words in ('/large/mounted is skipped', '/flags/dir is changed'):
        bed.expect(words in b.log(1), f'not in the log: {words}')
    text = b.ctl(1, 'status').stdout
    bed.expect('WARNING' in text and 'import-skipped.txt' in text, f'status does not warn:\n{text}')


def all_equal(b):
    got = {s: listing(b, s) for s in b.sites}
    for s in b.sites:
        grown, mounted = got[s].pop('/grows', None), got[s].pop('/large/mounted', None)
        bed.expect(grown and grown['size'] > 0 and not mounted, f'site {s}: {grown} {mounted}')
        for d in ('', '/large'):        # these had one name more
            got[s][d].pop('mtime')
    for d in ('', '/large'):
        b.wanted[d].pop('mtime', None)
    for s in b.sites:
        expect_equal(f'site {s} and what was imported', b.wanted, got[s])
    return f'{len(b.wanted)} objects at {len(b.sites)} sites'


def grown_equal(b):
    """It stopped growing before the import was over: all of it came."""
    found = [listing(b, s)['/grows'] for s in b.sites]
    bed.expect(found[0] == found[1] == found[2] and found[0]['size'] > 100, f'the file that grew: {found}')


def rsync_equal(b):
    for s in b.sites[1:]:
        r = b.inside('rsync', '-aHAXn', '--delete', '-i', '--exclude=/lost+found', '--exclude=/.nfs4r-hold*', '--exclude=/large/mounted', '--exclude=/grows', '--exclude=/deep',
                     '--filter=-x trusted.nfs4r.*',
                     os.path.join(b.server_dir(1), 'data/'), os.path.join(b.server_dir(s), 'data/'), timeout=500)
        bed.expect(r.returncode == 0 and not r.stdout.strip(), f'rsync of sites 1 and {s}: status {r.returncode}\n{r.stdout[:2000]}{r.stderr[:2000]}')
    return 'rsync -aHAXn --delete -i says nothing'


def seen_again(b):
    """The next start meets what was skipped again, and nothing else; without Import = true the list stays."""
    for value in ('true', 'false'):
        set_import(b, value)
        b.must('server', 1, 'stop')
        b.must('server', 1, 'start')
        bed.eventually(60, lambda: b.ctl(1, 'status').returncode == 0 and b.ask(1, 'status')['state'] == 'serving', 'it does not serve again')
        a = b.ask(1, 'status')['import']
        bed.expect(a['objects'] == 0 and a['skipped']['objects'] == 1 and a['warning'], f'Import = {value}: {a}')
    in_server(b, 1, 'rm store/import-*.txt')
    b.must('server', 1, 'stop')
    b.must('server', 1, 'start')
    wait_back(b, 60)
    bed.expect(b.ask(1, 'status')['import']['warning'] is None, 'the warning stays without the lists')


def repaired(b):
    """New disks: all of it comes from another server."""
    b.sh(2, 'rm -rf /nfs/made /nfs/copied', timeout=100)
    b.no_controls(60)
    b.kill(3, lost=True)
    wait_removed(b, 3)
    in_server(b, 3, 'find store data -mindepth 1 -delete')
    b.must('server', 3, 'start')
    wait_back(b, 120 + NAMES // 50)


def set_times(tree):
    """Without times that nobody set: on the disk of the server that executed an update they are that kernel's, and clients see the volume's."""
    return {p: {k: v for k, v in o.items() if k != 'mtime' or v < 1_600_000_000 * 10**9} for p, o in tree.items()}


def users_own(tree):
    """What of it a client of NFS can see."""
    return {p: {**o, 'xattrs': {n: v for n, v in o['xattrs'].items() if n.startswith('user.')}} for p, o in tree.items()}


def through_client(b):
    """A client makes the same, and copies it with rsync: the disks have what it sees."""
    b.remount(sites=[2])
    b.sh(2, 'mkdir /nfs/made')
    b.must_py(2, 'odd_tree.py', 'make', '/nfs/made', 200, 'nfs', timeout=200)
    seen = {o['path']: o for o in map(json.loads, b.must_py(2, 'odd_tree.py', 'list', '/nfs/made', timeout=100).splitlines())}
    rsync = 'rsync -aHX --numeric-ids --exclude=/deep'
    b.sh(2, f'{rsync} /nfs/made/ /nfs/copied/', timeout=100)
    b.must('client', 2, 'drop-caches')
    left = b.sh(2, f'{rsync} -n --delete -i /nfs/made/ /nfs/copied/', timeout=100)
    bed.expect(not left.strip(), f'rsync finds differences in what it has just copied:\n{left[:2000]}')
    b.no_controls(60)
    seen, whole = set_times(seen), {s: set_times(listing(b, s, 'made')) for s in b.sites}
    disks = {s: {d: users_own(set_times(listing(b, s, d))) for d in ('made', 'copied')} for s in b.sites}
    copied = {p: o for p, o in seen.items() if not p.startswith('/deep')}
    for s in b.sites[1:]:       # the rest, too: ACLs from a default one
        expect_equal(f'disks of sites 1 and {s}', whole[1], whole[s], ('data',))
    for s in b.sites:
        expect_equal(f'what the client of site 2 made, and site {s}', seen, disks[s]['made'], ('data',))
        expect_equal(f'what rsync copied, and site {s}', copied, {p: o for p, o in disks[s]['copied'].items() if not p.startswith('/deep/')}, ('data',))
    return f'{len(seen)} objects'


def all_but_the_mount(b):
    """The file system that is mounted in the tree is the only thing that the volume does not have."""
    r = b.ctl(1, 'verify', '/', timeout=120)
    named = [l.strip() for l in r.stdout.splitlines() if 'not in the volume' in l]
    bed.expect(r.returncode == 1 and len(named) == 1 and named[0].startswith('/large/mounted '), f'nfs4rctl verify: status {r.returncode}\n{r.stdout[-2000:]}{r.stderr[-2000:]}')
    bed.expect('equal on all servers' in r.stdout, r.stdout[-2000:])


def main():
    report = bed.Report('import')
    with bed.Bed.own(*OPTIONS) as b:
        good = report.check('a tree', plant, b) and report.check('it is imported', import_it, b)
        if good:
            report.check('what was skipped and changed is said', said, b)
            report.check('equal at all sites', all_equal, b)
            report.check('the file that grew', grown_equal, b)
            report.check('equal by rsync', rsync_equal, b)
            report.check('nfs4rctl verify', all_but_the_mount, b)
        if good and NAMES < 10000:
            report.check('the lists stay until they are seen to', seen_again, b)
            report.check('through a client', through_client, b)
            if report.check('new disks at a site', repaired, b):
                report.check('equal after the repair', all_equal, b)
        if good:
            report.check('all servers alive', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
