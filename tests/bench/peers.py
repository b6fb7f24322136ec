"""The systems that the wide-area jobs are compared with, set up inside the bed's three sites, so that they use the same links.

	peers = Peers(bed)                    a bed of `testbed up --wire --local-stock`
	peers.gridftp(3); peers.rsync(3); peers.gluster(); peers.remote_nfs(3)
	...
	peers.down()                          every process by its number; the bed's end would take what is left

GridFTP: one server with anonymous clear-text access (no certificates and no encryption: the fastest it can be), its client copies from
site 1's disk. rsync: a daemon, no ssh. GlusterFS: a glusterd, a brick and a FUSE client at each site, in mount and network
namespaces of their own, because each takes /var/lib/glusterd and /run for itself; the client is the host's kernel, not a guest.
Remote NFS: the bed's stock Ganesha of site 1, mounted by another site's guest.

What is tuned, and to what, stands in TUNING and is printed with the results.
"""
import os
import re
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cluster', 'lib'))
import bed

PROGRAMS = ('globus-gridftp-server', 'globus-url-copy', 'gluster', 'glusterd', 'rsync')
STREAMS, BUFFER, BLOCK = 8, 16 << 20, 4 << 20
REMOTE = '/mnt'
GLUSTER_OPTIONS = {
    # For many small files over long links; from the project's own advice for small-file workloads.
    'cluster.eager-lock': 'on', 'performance.client-io-threads': 'on', 'client.event-threads': '4', 'server.event-threads': '4',
    'network.inode-lru-limit': '50000', 'features.cache-invalidation': 'on', 'features.cache-invalidation-timeout': '600',
    'performance.cache-invalidation': 'on', 'performance.stat-prefetch': 'on', 'performance.md-cache-timeout': '600',
    'cluster.lookup-optimize': 'on', 'cluster.choose-local': 'on', 'performance.write-behind-window-size': '64MB',
}
TUNING = {
    'all': 'tcp_rmem and tcp_wmem up to 32 MiB; the same TCP congestion control for every system',
    'gridftp': f'-p {STREAMS} -tcp-bs {BUFFER} -bs {BLOCK}, clear text, one connection set-up included',
    'rsync': f'daemon, -W --inplace (no delta search), socket buffers of {BUFFER} bytes; several sites in parallel',
    'gluster': 'replica 3, FUSE, ' + ', '.join(f'{k}={v}' for k, v in GLUSTER_OPTIONS.items()),
    'remote-nfs': 'vers=4.2, nconnect=8, read_ahead_kb=16384',
}
GLUSTER_SITE = '''
mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -p /run/gluster "$1/lib" "$1/log" "$1/brick" "$1/mnt" &&
mount --bind "$1/lib" /var/lib/glusterd && mount --bind "$1/log" /var/log/glusterfs || exit 1
exec setpriv --pdeathsig KILL glusterd -N --volfile="$1/glusterd.vol" -p "$1/pid" --log-level=WARNING
'''
GLUSTER_VOL = '''volume management
    type mgmt/glusterd
    option working-directory /var/lib/glusterd
    option transport-type socket
    option transport.address-family inet
    option transport.socket.bind-address {address}
    option transport.socket.keepalive-time 10
    option transport.socket.keepalive-interval 2
    option ping-timeout 0
    option event-threads 1
end-volume
'''
RSYNCD = '''use chroot = no
uid = root
gid = root
socket options = SO_SNDBUF={buffer},SO_RCVBUF={buffer}
[to]
path = {path}
read only = no
'''


def missing(programs=PROGRAMS):
    """Programs that this machine lacks."""
    return [p for p in programs if not shutil.which(p)]


def versions(programs=PROGRAMS):
    out = []
    for argv in (['globus-gridftp-server', '-version'], ['globus-url-copy', '-version'], ['rsync', '--version'], ['gluster', '--version']):
        if argv[0] not in programs:
            continue
        r = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        out.append((r.stdout or r.stderr).strip().partition('\n')[0])
    return out


def address(site):
    return f'10.0.{site}.1'


def read_ahead(mount):
    """A shell command that makes it long for an NFS mount."""
    return f'echo 16384 >/sys/class/bdi/$(stat -c "%d" {mount} | awk \'{{ print int($1 / 256) ":" $1 % 256 }}\')/read_ahead_kb'


def run(argv, seconds, **kw):
    r = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, **kw)
    bed.expect(r.returncode == 0, f'{program(argv)[0]}: status {r.returncode}: {(r.stdout + r.stderr)[-1000:]}')
    return r.stdout


