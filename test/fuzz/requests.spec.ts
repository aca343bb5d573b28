// Requests of a browser to the dashboard: checked values, or one error.
import { describe, expect } from '@jest/globals';
import fc from 'fast-check';
import {
  flag,
  Input,
  JOB_FIELDS,
  jobRef,
  number,
  span,
  text,
  time,
  times,
} from 'nest-dq/src/dashboard/input.js';
import { refIn } from 'nest-dq/src/dashboard/reads.js';
import { DqError } from 'nest-dq/src/errors.js';
import { damaged, holds, thrownBy } from './holds.js';

const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    '',
    '5',
    '1e9',
    '15m',
    '99999999999d',
    '2030-01-31T12:00:00Z',
    '9999-99-99T99:99Z',
    '2030-01-31T12:00:00+99:99',
  ),
  damaged(fc.constantFrom('2030-01-31T12:00:00.5+01:00,2031-01-31T12:00:00Z', '10 minutes', '42')),
);

describe('the fields of a request', () => {
  holds('are what was expected, or refused in one way', anything, (given) => {
    for (const read of [text, number, time, times, span, flag]) {
      const error = thrownBy(() => new Input('the query', { a: given }, ['a']).part('a', read as never));
      if (error === undefined) continue;
      expect(error).toBeInstanceOf(DqError);
      expect(['DQ_BAD_OPTION', 'DQ_BAD_TIME', 'DQ_BAD_DURATION']).toContain((error as DqError).code);
      expect((error as Error).message.length).toBeLessThan(1_000);
    }
  });

  const fields = fc.dictionary(fc.constantFrom(...JOB_FIELDS, '__proto__', 'more'), anything);
  holds('name a job, or are refused in one way', fc.oneof(fields, anything), (given) => {
    const error = thrownBy(() => jobRef(new Input('the query', given, JOB_FIELDS), 'p.'));
    if (error === undefined) return;
    expect(['DQ_BAD_OPTION', 'DQ_BAD_REF', 'DQ_BAD_TUBE']).toContain((error as DqError).code);
  });

  holds(
    'may have a reference in what a person pastes',
    damaged(fc.jsonValue().map((each) => JSON.stringify({ ref: each }))),
    (given) => {
      expect(['string', 'undefined']).toContain(typeof refIn(given));
    },
  );
});
