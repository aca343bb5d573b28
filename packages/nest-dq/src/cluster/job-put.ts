import type { PutOptions } from '../beanstalk/connection.js';
import type { Place } from '../copies/location.js';
import type { ClusterNode } from './cluster-node.js';
import type { CopyToPut, PutFailure } from './node-put.js';
import type { Placement } from './placement.js';

/** A job on its way to the nodes. The methods are called at each put, so that they can read the time. */
export interface NewCopies {
  readonly tube: string;
  /** The ASCII with which a copy begins; `siblings` for the primary only. `copies` is how many were planned. */
  front(copies: number, index: number, siblings: readonly Place[]): string;
  /** What follows. */
  readonly rest: Uint8Array;
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

/** Time to run of every copy, in seconds: how long a silent consumer keeps one from surfacing again. Held ones are touched. */
const TTR = 60;
const NO_PLACES: readonly Place[] = [];

/**
 * One job's way to its nodes: the backups at once and in parallel, then the primary, which names them. A node that fails
 * is replaced by the next healthy one.
 */
export class JobPut implements StoreResult {
  readonly planned: number;
  readonly stored: Place[] = [];
  readonly doubtful: Place[] = [];
  readonly reasons: Record<string, string> = {};
  /** The next node to take the place of one that fails. */
  private next: number;
  private backupsLeft: number;

  constructor(
    private readonly job: NewCopies,
    private readonly placement: Placement,
    private readonly minWritten: number,
    private readonly done: (result: StoreResult) => void,
  ) {
    const { copies } = placement;
    this.planned = copies;
    this.next = copies;
    this.backupsLeft = copies - 1;
  }

  begin(): void {
    if (this.planned === 1) return this.putPrimary();
    for (let index = 1; index < this.planned; index++) this.put(index, this.placement.nodes[index]!);
  }

  private put(index: number, node: ClusterNode): void {
    node.put(new CopyPut(this, this.job, index, node));
  }

  private putPrimary(): void {
    const [node] = this.placement.nodes as [ClusterNode];
    if (this.stored.length + 1 >= this.minWritten) return this.put(0, node);
    this.reasons[node.endpoint] ??= 'not asked, as too few others stored it';
    this.done(this);
  }

  /** What the primary names. */
  get siblings(): readonly Place[] {
    return this.doubtful.length === 0 ? this.stored : [...this.stored, ...this.doubtful];
  }

  answered(index: number, node: ClusterNode, failure: PutFailure | undefined, location: string): void {
    if (!failure) {
      this.stored.push({ index, location });
      return this.settled(index);
    }
    this.reasons[node.endpoint] = failure.reason;
    if (failure.doubtful) this.doubtful.push({ index, location: failure.doubtful });
    // A primary without an answer is not put again ◆: the first, if it was stored, could not know of the second.
    const other = index > 0 || !failure.doubtful ? this.replacement() : undefined;
    if (other) this.put(index, other);
    else this.settled(index);
  }

  private settled(index: number): void {
    if (index === 0) this.done(this);
    else if (--this.backupsLeft === 0) this.putPrimary();
  }

  private replacement(): ClusterNode | undefined {
    const { healthy, nodes } = this.placement;
    // What is stored, and what may still be: one of those that are left is the copy that failed, but for the primary.
    const reachable = this.stored.length + this.backupsLeft;
    return this.next < healthy || reachable < this.minWritten ? nodes[this.next++] : undefined;
  }
}

class CopyPut implements CopyToPut {
  constructor(
    private readonly put: JobPut,
    private readonly job: NewCopies,
    private readonly index: number,
    private readonly node: ClusterNode,
  ) {}

  get tube(): string {
    return this.job.tube;
  }

  get rest(): Uint8Array {
    return this.job.rest;
  }

  get front(): string {
    return this.job.front(this.put.planned, this.index, this.index === 0 ? this.put.siblings : NO_PLACES);
  }

  get options(): PutOptions {
    return { priority: this.job.priority(this.index), delay: this.job.delay(this.index), ttr: TTR };
  }

  done(failure: PutFailure | undefined, location: string): void {
    this.put.answered(this.index, this.node, failure, location);
  }
}
