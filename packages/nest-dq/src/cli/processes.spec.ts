import { expect, it } from '@jest/globals';
import { linesOf } from 'nest-handlers/cli';
import type { ProcessView } from '../operate/processes.js';
import { showProcesses, showSilent } from './processes.js';

const NOW = Date.UTC(2026, 10, 28, 18);
const names = Array.from({ length: 9 }, (_, i) => `order.cancel.${i}`);
const view = {
  host: 'vm',
  pid: 17,
  version: '0.1.0',
  since: new Date(NOW - 90_000),
  elected: true,
  consumes: true,
  tubes: names.map((tube) => ({ tube, running: 1, longRuns: [] })),
} as unknown as ProcessView;

it('a process has all of its tubes: in its row in a pipe, and below it on a terminal', () => {
  expect(linesOf(showProcesses([view], NOW))[1]).toBe(
    `vm:17 *  0.1.0    1m 30s        9        0  ${names.join(', ')}`,
  );
  const [, row, ...below] = linesOf(showProcesses([view], NOW), { width: 80, paint: (_, text) => text });
  expect(row).toBe('vm:17 *  0.1.0    1m 30s        9        0');
  const listed = below.filter((line) => line.startsWith('    ')).map((line) => line.trim());
  expect(listed.join(' ')).toBe(names.join(', '));
});

it('processes that fell silent within the last hour are named, with when they were last heard of', () => {
  const heard = (pid: number, ago: number) => ({ ...view, pid, toldAt: new Date(NOW - ago) });
  const known = [heard(17, 4_000), heard(18, 12_000), heard(19, 120_000), heard(20, 2 * 3_600_000)];
  expect(linesOf(showSilent(known, NOW))).toEqual([
    'vm:18 fell silent without a goodbye, last heard of 12s ago',
    'vm:19 fell silent without a goodbye, last heard of 2m ago',
  ]);
});
