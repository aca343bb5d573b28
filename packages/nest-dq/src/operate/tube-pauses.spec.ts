import { describe, expect, it } from '@jest/globals';
import type { When } from 'nest-handlers/time';
import { embedded, failure } from '../../spec-support/producing.js';

const HOUR = 3_600_000;

describe('pause and resume', () => {
  it('say the pause, and are told with the tube without its prefix', async () => {
    const { control, clock, events } = await embedded(3, 'app.');
    const told = events.collect('operated');
    const since = new Date(clock.wall());
    expect(await control.pause('t', { by: 'ann' })).toEqual({ since });
    await clock.advance(1_000);
    const until = new Date(clock.wall() + HOUR);
    expect(await control.pause('t', { until, by: 'ann' })).toEqual({ since, until });
    expect(await control.resume('t', { by: 'bob' })).toEqual({ since, until });
    expect(await control.resume('t', { by: 'bob' })).toBeUndefined();
    const on = { tube: 't' };
    expect(told).toEqual([
      { by: 'ann', act: 'pause', on, count: 1 },
      { by: 'ann', act: 'pause', on, count: 1 },
      { by: 'bob', act: 'resume', on, count: 1 },
      { by: 'bob', act: 'resume', on, count: 0 },
    ]);
  });

  it('refuse an end that is over, and change nothing', async () => {
    const { control, clock, events } = await embedded();
    const told = events.collect('operated');
    const over = { until: clock.wall() - 1 };
    const message = /^DQ_PAST_TIME: `until` is 20.+Z, and it is 20.+Z: expected a later time$/;
    expect((await failure(control.pause('t', over))).message).toMatch(message);
    expect(await control.resume('t')).toBeUndefined();
    const pause = await control.pause('t');
    expect((await failure(control.pause('t', over))).message).toMatch(message);
    expect(await control.resume('t')).toEqual(pause);
    expect(told.map(({ act }) => act)).toEqual(['resume', 'pause', 'resume']);
  });

  it.each([
    [{ until: 'tomorrow' }, 'DQ_BAD_TIME'],
    [{ until: 9e15 }, 'DQ_TOO_FAR: `until` is 9000000000000000 ms since 1970: expected +275760'],
    [{ till: 1 }, 'DQ_BAD_OPTION: there is no "till" in the pause options'],
    [{ by: '' }, 'DQ_BAD_OPTION: `by` is'],
    [{ patience: 'long' }, 'DQ_BAD_DURATION'],
  ])('refuse %j', async (options, message) => {
    const { control } = await embedded();
    const error = await failure(control.pause('t', options as { until?: When }));
    expect(error.message).toContain(message);
    expect(await control.resume('t')).toBeUndefined();
  });

  it('refuse a tube that cannot be, and a module that is closed', async () => {
    const { control } = await embedded();
    expect((await failure(control.pause('no tube'))).code).toBe('DQ_BAD_TUBE');
    expect((await failure(control.resume('no tube'))).code).toBe('DQ_BAD_TUBE');
    control.close();
    expect((await failure(control.pause('t'))).message).toContain(
      'DQ_CLOSED: the module is closed, so nothing can be steered',
    );
    expect((await failure(control.resume('t'))).code).toBe('DQ_CLOSED');
  });
});
