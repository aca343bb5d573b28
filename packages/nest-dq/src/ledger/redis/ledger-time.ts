import type { Clock } from '../../time/clock.js';

interface Reading {
  /** What to add to the monotonic clock. */
  readonly offset: number;
  /** The true offset is no further away than this: half a round trip. */
  readonly error: number;
  readonly at: number;
}

/** Milliseconds. */
const REMEMBERED = 60_000;
/** Clocks drift apart, and are slewed back by at most 0.05 %. */
const DRIFT = 0.0005;
/** Milliseconds. */
const ROUNDING = 1;

/** What the server's clock had certainly come to, ms, at a moment of the monotonic clock. */
interface Floor {
  readonly time: number;
  readonly at: number;
}

/**
 * Ledger time as this process knows it: its monotonic clock plus an offset taken from the server's clock.
 * The reading with the least round trip of the last 60 s counts; the last one stays when no more come.
 */
export class LedgerTime {
  /** Oldest first, and each with a smaller error than the next: the first is the one that counts. */
  private readonly readings: Reading[] = [];
  private floor: Floor | undefined;
  private renewing = false;

  constructor(private readonly clock: Clock) {}

  /** False until the server's clock was read; until then `now` is the machine's clock. */
  get known(): boolean {
    return this.readings.length > 0;
  }

  /** Milliseconds since 1970, with fractions. */
  now(): number {
    const [best] = this.readings;
    if (!best) return this.clock.wall();
    const now = this.clock.now();
    const taken = now + best.offset;
    // A slow reading may be wrong by more than what is known for certain.
    return this.floor ? Math.max(taken, floorAt(this.floor, now)) : taken;
  }

  /** What the server's clock has certainly come to: no reply tells of a time that is still to come. */
  nowAtLeast(): number {
    return this.floor ? floorAt(this.floor, this.clock.now()) : this.clock.wall();
  }

  /** The server said `serverTime` (ms) at some moment between `sent` and `received` (of the monotonic clock). */
  observe(sent: number, received: number, serverTime: number): void {
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

  /** A new connection, perhaps to another server: the next reading begins anew. Until then the old offset stays. */
  renew(): void {
    this.renewing = true;
  }

  /** Both intervals hold the true offset of one steady clock; if they are disjoint, the server's clock was set. */
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
