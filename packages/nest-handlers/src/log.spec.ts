import { describe, expect, it } from '@jest/globals';
import type { LoggerService } from '@nestjs/common';
import { libraryLogger } from './log-levels.js';
import { escaped, escapedLines, LogLines } from './log.js';

const HOSTILE = 'no\x1b[2J\x9b\u202e\n[Nest] all is well';

function collecting() {
  const lines: unknown[][] = [];
  const note = (...told: unknown[]) => void lines.push(told);
  const logger: LoggerService = { log: note, error: note, warn: note, debug: note };
  return { lines, logger };
}

describe('a foreign string', () => {
  it('is one line without control characters', () => {
    expect(escaped(HOSTILE)).toBe('no\\u001b[2J\\u009b\\u202e\\u000a[Nest] all is well');
  });

  it('keeps its lines where they are wanted, and the meaning of JSON', () => {
    expect(escapedLines('a\x1b\nb')).toBe('a\\u001b\nb');
    const json = JSON.stringify({ text: HOSTILE }, undefined, 2);
    expect(JSON.parse(escapedLines(json))).toEqual({ text: HOSTILE });
    expect(escapedLines(json)).not.toContain('\u202e');
  });
});

describe('the log of a library', () => {
  it('shows a foreign error in one line, and no line of its stack as another entry', () => {
    const { lines, logger } = collecting();
    const log = new LogLines(libraryLogger(logger, 'eu'), { now: () => 0 });
    const stack = `Error: ${HOSTILE}\n    at there`;
    log.write('error', `a job failed: ${HOSTILE}`, stack);
    log.write('warn', 'a job failed', stack);
    const told = 'Error: no\\u001b[2J\\u009b\\u202e\n    [Nest] all is well\n    at there';
    expect(lines).toEqual([
      [`[eu] a job failed: ${escaped(HOSTILE)}`, told],
      [`[eu] a job failed\n    ${told}`],
    ]);
  });

  it('has the levels that the logger has', () => {
    const { logger } = collecting();
    expect(Object.keys(libraryLogger(logger, undefined)).toSorted()).toEqual([
      'debug',
      'error',
      'log',
      'warn',
    ]);
  });
});
