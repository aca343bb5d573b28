import { Socket } from 'node:net';
import type { Duplex, Writable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { connectionFailure } from '../connection-failure.js';
import { show } from '../errors.js';
import type { Clock } from 'nest-handlers/time';
import { WakeTimer } from '../time/wake-timer.js';
import { BeanstalkError, type BeanstalkErrorCode } from './codec/beanstalk-error.js';
import { type Command, commands } from './codec/commands.js';
import { type Reply, ReplyParser, type ReplyWord } from './codec/reply-parser.js';
import { parseNames, parseStats, type Stats } from './codec/yaml.js';

/** Called exactly once, never before the method it was passed to has returned. `value` is set unless there is an `error`. */
export type Done<T> = (error: BeanstalkError | undefined, value: T) => void;

type Refusal = ReplyWord & BeanstalkErrorCode;

/** After these replies, the two sides no longer agree on where a command begins. */
const FATAL: readonly Refusal[] = ['BAD_FORMAT', 'UNKNOWN_COMMAND', 'EXPECTED_CRLF'];
/** Any command may get these, and the connection stays open. Some commands may get others too. */
const REFUSALS: readonly Refusal[] = ['OUT_OF_MEMORY', 'INTERNAL_ERROR'];
const REFUSALS_OF: Readonly<Record<string, readonly Refusal[]>> = {
  put: [...REFUSALS, 'DRAINING', 'JOB_TOO_BIG'],
  ignore: [...REFUSALS, 'NOT_IGNORED'],
};

/** Bytes shown of an unexpected reply. */
const MAX_SHOWN_BYTES = 60;

/** A command awaiting its reply. */
class Awaited {
  next: Awaited | undefined;

  constructor(
    readonly line: string,
    readonly answer: Answer<unknown>,
    readonly done: Done<never>,
    /** In ms. */
    readonly allowance: number,
  ) {}
}

/**
 * Commands out, replies in, in order, over one stream: one write per tick, a queue of awaited replies, one timer. The deadline
 * applies to the oldest sent command: those after it wait for that one, not for the server. It closes once and for good, which
 * fails all pending commands.
 */
export class Pipeline {
  /** Why it closed; undefined while it is open. */
  reason: BeanstalkError | undefined;

  private readonly parser = new ReplyParser();
  private readonly outbox = new Outbox();
  private head: Awaited | undefined;
  private tail: Awaited | undefined;
  private sent = 0;
  private unsent = 0;
  private quitting = false;
  /** While the socket is connecting, including the TLS handshake, nothing has been transmitted. */
  private connecting: boolean;
  private readonly overTls: boolean;
  /** Whether the server has sent anything. */
  private heard = false;

  /** When the oldest command became the oldest one sent. */
  private since = 0;
  private readonly timer: WakeTimer;

  constructor(
    private readonly stream: Duplex,
    private readonly clock: Clock,
    /** Time limit for a reply, in ms, unless a command has its own. */
    readonly deadline: number,
    private readonly onClose?: (reason: BeanstalkError) => void,
  ) {
    this.timer = new WakeTimer(clock, () => this.checkDeadline());
    this.connecting = (stream as { connecting?: boolean }).connecting === true;
    this.overTls = stream instanceof TLSSocket;
    if (this.connecting)
      stream.once(this.overTls ? 'secureConnect' : 'connect', () => (this.connecting = false));
    (stream as { setNoDelay?: () => void }).setNoDelay?.();
    stream.on('data', this.onData);
    stream.on('error', (cause: Error) =>
      this.onEnd(`the connection failed: ${connectionFailure(cause).message}${this.silence}`, cause),
    );
    stream.on('end', () => this.onEnd(`the server ended the connection${this.silence}`));
    stream.on('close', () => this.onEnd('the connection was closed'));
  }

  /** `allowance` is the command's own deadline, in ms. */
  send<T>(command: Command, answer: Answer<T>, done: Done<T>, allowance = this.deadline, body?: Body): void {
    if (typeof command !== 'string') return this.failLater(done, command);
    if (this.reason !== undefined || this.quitting) {
      return this.failLater(done, closedBy(this.reason ?? new BeanstalkError('CLOSED', 'quit'), false));
    }
    const awaited = new Awaited(command, answer, done, allowance);
    if (this.tail === undefined) this.head = awaited;
    else this.tail.next = awaited;
    this.tail = awaited;
    if (this.unsent++ === 0) this.clock.next(this.flush);
    this.outbox.add(command, body);
  }

  /** Asks the server to close. Earlier commands are still answered, later ones are refused. */
  quit(): void {
    this.send(commands.quit(), noAnswer, noAnswer);
    this.quitting = true;
  }

  /**
   * Idempotent. By the time it returns, all pending commands have failed and `onClose` was called. The culprit fails with
   * `reason` itself, the others like commands of a closed connection.
   */
  close(reason: BeanstalkError, culprit?: Awaited): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    this.timer.cancel();
    this.stream.destroy();
    const first = this.head;
    this.head = this.tail = undefined; // a late answer finds no command
    const transmitted = this.connecting ? 0 : this.sent;
    const maybe = closedBy(reason, true);
    const never = closedBy(reason, false);
    let place = 0;
    for (let awaited = first; awaited !== undefined; awaited = awaited.next, place++) {
      this.call(awaited.done, awaited === culprit ? reason : place < transmitted ? maybe : never);
    }
    if (this.onClose !== undefined) this.call(this.onClose, reason);
  }

  private readonly flush = (): void => {
    if (this.reason !== undefined) return;
    if (this.sent === 0) this.since = this.clock.now();
    this.sent += this.unsent;
    this.unsent = 0;
    this.outbox.sendTo(this.stream);
    this.timer.at(this.dueAt);
  };

  private readonly onData = (chunk: Buffer): void => {
    const before = this.head;
    this.heard = true;
    this.parser.feed(chunk);
    while (this.reason === undefined) {
      const reply = this.nextReply();
      if (reply === undefined) break;
      this.take(reply);
    }
    if (this.reason !== undefined || this.head === before) return;
    this.since = this.clock.now();
    this.timer.at(this.dueAt);
  };

  private nextReply(): Reply | undefined {
    try {
      return this.parser.next();
    } catch (error) {
      this.giveUp(error as BeanstalkError);
      return undefined;
    }
  }

  private take(reply: Reply): void {
    const awaited = this.head;
    if (awaited === undefined || this.sent === 0) {
      return this.giveUp(new BeanstalkError('BAD_REPLY', `${reply.word}, although no command was sent`));
    }
    const value = awaited.answer(reply);
    if (value === undefined) return this.refuse(awaited, reply);
    this.shift(awaited);
    this.call(awaited.done, undefined, value);
  }

  private refuse(awaited: Awaited, { word, value, body }: Reply): void {
    const command = awaited.line.trimEnd();
    const allowed = REFUSALS_OF[command.split(' ', 1)[0] ?? ''] ?? REFUSALS;
    if (FATAL.includes(word as Refusal)) return this.giveUp(refused(word as Refusal, command));
    if (!allowed.includes(word as Refusal)) {
      const more = value || body.toString('latin1', 0, MAX_SHOWN_BYTES);
      const what = more === '' ? word : `${word} with ${show(more)}`;
      return this.giveUp(new BeanstalkError('BAD_REPLY', `${what} to \`${command}\``, { unknown: true }));
    }
    this.shift(awaited);
    this.call(awaited.done, refused(word as Refusal, command));
  }

  private shift(awaited: Awaited): void {
    this.head = awaited.next;
    if (this.head === undefined) this.tail = undefined;
    this.sent--;
  }

  private onEnd(message: string, cause?: Error): void {
    if (this.quitting && this.head === this.tail && cause === undefined) {
      this.close(new BeanstalkError('CLOSED', 'quit'));
    } else {
      this.close(new BeanstalkError('CONNECTION_LOST', message, { cause }));
    }
  }

  /** Closes, blaming the oldest command. */
  private giveUp(reason: BeanstalkError): void {
    this.close(reason, this.sent > 0 ? this.head : undefined);
  }

  private failLater<T>(done: Done<T>, error: BeanstalkError): void {
    this.clock.next(() => (done as (error: BeanstalkError) => void)(error));
  }

  /** If a callback throws, the error becomes an uncaught exception. The callbacks after it are still called. */
  private call<E extends BeanstalkError | undefined>(
    done: (error: E, value: never) => void,
    error: E,
    value?: unknown,
  ): void {
    try {
      done(error, value as never);
    } catch (thrown) {
      this.clock.next(() => {
        throw thrown;
      });
    }
  }

  /** Deadline of the next reply, in `clock.now()` time; Infinity if none is awaited. */
  private get dueAt(): number {
    return this.sent === 0 || this.head === undefined ? Infinity : this.since + this.head.allowance;
  }

  /** Each reply extends the deadline without resetting the timer: if it wakes too early, it is set again for the rest. */
  private checkDeadline(): void {
    const { clock } = this;
    if (clock.now() < this.dueAt) return this.timer.at(this.dueAt);
    // A blocked event loop may have left the reply in the socket: read it first.
    clock.soon(() => (clock.now() < this.dueAt ? this.timer.at(this.dueAt) : this.missed()));
  }

  private missed(): void {
    const { line, allowance } = this.head ?? { line: '', allowance: 0 };
    const hasConnected = this.overTls && (this.stream as TLSSocket).connecting === false;
    const isShaking = this.connecting && hasConnected;
    const missing = isShaking ? 'no completed TLS handshake' : 'no connection';
    const what = this.connecting ? `${missing} for` : 'no reply to';
    const hint = isShaking ? ': does the server expect TLS?' : '';
    this.giveUp(
      new BeanstalkError('DEADLINE', `${what} \`${line.trimEnd()}\` within ${allowance} ms${hint}`, {
        unknown: !this.connecting,
      }),
    );
  }

  /** Possible cause if the server accepted the connection and ended it without sending anything. */
  private get silence(): string {
    if (this.heard || this.connecting || !(this.stream instanceof Socket)) return '';
    const doubt = this.overTls
      ? 'does it require another client certificate, or is the server behind it down?'
      : 'does it expect TLS?';
    return ` without replying: ${doubt}`;
  }
}

