#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What failures and what guards against them cost: seconds until the others go on, pauses, catching up, COMMIT, leases.

	failures.py [--rounds 20] [--rtt 20] [PART...]

	failover    Durability = commit. Site 1's server is killed while its client appends to a file; site 2's client appends to the same one.
	            Seconds from the kill until a server of the others has ended the log, and until site 2's client has closed the file again (a
	            client that heard DELAY waits up to twice as long as it has waited, so it is later); longest pause of site 2's own work
	return      in the same rounds: seconds from the start of the server until it serves, longest pause of site 2's own work meanwhile
	catchup     site 3's server is down while site 1 writes --files small files and --mb megabytes: seconds until it serves and has them
	commit      milliseconds of write + fsync under each durability, the peers --rtt away, beside one sync of the local disk and the round trip that the
	            bed really has
	leases      small files read at site 1, with leases and without (Lease = 0), turn by turn

Prints a line for each trial and the medians at the end. Times of this bed, whose sites share the machine, are upper bounds.
"""
import argparse
import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'cluster', 'lib'))
import bed

WORK = os.path.join(HERE, 'work_failures.py')
PARTS = ('failover', 'return', 'catchup', 'commit', 'leases')


class Values(dict):
    """Of each measure, in the order of the trials."""

    def put(self, what, value, unit):
        self.setdefault((what, unit), []).append(value)
        print(f'{what}: {value:.2f} {unit}', flush=True)

    def table(self):
        lines = ['| measure | median | worst | n |', '| --- | --- | --- | --- |']
        lines += [f'| {what}, {unit} | {statistics.median(v):.2f} | {max(v):.2f} | {len(v)} |' for (what, unit), v in self.items()]
        return '\n'.join(lines)


def own_bed(o, *more):
    return bed.Bed.own('--rtt', f'{o.rtt:g}ms', *bed.SHORT, *more)


def work(b, site, *args, timeout=600):
    return json.loads(b.must_py(site, WORK, *args, timeout=timeout).strip().splitlines()[-1])


def result(process):
    out = process.communicate(timeout=300)[0]
    bed.expect(process.returncode == 0, f'status {process.returncode}: {out}')
    return json.loads(out.strip().splitlines()[-1])


def state(b, site):
    """'' while the server does not answer."""
    r = b.ctl(site, '--json', 'status')
    return json.loads(r.stdout) if r.returncode == 0 else {'state': ''}


def pause(times, begin, end):
    """The longest update that overlaps [begin, end]."""
    return max((e - s for s, e in times if e > begin and s < end), default=0)


def serves(b, site):
    """Seconds until the server serves again."""
    start = time.time()
    b.must('server', site, 'start')
    bed.eventually(120, lambda: state(b, site)['state'] == 'serving', lambda: f'{state(b, site)}', 0.05)
    return time.time() - start


def failover_round(b, v, n, clock):
    top, stop = f'/nfs/r{n}', f'/nfs/stop{n}'
    b.sh(1, f'mkdir {top} && echo 0 >{top}/f')
    first = b.start_py(1, WORK, 'append', f'{top}/f', stop)
    time.sleep(1.5)                         # it has control, and elections are over
    own = b.start_py(2, WORK, 'create', f'/nfs/own{n}', stop)
    time.sleep(1.5)
    b.must('server', 1, 'kill')
    killed = time.time()
    again = b.start_py(2, WORK, 'append', f'{top}/f', stop)
    bed.eventually(60, lambda: 1 in state(b, 2)['durability']['sealed'], lambda: f'{state(b, 2)}', 0.02)
    v.put('failover: log ended after', time.time() - killed, 's')
    time.sleep(10)                          # whatever the client's own waiting makes of it
    back = time.time()
    v.put('return: serves after', serves(b, 1), 's')
    bed.eventually(60, lambda: state(b, 1)['state'] == 'serving' and not state(b, 2)['durability']['sealed'], lambda: f'{state(b, 2)["durability"]}')
    served = time.time()
    time.sleep(1)
    b.sh(2, f': >{stop}', timeout=90)
    mine, others = [[[s - clock, e - clock] for s, e in result(p)] for p in (own, again)]
    result(first)
    bed.expect(others, 'site 2 never appended')
    v.put('failover: the other client has the file closed after', others[0][1] - killed, 's')
    v.put('failover: pause of work elsewhere', pause(mine, killed, killed + 10), 's')
    v.put('return: pause of work elsewhere', pause(mine + others[1:], back, served + 1), 's')
    b.sh(2, f'rm -rf {top} /nfs/own{n} {stop}', timeout=120)


def failover(o, v):
    with own_bed(o, '--set', 'Durability=commit') as b:
        clock = b.clock(2)[0]
        for n in range(o.rounds):
            failover_round(b, v, n, clock)
        b.servers_alive()


def catchup(o, v):
    with own_bed(o) as b:
        for n in range(o.catchups):
            for what, files, mb in (('small files', o.files, 0), ('one large file', 0, o.mb)):
                b.must('server', 3, 'kill')
                bed.eventually(30, lambda: state(b, 1)['view']['members'] == [1, 2], 'server 3 is not removed')
                work(b, 1, 'fill', f'/nfs/c{n}-{mb}', files, mb)
                bed.eventually(120, lambda: not b.ask(1, 'controls')['controls'], 'controls do not end', 0.5)
                start = time.time()
                v.put(f'catchup: serves after, {what}', serves(b, 3), 's')
                bed.eventually(300, lambda: all(p['has_of_our_log']['lag_entries'] == 0 for p in state(b, 1)['peers'] if p['server'] == 3), 'lag', 0.05)
                took = time.time() - start
                v.put(f'catchup: rate, {what}', (mb or files) / took, 'MB/s' if mb else 'objects/s')


def commit(o, v):
    scratch = os.path.join(bed.ROOT, 'build')
    for d in ('local', 'commit', 'majority'):
        with own_bed(o, '--set', f'Durability={d}') as b:
            work(b, 1, 'fsync', '/nfs/warm', 5)
            for n in range(o.trials):
                v.put(f'commit: write + fsync, {d}', statistics.median(work(b, 1, 'fsync', f'/nfs/f{n}', 60)), 'ms')
                v.put('commit: round trip of a ping to the nearest peer', min(b.ping(1, peer)[1] for peer in (2, 3)), 'ms')
    path = os.path.join(scratch, f'fsync-{os.getpid()}')
    sys.path.insert(0, HERE)
    import work_failures
    v.put('commit: write + fsync, this disk', statistics.median(work_failures.fsync(path, 60)), 'ms')
    os.unlink(path)


def leases(o, v):
    for lease in ('2000', '0'):
        with own_bed(o, '--set', f'Lease={lease}') as b:
            work(b, 1, 'fill', '/nfs/d', o.files, 0)
            b.no_controls(60)
            for _ in range(o.trials):
                b.must('client', 1, 'drop-caches')
                v.put(f'leases: {o.files} files read, Lease = {lease}', work(b, 1, 'read', '/nfs/d'), 's')


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--rounds', type=int, default=20)
    p.add_argument('--rtt', type=float, default=20)
    p.add_argument('--files', type=int, default=3000)
    p.add_argument('--mb', type=int, default=256)
    p.add_argument('--catchups', type=int, default=3)
    p.add_argument('--trials', type=int, default=5)
    p.add_argument('parts', nargs='*', metavar='PART', help=' '.join(PARTS))
    o = p.parse_args()
    if set(o.parts) - set(PARTS):
        p.error(f'parts: {" ".join(PARTS)}')
    parts, v = o.parts or PARTS, Values()
    if {'failover', 'return'} & set(parts):
        failover(o, v)
    for part in (catchup, commit, leases):
        if part.__name__ in parts:
            part(o, v)
    print(v.table())


if __name__ == '__main__':
    main()
