import {
  addCounts,
  ALL_TUBES,
  HOUR,
  hourOf,
  MAX_TUBES,
  QUARTER,
  REMEMBERED_MS,
  type History,
  type MinuteOfTube,
} from './history.js';

/** The minutes of one hour by number, each with the counts of its tubes. */
type Hour = Map<number, Map<string, number[]>>;

/** The history in the memory of one process. */
export class LocalHistory implements History {
  private readonly hours = new Map<number, { readonly tubes: Set<string>; readonly minutes: Hour }>();

  constructor(readonly now: () => number) {}

  add(minutes: readonly MinuteOfTube[]): Promise<void> {
    for (const { minute, tube, counts } of minutes) {
      const hour = this.hourOf(minute);
      if (tube !== ALL_TUBES) {
        if (!hour.tubes.has(tube) && hour.tubes.size >= MAX_TUBES) continue;
        hour.tubes.add(tube);
      }
      let tubes = hour.minutes.get(minute);
      if (!tubes) hour.minutes.set(minute, (tubes = new Map<string, number[]>()));
      const known = tubes.get(tube);
      if (known) addCounts(known, counts);
      else tubes.set(tube, counts.slice(0, counts.findLastIndex((count) => count !== 0) + 1));
    }
    return Promise.resolve();
  }

  read(tube: string, from: number, to: number): Promise<MinuteOfTube[]> {
    const found: MinuteOfTube[] = [];
    for (let minute = from; minute <= to; minute++) {
      const counts = this.hours.get(hourOf(minute))?.minutes.get(minute)?.get(tube);
      if (counts) found.push({ minute, tube, counts: [...counts] });
    }
    return Promise.resolve(found);
  }

  quarters(hour: number): Promise<MinuteOfTube[]> {
    const { tubes = [], minutes } = this.hours.get(hour) ?? {};
    const found: MinuteOfTube[] = [];
    for (const tube of tubes) {
      const sums = new Map<number, number[]>();
      for (let minute = hour * HOUR; minute < (hour + 1) * HOUR; minute++) {
        const counts = minutes?.get(minute)?.get(tube);
        if (!counts) continue;
        const quarter = minute - (minute % QUARTER);
        const sum = sums.get(quarter) ?? [];
        addCounts(sum, counts);
        sums.set(quarter, sum);
      }
      for (const [minute, counts] of sums) found.push({ minute, tube, counts });
    }
    return Promise.resolve(found);
  }

  minutes(hour: number): Promise<MinuteOfTube[]> {
    const { tubes = [], minutes } = this.hours.get(hour) ?? {};
    const found: MinuteOfTube[] = [];
    for (const tube of tubes) {
      for (let minute = hour * HOUR; minute < (hour + 1) * HOUR; minute++) {
        const counts = minutes?.get(minute)?.get(tube);
        if (counts) found.push({ minute, tube, counts: [...counts] });
      }
    }
    return Promise.resolve(found);
  }

  private hourOf(minute: number) {
    const number = hourOf(minute);
    let hour = this.hours.get(number);
    if (!hour) {
      this.hours.set(number, (hour = { tubes: new Set(), minutes: new Map() }));
      const oldest = hourOf((this.now() - REMEMBERED_MS) / 60_000);
      for (const each of this.hours.keys()) if (each < oldest) this.hours.delete(each);
    }
    return hour;
  }
}
