import { DqError, inWords, toError } from '../../errors.js';
import type { Clock, Timer } from '../../time/clock.js';
import { NoAnswer, withinLimit } from '../call-limit.js';
import { LedgerTime } from './ledger-time.js';
import type { LedgerListener, LedgerSettings } from '../ledger.js';
import {
  CALL_LIMIT,
  isAboutData,
  isAboutMoving,
  isRefusal,
  isUnsent,
  type LedgerConnection,
  SILENCE_LIMIT,
  type ScriptName,
} from './connection.js';
import type { RawReply } from './script.js';

/** Milliseconds. A call that reaches the server too late is repeated for so long. */
const GIVE_UP_LATE = 3_000;
/** Milliseconds. */
const PROBE_WHEN_AWAY = 500;
const PROBE_WHEN_IDLE = 30_000;
/** Milliseconds: how often it is looked whether the event loop is blocked, as a timer tells that is later than `LATE`. */
const LOOK_EVERY = 100;
const LATE = 100;
/** Milliseconds. A server that answers probes and refuses calls is left alone for so long, and twice as long each time. */
const FIRST_REST = 500;
const LONGEST_REST = 10_000;
/** Milliseconds. After a refusal that is longer ago, the next is the first. */
const FORGOTTEN = 60_000;
/** Milliseconds. A round trip that takes longer says little about the server's time. */
const SLOW = 20;

export interface RedisMasterOptions {
  readonly connection: LedgerConnection;
  /** A key that is no record, on this master. */
  readonly probeKey: string;
  readonly settings: LedgerSettings;
  readonly clock: Clock;
  /** Connects, where a call comes before the start. */
  readonly start: () => void;
  /** Gives the connection up for a new one: its other end is silent. */
  readonly reconnect: () => void;
}

/** A reply, and between which moments of the monotonic clock it was made. */
interface Answer {
  readonly reply: RawReply;
  readonly sent: number;
  readonly received: number;
}

/** A call that the server refused, although it had answered a probe. */
interface Refused {
  /** Characters. */
  readonly size: number;
  readonly at: number;
  /** Milliseconds until the next probe. */
  readonly rest: number;
}

/** One Redis master as this process sees it: its time, whether it answers, and calls that end within their limit. */
export class RedisMaster {
  readonly time: LedgerTime;
  private readonly listeners = new Set<LedgerListener>();
  private readonly common: readonly string[];
  private state: 'new' | 'unknown' | 'answers' | 'away' | 'closed' = 'new';
  /** Why it is away. */
  private reason = new Error('no connection stands yet');
  private hasConnection = false;
  private awaited: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  private probing = false;
  /** When it was last found to be away: what was sent before says nothing about it. */
  private failedAt = -Infinity;
  private refused: Refused | undefined;
  /** Of the server that last answered a probe; empty where it does not tell. */
  private runId = '';
  /** Ledger time, ms, of its last answer. */
  private heardAt = 0;
  /** When the first call was sent of those without an answer since the last answer. */
  private silentSince: number | undefined;
  private timer: Timer | undefined;

  constructor(private readonly options: RedisMasterOptions) {
    this.time = new LedgerTime(options.clock);
    const { lease, doneTtl, staleAfter } = options.settings;
    this.common = [lease, doneTtl, staleAfter].map(String);
  }

  get away(): boolean {
    return this.state === 'away';
  }

  /** Who is told of its changes. */
  get audience(): number {
    return this.listeners.size;
  }

