import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DqError } from '../../errors.js';
import { leaseMessage, leaseOf, type Told } from '../../../spec-support/lease-messages.js';
import { type Call, ScriptedLedger } from '../../../spec-support/scripted-ledger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { LeaseRenewer } from './lease-renewer.js';
import type { Ledger } from '../ledger.js';
import type { ExtendAnswer, RunRef } from '../requests.js';

const LEASE = 12_000;
const NEGLECTED = 5_000;
const LONGEST_SILENCE = 600_000;

class AnsweredLedger extends ScriptedLedger {
  override async extend(requests: readonly RunRef[]): Promise<ExtendAnswer[]> {
    try {
      return await super.extend(requests);
    } catch (cause) {
      throw new DqError('DQ_LEDGER_DOWN', 'no answer', { cause });
    }
  }
}

/** A ledger with scripted answers, tube by tube. */
class OpenedLedger implements Ledger {
  readonly tubes = new Map<string, ScriptedLedger>();
  closed = false;

  constructor(private readonly clock: VirtualClock) {}

  now(): number {
    return this.clock.wall();
  }

  tube(name: string): ScriptedLedger {
    let tube = this.tubes.get(name);
    if (!tube) this.tubes.set(name, (tube = new AnsweredLedger(this.clock)));
    return tube;
  }

  start(): void {}

