"""Operations on names: create, link, remove, rename, listings."""
import errno
import os
import socket
import stat
import time

from ops import equal, fails, operation


@operation()
def create_modes(op):
    """OPEN unchecked (twice), guarded/exclusive, with a mode; what exists refuses O_EXCL and keeps its bytes."""
    for _ in range(2):
        fd = os.open(op.path('unchecked'), os.O_CREAT | os.O_WRONLY, 0o640)
        os.close(fd)
    equal(stat.S_IMODE(os.stat(op.path('unchecked')).st_mode), 0o640, 'mode')
    fd = os.open(op.path('exclusive'), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    os.write(fd, b'first')
    os.close(fd)
    equal(stat.S_IMODE(os.stat(op.path('exclusive')).st_mode), 0o600, 'mode')
    fails(errno.EEXIST, os.open, op.path('exclusive'), os.O_CREAT | os.O_EXCL | os.O_RDWR)
    equal(op.get('exclusive'), b'first')
    op.put('truncated', b'long content')
    op.put('truncated', b'short')
    equal(op.get('truncated'), b'short')
    fd = os.open(op.path('read-only-mode'), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o444)
    os.write(fd, b'written under a mode without w')
    os.close(fd)


@operation()
def directories(op):
    os.mkdir(op.path('a'), 0o750)
    os.mkdir(op.path('a', 'b'))
    os.mkdir(op.path('sticky'))
    os.chmod(op.path('sticky'), 0o1777)
    os.mkdir(op.path('setgid'))
    os.chmod(op.path('setgid'), 0o2775)
    equal(os.stat(op.path('a')).st_nlink, 3, 'nlink of a directory with one in it')
    fails(errno.EEXIST, os.mkdir, op.path('a'))
    fails(errno.ENOTEMPTY, os.rmdir, op.path('a'))
    fails(errno.ENOENT, os.mkdir, op.path('none', 'x'))
    os.rmdir(op.path('a', 'b'))
    equal(os.stat(op.path('a')).st_nlink, 2, 'nlink of an empty directory')
    equal(os.listdir(op.path('a')), [])


@operation()
def symlinks(op):
    os.symlink('nowhere', op.path('dangling'))
    os.symlink('../symlinks', op.path('loop'))
    text = 'x/' * 490 + 'end'
    os.symlink(text, op.path('long'))
    equal(os.readlink(op.path('long')), text)
    equal(os.lstat(op.path('long')).st_size, len(text), 'size of a symlink')
    fails(errno.EEXIST, os.symlink, 'other', op.path('dangling'))
    op.put('target', b'through')
    os.symlink('target', op.path('good'))
    equal(op.get('good'), b'through')
    os.lchown(op.path('good'), 7, 8)


@operation()
def special_files(op):
    os.mkfifo(op.path('fifo'), 0o610)
    with socket.socket(socket.AF_UNIX) as s:
        old = os.getcwd()
        os.chdir(op.d)
        s.bind('socket')
        os.chdir(old)
    os.mknod(op.path('char'), 0o620 | stat.S_IFCHR, os.makedev(11, 22))
    os.mknod(op.path('block'), 0o600 | stat.S_IFBLK, os.makedev(200, 70000))
    st = os.lstat(op.path('char'))
    equal((stat.S_ISCHR(st.st_mode), os.major(st.st_rdev), os.minor(st.st_rdev)), (True, 11, 22), 'character device')
    st = os.lstat(op.path('block'))
    equal((stat.S_ISBLK(st.st_mode), os.major(st.st_rdev), os.minor(st.st_rdev)), (True, 200, 70000), 'block device')
    equal(stat.S_ISFIFO(os.lstat(op.path('fifo')).st_mode), True, 'fifo')
    equal(stat.S_ISSOCK(os.lstat(op.path('socket')).st_mode), True, 'socket')
    os.chown(op.path('fifo'), 5, 6)
    os.rename(op.path('block'), op.path('block2'))
    os.mkfifo(op.path('gone'))
    os.unlink(op.path('gone'))


@operation()
def hard_links(op):
    op.put('one', b'shared')
    os.mkdir(op.path('d'))
    os.link(op.path('one'), op.path('two'))
    os.link(op.path('one'), op.path('d', 'three'))
    equal([os.stat(op.path(n)).st_nlink for n in ('one', 'two', 'd/three')], [3, 3, 3], 'nlink')
    equal(os.stat(op.path('one')).st_ino, os.stat(op.path('d', 'three')).st_ino, 'fileid')
    with open(op.path('two'), 'ab') as f:
        f.write(b' and more')
    equal(op.get('d/three'), b'shared and more')
    fails(errno.EEXIST, os.link, op.path('one'), op.path('two'))
    os.unlink(op.path('one'))
    equal(os.stat(op.path('two')).st_nlink, 2, 'nlink')
    os.rename(op.path('d', 'three'), op.path('four'))
    os.symlink('two', op.path('sym'))
    os.link(op.path('sym'), op.path('sym2'), follow_symlinks=False)
    os.mkfifo(op.path('fifo'))
    os.link(op.path('fifo'), op.path('fifo2'))


@operation()
def same_inode_rename(op):
    """POSIX: a rename between two names of one object does nothing."""
    op.put('a')
    os.link(op.path('a'), op.path('b'))
    os.rename(op.path('a'), op.path('b'))
    equal(sorted(os.listdir(op.d)), ['a', 'b'])
    equal(os.stat(op.path('a')).st_nlink, 2)


@operation()
def removes(op):
    op.put('f')
    os.unlink(op.path('f'))
    fails(errno.ENOENT, os.unlink, op.path('f'))
    fails(errno.ENOENT, os.stat, op.path('f'))
    os.mkdir(op.path('d'))
    os.rmdir(op.path('d'))
    fails(errno.ENOENT, os.rmdir, op.path('d'))
    op.put('g')
    fails(errno.ENOTDIR, os.rmdir, op.path('g'))
    os.mkdir(op.path('h'))
    fails(errno.EISDIR, os.unlink, op.path('h'))
    op.put('f', b'a new object under the old name')


@operation()
def renames(op):
    """In a directory, across directories, over what exists; its refusals."""
    os.mkdir(op.path('a'))
    os.mkdir(op.path('b'))
    os.rename(op.put('f1', b'1'), op.path('f2'))
    os.rename(op.path('f2'), op.path('a', 'f3'))
    ino = os.stat(op.path('a', 'f3')).st_ino
    op.put('b/target', b'replaced')
    os.rename(op.path('a', 'f3'), op.path('b', 'target'))
    equal(op.get('b/target'), b'1')
    equal(os.stat(op.path('b', 'target')).st_ino, ino, 'fileid after renames')
    equal(os.listdir(op.path('a')), [])
    op.put('x', b'x')
    op.put('y', b'y')
    os.link(op.path('y'), op.path('y2'))
    os.rename(op.path('x'), op.path('y'))
    equal((op.get('y'), op.get('y2'), os.stat(op.path('y2')).st_nlink), (b'x', b'y', 1))
    fails(errno.ENOENT, os.rename, op.path('none'), op.path('z'))
    fails(errno.ENOENT, os.rename, op.path('y'), op.path('none', 'z'))
    os.symlink('elsewhere', op.path('s'))
    os.rename(op.path('s'), op.path('b', 's'))


@operation()
def rename_directories(op):
    for n in ('p/q/r', 'to', 'empty', 'full/x'):
        os.makedirs(op.path(n))
    op.put('p/q/r/deep', b'deep')
    os.rename(op.path('p', 'q'), op.path('to', 'q2'))
    equal(op.get('to/q2/r/deep'), b'deep')
    equal([os.stat(op.path(n)).st_nlink for n in ('p', 'to', 'to/q2')], [2, 3, 3], 'nlink')
    os.rename(op.path('to', 'q2'), op.path('to', 'q3'))
    os.rename(op.path('to', 'q3', 'r'), op.path('empty'))           # over an empty directory
    equal(op.get('empty/deep'), b'deep')
    fails(errno.ENOTEMPTY, os.rename, op.path('p'), op.path('full'))
    op.put('file')
    fails(errno.ENOTDIR, os.rename, op.path('p'), op.path('file'))
    fails(errno.EISDIR, os.rename, op.path('file'), op.path('p'))
    fails(errno.EINVAL, os.rename, op.path('full'), op.path('full', 'x', 'y'))
    op.put('to/q3/made-after-the-move', b'new')
    equal(os.listdir(op.path('to', 'q3')), ['made-after-the-move'])


@operation()
def strange_names(op):
    names = ['x' * 255, 'ü' * 127, ' ', ' leading and trailing ', 'a\nb', '*?[]\\"\'$(`', '-rf', '...', '日本語のファイル名',
             'tab\there', '~', '.hidden', 'a:b;c|d', '\u202eright-to-left', '%s%n%x', 'x' * 200 + '.tar.gz']
    for i, n in enumerate(names):
        op.put(n, str(i).encode())
    equal(sorted(os.listdir(op.d)), sorted(names))
    for i, n in enumerate(names):
        equal(op.get(n), str(i).encode(), n)
    fails(errno.ENAMETOOLONG, op.put, 'x' * 256)
    os.mkdir(op.path('d' * 255))
    os.rename(op.path(' '), op.path('d' * 255, 'moved '))
    os.symlink('x' * 255, op.path('link to a long name'))


@operation()
def deep_path(op):
    path = op.d
    for i in range(40):
        path = os.path.join(path, f'level-{i:02}')
        os.mkdir(path)
    with open(os.path.join(path, 'bottom'), 'w') as f:
        f.write('here')
    os.rename(op.path('level-00', 'level-01'), op.path('lifted'))
    os.stat(os.path.join(path.replace('level-00/level-01', 'lifted'), 'bottom'))


@operation()
def long_listing(op):
    """Many READDIR calls, and one that goes on while names come and go."""
    want = {f'{i:04}-{"n" * (i % 60)}' for i in range(2000 if op.vers == 4.1 else 300)}
    for n in want:
        os.mknod(op.path(n), 0o644 | stat.S_IFREG) if len(n) % 7 else os.close(os.open(op.path(n), os.O_CREAT | os.O_WRONLY))
    equal(set(os.listdir(op.d)), want)
    with os.scandir(op.d) as entries:
        seen = [next(entries).name]
        for n in sorted(want)[:20]:
            os.unlink(op.path(n))
        op.put('new one')
        seen += [e.name for e in entries]
    stay = want - set(sorted(want)[:20])
    equal(stay - set(seen), set(), 'names that were there all the time and not listed')
    equal(len(seen), len(set(seen)), 'names listed twice')


def names_become(op, names):
    """The client removes its hidden name of a file in the background, after the close."""
    end = time.monotonic() + 20
    while sorted(os.listdir(op.d)) != names and time.monotonic() < end:
        time.sleep(0.1)
    equal(sorted(os.listdir(op.d)), names)


@operation()
def open_unlinked(op):
    """A file without a name works for who has it open (the client renames it until then)."""
    fd = os.open(op.path('f'), os.O_CREAT | os.O_RDWR)
    os.write(fd, b'before')
    os.unlink(op.path('f'))
    fails(errno.ENOENT, os.stat, op.path('f'))
    os.write(fd, b' after')
    equal(os.pread(fd, 100, 0), b'before after')
    os.close(fd)
    names_become(op, [])


@operation()
def open_replaced(op):
    """The same when a rename takes the name."""
    fd = os.open(op.put('f', b'old'), os.O_RDWR)
    os.rename(op.put('g', b'new'), op.path('f'))
    equal(os.pread(fd, 100, 0), b'old')
    equal(op.get('f'), b'new')
    os.pwrite(fd, b'OLD', 0)
    os.close(fd)
    equal(op.get('f'), b'new')
    names_become(op, ['f'])
