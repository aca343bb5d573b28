import { describe, expect, it } from '@jest/globals';
import { check, type StreamFindings } from './checker.js';
import type { Cause } from './causes.js';
import { StreamHistory } from './history.js';
import type { End, Push, Start, StreamLine } from './log.js';

let runs = 0;

/** Message 0 of key `k`, stored at 1,000 as the first of partition 0; the others after it. */
function stored(message = 0, changes: Partial<Push> = {}): Push {
  const at = 1_000 + message;
  const place = { partition: 0, offset: message };
  const base = {
    what: 'push',
    message,
    key: 'k',
    number: message,
    askedAt: at - 5,
    at,
    answer: 'stored',
  } as const;
  return { ...base, ...place, ...changes };
}

/** A run in process `p` that takes 10 ms; `null` leaves it without an end. */
function run(
  message: number,
  at: number,
  changes: Partial<Start> = {},
  how: End['how'] | null = 'done',
): StreamLine[] {
  const name = `p/${++runs}`;
  const place = { partition: 0, offset: message };
  const base = {
    what: 'start',
    run: name,
    process: 'p',
    message,
    key: 'k',
    number: message,
    attempt: 1,
    at,
  } as const;
  const start: Start = { ...base, ...place, ...changes };
  return how === null ? [start] : [start, { what: 'end', run: name, how, at: at + 10 }];
}

function found(lines: readonly (StreamLine | StreamLine[])[], causes: readonly Cause[] = []): StreamFindings {
  return check(StreamHistory.of(lines.flat()), { causes, committedWithin: 1_000 });
}

/** How many there are of each fault. */
function faults(lines: readonly (StreamLine | StreamLine[])[], causes: readonly Cause[] = []) {
  return Object.fromEntries(
    Object.entries(found(lines, causes))
      .filter(([, value]) => Array.isArray(value) && value.length > 0)
      .map(([name, value]) => [name, (value as unknown[]).length]),
  );
}

const KILL: Cause = { name: 'a kill', from: 5_000, until: 8_000 };

