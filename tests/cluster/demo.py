#!/usr/bin/python3
"""The demonstration: what three sites 40 ms apart see of one another. Run by scripts/demo.sh."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import lock_clients
import snapshot
import trees
import t_ngb
from t_untar import Reference, CONTENT, without_root

START = time.monotonic()
FAILED = []


def say(text=''):
    print(f'{time.monotonic() - START:6.1f} s  {text}' if text else '', flush=True)


def show(text):
    for line in text.rstrip().splitlines():
        print(f'          | {line}', flush=True)


def verdict(held, text):
    say(('  OK    ' if held else '  FAILED ') + text)
    if not held:
        FAILED.append(text)


def act(title, function, *args):
    say()
    say(f'== {title}')
    try:
        function(*args)
    except Exception as e:
        verdict(False, str(e)[:600])


def timed(function, *args, **kw):
    start = time.monotonic()
    result = function(*args, **kw)
    return result, time.monotonic() - start


TIMED_SH = '''import sys, time
t = time.perf_counter(); exec(sys.argv[1]); print(f"{(time.perf_counter() - t) * 1000:.0f}")'''


def ms(b, site, code):
    """Milliseconds of a piece of Python in the site's client; its last line of output."""
    out = b.must('sh', site, '-n', '-t', '60', '--', '/usr/bin/python3', '-c', TIMED_SH, code)
    return out.strip().splitlines()


def one_file(b):
    out = ms(b, 1, 'f = open("/nfs/hello", "w"); f.write("written at site 1\\n"); f.close()')
    say(f'site 1 writes and closes /nfs/hello: {out[-1]} ms')
    for s in (2, 3):
        out = ms(b, s, 'print(open("/nfs/hello").read(), end="")')
        verdict(out[0] == 'written at site 1', f'site {s} opens and reads it: {out[-1]} ms: "{out[0]}"')


def a_tree(b, ref):
    _, took = timed(b.sh, 2, f'tar xzf {ref.archive} -C /nfs', timeout=200)
    say(f'site 2 unpacks {ref.files()} files: {took:.1f} s')
    for s in (1, 3):
        got, took = timed(trees.through_client, b, s, f'/nfs/{ref.top()}')
        lines = snapshot.difference(without_root(ref.part(ref.top())), without_root(got), CONTENT)
        verdict(not lines, f'site {s} reads all of it at once: names, modes, sizes and SHA-256 are those of the archive ({took:.1f} s)')
        show('\n'.join(lines[:5]))


WRITER = '''import os, sys, time
while time.time() < float(sys.argv[2]): time.sleep(0.0005)
t = time.perf_counter()
fd = os.open("/nfs/both", os.O_WRONLY | os.O_DIRECT); os.pwrite(fd, f"site {sys.argv[1]} was last\\n".encode(), 0)
took = time.perf_counter() - t
time.sleep(2); os.close(fd)
print(f"{took * 1000:.0f}")'''


def two_writers(b):
    b.sh(1, 'echo "nobody wrote yet" >/nfs/both')
    time.sleep(3)               # its control ends
    clocks = {s: b.clock(s)[0] for s in (1, 3)}
    start = time.time() + 1.5
    writers = {s: subprocess.Popen(
        b.command('sh', s, '-n', '-t', '60', '--', '/usr/bin/python3', '-c', WRITER, str(s), str(start + clocks[s])),
        stdout=subprocess.PIPE, text=True) for s in clocks}
    time.sleep(2.3)
    say('sites 1 and 3 open and write /nfs/both at the same moment; who became primary, while they have it open:')
    for s in clocks:
        say(f'nfs4rctl controls at site {s}:')
        show(b.ctl(s, 'controls').stdout)
    for s, p in writers.items():
        out, _ = p.communicate(timeout=60)
        verdict(p.returncode == 0, f'site {s}: open and write took {out.strip()} ms')
    seen = [b.sh(s, 'cat /nfs/both') for s in b.sites]
    verdict(len(set(seen)) == 1 and 'was last' in seen[0], f'after the close all three sites read the same: "{seen[0].strip()}"')


def one_lock(b):
    b.clocks = {s: b.clock(s) for s in b.sites}
    with lock_clients.Agents(b, '/nfs/counted', b.sites) as agents:
        first, second, third = agents
        first.must_lock()
        first.ask('add', at=0)
        say('site 1 has locked /nfs/counted, and writes 1 into it')
        for a in second, third:
            answer, took = timed(a.lock)
            verdict(answer['result'] == 'EAGAIN', f'site {a.site} asks for the lock, and is refused: {answer["result"]}, {took * 1000:.0f} ms')
        begun = third.begin('lock', type='w', start=0, length=0, wait=True)
        bed.eventually(10, lambda: 'wait' in b.ctl(3, 'locks').stdout, lambda: f'nobody waits: {b.ctl(3, "locks").stdout}')
        say('site 3 waits for it; nfs4rctl locks at site 3:')
        show(b.ctl(3, 'locks').stdout)
        freed = first.unlock()
        got = third.end(begun)
        text = third.ask('read', at=0, length=20)['result'].strip('0\n')
        verdict(got['result'] == 'ok' and text == '1', f'site 1 unlocks; site 3 has the lock {(got["t1"] - freed["t0"]) * 1000:.0f} ms later, and reads {text}')
        third.unlock()
        _, took = timed(bed.everywhere, lambda a: [(a.must_lock(), a.ask('add', at=0), a.unlock()) for _ in range(20)], agents)
        total = int(second.ask('read', at=0, length=20)['result'])
        verdict(total == 61, f'then each site adds 1 under the lock, 20 times, all three at once: {total} after {took:.1f} s')


