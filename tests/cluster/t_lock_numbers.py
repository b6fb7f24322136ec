#!/usr/bin/python3
"""What locks cost, beside one stock Ganesha (FSAL_VFS) at site 1 in the same run: pairs of lock and unlock, the hand-over, a counter, SQLite. Prints a table.

	t_lock_numbers.py [one|sites]   one: two clients of the server at site 1, 40 ms from each other; sites: each has a server of its own. Default: both

The clients of stock are where those of the volume are, so the one at site 2 is 40 ms away from it. `one` judges ratios alone, with room for a busy machine. `sites`
holds what locks at all sites have promised.
"""
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
from lock_clients import PARTS, Agents, bed_for

VOLUME, STOCK = '/nfs/numbers', '/run/stock/numbers'
RTT = 0.040


class Numbers:
    def __init__(self, b, part):
        self.b, self.part, self.sites, self.rows, self.n = b, part, part == 'sites', [], 0

    def new(self, where):
        """A file of its own at the volume or at stock."""
        self.n += 1
        self.b.sh(1, f'touch {where}/f{self.n}')
        if self.sites and where == VOLUME:
            self.b.no_controls(20)
        return f'{where}/f{self.n}'

    def row(self, what, ours, stock, unit, note=''):
        self.rows.append((what, ours, stock, unit, note))

    def show(self):
        def number(x):
            return '' if x is None else f'{x:.0f}' if x >= 100 else f'{x:.2f}'
        print(f'# {"":44} {"volume":>9} {"stock":>9}')
        for what, ours, stock, unit, note in self.rows:
            print(f'# {what:44} {number(ours):>9} {number(stock):>9} {unit}{note and ", " + note}', flush=True)

    # ---- pairs

    def rate(self, site, path, seconds):
        return json.loads(self.b.must_py(site, 'lock_worker.py', 'pairs', path, str(seconds)).splitlines()[-1])['a second']

    def pairs(self, site):
        """(the volume's, stock's) pairs a second, in turns."""
        seconds, rounds = (3, 3) if self.sites else (1, 2)
        ours, stock = self.new(VOLUME), self.new(STOCK)
        rates = [(self.rate(site, ours, seconds), self.rate(site, stock, seconds)) for _ in range(rounds)]
        return [statistics.median(r) for r in zip(*rates)]

    def pairs_here(self):
        ours, stock = self.pairs(1)
        self.row('lock and unlock, controlled here', ours, stock, 'a second')
        bed.expect(ours >= (0.9 if self.sites else 0.5) * stock, f'{ours:.0f} pairs a second, stock has {stock:.0f}')

    def pairs_elsewhere(self):
        """One round trip for the lock, none for the unlock; stock has two."""
        with Agents(self.b, f'{VOLUME}/f{self.n + 1}', [1]) as (writer,):
            writer.ask('write', at=5000, text='controlled here')
            ours, stock = self.pairs(2)
        self.row('lock and unlock, 40 ms away', 1000 / ours, 1000 / stock, 'ms a pair')
        if self.sites:
            bed.expect(1 / ours <= 1.1 * RTT + 0.005, f'{1000 / ours:.0f} ms a pair')
        else:
            bed.expect(1 / ours <= 1.5 / stock, f'{1000 / ours:.0f} ms a pair, stock {1000 / stock:.0f} ms')

    # ---- hand-over

    def gaps(self, path, n):
        gaps = []
        with Agents(self.b, path, [1, 2]) as pair:
            pair[0].must_lock()
            for i in range(n):
                has, wants = pair[i % 2], pair[1 - i % 2]
                waits = wants.begin('lock', type='w', start=0, length=0, wait=True)
                time.sleep(0.3)
                bed.expect(not wants.answered(waits), 'two had the lock at a time')
                t = has.unlock()['t0']
                gaps.append(wants.end(waits, 120)['t1'] - t)
        return 1000 * statistics.median(gaps)

    def handed_over(self):
        ours, stock = self.gaps(self.new(VOLUME), 8 if self.sites else 4), self.gaps(self.new(STOCK), 2 if self.sites else 1)
        self.row('a lock is handed over', ours, stock, 'ms', 'a stock client polls')
        limit = 1000 * (1.5 * RTT + 0.020) if self.sites else max(stock, 1000)
        bed.expect(ours <= limit, f'{ours:.0f} ms, stock {stock:.0f} ms')

    # ---- the counter

    def counter(self, where, n, seconds):
        """Two processes of each client add n times 1; counted a second. Cut off after so many seconds."""
        path, start = self.new(where), time.monotonic()
        program = f'timeout -s KILL {seconds} /usr/bin/python3 {bed.LIB}/lock_worker.py counter {path} fcntl {n} 2'
        bed.everywhere(lambda s: self.b.tb('sh', s, '-n', '--', 'sh', '-c', program, timeout=seconds + 60), self.b.clients)
        took = time.monotonic() - start
        there = sum(int(x) for x in self.b.sh(1, f'tr -d "\\0" <{path}').split())
        return there, took

    def counted(self):
        n, limit = (60, 60) if self.sites else (10, 8)
        expected = 2 * n * len(self.b.clients)
        (there, took), (of_stock, cut) = self.counter(VOLUME, n, 60), self.counter(STOCK, n, limit)
        self.row(f'a number under a lock, {expected} times', there / took, of_stock / cut, 'a second', f'stock: {of_stock} in {cut:.0f} s')
        bed.expect(there == expected, f'{there} of {expected} were counted in {took:.0f} s')
        if self.sites:
            bed.expect(took < 40, f'{took:.0f} s')
        else:
            bed.expect(there / took > of_stock / cut, f'{there} in {took:.1f} s, stock {of_stock} in {cut:.1f} s')

    # ---- SQLite

    def inserts(self, where, sites, n):
        self.n += 1
        path = f'{where}/db{self.n}'
        self.b.sh(1, f"""/usr/bin/python3 -c "
import sqlite3
sqlite3.connect('{path}').execute('CREATE TABLE rows (who TEXT, n INTEGER, text TEXT)')" """)
        said = bed.everywhere(lambda s: json.loads(self.b.must_py(s, 'lock_programs.py', 'insert', path, f's{s}', str(n), timeout=600).splitlines()[-1]), sites)
        return n * len(sites) / max(of_site['seconds'] for of_site in said.values())

    def sqlite(self):
        n = 300 if self.sites else 30
        ours, stock = self.inserts(VOLUME, [1], n), self.inserts(STOCK, [1], n)
        self.row('SQLite, at one site', ours, stock, 'inserts a second')
        # Of 30 rows on a busy disk, so with room: who polls for locks has one row in seconds. At several sites a commit is at a majority of them.
        bed.expect(self.sites or ours >= 0.1 * stock, f'{ours:.1f} inserts a second, stock {stock:.1f}')
        ours, stock = (self.inserts(where, self.b.clients[:2], 50 if self.sites else 5) for where in (VOLUME, STOCK))
        self.row('SQLite, at two sites in turns', ours, stock, 'inserts a second')


def run(part, report):
    with bed_for('far' if part == 'one' else part, '--local-stock', clients=2 if part == 'one' else 3) as b:
        for site in b.clients:
            b.sh(site, 'mkdir /run/stock && mount -t nfs4 -o vers=4.2,hard,sec=sys,port=2050 10.0.1.1:/data /run/stock')
        b.sh(1, f'mkdir {VOLUME} {STOCK}')
        numbers = Numbers(b, part)
        report.check(f'{part}: lock and unlock, controlled here', numbers.pairs_here)
        report.check(f'{part}: lock and unlock, 40 ms away', numbers.pairs_elsewhere)
        report.check(f'{part}: a lock is handed over', numbers.handed_over)
        report.check(f'{part}: a number under a lock', numbers.counted)
        report.check(f'{part}: SQLite', numbers.sqlite)
        report.check(f'{part}: servers live', b.servers_alive)
        numbers.show()


def main():
    report = bed.Report('lock_numbers')
    for part in sys.argv[1:] or PARTS:
        run(part, report)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
