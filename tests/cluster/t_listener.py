#!/usr/bin/python3
"""Somebody listens at a site's network (lib/listener.py) while clients write: with `Peer_Security = none` or `krb5i` the bytes of files, names, and texts of symbolic links are in what servers say
to each other, with `tls` or `krb5p` none of that is. The former show that the listener hears. FLAVOURS: these instead.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed

MIB = int(os.environ.get('BIG', 32))        # of file data; site 1 sends them to two others
DATA, NAME, TEXT = MARKS = ('MarkData', 'MarkName', 'MarkText')


class Listener:
    def __init__(self, b, site):
        self.process = subprocess.Popen(b.command('ns', site, '--', '/usr/bin/python3', os.path.join(bed.LIB, 'listener.py'), 'br0', *MARKS),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self):
        bed.expect(bed.line_of(self.process) == 'ready\n', 'the listener does not listen')

    def end(self):
        out, _ = self.process.communicate(timeout=60)
        return json.loads(out)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def work(b):
    """A file of one site, and links in one directory by all, which are executed at whichever site controls it."""
    b.sh(1, f'mkdir /nfs/{NAME}; yes {DATA} | head -c {MIB}M >/nfs/{NAME}/file')
    for s in (2, 3, 1):
        b.sh(s, f'for i in 1 2 3 4 5; do ln -s {TEXT}-$i /nfs/{NAME}/{NAME}-{s}-$i; done')
    bed.expect(b.sh(3, f'stat -c %s /nfs/{NAME}/file; head -1 /nfs/{NAME}/file') == f'{MIB << 20}\n{DATA}\n', 'site 3 has another file')
    b.no_controls(60)


def listens(b, security):
    for s in b.sites:
        bed.expect([p['security'] for p in b.ask(s, 'status')['peers']] == [security] * 2, f'site {s} does not speak {security} with both others')
    listener = Listener(b, 1)
    try:
        listener.begin()
        work(b)
        heard = listener.end()
    finally:
        listener.kill()
    note = f'{heard["bytes"] >> 20} MiB: {heard["marks"]}'
    bed.expect(heard['bytes'] > MIB << 20, f'it heard only {note}')     # half of it at least
    if security in ('none', 'krb5i'):       # which protects, and hides nothing
        bed.expect(heard['marks'][DATA] > MIB << 16 and heard['marks'][NAME] >= 5 and heard['marks'][TEXT] >= 5, f'not all is in the clear, so it does not hear: {note}')
    else:
        bed.expect(not any(heard['marks'].values()), f'in the clear: {note}')
    return note


def main():
    report = bed.Report('listener')
    for security in os.environ.get('FLAVOURS', 'none tls krb5i krb5p').split():
        with bed.Bed.own('--rtt', '20ms', '--peer-security', security, *bed.SHORT) as b:
            report.check(f'up {security}', b.servers_alive)
            report.check(f'with {security}', listens, b, security)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