def status(b, site):
    say(f'nfs4rctl status at site {site}:')
    show(b.ctl(site, 'status').stdout)


# Writes a file, looks at it, waits until control of it has ended, begins anew; the longest of these updates, and how many.
BUSY = '''import os, sys, time
site, stop = sys.argv[1:]
os.makedirs(f"/nfs/busy{site}", exist_ok=True)
longest, n = 0, 0
while not os.path.exists(stop):
    t = time.time()
    with open(f"/nfs/busy{site}/f{n}", "w") as f: f.write(f"file {n} of site {site}\\n")
    longest, n = max(longest, time.time() - t), n + 1
    time.sleep([0.05, 0.05, 0.05, 2][n % 4])
print(f"{longest:.1f} {n}")'''


def logged(b, site, mark, text):
    """Waits for a line of a server's log and shows it."""
    bed.eventually(30, lambda: text in b.log(site)[mark:], f'server {site} does not log "{text}"')
    show(f'server {site}: ' + next(l for l in b.log(site)[mark:].splitlines() if text in l).split('REPL: ')[-1])


def a_death(b):
    mark, stop = {s: len(b.log(s)) for s in b.sites}, os.path.join(b.run, 'stop-busy')
    writers = {s: subprocess.Popen(b.command('sh', s, '-n', '-t', '120', '--', '/usr/bin/python3', '-c', BUSY, str(s), stop),
                                   stdout=subprocess.PIPE, text=True) for s in (1, 3)}
    time.sleep(3)
    b.must('server', 2, 'kill')
    say('clients at sites 1 and 3 write; server 2 was killed (kill -9)')
    logged(b, 1, mark[1], 'server 2 was removed from the active view')
    out = ms(b, 3, 'print(open("/nfs/hello").read(), end="")')
    verdict(out[0] == 'written at site 1', f'site 3 goes on reading: {out[-1]} ms')
    out = ms(b, 1, 'open("/nfs/patient", "w").write("written while server 2 was away")')
    say(f'site 1 writes a new file: {out[-1]} ms')
    show('\n'.join(b.ctl(1, 'status').stdout.splitlines()[3:5]))
    _, took = timed(b.must, 'server', 2, 'start')
    say(f'server 2 was started again: {took:.1f} s; it replays its journal, takes over what it missed, and asks the others what they control')
    logged(b, 2, mark[2], 'this server serves again')
    logged(b, 3, mark[3], 'server 2 is back in the active view')
    text, took = timed(b.sh, 2, 'cat /nfs/patient', timeout=90)
    verdict(text == 'written while server 2 was away', f'site 2 reads: "{text}" (after {took:.1f} s)')
    with open(stop, 'w'):
        pass
    for s, p in writers.items():
        longest, n = (p.communicate(timeout=60)[0].split() + ['99', '0'])[:2]
        verdict(float(longest) < 6, f'site {s} wrote {n} files all the while; the longest pause was {longest} s')
    trees_now = {s: trees.through_client(b, s) for s in b.sites}
    lines = [l for s in (2, 3) for l in snapshot.difference(trees_now[1], trees_now[s], snapshot.ALL)]
    verdict(not lines, f'all three sites show the same {len(trees_now[1])} names, contents and attributes')
    show('\n'.join(lines[:5]))


def a_benchmark(b, name='HC'):
    graph = t_ngb.graphs.Graph(t_ngb.NODE, name, 'S')
    where = t_ngb.guests(b)
    say(f'{name} class S: {len(graph.tasks)} tasks, each reads what others wrote; {graph.bytes() / 1e6:.1f} MB in all')
    for i, site in enumerate(where):
        say(f'site {site.name} runs ' + ', '.join(f'{t.name} ({t.iterations} iterations)' for t in graph.tasks[i::len(where)]))
    for line in t_ngb.graphs.check_kernels(graph):
        verdict(': verified' in line, f'kernel {line}')
    floor = t_ngb.graphs.reference(graph)
    result = t_ngb.graphs.run(graph, where, 'ngb', floor.sums, wait_s=120, say=lambda text: show(text.strip()))
    verdict(True, f'turnaround {result.seconds:.1f} s over three sites, {floor.seconds:.1f} s in one local directory; every arc is the same, bit by bit')


def the_end(b):
    for s in b.sites:
        bed.eventually(30, lambda: b.ctl(s, 'status').returncode == 0, f'nfs4rctl at site {s}')
    r, took = timed(b.ctl, 1, 'verify', '/', timeout=120)
    show('\n'.join(r.stdout.splitlines()[-4:]))
    verdict(r.returncode == 0, f'nfs4rctl verify: all copies are equal ({took:.1f} s)')
    b.servers_alive()


def main():
    say('three sites, 40 ms apart: a server with FSAL_REPL and a Linux NFS client each')
    with Reference() as ref, bed.Bed.own('--rtt', '40ms', '--peer-security', 'tls', *bed.SHORT) as b:
        say('up; each client has mounted its own server at /nfs')
        act('a file written at site 1 is read at sites 2 and 3', one_file, b)
        act('a tree unpacked at site 2 is the same at sites 1 and 3', a_tree, b, ref)
        act('what the servers say', status, b, 1)
        act('two sites write one file', two_writers, b)
        act('one lock for three sites', one_lock, b)
        act('a server dies and returns', a_death, b)
        act('what the servers say now', status, b, 2)
        act('a NAS Grid Benchmark over three sites', a_benchmark, b)
        act('all copies compared', the_end, b)
    say()
    say('everything held' if not FAILED else f'{len(FAILED)} did not hold: ' + '; '.join(FAILED))
    return 1 if FAILED else 0


if __name__ == '__main__':
    sys.exit(main())
