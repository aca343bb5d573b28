// ◆ marks a rule of docs/internals/delivery.md.
import type { BeanstalkError } from '../beanstalk/codec/beanstalk-error.js';
import type { Body, Connection, Done, PutReply, Reserved, Stats } from '../beanstalk/connection.js';
import { UNKNOWN_COPY, type Location } from '../copies/location.js';
import type { Clock } from 'nest-handlers/time';
import { LaneHealth, LOG_STOPPED, StoreHealth } from './store-health.js';
import { NodeLink, type Dial, type Store } from './node-link.js';

/** In ms. Together with the deadline, detects a frozen node within a second. */
const PING_EVERY = 500;
/** Time to run of every copy: the copies of a silent consumer surface again after it. Held copies are touched. */
const TTR_S = 60;

export type DeleteResult =
  /** Deleted by the server. */
  | 'deleted'
  /** Not there, or reserved by somebody. */
  | 'missing'
  /** The node is unreachable, or its binlog stopped, so that a restart brings the copy back. */
  | 'away';

/** A copy for a node. */
export interface CopyToPut {
  readonly tube: string;
  readonly body: Body;
  readonly priority: number;
  /** Returns the delay until it surfaces, in whole seconds. Called when it is sent: the node may have to connect first. */
  delay(): number;
  /** Called with the location, or with a failure if it was not stored. */
  done(failure: PutFailure | undefined, location: string): void;
}

/** Why a copy was not stored, and whether it may have been stored anyway. */
export interface PutFailure {
  readonly reason: string;
  /** Location for the primary's header, if the copy may exist. Its id is `?` if nobody may delete the copy. */
  readonly doubtful?: string;
}

export interface NodeListener {
  /** The node answers and is the same server as another node. Once per connection. */
  sameServer?(node: ClusterNode, other: ClusterNode): void;
  up?(node: ClusterNode): void;
  /** Once per outage, and once if the first connection fails. */
  down?(node: ClusterNode, error: Error): void;
  /** The node answers, but doesn't store, or accepts no connections for reserving. */
  trouble?(node: ClusterNode, message: string): void;
}

/** One beanstalkd: what it stores, deletes and shows, and whether it is fit for that. */
export class ClusterNode {
  /** All nodes of the cluster. */
  siblings: readonly ClusterNode[] = [];
  /** Its rank by endpoint, the same in all processes. */
  rank = 0;
  /** Another node that is the same server, as of the last greeting. Only that one gets copies. */
  twin: ClusterNode | undefined;
  /** Drained by an operator: gets no new copies as long as the others can store enough. Everything else continues. */
  drained = false;
  /** Whether the node accepts connections for reserving, as reported by their owners. */
  readonly lanes: LaneHealth;

  private readonly link: NodeLink;
  private readonly health: StoreHealth;
  /** Wall clock time in ms when it was found down, if it is. */
  private downSince: number | undefined;
  private readonly listeners = new Set<NodeListener>();

  constructor(
    readonly endpoint: string,
    dial: Dial,
    clock: Clock,
    /** In ms. Infinity for never, for a node that can't fall silent while its connections are open. */
    pingEvery = PING_EVERY,
  ) {
    const tell = (message: string) => {
      for (const listener of this.listeners) listener.trouble?.(this, message);
    };
    const health = (this.health = new StoreHealth(clock, tell));
    this.lanes = new LaneHealth(clock, tell);
    this.link = new NodeLink(endpoint, dial, clock, pingEvery, {
      greeted: (instance, stats) => {
        this.downSince = undefined;
        health.greeted(instance, stats);
        this.lookForTwin(instance);
      },
      up: () => {
        for (const listener of this.listeners) listener.up?.(this);
        const { twin } = this;
        if (twin) for (const listener of this.listeners) listener.sameServer?.(this, twin);
      },
      pinged: (stats) => health.learn(stats),
      lost: (reason, first) => {
        this.lanes.forget();
        this.downSince ??= clock.wall();
        if (first) for (const listener of this.listeners) listener.down?.(this, reason);
      },
    });
  }

