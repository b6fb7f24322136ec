#!/usr/bin/python3
"""`Directory_Reads = strict` and `local`: the example of docs/directory-reads.md, step by step.

Site 1 works in a directory, site 2 looks at it from 400 ms away. On a shared bed: with the bed's setting; alone: with both.
"""
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
import bed

NAME = f'names-{os.getpid()}'
DIR = f'/nfs/{NAME}'
RTT = 0.4
SLACK = 0.010               # of the guests' clocks
SOON = 2.0                  # s until an update that is on its way has come, on a busy machine


def both(b, one, two, *after):
    """Probes at sites 1 and 2, which have started when the times are said: site 2's are so much @after site 1's. What they printed, and the offsets of the clocks."""
    offset = {s: b.clock(s)[0] for s in (1, 2)}
    with tempfile.TemporaryDirectory(dir=b.run) as d:
        go = os.path.join(d, 'go')
        probes = [b.start_py(s, 'names_probe.py', *args, go) for s, args in ((1, one), (2, two))]
        bed.eventually(60, lambda: all(os.path.exists(f'{go}.{args[0]}') or p.poll() for p, args in zip(probes, (one, two))), 'the probes do not begin', 0.01)
        at = time.time() + 1.5
        with open(go + '.tmp', 'w') as f:
            json.dump({one[0]: [at + offset[1]], two[0]: [at + t + offset[2] for t in after]}, f)
        os.rename(go + '.tmp', go)
        out = [p.communicate(timeout=60)[0] for p in probes]
    bed.expect(all(p.returncode == 0 for p in probes), '\n'.join(out))
    return json.loads(out[0]), json.loads(out[1]), offset


def observe(b, what, name):
    """Site 1 does it, site 2 looks; (do, [seen], [counters of server 2 before, after]), all times in site 1's clock."""
    remote = [b.ask(2, 'stats')['engine']['reads_remote']]
    done, seen, offset = both(b, ('do', what, DIR, name), ('see', what, DIR, name), 0.02, 3)
    remote.append(b.ask(2, 'stats')['engine']['reads_remote'])
    shift = offset[1] - offset[2]
    return done, [(t0 + shift, t1 + shift, new) for t0, t1, new in seen], remote[1] - remote[0]


def at_once(b, what, name):
    """Whoever begins to look after the update returned sees it. He asks site 1 while that controls what he looks at, and has to wait until news of the update can be here."""
    done, seen, remote = observe(b, what, name)
    under_control(done)
    late = [s for s in seen if s[0] > done['t1'] + SLACK]
    bed.expect(late and all(new for _, _, new in late), f'returned at {done}, but site 2 saw {late[:5]}')
    first = late[0][1] - late[0][0]
    news = late[0][1] - done['t1']
    bed.expect(news >= RTT / 2 - SLACK, f'the first look ended {news:.3f} s after the update: it has not been at site 1')
    bed.expect(remote > 0, 'server 2 asked nobody')
    return f'first look {first / RTT:.1f} round trips, {remote} questions to site 1, {len(late)} looks'


def soon(b, what, name):
    """Looks cost nothing; they show what has come, never the old again once the new was there."""
    done, seen, remote = observe(b, what, name)
    under_control(done)
    took = sorted(t1 - t0 for t0, t1, _ in seen)
    late = [s for s in seen if s[0] > done['t1'] + SLACK]
    missed = [s for s in late if not s[2]]
    # What site 1 sends cannot be there before half a round trip.
    too_early = [s for s in seen if s[2] and s[1] < done['t0'] + RTT / 2 - SLACK]
    bed.expect(not too_early, f'seen before it can have come: {too_early[:3]}, done {done}')
    # A file that lost its name to another is known to be gone where site 1 controlled it, so this one may be seen at once.
    bed.expect(missed or what == 'save', f'never missed, though it takes {RTT / 2} s to come: {late[:3]}')
    news = min((s[1] for s in seen if s[2]), default=None)
    bed.expect(news and news < done['t1'] + SOON, f'not seen within {SOON} s')
    bed.expect(all(s[2] for s in seen if s[0] > news), 'seen, and then not any more')
    if what in ('mkdir', 'list'):
        bed.expect(remote == 0, f'server 2 asked others {remote} times')
    return f'missed by {len(missed)} looks, there after {news - done["t1"]:.2f} s, median look {took[len(took) // 2] * 1000:.1f} ms'


