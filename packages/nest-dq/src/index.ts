/**
 * The API for daily use, in the order in which an application meets it. `nest-dq/operate` has the inspector, the controls and
 * dead letters.
 * @module nest-dq
 */
export {
  DqModule,
  type DqExtras,
  type DqModuleAsyncOptions,
  type DqOptionsFactory,
} from './nest/dq-module.js';
export type { DqAdvancedOptions, DqOptions, RedisClient } from './nest/options.js';
export type { TlsOptions } from './nest/tls-option.js';
export type { FetchedSealKeys, SealOptions } from './nest/seal-option.js';
export type { DqLogLevel, DqLogLevels } from './nest/log-levels.js';

export { defineTube, type AsJson, type PayloadOf, type Tube } from './api/tube.js';
export type { PayloadCodec } from './api/payload-codec.js';
export { DqProducer } from './producer/producer.js';
export { TubeProducer } from './producer/tube-producer.js';
export type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobRef,
  JobRefText,
  JobView,
  NewJob,
  OnDuplicate,
  PacedOptions,
  PatienceOptions,
  Priority,
  RescheduleResult,
  RevokeOptions,
  RevokeResult,
  TubeJobRef,
} from './api/job.js';
export type { Backoff, BackoffPlan } from './time/backoff.js';
export { duration } from './time/duration.js';
export type { Duration, When } from 'nest-handlers/time';

export { DelayedHandler, type DecoratedHandler } from './nest/delayed-handler.js';
export { CurrentJob, DelayedPayload } from './nest/parameters.js';
export { DelayedJob } from './api/job.js';
export { Again, Discard, Outcome, Retry } from './api/outcome.js';
export type {
  BatchHandlerMethod,
  BatchHandlerOptions,
  HandlerMethod,
  HandlerOptions,
  KeepDoneOptions,
  LimitOptions,
  RetentionOptions,
} from './api/job.js';
export { Recurring, type RecurringOptions } from './nest/recurring.js';
export type { RecurrenceCalendar, RecurrencePlan } from './recurring/occurrences.js';
export {
  DqSeries,
  type SeriesListOptions,
  type SeriesPage,
  type SeriesUpsert,
  type SkippedOccurrence,
} from './operate/dq-series.js';
export type { SeriesPlan } from './recurring/series-plan.js';
export type { PlannedSeries } from './operate/series-view.js';
export { DqConsumer, type Consumption } from './consumer/consumer.js';
export { isDqContext } from './nest/job-handlers.js';
export { InjectDq, getDqToken, type DqInjectable } from './nest/tokens.js';

export { DqError, type DqErrorCode } from './errors.js';
export { DqEvents, type DqEventMap, type DqEventName } from './events/events.js';
export { OnDq } from './nest/on-dq.js';
export { DqHealth, type DqHealthState } from './health/health.js';
export type { DqHooks } from './events/hooks.js';
