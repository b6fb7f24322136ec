"""Pictures of a summary. What was not measured is left out; returns the names of what was drawn."""
import os
import statistics

import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt     # noqa: E402  (after the choice of the back end)

import ngb_results

COLOURS = ['#4c72b0', '#55a868', '#dd8452', '#c44e52', '#8172b3', '#937860']


def select(results, part, unit):
    """{what: {rtt_ms: value}} in the order of measurement."""
    out = {}
    for r in results:
        if r[0] == part and r[4] == unit and r[2] is not None and r[3] is not None:
            out.setdefault(r[1], {})[r[2]] = r[3]
    return out


def bars(axes, data, goal, goal_text, label):
    """Groups of bars: one group per workload, one colour per RTT."""
    rtts = sorted({rtt for v in data.values() for rtt in v})
    width = 0.8 / len(rtts)
    for k, rtt in enumerate(rtts):
        at = [i + (k - (len(rtts) - 1) / 2) * width for i, v in enumerate(data.values()) if rtt in v]
        values = [v[rtt] for v in data.values() if rtt in v]
        drawn = axes.bar(at, values, width, label=f'RTT {rtt:g} ms', color=COLOURS[k % len(COLOURS)])
        axes.bar_label(drawn, fmt='%.2f', fontsize=6, rotation=90, padding=2)
    axes.axhline(1, color='black', linewidth=0.8)
    axes.axhline(goal, color='black', linewidth=0.8, linestyle=':', label=goal_text)
    axes.set_xticks(range(len(data)))
    axes.set_xticklabels(data, fontsize=8, rotation=20)
    axes.set_ylabel(label)
    largest = max(x for v in data.values() for x in v.values())
    if largest > 5:
        axes.set_yscale('log')
    axes.margins(y=0.15)
    axes.legend(fontsize=7)


def save(figure, directory, name):
    figure.tight_layout()
    figure.savefig(os.path.join(directory, name), dpi=110)
    plt.close(figure)
    return name


def ratios(results, directory):
    old = {w.replace(' of ', '\nof ').replace(' in place', '\nin place'): v
           for w, v in select(results, 'oldfiles', 'x stock (time)').items()}
    data = {**select(results, 'trees', 'x stock (time)'), **old}
    if not data:
        return []
    figure, axes = plt.subplots(figsize=(max(6, 1.3 * len(data)), 4))
    bars(axes, data, 1.1, 'goal for trees: 1.1', 'time / time on stock Ganesha')
    axes.set_title('Bursts of metadata: replicated at three sites, against stock at the same site', fontsize=10)
    return [save(figure, directory, 'ratios.png')]


def ops(results, directory):
    data = select(results, 'ops', 'x stock (rate)')
    if not data:
        return []
    figure, axes = plt.subplots(figsize=(max(6, 1.2 * len(data)), 4))
    bars(axes, data, 0.9, 'goal: 0.9', 'operations/s / stock Ganesha\'s')
    axes.set_title('Operations per second in a burst, against stock', fontsize=10)
    return [save(figure, directory, 'ops.png')]


def alternate(trials, directory):
    """trials: rows of results.csv."""
    curves = {}
    for part, what, _, rtt, _, value, _ in trials:
        if part == 'alternate':
            turns, policy, kind = what.split(', ')
            curves.setdefault((kind, policy, rtt), {}).setdefault(float(turns.split()[2]), []).append(value)
    if not curves:
        return []
    figure, both = plt.subplots(1, 2, figsize=(10, 4))
    for axes, kind, label in ((both[0], 'operations', 'operations/s of both sites'), (both[1], 'slower share', 'slower site\'s share, %')):
        for k, ((_, policy, rtt), points) in enumerate(sorted((c for c in curves.items() if c[0][0] == kind), key=lambda c: c[0])):
            x = sorted(points)
            y = [statistics.median(points[i]) for i in x]
            errors = [[a - min(points[i]) for i, a in zip(x, y)], [max(points[i]) - a for i, a in zip(x, y)]]
            axes.errorbar(x, y, errors, marker='o', capsize=3, label=f'{policy}, RTT {rtt:g} ms', color=COLOURS[k % len(COLOURS)])
        axes.set_xscale('log')
        axes.set_ylim(bottom=0)
        axes.set_xlabel('each site\'s turn, s')
        axes.set_ylabel(label)
        axes.legend(fontsize=8)
    figure.suptitle('Two sites take turns in one directory', fontsize=10)
    return [save(figure, directory, 'alternate.png')]


def grant(rows, directory):
    """rows: of report.read_grants()."""
    depths, counts = sorted({r[1] for r in rows}), sorted({r[2] for r in rows})
    middle = depths[len(depths) // 3]
    figure, both = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    marks = 'osv^D*'
    for k, what in enumerate(dict.fromkeys(r[0] for r in rows)):
        style = {'marker': marks[k % len(marks)], 'markersize': 4, 'color': plt.cm.tab20(k % 20), 'label': what.replace('_', ' ')}
        both[0].plot(*zip(*sorted((r[2], r[3]) for r in rows if r[0] == what and r[1] == middle)), **style)
        both[1].plot(*zip(*sorted((r[1], r[3]) for r in rows if r[0] == what and r[2] == counts[-1])), **style)
    both[0].set_xscale('log')
    both[0].set_yscale('log')
    both[0].set_xlabel(f'controls in the table (depth {middle})')
    both[1].set_xlabel(f'depth of the object ({counts[-1]} controls)')
    both[0].set_ylabel('microseconds in the core')
    both[1].legend(fontsize=7, loc='center left', bbox_to_anchor=(1, 0.5))
    figure.suptitle('What control costs one server', fontsize=10)
    return [save(figure, directory, 'grant.png')]


def draw(res, grant_rows, directory):
    names = ratios(res.results, directory) + ops(res.results, directory) + alternate(res.trials, directory)
    return names + (grant(grant_rows, directory) if grant_rows else [])


def ngb_panel(axes, rows, titles):
    """rows: of ngb.Summary.rows(), of one graph and class."""
    for k, (system, title) in enumerate(titles.items()):
        points = sorted((r[3], r[5], r[5] - r[7], r[8] - r[5]) for r in rows if r[0] == system)
        if points:
            x, y, below, above = zip(*points)
            axes.errorbar(x, y, [below, above], marker='o', markersize=4, linestyle='--' if system == ngb_results.FLOOR else '-', capsize=3, label=title,
                          color=COLOURS[k % len(COLOURS)])
    axes.set_title(f'{rows[0][1]}, class {rows[0][2]}', fontsize=10)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)


def ngb(rows, titles, directory):
    """Turnaround over round trip time, a panel for each graph (columns) and class (rows), with the least and the largest of the trials."""
    names, classes = sorted({r[1] for r in rows}), [c for c in 'SWA' if c in {r[2] for r in rows}]
    if not rows:
        return []
    figure, panels = plt.subplots(len(classes), len(names), figsize=(1 + 3.2 * len(names), 0.6 + 2.9 * len(classes)), squeeze=False)
    for i, cls in enumerate(classes):
        for j, name in enumerate(names):
            mine = [r for r in rows if r[1] == name and r[2] == cls]
            if mine:
                ngb_panel(panels[i][j], mine, titles)
        panels[i][0].set_ylabel('turnaround time, s')
    for axes in panels[-1]:
        axes.set_xlabel('RTT between sites, ms')
    panels[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(os.path.join(directory, 'ngb.svg'))
    return ['ngb.svg', save(figure, directory, 'ngb.png')]
