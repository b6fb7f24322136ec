#!/usr/bin/python3
"""Bad configurations and bad conditions: a clear refusal that names the remedy, the others unharmed, nothing lost."""
import glob
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import trees
from t_views import wait_back, wait_removed

SITE = 3                    # the one that is ill-treated
# A client may believe the attributes of a directory for a minute: trees are compared here seconds after another site has changed the root.
OPTIONS = ('--rtt', '20ms', *bed.SHORT, '--vers', '4.2,actimeo=0')


def conf(b, site=SITE):
    return b.must('server', site, 'conf').strip()


class Edited:
    """The configuration of a stopped server with one change, put back at the end."""

    def __init__(self, b, old, new, site=SITE):
        self.path, self.old, self.new = conf(b, site), old, new

    def __enter__(self):
        with open(self.path) as f:
            self.good = f.read()
        bad, n = re.subn(self.old, self.new, self.good, flags=re.M)
        bed.expect(n >= 1, f'{self.old} is not in {self.path}')
        with open(self.path, 'w') as f:
            f.write(bad)

    def __exit__(self, *_):
        with open(self.path, 'w') as f:
            f.write(self.good)


def stop(b, site=SITE):
    if b.tb('server', site, 'pid').returncode == 0:
        b.must('server', site, 'stop')


def start(b, site=SITE):
    """Starts it; what it logs from here on is returned by the second call."""
    mark = len(b.log(site))
    b.tb('server', site, 'start')
    return lambda: b.log(site)[mark:]


def again(b):
    """The server, with all put right."""
    stop(b)
    start(b)


def says(log, pattern, seconds=25):
    """A line of the log, with what to do about it."""
    m = bed.eventually(seconds, lambda: re.search(pattern, log(), re.I), lambda: f'no line like /{pattern}/ in the log:\n' + tail(log()))
    line = log()[:m.end()].splitlines()[-1]
    return re.sub(r'.*REPL: ', '', line)[:150]


def said_at(text, words):
    """Second at which the log says it first."""
    line = next(l for l in text.splitlines() if words in l)
    return time.mktime(time.strptime(' '.join(line.split()[:2]), '%d/%m/%Y %H:%M:%S'))


def tail(text):
    return '\n'.join(l[-300:] for l in text.splitlines() if 'DBUS' not in l)[-3000:]


def others_serve(b):
    """Reads go on at the other sites."""
    for s in b.sites:
        if s != SITE:
            bed.expect(b.status_of(s, 'cat /nfs/base/f', 20) == 0, f'site {s} cannot read')


def no_export(b, site=SITE):
    """The server does not serve the volume: it has ended, or a fresh mount fails."""
    if b.tb('server', site, 'pid').returncode != 0:
        return
    rc = b.status_of(site, f'mkdir -p /run/m; timeout -s KILL 20 mount -t nfs4 -o vers=4.2,retry=0 10.0.{site}.1:/data /run/m', 40)
    if rc == 0:
        b.sh(site, 'ls /run/m; umount /run/m')
    bed.expect(rc != 0, 'the export is there in spite of the refusal')


def whole_again(b):
    """After the repair: it joins, an update from every site reaches all."""
    for s in b.sites:
        b.sh(s, f'echo {s} >/nfs/base/again-{s}', timeout=100)
    want = [f'again-{s}' for s in b.sites]
    for s in b.sites:
        names = b.sh(s, 'ls /nfs/base', timeout=100).split()
        bed.expect([n for n in names if n.startswith('again-')] == want, f'site {s} lists {names}')
        got = b.sh(s, 'cd /nfs/base && cat ' + ' '.join(want), timeout=100)
        bed.expect(got == '1\n2\n3\n', f'site {s} reads {got!r}')


def refused_at_start(b, old, new, pattern):
    """One change of the configuration of the server."""
    stop(b)
    try:
        with Edited(b, old, new):
            line = says(start(b), pattern)
            others_serve(b)
            no_export(b)
    finally:
        again(b)
    return line


def refused_by_peers(b, old, new, pattern, sites=(1, 2)):
    """It starts, but is not let in; both sides say so, the others go on, and it returns when that is mended."""
    stop(b)
    marks = {s: len(b.log(s)) for s in b.sites}
    try:
        with Edited(b, old, new):
            line = says(start(b), pattern)
            for s in sites:
                says(lambda: b.log(s)[marks[s]:], pattern)
            others_serve(b)
    finally:
        again(b)
    whole_again(b)
    return line


