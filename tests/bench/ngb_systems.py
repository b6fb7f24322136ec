# SPDX-License-Identifier: LGPL-3.0-or-later
"""The ways of sharing files that ngb.py compares: what the bed is, where the tasks' directories are, what carries the files.

Every system has the same three sites and links, the same TCP congestion control (BBR, in the servers and in the clients) and buffers up to 32 MiB. All tasks
run in the bed's three clients, except GlusterFS's: those run beside its FUSE mounts, on the host, which is faster than a client of the bed.
What each is tuned to stands in `tuning` and is printed with the results, as are the commands of the peers (peers.py).
"""
import os

import peers
import bed      # noqa: E402  (peers has its folder in the path)
import sites as where

NODE = os.path.join(bed.ROOT, 'build/release/tests/ngb/ngb-node')
NEAR_MS = 0.2           # no delay added; the router alone
DAY_S = 24 * 3600
# A task looks for a name until it is there: the client shall not believe for longer than the server that it is not.
MOUNT = 'vers=4.2,lookupcache=pos,nconnect=8'
MOUNTED = f'mount -o {MOUNT},hard, read_ahead_kb=16384'       # alike for every file server, or the clients would be compared


def mount(b):
    b.remount(MOUNT)
    bed.everywhere(lambda s: b.sh(s, peers.read_ahead('/nfs')), b.sites)


class System:
    """up: options of `testbed up`. needs: programs that must be installed."""
    name, title, up, tuning, needs = None, None, (), '', ()

    def __init__(self):
        self.peers = None

    @classmethod
    def between(cls, rtt_ms):
        """The bed's round trip time, when others have that one."""
        return rtt_ms

    def prepare(self, b):
        """Once, when the bed is up."""
        self.peers = peers.Peers(b)
        self.peers.congestion('bbr')
        bed.everywhere(lambda s: b.sh(s, 'modprobe tcp_bbr && sysctl -qw net.ipv4.tcp_congestion_control=bbr'), b.sites)
        self.share(b)

    def share(self, b):
        """The peer's own part of that."""

    def sites(self, b):
        return [where.Guest(str(s), b.command(), s, '/nfs', NODE, DAY_S) for s in b.sites]

    transfer = None     # or a function (from site, to site, paths), where the sites share no tree

    def settle(self, b):
        """Before each run: nothing of the one before is still going on."""

    def teardown(self):
        if self.peers:
            self.peers.down()


class Remote(System):
    name, title, up = 'remote', 'one server at site 1', ('--stock',)
    tuning = f'stock Ganesha, FSAL_VFS; {MOUNTED}'

    def share(self, b):
        mount(b)


class Local(Remote):
    name, title = 'local', 'one local server'
    tuning = f'the same as remote, {NEAR_MS} ms apart, measured again beside each round trip time of the others: the floor'

    @classmethod
    def between(cls, rtt_ms):
        return NEAR_MS


class Replicated(System):
    name, title = 'repl', 'NFSv4.r'
    tuning = f'defaults; {MOUNTED}'

    def share(self, b):
        mount(b)

    def settle(self, b):
        b.no_controls(300)


class GridFtp(System):
    """Each site's tasks work in a directory of the site's disk. What one has written goes by one globus-url-copy to each site that reads it, begun when the
    task has ended, without a look from afar. When all of it is there the record gets its name, at no cost, so that nobody reads half of anything."""
    name, title, up = 'gridftp', 'GridFTP', ('--stock',)
    tuning = peers.TUNING['gridftp'] + ', -fast -cc N -f (all N files of a task at once)'
    needs = ('globus-gridftp-server', 'globus-url-copy')

    def share(self, b):
        for s in b.sites:
            self.peers.gridftp(s)
            os.chmod(self.disk(s), 0o777)

    def disk(self, site):
        """Where the site's GridFTP server has what its tasks work on."""
        return self.peers.directory('gridftp-', site)

    def seen(self, site):
        """Where the tasks see that."""
        return self.disk(site)

    def sites(self, b):
        return [where.Guest(str(s), b.command(), s, self.seen(s), NODE, DAY_S) for s in b.sites]

    def transfer(self, here, there, paths):
        last, source, to = paths[-1], self.disk(here.name), self.disk(there.name)
        self.peers.gridftp_list(int(here.name), int(there.name), [(f'{source}/{p}', f'{to}/{p}' + ('.part' if p == last else '')) for p in paths])
        os.rename(f'{to}/{last}.part', f'{to}/{last}')


class GridFtpNfs(GridFtp):
    """The same, and the tasks are clients of their site's file server, as those of NFSv4.r are: what is left of the difference is how the bytes travel."""
    name, title, up = 'gridftp-nfs', 'GridFTP, tasks behind NFS', ('--stock', '--local-stock')
    tuning = GridFtp.tuning + f'; stock Ganesha, FSAL_VFS, at each site; {MOUNTED}'

    def disk(self, site):
        return f'{self.peers.b.run}/g{site}/stock/data/gridftp'

    def seen(self, site):
        return '/stock/gridftp'

    def share(self, b):
        bed.everywhere(lambda s: b.sh(s, f'umount /stock && mount -t nfs4 -o {MOUNT},hard,port=2050 {peers.address(s)}:/data /stock && '
                                         f'mkdir /stock/gridftp && {peers.read_ahead("/stock")}'), b.sites)
        super().share(b)


class Inside(where.Local):
    """A site's GlusterFS mount, on the host."""

    def __init__(self, site, p):
        super().__init__(str(site), p.gluster_mount(site), NODE)
        self.prefix = p.in_gluster(site, 'setpriv', '--pdeathsig', 'KILL')

    def command(self, argv):
        return [*self.prefix, *argv]


class Gluster(System):
    name, title, up = 'gluster', 'GlusterFS', ('--stock',)
    tuning = peers.TUNING['gluster']
    needs = ('gluster', 'glusterd')

    def share(self, b):
        self.peers.gluster()

    def sites(self, b):
        return [Inside(s, self.peers) for s in b.sites]


SYSTEMS = (Remote, Gluster, Local, Replicated, GridFtpNfs, GridFtp)        # measured in this order: neighbours are compared
