#!/usr/bin/python3
"""The benchmark's arithmetic: medians, goals, CSV, and the trees that it makes for the clients."""
import csv
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import against
import ngb
import ngb_results
import ngb_systems
import plots
import project
import report
import wan_jobs
import work_ops


def results(repl, stock, unit='s', what='w'):
    r = report.Results(say=lambda _: None)
    for system, values in (('repl', repl), ('stock', stock)):
        for v in values:
            r.trial('p', what, system, 20, v, unit)
    return r


class Against(unittest.TestCase):
    def rows(self, before, after, unit, stock_after=(9, 9, 9), beds=1):
        with tempfile.TemporaryDirectory() as d:
            for bed in range(beds):
                for name, values, stock in (('old', before, (9, 9, 9)), ('new', after, stock_after)):
                    r = results(values[bed::beds], stock[bed::beds], unit)
                    r.trial('p', 'elections', 'repl', 20, 1, '')
                    os.makedirs(f'{d}/{bed}/{name}')
                    r.write(f'{d}/{bed}/{name}')
            files = {n: [f'{d}/{bed}/{n}/results.csv' for bed in range(beds)] for n in against.NAMES}
            return against.compare(*(against.trials(files[n], s) for s in ('repl', 'stock') for n in against.NAMES))

    def test_longer_is_worse(self):
        self.assertEqual(self.rows([1, 2, 4], [2, 2, 6], 's'), [('p', 'w', '20', 's', 2, 2, 1, 1.5, 1.5)])

    def test_a_lower_rate_is_worse(self):
        self.assertEqual(self.rows([4, 4, 4], [2, 4, 1], 'MiB/s'), [('p', 'w', '20', 'MiB/s', 4, 2, 2, 2, 2)])

    def test_trials_of_several_pairs_of_beds_are_one_sample(self):
        self.assertEqual(self.rows([1, 2, 4], [2, 2, 6], 's', beds=3), self.rows([1, 2, 4], [2, 2, 6], 's'))

    def test_what_slows_stock_down_as_well_is_not_the_trees(self):
        self.assertEqual(self.rows([1, 2, 4], [2, 4, 8], 's', (18, 18, 18))[0][-2:], (2, 1))

    def test_the_table_says_by_how_much(self):
        line = against.table(self.rows([2, 2], [3, 3], 's'))[1]
        self.assertEqual(line.split(), ['p:', 'w', '20', '2.000', '3.000', 's', '50.0%', '50.0%', '50.0%'])

    def test_what_stock_does_not_do_has_no_number_beside_it(self):
        one = {('p', 'w', '20'): ('s', [1.0])}
        self.assertEqual(against.compare(one, one, {}, {}), [('p', 'w', '20', 's', 1, 1, 1, 1, None)])
        self.assertEqual(against.table(against.compare(one, one, {}, {}))[1].split()[-2:], ['0.0%', '0.0%'])

    def test_what_only_one_has_is_left_out(self):
        self.assertEqual(against.compare({('p', 'w', '20'): ('s', [1.0])}, {}, {}, {}), [])


