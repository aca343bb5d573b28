import { beforeEach, describe, expect, it } from '@jest/globals';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import { VirtualClock } from 'nest-handlers/testing';
import type { Delivery } from '../reserve/delivery.js';
import { DueBuffer } from './claim-queue.js';

describe('DueBuffer', () => {
  let clock: VirtualClock;
  let buffer: DueBuffer;
  /** Deliveries that came due: ledger time, and the ids that came together. */
  let came: [at: number, ids: string[]][];
  let ledgerAhead: number;
  let ledger: { now: () => number; ahead: number };
  /** Slots that nothing due waits for. */
  let spare: number;
  const { lane } = recordingLane();

  beforeEach(() => {
    clock = new VirtualClock();
    came = [];
    ledgerAhead = 0;
    const now = () => clock.now() + ledgerAhead;
    ledger = { now, ahead: 0 };
    spare = 100;
    buffer = new DueBuffer(clock, ledger, {
      get spare() {
        return spare;
      },
      add: (due) => void came.push([now(), due.map(({ header }) => header.id)]),
    });
  });

  function dueAt(due: number, id = `at-${due}`): Delivery {
    return heldDelivery(lane, { id, due });
  }

  it('releases at the exact millisecond', async () => {
    buffer.add(dueAt(777));
    await clock.advance(776);
    expect(came).toEqual([]);
    expect(buffer.size).toBe(1);
    await clock.advance(1);
    expect(came).toEqual([[777, ['at-777']]]);
    expect(buffer.size).toBe(0);
  });

  it('releases all that is due at once, and the rest in its own time', async () => {
    for (const due of [300, 100, 100, 101, 200]) buffer.add(dueAt(due));
    await clock.advance(1_000);
    expect(came).toEqual([
      [100, ['at-100', 'at-100']],
      [101, ['at-101']],
      [200, ['at-200']],
      [300, ['at-300']],
    ]);
  });

  describe('where the ledger grants ahead', () => {
    beforeEach(() => {
      ledger.ahead = 20;
    });

    it('releases in the middle of that time, with all that is in its own by then', async () => {
      for (const due of [100, 105, 110, 111, 131]) buffer.add(dueAt(due));
      await clock.advance(1_000);
      expect(came).toEqual([
        [90, ['at-100', 'at-105', 'at-110']],
        [101, ['at-111']],
        [121, ['at-131']],
      ]);
    });

    it('releases early as many as there are free slots, and the rest when it is due', async () => {
      spare = 2;
      for (const due of [100, 101, 102]) buffer.add(dueAt(due));
      await clock.advance(90);
      spare = 0;
      await clock.advance(1_000);
      expect(came).toEqual([
        [90, ['at-100', 'at-101']],
        [102, ['at-102']],
      ]);
    });

    it('releases all that is due, however few slots are free', async () => {
      spare = 0;
      for (const due of [100, 100, 110]) buffer.add(dueAt(due));
      await clock.advance(1_000);
      expect(came).toEqual([
        [100, ['at-100', 'at-100']],
        [110, ['at-110']],
      ]);
    });
  });

  it('wakes sooner when an earlier one arrives', async () => {
    buffer.add(dueAt(900));
    await clock.advance(100);
    buffer.add(dueAt(250));
    await clock.advance(1_000);
    expect(came).toEqual([
      [250, ['at-250']],
      [900, ['at-900']],
    ]);
  });

  it('looks again at least once a second, so that it follows a ledger clock that was set forward', async () => {
    buffer.add(dueAt(60_000));
    await clock.advance(500);
    ledgerAhead = 60_000;
    await clock.advance(500);
    expect(came).toEqual([[61_000, ['at-60000']]]);
  });

  it('is not early when the ledger clock was set back', async () => {
    buffer.add(dueAt(500));
    await clock.advance(100);
    ledgerAhead = -300;
    await clock.advance(699);
    expect(came).toEqual([]);
    await clock.advance(1);
    expect(came).toEqual([[500, ['at-500']]]);
  });

  it('holds deliveries that are months away', async () => {
    const due = 90 * 86_400_000;
    buffer.add(dueAt(due));
    await clock.advance(5_000);
    expect(came).toEqual([]);
    expect(buffer.size).toBe(1);
  });

  it('releases overdue deliveries without waiting', async () => {
    await clock.advance(10_000);
    buffer.add(dueAt(1));
    await clock.advance(0);
    expect(came).toEqual([[10_000, ['at-1']]]);
  });

  it('forgets a removed delivery and continues with the next', async () => {
    const first = dueAt(100);
    buffer.add(first);
    buffer.add(dueAt(200));
    buffer.remove(first);
    buffer.remove(first);
    await clock.advance(1_000);
    expect(came).toEqual([[200, ['at-200']]]);
  });

  it('is emptied at once, and releases nothing afterwards', async () => {
    const all = [dueAt(200), dueAt(100)];
    for (const delivery of all) buffer.add(delivery);
    expect(new Set(buffer.takeAll())).toEqual(new Set(all));
    expect(buffer.size).toBe(0);
    await clock.advance(1_000);
    expect(came).toEqual([]);
    buffer.add(dueAt(1_500));
    await clock.advance(500);
    expect(came).toEqual([[1_500, ['at-1500']]]);
  });

  it('accepts deliveries while it releases others', async () => {
    const again = dueAt(50);
    const queue = {
      spare: 0,
      add: (due: readonly Delivery[]) => {
        came.push([clock.now(), due.map(({ header }) => header.id)]);
        if (due[0] === again && again.due === 50) {
          again.due = 80;
          cycle.add(again);
        }
      },
    };
    const cycle: DueBuffer = new DueBuffer(clock, { now: () => clock.now(), ahead: 0 }, queue);
    cycle.add(again);
    await clock.advance(1_000);
    expect(came.map(([at]) => at)).toEqual([50, 80]);
  });
});
