#!/usr/bin/python3
"""Clients with Kerberos at three sites (docs/decisions/0045): users with tickets and what they may do to each other's files, whichever site controls them; up to 1,024 groups; who is root; export rules
of the server that a client talks to; a name that is another user elsewhere. Then tickets that end while the KDC is down, a clock that is wrong, a new key in the keytab: what is said, and that
nothing is lost. At last a part of what `TB_SEC=krb5p tests/cluster/run operations history` does.

	t_kerberos.py [users|troubles|suites]       these parts alone; default: all of them in one bed
"""
import contextlib
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed
import t_operations
import trees

OPTIONS = ('--krb5', '--rtt', '20ms', '--set', 'Max_Round_Trip=500', *bed.SHORT, '--vers', '4.2,actimeo=0,lookupcache=none')
USERS = {'root': 0, 'alice': 2001, 'bob': 2002, 'carol': 2003, 'dave': 2004}
NO_TICKET = 2005            # the uid of nobody
DIR = '/nfs/users'
SHORT_LIFE = 40             # seconds of a ticket
DENIED = ('EACCES', 'EPERM')
GONE = ('EACCES', 'EKEYEXPIRED', 'EPERM')   # what a user hears whose ticket is over


def kinit(b, site, *users):
    b.sh(site, ' && '.join(f'setpriv --reuid {USERS[u]} --regid {USERS[u]} --clear-groups kinit -k -t /tb/keytabs/{u}.keytab {u}' for u in users))


def kdestroy(b, site, user):
    b.sh(site, f'rm -f /run/krb5/krb5cc_{USERS[user]}')


def tries(b, site, uids):
    """{uid: [what]}: {uid: {what: the answer}}"""
    return {int(uid): got for uid, got in map(json.loads, b.must_py(site, 'kerberos_try.py', DIR, site, json.dumps(uids)).splitlines())}


def expect_all(b, site, users):
    """{uid: {what: the answer, or some of which any will do}}"""
    got = tries(b, site, {uid: list(want) for uid, want in users.items()})
    wrong = [f'uid {uid}, {w}: {got[uid][w]}, not {a}' for uid, want in users.items() for w, a in want.items() if got[uid][w] not in ((a,) if isinstance(a, str) else a)]
    bed.expect(not wrong, f'site {site}: ' + '; '.join(wrong))


def expect_tries(b, site, uid, want):
    expect_all(b, site, {uid: want})


def owner(b, name):
    """On all disks: what it is."""
    seen = set()
    for s in b.sites:
        st = os.lstat(f'{b.data(s)}/users/{name}')
        seen.add((st.st_uid, st.st_gid))
    bed.expect(len(seen) == 1, f'{name} belongs to {seen}')
    return seen.pop()


@contextlib.contextmanager
def controlled_by(b, site):
    """That site works in the directory all the time, so that it controls it most of the time, and the others' operations go there."""
    b.sh(site, f'cd {DIR} && mkdir at{site} && rmdir at{site}')
    busy = b.start_sh(site, f'cd {DIR} && while mkdir at{site} && rmdir at{site}; do :; done')
    try:
        yield
        bed.expect(busy.poll() is None, f'the work at site {site} ended')
    finally:
        busy.kill()
        busy.wait()
    b.sh(site, f'cd {DIR} && rmdir at{site} 2>/dev/null || :')


def everybody_has_a_ticket(b):
    bed.everywhere(lambda s: kinit(b, s, *USERS), b.sites)
    for s in b.sites:
        mounts = b.sh(s, 'grep " /nfs " /proc/mounts')
        bed.expect('sec=krb5p' in mounts, mounts)
    b.sh(1, f'mkdir {DIR} && chmod 1777 {DIR} && mkdir -m 700 {DIR}/private && chown 2001:2001 {DIR}/private')
    expect_tries(b, 1, 2001, {'make:secret': 'ok', 'make:open': 'ok'})
    b.no_controls(30)


