import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { BeanstalkError } from '../beanstalk/codec/beanstalk-error.js';
import { Connection } from '../beanstalk/connection.js';
import type { Clock, Timer } from '../time/clock.js';
import { UNKNOWN_COPY, locationStart, type Location } from '../copies/location.js';
import { LaneHealth } from './lane-health.js';
import { putCopy, type CopyToPut, type Store } from './node-put.js';
import { StoreHealth } from './store-health.js';

/** Opens a byte stream to a node: a socket, or a pair of streams in the process. */
export type Dial = () => Duplex;

/** Milliseconds. */
const COMMAND_DEADLINE = 500;
/** Milliseconds. A server replays its binlog before its first reply, so the first one may take longer. */
const GREETING_DEADLINE = 5_000;
/** Milliseconds. A timer that is later than this tells of a blocked event loop. */
const LATE = 100;
/** Milliseconds. Together with the deadline this finds a frozen node within a second. */
const PING_EVERY = 500;
/** Milliseconds. The pause doubles from the first to the longest. */
const FIRST_RETRY = 50;
const LONGEST_RETRY = 2_000;

export type DeleteResult =
  /** The server deleted it. */
  | 'deleted'
  /** It is not there, or somebody has it reserved. */
  | 'missing'
  /** The node could not be asked, or its binlog stopped, so that a restart brings the copy back. */
  | 'away';

export interface NodeListener {
  /** It answers, and is the server that another node is already: once for each connection. */
  sameServer?(node: ClusterNode, other: ClusterNode): void;
  up?(node: ClusterNode): void;
  /** Once for each time the node goes down, and once if the first connection fails. */
  down?(node: ClusterNode, error: Error): void;
  /** It answers, but does not store, or takes no connection that reserves. */
  trouble?(node: ClusterNode, message: string): void;
}

/**
 * One beanstalkd: a control connection for puts, deletes and questions, opened when first needed, opened again with
 * growing pauses while the node is away, and pinged, because a connect proves nothing.
 */
export class ClusterNode {
  /** All nodes of the cluster. */
  siblings: readonly ClusterNode[] = [];
  /** Another node that is the same server: only that one gets copies. As of the last greeting. */
  twin: ClusterNode | undefined;
  /** The largest body the server takes, in bytes; Infinity until it told. */
  maxJobSize = Infinity;
  /** Whether it takes the connections that reserve, as those say who open them. */
  readonly lanes: LaneHealth;
  /** There from the dialling on; once it has answered it is the store's. */
  private control: Connection | undefined;
  /** While the node is up. */
  private store: Store | undefined;
  private started = false;
  private closed = false;
  private failures = 0;
  /** It took the connection but did not answer in time, as a server that replays its binlog. */
  private silent = false;
  private dialledAt = -Infinity;
  private lastError: Error | undefined;
  private timer: Timer | undefined;
  private readonly health: StoreHealth;
  private readonly listeners = new Set<NodeListener>();
  private readonly waiting = new Set<(store: Store | undefined) => void>();

  constructor(
    readonly endpoint: string,
    private readonly dial: Dial,
    private readonly clock: Clock,
    /** Milliseconds. Infinity: never, as of a node that cannot fall silent without the end of its connections. */
    private readonly pingEvery = PING_EVERY,
  ) {
    const tell = (message: string) => {
      for (const listener of this.listeners) listener.trouble?.(this, message);
    };
    this.health = new StoreHealth(clock, tell);
    this.lanes = new LaneHealth(clock, tell);
  }

  /** It answers. */
  get up(): boolean {
    return this.store !== undefined;
  }

  /** The running server's `id`, which changes when it restarts; undefined while the node is down. */
  get instance(): string | undefined {
    return this.store?.instance;
  }

  /** Worth a put: it answers or was never tried, did not refuse lately, and its binlog, if it has one, works. */
  get writable(): boolean {
    return (this.up || !this.tried) && this.health.good;
  }

