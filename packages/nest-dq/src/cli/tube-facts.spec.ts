import { expect, it } from '@jest/globals';
import type { DeadLetter } from '../api/dead-letter.js';
import { tubeFacts } from './tube-facts.js';

const NOW = Date.parse('2027-01-01T12:00:00Z');
const ago = (ms: number) => new Date(NOW - ms);

it('prints all that is known of a tube', () => {
  const letter = {
    id: 'a',
    key: 'order-13',
    diedAt: ago(90_000),
    why: 'attempts',
    error: { name: 'Error', message: 'connect ETIMEDOUT\nmore' },
  } as DeadLetter;
  const lines = tubeFacts(
    {
      tube: 'order.cancel',
      nodes: 3,
      waiting: 12_000,
      due: 1,
      running: 2,
      dead: 3,
      paused: { since: ago(60_000) },
      limits: { rate: 1_000, per: 60_000, concurrency: 5, running: 3, unequal: true },
      listed: 11_000,
      overdue: 4,
      retrying: 1_200,
      oldestDue: ago(120_000),
      overdueFor: 120_000,
      watching: 6,
      consumers: 1,
      copies: { ready: 3, delayed: 36_000, reserved: 2, buried: 9 },
    },
    letter,
    NOW,
  );
  expect(lines).toEqual([
    'tube        order.cancel',
    'waiting     12,000',
    'due         1',
    'running     2',
    'dead        3',
    'last death  1m 30s ago, order-13: attempts: connect ETIMEDOUT',
    'paused      since 2027-01-01T11:59:00Z (1m ago) until it is resumed',
    'limits      1,000 in 1m, 3 of 5 running, UNEQUAL',
    'listed      11,000',
    'overdue     4, the oldest by 2m, due 2027-01-01T11:58:00Z (2m ago)',
    'retrying    1,200',
    'consumers   1 process, 6 connections taking jobs',
    'copies      3 ready, 36,000 delayed, 2 reserved, 9 buried, on 3 nodes',
  ]);
});

it('prints unknown facts as unknown', () => {
  expect(tubeFacts({ tube: 't', nodes: 0 }, undefined, NOW)).toEqual([
    'tube       t',
    'waiting    unknown',
    'due        unknown',
    'running    unknown',
    'dead       unknown',
    'listed     unknown',
    'overdue    unknown',
    'retrying   unknown',
    'consumers  unknown',
  ]);
});
