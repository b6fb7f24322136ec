#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""NAS Grid Benchmarks at three sites: turnaround time over the round trip time, for several ways of sharing their files.

    ngb.py [--class S,W] [--graph HC,VP] [--rtt 0.2,20,120] [--trials 3] [--out DIR] [SYSTEM...]

    remote    one stock Ganesha, at site 1, that all three clients mount over the links
    repl      NFSv4.r: a replicated server at each site
    gridftp   each arc's file is copied, from the disk of the site that wrote it to that of the one that reads it; the tasks work on that disk
    gridftp-nfs   the same, and the tasks are NFS clients of their site's stock server, as those of NFSv4.r are
    gluster   GlusterFS, replica 3
    local     one stock Ganesha with all three clients in its own network: the floor, measured again beside each round trip time

One trial of everything is done before the next, each in beds of its own, every second one in the opposite order: machines are slower on some hours than
on others, and what is ended early is a whole picture of fewer trials.

ngb_systems.py says how each is set up; another system is another class there. Every run is held to the result of one local directory
(tests/ngb/README.md). Writes runs.csv and tasks.csv (raw, every trial), summary.csv, goals.csv and a picture (PNG, SVG) to a
folder, whose name it prints at the end. Started again with the same --out, it does only what that folder has no run of. Exit status 1 when a run failed, not when
a goal was missed. Times of this bed, whose three sites share the machine, mean something only beside one another.
"""
import argparse
import datetime
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'cluster', 'lib'), os.path.join(HERE, '..', 'ngb')]
import bed
import graphs
import ngb_results
import ngb_systems
import peers
import report
import runner
import sites as where

try:
    import plots
except ImportError as e:        # now, not when all is measured
    sys.exit(f'ngb: {e}; run: make deps')

NODE, SYSTEMS = ngb_systems.NODE, ngb_systems.SYSTEMS
MEMORY = {'S': '512M', 'W': '768M', 'A': '3G'}         # of each client; two tasks of 256 cubed at a time


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
    p.add_argument('--router', choices=('wire', 'netem'), default='wire', help='of the bed (tests/cluster/README.md)')
    p.add_argument('--out', default=os.path.join(bed.ROOT, 'build', 'bench', datetime.datetime.now().strftime('ngb-%Y-%m-%d-%H%M%S')))
    p.add_argument('systems', nargs='*', metavar='SYSTEM', help=', '.join(s.name for s in SYSTEMS) + '; default: all')
    o = p.parse_args()
    if [n for n in o.systems if n not in [s.name for s in SYSTEMS]] or o.trials < 1 or o.limit < 1:
        p.error('no such system, or --trials or --limit is not at least 1')
    o.systems = [s for s in SYSTEMS if not o.systems or s.name in o.systems]
    return o


class Bench:
    def __init__(self, options):
        self.o, self.summary, self.raw = options, ngb_results.Summary(), graphs.Csv(options.out)
        self.known, self.references = ngb_results.finished(options.out), ngb_results.References(options.out)
        self.summary.take(self.known)
        self.dir = tempfile.mkdtemp(prefix='nfs4r-ngb-', dir='/tmp')
        self.graphs, self.n = {}, 0
        if self.known:
            print(f'{len(self.known)} runs are in {options.out} already', flush=True)

    def graph(self, name, cls):
        """With the sums that every run must have."""
        if (name, cls) not in self.graphs:
            graph, sums = graphs.Graph(NODE, name, cls), self.references.get(name, cls)
            if sums is None:
                lines = graphs.check_kernels(graph)
                floor = graphs.reference(graph, self.dir)
                print(f'{name}.{cls}: {graph.bytes() / 1e6:.2f} MB over its arcs; one local directory, no server: {floor.seconds:.2f} s; '
                      + '; '.join(l.partition(',')[0] for l in lines), flush=True)
                self.raw.add('directory', 0, floor)
                self.references.put(name, cls, floor.sums)
                sums = floor.sums
            self.graphs[name, cls] = (graph, sums)
        return self.graphs[name, cls]

    def one(self, system, b, rtt, name, cls, trial):
        graph, sums = self.graph(name, cls)
        self.n += 1
        try:
            system.settle(b)
            result = graphs.run(graph, system.sites(b), f'run{self.n}', sums, wait_s=self.o.limit, transfer=system.transfer, look='name')
        except (where.Failed, bed.Failed, OSError, subprocess.SubprocessError) as e:
            self.failed(f'{system.name}, RTT {rtt:g} ms, {name}.{cls}', e)
            return
        self.raw.add(ngb_results.label(system.name, rtt), trial, result)
        self.summary.add(system.name, name, cls, rtt, result.seconds)
        print(f'  {name}.{cls}: {result.seconds:.2f} s', flush=True)

    def failed(self, what, why):
        self.summary.failures.append(what)
        print(f'  FAILED: {what}: {why}', flush=True)

    def missing(self, system, cls, rtt, trial):
        """Graphs without a run."""
        return [g for g in self.o.graph if (system.name, g, cls, rtt, trial) not in self.known]

    def system(self, system, cls, rtt, trial):
        """In a bed that has this round trip time from the beginning: a connection that was made over another link first has to unlearn it."""
        missing = self.missing(system, cls, rtt, trial)
        if not missing:
            return
        up = ['--rtt', f'{system.between(rtt):g}ms', '--mem', MEMORY[cls], *(['--wire'] if self.o.router == 'wire' else []), *system.up]
        for s in self.o.set if isinstance(system, ngb_systems.Replicated) else []:
            up += ['--set', s]
        print(f'\n{system.name} ({system.title}), class {cls}, RTT {rtt:g} ms, trial {trial}: testbed up {" ".join(up)}', flush=True)
        with bed.Bed.own(*up) as b:
            try:
                system.prepare(b)
                for name in missing:
                    self.one(system, b, rtt, name, cls, trial)
            finally:
                system.teardown()

    def run(self):
        try:
            for cls in self.o.classes:      # the short ones first
                for trial in range(1, self.o.trials + 1):
                    parts = [(rtt, system) for rtt in self.o.rtt for system in self.o.systems]
                    for rtt, system in parts if trial % 2 else parts[::-1]:
                        self.part(system, cls, rtt, trial)
        finally:
            shutil.rmtree(self.dir, ignore_errors=True)
            self.finish()
        return 1 if self.summary.failures else 0

    def part(self, system, cls, rtt, trial):
        try:
            self.system(system(), cls, rtt, trial)
        except (bed.Failed, where.Failed, OSError, subprocess.SubprocessError) as e:      # the bed itself; the others go on
            self.failed(f'{system.name}, class {cls}, RTT {rtt:g} ms, trial {trial}', e)

    def finish(self):
        self.summary.write(self.o.out)
        print('\n' + '\n'.join(self.summary.table()))
        print('\n' + '\n'.join(self.summary.goal_table()))
        drawn = plots.ngb(self.summary.rows(), {s.name: s.title for s in SYSTEMS}, self.o.out)
        print(f'results: {self.o.out} ({", ".join(["runs.csv", "tasks.csv", "summary.csv", "goals.csv", *drawn])})', flush=True)


def say_what(o):
    """What is compared; into the folder as well, once for each time that it was worked on."""
    needs = {p for s in o.systems for p in s.needs}
    lines = [f'{datetime.datetime.now().isoformat(timespec="seconds")} {" ".join(sys.argv)}', *runner.versions(), *peers.versions(needs),
             f'tuning, all: {peers.TUNING["all"]}', *(f'tuning, {s.name}: {s.tuning}' for s in o.systems)]
    with open(os.path.join(o.out, 'about.txt'), 'a') as f:
        f.write('\n'.join(lines) + '\n\n')
    print('\n'.join(lines), flush=True)
    if os.getloadavg()[0] > 0.7:
        print(f'other work on this machine (load {os.getloadavg()[0]:.1f}): expect noise', flush=True)


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
    missing = peers.missing({p for s in o.systems for p in s.needs})
    if missing:
        sys.exit(f'ngb: {missing[0]} is missing; run: scripts/peers.sh')
    for s in SIGNALS:
        signal.signal(s, interrupted)
    os.makedirs(o.out, exist_ok=True)
    there = ngb_results.other_settings(o.out, {'router': o.router, 'set': o.set})
    if there:
        sys.exit(f'ngb: the runs in {o.out} were made with {there}; the same again, or another --out')
    say_what(o)
    return Bench(o).run()


if __name__ == '__main__':
    sys.exit(main())
