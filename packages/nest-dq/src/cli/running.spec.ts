import { expect, it } from '@jest/globals';
import { linesOf } from 'nest-handlers/cli';
import type { ProcessView } from '../operate/processes.js';
import { runningIn, showRunning } from './running.js';

const NOW = Date.UTC(2027, 0, 1, 12);
const ago = (seconds: number) => new Date(NOW - seconds * 1_000);
const load = { concurrency: 5, held: 0 };
const mail = {
  ...load,
  tube: 'mail',
  running: 3,
  longRuns: [{ id: '1', key: 'ann', attempt: 2, since: ago(90) }],
};
const report = {
  ...load,
  tube: 'report',
  running: 1,
  longRuns: [{ id: '7', attempt: 1, since: ago(3_725) }],
};
const view = (pid: number, tubes: ProcessView['tubes']) => ({ host: 'vm', pid, tubes }) as ProcessView;
const PROCESSES = [view(17, [mail]), view(18, [report])];
const MEANS = new Map([['mail', 31]]);

it('what runs now is listed longest first, with its process and how long such a run usually takes', () => {
  expect(linesOf(showRunning(runningIn(PROCESSES, MEANS, NOW)))).toEqual([
    'KEY OR ID  TUBE    PROCESS  RUN  STARTED               FOR     USUALLY',
    '7          report  vm:18      1  2027-01-01T10:57:55Z  1h 2m',
    'ann        mail    vm:17      2  2027-01-01T11:58:30Z  1m 30s  31ms',
    '',
    'running: 4 jobs in 2 processes, 2 of them for less than a second',
  ]);
});

it('the progress of a run is shown if its handler reports some', () => {
  const [run] = mail.longRuns;
  const progress = { fraction: 0.4, note: 'page 12 of 30', at: ago(1) };
  const reporting = view(17, [{ ...mail, longRuns: [{ ...run!, progress }] }]);
  const found = runningIn([reporting, view(18, [report])], MEANS, NOW);
  expect(linesOf(showRunning(found)).slice(0, 3)).toEqual([
    'KEY OR ID  TUBE    PROCESS  RUN  STARTED               FOR     USUALLY  PROGRESS',
    '7          report  vm:18      1  2027-01-01T10:57:55Z  1h 2m',
    'ann        mail    vm:17      2  2027-01-01T11:58:30Z  1m 30s  31ms     40 % page 12 of 30',
  ]);
  expect(found.runs[1]).toMatchObject({ progress });
});

it.each([
  [0, '0 %'],
  [0.29, '29 %'],
  [0.999, '99 %'],
  [1, '100 %'],
])('a fraction of %d is %s', (fraction, text) => {
  const progress = { fraction, at: ago(1) };
  const longRuns = [{ ...report.longRuns[0]!, progress }];
  const [, row] = linesOf(showRunning(runningIn([view(18, [{ ...report, longRuns }])], MEANS, NOW)));
  expect(row).toMatch(new RegExp(` ${text}$`));
});

it('a run that has taken far longer than usual is red, and probably stuck in JSON', () => {
  const { runs } = runningIn(PROCESSES, MEANS, NOW);
  expect(runs).toEqual([
    { ...report.longRuns[0], tube: 'report', process: 'vm:18', runningFor: 3_725_000, probablyStuck: false },
    {
      ...mail.longRuns[0],
      tube: 'mail',
      process: 'vm:17',
      runningFor: 90_000,
      meanRun: 31,
      probablyStuck: true,
    },
  ]);
  const page = { width: 80, paint: (style: string, text: string) => `<${style}>${text}` };
  expect(linesOf(showRunning({ running: 2, processes: 2, runs }), page).join('\n')).toMatch(/<red>1m 30s/);
});

it('one tube has its own runs, and short ones are only counted', () => {
  expect(runningIn(PROCESSES, MEANS, NOW, 'mail')).toMatchObject({ running: 3, processes: 1 });
  const short = runningIn([view(17, [{ ...mail, longRuns: [] }])], MEANS, NOW);
  expect(linesOf(showRunning(short))).toEqual([
    'running: 3 jobs in 1 process, none for longer than a second',
  ]);
  expect(linesOf(showRunning(runningIn([], MEANS, NOW)))).toEqual(['nothing is running']);
});
