import { connectionFailure } from '../../connection-failure.js';
import { DqError, printable, toError } from '../../errors.js';
import { detached } from 'nest-handlers/context';
import type { Clock, Timer } from 'nest-handlers/time';
import { NoAnswer, withinLimit } from '../../time/call-limit.js';
import { LedgerTime } from './ledger-time.js';
import type { LedgerListener, LedgerSettings } from '../ledger.js';
import {
  CALL_LIMIT_MS,
  isAboutData,
  isAboutMoving,
  isGivenUp,
  isRefusal,
  isUnsent,
  type LedgerConnection,
  SILENCE_LIMIT_MS,
  type ScriptName,
  withoutArguments,
} from './connection.js';
import { isReply, nonsense, type RawReply } from '../script.js';

/** How long a call that reached the server too late is repeated. */
const GIVE_UP_LATE_MS = 3_000;
/** A longer round trip says little about the server's time. */
const SLOW_TRIP_MS = 20;

export interface RedisMasterOptions {
  readonly connection: LedgerConnection;
  /** A key of this master that isn't a record. */
  readonly probeKey: string;
  readonly settings: LedgerSettings;
  readonly clock: Clock;
  /** Connects, if a call comes before the start. */
  readonly start: () => void;
  /** Replaces the connection, because its other end is silent. */
  readonly reconnect: () => void;
}

/** A reply. The server made it between `sent` and `received`, which are times of the monotonic clock. */
interface Answer {
  readonly reply: RawReply;
  readonly sent: number;
  readonly received: number;
}

/** One Redis master as this process sees it: its time, whether it answers, and its calls, each with a time limit. */
export class RedisMaster {
  readonly time: LedgerTime;
  private readonly listeners = new Set<LedgerListener>();
  private readonly common: readonly string[];
  private state: 'new' | 'unknown' | 'answers' | 'away' | 'closed' = 'new';
  /** Why it is away. */
  private reason = new Error('no connection yet');
  private hasConnection = false;
  /** Callbacks waiting until the state is known. */
  private awaiting: ((error?: Error) => void)[] = [];
  /** When it was last found away. An answer to an earlier call doesn't count. */
  private failedAt = -Infinity;
  /** When its current absence began. */
  private wentAwayAt = -Infinity;
  /** Run id of the server that last answered a probe; empty if it doesn't report one. */
  private runId = '';
  /** Ledger time of its last answer, in ms. */
  private heardAt = 0;
  /** When the first unanswered call after the last answer was sent. */
  private silentSince: number | undefined;
  private readonly probes: ProbeSchedule;

  constructor(private readonly options: RedisMasterOptions) {
    const { clock, settings } = options;
    this.time = new LedgerTime(clock);
    this.probes = new ProbeSchedule(
      clock,
      () => this.probe(),
      () => this.away,
    );
    const { lease, doneTtl, staleAfter, mostIndexed = 0 } = settings;
    this.common = [lease, doneTtl, staleAfter, mostIndexed].map(String);
  }

  get away(): boolean {
    return this.state === 'away';
  }

  /** Why it was last away, or hasn't answered yet. */
  get lastProblem(): string {
    return printable(this.reason.message);
  }

  /** Wall clock time in ms when it was found away, if it is away now and has answered before. */
  get awaySince(): number | undefined {
    if (!this.away || this.heardAt === 0) return undefined;
    const { clock } = this.options;
    return clock.wall() - (clock.now() - this.wentAwayAt);
  }

  /** Number of listeners. */
  get audience(): number {
    return this.listeners.size;
  }

  listen(listener: LedgerListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Whoever opens the connection then calls `connected` or `lost`. Idempotent. */
  start(): void {
    if (this.state !== 'new') return;
    this.state = 'unknown';
    this.probes.awaitConnection();
  }

  close(): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.probes.close();
    this.listeners.clear();
    this.settleAwaiting(closedError());
  }

  /** Resolves once the time has been read; rejects with `DQ_LEDGER_DOWN` as soon as the server is known to be away. */
  readTime(): Promise<void> {
    if (this.state === 'closed') return Promise.reject(closedError());
    if (this.time.known) return Promise.resolve();
    if (this.away) return Promise.reject(this.downError(this.reason));
    this.options.start();
    return new Promise((resolve, reject) => {
      this.awaiting.push((error) => (error ? reject(error) : resolve()));
    });
  }

