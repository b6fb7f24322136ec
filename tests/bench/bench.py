#!/usr/bin/python3
"""What replication costs, as ratios to stock Ganesha + FSAL_VFS at the same site in the same run.

	bench.py [options] [PART...]

	trees oldfiles ops siblings                    at every RTT between all sites (siblings: 20 and 120 ms)
	alternate                                      at one RTT (--rtt: at each), with deep control and without
	sequential create first_write forwarded contended      site 2 at 20 ms, site 3 at 120 ms
	micro                                          build/release/tests/bench/nfs4r-bench-grant, when it is built
	wan-files wan-small                            wide-area jobs beside GridFTP, rsync, GlusterFS, remote NFS (wan_jobs.py, peers.py); only
	                                               when named; --rtt (120), --rate, --loss, --mb, --cc, --small, --systems

Site 1 is the measured one. The other sites' servers and clients get what processor time it leaves, as if they were machines of
their own; --shared: all alike (docs/decisions/0007-bench-on-shared-cores.md). Writes results.csv (every trial), summary.csv and
PNG pictures to a folder, whose name it prints at the end. Exit status 1 when a measurement failed, not when a goal was missed:
goals are for people, and absolute numbers of this bed mean nothing.
"""
import argparse
import contextlib
import datetime
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report
import runner
import bed              # noqa: E402  (runner adds its folder to the path)
import parts_ops
import parts_single
import parts_trees
import parts_two
import peers
import wan_jobs

try:
    import plots
except ImportError as e:        # now, not after half an hour
    sys.exit(f'bench: {e}; run: make deps')

AT_RTTS = {'trees': parts_trees.run, 'ops': parts_ops.ops, 'oldfiles': parts_ops.oldfiles, 'siblings': parts_two.siblings}
SINGLE = {n: getattr(parts_single, n) for n in ('sequential', 'create', 'first_write', 'forwarded', 'contended')}
PARTS = [*AT_RTTS, 'alternate', *SINGLE, 'micro']
WAN = ('wan-files', 'wan-small')         # not unless named: they need scripts/peers.sh
RTTS = [0.2, 20, 40, 120]
SOME_RTTS = {'siblings': [20, 120], 'alternate': [40]}      # unless --rtt says otherwise
FEWER = {'trees': 3, 'oldfiles': 3, 'siblings': 3, 'alternate': 2, 'wan-files': 3, 'wan-small': 3}      # trials, unless --trials says otherwise: half an hour for all
GRANT = os.path.join(bed.ROOT, 'build/release/tests/bench/nfs4r-bench-grant')


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--quick', action='store_true', help='one trial of each')
    p.add_argument('--trials', type=int, help='of each; default 5, for long parts fewer: '
                   + ', '.join(f'{n} {k}' for n, k in FEWER.items()))
    p.add_argument('--rtt', type=report.rtt_list, metavar='MS,...', help='default 0.2,20,40,120')
    p.add_argument('--files', type=int, default=2000, help='old files (part oldfiles)')
    p.add_argument('--limit', type=int, default=900, metavar='SEC', help='for one measurement')
    p.add_argument('--shared', action='store_true', help='all sites share the processors alike')
    p.add_argument('--set', action='append', default=[], metavar='KEY=VALUE', help='into the REPL block of every server')
    p.add_argument('--mb', type=report.numbers, default=[64, 512], metavar='MB,...', help='sizes of files (wan-files); default 64,512')
    p.add_argument('--loss', type=report.numbers, default=[0, 0.1, 1], metavar='PERCENT,...', help='each way (wan-files); default 0,0.1,1')
    p.add_argument('--rate', default='400mbit', help='of each link, each way (wan parts); default 400mbit')
    p.add_argument('--mtu', type=int, default=1500, help='of the links, up to 9000 with --router wire (wan parts); default 1500')
    p.add_argument('--small', type=int, default=2000, help='files (wan-small)')
    p.add_argument('--cc', choices=('bbr', 'cubic'), default='bbr', help='TCP congestion control of all systems (wan parts); default bbr')
    p.add_argument('--systems', type=lambda t: t.split(','), default=list(wan_jobs.SYSTEMS), help='wan parts; default ' + ','.join(wan_jobs.SYSTEMS))
    p.add_argument('--router', choices=('wire', 'netem'), default='wire', help='of the wan parts\' bed')
    p.add_argument('--out', default=os.path.join(bed.ROOT, 'build', 'bench', datetime.datetime.now().strftime('%Y-%m-%d-%H%M%S')))
    p.add_argument('parts', nargs='*', metavar='PART', help=' '.join([*PARTS, *WAN]))
    o = p.parse_args()
    unknown = [n for n in o.parts if n not in (*PARTS, *WAN)] + [n for n in o.systems if n not in wan_jobs.SYSTEMS]
    if unknown:
        p.error(f'no {unknown[0]}; parts: {" ".join([*PARTS, *WAN])}; systems: {" ".join(wan_jobs.SYSTEMS)}')
    if o.mtu != 1500 and o.router != 'wire':
        p.error('--mtu needs --router wire')
    if o.files < 100 or o.limit < 1 or (o.trials is not None and o.trials < 1):
        p.error('--trials and --limit are at least 1, --files 100')
    o.parts, o.mb = o.parts or PARTS, [int(m) for m in o.mb]
    o.fewer = FEWER if o.trials is None and not o.quick else {}
    o.trials = 1 if o.quick else o.trials or 5
    return o


