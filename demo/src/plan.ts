// What the demo gives to the queue: made by rule, so that every run of the demo asks for the same.

export interface PlannedJob {
  readonly job: number;
  readonly add: 'now' | 'delay' | 'at';
  /** Milliseconds after the start; without meaning for `now`. */
  readonly due: number;
  /** How many runs fail before one succeeds. */
  readonly failures: number;
  /** Milliseconds after the start at which it is revoked; 0 is as soon as it is scheduled. */
  readonly revoke?: number;
}

/** Jobs whose number has the same rest by this are alike. Of a kind, not all have their primary copy on one of three nodes. */
const TURNS = 11;
const FAILURES: Readonly<Record<number, number>> = { 2: 1, 5: 2 };
const REVOKES: Readonly<Record<number, (due: number) => number>> = {
  3: () => 0,
  6: (due) => due - 300,
  9: (due) => due - 3,
};

/**
 * Of eleven jobs one runs at once; the others after a delay and at an instant by turns, spread evenly from `first` to
 * `last` (ms after the start). Two fail at first, once or twice. Three are revoked: as soon as they are scheduled,
 * shortly before they are due, and in the last moment.
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
