const LOOKS = 8;
/** What to add to the monotonic clock, in ms. */
let offset = align();

/**
 * Milliseconds since 1970 by the machine's clock, with fractions: Date.now alone gives whole ones. Every process of this
 * machine reads the same.
 */
export function machineTime(): number {
  return performance.now() + offset;
}

/** To be called before a round: the machine's clock is slewed against the monotonic one. */
export function alignClock(): void {
  offset = align();
}

/** An interruption between the two clocks makes the difference smaller, never larger: the largest of some is right. */
function align(): number {
  return Math.max(...Array.from({ length: LOOKS }, difference));
}

/** Spins for a millisecond at most, to the moment at which Date.now moves on. */
function difference(): number {
  const before = Date.now();
  let now = before;
  while (now === before) now = Date.now();
  return now - performance.now();
}
