import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { MemoryLedger } from './memory-ledger.js';

// Facts of every ledger are in test/contract/ledger-*.spec.ts; here are those of the memory ledger alone.
describe('MemoryLedger', () => {
  const MINUTE = 60_000;
  const settings = { lease: 15_000, doneTtl: 60_000, staleAfter: 3_600_000 };
  const NOTHING_OWED = { mask: 0, unknown: false };
  let clock: VirtualClock;
  let ledger: MemoryLedger;

  beforeEach(() => {
    clock = new VirtualClock();
    ledger = new MemoryLedger({ settings, clock });
    ledger.start();
  });

  async function runAndFinish(id: string, name = 't'): Promise<void> {
    const tube = ledger.tube(name);
    const due = clock.wall();
    const [answer] = await tube.claim([{ id, generation: 0, born: 0, due, token: id, attempts: 1 }]);
    if (answer?.kind !== 'run') throw new Error(`expected a run, got ${answer?.kind}`);
    const { fence, attempt } = answer;
    const run = { id, generation: 0, born: 0, due, fence, attempt, lastOk: tube.now() };
    await tube.complete([{ ...run, owed: NOTHING_OWED, outcome: { kind: 'done' } }]);
  }

  it('keeps nothing of tubes that come and go, and no record of theirs for longer than others', async () => {
    const before = ledger.tube('gone 0');
    const rounds = async () => {
      for (let i = 0; i < 10; i++) await ledger.tube('another').find(Array.from({ length: 100 }, String));
    };
    const kept = () => (Reflect.get(ledger.records, 'byName') as ReadonlyMap<string, unknown>).size;
    for (let i = 0; i < 200; i++) await runAndFinish('job', `gone ${i}`);
    await rounds();
    expect(kept()).toBeGreaterThanOrEqual(200);
    await clock.advance(settings.doneTtl);
    await rounds();
    expect(kept()).toBeLessThanOrEqual(1); // the one that was asked
    // Whoever knew one before and whoever asks for it now go by the same records.
    await runAndFinish('job', 'gone 0');
    await expect(before.find(['job'])).resolves.toMatchObject([{ state: 'done' }]);
  });

  it('keeps a paused tube without jobs, and forgets a pause that no longer matters', async () => {
    const look = async () => {
      for (let i = 0; i < 10; i++) await ledger.tube('another').find(['a', 'b', 'c']);
      return ledger.tube('paused').records.pauses.length;
    };
    await ledger.tube('paused').pause();
    expect(await look()).toBe(1);
    await ledger.tube('paused').resume();
    await clock.advance(2 * settings.staleAfter);
    expect(await look()).toBe(1);
    await clock.advance(MINUTE);
    expect(await look()).toBe(0);
  });

  it('has a time that starts as the machine’s and never jumps', async () => {
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

  it('keeps only what is not forgotten yet, while jobs come and go', async () => {
    const { records } = ledger.tube('t');
    let most = 0;
    for (let round = 0; round < 20; round++) {
      for (let job = 0; job < 50; job++) await runAndFinish(`${round}-${job}`);
      most = Math.max(most, records.byId.size);
      await clock.advance(settings.doneTtl);
    }
    // At most those of two rounds: the old are swept while the new come.
    expect(most).toBeLessThanOrEqual(100);
  });
});
