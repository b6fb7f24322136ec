"""One program of a client that locks what it is asked to: tests drive it from outside (lock_clients.py).

	lock_agent.py FILE      opens FILE, says {"pid": ...}, and then does what each line of standard input says

A line is {"id": n, "do": what, ...}, its answer {"id": n, "result": "ok" or the name of an errno, "t0", "t1": before and after}. What takes long is answered when it
is done, while others go on.

    lock type start length wait [owner]     type: r, w, u. Without an owner by fcntl for this process; else for a descriptor of that owner's own
    test type start length owner            "result": free, or what is in the way: "w0+100"
    write at text | read at length          synced; "result": the text
    add at                                  one more in the number at these bytes, synced; "result": the new number
    drop owner                              closes the owner's descriptor
"""
import errno
import fcntl
import json
import os
import struct
import sys
import threading
import time

from lock_worker import F_OFD_GETLK, flock64, ofd, posix

TYPES = {'r': fcntl.F_RDLCK, 'w': fcntl.F_WRLCK, 'u': fcntl.F_UNLCK}


class Agent:
    def __init__(self, path):
        self.path, self.own, self.fds, self.out = path, os.open(path, os.O_RDWR | os.O_CREAT, 0o666), {}, threading.Lock()

    def fd(self, owner):
        if owner not in self.fds:
            self.fds[owner] = os.open(self.path, os.O_RDWR)
        return self.fds[owner]

    def lock(self, type, start=0, length=0, wait=False, owner=None):
        if owner is None:
            posix(self.own, TYPES[type], start, length, wait)
        else:
            ofd(self.fd(owner), TYPES[type], start, length, wait)
        return 'ok'

    def test(self, type, start, length, owner):
        kind, _, s, n, _ = struct.unpack('hhqqi4x', fcntl.fcntl(self.fd(owner), F_OFD_GETLK, flock64(TYPES[type], start, length)))
        return 'free' if kind == fcntl.F_UNLCK else f'{"r" if kind == fcntl.F_RDLCK else "w"}{s}+{n}'

    def write(self, at, text):
        os.pwrite(self.own, text.encode(), at)
        os.fsync(self.own)
        return 'ok'

    def read(self, at, length):
        return os.pread(self.own, length, at).decode(errors='replace')

    def add(self, at):
        n = int(os.pread(self.own, 20, at).strip(b'\0\n') or b'0') + 1
        os.pwrite(self.own, b'%019d\n' % n, at)
        os.fsync(self.own)
        return n

    def drop(self, owner):
        os.close(self.fds.pop(owner))
        return 'ok'

    def answer(self, line):
        order = json.loads(line)
        number, do = order.pop('id'), order.pop('do')
        t0 = time.time()
        try:
            result = {'lock': self.lock, 'test': self.test, 'write': self.write, 'read': self.read, 'add': self.add, 'drop': self.drop}[do](**order)
        except OSError as e:
            result = errno.errorcode.get(e.errno, str(e))
        with self.out:
            print(json.dumps({'id': number, 'result': result, 't0': t0, 't1': time.time()}), flush=True)


def main(path):
    agent = Agent(path)
    print(json.dumps({'pid': os.getpid()}), flush=True)
    for line in sys.stdin:
        threading.Thread(target=agent.answer, args=(line,), daemon=True).start()
    os._exit(0)


if __name__ == '__main__':
    main(*sys.argv[1:])
