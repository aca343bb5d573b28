import type { Command } from 'nest-handlers/cli';

/** Commands by name. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  'dead topics': async () => (await import('./dead.js')).deadTopics,
  'dead list': async () => (await import('./dead.js')).deadList,
  'dead show': async () => (await import('./dead.js')).deadShow,
  'dead replay': async () => (await import('./dead-acts.js')).deadReplay,
  'dead discard': async () => (await import('./dead-acts.js')).deadDiscard,
};
