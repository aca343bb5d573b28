import { describe, expect, it } from '@jest/globals';
import { check, type Findings } from './checker.js';
import { History } from './history.js';
import type { End, Line, Revocation, Schedule, Start } from './log.js';

const DUE = 10_000;
let runs = 0;

/** Job 1, stored at 1,000 and due at 10,000. */
function stored(changes: Partial<Schedule> = {}): Schedule {
  const { generation = 0, at = 1_000 } = changes;
  return {
    what: 'schedule',
    job: 1,
    generation,
    due: DUE,
    askedAt: at - 10,
    at,
    answer: 'stored',
    copies: 3,
    ...changes,
  };
}

/** A run of job 1 on time, and its end 5 ms later; `null` leaves it without an end. */
function run(changes: Partial<Start> = {}, how: End['how'] | null = 'done'): Line[] {
  const { at = DUE + 5 } = changes;
  const name = `p/${++runs}`;
  const start: Start = {
    what: 'start',
    run: name,
    process: 'p',
    job: 1,
    generation: 0,
    attempt: 1,
    fence: runs,
    dueAt: DUE,
    lateness: 0,
    at,
    ...changes,
  };
  return how === null ? [start] : [start, { what: 'end', run: name, how, at: at + 5 }];
}

function revoked(at: number, answer: Revocation['answer'] = 'revoked'): Revocation {
  return { what: 'revoke', job: 1, askedAt: at - 10, at, answer };
}

/** How many there are of each fault. */
function faults(...lines: (Line | Line[])[]): Partial<Record<keyof Findings, number>> {
  const found = check(History.of(lines.flat()));
  return Object.fromEntries(
    Object.entries(found)
      .filter(([, value]) => Array.isArray(value) && value.length > 0)
      .map(([name, value]) => [name, (value as unknown[]).length]),
  );
}

