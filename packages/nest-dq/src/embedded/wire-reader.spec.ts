import { describe, expect, it } from '@jest/globals';
import { TOO_LONG, WireReader } from './wire-reader.js';

/** All lines, of bytes that arrive in chunks of the given size. */
function lines(bytes: string, chunk: number): unknown[] {
  const reader = new WireReader();
  const read: unknown[] = [];
  for (let at = 0; at < bytes.length; at += chunk) {
    reader.append(Buffer.from(bytes.slice(at, at + chunk), 'latin1'));
    for (let line = reader.readLine(); line !== undefined; line = reader.readLine()) read.push(line);
  }
  return read;
}

const chunks = [1, 2, 3, 7, 100, 223, 224, 225, 10_000];

describe('WireReader', () => {
  it.each(chunks)('reads lines out of chunks of %i bytes', (chunk) => {
    expect(lines('stats\r\n\r\na\nb\xff\r\nrest', chunk)).toEqual(['stats', '', 'a\nb\xff']);
  });

  it.each(chunks)(
    'reads a line of 224 bytes, and gives TOO_LONG for a longer one, in chunks of %i',
    (chunk) => {
      const longest = 'x'.repeat(222);
      expect(lines(`${longest}\r\nnext\r\n`, chunk)).toEqual([longest, 'next']);
      expect(lines(`${'x'.repeat(300)}\r\nnext\r\n`, chunk)).toEqual([TOO_LONG, 'next']);
      expect(lines(`${'x'.repeat(2000)}\r\nnext\r\n`, chunk)).toEqual([TOO_LONG, 'next']);
    },
  );

  it('keeps no memory of its own for each of many small chunks, nor any of their memory', () => {
    const reader = new WireReader();
    const chunk = Buffer.from('x');
    for (let count = 0; count < 100_000; count++) reader.append(count === 0 ? Buffer.from('x') : chunk);
    chunk.fill('y');
    expect(reader.length).toBe(100_000);
    expect(reader.read(100_000)).toBe('x'.repeat(100_000));
  });

  it.each(chunks)('loses the next line when the 224th byte parts CR and LF, in chunks of %i', (chunk) => {
    expect(lines(`${'x'.repeat(223)}\r\nlost\r\nnext\r\n`, chunk)).toEqual([TOO_LONG, 'next']);
  });
});
