import { expect, it } from '@jest/globals';
import { runOf, tubeContext } from '../../spec-support/tube-context.js';
import { VirtualClock } from 'nest-handlers/testing';
import type { Delivery } from './reserve/delivery.js';
import { DEFAULT_HANDLER_SETTINGS } from './run/handler-settings.js';
import { loadOf } from './tube-consumer.js';

it('has the first hundred runs that take longer than a second, and none that have returned', async () => {
  const clock = new VirtualClock();
  const context = tubeContext(clock);
  const run = (id: string) => {
    const begun = runOf({ header: { id } } as Delivery);
    begun.startedAt = clock.now();
    context.runs.set(id, begun);
    return begun;
  };
  run('returned').hasSlot = false;
  for (let i = 0; i < 101; i++) run(`${i}`);
  await clock.advance(1);
  run('short');
  context.budget.handling = 102;
  await clock.advance(999);
  const load = loadOf(context, 7);
  expect(load).toMatchObject({ tube: 'tube', concurrency: 10, running: 102, held: 7 });
  expect(load.long.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, i) => `${i}`));
  expect(load.long[0]).toEqual({ id: '0', attempt: 2, runFor: 1_000 });
  context.runs.get('0')!.progress = { fraction: 0.5, at: 0 };
  expect(loadOf(context, 7).long[0]).toEqual({ id: '0', attempt: 2, runFor: 1_000, hasProgress: true });
});

it.each([
  [undefined, 'order-7'],
  [{ settings: { encrypt: false } }, 'order-7'],
  [{ settings: { encrypt: true } }, undefined],
])('has the key of a run, unless the cluster encrypts it: seal %j', async (seal, key) => {
  const clock = new VirtualClock();
  const cluster = { settings: { seal } } as never;
  const context = tubeContext(clock, { cluster });
  const begun = runOf({ header: { id: 'a', key: 'order-7' } } as Delivery);
  begun.startedAt = clock.now();
  context.runs.set('a', begun);
  await clock.advance(1_000);
  expect(loadOf(context, 0).long[0]?.key).toBe(key);
});

it('has the limits of the handler', () => {
  const limit = { rate: 5, per: 1_000, burst: 1 };
  const handling = { ...DEFAULT_HANDLER_SETTINGS, limit };
  expect(loadOf(tubeContext(new VirtualClock(), { handling }), 0).limits).toEqual(limit);
  expect(loadOf(tubeContext(new VirtualClock()), 0)).not.toHaveProperty('limits');
});

it('has how often the handler tries, and its backoff unless that is a function', () => {
  const { attempts, backoff } = DEFAULT_HANDLER_SETTINGS;
  expect(loadOf(tubeContext(new VirtualClock()), 0)).toMatchObject({ attempts, backoff });
  const handling = { ...DEFAULT_HANDLER_SETTINGS, attempts: 3, backoff: () => 5 };
  const load = loadOf(tubeContext(new VirtualClock(), { handling }), 0);
  expect(load.attempts).toBe(3);
  expect(load).not.toHaveProperty('backoff');
});
