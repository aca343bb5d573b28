import { show } from '../../errors.js';
import { BeanstalkError } from './beanstalk-error.js';

/** Arguments that may follow a word. */
type Shape = 'none' | 'number' | 'number?' | 'name' | 'body' | 'number and body';

const SHAPES = {
  INSERTED: 'number',
  BURIED: 'number?', // with the id in reply to a put
  USING: 'name',
  RESERVED: 'number and body',
  TIMED_OUT: 'none',
  DEADLINE_SOON: 'none',
  DELETED: 'none',
  RELEASED: 'none',
  TOUCHED: 'none',
  WATCHING: 'number',
  FOUND: 'number and body',
  KICKED: 'number?', // with the count in reply to a kick
  PAUSED: 'none',
  OK: 'body',
  NOT_FOUND: 'none',
  NOT_IGNORED: 'none',
  DRAINING: 'none',
  JOB_TOO_BIG: 'none',
  EXPECTED_CRLF: 'none',
  OUT_OF_MEMORY: 'none',
  INTERNAL_ERROR: 'none',
  BAD_FORMAT: 'none',
  UNKNOWN_COMMAND: 'none',
} as const satisfies Record<string, Shape>;

export type ReplyWord = keyof typeof SHAPES;

/** One reply. Always these three fields, so that all replies have the same shape for the engine. */
export interface Reply {
  readonly word: ReplyWord;
  /** The job's id, the number or the tube's name; '' if there is none. A string, because ids have 64 bits. */
  readonly value: string;
  /** Raw bytes of the job or the statistics; empty if there are none, or more than `LARGEST_BODY`. */
  readonly body: Buffer;
}

interface Word {
  readonly bytes: Buffer;
  readonly shape: Shape;
  /** The reply with the word alone, shared by all replies without arguments. */
  readonly bare: Reply;
}

const LF = 10;
const CR = 13;
const SPACE = 32;
const LONGEST_LINE = 224;
/** Largest body we accept: 256 times beanstalkd's default for a job. A process holds many of them at once. */
export const LARGEST_BODY_BYTES = 2 ** 24;
/** beanstalkd's own limit for `-z`: no server announces more. */
const LARGEST_ANNOUNCED_BYTES = 2 ** 30;
/** Initial buffer of a body in several chunks. It grows as data arrives: an announcement alone costs nothing. */
const FIRST_ROOM_BYTES = 2 ** 16;
/** Number of digits that are exact as a number. */
const SAFE_DIGITS = 15;
const LARGEST_ID_DIGITS = 20;
const NOTHING = Buffer.alloc(0);

const WORDS: readonly Word[] = Object.entries(SHAPES).map(([word, shape]) => ({
  bytes: Buffer.from(word, 'latin1'),
  shape,
  bare: { word: word as ReplyWord, value: '', body: NOTHING },
}));
/** By first byte: at most three share one. */
const WORDS_BY_FIRST: readonly (readonly Word[])[] = Array.from({ length: 256 }, (_, first) =>
  WORDS.filter((word) => word.bytes[0] === first),
);

/**
 * Parses bytes into replies, however they are split: `feed` a chunk, then call `next` until it returns undefined. A body that
 * arrived in one chunk is a view of that chunk, which must not be modified afterwards. Any other has its own memory.
 */
export class ReplyParser {
  private chunk: Buffer = NOTHING;
  private at = 0;
  /** A line that began in an earlier chunk. */
  private readonly line = Buffer.allocUnsafeSlow(LONGEST_LINE);
  private lineLength = 0;
  /** If a body follows: the word and the value of its line, and the body's length. */
  private word: Word | undefined;
  private value = '';
  private size = 0;
  /** Remaining bytes to skip of a body that is too long. Only its CRLF is read. */
  private toSkip = 0;
  /** A body that continues in a later chunk, with its CRLF. */
  private body: Buffer | undefined;
  private bodyLength = 0;

  /** Takes the next bytes; all replies of the previous chunk must have been read. */
  feed(chunk: Buffer): void {
    this.chunk = chunk;
    this.at = 0;
  }

  /** Returns the next reply, or undefined if more bytes are needed. Throws BAD_REPLY; the parser is unusable after that. */
  next(): Reply | undefined {
    if (this.word === undefined) {
      const bare = this.readLine();
      if (bare !== undefined || this.word === undefined) return bare;
    }
    if (this.toSkip > 0) this.skip();
    if (this.toSkip > 0) return undefined;
    const { word, value } = this;
    const body = this.takeBody(this.size + 2);
    if (body === undefined) return undefined;
    this.word = undefined;
    return { word: word.bare.word, value, body };
  }

  /** Returns the reply if it is only a line. Otherwise undefined, with `word` set if the line was complete. */
  private readLine(): Reply | undefined {
    const chunk = this.chunk;
    const start = this.at;
    const limit = Math.min(chunk.length, start + LONGEST_LINE - this.lineLength);
    let end = start;
    while (end < limit && chunk[end] !== LF) end++;
    if (end === limit) {
      this.keepLine(start, end);
      if (this.lineLength === LONGEST_LINE) throw badLine('an overlong line', this.line, 0, LONGEST_LINE);
      return undefined;
    }
    this.at = end + 1;
    if (this.lineLength === 0) return this.parseLine(chunk, start, end);
    this.keepLine(start, end);
    const length = this.lineLength;
    this.lineLength = 0;
    return this.parseLine(this.line, 0, length);
  }

