import { describe, expect, it } from '@jest/globals';
import { groupOf, messagePattern } from './letter-group.js';

describe('the pattern of a message', () => {
  it.each([
    ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED …'],
    ['timeout of 2500ms exceeded, 1.5 s late', 'timeout of …ms exceeded, … s late'],
    ['order 3f2504e0-4f89-11d3-9a0c-0305e82c3301 has no user', 'order … has no user'],
    ['job 01M830FZK09G9AGMA4SY76X3DT is gone', 'job … is gone'],
    ['commit 3f9a1c0 is unknown', 'commit … is unknown'],
    ['invoice-42 of "Ann" and `Bob"s`', 'invoice-… of "…" and `…`'],
    ["can't read 'id' of 'x y'; it won't work", "can't read '…' of '…'; it won't work"],
    ['no such mailbox: ann+1@gone.example', 'no such mailbox: …'],
    ['GET https://shop.example/orders/7?x=1 failed', 'GET … failed'],
    ['at 2026-11-28T09:34:27Z', 'at …T…Z'],
    ['550 no such mailbox', '550 no such mailbox'],
    ['Request failed with status code 503', 'Request failed with status code 503'],
    ['HTTP 404: no order 404', 'HTTP 404: no order …'],
    ['statusCode=500', 'statusCode=500'],
    ['\n  first  line\nsecond line 7', 'first line'],
    ['', ''],
  ])('%j is %j', (message, pattern) => {
    expect(messagePattern(message)).toBe(pattern);
  });

  it('is short, even if the message is not', () => {
    expect(messagePattern('no such mailbox '.repeat(10_000))).toHaveLength(200);
    expect(messagePattern('a1'.repeat(1_000_000))).toBe('…');
    expect(messagePattern(`${'a@'.repeat(100_000)} "'`).length).toBeLessThanOrEqual(200);
  });
});

describe('the group of a letter', () => {
  it('is the name of its error and the pattern of its message', () => {
    const error = { name: 'PayError', message: 'order 42 has no card' };
    expect(groupOf({ why: 'attempts', error })).toBe('PayError: order … has no card');
    expect(groupOf({ why: 'attempts', error: { name: '', message: '' } })).toBe(': ');
  });

  it('is its cause of death if it has no error', () => {
    expect(groupOf({ why: 'stale' })).toBe('stale');
  });
});
