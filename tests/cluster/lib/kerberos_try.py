"""What users of a guest may do in the directory of t_kerberos.py: a line of JSON for each, [uid, {what: 'ok', or the name of the error}].

	kerberos_try.py DIR SITE USERS      USERS: JSON of {uid: [what]}; what: as in the table below, with the name of a file: read:a
"""
import errno
import json
import os
import sys


def read(path, _site):
    with open(path, 'rb', buffering=0) as f:
        f.read()


def append(path, site):
    f = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(f, f'{site}\n'.encode())
    os.fsync(f)
    os.close(f)


def make(path, site):
    f = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(f, f'{site}\n'.encode())
    os.close(f)


TRIES = {
    'read': read, 'append': append, 'make': make,
    'stat': lambda path, _: os.stat(path),
    'list': lambda path, _: os.listdir(path),
    'chmod': lambda path, _: os.chmod(path, 0o666),
    'touch': lambda path, _: os.utime(path),
    'truncate': lambda path, _: os.truncate(path, 0),
    'chown': lambda path, _: os.chown(path, os.getuid(), -1),
    'setxattr': lambda path, site: os.setxattr(path, 'user.try', str(site).encode()),
    'remove': lambda path, _: os.unlink(path),
    'rename': lambda path, site: os.rename(path, f'{path}.{site}'),
    'mkdir': lambda path, _: os.mkdir(path),
    'rmdir': lambda path, _: os.rmdir(path),
}


def tried(directory, site, whats):
    result = {}
    for what in whats:
        verb, name = what.split(':')
        try:
            TRIES[verb](os.path.join(directory, name), site)
            result[what] = 'ok'
        except OSError as e:
            result[what] = errno.errorcode.get(e.errno, str(e.errno))
    return result


def main(directory, site, users):
    for uid, whats in json.loads(users).items():
        sys.stdout.flush()
        if os.fork() == 0:
            os.setgroups([])
            os.setresgid(int(uid), int(uid), int(uid))
            os.setresuid(int(uid), int(uid), int(uid))
            print(json.dumps([uid, tried(directory, site, whats)]), flush=True)
            os._exit(0)
        os.wait()


main(*sys.argv[1:])
