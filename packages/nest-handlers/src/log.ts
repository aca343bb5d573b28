/**
 * Logging of a library: levels, lines, cluster names in them, and what they must not contain. Doesn't load Nest.
 * @module nest-handlers/log
 */
export { escaped, escapedLines } from './escaped.js';
export { resolveLog, type Log, type LogErrors, type LogLevelOrOff } from './log-levels.js';
export { LogLines } from './log-lines.js';
export { withoutSecrets } from './secrets.js';
