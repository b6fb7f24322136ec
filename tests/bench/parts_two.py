"""Parts with two working sites. Each site's server and client have one processor of their own (unless --shared).

siblings: sites 1 and 2 each create, write, rename and unlink in their own directory below one parent, alone and both at
once. Goal: together <= 1.2 x as slow as alone, after the first second. Beside it the same on each site's own stock
server: what the bed itself loses when two sites work.

alternate: sites 1 and 2 take turns in one directory; how much gets done for intervals of 10 ms to 10 s, with deep
control and without. No goal: a curve.
"""
import time

PAIR = (1, 2)
SECONDS, SKIP = 5.0, 1.0
RATIO = 1.2
# interval in seconds: how long to measure
INTERVALS = {0.01: 4, 0.1: 4, 1.0: 8, 10.0: 30}


def begin(bench):
    bench.processors(*PAIR, pin=True)
    return {s: bench.b.clock(s)[0] for s in PAIR}


def together(bench, clocks, sites, program, args):
    """args(site, start) -> arguments; all begin at the same moment. Results by site."""
    start = time.time() + 1.5
    running = {s: bench.start(s, 'work_ops.py', program, *args(s, f'{start + clocks[s]:.6f}')) for s in sites}
    try:
        return {s: bench.finish(p) for s, p in running.items()}
    finally:
        for p in running.values():
            if p.poll() is None:
                p.kill()
                p.wait()


# ---- siblings

def rate(done):
    """Rounds per second between the first second and the end."""
    return sum(SKIP < t <= SECONDS for t in done) / (SECONDS - SKIP)


def siblings(bench):
    clocks = begin(bench)
    try:
        for _ in range(bench.o.trials):
            for system, mount in (('repl', '/nfs'), ('stock', '/stock')):
                parent = f'{mount}/{bench.name()}'
                for s in PAIR if system == 'stock' else PAIR[:1]:
                    bench.shell(s, f'mkdir -p {parent}/s1 {parent}/s2')
                for sites in ((1,), (2,), PAIR):
                    siblings_once(bench, clocks, system, parent, sites)
        for s in PAIR:
            loss = siblings_loss(bench, s, 'stock')
            bench.res.judge('siblings', f'site {s}, alone / together', bench.rtt_ms, siblings_loss(bench, s, 'repl'), 'x alone (time)',
                            '<=', RATIO, f'the same on stock servers: {loss:.2f}')
    finally:
        bench.processors(1)


def siblings_once(bench, clocks, system, parent, sites):
    bench.settle()
    got = together(bench, clocks, sites, 'burst', lambda s, start: (f'{parent}/s{s}', start, SECONDS))
    for s, r in got.items():
        how = 'alone' if len(sites) == 1 else 'together'
        bench.res.trial('siblings', f'site {s}, {how}', system, bench.rtt_ms, rate(r['done']), 'rounds/s')
    # The next one finds empty directories.
    for s in sites:
        bench.shell(s, f'rm -f {parent}/s{s}/*')


def siblings_loss(bench, s, system):
    alone, both = (bench.res.median('siblings', f'site {s}, {how}', system, bench.rtt_ms) for how in ('alone', 'together'))
    return alone / both if both else float('inf')


# ---- alternate

def alternate(bench, policy):
    """policy: 'deep' or 'shallow', how this bed's servers are configured."""
    clocks = begin(bench)
    try:
        for _ in range(bench.o.trials):
            for interval, seconds in INTERVALS.items():
                alternate_once(bench, clocks, policy, interval, seconds)
        for interval in INTERVALS:
            what = f'turns of {interval:g} s, {policy}'
            total, share, slowest = (bench.res.median('alternate', f'{what}, {v}', 'repl', bench.rtt_ms)
                                     for v in ('operations', 'slower share', 'slowest pair'))
            bench.res.judge('alternate', what, bench.rtt_ms, total, 'operations/s',
                            detail=f'slower site: {share:.0f} %; slowest create and unlink: {slowest:.2f} s')
    finally:
        bench.processors(1)


def alternate_once(bench, clocks, policy, interval, seconds):
    directory = f'/nfs/{bench.name()}'
    bench.shell(1, f'mkdir {directory}')
    bench.settle()
    before = sum(bench.counter(s) for s in PAIR)
    got = together(bench, clocks, PAIR, 'turns', lambda s, start: (directory, start, seconds, interval, s - 1))
    counts = [len(got[s]['done']) for s in PAIR]
    what = f'turns of {interval:g} s, {policy}'
    put = bench.res.trial
    put('alternate', f'{what}, operations', 'repl', bench.rtt_ms, 2 * sum(counts) / seconds, '/s')
    put('alternate', f'{what}, slower share', 'repl', bench.rtt_ms, 100 * min(counts) / max(1, sum(counts)), '%')
    put('alternate', f'{what}, slowest pair', 'repl', bench.rtt_ms, max(got[s]['slowest'] for s in PAIR), 's')
    put('alternate', f'{what}, elections', 'repl', bench.rtt_ms, sum(bench.counter(s) for s in PAIR) - before, '')