  /** Checks now whether the server answers. Takes at most as long as a call. */
  async ping(): Promise<boolean> {
    try {
      await this.probe();
      return true;
    } catch {
      return false; // `send` handled it
    }
  }

  /**
   * Calls a script and resolves with its reply. `json` is a list of its arguments. Nothing is sent while the server is away. A
   * call that reached the server too late is repeated with the time of the reply. An error about stored data rejects like any
   * other, but doesn't mark the server as away.
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
        const { size } = this.probes;
        if (size > 0 && sizeOf(keys, json) >= size) this.probes.callPassed();
        return answer.reply;
      }
    } while (clock.now() - began < GIVE_UP_LATE_MS);
    throw this.downError(new Error(`calls have reached it too late for ${GIVE_UP_LATE_MS} ms`));
  }

  /** There is a connection, perhaps to another server: all measurements start over. */
  connected(): void {
    this.hasConnection = true;
    this.silentSince = undefined;
    this.time.renew();
    this.probes.probe();
  }

  /** The connection was lost, or couldn't be established. */
  lost(error: Error): void {
    this.hasConnection = false;
    this.failed(connectionFailure(error));
  }

  /** The server doesn't answer, or refuses everything. */
  private failed(error: Error): void {
    if (this.isAwayBecause(error)) this.probes.probe();
  }

  /** The server answers probes, but not this call. */
  private refused(error: Error, size: number): void {
    const { away } = this;
    if (this.isAwayBecause(error) && !away) this.probes.callRefused(size);
  }

  /** Marks the server as away. Returns false before the start and after the end, when nobody listens. */
  private isAwayBecause(error: Error): boolean {
    if (this.state === 'closed' || this.state === 'new') return false;
    this.reason = error;
    this.failedAt = this.options.clock.now();
    if (this.state === 'away') return true;
    this.state = 'away';
    this.wentAwayAt = this.failedAt;
    this.settleAwaiting(this.downError(error));
    for (const listener of this.listeners) listener.away(error, this.heardAt);
    return true;
  }

  private async send(script: ScriptName, keys: string[], json: string): Promise<Answer> {
    if (this.state === 'closed') throw closedError();
    const { clock, connection } = this.options;
    const sent = clock.now();
    const actUntil = String(Math.floor(this.time.now() + CALL_LIMIT_MS));
    try {
      // In a cluster, this call may make ioredis connect to a node.
      const call = detached(() => connection[script]!(keys.length, keys, [actUntil, ...this.common, json]));
      const reply = await withinLimit(clock, CALL_LIMIT_MS, call);
      if (!isReply(reply)) throw toError(nonsense(reply, "a reply of nest-dq's scripts").cause);
      return { reply, sent, received: clock.now() };
    } catch (thrown) {
      if (this.isClosed()) throw closedError();
      const error = this.reasonOf(withoutArguments(toError(thrown)));
      if (error instanceof NoAnswer) this.unheard(sent);
      // A probe touches no record: if it fails, every call fails.
      const isOfOneTube = isAboutData(error) || isAboutMoving(error);
      if (script === 'dq:probe' || !(isOfOneTube || isRefusal(error))) this.failed(error);
      else if (!isOfOneTube) this.refused(error, sizeOf(keys, json));
      throw this.downError(error);
    }
  }

  /** Why a call wasn't sent, or was given up. The connection knows it; ioredis's message doesn't say. */
  private reasonOf(error: Error): Error {
    if (isGivenUp(error)) return new Error(this.away ? this.reason.message : 'the connection was closed');
    if (!isUnsent(error)) return error;
    return this.hasConnection ? new Error('a connection to one of its nodes is missing') : this.reason;
  }

  private downError(cause: Error): DqError {
    const heard = isRefusal(cause) ? 'Redis answered with an error' : 'Redis did not answer';
    const fact = this.hasConnection ? heard : 'Redis is not connected';
    return new DqError('DQ_LEDGER_DOWN', `${fact}: ${printable(cause.message)}`, {
      cause,
      indeterminate: true,
    });
  }

