#!/usr/bin/python3
"""Machines that lose power under load: what was not synced is gone from their disks, of exported tree and store alike. Afterwards all
are members, what clients were told is durable is there, files that stayed open hold every byte that their programs wrote, no closed version was seen
and gone, what is counted and synced under a lock of all sites is exact, or its holder has heard EIO, and the copies are equal.

    t_machine_crash.py               a round with one machine and one with all
    ROUNDS=20 SEED=n t_machine_crash.py     by turns; ONLY=one|all: one kind
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
from t_views import wait_back

OPTIONS = ('--rtt', '40ms', *bed.SHORT, '--images', '128M', '--vers', '4.2,actimeo=0,lookupcache=none')
SECONDS = 8                 # of load
ONLY = os.environ.get('ONLY')
# An object that was made and not synced may vanish with the machine; its client may have it open, or meet its own repetition.
TOLERATED = ('ESTALE', 'ENOENT', 'EEXIST')


def lose_power(b, sites, silent):
    """silent: the other machines hear nothing of it, not even the end of the connections."""
    for s in sites if silent else ():
        b.must('link', s, 'all', 'cut')
    bed.everywhere(lambda s: b.must('server', s, 'crash'), sites)
    for s in sites if silent else ():
        b.must('link', s, 'all', 'heal')


class Round:
    def __init__(self, b, n, seed, sites, found):
        self.b, self.sites, self.found = b, sites, found
        self.rnd = random.Random(f'{seed} {n}')
        self.path, self.seed, self.bad, self.said = f'/power/r{n}', f'{seed}.{n}', [], []

    def judge(self, what, function, *args, **kw):
        try:
            self.said.append(f'{what}: {function(*args, **kw) or "yes"}')
        except bed.Failed as e:
            self.bad.append(f'{what}:\n{e}')
            self.found[what] += 1

    def run(self):
        b, rnd, top = self.b, self.rnd, f'/nfs{self.path}'
        b.sh(1, f'mkdir -p {top}/open {top}/locks {top}/promises/site1 {top}/promises/site2 {top}/promises/site3')
        open_files = past.OpenFiles(b, f'{top}/open', self.seed, SECONDS)
        work = past.History(b, f'{top}/history', self.seed, SECONDS, killed=b.sites)
        promises = past.Promises(b, f'{top}/promises', self.seed, SECONDS, work.clocks)
        locks = past.Locks(b, f'{top}/locks', self.seed, SECONDS, work.clocks, shared=True)
        try:
            time.sleep(rnd.uniform(1.5, 5.5))
            silent, away = rnd.random() < 0.3, rnd.choice([0.2, 2, 6])
            lose_power(b, self.sites, silent)
            time.sleep(away)
            bed.everywhere(lambda s: b.must('server', s, 'start'), self.sites)
            start = time.monotonic()
            self.judge('all return', wait_back, b, 60)
            self.back = time.monotonic() - start
            bed.expect(not self.bad, '\n'.join(self.bad))   # the clients wait for ever, too
            self.judge('no errors', promises.end, tolerated=TOLERATED, machine=True)
            self.judge('close-to-open', work.judge, tolerated=TOLERATED)
            self.judge('open files', open_files.judge)
            self.judge('no lock is lost elsewhere', locks.end, troubled=self.sites)
        finally:
            open_files.kill()
            locks.kill()
            work.kill()
            promises.kill()
        self.judge('no control is left', b.no_controls, 30)
        self.judge('equal disks', trees.disks_equal, b, 15, self.path[1:])
        self.judge('verify', trees.verify, b, self.path)
        self.judge('promises', promises.judge, machine=True)
        self.judge('what is counted', locks.judge)
        self.judge('no lock is left', locks.none_left, 30)
        self.judge('equal trees through the clients', trees.clients_equal, b, top)
        self.judge('all servers alive', b.servers_alive)
        bed.expect(not self.bad, '\n'.join(self.bad) + '\nand ' + ', '.join(self.said))
        return f'away {away} s{", silent" if silent else ""}, back after {self.back:.1f} s; ' + ', '.join(self.said)


def main():
    rounds, seed = int(os.environ.get('ROUNDS', 2)), os.environ.get('SEED', '1')
    report, found, back, n = bed.Report('machine_crash'), collections.Counter(), [], 0
    report.check('what counts as gone with all machines', bed.judge_itself, 'test_past.py')
    while n < rounds:
        with bed.Bed.own(*OPTIONS) as b:
            good = True
            while good and n < rounds:
                all_of_them = n % 2 if not ONLY else ONLY == 'all'
                sites = b.sites if all_of_them else [random.Random(f'{seed} {n} site').choice(b.sites)]
                r = Round(b, n, seed, sites, found)
                good = report.check(f'round {n} (seed {seed}): power lost at {"all sites" if all_of_them else f"site {sites[0]}"}', r.run)
                back += [r.back] if good else []
                if not good:
                    past.keep(b, f'machine-crash-{seed}-{n}')
                n += 1
    if back:
        print(f'# return after the start: median {sorted(back)[len(back) // 2]:.1f} s, worst {max(back):.1f} s')
    if found:
        print('# rounds in which this did not hold: ' + ', '.join(f'{w} {c}' for w, c in found.most_common()))
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
