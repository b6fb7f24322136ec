"""One site's part of names that are made and removed at all sites at the same time.

	names_race.py DIR SITE SECONDS       prints {"tries": {kind: {what it said: how often}}, "wrong": [lines]} as JSON

The directory is there all the time, so nobody may hear that something is not there. A stat alone may be told that what it found has gone since (ESTALE): the client asks for the name and then for
its attributes, and tries that twice. Of each kind: a name that every site tries to make, and removes
when it has made it (mkdir, symlink, mkfifo, mknod, link, an exclusive create); a file that every site opens with O_CREAT and removes; and a name that is always
there, because every site moves a new file over it, and opens it.
"""
import errno
import json
import os
import random
import stat
import sys
import threading
import time


def make_device(name):
    os.mknod(name, 0o600 | stat.S_IFCHR, os.makedev(1, 3))


def exclusive(name):
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))


site = None


KINDS = {'mkdir': (os.mkdir, os.rmdir), 'symlink': (lambda n: os.symlink('somewhere', n), os.unlink), 'mkfifo': (os.mkfifo, os.unlink),
         'mknod': (make_device, os.unlink), 'link': (lambda n: os.link(own('linked'), n), os.unlink), 'exclusive': (exclusive, os.unlink)}


def own(name):
    return f'{name}-{site}'


class Race:
    """What one thread tries, all the time the same."""

    def __init__(self):
        self.tries, self.wrong = {}, []

    def tried(self, what, allowed, function, *args):
        """True when it worked. Any error but those allowed is wrong."""
        said = 'worked'
        try:
            function(*args)
        except OSError as e:
            said = errno.errorcode[e.errno]
            if e.errno not in allowed:
                self.wrong.append(f'{what}: {e}')
        of = self.tries.setdefault(what, {})
        of[said] = of.get(said, 0) + 1
        return said == 'worked'

    def taken_in_turns(self, kind):
        make, remove = KINDS[kind]
        if self.tried(kind, (errno.EEXIST,), make, kind):
            self.tried(f'removal after {kind}', (), remove, kind)

    def opened(self, _):
        """The file may be removed by others at any moment, and is made again then."""
        def once():
            os.close(os.open('created', os.O_CREAT | os.O_WRONLY))
        self.tried('open with O_CREAT', (), once)
        self.tried('removal of what is opened', (errno.ENOENT,), os.unlink, 'created')

    def replaced(self, _):
        def once():
            exclusive(own('new'))
            os.rename(own('new'), 'always')
        self.tried('rename over', (), once)
        self.tried('open of what is always there', (), lambda: os.close(os.open('always', os.O_RDONLY)))
        self.tried('stat of what is always there', (errno.ESTALE,), os.stat, 'always')

    def run(self, step, kind, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and len(self.wrong) < 5:
            step(self, kind)
            time.sleep(random.random() * 0.01)


def main(directory, at, seconds):
    global site
    site = at
    os.chdir(directory)
    exclusive(own('linked'))
    steps = [(Race.taken_in_turns, kind) for kind in KINDS] + [(Race.opened, None), (Race.replaced, None)]
    races = [Race() for _ in steps]
    threads = [threading.Thread(target=r.run, args=(*step, float(seconds))) for r, step in zip(races, steps)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(json.dumps({'tries': {what: of for r in races for what, of in r.tries.items()}, 'wrong': [w for r in races for w in r.wrong]}))


if __name__ == '__main__':
    main(*sys.argv[1:])
