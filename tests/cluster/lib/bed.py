"""Host side of the cluster tests: a test bed, its sites, and a report of what held.

	report = bed.Report('operations')
	with bed.Bed.get('--rtt', '40ms') as b:
		b.py(1, 'ops.py', '/nfs/d')             in the client of site 1
		report.check('trees', compare, b)
	sys.exit(report.status())

`tests/cluster/run` brings up one bed for several tests and names it in TB_SHARED; alone, a test brings
up its own. TB_STOCK=1: against one plain Ganesha instead, to try the tests themselves.
"""
import collections
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import kills
import stands

LIB = os.path.dirname(os.path.abspath(__file__))
CLUSTER = os.path.dirname(LIB)
ROOT = os.path.dirname(os.path.dirname(CLUSTER))
TESTBED = os.path.join(CLUSTER, 'testbed')
STOCK = os.environ.get('TB_STOCK') == '1'
LINES_OF_A_FAILURE = 400    # why two loads stand still (stands.py)


class Failed(Exception):
    """What a test found; the text says it all, so no traceback is shown."""


def expect(condition, text):
    if not condition:
        raise Failed(text)


def judge_itself(file):
    """lib/test_*.py: what a judge says of cases made by hand."""
    r = subprocess.run([sys.executable, os.path.join(LIB, file)], capture_output=True, text=True)
    expect(r.returncode == 0, '\n'.join(l for l in r.stdout.splitlines() if not l.startswith('ok')) + r.stderr)
    return f'{len(r.stdout.splitlines())} cases'


class Report:
    """`ok NAME` and `not ok NAME` lines, as scripts/check.sh counts them."""

    def __init__(self, test):
        self.test, self.bad, self.lock = test, 0, threading.Lock()

    def say(self, text):
        with self.lock:
            print(text, flush=True)

    def ok(self, name, note=''):
        self.say(f'ok {self.test}/{name}{note and " (" + note + ")"}')

    def fail(self, name, why):
        self.bad += 1
        self.say('\n'.join([f'not ok {self.test}/{name}'] + ['# ' + l for l in str(why).rstrip().splitlines()[:LINES_OF_A_FAILURE]]))

    def check(self, name, function, *args):
        """Runs it; True when it did not raise. What it returns as a string is noted."""
        start = time.monotonic()
        try:
            note = function(*args)
        except (Failed, subprocess.TimeoutExpired) as e:
            self.fail(name, e)
            return False
        except Exception:
            self.fail(name, traceback.format_exc())
            return False
        text = f'{time.monotonic() - start:.1f} s'
        self.ok(name, f'{text}, {note}' if isinstance(note, str) else text)
        return True

    def take(self, prefix, output):
        """The lines of a program that ran in a guest, under a prefix."""
        for line in output.splitlines():
            m = re.match(r'(ok|not ok) (.*)', line)
            self.bad += bool(m) and m[1] == 'not ok'
            self.say(f'{m[1]} {self.test}/{prefix}{m[2]}' if m else line)

    def status(self):
        return 1 if self.bad else 0


def everywhere(function, sites, *args):
    """function(site, *args) at all sites at once; results by site. The first exception is raised again."""
    results, errors = {}, []

    def run(site):
        try:
            results[site] = function(site, *args)
        except Exception as e:
            errors.append(e)
    threads = [threading.Thread(target=run, args=(s,)) for s in sites]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return results


