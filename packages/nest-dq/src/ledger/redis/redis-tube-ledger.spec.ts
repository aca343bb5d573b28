import { beforeEach, describe, expect, it } from '@jest/globals';
import { leaseMessage } from '../../../spec-support/lease-messages.js';
import type { LeaseMessage } from '../lease-thread/run-lease.js';
import { TubeLeases } from '../lease-thread/lease-thread.js';
import type { RunRef } from '../requests.js';
import type { RedisMaster } from './master.js';
import { RedisTubeLedger } from './redis-tube-ledger.js';

const NOW = 1_900_000_000_000;
const run = (id: string): RunRef => ({
  id,
  generation: 0,
  born: 0,
  due: 900,
  fence: 7,
  attempt: 2,
  lastOk: NOW,
});

describe('RedisTubeLedger with a lease thread', () => {
  let ledger: RedisTubeLedger;
  let told: LeaseMessage[];
  /** The answers in the next reply. */
  let answers: number[];
  /** Number of reports sent before the ledger was asked. */
  let toldBefore: number;

  beforeEach(() => {
    [told, answers] = [[], []];
    const master = {
      time: { now: () => NOW },
      call: async () => {
        toldBefore = told.length;
        return [1, NOW * 1_000, ...answers];
      },
    } as unknown as RedisMaster;
    ledger = new RedisTubeLedger(master, '{t}:', new TubeLeases('t', (message) => told.push(message)));
  });

  const claim = (ids: readonly string[]) =>
    ledger.claim(
      ids.map((id) => ({ id, generation: 0, born: 0, due: 900, token: id, attempts: 3, timeout: 5_000 })),
    );
  const complete = (id: string) => ({
    ...run(id),
    owed: { mask: 1, unknown: false },
    outcome: { kind: 'done' as const },
  });

  /** Two jobs are granted. */
  async function grant(): Promise<void> {
    answers = [1, 7, 2, 900, 0, 0, 3, 50, 60, 1, 7, 2, 900, 0, 0];
    await claim(['a', 'busy', 'b']);
  }

  it('reports all runs that an answer grants to it, before anybody else hears of them', async () => {
    answers = [1, 7, 2, 900, 0, 0, 3, 50, 60, 1, 7, 2, 900, 0, 0];
    const claimed = claim(['a', 'busy', 'b']).then(() => told.length);
    await expect(claimed).resolves.toBe(1);
    expect(told).toEqual([
      leaseMessage({ granted: ['a', 'b'].map((id) => ({ ...run(id), timeout: 5_000 })) }),
    ]);
  });

  it('reports nothing to it where nothing is granted', async () => {
    answers = [0];
    await claim(['gone']);
    expect(told).toEqual([]);
  });

  it('reports a renewal to it before that is asked for, and what was refused', async () => {
    await grant();
    answers = [0, 1];
    await ledger.extend([run('a'), run('b')]);
    expect(toldBefore).toBe(2);
    expect(told[1]).toEqual(leaseMessage({ beat: true }));
    await ledger.extend([run('b')]);
    expect(told[2]).toEqual(leaseMessage({ beat: true, over: ['a'] }));
  });

  it('takes a reply without answers for OK to all', async () => {
    await grant();
    answers = [];
    await expect(ledger.extend([run('a'), run('b')])).resolves.toEqual(['ok', 'ok']);
    await expect(ledger.complete([complete('a'), complete('b')])).resolves.toEqual(['ok', 'ok']);
  });

  it('reports an abandoned run to it as over, even where it is granted only afterwards', async () => {
    await grant();
    ledger.abandonRuns();
    expect(told.slice(1)).toEqual([leaseMessage({ over: ['a', 'b'] })]);
    answers = [1, 8, 1, 900, 0, 0];
    const claimed = claim(['late']);
    ledger.abandonRuns();
    await claimed;
    expect(told).toHaveLength(2);
    await claim(['next']);
    expect(told).toHaveLength(3);
  });

  it('reports finished runs to it, whatever the answer', async () => {
    await grant();
    answers = [1, 0];
    await ledger.complete([complete('a'), complete('b')]);
    expect(told.slice(1)).toEqual([leaseMessage({ over: ['a', 'b'] })]);
  });
});