def list_of_its_own(b):
    """Once there was another view than the first, it says who the servers are: a block too many is named and does no harm."""
    stop(b)
    try:
        wait_removed(b, SITE)
    finally:
        again(b)
    wait_back(b)
    stop(b)
    try:
        with Edited(b, r'^(\s*Server { Id = 2;.*)$', r'\1 Server { Id = 4; Address = "10.0.1.9"; }'):
            line = says(start(b), 'server 4 is not a server of the volume, but the configuration of this server names it')
            whole_again(b)
    finally:
        again(b)
    whole_again(b)
    return line


def store_locked(b):
    """A second process with the same store: it is refused, the first is unharmed."""
    with open(conf(b)) as f:
        text = f.read()
    d = b.server_dir(SITE)
    second = os.path.join(b.run, 'second.conf')
    with open(second, 'w') as f:
        f.write(text.replace('NFS_Port = 2049', 'NFS_Port = 2051').replace('ctl.sock', 'ctl2.sock').replace(f'{d}/rec', f'{b.run}/rec2'))
    os.makedirs(f'{b.run}/rec2', exist_ok=True)
    log = os.path.join(b.run, 'second.log')
    binary = os.path.join(bed.ROOT, '.deps/ganesha-release')
    b.inside('bash', '-c', f'LD_LIBRARY_PATH={binary}/lib setsid ip netns exec s{SITE} {binary}/bin/ganesha.nfsd -F -f {second} '
             f'-L {log} -p {b.run}/second.pid >/dev/null 2>&1 &')

    def read():
        return open(log, errors='replace').read() if os.path.exists(log) else ''
    try:
        line = says(read, r'store.*(in use|locked|another process)')
    finally:
        b.inside('bash', '-c', f'kill -KILL $(cat {b.run}/second.pid)')
    whole_again(b)
    return line