class Wan(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(report.numbers('0,0.1,64'), [0, 0.1, 64])
        self.assertRaises(ValueError, report.numbers, '-1')

    def test_cells(self):
        self.assertEqual(wan_jobs.cell(None), '-')
        self.assertEqual(wan_jobs.cell([1.5]), '1.50')
        self.assertEqual(wan_jobs.cell([10.0, 14.0]), '12.0 ± 2.8')

    def test_table_has_the_systems_that_were_measured(self):
        lines = wan_jobs.table({('64 MB: rate', 'Mbit/s', 'RTT 20 ms'): {'rsync': [100.0], 'nfs4r': [300.0, 400.0]}})
        self.assertEqual(lines[0], '| job | conditions | unit | nfs4r | rsync |')
        self.assertEqual(lines[2], '| 64 MB: rate | RTT 20 ms | Mbit/s | 350 ± 71 | 100 |')

    def test_time_per_file(self):
        out = wan_jobs.Wan.per_file(10, {'start': 5.0, 'end': 6.0}, 7.0, {'end': 6.5})
        self.assertEqual(out['made'], (100.0, 'ms/file'))
        self.assertEqual(out['visible at all sites'], (200.0, 'ms/file'))
        self.assertEqual(out['last close to all read at site 3'], (0.5, 's'))


class Judging(unittest.TestCase):
    def test_goals_hold_at_their_limit(self):
        self.assertTrue(report.holds(1.1, '<=', 1.1))
        self.assertFalse(report.holds(1.11, '<=', 1.1))
        self.assertTrue(report.holds(0.9, '>=', 0.9))
        self.assertFalse(report.holds(0.89, '>=', 0.9))
        self.assertRaises(ValueError, report.holds, 1, '<', 2)

    def test_ratio_is_of_the_medians(self):
        r = results([3.0, 1.0, 2.0, 100.0, 1.5], [1.0, 1.0, 50.0])
        r.time_ratio('p', 'w', 20, 1.9)
        self.assertEqual(r.results[0][3], 2.0)
        self.assertEqual(r.results[0][6], 'MISS')
        r.time_ratio('p', 'w', 20, 2.0)
        self.assertEqual(r.results[1][6], 'pass')

    def test_round_trips_are_added_to_what_stock_takes(self):
        r = results([2.2], [1.0])
        r.time_ratio('p', 'w', 20, 1.2, extra_s=0.9)
        r.time_ratio('p', 'w', 20, 1.2, extra_s=1.01)
        self.assertEqual([x[6] for x in r.results], ['MISS', 'pass'])

    def test_rates_the_other_way_round(self):
        r = results([80.0], [100.0], '/s')
        r.rate_ratio('p', 'w', 20, 0.9)
        r.rate_ratio('p', 'w', 20, 0.8)
        self.assertEqual([x[6] for x in r.results], ['MISS', 'pass'])

    def test_without_a_goal_no_verdict(self):
        r = results([1.0], [1.0])
        r.judge('p', 'w', 20, 5, 'x')
        self.assertEqual(r.results[0][5:7], ('', ''))

    def test_a_failure_is_told_and_remembered(self):
        r = results([], [])
        r.failed('p', None, 'line\nline')
        self.assertEqual(r.failures, ['p'])
        self.assertIn('line line', r.table()[-1])

    def test_the_table_goes_part_by_part(self):
        r = results([1.0], [1.0])
        for part, rtt in (('q', 20), ('p', 20), ('q', 120), ('p', 120)):
            r.judge(part, 'x', rtt, 1.0, 's')
        self.assertEqual([line.split()[:3] for line in r.table()[1:]],
                         [['q:', 'x', '20'], ['q:', 'x', '120'], ['p:', 'x', '20'], ['p:', 'x', '120']])

    def test_trials_are_counted_by_rtt(self):
        r = results([1.0, 2.0], [])
        r.trial('p', 'w', 'repl', 40, 9.0)
        self.assertEqual([t[4] for t in r.trials], [1, 2, 1])
        self.assertEqual(r.values('p', 'w', 'repl', 20), [1.0, 2.0])


class Writing(unittest.TestCase):
    def test_csv_comes_back(self):
        r = results([1.25], [2.5], what='a, "b"')
        r.time_ratio('p', 'a, "b"', 20, 1.1)
        with tempfile.TemporaryDirectory() as d:
            r.write(d)
            with open(f'{d}/results.csv', newline='') as f:
                rows = list(csv.DictReader(f))
            self.assertEqual([(x['what'], x['system'], float(x['value'])) for x in rows],
                             [('a, "b"', 'repl', 1.25), ('a, "b"', 'stock', 2.5)])
            with open(f'{d}/summary.csv', newline='') as f:
                summary = list(csv.DictReader(f))
            self.assertEqual((summary[0]['verdict'], float(summary[0]['value'])), ('pass', 0.5))

    def test_grants(self):
        with tempfile.NamedTemporaryFile('w') as f:
            self.assertRaises(ValueError, report.read_grants, f.name)
            f.write('grant_deep_depth5,10,1.158\n')
            f.flush()
            self.assertEqual(report.read_grants(f.name), [('grant_deep', 5, 10, 1.158)])
            f.write('grant_deep,10,1.158\n')
            f.flush()
            self.assertRaises(ValueError, report.read_grants, f.name)

    def test_spread(self):
        self.assertEqual(report.spread([3.0, 1.0, 2.0]), '2.00 (1.00-3.00)')
        self.assertEqual(report.spread([]), '-')
        self.assertEqual([report.short(v) for v in (7, 1234.5, 12.345, 0.012345, float('inf'))], ['7', '1234', '12.3', '0.0123', 'inf'])

    def test_rtts(self):
        self.assertEqual(report.rtt_list('0.2,120'), [0.2, 120.0])
        for bad in ('', '0', '20,x', '-1'):
            self.assertRaises(ValueError, report.rtt_list, bad)


class Pictures(unittest.TestCase):
    def test_what_was_measured_is_drawn(self):
        r = report.Results(say=lambda _: None)
        for rtt, slow in ((0.2, 1.0), (120, 30.0)):
            for part, what, judge in (('trees', 'unpack', r.time_ratio), ('oldfiles', 'touch of 2 old files', r.time_ratio),
                                      ('ops', 'creates, 1 thread', r.rate_ratio)):
                r.trial(part, what, 'repl', rtt, slow)
                r.trial(part, what, 'stock', rtt, 1.0)
                judge(part, what, rtt, 1.1)
            for policy in ('deep', 'shallow'):
                for turn in (0.01, 10):
                    for kind in ('operations', 'slower share'):
                        r.trial('alternate', f'turns of {turn:g} s, {policy}, {kind}', 'repl', rtt, 20.0)
        grant = [('elect', depth, n, n / 10) for depth in (5, 10) for n in (10, 100)]
        with tempfile.TemporaryDirectory() as d:
            names = plots.draw(r, grant, d)
            self.assertEqual(names, ['ratios.png', 'ops.png', 'alternate.png', 'grant.png'])
            self.assertEqual(sorted(names), sorted(os.listdir(d)))
            self.assertEqual(plots.draw(report.Results(), [], d), [])


class Trees(unittest.TestCase):
    def ask(self, d, *words):
        return subprocess.run(['git', '-C', f'{d}/git', *words], check=True, capture_output=True, text=True, env=project.environment()).stdout

    def test_repository_has_300_differences(self):
        with tempfile.TemporaryDirectory() as d:
            project.repository(f'{d}/git')
            out = self.ask(d, 'diff', '--no-renames', '--name-only', 'v1', 'v2')
            self.assertEqual(len(out.splitlines()), 18 * (8 + 2 + 2 + 1) + 2 * 20 * 2)
            self.assertEqual(self.ask(d, 'symbolic-ref', '--short', 'HEAD').strip(), 'v1')

    def test_nothing_is_done_to_the_repository_of_a_hook(self):
        with tempfile.TemporaryDirectory() as d, unittest.mock.patch.dict(os.environ, {'GIT_DIR': f'{d}/hook', 'GIT_WORK_TREE': d}):
            project.repository(f'{d}/git')
            self.assertEqual(self.ask(d, 'symbolic-ref', '--short', 'HEAD').strip(), 'v1')
            self.assertEqual(os.listdir(d), ['git'])

    def test_the_project_builds(self):
        with tempfile.TemporaryDirectory() as d:
            project.sources(f'{d}/src', 2)
            subprocess.run(['make', '-s', '-C', f'{d}/src', f'OUT={d}/o', 'CC=cc'], check=True)
            self.assertEqual(len([n for n in os.listdir(f'{d}/o') if n.endswith('.o')]), 3)     # and main.o


class Work(unittest.TestCase):
    def test_rates_leave_what_they_should(self):
        with tempfile.TemporaryDirectory() as d:
            rates = work_ops.rates(f'{d}/r', 2, 5)
            self.assertEqual(set(rates), {'creates', 'mkdirs', 'renames', 'unlinks'})
            self.assertTrue(all(v > 0 for v in rates.values()))
            self.assertEqual(len(os.listdir(f'{d}/r/0')), 5 + work_ops.WARM)     # the directories

    def test_an_error_in_a_thread_is_an_error(self):
        self.assertRaises(FileNotFoundError, work_ops.phase, 2, 3, lambda t, i: os.stat('/nonexistent'))

    def test_old_files_are_made_once(self):
        with tempfile.TemporaryDirectory() as d:
            work_ops.fill(f'{d}/f', 150)
            before = os.stat(f'{d}/f/d1/f149').st_mtime_ns
            work_ops.fill(f'{d}/f', 150)
            self.assertEqual(os.stat(f'{d}/f/d1/f149').st_mtime_ns, before)
            work_ops.rewrite(f'{d}/f')
            self.assertEqual(os.stat(f'{d}/f/d1/f149').st_size, 1024)

    def test_turns_are_taken_in_turn(self):
        import threading
        import time
        with tempfile.TemporaryDirectory() as d:
            start, out = time.time() + 0.05, {}

            def run(t):
                out[t] = work_ops.turns(d, start, 0.4, 0.1, t)
            threads = [threading.Thread(target=run, args=(t,)) for t in (0, 1)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            for turn in (0, 1):
                # Each ended in its own interval, or was begun there and ended soon after.
                self.assertTrue(out[turn]['done'])
                late = [t for t in out[turn]['done'] if int(t / 0.1) % 2 != turn]
                self.assertLessEqual(len(late), 2)
            self.assertEqual(os.listdir(d), [])


class GridBenchmarks(unittest.TestCase):
    def summary(self):
        s = ngb_results.Summary()
        for seconds in (4.0, 6.0, 5.0):
            s.add('repl', 'HC', 'S', 20, seconds)
        s.add('repl', 'HC', 'S', 120, 9.0)
        s.add('local', 'HC', 'S', 20, 3.0)
        s.add('remote', 'VP', 'W', 20, 7.0)
        return s

    def test_mean_and_spread(self):
        rows = {tuple(r[:4]): r[4:] for r in self.summary().rows()}
        self.assertEqual(rows['repl', 'HC', 'S', 20], [3, 5.0, 1.0, 4.0, 6.0])
        self.assertEqual(rows['repl', 'HC', 'S', 120], [1, 9.0, None, 9.0, 9.0])
        table = self.summary().table()
        self.assertIn('5.00          4.00 to 6.00', '\n'.join(table))
        self.assertIn('one trial', table[-1])

    def test_files_and_pictures(self):
        with tempfile.TemporaryDirectory() as d:
            s = self.summary()
            s.write(d)
            with open(f'{d}/summary.csv') as f:
                self.assertEqual(len(list(csv.DictReader(f))), 4)
            self.assertTrue(os.path.exists(f'{d}/goals.csv'))
            drawn = plots.ngb(s.rows(), {c.name: c.title for c in ngb.SYSTEMS}, d)
            self.assertEqual(sorted(drawn), ['ngb.png', 'ngb.svg'])
            for name in drawn:
                self.assertGreater(os.path.getsize(f'{d}/{name}'), 5000)
            with open(f'{d}/ngb.svg') as f:
                text = f.read()
            for title in ('HC, class S', 'VP, class W'):
                self.assertIn(title, text)
            self.assertEqual(plots.ngb([], {}, d), [])

    def runs(self, directory, lines):
        with open(f'{directory}/runs.csv', 'w') as f:
            f.write('when,label,graph,class,trial,sites,turnaround_s\n' + ''.join(f't,{l}\n' for l in lines))

    def test_figure_6_of_a_file_with_all_systems(self):
        with tempfile.TemporaryDirectory() as d:
            self.runs(d, [f'{c.name} rtt={rtt:g},{g},{cls},1,x,{10 + k}' for k, c in enumerate(ngb.SYSTEMS) for rtt in (20, 120)
                          for g in ngb.graphs.GRAPHS for cls in 'SWA'])
            s = ngb_results.Summary()
            s.take(ngb_results.finished(d))
            self.assertEqual(len(s.rows()), 6 * 2 * 4 * 3)
            self.assertEqual(plots.ngb(s.rows(), {c.name: c.title for c in ngb.SYSTEMS}, d), ['ngb.svg', 'ngb.png'])
            with open(f'{d}/ngb.svg') as f:
                text = f.read()
            self.assertEqual([g for g in ngb.graphs.GRAPHS for cls in 'SWA' if f'{g}, class {cls}' not in text], [])
            self.assertEqual([c.title for c in ngb.SYSTEMS if c.title not in text], [])

    def test_what_is_finished_is_not_done_again(self):
        with tempfile.TemporaryDirectory() as d:
            self.assertEqual(ngb_results.finished(d), {})
            self.runs(d, ['directory,HC,S,0,x,0.4', 'repl rtt=20,HC,S,1,x,5.5', 'local rtt=20,HC,S,2,x,2.5', 'repl rtt=20,HC,S,2,x', 'repl rtt=20,VP,S,,x,'])
            self.assertEqual(ngb_results.finished(d), {('repl', 'HC', 'S', 20, 1): 5.5, ('local', 'HC', 'S', 20, 2): 2.5})
            self.assertIsNone(ngb_results.other_settings(d, {'set': []}))
            self.assertIsNone(ngb_results.other_settings(d, {'set': []}))
            self.assertEqual(ngb_results.other_settings(d, {'set': ['Lease=1']}), {'set': []})
            known = ngb_results.References(d)
            self.assertIsNone(known.get('HC', 'S'))
            known.put('HC', 'S', ['sum 00-BT u 1 2'])
            self.assertEqual(ngb_results.References(d).get('HC', 'S'), ['sum 00-BT u 1 2'])
            with mock.patch.object(sys, 'argv', ['ngb.py', '--graph', 'HC', '--rtt', '20', '--trials', '2', '--out', d, 'repl', 'local']):
                b = ngb.Bench(ngb.arguments())
            self.addCleanup(os.rmdir, b.dir)
            self.assertEqual([b.missing(ngb_systems.Replicated, 'S', 20, t) for t in (1, 2)], [[], ['HC']])
            self.assertEqual([b.missing(ngb_systems.Local, 'S', 20, t) for t in (1, 2)], [['HC'], []])
            self.assertEqual(b.missing(ngb_systems.Replicated, 'W', 20, 1), ['HC'])
            self.assertEqual(b.summary.rows()[0][:6], ['local', 'HC', 'S', 20, 1, 2.5])

    def test_trials_are_done_one_after_the_other_and_in_turns(self):
        with tempfile.TemporaryDirectory() as d:
            with mock.patch.object(sys, 'argv', ['ngb.py', '--class', 'S,W', '--rtt', '20,80', '--trials', '2', '--out', d, 'local', 'repl']):
                b = ngb.Bench(ngb.arguments())
            done = []
            with mock.patch.object(b, 'part', side_effect=lambda system, cls, rtt, trial: done.append((cls, trial, rtt, system.name))), mock.patch('builtins.print'):
                self.assertEqual(b.run(), 0)
            once = [(rtt, system) for rtt in (20, 80) for system in ('local', 'repl')]
            self.assertEqual(done, [(cls, trial, *p) for cls in 'SW' for trial, parts in ((1, once), (2, once[::-1])) for p in parts])

    def test_goals(self):
        s = ngb_results.Summary()
        for cell in (('local', 'HC', 'S', 120, 2.0), ('local', 'HC', 'S', 20, 1.0), ('repl', 'HC', 'S', 20, 9.0), ('repl', 'HC', 'S', 120, 2.4), ('gridftp', 'HC', 'S', 120, 2.3),
                     ('gridftp', 'HC', 'S', 20, 9.5), ('local', 'HC', 'A', 20, 100.0), ('local', 'HC', 'A', 120, 100.0), ('repl', 'HC', 'A', 20, 103.0), ('repl', 'HC', 'A', 120, 103.5),
                     ('repl', 'VP', 'A', 120, 50.0), ('gridftp-nfs', 'HC', 'S', 120, 3.0), ('gridftp-nfs', 'HC', 'S', 40, 1.0)):
            s.add(*cell)
        goals = {(g[0], g[1]): g[2:] for g in s.goals()}
        self.assertEqual(goals['S at 120 ms: at most 1.2 x the floor', 'HC'], [1, 1.2, 120, 1.2, 'met'])
        self.assertEqual(goals['A: at most 1.03 x the floor', 'HC'], [2, 1.035, 120, 1.03, 'MISSED'])
        self.assertEqual(goals['W: at most 1.03 x the floor', '-'], [0, None, None, 1.03, 'not measured'])
        self.assertEqual(goals['S: never slower than GridFTP', 'HC'], [2, 2.4 / 2.3, 120, 1.0, 'MISSED'])
        self.assertEqual(goals['S: never slower than GridFTP whose tasks are NFS clients, too', 'HC'], [1, 2.4 / 3.0, 120, 1.0, 'met'])
        self.assertNotIn(('A: at most 1.03 x the floor', 'VP'), goals)      # its floor was not measured
        self.assertIn('MISSED', '\n'.join(s.goal_table()))

    def test_lists(self):
        self.assertEqual(ngb.choices('S,A', ngb.graphs.CLASSES), ['S', 'A'])
        with self.assertRaises(ValueError):
            ngb.choices('S,B', ngb.graphs.CLASSES)
        self.assertEqual(ngb_systems.Local.between(40), ngb_systems.NEAR_MS)
        self.assertEqual(ngb_systems.Remote.between(40), 40)


if __name__ == '__main__':
    unittest.main()
