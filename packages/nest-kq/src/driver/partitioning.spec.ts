import { describe, expect, it } from '@jest/globals';
import { murmur2, partitionOf } from './partitioning.js';

describe('murmur2', () => {
  // From UtilsTest.java of Apache Kafka.
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('gives %s the hash of Java', (text, hash) => {
    expect(murmur2(Buffer.from(text))).toBe(hash);
  });

  it('takes bytes above 127, and none', () => {
    expect(murmur2(Buffer.from([0xff, 0x80, 0x7f]))).not.toBe(murmur2(Buffer.from([0x7f, 0x00, 0x7f])));
    expect(murmur2(Buffer.alloc(0))).toBe(275646681);
  });
});

describe('partitionOf', () => {
  it('is a partition of the topic, even for a negative hash', () => {
    expect(partitionOf(Buffer.from('21'), 7)).toBe((-973932308 & 0x7fffffff) % 7);
    for (let n = 0; n < 100; n++) {
      const partition = partitionOf(Buffer.from(String(n)), 3);
      expect([0, 1, 2]).toContain(partition);
    }
  });
});
