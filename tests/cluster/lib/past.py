"""What clients did and saw while servers had trouble, and the judgement: close-to-open (history.py), that nothing promised is lost
(promises.py), that an open file holds what its program wrote (fsx.py), and that what is counted under a lock is exact, or its holder has heard EIO (lock_history.py)."""
import json
import os
import subprocess
import time

import bed
import history
import history_worker
import lock_clients
import lock_history
import promises


class History:
    """history_worker.py at all sites for so many seconds. A server that is killed may lose the answer of an operation on names, which the
    client then repeats and hears EEXIST or ENOENT: at such sites only files are worked on, where a repetition does not show."""

    def __init__(self, b, directory, seed, seconds, killed):
        self.b, self.seconds = b, seconds
        self.clocks = bed.everywhere(b.clock, b.sites)
        b.must_py(1, 'history_worker.py', 'prepare', directory)
        start = time.time() + 1.5
        workers = [(s, n) for s in b.sites for n in range(2) if n == 0 or s not in killed]
        self.running = [(s, n, b.start_py(s, 'history_worker.py', directory, str(s), str(n), seed, str(start + self.clocks[s][0]), str(seconds), '0',
                                          timeout=seconds + 150)) for s, n in workers]
        time.sleep(max(0, start - time.time()))

    def events(self, gone):
        """What all did, on our clock. gone: sites whose client died; what each of its workers was at then is not known."""
        events, broken = [], []
        for s, n, p in self.running:
            if s in gone:
                p.kill()        # nobody is at the other end any more
            out, _ = p.communicate(timeout=self.seconds + 180)
            broken += [f'site {s}, status {p.returncode}: {out[-1500:]}'] if p.returncode and s not in gone else []
            own = [json.loads(line) for line in out.splitlines() if line.startswith('{') and line.endswith('}')]
            events += own + (unfinished(s, n, own) if s in gone else [])
        bed.expect(not broken, '\n'.join(broken))
        for e in events:
            e['t0'] -= self.clocks[e['site']][0]
            e['t1'] -= self.clocks[e['site']][0]
        return events

    def judge(self, gone=(), tolerated=(), least=None):
        """least: reads and half as many writes that must have happened; one in a second, if nothing is said."""
        events = self.events(gone)
        errors = [e for e in events if e['op'] == 'error' and e['result'] not in tolerated]
        bed.expect(not errors, f'{len(errors)} unexpected errors, e.g. {errors[:3]}')
        bad, counts = history.check([e for e in events if e['op'] != 'error'])
        bed.expect(not bad, f'{len(bad)} violations\n' + '\n'.join(bad[:8]))
        least = self.seconds if least is None else least
        bed.expect(counts['read'] >= least and counts['write'] >= least / 2, f'too little happened to judge: {dict(counts)}')
        return ', '.join(f'{n} {op}' for op, n in sorted(counts.items()))

    def kill(self):
        for _, _, p in self.running:
            p.kill()


def unfinished(site, worker, own):
    """The write that a worker may have been at when its client died, to whichever file."""
    if worker % 2:
        return []
    last = ([{'t1': -history.INFINITY, 'value': f'{site}.{worker}.0 '}] + [e for e in own if e['op'] == 'write'])[-1]
    value = history_worker.value_of(site, worker, int(last['value'].split()[0].split('.')[2]) + 1)
    return [{'site': site, 'worker': worker, 'op': 'write', 't0': last['t1'], 't1': last['t1'], 'result': 'unknown', 'file': f, 'value': value, 'trunc': True}
            for f in history_worker.written_by(site)]


