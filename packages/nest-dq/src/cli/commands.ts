import type { Command } from './command.js';

/** Each command by its name. A command is loaded when it is called, so that none waits for the parts of another. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  doctor: async () => (await import('./doctor/doctor.js')).doctor,
  top: async () => (await import('./top.js')).top,
  stats: async () => (await import('./stats.js')).stats,
  nodes: async () => (await import('./nodes.js')).nodes,
  'node drain': async () => (await import('./drain.js')).nodeDrain,
  'node undrain': async () => (await import('./drain.js')).nodeUndrain,
  due: async () => (await import('./due.js')).due,
  jobs: async () => (await import('./waiting.js')).jobs,
  pause: async () => (await import('./pauses.js')).pause,
  resume: async () => (await import('./pauses.js')).resume,
  repair: async () => (await import('./repair.js')).repair,
  processes: async () => (await import('./processes.js')).processes,
  explain: async () => (await import('./explain.js')).explain,
  'dead list': async () => (await import('./dead.js')).deadList,
  'dead show': async () => (await import('./dead.js')).deadShow,
  'dead revive': async () => (await import('./dead.js')).deadRevive,
  'dead discard': async () => (await import('./dead.js')).deadDiscard,
  'dead revive-many': async () => (await import('./dead-many.js')).deadReviveMany,
  'dead discard-many': async () => (await import('./dead-many.js')).deadDiscardMany,
  find: async () => (await import('./jobs.js')).find,
  revoke: async () => (await import('./jobs.js')).revoke,
  move: async () => (await import('./jobs.js')).move,
  run: async () => (await import('./jobs.js')).run,
  serve: async () => (await import('./serve.js')).serve,
};
