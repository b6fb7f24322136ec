#!/usr/bin/python3
"""Operations across trees that other sites control deeply, while those sites work in them; seen at all sites at once."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import trees

NAME = f'deep-{os.getpid()}'
DIR = f'/nfs/{NAME}'
GONE = {'error': 'ENOENT'}
LOOK = os.path.join(bed.LIB, 'deep_look.py')
ENDS = 20                   # s until controls that nobody uses have ended


class Busy:
    """deep_busy.py at some sites: {site: its arguments}."""

    def __init__(self, b, what, work):
        self.b, self.stop = b, os.path.join(b.run, f'{NAME}-{what}.stop')
        self.running = {s: b.start_py(s, 'deep_busy.py', self.stop, s, *args) for s, args in work.items()}
        self.go_on(6)

    def steps(self, site):
        try:
            with open(f'{self.stop}.{site}') as f:
                return int(f.read() or 0)
        except FileNotFoundError:
            return 0

    def go_on(self, steps=3):
        """Every site does some more, and none has met an error."""
        before = {s: self.steps(s) for s in self.running}

        def more():
            ended = [s for s, p in self.running.items() if p.poll() is not None]
            bed.expect(not ended, f'the work ended at sites {ended}: ' + ''.join(self.running[s].stdout.read() for s in ended))
            return all(self.steps(s) >= n + steps for s, n in before.items())
        bed.eventually(30, more, lambda: f'the work stands still: {before}')

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind:
            for p in self.running.values():
                p.kill()

    def end(self):
        """{site: what it printed}"""
        with open(self.stop, 'w'):
            pass
        out = {s: p.communicate(timeout=60)[0] for s, p in self.running.items()}
        bad = [f'site {s}: {out[s]}' for s, p in self.running.items() if p.returncode]
        bed.expect(not bad, '\n'.join(bad))
        return {s: json.loads(text) for s, text in out.items()}


def ask(b, site, *questions):
    return json.loads(b.must('sh', site, '-n', '-t', 120, '-p', LOOK, json.dumps(questions), timeout=150))


def do(b, site, *question):
    """One operation that must succeed."""
    result = ask(b, site, question)[0]
    bed.expect(not isinstance(result, dict) or 'error' not in result, f'{question} at site {site}: {result}')
    return result


def refused(b, site, error, *question):
    result = ask(b, site, question)[0]
    bed.expect(result == {'error': error}, f'{question} at site {site}: {result}, not {error}')


def everywhere(b, want, *questions):
    """The same answers at all sites, now."""
    got = bed.everywhere(lambda s: ask(b, s, *questions), b.sites)
    for s in b.sites:
        bed.expect(got[s] == want, f'{questions} at site {s}: {got[s]}, expected {want}')


def deeply(b, site, path):
    """The site has deep control of the directory or of one above it."""
    rows = [c for c in b.ask(site, 'controls')['controls'] if c['owner'] == site and c['depth'] != 'shallow' and c['path']]
    inside = f'/{NAME}/{path}/'
    bed.expect(any(inside.startswith(c['path'].rstrip('/') + '/') for c in rows), f'site {site} has no deep control at {path}: {rows}')


def apart(b, top, first, second):
    """A directory with one of site 1's and one of site 2's, which nobody controls. If both made theirs while they work they would contest
    the one above; who loses asks for its own shallowly (control 4.1) and may then work there for long without deep control."""
    do(b, 1, 'mkdir', top)
    do(b, 1, 'mkdir', f'{top}/{first}')
    do(b, 2, 'mkdir', f'{top}/{second}')
    b.no_controls(ENDS)


def move(b, busy, site, old, new):
    """A site renames what others work in; all sites see it at once and the work goes on."""
    old, new = f'{DIR}/{old}', f'{DIR}/{new}'
    fileid, _, is_dir = do(b, site, 'stat', old)
    do(b, site, 'rename', old, new)
    got = bed.everywhere(lambda s: ask(b, s, ('stat', old), ('stat', new)), b.sites)
    for s in b.sites:
        there = got[s][1]
        bed.expect(got[s][0] == GONE and isinstance(there, list) and (there[0], there[2]) == (fileid, is_dir),
                   f'{old} -> {new} at site {site}: site {s} sees {got[s]}, the object is {fileid}')
    if busy:
        busy.go_on()


def moves(b):
    """Directories out of a deeply controlled tree, into one, from one into another, by each site; then a whole tree."""
    apart(b, f'{DIR}/m', 'a', 'b')
    with Busy(b, 'moves', {1: [f'{DIR}/m/a/sub', f'{DIR}/m/a/other'], 2: [f'{DIR}/m/b/x', f'{DIR}/m/b/y']}) as busy:
        deeply(b, 1, 'm/a/sub')
        deeply(b, 2, 'm/b/x')
        do(b, 3, 'mkdir', f'{DIR}/m/free')
        move(b, busy, 3, 'm/a/sub', 'm/free/sub')       # out of site 1's tree, by a third
        move(b, busy, 3, 'm/b/x', 'm/a/x')              # site 2's directory into site 1's tree, by a third
        move(b, busy, 2, 'm/a/other', 'm/b/other')      # out of site 1's into the own
        move(b, busy, 1, 'm/free/sub', 'm/b/sub')       # what site 1 works in, into site 2's
        move(b, busy, 2, 'm/b/y', 'm/a/y')              # the own into site 1's
        out = busy.end()
    move(b, None, 3, 'm/a', 'm/b/a')                    # a whole tree, with what is still controlled below it
    refused(b, 1, 'EINVAL', 'rename', f'{DIR}/m/b', f'{DIR}/m/b/a/x/b')
    for site, directory, i in ((1, 'b/sub', 0), (1, 'b/other', 1), (2, 'b/a/x', 0), (2, 'b/a/y', 1)):
        everywhere(b, [out[site]['files'][i]], ('tree', f'{DIR}/m/{directory}'))
    return f'longest steps {out[1]["gap"]} and {out[2]["gap"]} s'


def removals(b):
    """Directories that another site controls: an empty one, a full one, a tree, one that is being worked in."""
    d = f'{DIR}/r'
    with Busy(b, 'removals', {1: [f'{d}/full']}) as busy:
        for name in ('empty', 'tree', 'tree/below', 'left'):
            do(b, 1, 'mkdir', f'{d}/{name}')
        for i in range(8):
            do(b, 1, 'write', f'{d}/tree/below/{i}', 'x')
        deeply(b, 1, 'r/empty')
        do(b, 2, 'rmdir', f'{d}/empty')
        everywhere(b, [GONE, ['full', 'left', 'tree']], ('stat', f'{d}/empty'), ('list', d))
        refused(b, 2, 'ENOTEMPTY', 'rmdir', f'{d}/full')
        busy.go_on()
        do(b, 3, 'remove', f'{d}/tree')
        everywhere(b, [GONE, ['full', 'left']], ('stat', f'{d}/tree'), ('list', d))
        busy.go_on()
        # Site 1 still has the directory open when it goes: nothing can be made in it any more.
        held = b.start_sh(1, f'cd {d}/left && while test -e {d}/left; do sleep 0.05; done; : >new')
        do(b, 2, 'rmdir', f'{d}/left')
        text, _ = held.communicate(timeout=60)
        bed.expect(held.returncode != 0, f'a file was made in a directory that is gone: {text}')
        out = busy.end()
    everywhere(b, [out[1]['files'][0], ['full']], ('tree', f'{d}/full'), ('list', d))


def links(b):
    """A file with one name below site 1's deep control and another below site 2's."""
    d, work = f'{DIR}/l', {1: [f'{DIR}/l/one'], 2: [f'{DIR}/l/two']}
    apart(b, d, 'one', 'two')
    with Busy(b, 'links', work) as busy:
        do(b, 1, 'write', f'{d}/one/file', 'first')
        deeply(b, 1, 'l/one')
        deeply(b, 2, 'l/two')
        do(b, 2, 'link', f'{d}/one/file', f'{d}/two/file')
        fileid = do(b, 3, 'stat', f'{d}/one/file')[0]
        both = (('stat', f'{d}/one/file'), ('stat', f'{d}/two/file'), ('read', f'{d}/one/file'), ('read', f'{d}/two/file'))
        for site, name in ((1, 'one'), (2, 'two'), (3, 'one'), (1, 'two'), (2, 'one')):
            text = f'written at {site} by the name in {name}'
            do(b, site, 'write', f'{d}/{name}/file', text)
            everywhere(b, [[fileid, 2, False]] * 2 + [text] * 2, *both)
        do(b, 3, 'rename', f'{d}/two/file', f'{d}/one/second')
        do(b, 2, 'write', f'{d}/one/second', 'by the new name')
        everywhere(b, ['by the new name', [fileid, 2, False], GONE], ('read', f'{d}/one/file'), ('stat', f'{d}/one/second'),
                   ('stat', f'{d}/two/file'))
        do(b, 2, 'unlink', f'{d}/one/file')
        everywhere(b, [GONE, [fileid, 1, False]], ('stat', f'{d}/one/file'), ('stat', f'{d}/one/second'))
        busy.go_on()
        busy.end()


def replaced(b):
    """A rename over a file that another site has open and appends to: the name is the new file's, the writer keeps the old."""
    notes = []
    for writer, other in ((1, 2), (3, 1), (2, 3)):
        d = f'{DIR}/w{writer}'
        do(b, writer, 'mkdir', d)
        with Busy(b, f'replaced-{writer}', {writer: ['--append', f'{d}/target']}) as busy:
            do(b, other, 'write', f'{d}/new', f'by site {other}')
            fileid = do(b, other, 'stat', f'{d}/new')[0]
            do(b, other, 'rename', f'{d}/new', f'{d}/target')
            everywhere(b, [f'by site {other}', [fileid, 1, False], GONE], ('read', f'{d}/target'), ('stat', f'{d}/target'),
                       ('stat', f'{d}/new'))
            busy.go_on()
            out = busy.end()[writer]
        everywhere(b, [f'by site {other}', [fileid, 1, False]], ('read', f'{d}/target'), ('stat', f'{d}/target'))
        notes.append(f'{out["lines"]} lines')
    return ', '.join(notes)


