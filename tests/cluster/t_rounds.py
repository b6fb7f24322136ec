#!/usr/bin/python3
"""Rounds of trouble under load from real clients at all sites; after each the copies are equal, nothing that a client was told is done
is lost, no closed version was seen and gone, and what was counted under a lock is exact, or its holder heard EIO.

    t_rounds.py                      each trouble once; each site's clients lock files of their own
    t_rounds.py locks                all sites' clients lock the same files
    ROUNDS=100 SEED=n t_rounds.py    so many rounds of two troubles (EACH=1: of one), in random order
    ONLY='full disk,killed' ...      no troubles but these
    DURABILITY=majority ...          the others take over what a server controlled that is away. That is so with `locks`; else Durability = local.
                                     With commit a server that is away may have lost what was not synced

A trouble is a function (round, site) in TROUBLES: it makes it, waits, mends it. A new one needs only its line in the table.
"""
import collections
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import past
import trees
from t_views import is_back, others, stop_process, wait_back

MOUNT = '4.2,actimeo=0,lookupcache=none'
# Unlike file systems: site 2 has XFS, site 3 an ext4 of small blocks with few inodes.
XFS, FEW_INODES = 2, 3
LEASE = 15
OPTIONS = ('--rtt', '40ms', '--lease', str(LEASE), '--grace', '8', '--images', '96M', '--disk', f'{XFS}=320M', '--fs', f'{XFS}=xfs',
           '--fs', f'{FEW_INODES}=ext4:-b 1024 -N 6000', '--vers', MOUNT, '--set', 'Escalate_After=0')
EACH = int(os.environ.get('EACH', 2))   # troubles in a round
SECONDS = 3 + 3 * EACH      # of load in a round
SHARED_LOCKS = sys.argv[1:] == ['locks']
DURABILITY = os.environ.get('DURABILITY', 'majority' if SHARED_LOCKS else 'local')
MAY_LOSE = DURABILITY == 'commit'


# ---- troubles ----------------------------------------------------------------------------------

def killed(r, site):
    r.b.kill(site)
    r.last(site, r.rnd.choice([0.2, 1, 5.5]))
    r.b.must('server', site, 'start')


def stands_still(r, site):
    """SIGSTOP for longer than the lease, or just not."""
    stop_process(r.b, site)
    r.last(site, r.rnd.choice([1.5, 3, 5.5]))
    stop_process(r.b, site, go_on=True)


def cut(r, site, how='cut'):
    peer = r.rnd.choice(['all', 'all'] + others(r.b, site))
    r.b.must('link', site, peer, how)
    r.last(site if peer == 'all' else None, r.rnd.choice([1, 3, 6.5]))
    r.b.must('link', site, peer, 'heal')


def cut_one_way(r, site):
    cut(r, site, f'cut-from={site}')


def all_killed(r, _):
    bed.everywhere(r.b.kill, r.b.sites)
    time.sleep(r.rnd.choice([0, 0.5, 2]))
    bed.everywhere(lambda s: r.b.must('server', s, 'start'), r.b.sites)


def client_killed(r, site):
    r.b.must('client', site, 'kill')
    time.sleep(r.rnd.choice([0, 2]))
    r.b.must('client', site, 'start')


def ballast(r, site, what):
    return f'{r.b.server_dir(site)}/{what}/.nfs4r-ballast'


def fill(r, site, what):
    """Every byte of the file system, to the last."""
    path = ballast(r, site, what)
    r.b.inside('sh', '-c', f'cat /dev/zero >{path}; sync {path}')


def room_again(r, site, what):
    r.b.must_in_bed('rm', '-r', ballast(r, site, what))


def full_disk(r, site, what='data'):
    """Not one byte is left under the exported tree, or under the store."""
    fill(r, site, what)
    r.last(None, r.rnd.choice([2, 6]))
    room_again(r, site, what)


def full_store(r, site):
    full_disk(r, site, 'store')


def all_full(r, _):
    """Not one byte is left under any exported tree."""
    bed.everywhere(lambda s: fill(r, s, 'data'), r.b.sites)
    r.last(None, r.rnd.choice([2, 6]))
    bed.everywhere(lambda s: room_again(r, s, 'data'), r.b.sites)


def no_inodes(r, _):
    """Not one inode is left where there are few of them."""
    path = ballast(r, FEW_INODES, 'data')
    r.b.inside('sh', '-c', f'mkdir {path}; cd {path} && seq -f f%g 10000 | xargs touch 2>/dev/null')
    r.last(None, r.rnd.choice([2, 6]))
    room_again(r, FEW_INODES, 'data')


def too_large(r, site):
    """A file and an attribute that not every site's file system can hold: refused, or held by all."""
    path = f'/nfs{r.path}/large{len(r.said)}'
    r.b.sh(site, f"""touch {path} && {{ truncate -s 5T {path}; setfattr -n user.a -v $(head -c 3000 /dev/zero | tr '\\0' x) {path};
                     ln {path} {path}.2; }} 2>/dev/null; true""", timeout=60)


# name: (function, whose clients may hear of a repetition of their own: nobody's, the site's, all; what they may hear besides)
TROUBLES = {
    'killed': (killed, 'site', ()),
    'stands still': (stands_still, 'none', ()),
    'cut': (cut, 'none', ()),
    'cut one way': (cut_one_way, 'none', ()),
    'all killed': (all_killed, 'all', ()),
    'client killed': (client_killed, 'site', ()),
    'full disk': (full_disk, 'all', ('ENOSPC',)),
    'full store': (full_store, 'all', ('ENOSPC',)),
    'all full': (all_full, 'all', ('ENOSPC',)),
    'no inodes': (no_inodes, 'all', ('ENOSPC',)),
    'too large': (too_large, 'none', ()),
}


