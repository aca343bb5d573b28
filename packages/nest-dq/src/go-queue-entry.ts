/**
 * For clusters shared with go-queue services.
 * @module nest-dq/go-queue
 */
export type { TubeWire } from './api/tube.js';
export type { GoQueueOptions } from './nest/options.js';
