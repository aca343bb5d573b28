import { Duplex } from 'node:stream';
import { InProcessNode } from 'nest-dq/src/embedded/in-process-node.js';
import type { Job } from 'nest-dq/src/embedded/tubes.js';
import { openHeaderOf } from 'nest-dq/src/copies/formats/unwrap.js';
import type { CopyHeader } from 'nest-dq/src/copies/header.js';
import type { Clock } from 'nest-handlers/time';
import { HostClock } from './host-clock.js';

/** The disk of a node. */
export interface Disk {
  readonly lastId: number;
  readonly jobs: readonly StoredJob[];
}

interface StoredJob extends Pick<Job, 'id' | 'pri' | 'ttr' | 'body' | 'deadline'> {
  readonly tube: string;
  readonly state: 'ready' | 'delayed' | 'buried';
}

/** A copy on a node, also while nobody can reach the node. */
export interface LyingCopy {
  readonly header: CopyHeader;
  readonly state: Job['state'];
  /** When a delayed copy surfaces, in ms of the node's clock. */
  readonly deadline: number;
}

/** The process's end of one connection. Faults change it. */
interface Link {
  readonly stream: Duplex;
  readonly process: HostClock;
  /** When the next reply comes, it is lost, and so is the connection. */
  deaf: boolean;
}

/**
 * One server: an embedded node that can stop, start again with its disk or with an earlier one, be frozen, and lose its
 * connections.
 */
export class SimulatedNode {
  readonly clock: HostClock;
  private server: InProcessNode;
  /** Its disk while it is down. */
  private disk: Disk | undefined;
  private readonly links = new Set<Link>();

  constructor(
    readonly endpoint: string,
    world: Clock,
    latency: () => number,
    /** Called for each copy that a client deletes. */
    private readonly deleted: (copy: CopyHeader) => void,
  ) {
    this.clock = new HostClock(world, { latency });
    this.server = this.newServer();
  }

  get down(): boolean {
    return this.disk !== undefined;
  }

  dial(process: HostClock): Duplex {
    if (this.down) return new Duplex({ read() {} }).destroy(new Error('connect ECONNREFUSED'));
    const stream = this.server.dial();
    const link: Link = { stream, process, deaf: false };
    this.links.add(link);
    stream.on('close', () => this.links.delete(link));
    const push = stream.push.bind(stream);
    const destroy = stream.destroy.bind(stream);
    // Bytes from the server reach the process at once, or after it was frozen.
    stream.push = (chunk: Buffer | null) => {
      if (link.deaf && chunk) destroy();
      else if (process.frozen) process.enter(() => void push(chunk));
      else return push(chunk);
      return true;
    };
    stream.destroy = (error?: Error) => {
      if (process.frozen) process.enter(() => void destroy(error));
      else destroy(error);
      return stream;
    };
    return stream;
  }

  /** Ends all connections of a process, or those of all processes. */
  cut(process?: HostClock): void {
    for (const link of this.linksOf(process)) link.stream.destroy();
  }

  /** Each connection is lost when its next reply comes. The command was executed all the same. */
  loseReplies(process?: HostClock): void {
    for (const link of this.linksOf(process)) link.deaf = true;
  }

  stop(): void {
    if (this.disk) return;
    this.disk = this.read();
    this.server.close();
  }

  /** Starts a new server process with this disk, or with that of the last process. */
  start(disk = this.disk ?? this.read()): void {
    this.stop();
    this.disk = undefined;
    this.server = this.newServer();
    this.write(disk);
  }

  /** The disk as a server that starts now would find it. */
  read(): Disk {
    if (this.disk) return this.disk;
    const { store } = this.server;
    const jobs = Array.from(store['jobs'].values(), ({ id, pri, ttr, body, deadline, tube, state }) => {
      const kept = state === 'delayed' || state === 'buried' ? state : 'ready';
      return { id, pri, ttr, body, deadline, tube: tube.name, state: kept } as const;
    });
    return { lastId: store['lastId'], jobs };
  }

  copies(): LyingCopy[] {
    return copiesIn(this.read());
  }

  private newServer(): InProcessNode {
    const server = new InProcessNode(this.clock);
    const { store } = server;
    const remove = store.delete.bind(store);
    store.delete = (job) => {
      const header = openHeaderOf(Buffer.from(job.body, 'latin1'));
      if (header) this.deleted(header);
      remove(job);
    };
    return server;
  }

  private *linksOf(process: HostClock | undefined): Iterable<Link> {
    for (const link of Array.from(this.links)) if (!process || link.process === process) yield link;
  }

  private write({ lastId, jobs }: Disk): void {
    const { store } = this.server;
    for (const { id, pri, ttr, body, deadline, tube, state } of jobs) {
      store['lastId'] = id - 1;
      const delay = state === 'delayed' ? Math.max(0, deadline - this.clock.now()) / 1_000 : 0;
      const job = store.announce(store.tubes.findOrMake(tube), pri, delay, ttr);
      store.put(job, body);
      if (state === 'buried') store.bury(job, pri);
    }
    store['lastId'] = lastId;
    this.server['setTimer']();
  }
}

export const EMPTY_DISK: Disk = { lastId: 0, jobs: [] };

export function copiesIn({ jobs }: Disk): LyingCopy[] {
  return jobs.flatMap(({ body, state, deadline }) => {
    const header = openHeaderOf(Buffer.from(body, 'latin1'));
    return header ? [{ header, state, deadline }] : [];
  });
}
