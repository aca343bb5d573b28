import { describe, expect, it } from '@jest/globals';
import { linesOf } from 'nest-handlers/cli';
import type { Explanation } from '../operate/explanation.js';
import { showExplanation } from './explain.js';

const NOW = Date.UTC(2026, 10, 28, 18);
const AWAY = {
  because: 'ledger-away',
  details: { error: 'Redis is not connected: no connection yet' },
  why: 'The ledger does not respond, so no job runs: Redis is not connected: no connection yet.',
  id: '01A',
  tube: 'mail',
  copies: [],
} as const satisfies Explanation;
const RETRYING = {
  because: 'retrying',
  details: { dueAt: new Date(NOW + 60_000), dueIn: 60_000, attempt: 2 },
  why: 'Waiting for a retry.',
  id: '01A',
  tube: 'mail',
  state: 'retrying',
  attempt: 2,
  copies: [],
} as const satisfies Explanation;
const FINISHED = {
  id: '01A',
  tube: 'mail',
  endedAt: new Date(NOW),
  took: 5,
  process: 'web-1:42',
  attempt: 2,
};
const failed = (attempt: number, message = 'no answer') => ({
  attempt,
  startedAt: new Date(NOW - 244_000),
  took: 90_500,
  process: 'web-1:42',
  error: { name: 'TypeError', message },
});
const page = { width: 80, paint: (_: unknown, text: string) => text };

describe('while Redis is away', () => {
  it('has one reason, and says why there are no copies', () => {
    const lines = linesOf(showExplanation(AWAY, NOW, ['Redis unusable: no answer in 1 s → start it']));
    expect(lines[0]).toMatch(/^Redis unusable: no answer in 1 s → start it/);
    expect(lines.join('\n')).not.toContain('no connection yet');
    expect(lines.at(-1)).toBe(
      "due time and copies can't be looked up without Redis, unless you pass the job's reference",
    );
  });

  it('shows the copies of a reference', () => {
    const copies = [{ node: '10.0.0.1:11300', index: 0, state: 'delayed', readyIn: 61_000 }] as const;
    const lines = linesOf(
      showExplanation({ ...AWAY, copies, dueAt: new Date(NOW) }, NOW, ['Redis unusable: no answer']),
    );
    expect(lines.at(-1)).toMatch(/^primary +10\.0\.0\.1:11300 +delayed +1m 1s$/);
    expect(lines).toContain('due   2026-11-28T18:00:00Z (now)');
  });
});

it('the progress of a running job, and of one that is done, is a fact', () => {
  const progress = { fraction: 0.4, note: 'page 12 of 30', at: new Date(NOW - 1_500) };
  const running = { ...RETRYING, because: 'running', details: { attempt: 2 }, state: 'running' } as const;
  const factIn = (found: Explanation) =>
    linesOf(showExplanation(found, NOW)).find((line) => line.startsWith('progress'));
  expect(factIn({ ...running, progress })).toMatch(/^progress +40 % page 12 of 30 \(1s ago\)$/);
  expect(factIn(running)).toBeUndefined();
  const finished = { ...FINISHED, progress: { fraction: 1, at: new Date(NOW) } };
  expect(factIn({ ...running, state: 'done', finished })).toMatch(/^progress +100 %$/);
});

describe('the attempts', () => {
  it('have whole errors and times at 80 columns', () => {
    const message = "Cannot read properties of undefined (reading 'tea') while it was poured";
    const found = { ...RETRYING, failedAttempts: [failed(1), failed(2, message)] };
    const lines = linesOf(showExplanation(found, NOW), page);
    expect(lines.slice(lines.findIndex((line) => line.startsWith('FAILED')))).toEqual([
      'FAILED  STARTED                           TOOK    PROCESS   ERROR',
      '     1  2026-11-28T17:55:56Z (4m 4s ago)  1m 30s  web-1:42  TypeError: no answer',
      '     2  2026-11-28T17:55:56Z (4m 4s ago)  1m 30s  web-1:42',
      "    TypeError: Cannot read properties of undefined (reading 'tea') while it was",
      '    poured',
    ]);
  });

  it('that reported nothing are named', () => {
    expect(linesOf(showExplanation({ ...RETRYING, failedAttempts: [failed(2)] }, NOW))).toContain(
      'attempt 1 reported nothing: the lease expired, because the process ended or was cut off',
    );
    expect(linesOf(showExplanation(RETRYING, NOW)).at(-1)).toBe(
      'attempts 1, 2 reported nothing: the lease expired, because the process ended or was cut off, or errors are not kept (`keepErrors`)',
    );
    expect(
      linesOf(showExplanation({ ...RETRYING, failedAttempts: [failed(1), failed(2)] }, NOW)).join('\n'),
    ).not.toContain('reported nothing');
  });
});
