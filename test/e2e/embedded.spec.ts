import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { expectOnceEach, isEmpty, record, schedule, type Start } from '../support/jobs.js';
import { startEmbeddedSystem } from '../support/system.js';

const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
}, 30_000);

function start() {
  const system = startEmbeddedSystem();
  stops.push(system.stop);
  return system;
}

/** What e2e/cluster.spec.ts shows of real servers holds on nodes in the process, too. */
describe('three embedded nodes and the memory ledger', () => {
  it('run each of 1,500 jobs once, not early, and from its primary copy', async () => {
    const starts: Start[] = [];
    const system = start();
    const receipts = await schedule(system, 't', 1_500, (i) => Date.now() + 1_000 + i);
    expect(receipts.filter(({ copies }) => copies !== 3)).toEqual([]);
    await record(system, 't', starts);
    await eventually('all ran', () => starts.length >= receipts.length);
    expectOnceEach(starts, receipts);
    expect(starts.filter(({ copy }) => copy !== 0)).toEqual([]);
    await eventually('no copy is left', () => isEmpty(system, 't'));
  }, 60_000);

  it('lose nothing, and run nothing twice, when one of them is gone before the jobs are due', async () => {
    const starts: Start[] = [];
    const system = start();
    await record(system, 't', starts);
    const receipts = await schedule(system, 't', 600, (i) => Date.now() + 1_000 + i);
    system.embedded[0]!.close();
    await eventually('all ran', () => starts.length >= receipts.length);
    expectOnceEach(starts, receipts);
    expect(starts.some(({ copy }) => copy > 0)).toBe(true);
  }, 60_000);

  it('never start a job that was revoked', async () => {
    const starts: Start[] = [];
    const system = start();
    await record(system, 't', starts);
    const receipts = await schedule(system, 't', 200, (i) => Date.now() + 1_000 + i);
    const revoked = receipts.filter((_, i) => i % 2 === 0);
    const answers = await Promise.all(revoked.map(({ ref }) => system.producer.revoke(ref)));
    expect(new Set(answers)).toEqual(new Set(['revoked']));
    const kept = receipts.filter((_, i) => i % 2 === 1);
    await eventually('the others ran', () => starts.length >= kept.length);
    await eventually('no copy is left', () => isEmpty(system, 't'));
    expectOnceEach(starts, kept);
  }, 60_000);
});
