const LOOKS = 8;
/** The machine's clock minus the monotonic clock, in ms. */
let offset = align();

/**
 * Milliseconds since 1970 by the machine's clock, with fractions, which Date.now does not give. All processes of this machine
 * read the same time.
 */
export function machineTime(): number {
  return performance.now() + offset;
}

/** Call it before each round, because the machine's clock drifts against the monotonic clock. */
export function alignClock(): void {
  offset = align();
}

/** The largest of several differences: an interruption between the two readings only makes a difference smaller. */
function align(): number {
  return Math.max(...Array.from({ length: LOOKS }, difference));
}

/** Spins until Date.now changes, for a millisecond at most. */
function difference(): number {
  const before = Date.now();
  let now = before;
  while (now === before) now = Date.now();
  return now - performance.now();
}
