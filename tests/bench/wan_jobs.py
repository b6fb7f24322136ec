"""Wide-area jobs: the replicated servers beside GridFTP, rsync, GlusterFS and stock NFS over the same links. Parts of bench.py:

	wan-files     a file written at site 1, until its last byte is readable at site 3: --mb by --loss at --rate and the RTT
	wan-small     files of 1 KiB made at site 1, until all are there at sites 2 and 3; per file, since the slow ones make fewer

`close to last byte` begins at the writer's CLOSE. For the replicated servers it ends when site 3's server has all of it on its own disk (and with
`, read` when a program in site 3's client, which waits for the file, has read and checked it); for a copy when the command ends,
which begins at CLOSE. `rate` has the writing in it: bytes of the file by the time from the first write to the last byte. The replicated
servers send to two sites at the same time, a copy to one.
`link` is one TCP connection of iperf3 with BBR in the same run: what the emulated link and this machine let through. `idle` is what of the
processors was left over during a measurement: where it is nothing, the machine was the limit.
"""
import json
import os
import statistics
import subprocess
import threading
import time

import peers
import bed      # noqa: E402  (peers has its folder in the path)

FAR = 3
REMOTE_FILES, GLUSTER_FILES = 60, 100
SYSTEMS = ('nfs4r', 'gridftp', 'rsync', 'gluster', 'remote-nfs', 'local')
HERE = os.path.dirname(os.path.abspath(__file__))


def jiffies():
    with open('/proc/stat') as f:
        v = [int(x) for x in f.readline().split()[1:9]]
    return v[3] + v[4], sum(v)


