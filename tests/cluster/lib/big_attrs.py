"""Extended attributes of all sizes and ACLs of many entries, in a client.

	big_attrs.py set DIRECTORY SITE         in files of this site's own; prints {"size": errno or 0, ..} as JSON
	big_attrs.py seen DIRECTORY SITES       what all sites set: prints [what is wrong, ..]
	big_attrs.py one FILE SIZE              prints the errno or 0
	big_attrs.py names FILE COUNT           sets so many attributes; prints how many of them a list then has
	big_attrs.py list FILE                  prints how many a list has
	big_attrs.py acl FILE COUNT             sets an ACL with so many users; prints the errno or 0
	big_attrs.py users FILE                 prints how many users the ACL names
"""
import errno
import json
import os
import struct
import sys

SIZES = (0, 1, 1024, 1025, 8191, 8192, 8193, 65535, 65536)
FIRST_USER = 1000
READ = 0x1 | 0x80 | 0x20000 | 0x100000


def value(site, size):
    return (f'of site {site}, {size} bytes; '.encode() * (size // 20 + 1))[:size]


def tried(function, *args):
    try:
        function(*args)
        return 0
    except OSError as e:
        return e.errno


def one(path, size):
    return tried(os.setxattr, path, f'user.{size}', value(0, size))


def set_all(directory, site):
    said = {}
    for size in SIZES:
        path = os.path.join(directory, f'{site}.{size}')
        open(path, 'w').close()
        said[size] = tried(os.setxattr, path, 'user.big', value(site, size))
        if said[size] == 0 and tried(os.setxattr, path, 'user.big', b'', os.XATTR_CREATE) != errno.EEXIST:
            said[size] = 'a second one was made in its place'
    return said


def seen(directory, sites):
    wrong = []
    for site in range(1, sites + 1):
        for size in SIZES:
            path = os.path.join(directory, f'{site}.{size}')
            try:
                got = os.getxattr(path, 'user.big')
            except OSError as e:
                got = e.strerror
            if got != value(site, size):
                wrong.append(f'{path}: {got[:40]!r}, {len(got)} bytes')
    return wrong


def listed(path):
    return len([n for n in os.listxattr(path) if n.startswith('user.')])


def names(path, count):
    open(path, 'w').close()
    for i in range(count):
        os.setxattr(path, f'user.{i}', b'v')
    return listed(path)


def ace(flags, who):
    who = who.encode()
    return struct.pack('>IIII', 0, flags, READ, len(who)) + who + bytes(-len(who) % 4)


def acl(path, count):
    if not os.path.exists(path):
        open(path, 'w').close()
    entries = [ace(0, 'OWNER@'), ace(0x40, 'GROUP@'), ace(0, 'EVERYONE@')] + [ace(0, str(FIRST_USER + i)) for i in range(count)]
    return tried(os.setxattr, path, 'system.nfs4_acl', struct.pack('>I', len(entries)) + b''.join(entries))


def users(path):
    text, who = os.getxattr(path, 'system.nfs4_acl'), set()
    n, at = struct.unpack('>I', text[:4])[0], 4
    for _ in range(n):
        length, = struct.unpack('>I', text[at + 12:at + 16])
        who.add(text[at + 16:at + 16 + length])
        at += 16 + length + -length % 4
    return len([w for w in who if w.isdigit()])


def main(what, path, *args):
    do = {'set': set_all, 'seen': seen, 'one': one, 'names': names, 'list': listed, 'acl': acl, 'users': users}[what]
    print(json.dumps(do(path, *map(int, args))))


if __name__ == '__main__':
    main(*sys.argv[1:])
