import { describe, expect, it } from '@jest/globals';
import { DqError } from 'nest-dq/src/errors.js';
import { parseRef } from 'nest-dq/src/copies/job-ref.js';
import type { JobReceipt } from 'nest-dq/src/api/job.js';
import { eventually } from 'test-servers';
import { countCopies } from '../support/copies.js';
import type { System } from '../support/system.js';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();
let tubes = 0;

/** A process whose nodes are all up, and a tube of its own. It tries nothing again that the nodes do not take. */
async function started(): Promise<System & { readonly tube: string }> {
  const system = suite.start({ patience: 0 });
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
  return { ...system, tube: `down${tubes++}` };
}

const copies = async ({ nodes }: System, tube: string): Promise<number[]> =>
  Promise.all(nodes.map((node) => countCopies(node, tube)));

const add = ({ producer }: System, tube: string, count: number): Promise<JobReceipt[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => producer.delay(tube, { i }, '1h')));

const revoke = async ({ producer }: System, receipts: readonly JobReceipt[]): Promise<string[]> => [
  ...new Set(await Promise.all(receipts.map(({ ref }) => producer.revoke(ref, { confirmed: true })))),
];

const copyIds = (receipts: readonly JobReceipt[]): string[] =>
  receipts.flatMap((receipt) =>
    parseRef(receipt, '').places.map(({ location }) => location.replace(/#.*:/, ' ')),
  );

describe('a cluster of three nodes', () => {
  it('names the nodes that are down when two are, leaves nothing behind, and recovers', async () => {
    const system = await started();
    const { producer, tube, nodes } = system;
    const down = suite.servers.beanstalkds.slice(1);
    await Promise.all(down.map((server) => server.kill()));
    try {
      for (let i = 0; i < 5; i++) {
        const error = await producer.delay(tube, { i }, '1h').then(
          () => undefined,
          (thrown: unknown) => thrown as DqError,
        );
        expect(error).toBeInstanceOf(DqError);
        expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
        const { nodes } = error!;
        for (const { endpoint } of down) expect(nodes![endpoint]).toMatch(/./);
        expect(Object.values(nodes!).filter((reason) => !reason.startsWith('not tried'))).toHaveLength(2);
        for (const { endpoint } of down) expect(error!.message).toContain(endpoint);
      }
      expect(await countCopies(nodes[0]!, tube)).toBe(0);
    } finally {
      await Promise.all(down.map((server) => server.restart()));
    }
    await eventually('all nodes are up again', () => nodes.every(({ up }) => up));
    const receipts = await add(system, tube, 10);
    expect(receipts.map((receipt) => receipt.copies)).toEqual(Array(10).fill(3));
    expect(await revoke(system, receipts)).toEqual(['revoked']);
  }, 60_000);

  it('takes back a node that was restarted with its binlog, and deletes its copies by their old places', async () => {
    const system = await started();
    const { tube, nodes } = system;
    const receipts = await add(system, tube, 50);
    expect(await copies(system, tube)).toEqual([50, 50, 50]);
    const instance = nodes[1]!.instance;
    await suite.servers.beanstalkds[1]!.kill();
    await suite.servers.beanstalkds[1]!.restart();
    await eventually('the node is another instance', () => {
      const now = nodes[1]!.instance;
      return now !== undefined && now !== instance;
    });
    expect(await copies(system, tube)).toEqual([50, 50, 50]);
    const more = await add(system, tube, 5);
    expect(more.map((receipt) => receipt.copies)).toEqual(Array(5).fill(3));
    expect(await revoke(system, [...receipts, ...more])).toEqual(['revoked']);
    expect(await copies(system, tube)).toEqual([0, 0, 0]);
  }, 60_000);

  it('deletes no innocent job where nodes came back empty and count from 1 again', async () => {
    const system = await started();
    const { tube, nodes } = system;
    await emptied(nodes);
    const old = await add(system, tube, 30);
    await emptied(nodes);
    const innocent = await add(system, tube, 40);
    const places = new Set(copyIds(innocent));
    expect(copyIds(old).filter((place) => !places.has(place))).toEqual([]);
    expect(await revoke(system, old)).toEqual(['revoked']);
    expect(await copies(system, tube)).toEqual([40, 40, 40]);
    expect(await revoke(system, innocent)).toEqual(['revoked']);
    expect(await copies(system, tube)).toEqual([0, 0, 0]);
  }, 60_000);
});

/** Every node comes back without its jobs, and counts from 1 again. */
async function emptied(nodes: System['nodes']): Promise<void> {
  const before = nodes.map(({ instance }) => instance);
  for (const server of suite.servers.beanstalkds) {
    await server.kill();
    await server.wipe();
    await server.restart();
  }
  await eventually('all nodes are other instances', () =>
    nodes.every(({ instance, up }, i) => up && instance !== before[i]),
  );
}
