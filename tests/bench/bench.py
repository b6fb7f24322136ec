#!/usr/bin/python3
"""What replication costs, as ratios to stock Ganesha + FSAL_VFS at the same site in the same run.

	bench.py [--quick] [--out DIR] [PART...]      parts: sequential create first_write forwarded contended

Site 1 is the writer's; site 2 is 20 ms away, site 3 is 120 ms. Writes results.csv (every trial) and summary.csv
to DIR (default build/bench/DATE), prints the summary as a table. Exit status 1 when a measurement failed, not
when a goal was missed: goals are for people, and absolute numbers of this bed mean nothing.
"""
import argparse
import csv
import datetime
import json
import os
import re
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'cluster', 'lib'))
import bed

NEAR, FAR = 2, 3            # sites; from site 1
RTT = {NEAR: 20, FAR: 120}  # ms; between the two: 120
SIZE = 64                   # MiB
FILES = 200
PARTS = ['sequential', 'create', 'first_write', 'forwarded', 'contended']
WORK = os.path.join(HERE, 'work.py')


class Bench:
    def __init__(self, b, trials):
        self.b, self.trials, self.rows, self.n = b, trials, [], 0
        self.summary = []

    def work(self, site, *args, timeout=300):
        return json.loads(self.b.must_py(site, WORK, *map(str, args), timeout=timeout).strip().splitlines()[-1])

    def start(self, site, *args):
        return self.b.start_py(site, WORK, *map(str, args))

    def record(self, what, system, value):
        self.rows.append((what, system, f'{value:.6f}'))
        print(f'  {what}, {system}: {value:.4f}', flush=True)
        return value

    def name(self):
        self.n += 1
        return f'b{self.n}'

    def result(self, what, value, goal, better, unit='', note=''):
        """better: '>=' or '<='."""
        held = value >= goal if better == '>=' else value <= goal
        self.summary.append((what, f'{value:.2f}{unit}', f'{better} {goal:.2f}{unit}', 'pass' if held else 'MISS', note))

    def settle(self):
        """Updates have arrived everywhere, controls have ended."""
        bed.eventually(120, self.arrived, 'updates do not arrive at the peers')
        time.sleep(2)

    def arrived(self):
        peers = json.loads(self.b.ctl(1, '--json', 'status').stdout)['peers']
        return all(p['has_of_our_log']['lag_entries'] == 0 for p in peers)

    # ---- at the writer's own site

    def ratio(self, what, goal, run, better='>='):
        """run(mount) -> seconds, in turn on both; the medians' ratio as a throughput."""
        times = {'/stock': [], '/nfs': []}
        for trial in range(self.trials + 1):
            for mount in times:
                t = run(mount)
                if trial:                               # the first one warms up
                    times[mount].append(self.record(what, 'stock' if mount == '/stock' else 'repl', t))
            self.settle()
        stock, repl = (statistics.median(times[m]) for m in ('/stock', '/nfs'))
        self.result(what, stock / repl, goal, better, ' x stock', f'{stock:.2f} s stock, {repl:.2f} s replicated')

    def sequential(self):
        def write(mount):
            return self.work(1, 'write', f'{mount}/{self.name()}', SIZE)
        self.ratio('sequential write', 0.90, write)
        # Here the router and the peers share the processors with the writer's server; with slow links hardly.
        self.b.must('link', 1, 'all', 'rate=100mbit')
        self.ratio('sequential write, links of 100 Mbit/s', 0.90, write)
        self.b.must('link', 1, 'all', 'rate=none')
        for m in ('/stock', '/nfs'):
            self.work(1, 'write', f'{m}/seq', SIZE)
        self.settle()
        self.ratio('sequential read', 0.95, lambda m: self.work(1, 'read', f'{m}/seq', SIZE))

    def create(self):
        stock, repl = [], []
        for trial in range(self.trials + 1):
            s, r = (self.work(1, 'create', f'{m}/{self.name()}', FILES) for m in ('/stock', '/nfs'))
            if trial:
                stock.append(self.record(f'create {FILES} files', 'stock', s))
                repl.append(self.record(f'create {FILES} files', 'repl', r))
            self.settle()
        s, r = statistics.median(stock), statistics.median(repl)
        self.result(f'create {FILES} small files', r, 1.5 * s + 4 * self.rtt[FAR], '<=', ' s',
                    f'goal: 1.5 x stock ({s:.2f} s) + 4 RTT; {r / s:.2f} x stock')

    # ---- elections and forwarding

    def in_rtts(self, what, goal, base, run):
        values = [self.record(what, 'repl', run()) for _ in range(self.trials + 2)]
        median = statistics.median(values)
        self.result(what, median / base, goal, '<=', ' RTT', f'{median * 1000:.1f} ms, RTT {base * 1000:.1f} ms')

    def local_cost(self):
        """A first write at stock: what of the time is not the election."""
        self.work(1, 'write', '/stock/first', 1)
        return statistics.median(self.work(1, 'first', '/stock/first')['write'] for _ in range(self.trials + 2))

    def first_write(self):
        def run():
            path = f'/nfs/{self.name()}'
            self.work(1, 'write', path, 1)
            self.settle()
            return self.work(1, 'first', path)['write']
        self.in_rtts('first write to an existing file', 1.1, self.rtt[NEAR], run)
        self.result('  the same at stock', self.local_cost() / self.rtt[NEAR], 0.1, '<=', ' RTT', 'part of the above that is not replication')

    def forwarded(self):
        path, stop = f'/nfs/{self.name()}', os.path.join(self.b.run, f'stop-{self.n}')
        self.work(1, 'write', path, 1)
        self.settle()
        holder = self.start(1, 'hold', path, stop)
        try:
            assert holder.stdout.readline().strip() == 'held'
            time.sleep(1)
            for what, work in (('forwarded write', 'one-write'), ('forwarded read', 'one-read')):
                each = []
                for _ in range(self.trials):
                    # The first of an open may find the control to be just now changing hands.
                    each += [self.record(what, 'repl', t) for t in self.work(NEAR, work, path)['each'][1:]]
                median = statistics.median(each)
                self.result(what, median / self.rtt[NEAR], 1.1, '<=', ' RTT',
                            f'{median * 1000:.1f} ms, RTT {self.rtt[NEAR] * 1000:.1f} ms')
        finally:
            with open(stop, 'w'):
                pass
            holder.communicate(timeout=60)

    def contended(self):
        clocks = {s: self.b.clock(s)[0] for s in (1, NEAR)}

        def run():
            path = f'/nfs/{self.name()}'
            self.work(1, 'write', path, 1)
            self.settle()
            start = time.time() + 1.5
            both = bed.everywhere(lambda s: self.work(s, 'at', start + clocks[s], 'first', path)['write'], (1, NEAR))
            return max(both.values())
        self.in_rtts('contended first write (the slower of two)', 2.2, self.rtt[NEAR], run)

    # ---- all

    def ping(self):
        """Seconds, as the sites' servers see each other in this very run."""
        self.rtt = {}
        for site in (NEAR, FAR):
            out = self.b.must('ns', 1, '--', 'ping', '-c', '10', '-i', '0.2', '-q', f'10.0.{site}.1')
            self.rtt[site] = float(re.search(r'= ([\d.]+)/', out)[1]) / 1000      # the least: load only adds
            self.record(f'ping to site {site}', 'link', self.rtt[site])

    def run(self, parts):
        self.b.must('link', 1, NEAR, f'rtt={RTT[NEAR]}ms')
        time.sleep(1)
        failed = []
        self.ping()
        for part in (getattr(self, p) for p in parts):
            print(f'{part.__name__}:', flush=True)
            try:
                part()
            except Exception as e:
                failed.append(part.__name__)
                self.summary.append((part.__name__, '-', '-', 'FAILED', str(e).replace('\n', ' ')[:100]))
        return failed


