import { describe, expect, it } from '@jest/globals';
import { sizeOfVarint, Writer } from './writer.js';

const hex = (writer: Writer) => writer.bytes.toString('hex');

describe('what requests are made of', () => {
  it('is written in network order', () => {
    const to = new Writer().int8(-2).int16(258).int32(-3).int64(-4n);
    expect(hex(to)).toBe('fe' + '0102' + 'fffffffd' + 'fffffffffffffffc');
  });

  it('has texts with their length in bytes, or none', () => {
    expect(hex(new Writer().string('ü').string('').string(null))).toBe('0002c3bc' + '0000' + 'ffff');
  });

  // Zigzag: the encoding of protocol buffers, which Kafka's protocol refers to.
  it.each([
    [0, '00'],
    [-1, '01'],
    [1, '02'],
    [63, '7e'],
    [-64, '7f'],
    [64, '8001'],
    [8_191, 'fe7f'],
    [2 ** 30, '8080808008'],
    [2 ** 31, '8080808010'],
    [-(2 ** 31), 'ffffffff0f'],
    [2 ** 40, '808080808040'],
    [-(2 ** 51), 'ffffffffffffff07'],
  ])('has %d in few bytes', (value, bytes) => {
    expect(hex(new Writer().varint(value))).toBe(bytes);
    expect(sizeOfVarint(value)).toBe(bytes.length / 2);
  });

  it('needs no room that is there from the start', () => {
    const write = (to: Writer) =>
      to
        .int8(1)
        .int16(2)
        .int32(3)
        .int64(4n)
        .varint(5)
        .uvarint(6_000_000_000)
        .raw(Buffer.from('seven'))
        .string('8');
    const whole = hex(write(new Writer(1_000)));
    for (let room = 0; room < 60; room++) expect(hex(write(new Writer(room)))).toBe(whole);
  });

  it('is changed where it was written', () => {
    const to = new Writer(4).int32(0).string('behind');
    to.patchInt32(0, to.length);
    expect(hex(to)).toBe('0000000c' + '0006' + Buffer.from('behind').toString('hex'));
  });
});