def access_matrix(b):
    """What bob may do to alice's, and alice to her own, at all sites at once, while each site controls it."""
    forwards = b.counters()['forwards_sent']
    expect_tries(b, 1, 2001, {'make:private/plan': 'ok', **{f'make:lines{s}': 'ok' for s in b.sites}})
    b.sh(1, f'chmod 644 {DIR}/open')
    b.no_controls(30)
    bed.expect(owner(b, 'secret') == (2001, 2001) and owner(b, 'private/plan') == (2001, 2001), 'the files of alice are not hers')
    for controller in b.sites:
        with controlled_by(b, controller):
            bed.everywhere(lambda s: expect_all(b, s, {
                2002: {
                    'stat:open': 'ok', 'read:open': 'ok', 'append:open': DENIED, 'truncate:open': DENIED, 'chmod:open': DENIED, 'chown:open': DENIED, 'touch:open': DENIED,
                    'setxattr:open': DENIED, 'remove:open': DENIED, 'rename:open': DENIED, 'read:secret': DENIED, 'append:secret': DENIED, 'chmod:secret': DENIED,
                    'list:private': DENIED, 'stat:private/plan': DENIED, 'make:private/mine': DENIED, 'rmdir:private': DENIED,
                    f'make:bob{controller}{s}': 'ok', f'append:bob{controller}{s}': 'ok', f'mkdir:dir{controller}{s}': 'ok', f'rmdir:dir{controller}{s}': 'ok'},
                2001: {
                    f'append:lines{s}': 'ok', 'read:secret': 'ok', 'touch:open': 'ok', 'list:private': 'ok', f'make:private/{controller}{s}': 'ok',
                    f'remove:private/{controller}{s}': 'ok', f'append:bob{controller}{s}': DENIED, f'remove:bob{controller}{s}': DENIED},
                NO_TICKET: {'stat:open': DENIED, 'read:open': DENIED, 'make:nobodys': DENIED}}), b.sites)
    b.no_controls(30)
    bed.expect(owner(b, 'bob12') == (2002, 2002), 'the file of bob is not his')
    for s in b.sites:
        for of in b.sites:
            with open(f'{b.data(s)}/users/lines{of}') as f:
                bed.expect(f.read().split() == ['1'] + [str(of)] * 3, f'alice\'s lines of site {of} are not all on the disk of site {s}')
    forwards = b.counters()['forwards_sent'] - forwards
    bed.expect(forwards >= 5, f'only {forwards} operations went to another site')
    return f'{forwards} operations went to another site'


def many_groups(b):
    """bob is in 40 groups, carol in 1,024 with her own, and dave in one more."""
    b.sh(1, f'cd {DIR} && for g in 3000 3039 4022 4023; do echo x >g$g && chown 0:$g g$g && chmod 660 g$g || exit 1; done')
    b.sh(1, f'cd {DIR} && for g in 3000 3039 4022; do mkdir d$g && chown 0:$g d$g && chmod 770 d$g || exit 1; done')
    for controller in b.sites:
        with controlled_by(b, controller):
            bed.everywhere(lambda s: expect_all(b, s, {
                2002: {'append:g3000': 'ok', 'append:g3039': 'ok', 'read:g3039': 'ok', f'make:d3039/bob{controller}{s}': 'ok', 'append:g4022': DENIED, 'make:d4022/no': DENIED},
                2003: {'append:g3000': 'ok', 'append:g4022': 'ok', f'make:d4022/carol{controller}{s}': 'ok', 'append:g4023': DENIED},
                2001: {'append:g3039': DENIED, 'list:d3039': DENIED, f'make:d3000/alice{controller}{s}': 'ok'}}), b.sites)
    mark = len(b.log(1))
    expect_tries(b, 1, 2004, {'append:g3000': DENIED, 'make:daves': DENIED})
    b.says(1, mark, 'user 2004 is in 1025 supplementary groups: updates of users with more than 1024 are refused')


