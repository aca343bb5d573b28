// Bytes that clients send to our node: commands, or one of two words.
import { describe, expect } from '@jest/globals';
import fc from 'fast-check';
import { commands } from 'nest-dq/src/beanstalk/codec/commands.js';
import { parseCommand } from 'nest-dq/src/embedded/command-parser.js';
import { TOO_LONG, WireReader } from 'nest-dq/src/embedded/wire-reader.js';
import { cuts, damaged, holds, inPieces } from './holds.js';

const u32 = fc.nat({ max: 2 ** 32 - 1 });
const id = fc.nat().map(String);
const tube = fc.stringMatching(/^[A-Za-z0-9+/;.$_()][A-Za-z0-9\-+/;.$_()]{0,199}$/);
/** A line of our client, and what it asks for. */
const written = fc.oneof(
  fc
    .tuple(u32, u32, u32, u32)
    .map(([priority, delay, ttr, size]) => [
      commands.put({ priority, delay, ttr }, size),
      { verb: 'put', pri: priority, delay, ttr, size, hasMore: false },
    ]),
  tube.map((each) => [commands.use(each), { verb: 'use', tube: each }]),
  tube.map((each) => [commands.watch(each), { verb: 'watch', tube: each }]),
  id.map((each) => [commands.delete(each), { verb: 'delete', id: Number(each) }]),
  id.map((each) => [commands.kickJob(each), { verb: 'kick-job', id: Number(each) }]),
  fc
    .tuple(id, u32, u32)
    .map(([each, pri, delay]) => [
      commands.release(each, pri, delay),
      { verb: 'release', id: Number(each), pri, delay },
    ]),
) as fc.Arbitrary<[line: string, asked: object]>;
const stream = damaged(fc.array(written, { maxLength: 10 }).map((all) => all.map(([line]) => line).join('')));

/** All lines, and what is left at the end; what is kept is the bytes that came since the last line, and no line's worth more. */
function linesOf(chunks: readonly Buffer[]): (string | typeof TOO_LONG)[] {
  const reader = new WireReader();
  const lines: (string | typeof TOO_LONG)[] = [];
  for (const chunk of chunks) {
    reader.append(chunk);
    for (let line = reader.readLine(); line !== undefined; line = reader.readLine()) lines.push(line);
    expect(reader.length).toBeLessThan(224);
  }
  return lines;
}

describe('the parser of commands', () => {
  holds('reads what our client writes', written, ([line, asked]) => {
    expect(parseCommand(line.slice(0, -2))).toEqual(asked);
  });

  holds('reads anything, or says what is wrong', stream, (bytes) => {
    for (const line of bytes.split('\r\n')) {
      const command = parseCommand(line);
      if (typeof command === 'string') expect(['BAD_FORMAT', 'UNKNOWN_COMMAND']).toContain(command);
      else for (const value of Object.values(command)) expect(value).not.toBeNaN();
    }
  });
});

describe('the reader of lines', () => {
  holds(
    'finds the lines that were written, however they are cut',
    fc.tuple(fc.array(written), cuts),
    ([all, at]) => {
      const lines = all.map(([line]) => line);
      expect(linesOf(inPieces(lines.join(''), at))).toEqual(lines.map((line) => line.slice(0, -2)));
    },
  );

  holds('keeps less than a line of anything', fc.tuple(stream, cuts), ([bytes, at]) => {
    for (const line of linesOf(inPieces(bytes, at))) {
      if (line !== TOO_LONG) expect(line.length).toBeLessThanOrEqual(222);
    }
  });
});
