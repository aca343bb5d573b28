// A confirmed revoke deletes every copy in reach, also one that its process cannot read or whose node it knows by another name.
import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { countCopies } from '../support/copies.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

const suite = clusterSuite();
const [k1, k2] = [randomBytes(32), randomBytes(32)];
const sealed = { keys: { k1, k2 }, current: 'k2' };

it.each([
  ['with all keys', { seal: sealed }],
  ['without the key of the copies', { seal: { keys: { k1 }, current: 'k1' } }],
  ['without a seal', {}],
] as const)('by a process %s, after the nodes were restarted', async (name, options) => {
  const adder = suite.start({ seal: sealed });
  const revoker = suite.start({ consume: false, ...options });
  await expectDeleted(`sealed-${name.replaceAll(' ', '-')}`, adder, revoker);
});

it('by a process that knows the nodes by other names, after they were restarted', async () => {
  const adder = suite.start();
  const beanstalks = suite.servers.beanstalkds.map(({ port }) => `localhost:${port}`);
  const revoker = suite.start({ consume: false, beanstalks });
  await expectDeleted('other-names', adder, revoker);
});

async function expectDeleted(tube: string, adder: System, revoker: System): Promise<void> {
  const up = () =>
    eventually('all nodes are up', () =>
      [adder, revoker].every(({ nodes }) => nodes.every((node) => node.up)),
    );
  await up();
  await adder.producer.delay(tube, 'by key', '1h', { key: 'k' });
  await adder.producer.delay(tube, 'by list', '1h');
  await eventually('it is listed', async () => (await adder.inspector.tube(tube)).listed === 2);
  for (const node of suite.servers.beanstalkds) {
    await node.kill();
    await eventually('the node is away', () =>
      [adder, revoker].every(({ nodes }) => nodes.some((each) => !each.up)),
    );
    await node.restart();
    await up();
  }
  await expect(revoker.producer.revoke({ tube, key: 'k' }, { confirmed: true })).resolves.toBe('revoked');
  for await (const progress of revoker.control.revokeMany(tube, {})) expect(progress.failed).toBe(0);
  const left = await Promise.all(adder.nodes.map((node) => countCopies(node, tube)));
  expect(left).toEqual(left.map(() => 0));
}