def mounted_by_hand(b, site, keytab, principal, limit=20):
    """/nfs anew, as root with that ticket. Returns the status of mount."""
    b.sh(site, f'umount /nfs 2>/dev/null; rm -f /run/krb5/krb5cc_0; kinit -k -t /tb/keytabs/{keytab}.keytab {principal}')
    return b.tb('sh', site, '-n', '-t', 40, '--', 'sh', '-c', f'timeout -s KILL {limit} mount -t nfs4 -o vers=4.2,actimeo=0,lookupcache=none,retry=0,sec=krb5p s{site}.bed.test:/data /nfs', timeout=60)


def machines_are_nobody(b, site=3):
    """Root of a client whose ticket is its machine's: nobody in the volume, for Root_Kerberos_Principal = None. Root with a ticket of root's is root."""
    b.sh(site, f'echo x >{DIR}/roots && chmod 600 {DIR}/roots')
    bed.expect(owner(b, 'roots') == (0, 0), 'root with a ticket is not root')
    bed.expect(mounted_by_hand(b, site, f'c{site}', f'nfs/c{site}.bed.test').returncode == 0, 'the machine cannot mount')
    expect_tries(b, site, 0, {'make:machines': 'ok', 'read:roots': DENIED, 'append:roots': DENIED, 'read:secret': DENIED, 'chmod:roots': DENIED, 'chown:secret': DENIED, 'remove:roots': DENIED})
    b.no_controls(30)
    who = owner(b, 'machines')
    bed.expect(0 not in who, f'what the machine made belongs to {who}')
    b.must('client', site, 'remount', timeout=100)
    return f'it is {who[0]}:{who[1]}'


def edit(path, *changes):
    with open(path) as f:
        text = f.read()
    for old, new in changes:
        bed.expect(re.search(old, text), f'no {old} in {path}')
        text = re.sub(old, new, text)
    with open(path, 'w') as f:
        f.write(text)


def restart(b, site, *, change=lambda: None):
    b.kill(site, 'stop')
    change()
    b.must('server', site, 'start')
    bed.eventually(90, lambda: b.ask(site, 'status')['state'] == 'serving', lambda: f'server {site}: {b.ask(site, "status")["state"]}')


def peer_row(b, site, peer):
    return next(p for p in b.ask(site, 'status')['peers'] if p['server'] == peer)


