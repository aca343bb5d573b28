import { BATCHES } from './batches.js';
import { CONSUMING } from './consuming.js';
import { COPIES } from './copies.js';
import { EXPIRING } from './expiring.js';
import { FINISHED } from './finished.js';
import { LETTERS } from './letters.js';
import { LIMITS } from './limits.js';
import { LISTING } from './listing.js';
import { PAUSES } from './pauses.js';
import { PROCESSES } from './processes.js';
import { REMEMBERING } from './remembering.js';
import type { Rule } from './rule.js';
import { RUNS } from './runs.js';
import { SEALING } from './sealing.js';
import { SERIES } from './series.js';
import { SCHEDULES } from './schedules.js';

/** All rules that the promises need. */
export const RULES: readonly Rule[] = [
  ...COPIES,
  ...CONSUMING,
  ...BATCHES,
  ...RUNS,
  ...PAUSES,
  ...EXPIRING,
  ...LIMITS,
  ...SCHEDULES,
  ...SERIES,
  ...REMEMBERING,
  ...PROCESSES,
  ...LISTING,
  ...LETTERS,
  ...FINISHED,
  ...SEALING,
];
