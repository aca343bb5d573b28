import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Disk } from '../disk/disk.js';
import { DqError } from '../errors.js';
import type { Clock, Timer } from '../time/clock.js';
import { Alarms } from './alarms.js';
import type { Client, Shared } from './client.js';
import { duplexPair } from './duplex-pair.js';
import { DurableJobs } from './durable-jobs.js';
import { Session, type SessionHost } from './session.js';
import { nodeStats, Usage } from './stats.js';
import { JobStore } from './store.js';
import { TimeShares } from './time-shares.js';
import { Tubes } from './tubes.js';

export interface NodeSettings {
  /** Bytes of the largest body. @default 65535 */
  maxJobSize?: number;
}

const MAX_JOB_SIZE = 65_535;

/**
 * A node that speaks beanstalkd 1.12's protocol and lives in this process. What it holds is in memory, and gone with the
 * process unless the node was opened on a disk: then a change is on disk before it is answered.
 * It works in turns: what arrived, and what is due, sets sessions to work; one timer stands for the rest. What a session
 * may not finish in a turn goes on in a later one.
 */
export class InProcessNode {
  /** Hex, new for each node; `id` in `stats`. A job's id is unique within one instance only. */
  readonly instance = randomBytes(8).toString('hex');

  private readonly startedAt: number;
  private readonly usage: Usage;
  private readonly shared: Shared;
  private readonly host: SessionHost;
  private readonly sessions = new Set<Session>();
  private connections = 0;
  private isLoaded: boolean;
  private isClosed = false;

  private readonly toRun = new Set<Session>();
  private isTurnComing = false;
  private timer: Timer | undefined;
  private timerAt = Infinity;

  constructor(
    private readonly clock: Clock,
    { maxJobSize = MAX_JOB_SIZE }: NodeSettings = {},
    /** To be loaded before anybody connects. */
    private readonly durable?: DurableJobs,
  ) {
    this.isLoaded = !durable;
    this.startedAt = clock.now();
    this.usage = new Usage(clock);
    const tubes = new Tubes();
    this.shared = {
      clock,
      tubes,
      store: new JobStore(clock, tubes, durable),
      alarms: new Alarms<Client>(),
      disk: durable?.disk,
      maxJobSize,
      isDraining: false,
      stats: () => this.stats(),
    };
    this.host = {
      shared: this.shared,
      commands: {},
      schedule: (session) => this.schedule(session),
      shares: new TimeShares(clock),
      closed: (session) => void this.sessions.delete(session),
    };
  }

  /** With the jobs that are on an open disk, which is to be closed after the node. `DQ_DISK`: they cannot be read. */
  static async open(clock: Clock, disk: Disk, settings?: NodeSettings): Promise<InProcessNode> {
    const node = new InProcessNode(clock, settings, new DurableJobs(disk, clock));
    await node.load();
    return node;
  }

  /** Reads the jobs that are on its disk, which is open by now. `DQ_DISK`. */
  async load(): Promise<void> {
    const { durable, shared } = this;
    await durable?.load(shared.store, shared.tubes);
    durable?.disk.onFailure(() => this.close());
    this.isLoaded = true;
  }

  /**
   * A new connection, as a connected socket would be. From a closed node it fails with the error `DQ_CLOSED`, from one
   * whose disk has failed or is not loaded yet with `DQ_DISK`.
   */
  dial(): Duplex {
    const { client, server } = duplexPair(this.clock);
    const { disk } = this.shared;
    if (this.isClosed) {
      return client.destroy(disk?.failure ?? new DqError('DQ_CLOSED', 'the embedded node is closed'));
    }
    if (!this.isLoaded) return client.destroy(disk?.notYet());
    this.serve(server);
    return client;
  }

  /** Serves a connection that somebody else made, and gives how to end it: with the replies so far. */
  serve(stream: Duplex): { close(): void } {
    const session = new Session(stream, this.host);
    this.connections++;
    this.sessions.add(session);
    return session;
  }

  /** From now on every put is answered DRAINING, as by a beanstalkd that got SIGUSR1; jobs are handed out as ever. */
  drain(): void {
    this.shared.isDraining = true;
  }

  /**
   * When the first job of these tubes changes its state by itself, by `Clock.now`: -Infinity while a client holds one,
   * Infinity if none ever does.
   */
  nextChange(ofTube: (name: string) => boolean): number {
    const tubes = this.shared.tubes.all.filter(({ name }) => ofTube(name));
    if (tubes.some(({ reserved }) => reserved > 0)) return -Infinity;
    return Math.min(...tubes.map((tube) => tube.nextEvent()));
  }

  /** The bodies of all jobs of a tube, in whatever state. */
  bodies(tube: string): Buffer[] {
    return this.shared.store.ofTube(tube).map(({ body }) => Buffer.from(body, 'latin1'));
  }

  /** Cuts all connections and stops all timers. Idempotent. */
  close(): void {
    this.isClosed = true;
    for (const session of this.sessions) session.destroy();
    this.timer?.cancel();
    this.timer = undefined;
  }

  private schedule(session: Session): void {
    this.toRun.add(session);
    if (this.isTurnComing) return;
    this.isTurnComing = true;
    this.clock.next(() => this.turn());
  }

  private turn(): void {
    if (this.isClosed) return;
    this.isTurnComing = true; // sessions that this turn sets to work join it
    this.wake();
    for (const session of this.toRun) {
      this.toRun.delete(session);
      session.run();
    }
    this.isTurnComing = false;
    this.setTimer();
  }

  /** As in beanstalkd, before any command: what is due in the tubes, then what is due for the clients. */
  private wake(): void {
    const { alarms, store } = this.shared;
    const now = this.clock.now();
    store.wake(now);
    for (let client = alarms.due(now); client; client = alarms.due(now)) client.wake(now);
  }

  /** A timer that is too early is left alone: setting a new one each turn would cost more than its one vain turn. */
  private setTimer(): void {
    const next = Math.min(this.shared.store.nextEvent, this.shared.alarms.next);
    if (this.timer && this.timerAt <= next && next !== Infinity) return;
    this.timer?.cancel();
    this.timer = undefined;
    if (next === Infinity) return;
    this.timerAt = next;
    this.timer = this.clock.after(next - this.clock.now(), () => {
      this.timer = undefined;
      this.turn();
    });
  }

  private stats(): string {
    const clients = [...this.sessions].map(({ client }) => client);
    return nodeStats({
      instance: this.instance,
      uptime: this.clock.now() - this.startedAt,
      usage: this.usage.get(),
      maxJobSize: this.shared.maxJobSize,
      isDraining: this.shared.isDraining,
      store: this.shared.store,
      tubes: this.shared.tubes,
      commands: this.host.commands,
      connections: {
        current: clients.length,
        producers: clients.filter((client) => client.isProducer).length,
        workers: clients.filter((client) => client.isWorker).length,
        waiting: clients.filter((client) => client.isWaiting).length,
        total: this.connections,
      },
    });
  }
}
