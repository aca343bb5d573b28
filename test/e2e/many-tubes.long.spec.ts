import { describe, expect, it } from '@jest/globals';
import type { JobReceipt } from 'nest-dq/src/api/job.js';
import { eventually, nodeStats, type NodeStats } from 'test-servers';
import { expectOnceEach, startOf, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

/** One for control, and those that tubes share. */
const QUIET = 5;
/** Also of a process all of whose tubes are busy. */
const MOST = 50;
/** Time limit of a test, in ms. */
const LIMIT = 120_000;

const suite = clusterSuite();
let system: System;

const every = async (condition: (count: NodeStats) => boolean): Promise<boolean> =>
  (await Promise.all(suite.servers.beanstalkds.map(nodeStats))).every(condition);
const COPIES = ['ready', 'reserved', 'delayed', 'buried'].map((kind) => `current-jobs-${kind}`);

async function consume(tubes: readonly string[], starts: Start[]): Promise<void> {
  await Promise.all(
    tubes.map((tube) => system.consumer.consume(tube, (_payload, job) => void starts.push(startOf(job)))),
  );
}

const names = (count: number, prefix: string) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
const addTo = (tubes: readonly string[]): Promise<JobReceipt[]> =>
  Promise.all(tubes.map((tube) => system.producer.now(tube, {})));

describe('a process with many tubes', () => {
  it(
    'shares its connections between those that are quiet, and runs the jobs of all',
    async () => {
      system = suite.start();
      const starts: Start[] = [];
      const tubes = names(300, 'shared');
      await consume(tubes, starts);
      const receipts = [...(await addTo(tubes)), ...(await addTo(tubes.slice(100, 200)))];
      const [busy] = tubes;
      receipts.push(...(await addTo(Array.from({ length: 500 }, () => busy!))));
      await eventually('all have run', () => starts.length === receipts.length, LIMIT);
      receipts.push(...(await addTo(tubes)));
      await eventually('they have run again', () => starts.length === receipts.length, LIMIT);
      expectOnceEach(starts, receipts);
      await eventually('no copy is left', () => every((count) => COPIES.every((kind) => count(kind) === 0)));
      await eventually('those that were busy have given their connections back', () =>
        every((count) => count('current-connections') - 1 <= QUIET),
      );
    },
    2 * LIMIT,
  );

  it(
    'has at most 50 connections to a node while all of them are busy, and runs the jobs of all',
    async () => {
      system = suite.start();
      const starts: Start[] = [];
      const ends: (() => void)[] = [];
      const tubes = names(150, 'busy');
      await Promise.all(
        tubes.map((tube) =>
          system.consumer.consume(
            tube,
            (_payload, job) => {
              starts.push(startOf(job));
              return new Promise<void>((resolve) => ends.push(resolve));
            },
            { concurrency: 2 },
          ),
        ),
      );
      const receipts: JobReceipt[] = [];
      for (let round = 0; round < 6; round++) receipts.push(...(await addTo(tubes)));
      let most = 0;
      await eventually(
        'all have run',
        async () => {
          for (const end of ends.splice(0)) end();
          const counts = await Promise.all(suite.servers.beanstalkds.map(nodeStats));
          most = Math.max(most, ...counts.map((count) => count('current-connections') - 1));
          return starts.length === receipts.length;
        },
        LIMIT,
      );
      for (const end of ends) end(); // those that began after the last look
      expect(most).toBeGreaterThan(QUIET);
      expect(most).toBeLessThanOrEqual(MOST);
      expectOnceEach(starts, receipts);
      await eventually('no copy is left', () => every((count) => COPIES.every((kind) => count(kind) === 0)));
    },
    2 * LIMIT,
  );

  it(
    'runs the jobs of 200 tubes from nodes that may have 60 files open',
    async () => {
      await Promise.all(suite.servers.beanstalkds.map((node) => node.limitOpenFiles(60)));
      system = suite.start();
      const starts: Start[] = [];
      const tubes = names(200, 'limited');
      await consume(tubes, starts);
      const receipts: JobReceipt[] = [];
      for (let round = 0; round < 3; round++) receipts.push(...(await addTo(tubes)));
      await eventually('all have run', () => starts.length === receipts.length, LIMIT);
      expectOnceEach(starts, receipts);
    },
    2 * LIMIT,
  );
});
