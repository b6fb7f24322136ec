#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""External symbols of the rooms that have no rooms inside begin as the room says, so that a stack trace tells where it is. By the objects that were built.
usage: prefixes.py NM ROOM OBJECT..."""
import os
import sys

from objects import symbols

PREFIX = {"base": ("nfs4r_",), "proto": ("nfs4r_", "c_"), "FSAL_REPL": ("repl_",)}
LEAST = {"base": 40, "proto": 20, "FSAL_REPL": 100}  # symbols, or the test is blind


def defined(nm, objects):
    """(file, name) of what they define for others; what the compiler adds begins with two underscores, and a lower-case type is no definition for others."""
    return [(os.path.basename(obj)[: -len(".o")], name) for obj, kind, name in symbols(nm, objects) if kind != "U" and kind.isupper() and not name.startswith("__")]


def main():
    nm, room, objects = sys.argv[1], sys.argv[2], sys.argv[3:]
    names = defined(nm, objects)
    bad = [f"{where} defines {name}, which does not begin with {' or '.join(PREFIX[room])}" for where, name in names if not name.startswith(PREFIX[room])]
    if len(names) < LEAST[room]:
        bad.append(f"only {len(names)} symbols found in {len(objects)} objects: this test is blind")
    print("\n".join(bad) if bad else f"{len(names)} names in {len(objects)} objects of {room}")
    return 1 if bad else 0


sys.exit(main())
