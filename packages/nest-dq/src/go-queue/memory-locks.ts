import type { Clock } from 'nest-handlers/time';
import { type GoQueueLocks, holderOf, LOCK_TIME_MS, type LockHolder, REVOKED } from './locks.js';

/** Locks of one process, without any go-queue: for a start without servers, and for tests. */
export class MemoryGoQueueLocks implements GoQueueLocks {
  private readonly locks = new Map<string, { readonly owner: string; readonly until: number }>();

  constructor(private readonly clock: Clock) {}

  async take(id: string, owner: string): Promise<boolean> {
    const present = this.ownerOf(id);
    if (present !== undefined && present !== owner) return false;
    this.set(id, owner, LOCK_TIME_MS);
    return true;
  }

  async revoke(id: string, time: number): Promise<LockHolder> {
    const present = this.ownerOf(id) ?? REVOKED;
    if (present === REVOKED) this.set(id, REVOKED, time);
    return holderOf(present);
  }

  async look(id: string): Promise<LockHolder | undefined> {
    const owner = this.ownerOf(id);
    return owner === undefined ? undefined : holderOf(owner);
  }

  start(): void {}

  async close(): Promise<void> {}

  private ownerOf(id: string): string | undefined {
    const now = this.clock.now();
    for (const [each, { until }] of this.locks) if (until <= now) this.locks.delete(each);
    return this.locks.get(id)?.owner;
  }

  private set(id: string, owner: string, time: number): void {
    this.locks.set(id, { owner, until: this.clock.now() + time });
  }
}