def under_control(done):
    bed.expect(done['t1'] - done['t0'] < RTT / 2, f'site 1 controls the directory, and still its update took {done["t1"] - done["t0"]:.3f} s')


def updates_are_right(b, name):
    """mkdir of what site 1 has just made, from where it is not yet known: the primary decides."""
    refused = both(b, ('do', 'mkdir', DIR, name), ('refuse', DIR, name), RTT / 4)[1]
    bed.expect(refused['error'] == 'EEXIST', f'mkdir at site 2: {refused}')
    took = refused['t1'] - refused['t0']
    bed.expect(took >= RTT - SLACK, f'refused within {took:.3f} s, without site 1')
    return f'EEXIST after {took / RTT:.1f} round trips'


def a_free_name(b, name, setting):
    """O_EXCL at site 2 of a name that site 1 has just taken from a file. The client looks up first: with local it may be refused for as long as the name is old here."""
    done, tries, offset = both(b, ('do', 'away', DIR, name), ('take', DIR, name), RTT / 4)
    under_control(done)
    shift = offset[1] - offset[2]
    began, last = tries[0][0] + shift, tries[-1][0] + shift
    took = tries[-1][1] - tries[-1][0]
    bed.expect(began > done['t1'], f'began at {began}, before the name was free: {done}')
    refused = [error for _, _, error in tries if error]
    bed.expect(set(refused) <= {'EEXIST'}, f'refused with {set(refused)}')
    if setting == 'strict':
        bed.expect(not refused, f'refused {len(refused)} times though the name was free')
    else:
        bed.expect(refused, f'never refused, though it takes {RTT / 2} s to come: {tries}')
    bed.expect(last < done['t1'] + SOON, f'still refused {last - done["t1"]:.2f} s after it was free')
    bed.expect(RTT - SLACK <= took < 5.8 * RTT, f'made in {took / RTT:.1f} round trips')
    return f'refused {len(refused)} times, until {last - done["t1"]:.2f} s after it was free; made in {took / RTT:.1f} round trips'


def one_question(b):
    """A name and whether its directory may be searched are asked for together (FSAL_REPL/ahead.c)."""
    many, turns = f'{DIR}/many', []
    b.sh(1, f'mkdir -p {many}/sub && touch {many}/f1 {many}/f2')
    b.no_controls(20)
    work = b.start_sh(1, f'mkdir {many}/mine; i=0; while [ ! -e {DIR}/looked ]; do i=$((i + 1)); : >{many}/sub/$i; done')
    while len(turns) < 5:
        b.remount('vers=4.2,lookupcache=pos', [2])
        before = b.ask(2, 'stats')['engine']['reads_remote']
        bed.eventually(20, lambda: b.ask(2, 'stats')['core']['controls_foreign'], 'site 1 controls nothing', 0.05)
        took = json.loads(b.must_py(2, 'names_probe.py', 'open', many, 'f1,f2'))
        remote = b.ask(2, 'stats')['engine']['reads_remote'] - before
        turns.append(', '.join(f'{t / RTT:.1f}' for t in took) + f' round trips, {remote} questions to site 1')
        if all(t >= RTT - SLACK for t in took):
            break               # else site 1, which had to wait for a processor, controls only what lies deeper, and site 2 need not ask
    b.sh(1, f'touch {DIR}/looked')
    bed.expect(work.wait(60) == 0 and all(t >= RTT - SLACK for t in took) and min(took) < 1.7 * RTT and remote >= 2 * len(took), '; '.join(turns))
    return turns[-1]


def a_change_by_name(b):
    """Beside what the client asks for itself, a question or two: a question for the name, the update, and what it made or set is known then (FSAL_REPL/gate.c)."""
    busy = f'{DIR}/busy'
    b.sh(1, f'mkdir -p {busy}')
    b.no_controls(20)
    b.remount('vers=4.2,lookupcache=pos', [2])
    work = b.start_py(1, 'names_probe.py', 'work', busy, f'{DIR}/stop')
    bed.eventually(20, lambda: b.ask(2, 'stats')['core']['controls_foreign'], 'site 1 controls nothing', 0.05)
    took = json.loads(b.must_py(2, 'names_probe.py', 'change', busy, 'a,b,c'))
    b.sh(1, f'touch {DIR}/stop')
    make, change, rename, remove = (min(t) / RTT for t in zip(*took))
    text = f'made in {make:.1f} round trips, mode set in {change:.1f}, renamed in {rename:.1f}, removed in {remove:.1f}'
    bed.expect(work.wait(60) == 0 and make < 4.8 and change < 1.8 and rename < 5.8 and remove < 4.8, text)
    return text


