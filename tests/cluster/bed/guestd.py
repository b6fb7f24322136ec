"""Runs commands in a guest for `gx` on the host.

One connection, one command, one forked handler. Frames in both directions: one byte of type, four of
length (big endian), payload. From the host: R (JSON request), I (stdin; empty: end), S (signal number
for the process group). To the host: O (stdout), E (stderr), X (JSON {rc, secs}; rc < 0: signal,
-1000: timeout). A closed connection kills the process group.
"""
import json
import os
import select
import signal
import socket
import struct
import sys
import time
import traceback

PORT = 77
STDIN_LIMIT = 1 << 20       # bytes kept for a command that does not read them yet
GRACE = 5.0                 # seconds between the kill of a timeout and giving up


def frame(sock, kind, body):
    sock.sendall(kind + struct.pack('!I', len(body)) + body)


def run_python(req):
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, 'w'), open(2, 'w')
    sys.argv = ['-p'] + req.get('args', [])
    try:
        exec(compile(req['py'], 'script', 'exec'), {'__name__': '__main__'})
    except SystemExit as e:
        if e.code is None or isinstance(e.code, int):
            return e.code or 0
        print(e.code, file=sys.stderr)
        return 1
    return 0


def child(req, pipes):
    """In the forked child: never returns."""
    rc = 1
    try:
        os.setsid()
        for fd, pipe in enumerate(pipes):
            os.dup2(pipe, fd)
        os.closerange(3, 64)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.chdir(req.get('cwd') or '/')
        os.environ.update(req.get('env') or {})
        if 'py' in req:
            rc = run_python(req)
        else:
            try:
                os.execvp(req['argv'][0], req['argv'])
            except OSError as e:
                os.write(2, f"{req['argv'][0]}: {e.strerror}\n".encode())
                rc = 127 if isinstance(e, FileNotFoundError) else 126
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(rc & 255)


class Command:
    """One command and the connection that asked for it."""

    def __init__(self, sock):
        self.sock = sock
        self.inbuf = b''
        self.pid = None             # of the command, once started
        self.pidfd = None
        self.status = None
        self.stdin = None           # write end, while open
        self.pending = bytearray()  # stdin that the command has not taken yet
        self.stdin_ended = False
        self.outs = {}              # read end -> frame type
        self.started = self.deadline = None
        self.timed_out = False

    def start(self, req):
        i, o, e = os.pipe(), os.pipe(), os.pipe()
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self.sock.close()
            child(req, (i[0], o[1], e[1]))
        for fd in (i[0], o[1], e[1]):
            os.close(fd)
        self.stdin = i[1]
        os.set_blocking(self.stdin, False)
        self.outs = {o[0]: b'O', e[0]: b'E'}
        self.pidfd = os.pidfd_open(self.pid)
        if req.get('timeout'):
            self.deadline = self.started + req['timeout']

    def kill(self, sig=signal.SIGKILL):
        try:
            if self.pid:
                os.killpg(self.pid, sig)
        except ProcessLookupError:
            pass

    def close_stdin(self):
        if self.stdin is not None:
            os.close(self.stdin)
            self.stdin = None
        self.pending.clear()

    def take_frames(self):
        while len(self.inbuf) >= 5:
            size = 5 + struct.unpack('!I', self.inbuf[1:5])[0]
            if len(self.inbuf) < size:
                return
            kind, body, self.inbuf = self.inbuf[:1], self.inbuf[5:size], self.inbuf[size:]
            if kind == b'R':
                self.start(json.loads(body))
            elif kind == b'S':
                self.kill(int(body))
            elif kind == b'I':
                self.pending += body
                self.stdin_ended = self.stdin_ended or not body

    def feed_stdin(self):
        try:
            del self.pending[:os.write(self.stdin, self.pending[:65536])]
        except BlockingIOError:
            pass
        except OSError:
            self.close_stdin()

    def pass_output(self, fd):
        data = os.read(fd, 65536)
        if data:
            frame(self.sock, self.outs[fd], data)
        else:
            os.close(fd)
            del self.outs[fd]

    def check_deadline(self):
        """True when even the kill did not help."""
        now = time.monotonic()
        if self.deadline and self.status is None and now > self.deadline:
            self.kill()
            self.timed_out = True
            return now > self.deadline + GRACE
        return False

    def step(self):
        """False when the command is over."""
        reads = list(self.outs)
        if len(self.pending) < STDIN_LIMIT:
            reads.append(self.sock)
        if self.pid and self.status is None:
            reads.append(self.pidfd)
        writes = [self.stdin] if self.stdin is not None and self.pending else []
        wait = 0.2 if self.deadline or self.status is not None else None
        ready, writable, _ = select.select(reads, writes, [], wait)
        if self.sock in ready:
            data = self.sock.recv(65536)
            if not data:
                self.kill()
                return False
            self.inbuf += data
            self.take_frames()
        if writable:
            self.feed_stdin()
        if self.stdin is not None and self.stdin_ended and not self.pending:
            self.close_stdin()
        for fd in [fd for fd in ready if fd in self.outs]:
            self.pass_output(fd)
        if self.pid and self.pidfd in ready:
            self.status = os.waitpid(self.pid, 0)[1]
        # Background children may hold the pipes: what is silent after the exit is not waited for.
        if self.status is not None and (not self.outs or not ready):
            return False
        return not self.check_deadline()

    def run(self):
        while self.step():
            pass
        if self.pid is None or (self.status is None and not self.timed_out):
            return
        rc = -1000 if self.timed_out else os.waitstatus_to_exitcode(self.status)
        secs = round(time.monotonic() - self.started, 6)
        frame(self.sock, b'X', json.dumps({'rc': rc, 'secs': secs}).encode())


def serve(address):
    listener = socket.create_server((address, PORT), backlog=64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        sock, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                Command(sock).run()
            except OSError:
                pass        # the other side went away
            finally:
                os._exit(0)
        sock.close()


if os.getpid() == 1 and os.fork():
    while True:             # as the guest's first process: only reap
        try:
            os.wait()
        except ChildProcessError:
            time.sleep(3600)
serve(os.environ['CIP'])
