import type { Clock, Timer } from 'nest-handlers/time';
import { CALL_LIMIT } from './connection.js';

/** Milliseconds. */
const PROBE_WHEN_AWAY = 500;
const PROBE_WHEN_IDLE = 30_000;
/** Milliseconds. While we wait for the first connection, a timer runs this often. If it is late by `LATE`, the event loop was blocked. */
const LOOK_EVERY = 100;
const LATE = 100;
/** Milliseconds. A server that answers probes and refuses calls is left alone for this time, which doubles each time. */
const FIRST_REST = 500;
const LONGEST_REST = 10_000;
/** Milliseconds. If the last refusal is older than this, the next one counts as the first. */
const FORGOTTEN = 60_000;

/** A call that the server refused, although it had answered a probe. */
interface Refused {
  /** Characters. */
  readonly size: number;
  readonly at: number;
  /** Milliseconds until the next probe. */
  readonly rest: number;
}

/** When a master is probed, and how large the probe is. Only one probe runs at a time. */
export class ProbeSchedule {
  private probing = false;
  private refused: Refused | undefined;
  private timer: Timer | undefined;
  private closed = false;

  constructor(
    private readonly clock: Clock,
    /** Sends a probe, and handles its failure. */
    private readonly send: () => Promise<void>,
    private readonly isAway: () => boolean,
  ) {}

  /** Characters. The next probe must be this large; 0 if any will do. */
  get size(): number {
    return this.refused?.size ?? 0;
  }

  /**
   * Waits for the first connection, and probes if there is none after `left` ms. A process that starts with much to do
   * blocks its event loop and cannot hear of the connection, so that time does not count.
   */
  awaitConnection(left = CALL_LIMIT): void {
    const { clock } = this;
    const end = clock.now() + LOOK_EVERY;
    this.timer = clock.after(LOOK_EVERY, () => {
      const rest = clock.now() - end > LATE ? left : left - LOOK_EVERY;
      if (rest > 0) this.awaitConnection(rest);
      else this.probe();
    });
  }

  /** Probes now. The next probe comes soon if there is no answer, and after a long time if there is one. */
  probe(): void {
    if (this.probing || this.closed) return;
    this.probing = true;
    this.timer?.cancel();
    const next = () => {
      this.probing = false;
      if (this.closed) return;
      this.probeIn(this.isAway() ? Math.max(PROBE_WHEN_AWAY, this.refused?.rest ?? 0) : PROBE_WHEN_IDLE);
    };
    this.send().then(next, next);
  }

  /**
   * The server answered probes, but refused a call of this size. If memory is short, it refuses a probe of that size as
   * well. If not, it rests before the next probe: without a rest, probes and refused calls would alternate at full speed.
   */
  callRefused(size: number): void {
    const { refused } = this;
    const now = this.clock.now();
    const isRelapse = refused !== undefined && now - refused.at < FORGOTTEN;
    const rest = isRelapse ? Math.min(2 * refused.rest, LONGEST_REST) : FIRST_REST;
    this.refused = { size: Math.max(size, isRelapse ? refused.size : 0), at: now, rest };
    if (!this.probing) this.probeIn(rest);
  }

  /** A call as large as the refused one had an answer. */
  callPassed(): void {
    this.refused = undefined;
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
  }

  private probeIn(ms: number): void {
    this.timer?.cancel();
    this.timer = this.clock.after(ms, () => this.probe());
  }
}
