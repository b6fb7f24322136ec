#!/usr/bin/python3
"""The checker's own test: histories made by hand, good ones and one for every kind of violation."""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import history


def w(t0, t1, value, site=1, file='f', trunc=False, result='ok'):
    return dict(op='write', t0=t0, t1=t1, value=value, site=site, worker=0, file=file, trunc=trunc, result=result)


def r(t0, t1, value, site=2, file='f'):
    return dict(op='read', t0=t0, t1=t1, value=value, site=site, worker=0, file=file, result='ok')


def name(op, t0, t1, site=1, result='ok', **kw):
    return dict(op=op, t0=t0, t1=t1, site=site, worker=0, result=result, group='g', **kw)


def create(t0, t1, n, id=None, **kw):
    return name('create', t0, t1, name=n, id=id, **kw)


def unlink(t0, t1, n, **kw):
    return name('unlink', t0, t1, name=n, **kw)


def rename(t0, t1, n, to, **kw):
    return name('rename', t0, t1, name=n, to=to, **kw)


def place(t0, t1, n, id=None, **kw):
    return name('place', t0, t1, name=n, id=id, **kw)


def look(t0, t1, n, id, **kw):
    return name('look', t0, t1, name=n, id=id, **kw)


def listing(t0, t1, asked, names, **kw):
    return name('list', t0, t1, names_asked=asked, names=names, **kw)


GOOD = {
    'read after close': [w(0, 1, 'a'), r(2, 3, 'a'), w(4, 5, 'b'), r(6, 7, 'b', 3)],
    'old or new while it is written': [w(0, 1, 'a'), w(2, 10, 'b'), r(3, 4, 'b'), r(5, 6, 'a', 3), r(7, 8, 'b'), r(11, 12, 'b')],
    'read that began before the close': [w(0, 1, 'a'), w(2, 5, 'b'), r(4, 6, 'a')],
    'two writers, one order': [w(0, 10, 'a', 1), w(1, 9, 'b', 2), r(11, 12, 'a', 1), r(13, 14, 'a', 2)],
    'nothing written yet': [r(0, 1, ''), w(2, 3, 'a')],
    'zeros under a truncating writer': [w(0, 1, 'a'), w(2, 5, 'b', trunc=True), r(1.5, 4, '\0'), r(6, 7, 'b')],
    'empty under a truncating writer': [w(0, 1, 'a'), w(2, 5, 'b', trunc=True), r(3, 4, ''), r(6, 7, 'b')],
    'a write that may not have been': [w(0, 1, 'a'), w(2, 3, 'b', result='unknown'), r(4, 5, 'a'), r(6, 7, 'b')],
    'within the slack': [w(0, 1, 'a'), w(2, 3, 'b'), r(3.004, 3.1, 'a')],
    'files are judged apart': [w(0, 1, 'a', file='f'), w(2, 3, 'b', file='g'), r(4, 5, 'a', file='f')],
    'create, look, unlink, look': [create(0, 1, 'x', 7), look(2, 3, 'x', 7, site=2), unlink(4, 5, 'x', site=3), look(6, 7, 'x', None)],
    'two creates, one wins': [create(0, 3, 'x', 7, site=1), create(1, 2, 'x', result='EEXIST', site=2), look(4, 5, 'x', 7)],
    'rename moves': [create(0, 1, 'x', 7), rename(2, 3, 'x', 'y', site=2), look(4, 5, 'x', None), look(4, 5, 'y', 7, site=3)],
    'rename over': [create(0, 1, 'x', 7), create(0, 1, 'y', 8, site=2), rename(2, 3, 'x', 'y'), look(4, 5, 'y', 7)],
    'look during an update': [create(0, 1, 'x', 7), unlink(2, 9, 'x'), look(3, 4, 'x', None), look(5, 6, 'x', 7), look(10, 11, 'x', None)],
    'overlapping updates in the other order': [create(0, 5, 'x', 7), unlink(1, 6, 'x', site=2), look(7, 8, 'x', None)],
    'listing': [create(0, 1, 'x', 7), listing(2, 3, ['x', 'y'], ['x']), unlink(4, 5, 'x'), listing(6, 7, ['x', 'y'], [])],
    'a create that may have been': [create(0, 1, 'x', 7, result='unknown'), look(2, 3, 'x', None), look(90, 91, 'x', None)],
    'removed before its maker could look': [create(0, 3, 'x', 'removed before 3'), unlink(1, 2, 'x', site=2), look(4, 5, 'x', None)],
    'a directory is placed over another': [place(0, 1, 'x', 7), place(2, 3, 'x', 8, site=2), look(4, 5, 'x', 8, site=3)],
    'two move the same, one does nothing': [create(0, 1, 'x', 7), rename(2, 4, 'x', 'y', site=1), rename(2, 4, 'x', 'y', site=2),
                                            look(5, 6, 'y', 7)],
    'again after unlink': [create(0, 1, 'x', 7), unlink(2, 3, 'x'), create(4, 5, 'x', 8, site=2), look(6, 7, 'x', 8, site=3)],
}

