import { createHmac, randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { Hmac } from './seal.js';

it('is the HMAC of Node, for keys and messages of any length', () => {
  for (let length = 0; length <= 64; length++) {
    const key = randomBytes(length);
    const hmac = new Hmac(key);
    for (const message of [randomBytes(length), randomBytes(0), randomBytes(200)]) {
      const expected = createHmac('sha256', key).update(message).digest('binary');
      expect(hmac.of(message.toString('latin1'))).toBe(expected);
    }
  }
});

it('is that of RFC 4231, test case 2', () => {
  const hmac = new Hmac(Buffer.from('Jefe'));
  expect(Buffer.from(hmac.of('what do ya want for nothing?'), 'latin1').toString('hex')).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  );
});
