import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { countCopies } from '../support/copies.js';
import { schedule } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

const HOUR = 3_600_000;
const JOBS = 2_000;

const suite = clusterSuite();

async function started(): Promise<System> {
  const system = suite.start();
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
  return system;
}

const copies = ({ nodes }: System, tube: string): Promise<number[]> =>
  Promise.all(nodes.map((node) => countCopies(node, tube)));

describe('the copies of revoked jobs', () => {
  it('are deleted behind the answers', async () => {
    const system = await started();
    const receipts = await schedule(system, 'behind', JOBS, () => Date.now() + HOUR);
    const answers = await Promise.all(receipts.map(({ ref }) => system.producer.revoke(ref)));
    expect(new Set(answers)).toEqual(new Set(['revoked']));
    await eventually('no copy is left', async () =>
      (await copies(system, 'behind')).every((count) => count === 0),
    );
  }, 60_000);

  it('are deleted before an answer that should be confirmed', async () => {
    const system = await started();
    const receipts = await schedule(system, 'before', JOBS, () => Date.now() + HOUR);
    expect(await copies(system, 'before')).toEqual([JOBS, JOBS, JOBS]);
    const answers = await Promise.all(
      receipts.map(({ ref }) => system.producer.revoke(ref, { confirmed: true })),
    );
    expect(new Set(answers)).toEqual(new Set(['revoked']));
    expect(await copies(system, 'before')).toEqual([0, 0, 0]);
  }, 60_000);

  it('are deleted when the process that revoked them has closed', async () => {
    const system = await started();
    const receipts = await schedule(system, 'closed', JOBS, () => Date.now() + HOUR);
    const answers = await Promise.all(receipts.map(({ ref }) => system.producer.revoke(ref)));
    expect(new Set(answers)).toEqual(new Set(['revoked']));
    await system.stop();
    expect(await copies(system, 'closed')).toEqual([0, 0, 0]);
  }, 60_000);
});
