/**
 * For test kits: a clock moved by tests, and journeys through its time. Doesn't load Nest.
 * @module nest-handlers/testing
 */
export { KitTime, type Traveller } from './testing/kit-time.js';
export { present, within } from './testing/real-time.js';
export type { Work } from './testing/time-travel.js';
export { VirtualClock } from './testing/virtual-clock.js';