def table(rows):
    head = ('measurement', 'value', 'goal', '', 'detail')
    widths = [max(len(r[i]) for r in rows + [head]) for i in range(4)]
    for r in [head] + rows:
        print('  '.join(r[i].ljust(widths[i]) for i in range(4)) + '  ' + r[4])


def write_csv(path, head, rows):
    with open(path, 'w', newline='') as f:
        csv.writer(f).writerows([head] + rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--quick', action='store_true', help='one trial of each')
    parser.add_argument('parts', nargs='*', metavar='PART', default=PARTS)
    parser.add_argument('--out', default=os.path.join(bed.ROOT, 'build', 'bench', datetime.datetime.now().strftime('%Y-%m-%d-%H%M%S')))
    args = parser.parse_args()
    with bed.Bed.own('--rtt', f'{RTT[FAR]}ms', '--local-stock', '--mem', '768M') as b:
        bench = Bench(b, 1 if args.quick else 5)
        failed = bench.run(args.parts)
    os.makedirs(args.out, exist_ok=True)
    write_csv(os.path.join(args.out, 'results.csv'), ('measurement', 'system', 'seconds'), bench.rows)
    write_csv(os.path.join(args.out, 'summary.csv'), ('measurement', 'value', 'goal', 'verdict', 'detail'), bench.summary)
    print()
    table(bench.summary)
    print(f'\nall trials: {args.out}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
