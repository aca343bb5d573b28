import { describe, expect, it } from '@jest/globals';
import { crc32c } from './crc32c.js';

describe('the checksum', () => {
  // RFC 3720, B.4, and the usual check value.
  it.each([
    ['123456789', Buffer.from('123456789'), 0xe3069283],
    ['32 zeros', Buffer.alloc(32), 0x8a9136aa],
    ['32 ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
    ['0 to 31', Buffer.from(Array.from({ length: 32 }, (_, n) => n)), 0x46dd794e],
    ['nothing', Buffer.alloc(0), 0],
  ])('of %s is that of Castagnoli', (_, bytes, sum) => {
    expect(crc32c(bytes, 0, bytes.length) >>> 0).toBe(sum);
    const within = Buffer.concat([Buffer.from('xyz'), bytes, Buffer.from('z')]);
    expect(crc32c(within, 3, within.length - 1) >>> 0).toBe(sum);
  });
});
