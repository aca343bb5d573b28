import type { ClusterNode, DeleteResult } from './cluster-node.js';
import { longestLocation, parseLocation, type Place } from '../location.js';
import { place } from './placement.js';

/** A job on its way to the nodes. The functions are called at each put, so that they can read the time. */
export interface NewCopies {
  readonly tube: string;
  /** The body of a copy; `siblings` for the primary only. `copies` is how many were planned. */
  body(copies: number, index: number, siblings: readonly Place[]): Buffer;
  /** Whole seconds until the copy surfaces. */
  delay(index: number): number;
  priority(index: number): number;
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

export interface ClusterSettings {
  /** Copies of a job. */
  readonly replicas: number;
  /** Copies that must be confirmed. */
  readonly minWritten: number;
}

const NO_PLACES: readonly Place[] = [];

/** Time to run of every copy, in seconds: how long a silent consumer keeps one from surfacing again. Held ones are touched. */
export const TTR = 60;

/** All nodes as one place for copies. Quorum is decided here; what a copy says is not known here. */
export class Cluster {
  /** The longest text that a location on any of the nodes can have, in bytes. */
  readonly longestLocation: number;
  private turn = Math.floor(Math.random() * 1_000);

  constructor(
    readonly nodes: readonly ClusterNode[],
    readonly settings: ClusterSettings,
  ) {
    this.longestLocation = Math.max(...nodes.map((node) => longestLocation(node.endpoint)));
  }

  /** Connects to all nodes in the background. Idempotent. */
  start(): void {
    for (const node of this.nodes) node.start();
  }

  /** Idempotent. */
  close(): void {
    for (const node of this.nodes) node.close();
  }

  /** The smallest known limit of a body among the nodes, in bytes; Infinity while none is known. */
  get maxJobSize(): number {
    return Math.min(...this.nodes.map((node) => node.maxJobSize));
  }

  /**
   * Stores the copies of a job: the backups at once and in parallel, then the primary, which names them. A node that
   * fails is replaced by the next healthy one. Never fails itself: the result tells what is stored where.
   */
  put(job: NewCopies, done: (result: StoreResult) => void): void {
    const { replicas, minWritten } = this.settings;
    const { copies, nodes, healthy } = place(this.nodes, this.turn++, replicas, minWritten);
    const stored: Place[] = [];
    const doubtful: Place[] = [];
    const reasons: Record<string, string> = {};
    let next = copies;
    let settled = 0;

    const replacement = (): ClusterNode | undefined => {
      const reachable = stored.length + (copies - settled - 1);
      return next < healthy || reachable < minWritten ? nodes[next++] : undefined;
    };
    const putCopy = (node: ClusterNode, index: number, settle: () => void) => {
      node.put(
        job.tube,
        () => job.body(copies, index, index === 0 ? [...stored, ...doubtful] : NO_PLACES),
        () => ({ priority: job.priority(index), delay: job.delay(index), ttr: TTR }),
        (failure, location) => {
          if (!failure) {
            stored.push({ index, location });
            return settle();
          }
          reasons[node.endpoint] = failure.reason;
          if (failure.doubtful) doubtful.push({ index, location: failure.doubtful });
          // A primary without an answer is not put again ◆: the first, if it was stored, could not know of the second.
          const other = index > 0 || !failure.doubtful ? replacement() : undefined;
          if (other) putCopy(other, index, settle);
          else settle();
        },
      );
    };
    const finish = () => done({ planned: copies, stored, doubtful, reasons });
    const putPrimary = () => {
      const [node] = nodes as [ClusterNode];
      if (stored.length + 1 >= minWritten) return putCopy(node, 0, finish);
      reasons[node.endpoint] ??= 'not asked, as too few others stored it';
      finish();
    };
    if (copies === 1) return putPrimary();
    for (let index = 1; index < copies; index++) {
      putCopy(nodes[index]!, index, () => {
        if (++settled === copies - 1) putPrimary();
      });
    }
  }

  /** Deletes the copy at a location, wherever it is now; `isSame` tells it from an innocent job that has its id. */
  delete(
    location: string,
    isSame: (body: Buffer) => boolean,
    done: (result: DeleteResult, node?: ClusterNode) => void,
  ): void {
    const place = parseLocation(location);
    const node = place && this.find(place.endpoint, place.instance);
    if (!place || !node) return done('away');
    node.delete(place, isSame, (result) => done(result, node));
  }

  /** Reads whatever is at a location now; undefined when nothing is, or its node is away. */
  peek(location: string, done: (body: Buffer | undefined) => void): void {
    const place = parseLocation(location);
    const node = place && this.find(place.endpoint, place.instance);
    if (!place || !node) return done(undefined);
    node.peek(place.copyId, done);
  }

  /** By the instance first: two processes may know one node by two names. */
  private find(endpoint: string, instance: string): ClusterNode | undefined {
    return (
      this.nodes.find((node) => node.instance === instance) ??
      this.nodes.find((node) => node.endpoint === endpoint)
    );
  }
}
