export { KqError, KQ_ERROR_CODES, type KqErrorCode, type KqErrorDetails } from './errors.js';