  listen(): () => void {
    return () => undefined;
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

describe('LeaseRenewer', () => {
  let clock: VirtualClock;
  let opened: OpenedLedger[];
  /** The ledgers that were open when the thread went to sleep. */
  let asleep: OpenedLedger[][];
  let renewer: LeaseRenewer;

  beforeEach(() => {
    clock = new VirtualClock();
    opened = [];
    asleep = [];
    const open = () => {
      const ledger = new OpenedLedger(clock);
      opened.push(ledger);
      return ledger;
    };
    renewer = new LeaseRenewer(LEASE, clock, open, (ms, done) => {
      asleep.push([...opened]);
      clock.after(ms, done);
    });
  });

  const tell = (told: Told) => renewer.take(leaseMessage(told));
  const asked = (tube = 't'): Call<RunRef, ExtendAnswer>[] =>
    opened.flatMap((ledger) => ledger.tube(tube).extends);
  const askedFor = (tube = 't') => asked(tube).map(({ requests }) => requests.map(({ id }) => id));

  it('opens nothing while the main thread renews', async () => {
    tell({ granted: [leaseOf('a')] });
    for (let i = 0; i < 20; i++) {
      await clock.advance(LEASE / 3);
      tell({ beat: true });
    }
    expect(opened).toEqual([]);
  });

  it('sleeps between its looks, but not while it renews, and not once nothing runs', async () => {
    tell({ granted: [leaseOf('a')] });
    await clock.advance(NEGLECTED + LEASE / 24);
    expect(opened).toHaveLength(1);
    await clock.advance(LEASE);
    const before = asleep.length;
    expect(asleep).toEqual(Array.from({ length: before }, () => []));
    tell({ over: ['a'] });
    await clock.advance(LEASE);
    expect(asleep).toHaveLength(before);
  });

  it('renews a run that nobody renewed for more than a third of its lease, while half of it is left', async () => {
    tell({ granted: [leaseOf('a', { fence: 77 })] });
    await clock.advance(NEGLECTED - 1);
    expect(opened).toEqual([]);
    await clock.advance(LEASE / 2 - NEGLECTED + 1);
    const { timeout: _ours, ...ref } = leaseOf('a', { fence: 77 });
    expect(asked().map(({ requests }) => requests)).toEqual([[ref]]);
  });

  it('continues as long as the silence lasts, and says when the ledger last agreed', async () => {
    tell({ granted: [leaseOf('a')] });
    for (let i = 0; i < 5; i++) {
      await clock.advance(LEASE / 2);
      await asked()[i]!.answer('ok');
    }
    expect(asked()).toHaveLength(5);
    expect(asked()[1]!.requests[0]!.lastOk).toBe(NEGLECTED);
  });

  it('begins where the last beat was, and not with the run', async () => {
    tell({ granted: [leaseOf('a')] });
    await clock.advance(LEASE / 3);
    tell({ beat: true });
    await clock.advance(NEGLECTED - 1);
    expect(opened).toEqual([]);
    await clock.advance(LEASE / 2 - NEGLECTED);
    expect(askedFor()).toEqual([['a']]);
  });

  it('takes no other word for a renewal of what runs already', async () => {
    tell({ granted: [leaseOf('a')] });
    await clock.advance(LEASE / 3);
    tell({ granted: [leaseOf('b')] });
    await clock.advance(LEASE / 6);
    expect(askedFor()).toEqual([['a']]);
  });

  it('renews no run that is over', async () => {
    tell({ granted: [leaseOf('a'), leaseOf('b')] });
    tell({ over: ['a'] });
    await clock.advance(LEASE / 2);
    expect(askedFor()).toEqual([['b']]);
  });

  it('takes the end of one run before the grant of the next', async () => {
    tell({ granted: [leaseOf('a')] });
    tell({ over: ['a'], granted: [leaseOf('a')] });
    await clock.advance(LEASE / 2);
    expect(askedFor()).toEqual([['a']]);
  });

  it('closes the ledger when the main thread responds again, and opens another one the next time', async () => {
    tell({ granted: [leaseOf('a')] });
    await clock.advance(LEASE / 2);
    await asked()[0]!.answer('ok');
    tell({ beat: true });
    expect(opened.map(({ closed }) => closed)).toEqual([true]);
    await clock.advance(LEASE / 2);
    expect(askedFor()).toEqual([['a'], ['a']]);
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
  });

  it('asks no more about a run that was refused', async () => {
    tell({ granted: [leaseOf('a'), leaseOf('b')] });
    await clock.advance(LEASE / 2);
    await asked()[0]!.answer('refused', 'abort');
    await clock.advance(LEASE / 2);
    expect(askedFor()).toEqual([['a', 'b'], ['b']]);
  });

  it('keeps renewing a run that took the place of a refused one', async () => {
    tell({ granted: [leaseOf('a')] });
    await clock.advance(LEASE / 2);
    tell({ granted: [leaseOf('a', { fence: 10 })] });
    await asked()[0]!.answer('refused');
    await clock.advance(LEASE / 2);
    expect(asked().map(({ requests }) => requests[0]!.fence)).toEqual([9, 10]);
  });

  it('asks again at once where it got no answer, but not while one may come', async () => {
    tell({ granted: [leaseOf('a')] });
    await clock.advance(LEASE);
    expect(askedFor()).toEqual([['a']]);
    await asked()[0]!.fail();
    await clock.advance(LEASE / 24);
    expect(askedFor()).toEqual([['a'], ['a']]);
  });

  it('treats a process that is silent for ten minutes as hung', async () => {
    tell({ granted: [leaseOf('a')] });
    let answered = 0;
    while (clock.now() < LONGEST_SILENCE + 2 * LEASE) {
      await clock.advance(LEASE / 24);
      if (asked().length > answered) await asked()[answered++]!.answer('ok');
    }
    expect(asked().length).toBeGreaterThanOrEqual(LONGEST_SILENCE / (LEASE / 2));
    const last = asked().at(-1)!.requests[0]!.lastOk + NEGLECTED;
    expect(last).toBeLessThan(LONGEST_SILENCE);
    expect(last).toBeGreaterThanOrEqual(LONGEST_SILENCE - NEGLECTED);
  });

  it('renews no run for longer than its timeout, however often the main thread renewed it', async () => {
    tell({ granted: [leaseOf('a', { timeout: LEASE }), leaseOf('b')] });
    await clock.advance(LEASE / 3);
    tell({ beat: true });
    await clock.advance(LEASE / 2);
    expect(askedFor()).toEqual([['a', 'b']]);
    await asked()[0]!.answer('ok', 'ok');
    await clock.advance(LEASE / 2);
    expect(askedFor()).toEqual([['a', 'b'], ['b']]);
  });

  it('asks about 1,000 runs at most in a call, and each tube for itself', async () => {
    tell({ granted: Array.from({ length: 2_100 }, (_, i) => leaseOf(`job-${i}`)) });
    tell({ tube: 'u', granted: [leaseOf('a')] });
    await clock.advance(LEASE / 2);
    expect(asked().map(({ requests }) => requests.length)).toEqual([1_000, 1_000, 100]);
    expect(askedFor('u')).toEqual([['a']]);
  });

  it('looks at nothing while nothing runs', async () => {
    const look = jest.spyOn(clock, 'after');
    tell({ granted: [leaseOf('a')] });
    tell({ over: ['a'] });
    await clock.advance(10 * LEASE);
    expect(look).toHaveBeenCalledTimes(1);
    expect(opened).toEqual([]);
  });
});
