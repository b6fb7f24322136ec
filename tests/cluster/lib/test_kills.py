"""What kills.py takes for a repetition, and what it must not. Run on the host."""
import sys

import kills


def told(site, op, error, begin, end):
    k = kills.Kills()
    k.add(3, 100.0, 100.2, False)
    return k.repeated(site, op, error, begin, end)


def cut_off(op, error, begin, end):
    k = kills.Kills()
    k.out_of_reach(100, 190)
    return k.repeated(2, op, error, begin, end)


def tail(site, answered, asked, lost=True):
    k = kills.Kills()
    k.add(3, 100.0, 100.2, lost)
    return k.in_lost_tail(site, answered, asked)


CASES = {
    'an unlink that was under way': told(3, 'unlink', 'ENOENT', 99.9, 110),
    'a directory that was being made': told(3, 'mkdir', 'EEXIST', 99, 100.1),
    'not at another site': not told(1, 'unlink', 'ENOENT', 99.9, 110),
    'not one that had ended': not told(3, 'unlink', 'ENOENT', 99, 99.8),
    'not one that began after it': not told(3, 'unlink', 'ENOENT', 100.4, 110),
    'not another error': not told(3, 'unlink', 'EEXIST', 99.9, 110) and not told(3, 'rename', 'EIO', 99.9, 110),
    'not an exclusive create': not told(3, 'create', 'EEXIST', 99.9, 110),
    'an unlink that waited for the others for too long': cut_off('unlink', 'ENOENT', 102, 191),
    'not one that waited for as long as its server does': not cut_off('unlink', 'ENOENT', 150, 191) and not cut_off('unlink', 'ENOENT', 40, 145),
    'not a directory that is found again': not cut_off('mkdir', 'EEXIST', 102, 191),
    'what was answered just before the disk was lost': tail(3, 99.8, 103),
    'not what was answered long before': not tail(3, 98, 103),
    'not what was answered after': not tail(3, 101, 103),
    'not what was missing before': not tail(3, 99.5, 99.8),
    'not with the disk in place': not tail(3, 99.8, 103, lost=False),
    'not what another site was answered': not tail(2, 99.8, 103),
}

for name, held in CASES.items():
    print(f'{"ok" if held else "not ok"} {name}')
sys.exit(not all(CASES.values()))
