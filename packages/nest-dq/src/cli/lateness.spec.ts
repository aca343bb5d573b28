import { expect, it } from '@jest/globals';
import type { Forecast } from '../operate/forecast.js';
import { latenessLines } from './lateness.js';

const at = (time: string) => new Date(`2030-01-01T${time}Z`);
const MINUTE = 60_000;

it.each<[Partial<Forecast>, string[]]>([
  [
    {
      capacity: { perMinute: 640, by: 'measured', at: at('18:04:00') },
      overdue: 12,
      late: [{ from: at('18:40:00'), to: at('19:20:00'), upTo: 12 * MINUTE }],
    },
    [
      'capacity 640 jobs a minute (measured at 2030-01-01T18:04:00Z)',
      'overdue now: 12',
      'late: 2030-01-01T18:40:00Z to 2030-01-01T19:20:00Z, up to 12m',
    ],
  ],
  [
    { capacity: { perMinute: 0.25, by: 'limit' } },
    ['capacity 0.3 jobs a minute (rate limit)', 'late: none by more than a minute'],
  ],
  [{}, []],
  [{ stopped: 'paused' }, ['paused: nothing runs until it is resumed']],
  [{ stopped: 'unconsumed' }, ['no process consumes it']],
])('says %j', (forecast, lines) => {
  expect(latenessLines({ overdue: 0, buckets: [], late: [], ...forecast })).toEqual(lines);
});
