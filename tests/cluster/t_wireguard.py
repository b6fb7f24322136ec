#!/usr/bin/python3
"""The recipe of docs/security.md: a client that reaches its server through WireGuard. Nothing that it writes or reads is to be seen on the network."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed

SERVER, CLIENT, PORT = '10.99.0.1', '10.99.0.2', 51820
SECRET = 'nobody on the network reads this'
# The kernels here have no WireGuard of their own; the program is the same to whoever configures it.
START = 'WG_I_PREFER_BUGGY_USERSPACE_TO_POLISHED_KMOD=1 wireguard-go wg0 >/dev/null 2>&1'


def key(b, name):
    """(file with the private key, the public key)"""
    path = os.path.join(b.run, f'{name}.key')
    b.must('ns', 1, '--', 'sh', '-c', f'umask 077; wg genkey >{path}')
    with open(path) as f:
        private = f.read().strip()
    return path, private, b.must('ns', 1, '--', 'sh', '-c', f'wg pubkey <{path}').strip()


def tunnel(b):
    """The interfaces of both, as wg-quick makes them of the recipe's files."""
    server, _, server_public = key(b, 'server')
    _, private, public = key(b, 'client')
    b.kill(1, 'stop')
    b.must('ns', 1, '--', 'sh', '-c', f'set -e; {START}; wg set wg0 listen-port {PORT} private-key {server} peer {public} allowed-ips {CLIENT}/32; '
                                      f'ip addr add {SERVER}/24 dev wg0; ip link set wg0 mtu 1420 up')
    conf = os.path.join(b.server_dir(1), 'ganesha.conf')
    with open(conf) as f:
        text = f.read()
    with open(conf, 'w') as f:
        f.write(re.sub(r'Bind_addr = [\d.]+;', f'Bind_addr = {SERVER};', text))
    b.must('server', 1, 'start')
    b.sh(1, f'set -e; modprobe tun; mkdir -p /dev/net; test -e /dev/net/tun || mknod /dev/net/tun c 10 200; {START}; echo {private} >/run/key; '
            f'wg set wg0 private-key /run/key peer {server_public} endpoint 10.0.1.1:{PORT} allowed-ips {SERVER}/32 persistent-keepalive 25; '
            f'ip addr add {CLIENT}/24 dev wg0; ip link set wg0 mtu 1420 up; ping -c 1 -W 10 {SERVER} >/dev/null')


def nothing_is_seen(b):
    trace = os.path.join(b.run, 'trace')
    b.sh(1, f'mount -t nfs4 -o vers=4.2 {SERVER}:/data /nfs')
    dump = b.start_in_bed('ip', 'netns', 'exec', 's1', 'tcpdump', '-i', 'br0', '-U', '-s', '0', '-w', trace)
    try:
        bed.eventually(10, lambda: os.path.exists(trace) and os.path.getsize(trace) > 0, 'tcpdump writes nothing')
        b.sh(1, f'for i in 1 2 3 4 5 6 7 8; do echo {SECRET} >/nfs/f$i; done; sync; echo 3 >/proc/sys/vm/drop_caches; test "$(cat /nfs/f8)" = "{SECRET}"')
        time.sleep(0.5)         # what tcpdump has not read yet
    finally:
        dump.terminate()
        dump.wait()
    with open(trace, 'rb') as f:
        seen = f.read()
    bed.expect(SECRET.encode() not in seen and b'/data' not in seen, 'what was written is to be seen on the network')
    bed.expect(PORT.to_bytes(2, 'big') in seen and len(seen) > 4000, f'hardly anything was seen: {len(seen)} bytes')
    with open(os.path.join(b.data(1), 'f1')) as f:
        bed.expect(f.read() == SECRET + '\n', 'the server has something else')
    return f'{len(seen)} bytes seen'


def main():
    t = bed.Report('wireguard')
    with bed.Bed.own('--sites', '1', '--rtt', '0ms', '--no-mount', *bed.SHORT) as b:
        b.sites = [1]
        if t.check('a tunnel', tunnel, b):
            t.check('nothing is seen', nothing_is_seen, b)
            t.check('the server lives', b.servers_alive)
    return t.status()


if __name__ == '__main__':
    sys.exit(main())
