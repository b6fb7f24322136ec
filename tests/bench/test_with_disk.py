#!/usr/bin/python3
"""The disk that is at /tmp for one program only (with-disk)."""
import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
DISK = os.path.join(HERE, 'with-disk')


class WithDisk(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix='nfs4r-disk-', dir='/tmp')
        self.addCleanup(shutil.rmtree, self.dir)

    def run_in(self, *command, program=DISK, size='64M', where=None, cwd=None):
        return subprocess.run([program, '-s', size, where or self.dir, *command], capture_output=True, text=True, cwd=cwd, timeout=60, stdin=subprocess.DEVNULL)

    def must(self, *command, **more):
        r = self.run_in(*command, **more)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        return r.stdout.strip()

    def refused(self, text, *command, **more):
        r = self.run_in(*command, **more)
        self.assertEqual(r.returncode, 125)
        self.assertIn(text, r.stderr)

    def test_it_is_ext4_with_a_journal(self):
        out = self.must('sh', '-c', 'findmnt -no FSTYPE /tmp; dumpe2fs -h "$(findmnt -no SOURCE /tmp)" 2>/dev/null')
        self.assertEqual(out.split()[0], 'ext4')
        self.assertIn('has_journal', out)

    def test_nobody_else_sees_it_and_nothing_stays(self):
        name = f'{os.path.basename(self.dir)}.file'
        there = {'lost+found', *([HERE.split('/')[2]] if HERE.startswith('/tmp/') else [])}        # the checkout may lie in /tmp
        self.assertEqual(set(self.must('sh', '-c', f'ls -A /tmp; touch /tmp/{name}').split()), there)
        self.assertFalse(os.path.exists(f'/tmp/{name}'))
        self.assertEqual(os.listdir(self.dir), [])
        backed = subprocess.run(['losetup', '--list', '--noheadings', '--output', 'BACK-FILE'], capture_output=True, text=True, check=True).stdout
        self.assertNotIn(self.dir, backed)

    def test_the_command_is_as_without_it(self):
        self.assertEqual(self.must('sh', '-c', 'pwd; echo "$1"', 'sh', 'a  b', cwd='/usr'), '/usr\na  b')
        self.assertEqual(self.run_in('sh', '-c', 'exit 7').returncode, 7)

    def test_a_checkout_in_tmp_is_seen(self):
        own = os.path.join(self.dir, 'tests/bench')
        os.makedirs(own)
        shutil.copy(DISK, own)
        where = os.path.join(self.dir, 'images')
        os.mkdir(where)
        self.assertEqual(self.must('sh', '-c', 'pwd; ls tests/bench', program=f'{own}/with-disk', where=where, cwd=self.dir), f'{self.dir}\nwith-disk')
        self.assertEqual(os.listdir(where), [])

    def test_what_is_wrong_is_said(self):
        self.refused('no image can be made in /nowhere', 'true', where='/nowhere')
        self.refused('no file system of 8 can be made', 'true', size='8')
        self.refused('usage: with-disk')
        self.assertEqual(os.listdir(self.dir), [])


if __name__ == '__main__':
    unittest.main()
