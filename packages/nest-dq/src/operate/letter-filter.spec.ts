import { describe, expect, it } from '@jest/globals';
import { withDeadJobs } from '../../spec-support/dead-jobs.js';
import type { Death } from '../ledger/requests.js';
import type { BulkOptions } from './bulk.js';
import type { DeadLetterFilter } from './letter-filter.js';

const TIMEOUT: Death = { why: 'attempts', error: { name: 'DqError', message: 'DQ_TIMEOUT: too slow' } };
const GONE: Death = { why: 'discarded', error: { name: 'Discard', message: 'customer 42 is gone' } };
const CRASHED: Death = { why: 'attempts' };

describe('the filter of dead letters', () => {
  it.each<[string, DeadLetterFilter, string[]]>([
    ['nothing is given', {}, ['crashed', 'gone', 'timeout']],
    ['a reason is given', { why: 'attempts' }, ['crashed', 'timeout']],
    ['a part of the message is given', { error: 'is gone' }, ['gone']],
    ['the name of an error is given', { error: 'DqError' }, ['timeout']],
    ['upper and lower case differ', { error: 'IS Gone' }, ['gone']],
    ['a group is given', { group: 'Discard: customer … is gone' }, ['gone']],
    ['a group without an error is given', { group: 'attempts' }, ['crashed']],
    ['a part of a group is given', { group: 'Discard: customer' }, []],
    ['several things are given', { why: 'discarded', error: 'too slow' }, []],
  ])('means, if %s, the letters that meet it all', async (_case, filter, meant) => {
    const { control, addAndKill } = await withDeadJobs(0);
    await addAndKill(['timeout'], TIMEOUT);
    await addAndKill(['gone'], GONE);
    await addAndKill(['crashed'], CRASHED);
    const found: unknown[] = [];
    for await (const { examples, done } of control.discardMany('t', filter, { dryRun: true })) {
      found.push(...examples.map(({ payload }) => payload));
      expect(done).toBe(meant.length);
    }
    expect(found).toEqual(meant);
  });

  it('means the letters from its first time on, and none of its last time', async () => {
    const { control, letter } = await withDeadJobs(3);
    const [first, last] = [(await letter('0')).diedAt, (await letter('2')).diedAt];
    for await (const { examples } of control.discardMany(
      't',
      { diedFrom: first, diedTo: last },
      { dryRun: true },
    ))
      expect(examples.map(({ payload }) => payload)).toEqual(['1', '0']);
  });

  const DAY = new Date('2026-01-02');
  it.each<[unknown, unknown, RegExp]>([
    [undefined, {}, /^DQ_BAD_OPTION: the filter is undefined: expected an object; \{\} matches all letters$/],
    [null, {}, /^DQ_BAD_OPTION: the filter is null: expected an object/],
    ['all', {}, /^DQ_BAD_OPTION: the filter is "all": expected an object/],
    [
      { reason: 'x' },
      {},
      /^DQ_BAD_OPTION: unknown "reason" in the filter: expected one of diedFrom, diedTo, why/,
    ],
    [{ why: 'boredom' }, {}, /^DQ_BAD_OPTION: unknown `why` "boredom": expected one of attempts, discarded/],
    [{ why: 'toString' }, {}, /^DQ_BAD_OPTION: unknown `why` "toString"/],
    [{ error: '' }, {}, /^DQ_BAD_OPTION: `error` is "": expected a non-empty string$/],
    [{ group: '' }, {}, /^DQ_BAD_OPTION: `group` is "": expected a non-empty string$/],
    [{ error: /x/ }, {}, /^DQ_BAD_OPTION: `error` is \{\}: expected a non-empty string/],
    [{ limit: 0 }, {}, /^DQ_BAD_OPTION: `limit` is 0: expected 1 to /],
    [{ limit: '5' }, {}, /^DQ_BAD_OPTION: `limit` is "5": expected 1 to /],
    [{ diedFrom: 'monday' }, {}, /^DQ_BAD_TIME: the time is "monday": a string/],
    [
      { diedFrom: DAY, diedTo: DAY },
      {},
      /^DQ_BAD_OPTION: `diedFrom` is 2026-01-02T00:00:00.000Z and `diedTo` is 2026-01-02T00:00:00.000Z: expected `diedTo` to be later$/,
    ],
    [{}, { dryRun: 'yes' }, /^DQ_BAD_OPTION: `dryRun` is "yes": expected true or false$/],
    [
      {},
      { cursor: 'x' },
      /^DQ_BAD_OPTION: `cursor` is "x": expected the `cursor` of a previous `discardMany`$/,
    ],
    [{}, { by: '' }, /^DQ_BAD_OPTION: `by` is "": expected a string of 1 to 200 characters$/],
    [{}, { patience: 'soon' }, /^DQ_BAD_DURATION: `patience` is "soon"/],
    [
      {},
      { delay: '1h' },
      /^DQ_BAD_OPTION: unknown "delay" in the options: expected one of by, cursor, dryRun, patience$/,
    ],
  ])('of %j with the options %j is refused at the call', async (filter, options, message) => {
    const { control, dead, events } = await withDeadJobs(1);
    const operated = events.collect('operated');
    expect(() => control.discardMany('t', filter as DeadLetterFilter, options as BulkOptions)).toThrow(
      message,
    );
    expect(() => control.discardMany('no tube', {})).toThrow(/DQ_BAD_TUBE/);
    expect([await dead(), operated]).toEqual([['0'], []]);
  });
});
