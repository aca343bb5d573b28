import { expect, it } from '@jest/globals';
import { linesOf } from 'nest-handlers/cli';
import { failure, ok, showChecks, warning, worstFirst } from './check.js';

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

it('a long subject does not widen the lines of a pipe', () => {
  const checks = [ok('redis', 'is a master'), warning('x'.repeat(180), 'about 1 job', 'start a process')];
  expect(linesOf((width) => showChecks(checks, width)).slice(0, 4)).toEqual([
    'ok       redis  is a master',
    `warning  ${'x'.repeat(180)}`,
    '                about 1 job',
    '                → start a process',
  ]);
});

it('the worst come first, and otherwise keep their order', () => {
  const checks = [ok('a', ''), warning('b', '', ''), failure('c', '', ''), ok('d', ''), warning('e', '', '')];
  expect(worstFirst(checks).map(({ about }) => about)).toEqual(['c', 'b', 'e', 'a', 'd']);
});
