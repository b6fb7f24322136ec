"""Trees made on the host for the clients to work on: a git repository with two versions, and a small C project."""
import os
import shutil
import subprocess

DIRS, FILES = 20, 20            # of the repository
UNITS, HEADERS = 60, 10         # of the project

MAKEFILE = '''CC := tcc
OBJ := $(patsubst %.c,$(OUT)/%.o,$(wildcard *.c))
$(OUT)/prog: $(OBJ)
	$(CC) -o $@ $(OBJ)
$(OUT)/%.o: %.c | $(OUT)
	$(CC) -c -I. -o $@ $<
$(OUT):
	mkdir -p $@
'''


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)


def text(*seed):
    """About 3 KB that differ by seed."""
    return ''.join(f'line {i} of {" ".join(map(str, seed))}: the quick brown fox jumps\n' for i in range(60))


def environment():
    """Without what git says to a hook or to `bisect run`: GIT_DIR would lead to the repository from which we were started."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith('GIT_')}
    return {**clean, 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_SYSTEM': '/dev/null'}


def git(directory, *args):
    subprocess.run(['git', '-c', 'user.name=bench', '-c', 'user.email=bench@localhost', '-c', 'init.defaultBranch=v1',
                    '-C', directory, *args], check=True, capture_output=True, stdin=subprocess.DEVNULL,
                   env=environment())


def repository(directory):
    """Branches v1 and v2, v1 checked out: 300 paths differ. 20 directories; 4 exist in one of the two only."""
    os.makedirs(directory)
    git(directory, 'init', '-q')
    for d in range(DIRS):
        for f in range(FILES):
            write(f'{directory}/d{d}/f{f}', text(d, f))
    git(directory, 'add', '-A')
    git(directory, 'commit', '-q', '-m', 'one')
    git(directory, 'checkout', '-q', '-b', 'v2')
    for d in range(DIRS - 2):
        for f in range(8):
            write(f'{directory}/d{d}/f{f}', text(d, f, 'changed'))
        for f in (8, 9):
            os.unlink(f'{directory}/d{d}/f{f}')
        os.rename(f'{directory}/d{d}/f10', f'{directory}/d{d}/g10')
        write(f'{directory}/d{d}/new', text(d, 'new'))
    for d in (DIRS - 2, DIRS - 1):
        shutil.move(f'{directory}/d{d}', f'{directory}/e{d}')
    git(directory, 'add', '-A')
    git(directory, 'commit', '-q', '-m', 'two')
    git(directory, 'checkout', '-q', 'v1')
    git(directory, 'gc', '-q')


def sources(directory, units=UNITS):
    """Units that include ten headers each, a main, a makefile; only the compiler's own needs beside."""
    for h in range(HEADERS):
        write(f'{directory}/h{h}.h', f'#ifndef H{h}\n#define H{h}\n' + ''.join(
            f'static inline int h{h}_{i}(int x) {{ return x * {i + 1} + {h}; }}\n' for i in range(40)) + '#endif\n')
    include = ''.join(f'#include "h{h}.h"\n' for h in range(HEADERS))
    for u in range(units):
        body = ''.join(f'int u{u}_{i}(int x) {{ return h{i % HEADERS}_{i}(x) + {u}; }}\n' for i in range(40))
        write(f'{directory}/u{u}.c', include + body)
    calls = ''.join(f'int u{u}_0(int);\n' for u in range(units))
    write(f'{directory}/main.c', calls + 'int main(void) { return (' + ' + '.join(f'u{u}_0(0)' for u in range(units)) + ') & 0; }\n')
    write(f'{directory}/Makefile', MAKEFILE)
