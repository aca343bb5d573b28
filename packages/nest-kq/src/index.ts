export { defineTopic, type Topic, type TopicOptions, type ValueOf } from './api/topic.js';
export type { Format } from './api/format.js';
export { KqPusher, KqTransaction } from './pusher/pusher.js';
export type { PusherOptions } from './pusher/pusher-options.js';
export type { MessageOptions, Pushed, PushResult } from './api/message.js';
export type { Compression } from './driver/driver.js';
export { KqError, KQ_ERROR_CODES, type KqErrorCode, type KqErrorDetails } from './errors.js';
export type { PayloadIssue } from 'nest-handlers/schema';