class Session:
    """Results over several beds."""

    def __init__(self, options):
        self.o, self.res, self.grant_rows = options, report.Results(lambda t: print(t, flush=True)), []
        self.wan_rows = {}
        self.dir = tempfile.mkdtemp(prefix='nfs4r-bench-', dir='/tmp')

    @contextlib.contextmanager
    def bed(self, *settings):
        up = ['--rtt', '20ms', '--local-stock', '--mem', '768M', *([] if self.o.shared else ['--peers-idle'])]
        for s in [*self.o.set, *settings]:
            up += ['--set', s]
        print(f'\ntestbed up {" ".join(up)}', flush=True)
        with bed.Bed.own(*up) as b:
            yield runner.Bench(b, self.res, self.o, self.dir)

    def part(self, name, function, bench, *args):
        """A part that fails is reported; the others go on."""
        start = time.monotonic()
        trials, self.o.trials = self.o.trials, self.o.fewer.get(name, self.o.trials)
        print(f'{name}{"" if bench.rtt_ms is None else f", RTT {bench.rtt_ms:g} ms"}:', flush=True)
        try:
            function(bench, *args)
        except Exception as e:
            if not isinstance(e, (bed.Failed, OSError, subprocess.SubprocessError)):
                traceback.print_exc()
            self.res.failed(name, bench.rtt_ms, e)
            with contextlib.suppress(Exception):        # what ran may run on in a client
                bench.processors(1)
        self.o.trials = trials
        print(f'  ({time.monotonic() - start:.0f} s)', flush=True)

    def rtts(self, name):
        return self.o.rtt or SOME_RTTS.get(name, RTTS)

    def wanted(self, names):
        return [n for n in names if n in self.o.parts]

    def near_and_far(self):
        """Everything that the default policy's bed does."""
        at, single = self.wanted(AT_RTTS), self.wanted(SINGLE)
        if not at and not single and 'alternate' not in self.o.parts:
            return
        with self.bed() as bench:
            for rtt in sorted({r for n in at for r in self.rtts(n)}):
                bench.links(rtt)
                for n in at:
                    if rtt in self.rtts(n):
                        self.part(n, AT_RTTS[n], bench)
            self.alternate(bench, 'deep')
            if single:
                parts_single.links(bench)
            for n in single:
                self.part(n, SINGLE[n], bench)
            bench.b.servers_alive()

    def alternate(self, bench, policy):
        for rtt in self.rtts('alternate') if 'alternate' in self.o.parts else []:
            bench.links(rtt)
            self.part('alternate', parts_two.alternate, bench, policy)

    def shallow(self):
        """The same alternation where nobody asks for deep control of his own accord."""
        if 'alternate' not in self.o.parts:
            return
        with self.bed('Deep_Control=false') as bench:
            self.alternate(bench, 'shallow')

    def micro(self):
        if 'micro' not in self.o.parts:
            return
        if not os.path.exists(GRANT):
            print(f'micro: {GRANT} is not built', flush=True)
            return
        print('micro:', flush=True)
        file = os.path.join(self.o.out, 'grant.csv')
        try:
            subprocess.run([GRANT, '--csv', file], check=True, timeout=self.o.limit, stdin=subprocess.DEVNULL)
            self.grant_rows = report.read_grants(file)
            most = max(controls for _, _, controls, _ in self.grant_rows)
            for what, depth, controls, us in self.grant_rows:
                if controls == most:
                    self.res.judge('micro', f'{what}, depth {depth}, {controls} controls', None, us, 'us')
        except (OSError, subprocess.SubprocessError, ValueError) as e:
            self.res.failed('micro', None, e)

    def wan(self):
        """A bed whose sites are all measured, with links faster than netem's (tests/cluster/README.md)."""
        parts = self.wanted(WAN)
        if not parts:
            return
        print('\n'.join([f'  tuning, {k}: {v}' for k, v in peers.TUNING.items()] + [f'  {v}' for v in peers.versions()]), flush=True)
        trials, self.o.trials = self.o.trials, self.o.fewer.get(parts[0], self.o.trials)
        for rtt in self.o.rtt or [120]:
            up = ['--rtt', f'{rtt:g}ms', '--rate', self.o.rate, '--local-stock', '--mem', '1280M', *(['--wire', '--mtu', f'{self.o.mtu}'] if self.o.router == 'wire' else [])]
            for s in [*self.o.set, *(['Peer_Congestion=system'] if self.o.cc != 'bbr' else [])]:
                up += ['--set', s]
            print(f'\ntestbed up {" ".join(up)}', flush=True)
            try:
                with bed.Bed.own(*up) as b:
                    wan_jobs.run(runner.Bench(b, self.res, self.o, self.dir), parts, rtt, self.wan_rows)
                    b.servers_alive()
            except (bed.Failed, OSError, subprocess.SubprocessError) as e:      # the other round trip times go on
                self.res.failed('wan', rtt, e)
        self.o.trials = trials

    def run(self):
        try:
            for stage in (self.near_and_far, self.shallow, self.micro, self.wan):
                try:
                    stage()
                except (bed.Failed, OSError, subprocess.SubprocessError) as e:      # the bed itself
                    self.res.failed(stage.__name__, None, e)
        finally:
            shutil.rmtree(self.dir, ignore_errors=True)
            self.write()
        return 1 if self.res.failures else 0

    def write(self):
        self.res.write(self.o.out)
        print('\n' + '\n'.join(self.res.table()))
        drawn = plots.draw(self.res, self.grant_rows, self.o.out)
        if self.wan_rows:
            lines = wan_jobs.table(self.wan_rows)
            print('\n' + '\n'.join(lines))
            with open(f'{self.o.out}/wan.md', 'w') as f:
                f.write('\n'.join(lines) + '\n')
            drawn = [*drawn, 'wan.md']
        print(f'\nprocessors: {processors(self.o)}')
        print(f'results: {self.o.out} ({", ".join(["results.csv", "summary.csv", *drawn])})', flush=True)


