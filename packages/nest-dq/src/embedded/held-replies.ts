import type { Disk } from '../disk/disk.js';

/** Bytes. While more are held, a session executes no further commands. */
const MUCH = 64 * 1024;

export interface HeldRepliesEvents {
  /** These replies may leave. */
  send(replies: string): void;
  /** Some replies have left. */
  released(): void;
  /** The replies will never leave: the changes that they confirm are not on disk. */
  lost(): void;
}

/** Holds the replies of one session, in order: one that confirms a change, and all behind it, until the change is on disk. */
export class HeldReplies {
  private readonly held: { readonly replies: string; readonly change: number }[] = [];
  /** Bytes that are held. */
  size = 0;
  private seen = 0;
  /** The latest change that this session has made. */
  private change = 0;

  constructor(
    private readonly disk: Disk,
    private readonly events: HeldRepliesEvents,
  ) {}

  get isEmpty(): boolean {
    return this.held.length === 0;
  }

  get isFull(): boolean {
    return this.size > MUCH;
  }

  /** Changes between this call and the next `add` were made by this session. */
  begin(): void {
    this.seen = this.disk.lastChange;
  }

  add(replies: string): void {
    const { lastChange } = this.disk;
    if (lastChange !== this.seen) this.change = this.seen = lastChange;
    if (this.isEmpty && this.disk.isSaved(this.change)) return this.events.send(replies);
    this.held.push({ replies, change: this.change });
    this.size += replies.length;
    if (this.held.length === 1) this.wait();
  }

  private wait(): void {
    this.disk.whenSaved(this.held[0]!.change, (failure) => (failure ? this.events.lost() : this.release()));
  }

  private release(): void {
    let next = this.held[0];
    for (; next && this.disk.isSaved(next.change); next = this.held[0]) {
      this.held.shift();
      this.size -= next.replies.length;
      this.events.send(next.replies);
    }
    if (next) this.wait();
    this.events.released();
  }
}