BAD = {
    'stale read': [w(0, 1, 'a'), w(2, 3, 'b'), r(4, 5, 'a')],
    'stale read at the writer\'s site': [w(0, 1, 'a'), w(2, 3, 'b', 2), r(4, 5, 'a', 1)],
    'from nowhere': [w(0, 1, 'a'), r(2, 3, 'c')],
    'a mixture': [w(0, 1, 'aaaa'), w(0, 1, 'bbbb', 2), r(2, 3, 'aabb')],
    'from the future': [r(0, 1, 'a'), w(2, 3, 'a')],
    'emptied': [w(0, 1, 'a'), r(2, 3, '')],
    'emptied by a writer that has closed': [w(0, 1, 'a'), w(2, 3, 'b', trunc=True), r(4, 5, '')],
    'zeros of a closed file': [w(0, 1, 'a'), w(2, 3, 'b', trunc=True), r(4, 5, '\0')],
    'zeros under a writer that cuts nothing': [w(0, 1, 'a'), w(2, 5, 'b'), r(3, 4, '\0')],
    'zeros before anything is written': [r(0, 1, '\0'), w(2, 3, 'a')],
    'two versions of a closed file': [w(0, 10, 'a', 1), w(1, 9, 'b', 2), r(11, 12, 'a', 1), r(11, 12, 'b', 2)],
    'back and forth': [w(0, 10, 'a', 1), w(1, 9, 'b', 2), r(11, 12, 'a'), r(13, 14, 'b'), r(15, 16, 'a')],
    'a lost write': [w(0, 1, 'a'), w(2, 3, 'b', 2), r(4, 5, 'a', 3), r(6, 7, 'a', 1)],
    'old again': [w(0, 10, 'a'), w(1, 9, 'b', 2), r(11, 12, 'b'), w(13, 14, 'c'), r(15, 16, 'b')],
    'its maker calls it removed, and it is there': [create(0, 1, 'x', 'removed before 1'), look(2, 3, 'x', 7, site=2)],
    'created and not seen': [create(0, 1, 'x', 7), look(2, 3, 'x', None, site=2)],
    'unlinked and still seen': [create(0, 1, 'x', 7), unlink(2, 3, 'x'), look(4, 5, 'x', 7, site=2)],
    'two winners': [create(0, 3, 'x', 7, site=1), create(1, 2, 'x', 8, site=2), look(4, 5, 'x', 7)],
    'two unlinks': [create(0, 1, 'x', 7), unlink(2, 4, 'x', site=1), unlink(3, 5, 'x', site=2)],
    'unlink refused though it was there': [create(0, 1, 'x', 7), unlink(2, 3, 'x', result='ENOENT', site=2)],
    'create refused though it was gone': [create(0, 1, 'x', 7), unlink(2, 3, 'x'), create(4, 5, 'x', result='EEXIST', site=2)],
    'renamed and in both places': [create(0, 1, 'x', 7), rename(2, 3, 'x', 'y'), look(4, 5, 'y', 7), look(6, 7, 'x', 7, site=2)],
    'renamed and nowhere': [create(0, 1, 'x', 7), rename(2, 3, 'x', 'y'), look(4, 5, 'y', None, site=2)],
    'another object under the name': [create(0, 1, 'x', 7), look(2, 3, 'x', 8, site=2)],
    'not listed': [create(0, 1, 'x', 7), listing(2, 3, ['x', 'y'], [], site=2)],
    'listed after unlink': [create(0, 1, 'x', 7), unlink(2, 3, 'x'), listing(4, 5, ['x'], ['x'], site=3)],
    'moved by two': [create(0, 1, 'x', 7), rename(2, 4, 'x', 'y', site=1), rename(2, 4, 'x', 'z', site=2)],
}

