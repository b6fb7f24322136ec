"""A directory with many names.

	many_names.py create|list|stat|remove DIR N       empty files f0000000 to fN
	many_names.py links DIR N                         N more names of one file; fewer if the file system says EMLINK, and then how many

Prints the seconds that it took, and operations per second.
"""
import os
import sys
import time


def links(d, n):
    os.makedirs(d, exist_ok=True)
    open(f'{d}/a', 'w').close()
    for i in range(n):
        try:
            os.link(f'{d}/a', f'{d}/f{i:07d}')
        except OSError as e:
            print(f'after {i} links: {e}')
            break
    print('link count', os.stat(f'{d}/a').st_nlink)


def main(what, d, n):
    n, start = int(n), time.monotonic()
    if what == 'create':
        os.makedirs(d, exist_ok=True)
        for i in range(n):
            os.close(os.open(f'{d}/f{i:07d}', os.O_CREAT | os.O_WRONLY | os.O_EXCL))
    elif what == 'list':
        assert len(os.listdir(d)) == n
    elif what == 'stat':
        assert sum(1 for e in os.scandir(d) if e.stat(follow_symlinks=False)) == n
    elif what == 'remove':
        for i in range(n):
            os.unlink(f'{d}/f{i:07d}')
    elif what == 'links':
        links(d, n)
    seconds = time.monotonic() - start
    print(f'{what} {d} {n}: {seconds:.1f} s, {n / seconds:.0f} per second')


if __name__ == '__main__':
    main(*sys.argv[1:])
