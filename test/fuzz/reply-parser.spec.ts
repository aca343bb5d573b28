// Bytes from a node, whole or in pieces: replies, or one error.
import { describe, expect } from '@jest/globals';
import fc from 'fast-check';
import { Connection } from 'nest-dq/src/beanstalk/connection.js';
import { BeanstalkError } from 'nest-dq/src/beanstalk/codec/beanstalk-error.js';
import { isTubeName } from 'nest-dq/src/beanstalk/codec/commands.js';
import { type Reply, ReplyParser } from 'nest-dq/src/beanstalk/codec/reply-parser.js';
import { parseNames, parseStats } from 'nest-dq/src/beanstalk/codec/yaml.js';
import { duplexPair } from 'nest-dq/src/embedded/in-process-node.js';
import { VirtualClock } from 'nest-handlers/testing';
import { cuts, damaged, holds, inPieces } from './holds.js';

const tube = fc.stringMatching(/^[A-Za-z0-9+/;.$_()][A-Za-z0-9\-+/;.$_()]{0,30}$/);
const id = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
const short = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
const long = fc.nat({ max: 200_000 }).map((size) => Buffer.alloc(size, 'b'));
const body = fc.oneof({ weight: 20, arbitrary: short }, { weight: 1, arbitrary: long });
const name = fc.constantFrom('id', 'max-job-size', 'name', '__proto__', 'constructor', 'current-jobs-ready');
const list = fc
  .array(tube, { maxLength: 5 })
  .map((names) => `---\n${names.map((each) => `- ${each}\n`).join('')}`);
const stats = fc
  .array(fc.tuple(name, fc.oneof(tube, id)), { maxLength: 5 })
  .map((all) => `---\n${all.map(([key, value]) => `${key}: ${value}\n`).join('')}`);

/** A reply as its bytes, and what it says. */
type Written = readonly [bytes: string, reply: Reply];
const nothing = Buffer.alloc(0);
const withBody = (line: string, word: Reply['word'], value: string, bytes: Buffer): Written => [
  `${line} ${bytes.length}\r\n${bytes.toString('latin1')}\r\n`,
  { word, value, body: bytes },
];
const written: fc.Arbitrary<Written> = fc.oneof(
  fc
    .constantFrom('TIMED_OUT', 'DELETED', 'NOT_FOUND', 'BURIED', 'KICKED', 'DRAINING', 'OUT_OF_MEMORY')
    .map((word): Written => [`${word}\r\n`, { word, value: '', body: nothing }]),
  fc
    .tuple(fc.constantFrom('INSERTED', 'BURIED', 'WATCHING', 'KICKED'), id)
    .map(([word, value]): Written => [`${word} ${value}\r\n`, { word, value, body: nothing }]),
  tube.map((value): Written => [`USING ${value}\r\n`, { word: 'USING', value, body: nothing }]),
  fc
    .tuple(fc.constantFrom('RESERVED', 'FOUND'), id, body)
    .map(([word, value, bytes]) => withBody(`${word} ${value}`, word, value, bytes)),
  fc.oneof(list, stats).map((text) => withBody('OK', 'OK', '', Buffer.from(text))),
);
const conversation = fc.array(written, { maxLength: 12 });
const bytesOf = (replies: readonly Written[]) => replies.map(([bytes]) => bytes).join('');
const noise = damaged(conversation.map(bytesOf));

/** Quick to compare. */
const inWords = ({ word, value, body: bytes }: Reply) => `${word} ${value} ${bytes.toString('latin1')}`;

/** The replies, and the error at which they end. Keeps no more than twice what came, and room for a line and a body. */
function parse(chunks: readonly Buffer[]): { readonly replies: string[]; readonly error: unknown } {
  const parser = new ReplyParser();
  const replies: string[] = [];
  let fed = 0;
  try {
    for (const chunk of chunks) {
      parser.feed(chunk);
      fed += chunk.length;
      for (let reply = parser.next(); reply; reply = parser.next()) replies.push(inWords(reply));
      const { body: kept } = parser as unknown as { readonly body: Buffer | undefined };
      expect(kept?.length ?? 0).toBeLessThanOrEqual(2 * fed + 65_536);
    }
  } catch (error) {
    return { replies, error };
  }
  return { replies, error: undefined };
}

