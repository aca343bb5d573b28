/**
 * Time: the clock of a library, durations and points in time as users write them, and a heap for scheduling. Doesn't load Nest.
 * @module nest-handlers/time
 */
export * from './time/clock.js';
export * from './time/duration.js';
export * from './time/heap.js';
export * from './time/instant.js';
