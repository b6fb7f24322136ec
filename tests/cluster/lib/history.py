"""Judges what clients at several sites saw: close-to-open of files, single order of directory operations.

	history.py [--local] LOG...     JSON lines as history_worker.py writes them; exit status 1 and the violations

An event is a dict: site, worker, op, t0, t1 (seconds of one clock), result, and
    write  file value trunc         open .. write .. close of a whole file; t0 before open, t1 after close
    read   file value               open .. read; value '' is an empty file, and so are zeros alone: a client that opened it before it was cut
                                    reads as many as it was long then, from any NFS server
    create name id | place name id (over what is there) | unlink name | rename name to | look name id (None: no such name)
    list names
result: 'ok', the name of an errno, or 'unknown' (it may or may not have happened).
Two events are ordered only when one ended more than SLACK before the other began.

What is promised: a file that was opened after a close shows what was closed or something newer, and once all
writers have closed, all sites show the same. A directory operation that has returned is seen by everything
that begins later. Not promised: what is seen of an operation that still runs (and two readers may see it in
any order), so reads that overlap an update of the same thing judge nothing but "never from nowhere".

With Directory_Reads = local what is seen of a name may be LAG old: whatever began less than LAG after the end of an update of the
name judges nothing but "never from nowhere"; that includes updates that were refused because the name is there, or not there: a client
looks it up before. Files, and what updates did, are judged as ever.
"""
import collections
import json
import sys

SLACK = 0.010               # clocks of the guests agree within this; tests measure it
LAG = 5.0
INFINITY = float('inf')
UPDATES = ('create', 'place', 'unlink', 'rename')


def spread(events, slack=SLACK):
    """Copies whose times are widened by half the slack each way."""
    return [dict(e, t0=e['t0'] - slack / 2, t1=INFINITY if e['result'] == 'unknown' else e['t1'] + slack / 2)
            for e in events]


def show(e):
    what = {k: v for k, v in e.items() if k not in ('site', 'worker', 't0', 't1', 'op')}
    return f"{e['t0']:.3f}-{e['t1']:.3f} site {e['site']} {e['op']} {what}"


# ---- files -----------------------------------------------------------------------------------

def check_file(events):
    """Violations of one file."""
    writes = [e for e in events if e['op'] == 'write' and e['result'] in ('ok', 'unknown')]
    reads = [e for e in events if e['op'] == 'read' and e['result'] == 'ok']
    by_value = {w['value']: w for w in writes}
    by_value[None] = {'op': 'write', 'value': None, 't0': -INFINITY, 't1': -INFINITY, 'site': 0, 'result': 'ok'}
    bad = []
    for r in reads:
        if not r['value'].strip('\0') and None in by_value:
            bad += check_empty(r, writes)
        elif r['value'] not in by_value:
            bad.append(f'from nowhere: {show(r)}')
        else:
            bad += check_read(r, by_value[r['value']], writes)
    return bad or check_order(list(by_value.values()), reads)


def check_empty(r, writes):
    """Empty is what a reader may find while a truncating writer has the file open, or before the first write; zeros, only the former."""
    if any(w['trunc'] and w['t0'] < r['t1'] and w['t1'] > r['t0'] for w in writes):
        return []
    if r['value']:
        return [f'from nowhere: {show(r)}']
    closed = [w for w in writes if w['t1'] < r['t0']]
    return [f'empty after a close: {show(r)}\n  closed before: {show(max(closed, key=lambda w: w["t1"]))}'] if closed else []


def check_read(r, source, writes):
    if source['t0'] > r['t1']:
        return [f'from the future: {show(r)}\n  written only by: {show(source)}']
    for w in writes:
        if source['t1'] < w['t0'] and w['t1'] < r['t0']:
            return [f'older than a close before the open: {show(r)}\n  written by: {show(source)}\n  closed since: {show(w)}']
    return []


def check_order(writes, reads):
    """Is there one order of the closed writes that explains all reads of a file nobody was writing that value to?

    Gibbons and Korach: each value's write and later reads make a zone, from the first end to the last beginning. Two zones
    that run forward may not overlap, and none that runs backward may lie inside one that runs forward.
    """
    zones = []
    seen = collections.defaultdict(list)
    for r in reads:
        seen[r['value']].append(r)
    for w in writes:
        later = [r for r in seen[w['value']] if r['t0'] > w['t1']]
        ops = [w] + later
        zones.append((min(o['t1'] for o in ops), max(o['t0'] for o in ops), w, max(ops, key=lambda o: o['t0'])))
    zones.sort(key=lambda z: min(z[0], z[1]))
    bad = []
    for i, (end, begin, w, last) in enumerate(zones):
        if end >= begin:
            continue
        for j, (end2, begin2, w2, last2) in enumerate(zones):
            forward = end2 < begin2
            clash = (i < j and forward and max(end, end2) < min(begin, begin2)) or \
                    (not forward and end < begin2 and end2 < begin and w2['result'] == 'ok')
            if i != j and clash:
                bad.append(f'two versions of a closed file: {show(w)}\n  still read by: {show(last)}\n'
                           f'  but also: {show(w2)}' + (f'\n  read by: {show(last2)}' if last2 is not w2 else ''))
    return bad[:5]


# ---- names -----------------------------------------------------------------------------------

def names_of(e):
    return {e['name'], e['to']} if e['op'] == 'rename' else set(e['names_asked']) if e['op'] == 'list' else {e['name']}


