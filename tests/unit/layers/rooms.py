#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""No room calls one above it, and names say where they are (ARCHITECTURE.md, "The rooms of the engine"), by the symbols of the objects that were built and by what it includes. No room writes the state of another. usage: rooms.py PROJECT FOLDER NM OBJECT..."""
import os
import re
import sys

from objects import symbols

ROOMS = {  # folder of src -> its rooms, from the top; what lies in the folder itself is the door, above all of them
    "engine": ["admin", "start", "membership", "resync", "read", "update", "replicate", "runtime"],
    "store": ["open", "checkpoint", "change", "index", "journal"],
    "rpc": ["security"],
}
PUBLIC = {"engine": ("nfs4r_",), "store": ("nfs4r_store_",), "rpc": ("nfs4r_rpc_", "nfs4r_security_")}  # what the folder offers to others begins so
KEPT = {  # (file that calls, symbol): why that call upward stays. One that is no longer made has to go from here, too.
}
LEAST = {"engine": 300, "store": 150, "rpc": 2}  # calls down, or the test is blind
# An assignment to what belongs to a room (engine_state.h), or a call that fills it in. What is written through another pointer is not seen.
MEMBER = r"\beng->(\w+)\.(?:\w|\.|->|\[[^\]]*\])+"
WRITES = re.compile(rf"{MEMBER}\s*(?:=(?!=)|\+\+|--|[-+|&^]=)|(?:\+\+|--)[\w>.-]*?{MEMBER}|\b(?:__atomic_\w*(?:add|sub|store|exchange)\w*|snprintf|memcpy|memset)\(&?[\w>.-]*?{MEMBER}")
LEAST_WRITES = 80


def room_of(path, rooms):
    """Its place from the top; 0 is the door."""
    folder = os.path.dirname(path)
    return rooms.index(folder) + 1 if folder else 0


def by_path(nm, objects):
    """Of each object what it defines, and what it needs."""
    defined, needed = {}, {}
    for obj, kind, name in symbols(nm, objects):
        path = os.path.normpath(obj.split(".dir/")[1])[: -len(".o")]
        (needed if kind == "U" else defined).setdefault(path, set()).add(name)
    return defined, needed


def check_includes(src, folder, rooms, bad):
    """A room's header may be included by those above it, its private one (_int.h) by nobody else, and what the door has for itself not at all."""
    seen = 0
    for where, _, names in os.walk(os.path.join(src, folder)):
        for name in sorted(n for n in names if n.endswith((".c", ".h"))):
            path = os.path.relpath(os.path.join(where, name), os.path.join(src, folder))
            with open(os.path.join(where, name), encoding="utf-8") as f:
                text = f.read()
            for header in re.findall(rf'^#include "{folder}/([^"]+)"', text, re.M):
                seen += 1
                mine, its = room_of(path, rooms), room_of(header, rooms)
                if mine and (its and its < mine or header.endswith("_int.h") and its != mine):
                    bad.append(f"src/{folder}/{path} includes {folder}/{header}, which is not for it")
    if seen < len(rooms):
        bad.append(f"only {seen} includes found: this test is blind")


def check_writes(src, rooms, bad):
    """The part of struct nfs4r_engine that belongs to a room is written there, and by the door."""
    seen = 0
    for room in ["", *rooms]:
        for name in sorted(n for n in os.listdir(os.path.join(src, "engine", room)) if n.endswith(".c")):
            with open(os.path.join(src, "engine", room, name), encoding="utf-8") as f:
                lines = f.read().splitlines()
            for number, line in enumerate(lines, 1):
                for m in WRITES.finditer(line):
                    its = next(g for g in m.groups() if g)
                    seen += 1
                    where = os.path.join("src/engine", room, name)
                    if its not in ["door", "cfg", *rooms]:
                        bad.append(f"{where}:{number}: eng->{its} is no part of a room")
                    elif room and its != room:
                        bad.append(f"{where}:{number} writes what belongs to {its}: {line.strip()}")
    if seen < LEAST_WRITES:
        bad.append(f"only {seen} assignments to the engine's state found: this test is blind")


def main():
    root, folder, nm = sys.argv[1:4]
    rooms, bad = ROOMS[folder], []
    check_includes(os.path.join(root, "src"), folder, rooms, bad)
    if folder == "engine":
        check_writes(os.path.join(root, "src"), rooms, bad)
    defined, needs = by_path(nm, sys.argv[4:])
    home = {name: path for path, names in defined.items() for name in names}
    for path, names in sorted(defined.items()):
        for name in sorted(names):
            if not name.startswith((os.path.dirname(path) + "_", folder + "_", *PUBLIC[folder], "__")):  # __: the compiler's
                bad.append(f"src/{folder}/{path} defines {name}: its name begins with neither its room's nor {folder}_ nor {' nor '.join(PUBLIC[folder])}")
    down, kept = 0, set()
    for path, needed in sorted(needs.items()):
        for name in sorted(needed & home.keys()):
            mine, its = room_of(path, rooms), room_of(home[name], rooms)
            down += its > mine
            if its >= mine:
                continue
            if (path, name) in KEPT:
                kept.add((path, name))
                continue
            bad.append(f"src/{folder}/{path} calls up: {name} is in src/{folder}/{home[name]}")
    for path, name in sorted(k for k in KEPT.keys() - kept if k[0] in needs):
        bad.append(f"rooms.py: {path} no longer calls {name}: take it out of KEPT")
    if down < LEAST[folder]:
        bad.append(f"only {down} calls down found in {len(needs)} objects: this test is blind")
    print("\n".join(bad) if bad else f"{len(needs)} objects: {down} calls down, none up but {len(kept)}")
    return 1 if bad else 0


sys.exit(main())
