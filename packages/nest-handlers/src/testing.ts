/**
 * For test kits: a clock that tests move, and journeys through its time. It loads nothing of Nest.
 * @module nest-handlers/testing
 */
export { KitTime, type Traveller } from './testing/kit-time.js';
export { present, within } from './testing/real-time.js';
export type { Work } from './testing/time-travel.js';
export { VirtualClock } from './testing/virtual-clock.js';
