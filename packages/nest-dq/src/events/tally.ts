/** Milliseconds: a run that starts at most this late belongs to the class, and one that is later than all to one more. */
export const LATENESS_CLASSES = [10, 100, 1_000, 10_000, 60_000] as const;

/** What is counted beside the starts. */
const COUNTED = ['scheduled', 'completed', 'failed', 'dead'] as const;
type Counted = (typeof COUNTED)[number];

/** Where the numbers of a tube are in its list: those of COUNTED, then the starts of each class of lateness. */
export const PLACES = Object.fromEntries(COUNTED.map((name, i) => [name, i])) as Readonly<
  Record<Counted, number>
>;
export const FIRST_CLASS: number = COUNTED.length;
/** How many numbers a tube has. */
export const NUMBERS: number = FIRST_CLASS + LATENESS_CLASSES.length + 1;

/** Counts what happens in this process, by tube. It is called for each job, so it does nothing else. */
export class Tally {
  private byTube = new Map<string, number[]>();

  count(tube: string, what: Counted): void {
    this.add(tube, PLACES[what]);
  }

  /** @param lateness Milliseconds. */
  started(tube: string, lateness: number): void {
    let place = FIRST_CLASS;
    for (const most of LATENESS_CLASSES) {
      if (lateness <= most) break;
      place++;
    }
    this.add(tube, place);
  }

  /** Everything since it was called before. */
  take(): Map<string, number[]> {
    const taken = this.byTube;
    this.byTube = new Map();
    return taken;
  }

  private add(tube: string, place: number): void {
    let counts = this.byTube.get(tube);
    if (!counts) this.byTube.set(tube, (counts = Array.from({ length: NUMBERS }, () => 0)));
    counts[place]!++;
  }
}