# With Directory_Reads = local: names may be old for a while, files and the effects of updates may not.
GOOD_LOCAL = {
    'created and not seen yet': [create(0, 1, 'x', 7), look(2, 3, 'x', None, site=2), look(9, 10, 'x', 7, site=2)],
    'unlinked and still seen': [create(0, 1, 'x', 7), unlink(2, 3, 'x'), look(4, 5, 'x', 7, site=2), look(9, 10, 'x', None, site=2)],
    'not listed yet': [create(0, 1, 'x', 7), listing(2, 3, ['x', 'y'], [], site=2)],
    'unlink refused, not seen yet': [create(0, 1, 'x', 7), unlink(2, 3, 'x', result='ENOENT', site=2), look(9, 10, 'x', 7)],
    'a free name refused, still seen': [create(0, 1, 'x', 7), unlink(2, 3, 'x'), create(4, 5, 'x', result='EEXIST', site=2), look(9, 10, 'x', None)],
}
BAD_LOCAL = {
    'not seen for too long': [create(0, 1, 'x', 7), look(7, 8, 'x', None, site=2)],
    'unlinked and seen for too long': [create(0, 1, 'x', 7), unlink(2, 3, 'x'), look(9, 10, 'x', 7, site=2)],
    'seen before it was made': [look(0, 1, 'x', 7, site=2), create(2, 3, 'x', 7)],
    'not listed for too long': [create(0, 1, 'x', 7), listing(7, 8, ['x', 'y'], [], site=2)],
    'two winners': [create(0, 3, 'x', 7, site=1), create(1, 2, 'x', 8, site=2), look(9, 10, 'x', 7)],
    'a free name refused for too long': [create(0, 1, 'x', 7), unlink(2, 3, 'x'), create(9, 10, 'x', result='EEXIST', site=2)],
    'a name refused that never was': [create(0, 1, 'x', result='EEXIST', site=2), create(2, 3, 'x', 7)],
    'an old file': [w(0, 1, 'a'), w(2, 3, 'b'), r(4, 5, 'a')],
}


def simulated(seed, stale):
    """A long history of a register that behaves; with stale, one read of it does not."""
    rnd, t, value, events, old = random.Random(seed), 0.0, None, [], None
    for i in range(600):
        t += rnd.random()
        if rnd.random() < 0.3:
            old, value = value, f'v{i}'
            events.append(w(t, t + 0.2, value, rnd.randrange(1, 4)))
        elif value:
            events.append(r(t, t + 0.1, value, rnd.randrange(1, 4)))
        t += 0.3
    if stale:
        events.append(r(t + 1, t + 2, old))
    return events


def main():
    failed = 0
    cases = [(f'good: {n}', h, False, 0) for n, h in GOOD.items()] + [(f'bad: {n}', h, True, 0) for n, h in BAD.items()]
    cases += [(f'good locally: {n}', h, False, history.LAG) for n, h in GOOD_LOCAL.items()]
    cases += [(f'bad locally: {n}', h, True, history.LAG) for n, h in BAD_LOCAL.items()]
    cases += [(f'bad, not locally: {n}', h, True, 0) for n, h in GOOD_LOCAL.items()]
    cases += [(f'good: simulated {s}', simulated(s, False), False, 0) for s in range(5)]
    cases += [(f'bad: simulated {s}', simulated(s, True), True, 0) for s in range(5)]
    for what, events, violates, lag in cases:
        bad, _ = history.check(events, lag=lag)
        right = bool(bad) == violates
        failed += not right
        print(f"{'ok' if right else 'not ok'} checker/{what}")
        if not right:
            print('# ' + '\n# '.join(bad or ['no violation found']))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