def rules_of_one_server(b, site=2):
    """Server 2 squashes root, and takes nothing but krb5p; there alice is another user. Its clients have its rules, those of the others have theirs, and every server says what differs."""
    conf, passwd = f'{b.server_dir(site)}/ganesha.conf', f'{b.server_dir(site)}/etc/passwd'
    b.sh(1, f'mkdir -m 777 {DIR}/rules')

    def otherwise():
        edit(conf, ('Squash = No_Root_Squash', 'Squash = Root_Squash'), ('SecType = sys, krb5, krb5i, krb5p', 'SecType = krb5p'))
        edit(passwd, ('alice:x:2001:2001', 'alice:x:2011:2011'))

    def as_before():
        edit(conf, ('Squash = Root_Squash', 'Squash = No_Root_Squash'), ('SecType = krb5p', 'SecType = sys, krb5, krb5i, krb5p'))
        edit(passwd, ('alice:x:2011:2011', 'alice:x:2001:2001'))

    restart(b, site, change=otherwise)
    try:
        mark = len(b.log(1))
        expect_tries(b, 1, 0, {'make:rules/root1': 'ok'})
        expect_tries(b, site, 0, {'make:rules/root2': 'ok', 'read:roots': DENIED, 'append:roots': DENIED})
        expect_tries(b, 1, 2001, {'make:rules/alice1': 'ok'})
        expect_tries(b, site, 2001, {'make:rules/alice2': 'ok', 'read:secret': DENIED})
        b.no_controls(30)
        got = [owner(b, f'rules/{n}')[0] for n in ('root1', 'root2', 'alice1', 'alice2')]
        bed.expect(got[0] == 0 and got[1] != 0 and got[2:] == [2001, 2011], f'the owners are {got}')
        for sec, s, want in (('sys', 1, 0), ('krb5i', 1, 0), ('sys', site, 1), ('krb5', site, 1)):
            rc = b.status_of(s, f'mkdir -p /run/m && timeout -s KILL 20 mount -t nfs4 -o vers=4.2,retry=0,sec={sec} s{s}.bed.test:/data /run/m && ls /run/m && umount /run/m', 40)
            bed.expect((rc != 0) == want, f'sec={sec} at site {s}: status {rc}')
        words = 'alice@BED.TEST is uid 2001, gid 2001 and 4 groups at server 1, and uid 2011, gid 2011 and 4 groups at server 2'
        bed.eventually(10, lambda: peer_row(b, 1, site)['names_differ'] == words, lambda: peer_row(b, 1, site)['names_differ'])
        bed.expect('uid 2011' in peer_row(b, site, 1)['names_differ'] and not peer_row(b, 1, 3)['names_differ'], 'server 2, or 3, says something else')
        b.says(1, mark, 'a name maps differently: alice@BED.TEST is uid 2001.*make idmapd.conf and the name service')
        out = b.ctl(1, 'status').stdout
        bed.expect('a name maps differently: alice@BED.TEST' in out and 'Export policy differs' in out, out)
        bed.expect('names_differ' in [c['cause'] for c in json.loads(b.ctl(1, '--json', 'health').stdout)['causes']], b.ctl(1, 'health').stdout)
    finally:
        restart(b, site, change=as_before)
    expect_tries(b, site, 2001, {'read:secret': 'ok'})
    bed.eventually(10, lambda: not peer_row(b, 1, site)['names_differ'] and not peer_row(b, 1, site)['differs'], lambda: peer_row(b, 1, site))


def tickets_end_while_the_kdc_is_down(b):
    """
    Tickets of alice, bob and the client of site 1 live for seconds; carol's for hours. Then the KDC stops until those of alice and bob are over. carol works on, without an error. So does server 2 after a
    restart. alice and bob hear that their tickets are over, and go on when they have new ones. Each line that was said to be written is there.
    """
    for p in ('alice', 'bob', 'nfs/c1.bed.test'):
        b.must('kdc', '--', f'modprinc -maxlife {SHORT_LIFE}seconds {p}')
    b.sh(1, 'umount /nfs; rm -f /run/krb5/krb5ccmachine_*')
    b.must('client', 1, 'remount', timeout=100)
    b.remount('vers=4.2,actimeo=0,lookupcache=none', [2])      # contexts that live for hours are forgotten
    for s, u in ((1, 'alice'), (2, 'bob'), (3, 'carol')):
        kdestroy(b, s, u)
    kinit(b, 2, 'carol')
    expect_tries(b, 2, 2003, {'stat:secret': 'ok'})     # has a ticket for the server
    limit = 600
    writers = {u: b.start_py(s, 'kerberos_writer.py', u, USERS[u], f'{DIR}/log-{u}', '/run/enough', limit, timeout=limit + 60) for u, s in (('alice', 1), ('bob', 2), ('carol', 3))}

    def say_next(what, seconds, *users):
        for u in users:
            line = bed.line_of(writers[u], seconds)
            bed.expect(line.startswith(what), f'{u}: {line}, not "{what}"')

    try:
        say_next('writes', 90, *writers)
        b.must('kdc', 'stop')
        restart(b, 2)
        expect_tries(b, 2, 2003, {'make:while_the_kdc_is_down': 'ok'})
        say_next('hears', SHORT_LIFE + 60, 'alice', 'bob')
        expect_tries(b, 1, 2001, {'make:too_late': GONE})
        b.must('kdc', 'start')
        kinit(b, 1, 'alice')
        kinit(b, 2, 'bob')
        say_next('writes again', 90, 'alice', 'bob')
        bed.everywhere(lambda s: b.sh(s, 'touch /run/enough'), b.sites)
        said = {u: json.loads(p.communicate(timeout=90)[0]) for u, p in writers.items()}
    finally:
        for p in writers.values():
            p.kill()
        if not b.inside('pgrep', 'krb5kdc').stdout:
            b.must('kdc', 'start')
        for p in ('alice', 'bob', 'nfs/c1.bed.test'):
            b.must('kdc', '--', f'modprinc -maxlife 10hours {p}')
    for u in ('alice', 'bob'):
        bed.expect(set(said[u]['errors']) <= {*GONE, 'EIO'}, f'{u} heard {said[u]["errors"]}')
    bed.expect(not said['carol']['errors'] and said['carol']['longest'] < 15, f'carol, whose ticket lives: {said["carol"]["errors"]}, longest {said["carol"]["longest"]} s')
    b.no_controls(60)
    for u in writers:
        for s in b.sites:
            with open(f'{b.data(s)}/users/log-{u}') as f:
                there = {int(n) for n in f.read().split()}
            bed.expect(set(said[u]['done']) <= there, f'{u} lost {sorted(set(said[u]["done"]) - there)} at site {s}')
    return ', '.join(f'{u}: {len(said[u]["done"])} lines, errors {said[u]["errors"]}' for u in writers)


