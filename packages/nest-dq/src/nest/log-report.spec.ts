import { beforeEach, describe, expect, it } from '@jest/globals';
import { Duplex } from 'node:stream';
import { ClusterNode } from '../cluster/cluster-node.js';
import type { DelayedJob } from '../api/job.js';
import { Discard, Retry } from '../api/outcome.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { DEFAULT_LOG_LEVELS } from './log-levels.js';
import { LogReport } from './log-report.js';

const clock = new VirtualClock();
const jobIn = (attempt: number, key?: string) =>
  ({ id: '01J', tube: 'order.cancel', key, attempt, attempts: 10 }) as DelayedJob;
const job = jobIn(2);
const node = new ClusterNode('10.0.0.1:11300', () => new Duplex(), clock);
const failure = new Error('no database');
const retryAt = new Date(Date.UTC(2030, 0, 1));
let logger: CollectingLogger;
let report: LogReport;

/** The logged lines, each as `level: message`. */
const told = () => logger.lines.map(({ level, message }) => `${level}: ${message}`);

beforeEach(() => {
  logger = new CollectingLogger();
  report = new LogReport(logger, DEFAULT_LOG_LEVELS, clock);
});

describe('the log', () => {
  it('reports foreign bodies in a tube once a minute, with their number', async () => {
    for (let i = 0; i < 5_000; i++) report.poison('t', '10.0.0.1:11300', '7', 'no envelope');
    report.poison('u', '10.0.0.1:11300', '7', 'no envelope');
    await clock.advance(60_000);
    report.poison('t', '10.0.0.1:11300', '8', 'no envelope');
    const line = (id: number, tube: string) =>
      `warn: 10.0.0.1:11300: beanstalkd job ${id} of ${tube} is not a nest-dq job and was buried: no envelope`;
    expect(told()).toEqual([
      line(7, 't'),
      line(7, 'u'),
      `${line(8, 't')}; 4999 more since the last such message`,
    ]);
  });

  it('shows the stack at the first failure and at the last, and not between', () => {
    for (let attempt = 1; attempt < 10; attempt++) report.failed(jobIn(attempt), failure, retryAt);
    report.failed(jobIn(10), failure, 'dead');
    const last = logger.lines.pop();
    const again = 'of 10 and will be retried at 2030-01-01T00:00:00.000Z: no database';
    expect(told()).toEqual([
      `warn: job 01J of order.cancel failed in attempt 1 ${again}\n${failure.stack}`,
      ...[2, 3, 4, 5, 6, 7, 8, 9].map((n) => `warn: job 01J of order.cancel failed in attempt ${n} ${again}`),
    ]);
    expect(last).toEqual({
      level: 'error',
      message: 'job 01J of order.cancel failed in attempt 10 of 10 and is now a dead letter: no database',
      stack: failure.stack,
    });
  });

  it.each([
    ['the first failure', jobIn(1), retryAt],
    ['a retry', job, retryAt],
    ['the last failure', jobIn(10), 'dead'],
  ] as const)(
    'cuts a message of 100,000 characters at %s, and shows the stack after it',
    (_when, of, next) => {
      const error = new Error('x'.repeat(100_000));
      report.failed(of, error, next);
      report.listenerFailed('a subscriber of `failed`', error);
      for (const { message, stack = '' } of logger.lines) {
        expect(message).toMatch(/: x{2000}… \(98000 more characters\)(\n|$)/);
        expect(message.length + stack.length).toBeLessThan(10_000);
      }
      const [failed, listener] = logger.lines;
      expect(`${failed!.message}${failed!.stack}`.includes('log-report.spec')).toBe(of !== job);
      expect(listener!.stack).toContain('log-report.spec');
    },
  );

  it('logs each kind at its level, and nothing of what is off', () => {
    const levels = { retries: 'debug', discards: 'log', deadLetters: 'warn', servers: 'off' } as const;
    const off = () => {
      throw new Error('it was called'); // loggers that are event emitters have a method of that name
    };
    report = new LogReport(Object.assign(logger, { off }), levels, clock);
    report.failed(jobIn(1), failure, retryAt);
    report.failed(job, failure, 'over');
    report.failed(jobIn(10), failure, 'dead');
    report.dead('t', { id: 'a' }, { why: 'discarded', error: { name: 'Discard', message: 'gone' } });
    report.dead('t', { id: 'a' }, { why: 'stale' });
    report.down(node, failure);
    report.up(node);
    report.away(failure);
    report.back();
    expect(logger.lines.map(({ level }) => level)).toEqual(['debug', 'debug', 'warn', 'log', 'warn']);
    expect(logger.lines[0]!.message).toContain(`\n${failure.stack}`);
  });

  const REASON = { name: 'Discard', message: 'the user is gone' };
  const DIED = { why: 'attempts', error: { name: 'Error', message: 'no database' } } as const;

  it.each<[string, () => void, string[]]>([
    [
      'a failure that is tried again, with the key of the job',
      () => report.failed(jobIn(2, 'order:42'), failure, retryAt),
      [
        'warn: job 01J of order.cancel with key "order:42" failed in attempt 2 of 10 and will be retried at 2030-01-01T00:00:00.000Z: no database',
      ],
    ],
    [
      'a failure after which nothing follows, with its stack',
      () => report.failed(job, failure, 'over'),
      [
        `warn: job 01J of order.cancel failed in attempt 2 of 10 and is not retried: it was revoked or replaced in the meantime: no database\n${failure.stack}`,
      ],
    ],
    [
      'a death by failure, in one line',
      () => (report.failed(jobIn(10), failure, 'dead'), report.dead('order.cancel', job, DIED)),
      ['error: job 01J of order.cancel failed in attempt 10 of 10 and is now a dead letter: no database'],
    ],
    [
      'a death without a last error',
      () => report.dead('t', { id: '01K', key: 'order:42' }, { why: 'attempts' }),
      ['error: job 01K of t with key "order:42" is a dead letter because its attempts are exhausted'],
    ],
    [
      'a Retry, without a stack',
      () => report.failed(job, Retry.after('30s'), retryAt),
      [
        'warn: job 01J of order.cancel failed in attempt 2 of 10 and will be retried at 2030-01-01T00:00:00.000Z: its handler returned Retry',
      ],
    ],
    [
      'a Discard, in one line without a stack',
      () => {
        report.failed(job, Discard.because(REASON.message), 'dead');
        report.dead('order.cancel', job, { why: 'discarded', error: REASON });
      },
      ['warn: job 01J of order.cancel is a dead letter because its handler discarded it: the user is gone'],
    ],
    [
      'a job that is long overdue',
      () => report.dead('t', { id: 'a' }, { why: 'stale' }),
      ['error: job a of t is a dead letter because it is long overdue and has no record (see `staleAfter`)'],
    ],
    [
      'a payload that cannot be read',
      () => report.dead('t', { id: 'b' }, { why: 'invalid', error: { name: 'Error', message: 'bad JSON' } }),
      ['error: job b of t is a dead letter because its payload cannot be read: bad JSON'],
    ],
    [
      'a job whose copies are gone',
      () => report.lost({ tube: 't', id: 'a', dueAt: new Date(0), attempt: 0, copies: 3 }),
      ['error: job a of t, due at 1970-01-01T00:00:00.000Z, is lost: nodes lost the data with all 3 copies'],
    ],
    [
      'letters that grew old',
      () => report.lettersRemoved('t', { tooOld: 3, tooMany: 0 }),
      ['log: removed 3 dead letters of t and their copies: 3 older than `deadLetters.maxAge`'],
    ],
    [
      'letters that were too many',
      () => report.lettersRemoved('t', { tooOld: 1, tooMany: 4 }),
      [
        'warn: removed 5 dead letters of t and their copies: 1 older than `deadLetters.maxAge`, 4 beyond `deadLetters.maxCount`',
      ],
    ],
    [
      'letters at which the ledger failed, once within a minute',
      () => (report.notSwept('t', failure), report.notSwept('t', failure)),
      ['warn: the ledger failed to remove old dead letters of t; retrying in a minute: no database'],
    ],
    [
      'a foreign body',
      () => report.poison('t', '10.0.0.1:11300', '7', 'no envelope'),
      ['warn: 10.0.0.1:11300: beanstalkd job 7 of t is not a nest-dq job and was buried: no envelope'],
    ],
    [
      'a lost lease',
      () => report.leaseLost('t', 'a', 3),
      [
        'warn: job a of t lost its lease in attempt 3: its outcome is dropped, and another process may run it',
      ],
    ],
    [
      'a revoked run',
      () => report.revoked('t', 'a', 1),
      ['log: job a of t was revoked during attempt 1; asking its handler to stop'],
    ],
    [
      'a handler that ignores its timeout',
      () => report.overran('t', 'b', 2),
      [
        'warn: the handler of t ignores its signal: attempt 2 of job b is still running 5 s after its timeout; another job takes its slot',
      ],
    ],
    [
      'an event loop that was blocked',
      () => report.stoodStill('t', 8_140, 15_000),
      [
        'warn: the event loop was blocked for 8.1 s while jobs of t were running with a lease of 15.0 s: move the blocking work to a worker thread or set a longer `lease`',
      ],
    ],
    [
      'handlers that a shutdown did not wait for',
      () => (report.cutOff('order.cancel', 1, 10_000), report.cutOff('mail', 7, 0)),
      [
        'warn: 1 handler of order.cancel is still running after the shutdown timeout of 10000 ms; its run was handed back and its job will run again',
        'warn: 7 handlers of mail are still running after the shutdown timeout of 0 ms; their runs were handed back and their jobs will run again',
      ],
    ],
    [
      'a node that is away and comes back, and nothing of its first connection',
      () => (report.up(node), report.down(node, failure), report.up(node), report.up(node)),
      ['warn: 10.0.0.1:11300 is down; retrying: no database', 'warn: 10.0.0.1:11300 is up again'],
    ],
    [
      'two nodes that are one server, once',
      () => {
        const other = new ClusterNode('queue.local:11300', () => new Duplex(), clock);
        for (let connection = 0; connection < 2; connection++) report.sameServer(other, node);
      },
      [
        'error: queue.local:11300 and 10.0.0.1:11300 are the same server: expected each server once in `beanstalks`; ' +
          'no copies go to queue.local:11300, because two copies of a job on one server are lost together',
      ],
    ],
  ])('reports %s', (_what, report, lines) => {
    report();
    expect(told()).toEqual(lines);
  });

  it('reports an Again that is scheduled for another time than it said, once a minute per tube', () => {
    for (const id of ['a', 'b']) {
      report.instantOver('t', id, retryAt);
      report.notStored('t', id, retryAt, 'stored on 1 of 3 nodes, need 2');
    }
    expect(told()).toEqual([
      expect.stringMatching(
        /^warn: job a of t returned Again.at\(2030-01-01T00:00:00.000Z\), which is in the past/,
      ),
      expect.stringMatching(
        /^warn: job a of t returned Again, .* its old copies wait until .*: stored on 1 of 3 nodes, need 2$/,
      ),
    ]);
  });

  it.each<[string, () => void, string]>([
    [
      'the ledger fails at a job',
      () => report.ledgerTrouble('t', 'a', new Error('WRONGTYPE')),
      'warn: the ledger failed on job a of t; retrying: WRONGTYPE',
    ],
    [
      'a node is in trouble',
      () => report.nodeTrouble('10.0.0.1:11300', 'out of memory'),
      'warn: 10.0.0.1:11300: out of memory',
    ],
    [
      'a node does not store',
      () => report.trouble(node, 'its binlog has stopped; restart it'),
      'error: 10.0.0.1:11300: its binlog has stopped; restart it',
    ],
  ])('logs once a minute that %s', async (_what, tell, line) => {
    tell();
    report.nodeTrouble('10.0.0.1:11300', 'something else');
    await clock.advance(59_999);
    tell();
    expect(told()).toEqual([line, 'warn: 10.0.0.1:11300: something else']);
    await clock.advance(1);
    tell();
    expect(told().at(-1)).toBe(line);
  });

  it('reports a flapping Redis once a minute', async () => {
    for (let i = 0; i < 40; i++) {
      report.away(new Error('ECONNREFUSED'));
      report.back();
      await clock.advance(1_900);
    }
    const away = 'warn: Redis is down; no job starts until it answers: ECONNREFUSED';
    expect(told()).toEqual([away, 'warn: Redis is up again', away, 'warn: Redis is up again']);
  });
});