  private keepLine(start: number, end: number): void {
    this.lineLength += this.chunk.copy(this.line, this.lineLength, start, end);
    if (end === this.chunk.length) this.letGo();
  }

  /** `lf` is the position of the line feed, or where it should be. */
  private parseLine(bytes: Buffer, start: number, lf: number): Reply | undefined {
    const end = lf - 1;
    if (end < start || bytes[end] !== CR) throw badLine('no CRLF', bytes, start, lf);
    let wordEnd = start;
    while (wordEnd < end && bytes[wordEnd] !== SPACE) wordEnd++;
    const word = findWord(bytes, start, wordEnd);
    if (word === undefined) throw badLine('an unknown word', bytes, start, lf);
    const bare = wordEnd === end;
    const first = wordEnd + 1;
    switch (word.shape) {
      case 'none':
        if (bare) return word.bare;
        break;
      case 'number?':
        if (bare) return word.bare;
        return { word: word.bare.word, value: digits(bytes, first, end), body: NOTHING };
      case 'number':
        return { word: word.bare.word, value: digits(bytes, first, end), body: NOTHING };
      case 'name':
        if (first < end)
          return { word: word.bare.word, value: bytes.toString('latin1', first, end), body: NOTHING };
        break;
      case 'body':
        this.expectBody(word, '', bytes, first, end);
        return undefined;
      case 'number and body': {
        let space = first;
        while (space < end && bytes[space] !== SPACE) space++;
        this.expectBody(word, digits(bytes, first, space), bytes, space + 1, end);
        return undefined;
      }
    }
    throw badLine('wrong arguments', bytes, start, lf);
  }

  private expectBody(word: Word, value: string, bytes: Buffer, start: number, end: number): void {
    const size = Number(digits(bytes, start, end));
    if (size > LARGEST_ANNOUNCED_BYTES) throw badLine('an overlong body', bytes, start, end);
    this.word = word;
    this.value = value;
    this.toSkip = size > LARGEST_BODY_BYTES ? size : 0;
    this.size = size - this.toSkip;
  }

  private skip(): void {
    const skipped = Math.min(this.toSkip, this.chunk.length - this.at);
    this.at += skipped;
    this.toSkip -= skipped;
    if (this.at === this.chunk.length) this.letGo();
  }

  /** Returns the body without the CRLF that `length` includes. */
  private takeBody(length: number): Buffer | undefined {
    const { chunk, at } = this;
    if (this.body === undefined) {
      if (chunk.length - at >= length) {
        this.at = at + length;
        return withoutEnd(chunk, at, at + length);
      }
      this.body = Buffer.allocUnsafeSlow(Math.min(length, FIRST_ROOM_BYTES));
      this.bodyLength = 0;
    }
    this.makeRoom(Math.min(length, this.bodyLength + chunk.length - at), length);
    const copied = chunk.copy(this.body, this.bodyLength, at);
    this.at = at + copied;
    this.bodyLength += copied;
    if (this.bodyLength < length) {
      this.letGo();
      return undefined;
    }
    const body = withoutEnd(this.body, 0, length);
    this.body = undefined;
    return body;
  }

  private makeRoom(needed: number, most: number): void {
    const { body } = this;
    if (body === undefined || needed <= body.length) return;
    this.body = Buffer.allocUnsafeSlow(Math.min(most, Math.max(needed, 2 * body.length)));
    body.copy(this.body, 0, 0, this.bodyLength);
  }

  /** So that an idle connection doesn't keep a fully read chunk in memory. */
  private letGo(): void {
    this.chunk = NOTHING;
    this.at = 0;
  }
}

function findWord(bytes: Buffer, start: number, end: number): Word | undefined {
  const candidates = WORDS_BY_FIRST[bytes[start] ?? 0];
  if (candidates === undefined) return undefined;
  const length = end - start;
  for (const word of candidates) {
    if (word.bytes.length !== length) continue;
    let at = 1;
    while (at < length && word.bytes[at] === bytes[start + at]) at++;
    if (at === length) return word;
  }
  return undefined;
}

function digits(bytes: Buffer, start: number, end: number): string {
  const length = end - start;
  let number = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - 48;
    if (digit < 0 || digit > 9) throw badLine('not a number', bytes, start, end);
    number = number * 10 + digit;
  }
  if (length < 1 || length > LARGEST_ID_DIGITS) throw badLine('not a number', bytes, start, end);
  return length <= SAFE_DIGITS ? String(number) : bytes.toString('latin1', start, end);
}

function withoutEnd(bytes: Buffer, start: number, end: number): Buffer {
  if (bytes[end - 2] !== CR || bytes[end - 1] !== LF) {
    throw badLine('no CRLF after a body', bytes, Math.max(start, end - 20), end);
  }
  return bytes.subarray(start, end - 2);
}

function badLine(why: string, bytes: Buffer, start: number, end: number): BeanstalkError {
  const text = bytes.toString('latin1', start, Math.min(end, start + 60));
  // beanstalkd never sends such a line. `redis` and `beanstalks` may have been swapped.
  const fact = text.startsWith('-') ? 'not a beanstalkd: it answers like a Redis' : why;
  return new BeanstalkError('BAD_REPLY', `${fact}: ${show(text)}`, { unknown: true });
}
