# SPDX-License-Identifier: LGPL-3.0-or-later
"""Turnaround times of the NAS Grid Benchmarks: what is known already, what it comes to, which goals are met. Pure; test_report.py tests it.

A *cell* is (system, graph, class, rtt_ms). The floor is system 'local', measured beside each round trip time.
"""
import collections
import csv
import json
import os
import statistics

import report

FLOOR, OURS, COPIED, COPIED_NFS = 'local', 'repl', 'gridftp', 'gridftp-nfs'
Goal = collections.namedtuple('Goal', 'text cls rtts to limit')       # rtts: None is all; to: the system compared with
GOALS = (Goal('W: at most 1.03 x the floor', 'W', None, FLOOR, 1.03),
         Goal('A: at most 1.03 x the floor', 'A', None, FLOOR, 1.03),
         Goal('S at 120 ms: at most 1.2 x the floor', 'S', (120,), FLOOR, 1.2),
         *(Goal(f'{cls}: never slower than GridFTP', cls, None, COPIED, 1.0) for cls in 'SWA'),
         *(Goal(f'{cls}: never slower than GridFTP whose tasks are NFS clients, too', cls, None, COPIED_NFS, 1.0) for cls in 'SWA'))


def label(system, rtt_ms):
    return f'{system} rtt={rtt_ms:g}'


def finished(directory):
    """{(system, graph, class, rtt_ms, trial): seconds} of what runs.csv has. A line that was not written whole is no run."""
    out = {}
    try:
        with open(os.path.join(directory, 'runs.csv'), newline='') as f:
            for r in csv.DictReader(f):
                system, between, rtt = r['label'].partition(' rtt=')
                try:
                    if between:
                        out[system, r['graph'], r['class'], float(rtt), int(r['trial'])] = float(r['turnaround_s'])
                except (TypeError, ValueError):
                    continue
    except FileNotFoundError:
        pass
    return out


def keep(path, value):
    with open(path + '.part', 'w') as f:
        json.dump(value, f, indent=1)
    os.rename(path + '.part', path)


def other_settings(directory, settings):
    """Those of the runs that the folder has, when they are not these; results of both in one table would mean nothing. A new folder takes these."""
    path = os.path.join(directory, 'settings.json')
    if not os.path.exists(path):
        keep(path, settings)
    with open(path) as f:
        there = json.load(f)
    return None if there == settings else there


class References:
    """What the graphs give in one local directory, kept in the results' folder: class A takes minutes."""

    def __init__(self, directory):
        self.path, self.known = os.path.join(directory, 'references.json'), {}
        if os.path.exists(self.path):
            with open(self.path) as f:
                self.known = json.load(f)

    def get(self, graph, cls):
        """The sums, or None."""
        return self.known.get(f'{graph}.{cls}')

    def put(self, graph, cls, sums):
        self.known[f'{graph}.{cls}'] = sums
        keep(self.path, self.known)


class Summary:
    """Turnaround times by cell."""

    def __init__(self):
        self.times, self.failures = {}, []

    def add(self, system, graph, cls, rtt_ms, seconds):
        self.times.setdefault((system, graph, cls, rtt_ms), []).append(seconds)

    def take(self, known):
        """finished()'s."""
        for (*cell, _), seconds in sorted(known.items()):
            self.add(*cell, seconds)

    def rows(self):
        """[system, graph, class, rtt_ms, trials, mean, standard deviation, least, largest]; the spread of one trial is unknown."""
        return [[*key, len(v), statistics.mean(v), statistics.stdev(v) if len(v) > 1 else None, min(v), max(v)]
                for key, v in sorted(self.times.items())]

    def write(self, directory):
        report.write_csv(os.path.join(directory, 'summary.csv'),
                         ['system', 'graph', 'class', 'rtt_ms', 'trials', 'mean_s', 'stdev_s', 'least_s', 'largest_s'], self.rows())
        report.write_csv(os.path.join(directory, 'goals.csv'), ['goal', 'graph', 'cells', 'worst', 'worst_at_rtt_ms', 'limit', 'verdict'], self.goals())

    def table(self):
        head = ('graph', 'class', 'RTT ms', 'system', 'turnaround s', 'spread')
        rows = [head] + [(g, c, f'{rtt:g}', s, f'{mean:.2f}', f'{least:.2f} to {most:.2f}' if n > 1 else 'one trial')
                         for s, g, c, rtt, n, mean, _, least, most in sorted(self.rows(), key=lambda r: (r[1], r[2], r[3], r[0]))]
        return columns(rows)

    # ---- goals

    def other(self, goal, graph, cls, rtt_ms):
        """Mean of what a cell of ours is compared with; None: not measured."""
        v = self.times.get((goal.to, graph, cls, rtt_ms))
        return statistics.mean(v) if v else None

    def ratios(self, goal):
        """{graph: [(ratio, rtt_ms)]}"""
        out = {}
        for (system, graph, cls, rtt), v in sorted(self.times.items()):
            other = self.other(goal, graph, cls, rtt)
            if (system, cls) == (OURS, goal.cls) and (goal.rtts is None or rtt in goal.rtts) and other:
                out.setdefault(graph, []).append((statistics.mean(v) / other, rtt))
        return out

    def goals(self):
        """[goal, graph, cells, worst ratio of means, RTT there, limit, 'met' or 'MISSED']; a goal of which nothing was measured says so."""
        out = []
        for goal in GOALS:
            ratios = self.ratios(goal)
            for graph, values in ratios.items():
                worst, rtt = max(values)
                out.append([goal.text, graph, len(values), worst, rtt, goal.limit, 'met' if worst <= goal.limit else 'MISSED'])
            if not ratios:
                out.append([goal.text, '-', 0, None, None, goal.limit, 'not measured'])
        return out

    def goal_table(self):
        head = ('goal', 'graph', 'cells', 'worst ratio', 'at RTT ms', 'limit', '')
        return columns([head] + [(text, graph, str(n), '-' if worst is None else f'{worst:.2f}', '-' if rtt is None else f'{rtt:g}', f'{limit:g}', verdict)
                                 for text, graph, n, worst, rtt, limit, verdict in self.goals()])


def columns(rows):
    """Lines of text; the first row is the head."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return ['  '.join(t.ljust(w) for t, w in zip(r, widths)).rstrip() for r in rows]