function refused(code: Refusal, command: string): BeanstalkError {
  return new BeanstalkError(code, `the server's answer to \`${command}\``);
}

/** Returns the error of a command that isn't at fault. */
function closedBy(reason: BeanstalkError, unknown: boolean): BeanstalkError {
  const code = reason.code === 'CLOSED' ? 'CLOSED' : 'CONNECTION_LOST';
  const when = unknown ? 'before the reply came' : 'before the command was sent';
  return new BeanstalkError(code, `the connection closed ${when}: ${reason.message}`, {
    cause: reason,
    unknown,
  });
}

/** The server answers a quit by closing the connection, which `onClose` reports. */
function noAnswer(): undefined {}

/**
 * The body of a job, in consecutive parts. A string is latin1, one character per byte, so that its length is its size: it is sent
 * to the socket as is, which is cheaper than a Buffer.
 */
export type Body = readonly (string | Uint8Array)[];

/** Returns the size in bytes. */
export function sizeOf(body: Body): number {
  let size = 0;
  for (const part of body) size += part.length;
  return size;
}

const SLAB_SIZE = 64 * 1024;
const NO_SLAB = Buffer.alloc(0);

/**
 * Collects what is sent in one tick, so that it leaves in one write. Strings alone are written as one string. As soon as there
 * are bytes, everything is copied into a slab. No byte of a slab is written twice, so a stream may keep what it was given.
 */
