#!/usr/bin/python3
"""Byte-range locks of the clients of one site: who has one, who is next, and how soon. `t_locks.py 4.1`: with that version of NFS alone."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed

DIR = '/nfs/locks'
VERSIONS = sys.argv[1:] or ['4.2', '4.1', '4.0']
# A client with NFSv4.0 cannot be told that a lock is free. It asks after 1, 2, 4 ... 30 s.
TOLD = '4.2', '4.1'


def work(b, *args, timeout=90):
    return json.loads(b.must_py(1, 'lock_worker.py', *args, timeout=timeout).splitlines()[-1])


def rules(b, version):
    bad = work(b, 'rules', f'{DIR}/rules-{version}')['bad']
    bed.expect(not bad, '\n'.join(bad))


def counted(b, version, kind, n, processes):
    path = f'{DIR}/{kind}-{version}'
    r = work(b, 'counter', path, kind, str(n), str(processes))
    bed.expect(not r['errors'], f'{r["errors"]}')
    numbers = [int(x) for x in b.sh(1, f'tr -d "\\0" <{path}').split()]
    bed.expect(sum(numbers) == n * processes, f'{sum(numbers)} of {n * processes} were counted')
    return f'{n * processes} in {r["seconds"]:.1f} s, longest wait {r["longest"]:.2f} s'


def handed_over(b, version):
    r = work(b, 'handover', f'{DIR}/handover-{version}', '20')
    bed.expect(r['overlaps'] == 0, f'two had the lock at a time: {r}')
    bed.expect(r['changes'] >= 20, f'{r}')
    if not bed.STOCK:
        bed.expect(r['median'] < 0.1 and r['longest'] < 5, f'{r}')
    return f'median {1000 * r["median"]:.0f} ms, longest {1000 * r["longest"]:.0f} ms'


def in_order(b, version):
    r = work(b, 'order', f'{DIR}/order-{version}', '6')
    if not bed.STOCK:
        bed.expect(r['in order'] and r['seconds'] < 6, f'{r}')
    return f'{r}'


def a_waiter_is_killed(b, version):
    """The others wait for it as long as its lock is reserved for it, and not for a lease."""
    r = work(b, 'killed', f'{DIR}/killed-{version}')
    if not bed.STOCK:
        bed.expect(r['in order'] and r['first'] < 2 and r['second'] < 9, f'{r}')
    return f'first {r["first"]:.2f} s, the one behind the killed {r["second"]:.2f} s'


def reported(b, version):
    """Who has the lock and who waits, by nfs4rctl, while they do."""
    path = f'report-{version}'
    waiters = b.start_py(1, 'lock_worker.py', 'order', f'{DIR}/{path}', '6')

    def seen():
        r = b.ctl(1, '--json', 'locks', f'/locks/{path}')
        rows = json.loads(r.stdout)['locks'] if r.returncode == 0 else []
        return len({row['state'] for row in rows}) > 1 and rows
    rows = bed.eventually(20, seen, 'nfs4rctl locks shows no holder with a waiter', 0.1)
    waiters.communicate(timeout=60)
    row = rows[0]
    bed.expect([r['state'] for r in rows] == ['held'] + ['waiting'] * (len(rows) - 1), f'{rows}')
    bed.expect((row['path'], row['type'], row['start'], row['length'], row['address']) == (f'/locks/{path}', 'write', 0, None, '10.0.1.2'), f'{row}')
    bed.expect(row['client'].startswith('Linux NFSv4'), f'{row}')
    return f'{row["client"]}, {len(rows) - 1} waiting'


def main():
    report = bed.Report('locks')
    with bed.Bed.own('--sites', '1', '--rtt', '0.1ms') as b:
        b.sites = [1]
        b.sh(1, f'mkdir {DIR}')
        for v in VERSIONS:
            b.remount(f'vers={v}')
            report.check(f'{v}: what two owners may have', rules, b, v)
            for kind, n, processes in (('fcntl', 20, 8), ('ofd', 20, 8), ('flock', 20, 8), ('range', 20, 8), ('try', 10, 4)) if v in TOLD else (('fcntl', 2, 3), ('try', 10, 4)):
                report.check(f'{v}: a number under a lock, {kind}', counted, b, v, kind, n, processes)
            if v in TOLD:
                report.check(f'{v}: a lock is handed over', handed_over, b, v)
                report.check(f'{v}: first come, first served', in_order, b, v)
                report.check(f'{v}: a waiter is killed', a_waiter_is_killed, b, v)
                if not bed.STOCK:
                    report.check(f'{v}: who has a lock, and who waits', reported, b, v)
        report.check('servers live', b.servers_alive)
    sys.exit(report.status())


main()
