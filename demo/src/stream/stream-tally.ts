// Compares the orders that were stored with the runs that there were: a pure function of the demo's own log.

/** An order: those of one customer are counted from 1, and must be handled in that order. */
export interface OrderRef {
  readonly customer: string;
  readonly nr: number;
}

/** Event of one run, seen by a consumer's process. `at`: microseconds of the machine's clock, which all processes share. */
export interface RunEntry extends OrderRef {
  readonly what: 'started' | 'failed' | 'succeeded';
  readonly at: number;
}

/** Event that the demo caused or saw. `stored`: its push was answered. */
export type StreamEntry = (OrderRef & { readonly what: 'stored' }) | RunEntry;

export interface StreamTally {
  readonly stored: number;
  /** Stored orders that succeeded. */
  readonly handled: number;
  /** Runs that failed. */
  readonly failed: number;
  /** Runs that succeeded although one before had. At least once allows it. */
  readonly again: number;
  /** All other stored orders. Before the end of the demo, they are those that still have to be handled. */
  readonly lost: number;
  /** Runs that began before the order before had succeeded. */
  readonly outOfOrder: number;
}

export function streamTally(log: readonly StreamEntry[]): StreamTally {
  const stored = log.filter((entry) => entry.what === 'stored');
  const runs = log.filter((entry) => entry.what !== 'stored').toSorted((a, b) => a.at - b.at);
  /** By customer: up to which order all have succeeded. */
  const done = new Map<string, number>();
  let [failed, again, outOfOrder] = [0, 0, 0];
  for (const { what, customer, nr } of runs) {
    const last = done.get(customer) ?? 0;
    if (what === 'failed') failed++;
    else if (what === 'started' && nr > last + 1) outOfOrder++;
    else if (what === 'succeeded' && nr <= last) again++;
    else if (what === 'succeeded' && nr === last + 1) done.set(customer, nr);
  }
  const handled = stored.filter(({ customer, nr }) => nr <= (done.get(customer) ?? 0)).length;
  return { stored: stored.length, handled, failed, again, lost: stored.length - handled, outOfOrder };
}

/** Whether every promise held. */
export function isCleanStream({ lost, outOfOrder }: StreamTally): boolean {
  return lost + outOfOrder === 0;
}
