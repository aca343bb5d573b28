import type { Body } from '../beanstalk/connection.js';
import { longestLocation, parseLocation, type Place, UNKNOWN_COPY } from '../copies/location.js';
import type { Seal } from '../seal/seal.js';
import type { Clock } from 'nest-handlers/time';
import type { ClusterNode, CopyToPut, DeleteResult, PutFailure } from './cluster-node.js';

export interface ClusterSettings {
  /** Copies of a job. */
  readonly replicas: number;
  /** Copies that must be confirmed. */
  readonly minWritten: number;
  /** How copies are sealed. @default they are not */
  readonly seal?: Seal | undefined;
}

/** A job as its format writes it. */
export interface WrittenCopies {
  /** `due`: ledger time, ms. */
  readonly job: { readonly due: number };
  /** The same job with another number of copies. */
  with(copies: number): WrittenCopies;
  /** One copy, as it is put. Only the primary gets `siblings`. */
  body(index: number, siblings: readonly Place[]): Body;
  /** Whole seconds after which copy `index` surfaces when the job is due in `msUntilDue`. */
  delay(index: number, msUntilDue: number, backupDelay: number): number;
  /** As beanstalkd has it: smaller is sooner. */
  priority(index: number): number;
}

/** A job on its way to the nodes. */
export interface JobToPut {
  readonly tube: string;
  readonly envelope: WrittenCopies;
  /** Milliseconds by which a backup surfaces later than the copy before it. */
  readonly backupDelay: number;
  /** Whose time it is. */
  readonly ledger: { now(): number };
}

export interface StoreResult {
  /** How many copies were planned. */
  readonly planned: number;
  /** Confirmed by INSERTED. */
  readonly stored: readonly Place[];
  /** May exist: puts without an answer, and copies that were stored buried. */
  readonly doubtful: readonly Place[];
  /** Why nodes failed, by endpoint. */
  readonly reasons: Readonly<Record<string, string>>;
}

const NO_PLACES: readonly Place[] = [];

/** All nodes as one place for copies. It decides the quorum, and does not know what a copy says. */
export class Cluster {
  /** The longest text that a location on any of the nodes can have, in bytes. */
  readonly longestLocation: number;
  private turn = Math.floor(Math.random() * 1_000);

  constructor(
    readonly nodes: readonly ClusterNode[],
    readonly settings: ClusterSettings,
  ) {
    for (const node of nodes) {
      node.siblings = nodes;
      node.rank = nodes.filter(({ endpoint }) => endpoint < node.endpoint).length;
    }
    this.longestLocation = Math.max(...nodes.map((node) => longestLocation(node.endpoint)));
  }

  /** Connects to all nodes in the background. Idempotent. */
  start(): void {
    for (const node of this.nodes) node.start();
  }

  /** Resolves when each node has answered or failed once, or after this many milliseconds. */
  firstAnswers(clock: Clock, limit: number): Promise<void> {
    return new Promise((resolve) => {
      const missing = new Set(this.nodes.filter(({ up }) => !up));
      const heard = (node: ClusterNode) => {
        if (missing.delete(node) && missing.size === 0) end();
      };
      const stops = this.nodes.map((node) => node.listen({ up: heard, down: heard }));
      const end = () => {
        timer.cancel();
        for (const stop of stops) stop();
        resolve();
      };
      const timer = clock.after(limit, end);
      if (missing.size === 0) end();
    });
  }

  /** Idempotent. */
  close(): void {
    for (const node of this.nodes) node.close();
  }

  /** The smallest known limit of a body among the nodes, in bytes; Infinity while none is known. */
  get maxJobSize(): number {
    let smallest = Infinity;
    for (const { maxJobSize } of this.nodes) smallest = Math.min(smallest, maxJobSize);
    return smallest;
  }

  /** Stores the copies of a job. It never fails: the result tells what is stored where. Calls back after it returned. */
  put(job: JobToPut, done: (result: StoreResult) => void): void {
    const { replicas, minWritten } = this.settings;
    const placement = place(this.nodes, this.turn++, replicas, minWritten);
    new JobPut(job, placement, minWritten, done).begin();
  }

