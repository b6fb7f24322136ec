"""What a client was told is done, and what of it is there afterwards.

	promises.py work DIR SITE SEED SECONDS    updates of files in DIR/siteSITE, one after the other, as JSON lines
	promises.py look DIR                      what is in DIR now: one JSON object {name: content}

A line says {name, content, at}: at "begin" before anything is done to the name, "done" when the last call for it has returned,
"synced" when what makes it durable has returned: fsync, or the close of a file that was written (an NFS client commits then). A line with an
error says what a call was refused with (op, t0 and t1 of this machine's clock, if it was one on names); the next begins anew.

content: null (no such name), "" (empty), [text, n] (n times that line), or for `look` also a text that is none of these.

`judge` compares the lines of one worker with what is seen. Run in a client; `judge` on the host.
"""
import errno
import json
import os
import random
import sys
import time

SIZES = (1, 40, 200, 2500)  # lines of 40 bytes


class Worker:
    def __init__(self, directory, site, seed):
        self.site, self.n, self.random = site, 0, random.Random(f'{seed} {site}')
        os.makedirs(f'{directory}/site{site}', exist_ok=True)
        os.chdir(f'{directory}/site{site}')
        self.files, self.held, self.lines = [], None, 0
        self.under_way = {}

    def say(self, name, content, at):
        print(json.dumps({'name': name, 'content': content, 'at': at}), flush=True)

    def call(self, function, *args):
        """One on names, that a client cannot tell from its repetition."""
        self.under_way = {'op': function.__name__, 't0': time.time()}
        function(*args)
        self.under_way = {}

    def new(self, kind):
        self.n += 1
        return f'{kind}{self.n}'

    def content(self, size=None):
        return [f'{self.site}.{self.n}.{self.random.randrange(10 ** 6)} '.ljust(39, '-') + '\n', size or self.random.choice(SIZES)]

    def write(self, name, content, flags):
        self.say(name, content, 'begin')
        fd = os.open(name, os.O_WRONLY | flags)
        try:
            os.write(fd, (content[0] * content[1]).encode())
            if self.random.random() < 0.5:
                os.fsync(fd)
                self.say(name, content, 'synced')
        finally:
            os.close(fd)
        self.say(name, content, 'synced')

    # ---- one step each

    def create(self):
        name = self.new('f')
        self.write(name, self.content(), os.O_CREAT | os.O_EXCL)
        self.files.append(name)

    def touch(self):
        name = self.new('e')
        self.say(name, '', 'begin')
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        self.say(name, '', 'done')

    def overwrite(self):
        """In place, one page: the old version or the new, never both."""
        if self.files:
            self.n += 1
            name = self.random.choice(self.files)
            self.write(name, self.content(1), os.O_TRUNC)

    def in_place(self):
        name = 'inplace'    # not p...: that is what was published whole
        self.n += 1
        self.write(name, self.content(40), os.O_CREAT)

    def publish(self):
        """Write, fsync, rename over what is there: how programs replace a file."""
        tmp, name, content = self.new('t'), f'p{self.random.randrange(3)}', self.content()
        self.write(tmp, content, os.O_CREAT | os.O_EXCL)
        self.say(name, content, 'begin')
        self.say(tmp, None, 'begin')
        self.call(os.rename, tmp, name)
        self.say(name, content, 'done')
        self.say(tmp, None, 'done')

    def remove(self):
        if self.files:
            name = self.files.pop(self.random.randrange(len(self.files)))
            self.say(name, None, 'begin')
            self.call(os.unlink, name)
            self.say(name, None, 'done')

    def link(self):
        name, other, content = self.new('h'), f's{self.n}', self.content()
        self.write(name, content, os.O_CREAT | os.O_EXCL)
        self.say(other, content, 'begin')
        self.call(os.link, name, other)
        self.say(other, content, 'done')

    def directory(self):
        name = self.new('d')
        self.call(os.mkdir, name)
        self.write(f'{name}/f', self.content(), os.O_CREAT | os.O_EXCL)

    def append(self):
        """Lines to a file that stays open, synced now and then: what a database's log does."""
        if self.held is None:
            self.held_name = self.new('log')
            self.say(self.held_name, '', 'begin')
            self.held, self.lines = os.open(self.held_name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND), 0
        content = [f'{self.held_name} '.ljust(39, '.') + '\n', self.lines + 1]
        self.say(self.held_name, content, 'begin')
        os.write(self.held, content[0].encode())
        self.lines += 1
        if self.random.random() < 0.4:
            os.fsync(self.held)
            self.say(self.held_name, content, 'synced')

    def leave_log(self):
        fd, self.held = self.held, None
        if fd is not None:
            os.close(fd)
            self.say(self.held_name, [f'{self.held_name} '.ljust(39, '.') + '\n', self.lines], 'synced')

    def run(self, end):
        steps = [self.create] * 4 + [self.touch, self.overwrite, self.overwrite, self.in_place, self.publish, self.publish, self.remove,
                                     self.link, self.directory] + [self.append] * 6
        while time.time() < end:
            step = self.random.choice(steps)
            try:
                step()
            except OSError as e:
                print(json.dumps({'error': errno.errorcode[e.errno], 'step': step.__name__, 'n': self.n, **self.under_way, 't1': time.time()}), flush=True)
                self.under_way = {}
                if self.held is not None:
                    try:
                        os.close(self.held)
                    except OSError:
                        pass
                    self.held = None
            time.sleep(self.random.choice([0, 0, 0.01, 0.05, 0.2]))
        try:
            self.leave_log()
        except OSError as e:
            print(json.dumps({'error': errno.errorcode[e.errno], 'step': 'leave_log', 'n': self.n}), flush=True)


