import { describe, expect, it } from '@jest/globals';
import type { When } from 'nest-handlers/time';
import { joined } from '../../spec-support/other-process.js';
import { embedded, failure } from '../../spec-support/producing.js';

const HOUR = 3_600_000;

describe('pause and resume', () => {
  it('return the pause, and are reported with the tube without its prefix', async () => {
    const { control, clock, events, producer } = await embedded(3, 'app.');
    await producer.delay('t', 1, '1d');
    const told = events.collect('operated');
    const since = new Date(clock.wall());
    expect(await control.pause('t', { by: 'ann' })).toEqual({ since });
    await clock.advance(1_000);
    const until = new Date(clock.wall() + HOUR);
    expect(await control.pause('t', { until, by: 'ann' })).toEqual({ since, until });
    expect(await control.resume('t', { by: 'bob' })).toEqual({ ended: { since, until } });
    expect(await control.resume('t', { by: 'bob' })).toEqual({});
    const on = { tube: 't' };
    expect(told).toEqual([
      { by: 'ann', act: 'pause', on, count: 1 },
      { by: 'ann', act: 'pause', on, count: 1 },
      { by: 'bob', act: 'resume', on, count: 1 },
      { by: 'bob', act: 'resume', on, count: 0 },
    ]);
  });

  it('report a tube without a consumer and a job as unknown', async () => {
    const world = await embedded();
    const { control, clock, producer } = world;
    expect(await control.pause('tpyo')).toEqual({ since: new Date(clock.wall()), unknown: true });
    expect('unknown' in (await control.resume('tpyo'))).toBe(false);
    expect(await control.resume('tpyo')).toEqual({ unknown: true });
    await producer.delay('has.jobs', 1, '1h');
    joined(world, { tube: 'has.handler' });
    for (const tube of ['has.jobs', 'has.handler']) {
      expect(await control.resume(tube)).toEqual({});
      expect(await control.pause(tube)).toEqual({ since: expect.any(Date) });
    }
  });

  it('refuse an end in the past, and change nothing', async () => {
    const { control, clock, events } = await embedded();
    const told = events.collect('operated');
    const over = { until: clock.wall() - 1 };
    const message = /^DQ_PAST_TIME: `until` is 20.+Z, but it is already 20.+Z: expected a later time$/;
    expect((await failure(control.pause('t', over))).message).toMatch(message);
    expect(await control.resume('t')).toEqual({ unknown: true });
    const { since } = await control.pause('t');
    expect((await failure(control.pause('t', over))).message).toMatch(message);
    expect(await control.resume('t')).toEqual({ ended: { since } });
    expect(told.map(({ act }) => act)).toEqual(['resume', 'pause', 'resume']);
  });

  it.each([
    [{ until: 'tomorrow' }, 'DQ_BAD_TIME'],
    [{ until: 9e15 }, 'DQ_TOO_FAR: `until` is 9000000000000000 ms since 1970: expected +275760'],
    [{ till: 1 }, 'DQ_BAD_OPTION: unknown "till" in the pause options'],
    [{ by: '' }, 'DQ_BAD_OPTION: `by` is'],
    [{ patience: 'long' }, 'DQ_BAD_DURATION'],
  ])('refuse %j', async (options, message) => {
    const { control } = await embedded();
    const error = await failure(control.pause('t', options as { until?: When }));
    expect(error.message).toContain(message);
    expect(await control.resume('t')).toEqual({ unknown: true });
  });

  it('refuse an invalid tube, and a closed module', async () => {
    const { control, producer } = await embedded();
    expect((await failure(control.pause('no tube'))).code).toBe('DQ_BAD_TUBE');
    expect((await failure(control.resume('no tube'))).code).toBe('DQ_BAD_TUBE');
    await producer.close();
    expect((await failure(control.pause('t'))).message).toContain(
      'DQ_CLOSED: the module is closed; no job can be added or changed',
    );
    expect((await failure(control.resume('t'))).code).toBe('DQ_CLOSED');
  });
});
