/** Decides which messages of a partition run in sequence and which may run concurrently. */
import type { LogMessage } from '../driver/message.js';

/** The scope of ordering: a key, the whole partition, or nothing. */
export type Order = 'key' | 'partition' | 'none';

/** A message waiting to be handled. */
export interface Waiting {
  readonly message: LogMessage;
  /** Number of earlier runs. */
  attempts: number;
  readonly lane: Lane;
}

/** Messages that run in order. The lane is idle, ready, running, or held until one of its messages may run again. */
export interface Lane {
  readonly key: string | undefined;
  readonly waiting: Waiting[];
  state: 'idle' | 'ready' | 'running' | 'held';
}

export class Lanes {
  /** Lanes by key. Empty lanes are removed. */
  private readonly byKey = new Map<string, Lane>();
  private readonly ready: Lane[] = [];
  private firstReady = 0;
  private inReady = 0;

  constructor(private readonly order: Order) {}

  /** Number of messages that can be taken now. */
  get available(): number {
    return this.inReady;
  }

  add(message: LogMessage): void {
    const lane = this.laneOf(message);
    lane.waiting.push({ message, attempts: 0, lane });
    if (lane.state === 'idle') this.makeReady(lane);
    else if (lane.state === 'ready') this.inReady++;
  }

  /**
   * Takes at most `most` messages that may run now, each lane's in order. Their lanes give no more until `settle` is called with
   * everything that was taken together.
   * @param below Takes only messages with smaller offsets. @default all
   */
  take(most: number, below?: bigint): Waiting[] {
    const taken: Waiting[] = [];
    while (taken.length < most && this.firstReady < this.ready.length) {
      if (below !== undefined && !this.advanceTo(below)) break;
      const lane = this.ready[this.firstReady++]!;
      lane.state = 'running';
      this.inReady -= lane.waiting.length;
      const count = Math.min(most - taken.length, below === undefined ? Infinity : countBelow(lane, below));
      // `splice` allocates an array, which would be most of the cost of taking a single message.
      if (count === 1 || lane.waiting.length === 1) taken.push(lane.waiting.shift()!);
      else taken.push(...lane.waiting.splice(0, count));
    }
    if (this.firstReady * 2 > this.ready.length) {
      this.ready.splice(0, this.firstReady);
      this.firstReady = 0;
    }
    return taken;
  }

  /**
   * Settles a run of messages that were taken together.
   * @param again Messages to run again, in order, before all later ones of their lanes.
   * @param hold Whether their lanes stay held until `release`.
   */
  settle(taken: readonly Waiting[], again: readonly Waiting[], hold: boolean): void {
    for (let index = again.length - 1; index >= 0; index--) again[index]!.lane.waiting.unshift(again[index]!);
    const held = hold && again.length > 0 ? new Set(again.map(({ lane }) => lane)) : undefined;
    for (const { lane } of taken) {
      if (lane.state !== 'running') continue; // already settled, by another of its messages
      if (held?.has(lane)) lane.state = 'held';
      else this.makeReady(lane);
    }
  }

  /** Lets a held lane run. */
  release(lane: Lane): void {
    if (lane.state === 'held') this.makeReady(lane);
  }

  /** Moves a lane that starts below this offset to the front. Returns false if there is none. */
  private advanceTo(below: bigint): boolean {
    const { ready, firstReady } = this;
    for (let index = firstReady; index < ready.length; index++) {
      const lane = ready[index]!;
      if (lane.waiting[0]!.message.offset >= below) continue;
      ready[index] = ready[firstReady]!;
      ready[firstReady] = lane;
      return true;
    }
    return false;
  }

  private makeReady(lane: Lane): void {
    if (lane.waiting.length === 0) {
      lane.state = 'idle';
      if (lane.key !== undefined) this.byKey.delete(lane.key);
      return;
    }
    lane.state = 'ready';
    this.inReady += lane.waiting.length;
    this.ready.push(lane);
  }

  private laneOf({ key }: LogMessage): Lane {
    // A message without a key has no order to keep.
    const name = this.order === 'partition' ? '' : this.order === 'key' ? key?.toString('latin1') : undefined;
    const known = name === undefined ? undefined : this.byKey.get(name);
    if (known) return known;
    const lane: Lane = { key: name, waiting: [], state: 'idle' };
    if (name !== undefined) this.byKey.set(name, lane);
    return lane;
  }
}

function countBelow({ waiting }: Lane, below: bigint): number {
  const first = waiting.findIndex(({ message }) => message.offset >= below);
  return first < 0 ? waiting.length : first;
}
