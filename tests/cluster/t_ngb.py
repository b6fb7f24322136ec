#!/usr/bin/python3
"""NAS Grid Benchmarks of class S over three sites, 40 ms apart: each graph's tasks at all of them, every arc the same bits as in one local directory."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
sys.path.insert(0, os.path.join(bed.ROOT, 'tests/ngb'))
import graphs
import sites

NODE = os.path.join(bed.ROOT, 'build/release/tests/ngb/ngb-node')


def guests(b):
    return [sites.Guest(str(s), b.command(), s, '/nfs', NODE, 300) for s in b.sites]


def one(b, name):
    graph = graphs.Graph(NODE, name, 'S')
    floor = graphs.reference(graph)
    for line in graphs.check_kernels(graph):
        bed.expect(': verified' in line, line)
    lines = []
    try:
        result = graphs.run(graph, guests(b), f'ngb-{name}', floor.sums, wait_s=120, say=lines.append)
    except sites.Failed as e:
        raise bed.Failed('\n'.join([*lines, str(e)])) from e
    seen = {row[3] for row in result.rows}
    bed.expect(len(seen) == len(b.sites), f'tasks ran at {seen} only')
    return f'{len(graph.tasks)} tasks, {graph.bytes() / 1e6:.1f} MB: {result.seconds:.1f} s, in one local directory {floor.seconds:.1f} s'


def nothing_left(b):
    for s in b.sites:
        bed.expect(not b.sh(s, 'ls /nfs | grep ^ngb- || true'), f'files of the runs are left at site {s}')


def main():
    report = bed.Report('ngb')
    if not os.path.exists(NODE):
        report.fail('program', f'{NODE} is missing; run: make build')
        return 1
    with bed.Bed.get('--rtt', '40ms') as b:
        b.remount()
        for name in graphs.GRAPHS:
            report.check(f'{name}.S at three sites', one, b, name)
        report.check('nothing is left', nothing_left, b)
        report.check('all servers alive', b.servers_alive)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
