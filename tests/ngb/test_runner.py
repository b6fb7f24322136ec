#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The runner: all graphs of class S over three directories that are one, by a stand-in for ssh, and over three that share nothing; what fails
is said; a task that is killed while it writes leaves nothing that is read; numbers of threads are passed on, and bad ones refused.
usage: test_runner.py NGB_NODE [unittest arguments]"""
import csv
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import graphs
import sites

NODE = os.path.abspath(sys.argv.pop(1))
RUN = os.path.join(HERE, 'run')
FAKE_SSH = '#!/bin/sh\n[ "$1" != nobody ] || exit 255\nshift\nexec sh -c "$1"\n'


class Case(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix='ngb-runner-')
        self.addCleanup(shutil.rmtree, self.top)
        self.tree = self.directory('tree')
        self.mounts = [self.path(f'mount{i}') for i in (1, 2, 3)]
        for m in self.mounts:
            os.symlink(self.tree, m)
        self.ssh = self.path('ssh')
        with open(self.ssh, 'w') as f:
            f.write(FAKE_SSH)
        os.chmod(self.ssh, 0o755)

    def path(self, name):
        return os.path.join(self.top, name)

    def directory(self, name):
        os.mkdir(self.path(name))
        return self.path(name)

    def run_it(self, *args):
        """Its status and output; all it makes below the top."""
        r = subprocess.run([sys.executable, RUN, '--node', NODE, '--out', self.path('out'), '--local', self.top, '--ssh', self.ssh, *args],
                           capture_output=True, text=True, timeout=280, env={**os.environ, 'TMPDIR': self.top})
        return r.returncode, r.stdout + r.stderr

    def rows(self, name):
        with open(os.path.join(self.path('out'), name), newline='') as f:
            return list(csv.DictReader(f))

    def local(self, directory):
        return sites.Local(os.path.basename(directory), directory, NODE)


class Runner(Case):
    def test_all_graphs(self):
        status, out = self.run_it('--sites', ','.join(self.mounts), '--poll', '5')
        self.assertEqual(status, 0, out)
        for g in graphs.GRAPHS:
            self.assertRegex(out, rf'{g}\.S: turnaround .* verified')
        self.assertEqual(out.count('verified, largest'), 1 + 3 + 3 + 3)
        self.assertEqual(len(self.rows('runs.csv')), 8)
        tasks = [r for r in self.rows('tasks.csv') if r['label'] == 'run' and r['graph'] == 'HC']
        self.assertEqual([r['site'] for r in tasks], ['1', '2', '3'] * 3)
        self.assertEqual([r['kernel'] for r in tasks], ['BT', 'SP', 'LU'] * 3)
        self.assertEqual(os.listdir(self.tree), [])
        self.assertEqual(sorted(os.listdir(self.top)), ['mount1', 'mount2', 'mount3', 'out', 'ssh', 'tree'])

    def test_ssh(self):
        hosts = ','.join(f'host{i}:{m}' for i, m in enumerate(self.mounts))
        status, out = self.run_it('--graph', 'HC', '--sites', hosts, '--trials', '2', '--skip-kernels', '--keep')
        self.assertEqual(status, 0, out)
        self.assertEqual([r['trial'] for r in self.rows('runs.csv')], ['0', '1', '2'])
        self.assertEqual(len(os.listdir(self.tree)), 2)
        self.assertFalse([n for n in os.listdir(self.top) if n.startswith('tmp')], 'the copied programs')
        status, out = self.run_it('--graph', 'HC', '--sites', f'nobody:{self.tree}')
        self.assertEqual(status, 1)
        self.assertIn('status 255', out)

    def test_no_directory(self):
        status, out = self.run_it('--graph', 'HC', '--sites', f'{self.tree},/nowhere/at/all')
        self.assertEqual(status, 1)
        self.assertIn('is no directory', out)

    def test_sites_that_share_nothing(self):
        """A task's inputs never come, and that is said; with a way to carry files they do."""
        graph = graphs.Graph(NODE, 'MB', 'S')
        apart = [self.local(self.directory(f'apart{i}')) for i in (1, 2, 3)]
        with self.assertRaisesRegex(sites.Failed, 'No such file|timed out'):
            graphs.run(graph, apart, 'x', wait_s=1)
        carried = []

        def transfer(here, there, paths):
            self.assertTrue(paths[-1].endswith('/done'))
            carried.extend(paths)
            for path in paths:
                shutil.copyfile(f'{here.dir}/{path}', f'{there.dir}/{path}.part')
                os.rename(f'{there.dir}/{path}.part', f'{there.dir}/{path}')
        result = graphs.run(graph, apart, 'y', graphs.reference(graph, self.top).sums, transfer=transfer, look='name')
        self.assertEqual(len(result.rows), 9)
        # MB: 4 of the 7 arcs from layer to layer go to another site
        self.assertEqual(len([p for p in carried if not p.endswith('done')]), 8)

        def lose(here, there, paths):
            raise OSError('no way')
        with self.assertRaisesRegex(sites.Failed, r'from site apart\d to apart\d, z/0\d-LU/(c, z/0\d-LU/)?done: no way'):
            graphs.run(graph, apart, 'z', wait_s=20, transfer=lose)

    def test_another_result_is_refused(self):
        graph = graphs.Graph(NODE, 'HC', 'S')
        want = graphs.reference(graph, self.top).sums
        other = [l.replace('0', '1') for l in want]
        with self.assertRaisesRegex(sites.Failed, 'not what one local directory gives'):
            graphs.run(graph, [self.local(self.tree)], 'x', other)
        with self.assertRaisesRegex(sites.Failed, 'nothing'):
            graphs.run(graph, [self.local(self.tree)], 'y', want[:-1])


