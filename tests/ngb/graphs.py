# SPDX-License-Identifier: LGPL-3.0-or-later
"""One run of a graph over sites, as the runner, the cluster test, the demonstration and the benchmark use it.

    graph = Graph(NODE, 'HC', 'S')
    floor = reference(graph)                            one local directory
    result = run(graph, sites, 'name', floor.sums)      tasks round robin; Failed, or a Result

Where the sites share no tree, `transfer(from site, to site, [path below the directory, ..])` carries files, in this order: what a task has
written goes to each site that reads it, its record last. Transfers to several sites go on at the same time, and beside the tasks.
"""
import collections
import csv
import datetime
import os
import shutil
import subprocess
import tempfile
import threading
import time

from sites import Failed, Local

Task = collections.namedtuple('Task', 'number name kernel iterations reads')         # reads: ((path, bytes), ..)
GRAPHS = ('ED', 'HC', 'VP', 'MB')
CLASSES = ('S', 'W', 'A')
POLL_MS = 50
WAIT_S = 3600
THREADS_MAX = 64        # as ngb-node
REPORT_S = 60           # for the last records to be seen


class Graph:
    """threads: with which a task computes; the sums are the same with any number."""

    def __init__(self, node, name, cls, threads=1):
        self.node, self.name, self.cls, self.threads = node, name, cls, threads
        text = Local('here', '/', node).call([node, 'tasks', *self.options()])
        self.tasks = []
        for line in text.splitlines():
            number, task, kernel, iterations, *reads = line.split()
            reads = tuple((path, int(size)) for path, size in (r.split(':') for r in reads))
            self.tasks.append(Task(int(number), task, kernel, int(iterations), reads))

    def options(self):
        return ['--graph', self.name, '--class', self.cls]

    def computing(self):
        return ['--threads', str(self.threads)] if self.threads > 1 else []

    def kernels(self):
        return sorted({t.kernel for t in self.tasks})

    def bytes(self):
        """What crosses the arcs."""
        return sum(size for t in self.tasks for _, size in t.reads)


class Result:
    """sums: lines that every run of the graph and class must have; rows: of tasks.csv."""

    def __init__(self, graph, sites, seconds, sums, rows):
        self.graph, self.sites, self.seconds, self.sums, self.rows = graph, sites, seconds, sums, rows


def check_kernels(graph):
    """The kernels of the graph against their published values, on this machine; the lines to show."""
    return [Local('here', '/', graph.node).call([graph.node, 'kernel', k, '--class', graph.cls, *graph.computing()], timeout=7200).strip()
            for k in graph.kernels()]


