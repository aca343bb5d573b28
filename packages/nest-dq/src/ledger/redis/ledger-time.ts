import type { Clock } from 'nest-handlers/time';

interface Reading {
  /** Milliseconds to add to the monotonic clock. */
  readonly offset: number;
  /** Maximum difference from the true offset, in ms: half a round trip. */
  readonly error: number;
  /** When the reply came, on the monotonic clock. */
  readonly at: number;
}

/** How long a reading counts. */
const REMEMBERED_MS = 60_000;
/** Longest useful round trip. During a longer one the process stood still, for hours if it was suspended. */
const LONGEST_TRIP_MS = 1_000;
/** Maximum drift between two clocks: a system that corrects its clock changes its speed by at most 0.05 %. */
const DRIFT = 0.0005;
/** Tolerance for the rounding of times. */
const ROUNDING_MS = 1;

/** The server's clock had certainly reached `time` when the monotonic clock was `at`. In ms. */
interface Floor {
  readonly time: number;
  readonly at: number;
}

/**
 * Ledger time as this process knows it: its monotonic clock plus an offset. Each reply of the server yields a reading of the
 * offset. Among those of the last 60 s, the one with the shortest round trip counts. If no more come, the last one counts.
 */
export class LedgerTime {
  /** Oldest first. Each has a smaller error than the next one, so the first one counts. */
  private readonly readings: Reading[] = [];
  private floor: Floor | undefined;
  private renewing = false;

  constructor(private readonly clock: Clock) {}

  /** False until the server's clock has been read. Until then `now` returns the machine's time. */
  get known(): boolean {
    return this.readings.length > 0;
  }

  /** Milliseconds since 1970, with fractions. */
  now(): number {
    const [best] = this.readings;
    if (!best) return this.clock.wall();
    const now = this.clock.now();
    const taken = now + best.offset;
    // A slow reading may yield an earlier time than the certain one.
    return this.floor ? Math.max(taken, floorAt(this.floor, now)) : taken;
  }

  /** A time that the server's clock has certainly reached, since no reply reports a future time. -Infinity before the first reply. */
  nowAtLeast(): number {
    return this.floor ? floorAt(this.floor, this.clock.now()) : -Infinity;
  }

  /** The server's clock showed `serverTime` (ms) at some moment between `sent` and `received` of the monotonic clock. */
  observe(sent: number, received: number, serverTime: number): void {
    if (received - sent > LONGEST_TRIP_MS) {
      this.floor ??= { time: serverTime, at: received }; // a lower bound only
      return;
    }
    const reading: Reading = {
      offset: serverTime - (sent + received) / 2,
      error: (received - sent) / 2,
      at: received,
    };
    if (this.renewing || this.contradicted(reading)) {
      this.readings.length = 0;
      this.floor = undefined;
    }
    this.renewing = false;
    while (this.readings.length > 0 && this.readings.at(-1)!.error >= reading.error) this.readings.pop();
    this.readings.push(reading);
    while (this.readings[0]!.at < received - REMEMBERED_MS) this.readings.shift();
    const reached = this.floor ? floorAt(this.floor, received) : -Infinity;
    this.floor = { time: Math.max(serverTime, reached), at: received };
  }

  /** The connection is new, perhaps to another server. The next reading replaces all others; until then the old offset stays. */
  renew(): void {
    this.renewing = true;
  }

  /** Whether the server's clock was set: no offset lies within the errors of both this reading and the best one. */
  private contradicted(reading: Reading): boolean {
    const [best] = this.readings;
    if (!best) return false;
    const tolerance = best.error + reading.error + ROUNDING_MS + (reading.at - best.at) * DRIFT;
    return Math.abs(best.offset - reading.offset) > tolerance;
  }
}

function floorAt({ time, at }: Floor, now: number): number {
  return time + (now - at) * (1 - DRIFT);
}
