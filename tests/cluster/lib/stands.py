"""Why a load stands still: what can be seen of a site's server and of its client, as lines for a report.

The log of a run is often all that is left of it, so these lines must be enough to tell whose fault it is: the server's (an operation that waits, a thread
that hangs, a request that was read and not answered), that of the client's kernel (it waits for something it was never told, or asks the same
thing again and again), or the guest's (user-mode Linux that does not run any more). A part that cannot be had says so in its place. All of it takes half a minute at most.
"""
import collections
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

LINES = 14          # of each part
WIDTH = 240
TASKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tasks.py')


def cut(text, most=LINES):
    """The first lines of it, none too long."""
    lines = [l.rstrip()[:WIDTH] for l in text.splitlines() if l.strip()]
    return lines[:most] + ([f'... {len(lines) - most} more lines'] if len(lines) > most else [])


def part(title, function, *args):
    try:
        return [f'-- {title}'] + (function(*args) or ['nothing'])
    except Exception as e:      # whatever it is: the other parts count, too
        return [f'-- {title}: {type(e).__name__}: {str(e)[:WIDTH]}']


def at_once(*parts):
    """The lines of all parts in this order, while each waits for its own answers."""
    lines = [[] for _ in parts]

    def run(i):
        lines[i] = part(*parts[i])
    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(parts))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [l for some in lines for l in some]


# ---- the server

def ctl(b, site, what):
    r = b.ctl(site, what, timeout=10)
    return cut(r.stdout + r.stderr)


def log_end(b, site):
    """Without what is the same in all lines."""
    return [re.sub(r' : epoch \w+ : \S+ : \S+ \S+', '', l)[:WIDTH] for l in b.log(site).splitlines()[-LINES:]]


def connections(b, site):
    return cut(b.must('ns', site, '--', 'ss', '-tanoi', 'sport = :2049', timeout=20))


def packets(b, site):
    """What client and server send each other within five seconds, none of it for an idle client."""
    r = b.tb('ns', site, '--', 'timeout', '5', 'tcpdump', '-nn', '-l', '-c', '40', '-i', f'c{site}', 'tcp port 2049', timeout=30)
    return cut(re.sub(r', options \[.*?\]', '', r.stdout))


def reaches(b, site):
    """From the server's network: the other servers, and its own client."""
    def ping(address):
        r = b.tb('ns', site, '--', 'ping', '-q', '-c', '3', '-i', '0.3', '-W', '2', address, timeout=20)
        return f'{address}: {" ".join(r.stdout.split("---")[-1].split()) or r.stderr.strip()}'
    addresses = [f'10.0.{s}.1' for s in b.sites if s != site] + [f'10.0.{site}.2']
    return [ping(a) for a in addresses]


def tasks_of(pid):
    """(name, state, ticks, where it waits in the kernel) of each thread."""
    for t in os.listdir(f'/proc/{pid}/task'):
        try:
            with open(f'/proc/{pid}/task/{t}/stat') as f:
                name, rest = re.fullmatch(r'\d+ \((.*)\) (.*)', f.read().strip(), re.S).groups()
            with open(f'/proc/{pid}/task/{t}/wchan') as f:
                yield name, rest.split()[0], sum(map(int, rest.split()[11:13])), f.read()
        except OSError:
            pass                # it has just ended


def frames(thread):
    """The functions of a stack of gdb's, the innermost first, without those of the C library that only wait or begin."""
    names = re.findall(r'^#\d+\s+(?:0x[0-9a-f]+ in )?([\w.?]+)', thread, re.M)
    return [n for n in names if not re.match(r'_+(GI_+)?(futex|pthread|clock_nanosleep|internal_syscall)|clone3?$|start_thread$', n)]


