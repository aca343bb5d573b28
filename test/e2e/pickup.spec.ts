import { describe, expect, it, jest } from '@jest/globals';
import { stored } from 'nest-dq/spec-support/stored.js';
import type { Stats } from 'nest-dq/src/beanstalk/connection.js';
import type { ClusterNode } from 'nest-dq/src/cluster/cluster-node.js';
import { eventually } from 'test-servers';
import { isEmpty, schedule, startOf, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';

const SLOTS = 50;
const TAKEN = 46;
const JOBS = 60;
/** One for control, three lanes of the tube, and four that it may share. */
const MOST_CONNECTIONS = 8;

const suite = clusterSuite();

/** The connections that a node has, without the one that asks. */
async function connections(node: ClusterNode): Promise<number> {
  const connection = node.connectLane(() => undefined)!;
  const stats = await connection.ask<Stats>((done) => connection.stats(done));
  connection.close();
  return Number(stats['current-connections']) - 1;
}

describe('a consumer most of whose slots are taken by long handlers', () => {
  it('picks up each new job, over eight connections a node at most, and asks the ledger about no backup', async () => {
    const tube = 'pickup';
    const starts: Start[] = [];
    const ends: (() => void)[] = [];
    const one = suite.start({ advanced: { backupDelay: 60_000 } });
    const claim = jest.spyOn(one.ledger.tube(stored(tube)), 'claim');
    await one.consumer.consume(
      tube,
      (payload: { i: number; long?: boolean }, job) => {
        starts.push(startOf(job));
        if (payload.long) return new Promise<void>((resolve) => ends.push(resolve));
        return undefined;
      },
      { concurrency: SLOTS },
    );
    for (let i = 0; i < TAKEN; i++) await one.producer.now(tube, { i, long: true });
    await eventually('the long handlers run', () => ends.length === TAKEN);
    let most = 0;
    for (let i = 0; i < JOBS; i++) {
      const { id } = await one.producer.now(tube, { i });
      await eventually('it was picked up', () => starts.some((start) => start.id === id));
      // One by one: the connections that ask do not meet, and each is gone before the next.
      for (const node of one.nodes) most = Math.max(most, await connections(node));
    }
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(MOST_CONNECTIONS + 1); // a connection that asked may not be gone yet
    await eventually('all that asked are gone', async () => {
      const counts = await Promise.all(one.nodes.map(connections));
      return counts.every((count) => count <= MOST_CONNECTIONS);
    });
    for (const end of ends) end();
    await eventually('no copy is left', () => isEmpty(one, tube));
    expect(new Set(starts.map(({ id }) => id)).size).toBe(TAKEN + JOBS);
    expect(starts.filter(({ copy, attempt }) => copy !== 0 || attempt !== 1)).toEqual([]);
    const claimed = claim.mock.calls.flatMap(([requests]) => requests.map(({ id }) => id));
    expect(claimed).toHaveLength(TAKEN + JOBS);
  }, 120_000);

  it('notices new jobs on every node, even with fewer slots than nodes', async () => {
    const tube = 'one-slot';
    const starts: Start[] = [];
    const one = suite.start({ advanced: { backupDelay: 60_000 } });
    await one.consumer.consume(tube, (_payload, job) => void starts.push(startOf(job)), { concurrency: 1 });
    for (let i = 1; i <= 12; i++) {
      await schedule(one, tube, 1, () => Date.now());
      await eventually('it ran', () => starts.length === i);
    }
    // With backups a minute away each came from its primary, on whichever node that was.
    expect(starts.filter(({ copy }) => copy !== 0)).toEqual([]);
    await eventually('no copy is left', () => isEmpty(one, tube));
  }, 60_000);
});
