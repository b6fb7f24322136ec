"""Single operations without end in a client, each of them timed: for tests in which nothing may pause.

	steady.py DIR SITE STOP

Until the file STOP (on the host, in /tmp) exists: appends lines to a file of its own and syncs them, and makes, writes and removes files in DIR/../together, where all sites do so and most operations
go to another site. STOP.SITE counts its rounds. Prints one JSON object:
{steps, longest: [seconds, operation, begin], held: lines of the own file, files: names that must be in the shared directory, heard: as load.py says it}.
"""
import errno
import json
import os
import sys
import time

HEARD = []
LONGEST = [0.0, '', 0.0]
KEEPS = 20      # of so many files one stays


def timed(what, function, *args):
    """What it returns; None if it was done already (a server was restarted, and the client repeats)."""
    global LONGEST
    begin, start = time.time(), time.monotonic()
    try:
        return function(*args)
    except FileNotFoundError as e:
        HEARD.append([what, begin, time.time(), errno.errorcode[e.errno]])
    finally:
        LONGEST = max(LONGEST, [round(time.monotonic() - start, 2), what, begin])


def one_round(i, site, held, together):
    """The name of a file that stays, or None."""
    name = f'{together}/{site}-{i}'
    timed('write', os.write, held, f'line {i}\n'.encode())
    timed('fsync', os.fsync, held)
    fd = timed('create', os.open, name, os.O_CREAT | os.O_WRONLY)
    timed('write', os.write, fd, f'file {i} of site {site}\n'.encode())
    timed('close', os.close, fd)
    if i % KEEPS == 0:
        return os.path.basename(name)
    timed('unlink', os.unlink, name)
    return None


def main(directory, site, stop):
    together = os.path.join(os.path.dirname(directory), 'together')
    os.makedirs(directory, exist_ok=True)
    os.makedirs(together, exist_ok=True)
    held = os.open(f'{directory}/held', os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    files, i = [], 0
    while not os.path.exists(stop):
        name = one_round(i, site, held, together)
        if name:
            files.append(name)
        i += 1
        with open(f'{stop}.{site}', 'w') as f:
            f.write(str(i))
        time.sleep(0.05)
    os.close(held)
    print(json.dumps({'steps': i, 'longest': LONGEST, 'held': i, 'files': files, 'heard': HEARD}))


main(*sys.argv[1:])