def stacks(pid):
    """All threads, equal ones once: by gdb, or what the machine tells without it."""
    seen = collections.Counter()
    if not shutil.which('gdb'):
        seen.update(f'{re.sub("[0-9]+$", "", name)} {state} {where}' for name, state, _, where in tasks_of(pid))
        return [f'{n} x {what}' for what, n in seen.most_common()] + ['(their own functions are not known: no gdb here)']
    r = subprocess.run(['gdb', '-p', str(pid), '-batch', '-nx', '-ex', 'thread apply all backtrace 24'], capture_output=True, text=True,
                       errors='replace', timeout=60, stdin=subprocess.DEVNULL)
    for thread in re.split(r'^Thread \d+ ', r.stdout, flags=re.M)[1:]:
        name = re.search(r'"(.*?)[0-9]*"', thread.splitlines()[0])
        seen[f'{name[1] if name else "?"}: {" < ".join(frames(thread)[:16])}'] += 1
    return [f'{n} x {stack[:2 * WIDTH]}' for stack, n in seen.most_common()] or cut(r.stdout + r.stderr)


# ---- the client

def guest_tasks(b, site):
    r = b.tb('sh', site, '-n', '-t', 15, '--', '/usr/bin/python3', TASKS, timeout=60)
    said = cut(r.stdout + r.stderr, 40)
    return said if r.returncode == 0 else said + [f'status {r.returncode}: no program runs to its end in the guest'] + console(b, site)


def console(b, site):
    """The guest's kernel is asked for its blocked tasks where no program of it is needed, and has two seconds."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        text = b'sysrq w'
        s.sendto(struct.pack('=III512s', 0xcafebabe, 2, len(text), text), f'/proc/{b.pid1()}/root/run/uml/c{site}/mconsole')
    time.sleep(2)
    with open(os.path.join(b.run, f'c{site}.log'), errors='replace') as f:
        return ['end of its console, after a request for blocked tasks:'] + [l[:WIDTH] for l in f.read().splitlines()[-LINES:]]


def processes(b, site):
    """Those of the guest on this machine; its kernel first, which is the others' parent."""
    space = os.readlink(f'/proc/{b.pid1()}/ns/pid')
    found = subprocess.run(['pgrep', '-f', f'umid=c{site} '], capture_output=True, text=True).stdout.split()
    parents = {}
    for p in found:
        try:
            if os.readlink(f'/proc/{p}/ns/pid') == space:
                with open(f'/proc/{p}/stat') as f:
                    parents[p] = f.read().rpartition(')')[2].split()[1]
        except OSError:
            pass                # it has just ended
    return sorted(parents, key=lambda p: parents[p] in parents)


def used(pids):
    return {p: sum(t[2] for t in tasks_of(p)) for p in pids if os.path.exists(f'/proc/{p}/task')}


def signals(pid):
    with open(f'/proc/{pid}/status') as f:
        found = dict(re.findall(r'^(SigPnd|ShdPnd|SigBlk):\s+(\w+)', f.read(), re.M))
    return ' '.join(f'{k} {v.lstrip("0") or "0"}' for k, v in found.items())


def guest_processes(b, site):
    """Whether the guest's kernel runs: it sleeps in sigsuspend when idle, and in a wait for the program that it runs. A signal that stays pending or blocked is a fault of its own."""
    pids = processes(b, site)
    before = used(pids)
    time.sleep(1)
    after = used(pids)
    return [f'{p}: {", ".join(f"{state} {where}" for _, state, _, where in tasks_of(p))}; {after[p] - before.get(p, 0)} % of a processor; {signals(p)}' for p in pids if p in after]


def guest(b, site):
    """Of one that does not answer, whatever its server does."""
    return at_once(('console of the client', console, b, site), ('processes of the client on this machine', guest_processes, b, site))


def explain(b, site):
    """The lines. First what goes on by itself; gdb stops the server for a moment."""
    pid = b.tb('server', site, 'pid').stdout.strip()
    lines = [f'==== site {site}: server {"runs as process " + pid if pid else "does not run"}']
    lines += at_once(*[(f'nfs4rctl {what}', ctl, b, site, what) for what in ('status', 'controls', 'locks')],
                     ('end of the log', log_end, b, site), ('connections of clients', connections, b, site), ('packets of the client', packets, b, site), ('who answers a ping', reaches, b, site),
                     ('tasks of the client', guest_tasks, b, site), ('processes of the client on this machine', guest_processes, b, site))
    return lines + (part('threads of the server', stacks, pid) if pid else [])
