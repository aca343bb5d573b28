import { LATENESS_CLASSES } from './lateness-classes.js';

/** Counters besides the starts. */
const COUNTED = ['scheduled', 'completed', 'failed', 'dead'] as const;
type Counted = (typeof COUNTED)[number] | 'expired';

export const FIRST_CLASS: number = COUNTED.length;
const END_OF_CLASSES: number = FIRST_CLASS + LATENESS_CLASSES.length + 1;
/** Indexes of the runs with a known duration, and of the sum of their durations in microseconds. Older versions don't count them. */
export const TIMED: number = END_OF_CLASSES;
export const RUN_TIME: number = END_OF_CLASSES + 1;
/** Numbers per tube. */
/** Index of the expired jobs. Older versions don't count them. */
const EXPIRED: number = END_OF_CLASSES + 2;
/** Index of each number in a tube's list: first those of COUNTED, then the starts per lateness class, then the three above. */
export const PLACES = {
  ...(Object.fromEntries(COUNTED.map((name, i) => [name, i])) as Record<(typeof COUNTED)[number], number>),
  expired: EXPIRED,
} satisfies Readonly<Record<Counted, number>>;
export const NUMBERS: number = END_OF_CLASSES + 3;

/** Counts what happens in this process, by tube. Called for each job, so it does nothing else. */
export class Tally {
  private byTube = new Map<string, number[]>();

  count(tube: string, what: Counted): void {
    this.add(tube, PLACES[what]);
  }

  /** @param lateness In ms. */
  started(tube: string, lateness: number): void {
    let place = FIRST_CLASS;
    for (const most of LATENESS_CLASSES) {
      if (lateness <= most) break;
      place++;
    }
    this.add(tube, place);
  }

  /** @param took Duration of the handler in ms. */
  ended(tube: string, how: 'completed' | 'failed', took: number): void {
    this.add(tube, PLACES[how]);
    this.add(tube, TIMED);
    this.add(tube, RUN_TIME, Math.max(0, Math.round(took * 1_000)));
  }

  /** Returns the counts since the last call. */
  take(): Map<string, number[]> {
    const taken = this.byTube;
    this.byTube = new Map();
    return taken;
  }

  private add(tube: string, place: number, number = 1): void {
    let counts = this.byTube.get(tube);
    if (!counts) this.byTube.set(tube, (counts = Array.from({ length: NUMBERS }, () => 0)));
    counts[place]! += number;
  }
}
