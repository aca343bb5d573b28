import { describe, expect, it } from '@jest/globals';
import type { DeadLetter } from '../api/dead-letter.js';
import type { Usage } from '../ledger/limits/limits.js';
import type { TubeLimits } from '../api/limit-options.js';
import type { Trace } from '../ledger/requests.js';
import type { CopyView, ExplanationDetails } from './explanation.js';
import { sentenceOf } from './sentences.js';
import { reasonOf, type Facts } from './why.js';

const NOW = Date.parse('2027-01-01T12:00:00Z');
const MINUTE = 60_000;

const copy = (state: CopyView['state'], over: Partial<CopyView> = {}): CopyView => ({
  node: 'n0:11300',
  index: 0,
  state,
  ...over,
});
const trace = (over: Partial<Trace> = {}): Trace => ({
  state: 'waiting',
  born: 0,
  generation: 0,
  due: NOW - MINUTE,
  attempt: 0,
  places: [],
  fence: 0,
  leaseEnd: 0,
  left: false,
  holdEnd: 0,
  ...over,
});
const letter = (over: Partial<DeadLetter> = {}) =>
  ({ diedAt: new Date(NOW - MINUTE), attempt: 10, why: 'attempts', ...over }) as DeadLetter;

const fence = (NOW - 3 * MINUTE) * 1_000;
const WAITS = { due: NOW + 14 * MINUTE, copies: [copy('delayed', { readyIn: 14 * MINUTE })] };
const DUE = { due: NOW - 3 * MINUTE };
const SINCE = 'Overdue since 2027-01-01T11:57:00.000Z (3m)';

const PAUSED = { tube: 't', watching: 0, paused: { since: new Date(NOW - MINUTE) } };

const limits = (limited: TubeLimits, usage: Partial<Usage> = {}, group?: string) => ({
  ...DUE,
  copies: [copy('ready')],
  limits: { limits: limited, group, usage: { running: 0, inGroup: 0, turn: 0, ...usage } },
});
const RATE = { rate: 100, per: 60_000, burst: 3 };