def a_block(b):
    """A READ of an open file that site 1 goes on to write: one question each, and not one more for the permission (FSAL_REPL/permission.c)."""
    blocks = 16
    path = f'{DIR}/blocks'
    b.sh(1, f'head -c {blocks}M /dev/urandom >{path}')
    b.no_controls(20)
    b.remount('vers=4.2', [2])
    writes = f'dd if=/dev/zero of={path} bs=1 count=1 conv=notrunc,fsync 2>/dev/null'
    work = b.start_sh(1, f'exec 3>>{path}; while [ ! -e {DIR}/enough ]; do {writes}; sleep 0.1; done')
    bed.eventually(20, lambda: b.ask(2, 'stats')['core']['controls_foreign'], 'site 1 controls nothing', 0.05)
    remote = []
    for count in (1, blocks):
        before = b.ask(2, 'stats')['engine']['reads_remote']
        b.sh(2, f'dd if={path} of=/dev/null bs=1M count={count} iflag=direct 2>/dev/null')
        remote.append(b.ask(2, 'stats')['engine']['reads_remote'] - before)
    b.sh(1, f'touch {DIR}/enough')
    text = f'{remote[0]} questions for an open and one block, {remote[1]} with {blocks}'
    bed.expect(work.wait(60) == 0 and abs(remote[1] - remote[0] - (blocks - 1)) <= 3, text)
    return text


def a_write(b):
    """To a file that site 1 goes on to write: the update only. Whether this client may was known when it opened the file (FSAL_REPL/permission.c), size and times are afterwards
    (FSAL_REPL/verifier.c)."""
    path = f'{DIR}/written'
    b.sh(1, f'head -c 64K /dev/urandom >{path}')
    b.no_controls(20)
    b.remount('vers=4.2', [2])
    work = b.start_sh(1, f'exec 3>>{path}; while [ ! -e {DIR}/written-enough ]; do dd if=/dev/zero of={path} bs=1 count=1 conv=notrunc,fsync 2>/dev/null; done')
    bed.eventually(20, lambda: b.ask(2, 'stats')['core']['controls_foreign'], 'site 1 controls nothing', 0.05)
    took = json.loads(b.must_py(2, 'names_probe.py', 'write', DIR, 'written,written,written'))
    b.sh(1, f'touch {DIR}/written-enough')
    text = ', '.join(f'{t / RTT:.1f}' for t in took) + ' round trips'
    bed.expect(work.wait(60) == 0 and all(t >= RTT - SLACK for t in took) and min(took) < 1.5 * RTT, text)
    return text


def one_setting(b, report):
    setting = b.setting('Directory_Reads', 'strict')
    names = at_once if setting == 'strict' else soon
    b.remount('vers=4.2,actimeo=0,lookupcache=none', [1, 2])
    b.sh(1, f'mkdir {DIR} && printf old >{DIR}/rewritten && printf old >{DIR}/saved && touch {DIR}/renamed')
    b.no_controls(20)
    b.links((1, 2, 'rtt=400ms'))
    try:
        for what, name, judge in (('mkdir', 'new', names), ('list', 'listed', names), ('rewrite', 'rewritten', at_once),
                                  ('save', 'saved', names)):
            report.check(f'{setting}: {what}', judge, b, what, name)
            b.no_controls(20)
        report.check(f'{setting}: an update by name', updates_are_right, b, 'made')
        b.no_controls(20)
        report.check(f'{setting}: a name that is free again', a_free_name, b, 'renamed', setting)
        b.no_controls(20)
        if setting == 'strict':
            report.check('strict: one question for a name', one_question, b)
            b.no_controls(20)
            report.check('strict: a change by name', a_change_by_name, b)
            b.no_controls(20)
            report.check('a block of an open file', a_block, b)
            report.check('a write to a file that another site writes', a_write, b)
    finally:
        b.links((1, 2, 'rtt=40ms'))
        b.remount(sites=[1, 2])
    report.check(f'{setting}: all servers alive', b.servers_alive)


def main():
    report = bed.Report('directory_reads')
    for setting in ['shared'] if os.environ.get('TB_SHARED') else ['strict', 'local']:
        with bed.Bed.get('--rtt', '40ms', '--set', f'Directory_Reads={setting}') as b:
            one_setting(b, report)
    return report.status()


if __name__ == '__main__':
    sys.exit(main())
