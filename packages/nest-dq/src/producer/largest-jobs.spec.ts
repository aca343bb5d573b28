import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { JobOptions, JobReceipt } from '../api/job.js';
import { DqError } from '../errors.js';
import { embedded } from '../../spec-support/producing.js';
import { Seal } from '../seal/seal.js';

const HOUR = 3_600_000;

/** Options that a header stores, and whether the job is sealed. */
const KINDS: [string, JobOptions, boolean][] = [
  ['plain', {}, false],
  ['keyed', { key: 'k' }, false],
  ['with all options', { key: 'ä"', priority: 'low', attempts: 7, headers: { a: 'ü' }, group: 'g' }, false],
  ['sealed plain', {}, true],
  ['sealed keyed', { key: 'k' }, true],
];

const seal = new Seal(
  { encrypt: true, acceptsUnsealed: false, unsealed: new Set() },
  { keys: new Map([['new', randomBytes(32)]]), current: 'new' },
);

async function world(isSealed: boolean) {
  const system = await embedded();
  if (isSealed) Object.assign(system.cluster.settings, { seal });
  return system;
}

/** Adds the job with the largest payload that is accepted. */
async function addLargest(
  { producer, cluster }: Awaited<ReturnType<typeof world>>,
  options: JobOptions,
): Promise<JobReceipt> {
  let largest: JobReceipt | undefined;
  let [fits, fails] = [0, cluster.maxJobSize];
  while (fails - fits > 1) {
    const size = Math.floor((fits + fails) / 2);
    const payload = Buffer.alloc(size, 'x');
    try {
      largest = await producer.delay('t', payload, HOUR, options);
      fits = size;
    } catch (error) {
      if (!(error instanceof DqError && error.code === 'DQ_BAD_PAYLOAD')) throw error;
      fails = size;
    }
  }
  return largest!;
}

describe.each(KINDS)('the largest job that is accepted, %s,', (_kind, options, isSealed) => {
  it('can be moved, again and again', async () => {
    const system = await world(isSealed);
    const receipt = await addLargest(system, options);
    for (const hours of [2, 3]) {
      await system.clock.advance(1);
      expect(await system.producer.reschedule(receipt, { delay: hours * HOUR })).toBe('rescheduled');
    }
  });

  it('can be moved to a time with fewer digits, and back', async () => {
    const system = await world(isSealed);
    const { producer, clock } = system;
    const receipt = await addLargest(system, options);
    await clock.advance(1);
    const longAgo = Date.UTC(1980, 0, 1);
    expect(await producer.reschedule(receipt, longAgo, { allowPast: true })).toBe('rescheduled');
    await clock.advance(1);
    expect(await producer.reschedule(receipt, { delay: HOUR })).toBe('rescheduled');
  });
});
