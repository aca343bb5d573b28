import { describe, expect, it } from '@jest/globals';
import { History, type Run } from './history.js';
import type { Line, Schedule, Start } from './log.js';
import {
  extraStarts,
  firstStartAfter,
  latenesses,
  mostAtOnce,
  mostTooSoon,
  recoveryTime,
  runsDuring,
} from './measures.js';

function stored(job: number, due: number): Schedule {
  return { what: 'schedule', job, generation: 0, due, askedAt: 0, at: 0, answer: 'stored' };
}

/** `took: undefined`: it never ended. */
function run(job: number, at: number, took?: number, attempt = 1): Line[] {
  const name = `p/${job}/${attempt}`;
  const numbers = { job, generation: 0, attempt, fence: attempt, dueAt: 0, lateness: 0, at };
  const start: Start = { what: 'start', run: name, process: 'p', ...numbers };
  return took === undefined ? [start] : [start, { what: 'end', run: name, how: 'done', at: at + took }];
}

const history = History.of([
  stored(1, 1_000),
  stored(2, 2_000),
  stored(3, 3_000),
  stored(4, 4_000),
  ...run(1, 1_001, 100),
  ...run(2, 4_500),
  ...run(3, 5_000, 300),
  ...run(4, 4_400, 0),
  ...run(2, 6_000, 10, 2),
]);

describe('measures', () => {
  describe('recovery', () => {
    /** Jobs that were due at the first instant and started at the second. */
    const of = (...jobs: [due: number, start: number][]) =>
      History.of(jobs.flatMap(([due, start], job) => [stored(job, due), ...run(job, start, 1)]));

    it('ends with the last start of an overdue job, though some begin to be so later', () => {
      expect(recoveryTime(history, 4_200)).toBe(800);
      expect(recoveryTime(of([0, 3_000], [900, 2_000], [2_500, 4_000]), 1_000)).toBe(3_000);
    });

    it('does not count half a second', () => {
      expect(recoveryTime(of([0, 500]), 100)).toBe(0);
      expect(recoveryTime(of([0, 501]), 100)).toBe(401);
    });

    it('is over when for a second no job was overdue', () => {
      expect(recoveryTime(of([0, 2_000], [2_499, 4_000]), 1_000)).toBe(3_000);
      expect(recoveryTime(of([0, 2_000], [2_500, 4_000]), 1_000)).toBe(1_000);
      expect(recoveryTime(of([1_500, 4_000]), 1_000)).toBe(0);
      expect(recoveryTime(of([1_499, 4_000]), 1_000)).toBe(3_000);
    });

    it('does not count what was over before', () => expect(recoveryTime(of([0, 2_000]), 2_000)).toBe(0));
  });

  it('the first start after an instant', () => {
    expect(firstStartAfter(history, 1_001)).toBe(3_399);
    expect(firstStartAfter(history, 6_000)).toBeNaN();
  });

  it('the runs under way between two instants, those that never end included', () => {
    const during = (from: number, to: number) => runsDuring(history, from, to).map(({ job }) => job);
    expect(during(1_101, 1_200)).toEqual([1]);
    expect(during(1_102, 1_200)).toEqual([]);
    expect(during(5_300, 5_900)).toEqual([2, 3]);
    expect(during(5_301, 6_000)).toEqual([2, 2]);
  });

  it('starts beyond the first', () => {
    expect(extraStarts(history).map(({ job, attempt }) => [job, attempt])).toEqual([[2, 2]]);
  });

  it('how many ran at once, those of a dead process until its death', () => {
    const runs = History.of([...run(1, 10, 10), ...run(2, 15), ...run(3, 20, 5), ...run(4, 40, 5)]);
    const most = (died?: number, nameOf: (run: Run) => unknown = () => '') =>
      mostAtOnce(runs, new Map(died === undefined ? [] : [['p', died]]), nameOf);
    expect(most(40)).toBe(2);
    expect(most(41)).toBe(2);
    expect(mostAtOnce(History.of([...run(1, 1), ...run(2, 2), ...run(3, 3)]), new Map(), () => '')).toBe(3);
    expect(most(40, ({ job }) => job)).toBe(1);
    expect(most(40, ({ job }) => job % 2)).toBe(1);
    expect(most(41, ({ job }) => job % 2)).toBe(2);
  });

  it('how much too soon a run was granted for a rate', () => {
    const granted = (...fences: number[]) => {
      const runs = fences.flatMap((fence, i) => run(i, 0, 1, 1).map((line) => ({ ...line, fence }) as Line));
      return mostTooSoon(History.of(runs), 100);
    };
    expect(granted(1_000, 1_100, 1_200, 5_000)).toBe(0);
    expect(granted(1_100, 1_000, 1_190)).toBe(10);
    expect(granted(5_000, 5_050, 5_150, 5_250)).toBe(50);
    expect(granted(5_000, 5_000, 5_000)).toBe(200);
  });

  it('how late some jobs were, by their first starts', () => {
    expect(latenesses(history, [1, 2, 99])).toEqual([1, 2_500]);
    expect(latenesses(History.of([stored(1, 1_000), ...run(1, 999)]), [1])).toEqual([0]);
  });
});
