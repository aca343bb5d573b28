/**
 * Command line programs for operators: commands with flags, help, JSON, tables and exit statuses. Doesn't load Nest.
 * @module nest-handlers/cli
 */
export * from './cli/arguments.js';
export * from './cli/command.js';
export * from './cli/config-file.js';
export * from './cli/confirm.js';
export * from './cli/nearest.js';
export * from './cli/output.js';
export * from './cli/program.js';
export * from './cli/range.js';
export * from './cli/text.js';
