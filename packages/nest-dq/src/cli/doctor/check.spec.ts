import { expect, it } from '@jest/globals';
import { linesOf } from 'nest-handlers/cli';
import { ok, showChecks, warning } from './check.js';

it('a long subject has a line of its own, and indents no other', () => {
  const name = `backfill.${'customer.'.repeat(6)}nightly`;
  const checks = [
    ok('redis', 'maxmemory-policy is noeviction, and its append-only file works'),
    warning(
      name,
      'about 6,615 jobs, none due, but no consumer',
      'start a process with a handler for this tube',
    ),
  ];
  const shown = linesOf((width) => showChecks(checks, width), { width: 80, paint: (_, text) => text });
  expect(shown).toEqual([
    'ok       redis  maxmemory-policy is noeviction, and its append-only file works',
    `warning  ${name}`,
    '                about 6,615 jobs, none due, but no consumer',
    '                → start a process with a handler for this tube',
    '',
    '2 checks: 1 with a warning, 1 ok',
  ]);
});
