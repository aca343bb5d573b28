import type { EventFollower, EventLog } from './event-log.js';

/** The event log of one process, or of the applications that share a test kit: followers get each entry at once. */
export class LocalEventLog implements EventLog {
  private readonly followers = new Set<EventFollower>();

  /** @param now Ledger time in ms. */
  constructor(readonly now: () => number) {}

  append(entries: readonly string[]): Promise<void> {
    for (const follower of this.followers) follower.appended(entries);
    return Promise.resolve();
  }

  follow(follower: EventFollower): () => void {
    this.followers.add(follower);
    return () => void this.followers.delete(follower);
  }
}