def corrupt(path):
    """Overwrites the middle of what a file has before the zeros that it is laid out with, of a database all but its two heads (what is in between
    may not be in use); a function that puts it back."""
    with open(path, 'r+b') as f:
        good = f.read()
        size = len(good if path.endswith('.mdb') else good.rstrip(b'\0'))
        begin, end = (8192, size) if path.endswith('.mdb') else (size // 4, size * 3 // 4)
        f.seek(begin)
        f.write(b'\x5a' * (end - begin))

    def back():
        with open(path, 'wb') as f:
            f.write(good)
    return back


def corrupt_store(b, what, pattern):
    stop(b)
    paths = sorted(glob.glob(os.path.join(b.server_dir(SITE), 'store', what)))
    bed.expect(paths, f'no {what} in the store')
    back = corrupt(paths[-1])
    try:
        line = says(start(b), pattern)
        others_serve(b)
        no_export(b)
    finally:
        stop(b)
        back()
        start(b)
    whole_again(b)
    return line


def unreadable_store(b):
    """The store's directory is a file."""
    stop(b)
    store = os.path.join(b.server_dir(SITE), 'store')
    os.rename(store, store + '.good')
    with open(store, 'w'):
        pass
    try:
        line = says(start(b), r'store.*(not a directory|cannot)')
        no_export(b)
    finally:
        stop(b)
        os.unlink(store)
        os.rename(store + '.good', store)
        start(b)
    whole_again(b)
    return line


def other_directory(b):
    """The store of another directory than the exported one (its file system is not mounted)."""
    stop(b)
    data = b.data(SITE)
    os.rename(data, data + '.good')
    os.mkdir(data)
    try:
        line = says(start(b), r'store.*does not belong to the exported directory')
        no_export(b)
    finally:
        stop(b)
        os.rmdir(data)
        os.rename(data + '.good', data)
        start(b)
    whole_again(b)
    return line


ALONE = 25                  # seconds for some updates: until it withdraws, its lease, and some more


def withdraws(b, make, mend, pattern, path):
    """The disk of one server fails: a line says what to do, it leaves the view, the others go on without it. Mended it is back by itself, and has it all."""
    mark = len(b.log(SITE))
    controls_end(b)
    b.must_in_bed(*make)
    try:
        begin = time.monotonic()
        b.sh(1, f'mkdir {path} && for i in 1 2 3 4; do head -c 4000000 /dev/urandom >{path}/big$i || exit 1; done', timeout=100)
        line = says(lambda: b.log(SITE)[mark:], 'this server cannot apply .*: .*' + pattern, 10)
        b.sh(2, f'echo x >{path}/there', timeout=60)
        took = time.monotonic() - begin
        bed.eventually(10, lambda: SITE not in b.ask(1, 'status')['view']['members'], 'it is still a member')
        said = b.ask(SITE, 'status')
        bed.expect(said['state'] == 'cannot apply' and re.search(pattern, said['why'], re.I), f'status says {said["state"]}: {said.get("why")}')
        there = [s for s in b.ask(1, 'status')['view']['servers'] if s['server'] == SITE][0]
        bed.expect(there['state'] == 'cannot apply' and re.search(there['cannot_apply'], said['why']), f'server 1 says of it: {there}')
        others_serve(b)
    finally:
        b.must_in_bed(*mend)
    says(lambda: b.log(SITE)[mark:], 'this server serves again', 60)
    bed.expect(took < ALONE, f'the others went on after {took:.1f} s')
    whole_again(b)
    same_bytes(b, path)
    return f'{took:.1f} s; {line}'


def controls_end(b):
    """Nobody controls anything: else what the ill-treated server controls waits for it."""
    b.no_controls(30)


def same_bytes(b, path):
    hashes = {}
    for s in b.sites:
        b.must('client', s, 'drop-caches')
        hashes[s] = b.sh(s, f'cat {path}/* | sha256sum', timeout=120)
    bed.expect(len(set(hashes.values())) == 1, f'the sites read different bytes: {hashes}')


def fill(b, what):
    """Every byte of the file system; what is gone afterwards stays gone when the machine crashes."""
    path = f'{b.server_dir(SITE)}/{what}/.ballast'
    return ('sh', '-c', f'cat /dev/zero >{path} 2>/dev/null; sync {path}'), ('sh', '-c', f'rm {path}; sync -f {os.path.dirname(path)}')


def read_only_tree(b):
    data = f'{b.server_dir(SITE)}/data'
    return withdraws(b, ('mount', '-o', 'remount,ro', data), ('mount', '-o', 'remount,rw', data), 'read-only.*mount the exported', '/nfs/base/ro')


def full_store(b):
    """Not a byte is left beside the journal: what frees something is taken all the same, from what is set aside for that, all else is refused, and nobody stops."""
    b.sh(SITE, 'mkdir /nfs/store && cd /nfs/store && for i in $(seq 60); do echo $i >f$i || exit 1; done', timeout=200)
    controls_end(b)
    mark = len(b.log(SITE))
    make, mend = fill(b, 'store')
    b.must_in_bed(*make)
    try:
        bed.eventually(10, lambda: b.ask(SITE, 'status')['space']['refused'], 'nothing is refused')
        line = says(lambda: b.log(SITE)[mark:], 'updates that need space are refused .*server 3 .*of Store', 10)
        b.sh(SITE, 'cd /nfs/store && for i in $(seq 59); do rm f$i || exit 1; done', timeout=200)
        bed.expect(b.status_of(SITE, 'echo more >/nfs/store/more') != 0, 'a file is made')
        bed.expect(b.status_of(1, 'echo more >/nfs/store/more') != 0, 'a file is made at another site')
    finally:
        b.must_in_bed(*mend)
    says(lambda: b.log(SITE)[mark:], 'every server has space again', 20)
    bed.expect('stops serving' not in b.log(SITE)[mark:], 'the server has stopped')
    bed.expect(b.sh(1, 'ls /nfs/store') == 'f60\n', 'the wrong files are left')
    whole_again(b)
    return line


def full_at_the_writer(b):
    """The client's own server is full: the client hears it, and what was written before is whole everywhere."""
    b.sh(SITE, 'rm -rf /nfs/base/disk /nfs/base/ro; mkdir /nfs/base/disk', timeout=100)
    rc = b.status_of(SITE, 'echo kept >/nfs/base/kept && sync /nfs/base/kept; '
                     'for i in 1 2 3 4 5 6 7 8; do head -c 8000000 /dev/zero >/nfs/base/disk/more$i || exit 28; sync /nfs/base/disk/more$i || exit 28; done', 200)
    bed.expect(rc == 28, f'status {rc} instead of a refusal for lack of space')
    b.sh(SITE, 'rm -f /nfs/base/disk/more*', timeout=100)
    whole_again(b)
    for s in b.sites:
        bed.expect(b.sh(s, 'cat /nfs/base/kept') == 'kept\n', f'site {s} lost a file')


def mistake_after_a_crash(b, tries=8):
    """What Ganesha finds wrong with the export when the volume runs already, and what is in doubt after a crash waits for the end of the start: it says so, and the volume is stopped. Threads race here."""
    b.sh(1, 'for i in $(seq 50); do echo doubtful >/nfs/base/doubt$i; done')
    bed.eventually(20, lambda: b.sh(SITE, 'cat /nfs/base/doubt*').count('doubtful') == 50, f'site {SITE} lacks files')
    b.must('server', SITE, 'crash')
    with Edited(b, r'Pseudo = /data', 'Pseudo = data'):
        for _ in range(tries):
            log = start(b)
            says(log, r'A Pseudo path must be')
            says(log, r'Errors processing block \(EXPORT\)')
            b.must('server', SITE, 'kill')
    log = start(b)
    says(log, 'the machine had crashed')
    says(log, 'nothing is in doubt any more')
    whole_again(b)


def handles_everywhere(b):
    """A file is opened at site 1; its handle and inode number are the same bytes at every site."""
    b.sh(1, 'mkdir -p /nfs/handles/d && echo x >/nfs/handles/f && ln -s f /nfs/handles/s && mkfifo /nfs/handles/p && mknod /nfs/handles/c c 1 3')
    seen = bed.everywhere(lambda s: json.loads(b.must_py(s, 'handles.py', '/nfs/handles')), b.sites)
    for s in b.sites:
        bed.expect(seen[s] == seen[1], f'site 1: {seen[1]}\nsite {s}: {seen[s]}')
    bed.expect(len({h for _, h in seen[1].values()}) == len(seen[1]) >= 5, 'handles of different objects are equal')
    return f'{len(seen[1])} objects, handles of {len(seen[1]["f"][1]) // 2} bytes'


DELAY = 10008               # NFS4ERR_DELAY
READDIR = 26


def raw_listing(b, site, path):
    r = b.tb('ns', site, '--', '/usr/bin/python3', os.path.join(bed.LIB, 'raw_readdir.py'), f'10.0.{site}.1', path)
    bed.expect(r.returncode == 0, f'READDIR of {path} at site {site}: {r.stdout}{r.stderr}')
    return json.loads(r.stdout)


def listed(b):
    """What site 2 lists, or nothing: it is to be asked again, as a client does."""
    said = raw_listing(b, 2, '/data/listed')
    return said if said['status'] == 0 else None


def listed_cut_off(b):
    """What site 2 says to READDIR while it cannot ask site 3, or nothing: on a busy machine it may have been removed from the view before it was asked."""
    b.links((2, SITE, 'cut'))
    try:
        said = raw_listing(b, 2, '/data/listed')
    finally:
        b.links((2, SITE, 'heal'))
    return said if said['op'] == READDIR else None


def owner_out_of_reach(b):
    """A listing with attributes of a file whose owner cannot be asked: the client is told to wait, in a reply that every client understands."""
    b.sh(1, 'mkdir /nfs/listed && cd /nfs/listed && for i in 1 2 3 4 5 6 7 8; do echo $i >f$i; done')
    b.no_controls(30)
    whole = bed.eventually(30, lambda: listed(b), 'site 2 does not list it')
    bed.expect(whole['eof'] and len(whole['names']) == 8, f'{whole}')
    last = whole['names'][-1]
    writer = b.start_sh(SITE, f'exec 3>>/nfs/listed/{last}; while [ ! -e /nfs/listed.end ]; do echo more >&3; sync /nfs/listed/{last}; sleep 0.2; done')
    try:
        bed.eventually(20, lambda: any(c['owner'] == SITE for c in b.ask(2, 'controls')['controls']), 'site 3 does not control what it writes')
        said = bed.eventually(60, lambda: listed_cut_off(b), 'site 2 was never asked in time')
    finally:
        b.sh(1, 'echo >/nfs/listed.end')
        writer.communicate(timeout=60)
    bed.expect(said['status'] == DELAY and not said['names'], f'the owner of the last one is out of reach, and the listing is {said}')
    again = bed.eventually(30, lambda: listed(b), 'site 2 does not list it again')
    bed.expect(again['names'] == whole['names'] and again['eof'], f'{again}')


def view_number(b):
    return b.ask(1, 'status')['view']['number']


def taken(b, port):
    """Something else has a port of the site."""
    code = f'import socket, sys; s = socket.create_server(("10.0.{SITE}.1", {port})); print("taken", flush=True); sys.stdin.read()'
    p = subprocess.Popen(['nsenter', '-t', b.pid1(), '-a', '--', 'ip', 'netns', 'exec', f's{SITE}', '/usr/bin/python3', '-c', code],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    bed.expect(bed.line_of(p) == 'taken\n', f'port {port} cannot be taken')
    return p


def starts_in_vain(b):
    """Its NFS port is taken, and it is started again each time it ends, as systemd does: no server takes notice, nobody waits."""
    stop(b)
    wait_removed(b, SITE)
    number, marks = view_number(b), {s: len(b.log(s)) for s in b.sites}
    p = taken(b, 2049)
    try:
        for _ in range(3):
            line = says(start(b), r'NFS_Port = 2049 is in use by another process')
            bed.eventually(10, lambda: b.tb('server', SITE, 'pid').returncode != 0, 'the daemon goes on')
        begin = time.monotonic()
        b.sh(1, 'for i in $(seq 20); do echo $i >/nfs/base/meanwhile && sync /nfs/base/meanwhile || exit 1; done')
        took = time.monotonic() - begin
        bed.expect(view_number(b) == number, 'the view has changed')
        for s in b.sites:
            if s != SITE:
                bed.expect(f'server {SITE} is connected' not in b.log(s)[marks[s]:], f'site {s} let it in')
    finally:
        p.communicate(timeout=20)  # it ends with its input
        again(b)
    whole_again(b)
    return f'20 updates meanwhile in {took:.1f} s; {line}'


def ends_again_and_again(b):
    """It joins and dies, and is started again each time: from the fourth time on it waits before it joins."""
    stop(b)
    with Edited(b, 'Restart_Pause = 0', 'Restart_Pause = 60000'):
        for _ in range(3):
            says(start(b), r'server 1 is connected')
            b.must('server', SITE, 'kill')
        wait_removed(b, SITE)
        log = start(b)
        line = says(log, r'the last 3 runs of this server ended within 30 s each; it waits 5 s before it joins')
        said = b.ask(SITE, 'status')
        if 'is connected' not in log():     # else this machine took five seconds to ask
            bed.expect(said['state'] == 'starting' and 'it waits 5 s' in said['why'], f'status says {said["state"]}: {said.get("why")}')
        says(log, r'server 1 is connected', 15)
        waited = said_at(log(), 'server 1 is connected') - said_at(log(), 'it waits 5 s before it joins')
        bed.expect(waited >= 5, f'it joined after {waited} s')
        wait_back(b)
    again(b)
    whole_again(b)
    return line


def file_does_not_count(b):
    """The volume has its settings since its first start: a file with another one is said, and nobody refuses the server."""
    stop(b)
    with Edited(b, r'^\s*Volume = ', '\tMax_Round_Trip = 300;\n\tVolume = '):
        line = says(start(b), r'the volume has Max_Round_Trip = \d+ \(here 300\).*, and that counts')
        wait_back(b)
        said = b.ctl(SITE, 'status').stdout
        bed.expect('the file of this server has 300, which does not count' in said, f'status says: {said}')
        r = b.ctl(1, 'set', 'Max_Round_Trip', '300')
        bed.expect(r.returncode == 0 and 'Max_Round_Trip = 300 milliseconds' in r.stdout, f'set: {r.stdout}{r.stderr}')
        bed.eventually(20, lambda: 'does not count' not in b.ctl(SITE, 'status').stdout, 'the volume does not get what the file has')
    again(b)
    whole_again(b)
    return line


def configurations(report):
    with bed.Bed.own(*OPTIONS) as b:
        b.sh(1, 'mkdir /nfs/base && echo base >/nfs/base/f')
        report.check('handles are the same at every site', handles_everywhere, b)
        report.check('a listing while an owner is out of reach', owner_out_of_reach, b)
        for key, old, new, pattern in (
                ('no Volume_UUID', r'^\s*Volume_UUID = .*$', '', 'Volume_UUID is missing'),
                ('unknown key', r'^\s*Volume = ', '\tVolumee = "x";\n\tVolume = ', r'Unknown parameter \(Volumee\): there is no such key; the most similar is Volume, in REPL'),
                ("a key's old name", r'^\s*Volume = ', '\tSilence = 2000;\n\tVolume = ', 'Silence is called Failure_Timeout now: write that, in Tuning'),
                ('Server_Id of no server', r'^\s*Server_Id = 3', '\tServer_Id = 9', 'Server_Id = 9'),
                ('more threads may wait than there are', r'^\s*Restart_Pause = ', '\tWaiting_Max = 100000;\n\tRestart_Pause = ', r'Waiting_Max = 100000 is not below RPC_Ioq_ThrdMax = \d+'),
                ('a store that is not absolute', r'^\s*Store = .*$', '\tStore = "relative";', 'Store')):
            report.check(key, refused_at_start, b, old, new, pattern)
        for key, old, new, pattern in (
                ('another Export_Id', 'Export_Id = 77', 'Export_Id = 78', 'Export_Id'),
                ('another Pseudo', r'Pseudo = /data', 'Pseudo = /date', 'Pseudo differs: server . has "/dat.", server . has "/dat."; write the same'),
                ('the Server_Owner of another server', 'Server_Owner = "s3"', 'Server_Owner = "s1"', 'Server_Owner must differ: servers . and . both have "s1"')):
            report.check(key, refused_by_peers, b, old, new, pattern, (1,) if 'Owner' in key else (1, 2))
        report.check('another Max_Round_Trip in a file', file_does_not_count, b)
        report.check('starts that come to nothing', starts_in_vain, b)
        report.check('starts that end soon', ends_again_and_again, b)
        report.check('a server list of its own', list_of_its_own, b)
        report.check('a server less than the store knows', refused_at_start, b, r'^\s*Server { Id = 2;.*$', '', 'store.*Server block was removed')
        report.check('another Volume_UUID than the store has', refused_at_start, b, '6f1c2b1e', '7f1c2b1e', 'volume')
        report.check('a store that another process has locked', store_locked, b)
        report.check('a corrupt journal', corrupt_store, b, 'journal-*', 'journal.*(corrupt|damaged|checksum)|store.*(corrupt|damaged)')
        report.check('a corrupt database', corrupt_store, b, 'lmdb/data.mdb', 'store.*(corrupt|damaged|backup)|lmdb')
        report.check('an unreadable store', unreadable_store, b)
        report.check('the store of another directory', other_directory, b)
        report.check('equal trees', trees.clients_equal, b)
        report.check('equal disks', trees.disks_equal, b)
        report.check('all servers alive', b.servers_alive)


def full_disks(report):
    with bed.Bed.own(*OPTIONS, '--images', '128M', '--disk', f'{SITE}=40M', '--set', 'Escalate_After=0') as b:
        b.sh(1, 'mkdir /nfs/base && echo base >/nfs/base/f')
        report.check('a full disk at the own server', full_at_the_writer, b)
        report.check('a read-only tree', read_only_tree, b)
        report.check('a full store', full_store, b)
        report.check('a mistake in the export after a crash of the machine', mistake_after_a_crash, b)
        report.check('equal trees after the full disks', trees.clients_equal, b)
        report.check('nfs4rctl verify after the full disks', trees.verify, b)


PARTS = {'configurations': configurations, 'full_disks': full_disks}


def main():
    unknown = set(sys.argv[1:]) - set(PARTS)
    if unknown:
        sys.exit(f'no part {", ".join(unknown)}; there are {", ".join(PARTS)}')
    report = bed.Report('refusals')
    for part in sys.argv[1:] or PARTS:
        PARTS[part](report)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
