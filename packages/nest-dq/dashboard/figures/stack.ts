/** The jobs of one tube by bar. */
export interface TubeCounts {
  readonly tube: string;
  readonly counts: readonly number[];
}

/** Content of a bar chart: the largest tubes, and all the others as one. */
export interface Stack {
  /** The largest first. */
  readonly tubes: readonly TubeCounts[];
  /** Absent if no tube is left. */
  readonly rest?: readonly number[];
}

/** At most `most` tubes that have any jobs. */
export function stackOf(all: readonly TubeCounts[], most: number): Stack {
  const sum = ({ counts }: TubeCounts) => counts.reduce((total, each) => total + each, 0);
  const tubes = all
    .filter((each) => sum(each) > 0)
    .toSorted((a, b) => sum(b) - sum(a) || (a.tube < b.tube ? -1 : 1));
  if (tubes.length <= most) return { tubes };
  const rest = tubes.slice(most).map(({ counts }) => counts);
  return {
    tubes: tubes.slice(0, most),
    rest: rest[0]!.map((_, i) => rest.reduce((total, each) => total + each[i]!, 0)),
  };
}
