import { randomBytes } from 'node:crypto';
import { Duplex } from 'node:stream';
import type { Disk } from '../disk/disk.js';
import { DqError } from '../errors.js';
import type { Clock } from 'nest-handlers/time';
import { WakeTimer } from '../time/wake-timer.js';
import { Alarms, type Job } from './tubes.js';
import { Buffers } from './buffers.js';
import type { Client } from './client.js';
import type { Verb } from './command-parser.js';
import { DurableJobs } from './durable-jobs.js';
import { JobStore } from './job-store.js';
import { NO_LIMITS, type NodeLimits } from './capacity.js';
import { RareWarnings } from './rare-warnings.js';
import { Session, type SessionNode } from './session.js';
import { TimeShares } from './time-shares.js';

/** Jobs visited per turn: at most some two milliseconds of work. */
const SEEN_IN_A_TURN = 1_000;

/**
 * A node that speaks beanstalkd 1.12's protocol and lives in this process. Its jobs are in memory, and lost with the process;
 * with a disk, a change is stored there before it is answered. It works in turns: incoming bytes and due times schedule sessions;
 * one timer covers all times. A session that may not finish in a turn continues in a later one.
 */
export class InProcessNode implements SessionNode {
  /** Hex, new for each node; `id` in `stats`. A job's id is unique only within one instance. */
  readonly instance = randomBytes(8).toString('hex');
  readonly startedAt: number;
  readonly store: JobStore;
  readonly alarms = new Alarms<Client>();
  readonly shares: TimeShares;
  readonly commands: Partial<Record<Verb, number>> = {};
  /** Whether every put is refused. */
  isDraining = false;
  totalConnections = 0;

  readonly buffers?: Buffers;
  /** Warnings for the operator about what clients can cause over and over. */
  readonly warnings: RareWarnings;

  private readonly durable: DurableJobs | undefined;
  private readonly sessions = new Set<Session>();
  private isLoaded: boolean;
  private isClosed = false;

  private readonly toRun = new Set<Session>();
  private isTurnComing = false;
  private readonly timer: WakeTimer;

  constructor(
    readonly clock: Clock,
    /** Open it, then load the node, before anybody connects; close it after the node. */
    readonly disk?: Disk,
    readonly limits = NO_LIMITS,
    /** Receives warnings for the operator, one sentence each. */
    warn: (message: string) => void = () => undefined,
  ) {
    this.warnings = new RareWarnings(clock, warn);
    if (limits.maxBuffers < Infinity) {
      this.buffers = new Buffers(limits.maxBuffers, (bytes) => this.warnCut(bytes));
    }
    this.isLoaded = !disk;
    this.startedAt = clock.now();
    this.durable = disk && new DurableJobs(disk, clock);
    this.store = new JobStore(clock, this.durable);
    this.shares = new TimeShares(clock);
    this.timer = new WakeTimer(clock, () => this.turn());
  }

  /** Loads the jobs on its disk. Rejects with `DQ_DISK`. */
  async load(): Promise<void> {
    await this.durable?.load(this.store);
    this.disk?.onFailure(() => this.close());
    this.isLoaded = true;
  }

  get clients(): readonly Client[] {
    return [...this.sessions].map(({ client }) => client);
  }

  /**
   * Opens a connection, like a connected socket. On a closed node it fails with `DQ_CLOSED`, on one whose disk has failed or
   * isn't loaded yet with `DQ_DISK`.
   */
  dial(): Duplex {
    const { client, server } = duplexPair(this.clock);
    const { disk } = this;
    if (this.isClosed) {
      return client.destroy(disk?.failure ?? new DqError('DQ_CLOSED', 'the embedded node is closed'));
    }
    if (!this.isLoaded) return client.destroy(disk?.notYet());
    this.serve(server);
    return client;
  }

  /**
   * Serves a connection made by somebody else. `close` of the returned session ends it, after the replies so far. `denied`
   * commands are unknown on this connection.
   */
  serve(stream: Duplex, denied?: ReadonlySet<Verb>): Session {
    const session = new Session(stream, this, denied);
    this.totalConnections++;
    this.sessions.add(session);
    return session;
  }

  /** Answers every put DRAINING from now on, like a beanstalkd that got SIGUSR1; jobs are still handed out. */
  drain(): void {
    this.isDraining = true;
  }

  /**
   * Time by `Clock.now` of the first state change of a job in these tubes that needs no command: -Infinity while a client holds
   * one, Infinity if there is none.
   */
  nextChange(ofTube: (name: string) => boolean): number {
    const tubes = this.store.tubes.all.filter(({ name }) => ofTube(name));
    if (tubes.some(({ reserved }) => reserved > 0)) return -Infinity;
    return Math.min(...tubes.map((tube) => tube.nextEvent()));
  }

