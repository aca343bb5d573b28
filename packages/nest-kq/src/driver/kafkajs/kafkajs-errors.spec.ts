import { describe, expect, it } from '@jest/globals';
import { KqError } from '../../errors.js';
import { isPassing, isRebalancing, meant } from './kafkajs-errors.js';

/** As kafkajs makes them: a type of the protocol, under an error that says how often it was tried. */
function kafkajs(type: string, layers = 2): Error {
  let error: Error = Object.assign(new Error(`words of ${type}`), { name: 'KafkaJSProtocolError', type });
  for (let layer = 1; layer < layers; layer++)
    error = Object.assign(new Error(error.message, { cause: error }), {
      name: 'KafkaJSNumberOfRetriesExceeded',
    });
  return error;
}

describe('meant', () => {
  it.each([
    ['UNKNOWN_TOPIC_OR_PARTITION', 'KQ_UNKNOWN_TOPIC'],
    ['MESSAGE_TOO_LARGE', 'KQ_TOO_LARGE'],
    ['TOPIC_AUTHORIZATION_FAILED', 'KQ_REFUSED'],
    ['INVALID_PRODUCER_EPOCH', 'KQ_TRANSACTION'],
    ['NOT_LEADER_FOR_PARTITION', 'KQ_AWAY'],
  ])('takes %s for %s, and says what was tried', (type, code) => {
    const error = kafkajs(type, 3);
    const found = meant(error, 'cannot store in t');
    expect(found).toMatchObject({ code, message: `${code}: cannot store in t: words of ${type}` });
    expect(found.cause).toBe(error);
  });

  it('looks at the class, at the code of Node, and at errors that are gathered', () => {
    const named = (fields: object) => Object.assign(new Error('x'), fields);
    expect(meant(named({ name: 'KafkaJSSASLAuthenticationError' }), 'y').code).toBe('KQ_REFUSED');
    expect(meant(named({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), 'y').code).toBe('KQ_REFUSED');
    expect(meant(named({ code: 'ECONNREFUSED' }), 'y').code).toBe('KQ_AWAY');
    const gathered = new AggregateError([kafkajs('INVALID_REPLICATION_FACTOR')], 'Topic creation errors');
    expect(meant(gathered, 'y').code).toBe('KQ_CONFIG');
  });

  it('leaves an error of ours as it is', () => {
    const error = new KqError('KQ_BAD_MESSAGE', 'x');
    expect(meant(new Error('y', { cause: error }), 'z')).toBe(error);
  });

  it('is indeterminate only for brokers that are away', () => {
    expect(meant('no error', 'x', { indeterminate: true })).toMatchObject({
      indeterminate: true,
      message: 'KQ_AWAY: x: no error',
    });
    expect(meant(kafkajs('MESSAGE_TOO_LARGE'), 'x', { indeterminate: true }).indeterminate).toBe(false);
    expect(meant(new Error('x'), 'y', { away: 'refused' }).message).toBe('KQ_AWAY: y: refused');
  });
});

it('recognizes by any layer that a group is rebalancing, or a transaction ending', () => {
  expect(isRebalancing(kafkajs('ILLEGAL_GENERATION'))).toBe(true);
  expect(isRebalancing(kafkajs('MESSAGE_TOO_LARGE'))).toBe(false);
  expect(isPassing(kafkajs('CONCURRENT_TRANSACTIONS'))).toBe(true);
  expect(isPassing(new Error('x'))).toBe(false);
});
