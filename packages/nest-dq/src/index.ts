/**
 * The public API of nest-dq.
 * @module nest-dq
 */
export {
  DqModule,
  type DqExtras,
  type DqModuleAsyncOptions,
  type DqOptionsFactory,
} from './nest/dq-module.js';
export type { DqLogLevel, DqLogLevels } from './nest/log-levels.js';
export type { DqOptions, RedisClient } from './nest/options.js';
export type { FetchedSealKeys, SealKeyTexts, SealOptions } from './nest/seal-option.js';
export type { TlsOptions } from './nest/tls-option.js';
export { defineTube, type AsJson, type PayloadOf, type Tube, type TubeWire } from './api/tube.js';
export { DqProducer } from './producer/producer.js';
export { TubeProducer } from './producer/tube-producer.js';
export type {
  AddResult,
  JobOptions,
  PatienceOptions,
  JobReceipt,
  JobRef,
  JobRefText,
  JobView,
  OnDuplicate,
  Priority,
  RescheduleResult,
  RevokeOptions,
  RevokeResult,
  TubeJobRef,
} from './api/job.js';
export type { Backoff, BackoffPlan } from './time/backoff.js';
export { duration } from './time/duration.js';
export { type Duration } from 'nest-handlers/time';
export { type When } from 'nest-handlers/time';
export { DelayedHandler, type DecoratedHandler } from './nest/delayed-handler.js';
export { Recurring, type RecurringOptions } from './nest/recurring.js';
export type { RecurrenceCalendar, RecurrencePlan } from './recurring/occurrences.js';
export { CurrentJob, DelayedPayload } from './nest/parameters.js';
export { isDqContext } from './nest/job-handlers.js';
export { InjectDq, getDqToken, type DqInjectable } from './nest/tokens.js';
export {
  DelayedJob,
  type HandlerMethod,
  type HandlerOptions,
  type LimitOptions,
  type HandlerResult,
  type RetentionOptions,
} from './api/job.js';
export { Again, Discard, Outcome, Retry } from './api/outcome.js';
export { DqConsumer, type Consumption } from './consumer/consumer.js';
export { DqDeadLetters } from './producer/dead-letters.js';
export { DqInspector } from './operate/inspector.js';
export type { CopyCounts, NodeView } from './operate/node-view.js';
export type { LedgerView, RedisView } from './ledger/ledger-view.js';
export type { ActPage, ActPageOptions, ActView } from './operate/act-view.js';
export type { HistoryBucket, HistoryRange } from './operate/history-view.js';
export type { TubeLimits } from './ledger/limits.js';
export type { ProcessTubeView, ProcessView } from './operate/processes.js';
export type { SeriesView } from './operate/series-view.js';
export type { TubeList, TubeView } from './operate/tube-view.js';
export type {
  Explanation,
  ExplainedJob,
  ExplanationReason,
  ExplanationCase,
  ExplanationDetails,
  UsedLimit,
  DueIn,
  DueSince,
  CopyView,
  RunningProcess,
  RunView,
} from './operate/explanation.js';
export type {
  JobFilter,
  JobPage,
  JobSummary,
  TimelineBucket,
  TimelineOptions,
  EqualBuckets,
  EdgedBuckets,
  WaitingState,
} from './operate/waiting-view.js';
export { DqControl } from './operate/control.js';
export type { TubeLimitsView, TubePause } from './operate/tube-view.js';
export type { PausedTube, ResumedTube } from './operate/tube-pauses.js';
export type { RepairExample, RepairOptions } from './operate/repair.js';
export type { ActOptions } from './operate/act.js';
export type { BulkLimit, BulkOptions, BulkProgress } from './operate/bulk.js';
export type { LetterFilter } from './operate/letter-filter.js';
export type { NewTime, WaitingFilter } from './operate/waiting-filter.js';
export type { DeadLetter } from './api/dead-letter.js';
export type { DiscardResult, ReviveResult } from './api/job.js';
export {
  DqEvents,
  type DqEventMap,
  type DqEventName,
  type BadSeal,
  type LostJob,
  type Operated,
  type OperatedOn,
} from './events/events.js';
export { OnDq } from './nest/on-dq.js';
export {
  DqHealth,
  type DqHealthState,
  type LostJobsState,
  type OtherLedgerState,
  type UnreadableState,
  type RedisDownState,
} from './health/health.js';
export type {
  DqClusterView,
  DqHooks,
  DqLoad,
  DqNodeLoad,
  DqTubeCounts,
  ScheduledTo,
} from './events/hooks.js';
export { DqError, type ActProgress, type DqErrorCode, type DqErrorDetails } from './errors.js';
export type { PayloadIssue } from 'nest-handlers/schema';
