/**
 * Events, for those who listen, and hooks. It loads nothing of Nest.
 * @module nest-handlers/events
 */
export { EventHub, type EventHubOptions } from './event-hub.js';
export { checkHooks, type WrongValue } from './hooks.js';
