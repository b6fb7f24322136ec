"""Judges who had which lock when: exclusion, what was read under a lock, refusals, the order of those who waited.

	lock_history.py LOG...     JSON lines as lock_torture.py writes them; exit status 1 and the violations

An event is a request for one lock of one owner, a dict. Times are seconds of one clock.
    site, owner         two owners never share a name
    file, type          'r' or 'w'
    start, end          bytes; end is the first one behind it, None: to the end of all files
    wait                the request waits for its turn
    asked               before the call that asks
    granted             after it returned; None: it was never granted
    leaving             before the call that unlocks; of a lock that was lost: after the last thing that was done under it
    left                after it returned, or when the owner died, or heard that it has lost its lock
    result              'ok'; 'busy': refused because of another; 'lost': the program heard EIO; 'died': its owner was killed; else the name of an errno
    cell read wrote     what was read and written under the lock, at a place that is called @cell. Everything that is written there is unique; null: nothing was.
    unsure              what was written may be there or not: the call that wrote it did not succeed

Two events are ordered only when one ended more than SLACK before the other began.

What is promised:
    * two locks that conflict are never had at a time: their [granted, leaving] do not overlap
    * what is read under a lock is what was written under the last one before it
    * nobody is refused for a lock that nobody has or may have had
    * a lock that is free is given to who waits for it, within IDLE
    * of two who wait for the same bytes, the first one that asked is the first one that has it (only if asked for: a client of NFSv4.0 polls)
"""
import collections
import json
import sys

SLACK = 0.010               # clocks of the guests agree within this; tests measure it
IDLE = 5.0
RESERVED = 6.0              # a lock stays set apart for a waiter that does not fetch it
INFINITY = float('inf')
RESULTS = ('ok', 'busy', 'lost', 'died')


def show(e):
    end = 'end' if e.get('end') is None else e['end']
    times = ' '.join(f'{k} {e[k]:.3f}' for k in ('asked', 'granted', 'leaving', 'left') if e.get(k) is not None)
    rest = ''.join(f', {k} {e[k]!r}' for k in ('read', 'wrote') if k in e)
    return f"site {e['site']} {e['owner']} {e['type']} {e['file']} {e['start']}-{end}: {times}, {e['result']}{rest}"


def last(e):
    return INFINITY if e.get('end') is None else e['end']


def conflict(a, b):
    return a['owner'] != b['owner'] and 'w' in (a['type'], b['type']) and a['start'] < last(b) and b['start'] < last(a)


def had(events):
    return sorted((e for e in events if e.get('granted') is not None), key=lambda e: e['granted'])


# ---- each by itself ------------------------------------------------------------------------------

def malformed(e):
    if e['result'] not in RESULTS:
        return f'an error: {show(e)}'
    times = [e[k] for k in ('asked', 'granted', 'leaving', 'left') if e.get(k) is not None]
    if times != sorted(times):
        return f'times run backward: {show(e)}'
    granted = e.get('granted') is not None
    if e['result'] in ('ok', 'lost') and not granted or e['result'] == 'busy' and granted or granted and e.get('leaving') is None or e.get('left') is None:
        return f'incomplete: {show(e)}'
    return None


# ---- two at a time -------------------------------------------------------------------------------

def check_exclusion(events, slack):
    """Had by two at a time. A sweep over the times at which locks were granted."""
    bad, active = [], []
    for e in had(events):
        active = [a for a in active if a['leaving'] > e['granted'] + slack]
        for a in active:
            if conflict(a, e) and min(a['leaving'], e['leaving']) > e['granted'] + slack:
                bad.append(f'had by two at a time: {show(a)}\n  and: {show(e)}')
        active.append(e)
    return bad


# ---- what was read under a lock ------------------------------------------------------------------

def check_cell(events, slack, first, final):
    """Violations of one place. first: what was there before all; final: what is there after all, if that is known."""
    writes = {e['wrote']: e for e in events if e.get('wrote') is not None}
    bad, successors = [], collections.defaultdict(list)
    if len(writes) < sum(e.get('wrote') is not None for e in events):
        return [f'one text was written twice, so nothing can be judged: {show(events[0])}']
    readers = [e for e in events if 'read' in e]
    if final is not None:
        readers.append({'site': 0, 'owner': 'the end', 'type': 'r', 'file': events[0]['file'], 'start': 0, 'asked': INFINITY, 'granted': INFINITY,
                        'leaving': INFINITY, 'left': INFINITY, 'result': 'ok', 'read': final})
    for e in readers:
        source = writes.get(e['read'])
        if source is None and e['read'] != first:
            bad.append(f'from nowhere: {show(e)}')
            continue
        if source is not None and source['granted'] > e['leaving'] + slack:
            bad.append(f'from the future: {show(e)}\n  written by: {show(source)}')
        bad += check_newer(e, source, writes.values(), slack)
        if e.get('wrote') is not None and not e.get('unsure'):
            successors[e['read']].append(e)
    for several in successors.values():
        if len(several) > 1:
            bad.append('a lost update, both have read the same: ' + '\n  and: '.join(show(e) for e in several))
    return bad


def check_newer(e, source, writes, slack):
    """Was there a write between the one that e has read, and e?"""
    since = -INFINITY if source is None else source['leaving']
    for w in writes:
        if w is not source and w is not e and not w.get('unsure') and w['granted'] > since + slack and w['leaving'] + slack < e['granted']:
            return [f'older than what was written under the last lock: {show(e)}\n  written since: {show(w)}']
    return []