describe('the parser of replies', () => {
  holds('reads what was written, however it is cut', fc.tuple(conversation, cuts), ([replies, at]) => {
    const read = parse(inPieces(bytesOf(replies), at));
    expect(read).toEqual({ replies: replies.map(([, reply]) => inWords(reply)), error: undefined });
  });

  holds(
    'reads anything alike, however it is cut, and fails in one way',
    fc.tuple(noise, cuts),
    ([bytes, at]) => {
      const [whole, cut] = [parse([Buffer.from(bytes, 'latin1')]), parse(inPieces(bytes, at))];
      expect(cut.replies).toEqual(whole.replies);
      for (const { error } of [whole, cut]) {
        if (error === undefined) continue;
        expect(error).toBeInstanceOf(BeanstalkError);
        expect(error).toMatchObject({ code: 'BAD_REPLY' });
        // oxlint-disable-next-line no-control-regex
        expect((error as Error).message).not.toMatch(/[\0-\x1f\x7f-\x9f]/);
        expect((error as Error).message.length).toBeLessThan(500);
      }
      expect(cut.error === undefined).toBe(whole.error === undefined);
    },
  );
});

describe('the reader of YAML', () => {
  holds('reads the names and statistics that were written', fc.array(fc.tuple(name, tube)), (all) => {
    const names = all.map(([, each]) => each);
    expect(parseNames(Buffer.from(`---\n${names.map((each) => `- "${each}"\n`).join('')}`))).toEqual(names);
    const text = `---\n${all.map(([key, value]) => `${key}: ${value}\n`).join('')}`;
    expect(Object.entries(parseStats(Buffer.from(text)) ?? {})).toEqual([...new Map(all)]);
  });

  holds('gives texts and names of tubes, or nothing', damaged(fc.oneof(list, stats)), (text) => {
    const bytes = Buffer.from(text, 'latin1');
    expect((parseNames(bytes) ?? []).filter((each) => !isTubeName(each))).toEqual([]);
    const values = Object.values(parseStats(bytes) ?? {});
    expect(values.filter((each) => typeof each !== 'string')).toEqual([]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

const ASKS: readonly ((connection: Connection, done: (error?: Error) => void) => void)[] = [
  (connection, done) => connection.stats(done),
  (connection, done) => connection.put('a', ['x'], { priority: 0, delay: 0, ttr: 1 }, done),
  (connection, done) => connection.reserveWithTimeout(1, done),
  (connection, done) => connection.delete('1', done),
  (connection, done) => connection.watch('a', done),
  (connection, done) => connection.peek('1', done),
  (connection, done) => connection.listTubes(done),
];

describe('a connection', () => {
  const asked = fc.array(fc.nat({ max: ASKS.length - 1 }), { maxLength: 8 });
  holds(
    'calls back once for each command, whatever comes',
    fc.tuple(asked, noise, cuts),
    async ([asks, bytes, at]) => {
      const clock = new VirtualClock();
      const { client, server } = duplexPair(clock);
      server.on('error', () => undefined);
      server.resume();
      let closed = 0;
      const calls = asks.map(() => 0);
      const connection = new Connection(client, { clock, onClose: () => closed++ });
      asks.forEach((ask, i) => ASKS[ask]!(connection, () => calls[i]!++));
      for (const piece of inPieces(bytes, at)) {
        if (!server.destroyed) server.write(piece);
        await clock.advance(1);
      }
      await clock.advance(10_000);
      if (asks.length > 0) expect(calls.filter((count) => count !== 1)).toEqual([]);
      connection.close();
      await clock.advance(1);
      expect([connection.closed, client.destroyed, closed]).toEqual([true, true, 1]);
    },
  );
});