def eventually(seconds, condition, text, pause=0.2):
    """Waits for a true value and returns it."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f'not within {seconds} s: {text() if callable(text) else text}')
        time.sleep(pause)


def line_of(process, seconds=90):
    """The next line that a program says, which says one at a time; empty: it has ended."""
    expect(select.select([process.stdout], [], [], seconds)[0], f'{process.args} says nothing for {seconds} s')
    return process.stdout.readline()


# For tests that wait for NFSv4's leases: as short as `testbed up` lets them be.
SHORT = ('--lease', '10', '--grace', '8')


def terminated(_, frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)   # a second one would end the taking down
    print(''.join('# ' + l + '\n' for l in ''.join(traceback.format_stack(frame)).splitlines()), end='', flush=True)
    sys.exit(1)                                     # with the bed taken down


class Bed:
    def __init__(self, run, shared=False):
        self.run, self.shared, self.is_up = run, shared, shared
        self.sites = [1, 2, 3]
        self.seen = None        # the tree that all clients saw last (trees.py)
        self.kills = kills.Kills()

    @classmethod
    def get(cls, *options):
        """The shared bed, or one of its own with these options of `testbed up`."""
        if os.environ.get('TB_SHARED'):
            return cls(os.environ['TB_SHARED'], shared=True)
        return cls.own(*options)

    @classmethod
    def own(cls, *options):
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, terminated)
        b = cls(os.path.join(tempfile.mkdtemp(prefix='nfs4r-ct-', dir='/tmp'), 'bed'))
        b.up(*options)
        return b

    def up(self, *options):
        try:
            r = self.tb('up', *(['--stock'] if STOCK else []), *options, timeout=240)
        except BaseException:       # interrupted half-way: nothing may stay behind
            self.down()
            raise
        if r.returncode:
            self.remove()
            raise Failed(f'testbed up: {r.stdout}{r.stderr}')
        self.is_up = True

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.down()

    def down(self):
        if self.shared:
            return
        self.tb('down', timeout=90)
        self.is_up = False
        if os.environ.get('TB_KEEP'):
            print(f'# kept: {self.run}')
        else:
            self.remove()

    def remove(self):
        top = os.path.dirname(self.run)
        if os.path.basename(top).startswith('nfs4r-ct-') and not os.environ.get('TB_KEEP'):
            subprocess.run(['rm', '-rf', top])

    # ---- commands

    def command(self, *args):
        return [TESTBED, '--run', self.run, *map(str, args)]

    def tb(self, *args, timeout=120, **kw):
        return subprocess.run(self.command(*args), capture_output=True, text=True, errors='surrogateescape',
                              timeout=timeout, stdin=subprocess.DEVNULL, **kw)

    def must(self, *args, timeout=120):
        r = self.tb(*args, timeout=timeout)
        if r.returncode:
            raise Failed(f'testbed {" ".join(map(str, args))}: status {r.returncode}\n{r.stdout}{r.stderr}{self.about_guest(args[1], r.stderr) if args[0] == "sh" else ""}')
        return r.stdout

    def about_guest(self, site, said):
        """Lines about a guest, when gx says that it does not answer or cannot be reached."""
        return '\n'.join(stands.guest(self, site)) if re.search('^gx: ', said, re.M) else ''

    def sh(self, site, script, timeout=60):
        """A shell script in the site's client; its output. Fails when the script does."""
        return self.must('sh', site, '-n', '-t', timeout, '--', 'sh', '-c', script, timeout=timeout + 20)

    def status_of(self, site, script, timeout=60):
        return self.tb('sh', site, '-n', '-t', timeout, '--', 'sh', '-c', script, timeout=timeout + 20).returncode

    def py_command(self, site, file, *args, timeout=120):
        if not os.path.isabs(file):
            file = os.path.join(LIB, file)
        return self.command('sh', site, '-n', '-t', timeout, '--', '/usr/bin/python3', file, *args)

    def py(self, site, file, *args, timeout=120):
        """A Python program of this folder in the site's client: the result of subprocess.run."""
        return subprocess.run(self.py_command(site, file, *args, timeout=timeout), capture_output=True, text=True,
                              errors='surrogateescape', timeout=timeout + 30, stdin=subprocess.DEVNULL)

    def must_py(self, site, file, *args, timeout=120):
        r = self.py(site, file, *args, timeout=timeout)
        if r.returncode:
            raise Failed(f'{file} {" ".join(map(str, args))} at site {site}: status {r.returncode}\n{r.stdout}{r.stderr}{self.about_guest(site, r.stderr)}')
        return r.stdout

    def start_py(self, site, file, *args, timeout=300):
        """The same in the background; a Popen."""
        return subprocess.Popen(self.py_command(site, file, *args, timeout=timeout), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors='surrogateescape', stdin=subprocess.DEVNULL)

    def clock(self, site):
        """(guest's clock - ours in seconds, what that may be wrong by). Constant from the guest's start on, but not 0."""
        p = subprocess.Popen(self.command('sh', site, '--', '/usr/bin/python3', os.path.join(LIB, 'clock.py')),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        best = None
        for _ in range(40):
            t0 = time.time()
            p.stdin.write('\n')
            p.stdin.flush()
            guest, t1 = float(p.stdout.readline()), time.time()
            if best is None or (t1 - t0) / 2 < best[1]:
                best = (guest - (t0 + t1) / 2, (t1 - t0) / 2)
        p.stdin.close()
        p.wait()
        return best

    def start_sh(self, site, script, timeout=300):
        return subprocess.Popen(self.command('sh', site, '-n', '-t', timeout, '--', 'sh', '-c', script),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)

    def inside(self, *argv, timeout=60):
        """A program in the bed's namespaces (mounts, processes), on the host."""
        return subprocess.run(['nsenter', '-t', self.pid1(), '-a', '--', *map(str, argv)], capture_output=True, text=True,
                              timeout=timeout, stdin=subprocess.DEVNULL)

    def start_in_bed(self, *argv):
        return subprocess.Popen(['nsenter', '-t', self.pid1(), '-a', '--', *map(str, argv)], stdin=subprocess.DEVNULL)

    def must_in_bed(self, *argv):
        r = self.inside(*argv)
        expect(r.returncode == 0, f'{argv}: status {r.returncode}\n{r.stdout}{r.stderr}')

    # ---- servers and clients

    def kill(self, site, how='kill', lost=False):
        """Ends the site's server, by kill, stop or crash, and remembers when; its clients may hear of that (kills.py). lost: its disk goes, too."""
        begin = time.time()
        self.must('server', site, how)
        self.kills.add(site, begin, time.time(), lost)

    def server_dir(self, site):
        return os.path.join(self.run, f'g{site}')

    def data(self, site):
        """What the server exports, as the bed sees it: it may be a file system that is only mounted there."""
        return self.mounted(site, 'data')

    def store(self, site):
        return self.mounted(site, 'store')

    def mounted(self, site, name):
        return f'/proc/{self.pid1()}/root' + os.path.join(self.server_dir(site), name)

    def pid1(self):
        with open(os.path.join(self.run, 'pid1')) as f:
            return f.read().strip()

    def log(self, site):
        try:
            with open(os.path.join(self.server_dir(site), 'ganesha.log'), errors='replace') as f:
                return f.read()
        except FileNotFoundError:
            return ''

    def says(self, site, mark, pattern, seconds=10):
        """Waits for a line in the server's log after that mark: what is logged may come a moment after what status says."""
        eventually(seconds, lambda: re.search(pattern, self.log(site)[mark:]), lambda: f'not in the log of server {site}: {pattern}\n{self.log(site)[mark:]}')

    def remount(self, options='vers=4.2', sites=None):
        everywhere(lambda s: self.must('client', s, 'remount', options, timeout=150), sites or self.sites)

    def drop_caches(self, sites=None):
        everywhere(lambda s: self.must('client', s, 'drop-caches'), sites or self.sites)

    def ping(self, site, to):
        """Milliseconds from server to server and back: the least and the mean of ten."""
        out = self.must('ns', site, '--', 'ping', '-c', '10', '-i', '0.2', '-q', f'10.0.{to}.1')
        return [float(ms) for ms in re.search(r'= ([\d.]+)/([\d.]+)/', out).groups()]

    def ctl(self, site, *args, timeout=30):
        return subprocess.run([os.path.join(ROOT, 'build/release/src/ctl/nfs4rctl'), '--socket',
                               os.path.join(self.server_dir(site), 'ctl.sock'), *args],
                              capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def ask(self, site, what):
        """What `nfs4rctl --json` says: status, controls, stats."""
        r = self.ctl(site, '--json', what)
        expect(r.returncode == 0, f'nfs4rctl {what} at site {site}: status {r.returncode}\n{r.stdout}{r.stderr}')
        return json.loads(r.stdout)

    def counters(self):
        """The core's counters, added up over the sites."""
        total = collections.Counter()
        for s in self.sites:
            total.update({k: v for k, v in self.ask(s, 'stats')['core'].items() if isinstance(v, int)})
        return total

    def no_controls(self, seconds):
        """Waits until no server controls anything: everything is on every disk."""
        left = {}

        def none():
            left.clear()
            left.update({s: c for s in self.sites if (c := self.ask(s, 'controls')['controls'])})
            return not left
        eventually(seconds, none, lambda: f'controls are left: {json.dumps(left)[:4000]}', 0.5)

    def setting(self, key, default=None):
        """A key of the servers' configuration, as `up --set` wrote it."""
        with open(os.path.join(self.server_dir(1), 'ganesha.conf')) as f:
            m = re.search(rf'^\s*{key} = (\S+);', f.read(), re.M)
        return m[1] if m else default

    def links(self, *settings):
        """('all', 'all', 'rtt=40ms'), ..."""
        for a, b, setting in settings:
            self.must('link', a, b, setting)

    def servers_alive(self):
        """Every server that was started still runs: no crash during a test."""
        dead = [s for s in ([1] if STOCK else self.sites) if self.tb('server', s, 'pid').returncode]
        expect(not dead, f'servers {dead} died; last lines:\n' + '\n'.join(
            '\n'.join(self.log(s).splitlines()[-15:]) for s in dead))
