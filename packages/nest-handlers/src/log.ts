/**
 * The log of a library: its levels, its lines, and the names of clusters in them. It loads nothing of Nest.
 * @module nest-handlers/log
 */
export { escaped, escapedLines } from './escaped.js';
export { libraryLogger, resolveLogLevels, type LogLevelErrors, type LogLevelOrOff } from './log-levels.js';
export { LogLines } from './log-lines.js';
