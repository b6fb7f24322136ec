#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The pages and samples say of the keys of REPL { } what the table says (src/base/config.def).

usage: page.py KEYS PROJECT [--update]. KEYS is the program of keys.c. With --update the reference in docs/man/nfs4r.conf.5 is written anew."""
import os
import re
import shutil
import subprocess
import sys

PAGE = "docs/man/nfs4r.conf.5"
BEGIN = '.\\" The keys: made from src/base/config.def by tests/unit/config/page.py --update\n'
END = '.\\" End of the keys\n'
# What an administrator reads or copies today. Decisions and the change log keep the names of their day.
READ = ("README.md", "ARCHITECTURE.md", "docs/deploy.md", "docs/directory-reads.md", "docs/failures.md", "docs/glossary.md", "docs/protocol/README.md", "docs/protocol/control.md", "docs/protocol/log.md", "docs/protocol/views.md", "docs/protocol/recovery.md", "docs/performance.md", "docs/security.md", "docs/tried.md",
        "docs/man/nfs4rctl.8", "tests/cluster/README.md", "tests/bench/README.md", "tests/ngb/README.md", "config_samples/repl.conf")
SAMPLES = ("config_samples/repl.conf", "config_samples/three-sites/site1.conf", "config_samples/three-sites/site2.conf", "config_samples/three-sites/site3.conf", "README.md")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def ask(keys, what):
    return subprocess.run([keys, what], check=True, capture_output=True, text=True).stdout


def check_page(keys, root, update, bad):
    page = read(root, PAGE)
    head, rest = page.split(BEGIN)
    there, tail = rest.split(END)
    want = ask(keys, "page")
    if update:
        with open(os.path.join(root, PAGE), "w", encoding="utf-8") as f:
            f.write(head + BEGIN + want + END + tail)
    elif there != want:
        for old, new in zip(there.split("\n"), want.split("\n")):
            if old != new:
                bad.append(f"{PAGE}: says `{old}`, the table says `{new}`; tests/unit/config/page.py KEYS PROJECT --update writes it anew")
                break
        else:
            bad.append(f"{PAGE}: ends before the table does, or after it")


def check_rendering(root, bad):
    """man -l, with everything that it has to complain about, where there is a man."""
    if not shutil.which("man"):
        return
    r = subprocess.run(["man", "--warnings=w", "-l", os.path.join(root, PAGE)], capture_output=True, text=True, env={**os.environ, "MANWIDTH": "100", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
    if r.returncode or r.stderr:
        bad.append(f"{PAGE}: man says: {r.stderr.strip()[:300]}")


def repl_blocks(text):
    """The inside of each REPL { }, by the braces."""
    for m in re.finditer(r"^REPL \{", text, re.M):
        depth, at = 1, m.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield text[m.end():at - 1]


def keys_of(inside):
    """(block, key, value, is a comment) of the lines of a REPL block. A commented key has the form `# Key = value;`."""
    block = "PUBLIC"
    for line in inside.split("\n"):
        if re.match(r"\s*(# )?(Tuning|Server) \{", line):
            block = "TUNING" if "Tuning" in line else "SERVER"
        for m in re.finditer(r"(#\s+)?\b([A-Z]\w*) = ([^;\n]*);", line):
            yield block, m.group(2), m.group(3).strip('"'), "#" in line.split(m.group(2))[0]
        if "}" in line:
            block = "PUBLIC"


def check_samples(table, root, bad):
    seen = 0
    for path in SAMPLES:
        for inside in repl_blocks(read(root, path)):
            for block, key, value, comment in keys_of(inside):
                seen += 1
                where, default = table.get(key, ("no", "-"))
                if where != block:
                    bad.append(f"{path}: {key} stands in {block}, the table has it in {where} block")
                elif comment and default != "-" and default != value:
                    bad.append(f"{path}: {key} = {value} is shown as the default, which is {default}")
    if seen < 40:
        bad.append(f"only {seen} keys found in the samples: this test is blind")


def check_old_names(keys, root, bad):
    for line in ask(keys, "renamed").split("\n"):
        if not line:
            continue
        old, new = line.split()
        for path in READ:
            for m in re.finditer(rf"`{old}\b|\b{old} =|\.B {old}\b" if "_" not in old else rf"\b{old}\b", read(root, path)):
                bad.append(f"{path}: has {m.group()}, which is {new} now")


def main():
    keys, root, update = sys.argv[1], sys.argv[2], "--update" in sys.argv[3:]
    bad = []
    table = {name: (block, default) for block, name, default in (line.split(" ", 2) for line in ask(keys, "list").strip().split("\n"))}
    check_page(keys, root, update, bad)
    check_rendering(root, bad)
    check_samples(table, root, bad)
    check_old_names(keys, root, bad)
    if len(table) < 40:
        bad.append(f"only {len(table)} keys in the table")
    print("\n".join(bad) if bad else f"{len(table)} keys: the manual page, the samples and the documents agree with the table")
    return 1 if bad else 0


sys.exit(main())
