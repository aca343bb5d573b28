import { beforeEach, describe, expect, it } from '@jest/globals';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import { runOf, tubeContext } from '../../../spec-support/tube-context.js';
import { VirtualClock } from 'nest-handlers/testing';
import { StartScheduler } from './executor.js';

describe('StartScheduler', () => {
  let clock: VirtualClock;
  /** How much less of ledger time is certain than has passed. */
  let uncertain: number;
  /** Starts, each with its time. */
  let begun: [at: number, id: string][];
  let starts: StartScheduler;
  let context: ReturnType<typeof tubeContext>;
  const { lane } = recordingLane();

  beforeEach(() => {
    clock = new VirtualClock();
    uncertain = 0;
    begun = [];
    context = tubeContext(clock);
    context.ledger.nowAtLeast = () => clock.now() - uncertain;
    starts = new StartScheduler(context);
  });

  function granted(due: number, id = `at-${due}`, notBefore = due): void {
    const run = runOf(heldDelivery(lane, { id }), { due, notBefore });
    expect(starts.isDue(run)).toBe(false);
    void starts.due(run).then(() => begun.push([clock.now(), id]));
  }

  it('says whether a run is due', async () => {
    const run = runOf(heldDelivery(lane, { id: 'a' }), { due: 5 });
    expect(starts.isDue(run)).toBe(false);
    await clock.advance(5);
    expect(starts.isDue(run)).toBe(true);
  });

  it('begins what was granted ahead at its millisecond, in the order of the times', async () => {
    for (const due of [20, 5, 5, 12]) granted(due, String(due));
    await clock.advance(100);
    expect(begun).toEqual([
      [5, '5'],
      [5, '5'],
      [12, '12'],
      [20, '20'],
    ]);
  });

  it('begins no run before its turn', async () => {
    granted(5, 'limited', 12);
    await clock.advance(100);
    expect(begun).toEqual([[12, 'limited']]);
  });

  it('uses what is certain of ledger time', async () => {
    uncertain = 3;
    granted(5);
    await clock.advance(6);
    uncertain = 1;
    expect(begun).toEqual([]);
    await clock.advance(2);
    expect(begun).toEqual([[8, 'at-5']]);
  });

  it('keeps waiting when ledger time went back meanwhile', async () => {
    granted(5);
    uncertain = 4;
    await clock.advance(8);
    expect(begun).toEqual([]);
    await clock.advance(1);
    expect(begun).toEqual([[9, 'at-5']]);
  });

  it('begins nothing after its end', async () => {
    granted(5);
    starts.close();
    await clock.advance(100);
    expect(begun).toEqual([]);
  });
});
