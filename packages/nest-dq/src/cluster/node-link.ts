import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { BeanstalkError } from '../beanstalk/codec/beanstalk-error.js';
import { LARGEST_BODY } from '../beanstalk/codec/reply-parser.js';
import { Connection, type Stats } from '../beanstalk/connection.js';
import { locationStart } from '../copies/location.js';
import { detached } from 'nest-handlers/context';
import type { Clock, Timer } from 'nest-handlers/time';

/** Opens a byte stream to a node: a socket, or a pair of streams in the process. */
export type Dial = () => Duplex;

/** A server that answers. */
export interface Store {
  readonly connection: Connection;
  /** The server's `id`. It changes when the server restarts. */
  readonly instance: string;
  /** All locations of its copies begin with this. */
  readonly locationStart: string;
}

interface LinkEvents {
  /** The first answer of a connection. Commands that wait for the server are not sent yet. */
  greeted(instance: string, stats: Stats): void;
  /** It answers, and the commands that waited were sent. */
  up(): void;
  /** The answer to a ping. */
  pinged(stats: Stats): void;
  /** A connection was lost, or could not be made. `first` since the last answer. */
  lost(reason: Error, first: boolean): void;
}

/** Milliseconds. */
const COMMAND_DEADLINE = 500;
/** Milliseconds. A server replays its binlog before its first reply, so that one may take longer. */
const GREETING_DEADLINE = 5_000;
/** Milliseconds. A timer that comes later than this tells of a blocked event loop. */
const LATE = 100;
/** Milliseconds. The pause doubles from the first to the longest. */
const FIRST_RETRY = 50;
const LONGEST_RETRY = 2_000;

/**
 * The control connection to one node. It is opened when it is first needed, opened again with growing pauses while the
 * node is away, and pinged, because a connect alone proves nothing.
 */
export class NodeLink {
  /** While the server answers. */
  store: Store | undefined;
  /** Why the last connection ended. */
  lastError: Error | undefined;
  /** The largest body that the server takes and that we take from it, in bytes. Infinity until it told. */
  maxJobSize = Infinity;

  /** From the dialling on. */
  private connection: Connection | undefined;
  private started = false;
  private closed = false;
  private failures = 0;
  /** Connections that ended, each before it had answered for `LONGEST_RETRY`. */
  private shortLived = 0;
  private greetedAt = Infinity;
  /** It took the connection but did not answer in time, like a server that replays its binlog. */
  private silent = false;
  private dialledAt = -Infinity;
  private timer: Timer | undefined;
  private readonly waiting = new Set<(store: Store | undefined) => void>();

  constructor(
    private readonly endpoint: string,
    private readonly dial: Dial,
    private readonly clock: Clock,
    /** Milliseconds; Infinity: never. */
    private readonly pingEvery: number,
    private readonly events: LinkEvents,
  ) {}

  /** A connection failed, or the server was silent, since it last answered. */
  get tried(): boolean {
    return this.failures > 0 || this.silent;
  }

  /** Connects in the background and stays connected. Idempotent. */
  start(): void {
    if (this.started || this.closed) return;
    this.started = true;
    this.connect();
  }

  /** Ends everything. All calls of `whenUp` that wait get no store. Idempotent. */
  close(): void {
    this.closed = true;
    this.timer?.cancel();
    this.connection?.close();
    this.release();
  }

  /** One more connection to the node. */
  open(onClose: (reason: BeanstalkError) => void): Connection {
    // It may be the call of a producer that opens it, and it goes on for others.
    const connection = detached(
      () => new Connection(this.dial(), { clock: this.clock, deadline: COMMAND_DEADLINE, onClose }),
    );
    connection.maxJobSize = this.maxJobSize;
    return connection;
  }

  /** Calls back with the store. After one command's deadline it calls back without. */
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
    // Many jobs may ask for a node that is away: together they dial no faster than the first retry would.
    if (this.clock.now() - this.dialledAt >= FIRST_RETRY) this.connect();
  }

  /** Calls back all that wait, with the store or without. */
  private release(): void {
    // A snapshot: a caller that gets no store may come back at once.
    for (const waiting of Array.from(this.waiting)) waiting(this.store);
  }

  private connect(): void {
    if (this.closed || this.connection) return;
    this.dialledAt = this.clock.now();
    this.timer?.cancel();
    const connection = (this.connection = this.open((reason) => this.lost(reason)));
    connection.stats((error, stats) => {
      if (error)
        connection.close(); // and `lost` goes on
      else this.greeted(connection, stats);
    }, GREETING_DEADLINE);
  }

  private greeted(connection: Connection, stats: Stats): void {
    this.maxJobSize = Math.min(LARGEST_BODY, Number(stats['max-job-size'] ?? 65_535));
    connection.maxJobSize = this.maxJobSize;
    // A server that does not tell is taken for a new one each time: its copies are looked at before they are deleted.
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
    // A server that answers, and then breaks the protocol at once, is not asked without end.
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