def turns(b):
    """Two sites make, rename and remove files in one directory and never pause: each has its turn (control 7.5)."""
    d = f'{DIR}/turns'
    do(b, 1, 'mkdir', d)

    def had():
        return [b.ask(s, 'stats')['core']['time_slices'] for s in (1, 2)]
    with Busy(b, 'turns', {1: [d], 2: [d]}) as busy:
        begun, before, did = time.time(), had(), [busy.steps(s) for s in (1, 2)]
        bed.eventually(90, lambda: all(now > then + 1 for now, then in zip(had(), before)), 'one of two sites has no turn')
        rates = [(busy.steps(s) - n) / (time.time() - begun) for s, n in zip((1, 2), did)]
        out = busy.end()
    everywhere(b, [{**out[1]['files'][0], **out[2]['files'][0]}], ('tree', d))
    text = f'{rates[0]:.1f} and {rates[1]:.1f} steps a second, the longest {out[1]["gap"]} and {out[2]["gap"]} s'
    bed.expect(min(rates) > 3, f'{text}: what is forwarded makes less than two')
    return text


def burst(b):
    """A new tree below an old directory pays for one election (control 5.4)."""
    do(b, 1, 'mkdir', f'{DIR}/old')
    b.no_controls(ENDS)
    before = b.counters()
    b.sh(2, f'cd {DIR}/old && for i in 1 2 3 4 5; do mkdir d$i; for j in 1 2 3 4 5; do echo $j >d$i/$j; done; done; '
            'chmod -R go-w . && mv d1/1 d2/moved && rm -r d3')
    waited = (b.counters() - before)['elections_waited']
    bed.expect(waited == 1, f'{waited} elections were waited for')


def verify(b):
    r = b.ctl(1, 'verify', f'/{NAME}', timeout=120)
    bed.expect(r.returncode == 0, f'status {r.returncode}\n{r.stdout[-2000:]}{r.stderr[-2000:]}')


def main():
    report = bed.Report('deep')
    with bed.Bed.get('--rtt', '40ms') as b:
        b.remount('vers=4.2,actimeo=0,lookupcache=none')
        b.sh(1, f'mkdir {DIR}')
        b.no_controls(ENDS)
        report.check('a burst below an old directory pays once', burst, b)
        report.check('two sites that never pause in one directory', turns, b)
        report.check('directories moved out of and into trees under deep control', moves, b)
        report.check('directories removed that another site controls', removals, b)
        report.check('a file with names below two deep controls', links, b)
        report.check('a rename over a file that another site writes', replaced, b)
        report.check('no control is left', b.no_controls, ENDS)
        b.remount()
        report.check('equal trees through the clients', trees.clients_equal, b, DIR)
        report.check('equal trees on the servers\' disks', trees.disks_equal, b, 30, NAME)
        report.check('what a client reads is what the disk has', trees.client_equals_disk, b, DIR)
        report.check('nfs4rctl verify', verify, b)
        report.check('all servers alive', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
