"""Single streams, elections and forwarding. These have links of their own: site 2 is 20 ms away, site 3 is 120 ms."""
import os
import time

import bed

NEAR, FAR = 2, 3            # sites; from site 1
RTT = {NEAR: 20, FAR: 120}  # ms; between the two: 120
SIZE = 64                   # MiB
FILES = 200


def links(bench):
    bench.b.must('link', 'all', FAR, f'rtt={RTT[FAR]}ms')
    bench.b.must('link', 1, NEAR, f'rtt={RTT[NEAR]}ms')
    bench.rtt_ms = None
    bench.ping()


# ---- at the writer's own site

def stream(bench, what, goal, seconds):
    """seconds(mount), in turn on both; as a throughput. The first of each warms up."""
    for trial in range(bench.o.trials + 1):
        for system, mount in (('stock', '/stock'), ('repl', '/nfs')):
            t = seconds(mount)
            if trial:
                bench.res.trial('sequential', what, system, None, SIZE / t, 'MiB/s')
            bench.arrived()
    bench.res.rate_ratio('sequential', what, None, goal)


def sequential(bench):
    def write(mount):
        return bench.work(1, 'work.py', 'write', f'{mount}/{bench.name()}', SIZE)
    stream(bench, 'write', 0.90, write)
    # Here the router and the peers share the processors with the writer's server; with slow links hardly.
    bench.b.must('link', 1, 'all', 'rate=100mbit')
    try:
        stream(bench, 'write, links of 100 Mbit/s', 0.90, write)
    finally:
        bench.b.must('link', 1, 'all', 'rate=none')
    for m in ('/stock', '/nfs'):
        bench.work(1, 'work.py', 'write', f'{m}/seq', SIZE)
    bench.settle()
    stream(bench, 'read', 0.95, lambda m: bench.work(1, 'work.py', 'read', f'{m}/seq', SIZE))


def create(bench):
    what = f'{FILES} files of 1 KiB'
    bench.pairs('create', [(what, 's', lambda m, t: bench.work(1, 'work.py', 'create', f'{m}/{bench.name()}', FILES))])
    bench.res.time_ratio('create', what, None, 1.5, 'goal: 1.5 x stock + 4 RTT', extra_s=4 * bench.rtt[FAR])


# ---- elections and forwarding

def in_rtts(bench, part, what, goal, run):
    for _ in range(bench.o.trials + 2):
        for seconds in run():
            bench.res.trial(part, what, 'repl', None, seconds * 1000, 'ms')
    median, base = bench.res.median(part, what, 'repl', None), bench.rtt[NEAR] * 1000
    bench.res.judge(part, what, None, median / base, 'RTT', '<=', goal, f'RTT {base:.1f} ms')


def old_file(bench):
    path = f'/nfs/{bench.name()}'
    bench.work(1, 'work.py', 'write', path, 1)
    bench.settle()
    return path


def first_write(bench):
    in_rtts(bench, 'first_write', 'first write to an existing file', 1.1,
            lambda: [bench.work(1, 'work.py', 'first', old_file(bench))['write']])
    what = 'the part of it that is not replication'
    bench.work(1, 'work.py', 'write', '/stock/first', 1)
    for _ in range(bench.o.trials + 2):
        bench.res.trial('first_write', what, 'stock', None, bench.work(1, 'work.py', 'first', '/stock/first')['write'] * 1000, 'ms')
    bench.res.judge('first_write', what, None, bench.res.median('first_write', what, 'stock', None) / bench.rtt[NEAR] / 1000, 'RTT')


def forwarded(bench):
    path, stop = old_file(bench), os.path.join(bench.dir, f'stop-{bench.n}')
    holder = bench.start(1, 'work.py', 'hold', path, stop)
    try:
        bed.expect(holder.stdout.readline().strip() == 'held', 'the holder does not write')
        time.sleep(1)
        # The first of an open may find the control to be just now changing hands.
        for what, work in (('forwarded write', 'one-write'), ('forwarded read', 'one-read')):
            in_rtts(bench, 'forwarded', what, 1.1, lambda w=work: bench.work(NEAR, 'work.py', w, path)['each'][1:])
    finally:
        with open(stop, 'w'):
            pass
        holder.communicate(timeout=60)


def contended(bench):
    bench.processors(1, NEAR)
    clocks = {s: bench.b.clock(s)[0] for s in (1, NEAR)}

    def run():
        path, start = old_file(bench), time.time() + 1.5
        both = bed.everywhere(lambda s: bench.work(s, 'work.py', 'at', start + clocks[s], 'first', path)['write'], (1, NEAR))
        return [max(both.values())]
    try:
        in_rtts(bench, 'contended', 'contended first write (the slower of two)', 2.2, run)
    finally:
        bench.processors(1)
