import { TimeTravel, type Work } from './time-travel.js';
import { VirtualClock } from './virtual-clock.js';

/** A kit's part in the journeys of its time. */
export interface Traveller {
  /** Work a journey waits for. */
  readonly work: Work;
  /** A journey starts: what was held back continues. */
  begin(): void;
  /** A journey has ended: nothing new starts. */
  end(): void;
}

/** The time of one test kit, or of several that move together. Moved only by its journeys, one at a time. */
export class KitTime {
  /** Stands still between journeys. */
  readonly clock: VirtualClock;
  private readonly travel: TimeTravel;
  private readonly travellers: Traveller[] = [];
  private last: Promise<unknown> = Promise.resolve();

  /**
   * @param start In ms since 1970.
   * @param patience Real time in ms to wait for a run before time moves on without it.
   */
  constructor(start: number, patience: number) {
    this.clock = new VirtualClock(start);
    const works = () => this.travellers.map(({ work }) => work);
    this.travel = new TimeTravel({ clock: this.clock, works, patience });
  }

  /** Takes part in all further journeys. */
  join(traveller: Traveller): void {
    this.travellers.push(traveller);
  }

  /**
   * Makes a journey: resolves once everything due on the way has run.
   * @param end Returns the end in terms of `clock.now`, called when the journey starts; its errors are rethrown.
   */
  async go(end: () => number): Promise<void> {
    await this.next(async () => {
      const to = end();
      try {
        for (const each of this.travellers) each.begin();
        await this.travel.to(to);
      } finally {
        for (const each of this.travellers) each.end();
      }
    });
  }

  /** Travels until a promise settles. Nothing held back by a kit starts meanwhile. */
  until(ending: Promise<unknown>): Promise<void> {
    return this.next(() => this.travel.until(ending));
  }

  private next(journey: () => Promise<void>): Promise<void> {
    const next = this.last.then(journey, journey);
    this.last = next;
    return next;
  }
}
