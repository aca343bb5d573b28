import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DqEventName } from '../../events/events.js';
import type { HandlerMethod, HandlerOptions } from '../../api/job.js';
import { Again, Discard, Retry } from '../../api/outcome.js';
import {
  clock,
  consumingInEachTest,
  forEver,
  world,
  type ConsumingProcess,
} from '../../../spec-support/consuming.js';

describe('the events of runs', () => {
  let process: ConsumingProcess;

  consumingInEachTest();
  beforeEach(() => {
    process = world.process();
  });

  const run = async (handler: HandlerMethod, options?: HandlerOptions) => {
    await process.consume(handler, { backoff: { type: 'fixed', delay: '5s', jitter: 0 }, ...options });
    const receipt = await world.add(3_000, { key: 'mine', headers: { tenant: 'a' } });
    await clock.advance(3_100);
    await world.settle();
    return receipt;
  };

  const names: DqEventName[] = ['started', 'late', 'completed', 'failed', 'dead'];
  const order = () => {
    const told: string[] = [];
    for (const name of names) process.events.on(name).subscribe(() => told.push(name));
    return told;
  };

  it('report a start, and a completion with the handler’s return value and duration', async () => {
    const told = order();
    const [started, completed] = [process.events.collect('started'), process.events.collect('completed')];
    let done!: (value: string) => void;
    const receipt = await run(() => new Promise((resolve) => (done = resolve)));
    expect(told).toEqual(['started']);
    await clock.advance(70);
    done('sent');
    await clock.advance(400);
    expect(told).toEqual(['started', 'completed']);
    expect(started[0]!.job).toMatchObject({
      id: receipt.id,
      key: 'mine',
      headers: { tenant: 'a' },
      attempt: 1,
    });
    const { job, took, result } = completed[0]!;
    expect([job, result]).toEqual([started[0]!.job, 'sent']);
    expect(took).toBeGreaterThanOrEqual(70);
    expect(took).toBeLessThan(400);
  });

  it('report a completion only once the ledger has taken it', async () => {
    const told = order();
    let done!: () => void;
    await run(() => new Promise<void>((resolve) => (done = resolve)));
    process.ledger.cut();
    done();
    await clock.advance(1_500);
    expect(told).toEqual(['started']);
    process.ledger.restore();
    await clock.advance(5_000);
    expect(told).toEqual(['started', 'completed']);
  });

  it.each([
    ['returned', () => Again.after('1h')],
    [
      'thrown',
      () => {
        throw Again.after('1h');
      },
    ],
  ])('report a completion when Again is %s', async (_how, handler) => {
    const told = order();
    const completed = process.events.collect('completed');
    await run(handler);
    expect(told).toEqual(['started', 'completed']);
    expect(completed[0]!.result).toBeInstanceOf(Again);
  });

  it('report a failure with its retry, and the last one without, before the death', async () => {
    const told = order();
    const [failed, dead] = [process.events.collect('failed'), process.events.collect('dead')];
    const receipt = await run(
      () => {
        throw new TypeError('no stock');
      },
      { attempts: 2 },
    );
    expect(told).toEqual(['started', 'failed']);
    const { job, error, retryAt, took } = failed[0]!;
    expect(error).toEqual(new TypeError('no stock'));
    expect([job.attempt, took]).toEqual([1, 0]);
    expect(retryAt!.getTime() - receipt.dueAt.getTime()).toBeGreaterThanOrEqual(5_000);
    await clock.advance(7_000);
    expect(told).toEqual(['started', 'failed', 'started', 'failed', 'dead']);
    expect(failed[1]).not.toHaveProperty('retryAt');
    const { letter } = dead[0]!;
    expect(letter).toMatchObject({
      id: receipt.id,
      tube: 'tube',
      key: 'mine',
      payload: { some: 'payload' },
      attempt: 2,
      why: 'attempts',
      error: { name: 'TypeError', message: 'no stock' },
    });
    expect(letter.diedAt.getTime()).toBeGreaterThanOrEqual(letter.dueAt.getTime());
    expect(await world.producer.find(letter.ref)).toMatchObject({ state: 'dead', id: receipt.id });
  });

  it.each<[string, HandlerMethod, string[]]>([
    ['Retry as a failure', () => Retry.after('5s'), ['started', 'failed']],
    ['Discard as a failure and a death', () => Discard.because('gone'), ['started', 'failed', 'dead']],
  ])('report %s', async (_what, handler, expected) => {
    const told = order();
    await run(handler);
    expect(told).toEqual(expected);
  });

  it('report a late start, by the limit of the hub', async () => {
    const told = order();
    await world.add(1_000);
    await clock.advance(30_000);
    await process.consume(() => undefined);
    await clock.advance(3_000);
    expect(told).toEqual(['started', 'late', 'completed']);
  });

  it('report the death of a job whose last runner died, without an error', async () => {
    const receipt = await run(forEver, { attempts: 1 });
    const other = world.process();
    const dead = other.events.collect('dead');
    await other.consume(() => undefined, { attempts: 1 });
    process.ledger.cut();
    await clock.advance(60_000);
    expect(dead).toMatchObject([
      { letter: { id: receipt.id, key: 'mine', payload: { some: 'payload' }, attempt: 1, why: 'attempts' } },
    ]);
    expect(dead[0]!.letter).not.toHaveProperty('error');
  });

  it('report only the start of a revoked run', async () => {
    const told = order();
    let done!: (error: Error) => void;
    const receipt = await run(() => new Promise((_resolve, reject) => (done = reject)));
    const revoked = world.producer.revoke(receipt, { abort: true });
    await clock.advance(6_000);
    expect(await revoked).toBe('running');
    done(Retry.after('1s'));
    await clock.advance(1_000);
    expect(told).toEqual(['started']);
  });

  it('are of the process that ran the job', async () => {
    const other = world.process().events.collect('started');
    const told = order();
    await run(() => undefined);
    expect([told, other]).toEqual([['started', 'completed'], []]);
  });

  it('change nothing when a listener throws', async () => {
    for (const name of names) {
      process.events.on(name).subscribe(() => {
        throw new Error('broken listener');
      });
    }
    const receipt = await run(() => 'fine');
    expect(await world.producer.find(receipt)).toMatchObject({ state: 'done' });
    expect(process.events.failures).toHaveLength(2);
  });
});
