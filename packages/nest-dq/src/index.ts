export { DqModule, type DqExtras } from './nest/dq-module.js';
export type { DqOptions, RedisClient } from './nest/options.js';
export { defineTube, type AsJson, type PayloadOf, type Tube } from './tube.js';
export { DqProducer } from './producer/producer.js';
export type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobRef,
  JobView,
  OnDuplicate,
  Priority,
  RescheduleResult,
  RevokeResult,
} from './job.js';
export type { Backoff, BackoffPlan, Duration, When } from './time.js';
export { DelayedHandler } from './nest/delayed-handler.js';
export {
  Again,
  DelayedJob,
  Discard,
  Outcome,
  Retry,
  type HandlerMethod,
  type HandlerOptions,
  type HandlerResult,
} from './job.js';
export { DqConsumer, type Consumption } from './consumer/consumer.js';
export { DqDeadLetters, type DeadLetter } from './producer/dead-letters.js';
export { DqError, type DqErrorCode } from './errors.js';
