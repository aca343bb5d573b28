import { expect, it } from '@jest/globals';
import { DqError } from '../../errors.js';
import { refusal } from './doctor.js';

const down = (fact: string) => new DqError('DQ_LEDGER_DOWN', fact);

it('a Redis that ended while it was checked is to be started, and not given permissions', () => {
  expect(refusal(down('Redis is not connected: connect ECONNREFUSED 127.0.0.1:1'))).toEqual({
    level: 'failure',
    about: 'redis',
    fact: 'answers no more: connect ECONNREFUSED 127.0.0.1:1',
    advice: expect.stringMatching(/^start it, or check its address/),
  });
});

it('a Redis that refuses the scripts needs permissions', () => {
  expect(refusal(down('Redis answered with an error: NOPERM this user has no permissions'))).toMatchObject({
    fact: expect.stringMatching(/^answers, but nest-dq's scripts fail: .*NOPERM/),
    advice: expect.stringMatching(/^check the permissions of its user/),
  });
});
