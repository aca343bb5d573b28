import { callsAnswered } from './check-calls.js';
import { rateHeld, runsLimited } from './check-limits.js';
import { copiesGone, nothingListed, recordsGone } from './check-leftovers.js';
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
import { expiredStayOver } from './check-expiry.js';
import { endedStayOver, failedNeverStart, oneSchedule, startsInTime } from './check-starts.js';
import type { Simulation } from './simulation.js';

/** The promises of the library. Each is a function that returns what is wrong in a simulation. */
const PROMISES: readonly ((simulation: Simulation) => string[])[] = [
  startsInTime,
  endedStayOver,
  oneSchedule,
  failedNeverStart,
  expiredStayOver,
  fencesGrow,
  lateEndsRefused,
  doneOnce,
  oneSuccess,
  oneAtATime,
  againIsHeeded,
  attemptsCounted,
  runsLimited,
  rateHeld,
  jobsEnded,
  revivedRan,
  callsAnswered,
  copiesGone,
  recordsGone,
  nothingListed,
];

/** Everything that is wrong. Each line begins with the name of the promise and a colon. */
export function check(simulation: Simulation): string[] {
  return [...simulation.history.faults, ...PROMISES.flatMap((promise) => promise(simulation))];
}
