#!/usr/bin/python3
"""Is this tree slower than an earlier one? Both in turns, trial by trial, so that a machine that gets slower is slower for both.

	against.py [--prepare] COMMIT [--beds N] [--operations N] [options and parts of bench.py]

Builds COMMIT in build/against/COMMIT (a git work tree that stays there, with a Ganesha of its own, since the patches may be others; SHIM, which is
preloaded into the guests, is this tree's), and runs each tree's own bench.py with a bed and a disk of its own (with-disk: what either tree removed before is no part of
what the other one's files cost). Before each trial of a part, of PAIRED ones before each single measurement, both wait; then one measures while the other's
bed has nothing to do. Who is first changes at random. Results of each as usual (--out: .../N/old, .../N/new) and a table of ratios, new / old: the quotient
of the medians; the median of the quotients of trials that followed each other; and the median of the latter when each is divided by what the stock server in
the same bed did, old / new: two beds of the same tree can differ by 10 % for an hour, in everything. --beds: so many pairs of beds, one after the other, each
with all trials, 1; more of them and fewer trials (--trials, 3) average that out. --operations: of each kind in a trial of `ops`; the 800 of `make bench` are
over in 0.2 to 0.6 s, too short to tell 3 %. Exit status 1: something failed.
"""
import argparse
import csv
import datetime
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RATES = ('/s', 'MiB/s', 'rounds/s', 'operations/s', '%')        # more is better; of all other units less is
PAIRED = ('trees', 'oldfiles', 'create')                # parts that measure by Bench.pairs
NAMES = ('old', 'new')
SHIM = 'tests/cluster/bed/umlshim.c'
DISK = os.path.join(HERE, 'with-disk')


# ---- one of the two

def child(root, operations, argv):
    """bench.py of @root; before and after each trial of a part it says so on descriptor 3 and waits for an answer on standard input."""
    os.chdir(root)
    sys.path.insert(0, os.path.join(root, 'tests/bench'))
    sys.argv = [os.path.join(root, 'tests/bench/bench.py'), *argv]
    import bench
    import parts_ops
    parts_ops.OPERATIONS = int(operations) or parts_ops.OPERATIONS      # an older tree's bench.py has no option for it
    turns = os.fdopen(3, 'w', buffering=1)

    def say(text):
        turns.write(text + '\n')
        if not sys.stdin.readline():
            sys.exit('bench: nobody gives turns')

    def turn(name, function, *args):
        say(name)
        result = function(*args)
        say('done')     # nothing happens here, the end of the bed for one, while the other one measures
        return result

    whole, micro, pairs = bench.Session.part, bench.Session.micro, bench.runner.Bench.pairs

    def part(self, name, function, bed, *args):
        if name in PAIRED:
            whole(self, name, function, bed, *args)
            return
        trials, fewer = self.o.trials, self.o.fewer
        self.o.fewer = {}
        for _ in range(fewer.get(name, trials)):
            self.o.trials = 1
            turn(name, whole, self, name, function, bed, *args)
        self.o.trials, self.o.fewer = trials, fewer

    def single(part, what, run):
        return lambda mount, trial: turn(f'{part}, {what}', run, mount, trial)

    def each(self, part, cases, *args, **more):
        pairs(self, part, [(what, unit, single(part, what, run)) for what, unit, run in cases], *args, **more)

    def one_micro(self):
        if 'micro' in self.o.parts:
            turn('micro', micro, self)

    bench.Session.part, bench.Session.micro, bench.runner.Bench.pairs = part, one_micro, each
    sys.exit(bench.main())


# ---- both

def prepare(commit):
    """The folder of @commit, built."""
    sha = subprocess.run(['git', '-C', ROOT, 'rev-parse', '--short', f'{commit}^{{commit}}'], check=True, capture_output=True, text=True).stdout.strip()
    path = os.path.join(ROOT, 'build/against', sha)
    if not os.path.exists(path):
        subprocess.run(['git', '-C', ROOT, 'worktree', 'prune'], check=True)        # `make clean` may have taken it away
        subprocess.run(['git', '-C', ROOT, 'worktree', 'add', '--detach', path, sha], check=True)
    deps = os.path.join(path, '.deps')
    if os.path.islink(deps):            # to this tree's, which a build of COMMIT would replace
        os.unlink(deps)
    shutil.copy(os.path.join(ROOT, SHIM), os.path.join(path, SHIM))     # both measure with the same guests
    subprocess.run(['make', '-C', path, 'build'], check=True, stdout=subprocess.DEVNULL)
    return path


def start(name, root, out, operations, argv):
    asks, write = os.pipe()
    log = open(f'{out}/{name}.log', 'w')
    p = subprocess.Popen([DISK, os.path.dirname(out), sys.executable, os.path.abspath(__file__), '--child', root, str(operations), *argv, '--out', f'{out}/{name}'],
                         stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, text=True, preexec_fn=lambda: os.dup2(write, 3), pass_fds=(3,))
    os.close(write)
    p.asks = os.fdopen(asks)
    return p


def answer(p):
    try:
        p.stdin.write('go\n')
        p.stdin.flush()
    except BrokenPipeError:
        pass                            # it has ended; its status says why


