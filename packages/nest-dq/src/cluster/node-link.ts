import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { BeanstalkError } from '../beanstalk/codec/beanstalk-error.js';
import { LARGEST_BODY_BYTES } from '../beanstalk/codec/reply-parser.js';
import { Connection, type Stats } from '../beanstalk/connection.js';
import { locationStart } from '../copies/location.js';
import { detached } from 'nest-handlers/context';
import type { Clock, Timer } from 'nest-handlers/time';

/** Opens a byte stream to a node: a socket, or an in-process pair of streams. */
export type Dial = () => Duplex;

/** A server that answers. */
export interface Store {
  readonly connection: Connection;
  /** The server's `id`. Changes when the server restarts. */
  readonly instance: string;
  /** Prefix of all locations of its copies. */
  readonly locationStart: string;
}

interface LinkEvents {
  /** First answer of a connection. Commands waiting for the server have not been sent yet. */
  greeted(instance: string, stats: Stats): void;
  /** The server answers, and waiting commands were sent. */
  up(): void;
  /** Answer to a ping. */
  pinged(stats: Stats): void;
  /** A connection was lost or could not be established. `first` since the last answer. */
  lost(reason: Error, first: boolean): void;
}

/** In ms. */
const COMMAND_DEADLINE = 500;
/** In ms. A server replays its binlog before its first reply, which may take longer. */
const GREETING_DEADLINE = 5_000;
/** In ms. A timer later than this means the event loop was blocked. */
const LATE = 100;
/** In ms. The pause doubles from the first to the longest. */
const FIRST_RETRY = 50;
const LONGEST_RETRY = 2_000;

/**
 * The control connection to one node. Opened when first needed, reopened with growing pauses while the node is away, and pinged,
 * because a successful connect proves nothing.
 */
export class NodeLink {
  /** Set while the server answers. */
  store: Store | undefined;
  /** Why the last connection ended. */
  lastError: Error | undefined;
  /** Largest body that both the server and we accept, in bytes. Infinity until known. */
  maxJobSize = Infinity;
  /** It accepted the connection but didn't answer in time, like a server replaying its binlog. */
  silent = false;

  /** Set as soon as we dial. */
  private connection: Connection | undefined;
  private started = false;
  private closed = false;
  private failures = 0;
  /** Consecutive connections that ended within `LONGEST_RETRY` of their first answer. */
  private shortLived = 0;
  private greetedAt = Infinity;
  private dialledAt = -Infinity;
  private timer: Timer | undefined;
  private readonly waiting = new Set<(store: Store | undefined) => void>();

  constructor(
    private readonly endpoint: string,
    private readonly dial: Dial,
    private readonly clock: Clock,
    /** In ms; Infinity for never. */
    private readonly pingEvery: number,
    private readonly events: LinkEvents,
  ) {}

  /** True if a connection failed, or the server was silent, since it last answered. */
  get tried(): boolean {
    return this.failures > 0 || this.silent;
  }

  /** Connects in the background and stays connected. Idempotent. */
  start(): void {
    if (this.started || this.closed) return;
    this.started = true;
    this.connect();
  }

  /** Ends everything. Pending `whenUp` calls get no store. Idempotent. */
  close(): void {
    this.closed = true;
    this.timer?.cancel();
    this.connection?.close();
    this.release();
  }

  /** Opens another connection to the node. */
  open(onClose: (reason: BeanstalkError) => void): Connection {
    // Detached: it may be opened during a producer's call but outlives it.
    const connection = detached(
      () => new Connection(this.dial(), { clock: this.clock, deadline: COMMAND_DEADLINE, onClose }),
    );
    connection.maxJobSize = this.maxJobSize;
    return connection;
  }

  /** Calls back with the store, or with undefined after one command's deadline. */
  whenUp(callback: (store: Store | undefined) => void): void {
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
        if (this.clock.now() - end > LATE) return wait(); // the event loop was blocked, so no answer could be read
        this.silent = true;
        finish(undefined);
      });
    };
    wait();
    this.started = true;
    // Many jobs may ask for a node that is away: together they dial no more often than the first retry would.
    if (this.clock.now() - this.dialledAt >= FIRST_RETRY) this.connect();
  }

  /** Calls back everything that waits, with or without the store. */
  private release(): void {
    // A snapshot: a caller that gets no store may call again at once.
    for (const waiting of Array.from(this.waiting)) waiting(this.store);
  }

  private connect(): void {
    if (this.closed || this.connection) return;
    this.dialledAt = this.clock.now();
    this.timer?.cancel();
    const connection = (this.connection = this.open((reason) => this.lost(reason)));
    connection.stats((error, stats) => {
      if (error) connection.close(); // and `lost` continues
      else this.greeted(connection, stats);
    }, GREETING_DEADLINE);
  }

  private greeted(connection: Connection, stats: Stats): void {
    this.maxJobSize = Math.min(LARGEST_BODY_BYTES, Number(stats['max-job-size'] ?? 65_535));
    connection.maxJobSize = this.maxJobSize;
    // A server without an id counts as a new one each time: its copies are checked before they are deleted.
    const instance = stats['id'] ?? randomBytes(8).toString('hex');
    this.store = { connection, instance, locationStart: locationStart(this.endpoint, instance) };
    this.failures = 0;
    this.greetedAt = this.clock.now();
    this.silent = false;
    this.lastError = undefined;
    this.events.greeted(instance, stats);
    this.schedulePing(connection);
    this.release();
    this.events.up();
  }

  private schedulePing(connection: Connection): void {
    if (this.pingEvery === Infinity) return;
    this.timer = this.clock.after(this.pingEvery, () => {
      connection.stats((error, stats) => {
        if (!error) this.events.pinged(stats);
        if (!connection.closed) this.schedulePing(connection);
      });
    });
  }

  private lost(reason: Error): void {
    const first = this.failures === 0;
    this.connection = undefined;
    this.store = undefined;
    this.failures++;
    // Don't keep redialling a server that answers and then breaks the protocol at once.
    const livedLong = this.clock.now() - this.greetedAt >= LONGEST_RETRY;
    this.shortLived = livedLong ? 1 : this.shortLived + 1;
    this.greetedAt = Infinity;
    this.lastError = reason;
    this.timer?.cancel();
    this.release();
    if (this.closed) return;
    const pause = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** (this.shortLived - 1));
    this.timer = this.clock.after(pause * (0.5 + Math.random() / 2), () => this.connect());
    this.events.lost(reason, first);
  }
}
