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

/** Called exactly once, and never before the method that took it has returned. There is a `value` unless there is an `error`. */
export type Done<T> = (error: BeanstalkError | undefined, value: T) => void;

type Refusal = ReplyWord & BeanstalkErrorCode;

/** After these replies the two sides no longer agree on where a command begins. */
const FATAL: readonly Refusal[] = ['BAD_FORMAT', 'UNKNOWN_COMMAND', 'EXPECTED_CRLF'];
/** Any command may get these, and the connection goes on. Some commands may get others too. */
const REFUSALS: readonly Refusal[] = ['OUT_OF_MEMORY', 'INTERNAL_ERROR'];
const REFUSALS_OF: Readonly<Record<string, readonly Refusal[]>> = {
  put: [...REFUSALS, 'DRAINING', 'JOB_TOO_BIG'],
  ignore: [...REFUSALS, 'NOT_IGNORED'],
};

/** Bytes of a wrong reply. */
const MOST_SHOWN = 60;

/** A command whose reply is awaited. */
class Awaited {
  next: Awaited | undefined;

  constructor(
    readonly line: string,
    readonly answer: Answer<unknown>,
    readonly done: Done<never>,
    /** Milliseconds. */
    readonly allowance: number,
  ) {}
}

/**
 * Commands out, replies in, in order, over one stream: one write per tick, the queue of awaited replies, one timer.
 * The deadline runs for the oldest command that was sent: those behind it wait for that one, not for the server.
 * It closes once and for good. Every command that still waits then fails.
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
  /** While its socket still connects, which includes the handshake of TLS, nothing was transmitted. */
  private connecting: boolean;
  private readonly overTls: boolean;
  /** The server said something. */
  private heard = false;

  /** Since when the oldest command is the oldest, and sent. */
  private since = 0;
  private readonly timer: WakeTimer;

  constructor(
    private readonly stream: Duplex,
    private readonly clock: Clock,
    /** Milliseconds until the reply must be there, unless a command has its own. */
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

  /** `allowance`: the command's own deadline. */
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

  /** The server answers by closing. Earlier commands are still answered, later ones are refused. */
  quit(): void {
    this.send(commands.quit(), noAnswer, noAnswer);
    this.quitting = true;
  }

  /**
   * Idempotent. When it returns, all waiting commands have failed and `onClose` was called. The culprit fails with the reason
   * itself, the others like commands of a closed connection.
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
      return this.giveUp(new BeanstalkError('BAD_REPLY', `${reply.word}, although nothing was asked`));
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
      const more = value || body.toString('latin1', 0, MOST_SHOWN);
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

  /** Closes, and the oldest command is at fault. */
  private giveUp(reason: BeanstalkError): void {
    this.close(reason, this.sent > 0 ? this.head : undefined);
  }

  private failLater<T>(done: Done<T>, error: BeanstalkError): void {
    this.clock.next(() => (done as (error: BeanstalkError) => void)(error));
  }

  /** An error that a callback throws becomes an uncaught exception. The callbacks behind it are still called. */
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

  /** When the next reply must be there, by `clock.now()`; Infinity if none is awaited. */
  private get dueAt(): number {
    return this.sent === 0 || this.head === undefined ? Infinity : this.since + this.head.allowance;
  }

  /** Each reply moves the deadline on, and the timer stays: where it wakes too early, it is set again for the rest. */
  private checkDeadline(): void {
    const { clock } = this;
    if (clock.now() < this.dueAt) return this.timer.at(this.dueAt);
    // The reply may be waiting in the socket behind a blocked event loop: read it first.
    clock.soon(() => (clock.now() < this.dueAt ? this.timer.at(this.dueAt) : this.missed()));
  }

  private missed(): void {
    const { line, allowance } = this.head ?? { line: '', allowance: 0 };
    const hasConnected = this.overTls && (this.stream as TLSSocket).connecting === false;
    const isShaking = this.connecting && hasConnected;
    const missing = isShaking ? 'no end of the TLS handshake' : 'no connection';
    const what = this.connecting ? `${missing} for` : 'no reply to';
    const hint = isShaking ? ': does the server expect TLS?' : '';
    this.giveUp(
      new BeanstalkError('DEADLINE', `${what} \`${line.trimEnd()}\` within ${allowance} ms${hint}`, {
        unknown: !this.connecting,
      }),
    );
  }

  /** What may be wrong if the server took the connection, and ends it without having said anything. */
  private get silence(): string {
    if (this.heard || this.connecting || !(this.stream instanceof Socket)) return '';
    const doubt = this.overTls
      ? 'does it want another client certificate, or is the server behind it away?'
      : 'does it expect TLS?';
    return ` without a word: ${doubt}`;
  }
}

