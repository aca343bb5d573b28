/**
 * Events and hooks. Doesn't load Nest.
 * @module nest-handlers/events
 */
export { EventHub, type EventHubOptions } from './event-hub.js';
export { checkHooks, type WrongValue } from './hooks.js';
