#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""docs/protocol/ and the code agree: each rule that is cited has a heading there, and each file, function,
fault and simulator mode that its pages name exists. usage: rules.py PROJECT"""
import os
import re
import sys

SOURCES = ("src", "FSAL_REPL", "tests")
PAGES = "docs/protocol"
HEADING = re.compile(r"^#{2,4} (Control|Log|Locks) (\d+(?:\.\d+)?[a-f]?)\b", re.M)
NUMBER = r"\d+(?:\.\d+)?[a-f]?"
# "control 4.5", "log 4.1, 4.5", "log 3.10-3.12", "Control 6.6, 6.7", "control 4 to 6"
CITATION = re.compile(rf"\b(control|log|locks) ((?:{NUMBER})(?:(?:, (?:and )?| and | to |-|/)(?:{NUMBER}))*)(?![\w.]*\w)", re.I)
# There is one form, so that a search for a rule finds all that speaks of it.
OTHER_FORM = re.compile(r"\b(?:control|log) (?:sheet|sections?|rules?) \d|\([2-9]\.[1-9]\d?[a-f]?(?:[,;/] \d\.\d{1,2}[a-f]?)*[);:]", re.I)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
FILE_AND_NAME = re.compile(r"`((?:src|FSAL_REPL|tests|protocol|docs)/[\w./-]+)(?::([\w]+))?`")
FAULT = re.compile(r"\bF_[0-9A-Z_]+\b")
FAULT_ROW = re.compile(r"^\| (\d+) \| `(F_\w+)` \| (control|log|locks) (\S+) \|", re.M)
MODE = re.compile(r"\bsim:([\w-]+)")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def protocol(root):
    """path -> text of the pages that have the rules."""
    return {f"{PAGES}/{name}": read(root, f"{PAGES}/{name}") for name in sorted(os.listdir(os.path.join(root, PAGES))) if name.endswith(".md")}


def headings(root):
    return {(what.lower(), n) for text in protocol(root).values() for what, n in HEADING.findall(text)}


def files(root):
    for top in SOURCES:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".py", ".sh", ".md", ".txt", ".x", ".pem")) and name != "rules.py":
                    yield os.path.relpath(os.path.join(folder, name), root)


def numbers(text):
    """The rules in a list like "4.1, 4.5". A whole section has no dot."""
    return re.findall(NUMBER, text)


def citations(text):
    """(what, number). The log's sections are cited with a dot; "log 3" is more often a log."""
    flat = re.sub(r"\n[ \t]*(?:\*|//|#)?[ \t]*", " ", text)  # a comment may break inside a citation
    for m in CITATION.finditer(flat):
        what = m.group(1).lower()
        for n in numbers(m.group(2)):
            if (what == "log" and "." not in n) or (what == "locks" and ("." in n or int(n) > 20)):  # "64 locks 64 bytes long"
                continue
            yield what, n


def check_citations(root, have, bad):
    seen = 0
    for path in files(root):
        text = read(root, path)
        for what, n in citations(text):
            seen += 1
            if (what, n) not in have:
                bad.append(f"{path}: cites {what} {n}, which has no heading in {PAGES}")
        if path.endswith((".c", ".h")):
            check_form(path, " ".join(COMMENT.findall(text)), bad)
    return seen


def check_form(path, text, bad):
    for m in OTHER_FORM.finditer(text):
        bad.append(f"{path}: {m.group()} is cited as \"control N\" or \"log N.M\"")


def is_defined(text, name):
    return re.search(rf"\b{name}\b\s*\(", text) or re.search(rf"#define {name}\b", text)


def check_places(root, where, page, bad):
    seen = 0
    for m in FILE_AND_NAME.finditer(page):
        seen += 1
        path, name = m.groups()
        line = page.count("\n", 0, m.start()) + 1
        if not os.path.exists(os.path.join(root, path)):
            bad.append(f"{where}:{line}: {path} does not exist")
        elif name and not is_defined(read(root, path), name):
            bad.append(f"{where}:{line}: {path} has no {name}")
    return seen


def check_faults(root, page, have, bad):
    numbers_of = {}
    for path in ("src/core/fault.h", "src/store/fault.h"):
        number = 1
        for first, name, what, n in re.findall(r'#define \w+FAULT_FIRST (\d+)|X\((F_\w+), "(control|log|locks) (\S+)"', read(root, path)):
            if first:
                number = int(first)
                continue
            numbers_of[name] = (number, what, n)
            number += 1
    for name in sorted(set(FAULT.findall(page)) - {"F_NAME"}):
        if name not in numbers_of:
            bad.append(f"{PAGES}: {name} is in no fault.h")
    table = {name: (int(i), what, n) for i, name, what, n in FAULT_ROW.findall(page)}
    for name, is_ in numbers_of.items():
        if table.get(name) != is_:
            bad.append(f"{PAGES}: the list of faults should say | {is_[0]} | `{name}` | {is_[1]} {is_[2]} |")
        if is_[1:] not in have:
            bad.append(f"fault.h: {name} cites {is_[1]} {is_[2]}, which has no heading in {PAGES}")


def check_modes(root, page, bad):
    modes = set(re.findall(r'^\t\{ "([\w-]+)",', read(root, "tests/sim/modes.c") + read(root, "tests/sim/modes_store.c"), re.M))
    for name in sorted(set(MODE.findall(page)) - {"NAME"} - modes):
        bad.append(f"{PAGES}: the simulator has no mode {name}")


def check_messages(root, pages, bad):
    """The table of messages at the front has each message of the enum, once, and no other."""
    text = pages[f"{PAGES}/README.md"]
    table = text[text.find("## Messages"):text.find("## States of a claim")]
    said = re.findall(r"^\| ([A-Z_]+) \|", table, re.M)
    enum = re.findall(r"^\tNFS4R_MSG_(\w+) = \d+,", read(root, "src/base/msg.h"), re.M)
    for name in sorted(set(said) ^ set(enum)) + sorted({n for n in said if said.count(n) > 1}):
        bad.append(f"{PAGES}/README.md: the table of messages should have {name} {'once' if name in enum else 'not at all'}")
    if len(enum) < 25:
        bad.append(f"only {len(enum)} messages found in src/base/msg.h: this test is blind")


def main():
    root = sys.argv[1]
    pages = protocol(root)
    page = "\n".join(pages.values())
    bad = []
    heads = [(what.lower(), n) for what, n in HEADING.findall(page)]
    for h in sorted({h for h in heads if heads.count(h) > 1}):
        bad.append(f"{PAGES}: two headings {h[0]} {h[1]}")
    have = set(heads)
    cited = check_citations(root, have, bad)
    for where, text in pages.items():
        check_form(where, text, bad)
    places = sum(check_places(root, where, text, bad) for where, text in pages.items())
    check_faults(root, page, have, bad)
    check_modes(root, page, bad)
    check_messages(root, pages, bad)
    if len(have) < 90 or cited < 100 or places < 150:
        bad.append(f"only {len(have)} rules, {cited} citations, {places} places found: wrong folder, or this test is blind")
    print("\n".join(bad) if bad else f"{len(have)} rules, {cited} citations of them, {places} places in the code: all there")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
