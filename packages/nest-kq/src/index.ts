export { defineTopic, type Topic, type TopicOptions, type ValueOf } from './api/topic.js';
export type { Format } from './api/format.js';
export { KqError, KQ_ERROR_CODES, type KqErrorCode, type KqErrorDetails } from './errors.js';
export type { PayloadIssue } from 'nest-handlers/schema';
