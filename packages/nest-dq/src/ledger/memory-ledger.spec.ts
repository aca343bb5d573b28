import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '../test-kit/virtual-clock.js';
import { MemoryLedger } from './memory-ledger.js';

// What every ledger does is stated in test/contract/ledger.spec.ts; here is what only memory must care for.
describe('MemoryLedger', () => {
  const settings = { lease: 15_000, doneTtl: 60_000, staleAfter: 3_600_000 };
  const NOTHING_OWED = { mask: 0, unknown: false };
  let clock: VirtualClock;
  let ledger: MemoryLedger;

  beforeEach(() => {
    clock = new VirtualClock();
    ledger = new MemoryLedger({ settings, clock });
    ledger.start();
  });

  async function runAndFinish(id: string): Promise<void> {
    const tube = ledger.tube('t');
    const due = clock.wall();
    const [answer] = await tube.claim([{ id, generation: 0, born: 0, due, token: id, attempts: 1 }]);
    if (answer?.kind !== 'run') throw new Error(`expected a run, got ${answer?.kind}`);
    const { fence, attempt } = answer;
    const run = { id, generation: 0, born: 0, due, fence, attempt, lastOk: tube.now() };
    await tube.finish([{ ...run, owed: NOTHING_OWED, outcome: { kind: 'done' } }]);
  }

  it('gives the same tube for the same name', () => {
    expect(ledger.tube('t')).toBe(ledger.tube('t'));
    expect(ledger.tube('t')).not.toBe(ledger.tube('u'));
  });

  it('tells a time that starts as the machine’s and never jumps', async () => {
    const tube = ledger.tube('t');
    const begin = tube.now();
    expect(begin).toBe(clock.wall());
    clock.wall = () => 0;
    await clock.advance(1_234.5);
    expect(tube.now()).toBe(begin + 1_234.5);
  });

  it('forgets an end when its time is over', async () => {
    await runAndFinish('job');
    const claim = () =>
      ledger
        .tube('t')
        .claim([{ id: 'job', generation: 0, born: 0, due: clock.wall(), token: 'b', attempts: 1 }]);
    await clock.advance(settings.doneTtl - 1);
    await expect(claim()).resolves.toEqual([{ kind: 'gone' }]);
    await clock.advance(1);
    await expect(claim()).resolves.toMatchObject([{ kind: 'run' }]);
  });

  it('keeps no more than what is not forgotten yet, while jobs come and go', async () => {
    const { records } = ledger.tube('t');
    let most = 0;
    for (let round = 0; round < 20; round++) {
      for (let job = 0; job < 50; job++) await runAndFinish(`${round}-${job}`);
      most = Math.max(most, records.byId.size);
      await clock.advance(settings.doneTtl);
    }
    // Those of two rounds at most: the old are swept while the new come.
    expect(most).toBeLessThanOrEqual(100);
  });
});
