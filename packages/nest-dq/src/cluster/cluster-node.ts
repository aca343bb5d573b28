import type { BeanstalkError } from '../beanstalk/codec/beanstalk-error.js';
import type { Body, Connection, Done, PutReply, Reserved, Stats } from '../beanstalk/connection.js';
import { UNKNOWN_COPY, type Location } from '../copies/location.js';
import type { Clock } from 'nest-handlers/time';
import { LaneHealth, LOG_STOPPED, StoreHealth } from './store-health.js';
import { NodeLink, type Dial, type Store } from './node-link.js';

/** Milliseconds. Together with the deadline this finds a frozen node within a second. */
const PING_EVERY = 500;
/** Seconds. Time to run of every copy: after it, the copies of a silent consumer surface again. Held copies are touched. */
const TTR = 60;

export type DeleteResult =
  /** The server deleted it. */
  | 'deleted'
  /** It is not there, or somebody has it reserved. */
  | 'missing'
  /** The node could not be asked, or its binlog stopped, so that a restart brings the copy back. */
  | 'away';

/** A copy for a node. */
export interface CopyToPut {
  readonly tube: string;
  readonly body: Body;
  readonly priority: number;
  /** Whole seconds until it surfaces. Read when it is sent: the node may have to connect first. */
  delay(): number;
  /** Stored at `location`, unless there is a failure. */
  done(failure: PutFailure | undefined, location: string): void;
}

/** Why a copy was not stored, and whether it may have been stored all the same. */
export interface PutFailure {
  readonly reason: string;
  /** The place for the primary's header, if the copy may be there. Its id is `?` when nobody may delete the copy. */
  readonly doubtful?: string;
}

export interface NodeListener {
  /** It answers, and it is the same server as another node: told once for each connection. */
  sameServer?(node: ClusterNode, other: ClusterNode): void;
  up?(node: ClusterNode): void;
  /** Once for each time the node goes down, and once if the first connection fails. */
  down?(node: ClusterNode, error: Error): void;
  /** It answers, but it does not store, or takes no connection that reserves. */
  trouble?(node: ClusterNode, message: string): void;
}

/** One beanstalkd: what it stores, deletes and shows, and whether it is fit for that. */
export class ClusterNode {
  /** All nodes of the cluster. */
  siblings: readonly ClusterNode[] = [];
  /** Its place among them in the order of their endpoints, which is the same in all processes. */
  rank = 0;
  /** Another node that is the same server, as of the last greeting. Only that one gets copies. */
  twin: ClusterNode | undefined;
  /** Marked by an operator: it gets no new copies, as far as the others can store enough. Everything else goes on. */
  drained = false;
  /** Whether the node takes connections that reserve, as their owners tell. */
  readonly lanes: LaneHealth;

  private readonly link: NodeLink;
  private readonly health: StoreHealth;
  private readonly listeners = new Set<NodeListener>();

  constructor(
    readonly endpoint: string,
    dial: Dial,
    clock: Clock,
    /** Milliseconds. Infinity: never, for a node that cannot fall silent while its connections are open. */
    pingEvery = PING_EVERY,
  ) {
    const tell = (message: string) => {
      for (const listener of this.listeners) listener.trouble?.(this, message);
    };
    const health = (this.health = new StoreHealth(clock, tell));
    this.lanes = new LaneHealth(clock, tell);
    this.link = new NodeLink(endpoint, dial, clock, pingEvery, {
      greeted: (instance, stats) => {
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
        if (first) for (const listener of this.listeners) listener.down?.(this, reason);
      },
    });
  }

  /** It answers. */
  get up(): boolean {
    return this.link.store !== undefined;
  }

  /** The running server's `id`. It changes with a restart, and is undefined while the node is down. */
  get instance(): string | undefined {
    return this.link.store?.instance;
  }

  /** The largest body that the server takes, in bytes. Infinity until it told. */
  get maxJobSize(): number {
    return this.link.maxJobSize;
  }

  /** Worth a put: it answers or was never tried, did not refuse lately, and its binlog works, if it has one. */
  get writable(): boolean {
    return (this.up || !this.link.tried) && this.health.problem === undefined;
  }

  /** A restart would bring back the copies that are deleted now. */
  get logStopped(): boolean {
    return this.health.logStopped;
  }

  /** It has no room for the next file of its log: a copy that is buried or released with a delay may get out of reach ◆. */
  get full(): boolean {
    return this.health.full;
  }

