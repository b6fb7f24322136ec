"""What one site does in a directory, and what another sees of it; for t_directory_reads.py.

	names_probe.py do WHAT DIR NAME GO       at AT; prints {t0, t1}
	names_probe.py see WHAT DIR NAME GO      from AT until UNTIL looks again and again; prints [[t0, t1, is it the new state?], ...]
	names_probe.py take DIR NAME GO          from AT makes the file, exclusively, again and again until it is made; prints [[t0, t1, error or null], ...]
	names_probe.py refuse DIR NAME GO        at AT mkdir of a name that another site has just made; prints {t0, t1, error}
	names_probe.py open DIR NAME,NAME,..     opens the files, one after the other; prints the seconds that each took
	names_probe.py work DIR NAME             makes directories, so often that the site keeps control, until that name is there
	names_probe.py change DIR NAME,NAME,..   makes, renames and removes them; prints [[seconds that each took], ..], a name a line
	names_probe.py write DIR NAME,NAME,..    writes a block of each and syncs it; prints the seconds that each took

When it can begin it makes the file GO.do, GO.see, GO.take, GO.refuse, and waits for the file GO, which has the times of this clock: {"do": [AT], "see": [AT, UNTIL], ..}.
WHAT is mkdir, list (do: mkdir; see: a listing), rewrite (of the file NAME, which exists), save (a new file takes NAME), away (the file NAME gets another name).
"""
import errno
import json
import os
import sys
import threading
import time


def wait(at):
    while (left := at - time.time()) > 0:
        time.sleep(min(left, 0.02))


def times_from(go, kind):
    open(f'{go}.{kind}', 'w').close()
    while not os.path.exists(go):
        time.sleep(0.005)
    with open(go) as f:
        return json.load(f)[kind]


def put(name, text):
    with open(name, 'w') as f:
        f.write(text)


def do(what, name, at):
    """Something in the same directory goes shortly before, so that this site controls it already."""
    wait(at - 0.9)
    os.mkdir(f'before-{name}')
    if what == 'save':
        put(f'{name}.tmp', 'new')
    if what in ('rewrite', 'save'):
        os.utime(name)
    wait(at)
    t0 = time.time()
    if what == 'rewrite':
        put(name, 'new')
    elif what == 'save':
        os.rename(f'{name}.tmp', name)
    elif what == 'away':
        os.rename(name, f'{name}.away')
    else:
        os.mkdir(name)
    return {'t0': t0, 't1': time.time()}


def content(name):
    with open(name) as f:
        text = f.read()
    if text not in ('old', 'new'):
        raise SystemExit(f'{name} reads {text!r}')
    return text == 'new'


SEE = {'mkdir': os.path.exists, 'list': lambda name: name in os.listdir('.'), 'rewrite': content, 'save': content}


def see(what, name, at, until):
    """Four lookers: while one waits for the answer of another site, the next begins."""
    def look_again(begin):
        wait(begin)
        while time.time() < until:
            t0 = time.time()
            new = SEE[what](name)
            seen.append([t0, time.time(), new])
    seen = []
    lookers = [threading.Thread(target=look_again, args=(at + i * 0.1,)) for i in range(4)]
    for t in lookers:
        t.start()
    for t in lookers:
        t.join()
    return sorted(seen)


def take(name, at):
    os.stat(name)       # the client knows it
    wait(at)
    tries = []
    while not tries or tries[-1][2]:
        t0, error = time.time(), None
        try:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except OSError as e:
            error = errno.errorcode[e.errno]
        tries.append([t0, time.time(), error])
        if len(tries) > 5000:
            raise SystemExit(f'refused {len(tries)} times: {tries[-1]}')
    return tries


def refuse(name, at):
    wait(at)
    t0, error = time.time(), None
    try:
        os.mkdir(name)
    except OSError as e:
        error = errno.errorcode[e.errno]
    return {'t0': t0, 't1': time.time(), 'error': error}


def open_all(names):
    os.stat('.')        # the client knows the directory
    took = []
    for name in names.split(','):
        start = time.monotonic()
        os.close(os.open(name, os.O_RDONLY))
        took.append(time.monotonic() - start)
    return took


def work(stop):
    n = 0
    while not os.path.exists(stop) and n < 5000:
        os.mkdir(f'{n}')
        n += 1
        time.sleep(0.02)


def change_all(names):
    os.stat('.')
    took = []
    for name in names.split(','):
        t = [time.monotonic()]
        fd = os.open(name, os.O_WRONLY | os.O_CREAT)
        t.append(time.monotonic())
        os.fchmod(fd, 0o640)
        t.append(time.monotonic())
        os.close(fd)
        t.append(time.monotonic())
        os.rename(name, f'{name}-')
        t.append(time.monotonic())
        os.unlink(f'{name}-')
        t.append(time.monotonic())
        took.append([t[1] - t[0], t[2] - t[1], t[4] - t[3], t[5] - t[4]])
    return took


def write_all(names):
    took = []
    for name in names.split(','):
        fd = os.open(name, os.O_WRONLY)
        start = time.monotonic()
        os.pwrite(fd, b'bytes', 4096)
        os.fsync(fd)
        took.append(time.monotonic() - start)
        os.close(fd)
    return took


def main(args):
    kind = args.pop(0)
    what = args.pop(0) if kind in ('do', 'see') else None
    directory, name, *go = args
    os.chdir(directory)
    times = times_from(*go, kind) if go else []
    if what:
        print(json.dumps({'do': do, 'see': see}[kind](what, name, *times)))
    else:
        print(json.dumps({'take': take, 'refuse': refuse, 'open': open_all, 'change': change_all, 'write': write_all, 'work': work}[kind](name, *times)))


main(sys.argv[1:])