  /** Deletes the copy at a location. `isSame` tells it from another job that has the same id by now. */
  delete(
    location: string,
    isSame: (body: Buffer) => boolean,
    done: (result: DeleteResult, node?: ClusterNode) => void,
  ): void {
    const place = parseLocation(location);
    if (!place) return done('away');
    const node = this.find(place.endpoint, place.instance);
    if (node) return node.delete(place, isSame, done);
    // This process knows the server by another name, or not at all.
    let result: DeleteResult = 'missing';
    let left = this.nodes.length;
    for (const each of this.nodes)
      each.delete(place, isSame, (answer, by) => {
        if (answer === 'deleted') done(answer, by);
        if (answer === 'deleted' || (answer === 'away' && result === 'missing')) result = answer;
        if (--left === 0 && result !== 'deleted') done(result);
      });
  }

  /** Whether the copy at a location is still there, in any state. False also if its node is away. */
  async has(location: string, isSame: (body: Buffer) => boolean): Promise<boolean> {
    const place = parseLocation(location);
    if (!place) return false;
    const node = this.find(place.endpoint, place.instance);
    const there = (node ? [node] : this.nodes).map((each) => each.has(place, isSame));
    return (await Promise.all(there)).includes(true);
  }

  /** Reads the job that is at a location now. Undefined: there is none, or its node is away. */
  async peek(location: string): Promise<Buffer | undefined> {
    const place = parseLocation(location);
    const body = place && (await this.find(place.endpoint, place.instance)?.peek(place.copyId));
    return typeof body === 'object' ? body : undefined;
  }

  /**
   * Whether the copy at a location is gone without anybody having deleted it: all nodes answer, none of them is the server that
   * stored it, and none has it. If that server runs still, a copy that it does not have was deleted, because its job is over.
   */
  async hasLost(location: string, isSame: (body: Buffer) => boolean): Promise<boolean> {
    const place = parseLocation(location);
    const maySee = place !== undefined && place.copyId !== UNKNOWN_COPY;
    if (!maySee || this.nodes.some(({ instance }) => instance === place.instance)) return false;
    const lacks = async (node: ClusterNode) => {
      const body = await node.peek(place.copyId);
      return typeof body === 'object' ? !isSame(body) : body === 'NOT_FOUND';
    };
    return (await Promise.all(this.nodes.map(lacks))).every(Boolean);
  }

  /** The node of a location. By the instance first: two processes may know one node by two names. */
  find(endpoint: string, instance: string): ClusterNode | undefined {
    for (const node of this.nodes) if (node.instance === instance) return node;
    return this.nodes.find((node) => node.endpoint === endpoint);
  }
}

/**
 * Puts one job: the backups at once and in parallel, then the primary, which names them. If a node fails, the next
 * healthy one replaces it.
 */
class JobPut implements StoreResult {
  readonly planned: number;
  readonly stored: Place[] = [];
  readonly doubtful: Place[] = [];
  readonly reasons: Record<string, string> = {};
  readonly envelope: WrittenCopies;
  /** The next node that may replace one. */
  private next: number;
  private backupsLeft: number;

  constructor(
    readonly job: JobToPut,
    private readonly placement: Placement,
    private readonly minWritten: number,
    private readonly done: (result: StoreResult) => void,
  ) {
    const { copies } = placement;
    this.planned = copies;
    this.envelope = job.envelope.with(copies); // there may be fewer nodes than there should be copies
    this.next = copies;
    this.backupsLeft = copies - 1;
  }

  begin(): void {
    if (this.planned === 1) return this.putPrimary();
    for (let index = 1; index < this.planned; index++) this.put(index, this.placement.nodes[index]!);
  }

  private putPrimary(): void {
    const [node] = this.placement.nodes as [ClusterNode];
    if (this.stored.length + 1 >= this.minWritten) return this.put(0, node);
    this.reasons[node.endpoint] ??= 'not asked, as too few others stored it';
    this.done(this);
  }

