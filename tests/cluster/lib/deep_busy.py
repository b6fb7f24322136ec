"""A site that works without a pause in directories it holds open, wherever others move them.

	deep_busy.py STOP NAME DIR...     makes the directories that are missing, then files in them
	deep_busy.py STOP NAME --append FILE

Until the file STOP (on the host, in /tmp) exists; STOP.NAME counts its steps. Prints one JSON object: {files: [{name: content}
for each DIR], lines: appended, gap: longest step in seconds}. No error is tolerated: what it has open stays usable.
"""
import json
import os
import sys
import time


def make(fd, i, files):
    """A file that stays, one that gets another name, one that goes."""
    name, text = f'{sys.argv[2]}-{i}', f'file {i}\n'
    f = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=fd)
    os.write(f, text.encode())
    os.close(f)
    if i % 3 == 1:
        os.rename(name, f'moved-{name}', src_dir_fd=fd, dst_dir_fd=fd)
        name = f'moved-{name}'
    if i % 3 == 2:
        os.unlink(name, dir_fd=fd)
    else:
        files[name] = text


def in_directories(paths):
    for path in paths:
        os.makedirs(path, exist_ok=True)
    fds, files = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in paths], [{} for _ in paths]

    def step(i):
        make(fds[i % len(fds)], i // len(fds), files[i % len(fds)])
    return step, lambda steps: {'files': files}


def appending(path):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def step(i):
        os.write(fd, f'line {i}\n'.encode())
        os.fsync(fd)

    def end(steps):
        os.close(fd)
        return {'lines': steps}
    return step, end


def main(stop, name, *paths):
    step, end = appending(paths[1]) if paths[0] == '--append' else in_directories(paths)
    steps, gap = 0, 0.0
    while not os.path.exists(stop):
        start = time.monotonic()
        step(steps)
        gap = max(gap, time.monotonic() - start)
        steps += 1
        with open(f'{stop}.{name}', 'w') as f:
            f.write(str(steps))
        time.sleep(0.05)
    print(json.dumps({**end(steps), 'gap': round(gap, 2)}))


main(*sys.argv[1:])
