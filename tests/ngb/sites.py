# SPDX-License-Identifier: LGPL-3.0-or-later
"""Where tasks run: at a site there is a directory, the same tree at all sites, and a way to start a program beside it."""
import os
import shlex
import subprocess


class Failed(Exception):
    """What went wrong; the text says it all."""


class Local:
    """A directory of this machine."""

    def __init__(self, name, directory, node):
        self.name, self.dir, self.node = name, directory, node

    def command(self, argv):
        return list(argv)

    def prepare(self):
        if not os.path.isdir(self.dir):
            raise Failed(f'{self.name}: {self.dir} is no directory')

    def finish(self):
        pass

    def call(self, argv, timeout=120):
        """Its output; Failed when it fails."""
        r = subprocess.run(self.command(argv), capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
        if r.returncode:
            raise Failed(f'{self.name}: {shlex.join(argv)}: status {r.returncode}\n{r.stdout}{r.stderr}')
        return r.stdout


class Ssh(Local):
    """A directory of another machine. The program is copied there for the time of the run, unless it is said to be there."""

    def __init__(self, name, host, directory, node, there=None, ssh='ssh'):
        super().__init__(name, directory, there)
        self.host, self.binary, self.ssh, self.copy = host, node, shlex.split(ssh), None

    def command(self, argv):
        return [*self.ssh, self.host, shlex.join(argv)]

    def prepare(self):
        self.call(['test', '-d', self.dir])
        if self.node:
            return
        script = 'd=$(mktemp -d) && cat >"$d/ngb-node" && chmod 700 "$d/ngb-node" && echo "$d"'
        with open(self.binary, 'rb') as f:
            r = subprocess.run([*self.ssh, self.host, script], stdin=f, capture_output=True, timeout=300)
        self.copy = r.stdout.decode().strip()
        if r.returncode or not self.copy:
            raise Failed(f'{self.name}: cannot copy ngb-node there: {r.stderr.decode()}')
        self.node = f'{self.copy}/ngb-node'

    def finish(self):
        if self.copy:
            self.call(['rm', '-r', self.copy])
            self.node = self.copy = None


class Guest(Local):
    """The NFS client of a site of the test bed (tests/cluster). It sees the checkout and /tmp of this machine."""

    def __init__(self, name, bed_command, site, directory, node, seconds=3600):
        super().__init__(name, directory, node)
        self.prefix = [*bed_command, 'sh', str(site), '-n', '-t', str(seconds), '--']

    def command(self, argv):
        return [*self.prefix, *argv]

    def prepare(self):
        self.call(['test', '-d', self.dir])


def parse(text, node, there=None, ssh='ssh'):
    """DIR,DIR,DIR or HOST:DIR,HOST:DIR,HOST:DIR, or mixed; any number of them."""
    sites = []
    for n, part in enumerate(text.split(','), 1):
        host, colon, directory = part.partition(':')
        if not part:
            raise Failed(f'an empty site in {text}')
        if colon and '/' not in host:
            sites.append(Ssh(f'{n} ({host})', host, directory, node, there, ssh))
        else:
            sites.append(Local(str(n), os.path.abspath(part), node))
    return sites
