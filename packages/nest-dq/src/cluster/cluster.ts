// ◆ marks a rule of docs/internals/delivery.md.
import type { Body } from '../beanstalk/connection.js';
import { longestLocation, parseLocation, type Place, UNKNOWN_COPY } from '../copies/location.js';
import type { Seal } from '../seal/seal.js';
import type { Clock } from 'nest-handlers/time';
import type { ClusterNode, CopyToPut, DeleteResult, PutFailure } from './cluster-node.js';

/** The reason of a node that is well. */
export const NOT_TRIED = 'not tried, because too few other nodes stored it';

export interface ClusterSettings {
  /** Number of copies of a job. */
  readonly replicas: number;
  /** Number of copies that must be confirmed. */
  readonly minWritten: number;
  /** Seal of the copies. @default not sealed */
  readonly seal?: Seal | undefined;
}

/** A job in its storage format. */
export interface WrittenCopies {
  /** `due`: ledger time in ms. */
  readonly job: { readonly due: number };
  /** Returns the same job with another number of copies. */
  with(copies: number): WrittenCopies;
  /** Returns one copy, as it is put. Only the primary gets `siblings`. */
  body(index: number, siblings: readonly Place[]): Body;
  /** Returns the delay after which copy `index` surfaces, in whole seconds, if the job is due in `msUntilDue`. */
  delay(index: number, msUntilDue: number, backupDelay: number): number;
  /** Returns the priority for beanstalkd: smaller is sooner. */
  priority(index: number): number;
}

/** A job on its way to the nodes. */
export interface JobToPut {
  readonly tube: string;
  readonly envelope: WrittenCopies;
  /** How much later a backup surfaces than the copy before it, in ms. */
  readonly backupDelay: number;
  /** Source of ledger time. */
  readonly ledger: { now(): number };
}

export interface StoreResult {
  /** Number of copies planned. */
  readonly planned: number;
  /** Confirmed by INSERTED. */
  readonly stored: readonly Place[];
  /** Copies that may exist: puts without an answer, and copies that were stored buried. */
  readonly doubtful: readonly Place[];
  /** Why nodes failed, by endpoint. */
  readonly reasons: Readonly<Record<string, string>>;
}

const NO_PLACES: readonly Place[] = [];

/** All nodes as one store for copies. It decides the quorum and doesn't know the content of a copy. */
export class Cluster {
  /** Max length of a location on any of the nodes, in bytes. */
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

  /** Resolves once each node has answered or failed once, or after `limit` ms. */
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

  /** Smallest known body limit among the nodes, in bytes; Infinity while none is known. */
  get maxJobSize(): number {
    let smallest = Infinity;
    for (const { maxJobSize } of this.nodes) smallest = Math.min(smallest, maxJobSize);
    return smallest;
  }

  /** Stores the copies of a job. Never fails: the result says what is stored where. Calls back asynchronously. */
  put(job: JobToPut, done: (result: StoreResult) => void): void {
    const { replicas, minWritten } = this.settings;
    const placement = place(this.nodes, this.turn++, replicas, minWritten);
    new JobPut(job, placement, minWritten, done).begin();
  }

  /** Deletes the copy at a location. `isSame` distinguishes it from another job that has the same id by now. */
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

  /** Resolves with whether the copy at a location still exists, in any state. False also if its node is away. */
  async has(location: string, isSame: (body: Buffer) => boolean): Promise<boolean> {
    const place = parseLocation(location);
    if (!place) return false;
    const node = this.find(place.endpoint, place.instance);
    const there = (node ? [node] : this.nodes).map((each) => each.has(place, isSame));
    return (await Promise.all(there)).includes(true);
  }

  /** Reads the job now at a location. Undefined if there is none, or its node is away. */
  async peek(location: string): Promise<Buffer | undefined> {
    const place = parseLocation(location);
    const body = place && (await this.find(place.endpoint, place.instance)?.peek(place.copyId));
    return typeof body === 'object' ? body : undefined;
  }

  /**
   * Resolves with whether the copy at a location is gone without anybody having deleted it: all nodes answer, none of them is the
   * server that stored it, and none has it. If that server is still running, a copy it doesn't have was deleted, because its job
   * is over.
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

  /** Returns the node of a location. By instance first: two processes may know one node by two names. */
  find(endpoint: string, instance: string): ClusterNode | undefined {
    for (const node of this.nodes) if (node.instance === instance) return node;
    return this.nodes.find((node) => node.endpoint === endpoint);
  }
}

/** Puts one job: the backups first, in parallel, then the primary, which names them. If a node fails, the next healthy one replaces it. */
class JobPut implements StoreResult {
  readonly planned: number;
  readonly stored: Place[] = [];
  readonly doubtful: Place[] = [];
  readonly reasons: Record<string, string> = {};
  readonly envelope: WrittenCopies;
  /** Index of the next node that may replace a failed one. */
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
    this.envelope = job.envelope.with(copies); // there may be fewer nodes than `replicas`
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
    this.reasons[node.endpoint] ??= NOT_TRIED;
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
      // A primary without an answer is not put again ◆: if the first was stored, it couldn't know of the second.
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

/** Builds its bytes when they are sent, and keeps none while it waits for the answer. */
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
  /** Number of copies to store. The first node takes the primary. */
  readonly copies: number;
  /** Nodes in the order they are tried. Nodes after the first `copies` replace failed ones. */
  readonly nodes: readonly ClusterNode[];
  /** Number of them, from the front, that are healthy. */
  readonly healthy: number;
}

/**
 * Chooses the nodes of one job: healthy ones, which take the primary in turn. The others are tried only if the healthy ones can't
 * reach `minWritten`: first as many drained nodes as needed, and as a last resort those that are down. If two nodes are one
 * server, only the first is tried.
 */
export function place(
  nodes: readonly ClusterNode[],
  turn: number,
  replicas: number,
  minWritten: number,
): Placement {
  // The fast path, nearly always.
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
