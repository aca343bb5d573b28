import type { ClusterNode } from '../cluster/cluster-node.js';
import { formatLocation } from '../cluster/location.js';
import type { Content, CopyHeader, Envelope } from '../envelope.js';
import type { Lane } from './lane.js';

let made = 0;
const PROCESS = `${process.pid.toString(36)}-${Math.floor(Math.random() * 2 ** 40).toString(36)}`;

/** A copy in our hand: reserved on a lane, and held until it is released, buried or deleted there. */
export class Delivery {
  readonly header: CopyHeader;
  readonly content: Content;
  /** The claim's, kept over repeats of the call, so that the ledger knows that it is the same question. */
  readonly token = `${PROCESS}-${(made++).toString(36)}`;
  /** Ledger time, ms: not before this. */
  due: number;
  /** Since when it has been due without a slot, by the clock. */
  waitingSince = 0;
  /** Where the due buffer and the waiting list keep it. */
  heapIndex = -1;

  constructor(
    readonly node: ClusterNode,
    readonly lane: Lane,
    readonly copyId: string,
    envelope: Envelope,
  ) {
    this.header = envelope.header;
    this.content = envelope.content;
    this.due = envelope.header.due;
  }

  /** The copy that surfaces first, and is held until the millisecond. */
  get primary(): boolean {
    return this.header.index === 0;
  }

  get location(): string {
    return formatLocation(this.node.endpoint, this.lane.instance, this.copyId);
  }

  /** False once the lane is closed or the copy was let go: then the server may give it to anybody. */
  get held(): boolean {
    return this.lane.holds(this);
  }
}
