#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Every variable of the core is written by one room (ARCHITECTURE.md, "The rooms of the core").

A struct of ROOM_state.h, or of a .c file of the room, is that room's. A comment "of ROOM/" in a struct says whose the members after it are.

What counts as a write: an assignment, ++ and --, a macro of uthash and utlist that changes its list, and an address that is handed on to where
no const says that it is only read. The text of each function is read with the types of its parameters, its variables and of struct members.
Not seen: a write through a pointer to a scalar or to a struct of src/base that a function of the owner gave away, through a cast or void *,
in a macro of the core, and in a function that was itself called through a pointer.

usage: writes.py PROJECT             check
       writes.py PROJECT --list      every write that was seen, with its owner and writer"""
import os
import re
import sys

WHOLE = ("nfs4r_core_create", "nfs4r_core_destroy", "free_claims")  # before the first step and after the last one the door has all
ANY = "any_room"  # as a line of struct nfs4r_core says
# Macros that change their arguments, by place.
MACROS = {"DL_APPEND": (0, 1), "DL_PREPEND": (0, 1), "DL_DELETE": (0, 1), "DL_APPEND2": (0, 1), "DL_PREPEND2": (0, 1), "DL_DELETE2": (0, 1),
          "DL_APPEND_ELEM": (0, 2), "DL_PREPEND_ELEM": (0, 2), "HASH_ADD": (1, 4), "HASH_DEL": (0, 1), "HASH_SORT": (0,), "HASH_CLEAR": (1,), "HASH_FIND": (4,)}
READERS = {"memcmp", "sizeof", "HASH_COUNT", "HASH_ITER", "HASH_FIND", "DL_FOREACH", "DL_FOREACH2", "DL_FOREACH_SAFE", "DL_FOREACH_SAFE2", "assert", "if",
           "while", "for", "switch", "return"}
WRITERS = {"memcpy": (0,), "memmove": (0,), "memset": (0,), "qsort": (0,), "snprintf": (0,), "free": ()}
STEP = re.compile(r"\s*(?:->|\.)\s*(\w+)")
ASSIGN = re.compile(r"\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\s*(?:\+\+|--)")


def read(path):
    """The text without comments, strings and preprocessor lines, at the same places."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    text = re.sub(r"/\* of (any room|\w+/)[^*]*\*/", lambda m: f"@{m.group(1).rstrip('/')};".replace(" ", "_") + blank(m)[len(m.group(1)) + 2:], text)
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', lambda m: '"' + " " * (len(m.group(0)) - 2) + '"', text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def match(text, at):
    """The place behind the bracket that closes the one at @at."""
    pairs, depth = {"(": ")", "[": "]", "{": "}"}, 0
    close = pairs[text[at]]
    for i in range(at, len(text)):
        depth += (text[i] == text[at]) - (text[i] == close)
        if not depth:
            return i + 1
    return len(text)


def split(text, by):
    """At @by outside of all brackets."""
    parts, depth, start = [], 0, 0
    for i, ch in enumerate(text):
        depth += (ch in "([{") - (ch in ")]}")
        if ch == by and not depth:
            parts.append(text[start:i])
            start = i + 1
    return parts + [text[start:]]


# A function of ops/ with one statement each, and whether that is a write to another room's part. All parameters and variables are those of FRAME.
FRAME = "void planted(struct nfs4r_core *c, struct own *ow, const struct claim *cl, nfs4r_server_id s)\n{\n\tstruct opx *o;\n\tstruct cond k;\n\n\t%s\n}\n"
PLANTED = [
    ("c->control.nclaims = 1;", True), ("c->log.logs[s].received += 2;", True), ("ow->users++;", True), ("--cl->own->pins;", True),
    ("c->peers[s].view = 3;", True), ("c->peers[s].applied[s] = 3;", True), ("c->view.adopted.members |= 2;", True), ("o->pend->state = PEND_DONE;", True),
    ("memset(c->log.logs, 0, 8);", True), ("memset(&c->repair, 0, sizeof(c->repair));", True), ("nfs4r_lsn *p = &c->log.logs[s].applied;", True),
    ("DL_APPEND(c->control.idle, ow);", True), ("HASH_DEL(c->log.written, w);", True), ("state_claim_find(c, s, 1)->won = true;", True),
    ("c->ops.nops++;", False), ("o->nholds = 0;", False), ("k.log = s;", False), ("c->st.aborts++;", False), ("c->dirty |= DIRTY_OPS;", False),
    ("if (c->control.nclaims == 1 && c->log.logs[s].applied >= 2) {}", False), ("const nfs4r_lsn *p = &c->log.logs[s].applied;", False),
    ("memcpy(k.dirs, &c->cfg.root, 16);", False), ("log_written_lsn(c, &ow->claim->ctl[0].oid);", False), ("o->pend->born_acked_by_all = true;", False),
]


