#!/usr/bin/python3
"""The judge of locks, tested: histories made by hand, good ones and one for every kind of violation."""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lock_history


def lock(asked, granted, leaving, left, owner='a', type='w', start=0, end=None, result='ok', wait=True, file='f', **kw):
    return dict(asked=asked, granted=granted, leaving=leaving, left=left, owner=owner, type=type, start=start, end=end, result=result, wait=wait, file=file, site=1, **kw)


def busy(asked, left, owner='b', **kw):
    return lock(asked, None, None, left, owner, result='busy', wait=False, **kw)


def step(t, owner, read, wrote, **kw):
    """Has it from t to t + 1, reads and writes the cell."""
    return lock(t, t, t + 1, t + 1, owner, cell=0, read=read, wrote=wrote, **kw)


GOOD = {
    'nothing': [],
    'one after another': [lock(0, 1, 2, 3), lock(1, 2.5, 4, 5, 'b')],
    'granted while the unlock is under way': [lock(0, 1, 2, 5), lock(1, 3, 4, 6, 'b')],
    'readers at a time': [lock(0, 1, 5, 6, type='r'), lock(1, 2, 4, 6, 'b', 'r'), lock(3, 6.5, 7, 8, 'c')],
    'ranges side by side': [lock(0, 1, 5, 6, start=0, end=10), lock(0, 1, 5, 6, 'b', start=10, end=20), lock(0, 1, 5, 6, 'c', start=20)],
    'files side by side': [lock(0, 1, 5, 6), lock(0, 1, 5, 6, 'b', file='g')],
    'one owner, two ranges': [lock(0, 1, 5, 6, start=0, end=10), lock(1, 2, 4, 5, start=5, end=15)],
    'within the slack': [lock(0, 1, 2.004, 3), lock(1, 2, 4, 5, 'b')],
    'refused beside one who has it': [lock(0, 1, 5, 6), busy(2, 3)],
    'refused while it is granted': [lock(0, 3, 5, 6), busy(1, 2)],
    'refused while it is unlocked': [lock(0, 1, 2, 6), busy(4, 5)],
    'a reader refused beside a writer': [lock(0, 1, 5, 6), busy(2, 3, type='r')],
    'a writer refused beside a reader': [lock(0, 1, 5, 6, type='r'), busy(2, 3)],
    'refused beside a waiter': [lock(0, 1, 2, 2), lock(1, 5, 6, 7, 'c'), busy(3, 4)],
    'refused after one died with it': [lock(0, 1, 2, 2, result='died'), busy(30, 31)],
    'refused after a waiter died': [lock(0, 1, 5, 5), lock(1, None, None, 4, 'c', result='died'), busy(7, 8)],
    'refused after one lost it': [lock(0, 1, 2, 5, result='lost'), busy(7, 8)],
    'given away after it was lost': [lock(0, 1, 2, 9, result='lost'), lock(1, 5, 6, 7, 'b')],
    'given away after its owner died': [lock(0, 1, 2, 2, result='died'), lock(1, 5, 6, 7, 'b')],
    'first come, first served': [lock(0, 1, 2, 2), lock(1, 2.1, 3, 3, 'b'), lock(1.5, 3.1, 4, 4, 'c')],
    'the order of those who asked at once': [lock(0, 1, 2, 2), lock(1, 3.1, 4, 4, 'b'), lock(1.01, 2.1, 3, 3, 'c')],
    'a reader joins readers behind a waiting reader': [lock(0, 1, 2, 2), lock(1, 2.2, 4, 4, 'b', 'r'), lock(1.5, 2.1, 3, 3, 'c', 'r')],
    'other bytes overtake': [lock(0, 1, 9, 9, start=0, end=1), lock(1, 9.1, 10, 10, 'b', start=0, end=1), lock(2, 2.1, 3, 3, 'c', start=0, end=2, wait=False, file='g')],
    'one who does not wait overtakes': [lock(0, 1, 2, 2), lock(1, 3, 4, 4, 'b'), lock(2.1, 2.2, 2.5, 2.6, 'c', wait=False)],
    'a long wait for many': [lock(0, 1, 4, 4), lock(0.5, 4.1, 8, 8, 'b'), lock(1, 8.1, 12, 12, 'c'), lock(1.5, 12.1, 13, 13, 'd')],
    'a long wait behind one who died': [lock(0, 1, 2, 2, result='died'), lock(1, 40, 41, 41, 'b')],
    'a long wait behind a waiter who died': [lock(0, 1, 2, 2), lock(1, None, None, 1.9, 'b', result='died'), lock(1.5, 7.5, 8, 8, 'c')],
    'a chain': [step(0, 'a', '', '1'), step(2, 'b', '1', '2'), step(4, 'a', '2', '3')],
    'a chain with readers': [step(0, 'a', '', '1'), step(2, 'b', '1', None, type='r'), step(2, 'c', '1', None, type='r'), step(4, 'a', '1', '2')],
    'a chain over swapped clocks': [step(2.005, 'a', '', '1', ), lock(2, 2.002, 2.003, 2.003, 'b', start=9, end=10), step(3.002, 'b', '1', '2')],
    'an unsure write is there': [step(0, 'a', '', '1', unsure=True, result='lost'), step(2, 'b', '1', '2')],
    'an unsure write is not there': [step(0, 'a', '', '1', unsure=True, result='lost'), step(2, 'b', '', '2')],
    'a write of one who died': [step(0, 'a', '', '1', unsure=True, result='died'), step(2, 'b', '1', '2')],
    'two cells': [step(0, 'a', '', '1', start=0, end=1), dict(step(0, 'b', '', '1', start=1, end=2), cell=1)],
    'cells of two files': [step(0, 'a', '', '1'), step(0, 'b', '', '1', file='g')],
}

