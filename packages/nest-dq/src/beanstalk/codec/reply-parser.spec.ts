import { describe, expect, it } from '@jest/globals';
import { LARGEST_BODY_BYTES, type Reply, ReplyParser } from './reply-parser.js';

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const LARGEST_ID = '18446744073709551615';
const EMPTY = Buffer.alloc(0);

/** A conversation with every reply there is, and what it says. */
const CONVERSATION: [string | Buffer, Reply][] = [
  ['INSERTED 1\r\n', { word: 'INSERTED', value: '1', body: EMPTY }],
  [`INSERTED ${LARGEST_ID}\r\n`, { word: 'INSERTED', value: LARGEST_ID, body: EMPTY }],
  ['INSERTED 9007199254740993\r\n', { word: 'INSERTED', value: '9007199254740993', body: EMPTY }],
  ['BURIED 4294967296\r\n', { word: 'BURIED', value: '4294967296', body: EMPTY }],
  ['BURIED\r\n', { word: 'BURIED', value: '', body: EMPTY }],
  [`USING ${'t'.repeat(200)}\r\n`, { word: 'USING', value: 't'.repeat(200), body: EMPTY }],
  ['RESERVED 7 5\r\nhello\r\n', { word: 'RESERVED', value: '7', body: Buffer.from('hello') }],
  ['RESERVED 8 0\r\n\r\n', { word: 'RESERVED', value: '8', body: EMPTY }],
  ['RESERVED 9 4\r\n\r\n\r\n\r\n', { word: 'RESERVED', value: '9', body: Buffer.from('\r\n\r\n') }],
  [
    Buffer.concat([Buffer.from(`FOUND ${LARGEST_ID} 256\r\n`), ALL_BYTES, Buffer.from('\r\n')]),
    { word: 'FOUND', value: LARGEST_ID, body: ALL_BYTES },
  ],
  ['OK 9\r\n---\n- a\n\n\r\n', { word: 'OK', value: '', body: Buffer.from('---\n- a\n\n') }],
  ['WATCHING 3\r\n', { word: 'WATCHING', value: '3', body: EMPTY }],
  ['KICKED 12\r\n', { word: 'KICKED', value: '12', body: EMPTY }],
  ['KICKED\r\n', { word: 'KICKED', value: '', body: EMPTY }],
  ...(
    [
      'TIMED_OUT',
      'DEADLINE_SOON',
      'DELETED',
      'RELEASED',
      'TOUCHED',
      'PAUSED',
      'NOT_FOUND',
      'NOT_IGNORED',
      'DRAINING',
      'JOB_TOO_BIG',
      'EXPECTED_CRLF',
      'OUT_OF_MEMORY',
      'INTERNAL_ERROR',
      'BAD_FORMAT',
      'UNKNOWN_COMMAND',
    ] as const
  ).map((word): [string, Reply] => [`${word}\r\n`, { word, value: '', body: EMPTY }]),
];
const BYTES = Buffer.concat(CONVERSATION.map(([bytes]) => Buffer.from(bytes)));
const REPLIES = CONVERSATION.map(([, reply]) => reply);

function parse(chunks: Buffer[]): Reply[] {
  const parser = new ReplyParser();
  const replies: Reply[] = [];
  for (const chunk of chunks) {
    parser.feed(chunk);
    for (let reply = parser.next(); reply; reply = parser.next()) replies.push(reply);
  }
  return replies;
}

