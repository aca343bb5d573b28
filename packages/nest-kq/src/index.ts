export {
  KqModule,
  type KqExtras,
  type KqModuleAsyncOptions,
  type KqOptionsFactory,
} from './nest/kq-module.js';
export type { KqOptions } from './nest/options.js';
export type { KqLogLevel, KqLogLevels } from './nest/log-levels.js';
export type { BrokerOptions } from './nest/broker-options.js';
export type { DriverFactory, SaslOptions } from './driver/client-options.js';
export type { SaslToken } from './driver/sasl-token.js';
export { KqPusher, KqTransaction } from './pusher/pusher.js';
export type { PusherOptions } from './pusher/pusher-options.js';
export type { MessageToPlace, Partitioner } from './driver/partitioning.js';
export type { DelayedPush, LaterOptions, MessageOptions, Pushed, PushResult } from './api/message.js';
export { duration } from './api/checks.js';
export type { Duration, When } from 'nest-handlers/time';
export type { Compression } from './driver/driver.js';
export {
  TopicHandler,
  type DecoratedBatchHandler,
  type DecoratedHandler,
  type HandledValue,
} from './nest/topic-handler.js';
export type { BatchOptions, TopicHandlerOptions } from './nest/handler-options.js';
export type { DeadLetterChoice, FailureOptions, RetryOptions } from './failures/failure-options.js';
export type { ErrorChoice, ErrorClass } from './failures/error-choice.js';
export type { Order } from './consumer/lanes.js';
export { KqMessage } from './api/received.js';
export { CurrentMessage, MessageValue } from './nest/parameters.js';
export { Discard, Outcome, Retry } from './api/outcome.js';
export { DEAD_LETTER_HEADERS } from './failures/dead-letter.js';
export { defineTopic, type Topic, type TopicChoice, type TopicOptions, type ValueOf } from './api/topic.js';
export type { Format, ValueFormat } from './api/format.js';
export { isKqContext } from './nest/message-handlers.js';
export { InjectKq, getKqToken, type KqInjectable } from './nest/tokens.js';
export {
  KqEvents,
  type DeadMessage,
  type Death,
  type DeferredMessage,
  type FailedRun,
  type Handled,
  type HeldMessage,
  type KqEventMap,
  type KqEventName,
  type KqPartition,
  type KqUnavailable,
  type PushFailed,
  type Rebalanced,
  type SkippedMessages,
  type StalledPartition,
  type UnavailableChange,
} from './events/events.js';
export type {
  KqClusterView,
  KqGroupLoad,
  KqHooks,
  KqLoad,
  KqPartitionLoad,
  KqPushCall,
  KqRun,
  PushedTo,
} from './events/hooks.js';
export { OnKq } from './nest/on-kq.js';
export {
  KqGroups,
  type KqGroupTopic,
  type KqGroupView,
  type KqPartitionView,
  type KqPauseChoice,
  type KqSeekTarget,
} from './groups/kq-groups.js';
export {
  KqDeadLetters,
  type KqDeadLetter,
  type KqDiscardOptions,
  type KqDeadLetterFilter,
  type KqDeadLetterListOptions,
  type KqDeadLetterPage,
  type KqDeadLetterRef,
  type KqDeadLettersResult,
  type KqDeadLetterSummary,
  type KqReplayOptions,
} from './dead-letters/kq-dead-letters.js';
export { KqHealth, type KqGroupHealth, type KqHealthBounds, type KqHealthState } from './health/health.js';
export { KqError, type KqErrorCode, type KqErrorDetails } from './errors.js';
export type { PayloadIssue } from 'nest-handlers/schema';