  /** Whether the node answers. */
  get up(): boolean {
    return this.link.store !== undefined;
  }

  /** The running server's `id`. Changes with a restart; undefined while the node is down. */
  get instance(): string | undefined {
    return this.link.store?.instance;
  }

  /** Largest body the server accepts, in bytes. Infinity until known. */
  get maxJobSize(): number {
    return this.link.maxJobSize;
  }

  /** Whether a put is worth trying: the node answers or was never tried, didn't refuse lately, and its binlog works, if it has one. */
  get writable(): boolean {
    return (this.up || !this.link.tried) && this.health.problem === undefined;
  }

  /** Whether a restart would bring back copies deleted now. */
  get logStopped(): boolean {
    return this.health.logStopped;
  }

  /** Whether there is no room for its next log file: a copy that is buried or released with a delay may become unreachable ◆. */
  get full(): boolean {
    return this.health.full;
  }

  /** Whether it has a binlog, as of its last answer. */
  get hasLog(): boolean {
    return this.health.hasLog;
  }

  /** Whether it is a beanstalkd without a binlog, as of its last answer. */
  get lacksLog(): boolean {
    return this.health.lacksLog;
  }

  /** `up`, or why it is down or unfit for storing or reserving; for people. */
  get reason(): string {
    if (this.up) return this.health.problem ?? this.lanes.problem ?? 'up';
    return this.link.lastError?.message ?? (this.link.silent ? 'no answer yet' : 'not connected yet');
  }

  /** Wall clock time in ms since when the `reason` isn't `up`. Undefined if it is, or that is unknown. */
  get since(): number | undefined {
    return this.up ? (this.health.since ?? this.lanes.since) : this.downSince;
  }