def mount_is_refused(b, site, mark, pattern, text):
    """Each try fails, and one of them comes so far that the server looks at the ticket and says what is wrong with it: on a busy machine some take longer than they may."""
    def tried():
        bed.expect(mounted_by_hand(b, site, 'root', 'root', 8).returncode != 0, text)
        return re.search(pattern, b.log(site)[mark:])
    bed.eventually(90, tried, lambda: f'not in the log of server {site}: {pattern}\n{b.log(site)[mark:]}')


def clocks_that_are_wrong(b, site=2):
    """Ten minutes at server 2: its clients are refused, and its log and the other servers say why. Then at a client."""
    b.must('server', site, 'clock', 600)
    restart(b, site)
    mark = len(b.log(site))
    try:
        mount_is_refused(b, site, mark, "a client's Kerberos ticket was refused.*[Cc]lock skew.*run NTP", 'a server whose clock is 10 minutes ahead takes tickets')
        bed.eventually(10, lambda: any(c['cause'] == 'clock' for c in json.loads(b.ctl(1, '--json', 'health').stdout)['causes']), lambda: b.ctl(1, 'health').stdout)
    finally:
        b.must('server', site, 'clock', 0)
        restart(b, site)
    b.must('client', site, 'remount', timeout=100)
    expect_tries(b, site, 2003, {'make:clock_is_right': 'ok'})
    before = b.sh(3, 'date +%s').strip()
    b.sh(3, f'umount /nfs; rm -f /run/krb5/krb5ccmachine_*; date -s @{int(before) + 600}')
    mark = len(b.log(3))
    try:
        rc = mounted_by_hand(b, 3, 'root', 'root').returncode
        if rc:
            mount_is_refused(b, 3, mark, "a client's Kerberos ticket was refused.*run NTP", 'a client that is ten minutes ahead is refused, and then mounts')
        else:
            expect_tries(b, 3, 0, {'make:ahead': 'ok'})
    finally:
        b.sh(3, 'umount /nfs 2>/dev/null; rm -f /run/krb5/krb5ccmachine_*; date -s @$(($(date +%s) - 600))')
    b.must('client', 3, 'remount', timeout=100)
    kinit(b, 3, 'carol')
    expect_tries(b, 3, 2003, {'append:clock_is_right': 'ok'})
    return 'a client that is ten minutes ahead ' + ('is refused' if rc else 'goes by the time of the KDC')


