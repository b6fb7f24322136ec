"""One site's part of races over shared names, begun at the same moment at all sites.

	races.py DIR SITE START

START: seconds since the epoch. Prints one JSON object {race: [names won]}; who won is judged outside.
"""
import json
import os
import sys
import time

ROUNDS = 12


def won(function, refusals):
    try:
        function()
        return True
    except refusals:
        return False


def exclusive(name, site):
    def create():
        fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        os.write(fd, f'site {site}'.encode())
        os.close(fd)
    return won(create, FileExistsError)


def mkdir(name, site):
    return won(lambda: os.mkdir(name), FileExistsError)


def symlink(name, site):
    return won(lambda: os.symlink(f'site-{site}', name), FileExistsError)


def rename_away(name, site):
    """Each site moves the same file to a name of its own."""
    return won(lambda: os.rename(name, f'{name}-at-{site}'), FileNotFoundError)


def unlink(name, site):
    return won(lambda: os.unlink(name), FileNotFoundError)


def link(name, site):
    """Each links another object to the same name."""
    return won(lambda: os.link(f'own-{site}', name), FileExistsError)


RACES = {'exclusive': exclusive, 'mkdir': mkdir, 'symlink': symlink, 'rename_away': rename_away, 'unlink': unlink,
         'link': link}


def prepare():
    """By one site, before the race: what rename_away and unlink take."""
    for i in range(ROUNDS):
        for race in ('rename_away', 'unlink'):
            with open(f'{race}-{i}', 'w') as f:
                f.write(race)
    for s in (1, 2, 3):
        with open(f'own-{s}', 'w') as f:
            f.write(f'site {s}')


def run_in_process_of(site):
    """The verifier of an exclusive create has little but the pid that differs from machine to machine: no two sites race in processes of one pid."""
    while os.getpid() % 4 != site:
        pid = os.fork()
        if pid:
            os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def main(directory, site, start):
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    if start == 'prepare':
        return prepare()
    run_in_process_of(int(site))
    result = {}
    for n, (race, function) in enumerate(RACES.items()):
        while (late := time.time() - float(start) - n * 1.0) < 0:
            time.sleep(min(-late, 0.05) if late < -0.001 else 0)
        result[race] = [i for i in range(ROUNDS) if function(f'{race}-{i}', int(site))]
    print(json.dumps(result))


if __name__ == '__main__':
    main(*sys.argv[1:])