  private put(index: number, node: ClusterNode): void {
    const { stored, doubtful } = this;
    const siblings = index > 0 ? NO_PLACES : doubtful.length === 0 ? stored : [...stored, ...doubtful];
    node.put(new CopyPut(this, index, node, siblings));
  }

  answered(index: number, node: ClusterNode, failure: PutFailure | undefined, location: string): void {
    if (!failure) this.stored.push({ index, location });
    else {
      this.reasons[node.endpoint] = failure.reason;
      if (failure.doubtful) this.doubtful.push({ index, location: failure.doubtful });
      // A primary without an answer is not put again ◆: the first, if it was stored, could not know of the second.
      const other = index > 0 || !failure.doubtful ? this.replacement() : undefined;
      if (other) return this.put(index, other);
    }
    if (index === 0) this.done(this);
    else if (--this.backupsLeft === 0) this.putPrimary();
  }

  private replacement(): ClusterNode | undefined {
    const { healthy, nodes } = this.placement;
    // Copies that are stored or may still be. The failed one is among those left, unless it is the primary.
    const reachable = this.stored.length + this.backupsLeft;
    return this.next < healthy || reachable < this.minWritten ? nodes[this.next++] : undefined;
  }
}

/** Makes its bytes when they are sent, and keeps none while it waits for the answer. */
class CopyPut implements CopyToPut {
  constructor(
    private readonly put: JobPut,
    private readonly index: number,
    private readonly node: ClusterNode,
    private readonly siblings: readonly Place[],
  ) {}

  get tube(): string {
    return this.put.job.tube;
  }

  get body(): Body {
    return this.put.envelope.body(this.index, this.siblings);
  }

  get priority(): number {
    return this.put.envelope.priority(this.index);
  }

  delay(): number {
    const { envelope, job } = this.put;
    return envelope.delay(this.index, envelope.job.due - job.ledger.now(), job.backupDelay);
  }

  done(failure: PutFailure | undefined, location: string): void {
    this.put.answered(this.index, this.node, failure, location);
  }
}

interface Placement {
  /** How many copies to store. The first node takes the primary. */
  readonly copies: number;
  /** The nodes in the order in which they are tried. Nodes after the first `copies` replace one that fails. */
  readonly nodes: readonly ClusterNode[];
  /** How many of them, from the front, are healthy. */
  readonly healthy: number;
}

/**
 * Chooses the nodes of one job: healthy ones, and each takes the primary in turn. The others are tried only if the healthy ones
 * cannot make `minWritten`: first as many drained nodes as it needs, and as a last resort those that are down. If two nodes are
 * one server, only the first is tried.
 */
export function place(
  nodes: readonly ClusterNode[],
  turn: number,
  replicas: number,
  minWritten: number,
): Placement {
  // Nearly always.
  if (nodes.every((node) => node.writable && !node.drained)) {
    return { copies: Math.min(replicas, nodes.length), nodes: rotated(nodes, turn), healthy: nodes.length };
  }
  const healthy: ClusterNode[] = [];
  const drained: ClusterNode[] = [];
  const down: ClusterNode[] = [];
  for (const node of nodes) {
    if (!node.twin) (!node.writable ? down : node.drained ? drained : healthy).push(node);
  }
  return {
    copies: Math.min(replicas, usable(healthy.length, drained.length, down.length, minWritten)),
    nodes: [...rotated(healthy, turn), ...rotated(drained, turn), ...rotated(down, turn)],
    healthy: healthy.length,
  };
}

function usable(healthy: number, drained: number, down: number, minWritten: number): number {
  if (healthy >= minWritten) return healthy;
  return healthy + drained >= minWritten ? minWritten : healthy + drained + down;
}

function rotated<T>(items: readonly T[], turn: number): T[] {
  const all: T[] = [];
  for (let i = 0; i < items.length; i++) all.push(items[(turn + i) % items.length]!);
  return all;
}
