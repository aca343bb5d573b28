import { fakeTimers, within } from './real-time.js';
import type { VirtualClock } from './virtual-clock.js';

/** Virtual time before and after an event that is never skipped. */
const AROUND_MS = 10_000;
/** Max skip of virtual time while a tube rests, so that none of its jobs is overdue for long. */
const LONGEST_REST_MS = 24 * 60 * 60 * 1_000;
/** Number of checks on a run that may wait for a fake timer, one real millisecond each. */
const GLANCES = 10;

/** A library's work as its kit sees it, for journeys through time. Times are those of `clock.now`. */
export interface Work {
  /** Whether work is in progress during which no time may be skipped. */
  readonly works: boolean;
  /** Whether any run is in progress. */
  readonly busy: boolean;
  /** Whether a run in progress is still awaited. */
  readonly awaited: boolean;
  /** Resolves when the next run ends. */
  nextEnd(): Promise<void>;
  /** Stops waiting for the current runs. */
  giveUp(): void;
  /** Returns when something next happens on its own; -Infinity if unknown, so that nothing is skipped. */
  nextChange(): number;
  /** Like `nextChange`, ignoring what rests: pollers that have found nothing to do. */
  nextStop(): number;
  /** Whether anything rests. */
  readonly anyRests: boolean;
}

export interface TravelParts {
  readonly clock: VirtualClock;
  /** The work of each kit. */
  readonly works: () => readonly Work[];
  /** Real time in ms to wait for a run before time moves on without it. */
  readonly patience: number;
}

/**
 * Moves the virtual clock from timer to timer. After each it waits until everything that follows has happened and the runs it
 * started have ended. Long stretches in which nothing is due are skipped: a recurring timer fires once, as on a machine that was
 * asleep. Fake timers of Jest or Vitest move along.
 */
export class TimeTravel {
  /** Time of the last activity, in terms of `clock.now`. */
  private stirred = 0;
  /** Number of fake timers before the current step. */
  private fakesBefore = 0;

  constructor(private readonly parts: TravelParts) {}

  /** Travels to `end`, in terms of `clock.now`. */
  async to(end: number): Promise<void> {
    const { clock } = this.parts;
    this.stirred = clock.now();
    this.fakesBefore = fakeTimers()?.countTimers() ?? 0;
    await this.calm();
    while (clock.nextTimer <= end) {
      await this.leap(end);
      await this.step();
    }
    await this.pass(end - clock.now());
    await this.calm();
  }

  /** Travels until a promise settles. */
  async until(ending: Promise<unknown>): Promise<void> {
    let settled = false;
    const done = () => void (settled = true);
    void ending.then(done, done);
    await this.calm();
    while (!settled && this.parts.clock.nextTimer < Infinity) await this.step();
  }

  /** Travels to the next timer, and runs everything that follows. */
  private async step(): Promise<void> {
    const { clock } = this.parts;
    await this.pass(clock.nextTimer - clock.now());
    this.fakesBefore = fakeTimers()?.countTimers() ?? 0;
    clock.runTimer();
    await this.calm();
  }

  private async leap(end: number): Promise<void> {
    const { clock } = this.parts;
    const works = this.parts.works();
    const now = clock.now();
    const target = Math.min(end, ...works.map((each) => each.nextStop() - AROUND_MS));
    if (works.some((each) => each.works) || target <= now) this.stirred = now;
    else if (now - this.stirred > AROUND_MS && works.every((each) => !each.busy && each.nextChange() > now)) {
      await this.pass(
        Math.min(target - now, works.some((each) => each.anyRests) ? LONGEST_REST_MS : Infinity),
      );
    }
  }

  private async pass(ms: number): Promise<void> {
    if (ms <= 0) return;
    this.parts.clock.stall(ms);
    const fakes = fakeTimers();
    if (fakes && fakes.countTimers() > 0) await fakes.tickAsync(ms);
    else fakes?.tick(ms);
  }

  /** Waits until all work that takes no time is done, and no run is still awaited. */
  private async calm(): Promise<void> {
    const { clock, works } = this.parts;
    for (await clock.quiet(); works().some((each) => each.awaited); await clock.quiet()) {
      if (!(await this.anEnd())) for (const each of works()) each.giveUp();
    }
  }

  /** Resolves with whether a run ends soon. */
  private async anEnd(): Promise<boolean> {
    const { clock, works, patience } = this.parts;
    const end = Promise.race(works().map((each) => each.nextEnd()));
    const fakes = fakeTimers();
    let glances = 0;
    // A run that set a fake timer probably waits for it: that takes virtual time, and little real time.
    for (; fakes && fakes.countTimers() > this.fakesBefore && glances < GLANCES; glances++) {
      await fakes.tickAsync(0);
      await clock.quiet();
      if (await within(1, end)) return true;
    }
    return glances < GLANCES && within(patience, end);
  }
}
