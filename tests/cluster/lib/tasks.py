"""In a guest: what waits there in the kernel, and which calls the client of NFS makes meanwhile. For a load that stands still."""
import collections
import os
import re
import time


def read(path):
    try:
        with open(path, errors='replace') as f:
            return f.read()
    except OSError:
        return ''


def functions(stack):
    """The innermost first; how a process waits and how it came into the kernel is the same in all."""
    names = re.findall(r'\] (\w+)', stack)
    return [n for n in names if n not in ('__switch_to', '__schedule', 'schedule', 'handle_syscall', 'userspace', 'fork_handler', 'new_thread_handler')]


def tasks():
    """Processes with a program, and threads of the kernel that are in the middle of something."""
    for pid in sorted(int(p) for p in os.listdir('/proc') if p.isdigit()):
        command, where = read(f'/proc/{pid}/cmdline').replace('\0', ' ').strip(), functions(read(f'/proc/{pid}/stack'))
        name, state = read(f'/proc/{pid}/comm').strip(), (re.search(r'State:\s+(\S)', read(f'/proc/{pid}/status')) or '??')[1]
        idle = where[:1] in (['worker_thread'], ['rescuer_thread'], ['kthreadd'])
        if pid != os.getpid() and (command or state == 'D' or any(re.search('nfs|rpc', f) for f in where)) and not idle:
            yield f'{pid} {state} {(command or f"[{name}]")[:90]}: {" < ".join(where[:14])}'


def timer():
    """The kernel's clock, and when its timer fires next, in seconds since the boot: one that is long past was lost, and nothing that sleeps wakes up any more."""
    text = read('/proc/timer_list')
    found = {name: int(m[1]) / 1e9 for name in ('now at', '.expires_next') if (m := re.search(rf'{re.escape(name)}\s*:? (\d+) nsecs', text))}
    return ', '.join(f'{name.strip(".")} {seconds:.3f}' for name, seconds in found.items()) or 'unknown'


def calls():
    """{operation: (sent, bytes received), ...} and the line of the connection, of the mount at /nfs."""
    part = read('/proc/self/mountstats').partition(' mounted on /nfs ')[2].partition('\ndevice ')[0]
    found = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r'^\s+(\w+): (?:\d+) (\d+) (?:\d+) (?:\d+) (\d+) ', part, re.M)}
    return found, re.findall(r'^\s+xprt:\s+(.*)', part, re.M)


before, _ = calls()
for line in tasks():
    print(line)
print('timer:', timer())
print('interface:', ', '.join(f'{n} {read(f"/sys/class/net/vec0/statistics/{n}").strip()}' for n in ('rx_packets', 'tx_packets', 'rx_errors', 'tx_errors', 'tx_dropped')), flush=True)
time.sleep(5)
after, connections = calls()
made = collections.Counter({name: after[name][0] - before.get(name, (0, 0))[0] for name in after})
print('calls in 5 s:', ', '.join(f'{n} {k}' for k, n in made.most_common() if n) or 'none')
for c in connections:
    print('connection:', c)
print('\n'.join(os.popen('dmesg | tail -8').read().splitlines()))