describe('the checker', () => {
  it('finds no fault in a job that ran once, in time', () => {
    const found = check(History.of([stored(), ...run()]));
    expect(faults(stored(), run())).toEqual({});
    expect(found).toMatchObject({ jobs: 1, worstLateness: 5, latenessP99: 5 });
  });

  it('counts what was stored, not what was only asked for', () => {
    const lines = [stored(), stored({ job: 2, answer: 'refused' }), stored({ job: 3, answer: 'unsure' })];
    expect(check(History.of(lines)).jobs).toBe(1);
  });

  describe('finds lost', () => {
    it('what never ran', () => expect(faults(stored())).toEqual({ lost: 1 }));
    it('what started and never ended', () => expect(faults(stored(), run({}, null))).toEqual({ lost: 1 }));
    it.each(['fail', 'aborted', 'discard'] as const)('what only ended with %s', (how) =>
      expect(faults(stored(), run({}, how))).toEqual({ lost: 1 }),
    );
    it('a new schedule that never ran, though the old one did', () =>
      expect(faults(stored(), stored({ generation: 1, at: 20_000, due: 30_000 }), run())).toEqual({
        lost: 1,
      }));
    it('what was added again after a revoke', () =>
      expect(faults(stored(), revoked(2_000), stored({ generation: 1, at: 3_000 }))).toEqual({ lost: 1 }));
    it('not what was revoked', () => expect(faults(stored(), revoked(2_000))).toEqual({}));
    it('what a revoke found done, when it was not', () =>
      expect(faults(stored(), revoked(2_000, 'done'))).toEqual({ lost: 1 }));
    it('not what is meant never to succeed', () => expect(faults(stored({ doomed: true }))).toEqual({}));
    it.each(['refused', 'unsure'] as const)('not what was answered %s', (answer) =>
      expect(faults(stored({ answer }))).toEqual({}),
    );
    it('not what ran for a later schedule whose answer was lost', () =>
      expect(
        faults(stored(), stored({ generation: 1, at: 2_000, answer: 'unsure' }), run({ generation: 1 })),
      ).toEqual({}));
  });

  describe('finds early', () => {
    it('what started a millisecond before its time', () =>
      expect(faults(stored(), run({ at: DUE - 1 }))).toEqual({ early: 1 }));
    it('what started at the old time of a schedule that was moved', () =>
      expect(faults(stored(), stored({ at: 2_000, due: 20_000 }), run())).toEqual({ early: 1 }));
    it('not what was moved while it was about to start', () =>
      expect(faults(stored(), stored({ at: DUE + 8, due: 20_000 }), run())).toEqual({}));
  });

  describe('finds duplicates', () => {
    it('in a second successful run, in whatever order the logs are read', () => {
      const lines = [...run(), ...run({ at: DUE + 50 })];
      expect(faults(stored(), lines)).toEqual({ duplicates: 1 });
      expect(faults(run({ at: DUE + 50, fence: 1e9 }), run(), stored())).toEqual({ duplicates: 1 });
    });
    it('in each further one', () =>
      expect(faults(stored(), run(), run({ at: DUE + 50 }), run({ at: DUE + 99 }))).toEqual({
        duplicates: 2,
      }));
    it('not in a run after a failed one', () =>
      expect(faults(stored(), run({}, 'fail'), run({ at: DUE + 2_000 }))).toEqual({}));
    it('not in a run of the next schedule', () =>
      expect(
        faults(
          stored(),
          run(),
          stored({ generation: 1, at: DUE + 20 }),
          run({ generation: 1, at: DUE + 40 }),
        ),
      ).toEqual({}));
  });

  describe('finds ran after a revoke', () => {
    it('what started after the answer «revoked»', () =>
      expect(faults(stored(), revoked(DUE + 4), run())).toEqual({ ranAfterRevoke: 1 }));
    it('what failed and started again after the answer «running»', () =>
      expect(
        faults(stored(), run({}, 'fail'), revoked(DUE + 7, 'running'), run({ at: DUE + 2_000 })),
      ).toEqual({ ranAfterRevoke: 1 }));
    it('not the run that «running» speaks of, though its start is written later', () =>
      expect(faults(stored(), revoked(DUE + 4, 'running'), run())).toEqual({}));
    it('not what started before the answer', () =>
      expect(faults(stored(), run(), revoked(DUE + 6))).toEqual({}));
    it('not the run of a later add', () =>
      expect(
        faults(stored(), revoked(2_000), stored({ generation: 1, at: 3_000 }), run({ generation: 1 })),
      ).toEqual({}));
    it.each(['done', 'unknown', 'none'] as const)('not what started after the answer %s', (answer) =>
      expect(faults(stored(), revoked(DUE + 4, answer), run())).toEqual({}),
    );
  });

  describe('finds a wrong generation', () => {
    const moved = stored({ generation: 1, at: DUE + 4 });
    it('in a start after the next schedule was confirmed', () =>
      expect(faults(stored(), moved, run(), run({ generation: 1, at: DUE + 20 }))).toEqual({
        wrongGeneration: 1,
      }));
    it('not before that', () =>
      expect(
        faults(stored(), { ...moved, at: DUE + 6 }, run({}, 'fail'), run({ generation: 1, at: DUE + 20 })),
      ).toEqual({}));
    it.each(['refused', 'unsure'] as const)('not where the next one was %s', (answer) =>
      expect(faults(stored(), { ...moved, answer }, run())).toEqual({}),
    );
  });

  describe('finds strays', () => {
    it('in what ran although its add failed for certain', () =>
      expect(faults(stored({ answer: 'refused' }), run())).toEqual({ strays: 1 }));
    it('in what nobody asked for', () => expect(faults(run({ job: 7 }))).toEqual({ strays: 1 }));
    it('in a generation that nobody asked for', () =>
      expect(faults(stored(), run(), run({ generation: 3, at: DUE + 50 }))).toEqual({ strays: 1 }));
    it('not in what may run although its add failed', () =>
      expect(faults(stored({ answer: 'unsure' }), run())).toEqual({}));
  });

  it('finds two runs with one fence', () => {
    const lines = [...run({ fence: 5 }, 'fail'), ...run({ fence: 5, at: DUE + 50 })];
    expect(faults(stored(), lines)).toEqual({ sameFence: 1 });
  });

  it('finds a run that started after one with a greater fence', () => {
    const lines = [...run({ fence: 6 }), ...run({ fence: 5, at: DUE + 50 }, 'fail')];
    expect(faults(stored(), lines)).toEqual({ staleStarts: 1 });
  });

  it('measures lateness from the due time, or from the moment it was stored if that is later, to the first start', () => {
    const lateness = (...lines: (Line | Line[])[]) => check(History.of(lines.flat())).worstLateness;
    expect(lateness(stored(), run({ at: DUE + 70 }, 'fail'), run({ at: DUE + 2_000 }))).toBe(70);
    expect(lateness(stored({ at: DUE + 50 }), run({ at: DUE + 70 }))).toBe(20);
    expect(lateness(stored())).toBeNaN();
  });
});