class Running:
    """The tasks of one run that have been started."""

    def __init__(self, graph, sites, name, poll_ms, wait_s, say, look):
        self.graph, self.sites, self.name, self.say = graph, sites, name, say
        self.more = ['--poll', str(poll_ms), '--wait', f'{wait_s:g}', '--look', look]
        self.start, self.begun, self.ended, self.processes = time.monotonic(), {}, {}, {}
        self.carriers, self.lost = [], []       # threads, and what went wrong in them
        self.reporter = None

    def site(self, task):
        return self.sites[task.number % len(self.sites)]

    def argv(self, site, *verb):
        return [site.node, *verb, *self.graph.options(), '--dir', f'{site.dir}/{self.name}']

    def passed(self):
        return time.monotonic() - self.start

    def start_at(self, site, *verb, more=()):
        return subprocess.Popen(site.command([*self.argv(site, *verb), *self.more, *more]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def launch(self):
        for t in self.graph.tasks:
            self.begun[t] = self.passed()
            self.processes[t] = self.start_at(self.site(t), 'task', str(t.number), more=self.graph.computing())
        self.reporter = self.start_at(self.sites[0], 'report')

    def report(self):
        """Its text, when all tasks are done."""
        try:
            text = self.reporter.communicate(timeout=REPORT_S)[0]
        except subprocess.TimeoutExpired:
            raise Failed(f'no report within {REPORT_S} s of the last task')
        if self.reporter.returncode:
            raise Failed(f'report at site {self.sites[0].name}: status {self.reporter.returncode}\n{text}')
        return text

    def collect(self, transfer):
        left = dict(self.processes)
        while left or any(c.is_alive() for c in self.carriers):
            for t in [t for t, p in left.items() if p.poll() is not None]:
                p = left.pop(t)
                out = p.communicate()[0]
                if p.returncode:
                    raise Failed(f'{t.name} at site {self.site(t).name}: status {p.returncode}\n{out}')
                self.ended[t] = self.passed()
                self.say(f'{self.ended[t]:7.2f} s  {t.name} done at site {self.site(t).name} ({len(self.ended)} of {len(self.processes)})')
                if transfer:
                    self.carry(transfer, t)
            self.nothing_lost()
            time.sleep(0.01)
        self.nothing_lost()

    def nothing_lost(self):
        if self.lost:
            raise Failed(self.lost[0])

    def carry(self, transfer, task):
        """To each site that reads what the task has written. The report is made at the first site."""
        wanted = {self.sites[0]: set()}
        for t in self.graph.tasks:
            for path, _ in t.reads:
                if path.startswith(task.name + '/'):
                    wanted.setdefault(self.site(t), set()).add(path)
        here = self.site(task)
        for there, paths in wanted.items():
            if there is not here:
                paths = [f'{self.name}/{path}' for path in [*sorted(paths), f'{task.name}/done']]
                self.carriers.append(threading.Thread(target=self.carry_to, args=(transfer, here, there, paths)))
                self.carriers[-1].start()

    def carry_to(self, transfer, here, there, paths):
        try:
            transfer(here, there, paths)
        except Exception as e:
            self.lost.append(f'from site {here.name} to {there.name}, {", ".join(paths)}: {e}')

    def kill(self):
        for p in [*self.processes.values(), *([self.reporter] if self.reporter else [])]:
            if p.poll() is None:
                p.kill()
            if not p.stdout.closed:
                p.communicate()
        for c in self.carriers:
            c.join()


def read_report(text, running):
    lines = text.splitlines()
    if not lines or lines[-1] != 'consistent':
        raise Failed(f'the report does not hold:\n{text}')
    rows = []
    for t, line in zip(running.graph.tasks, [l for l in lines if l.startswith('time ')]):
        _, name, host, *seconds = line.split()
        if name != t.name:
            raise Failed(f'the report speaks of {name}, not of {t.name}')
        rows.append([t.name, t.kernel, t.iterations, running.site(t).name, host, *seconds, f'{running.begun[t]:.3f}', f'{running.ended[t]:.3f}'])
    return [l for l in lines if l.startswith('sum ')], rows


def compare(sums, want):
    wrong = [f'{a or "nothing"}; the reference: {b or "nothing"}' for a, b in zip(sums + [''] * len(want), want + [''] * len(sums)) if a != b]
    if wrong:
        raise Failed('not what one local directory gives:\n' + '\n'.join(wrong[:20]))


def run(graph, sites, name, want=None, poll_ms=POLL_MS, wait_s=WAIT_S, say=lambda text: None, transfer=None, keep=False, look='dir'):
    """The turnaround time is from here to the verified report. want: sums of the reference. look: for a record by 'name' alone, where clients remember no
    missing names, or through its 'dir'."""
    running = Running(graph, sites, name, poll_ms, wait_s, say, look)
    try:
        for s in sites if transfer else sites[:1]:
            s.call(running.argv(s, 'make'))
        running.launch()
        running.collect(transfer)
        sums, rows = read_report(running.report(), running)
        if want is not None:
            compare(sums, want)
        seconds = running.passed()
    finally:
        running.kill()
    say(f'{seconds:7.2f} s  report: {len(sums)} sums {"as in one local directory" if want is not None else "consistent"}')
    if not keep:
        for s in sites if transfer else sites[:1]:
            s.call(['rm', '-rf', f'{s.dir}/{name}'])
    return Result(graph, sites, seconds, sums, rows)


def reference(graph, directory=None, poll_ms=POLL_MS, wait_s=WAIT_S, say=lambda text: None):
    """The same in one local directory: what every run must equal, and the floor of its time."""
    top = tempfile.mkdtemp(prefix='ngb-', dir=directory)
    try:
        return run(graph, [Local('local', top, graph.node)] * 3, 'reference', None, poll_ms, wait_s, say)
    finally:
        shutil.rmtree(top, ignore_errors=True)


RUNS = ('when', 'label', 'graph', 'class', 'trial', 'sites', 'turnaround_s')
TASKS = ('when', 'label', 'graph', 'class', 'trial', 'task', 'kernel', 'iterations', 'site', 'host', 'wait_s', 'read_s', 'run_s',
         'write_s', 'started_s', 'ended_s')


class Csv:
    """Appends to runs.csv and tasks.csv in a directory."""

    def __init__(self, directory):
        os.makedirs(directory, exist_ok=True)
        self.dir = directory

    def append(self, file, head, rows):
        path = os.path.join(self.dir, file)
        new = not os.path.exists(path)
        with open(path, 'a', newline='') as f:
            csv.writer(f).writerows([*([head] if new else []), *rows])

    def add(self, label, trial, result):
        when = datetime.datetime.now().isoformat(timespec='seconds')
        key = [when, label, result.graph.name, result.graph.cls, trial]
        sites = ' '.join(dict.fromkeys(f'{s.name}={s.dir}' for s in result.sites))
        self.append('tasks.csv', TASKS, [[*key, *row] for row in result.rows])
        self.append('runs.csv', RUNS, [[*key, sites, f'{result.seconds:.3f}']])        # a run that is here has its tasks
