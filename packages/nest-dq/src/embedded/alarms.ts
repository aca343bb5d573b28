import { Heap, type HeapItem } from 'nest-handlers/time';

/** Something that has to be woken at a time. */
export interface Sleeper extends HeapItem {
  /** By Clock.now; Infinity: not at all. Set by `Alarms.set` only. */
  wakeAt: number;
}

/** When each sleeper wakes; the node needs one timer for the earliest of all. */
export class Alarms<T extends Sleeper> {
  private readonly heap = new Heap<T>((a, b) => a.wakeAt < b.wakeAt);

  /** Infinity when nobody is to be woken. */
  get next(): number {
    return this.heap.peek()?.wakeAt ?? Infinity;
  }

  /** A sleeper whose time has come; the same one again, until its alarm is set anew. */
  due(now: number): T | undefined {
    const first = this.heap.peek();
    return first && first.wakeAt <= now ? first : undefined;
  }

  set(sleeper: T, at: number): void {
    if (sleeper.wakeAt === at) return;
    sleeper.wakeAt = at;
    if (at === Infinity) this.heap.remove(sleeper);
    else if (sleeper.heapIndex < 0) this.heap.add(sleeper);
    else this.heap.update(sleeper);
  }
}
