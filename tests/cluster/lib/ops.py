"""Every operation of a client, in the client of one site, in a directory of its own.

	ops.py DIR VERS SITE [NAME...]

Each operation is tried in DIR/NAME, checked where it was made, and left there for the comparison of the
sites. Prints `ok NAME` and `not ok NAME`. The operations are in ops_names.py, ops_files.py, ops_attrs.py.
"""
import importlib
import os
import sys
import traceback

OPERATIONS = []             # (name, least NFS version, function)


def operation(vers=4.0):
    """Marks a function of one argument, an Op."""
    def mark(function):
        OPERATIONS.append((function.__name__, vers, function))
        return function
    return mark


class Op:
    def __init__(self, directory, vers, site):
        self.d, self.vers, self.site = directory, vers, site

    def path(self, *names):
        return os.path.join(self.d, *names)

    def put(self, name, data=b'content\n'):
        path = self.path(name)
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def get(self, name):
        with open(self.path(name), 'rb') as f:
            return f.read()


def equal(got, want, what=''):
    if got != want:
        raise AssertionError(f'{what}: got {got!r:.300}, expected {want!r:.300}')


def fails(number, function, *args, **kw):
    """The call must fail with this errno."""
    import errno
    try:
        result = function(*args, **kw)
    except OSError as e:
        if e.errno == number:
            return
        raise AssertionError(f'{errno.errorcode.get(e.errno, e.errno)} instead of {errno.errorcode[number]}') from e
    raise AssertionError(f'no error ({result!r}) instead of {errno.errorcode[number]}')


def run_one(name, function, op):
    try:
        os.mkdir(op.d)
        function(op)
    except Exception:
        print(f'not ok {name}')
        print('# ' + traceback.format_exc().rstrip().replace('\n', '\n# '), flush=True)
        return False
    print(f'ok {name}', flush=True)
    return True


def main(base, vers, site, *only):
    for part in 'ops_attrs', 'ops_files', 'ops_names':  # they enter their operations into the list
        importlib.import_module(part)
    os.umask(0o022)
    os.makedirs(base, exist_ok=True)
    bad = 0
    for name, least, function in sys.modules['ops'].OPERATIONS:
        if float(vers) >= least and (not only or name in only):
            bad += not run_one(name, function, Op(os.path.join(base, name), float(vers), int(site)))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.modules['ops'] = sys.modules['__main__']
    sys.exit(main(*sys.argv[1:]))
