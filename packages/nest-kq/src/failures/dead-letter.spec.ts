import { describe, expect, it } from '@jest/globals';
import { deadLetterOf, withoutLetter } from './dead-letter.js';
import type { Death } from '../events/events.js';

const message = {
  offset: 7n,
  timestamp: 5,
  key: Buffer.from('k'),
  value: Buffer.from([0xff]),
  headers: {
    tenant: Buffer.from('a'),
    tags: [Buffer.from('b'), Buffer.from('c')],
    'kq-topic': Buffer.from('old'),
  },
};
const delivery = { topic: 'orders', partition: 2, message, attempt: 9 };
const time = Date.UTC(2030, 0, 1);

function deathBy(error: Error): Death {
  return { why: 'attempts', error, runs: 3 };
}

describe('deadLetterOf', () => {
  it('keeps key, value and headers, and says where it was and what happened', () => {
    const error = Object.assign(new TypeError('ä'), { stack: 'TypeError: ä\n  at a' });
    const { headers = {}, ...letter } = deadLetterOf(delivery, deathBy(error), 'g', time);
    expect(letter).toEqual({ key: message.key, value: message.value });
    const texts = Object.entries(headers).map(([name, value]) => [name, [value].flat().map(String).join()]);
    expect(Object.fromEntries(texts)).toEqual({
      tenant: 'a',
      tags: 'b,c',
      'kq-topic': 'orders',
      'kq-partition': '2',
      'kq-offset': '7',
      'kq-timestamp': '5',
      'kq-group': 'g',
      'kq-attempts': '3',
      'kq-why': 'attempts',
      'kq-error-name': 'TypeError',
      'kq-error-message': 'ä',
      'kq-error-stack': 'TypeError: ä\n  at a',
      'kq-time': '2030-01-01T00:00:00.000Z',
    });
    expect(withoutLetter(headers)).toEqual({ tenant: message.headers.tenant, tags: message.headers.tags });
  });

  it('keeps a long error short', () => {
    const error = Object.assign(new Error('x'.repeat(9_999)), { stack: 'line\n'.repeat(99) });
    const { headers = {} } = deadLetterOf(delivery, deathBy(error), 'g', time);
    expect(headers['kq-error-message']).toHaveLength(2_000);
    expect(String(headers['kq-error-stack']).split('\n')).toHaveLength(10);
  });
});