def parsed(data):
    """[line, n], '' or a text that says what else it is."""
    if not data:
        return ''
    line = data[:data.find(b'\n') + 1]
    if line and data == line * (len(data) // len(line)):
        return [line.decode(errors='replace'), len(data) // len(line)]
    zeros = data.count(b'\0')
    return f'{len(data)} bytes, {zeros} of them zero, beginning {data[:60]!r}'


def look(directory):
    seen = {}
    for top, _, names in os.walk(directory):
        for n in names:
            path = os.path.join(top, n)
            try:
                with open(path, 'rb') as f:
                    seen[os.path.relpath(path, directory)] = parsed(f.read())
            except OSError as e:
                seen[os.path.relpath(path, directory)] = f'unreadable: {errno.errorcode[e.errno]}'
    return seen


# ---- on the host -----------------------------------------------------------------------------

def chains(lines):
    """{name: [[content, at], ...]}, from the beginning: no such name."""
    names = {}
    for l in lines:
        if 'error' in l:
            continue
        chain = names.setdefault(l['name'], [[None, 'synced']])
        if l['at'] == 'begin':
            chain.append([l['content'], 'begin'])
        else:
            chain[-1][1] = 'synced' if 'synced' in (l['at'], chain[-1][1]) else 'done'
    return names


def judge_name(name, chain, seen, firm):
    """What is wrong with one name, or nothing. firm: what an update must have reached to be promised."""
    have = seen.get(name)
    floor = max(i for i, (_, at) in enumerate(chain) if at in firm)
    allowed = [c for c, _ in chain[floor:]]
    if have in allowed:
        return None
    later = chain[floor + 1:]
    if name.startswith('log') and have == '':
        return f'{name}: nothing of {show(chain[floor][0])} is there'
    if name.startswith('log') and have and not isinstance(have, str) and later:
        low = chain[floor][0][1] if chain[floor][0] else 0
        if have[0] == later[-1][0][0] and low <= have[1] <= later[-1][0][1]:
            return None
    # Bytes under way: empty, a part, old and new ones. What was renamed or linked was whole before.
    if later and have is not None and name[0] not in 'ps' and all(c is not None for c, _ in later):
        return None
    return f'{name}: {show(have)} is there; promised was {show(chain[floor][0])}' + (f', begun later {[show(c) for c, _ in later]}' if later else '')


def show(content):
    return 'nothing' if content is None else 'an empty file' if content == '' else content if isinstance(content, str) else \
        f'{content[1]} x {content[0].strip()!r}'


def judge(lines, seen, machine):
    """Violations. machine: a machine lost power, so only what was synced is promised."""
    firm = ('synced',) if machine else ('synced', 'done')
    names = chains(lines)
    bad = [b for n, c in names.items() if (b := judge_name(n, c, seen, firm))]
    # What was synced under a name that a rename took away is under the new one, or was replaced there.
    for n, c in names.items():
        if n[0] == 't' and c[-1][0] is None and any(at == 'synced' and x for x, at in c) and n not in seen:
            content = next(x for x, at in c if x)
            if not any(content in [x for x, _ in chain] and seen.get(p) is not None for p, chain in names.items() if p[0] == 'p'):
                bad.append(f'{n}: synced, then renamed, and neither name is there')
    strangers = [n for n in seen if n not in names]
    return bad + [f'{n}: {show(seen[n])} is there, and nobody made it' for n in strangers]


def main(args):
    if args[0] == 'look':
        return print(json.dumps(look(args[1])))
    _, directory, site, seed, seconds = args
    Worker(directory, site, seed).run(time.time() + float(seconds))


if __name__ == '__main__':
    main(sys.argv[1:])
