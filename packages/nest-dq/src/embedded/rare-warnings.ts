import type { Clock } from 'nest-handlers/time';

/** Least time between two warnings of one kind. */
const REPORT_INTERVAL_MS = 60_000;

/**
 * Warnings about what clients can cause over and over. Each kind is logged at once, and then at most once a minute: the next one
 * says how many were left out meanwhile.
 */
export class RareWarnings {
  private readonly kinds = new Map<string, { toldAt: number; untold: number }>();

  constructor(
    private readonly clock: Clock,
    private readonly warn: (message: string) => void,
  ) {}

  warnOnce(kind: string, message: string): void {
    const now = this.clock.now();
    const last = this.kinds.get(kind);
    if (last && now - last.toldAt < REPORT_INTERVAL_MS) {
      last.untold++;
      return;
    }
    this.kinds.set(kind, { toldAt: now, untold: 0 });
    const more = last?.untold ?? 0;
    this.warn(
      more === 0 ? message : `${message}; this happened ${more} more times since the last such message`,
    );
  }
}