  /** Returns a function that stops listening. */
  listen(listener: NodeListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Connects in the background and stays connected. Idempotent. */
  start(): void {
    this.link.start();
  }

  /** Ends everything. Calls waiting for the node fail. Idempotent. */
  close(): void {
    this.link.close();
  }

  /** Stores one copy. It counts as stored only if the answer is INSERTED, the log works, and no other node is the same server ◆. */
  put(copy: CopyToPut): void {
    const { store } = this.link;
    if (store) return this.putOn(store, copy); // nearly always
    this.link.whenUp((found) => {
      if (found) this.putOn(found, copy);
      else copy.done({ reason: this.reason }, '');
    });
  }

  /**
   * Deletes the copy at a place. A server that lost its log reuses ids. So if the instance isn't the location's, the node first
   * looks at the copy, on the same connection, and deletes it only if `isSame` recognizes it.
   */
  delete(
    location: Location,
    isSame: (body: Buffer) => boolean,
    done: (result: DeleteResult, node: ClusterNode) => void,
  ): void {
    const { instance, copyId } = location;
    if (copyId === UNKNOWN_COPY || (!this.up && this.link.tried)) return done('away', this);
    const { store: present } = this.link;
    if (present?.instance === instance) return this.remove(present.connection, copyId, done); // nearly always
    this.link.whenUp((store) => {
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

  /** Resolves with whether the copy at a place still exists, in any state. False also if the node is unreachable. */
  async has({ instance, copyId }: Location, isSame: (body: Buffer) => boolean): Promise<boolean> {
    if (copyId === UNKNOWN_COPY) return false;
    if (instance !== this.instance) {
      const body = await this.peek(copyId);
      return typeof body === 'object' && isSame(body);
    }
    // A running server never reuses an id.
    const stats = await this.ask<Stats | 'NOT_FOUND'>((connection, done) =>
      connection.statsJob(copyId, done),
    );
    return typeof stats === 'object';
  }

  /** Reads the job that has this id now, in any state. Undefined if the node is unreachable. */
  async peek(copyId: string): Promise<Buffer | 'NOT_FOUND' | undefined> {
    if (copyId === UNKNOWN_COPY) return undefined;
    const reply = await this.ask<Reserved | 'NOT_FOUND'>((connection, done) => connection.peek(copyId, done));
    return typeof reply === 'object' ? reply.body : reply;
  }

  /** Asks on the connection used for puts and deletions. Undefined if the node doesn't answer, or refuses. */
  ask<T>(start: (connection: Connection, done: Done<T>) => void): Promise<T | undefined> {
    return new Promise((resolve) => {
      if (!this.up && this.link.tried) return resolve(undefined);
      this.link.whenUp((store) => {
        if (!store) return resolve(undefined);
        start(store.connection, (error, value) => resolve(error ? undefined : value));
      });
    });
  }

  /** Records that a command other than a put was answered with this word. */
  refused(word: string): void {
    this.health.refused(word);
  }

  /** Makes a copy ready again that a release left buried. */
  kickJob(copyId: string): void {
    // A server with a log could not write it, and kept the delay too: the copy surfaces on its own, and kicking it before then
    // corrupts beanstalkd (1.12) ◆. Nothing depends on the kick: if it fails, the copy's siblings run the job.
    if (!this.health.hasLog) this.link.whenUp((store) => store?.connection.kickJob(copyId, () => undefined));
  }

  /** Opens another connection to the node, for reserving. Undefined while the node is down: listen for `up` first. */
  connectLane(onClose: (reason: BeanstalkError) => void): Connection | undefined {
    return this.up ? this.link.open(onClose) : undefined;
  }

  /** Called before any waiting put: two copies of a job on one server are lost together ◆. */
  private lookForTwin(instance: string): void {
    this.twin = this.siblings.find((other) => other !== this && !other.twin && other.instance === instance);
    this.health.twin = this.twin?.endpoint;
  }

  private putOn(store: Store, copy: CopyToPut): void {
    const { health } = this;
    const { unfit } = health;
    if (unfit !== undefined) return copy.done({ reason: unfit }, '');
    const { tube, body, priority } = copy;
    store.connection.put(tube, body, { priority, delay: copy.delay(), ttr: TTR_S }, (error, reply) => {
      if (error) this.putFailed(store, copy, error);
      else if (reply.status !== 'INSERTED') this.putBuried(store, copy, reply);
      else if (health.logStopped) takeBack(store, copy, reply.id, LOG_STOPPED);
      else copy.done(undefined, store.locationStart + reply.id);
    });
  }

  private putFailed(
    { locationStart }: Store,
    copy: CopyToPut,
    { code, message, unknown }: BeanstalkError,
  ): void {
    const isRefusal = code === 'DRAINING' || code === 'OUT_OF_MEMORY' || code === 'INTERNAL_ERROR';
    if (isRefusal) this.health.refused(code);
    copy.done({ reason: message, ...(unknown ? { doubtful: locationStart + UNKNOWN_COPY } : {}) }, '');
  }

  private putBuried(store: Store, copy: CopyToPut, { status, id }: PutReply): void {
    const { health } = this;
    health.refused(status);
    if (!health.hasLog) return takeBack(store, copy, id, status); // out of memory: it would stay buried
    health.doubtLog();
    // The server has it in two places, buried and queued: it surfaces on its own, and beanstalkd (1.12) crashes if it is deleted
    // before ◆.
    copy.done({ reason: status, doubtful: store.locationStart + UNKNOWN_COPY }, '');
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
}

function takeBack(
  { connection, locationStart }: Store,
  copy: CopyToPut,
  copyId: string,
  reason: string,
): void {
  connection.delete(copyId, (error, reply) => {
    const deleted = !error && reply === 'DELETED';
    copy.done(deleted ? { reason } : { reason, doubtful: locationStart + copyId }, '');
  });
}
