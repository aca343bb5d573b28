import { expect, it } from '@jest/globals';
import { linesOf } from 'nest-handlers/cli';
import type { ActView } from '../operate/act-view.js';
import { showActs } from './acts.js';

const NOW = Date.UTC(2026, 10, 28, 18);
const act = (name: string, on: ActView['on'], more: Partial<ActView> = {}): ActView => ({
  id: name,
  at: new Date(NOW - 2_000),
  by: 'ann',
  act: name,
  on,
  count: 1,
  ...more,
});
const page = (width: number) => ({ width, paint: (_: unknown, text: string) => text });

it('acts name what they changed in words, not in JSON', () => {
  const acts = [
    act('revokeMany', { tube: 'mail', filter: {} }),
    act('revokeMany', { tube: 'mail', filter: { state: 'retrying', limit: 3_000 } }),
    act('rescheduleMany', {
      tube: 'mail',
      filter: { dueTo: '2026-12-24T18:00:00.000Z' },
      change: { later: 3_600_000 },
    }),
    act('rescheduleMany', { tube: 'mail', filter: {}, change: '2026-12-24T18:00:00.000Z' }),
    act('discardMany', { tube: 'mail', filter: { why: 'attempts', error: 'ETIMEDOUT' } }),
    act('revoke', { tube: 'mail', id: '01A', key: 'order-1' }),
    act('drainNode', { node: '10.0.0.1:11300' }),
  ];
  const lines = linesOf(showActs({ acts }, NOW)).slice(1);
  expect(lines.map((line) => /ann {2}\S+ +(.*\S) +1$/.exec(line)?.[1])).toEqual([
    'mail: all',
    'mail: retrying, at most 3,000',
    'mail: due before 2026-12-24T18:00:00Z, to later 1h',
    'mail: all, to 2026-12-24T18:00:00Z',
    'mail: dead by attempts, error contains "ETIMEDOUT"',
    'mail order-1',
    '10.0.0.1:11300',
  ]);
});

it('acts have whole errors and times at 80 columns', () => {
  const message = 'no reachable copy of job 01M833HM1PREDVC0BTGCQG0EAR: expected one at 10.0.0.1:11300';
  const failed = act(
    'revive',
    { tube: 'order.cancel', id: '01M833HM1PREDVC0BTGCQG0EAR' },
    { error: { code: 'DQ_NO_COPY', message } },
  );
  expect(linesOf(showActs({ acts: [failed] }, NOW), page(80))).toEqual([
    'WHEN    WHO  ACT     ON                                       CHANGED  ERROR',
    '2s ago  ann  revive  order.cancel 01M833HM1PREDVC0BTGCQG0EAR        1',
    '    no reachable copy of job 01M833HM1PREDVC0BTGCQG0EAR: expected one at',
    '    10.0.0.1:11300',
  ]);
});