class Outbox {
  private text = '';
  private slab = NO_SLAB;
  /** Range of the slab that is collected and not yet sent. */
  private start = 0;
  private end = 0;
  /** Tails of slabs that filled up in this tick. */
  private full: Buffer[] = [];

  /** Adds a command, with its CRLF, and the body it announces. */
  add(line: string, body: Body | undefined): void {
    this.text += line;
    if (body === undefined) return;
    for (const part of body) {
      if (typeof part === 'string') this.text += part;
      else if (part.length > 0) this.addBytes(part);
    }
    this.text += '\r\n';
  }

  /** Sends everything in one write, or, if bytes overflowed a slab, in one writev if the stream supports it. */
  sendTo(stream: Writable): void {
    if (this.end === this.start && this.full.length === 0) {
      stream.write(this.text, 'latin1');
      this.text = '';
      return;
    }
    this.makeRoom(this.text.length);
    this.copyText();
    const last = this.slab.subarray(this.start, this.end);
    this.start = this.end;
    if (this.full.length === 0) {
      stream.write(last);
      return;
    }
    stream.cork();
    for (const chunk of this.full) stream.write(chunk);
    stream.write(last);
    stream.uncork();
    this.full = [];
  }

  private addBytes(bytes: Uint8Array): void {
    this.makeRoom(this.text.length + bytes.length);
    this.copyText();
    this.slab.set(bytes, this.end);
    this.end += bytes.length;
  }