def program(argv):
    """Without what only brings it to its place."""
    argv = list(map(str, argv))
    return argv[argv.index('LANG=C') + 1:] if 'LANG=C' in argv else argv[argv.index('--') + 1:] if '--' in argv else argv


class Peers:
    def __init__(self, b):
        self.b, self.dir, self.running, self.said = b, os.path.join(b.run, 'peers'), [], set()
        os.makedirs(self.dir, exist_ok=True)
        with open(os.path.join(b.run, 'pid1')) as f:
            self.pid1 = f.read().strip()
        self.gluster_pids, self.remote_sites = {}, []
        self.lock, self.lists = threading.Lock(), 0
        # GridFTP looks up the name of every address, and there is no name server here. Only the bed sees this file.
        with open(f'{self.dir}/hosts', 'w') as f:
            f.write(f'127.0.0.1 localhost {os.uname().nodename}\n' + ''.join(f'{address(s)} site{s}\n' for s in b.sites))
        run(['nsenter', '-t', self.pid1, '-m', '--', 'mount', '--bind', f'{self.dir}/hosts', '/etc/hosts'], 20)

    # ---- processes in a site's network

    def at(self, site, *argv):
        """The command line of a program at a site."""
        return ['nsenter', '-t', self.pid1, '-a', '--', 'ip', 'netns', 'exec', f's{site}', 'env', 'LANG=C', *map(str, argv)]

    def say(self, argv):
        """Each kind of command once, as it was run."""
        text = ' '.join(program(argv))
        kind = re.sub(r'\d+', 'N', text)
        if kind not in self.said:
            self.said.add(kind)
            print(f'  $ {text}', flush=True)

    def command(self, site, *argv, seconds=600):
        """Seconds that it took."""
        line = self.at(site, *argv)
        self.say(line)
        start = time.monotonic()
        run(line, seconds)
        return time.monotonic() - start

    def daemon(self, site, name, argv, port):
        """It dies with its starter, whose number we have."""
        line = self.at(site, 'setpriv', '--pdeathsig', 'TERM', *argv)
        self.say(line)
        with open(f'{self.dir}/{name}{site}.out', 'w') as out:
            p = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.running.append(p)

        def listens():
            with open(f'{self.dir}/{name}{site}.out') as f:
                bed.expect(p.poll() is None, f'{name} at site {site} ended: {f.read()[-2000:]}')
            return subprocess.run(self.at(site, 'ss', '-Htln', f'sport = {port}'), capture_output=True, text=True).stdout
        bed.eventually(20, listens, f'{name} at site {site} does not listen')

    def directory(self, name, site):
        d = f'{self.dir}/{name}{site}'
        os.makedirs(d, exist_ok=True)
        return d

    # ---- GridFTP and rsync

    def gridftp(self, site):
        os.chmod(os.path.dirname(self.b.run), 0o711)          # it never works as root
        self.daemon(site, 'gridftp', ['globus-gridftp-server', '-aa', '-anonymous-user', 'nobody', '-anonymous-group', 'nogroup', '-p', 2811,
                                      '-control-interface', address(site), '-data-interface', address(site), '-s'], 2811)

    def gridftp_copy(self, path, site):
        """From site 1 to a site; (seconds, where it is now)."""
        os.chmod(self.directory('gridftp-', site), 0o777)
        to = f'{self.directory("gridftp-", site)}/{os.path.basename(path)}'
        return self.command(1, 'globus-url-copy', '-p', STREAMS, '-tcp-bs', BUFFER, '-bs', BLOCK, f'file://{path}',
                            f'ftp://{address(site)}:2811{to}'), to

    def gridftp_list(self, here, there, pairs):
        """[(path here, path there), ..], all at once."""
        for _, to in pairs:
            os.chmod(os.path.dirname(to), 0o777)        # the server never works as root
        with self.lock:
            self.lists += 1
            name = f'{self.dir}/list{self.lists}'
        with open(name, 'w') as f:
            f.writelines(f'file://{path} ftp://{address(there)}:2811{to}\n' for path, to in pairs)
        self.command(here, 'globus-url-copy', '-p', STREAMS, '-tcp-bs', BUFFER, '-bs', BLOCK, '-fast', '-cc', len(pairs), '-f', name)
        os.unlink(name)

    def rsync(self, site):
        conf = f'{self.dir}/rsyncd{site}.conf'
        with open(conf, 'w') as f:
            f.write(RSYNCD.format(buffer=BUFFER, path=self.directory('rsync-', site)))
        self.daemon(site, 'rsync', ['rsync', '--daemon', '--no-detach', '--address', address(site), '--port', 873, '--config', conf], 873)

    def rsync_copy(self, path, site):
        """A file, or a directory with what is in it."""
        seconds = self.command(1, 'rsync', '-aW', '--inplace', f'--sockopts=SO_SNDBUF={BUFFER},SO_RCVBUF={BUFFER}', path,
                               f'rsync://{address(site)}/to/')
        return seconds, f'{self.directory("rsync-", site)}/{os.path.basename(path)}'

    # ---- GlusterFS

    def in_gluster(self, site, *argv):
        return ['nsenter', '-t', str(self.gluster_pids[site]), '-m', '-n', '-p', '-i', '-u', '--', *map(str, argv)]

    def gluster_command(self, *argv, seconds=120):
        line = self.in_gluster(1, 'gluster', '--mode=script', *argv)
        self.say(line)
        return run(line, seconds)

    def gluster(self, sites=(1, 2, 3)):
        for s in sites:
            d = self.directory('gluster', s)
            with open(f'{d}/glusterd.vol', 'w') as f:
                f.write(GLUSTER_VOL.format(address=address(s)))
            with open(f'{d}/out', 'w') as out:
                p = subprocess.Popen(self.at(s, 'unshare', '-m', 'sh', '-c', GLUSTER_SITE, 'sh', d), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            self.running.append(p)
            self.gluster_pids[s] = bed.eventually(20, lambda p=p: self.child_named(p, 'glusterd'), f'no glusterd at site {s}')

        def answers():
            return subprocess.run(self.in_gluster(1, 'gluster', 'peer', 'status'), capture_output=True).returncode == 0
        bed.eventually(30, answers, 'glusterd does not answer')
        for s in sites[1:]:
            self.gluster_command('peer', 'probe', address(s))
        bed.eventually(30, lambda: self.gluster_command('peer', 'status').count('Peer in Cluster (Connected)') == len(sites) - 1,
                       'the glusterds do not find each other')
        self.gluster_command('volume', 'create', 'v', 'replica', len(sites), *(f'{address(s)}:{self.dir}/gluster{s}/brick' for s in sites), 'force')
        for k, v in GLUSTER_OPTIONS.items():
            self.gluster_command('volume', 'set', 'v', k, v)
        self.gluster_command('volume', 'start', 'v')
        for s in sites:
            line = self.in_gluster(s, 'mount', '-t', 'glusterfs', f'{address(s)}:/v', self.gluster_mount(s))
            self.say(line)
            run(line, 60)

    @staticmethod
    def child_named(p, name):
        """nsenter forks to be in the pid namespace; its child becomes the program."""
        bed.expect(p.poll() is None, f'{name} ended')
        with open(f'/proc/{p.pid}/task/{p.pid}/children') as f:
            for child in f.read().split():
                with open(f'/proc/{child}/comm') as c:
                    if c.read().strip() == name:
                        return int(child)
        return None

    def gluster_mount(self, site):
        return f'{self.dir}/gluster{site}/mnt'

    def gluster_start(self, site, *argv):
        """A Python program at the site, which sees the mount."""
        return subprocess.Popen(self.in_gluster(site, '/usr/bin/python3', *argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def gluster_down(self):
        for s in self.gluster_pids:
            subprocess.run(self.in_gluster(s, 'umount', self.gluster_mount(s)), capture_output=True, timeout=60)
        if self.gluster_pids:
            subprocess.run(self.in_gluster(1, 'gluster', '--mode=script', 'volume', 'stop', 'v', 'force'), capture_output=True, timeout=120)
        self.gluster_pids = {}

    # ---- stock NFS from another site

    def remote_nfs(self, site):
        options = 'vers=4.2,hard,nconnect=8,port=2050'
        print(f'  $ mount -t nfs4 -o {options} {address(1)}:/data {REMOTE}', flush=True)
        self.b.sh(site, f'mount -t nfs4 -o {options} {address(1)}:/data {REMOTE} && {read_ahead(REMOTE)}')
        self.remote_sites.append(site)

    # ---- the end

    def congestion(self, name):
        """Of every connection that begins from now on and does not choose by itself."""
        for s in self.b.sites:
            run(['nsenter', '-t', self.pid1, '-a', '--', 'ip', '-n', f's{s}', 'route', 'replace', '10.0.0.0/16', 'via', f'10.0.{s}.254', 'congctl', name], 20)

    def down(self):
        for s in self.remote_sites:
            self.b.status_of(s, f'umount -f -l {REMOTE}')
        try:
            self.gluster_down()
        except subprocess.TimeoutExpired as e:
            print(f'  gluster: {e}', file=sys.stderr)
        for p in self.running:
            p.terminate()
        for p in self.running:
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        self.running = []
