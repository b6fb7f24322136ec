#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The prose of every *.md can be read, and what it points at exists.

Sentences: mean and longest per file, against 18 and 35 words, or against the file's own line in prose_bounds.txt. Those
bounds only fall: one that is looser than its file by more than SLACK is an error, too. References: relative links and their
anchors, paths in backquotes, citations of rules ("control 4.5", "log 3.4") and of decisions ("decision 0018").

usage: prose.py PROJECT             check
       prose.py PROJECT --lower     take every bound down to what its file needs now
       prose.py PROJECT --long FILE [WORDS]   the sentences of FILE that are longer"""
import os
import re
import subprocess
import sys

import rules

MEAN, LONGEST = 18.0, 35
SLACK_MEAN, SLACK_LONGEST = 1.0, 3
BOUNDS = "tests/unit/layers/prose_bounds.txt"
TOPS = ("src", "FSAL_REPL", "tests", "protocol", "docs", "scripts", "packaging", "patches", "config_samples", "cmake")

CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^\s*(?:[*+-]|\d+\.|\([a-z]\))\s+")
WHERE = re.compile(r"\*\*(?:Where|Shown by)\*\*.*", re.S)  # lists of places, not sentences
POINTER = re.compile(r"\([^()]*\b(?:control|log|decisions?) \d[^()]*\)")
END = re.compile(r"[.?!][)\"'*]*(?=\s+[\"'(*`]*[A-Z0-9`])|[.?!:][)\"'*]*\s*$")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf)\.$")
PATH = re.compile(rf"`((?:{'|'.join(TOPS)})/[\w./-]*\w/?)(?::(\w+))?`")
DECISION = re.compile(r"\bdecisions? (\d{4})((?:(?:, | and )\d{4})*)")


def blocks(text):
    """(line number, text) of each paragraph, list item and table cell; code, headings and front matter left out."""
    fenced, block, first = False, [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        line = re.sub(r"^> ?", "", line)
        if line.lstrip().startswith("```"):
            fenced, line = not fenced, ""
        alone = fenced or not line.strip() or line.startswith("#") or line.lstrip().startswith("|")
        if block and (alone or BLOCK.match(line)):
            yield first, " ".join(block)
            block = []
        if line.lstrip().startswith("|") and not fenced:
            yield from ((number, cell.strip()) for cell in re.split(r"(?<!\\)\|", CODE.sub("X", line)))
        elif not alone:
            first = first if block else number
            block.append(BLOCK.sub("", line, count=1).strip())


def sentences(text):
    """(line, words, sentence): code counts as one word, a link as its text, pointers to rules not at all."""
    for number, block in blocks(text):
        block = WHERE.sub("", POINTER.sub("", LINK.sub(r"\1", CODE.sub("X", block))))
        start = 0
        for m in END.finditer(block):
            if ABBREVIATION.search(block[start:m.end()]) and m.end() < len(block.rstrip()):
                continue
            yield number, len(words_of(block[start:m.end()])), block[start:m.end()].strip()
            start = m.end()
        if words_of(block[start:]):
            yield number, len(words_of(block[start:])), block[start:].strip()


def words_of(text):
    return [w for w in text.split() if re.search(r"\w", w)]


def measure(text):
    """(mean, longest). What has fewer than four words is a label."""
    counts = [n for _, n, _ in sentences(text) if n >= 4]
    return (round(sum(counts) / len(counts), 1), max(counts)) if counts else (0.0, 0)


def pages(root):
    names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"], stdout=subprocess.PIPE, check=False)
    found = names.stdout.decode().split()
    if not found:  # an unpacked archive
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if f not in ("build", ".deps", ".git")]
            found += [os.path.relpath(os.path.join(folder, f), root) for f in files if f.endswith(".md")]
    return sorted(f for f in found if os.path.exists(os.path.join(root, f)))


def bounds(root):
    lines = [line.split() for line in rules.read(root, BOUNDS).splitlines() if line.strip() and not line.startswith("#")]
    return {path: (float(mean), int(longest)) for path, mean, longest in lines}


def check_length(path, text, bound, bad):
    mean, longest = measure(text)
    may_mean, may_longest = bound or (MEAN, LONGEST)
    if mean > may_mean:
        bad.append(f"{path}: sentences have {mean} words on average, more than {may_mean}")
    for line, count, sentence in sentences(text):
        if count > may_longest:
            bad.append(f"{path}:{line}: a sentence of {count} words, more than {may_longest}: {sentence[:60]}...")
    if bound and (max(mean, MEAN) < may_mean - SLACK_MEAN or max(longest, LONGEST) < may_longest - SLACK_LONGEST):
        bad.append(f"{BOUNDS}: {path} needs {max(mean, MEAN)} {max(longest, LONGEST)} only; run prose.py with --lower")


def anchors(text):
    """What GitHub makes of the headings."""
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", h.replace("`", "").lower()).replace(" ", "-") for h in heads}


def check_links(root, path, text, bad):
    seen = 0
    for m in LINK.finditer(re.sub(r"```.*?```", "", text, flags=re.S)):
        target, _, anchor = m.group(2).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        seen += 1
        to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(os.path.join(root, to)):
            bad.append(f"{path}: links to {target}, which does not exist")
        elif anchor and anchor not in anchors(rules.read(root, to)):
            bad.append(f"{path}: links to {m.group(2)}, which has no such heading")
    return seen


def check_paths(root, path, text, bad):
    seen = 0
    for file, name in PATH.findall(text):
        seen += 1
        if "NAME" in file:
            continue
        to = next((p for p in (file, os.path.join(os.path.dirname(path), file)) if os.path.exists(os.path.join(root, p))), None)
        if file.startswith("patches/") and any(p.startswith(file[8:] + "-") for p in os.listdir(os.path.join(root, "patches"))):
            continue  # `patches/0001` is enough of a name
        if to is None:
            bad.append(f"{path}: names {file}, which does not exist")
        elif name and not rules.is_defined(rules.read(root, to), name):
            bad.append(f"{path}: {file} has no {name}")
    return seen


def check_citations(root, path, text, have, bad):
    seen = 0
    for what, n in rules.citations(text):
        seen += 1
        if (what, n) not in have:
            bad.append(f"{path}: cites {what} {n}, which has no heading in {rules.PAGES}")
    known = {name[:4] for name in os.listdir(os.path.join(root, "docs/decisions"))}
    for m in DECISION.finditer(text):
        for n in re.findall(r"\d{4}", m.group(0)):
            seen += 1
            if n not in known:
                bad.append(f"{path}: cites decision {n}, which does not exist")
    return seen


def lower(root):
    """Rewrite the bounds file. A bound never rises, and one that is as good as the general one goes."""
    head = [line for line in rules.read(root, BOUNDS).splitlines() if line.startswith("#")]
    rows = []
    for path, (mean, longest) in sorted(bounds(root).items()):
        if os.path.exists(os.path.join(root, path)):
            is_mean, is_longest = measure(rules.read(root, path))
            mean, longest = min(mean, max(is_mean, MEAN)), min(longest, max(is_longest, LONGEST))
            rows += [f"{path} {mean} {longest}"] if (mean, longest) != (MEAN, LONGEST) else []
    with open(os.path.join(root, BOUNDS), "w", encoding="utf-8") as f:
        f.write("\n".join(head + rows) + "\n")


def check(root):
    bad, seen = [], 0
    have, may = rules.headings(root), bounds(root)
    found = pages(root)
    for path in found:
        text = rules.read(root, path)
        check_length(path, text, may.pop(path, None), bad)
        seen += check_links(root, path, text, bad) + check_paths(root, path, text, bad)
        seen += check_citations(root, path, text, have, bad)
        if path.startswith("docs/decisions/"):
            rules.check_form(path, text, bad)
    bad += [f"{BOUNDS}: {path} does not exist" for path in may]
    if len(found) < 50 or seen < 500:
        bad.append(f"only {len(found)} pages, {seen} references found: wrong folder, or this test is blind")
    print("\n".join(bad) if bad else f"{len(found)} pages, {seen} references: all there")
    return 1 if bad else 0


def main():
    root = sys.argv[1]
    if "--lower" in sys.argv:
        lower(root)
    elif "--long" in sys.argv:
        more = int(sys.argv[4]) if len(sys.argv) > 4 else LONGEST
        for line, count, sentence in sentences(rules.read(root, sys.argv[3])):
            if count > more:
                print(f"{line}: ({count}) {sentence}")
        print(measure(rules.read(root, sys.argv[3])))
    else:
        return check(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
