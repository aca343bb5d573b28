/** Something that was done in an experiment, after which messages may run again. */
export interface Cause {
  /** As the notes call it. */
  readonly name: string;
  /** When it was done, in ms by the machine's clock. */
  readonly from: number;
  /** When the group had its partitions shared out after it. */
  readonly until: number;
}

export interface MergedCauses extends Omit<Cause, 'name'> {
  readonly names: readonly string[];
}

/** Those that are less than `apart` ms apart become one: in between, nothing was surely committed. In the order of time. */
export function merged(causes: readonly Cause[], apart: number): MergedCauses[] {
  const all: MergedCauses[] = [];
  for (const { name, from, until } of causes.toSorted((a, b) => a.from - b.from)) {
    const last = all.at(-1);
    if (!last || from > last.until + apart) all.push({ names: [name], from, until });
    else {
      const names = last.names.includes(name) ? last.names : [...last.names, name];
      all[all.length - 1] = { names, from: last.from, until: Math.max(last.until, until) };
    }
  }
  return all;
}
