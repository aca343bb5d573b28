import { fakeTimers, within } from './real-time.js';
import type { VirtualClock } from './virtual-clock.js';

/** Milliseconds of virtual time before and after an event in which nothing is leapt over. */
const AROUND = 10_000;
/** The same. The longest leap while a tube rests, so that none of its jobs is overdue for long. */
const LONGEST_REST = 24 * 60 * 60 * 1_000;
/** How often a run that may wait for a fake timer is looked at, for a real millisecond each time. */
const GLANCES = 10;

/** What a kit knows of the work of its library, for journeys through time. Instants are those of `clock.now`. */
export interface Work {
  /** Something goes on near which no time may be leapt over. */
  readonly works: boolean;
  /** Any run goes on. */
  readonly busy: boolean;
  /** A run goes on that is still waited for. */
  readonly awaited: boolean;
  /** Resolves when the next run ends. */
  nextEnd(): Promise<void>;
  /** The runs that go on now are not waited for any more. */
  giveUp(): void;
  /** When something happens next by itself; -Infinity: it cannot be told, so nothing is leapt over. */
  nextChange(): number;
  /** The same, without what rests: what only looks whether there is something to do, and has looked. */
  nextStop(): number;
  /** Whether anything rests. */
  readonly anyRests: boolean;
}

export interface TravelParts {
  readonly clock: VirtualClock;
  /** Of each kit. */
  readonly works: () => readonly Work[];
  /** Real milliseconds. How long a run is waited for before time goes on without it. */
  readonly patience: number;
}

/**
 * Moves the virtual clock from timer to timer. After each it waits until all that follows has happened, and the runs that
 * began have ended. It leaps over long stretches in which nothing is due: a timer that comes again and again fires once, as
 * on a machine that was asleep. Fake timers of Jest or Vitest move along.
 */
export class TimeTravel {
  /** When something was going on last, by `clock.now`. */
  private stirred = 0;
  /** How many fake timers there were before the present step. */
  private fakesBefore = 0;

  constructor(private readonly parts: TravelParts) {}

  /** Until `end`, by `clock.now`. */
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

  /** As long as it takes until a promise is settled. */
  async until(ending: Promise<unknown>): Promise<void> {
    let settled = false;
    const done = () => void (settled = true);
    void ending.then(done, done);
    await this.calm();
    while (!settled && this.parts.clock.nextTimer < Infinity) await this.step();
  }

  /** To the next timer, and all that follows from it. */
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
    const target = Math.min(end, ...works.map((each) => each.nextStop() - AROUND));
    if (works.some((each) => each.works) || target <= now) this.stirred = now;
    else if (now - this.stirred > AROUND && works.every((each) => !each.busy && each.nextChange() > now)) {
      await this.pass(Math.min(target - now, works.some((each) => each.anyRests) ? LONGEST_REST : Infinity));
    }
  }

  private async pass(ms: number): Promise<void> {
    if (ms <= 0) return;
    this.parts.clock.stall(ms);
    const fakes = fakeTimers();
    if (fakes && fakes.countTimers() > 0) await fakes.tickAsync(ms);
    else fakes?.tick(ms);
  }

  /** Until nothing goes on that needs no time, and no run that is still waited for. */
  private async calm(): Promise<void> {
    const { clock, works } = this.parts;
    for (await clock.quiet(); works().some((each) => each.awaited); await clock.quiet()) {
      if (!(await this.anEnd())) for (const each of works()) each.giveUp();
    }
  }

  /** Whether a run ends before long. */
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