const CASES: [string, Partial<Facts>, string][] = [
  ['ledger-away', { ledgerAway: 'no answer' }, 'The ledger does not respond, so no job runs: no answer.'],
  [
    'dead',
    { letter: letter({ error: { name: 'TypeError', message: 'boom' } }), trace: trace({ state: 'dead' }) },
    'Dead since 2027-01-01T11:59:00.000Z: attempts exhausted (10): TypeError: boom.',
  ],
  [
    'dead',
    { letter: letter({ why: 'discarded' }), replaced: true },
    'Dead since 2027-01-01T11:59:00.000Z: discarded by its handler.',
  ],
  [
    'dead',
    { letter: letter({ why: 'invalid' }) },
    'Dead since 2027-01-01T11:59:00.000Z: unreadable payload.',
  ],
  [
    'dead',
    { letter: letter({ why: 'stale' }) },
    'Dead since 2027-01-01T11:59:00.000Z: a copy came back too late to tell whether it ran.',
  ],
  ['dead', { trace: trace({ state: 'dead' }) }, 'Dead; its dead letter is gone.'],
  ['replaced', { replaced: true, ...WAITS }, 'Replaced by a newer job with the same key.'],
  [
    'done',
    { trace: trace({ state: 'done', fence }) },
    'Done; its last run started at 2027-01-01T11:57:00.000Z.',
  ],
  ['done', { trace: trace({ state: 'done' }) }, 'The job is done.'],
  ['revoked', { trace: trace({ state: 'revoked' }) }, 'Revoked, so it no longer starts.'],
  [
    'running',
    { trace: trace({ state: 'running', fence, attempt: 2 }) },
    'Running since 2027-01-01T11:57:00.000Z (3m): attempt 2.',
  ],
  [
    'running',
    {
      trace: trace({ state: 'running', fence, attempt: 2 }),
      process: { id: 'p', host: 'shop-1', pid: 4711 },
      tube: PAUSED,
    },
    'Running since 2027-01-01T11:57:00.000Z (3m): attempt 2, in process 4711 on shop-1.',
  ],
  ['unknown', { copies: [] }, 'Unknown: there is no such job, or it ended long ago.'],
  [
    'nodes-away',
    { ...WAITS, copies: [copy('away'), copy('unknown', { node: 'n1:11300' }), copy('missing')] },
    'Cannot run until a node that may have a copy is back: n0:11300, n1:11300.',
  ],
  [
    'no-copy',
    { ...DUE, copies: [copy('missing')] },
    'No node has a copy any more, and the ledger has no record of it: it ended long ago, or is lost.',
  ],
  [
    'no-copy',
    { ...DUE, trace: trace(), copies: [copy('missing')] },
    'Lost: no node has a copy any more, but the ledger still expects it to run.',
  ],
  ['not-due', WAITS, 'Not due until 2027-01-01T12:14:00.000Z (in 14m).'],
  ['not-due', { ...WAITS, trace: trace() }, 'Not due until 2027-01-01T12:14:00.000Z (in 14m).'],
  [
    'retrying',
    { ...WAITS, trace: trace({ attempt: 2 }) },
    'Waiting for a retry after attempt 2, due at 2027-01-01T12:14:00.000Z (in 14m).',
  ],
  ['not-due', { ...WAITS, tube: PAUSED }, 'Not due until 2027-01-01T12:14:00.000Z (in 14m).'],
  [
    'paused',
    { ...DUE, copies: [copy('delayed')], trace: trace({ left: true, attempt: 1 }), tube: PAUSED },
    `${SINCE}, but tube t is paused (since 2027-01-01T11:59:00.000Z, until it is resumed).`,
  ],
  [
    'paused',
    {
      ...DUE,
      copies: [copy('ready')],
      tube: { ...PAUSED, paused: { ...PAUSED.paused, until: new Date(NOW + MINUTE) } },
    },
    `${SINCE}, but tube t is paused (since 2027-01-01T11:59:00.000Z, until 2027-01-01T12:01:00.000Z).`,
  ],
  [
    'nodes-away',
    { ...DUE, copies: [copy('away')], tube: PAUSED },
    'Cannot run until a node that may have a copy is back: n0:11300.',
  ],
  [
    'left',
    { ...DUE, trace: trace({ attempt: 1, left: true, leaseEnd: NOW - 1_000 }), copies: [copy('delayed')] },
    'The process that ran it has not been heard from since its lease expired at 2027-01-01T11:59:59.000Z; it runs again when a copy comes back.',
  ],
  [
    'slots-full',
    {
      ...DUE,
      trace: trace({ attempt: 1, left: true }),
      copies: [copy('ready')],
      slots: { slots: 4, running: 4 },
    },
    `${SINCE}, but all 4 slots of tube t are busy.`,
  ],
  [
    'held',
    { ...DUE, trace: trace({ holdEnd: NOW + 1 }), copies: [copy('ready')] },
    'Waiting for a run of the job it replaced to end.',
  ],
  [
    'limited',
    limits({ concurrency: 5, perGroup: 1 }, { running: 5, inGroup: 1 }, 'user-17'),
    `${SINCE}, but tube t is limited to 5 runs at a time (running: 5).`,
  ],
  [
    'limited',
    limits({ ...RATE, concurrency: 5, perGroup: 1 }, { running: 4, inGroup: 1 }, 'user-17'),
    `${SINCE}, but tube t is limited to 1 run per group at a time (running in group "user-17": 1).`,
  ],
  [
    'limited',
    limits({ ...RATE, perGroup: 2 }, { running: 4, inGroup: 1, turn: (NOW + 3_200) * 1_000 }, 'user-17'),
    `${SINCE}, but tube t is limited to 100 runs in 1m; the next may start at 2027-01-01T12:00:02.000Z (in 2s).`,
  ],
  [
    'queued',
    limits({ ...RATE, concurrency: 5, perGroup: 1 }, { running: 4, turn: (NOW + 1_200) * 1_000 }, 'user-17'),
    `${SINCE}, waiting for a process to take it; about 1 due and 0 running in its tube.`,
  ],
  [
    'held',
    { ...limits({ concurrency: 1 }, { running: 1 }), trace: trace({ holdEnd: NOW + 1 }) },
    'Waiting for a run of the job it replaced to end.',
  ],
  [
    'not-consumed',
    { ...DUE, copies: [copy('ready')], tube: { tube: 't', watching: 0 } },
    `${SINCE}, but no process consumes tube t.`,
  ],
  [
    'not-reserving',
    { ...DUE, copies: [copy('ready')], tube: { tube: 't', watching: 0, consumers: 1 } },
    `${SINCE}, but the process that consumes tube t takes no jobs; the log says why.`,
  ],
  [
    'not-reserving',
    { ...DUE, copies: [copy('ready')], tube: { tube: 't', watching: 0, consumers: 2 } },
    `${SINCE}, but the 2 processes that consume tube t take no jobs; the log says why.`,
  ],
  [
    'slots-full',
    {
      ...DUE,
      copies: [copy('ready')],
      slots: { slots: 4, running: 4, oldestSince: NOW - 2 * MINUTE },
    },
    `${SINCE}, but all 4 slots of tube t are busy, the oldest run since 2027-01-01T11:58:00.000Z (2m).`,
  ],
  [
    'slots-full',
    { ...DUE, copies: [copy('reserved')], slots: { slots: 1, running: 1 } },
    `${SINCE}, but the only slot of tube t is busy.`,
  ],
  [
    'slots-full',
    {
      ...DUE,
      copies: [copy('ready')],
      tube: { tube: 't', watching: 0, consumers: 1 },
      slots: { slots: 4, running: 4 },
    },
    `${SINCE}, but all 4 slots of tube t are busy.`,
  ],
  [
    'limited',
    { ...limits({ concurrency: 4 }, { running: 4 }), slots: { slots: 4, running: 4 } },
    `${SINCE}, but tube t is limited to 4 runs at a time (running: 4).`,
  ],
  [
    'queued',
    { ...DUE, copies: [copy('ready')], slots: { slots: 4, running: 3, oldestSince: NOW - MINUTE } },
    `${SINCE}, waiting for a process to take it; about 1 due and 0 running in its tube.`,
  ],
  [
    'coming',
    { ...DUE, copies: [copy('delayed', { readyIn: 4_000 })], slots: { slots: 1, running: 1 } },
    `${SINCE}; its next copy comes back in 4s.`,
  ],
  [
    'taken',
    { ...DUE, copies: [copy('ready'), copy('reserved')] },
    `${SINCE}; a process holds it until it has a free slot.`,
  ],
  [
    'queued',
    {
      ...DUE,
      copies: [copy('ready'), copy('delayed')],
      tube: { tube: 't', watching: 3, due: 7, running: 2 },
    },
    `${SINCE}, waiting for a process to take it; about 7 due and 2 running in its tube.`,
  ],
  [
    'queued',
    { ...DUE, copies: [copy('ready')], tube: { tube: 't' } },
    `${SINCE}, waiting for a process to take it.`,
  ],
  [
    'coming',
    { ...DUE, copies: [copy('delayed', { readyIn: 9_000 }), copy('delayed', { readyIn: 4_000 })] },
    `${SINCE}; its next copy comes back in 4s.`,
  ],
  [
    'buried',
    { ...DUE, copies: [copy('buried'), copy('missing')] },
    `${SINCE}, but its copies are buried, and stay so until kicked.`,
  ],
  ['unknown', { ...DUE, trace: trace() }, `${SINCE}; the state of its copies is unknown.`],
];

