#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Who may include whom and call whom (ARCHITECTURE.md, "The rooms"), and by which clock they wait.
usage: layers.py PROJECT GANESHA_SRC NM OBJECT...      objects: those of the core"""
import os
import re
import sys

from objects import symbols

ALLOWED = {  # room -> rooms whose headers it may include
    "src/base": {"base"},
    "protocol": {"base", "protocol"},
    "src/core": {"base", "core"},
    "src/store": {"base", "protocol", "store"},
    "src/rpc": {"base", "protocol", "rpc"},
    "src/engine": {"base", "protocol", "core", "store", "rpc", "engine"},
    "src/ctl": {"base", "ctl"},
    "FSAL_REPL": {"base", "engine", "FSAL_REPL"},
}
# The rooms of the core, from the ground to the door: each calls only those before it.
CORE_ROOMS = ["state", "control", "policy", "log", "locks", "ops", "membership", "recovery", "door"]
# How the external symbols of each begin, beside nfs4r_, so that a stack trace says where it is.
CORE_PREFIX = {"state": ("state_", "out_", "row_", "heap_", "quorum_"), "control": ("control_",), "policy": ("policy_",), "log": ("log_",), "locks": ("locks_",), "ops": ("ops_",),
               "membership": ("view_",), "recovery": ("recovery_",), "door": ("core_",)}
# What the state machine must not even name.
CORE_FORBIDDEN = re.compile(r"<(pthread|time|sys/.*|unistd|fcntl|stdio_ext|threads|signal|poll|netdb|net/.*|arpa/.*)\.h>")
# Who waits until a time of a clock that is set back by an hour waits for an hour. The calls with "timed" go by that clock, or by one that was chosen
# elsewhere; those with "clock" say by which.
WAIT = re.compile(
    r"\b(?:pthread_(?:cond_timedwait|mutex_timedlock|rwlock_timed(?:rd|wr)lock|timedjoin_np)|sem_timedwait|mq_timed(?:send|receive)|cnd_timedwait|mtx_timedlock)\b"
    r"|\b(?:pthread_(?:cond_clockwait|mutex_clocklock|rwlock_clock(?:rd|wr)lock|clockjoin_np)|sem_clockwait|clock_nanosleep)\b(?!\((?:[^()]|\([^()]*\))*\bCLOCK_MONOTONIC\b)")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)


def sources(root, room):
    for folder, _, names in os.walk(os.path.join(root, room)):
        for name in names:
            if name.endswith((".c", ".h")):
                yield os.path.join(folder, name)


def room_of(header, room, root):
    """The room an include in quotes belongs to."""
    first = header.split("/")[0]
    if "/" in header and first in {"base", "core", "store", "rpc", "engine", "ctl"}:
        return first
    if os.path.exists(os.path.join(root, "protocol", header)):
        return "protocol"
    return room.split("/")[-1]


def core_room(place):
    """The room of an object file, or of a source file, by its path."""
    inside = re.split(r"(?:nfs4r_core\.dir|src/core)/", os.path.normpath(place))[-1]
    return inside.split("/")[0] if "/" in inside else "door"


def check_core_calls(nm, objects, bad):
    """The core's rooms call strictly downwards, as the linker sees it."""
    all_of = list(symbols(nm, objects))
    home = {name: core_room(obj) for obj, kind, name in all_of if kind != "U"}
    calls = [(core_room(obj), home[name], obj, name) for obj, kind, name in all_of if kind == "U" and name in home]
    for room in sorted({r for r in home.values()} - set(CORE_ROOMS)):
        bad.append(f"src/core/{room} is no room of the core (CORE_ROOMS)")
    if bad:
        return
    for name, room in sorted(home.items()):
        if not name.startswith(("nfs4r_", *CORE_PREFIX[room])):
            bad.append(f"{name} in src/core/{room}/ does not begin with {' or '.join(CORE_PREFIX[room])}")
    for here, there, obj, name in calls:
        if CORE_ROOMS.index(there) > CORE_ROOMS.index(here):
            bad.append(f"{os.path.basename(obj)[:-2]}: {here}/ uses {name}, which is in {there}/ above it")
    if len({r for r in home.values()}) < len(CORE_ROOMS) or len(calls) < 500:
        bad.append(f"only {len(calls)} uses of symbols among {len(objects)} objects of the core: this test is blind")


def check_core_header(where, header, bad):
    """Only headers of rooms below, and what files of one room share only in that room. core_state.h gathers all."""
    here, there = core_room(where), core_room(f"src/{header}")
    if not header.startswith("core/") or where == "src/core/core_state.h":
        return
    if CORE_ROOMS.index(there) > CORE_ROOMS.index(here) and os.path.basename(header) not in ("core.h", "fault.h", "core_state.h"):
        bad.append(f"{where}: {here}/ may not include {header}, which lies above it")
    if header.endswith("_int.h") and here != there:
        bad.append(f"{where}: {header} is for the files of {there}/")


def main():
    root, ganesha, nm, objects = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    bad = []
    seen = 0
    check_core_calls(nm, objects, bad)
    for room, allowed in ALLOWED.items():
        for path in sources(root, room):
            seen += 1
            text = open(path, encoding="utf-8").read()
            where = os.path.relpath(path, root)
            for quote, header in INCLUDE.findall(text):
                of = room_of(header, room, root) if quote == '"' else None
                theirs = os.path.exists(os.path.join(ganesha, "include", header))
                if theirs and room != "FSAL_REPL":
                    bad.append(f"{where}: includes Ganesha's {header}")
                elif of and not theirs and of not in allowed:
                    bad.append(f"{where}: {room} may not include {header}")
                if room == "src/core" and quote == '"':
                    check_core_header(where, header, bad)
                if room == "src/core" and CORE_FORBIDDEN.search(f"<{header}>"):
                    bad.append(f"{where}: the core has no I/O, thread or clock, but includes {header}")
            for m in WAIT.finditer(text):
                bad.append(f"{where}:{text.count(chr(10), 0, m.start()) + 1}: {m.group()} waits by a clock that may be set; pthread_cond_clockwait() with CLOCK_MONOTONIC does not")
    print("\n".join(bad) if bad else f"{seen} files keep to their rooms")
    if seen < 50:
        print("too few files found: wrong folder?")
        return 1
    return 1 if bad else 0


sys.exit(main())