class Wan:
    """bench: runner.Bench. options: mb, loss, rate, cc, systems, small, trials."""

    def __init__(self, bench, rows):
        self.bench, self.b, self.o = bench, bench.b, bench.o
        self.peers = peers.Peers(self.b)
        self.rows = rows        # (job, unit, condition): {system: [values]}
        self.clock = {s: self.b.clock(s)[0] for s in self.b.sites}
        self.work = os.path.join(HERE, 'work_wan.py')

    # ---- what was measured

    def put(self, job, condition, system, value, unit):
        self.bench.res.trial('wan', f'{job}, {condition}', system, self.bench.rtt_ms, value, unit)
        self.rows.setdefault((job, unit, f'RTT {self.bench.rtt_ms:g} ms, {condition}'), {}).setdefault(system, []).append(value)

    def measured(self, job, condition, system, function):
        """function() -> {measure: (value, unit)}; what fails is told, and the other systems go on."""
        idle, total = jiffies()
        try:
            got = function()
        except (bed.Failed, OSError, subprocess.SubprocessError) as e:
            self.bench.res.failed('wan', self.bench.rtt_ms, f'{job}, {system}, {condition}: {e}')
            return
        idle2, total2 = jiffies()
        for measure, (value, unit) in got.items():
            self.put(f'{job}: {measure}', condition, system, value, unit)
        self.put(f'{job}: idle', condition, system, 100 * (idle2 - idle) / max(1, total2 - total), '%')

    def in_guest(self, site, *args):
        """The job's times, on this host's clock."""
        got = self.bench.work(site, 'work_wan.py', *args)
        return {k: v - self.clock[site] for k, v in got.items()}

    def started(self, site, *args):
        return self.bench.start(site, 'work_wan.py', *args)

    def finished(self, site, process):
        return {k: v - self.clock[site] for k, v in self.bench.finish(process).items()}

    def on_host(self, *args):
        r = peers.run(['/usr/bin/python3', self.work, *args], self.o.limit)
        return json.loads(r.strip().splitlines()[-1])

    # ---- when another site's copy has everything

    def lag(self, site):
        for p in self.bench.ctl(1, 'status')['peers']:
            if p['server'] == site:
                return p['has_of_our_log']['lag_entries']
        raise bed.Failed(f'server 1 does not know server {site}')

    def when_there(self, sites, there):
        """A thread that notes the time at which there(site) is true and the site has all of server 1's log; result()."""
        at = {}

        def watch(site):
            end = time.time() + self.o.limit
            while time.time() < end and site not in at:
                if there(site) and self.lag(site) == 0:
                    at[site] = time.time()
                time.sleep(0.01)
        threads = [threading.Thread(target=watch, args=(s,)) for s in sites]
        for t in threads:
            t.start()

        def result():
            for t in threads:
                t.join()
            bed.expect(len(at) == len(sites), f'not within {self.o.limit} s: all updates at sites {sites}')
            return max(at.values())
        return result

    # ---- one file

    def nfs4r_file(self, mb, reader):
        name, size = f'{self.bench.name()}', mb << 20
        self.b.sh(1, f': >/nfs/{name}')     # so that no client remembers that there was none
        self.bench.settle()
        waiting = self.started(FAR, 'await', f'/nfs/{name}', size) if reader else None
        if reader:
            time.sleep(1)
        copy = f'{self.b.data(FAR)}/{name}'
        there = self.when_there([FAR], lambda s: os.path.getsize(copy) >= size)
        w = self.in_guest(1, 'write', f'/nfs/{name}', mb)
        last = there()
        out = {'close to last byte': (last - w['close'], 's'), 'rate': (size * 8e-6 / (last - w['start']), 'Mbit/s')}
        if waiting:
            r = self.finished(FAR, waiting)
            out = {'close to last byte, read': (r['end'] - w['close'], 's'), 'copy complete to last byte, read': (r['end'] - last, 's')}
        self.b.sh(1, f'rm /nfs/{name}', timeout=120)
        return out

    def stock_file(self, mount, mb, reader_site, reader_mount):
        """Written at site 1's own stock server; who waits for it reads it there."""
        name, size = self.bench.name(), mb << 20
        self.b.sh(1, f': >{mount}/{name}')
        waiting = self.started(reader_site, 'await', f'{reader_mount}/{name}', size)
        time.sleep(1)
        w = self.in_guest(1, 'write', f'{mount}/{name}', mb)
        r = self.finished(reader_site, waiting)
        self.b.sh(1, f'rm {mount}/{name}', timeout=120)
        return {'close to last byte, read': (r['end'] - w['close'], 's')}

    def gluster_file(self, mb):
        mount = self.peers.gluster_mount
        name, size = self.bench.name(), mb << 20
        reader = self.peers.gluster_start(FAR, self.work, 'await', f'{mount(FAR)}/{name}', size)
        time.sleep(1)
        writer = self.peers.gluster_start(1, self.work, 'write', f'{mount(1)}/{name}', mb)
        w, r = self.bench.finish(writer), self.bench.finish(reader)
        peers.run(self.peers.in_gluster(1, 'rm', f'{mount(1)}/{name}'), 120)
        return {'close to last byte': (w['end'] - w['close'], 's'), 'close to last byte, read': (r['end'] - w['close'], 's'),
                'rate': (size * 8e-6 / (w['end'] - w['start']), 'Mbit/s')}

    def copied_file(self, copy, mb):
        path = os.path.join(self.peers.directory('source', 1), f'f{mb}')
        w = self.on_host('write', path, mb)
        seconds, to = copy(path, FAR)
        bed.expect(subprocess.run(['cmp', path, to]).returncode == 0, f'{to} differs')
        os.unlink(to)
        return {'close to last byte': (seconds, 's'), 'rate': ((mb << 20) * 8e-6 / (seconds + w['close'] - w['start']), 'Mbit/s')}

    def link_rate(self, seconds=12):
        server = subprocess.Popen(self.peers.at(FAR, 'setpriv', '--pdeathsig', 'KILL', 'iperf3', '-s', '-1'), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            line = self.peers.at(1, 'iperf3', '-c', peers.address(FAR), '-C', 'bbr', '-t', seconds, '-O', 3, '-J')
            self.peers.say(line)
            return {'rate': (json.loads(peers.run(line, 60))['end']['sum_received']['bits_per_second'] / 1e6, 'Mbit/s')}
        finally:
            server.kill()
            server.wait()

    def file_systems(self):
        every = {'nfs4r': lambda mb: {**self.nfs4r_file(mb, False), **self.nfs4r_file(mb, True)},
                 'gridftp': lambda mb: self.copied_file(self.peers.gridftp_copy, mb),
                 'rsync': lambda mb: self.copied_file(self.peers.rsync_copy, mb),
                 'gluster': self.gluster_file,
                 'remote-nfs': lambda mb: self.stock_file('/stock', mb, FAR, peers.REMOTE),
                 'local': lambda mb: self.stock_file('/stock', mb, 1, '/stock')}
        return {n: f for n, f in every.items() if n in self.o.systems}

    def files(self):
        systems = self.file_systems()
        for loss in self.o.loss:
            self.b.must('link', 'all', 'all', f'loss={loss}%')
            for trial in range(self.o.trials):
                self.measured('file', self.condition(loss), 'link', self.link_rate)
                for mb in self.o.mb:
                    for name, run in systems.items():
                        self.measured(f'{mb} MB', self.condition(loss), name, lambda r=run, m=mb: r(m))
        self.b.must('link', 'all', 'all', 'loss=0%')

    def condition(self, loss):
        return f'{self.o.rate}, loss {loss:g} %, {self.o.cc}'

    # ---- many small files

    def nfs4r_small(self):
        n, name = self.o.small, self.bench.name()
        self.bench.settle()
        there = self.when_there([2, 3], lambda s: os.path.isdir(f'{self.b.data(s)}/{name}') and len(os.listdir(f'{self.b.data(s)}/{name}')) >= n)
        w = self.in_guest(1, 'many', f'/nfs/{name}', n)
        last = there()
        r = self.in_guest(FAR, 'await-many', f'/nfs/{name}', n)
        return self.per_file(n, w, last, r)

    def gluster_small(self):
        n, name = min(self.o.small, GLUSTER_FILES), self.bench.name()
        mount = self.peers.gluster_mount
        w = self.bench.finish(self.peers.gluster_start(1, self.work, 'many', f'{mount(1)}/{name}', n))
        r = self.bench.finish(self.peers.gluster_start(FAR, self.work, 'await-many', f'{mount(FAR)}/{name}', n))
        return self.per_file(n, w, w['end'], r)

    def stock_small(self, site, mount, n):
        """Visible everywhere at once: there is one server."""
        name = self.bench.name()
        w = self.in_guest(site, 'many', f'{mount}/{name}', n)
        return self.per_file(n, w, w['end'], None)

    def rsync_small(self):
        n, name = self.o.small, self.bench.name()
        path = os.path.join(self.peers.directory('source', 1), name)
        w = self.on_host('many', path, n)
        sent = bed.everywhere(lambda s: self.peers.rsync_copy(path, s)[0], (2, 3))
        return self.per_file(n, w, w['end'] + max(sent.values()), None)

    @staticmethod
    def per_file(n, w, last, r):
        out = {'made': ((w['end'] - w['start']) / n * 1000, 'ms/file'), 'visible at all sites': ((last - w['start']) / n * 1000, 'ms/file')}
        if r:
            out['last close to all read at site 3'] = (r['end'] - w['end'], 's')
        return out

    def small(self):
        every = {'nfs4r': self.nfs4r_small, 'rsync': self.rsync_small, 'gluster': self.gluster_small,
                 'remote-nfs': lambda: self.stock_small(FAR, peers.REMOTE, REMOTE_FILES if self.bench.rtt_ms >= 1 else self.o.small),
                 'local': lambda: self.stock_small(1, '/stock', self.o.small)}
        for _ in range(self.o.trials):
            for name, run in every.items():
                if name in self.o.systems:
                    self.measured('small files', self.condition(0), name, run)

    # ---- the part

    def set_up(self):
        ways = {'gridftp': [lambda: self.peers.gridftp(FAR)], 'rsync': [lambda s=s: self.peers.rsync(s) for s in (2, 3)],
                'gluster': [self.peers.gluster], 'remote-nfs': [lambda: self.peers.remote_nfs(FAR)]}
        self.peers.congestion(self.o.cc)
        for name in self.o.systems:
            for f in ways.get(name, []):
                f()


def table(rows):
    """Markdown: a line for each job and condition, a column for each system, mean and standard deviation."""
    systems = [s for s in ('link', *SYSTEMS) if any(s in r for r in rows.values())]
    out = ['| job | conditions | unit | ' + ' | '.join(systems) + ' |', '|' + ' --- |' * (3 + len(systems))]
    for (job, unit, condition), values in rows.items():
        out.append(f'| {job} | {condition} | {unit} | ' + ' | '.join(cell(values.get(s)) for s in systems) + ' |')
    return out


def cell(values):
    if not values:
        return '-'
    mean = statistics.fmean(values)
    digits = 0 if mean >= 100 else 1 if mean >= 10 else 2
    spread = f' ± {statistics.stdev(values):.{digits}f}' if len(values) > 1 else ''
    return f'{mean:.{digits}f}{spread}'


def run(bench, parts, rtt, rows):
    """In a bed that has this round trip time and this rate from the beginning: connections that were made over another link would first
    have to unlearn it. Adds to the table's rows."""
    wan = Wan(bench, rows)
    bench.rtt_ms = rtt
    bench.ping()
    try:
        wan.set_up()
        if 'wan-files' in parts:
            wan.files()
        if 'wan-small' in parts:
            wan.small()
    finally:
        wan.peers.down()