class Tree:
    """Structs, functions and who has which."""

    def __init__(self, root):
        self.marked, self.fields, self.home, self.writer, self.const, self.returns, self.texts = set(), {}, {}, {}, {}, {}, {}
        for top in ("src/base", "src/core"):
            for folder, _, names in os.walk(os.path.join(root, top)):
                for name in sorted(n for n in names if n.endswith((".c", ".h"))):
                    path = os.path.relpath(os.path.join(folder, name), root)
                    self.texts[path] = read(os.path.join(root, path))
        for path, text in self.texts.items():
            for m in re.finditer(r"\bstruct (\w+) \{", text):
                self.struct(m.group(1), text[m.end():match(text, m.end() - 1) - 1], room_of(path))
            for m in re.finditer(r"\(\*(\w+)\)\(", text):  # members that are functions
                args = split(text[m.end():match(text, m.end() - 1) - 1], ",")
                self.const.setdefault((None, m.group(1)), [re.search(r"\bconst\b", a) is not None for a in args])
            for m in re.finditer(r"^(?:static )?(?:inline )?(?:const )?(struct (\w+) \*|\w[\w ]*?[ *])(\w+)\(", text, re.M):
                args = split(text[m.end():match(text, m.end() - 1) - 1], ",")
                where = path if m.group(0).startswith("static") and path.endswith(".c") else None
                self.const.setdefault((where, m.group(3)), [re.search(r"\bconst\b", a) is not None for a in args])
                if m.group(2):
                    self.returns.setdefault(m.group(3), m.group(2))

    def struct(self, name, body, room):
        mine = self.fields.setdefault(name, {})
        if room:
            self.home[name] = room
        owner = room
        for member in split(body, ";"):
            if member.strip().startswith("@"):
                owner = member.strip()[1:]
                self.marked.add(name)
            inner = re.match(r"\s*(?:struct|union)\s*(\w*)\s*\{", member)
            if inner:
                end = match(member, inner.end() - 1)
                child = inner.group(1) or f"{name}.{member[end:].strip() or 'union'}"
                self.struct(child, member[inner.end():end - 1], room)
                if not member[end:].strip():
                    mine.update(self.fields[child])
                member = f"struct {child} {member[end:]}"
            m = re.match(r"\s*(?:const\s+)?(?:(?:struct|union)\s+([\w.\[\] +]+?)|enum\s+\w+|\w+(?:\s+(?:int|char|long))?)\s+(?=[\w*(])(.*)$", member, re.S)
            for one in split(m.group(2), ",") if m else ():
                d = re.match(r"\s*(\**)\s*(?:const\s+)?\(?\**(\w+)", one)
                if d:
                    mine[d.group(2)] = (m.group(1), bool(d.group(1)), "[" in one)
                    self.writer[name, d.group(2)] = owner


def room_of(path):
    """Of what a file in the core defines; nothing outside of it is anybody's state."""
    parts = path.split("/")
    if parts[1] != "core" or path in ("src/core/core.h", "src/core/fault.h"):
        return None
    return parts[2] if len(parts) > 3 else "door"


def functions(text):
    """(head, body, place of the body) of each."""
    for m in re.finditer(r"^(?![ \t{}])([^;{}#]*?\b\w+\([^;{}]*\))\s*\{", text, re.M):
        yield m.group(1), text[m.end():match(text, m.end() - 1)], m.end()


def variables(head, body):
    """Name -> (struct, is it a pointer). One name with two types in a function is not told apart; the later one counts."""
    found = {}
    for m in re.finditer(r"\bstruct (\w+) (\**\w+)", head):
        found[m.group(2).lstrip("*")] = m.group(1), "*" in m.group(2)
    for m in re.finditer(r"\bstruct (\w+) (?=[*\w])([^;{)]*(?:\{[^;]*\}|\([^;]*\))?[^;]*);", body):
        for one in split(m.group(2), ","):
            name = re.match(r"\s*(?:const\s+)?(\**)\s*(\w+)", one)
            if name:
                found[name.group(2)] = m.group(1), bool(name.group(1))
    return found


