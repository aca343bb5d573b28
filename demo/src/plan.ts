// The jobs of the demo. They follow a rule, so that every run of the demo has the same jobs.

export interface PlannedJob {
  readonly job: number;
  readonly add: 'now' | 'delay' | 'at';
  /** Milliseconds after the start. `now` does not use it. */
  readonly due: number;
  /** How many runs fail before one succeeds. */
  readonly failures: number;
  /** When the job is revoked, in milliseconds after the start. 0: as soon as it is scheduled. */
  readonly revoke?: number;
}

/** The kind of a job is its number modulo this. 11 is no multiple of 3, so each node has primaries of each kind. */
const TURNS = 11;
const FAILURES: Readonly<Record<number, number>> = { 2: 1, 5: 2 };
const REVOKES: Readonly<Record<number, (due: number) => number>> = {
  3: () => 0,
  6: (due) => due - 300,
  9: (due) => due - 3,
};

/**
 * Plans jobs in groups of eleven. One runs at once. The others have a delay or a due time by turns, and are spread evenly from
 * `first` to `last` (ms after the start). Two of the eleven fail at first: one fails once, and one fails twice. Three are
 * revoked: one as soon as it is scheduled, one shortly before it is due, and one at the last moment.
 */
export function plan(count: number, first: number, last: number): PlannedJob[] {
  return Array.from({ length: count }, (_, job) => {
    const turn = job % TURNS;
    const due = Math.round(first + ((last - first) * job) / Math.max(1, count - 1));
    const planned = { job, due, failures: FAILURES[turn] ?? 0, add: addOf(turn) };
    const revoke = REVOKES[turn];
    return revoke ? { ...planned, revoke: revoke(due) } : planned;
  });
}

function addOf(turn: number): PlannedJob['add'] {
  if (turn === 0) return 'now';
  return turn % 2 === 0 ? 'delay' : 'at';
}
