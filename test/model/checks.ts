import { callsAnswered } from './check-calls.js';
import { copiesGone, recordsGone } from './check-leftovers.js';
import { jobsEnded, revivedRan } from './check-lost-jobs.js';
import {
  againIsHeeded,
  attemptsCounted,
  doneOnce,
  fencesGrow,
  lateEndsRefused,
  oneAtATime,
  oneSuccess,
} from './check-runs.js';
import { endedStayOver, failedNeverStart, startsInTime } from './check-starts.js';
import type { Simulation } from './simulation.js';

/** What the library promises. Each is asked of what happened, and gives what is wrong. */
const PROMISES: readonly ((simulation: Simulation) => string[])[] = [
  startsInTime,
  endedStayOver,
  failedNeverStart,
  fencesGrow,
  lateEndsRefused,
  doneOnce,
  oneSuccess,
  oneAtATime,
  againIsHeeded,
  attemptsCounted,
  jobsEnded,
  revivedRan,
  callsAnswered,
  copiesGone,
  recordsGone,
];

/** All that is wrong. Each line begins with the promise's name and a colon. */
export function check(simulation: Simulation): string[] {
  return [...simulation.history.faults, ...PROMISES.flatMap((promise) => promise(simulation))];
}
