"""Appends lines to a file as a user, each of them synced, and tells which of them are done; goes on after an error.

	kerberos_writer.py UID FILE SECONDS     prints JSON: {"done": [numbers], "errors": {name: count}, "longest": seconds between two lines that are done}
"""
import collections
import errno
import json
import os
import sys
import time


def main(uid, path, seconds):
    os.setgroups([])
    os.setresgid(int(uid), int(uid), int(uid))
    os.setresuid(int(uid), int(uid), int(uid))
    done, errors, n, f = [], collections.Counter(), 0, None
    end = time.monotonic() + float(seconds)
    last, longest = time.monotonic(), 0
    while time.monotonic() < end:
        n += 1
        try:
            if f is None:
                f = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            os.write(f, f'{n}\n'.encode())
            os.fsync(f)
            done.append(n)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        except OSError as e:
            errors[errno.errorcode.get(e.errno, str(e.errno))] += 1
            try:
                if f is not None:
                    os.close(f)
            except OSError:
                pass
            f = None
            time.sleep(0.5)
        time.sleep(0.1)
    print(json.dumps({'done': done, 'errors': errors, 'longest': round(longest, 1)}))


main(*sys.argv[1:])
