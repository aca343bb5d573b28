import { expect, it } from '@jest/globals';
import { Discard } from 'nest-dq';
import { stored } from 'nest-dq/spec-support/stored.js';
import { eventually } from 'test-servers';
import { countCopies } from '../support/copies.js';
import { clusterSuite } from '../support/suite.js';

const TUBE = 'doomed';
const suite = clusterSuite();

it('the oldest of too many dead letters are removed from Redis, and their copies from the nodes', async () => {
  const first = suite.start();
  await first.consumer.consume(TUBE, () => Discard.because('it is the test’s wish'));
  const letters = () => first.ledger.tube(stored(TUBE)).letters({ limit: 100, after: undefined });
  const copies = async () => {
    const counts = await Promise.all(first.nodes.map((node) => countCopies(node, TUBE)));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  for (let i = 1; i <= 5; i++) {
    await first.producer.now(TUBE, { i });
    await eventually('it is dead', async () => (await letters()).letters.length === i);
  }
  const newest = (await letters()).letters.slice(0, 2).map(({ id }) => id);
  expect(await copies()).toBe(15);

  const second = suite.start();
  await second.consumer.consume(TUBE, () => undefined, { deadLetters: { maxCount: 2 } });
  await eventually('only the newest are left', async () => (await letters()).letters.length === 2);
  expect((await letters()).letters.map(({ id }) => id)).toEqual(newest);
  await eventually('the copies of the others are gone', async () => (await copies()) === 6);
  await eventually('the removal is logged', () => second.log.some((line) => line.startsWith('removed ')));
  expect(second.log.filter((line) => line.startsWith('removed '))).toEqual([
    'removed 3 dead letters of doomed and their copies: 0 older than `deadLetters.maxAge`, 3 beyond `deadLetters.maxCount`',
  ]);
}, 120_000);