# ---- rounds --------------------------------------------------------------------------------------

class Round:
    """troubles: [(name, site)], one after the other."""

    def __init__(self, b, name, seed, troubles, times):
        self.b, self.rnd, self.troubles, self.times = b, random.Random(seed), troubles, times
        self.path, self.seed, self.said = f'/rounds/{name}', seed, []

    def last(self, site, seconds):
        """Lets a trouble last; when it is long enough for it, the others must remove the site's server meanwhile."""
        start, removed = time.monotonic(), None
        while time.monotonic() < start + seconds:
            if site and not removed and all(site not in self.b.ask(s, 'status')['view']['members'] for s in others(self.b, site)):
                removed = time.monotonic() - start
                self.times['removal'].append(removed)
            time.sleep(0.1)

    def wait_back(self):
        wait_back(self.b, 60)

    def trouble(self, name, site):
        function = TROUBLES[name][0]
        function(self, site)
        start = time.monotonic()
        self.said.append(name if name.startswith(('all ', 'no ')) else f'{name} {site}')
        if self.rnd.random() < 0.7:
            self.wait_back()
            self.times['return'].append(time.monotonic() - start)

    def quiet_sites(self):
        """Where a client may repeat what was done: no names there."""
        sites = set()
        for name, site in self.troubles:
            sites |= {'none': set(), 'site': {site}, 'all': set(self.b.sites)}[TROUBLES[name][1]]
        return sites

    def served_late(self):
        """Where a client may lose its locks: its server did not serve it for a while."""
        return set(self.b.sites) if any(name == 'all killed' for name, _ in self.troubles) else \
            {site for name, site in self.troubles if name in ('killed', 'stands still', 'cut', 'cut one way')}

    def run(self):
        b, top = self.b, f'/nfs{self.path}'
        gone = {site for name, site in self.troubles if name == 'client killed'}
        tolerated = {e for name, _ in self.troubles for e in TROUBLES[name][2]}
        b.sh(1, f'mkdir -p {top}/promises/site1 {top}/promises/site2 {top}/promises/site3 {top}/locks')
        work = past.History(b, f'{top}/history', self.seed, SECONDS, killed=self.quiet_sites())
        promises = past.Promises(b, f'{top}/promises', self.seed, SECONDS, work.clocks)
        locks = past.Locks(b, f'{top}/locks', self.seed, SECONDS, work.clocks, SHARED_LOCKS)
        try:
            time.sleep(self.rnd.uniform(0.5, 2))
            for name, site in self.troubles:
                self.trouble(name, site)
            judged = work.judge(gone, tolerated, least=0)
            promises.end(gone, tolerated, machine=MAY_LOSE)
            locks.end(gone, tolerated, self.served_late())
        finally:
            work.kill()
            promises.kill()
            locks.kill()
        self.wait_back()
        b.no_controls(30)
        trees.disks_equal(b, 30, self.path[1:])
        trees.verify(b, self.path)
        kept, counted = promises.judge(machine=MAY_LOSE), locks.judge()
        locks.none_left(LEASE + 15)     # the server looks for ended leases every 10 s
        if self.rnd.random() < 0.4: # equal disks and true promises are most of it
            trees.clients_equal(b, top)
        b.servers_alive()
        b.start_sh(self.rnd.choice(b.sites), f'rm -rf {top}', timeout=100)  # beside the next round
        return f'{", ".join(self.said)}: {judged}; {kept}; {counted}'


def wanted():
    """The kinds of trouble that were asked for."""
    only = [name.strip() for name in os.environ.get('ONLY', '').split(',') if name.strip()]
    unknown = sorted(set(only) - set(TROUBLES))
    if unknown:
        sys.exit(f'ONLY: there is no trouble "{unknown[0]}"; there are: {", ".join(TROUBLES)}')
    return sorted(only or TROUBLES)


def plan(rounds, kinds, rnd):
    """For each round its troubles; every kind comes equally often."""
    names = []
    while len(names) < rounds * EACH:
        names += rnd.sample(kinds, len(kinds))
    return [[(names.pop(0), rnd.choice([1, 2, 3])) for _ in range(EACH)] for _ in range(rounds)]


def show_times(times):
    for what, seconds in times.items():
        s = sorted(seconds)
        print(f'# {what}: {len(s)} times, median {s[len(s) // 2]:.1f} s, worst {s[-1]:.1f} s')


def main():
    kinds = wanted()
    rounds, seed = int(os.environ.get('ROUNDS', (len(kinds) + EACH - 1) // EACH)), os.environ.get('SEED', '1')
    report, times = bed.Report('rounds'), collections.defaultdict(list)
    try:
        all_rounds(report, times, plan(rounds, kinds, random.Random(seed)), seed)
    finally:
        show_times(times)
    return report.status()


def all_rounds(report, times, todo, seed):
    """In one bed, and a new one after each that failed."""
    n = 0
    while n < len(todo):
        good = True
        with bed.Bed.own(*OPTIONS, '--set', f'Durability={DURABILITY}') as b:
            while good and n < len(todo):
                what = ', '.join(f'{name} {site}' for name, site in todo[n])
                good = report.check(f'round {n} (seed {seed}): {what}', Round(b, f'r{n}', f'{seed}.{n}', todo[n], times).run)
                if not good:
                    past.keep(b, f'rounds-{seed}-{n}')
                n += 1
            report.check('all are members', lambda: bed.expect(is_back(b), 'not all are'))


if __name__ == '__main__':
    sys.exit(main())
