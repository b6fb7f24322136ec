"""File handles and inode numbers below a directory, as the client has them.

	handles.py DIR      one JSON object {name: [fileid, handle in hex]}
"""
import ctypes
import json
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, HANDLE_MAX = -100, 128


class FileHandle(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_uint), ('type', ctypes.c_int), ('data', ctypes.c_ubyte * HANDLE_MAX)]


def handle(path):
    h, mount = FileHandle(bytes=HANDLE_MAX), ctypes.c_int()
    if libc.name_to_handle_at(AT_FDCWD, os.fsencode(path), ctypes.byref(h), ctypes.byref(mount), 0):
        raise OSError(ctypes.get_errno(), path)
    return bytes(h.data[:h.bytes]).hex()


def main(top):
    result = {}
    for d, dirs, files in os.walk(top):
        for n in ['.'] + dirs + files:
            path = os.path.join(d, n)
            if not os.path.islink(path):
                result[os.path.relpath(path, top)] = [os.lstat(path).st_ino, handle(path)]
    print(json.dumps(result))


main(sys.argv[1])
