/**
 * Time: the clock that a library gets it from, durations and instants as users write them, and a heap for what is to happen
 * first. It loads nothing of Nest.
 * @module nest-handlers/time
 */
export * from './time/clock.js';
export * from './time/duration.js';
export * from './time/heap.js';
export * from './time/instant.js';