def judged(events, lag):
    """Updates that took place, and what no update of the same names overlapped, even if what it saw is as old as lag."""
    def updates(e):
        return e['op'] in UPDATES and e['result'] in ('ok', 'unknown')
    done, rest = [mark_nothing(e, events) for e in events if updates(e)], [e for e in events if not updates(e)]
    quiet = [e for e in rest if not any(u['t0'] < e['t1'] and e['t0'] - lag < u['t1'] and names_of(u) & names_of(e) for u in done)]
    return sorted(done + quiet, key=lambda e: e['t0'])


def mark_nothing(e, events):
    """A client looks up both names of a rename, and asks nobody when they are one object: so when it looked before and after another's."""
    if e['op'] != 'rename':
        return e
    twins = [o for o in events if o['op'] == 'rename' and o is not e and (o['name'], o['to']) == (e['name'], e['to']) and
             o['result'] in ('ok', 'unknown') and o['t0'] < e['t1'] and e['t0'] < o['t1']]
    return dict(e, nothing=bool(twins))


def check_ids(events):
    """Nobody sees an object that nobody has made yet."""
    made = {e['id']: e['t0'] for e in events if e['op'] in ('create', 'place') and 'id' in e}
    if any(e['op'] in ('create', 'place') and (e['result'] == 'unknown' or isinstance(e.get('id'), str)) for e in events):
        return []
    return [f'from nowhere: {show(e)}' for e in events if e['op'] == 'look' and e['id'] is not None
            and made.get(e['id'], INFINITY) > e['t1']]


def step(state, e):
    """The state after e, or None when e cannot happen in this state. state: {name: id}, absent names missing."""
    op, result, have = e['op'], e['result'], dict(state)
    if op == 'list':
        return state if {n for n in e['names_asked'] if n in have} == set(e['names']) else None
    name = e['name']
    if op == 'look':
        return state if have.get(name) == e['id'] else None
    if result == 'EEXIST':
        return state if name in have else None
    if result == 'ENOENT':
        return state if name not in have else None
    if op == 'create':
        if name in have:
            return None
        have[name] = e['id']
    elif op == 'place':
        have[name] = e['id']
    elif name not in have:
        return state if e.get('nothing') and e['to'] in have else None
    elif op == 'unlink':
        del have[name]
    else:
        have[e['to']] = have.pop(name)
    return frozenset(have.items())


def check_names(events, lag=0, start=frozenset()):
    """Violations of one group of names: is there one order of all completed operations (Wing and Gong)?"""
    if bad := check_ids(events):
        return bad
    ops = judged(events, lag)
    n = len(ops)
    # A configuration: how many of the first operations are all done, which beyond them, and the names then.
    stack, visited, deepest = [(0, frozenset(), start)], set(), (0, None)
    while stack:
        done, extra, state = stack.pop()
        if done == n:
            return []
        if done + len(extra) > deepest[0] or deepest[1] is None:
            deepest = (done + len(extra), (done, extra, state))
        for conf in successors(ops, done, extra, state):
            if conf not in visited:
                visited.add(conf)
                stack.append(conf)
        if len(visited) > 400000:
            return [f'the checker gave up after {len(visited)} configurations near {show(ops[done])}']
    return [explain(ops, *deepest[1])]


def successors(ops, done, extra, state):
    """Every operation that may be the next: none that is left ended before it began."""
    left_end = INFINITY
    for i in range(done, len(ops)):
        if i in extra:
            continue
        e = ops[i]
        if e['t0'] > left_end:
            break
        left_end = min(left_end, e['t1'])
        after = step(state, e)
        choices = [after] if after is not None else []
        if e['result'] == 'unknown':
            choices.append(state)       # it never happened
        for s in choices:
            more, to = set(extra) | {i}, done
            while to in more:
                more.remove(to)
                to += 1
            yield to, frozenset(more), s


def explain(ops, done, extra, state):
    left = [e for i, e in enumerate(ops[done:done + 8], done) if i not in extra]
    before = [e for i, e in enumerate(ops[max(0, done - 6):done])]
    return ('no order of completed operations explains this; names then: ' + str(dict(state)) + '\n  done:\n' +
            '\n'.join('    ' + show(e) for e in before) + '\n  none of these can be next:\n' +
            '\n'.join('    ' + show(e) for e in left))


# ---- all -------------------------------------------------------------------------------------

def counts(events):
    """{'op' where it was done, or 'op result': how many}"""
    return collections.Counter(f"{e['op']}{'' if e['result'] == 'ok' else ' ' + e['result']}" for e in events)


def check(events, slack=SLACK, lag=0):
    """(violations, {op: count}). lag: LAG where directories are read locally."""
    events = spread(events, slack)
    files, groups = collections.defaultdict(list), collections.defaultdict(list)
    for e in events:
        if e['op'] in ('read', 'write'):
            files[e['file']].append(e)
        else:
            groups[e['group']].append(e)
    bad = []
    for file in sorted(files):
        bad += check_file(files[file])
    for group in sorted(groups):
        bad += check_names(groups[group], lag)
    return bad, counts(events)


def load(paths):
    events = []
    for path in paths:
        with open(path) as f:
            events += [json.loads(line) for line in f]
    return events


def main(paths):
    lag = LAG if paths[0] == '--local' else 0
    bad, counts = check(load(paths[bool(lag):]), lag=lag)
    print('\n'.join(bad) if bad else f'no violation in {sum(counts.values())} operations')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
