import { describe, expect, it } from '@jest/globals';
import type { PutFailure } from 'nest-dq/src/cluster/cluster-node.js';
import { eventually } from 'test-servers';
import { isEmpty } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';

/** Milliseconds: however slow the machine is, no call gives up. */
const PATIENCE = 90_000;

const suite = clusterSuite();

/** As a loop over many jobs does. */
function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('a burst', () => {
  it('of adds with keys, and then of revokes, is accepted as a whole however large', async () => {
    const system = suite.start({ patience: PATIENCE });
    const { producer } = system;
    const numbers = Array.from({ length: 20_000 }, (_, n) => n);
    const adds = numbers.map((n) => producer.delay('burst', n, '1h', { key: `order-${n}` }));
    const receipts = await Promise.all(adds);
    expect(receipts.filter(({ copies }) => copies < 2)).toEqual([]);
    const results = await Promise.all(receipts.map((receipt) => producer.revoke(receipt)));
    expect(new Set(results)).toEqual(new Set(['revoked']));
    await eventually('no copy is left', () => isEmpty(system, 'burst'));
  }, 120_000);

  it('that blocks the event loop before the nodes are connected does not make them look silent', async () => {
    const putWhileBlocked = () =>
      new Promise<PutFailure | undefined>((resolve) => {
        const [node] = suite.start().nodes;
        node!.put({ tube: 'early', body: ['early'], priority: 1, delay: () => 0, done: resolve });
        blockEventLoop(1_500);
      });
    // A busy machine may need longer than a node's time once, but not every time.
    await eventually('it is stored', async () => (await putWhileBlocked()) === undefined);
  });
});
