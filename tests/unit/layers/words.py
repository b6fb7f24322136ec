#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""No word of words.txt comes back: in identifiers of src and FSAL_REPL, in texts of the log, in errors, in what nfs4rctl prints.

A text is a string of three words or more, or one of nfs4rctl. Comments and the descriptions of faults are not looked at. The
test first looks at a planted file (PLANTED): one that finds nothing there is blind.

usage: words.py PROJECT"""
import os
import re
import sys

TABLE = "tests/unit/layers/words.txt"
TOPS = ("src", "FSAL_REPL")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|[A-Za-z_]\w*', re.S)
PLANTED = '''/* a comment may be told */
static void held_wait(struct taint *t) { t->settled = GIVE_UP; log("volume %s: who was told lets go of it"); log("told"); }
'''
FOUND = {"held_wait", "taint", "settled", "GIVE_UP", "volume %s: who was told lets go of it"}


def table(path):
    """({WORD: INSTEAD} of names, [(regular expression, INSTEAD)] of texts, what is kept)"""
    names, texts, keep = {}, [], []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        where, _, rest = line.strip().partition(" ")
        word, _, instead = rest.partition(" = ")
        if where == "name":
            names[word] = instead
        elif where == "text":
            texts.append((re.compile(rf"\b(?:{word})\b", re.I), instead))
        elif where == "keep":
            keep.append(re.compile(rest))
        elif where and not where.startswith("#"):
            sys.exit(f"{path}:{number}: a line begins with name, text, keep or #")
    return names, texts, keep


def look(path, source, rules):
    """(line, what, instead) of each identifier and text with such a word."""
    names, texts, keep = rules
    for m in TOKEN.finditer(source):
        what = m.group()
        if what.startswith(("//", "/*", "'")):
            continue
        if what.startswith('"'):
            what = what[1:-1]
            if what.count(" ") < 2 and not path.startswith("src/ctl/"):
                continue
            found = [instead for word, instead in texts if word.search(what)]
        else:
            parts = f"_{what.lower()}_"
            found = [instead for word, instead in names.items() if f"_{word}_" in parts]
        if found and not any(k.fullmatch(what) for k in keep):
            yield source.count("\n", 0, m.start()) + 1, what, found[0]


def main(project):
    os.chdir(project)
    rules = table(TABLE)
    planted = {what for _, what, _ in look("planted.c", PLANTED, rules)}
    if planted != FOUND:
        sys.exit(f"this test is blind: of a planted file it finds {sorted(planted)}, not {sorted(FOUND)}")
    files = sorted(os.path.join(folder, f) for top in TOPS for folder, _, names in os.walk(top) for f in names if f.endswith((".c", ".h")) and f != "fault.h")
    bad = [f"{path}:{line}: {what}: write {instead}" for path in files for line, what, instead in look(path, open(path, encoding="utf-8").read(), rules)]
    print("\n".join(bad) or f"{len(files)} files, {len(rules[0]) + len(rules[1])} words: none of them is there")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