class Threads(Case):
    def kernel(self, threads):
        r = subprocess.run([NODE, 'kernel', 'MG', '--class', 'S', '--threads', threads], capture_output=True, text=True)
        return r.returncode, r.stdout + r.stderr

    def test_bad_numbers(self):
        for bad in ('0', '-1', '65', 'two', '2x', '', '1.5', '99999999999999999999'):
            self.assertEqual(self.kernel(bad), (2, f"ngb-node: --threads is a number from 1 to 64, not '{bad}'\n"))
        for bad in ('0', '65', 'two'):
            status, out = self.run_it('--graph', 'HC', '--sites', self.tree, '--threads', bad)
            self.assertEqual(status, 2)
            self.assertIn('--threads', out)
        self.assertEqual(os.listdir(self.tree), [])
        r = subprocess.run([NODE, 'task', '0', '--graph', 'HC', '--class', 'S', '--dir', self.tree, '--threads', '0'], stderr=subprocess.PIPE, text=True)
        self.assertEqual((r.returncode, 'from 1 to 64' in r.stderr), (2, True))

    def test_a_graph(self):
        """Each task and each kernel is told, and the sums are those of one thread. Without OpenMP: it says what to do."""
        said, node = self.path('said'), self.path('node')
        with open(node, 'w') as f:
            f.write(f'#!/bin/sh\necho "$@" >>{said}\nexec {NODE} "$@"\n')
        os.chmod(node, 0o755)
        status, out = self.run_it('--graph', 'HC', '--sites', ','.join(self.mounts), '--threads', '2', '--node', node)
        if self.kernel('2')[0]:
            self.assertEqual((status, self.kernel('2')[0]), (1, 2))
            self.assertIn('built without OpenMP', out)
            return
        self.assertEqual(status, 0, out)
        with open(said) as f:
            lines = f.read().splitlines()
        for verb, times, threads in (('task', 18, True), ('kernel', 3, True), ('report', 2, False)):
            told = [l.endswith('--threads 2') for l in lines if l.startswith(verb + ' ')]
            self.assertEqual(told, [threads] * times, verb)
        one, two = graphs.Graph(NODE, 'HC', 'S'), graphs.Graph(NODE, 'HC', 'S', 2)
        self.assertEqual(one.computing(), [])
        graphs.run(two, [self.local(self.tree)], 'x', graphs.reference(one, self.top).sums)


class Killed(Case):
    """VP of class W: MG writes 41 MB, and is killed by the kernel where it passes half of it."""
    HALF = 20 << 20

    def task(self, number, wait, **kw):
        return subprocess.Popen([NODE, 'task', str(number), '--graph', 'VP', '--class', 'W', '--dir', self.tree, '--poll', '1', '--wait', str(wait)],
                                stderr=subprocess.PIPE, text=True, **kw)

    def half(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.HALF, self.HALF))

    def test_killed_while_it_writes(self):
        subprocess.run([NODE, 'make', '--graph', 'VP', '--class', 'W', '--dir', self.tree], check=True)
        bt, consumer = self.task(0, 100), self.task(2, 100)
        self.addCleanup(consumer.kill)
        self.assertEqual(bt.wait(), 0)
        bt.stderr.close()
        mg, part = self.task(1, 100, preexec_fn=self.half), os.path.join(self.tree, '01-MG', '.u.part')
        self.assertEqual(mg.wait(), -signal.SIGXFSZ)
        mg.stderr.close()
        self.assertEqual(os.path.getsize(part), self.HALF)
        self.assertEqual(os.listdir(os.path.join(self.tree, '01-MG')), ['.u.part'])
        self.assertIsNone(consumer.poll(), 'it still waits')
        consumer.kill()
        consumer.communicate()
        late = self.task(2, 0.2)
        self.assertIn('waiting for 01-MG', late.communicate()[1])
        self.assertEqual(late.returncode, 3)


if __name__ == '__main__':
    unittest.main()