def check_cells(events, slack, first, final):
    cells = collections.defaultdict(list)
    for e in events:
        if 'cell' in e and e.get('granted') is not None:
            cells[e['file'], e['cell']].append(e)
    bad = []
    for (file, cell), of_cell in sorted(cells.items()):
        bad += check_cell(of_cell, slack, first, (final or {}).get((file, cell)))
    return bad


# ---- refusals, and locks that nobody has ---------------------------------------------------------

def until(e, late, lease):
    """When e is out of the way of others at the latest."""
    if e['result'] in ('lost', 'died') and e.get('granted') is not None:
        return e['left'] + lease
    if e['result'] == 'died':
        return e['left'] + (RESERVED if e['wait'] else 0) + late
    return e['left'] + late


def check_refusals(events, slack, late, lease):
    """busy, and nobody had the lock or waited for it."""
    bad, others = [], [e for e in events if e['result'] != 'busy']
    for b in events:
        if b['result'] != 'busy':
            continue
        if not any(conflict(b, e) and e['asked'] < b['left'] + slack and until(e, late, lease) + slack > b['asked'] for e in others):
            bad.append(f'refused, and nobody had it: {show(b)}')
    return bad


def check_idle(events, slack, idle, late, lease):
    """Somebody waited, and nobody had what he waited for, for longer than idle."""
    bad, owned = [], had(events)
    for w in events:
        if not w['wait'] or w['result'] == 'busy' or w.get('granted') is None and w['result'] != 'died':
            continue
        end = w['granted'] if w.get('granted') is not None else w['left']
        if end - w['asked'] <= idle:
            continue
        free = w['asked']
        spans = [(e['granted'], until(e, late, lease)) for e in owned if e is not w and conflict(w, e)]
        spans += [(e['left'], until(e, late, lease)) for e in events if e['result'] == 'died' and e.get('granted') is None and e is not w and conflict(w, e)]
        for begin, gone in sorted(spans) + [(end, end)]:
            if min(begin, end) - free > idle + slack:
                bad.append(f'free for {min(begin, end) - free:.1f} s, and not given: {show(w)}')
                break
            free = max(free, gone)
    return bad


def check_order(events, slack, fair):
    """Overtaken: who asked more than fair later had the same bytes before."""
    bad, waiting = [], had(e for e in events if e['wait'])
    for i, first in enumerate(waiting):
        for late in waiting[i + 1:]:
            if late['asked'] + fair + slack < first['asked'] and late['granted'] > first['granted'] + slack and conflict(first, late) and \
                    (late['start'], last(late)) == (first['start'], last(first)):
                bad.append(f'overtaken: {show(late)}\n  by: {show(first)}')
    return bad


# ---- all -----------------------------------------------------------------------------------------

def counts(events):
    return collections.Counter(f"{e['type']} {e['result']}" for e in events)


def of_the_dead(events, dead, final=None):
    """What is read and nobody has said that he wrote it, if its text names an owner in @dead: an event for each, just before it was read first. The text is 'N OWNER.M'."""
    said = {(e['file'], e.get('cell'), e['wrote']) for e in events if e.get('wrote') is not None}
    read = [(e['granted'], e['file'], e['cell'], e['read'], e) for e in had(events) if 'read' in e]
    read += [(INFINITY, file, cell, text, {'site': 0}) for (file, cell), text in (final or {}).items()]
    more = {}
    for t, file, cell, text, e in read:
        owner = text.split()[-1].rpartition('.')[0] if text.split() else ''
        if (file, cell, text) not in said and owner in dead and (file, cell, text) not in more:
            t = min(t, max((x['granted'] for x in events if x.get('granted') is not None), default=0) + 1)
            more[file, cell, text] = {'site': e['site'], 'owner': owner, 'file': file, 'type': 'w', 'start': cell, 'end': cell, 'wait': True, 'asked': t, 'granted': t, 'leaving': t,
                                      'left': t, 'result': 'died', 'cell': cell, 'wrote': text, 'unsure': True}
    return events + list(more.values())


def check(events, slack=SLACK, idle=IDLE, fair=None, late=0.0, lease=60.0, first='', final=None, refusals=True):
    """
    (violations, {type and result: count}).

    idle: None: a free lock may stay free. fair: seconds by which an earlier request comes first; None: order is not judged. late: how long after an unlock has returned others may
    still be refused: it is sent to another site behind. lease: how long the lock of who died or lost it may be in the way. first: what was at each
    cell before all; final: {(file, cell): what is there in the end}. refusals: False: they are not judged, because not all that was had is known
    """
    bad = [m for e in events if (m := malformed(e))]
    if bad:
        return bad, counts(events)
    files = collections.defaultdict(list)
    for e in events:
        files[e['file']].append(e)
    for _, of_file in sorted(files.items()):
        bad += check_exclusion(of_file, slack)
        bad += check_refusals(of_file, slack, late, lease) if refusals else []
        bad += check_idle(of_file, slack, idle, late, lease) if idle is not None else []
        bad += check_order(of_file, slack, fair) if fair is not None else []
    return bad + check_cells(events, slack, first, final), counts(events)


def main(paths):
    events = []
    for path in paths:
        with open(path) as f:
            events += [json.loads(line) for line in f]
    bad, n = check(events)
    print('\n'.join(bad) if bad else f'no violation in {sum(n.values())} requests')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
