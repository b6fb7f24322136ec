"""Single questions and operations for t_deep.py, one process for many.

	deep_look.py JSON     a list of [what, args...]; prints the list of results, {"error": name} for an errno

stat: [fileid, link count, is it a directory] | read | list | tree: {name: content} of a directory's files | write | rename | link |
unlink | rmdir | mkdir | remove (with all below)
"""
import errno
import json
import os
import shutil
import stat
import sys


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


def info(path):
    st = os.lstat(path)
    return [st.st_ino, st.st_nlink, stat.S_ISDIR(st.st_mode)]


def tree(path):
    return {n: read(f'{path}/{n}') for n in os.listdir(path) if not n.startswith('.nfs') and not os.path.isdir(f'{path}/{n}')}


WHAT = {'stat': info, 'read': read, 'list': lambda p: sorted(os.listdir(p)), 'tree': tree, 'write': write, 'rename': os.rename,
        'link': os.link, 'unlink': os.unlink, 'rmdir': os.rmdir, 'mkdir': os.mkdir, 'remove': shutil.rmtree}


def one(what, *args):
    try:
        return WHAT[what](*args)
    except OSError as e:
        return {'error': errno.errorcode[e.errno]}


print(json.dumps([one(*q) for q in json.loads(sys.argv[1])]))