class Promises:
    """promises.py at all sites. clocks: the sites', from bed.clock."""

    def __init__(self, b, directory, seed, seconds, clocks):
        self.b, self.directory, self.seconds, self.clocks = b, directory, seconds, clocks
        self.running = {s: b.start_py(s, 'promises.py', 'work', directory, str(s), seed, str(seconds), timeout=seconds + 150) for s in b.sites}

    def end(self, gone=(), tolerated=(), machine=False):
        """Waits for the workers; what each said. machine: all machines may have lost power."""
        self.said, broken = {}, []
        for s, p in self.running.items():
            if s in gone:
                p.kill()
            out, _ = p.communicate(timeout=self.seconds + 180)
            broken += [f'site {s}, status {p.returncode}: {out[-1500:]}'] if p.returncode and s not in gone else []
            self.said[s] = [json.loads(line) for line in out.splitlines() if line.startswith('{') and line.endswith('}')]
            broken += [f'site {s}: {l}' for l in self.said[s] if l.get('error', 'OK') not in ('OK', *tolerated) and not self.repeated(s, l)
                       and not (machine and self.vanished(s, l))]
        bed.expect(not broken, '\n'.join(broken[:20]))
        return f'{sum(len(lines) for lines in self.said.values())} lines'

    def repeated(self, site, line):
        clock = self.clocks[site][0]
        return 'op' in line and self.b.kills.repeated(site, line['op'], line['error'], line['t0'] - clock, line['t1'] - clock)

    def vanished(self, site, line):
        """EIO is what a Linux client says of a file that it has open and cannot open again. That is right where the file was made and not synced, and has gone with the machine."""
        said = self.said[site]
        last = next((l for l in reversed(said[:said.index(line)]) if 'name' in l), {})
        synced = any(l.get('name') == last.get('name') and l.get('at') == 'synced' for l in said)
        return line['error'] == 'EIO' and last.get('at') == 'begin' and not synced and self.b.status_of(site, f'test -e {self.directory}/site{site}/{last["name"]}') == 1

    def judge(self, machine=False):
        """Read at another site than the one that wrote."""
        bad = []
        seen = bed.everywhere(lambda s: json.loads(self.b.must_py(s % len(self.b.sites) + 1, 'promises.py', 'look', f'{self.directory}/site{s}')),
                              list(self.said))
        for s, lines in self.said.items():
            bad += [f'site {s}, read at site {s % len(self.b.sites) + 1}: {x}' for x in promises.judge(lines, seen[s], machine)]
        bed.expect(not bad, f'{len(bad)} promises broken\n' + '\n'.join(bad[:25]))
        return f'{sum(l.get("at") == "synced" for lines in self.said.values() for l in lines)} synced'

    def kill(self):
        for p in self.running.values():
            p.kill()


class OpenFiles:
    """fsx.py at all sites, each on a file of its own that stays open: whatever happens to servers, each read is right, and so is the file in the end."""

    def __init__(self, b, directory, seed, seconds):
        self.b, self.directory, self.seconds = b, directory, seconds
        self.running = {s: b.start_py(s, 'fsx.py', f'{directory}/site{s}', str(seconds), f'{seed}.{s}', timeout=seconds + 150) for s in b.sites}

    def judge(self):
        """At each other site too the file is what its program left."""
        said, bad, syncs = {}, [], 0
        for s, p in self.running.items():
            out, _ = p.communicate(timeout=self.seconds + 180)
            if p.returncode:
                bad.append(f'site {s}, status {p.returncode}: {out[-1500:]}')
            else:
                said[s] = json.loads(out.splitlines()[-1])
                syncs += said[s]['syncs']
        for s, left in said.items():
            for at in self.b.sites:
                seen = self.b.sh(at, f'sha256sum {self.directory}/site{s}').split()[0]
                bad += [f'the file of site {s}, read at site {at}: {seen} in place of {left["sha256"]}'] if seen != left['sha256'] else []
        bed.expect(not bad, '\n'.join(bad))
        return f'{sum(left["operations"] for left in said.values())} operations, {syncs} syncs'

    def kill(self):
        for p in self.running.values():
            p.kill()


