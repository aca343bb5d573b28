import { describe, expect, it } from '@jest/globals';
import type { JobReceipt, JobRef } from 'nest-dq/src/api/job.js';
import { parseRef } from 'nest-dq/src/copies/job-ref.js';
import { parseLocation } from 'nest-dq/src/copies/location.js';
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

/** The locations where a node still has a job. */
async function left({ nodes }: System, receipt: JobReceipt): Promise<string[]> {
  const found = parseRef(receipt, '').places.map(async ({ location }) => {
    const { endpoint, copyId } = parseLocation(location)!;
    const node = nodes.find((each) => each.endpoint === endpoint)!;
    return typeof (await node.peek(copyId)) === 'object' ? [location] : [];
  });
  return (await Promise.all(found)).flat();
}

/** A consumer that answers nobody, and has one copy of a job. */
async function frozenHolder({ nodes }: System, tube: string): Promise<{ close(): void }> {
  const lane = nodes[0]!.connectLane(() => undefined)!;
  await lane.ask<unknown>((done) => lane.watch(tube, done));
  await lane.ask<unknown>((done) => lane.reserveWithTimeout(5, done));
  return lane;
}

describe('the copies of revoked jobs', () => {
  it('are deleted after the answers', async () => {
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

  it.each([{ rate: 3 }, { concurrency: 1 }, { perGroup: 1 }])(
    'are deleted before an answer that should be confirmed, even while consumers hold them by the limit %j',
    async (limit) => {
      const system = await started();
      const tube = `held-${Object.keys(limit)[0]}`;
      let begun = 0;
      let endAll = () => {};
      const end = new Promise<void>((resolve) => (endAll = resolve));
      await system.consumer.consume(tube, () => (begun++, end), { limit });
      const jobs = Array.from({ length: 200 }, (_, i) => ({ payload: i, delay: 0, group: 'g' }));
      const receipts = await system.producer.addMany(tube, jobs);
      await eventually('a job runs', () => begun > 0);
      const answers = await Promise.all(
        receipts.map((receipt) => system.producer.revoke(receipt, { confirmed: true })),
      );
      endAll();
      const revoked = receipts.filter((_, i) => answers[i] === 'revoked');
      expect(revoked.length).toBeGreaterThan(100);
      expect((await Promise.all(revoked.map((receipt) => left(system, receipt)))).flat()).toEqual([]);
    },
    60_000,
  );

  it.each<[string, string | undefined, (receipt: JobReceipt) => JobRef]>([
    ['receipt', undefined, (receipt) => receipt],
    ['id', undefined, ({ tube, id }) => ({ tube, id })],
    ['key', 'k', ({ tube, key = '' }) => ({ tube, key })],
  ])(
    'are not confirmed while a frozen consumer holds one, and a later revoke by %s confirms',
    async (name, key, refOf) => {
      const system = await started();
      const tube = `frozen-${name}`;
      const receipt = await system.producer.now(tube, 1, { ...(key && { key }) });
      const holder = await frozenHolder(system, tube);
      const options = { confirmed: true };
      await expect(system.producer.revoke(receipt, options)).rejects.toMatchObject({
        code: 'DQ_UNCONFIRMED',
      });
      expect(await left(system, receipt)).toHaveLength(1);
      holder.close();
      expect(await system.producer.revoke(refOf(receipt), options)).toBe('revoked');
      expect(await left(system, receipt)).toEqual([]);
    },
    60_000,
  );
});
