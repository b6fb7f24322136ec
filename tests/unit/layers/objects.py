# SPDX-License-Identifier: LGPL-3.0-or-later
"""External symbols of objects that were built, for the tests of rooms and prefixes."""
import re
import subprocess


def symbols(nm, objects):
    """(object, type, name) of all, defined and undefined (type U, which also functions have that are only taken the address of)."""
    for line in subprocess.run([nm, "-g", "-A", *objects], check=True, capture_output=True, text=True).stdout.splitlines():
        m = re.match(r"(.*\.o):\s*[0-9a-f]*\s+([A-Za-z]) (\w+)$", line)
        if m:
            yield m.groups()
