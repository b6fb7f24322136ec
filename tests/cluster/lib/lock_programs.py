"""What programs that lock files do, at one client of t_lock_programs.py.

	lock_programs.py insert DATABASE WHO N          N rows (WHO, 0 ... N - 1) into a table of SQLite, each in a transaction of its own. Prints each that was acknowledged
	lock_programs.py git|svn|hg REPOSITORY WHO N    N commits, each with a file of its own name; again after another was faster
	lock_programs.py dotlock|lockf MAILBOX WHO N    N messages, under procmail's `lockfile`, or under fcntl as mail programs do it

The last line is JSON: {"done": [what was acknowledged], "again": how often another was faster, "seconds": ...}
"""
import fcntl
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

PATIENCE = 240              # seconds for one step, while others are faster
ENVIRONMENT = {**os.environ, 'HOME': '/root', 'GIT_AUTHOR_NAME': 'test', 'GIT_AUTHOR_EMAIL': 't@example.com', 'GIT_COMMITTER_NAME': 'test',
               'GIT_COMMITTER_EMAIL': 't@example.com', 'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_KEY_0': 'safe.directory', 'GIT_CONFIG_VALUE_0': '*',
               'HGUSER': 'test', 'HGPLAIN': '1', 'LC_ALL': 'C.UTF-8'}


def run(*argv, cwd=None, **kw):
    return subprocess.run(argv, cwd=cwd, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, **kw)


def must(*argv, cwd=None):
    r = run(*argv, cwd=cwd)
    if r.returncode:
        sys.exit(f'{argv}: status {r.returncode}\n{r.stdout}')
    return r.stdout


class Done:
    def __init__(self):
        self.done, self.again, self.start = [], 0, time.monotonic()

    def once_more(self, end, what):
        if time.monotonic() > end:
            sys.exit(f'not within {PATIENCE} s: {what}')
        self.again += 1
        time.sleep(random.random() * 0.1)

    def say(self):
        print(json.dumps({'done': self.done, 'again': self.again, 'seconds': time.monotonic() - self.start}), flush=True)


def insert(database, who, n):
    """SQLite polls for its locks and is busy in the end; the program tries again, as SQLite's manual says."""
    said, db = Done(), sqlite3.connect(database, timeout=30, isolation_level=None)
    for i in range(n):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                db.execute('BEGIN IMMEDIATE')
                db.execute('INSERT INTO rows VALUES (?, ?, ?)', (who, i, 'x' * 100))
                db.execute('COMMIT')
                break
            except sqlite3.OperationalError as e:
                if 'locked' not in str(e) and 'busy' not in str(e):
                    raise
                if db.in_transaction:
                    db.execute('ROLLBACK')
                said.once_more(end, f'row {i}: {e}')
        said.done.append(f'{who}.{i}')
    db.close()
    said.say()


def in_clone(clone, step, repository, who, n):
    """step(directory, name, said, end) for each of n names, in a working copy on this machine's own disk."""
    said, top = Done(), tempfile.mkdtemp(dir='/run')
    work = f'{top}/work'
    must(*clone, repository, work)
    for i in range(n):
        name = f'{who}.{i}'
        with open(f'{work}/{name}', 'w') as f:
            f.write(name)
        step(work, name, said, time.monotonic() + PATIENCE)
        said.done.append(name)
    shutil.rmtree(top)
    said.say()


def git_step(work, name, said, end):
    must('git', 'add', name, cwd=work)
    must('git', 'commit', '-qm', name, cwd=work)
    while (r := run('git', 'push', '-q', 'origin', 'HEAD:main', cwd=work)).returncode:
        if not any(reason in r.stdout for reason in ('rejected', 'failed to update ref', 'cannot lock ref', 'Unable to create')):
            sys.exit(f'git push: {r.stdout}')
        said.once_more(end, f'{name}: {r.stdout}')
        must('git', 'pull', '-q', '--rebase', 'origin', 'main', cwd=work)


def svn_step(work, name, said, end):
    must('svn', 'add', '-q', name, cwd=work)
    while (r := run('svn', 'commit', '-q', '-m', f'adds {name}', name, cwd=work)).returncode:
        if 'out of date' not in r.stdout and 'locked' not in r.stdout:
            sys.exit(f'svn commit: {r.stdout}')
        said.once_more(end, f'{name}: {r.stdout}')
        must('svn', 'update', '-q', cwd=work)


def hg_step(work, name, said, end):
    must('hg', 'commit', '-qAm', name, cwd=work)
    while (r := run('hg', 'push', '-q', '--config', 'ui.timeout=120', cwd=work)).returncode:
        if 'push creates new remote head' not in r.stdout and 'unsynced' not in r.stdout and 'lock' not in r.stdout and 'pushing' not in r.stdout and 'changed' not in r.stdout:
            sys.exit(f'hg push: {r.stdout}')
        said.once_more(end, f'{name}: {r.stdout}')
        must('hg', 'pull', '-q', '--config', 'ui.timeout=120', cwd=work)
        must('hg', 'rebase', '-q', '--config', 'extensions.rebase=', cwd=work)


def message(name):
    return f'From test@example.com Sat Jan  1 00:00:00 2000\nSubject: {name}\n\n' + f'body of {name}\n' * 50 + '\n'


def mail(mailbox, who, n, locked):
    said = Done()
    for i in range(n):
        name = f'{who}.{i}'
        locked(mailbox, message(name), said)
        said.done.append(name)
    said.say()


def append(mailbox, text):
    """As procmail does: to the end, by several writes, synced."""
    with open(mailbox, 'a') as f:
        for part in text[:100], text[100:]:
            f.write(part)
            f.flush()
        os.fsync(f.fileno())


def under_lockfile(mailbox, text, said):
    r = run('lockfile', '-1', '-r', str(PATIENCE), f'{mailbox}.lock')
    if r.returncode:
        sys.exit(f'lockfile: {r.stdout}')
    append(mailbox, text)
    os.unlink(f'{mailbox}.lock')


def under_fcntl(mailbox, text, said):
    with open(mailbox, 'r+') as f:
        fcntl.lockf(f, fcntl.LOCK_EX)
        f.seek(0, os.SEEK_END)      # not O_APPEND: the place is found under the lock
        for part in text[:100], text[100:]:
            f.write(part)
            f.flush()
        fcntl.lockf(f, fcntl.LOCK_UN)


def main(do, path, who, n):
    n = int(n)
    if do == 'insert':
        insert(path, who, n)
    elif do in ('dotlock', 'lockf'):
        mail(path, who, n, under_lockfile if do == 'dotlock' else under_fcntl)
    else:
        clone, step, url = {'git': (('git', 'clone', '-q'), git_step, path), 'svn': (('svn', 'checkout', '-q'), svn_step, f'file://{path}'),
                            'hg': (('hg', 'clone', '-q'), hg_step, path)}[do]
        in_clone(clone, step, url, who, n)


if __name__ == '__main__':
    main(*sys.argv[1:])