  /** A restart would bring back what is deleted now. */
  get logStopped(): boolean {
    return this.health.logStopped;
  }

  /** It has no room for the next file of its log: what is released there with a delay, or buried, may get out of reach ◆. */
  get full(): boolean {
    return this.health.full;
  }

  /** `up`, or why it is down or no good for storing or reserving: for people. */
  get reason(): string {
    if (this.up) return this.health.problem ?? this.lanes.problem ?? 'up';
    return this.lastError?.message ?? 'not connected yet';
  }

  private get tried(): boolean {
    return this.failures > 0 || this.silent;
  }

  /** Returns how to stop listening. */
  listen(listener: NodeListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Connects in the background and keeps it so. Idempotent. */
  start(): void {
    if (this.started || this.closed) return;
    this.started = true;
    this.connect();
  }

  /** Ends everything; what waits for the node fails. Idempotent. */
  close(): void {
    this.closed = true;
    this.timer?.cancel();
    this.control?.close();
    this.release();
  }

  /** Stores one copy, which is asked for its text when the node is there. */
  put(copy: CopyToPut): void {
    if (this.store) return putCopy(this.store, copy); // the way of nearly all
    this.whenUp((store) => {
      if (store) putCopy(store, copy);
      else copy.done({ reason: this.reason }, '');
    });
  }

  /**
   * Deletes the copy at a place. Ids begin again when a server loses its log, so with another instance than the
   * location's the copy is looked at first, on the same connection, and deleted only if `isSame` knows it.
   */
  delete(
    location: Location,
    isSame: (body: Buffer) => boolean,
    done: (result: DeleteResult, node: ClusterNode) => void,
  ): void {
    const { instance, copyId } = location;
    if (copyId === UNKNOWN_COPY || (!this.up && this.tried)) return done('away', this);
    // The way of nearly all: no closures but one.
    if (this.store?.instance === instance) return this.remove(this.store.connection, copyId, done);
    this.whenUp((store) => {
      if (!store) return done('away', this);
      const { connection } = store;
      if (instance === store.instance) return this.remove(connection, copyId, done);
      connection.peek(copyId, (error, reply) => {
        if (error) done('away', this);
        else if (reply === 'NOT_FOUND' || !isSame(reply.body)) done('missing', this);
        else this.remove(connection, copyId, done);
      });
    });
  }

  /** Reads whatever has this id now, in whatever state; undefined when there is nothing, or the node cannot be asked. */
  peek(copyId: string, done: (body: Buffer | undefined) => void): void {
    if (copyId === UNKNOWN_COPY || (!this.up && this.tried)) return done(undefined);
    this.whenUp((store) => {
      if (!store) return done(undefined);
      store.connection.peek(copyId, (error, reply) =>
        done(error || reply === 'NOT_FOUND' ? undefined : reply.body),
      );
    });
  }

  /** A command other than a put was answered with this word. */
  refused(word: string): void {
    this.health.refused(word);
  }

  /** Makes a copy ready again that a release left buried. */
  kickJob(copyId: string): void {
    // With a log it failed to write that, and kept the delay too: the copy comes back by itself, and a kick before
    // corrupts beanstalkd (1.12) ◆. Nothing depends on the kick: if it fails, the copy's siblings run the job.
    if (!this.health.hasLog) this.whenUp((store) => store?.connection.kickJob(copyId, () => undefined));
  }

  /** One more connection to the node, for reserving. Undefined while the node is down: listen for `up` first. */
  connectLane(onClose: (reason: BeanstalkError) => void): Connection | undefined {
    if (!this.up) return undefined;
    const connection = new Connection(this.dial(), {
      clock: this.clock,
      deadline: COMMAND_DEADLINE,
      onClose,
    });
    connection.maxJobSize = this.maxJobSize;
    return connection;
  }

  private remove(
    connection: Connection,
    copyId: string,
    done: (result: DeleteResult, node: ClusterNode) => void,
  ): void {
    connection.delete(copyId, (error, reply) => {
      if (error?.code === 'INTERNAL_ERROR') this.health.doubtLog();
      done(error || this.logStopped ? 'away' : reply === 'DELETED' ? 'deleted' : 'missing', this);
    });
  }

  /** Calls back with the store, at the latest after one command's deadline, then without. */
  private whenUp(callback: (store: Store | undefined) => void): void {
    if (this.store) return callback(this.store);
    if (this.closed) return callback(undefined);
    const finish = (store: Store | undefined) => {
      if (!this.waiting.delete(finish)) return;
      limit.cancel();
      callback(store);
    };
    this.waiting.add(finish);
    let limit: Timer;
    const wait = () => {
      const end = this.clock.now() + COMMAND_DEADLINE;
      limit = this.clock.after(COMMAND_DEADLINE, () => {
        if (this.clock.now() - end > LATE) return wait(); // the event loop was blocked, so nothing could be heard
        this.silent = true;
        finish(undefined);
      });
    };
    wait();
    this.started = true;
    // Many jobs may ask for a node that is away: they don't dial faster than the first retry would.
    if (this.clock.now() - this.dialledAt >= FIRST_RETRY) this.connect();
  }

  /** Lets go on what waits for the node, with the store or without. */
  private release(): void {
    // A snapshot: who is turned away may come back at once.
    for (const waiting of Array.from(this.waiting)) waiting(this.store);
  }

  private connect(): void {
    if (this.closed || this.control) return;
    this.dialledAt = this.clock.now();
    this.timer?.cancel();
    const connection = new Connection(this.dial(), {
      clock: this.clock,
      deadline: COMMAND_DEADLINE,
      onClose: (reason) => this.lost(reason),
    });
    this.control = connection;
    connection.stats((error, stats) => {
      if (error)
        connection.close(); // and `lost` goes on
      else this.greeted(connection, stats);
    }, GREETING_DEADLINE);
  }

  private greeted(connection: Connection, stats: Readonly<Record<string, string>>): void {
    this.maxJobSize = Number(stats['max-job-size'] ?? 65_535);
    connection.maxJobSize = this.maxJobSize;
    // A server that does not tell is a new one each time: its copies are then looked at before they are deleted.
    const instance = stats['id'] ?? randomBytes(8).toString('hex');
    const { endpoint, health } = this;
    this.store = { connection, health, instance, locationStart: locationStart(endpoint, instance) };
    health.greeted(instance, stats);
    // Before anything that waits is put: two copies of a job on one server are lost together ◆.
    const twin = this.siblings.find((other) => other !== this && !other.twin && other.instance === instance);
    this.twin = twin;
    health.sameAs(twin?.endpoint);
    this.failures = 0;
    this.silent = false;
    this.lastError = undefined;
    this.schedulePing(connection);
    this.release();
    for (const listener of this.listeners) listener.up?.(this);
    if (twin) for (const listener of this.listeners) listener.sameServer?.(this, twin);
  }

  private schedulePing(connection: Connection): void {
    if (this.pingEvery === Infinity) return;
    this.timer = this.clock.after(this.pingEvery, () => {
      connection.stats((error, stats) => {
        if (!error) this.health.learn(stats);
        if (!connection.closed) this.schedulePing(connection);
      });
    });
  }

  private lost(reason: Error): void {
    const first = this.failures === 0;
    this.control = undefined;
    this.store = undefined;
    this.failures++;
    this.lanes.forget();
    this.lastError = reason;
    this.timer?.cancel();
    this.release();
    if (this.closed) return;
    const pause = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** (this.failures - 1));
    this.timer = this.clock.after(pause * (0.5 + Math.random() / 2), () => this.connect());
    if (first) for (const listener of this.listeners) listener.down?.(this, reason);
  }
}
