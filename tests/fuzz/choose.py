#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Chooses the inputs of a kept corpus (scripts/fuzz.sh --keep).

Usage: choose.py CONTROL COUNT. CONTROL is the file that libFuzzer's set_cover_merge leaves: which features each input
has. Prints the paths of at most COUNT inputs; each is the one with the most features that those before it lack, and the
shortest of several.
"""
import sys


def read(path):
    """Path and length of each input, and its features by number."""
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        lines = f.read().split("\n")
    count = int(lines[0])
    paths = lines[2 : 2 + count]
    sizes, features = {}, {}
    for words in (line.split() for line in lines[2 + count :]):
        if words[:1] == ["STARTED"]:
            sizes[int(words[1])] = int(words[2])
        elif words[:1] == ["FT"]:
            features[int(words[1])] = set(words[2:])
    return paths, sizes, features


def main():
    paths, sizes, features = read(sys.argv[1])
    reached = set()
    for _ in range(int(sys.argv[2])):
        best = max(features, key=lambda i: (len(features[i] - reached), -sizes[i]), default=None)
        if best is None or not features[best] - reached:
            break
        reached |= features.pop(best)
        print(paths[best])


main()
