#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Who may include whom (ARCHITECTURE.md, "The rooms"), and by which clock they wait. usage: layers.py PROJECT GANESHA_SRC"""
import os
import re
import sys

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


def main():
    root, ganesha = sys.argv[1], sys.argv[2]
    bad = []
    seen = 0
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