const DUE_SINCE = { dueAt: new Date(NOW - 3 * MINUTE), overdueFor: 3 * MINUTE };

/** Details that some cases return in addition to their name. */
const DETAILS: { [Case in keyof ExplanationDetails]?: [Partial<Facts>, ExplanationDetails[Case]] } = {
  dead: [
    { letter: letter({ error: { name: 'TypeError', message: 'boom' } }) },
    { death: { at: new Date(NOW - MINUTE), why: 'attempts', attempt: 10, error: 'TypeError: boom' } },
  ],
  running: [
    { trace: trace({ state: 'running', fence, attempt: 2 }), process: { id: 'p', host: 'h', pid: 1 } },
    {
      attempt: 2,
      startedAt: new Date(NOW - 3 * MINUTE),
      runningFor: 3 * MINUTE,
      process: { id: 'p', host: 'h', pid: 1 },
    },
  ],
  'not-due': [WAITS, { dueAt: new Date(NOW + 14 * MINUTE), dueIn: 14 * MINUTE }],
  'no-copy': [{ ...DUE, trace: trace(), copies: [copy('missing')] }, { awaited: true }],
  paused: [
    { ...DUE, copies: [copy('ready')], tube: PAUSED },
    { ...DUE_SINCE, tube: 't', since: new Date(NOW - MINUTE) },
  ],
  limited: [
    limits({ ...RATE, perGroup: 2 }, { turn: (NOW + 3_200) * 1_000 }, 'user-17'),
    {
      ...DUE_SINCE,
      tube: 't',
      limit: { kind: 'rate', most: 100, per: MINUTE, nextAt: new Date(NOW + 2_000), nextIn: 2_000 },
    },
  ],
  'slots-full': [
    { ...DUE, copies: [copy('ready')], slots: { slots: 4, running: 4, oldestSince: NOW - 2 * MINUTE } },
    {
      ...DUE_SINCE,
      tube: 't',
      slots: 4,
      oldestRun: { startedAt: new Date(NOW - 2 * MINUTE), runningFor: 2 * MINUTE },
    },
  ],
  queued: [
    { ...DUE, copies: [copy('ready')] },
    { ...DUE_SINCE, others: { due: 1, running: 0 } },
  ],
};

describe('why a job has not run', () => {
  const told = (facts: Partial<Facts>) => {
    const tube = { tube: 't', watching: 3, due: 1, running: 0 };
    return reasonOf({ now: NOW, replaced: false, copies: [], tube, ...facts });
  };

  it.each(CASES)('%s', (because, facts, sentence) => {
    const reason = told(facts);
    expect([reason.because, sentenceOf(reason)]).toEqual([because, sentence]);
  });

  it.each(Object.entries(DETAILS))('%s, with its details', (because, [facts, details]) => {
    expect(told(facts)).toEqual({ because, details });
  });
});
