import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { stored } from 'nest-dq/spec-support/stored.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobReceipt } from 'nest-dq/src/api/job.js';
import { eventually } from 'test-servers';
import { isEmpty, record, schedule, type Start } from '../support/jobs.js';
import { BlockingProcess } from '../support/blocked-process.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf, type System } from '../support/system.js';

/** Milliseconds. Longer than the least, so that a busy machine's threads get their turn within it. */
const LEASE = 5_000;

const suite = clusterSuite();
let tubes = 0;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'blocking-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface Blocked {
  readonly tube: string;
  readonly receipt: JobReceipt;
  readonly blocked: BlockingProcess;
  /** Another process, which would run the job. */
  readonly other: System;
  readonly others: Start[];
}

/** A job that runs in a blocked process, while all of its copies come to another one. */
async function blockedInAJob({
  withoutLeaseThread,
  freeze,
}: { withoutLeaseThread?: boolean; freeze?: boolean } = {}): Promise<Blocked> {
  const tube = `blocked-${tubes++}`;
  const others: Start[] = [];
  const other = suite.start({ advanced: { lease: LEASE } });
  const { host, port } = suite.servers.redis;
  const options = { ...optionsOf(suite.servers), redis: { host, port }, advanced: { lease: LEASE } };
  const blocked = new BlockingProcess(tube, options, join(folder, 'go-on'), withoutLeaseThread);
  const [receipt] = await schedule(other, tube, 1, () => Date.now());
  await eventually('it runs', () => blocked.starts.length === 1);
  if (freeze) blocked.freeze();
  // A blocked process holds the copy that it runs, and takes backups too: its connections last. Not these.
  await Promise.all(suite.servers.beanstalkds.map((beanstalkd) => beanstalkd.restart()));
  await record(other, tube, others);
  return { tube, receipt: receipt!, blocked, other, others };
}

async function expectTakeover({ tube, receipt, blocked, other, others }: Blocked): Promise<void> {
  await eventually('another runs it', () => others.length === 1);
  expect(blocked.ends).toEqual([]);
  expect(others).toMatchObject([{ id: receipt.id, attempt: 2 }]);
  expect(others[0]!.fence).toBeGreaterThan(blocked.starts[0]!.fence);
  blocked.thaw();
  await blocked.release();
  await eventually('its outcome is refused', () => blocked.lostItsLease);
  await eventually('no copy is left', () => isEmpty(other, tube));
  expect([blocked.starts.length, others.length]).toEqual([1, 1]);
}

describe('a process whose event loop is blocked for longer than its lease', () => {
  it('keeps its job: nobody else starts it, and its outcome counts', async () => {
    const { tube, receipt, blocked, other, others } = await blockedInAJob();
    const since = Date.now();
    await eventually('a lease would be over, twice', () => Date.now() - since > 2.5 * LEASE);
    await blocked.release();
    await eventually('it ended', () => blocked.ends.length === 1);
    await eventually('no copy is left', () => isEmpty(other, tube));
    await expect(other.producer.revoke(receipt)).resolves.toBe('done');
    expect(blocked.starts).toMatchObject([{ id: receipt.id, attempt: 1 }]);
    expect(others).toEqual([]);
    expect(blocked.lostItsLease).toBe(false);
  }, 120_000);

  it('loses its job where there is no lease thread, and logs that', async () => {
    const job = await blockedInAJob({ withoutLeaseThread: true });
    await expectTakeover(job);
    expect(job.blocked.warnings).toContainEqual(expect.stringContaining('`natMap` is a function'));
  }, 120_000);

  it('loses its job where it is stopped with all of its threads', async () => {
    await expectTakeover(await blockedInAJob({ freeze: true }));
  }, 120_000);
});

describe('a call to the ledger that is in flight while the event loop is blocked', () => {
  it.each([1_500, 4_000])('is answered after %d ms, and Redis is not taken for away', async (duration) => {
    const one = suite.start();
    const ledger = one.ledger.tube(stored('in-flight'));
    await ledger.readTime();
    const call = ledger.find(['01ARZ3NDEKTSV4RRFFQ69G5FAV']);
    await Promise.resolve(); // it is sent
    const end = performance.now() + duration;
    while (performance.now() < end);
    await expect(call).resolves.toEqual([undefined]);
    expect(one.log.filter((line) => line.includes('Redis'))).toEqual([]);
  });
});
