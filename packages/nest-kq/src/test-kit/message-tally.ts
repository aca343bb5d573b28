import type { Work } from 'nest-handlers/testing';
import type { KqClusterView, KqHooks, KqLoad, KqRun } from '../events/hooks.js';

/** Counts of messages over a period of time. */
export interface MessageCounts {
  /** Runs started, including retries; each message of a batch counts. */
  readonly started: number;
  /** Messages whose run succeeded, or failed only after a transaction had committed them. */
  readonly handled: number;
  /** Failed runs, whatever followed. */
  readonly failed: number;
  /** Messages that became dead letters or were dropped; their last runs count as failed. */
  readonly dead: number;
}

const NONE: MessageCounts = { started: 0, handled: 0, failed: 0, dead: 0 };

interface Run {
  /** The kit has stopped waiting for it. */
  givenUp: boolean;
}

/** Counts what the applications under a kit do, and tracks current runs. */
export class MessageTally implements Work {
  private counts = NONE;
  private readonly running = new Set<Run>();
  private readonly loads = new Set<() => KqLoad>();
  private ended: () => void = () => undefined;

  /** Returns the hooks for one application. */
  hooks(started: () => void): KqHooks {
    return {
      onStart: (cluster) => {
        started();
        return this.follow(cluster);
      },
      aroundHandler: (run, next) => this.around(run, next),
    };
  }

  /** Whether any message is unhandled: one waiting for its next run in place needs every timer around it. */
  get works(): boolean {
    if (this.busy) return true;
    const partitions = Array.from(this.loads, (load) => load().groups).flat();
    return partitions.some(({ partitions: all }) => all.some(({ lag = 0 }) => lag > 0));
  }

  get busy(): boolean {
    return this.running.size > 0;
  }

  get awaited(): boolean {
    return Array.from(this.running).some(({ givenUp }) => !givenUp);
  }

  nextEnd(): Promise<void> {
    return new Promise((resolve) => (this.ended = resolve));
  }

  giveUp(): void {
    for (const run of this.running) run.givenUp = true;
  }

  /** Nothing happens on its own except around an unhandled message. */
  nextChange(): number {
    return Infinity;
  }

  nextStop(): number {
    return Infinity;
  }

  readonly anyRests = false;

  /** Returns the counts since the last call. */
  take(): MessageCounts {
    const { counts } = this;
    this.counts = NONE;
    return counts;
  }

  private follow({ events, load }: KqClusterView): () => void {
    this.loads.add(load);
    const counted = [
      events.on('handled').subscribe(() => this.count('handled')),
      events.on('failed').subscribe(() => this.count('failed')),
      events.on('failedLate').subscribe(() => this.count('failed')),
      events.on('deferred').subscribe(() => this.count('failed')),
      events.on('notDeferred').subscribe(() => this.count('failed')),
      events.on('held').subscribe(() => this.count('failed')),
      ...(['died', 'dropped'] as const).map((name) =>
        events.on(name).subscribe(({ why }) => {
          if (why === 'unreadable') this.count('started'); // its handler was never called
          this.count('failed');
          this.count('dead');
        }),
      ),
    ];
    return () => {
      this.loads.delete(load);
      for (const each of counted) each.unsubscribe();
    };
  }

  private async around({ messages }: KqRun, next: () => unknown): Promise<unknown> {
    const run: Run = { givenUp: false };
    this.running.add(run);
    this.count('started', messages.length);
    try {
      return await next();
    } finally {
      this.running.delete(run);
      this.ended();
    }
  }

  private count(what: keyof MessageCounts, by = 1): void {
    this.counts = { ...this.counts, [what]: this.counts[what] + by };
  }
}
