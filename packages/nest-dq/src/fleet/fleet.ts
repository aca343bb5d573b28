import type { Acts } from './acts.js';
import type { EventLog } from './event-log.js';
import type { History } from './history.js';
import type { Presence } from './presence.js';
import type { SeriesPlans } from './series-plans.js';
import type { SeriesRuns } from './series-runs.js';

/** Shared knowledge of the processes of one prefix. Nothing here decides about a job. */
export interface Fleet {
  readonly presence: Presence;
  readonly history: History;
  readonly acts: Acts;
  readonly eventLog: EventLog;
  readonly seriesRuns: SeriesRuns;
  readonly seriesPlans: SeriesPlans;
}
