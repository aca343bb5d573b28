import { describe, expect, it } from '@jest/globals';
import { checkSeries } from './checker.js';
import { runsOf, type SeriesRun, type Tick } from './log.js';

const EVERY = 2_000;
const run = (dueAt: number, over: Partial<SeriesRun> = {}): SeriesRun => ({
  run: `p/${dueAt}`,
  tube: 's',
  dueAt,
  lateness: 5,
  at: dueAt + 5,
  end: { how: 'done', at: dueAt + 50 },
  ...over,
});
const { end: _, ...cutShort } = run(2_000);
const none = { early: [], twice: [], missing: [] };

describe('checkSeries', () => {
  it.each<[string, SeriesRun[]]>([
    ['each occurrence, once', [run(2_000), run(4_000), run(6_000)]],
    [
      'one that came late, so that the next was left out',
      [run(2_000, { lateness: 2_500, at: 4_500 }), run(6_000)],
    ],
    [
      'one that was cut short and ran again',
      [cutShort, run(2_000, { at: 7_000, lateness: 5_000 }), run(8_000)],
    ],
    [
      'one that ended the job, and the next one',
      [run(2_000, { end: { how: 'discard', at: 2_050 } }), run(4_000)],
    ],
    ['one that perhaps ended', [run(2_000, { unsure: true }), run(2_000, { run: 'q' }), run(4_000)]],
  ])('passes %s', (_what, runs) => {
    expect(checkSeries(runs, EVERY)).toEqual(none);
  });

  it.each<[string, SeriesRun[], keyof typeof none]>([
    ['a run before its time', [run(2_000, { at: 1_999 })], 'early'],
    ['a run that is of no occurrence', [run(2_001)], 'early'],
    ['an occurrence that went well twice', [run(2_000), run(2_000, { run: 'q' })], 'twice'],
    ['an occurrence that is missing', [run(2_000), run(6_000)], 'missing'],
    ['a cut short one that is missing', [cutShort, run(4_000)], 'missing'],
    [
      'one that is missing after a dead letter',
      [run(2_000, { end: { how: 'discard', at: 2_050 } }), run(6_000)],
      'missing',
    ],
  ])('finds %s', (_what, runs, where) => {
    expect(checkSeries(runs, EVERY)[where]).toHaveLength(1);
  });
});

it('puts the ends of runs to their starts, series by series, in the order of time', () => {
  const start = (name: string, tube: string, at: number): Tick => ({
    what: 'start',
    run: name,
    tube,
    dueAt: at,
    lateness: 0,
    at,
  });
  const ticks: Tick[] = [
    start('a/2', 'one', 4),
    { what: 'end', run: 'a/1', how: 'done', at: 3 },
    start('a/1', 'one', 2),
    start('b/1', 'two', 1),
  ];
  const found = [...runsOf(ticks)].map(([tube, runs]) => [
    tube,
    runs.map(({ run: name, end }) => [name, end?.how]),
  ]);
  expect(found).toEqual([
    [
      'one',
      [
        ['a/1', 'done'],
        ['a/2', undefined],
      ],
    ],
    ['two', [['b/1', undefined]]],
  ]);
});
