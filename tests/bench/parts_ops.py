"""Parts `ops` and `oldfiles`: single operations in a burst.

ops: creates, mkdirs, renames and unlinks per second with 1 and 8 threads, each in a directory of its own that it has
just worked in; what the first of a burst costs is for the other parts. Goal: >= 0.90 x stock.

oldfiles: chmod -R, touch, and rewriting in place of files that no site controls. Goal: <= 1.2 x stock + 5 RTT.
"""
THREADS = (1, 8)
OPERATIONS = 800            # of each kind, by all threads together
RATE = 0.90
RATIO, RTTS = 1.2, 5


def ops(bench):
    for trial in range(bench.o.trials):
        for threads in THREADS:
            for system, mount in (('repl', '/nfs'), ('stock', '/stock')):
                if system == 'repl':
                    bench.settle()
                else:
                    bench.arrived()
                rates = bench.work(1, 'work_ops.py', 'rates', f'{mount}/{bench.name()}', threads, OPERATIONS // threads)
                for what, rate in rates.items():
                    bench.res.trial('ops', label(what, threads), system, bench.rtt_ms, rate, '/s')
    for threads in THREADS:
        for what in rates:
            bench.res.rate_ratio('ops', label(what, threads), bench.rtt_ms, RATE)


def label(what, threads):
    return f'{what}, {threads} thread{"s" if threads > 1 else ""}'


def oldfiles(bench):
    n = bench.o.files
    where = {m: f'{m}/oldfiles-{n}' for m in ('/nfs', '/stock')}
    for directory in where.values():
        bench.work(1, 'work_ops.py', 'fill', directory, n)

    def chmod(m, t):
        return bench.shell(1, f'if [ "$(stat -c %a {where[m]}/d0/f0)" = 644 ]; then chmod -R go-r {where[m]}; '
                              f'else chmod -R go+r {where[m]}; fi')

    def touch(m, t):
        return bench.shell(1, f'cd {where[m]} && touch */*')

    def rewrite(m, t):
        return bench.work(1, 'work_ops.py', 'rewrite', where[m])

    names = [f'{w} of {n} old files' for w in ('chmod -R', 'touch', 'rewriting in place')]
    bench.pairs('oldfiles', list(zip(names, ['s'] * 3, (chmod, touch, rewrite))),
                after=lambda what, k: bench.res.trial('oldfiles', f'{what}, elections', 'repl', bench.rtt_ms, k, ''))
    for what in names:
        k = bench.res.median('oldfiles', f'{what}, elections', 'repl', bench.rtt_ms)
        bench.res.time_ratio('oldfiles', what, bench.rtt_ms, RATIO, f'goal: {RATIO} x stock + {RTTS} RTT; {k:g} elections',
                             extra_s=RTTS * max(bench.rtt.values()))
