#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""A table of a report of gcovr: lines and branches that ran, for each folder. usage: coverage_table.py COVERAGE.JSON"""
import collections
import json
import os
import sys


def share(ran, of):
    return f"{100 * ran / of:5.1f} %" if of else "     -"


def row(name, c):
    print(f"| {name:<24} | {c['files']:>5} | {c['lines']:>6} | {share(c['lines_ran'], c['lines'])} | {c['branches']:>8} | {share(c['branches_ran'], c['branches'])} |")


def main():
    folders = collections.defaultdict(collections.Counter)
    with open(sys.argv[1], encoding="utf-8") as f:
        files = json.load(f)["files"]
    for file in files:
        lines = [line for line in file["lines"] if not line.get("gcovr/noncode")]
        branches = [b for line in lines for b in line["branches"]]
        c = collections.Counter(files=1, lines=len(lines), lines_ran=sum(line["count"] > 0 for line in lines),
                                branches=len(branches), branches_ran=sum(b["count"] > 0 for b in branches))
        folders[os.path.dirname(file["file"])] += c
    print("| folder                   | files |  lines |   ran   | branches |   ran   |")
    print("| ------------------------ | ----: | -----: | ------: | -------: | ------: |")
    for name in sorted(folders):
        row(f"`{name}`", folders[name])
    row("all", sum(folders.values(), collections.Counter()))


main()
