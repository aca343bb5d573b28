import { expect, it } from '@jest/globals';
import { pauseUntil } from './pause-end.js';

const NOW = Date.parse('2026-05-05T12:00:00Z');

it('says until when a tube is paused, by the time of the server', () => {
  expect(pauseUntil('resumed', '', NOW)).toEqual({});
  expect(pauseUntil('quarter', '', NOW)).toEqual({ until: '2026-05-05T12:15:00.000Z' });
  expect(pauseUntil('hour', '', NOW)).toEqual({ until: '2026-05-05T13:00:00.000Z' });
  expect(pauseUntil('at', '2026-05-06T08:00', NOW)).toEqual({
    until: new Date('2026-05-06T08:00').toISOString(),
  });
  expect(pauseUntil('at', '', NOW)).toBeUndefined();
});