# By what the judge must say of them.
BAD = {
    'had by two': {
        'two writers at a time': [lock(0, 1, 5, 6), lock(1, 2, 4, 6, 'b')],
        'a reader beside a writer': [lock(0, 1, 5, 6), lock(1, 2, 4, 6, 'b', 'r')],
        'a writer beside a reader': [lock(0, 1, 5, 6, type='r'), lock(1, 2, 4, 6, 'b')],
        'a writer beside two readers': [lock(0, 1, 3, 4, type='r'), lock(0, 1, 9, 10, 'b', 'r'), lock(1, 5, 6, 7, 'c')],
        'ranges that share a byte': [lock(0, 1, 5, 6, start=0, end=11), lock(0, 1, 5, 6, 'b', start=10, end=20)],
        'a range under a whole lock': [lock(0, 1, 5, 6), lock(1, 2, 3, 4, 'b', start=1 << 60, end=(1 << 60) + 1)],
        'one that lasts longer than the next': [lock(0, 1, 9, 10), lock(1, 2, 3, 4, start=50, end=60, owner='b', type='r')],
        'a whole one inside another': [lock(0, 1, 9, 10), lock(1, 2, 3, 4, 'b'), lock(3, 10, 11, 11, 'c')],
        'used after it was given away': [lock(0, 1, 8, 9, result='lost'), lock(1, 5, 6, 7, 'b')],
        'given away before its owner died': [lock(0, 1, 8, 8, result='died'), lock(1, 5, 6, 7, 'b')],
        'just over the slack': [lock(0, 1, 2.02, 3), lock(1, 2, 4, 5, 'b')],
    },
    'refused, and nobody had it': {
        'refused, and nobody was there': [busy(2, 3)],
        'refused after it was free': [lock(0, 1, 2, 3), busy(4, 5)],
        'refused before anybody asked': [busy(0, 1), lock(2, 3, 4, 5)],
        'a reader refused beside readers': [lock(0, 1, 5, 6, type='r'), busy(2, 3, type='r')],
        'refused for other bytes': [lock(0, 1, 5, 6, start=0, end=10), busy(2, 3, start=10, end=20)],
        'refused because of itself': [lock(0, 1, 5, 6, 'b'), busy(2, 3)],
        'refused because of one who was refused': [busy(2, 3), busy(2, 3, 'c')],
        'refused long after a waiter died': [lock(0, 1, 5, 5), lock(1, None, None, 4, 'c', result='died'), busy(17, 18)],
    },
    'overtaken': {
        'overtaken': [lock(0, 1, 2, 2), lock(1, 3.1, 4, 4, 'b'), lock(1.5, 2.1, 3, 3, 'c')],
        'a writer overtaken by a reader': [lock(0, 1, 2, 2, type='r'), lock(1, 3.1, 4, 4, 'b'), lock(1.5, 2.1, 3, 3, 'c', 'r')],
    },
    'free for': {
        'free, and not given': [lock(0, 1, 2, 2), lock(1, 30, 31, 31, 'b')],
        'free between two, and not given': [lock(0, 1, 2, 2), lock(1, 30, 31, 31, 'b'), lock(15, 16, 17, 17, 'c')],
        'free, and never given': [lock(0, 1, 2, 2), lock(1, None, None, 20, 'b', result='died')],
    },
    'a lost update': {
        'a lost update': [step(0, 'a', '', '1'), step(2, 'b', '1', '2'), step(4, 'c', '1', '3')],
        'a lost first update': [step(0, 'a', '', '1'), step(2, 'b', '', '2')],
    },
    'older than': {
        'an old reader': [step(0, 'a', '', '1'), step(2, 'b', '1', '2'), step(4, 'c', '1', None, type='r')],
        'an unsure write is overtaken by an old one': [step(0, 'a', '', '1'), step(2, 'b', '1', '2', unsure=True, result='lost'), step(4, 'c', '', '3')],
    },
    'from nowhere': {
        'from nowhere': [step(0, 'a', '', '1'), step(2, 'b', '7', '2')],
        'half of one': [step(0, 'a', '', '11 aa'), step(2, 'b', '11', '2')],
        'of another cell': [step(0, 'a', '', '1', start=0, end=1), dict(step(2, 'b', '1', '2', start=1, end=2), cell=1)],
    },
    'from the future': {
        'from the future': [step(0, 'a', '2', '1'), step(2, 'b', '1', '2')],
    },
    'an error': {
        'an error': [lock(0, 1, 2, 3, result='EIO')],
    },
    'incomplete': {
        'never granted, and ok': [lock(0, None, None, 3)],
        'refused, and granted': [lock(0, 1, 2, 3, result='busy')],
        'no end': [lock(0, 1, None, None)],
    },
    'times run backward': {
        'time runs backward': [lock(2, 1, 3, 4)],
    },
    'one text was written twice': {
        'one text twice': [step(0, 'a', '', '1'), step(2, 'b', '1', '1')],
    },
}
# Good if a refusal may come for so long after an unlock has returned.
GOOD_LATE = {
    'refused for the way of the unlock': [lock(0, 1, 2, 3), busy(3.5, 3.6)],
}
FINAL = {('f', 0): '2'}
GOOD_FINAL = {
    'the last is there': [step(0, 'a', '', '1'), step(2, 'b', '1', '2')],
    'the last one was unsure': [step(0, 'a', '', '1'), step(2, 'b', '1', '2'), step(4, 'c', '2', '3', unsure=True, result='lost')],
}
BAD_FINAL = {
    'the last is gone': ('older than', [step(0, 'a', '', '1'), step(2, 'b', '1', '2'), step(4, 'c', '2', '3')]),
    'something else is there': ('from nowhere', [step(0, 'a', '', '1')]),
}

