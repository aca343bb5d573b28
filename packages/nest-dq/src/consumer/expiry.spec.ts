import { describe, expect, it } from '@jest/globals';
import { Again } from '../api/outcome.js';
import type { HandlerOptions } from '../api/job.js';
import { NONE, clock, consumingInEachTest, world } from '../../spec-support/consuming.js';
import { stored } from '../../spec-support/stored.js';

consumingInEachTest();

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const at = () => world.ledger.tube(stored('tube')).now();

/** A process that notes the attempts it starts, and the jobs that expire there. */
async function noting(options?: HandlerOptions, act: () => unknown = () => undefined) {
  const process = world.process();
  const runs: { id: string; attempt: number; at: number }[] = [];
  const expired: string[] = [];
  process.events.on('expired').subscribe(({ id }) => expired.push(id));
  const dead: string[] = [];
  process.events.on('dead').subscribe(({ letter }) => dead.push(`${letter.id} ${letter.why}`));
  await process.consume((_payload, { id, attempt }) => {
    runs.push({ id, attempt, at: at() });
    return act();
  }, options);
  return { process, runs, expired, dead };
}

describe('a job that expires', () => {
  it('never starts after it, ends once, and leaves no copy', async () => {
    const late = await world.add(0, { expireAfter: '10s' });
    const fixed = await world.add(0, { expireAt: new Date(at() + 10 * SECOND), key: 'k' });
    const patient = await world.add(0, { expireAfter: '10m' });
    await clock.advance(11 * SECOND);
    const { runs, expired, process } = await noting();
    await clock.advance(10 * SECOND);
    expect(runs.map(({ id }) => id)).toEqual([patient.id]);
    expect(expired.toSorted()).toEqual([late.id, fixed.id].toSorted());
    expect(process.events.tally.take().get('tube')?.at(-1)).toBe(2);
    expect(await world.producer.find(late)).toMatchObject({ state: 'expired', attempt: 0 });
    expect(await world.copies()).toEqual(NONE);
  });

  it('runs in time, and a run that has begun continues', async () => {
    const { runs, expired } = await noting(
      undefined,
      () => new Promise((resolve) => void clock.after(MINUTE, () => resolve(undefined))),
    );
    const job = await world.add(SECOND, { expireAfter: 20 });
    await clock.advance(2 * MINUTE);
    expect(runs).toHaveLength(1);
    expect(expired).toEqual([]);
    expect(await world.producer.find(job)).toMatchObject({ state: 'done' });
  });

  it('has no retry after it, and ends when it expires, not when its retry would be due', async () => {
    const { runs, expired } = await noting({ backoff: { type: 'fixed', delay: '40s', jitter: 0 } }, () => {
      throw new Error('no');
    });
    const job = await world.add(0, { expireAfter: '1m' });
    await clock.advance(41 * SECOND);
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
    await clock.advance(20 * SECOND);
    expect(expired).toEqual([job.id]);
    expect(await world.producer.find(job)).toMatchObject({ state: 'expired', attempt: 2 });
  });

  it('has the expiry of its handler if it has none of its own', async () => {
    const own = await world.add(0, { expireAfter: '1h' });
    const none = await world.add(0);
    await clock.advance(MINUTE);
    const { runs, expired } = await noting({ expireAfter: '30s' });
    await clock.advance(SECOND);
    expect(runs.map(({ id }) => id)).toEqual([own.id]);
    expect(expired).toEqual([none.id]);
  });

  it('becomes a dead letter if its handler asks for that', async () => {
    const job = await world.add(0, { expireAfter: 5 });
    await clock.advance(SECOND);
    const { dead, expired } = await noting({ onExpired: 'letter' });
    await clock.advance(6 * SECOND);
    expect(dead).toEqual([`${job.id} expired`]);
    expect(expired).toEqual([]);
    expect(await world.producer.find(job)).toMatchObject({ state: 'dead' });
    expect(await world.copies()).toEqual({ ...NONE, buried: 3 });
  });

  it('counts from the new due time when it is moved, unless it is fixed', async () => {
    const { runs } = await noting();
    const job = await world.add(MINUTE, { expireAfter: SECOND });
    const fixed = await world.add(MINUTE, { expireAt: new Date(at() + 2 * MINUTE) });
    const moving = world.producer.reschedule(job, { delay: '5m' });
    const refused = world.producer.reschedule(fixed, { delay: '5m' }).catch((error: unknown) => error);
    await world.settle();
    expect(await moving).toBe('rescheduled');
    expect(await refused).toMatchObject({
      code: 'DQ_BAD_OPTION',
      message: expect.stringContaining('`expireAt` is'),
    });
    await clock.advance(6 * MINUTE);
    expect(runs.map(({ id }) => id)).toEqual([fixed.id, job.id]);
  });

  it('counts again for each occurrence of a job that runs again', async () => {
    let left = 2;
    const { runs, expired } = await noting(undefined, () => (left-- > 0 ? Again.after('1m') : undefined));
    await world.add(0, { expireAfter: SECOND });
    await clock.advance(3 * MINUTE);
    expect(runs).toHaveLength(3);
    expect(expired).toEqual([]);
  });

  it('starts no granted run that had to wait for the event loop until then, and ends it', async () => {
    const { runs, expired } = await noting({ concurrency: 2 }, () => clock.stall(6 * SECOND));
    await world.add(SECOND, { expireAfter: '5s' });
    await world.add(SECOND, { expireAfter: '5s' });
    await clock.advance(MINUTE);
    expect(runs).toHaveLength(1);
    expect(expired).toHaveLength(1);
    expect(runs.map(({ id }) => id)).not.toEqual(expired);
  });

  it('is refused if it would expire before it is due', async () => {
    await expect(
      world.producer.delay('tube', {}, '1h', { expireAt: new Date(at() + MINUTE) }),
    ).rejects.toThrow(/DQ_BAD_OPTION: `expireAt` is .*, but the job is due at .*: expected a later time/);
  });
});