def in_turns(children, chance):
    """Until both have ended. A child that has ended is waited for no more."""
    while True:
        waiting = [(p, p.asks.readline()) for p in children]       # both are where the next trial begins, or at their end
        asking = [(p, name.strip()) for p, name in waiting if name]
        if not asking:
            return
        order = chance.sample(asking, len(asking))
        print(f'{datetime.datetime.now():%H:%M:%S} {order[0][1]}', flush=True)
        for p, _ in order:
            answer(p)
            p.asks.readline()           # done
        for p, _ in order:
            answer(p)


def trials(paths, system='repl'):
    """{(part, what, RTT): (unit, [values])} of @system, those of each file after those of the one before."""
    found = {}
    for path in paths:
        with open(path) as f:
            for r in csv.DictReader(f):
                if r['system'] == system and r['unit']:
                    found.setdefault((r['part'], r['what'], r['rtt_ms']), (r['unit'], []))[1].append(float(r['value']))
    return found


def worse(unit, old, new):
    """So many times."""
    return old / new if unit in RATES else new / old


def compare(old, new, old_stock, new_stock):
    """[(part, what, RTT, unit, median old, median new, quotient of medians, median of quotients, the same beside stock or None)]; quotients: > 1 is worse."""
    rows = []
    for key, (unit, before) in old.items():
        after = new.get(key, (unit, []))[1]
        if not after or min(before + after) <= 0:
            continue
        one, two = statistics.median(before), statistics.median(after)
        quotients = [worse(unit, a, b) for a, b in zip(before, after)]
        stock = [stocks.get(key, (unit, []))[1] for stocks in (old_stock, new_stock)]
        beside = statistics.median(q / worse(unit, a, b) for q, a, b in zip(quotients, *stock)) if all(stock) and min(map(min, stock)) > 0 else None
        rows.append((*key, unit, one, two, worse(unit, one, two), statistics.median(quotients), beside))
    return rows


def percent(quotient):
    return '' if quotient is None else f'{100 * (quotient - 1):.1f}%'


def table(rows):
    head = f'{"what":58}{"RTT":>6}{"old":>10}{"new":>10}  {"unit":14}{"worse by":>9}{"in pairs":>9}{"beside stock":>13}'
    return [head] + [f'{part + ": " + what:58}{f"{float(rtt):g}" if rtt else "":>6}{a:>10.3f}{b:>10.3f}  {unit:14}{percent(m):>9}{percent(p):>9}{percent(s):>13}'
                     for part, what, rtt, unit, a, b, m, p, s in rows]


class Pairs:
    """One pair of beds after the other."""

    def __init__(self, old, operations, argv):
        self.old, self.operations, self.argv = old, operations, argv
        self.chance = random.Random(1)      # one for all: who is first in a pair of beds is not who was in the one before
        self.children, self.failed, self.stopped = [], [], False
        for s in (signal.SIGTERM, signal.SIGINT):
            signal.signal(s, self.stop)

    def stop(self, *_):                     # each writes what it has
        self.stopped = True
        for p in self.children:
            p.send_signal(signal.SIGTERM)

    def run(self, out):
        if self.stopped:
            return
        os.makedirs(out)
        self.children = [start(n, r, out, self.operations, self.argv) for n, r in zip(NAMES, (self.old, ROOT))]
        in_turns(self.children, self.chance)
        self.failed += [f'{out}/{n}.log' for n, p in zip(NAMES, self.children) if p.wait() != 0]


def last_words(log):
    with open(log) as f:
        return (f.read().strip().splitlines() or ['it said nothing'])[-1]


def main():
    if len(sys.argv) > 2 and sys.argv[1] == '--child':
        child(sys.argv[2], sys.argv[3], sys.argv[4:])
    argv = sys.argv[1:]
    only = '--prepare' in argv
    argv = [a for a in argv if a != '--prepare']
    if not argv or argv[0].startswith('-'):
        sys.exit(__doc__)
    commit = argv.pop(0)
    own = argparse.ArgumentParser(usage='against.py [--prepare] COMMIT [--beds N] [--operations N] [options and parts of bench.py]', add_help=False, allow_abbrev=False)
    own.add_argument('--beds', type=int, default=1)
    own.add_argument('--operations', type=int, default=0)
    own, argv = own.parse_known_args(argv)
    if own.beds < 1:
        sys.exit('against: --beds is at least 1')
    old = prepare(commit)
    if only:
        return 0
    out = os.path.join(ROOT, 'build/bench', f'{datetime.datetime.now():%Y-%m-%d-%H%M%S}-against')
    outs = [f'{out}/{n + 1}' for n in range(own.beds)]
    pairs = Pairs(old, own.operations, ['--trials', '3', *argv])
    for o in outs:
        pairs.run(o)
    outs = [o for o in outs if all(os.path.exists(f'{o}/{n}/results.csv') for n in NAMES)]
    if not outs:
        sys.exit('\n'.join(['against: nothing was measured:', *(f'{log}: {last_words(log)}' for log in pairs.failed)]))
    rows = compare(*(trials([f'{o}/{n}/results.csv' for o in outs], system) for system in ('repl', 'stock') for n in NAMES))
    lines = table(rows)
    with open(f'{out}/against.txt', 'w') as f:
        f.write('\n'.join(lines) + '\n')
    print('\n'.join(lines) + f'\nresults: {out}' + ''.join(f'\nFAILED: see {log}' for log in pairs.failed))
    return 1 if pairs.failed or pairs.stopped else 0


if __name__ == '__main__':
    sys.exit(main())