def a_new_key(b, site=3):
    """A key that only the KDC has is refused, and said. When the keytab has it, too, the server takes it without a restart; who was there before goes on all the time."""
    service, keytab = f'nfs/s{site}.bed.test', f'{b.run}/krb5/keytabs/s{site}.keytab'
    expect_tries(b, site, 2003, {'make:before_the_key': 'ok'})
    b.must('kdc', '--', f'cpw -randkey {service}')
    kinit(b, site, 'bob')
    mark = len(b.log(site))
    expect_tries(b, site, 2003, {'append:before_the_key': 'ok'})
    b.sh(site, 'mkdir -p /run/m')
    bed.expect(b.status_of(site, 'rm -f /run/krb5/krb5ccmachine_*; KRB5CCNAME=/run/new kinit -k -t /tb/keytabs/alice.keytab alice && '
                                 f'cp /run/new /run/krb5/krb5cc_{NO_TICKET} && chown {NO_TICKET} /run/krb5/krb5cc_{NO_TICKET} && '
                                 f'setpriv --reuid {NO_TICKET} --regid {NO_TICKET} --clear-groups ls {DIR}') != 0, 'a key that the keytab does not have is taken')
    b.says(site, mark, "a client's Kerberos ticket was refused.*keytab.*ktadd")
    b.must('kdc', '--', f'ktadd -k {keytab} {service}')
    kinit(b, site, 'alice')
    b.sh(site, f'KRB5CCNAME=/run/new kinit -k -t /tb/keytabs/alice.keytab alice && cat /run/new >/run/krb5/krb5cc_{NO_TICKET}')
    bed.eventually(20, lambda: tries(b, site, {NO_TICKET: ['read:secret']})[NO_TICKET]['read:secret'] == 'ok', 'the new key is not taken', 1)
    expect_tries(b, site, 2003, {'append:before_the_key': 'ok'})
    b.must('client', site, 'remount', timeout=100)
    expect_tries(b, site, 2003, {'append:before_the_key': 'ok'})


def every_operation(b):
    """As in t_operations.py, of which this is NFS 4.2 alone."""
    b.remount('vers=4.2')
    got = bed.everywhere(lambda s: b.py(s, 'ops.py', f'/nfs/ops/site{s}', '4.2', s, timeout=300), b.sites)
    lines = [f'site {s}: {line}' for s in b.sites for line in [*got[s].stdout.splitlines(), *got[s].stderr.splitlines(), f'status {got[s].returncode}']]
    bed.expect(not any(r.returncode for r in got.values()), '\n'.join(line for line in lines if ': ok ' not in line))
    return f'{len(lines) - len(b.sites)} operations, {races_and_storm(b)}'


def races_and_storm(b):
    wins = t_operations.winners(b, 'shared/krb5p')
    t_operations.storm(b, 'storm', 40)
    return wins


def suite(b, name, **env):
    """A whole suite in this bed."""
    r = subprocess.run([os.path.join(bed.CLUSTER, f't_{name}.py')], env={**os.environ, **env, 'TB_SHARED': b.run}, capture_output=True, text=True, timeout=600)
    bed.expect(r.returncode == 0, r.stdout + r.stderr)
    return f'{len(re.findall("^ok ", r.stdout, re.M))} checks'


def histories(b):
    return suite(b, 'history', SECONDS_OF_HISTORY='10')


def all_equal(b):
    b.no_controls(60)
    trees.disks_equal(b)
    trees.verify(b)
    b.servers_alive()


PARTS = {
    'users': (access_matrix, many_groups, machines_are_nobody, rules_of_one_server),
    'troubles': (tickets_end_while_the_kdc_is_down, clocks_that_are_wrong, a_new_key),
    'suites': (every_operation, histories)}


def main(*parts):
    t = bed.Report('kerberos')
    with bed.Bed.own(*OPTIONS) as b:
        if t.check('everybody has a ticket', everybody_has_a_ticket, b):
            for part in [p for name in parts or PARTS for p in PARTS[name]] + [all_equal]:
                t.check(part.__name__.replace('_', ' '), part, b)
    return t.status()


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