function refused(code: Refusal, command: string): BeanstalkError {
  return new BeanstalkError(code, `the server's answer to \`${command}\``);
}

/** The error of a command that is not at fault. */
function closedBy(reason: BeanstalkError, unknown: boolean): BeanstalkError {
  const code = reason.code === 'CLOSED' ? 'CLOSED' : 'CONNECTION_LOST';
  const when = unknown ? 'before the reply came' : 'before the command was sent';
  return new BeanstalkError(code, `the connection closed ${when}: ${reason.message}`, {
    cause: reason,
    unknown,
  });
}

/** To a quit the server closes the connection, and `onClose` tells it. */
function noAnswer(): undefined {}

/**
 * The body of a job, in parts that follow each other. A text is latin1, a character a byte, so that its length is its size: it
 * goes to the socket as it is, which costs less than a Buffer.
 */
export type Body = readonly (string | Uint8Array)[];

/** Bytes. */
export function sizeOf(body: Body): number {
  let size = 0;
  for (const part of body) size += part.length;
  return size;
}

const SLAB_SIZE = 64 * 1024;
const NO_SLAB = Buffer.alloc(0);

/**
 * Collects what is sent in one tick, so that it leaves in one write.
 * Texts leave as one text. Bytes are copied between it into a slab. No byte of a slab is written twice, so a stream may
 * keep what it was given.
 */
class Outbox {
  private text = '';
  private slab = NO_SLAB;
  /** The part of the slab that is collected and not yet sent. */
  private start = 0;
  private end = 0;
  /** The ends of slabs that became full in this tick. */
  private full: Buffer[] = [];

  /** A command, with its CRLF, and the body that it announces. */
  add(line: string, body: Body | undefined): void {
    this.text += line;
    if (body === undefined) return;
    for (const part of body) {
      if (typeof part === 'string') this.text += part;
      else if (part.length > 0) this.addBytes(part);
    }
    this.text += '\r\n';
  }

  /** One write. Where bytes overflowed a slab: one writev, if the stream has it. */
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

/** The replies that each command expects, as the values that its caller gets. */

/** Undefined: this reply does not belong to the command. */
type Answer<T> = (reply: Reply) => T | undefined;

export interface PutReply {
  /** Only INSERTED is a stored copy. BURIED: the server had no memory to queue the job. */
  readonly status: 'INSERTED' | 'BURIED';
  readonly id: string;
}

/** A job as the server gave it. After a peek it stays where it is. */
export interface Reserved {
  readonly id: string;
  readonly body: Buffer;
}

/** One of these words, alone. */
function word<W extends ReplyWord>(...words: W[]): Answer<W> {
  return ({ word, value }) => (value === '' && words.includes(word as W) ? (word as W) : undefined);
}

/** A job under this word, or one of the other words. */
function job<W extends ReplyWord>(found: ReplyWord, ...others: W[]): Answer<Reserved | W> {
  const other = word(...others);
  return (reply) => (reply.word === found ? { id: reply.value, body: reply.body } : other(reply));
}

const stats: Answer<Stats> = (reply) => (reply.word === 'OK' ? parseStats(reply.body) : undefined);

/** Those of a server. What else we read of them are numbers by which it is only judged itself. */
const serverStats: Answer<Stats> = (reply) => {
  const found = stats(reply);
  return found && isInstance(found['id']) && isSize(found['max-job-size']) ? found : undefined;
};

/** Undefined, as it does not tell; or a text that every location of its copies has. */
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
