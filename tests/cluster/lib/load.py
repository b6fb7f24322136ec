"""A light load in a client that goes on while servers die and come back.

	load.py DIR SITE STOP

Until the file STOP (on the host, in /tmp) exists: makes, writes, renames and removes files of its own and appends
to one that it keeps open and locked all the time. STOP.SITE counts its steps. Prints one JSON object:
{steps, gap: longest step in seconds, files: {name: content that must be there}, held: lines of the open file, heard: [[op, begin, end, error]]}.
An error of any call ends it: a hard mount promises that a restart of the server is only a pause. But an error that says that it was done already
is heard and taken for success; whether it may be heard (times are this machine's) is judged outside, and what is there as well.
"""
import errno
import fcntl
import json
import os
import sys
import time


HEARD = []


def call(function, *args):
    begin = time.time()
    try:
        function(*args)
    except (FileExistsError, FileNotFoundError) as e:
        HEARD.append([function.__name__, begin, time.time(), errno.errorcode[e.errno]])


def small_file(i, site):
    """What exists after step i: a name and its content, or None."""
    name, text = f'f{i}', f'file {i} of site {site}\n'
    with open(name, 'w') as f:
        f.write(text)
    if i % 3 == 1:
        call(os.rename, name, f'moved-{i}')
        name = f'moved-{i}'
    if i % 3 == 2:
        with open(name, 'a') as f:
            f.write('again\n')
        text += 'again\n'
    if i % 7 == 6:
        call(os.unlink, name)
        return None
    if i % 5 == 4:
        call(os.mkdir, f'd{i}')
        call(os.rename, name, f'd{i}/inside')
        name = f'd{i}/inside'
    return name, text


def lock_is_ours(path):
    """No other process of this client gets it."""
    pid = os.fork()
    if pid == 0:
        try:
            fd = os.open(path, os.O_RDWR)
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os._exit(1)
        except OSError:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def main(directory, site, stop):
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    held = os.open('held', os.O_CREAT | os.O_RDWR | os.O_APPEND)
    fcntl.lockf(held, fcntl.LOCK_EX)
    files, i, gap = {}, 0, 0.0
    while not os.path.exists(stop):
        start = time.monotonic()
        os.write(held, f'line {i}\n'.encode())
        if i % 4 == 0:
            os.fsync(held)
        made = small_file(i, site)
        if made:
            files[made[0]] = made[1]
        gap = max(gap, time.monotonic() - start)
        i += 1
        with open(f'{stop}.{site}', 'w') as f:
            f.write(str(i))
        time.sleep(0.05)
    ours = lock_is_ours('held')
    os.close(held)
    print(json.dumps({'steps': i, 'gap': round(gap, 1), 'files': files, 'held': i, 'lock': ours, 'heard': HEARD}))


main(*sys.argv[1:])