  private copyText(): void {
    this.end += this.slab.write(this.text, this.end, 'latin1');
    this.text = '';
  }

  private makeRoom(length: number): void {
    if (this.slab.length - this.end >= length) return;
    if (this.end > this.start) this.full.push(this.slab.subarray(this.start, this.end));
    this.slab = Buffer.allocUnsafeSlow(Math.max(SLAB_SIZE, length));
    this.start = 0;
    this.end = 0;
  }
}

/** Expected replies of each command, converted to the values its caller gets. */

/** Returns undefined if the reply doesn't belong to the command. */
type Answer<T> = (reply: Reply) => T | undefined;

export interface PutReply {
  /** Only INSERTED means a stored copy. BURIED: the server had no memory to queue the job. */
  readonly status: 'INSERTED' | 'BURIED';
  readonly id: string;
}

/** A job as returned by the server. After a peek it stays where it is. */
export interface Reserved {
  readonly id: string;
  readonly body: Buffer;
}

/** Expects one of these words, alone. */
function word<W extends ReplyWord>(...words: W[]): Answer<W> {
  return ({ word, value }) => (value === '' && words.includes(word as W) ? (word as W) : undefined);
}

/** Expects a job under the word `found`, or one of the other words. */
function job<W extends ReplyWord>(found: ReplyWord, ...others: W[]): Answer<Reserved | W> {
  const other = word(...others);
  return (reply) => (reply.word === found ? { id: reply.value, body: reply.body } : other(reply));
}

const stats: Answer<Stats> = (reply) => (reply.word === 'OK' ? parseStats(reply.body) : undefined);

/** Statistics of a server. The other values we read from them are numbers that only affect how we judge the server itself. */
const serverStats: Answer<Stats> = (reply) => {
  const found = stats(reply);
  return found && isInstance(found['id']) && isSize(found['max-job-size']) ? found : undefined;
};

/** True if the server has no id, or one that fits into a location. */
function isInstance(id: string | undefined): boolean {
  return id === undefined || /^\w{1,16}$/.test(id);
}

function isSize(bytes: string | undefined): boolean {
  return bytes === undefined || /^[1-9]\d{0,9}$/.test(bytes);
}

const statsOrNotFound: Answer<Stats | 'NOT_FOUND'> = (reply) =>
  reply.word === 'NOT_FOUND' ? 'NOT_FOUND' : stats(reply);

export const answers = {
  put: ((reply) =>
    (reply.word === 'INSERTED' || reply.word === 'BURIED') && reply.value !== ''
      ? { status: reply.word, id: reply.value }
      : undefined) satisfies Answer<PutReply>,
  use:
    (tube: string): Answer<string> =>
    (reply) =>
      reply.word === 'USING' && reply.value === tube ? tube : undefined,

  reserveWithTimeout: job('RESERVED', 'TIMED_OUT', 'DEADLINE_SOON'),
  reserveJob: job('RESERVED', 'NOT_FOUND'),
  peek: job('FOUND', 'NOT_FOUND'),

  delete: word('DELETED', 'NOT_FOUND'),
  release: word('RELEASED', 'BURIED', 'NOT_FOUND'),
  bury: word('BURIED', 'NOT_FOUND'),
  touch: word('TOUCHED', 'NOT_FOUND'),
  kickJob: word('KICKED', 'NOT_FOUND'),

  watch: ((reply) => (reply.word === 'WATCHING' ? Number(reply.value) : undefined)) satisfies Answer<number>,

  stats: serverStats,
  statsOrNotFound,
  names: ((reply) => (reply.word === 'OK' ? parseNames(reply.body) : undefined)) satisfies Answer<string[]>,
};
