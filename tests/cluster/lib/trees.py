"""Equal trees: the volume through every site's client, and what each server has on its disk."""
import json
import os
import time

import bed
import snapshot


def through_client(b, site, path='/nfs', timeout=240):
    """Cold caches, then the whole tree as that site's client sees it."""
    b.must('client', site, 'drop-caches')
    out = b.must_py(site, 'snapshot.py', path, timeout=timeout)
    return dict(json.loads(line) for line in out.splitlines())


def on_disk(b, site, path=''):
    return snapshot.take(os.path.join(b.data(site), path))


def first_difference(trees, keys):
    """Lines of the first two unequal trees, or nothing. trees: [(what, tree)]."""
    for what, tree in trees[1:]:
        lines = snapshot.difference(trees[0][1], tree, keys)
        if lines:
            return [f'{trees[0][0]} and {what} differ:'] + lines
    return []


def clients_equal(b, path='/nfs'):
    """Completed updates are everywhere at once: no waiting here."""
    trees = sorted(bed.everywhere(lambda s: through_client(b, s, path), b.sites).items())
    lines = first_difference([(f'client {s}', t) for s, t in trees], snapshot.ALL)
    bed.expect(not lines, '\n'.join(lines))
    tree = trees[0][1]
    errors = [f'{n!r}: {e["error"]}' for n, e in tree.items() if 'error' in e]
    bed.expect(not errors, 'unreadable:\n' + '\n'.join(errors[:25]))
    b.seen = tree               # client_equals_disk compares the same view
    return f'{len(tree)} names'


def disks_equal(b, seconds=30, path=''):
    """What servers hold becomes equal once the updates have been distributed."""
    if bed.STOCK:
        return 'stock: one server only'
    end, lines = time.monotonic() + seconds, ['-']
    while lines and time.monotonic() < end:
        trees = [(f'disk {s}', on_disk(b, s, path)) for s in b.sites]
        lines = first_difference(trees, snapshot.LOCAL)
        if lines:
            time.sleep(1)
    bed.expect(not lines, f'after {seconds} s:\n' + '\n'.join(lines))
    return f'{len(trees[0][1])} names'


def client_equals_disk(b, path='/nfs'):
    """What clients read (clients_equal came before) is what is on the disk: nothing is lost on the way."""
    lines = snapshot.difference(b.seen, on_disk(b, 1, path[len('/nfs'):].lstrip('/')), snapshot.LOCAL)
    bed.expect(not lines, 'clients and disk 1 differ:\n' + '\n'.join(lines))


def verify(b, path='/'):
    """nfs4rctl's own comparison of all copies."""
    if bed.STOCK:
        return 'stock: nothing to verify'
    r = b.ctl(1, 'verify', path, timeout=120)
    bed.expect(r.returncode == 0, f'nfs4rctl verify {path}: status {r.returncode}\n{r.stdout[-2000:]}{r.stderr[-2000:]}')
