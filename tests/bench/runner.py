"""The bed as the parts of the benchmark see it: which site is measured, how far the others are, when all is quiet."""
import json
import os
import platform
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'cluster', 'lib'))
import bed

SITES = (1, 2, 3)
MOUNTS = {'repl': '/nfs', 'stock': '/stock'}
QUIET = 300                 # seconds to wait for the peers' copies and for the end of all controls


def first_line(*argv, **env):
    r = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, **env})
    return (r.stdout or r.stderr).strip().partition('\n')[0] or '?'


def versions():
    """Lines: of this software, and of the machine."""
    prefix = os.path.join(bed.ROOT, '.deps/ganesha-release')
    ganesha = first_line(f'{prefix}/bin/ganesha.nfsd', '-v', LD_LIBRARY_PATH=f'{prefix}/lib')
    return [f'version: {first_line("git", "-C", bed.ROOT, "describe", "--always", "--dirty")}; {ganesha}',
            f'machine: Linux {platform.release()}, {os.cpu_count()} processors, guests {", ".join(os.listdir("/usr/lib/uml/modules"))}']


class Bench:
    """options: trials, files, limit (seconds for one measurement), shared. dir: files that guests and host see."""

    def __init__(self, b, results, options, directory):
        self.b, self.res, self.o, self.dir = b, results, options, directory
        self.n, self.rtt_ms, self.rtt = 0, None, {}

    def name(self):
        self.n += 1
        return f'b{self.n}'

    # ---- work in the clients

    def work(self, site, program, *args):
        """The object that a program of this folder prints last."""
        out = self.b.must_py(site, os.path.join(HERE, program), *map(str, args), timeout=self.o.limit)
        return json.loads(out.strip().splitlines()[-1])

    def start(self, site, program, *args):
        return self.b.start_py(site, os.path.join(HERE, program), *map(str, args), timeout=self.o.limit)

    def finish(self, process):
        out = process.communicate(timeout=self.o.limit + 30)[0]
        bed.expect(process.returncode == 0, f'status {process.returncode}: {out}')
        return json.loads(out.strip().splitlines()[-1])

    def shell(self, site, script):
        """Seconds of a shell script, timed in the client."""
        return self.work(site, 'work.py', 'shell', script)

    # ---- links and processors

    def links(self, rtt_ms):
        self.b.must('link', 'all', 'all', f'rtt={rtt_ms}ms')
        self.rtt_ms = rtt_ms
        self.ping()

    def ping(self):
        """self.rtt: seconds by site, as the servers see each other in this very run; the least, because load only adds."""
        time.sleep(1)
        for site in (2, 3):
            self.rtt[site] = self.b.ping(1, site)[0] / 1000
            self.res.trial('links', f'ping to site {site}', 'link', self.rtt_ms, self.rtt[site] * 1000, 'ms')

    def processors(self, *measured, pin=False):
        """These sites get the processors first; pin: one each."""
        if self.o.shared:
            return
        for s in SITES:
            cpus = f'cpus={measured.index(s) % os.cpu_count()}' if pin and s in measured else 'cpus=all'
            self.b.must('sched', s, 'normal' if s in measured else 'idle', cpus)

    # ---- the state of the volume

    def ctl(self, site, command):
        return json.loads(self.b.ctl(site, '--json', command).stdout)

    def counter(self, site, name='elections'):
        return self.ctl(site, 'stats')['core'][name]

    def arrived(self):
        """All copies are equal."""
        def equal():
            return all(p['has_of_our_log']['lag_entries'] == 0 for s in SITES for p in self.ctl(s, 'status')['peers'])
        bed.eventually(QUIET, equal, 'updates do not arrive at the peers')

    def settle(self):
        """All copies are equal and no server controls anything: what exists now is *old*."""
        self.arrived()

        def quiet():
            stats = [self.ctl(s, 'stats')['core'] for s in SITES]
            return all(c['controls_own'] == 0 and c['controls_foreign'] == 0 for c in stats)
        bed.eventually(QUIET, quiet, 'controls do not end')
        self.arrived()

    def pairs(self, part, cases, trials=None, after=None):
        """cases: [(what, unit, run(mount, trial) -> number)]. Each on old objects, replicated and stock in turn.
        after(what, elections): told of the elections of each replicated run."""
        for trial in range(trials or self.o.trials):
            for what, unit, run in cases:
                self.settle()
                before = self.counter(1)
                value = run(MOUNTS['repl'], trial)
                elections = self.counter(1) - before
                self.res.trial(part, what, 'repl', self.rtt_ms, value, unit)
                if after:
                    after(what, elections)
                self.arrived()              # what is still being distributed must not slow stock down
                self.res.trial(part, what, 'stock', self.rtt_ms, run(MOUNTS['stock'], trial), unit)
