import { describe, expect, it } from '@jest/globals';
import { decodeIndexes, encodeIndexes } from './wire.js';

describe('the indexes of a message type', () => {
  it.each<[number[], string]>([
    [[0], '00'],
    [[1], '0202'],
    [[0, 0], '040000'],
    [[1, 300], '0402d804'],
  ])('%p are %s', (indexes, hex) => {
    expect(encodeIndexes(indexes).toString('hex')).toBe(hex);
    const { indexes: read, rest } = decodeIndexes(Buffer.from(`${hex}ff`, 'hex'));
    expect(read).toEqual(indexes);
    expect(rest.toString('hex')).toBe('ff');
  });

  it.each(['', '02', '0280', '01', 'feffffff0f', '8080808080800000'])('are not %p', (hex) => {
    expect(() => decodeIndexes(Buffer.from(hex, 'hex'))).toThrow(/^KQ_BAD_MESSAGE: /);
  });
});
