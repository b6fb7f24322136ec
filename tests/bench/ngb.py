#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""NAS Grid Benchmarks at three sites: turnaround time over the round trip time, for several ways of sharing their files.

    ngb.py [--class S,W] [--graph HC,VP] [--rtt 20,40,120] [--trials 3] [SYSTEM...]

    remote   one stock Ganesha, at site 1, that all three clients mount over the links
    repl     NFSv4.r: a replicated server at each site
    local    one stock Ganesha with all three clients in its own network: the floor

Another system is another class like those below. All tasks run in the bed's three clients, which have one processor each; every run is held
to the result of one local directory (tests/ngb/README.md). Writes runs.csv and tasks.csv (raw, every trial), summary.csv and a picture (PNG, SVG) to a
folder, whose name it prints at the end. Exit status 1 when a run failed. Times of this bed, whose three sites share the machine, mean something
only beside one another.
"""
import argparse
import datetime
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'cluster', 'lib'), os.path.join(HERE, '..', 'ngb')]
import bed
import graphs
import report
import sites as where

try:
    import plots
except ImportError as e:        # now, not when all is measured
    sys.exit(f'ngb: {e}; run: make deps')

NODE = os.path.join(bed.ROOT, 'build/release/tests/ngb/ngb-node')
NEAR_MS = 0.2           # no delay added; the router alone
MEMORY = {'S': '512M', 'W': '768M', 'A': '1536M'}      # of each client


class System:
    """up: options of `testbed up`. rtts: which of the wanted round trip times it is measured at. transfer: as graphs.run() takes it,
    where the sites share no tree."""
    name, title, up, transfer = None, None, (), None

    def rtts(self, wanted):
        return wanted

    def prepare(self, b):
        """Once, when the bed is up."""

    def sites(self, b):
        return [where.Guest(str(s), b.command(), s, '/nfs', NODE, 24 * 3600) for s in b.sites]

    def settle(self, b):
        """Before each run: nothing of the one before is still going on."""

    def teardown(self, b):
        pass


class Remote(System):
    name, title, up = 'remote', 'one server at site 1', ('--stock',)


class Local(Remote):
    name, title = 'local', 'one local server'

    def rtts(self, wanted):
        return [NEAR_MS]


class Replicated(System):
    name, title = 'repl', 'NFSv4.r'

    def settle(self, b):
        b.no_controls(300)


SYSTEMS = (Remote, Replicated, Local)


def choices(text, known):
    """A list with commas of known words."""
    words = text.split(',')
    if [w for w in words if w not in known]:
        raise ValueError(text)
    return words


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--class', dest='classes', default=['S'], type=lambda t: choices(t, graphs.CLASSES), metavar='S,W,A', help='default S')
    p.add_argument('--graph', default=list(graphs.GRAPHS), type=lambda t: choices(t, graphs.GRAPHS), metavar='ED,HC,VP,MB', help='default: all')
    p.add_argument('--rtt', type=report.rtt_list, default=[20.0, 120.0], metavar='MS,...', help='default 20,120')
    p.add_argument('--trials', type=int, default=1)
    p.add_argument('--limit', type=int, default=3600, metavar='SEC', help='for one run')
    p.add_argument('--set', action='append', default=[], metavar='KEY=VALUE', help='into the REPL block of every server')
    p.add_argument('--out', default=os.path.join(bed.ROOT, 'build', 'bench', datetime.datetime.now().strftime('ngb-%Y-%m-%d-%H%M%S')))
    p.add_argument('systems', nargs='*', metavar='SYSTEM', help=', '.join(s.name for s in SYSTEMS) + '; default: all')
    o = p.parse_args()
    if [n for n in o.systems if n not in [s.name for s in SYSTEMS]] or o.trials < 1 or o.limit < 1:
        p.error('no such system, or --trials or --limit is not at least 1')
    return o


class Summary:
    """Turnaround times by (system, graph, class, rtt_ms)."""

    def __init__(self):
        self.times, self.failures = {}, []

    def add(self, system, graph, cls, rtt_ms, seconds):
        self.times.setdefault((system, graph, cls, rtt_ms), []).append(seconds)

    def rows(self):
        """[system, graph, class, rtt_ms, trials, mean, standard deviation, least, largest]; the spread of one trial is unknown."""
        return [[*key, len(v), statistics.mean(v), statistics.stdev(v) if len(v) > 1 else None, min(v), max(v)]
                for key, v in sorted(self.times.items())]

    def write(self, directory):
        report.write_csv(os.path.join(directory, 'summary.csv'),
                         ['system', 'graph', 'class', 'rtt_ms', 'trials', 'mean_s', 'stdev_s', 'least_s', 'largest_s'], self.rows())

    def table(self):
        head = ('graph', 'class', 'RTT ms', 'system', 'turnaround s', 'spread')
        rows = [head] + [(g, c, f'{rtt:g}', s, f'{mean:.2f}', f'{least:.2f} to {most:.2f}' if n > 1 else 'one trial')
                         for s, g, c, rtt, n, mean, _, least, most in sorted(self.rows(), key=lambda r: (r[1], r[2], r[3], r[0]))]
        widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
        return ['  '.join(t.ljust(w) for t, w in zip(r, widths)).rstrip() for r in rows]


class Bench:
    def __init__(self, options):
        self.o, self.summary, self.raw = options, Summary(), graphs.Csv(options.out)
        self.dir = tempfile.mkdtemp(prefix='nfs4r-ngb-', dir='/tmp')
        self.floors, self.n = {}, 0

    def graph(self, name, cls):
        """With the sums that every run must have."""
        if (name, cls) not in self.floors:
            graph = graphs.Graph(NODE, name, cls)
            lines = graphs.check_kernels(graph)
            floor = graphs.reference(graph, self.dir)
            print(f'{name}.{cls}: {graph.bytes() / 1e6:.2f} MB over its arcs; one local directory, no server: {floor.seconds:.2f} s; '
                  + '; '.join(l.partition(',')[0] for l in lines), flush=True)
            self.raw.add('directory', 0, floor)
            self.floors[name, cls] = (graph, floor.sums)
        return self.floors[name, cls]

    def one(self, system, b, rtt, name, cls, trial):
        graph, sums = self.graph(name, cls)
        self.n += 1
        try:
            system.settle(b)
            result = graphs.run(graph, system.sites(b), f'run{self.n}', sums, wait_s=self.o.limit, transfer=system.transfer)
        except (where.Failed, bed.Failed, OSError, subprocess.SubprocessError) as e:
            self.failed(f'{system.name}, RTT {rtt:g} ms, {name}.{cls}', e)
            return
        self.raw.add(f'{system.name} rtt={rtt:g}', trial, result)
        self.summary.add(system.name, name, cls, rtt, result.seconds)
        print(f'  RTT {rtt:g} ms, {name}.{cls}, trial {trial}: {result.seconds:.2f} s', flush=True)

    def failed(self, what, why):
        self.summary.failures.append(what)
        print(f'  FAILED: {what}: {why}', flush=True)

    def system(self, system):
        mem = MEMORY[max(self.o.classes, key=graphs.CLASSES.index)]
        up = ['--rtt', '20ms', '--mem', mem, *system.up]
        for s in self.o.set if isinstance(system, Replicated) else []:
            up += ['--set', s]
        print(f'\n{system.name} ({system.title}): testbed up {" ".join(up)}', flush=True)
        with bed.Bed.own(*up) as b:
            system.prepare(b)
            try:
                for rtt in system.rtts(self.o.rtt):
                    b.must('link', 'all', 'all', f'rtt={rtt:g}ms')
                    for trial in range(1, self.o.trials + 1):
                        for cls in self.o.classes:
                            for name in self.o.graph:
                                self.one(system, b, rtt, name, cls, trial)
            finally:
                system.teardown(b)

    def run(self):
        try:
            for system in [s() for s in SYSTEMS if not self.o.systems or s.name in self.o.systems]:
                try:
                    self.system(system)
                except (bed.Failed, where.Failed, OSError, subprocess.SubprocessError) as e:      # the bed itself
                    self.failed(system.name, e)
        finally:
            shutil.rmtree(self.dir, ignore_errors=True)
            self.finish()
        return 1 if self.summary.failures else 0

    def finish(self):
        self.summary.write(self.o.out)
        print('\n' + '\n'.join(self.summary.table()))
        drawn = plots.ngb(self.summary.rows(), {s.name: s.title for s in SYSTEMS}, self.o.out)
        print(f'results: {self.o.out} ({", ".join(["runs.csv", "tasks.csv", "summary.csv", *drawn])})', flush=True)


SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def interrupted(number, _frame):
    """Unwinds, once: the bed comes down, what there is is written."""
    for s in SIGNALS:
        signal.signal(s, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    o = arguments()
    if not os.path.exists(NODE):
        sys.exit(f'ngb: {NODE} is missing; run: make build')
    for s in SIGNALS:
        signal.signal(s, interrupted)
    if os.getloadavg()[0] > 0.7:
        print(f'other work on this machine (load {os.getloadavg()[0]:.1f}): expect noise', flush=True)
    return Bench(o).run()


if __name__ == '__main__':
    sys.exit(main())