# Owner 'z' has died, and nobody knows what it had done.
GOOD_DEAD = {
    'its write was read': [step(0, 'a', '', '1 a.0'), step(4, 'b', '2 z.0', '3 b.0')],
    'its writes, and one of its last': [step(0, 'a', '', '1 a.0'), step(4, 'b', '2 z.0', '3 b.0'), step(6, 'a', '4 z.1', None, type='r')],
}
BAD_DEAD = {
    'of another one': ('from nowhere', [step(0, 'a', '', '1 a.0'), step(4, 'b', '2 y.0', '3 b.0')]),
    'a write beside its write': ('a lost update', [step(0, 'a', '', '1 a.0'), step(4, 'b', '2 z.0', '3 b.0'), step(6, 'c', '2 z.0', '3 c.0')]),
}
FAULTS = {'two': 'had by two', 'old': 'older than'}


def simulated(seed, fault):
    """Many owners of a few ranges who behave, but for one at the end: it had the lock with another ('two'), or has read what was written before the last ('old')."""
    rnd, t, events, cells = random.Random(seed), 0.0, [], {}
    for i in range(400):
        t += rnd.random()
        cell = rnd.randrange(3)
        at = dict(start=10 * cell, end=10 * cell + 10)
        granted = max(t + 0.1, cells[cell][0]) if cell in cells else t + 0.1
        read = cells[cell][1] if cell in cells else ''
        e = lock(t, granted, granted + 0.5, granted + 0.6, f'o{i}', cell=cell, read=read, wrote=f'{i}', **at)
        events.append(e)
        cells[cell] = (e['left'], e['wrote'])
    if fault == 'two':
        events.append(dict(events[-1], owner='two', granted=events[-1]['granted'] + 0.1, cell=9, read='', wrote='two'))
    if fault == 'old':
        t = max(end for end, _ in cells.values()) + 1
        events.append(lock(t, t, t + 1, t + 1, 'old', cell=0, read=next(e['read'] for e in reversed(events) if e['cell'] == 0), wrote=None, start=0, end=10))
    return events


def main():
    failed = 0
    cases = [(f'good: {n}', h, None, {}) for n, h in GOOD.items()] + [(f'bad: {n}', h, says, {}) for says, of_kind in BAD.items() for n, h in of_kind.items()]
    cases += [(f'good, sent behind: {n}', h, None, {'late': 1}) for n, h in GOOD_LATE.items()]
    cases += [(f'bad, sent at once: {n}', h, 'refused, and nobody had it', {}) for n, h in GOOD_LATE.items()]
    cases += [(f'good in the end: {n}', h, None, {'final': FINAL}) for n, h in GOOD_FINAL.items()]
    cases += [(f'bad in the end: {n}', h, says, {'final': FINAL}) for n, (says, h) in BAD_FINAL.items()]
    cases += [(f'good with a dead one: {n}', lock_history.of_the_dead(h, {'z'}), None, {}) for n, h in GOOD_DEAD.items()]
    cases += [(f'bad with a dead one: {n}', lock_history.of_the_dead(h, {'z'}), says, {}) for n, (says, h) in BAD_DEAD.items()]
    cases += [(f'good: simulated {s}', simulated(s, None), None, {'idle': None}) for s in range(3)]
    cases += [(f'bad: simulated {s}, {fault}', simulated(s, fault), says, {'idle': None}) for s in range(3) for fault, says in FAULTS.items()]
    for what, events, says, options in cases:
        bad, _ = lock_history.check(events, **{'fair': 0.1, **options})
        right = any(b.startswith(says) for b in bad) if says else not bad
        failed += not right
        print(f"{'ok' if right else 'not ok'} lock judge/{what}")
        if not right:
            print('# ' + '\n# '.join(bad or ['no violation found']))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
