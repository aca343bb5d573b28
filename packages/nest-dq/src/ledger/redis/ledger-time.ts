import type { Clock } from 'nest-handlers/time';

interface Reading {
  /** Milliseconds to add to the monotonic clock. */
  readonly offset: number;
  /** Milliseconds. The true offset differs from `offset` by no more: half a round trip. */
  readonly error: number;
  /** When the reply came, on the monotonic clock. */
  readonly at: number;
}

/** Milliseconds for which a reading counts. */
const REMEMBERED = 60_000;
/** Milliseconds. A longer round trip tells nothing: the process stood still meanwhile, for hours if it was suspended. */
const LONGEST_TRIP = 1_000;
/** How fast two clocks may drift apart: a system that corrects its clock changes its speed by at most 0.05 %. */
const DRIFT = 0.0005;
/** Milliseconds, for the rounding of times. */
const ROUNDING = 1;

/** When the monotonic clock was `at`, the server's clock had certainly reached `time`. Milliseconds. */
interface Floor {
  readonly time: number;
  readonly at: number;
}

/**
 * Ledger time as this process knows it: its monotonic clock plus an offset. Each reply of the server gives a reading of the
 * offset. Of the last 60 s, the reading with the shortest round trip counts. If no more come, the last one counts.
 */
export class LedgerTime {
  /** Oldest first. Each has a smaller error than the next one, so the first one counts. */
  private readonly readings: Reading[] = [];
  private floor: Floor | undefined;
  private renewing = false;

  constructor(private readonly clock: Clock) {}

  /** False until the server's clock was read. Until then `now` gives the time of the machine's clock. */
  get known(): boolean {
    return this.readings.length > 0;
  }

  /** Milliseconds since 1970, with fractions. */
  now(): number {
    const [best] = this.readings;
    if (!best) return this.clock.wall();
    const now = this.clock.now();
    const taken = now + best.offset;
    // A slow reading may give an earlier time than the one that is certain.
    return this.floor ? Math.max(taken, floorAt(this.floor, now)) : taken;
  }

  /**
   * A time that the server's clock has certainly reached, because no reply tells a time that is still to come. Before the first
   * reply that is no time at all.
   */
  nowAtLeast(): number {
    return this.floor ? floorAt(this.floor, this.clock.now()) : -Infinity;
  }

  /** The server's clock showed `serverTime` (ms) at some moment between `sent` and `received` of the monotonic clock. */
  observe(sent: number, received: number, serverTime: number): void {
    if (received - sent > LONGEST_TRIP) {
      this.floor ??= { time: serverTime, at: received }; // not how late it is, but no less
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
    while (this.readings[0]!.at < received - REMEMBERED) this.readings.shift();
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
    const tolerance = best.error + reading.error + ROUNDING + (reading.at - best.at) * DRIFT;
    return Math.abs(best.offset - reading.offset) > tolerance;
  }
}

function floorAt({ time, at }: Floor, now: number): number {
  return time + (now - at) * (1 - DRIFT);
}