describe('the checker of streams', () => {
  it('finds no fault in messages that ran once, in order', () => {
    const lines = [stored(0), stored(1), run(0, 2_000), run(1, 2_010)];
    expect(faults(lines)).toEqual({});
    expect(found(lines)).toMatchObject({ messages: 2, worstDelay: 1_009 });
  });

  it('takes the one retry of a failed run for no repeat', () => {
    const failed = [stored(), run(0, 2_000, {}, 'fail')];
    const retry = (at: number) => run(0, at, { attempt: 2, process: 'q' });
    expect(faults([...failed, retry(2_050)])).toEqual({});
    expect(faults([...failed, retry(2_050), retry(2_100)])).toEqual({ repeats: 1, unexplained: 1 });
    expect(faults([stored(), run(0, 2_000), retry(2_050)])).toEqual({ repeats: 1, unexplained: 1 });
    const granted = run(0, 2_100, { attempt: 3 }); // and so was the second, but nobody heard of it
    expect(faults([...failed, granted])).toEqual({});
    expect(faults([...failed, retry(2_050), granted])).toEqual({ repeats: 1, unexplained: 1 });
  });

  it('lets messages overtake only one that failed, and only where they may', () => {
    const lines = [stored(0), stored(1), stored(2), run(0, 2_000, {}, 'fail'), run(1, 2_020), run(2, 2_030)];
    const retried = [...lines, run(0, 2_035, { attempt: 2 })];
    expect(faults(retried)).toEqual({ outOfOrder: 2, overlapping: 1 });
    expect(
      check(StreamHistory.of(retried.flat()), { causes: [], committedWithin: 1_000, overtaken: true }),
    ).toMatchObject({
      outOfOrder: [],
      overlapping: [],
    });
    const swapped = [stored(0), stored(1), run(1, 2_000), run(0, 2_020)].flat();
    const found = check(StreamHistory.of(swapped), { causes: [], committedWithin: 1_000, overtaken: true });
    expect(found.outOfOrder).toHaveLength(1);
  });

  it('finds a message that no run handled', () => {
    expect(faults([stored()])).toEqual({ lost: 1 });
    expect(faults([stored(), run(0, 2_000, {}, 'fail')])).toEqual({ lost: 1 });
    expect(faults([stored(), run(0, 2_000, {}, null)])).toEqual({ lost: 1 });
  });

  it('takes a message for lost only if its push was answered', () => {
    expect(faults([stored(0, { answer: 'refused' })])).toEqual({});
    expect(faults([stored(0, { answer: 'unsure' })])).toEqual({});
    expect(faults([stored(0, { answer: 'unsure' }), run(0, 2_000)])).toEqual({});
  });

  it('finds runs of what nobody pushed, of a push that failed, and at another place', () => {
    expect(faults([run(0, 2_000)])).toEqual({ unknown: 1 });
    expect(faults([stored(0, { answer: 'refused' }), run(0, 2_000)])).toEqual({ unknown: 1 });
    expect(faults([stored(0), run(0, 2_000, { offset: 7 })])).toEqual({ unknown: 1 });
  });

  it('finds a run that starts before an earlier message of its key is handled, in whatever process', () => {
    expect(faults([stored(0), stored(1), run(1, 2_000), run(0, 2_020)])).toEqual({ outOfOrder: 1 });
    const elsewhere = run(1, 2_005, { process: 'q' });
    expect(faults([stored(0), stored(1), run(0, 2_000), elsewhere])).toEqual({ outOfOrder: 1 });
    const ofOther = [stored(1, { key: 'l', number: 0 }), run(1, 2_000, { key: 'l', number: 0 })];
    expect(faults([stored(0), run(0, 2_020), ...ofOther])).toEqual({});
  });

  it('finds two runs of a key at the same time in one process', () => {
    const lines = [stored(0), stored(1), run(0, 2_000), run(1, 2_010), run(0, 2_015)];
    expect(faults(lines)).toEqual({ overlapping: 1, repeats: 1, unexplained: 1 });
  });

  it('finds messages of a key that are stored against their order', () => {
    const lines = [stored(0, { offset: 5 }), stored(1, { offset: 3 })];
    const ran = [run(0, 2_000, { offset: 5 }), run(1, 2_010, { offset: 3 })];
    expect(faults([...lines, ...ran])).toEqual({ misplaced: 1 });
  });

  describe('of a message that ran again', () => {
    const again = (first: number, second: number) => [
      stored(0, { at: first - 100, askedAt: first - 110 }),
      run(0, first, {}, null),
      run(0, second, { process: 'q' }),
    ];

    it('takes what was done for its cause if the first run was not committed by then', () => {
      expect(found(again(4_900, 7_000), [KILL]).repeats).toMatchObject([{ causes: ['a kill'] }]);
      expect(faults(again(7_000, 9_500), [KILL])).toEqual({ repeats: 1 });
    });

    it('finds no cause before it was done, or long after the group had settled', () => {
      expect(faults(again(4_000, 4_900), [KILL])).toEqual({ repeats: 1, unexplained: 1 });
      expect(faults(again(10_100, 12_000), [KILL])).toEqual({ repeats: 1, unexplained: 1 });
      expect(faults(again(4_000, 6_000))).toEqual({ repeats: 1, unexplained: 1 });
    });

    it('finds no cause for a message that was surely committed, with all before it', () => {
      const lines = (handledAt: number) => [
        stored(0),
        run(0, handledAt - 10),
        run(0, 7_000, { process: 'q' }),
      ];
      expect(faults(lines(4_000), [KILL])).toEqual({ repeats: 1, unexplained: 1 });
      expect(faults(lines(4_001), [KILL])).toEqual({ repeats: 1 });
    });

    it('takes all that was done too close together for commits as one cause', () => {
      const causes = [KILL, { name: 'a join', from: 8_900, until: 9_000 }];
      expect(found(again(4_900, 10_000), causes).repeats).toMatchObject([{ causes: ['a kill', 'a join'] }]);
    });
  });
});