  listen(listener: LedgerListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** The connection is being made; `connected` or `lost` says what came of it. Idempotent. */
  start(): void {
    if (this.state !== 'new') return;
    this.state = 'unknown';
    this.awaitConnection();
  }

  /**
   * Until one stands; where none does within so many ms, a probe finds out. Who starts with much to do blocks the event
   * loop, and could hear of no connection meanwhile: that counts for nothing.
   */
  private awaitConnection(left = CALL_LIMIT): void {
    const { clock } = this.options;
    const end = clock.now() + LOOK_EVERY;
    this.timer = clock.after(LOOK_EVERY, () => {
      const rest = clock.now() - end > LATE ? left : left - LOOK_EVERY;
      if (rest > 0) this.awaitConnection(rest);
      else this.probe();
    });
  }

  close(): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.timer?.cancel();
    this.listeners.clear();
    this.answerAwaited(closedError());
  }

  /** Resolves once the time was read; `DQ_LEDGER_DOWN` as soon as the server is known to be away. */
  readTime(): Promise<void> {
    if (this.state === 'closed') return Promise.reject(closedError());
    if (this.time.known) return Promise.resolve();
    if (this.away) return Promise.reject(this.downError(this.reason));
    this.options.start();
    return new Promise((resolve, reject) => this.awaited.push({ resolve, reject }));
  }

  /** Asks now whether the server answers, which takes as long as a call at most. */
  async ping(): Promise<boolean> {
    try {
      await this.ask();
      return true;
    } catch {
      return false; // told of where it happened
    }
  }

  /**
   * Calls a script, and gives its reply; `json` is a list of what it is told of the jobs. Nothing is sent while the server is away.
   * The time of every reply is learned, and a call that came too late is repeated. An error about what is stored
   * rejects like any other, but does not make the server away.
   */
  async call(script: ScriptName, keys: string[], json: string): Promise<RawReply> {
    if (this.state !== 'answers') await this.readTime();
    if (this.away) throw this.downError(this.reason);
    const { clock } = this.options;
    const began = clock.now();
    do {
      const answer = await this.send(script, keys, json);
      this.answered(answer);
      if (answer.reply[0] === 1) {
        if (this.refused && sizeOf(keys, json) >= this.refused.size) this.refused = undefined;
        return answer.reply;
      }
    } while (clock.now() - began < GIVE_UP_LATE);
    throw this.downError(new Error(`each call reached it too late, for ${GIVE_UP_LATE} ms`));
  }

  /** A connection stands, perhaps to another server: what is measured begins anew. */
  connected(): void {
    this.hasConnection = true;
    this.silentSince = undefined;
    this.time.renew();
    this.probe();
  }

  /** No connection stands, or none could be made. */
  lost(error: Error): void {
    this.hasConnection = false;
    this.failed(inWords(error));
  }

  /** The server is not there, or not fit. */
  private failed(error: Error): void {
    if (this.isAwayBecause(error)) this.probe();
  }

  /**
   * It answers probes, but not this call. A probe as large as that is refused like it where memory is short; and where it
   * is not, the server rests before it is asked again, or both would take turns as fast as they can.
   */
  private refusedCall(error: Error, size: number): void {
    const { clock } = this.options;
    const { refused, away } = this;
    if (!this.isAwayBecause(error) || away) return;
    const isRelapse = refused !== undefined && clock.now() - refused.at < FORGOTTEN;
    const rest = isRelapse ? Math.min(2 * refused.rest, LONGEST_REST) : FIRST_REST;
    this.refused = { size: Math.max(size, isRelapse ? refused.size : 0), at: clock.now(), rest };
    if (!this.probing) this.probeIn(rest);
  }

  /** False where nobody is to be told of anything any more, or yet. */
  private isAwayBecause(error: Error): boolean {
    if (this.state === 'closed' || this.state === 'new') return false;
    this.reason = error;
    this.failedAt = this.options.clock.now();
    if (this.state === 'away') return true;
    this.state = 'away';
    this.answerAwaited(this.downError(error));
    for (const listener of this.listeners) listener.away(error, this.heardAt);
    return true;
  }