def chains(tree, body, types):
    """(begin, end, [(struct, field, is array)]) of each x->y.z[i] whose x has a type that is known."""
    for m in re.finditer(r"(?<![\w.>])([A-Za-z_]\w*)", body):
        at, (kind, pointer) = m.end(), types.get(m.group(1), (None, True))
        if body.startswith("(", at) and m.group(1) in tree.returns:
            at, kind = match(body, at), tree.returns[m.group(1)]
        path = []
        while True:
            while body.startswith("[", at):
                at = match(body, at)
                path = path[:-1] + [path[-1][:3] + (False,)] if path else path
            step = STEP.match(body, at)
            if not step or step.group(1) not in tree.fields.get(kind, {}):
                break
            child, leads, array = tree.fields[kind][step.group(1)]
            path.append((kind, step.group(1), leads, array))
            at, kind = step.end(), child
        if path and (pointer or any(p[2] for p in path[:-1])):  # else it is a part of a variable of the function
            yield m.start(), at, path


def owned(tree, path):
    """(struct, field) of what the chain ends in: a member with a room of its own, or the outermost struct below struct nfs4r_core that contains it."""
    at = len(path) - 1
    while at > 0 and path[at][0] not in tree.marked and not path[at - 1][2] and (path[at - 1][0] != "nfs4r_core" or not tree.home.get(path[at][0])):
        at -= 1
    return path[at][:2] if tree.writer.get(path[at][:2]) else None


def call_of(body, at):
    """(function, place of the argument) of the innermost call around @at; None: there is none in the statement."""
    depth, place = 0, 0
    for i in range(at - 1, -1, -1):
        ch = body[i]
        if ch in ")]":
            depth += 1
        elif ch in "([" and depth:
            depth -= 1
        elif ch == "(":
            name = re.search(r"(\w+)\s*$", body[:i])
            if name:
                return name.group(1), place
            place = 0
        elif ch in ";{}" and not depth:
            return None
        elif ch == "," and not depth:
            place += 1
    return None


def is_written_by(tree, path, call):
    name, place = call
    if name in MACROS:
        return place in MACROS[name]
    if name in WRITERS:
        return place in WRITERS[name]
    if name in READERS:
        return False
    const = tree.const.get((path, name)) or tree.const.get((None, name))
    return not (const and place < len(const) and const[place])


def is_write(tree, where, head, body, begin, end, path):
    before = body[:begin].rstrip()
    if ASSIGN.match(body, end) or before.endswith(("++", "--")):
        return True
    call = call_of(body, begin)
    if call and call[0] in MACROS:
        return call[1] in MACROS[call[0]] and not before.endswith(("=", "?", ":"))
    kind, field, pointer, array = path[-1]
    child = tree.fields[kind][field][0]
    address = before.endswith("&") and not re.search(r"[\w)\]]\s*&$|&&$", before)
    if not address and not (array and (call and call[0] not in READERS)):
        return False
    if address and tree.home.get(child) and not pointer and not (call and call[0] in WRITERS):
        return False  # whoever has the pointer says what struct it is to
    if call and call[0] not in ("return", "if", "while"):
        return is_written_by(tree, where, call)
    said = re.split(r"[;{}]", before)[-1]
    return not re.search(r"\bconst\b", head if "return" in said else said)


def check(tree, path, text, seen):
    room = room_of(path)
    for head, body, at in functions(text):
        if room == "door" and re.search(r"(\w+)\(", head).group(1) in WHOLE:
            continue
        types = variables(head, body)
        for begin, end, chain in chains(tree, body, types):
            mine = owned(tree, chain)
            if mine and is_write(tree, path, head, body, begin, end, chain):
                seen.append((path, text.count("\n", 0, at + begin) + 1, room, mine, tree.writer[mine], body[begin:end]))


def others(seen):
    return [s for s in seen if s[4] not in (s[2], ANY)]


def blind(tree):
    """Planted statements of which this test thinks wrongly."""
    bad = []
    for statement, is_bad in PLANTED:
        seen = []
        check(tree, "src/core/ops/planted.c", FRAME % statement, seen)
        if bool(others(seen)) != is_bad:
            bad.append(f"this test {'does not see' if is_bad else 'complains of'} the planted {statement}")
    return bad


def main():
    root, seen = sys.argv[1], []
    tree = Tree(root)
    for path in sorted(tree.texts):
        if path.startswith("src/core/"):
            check(tree, path, tree.texts[path], seen)
    bad = blind(tree)
    if "--list" in sys.argv:
        for path, line, room, mine, owner, what in seen:
            print(f"{path}:{line}: {room} writes {owner}'s {'.'.join(mine)}: {what}")
    for path, line, room, mine, owner, what in others(seen):
        bad.append(f"{path}:{line}: {what} is {mine[1]} of struct {mine[0]}, which {owner}/ writes; {room}/ has to call a function of {owner}/")
    if len(seen) < 1000:
        bad.append(f"only {len(seen)} writes found: this test is blind")
    print("\n".join(bad) if bad else f"{len(seen)} writes to the state of the core, each by the room that owns it")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