  private unheard(sent: number): void {
    this.silentSince ??= sent;
    if (this.options.clock.now() - this.silentSince < SILENCE_LIMIT_MS) return;
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
    this.settleAwaiting();
    if (wasAway) for (const listener of this.listeners) listener.back(sameServer);
  }

  private settleAwaiting(error?: Error): void {
    for (const tell of this.awaiting.splice(0)) tell(error);
  }

  private async probe(): Promise<void> {
    const { size } = this.probes;
    const json = size > 0 ? JSON.stringify(['x'.repeat(size)]) : '[]';
    const ask = () => this.send('dq:probe', [this.options.probeKey], json);
    let answer = await ask();
    // If the call waited for a connection, its answer says little about the time.
    if (answer.received - answer.sent > SLOW_TRIP_MS) answer = await ask();
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

/** Intervals between probes. */
const PROBE_WHEN_AWAY_MS = 500;
const PROBE_WHEN_IDLE_MS = 30_000;
/** While waiting for the first connection, a timer runs this often. If it is late by `LATE`, the event loop was blocked. */
const LOOK_EVERY_MS = 100;
const LATE_MS = 100;
/** A server that answers probes but refuses calls gets this rest, which doubles each time. */
const FIRST_REST_MS = 500;
const LONGEST_REST_MS = 10_000;
/** If the last refusal is older than this the next one counts as the first. */
const FORGOTTEN_MS = 60_000;

/** A call that the server refused although it had answered a probe. */
interface Refused {
  /** Size in characters. */
  readonly size: number;
  readonly at: number;
  /** Time until the next probe, in ms. */
  readonly rest: number;
}

/** Decides when a master is probed, and how large the probe is. Only one probe runs at a time. */
export class ProbeSchedule {
  private probing = false;
  private refused: Refused | undefined;
  private timer: Timer | undefined;
  private closed = false;

  constructor(
    private readonly clock: Clock,
    /** Sends a probe, and handles its failure. */
    private readonly send: () => Promise<void>,
    private readonly isAway: () => boolean,
  ) {}

  /** Required size of the next probe, in characters; 0 if any will do. */
  get size(): number {
    return this.refused?.size ?? 0;
  }

  /**
   * Waits for the first connection, and probes if there is none after `left` ms. Time during which the event loop is blocked
   * doesn't count, since a process with much to do at its start can't hear of the connection.
   */
  awaitConnection(left = CALL_LIMIT_MS): void {
    const { clock } = this;
    const end = clock.now() + LOOK_EVERY_MS;
    this.timer = clock.after(LOOK_EVERY_MS, () => {
      const rest = clock.now() - end > LATE_MS ? left : left - LOOK_EVERY_MS;
      if (rest > 0) this.awaitConnection(rest);
      else this.probe();
    });
  }

  /** Probes now. The next probe comes soon if there is no answer, and after a long time if there is one. */
  probe(): void {
    if (this.probing || this.closed) return;
    this.probing = true;
    this.timer?.cancel();
    const next = () => {
      this.probing = false;
      if (this.closed) return;
      this.probeIn(
        this.isAway() ? Math.max(PROBE_WHEN_AWAY_MS, this.refused?.rest ?? 0) : PROBE_WHEN_IDLE_MS,
      );
    };
    this.send().then(next, next);
  }

  /**
   * The server answered probes but refused a call of this size. If memory is short, it refuses a probe of that size as well. If
   * not, it gets a rest before the next probe: otherwise probes and refused calls would alternate at full speed.
   */
  callRefused(size: number): void {
    const { refused } = this;
    const now = this.clock.now();
    const isRelapse = refused !== undefined && now - refused.at < FORGOTTEN_MS;
    const rest = isRelapse ? Math.min(2 * refused.rest, LONGEST_REST_MS) : FIRST_REST_MS;
    this.refused = { size: Math.max(size, isRelapse ? refused.size : 0), at: now, rest };
    if (!this.probing) this.probeIn(rest);
  }

  /** A call as large as the refused one was answered. */
  callPassed(): void {
    this.refused = undefined;
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
  }

  private probeIn(ms: number): void {
    this.timer?.cancel();
    this.timer = this.clock.after(ms, () => this.probe());
  }
}