  /** It has a binlog, as of its last answer. */
  get hasLog(): boolean {
    return this.health.hasLog;
  }

  /** It is a beanstalkd without a binlog, as of its last answer. */
  get lacksLog(): boolean {
    return this.health.lacksLog;
  }

  /** `up`, or why it is down or unfit for storing or reserving: for people. */
  get reason(): string {
    if (this.up) return this.health.problem ?? this.lanes.problem ?? 'up';
    return this.link.lastError?.message ?? 'not connected yet';
  }

  /** Returns how to stop listening. */
  listen(listener: NodeListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Connects in the background and stays connected. Idempotent. */
  start(): void {
    this.link.start();
  }

  /** Ends everything. Calls that wait for the node fail. Idempotent. */
  close(): void {
    this.link.close();
  }

  /** Stores one copy. It is stored only if the answer is INSERTED, the log works, and no other node is the same server ◆. */
  put(copy: CopyToPut): void {
    const { store } = this.link;
    if (store) return this.putOn(store, copy); // nearly always
    this.link.whenUp((found) => {
      if (found) this.putOn(found, copy);
      else copy.done({ reason: this.reason }, '');
    });
  }

  /**
   * Deletes the copy at a place. A server that lost its log gives the same ids again. So if the instance is not the
   * location's, the node looks at the copy first, on the same connection, and deletes it only if `isSame` knows it.
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

  /** Whether the copy at a place is still there, in any state. False also if the node cannot be asked. */
  async has({ instance, copyId }: Location, isSame: (body: Buffer) => boolean): Promise<boolean> {
    if (copyId === UNKNOWN_COPY) return false;
    if (instance !== this.instance) {
      const body = await this.peek(copyId);
      return typeof body === 'object' && isSame(body);
    }
    // While a server runs it gives no id twice.
    const stats = await this.ask<Stats | 'NOT_FOUND'>((connection, done) =>
      connection.statsJob(copyId, done),
    );
    return typeof stats === 'object';
  }

  /** Reads the job that has this id now, in any state. Undefined: the node cannot be asked. */
  async peek(copyId: string): Promise<Buffer | 'NOT_FOUND' | undefined> {
    if (copyId === UNKNOWN_COPY) return undefined;
    const reply = await this.ask<Reserved | 'NOT_FOUND'>((connection, done) => connection.peek(copyId, done));
    return typeof reply === 'object' ? reply.body : reply;
  }

  /** Asks on the connection for puts and deletions. Undefined: the node does not answer, or refuses. */
  ask<T>(start: (connection: Connection, done: Done<T>) => void): Promise<T | undefined> {
    return new Promise((resolve) => {
      if (!this.up && this.link.tried) return resolve(undefined);
      this.link.whenUp((store) => {
        if (!store) return resolve(undefined);
        start(store.connection, (error, value) => resolve(error ? undefined : value));
      });
    });
  }

  /** A command other than a put was answered with this word. */
  refused(word: string): void {
    this.health.refused(word);
  }

  /** Makes a copy ready again that a release left buried. */
  kickJob(copyId: string): void {
    // A server with a log could not write it, and kept the delay too: the copy comes back by itself, and an earlier kick
    // corrupts beanstalkd (1.12) ◆. Nothing depends on the kick: if it fails, the copy's siblings run the job.
    if (!this.health.hasLog) this.link.whenUp((store) => store?.connection.kickJob(copyId, () => undefined));
  }

  /** One more connection to the node, for reserving. Undefined while the node is down: listen for `up` first. */
  connectLane(onClose: (reason: BeanstalkError) => void): Connection | undefined {
    return this.up ? this.link.open(onClose) : undefined;
  }

  /** Called before any put that waits: two copies of a job on one server are lost together ◆. */
  private lookForTwin(instance: string): void {
    this.twin = this.siblings.find((other) => other !== this && !other.twin && other.instance === instance);
    this.health.twin = this.twin?.endpoint;
  }

  private putOn(store: Store, copy: CopyToPut): void {
    const { health } = this;
    const { unfit } = health;
    if (unfit !== undefined) return copy.done({ reason: unfit }, '');
    const { tube, body, priority } = copy;
    store.connection.put(tube, body, { priority, delay: copy.delay(), ttr: TTR }, (error, reply) => {
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
    // The server has it in two places, buried and queued: it surfaces by itself, and beanstalkd (1.12) crashes when it
    // is deleted before ◆.
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
