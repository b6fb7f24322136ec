"""What past.py takes for the error of a file that has gone with all machines, and what it must not. Run on the host."""
import sys

import past

BEGUN, SYNCED = ({'name': 'f54', 'content': ['x', 1], 'at': at} for at in ('begin', 'synced'))


class NoBed:
    def __init__(self, there):
        self.there = there

    def status_of(self, site, script):
        return 0 if self.there else 1


def vanished(*before, error='EIO', there=False):
    p = past.Promises.__new__(past.Promises)
    line = {'error': error, 'step': 'create', 'n': 54}
    p.b, p.directory, p.said = NoBed(there), '/nfs/d', {2: [*before, line]}
    return p.vanished(2, line)


CASES = {
    'a file that was made and not synced': vanished(BEGUN),
    'not one that is there': not vanished(BEGUN, there=True),
    'not one that was called synced': not vanished(BEGUN, SYNCED) and not vanished(BEGUN, SYNCED, BEGUN),
    'not one of which nothing is known': not vanished(),
    'not another error': not vanished(BEGUN, error='EPERM'),
}

for name, held in CASES.items():
    print(f'{"ok" if held else "not ok"} {name}')
sys.exit(not all(CASES.values()))