describe('ReplyParser', () => {
  it('reads all replies of one chunk', () => {
    expect(parse([BYTES])).toEqual(REPLIES);
  });

  it('reads the same byte by byte', () => {
    expect(parse(Array.from(BYTES, (byte) => Buffer.from([byte])))).toEqual(REPLIES);
  });

  it('reads the same when split in two at every byte', () => {
    for (let at = 0; at <= BYTES.length; at++) {
      expect(parse([BYTES.subarray(0, at), BYTES.subarray(at)])).toEqual(REPLIES);
    }
  });

  it('reads the same in random pieces', () => {
    let seed = 20_300_101;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let round = 0; round < 200; round++) {
      const chunks: Buffer[] = [];
      for (let at = 0; at < BYTES.length;) {
        const end = at + random(round + 2);
        chunks.push(BYTES.subarray(at, end));
        at = end;
      }
      expect(parse(chunks)).toEqual(REPLIES);
    }
  });

  it('keeps a body that spans chunks when those chunks are overwritten', () => {
    const parser = new ReplyParser();
    const chunk = Buffer.from('RESERVED 1 6\r\nabc');
    parser.feed(chunk);
    expect(parser.next()).toBeUndefined();
    chunk.fill(0);
    const rest = Buffer.from('def\r\n');
    parser.feed(rest);
    const reply = parser.next();
    rest.fill(0);
    expect(reply?.body.toString()).toBe('abcdef');
  });

  it.each([
    'HELLO\r\n',
    'DELETEDX\r\n',
    'deleted\r\n',
    '\r\n',
    '\n',
    ' DELETED\r\n',
    'DELETED 1\r\n',
    'DELETED \r\n',
    'DELETED\n',
    'INSERTED\r\n',
    'INSERTED x\r\n',
    'INSERTED -1\r\n',
    'INSERTED 1 2\r\n',
    `INSERTED ${'1'.repeat(21)}\r\n`,
    'USING\r\n',
    'USING \r\n',
    'BURIED \r\n',
    'RESERVED 1\r\n',
    'RESERVED 1 x\r\n',
    'RESERVED  5\r\nhello\r\n',
    'RESERVED 1 1073741825\r\n',
    'OK\r\n',
    'OK 5 5\r\nhello\r\n',
    'RESERVED 1 5\r\nhelloXX',
    'RESERVED 1 4\r\nhello\r\n',
    'RESERVED 1 5\r\nhello\n\r',
    'RESERVED 1 5\r\nhelloX\n',
    'RESERVED 1 5\r\nhello\rX',
    'a'.repeat(300),
    'HTTP/1.1 400 Bad Request\r\n',
  ])('refuses %j, whole and byte by byte', (text) => {
    const bytes = Buffer.from(text);
    const refusal = expect.objectContaining({ code: 'BAD_REPLY', unknown: true });
    expect(thrownBy(() => parse([bytes]))).toEqual(refusal);
    expect(thrownBy(() => parse(Array.from(bytes, (byte) => Buffer.from([byte]))))).toEqual(refusal);
  });

  it('shows the beginning of what it refuses, in one line, without terminal control characters', () => {
    expect(() => parse([Buffer.from('HTTP/1.1 400 Bad Request\r\n')])).toThrow('HTTP/1.1 400');
    const { message } = thrownBy(() => parse([Buffer.from('\x1b[2J\x9b1A\r\n', 'latin1')])) as Error;
    expect(message).toBe('BAD_REPLY: an unknown word: "\\u001b[2J\\u009b1A\\r"');
  });

  it('recognizes a Redis by its errors', () => {
    const { message } = thrownBy(() => parse([Buffer.from("-ERR unknown command 'stats'\r\n")])) as Error;
    expect(message).toBe(
      'BAD_REPLY: not a beanstalkd: it answers like a Redis: "-ERR unknown command \'stats\'\\r"',
    );
  });

  it('discards a body that is too long and resumes after it', () => {
    const parser = new ReplyParser();
    parser.feed(Buffer.from(`RESERVED 7 ${LARGEST_BODY_BYTES + 1}\r\n`));
    expect(parser.next()).toBeUndefined();
    const part = Buffer.alloc(65_536, 'x');
    const before = process.memoryUsage().arrayBuffers;
    for (let left = LARGEST_BODY_BYTES + 1; left > 0; left -= part.length) {
      parser.feed(part.subarray(0, left));
      expect(parser.next()).toBeUndefined();
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(LARGEST_BODY_BYTES / 2);
    parser.feed(Buffer.from('\r\nDELETED\r\n'));
    expect(parser.next()).toEqual({ word: 'RESERVED', value: '7', body: EMPTY });
    expect(parser.next()).toMatchObject({ word: 'DELETED' });
  });

  it('takes the largest body, in whatever pieces, and allocates no more than has arrived', () => {
    const parser = new ReplyParser();
    const before = process.memoryUsage().arrayBuffers;
    parser.feed(Buffer.from(`FOUND 1 ${LARGEST_BODY_BYTES}\r\n`));
    expect(parser.next()).toBeUndefined();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(LARGEST_BODY_BYTES / 16);
    for (let sent = 0; sent < LARGEST_BODY_BYTES; sent += 2 ** 20) {
      parser.feed(Buffer.alloc(2 ** 20, sent / 2 ** 20));
      expect(parser.next()).toBeUndefined();
    }
    parser.feed(Buffer.from('\r\n'));
    const body = parser.next()?.body;
    expect(body?.length).toBe(LARGEST_BODY_BYTES);
    for (let mib = 0; mib < 16; mib++) expect(body?.[mib * 2 ** 20 + 5]).toBe(mib);
  });
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