  private async send(script: ScriptName, keys: string[], json: string): Promise<Answer> {
    if (this.state === 'closed') throw closedError();
    const { clock, connection } = this.options;
    const sent = clock.now();
    const actUntil = String(Math.floor(this.time.now() + CALL_LIMIT));
    try {
      const call = connection[script](keys.length, keys, [actUntil, ...this.common, json]);
      const reply = await withinLimit(clock, CALL_LIMIT, call);
      return { reply, sent, received: clock.now() };
    } catch (thrown) {
      if (this.isClosed()) throw closedError();
      const error = this.reasonOf(toError(thrown));
      if (error instanceof NoAnswer) this.unheard(sent);
      // A probe touches no record: where it fails, nothing can be asked.
      const isOfOneTube = isAboutData(error) || isAboutMoving(error);
      if (script === 'dq:probe' || !(isOfOneTube || isRefusal(error))) this.failed(error);
      else if (!isOfOneTube) this.refusedCall(error, sizeOf(keys, json));
      throw this.downError(error);
    }
  }

  /** What an unsent call has met is known from the connection, and by no words of ioredis. */
  private reasonOf(error: Error): Error {
    if (!isUnsent(error)) return error;
    return this.hasConnection ? new Error('a connection to one of its nodes is missing') : this.reason;
  }

  private downError(cause: Error): DqError {
    const heard = isRefusal(cause) ? 'Redis answered with an error' : 'Redis did not answer';
    const fact = this.hasConnection ? heard : 'Redis is not connected';
    return new DqError('DQ_LEDGER_DOWN', `${fact}: ${cause.message}`, { cause, indeterminate: true });
  }

  private unheard(sent: number): void {
    this.silentSince ??= sent;
    if (this.options.clock.now() - this.silentSince < SILENCE_LIMIT) return;
    this.silentSince = undefined;
    this.options.reconnect();
  }

  private isClosed(): boolean {
    return this.state === 'closed';
  }

  private answered({ reply, sent, received }: Answer, sameServer = false): void {
    if (this.state === 'closed') return;
    this.time.observe(sent, received, reply[1] / 1_000);
    this.silentSince = undefined;
    if (sent < this.failedAt) return;
    this.heardAt = this.time.now();
    const wasAway = this.state === 'away';
    this.state = 'answers';
    this.answerAwaited();
    if (wasAway) for (const listener of this.listeners) listener.back(sameServer);
  }

  private answerAwaited(error?: Error): void {
    const { awaited } = this;
    this.awaited = [];
    for (const { resolve, reject } of awaited) {
      if (error) reject(error);
      else resolve();
    }
  }

  /** One question at a time, the next soon while there is no answer and rarely when there was one. */
  private probe(): void {
    if (this.probing || this.state === 'closed') return;
    this.probing = true;
    this.timer?.cancel();
    const next = () => {
      this.probing = false;
      if (this.state === 'closed') return;
      if (this.away) this.probeIn(Math.max(PROBE_WHEN_AWAY, this.refused?.rest ?? 0));
      else this.probeIn(PROBE_WHEN_IDLE);
    };
    // A failure was told of where it happened.
    this.ask().then(next, next);
  }

  private probeIn(ms: number): void {
    this.timer?.cancel();
    this.timer = this.options.clock.after(ms, () => this.probe());
  }

  private async ask(): Promise<void> {
    const size = this.refused?.size ?? 0;
    const json = size > 0 ? JSON.stringify(['x'.repeat(size)]) : '[]';
    const probe = () => this.send('dq:probe', [this.options.probeKey], json);
    let answer = await probe();
    // It may have waited until a connection stood, and then says little about the time.
    if (answer.received - answer.sent > SLOW) answer = await probe();
    const [, , runId = ''] = answer.reply;
    const isSame = runId !== '' && runId === this.runId;
    this.runId = String(runId);
    this.answered(answer, isSame);
  }
}

function sizeOf(keys: readonly string[], json: string): number {
  return keys.reduce((size, key) => size + key.length, json.length);
}

function closedError(): DqError {
  return new DqError('DQ_CLOSED', 'the ledger is closed');
}
