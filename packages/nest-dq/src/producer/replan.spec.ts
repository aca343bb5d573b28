import { describe, expect, it } from '@jest/globals';
import { embedded } from '../../spec-support/producing.js';

const KEY = { tube: 't', key: 'k' };
const options = { key: 'k', headers: { plan: 'a', trace: '1' } };

describe('replan', () => {
  it('gives a job another time and other headers, and leaves it the rest of them, and its payload', async () => {
    const { producer, clock, copies } = await embedded();
    await producer.delay('t', 'payload', '1m', options);
    await clock.advance(1);
    const due = clock.wall() + 300_000;
    expect(await producer.replan(KEY, due, { plan: 'b' })).toBe('rescheduled');
    await clock.advance(0);
    expect(await producer.find(KEY)).toMatchObject({ state: 'waiting', dueAt: new Date(due) });
    expect(await producer.headersOf(KEY)).toEqual({ plan: 'b', trace: '1' });
    const stored = (await copies()).map(({ header, payload }) => [header.headers, payload]);
    expect(stored).toEqual(Array.from({ length: 3 }, () => [{ plan: 'b', trace: '1' }, 'payload']));
  });

  it('of a job that runs changes nothing', async () => {
    const { producer, copies, run, clock } = await embedded();
    await producer.now('t', 1, options);
    await run((await copies())[0]!);
    expect(await producer.replan(KEY, clock.wall() + 5, { plan: 'b' })).toBe('running');
    expect(await producer.headersOf(KEY)).toEqual(options.headers);
  });
});

describe('headersOf', () => {
  it('reads those of a job that was moved, by a reference from before', async () => {
    const { producer, clock } = await embedded();
    const receipt = await producer.delay('t', 1, '1m', options);
    await clock.advance(1);
    await producer.reschedule(receipt, { delay: '5m' });
    await clock.advance(0);
    expect(await producer.headersOf(receipt)).toEqual(options.headers);
  });

  it('knows a job without headers from one that is unknown, or out of reach', async () => {
    const { producer, cut, after } = await embedded();
    expect(await producer.headersOf(KEY)).toBeUndefined();
    await producer.delay('t', 1, '1m', { key: 'k' });
    expect(await producer.headersOf(KEY)).toEqual({});
    await cut(0, 1, 2);
    expect(await after(1_000, producer.headersOf(KEY))).toBeUndefined();
  });
});