class Locks:
    """lock_torture.py at all sites: in files of their own, or of all sites if they are shared. clocks: the sites', from bed.clock."""
    PROCESSES, CELLS = 2, 4

    def __init__(self, b, directory, seed, seconds, clocks, shared):
        self.b, self.directory, self.seconds, self.clocks, self.shared = b, directory, seconds, clocks, shared
        files = sorted({self.file(s) for s in b.sites})
        b.sh(1, f'cd {directory} && mkdir -p {" ".join(map(os.path.dirname, files))} && touch {" ".join(files)} && sync {" ".join(files)}')    # machines may lose power
        self.running = {s: b.start_py(s, 'lock_torture.py', f'{directory}/{os.path.dirname(self.file(s))}', str(s), str(self.PROCESSES), seed,
                                      str(time.time() + clocks[s][0]), str(seconds), 'trouble', timeout=seconds + 150) for s in b.sites}

    def file(self, site):
        return 'all/cells' if self.shared else f'site{site}/cells'

    def end(self, gone=(), tolerated=(), troubled=()):
        """Waits for the workers. Only the clients of troubled sites may lose locks; tolerated: errors of which a program has to hear."""
        self.events, self.gone, broken = [], gone, []
        for s, p in self.running.items():
            if s in gone:
                p.kill()
            out, _ = p.communicate(timeout=self.seconds + 180)
            broken += [f'site {s}, status {p.returncode}: {out[-1500:]}'] if p.returncode and s not in gone else []
            for line in out.splitlines():
                e = json.loads(line) if line.startswith('{') and line.endswith('}') else {}
                if e.get('error', 'OK') not in ('OK', *tolerated, *(('EIO', 'ESTALE') if s in troubled else ())):
                    broken.append(f'site {s}: an open: {e["error"]}')
                if 'owner' in e:
                    self.events.append(self.on_our_clock(s, e, tolerated))
        lost = [e for e in self.events if e['result'] == 'lost' and e['site'] not in troubled and not e.pop('full', False)]
        broken += [f'lost, and nothing had happened there: {lock_history.show(e)}' for e in lost]
        bed.expect(not broken, '\n'.join(broken[:20]))

    def on_our_clock(self, site, e, tolerated):
        for t in 'asked', 'granted', 'leaving', 'left':
            e[t] = e[t] - self.clocks[site][0] if e.get(t) is not None else None
        e['file'] = self.file(site)
        if e['result'] in tolerated:    # its program has heard of it, and closed the file
            e['result'], e['full'] = ('lost', True) if e['granted'] is not None else ('died', True)
        return e

    def judge(self):
        """After the trouble, read at another site than the one that wrote."""
        final = {}
        for s in self.b.sites:
            texts = lock_clients.cells(self.b, s % len(self.b.sites) + 1, f'{self.directory}/{self.file(s)}', self.CELLS)
            final.update({(self.file(s), i): text for i, text in enumerate(texts)})
        dead = {f'{s}.{n}' for s in self.gone for n in range(self.PROCESSES)}
        bad, n = lock_history.check(lock_history.of_the_dead(self.events, dead, final), idle=None, refusals=False, final=final)
        bed.expect(not bad, f'{len(bad)} violations of locks\n' + '\n'.join(bad[:8]))
        return f'{n["w ok"]} counted under locks' + (f', {lost} lost' if (lost := n['w lost'] + n['r lost']) else '')

    def none_left(self, seconds):
        """Also of clients that died: the lease of those has to end first."""
        lock_clients.none_left(self.b, seconds)

    def kill(self):
        for p in self.running.values():
            p.kill()


def keep(b, name):
    """The servers' logs, and their disks as they are, of a bed in which something failed."""
    to = os.path.join(bed.ROOT, 'build', name)
    for s in b.sites:
        os.makedirs(f'{to}/g{s}', exist_ok=True)
        for file in ('ganesha.log', 'out', 'ganesha.conf', 'data.img', 'store.img'):
            if os.path.exists(path := os.path.join(b.server_dir(s), file)):
                subprocess.run(['cp', '--sparse=always', path, f'{to}/g{s}'])
    print(f'# logs and disks: {to}', flush=True)
