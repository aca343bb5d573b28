/**
 * The log of a library: its levels, its lines, the names of clusters in them, and what must not stand in it. It loads nothing of Nest.
 * @module nest-handlers/log
 */
export { escaped, escapedLines } from './escaped.js';
export { resolveLog, type Log, type LogErrors, type LogLevelOrOff } from './log-levels.js';
export { LogLines } from './log-lines.js';
export { withoutSecrets } from './secrets.js';
