#!/usr/bin/python3
"""Somebody changes the exported directory of one server itself, behind NFS, while clients work (docs/decisions/0027-changes-behind-nfs.md): a removal and a
replaced file heal when a client uses them, a foreign name makes way for an update of another site, and `nfs4rctl repair` makes the rest equal. Then clients
at that site read the volume's bytes, verify says equal, and the trees on all disks are the same.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import trees

DIR = '/nfs/behind'
OPTIONS = ('--rtt', '20ms')
SITE = 2


def disk(b, script):
    """A shell script in the exported directory of SITE, on the host."""
    r = subprocess.run(['sh', '-ec', script], cwd=f'{b.run}/g{SITE}/data/behind', capture_output=True, text=True)
    bed.expect(r.returncode == 0, f'{script}: {r.stdout}{r.stderr}')
    return r.stdout


def fill(b):
    b.sh(1, f'''set -e; mkdir -p {DIR}/tree/a/b {DIR}/work; cd {DIR}/tree
        for i in $(seq 30); do echo of the volume $i >f$i; done; echo deep >a/b/deep; ln -s f1 link; ln f2 a/second; chmod 640 f3; mkfifo fifo''')
    b.no_controls(60)
    b.sh(SITE, f'cat {DIR}/tree/f1 {DIR}/tree/a/b/deep >/dev/null')
    b.must('client', SITE, 'drop-caches')


def heals(b):
    disk(b, 'rm tree/f1; echo edited >tree/.f2.tmp; mv tree/.f2.tmp tree/f2; rm -r tree/a; rm tree/link tree/fifo')
    b.must('client', SITE, 'drop-caches')
    got = b.sh(SITE, f'cd {DIR}/tree && cat f1 f2 a/b/deep link && ls a && test -p fifo && stat -c %a f3', timeout=50)
    bed.expect(got == 'of the volume 1\nof the volume 2\ndeep\nof the volume 1\nb\nsecond\n640\n', f'site {SITE} reads {got!r}')
    bed.eventually(20, lambda: disk(b, 'cat tree/f1 tree/f2 tree/a/b/deep || true') == 'of the volume 1\nof the volume 2\ndeep\n', lambda: disk(b, 'ls -lR .') + b.log(SITE)[-3000:])
    bed.expect("was removed or replaced behind NFS: restored from server" in b.log(SITE), b.log(SITE)[-3000:])


def strays_of(b, site):
    """What the status of another site says of SITE."""
    return [p.get('strays') for p in b.ask(site, 'status')['peers'] if p['server'] == SITE][0]


def makes_way(b):
    disk(b, 'mkdir work/made; echo mine >work/made/mine; echo mine >work/file')
    b.sh(1, f'mkdir {DIR}/work/made && echo of site 1 >{DIR}/work/file', timeout=30)
    b.sh(SITE, f'mkdir {DIR}/work/made/by2', timeout=30)
    bed.eventually(20, lambda: disk(b, 'cat work/file; ls work/made') == 'of site 1\nby2\n', lambda: disk(b, 'ls -lR work') + b.log(SITE)[-3000:])
    status = json.loads(b.ctl(SITE, '--json', 'status').stdout)['out_of_band']
    bed.expect(status['moved_aside'] >= 2 and status['strays'] >= 2, f'{status}')
    bed.eventually(20, lambda: all(strays_of(b, s) == status['strays'] for s in (1, 3)), lambda: f'sites 1 and 3 say of site {SITE}: {strays_of(b, 1)}, {strays_of(b, 3)}')
    return f"{status['restored']} objects came back, {status['moved_aside']} names moved aside"


def repairs(b):
    """An edit in place, and yesterday's directory put back by rsync."""
    disk(b, '''cp -a tree ../yesterday; rm -r ../yesterday/f4; echo yesterday >../yesterday/f5; echo yesterday >../yesterday/gone; sleep 0.1; echo wrong, edited >tree/f6; chmod 600 tree/f7
        rsync -a --delete ../yesterday/ tree/; rm -r ../yesterday''')
    r = b.ctl(1, 'verify', '/behind')
    bed.expect(r.returncode == 1 and '/behind/tree/gone  server 2: on the disk, and not in the volume' in r.stdout, f'verify: {r.returncode} {r.stdout}{r.stderr}')
    work = b.start_py(3, 'load.py', f'{DIR}/load', 3, b.run + '.stop')
    try:
        r = b.ctl(SITE, 'repair', '/behind/tree', timeout=90)
    finally:
        open(b.run + '.stop', 'w').close()
        out, _ = work.communicate(timeout=60)
        os.unlink(b.run + '.stop')
    did = json.loads(out)
    bed.expect(not did['heard'], f'{did["heard"]}')
    bed.expect(r.returncode in (0, 1) and 'repaired here' in r.stdout, f'repair: {r.returncode} {r.stdout}{r.stderr}')
    b.no_controls(60)
    r = b.ctl(SITE, 'repair', '/', timeout=90)
    bed.expect(r.returncode == 0, f'repair: {r.returncode} {r.stdout}{r.stderr}')
    b.must('client', SITE, 'drop-caches')
    got = b.sh(SITE, f'cd {DIR}/tree && cat f4 f5 f6 && stat -c %a f7 && ls | wc -l')
    bed.expect(got == b.sh(1, f'cd {DIR}/tree && cat f4 f5 f6 && stat -c %a f7 && ls | wc -l') and got.startswith('of the volume 4\nof the volume 5\nof the volume 6\n'), got)
    return f'{did["steps"]} steps of a client meanwhile'


def equal(b):
    subprocess.run(['rm', '-rf', f'{b.run}/g{SITE}/data/.nfs4r-hold'], check=True)
    b.no_controls(60)
    note = trees.disks_equal(b)
    for site in b.sites:
        r = b.ctl(site, 'verify')
        bed.expect(r.returncode == 0, f'verify at {site}: {r.returncode} {r.stdout}{r.stderr}')
    return note


def main():
    report = bed.Report('behind')
    with bed.Bed.get(*OPTIONS) as b:
        for name, part in (('fill', fill), ('what is gone comes back when it is used', heals), ('a foreign name makes way', makes_way), ('repair', repairs), ('equal', equal)):
            if not report.check(name, part, b):
                break
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
