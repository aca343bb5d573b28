/**
 * For operators and their tools: inspect, explain, control and repair a cluster, and handle dead letters.
 * @module nest-dq/operate
 */
export { DqInspector } from './operate/inspector.js';
export type { TubeLimitsView, TubeList, TubePause, TubeView } from './operate/tube-view.js';
export type { TubeLimits } from './api/limit-options.js';
export type {
  EdgedBuckets,
  EqualBuckets,
  JobFilter,
  JobPage,
  JobSummary,
  TimelineBucket,
  TimelineOptions,
  WaitingState,
} from './operate/waiting-view.js';
export type { JobEnd } from './api/job-end.js';
export type { ClusterEvent, DqClusterEventMap, DqClusterEventName } from './events/events.js';
export type { FinishedFilter, FinishedJob, FinishedPage } from './operate/finished-view.js';
export type { Forecast, ForecastBucket, ForecastSpread } from './operate/forecast.js';
export type { Capacity } from './operate/capacity.js';
export type {
  BackoffView,
  CopyView,
  DueIn,
  DueSince,
  ExplainedJob,
  Explanation,
  ExplanationCase,
  ExplanationDetails,
  ExplanationReason,
  RunningProcess,
  RunView,
  UsedLimit,
} from './operate/explanation.js';
export type { DeadGroup, DeadGroups, DeadGroupsFilter } from './operate/dead-view.js';
export type { CopyCounts, NodeView } from './operate/node-view.js';
export type { LedgerView, RedisView } from './ledger/ledger-view.js';
export type { LongRunView, ProcessTubeView, ProcessView } from './operate/processes.js';
export type { SeriesRunView, SeriesView } from './operate/series-view.js';
export type { SeriesOutcome } from './fleet/series-runs.js';
export type { HistoryBucket, HistoryRange } from './operate/history-view.js';
export type { ActPage, ActPageOptions, ActView } from './operate/act-view.js';

export { DqControl } from './operate/control.js';
export type { ActOptions } from './operate/act.js';
export type { ChangedLimits, LimitSettings } from './operate/tube-limits.js';
export type { PausedTube, ResumedTube } from './operate/tube-pauses.js';
export type { BulkLimit, BulkOptions, BulkProgress, MoveExample } from './operate/bulk.js';
export type { ActProgress } from './errors.js';
export type { NewTime, WaitingFilter } from './operate/waiting-filter.js';
export type { Spread } from './operate/spread.js';
export type { DeadLetterFilter } from './operate/letter-filter.js';
export type { RepairExample, RepairOptions } from './operate/repair.js';

export { DqDeadLetters } from './producer/dead-letters.js';
export type { DeadLetter, FailedAttempt } from './api/dead-letter.js';
export { EncodedPayload } from './api/payload-codec.js';
export type { DiscardResult, ReviveResult } from './api/job.js';

export type { BadSeal, ExpiredJob, LostJob, OperatorAct, ActTarget } from './events/events.js';
export type { LostJobsState, OtherLedgerState, RedisDownState, UnreadableState } from './health/health.js';
export type {
  DqClusterView,
  DqLoad,
  DqNodeLoad,
  DqRedisMemory,
  DqSeriesState,
  DqTubeCounts,
  ScheduledTo,
} from './events/hooks.js';
