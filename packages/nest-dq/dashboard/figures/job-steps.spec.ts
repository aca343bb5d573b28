import { describe, expect, it } from '@jest/globals';
import type { ExplanationWire } from '../../src/dashboard/wire.js';
import { jobSteps } from './job-steps.js';

const JOB = {
  because: 'retrying',
  details: { dueAt: 'next', dueIn: 1, attempt: 2 },
  why: '',
  id: 'x',
  tube: 't',
  copies: [],
} as const satisfies ExplanationWire;

const failed = (attempt: number) => ({
  attempt,
  startedAt: `start ${attempt}`,
  took: 5,
  process: 'host:7',
  error: { name: 'Error', message: 'no' },
});

/** The steps in short. */
function told(job: Partial<ExplanationWire>): string[] {
  return jobSteps({ ...JOB, ...job } as ExplanationWire).map((step) => {
    switch (step.kind) {
      case 'failed':
        return `failed ${step.failed.attempt}`;
      case 'untold':
        return `untold ${step.from}-${step.to}`;
      case 'running':
      case 'done':
        return `${step.kind} ${step.attempt} ${step.process ?? '?'}`;
      case 'next':
        return `next ${step.attempt} ${step.at}`;
      default:
        return `${step.kind} ${step.at ?? '?'}`;
    }
  });
}

describe('the steps of a job', () => {
  it('that waits are its add and its due time', () => {
    expect(told({ state: 'waiting', addedAt: 'add', dueAt: 'due', attempt: 0 })).toEqual([
      'added add',
      'due due',
    ]);
    expect(told({ state: 'waiting', addedAt: 'add', movedAt: 'move', dueAt: 'due' })).toEqual([
      'added add',
      'moved move',
      'due due',
    ]);
  });

  it('that is done and kept have its process, though the ledger has forgotten the run', () => {
    const finished = {
      id: 'x',
      tube: 't',
      endedAt: '2026-11-23T02:00:01.000Z',
      took: 400,
      process: 'host:7',
      attempt: 2,
    };
    const steps = jobSteps({ ...JOB, state: 'done', attempt: 2, finished } as unknown as ExplanationWire);
    expect(steps).toEqual([
      { kind: 'untold', from: 1, to: 1 },
      { kind: 'done', attempt: 2, at: '2026-11-23T02:00:00.600Z', took: 400, process: 'host:7' },
    ]);
  });

  it('that is retried are its first due time, each attempt, and the next one', () => {
    expect(
      told({
        state: 'retrying',
        addedAt: 'add',
        firstDueAt: 'due',
        dueAt: 'retry',
        attempt: 2,
        failedAttempts: [failed(1), failed(2)],
      }),
    ).toEqual(['added add', 'due due', 'failed 1', 'failed 2', 'next 3 retry']);
  });

  it('put attempts of which nothing is known together', () => {
    const failedAttempts = [failed(3), failed(5)];
    expect(told({ state: 'retrying', dueAt: 'retry', attempt: 5, failedAttempts })).toEqual([
      'untold 1-2',
      'failed 3',
      'untold 4-4',
      'failed 5',
      'next 6 retry',
    ]);
  });

  it('tell attempts that reported nothing from those whose errors are not kept', () => {
    const untold = (job: Partial<ExplanationWire>) =>
      jobSteps({ ...JOB, state: 'retrying', dueAt: 'retry', ...job } as ExplanationWire).filter(
        ({ kind }) => kind === 'untold',
      );
    const left = (from: number, to = from) => ({ kind: 'untold', from, to, left: true });
    expect(untold({ attempt: 3, failedAttempts: [failed(2)] })).toEqual([left(1), left(3)]);
    const three = [failed(3), failed(5), failed(6)];
    expect(untold({ attempt: 6, failedAttempts: three })).toEqual([
      { kind: 'untold', from: 1, to: 2 },
      left(4),
    ]);
    expect(untold({ attempt: 2 })).toEqual([{ kind: 'untold', from: 1, to: 2 }]);
    const gone = { because: 'left', details: { leaseEndedAt: 'end' } } as const;
    expect(untold({ attempt: 2, ...gone })).toEqual([{ kind: 'untold', from: 1, to: 1 }, left(2)]);
  });

  it('that runs end with the run, and where it is', () => {
    const run = { startedAt: 'start', process: { id: 'p', host: 'web-1', pid: 7 } };
    expect(
      told({
        state: 'running',
        dueAt: 'due',
        firstDueAt: 'due 1',
        attempt: 2,
        failedAttempts: [failed(1)],
        run,
      }),
    ).toEqual(['due due 1', 'failed 1', 'running 2 web-1:7']);
  });

  it('that is over end with its end', () => {
    expect(told({ state: 'done', dueAt: 'due', attempt: 1, run: { startedAt: 'start' } })).toEqual([
      'due due',
      'done 1 ?',
    ]);
    expect(told({ state: 'revoked', dueAt: 'due', attempt: 0 })).toEqual(['due due', 'revoked ?']);
    const revokedBy = { act: 'abort', by: 'ann', at: 'then' };
    expect(
      jobSteps({ ...JOB, state: 'revoked', attempt: 2, revokedBy } as ExplanationWire).slice(-2),
    ).toEqual([
      { kind: 'untold', from: 2, to: 2, revoked: true },
      { kind: 'revoked', at: 'then', by: 'ann', aborted: true },
    ]);
    const deadLetter = { diedAt: 'death', attempt: 2 } as NonNullable<ExplanationWire['deadLetter']>;
    expect(
      told({
        state: 'dead',
        firstDueAt: 'due',
        dueAt: 'last',
        attempt: 2,
        failedAttempts: [failed(1), failed(2)],
        deadLetter,
      }),
    ).toEqual(['due due', 'failed 1', 'failed 2', 'dead death']);
  });
});
