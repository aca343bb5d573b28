import { TimeTravel, type Work } from './time-travel.js';
import { VirtualClock } from './virtual-clock.js';

/** What a kit takes part with in the journeys of its time. */
export interface Traveller {
  /** What a journey waits for. */
  readonly work: Work;
  /** A journey begins: what was held back goes on. */
  begin(): void;
  /** It has ended: nothing begins any more. */
  end(): void;
}

/** The time of one test kit, or of several that move together. Only its journeys move it, one at a time. */
export class KitTime {
  /** Stands still between journeys. */
  readonly clock: VirtualClock;
  private readonly travel: TimeTravel;
  private readonly travellers: Traveller[] = [];
  private last: Promise<unknown> = Promise.resolve();

  /**
   * @param start Milliseconds since 1970.
   * @param patience Real milliseconds that a run is waited for before time goes on without it.
   */
  constructor(start: number, patience: number) {
    this.clock = new VirtualClock(start);
    const works = () => this.travellers.map(({ work }) => work);
    this.travel = new TimeTravel({ clock: this.clock, works, patience });
  }

  /** For all journeys from now on. */
  join(traveller: Traveller): void {
    this.travellers.push(traveller);
  }

  /**
   * A journey: resolves once all that was due on the way has run.
   * @param end Asked when the journey begins, by `clock.now`; what it throws is thrown.
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

  /** As long as it takes until a promise is settled. Nothing begins meanwhile that a kit holds back. */
  until(ending: Promise<unknown>): Promise<void> {
    return this.next(() => this.travel.until(ending));
  }

  private next(journey: () => Promise<void>): Promise<void> {
    const next = this.last.then(journey, journey);
    this.last = next;
    return next;
  }
}
