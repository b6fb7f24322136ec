"""Takes a ticket as a user, appends lines to a file until told to stop, each of them synced, and tells which of them are done; goes on after an error.

	kerberos_writer.py USER UID FILE STOP SECONDS

Says `writes` after the first line, `hears NAME` after the first error, `writes again` after the first line that follows it. At last, when the file STOP exists or the time is up, JSON:
{"done": [numbers], "errors": {name: count}, "longest": seconds between two lines that are done}
"""
import collections
import errno
import json
import os
import sys
import time


def say(what):
    print(what, flush=True)


def main(user, uid, path, stop, seconds):
    os.setgroups([])
    os.setresgid(int(uid), int(uid), int(uid))
    os.setresuid(int(uid), int(uid), int(uid))
    # Here, right before the first line: a ticket of seconds must not end while the others take theirs.
    if os.system(f'kinit -k -t /tb/keytabs/{user}.keytab {user}'):
        sys.exit(f'{user} has no ticket')
    done, errors, again, n, f = [], collections.Counter(), False, 0, None
    end = time.monotonic() + float(seconds)
    last, longest = time.monotonic(), 0
    while time.monotonic() < end and not os.path.exists(stop):
        n += 1
        try:
            if f is None:
                f = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            os.write(f, f'{n}\n'.encode())
            os.fsync(f)
            if not done:
                say('writes')
            elif errors and not again:
                say('writes again')
            again = bool(errors)
            done.append(n)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        except OSError as e:
            name = errno.errorcode.get(e.errno, str(e.errno))
            if not errors:
                say(f'hears {name}')
            errors[name] += 1
            try:
                if f is not None:
                    os.close(f)
            except OSError:
                pass
            f = None
            time.sleep(0.5)
        time.sleep(0.1)
    say(json.dumps({'done': done, 'errors': errors, 'longest': round(longest, 1)}))


main(*sys.argv[1:])
