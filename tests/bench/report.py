"""What was measured, judged and written down. Pure: no bed, no clock; test_report.py tests it.

A *trial* is one number. A *result* is what a person reads: stock beside replicated, a value, a goal, a verdict.
"""
import csv
import re
import statistics

TRIAL = ('part', 'what', 'system', 'rtt_ms', 'trial', 'value', 'unit')
RESULT = ('part', 'what', 'rtt_ms', 'value', 'unit', 'goal', 'verdict', 'stock', 'repl', 'detail')


def spread(values):
    """'median (least-largest)'"""
    if not values:
        return '-'
    return f'{short(statistics.median(values))} ({short(min(values))}-{short(max(values))})'


def short(value):
    """Three digits that count, never an exponent; whole numbers as they are."""
    if isinstance(value, int):
        return str(value)
    a = abs(value)
    return f'{value:.0f}' if a >= 100 else f'{value:.1f}' if a >= 10 else f'{value:.2f}' if a >= 0.1 else f'{value:.4f}'


def holds(value, better, goal):
    """better: '<=' or '>='."""
    if better not in ('<=', '>='):
        raise ValueError(better)
    return value <= goal if better == '<=' else value >= goal


class Results:
    def __init__(self, say=print):
        self.trials, self.results, self.failures, self.say = [], [], [], say

    def trial(self, part, what, system, rtt_ms, value, unit='s'):
        """rtt_ms: None where a part has its own."""
        n = 1 + sum(t[:4] == (part, what, system, rtt_ms) for t in self.trials)
        self.trials.append((part, what, system, rtt_ms, n, value, unit))
        at = '' if rtt_ms is None else f', RTT {rtt_ms:g} ms'
        self.say(f'  {what}{at}, {system}: {short(value)} {unit}')
        return value

    def values(self, part, what, system, rtt_ms):
        return [t[5] for t in self.trials if t[:4] == (part, what, system, rtt_ms)]

    def median(self, *key):
        return statistics.median(self.values(*key))

    def judge(self, part, what, rtt_ms, value, unit, better=None, goal=None, detail=''):
        """One line of the summary; without a goal it only informs."""
        verdict = '' if better is None else 'pass' if holds(value, better, goal) else 'MISS'
        stock, repl = (spread(self.values(part, what, s, rtt_ms)) for s in ('stock', 'repl'))
        self.results.append((part, what, rtt_ms, value, unit, '' if better is None else f'{better} {short(goal)}',
                             verdict, stock, repl, detail))

    def time_ratio(self, part, what, rtt_ms, goal=None, detail='', extra_s=0.0):
        """repl / stock of the medians; the goal is goal x stock, and extra_s seconds beyond."""
        stock, repl = (self.median(part, what, s, rtt_ms) for s in ('stock', 'repl'))
        limit = None if goal is None else goal + extra_s / stock
        self.judge(part, what, rtt_ms, repl / stock, 'x stock (time)', None if goal is None else '<=', limit, detail)

    def rate_ratio(self, part, what, rtt_ms, goal, detail=''):
        stock, repl = (self.median(part, what, s, rtt_ms) for s in ('stock', 'repl'))
        self.judge(part, what, rtt_ms, repl / stock, 'x stock (rate)', '>=', goal, detail)

    def failed(self, part, rtt_ms, why):
        why = ' '.join(str(why).split())[:200]
        self.failures.append(part)
        self.results.append((part, 'FAILED', rtt_ms, None, '', '', 'FAILED', '-', '-', why))
        self.say(f'  FAILED: {why}')

    def write(self, directory):
        write_csv(f'{directory}/results.csv', TRIAL, self.trials)
        write_csv(f'{directory}/summary.csv', RESULT, self.results)

    def table(self):
        """Lines of text, part by part in the order in which they began."""
        order = list(dict.fromkeys(r[0] for r in self.results))
        head = ('what', 'RTT ms', 'value', '', 'goal', '', 'stock: median (least-largest)', 'replicated', 'detail')
        rows = [head] + [(f'{r[0]}: {r[1]}', '' if r[2] is None else f'{r[2]:g}', '-' if r[3] is None else short(r[3]),
                          *r[4:]) for r in sorted(self.results, key=lambda r: order.index(r[0]))]
        widths = [max(len(r[i]) for r in rows) for i in range(8)]
        return ['  '.join([r[i].ljust(widths[i]) for i in range(8)] + [r[8]]).rstrip() for r in rows]


def write_csv(path, head, rows):
    with open(path, 'w', newline='') as f:
        csv.writer(f).writerows([head, *(['' if c is None else f'{c:.6f}' if isinstance(c, float) else c for c in r] for r in rows)])


GRANT_LINE = re.compile(r'(\w+)_depth(\d+),(\d+),(\d+\.?\d*)')


def read_grants(path):
    """[(what, depth, controls, microseconds)] of nfs4r-bench-grant's file; a line that is none is an error."""
    rows = []
    with open(path) as f:
        for n, line in enumerate(f, 1):
            m = GRANT_LINE.fullmatch(line.strip())
            if not m:
                raise ValueError(f'{path}:{n}: not WHAT_depthD,CONTROLS,MICROSECONDS')
            rows.append((m[1], int(m[2]), int(m[3]), float(m[4])))
    if not rows:
        raise ValueError(f'{path} has no rows')
    return rows


def numbers(text):
    """Of '0,0.1,64'."""
    values = [float(t) for t in text.split(',')]
    if any(not 0 <= v <= 1e6 for v in values):
        raise ValueError(f'not numbers: {text}')
    return values


def rtt_list(text):
    """Milliseconds of '0.2,20,120'."""
    values = [float(t) for t in text.split(',')]
    if not values or any(not 0 < v <= 2000 for v in values):
        raise ValueError(f'not round trip times in ms: {text}')
    return values