def processors(o):
    how = 'shared alike by all sites' if o.shared else 'the measured site first, the other sites idle class'
    return f'{os.cpu_count()}, {how}'


def say_versions(o):
    print(f'command: {" ".join(sys.argv)}')
    print('\n'.join(runner.versions()) + f'; processors: {processors(o)}')
    print(f'tools: {"; ".join(parts_trees.versions())}')
    if os.getloadavg()[0] > 0.7:
        print(f'other work on this machine (load {os.getloadavg()[0]:.1f}): expect noise'
              + ('' if o.shared else '; idle peers wait for that work too: --shared, or wait for quiet'))
    counts = [f'{n} ({o.fewer.get(n, o.trials)})' for n in o.parts]
    print(f'parts and trials, replicated and stock in turn: {" ".join(counts)}', flush=True)


SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def interrupted(number, _frame):
    """Unwinds, once: the bed comes down, what there is is written."""
    for s in SIGNALS:
        signal.signal(s, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    o = arguments()
    missing = [t for t in ('git', 'tcc', 'make', 'tar') if not shutil.which(t)]
    if missing:
        sys.exit(f'bench: {missing[0]} is missing; run: make deps')
    missing = peers.missing() if set(o.parts) & set(WAN) else []
    if missing:
        sys.exit(f'bench: {missing[0]} is missing; run: scripts/peers.sh')
    try:
        os.makedirs(o.out, exist_ok=True)
    except OSError as e:
        sys.exit(f'bench: {e}')
    for s in SIGNALS:
        signal.signal(s, interrupted)
    say_versions(o)
    return Session(o).run()


if __name__ == '__main__':
    sys.exit(main())
