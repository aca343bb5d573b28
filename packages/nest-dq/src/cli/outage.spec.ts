import { expect, it } from '@jest/globals';
import { announcementsOf } from '../cluster/admission.js';
import { ledgerDownLine } from './ledger-down.js';
import { outageIn } from './outage.js';

const NOW = Date.UTC(2026, 10, 29, 0, 16);
const running = `${announcementsOf('')}${'a'.repeat(16)}`;
const away = (at: number) => `${announcementsOf('').replace('dq-ledger', 'dq-away')}${at / 1_000}`;

it('an outage that processes show has its beginning', () => {
  const outage = outageIn([running, away(NOW - 90_000), away(NOW - 120_000), 'order.cancel'], '');
  expect(outage).toEqual({ since: new Date(NOW - 120_000), isWellThere: false });
  expect(ledgerDownLine('connect ECONNREFUSED r:6379', outage, NOW)).toBe(
    'Redis unusable since 2026-11-29T00:14:00Z (2m ago): connect ECONNREFUSED r:6379 → start it, or check its address, ' +
      'password and permissions; no job runs without it',
  );
});

it('an outage that no process has is one of this command, unless they may not have noticed it yet', () => {
  const outage = outageIn([running], '');
  expect(outage).toEqual({ isWellThere: true });
  expect(ledgerDownLine('WRONGPASS invalid username-password pair', outage, NOW)).toBe(
    'Redis unusable from here: WRONGPASS invalid username-password pair → check the address, password and permissions that ' +
      'this command was given: the application reports no outage',
  );
  for (const cause of ['no answer within 2000 ms', 'no connection yet', 'connect ETIMEDOUT'])
    expect(ledgerDownLine(cause, outage, NOW)).toMatch(/^Redis unusable: .*; no job runs without it$/);
});

it('a Redis that accepts connections and says nothing is not to be started', () => {
  expect(ledgerDownLine('no answer within 2000 ms', undefined, NOW)).toMatch(/ → restart it if it hangs /);
});

it('processes with another prefix say nothing about this one', () => {
  expect(outageIn([running, away(NOW)], 'shop.')).toEqual({ isWellThere: false });
});