  /** The bodies of all jobs of a tube, in any state. */
  bodies(tube: string): Buffer[] {
    const jobs = [...this.store.all()].filter((job) => job.tube.name === tube);
    return jobs.map(({ body }) => Buffer.from(body, 'latin1'));
  }

  /**
   * Calls `see` for every job of a tube, in any state. Yields to the event loop after every thousand jobs of the node. Some of
   * the jobs that come or go meanwhile are seen.
   */
  async eachJob(tube: string, see: (job: Job) => void): Promise<void> {
    let left = SEEN_IN_A_TURN;
    for (const job of this.store.all()) {
      if (job.tube.name === tube) see(job);
      if (--left > 0) continue;
      left = SEEN_IN_A_TURN;
      await new Promise<void>((resolve) => this.clock.soon(resolve));
    }
  }

  /** Whether a job with a body of `size` bytes can be stored. If not, warns the operator. */
  hasRoom(size: number): boolean {
    if (this.disk?.space.isLow) return false; // the disk has warned of it
    const { maxJobs, maxMemory } = this.limits;
    if (this.store.size >= maxJobs) this.refused('maxJobs', `${maxJobs} jobs are stored`);
    else if (this.store.memoryWith(size) > maxMemory)
      this.refused('maxMemory', `the jobs take ${maxMemory} bytes`);
    else return true;
    return false;
  }

  refused(kind: keyof NodeLimits, what: string): void {
    this.warnings.warnOnce(kind, `answered a client OUT_OF_MEMORY: ${what}, the limit of \`${kind}\``);
  }

  /** Cuts all connections and stops all timers. Idempotent. */
  close(): void {
    this.isClosed = true;
    for (const session of this.sessions) session.destroy();
    this.timer.cancel();
  }

  schedule(session: Session): void {
    this.toRun.add(session);
    if (this.isTurnComing) return;
    this.isTurnComing = true;
    this.clock.next(() => this.turn());
  }

  closed(session: Session): void {
    this.sessions.delete(session);
  }

  private warnCut(bytes: number): void {
    const { maxBuffers } = this.limits;
    this.warnings.warnOnce(
      'maxBuffers',
      `closed a connection: all connections together buffered more than the ${maxBuffers} bytes of \`maxBuffers\`, this one ${bytes} of them`,
    );
  }

  private turn(): void {
    if (this.isClosed) return;
    this.isTurnComing = true; // sessions scheduled during this turn join it
    this.wake();
    for (const session of this.toRun) {
      this.toRun.delete(session);
      session.run();
    }
    this.isTurnComing = false;
    this.setTimer();
  }

  /** In beanstalkd's order, before any command: what is due in the tubes, then what is due for the clients. */
  private wake(): void {
    const { alarms, store } = this;
    const now = this.clock.now();
    store.wake(now);
    for (let client = alarms.due(now); client; client = alarms.due(now)) client.wake(now);
  }

  private setTimer(): void {
    const next = Math.min(this.store.nextEvent, this.alarms.next);
    if (next === Infinity) this.timer.cancel(); // a timer would keep the process alive
    else this.timer.at(next);
  }
}

type Done = (error?: Error | null) => void;

const HIGH_WATER_MARK = 64 * 1024;

/**
 * One end of a connection within the process. Written data arrives at the other end in a later turn of the event loop, as from a
 * socket: neither end ever runs inside the other's call, and a chain of requests and replies starves nobody. A write is done when
 * the reader has room for more.
 */
class Side extends Duplex {
  peer!: Side;
  private writerDone: Done | undefined;

  constructor(
    private readonly clock: Clock,
    allowHalfOpen: boolean,
  ) {
    super({ allowHalfOpen, highWaterMark: HIGH_WATER_MARK });
  }

  /** Without a `_write`, single chunks come here too. */
  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    this.clock.soon(() => this.peer.arrive(chunks, done));
  }

  override _read(): void {
    const done = this.writerDone;
    this.writerDone = undefined;
    done?.();
  }

  override _final(done: Done): void {
    this.clock.soon(() => {
      if (!this.peer.destroyed) this.peer.push(null);
      done();
    });
  }

  override _destroy(error: Error | null, done: Done): void {
    this._read(); // the writer at the other end must not wait forever
    this.clock.soon(() => this.peer.destroy());
    done(error);
  }

  private arrive(chunks: { chunk: Buffer }[], done: Done): void {
    let room = true;
    for (const { chunk } of chunks) {
      if (!this.destroyed) room = this.push(chunk);
    }
    if (room || this.destroyed) done();
    else this.writerDone = done;
  }
}

/**
 * Two connected ends: ending one ends the other's input, destroying one destroys the other (without its error). The client ends
 * itself when the server has ended, as a net.Socket does by default. The server may keep writing after the client has ended.
 */
export function duplexPair(clock: Clock): { client: Duplex; server: Duplex } {
  const client = new Side(clock, false);
  const server = new Side(clock, true);
  client.peer = server;
  server.peer = client;
  return { client, server };
}
