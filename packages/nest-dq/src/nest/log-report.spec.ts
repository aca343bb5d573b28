import { beforeEach, describe, expect, it } from '@jest/globals';
import { Duplex } from 'node:stream';
import { ClusterNode } from '../cluster/cluster-node.js';
import { Discard, Retry, type DelayedJob } from '../api/job.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { VirtualClock } from '../test-kit/virtual-clock.js';
import { DEFAULT_LOG_LEVELS } from './log-levels.js';
import { LogReport } from './log-report.js';

const clock = new VirtualClock();
const jobIn = (attempt: number, key?: string) =>
  ({ id: '01J', tube: 'order.cancel', key, attempt, attempts: 10 }) as DelayedJob;
const job = jobIn(2);
const retryAt = new Date(Date.UTC(2030, 0, 1));
let logger: CollectingLogger;
let report: LogReport;

beforeEach(() => {
  logger = new CollectingLogger();
  report = new LogReport(logger, DEFAULT_LOG_LEVELS, clock);
});

describe('the log', () => {
  it('tells a retried failure once, as a warning, with the job, its key, the attempt and the next time', () => {
    report.failed(jobIn(2, 'order:42'), new Error('no database'), retryAt);
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message:
          'job 01J of order.cancel with the key "order:42" failed in attempt 2 of 10 and is tried again at 2030-01-01T00:00:00.000Z: no database',
      },
    ]);
  });

  it('shows the stack at the first failure and at the last, and not between', () => {
    const error = new TypeError('no database');
    for (let attempt = 1; attempt < 10; attempt++) report.failed(jobIn(attempt), error, retryAt);
    report.failed(jobIn(10), error, 'dead');
    const last = logger.lines.pop();
    expect(logger.lines.map(({ level }) => level)).toEqual(Array(9).fill('warn'));
    expect(logger.lines.map(({ message }) => message.split('\n').length > 1)).toEqual([
      true,
      ...Array<boolean>(8).fill(false),
    ]);
    expect(logger.lines[0]!.message).toBe(
      `job 01J of order.cancel failed in attempt 1 of 10 and is tried again at 2030-01-01T00:00:00.000Z: no database\n${error.stack}`,
    );
    expect(last).toEqual({
      level: 'error',
      message: 'job 01J of order.cancel failed in attempt 10 of 10 and is a dead letter now: no database',
      stack: error.stack,
    });
  });

  it.each([
    ['the first failure', jobIn(1), retryAt],
    ['a retry', job, retryAt],
    ['the last failure', jobIn(10), 'dead'],
  ] as const)(
    'cuts a message of 100,000 characters at %s, and shows the calls behind it',
    (_when, of, next) => {
      const error = new Error('x'.repeat(100_000));
      report.failed(of, error, next);
      report.listenerFailed('a subscriber of `failed`', error);
      for (const { message, stack = '' } of logger.lines) {
        expect(message).toMatch(/: x{2000}… \(98000 characters more\)(\n|$)/);
        expect(message.length + stack.length).toBeLessThan(10_000);
      }
      const [failure, listener] = logger.lines;
      expect(`${failure!.message}${failure!.stack}`.includes('log-report.spec')).toBe(of !== job);
      expect(listener!.stack).toContain('log-report.spec');
    },
  );

  it('tells each kind at its level, and what is off not at all', () => {
    const levels = { retries: 'debug', discards: 'log', deadLetters: 'warn', servers: 'off' } as const;
    const off = () => {
      throw new Error('it was told'); // loggers that are event emitters have a method of that name
    };
    report = new LogReport(Object.assign(logger, { off }), levels, clock);
    const error = new Error('no database');
    report.failed(jobIn(1), error, retryAt);
    report.failed(job, error, 'over');
    report.failed(jobIn(10), error, 'dead');
    report.dead('t', { id: 'a' }, { why: 'discarded', error: { name: 'Discard', message: 'gone' } });
    report.dead('t', { id: 'a' }, { why: 'stale' });
    const node = new ClusterNode('10.0.0.1:11300', () => new Duplex(), clock);
    report.down(node, error);
    report.up(node);
    report.away(error);
    report.back();
    expect(logger.lines.map(({ level }) => level)).toEqual(['debug', 'debug', 'warn', 'log', 'warn']);
    expect(logger.lines[0]!.message).toContain(`\n${error.stack}`);
  });

  it('tells a death by failure in one line, and one without a last error too', () => {
    report.failed(jobIn(10), new Error('no database'), 'dead');
    report.dead('order.cancel', job, { why: 'attempts', error: { name: 'Error', message: 'no database' } });
    report.dead('order.cancel', { id: '01K', key: 'order:42' }, { why: 'attempts' });
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'error: job 01J of order.cancel failed in attempt 10 of 10 and is a dead letter now: no database',
      'error: job 01K of order.cancel with the key "order:42" is a dead letter, because its attempts are used up',
    ]);
  });

  it('tells of a failure after which nothing follows', () => {
    report.failed(job, new Error('no database'), 'over');
    expect(logger.lines.map(({ level, message }) => [level, message.split('\n')[0]])).toEqual([
      [
        'warn',
        'job 01J of order.cancel failed in attempt 2 of 10 and is not tried again, as it was revoked or replaced meanwhile: no database',
      ],
    ]);
  });

  it('shows no stack of what a handler chose', () => {
    report.failed(job, Retry.after('30s'), retryAt);
    report.failed(job, Discard.because('the user is gone'), 'dead');
    report.dead('order.cancel', job, {
      why: 'discarded',
      error: { name: 'Discard', message: 'the user is gone' },
    });
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'warn: job 01J of order.cancel failed in attempt 2 of 10 and is tried again at 2030-01-01T00:00:00.000Z: its handler returned a Retry',
      'warn: job 01J of order.cancel is a dead letter, because its handler discarded it: the user is gone',
    ]);
  });

  it('tells of an Again that goes on otherwise than it said, once a minute for each tube', () => {
    for (const id of ['a', 'b']) {
      report.instantOver('t', id, retryAt);
      report.notStored('t', id, retryAt, 'stored on 1 of 3 nodes, need 2');
    }
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      expect.stringMatching(/^warn: job a of t said Again.at\(2030-01-01T00:00:00.000Z\), which is over/),
      expect.stringMatching(
        /^warn: job a of t said Again, and waits .* stored: stored on 1 of 3 nodes, need 2$/,
      ),
    ]);
  });

  it('tells why a job is dead that never ran here', () => {
    report.dead('t', { id: 'a' }, { why: 'stale' });
    report.dead('t', { id: 'b' }, { why: 'invalid', error: { name: 'SyntaxError', message: 'bad JSON' } });
    expect(logger.lines.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^job a of t is a dead letter, because it is long overdue/),
      'job b of t is a dead letter, because its payload cannot be read: bad JSON',
    ]);
  });

  it('tells of foreign bodies, lost leases and warnings', () => {
    report.poison('t', '10.0.0.1:11300', '7', 'no envelope');
    report.leaseLost('t', 'a', 3);
    report.warn('Redis may evict.');
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message: '10.0.0.1:11300: beanstalkd job 7 of t is not ours and was buried: no envelope',
      },
      { level: 'warn', message: expect.stringMatching(/^job a of t lost its lease in attempt 3/) },
      { level: 'warn', message: 'Redis may evict.' },
    ]);
  });

  it('tells of revoked runs and of handlers that ignore their timeout', () => {
    report.revoked('t', 'a', 1);
    report.overran('t', 'b', 2);
    expect(logger.lines).toEqual([
      { level: 'log', message: 'job a of t was revoked in attempt 1, and its handler is asked to stop' },
      {
        level: 'warn',
        message: expect.stringMatching(/^the handler of t ignores its signal: attempt 2 of job b/),
      },
    ]);
  });

  it('tells that jobs ran while the event loop stood still, and what to do', () => {
    report.stoodStill('t', 8_140, 15_000);
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message:
          'the event loop stood still for 8.1 s while jobs of t ran, with a lease of 15.0 s: do such work in a worker thread of your own, or set a longer `lease`',
      },
    ]);
  });

  it('tells which handlers a shutdown did not wait for', () => {
    report.cutOff('order.cancel', 1, 10_000);
    report.cutOff('mail', 7, 0);
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'warn: 1 handler of order.cancel is still running after the drain limit of 10000 ms; its job is given back, and runs again',
      'warn: 7 handlers of mail are still running after the drain limit of 0 ms; their jobs are given back, and run again',
    ]);
  });

  it('tells of a listener that failed', () => {
    report.listenerFailed('a subscriber of `completed`', new Error('no mail'));
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'a subscriber of `completed` failed: no mail',
    ]);
  });

  it('tells once a minute that the ledger fails at a job', async () => {
    const tell = (id: string) => report.ledgerTrouble('t', id, new Error('WRONGTYPE'));
    tell('a');
    tell('a');
    tell('b');
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'the record of job a of t is in trouble, and is tried again: WRONGTYPE',
      'the record of job b of t is in trouble, and is tried again: WRONGTYPE',
    ]);
    await clock.advance(60_000);
    tell('a');
    expect(logger.lines).toHaveLength(3);
  });

  it('tells that a node is down and up again, and nothing of the first connection', () => {
    const node = new ClusterNode('10.0.0.1:11300', () => new Duplex(), clock);
    report.up(node);
    expect(logger.lines).toEqual([]);
    report.down(node, new Error('ECONNREFUSED'));
    report.up(node);
    report.up(node);
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'warn: 10.0.0.1:11300 is down, and tried again until it answers: ECONNREFUSED',
      'warn: 10.0.0.1:11300 answers again',
    ]);
  });

  it('tells once, as an error, that two nodes are one server, and what was expected', () => {
    const [one, other] = ['10.0.0.1:11300', 'queue.local:11300'].map(
      (endpoint) => new ClusterNode(endpoint, () => new Duplex(), clock),
    ) as [ClusterNode, ClusterNode];
    report.sameServer(other, one);
    report.sameServer(other, one); // on its next connection
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'error: queue.local:11300 and 10.0.0.1:11300 are one server: expected each server once in `beanstalks`; ' +
        'no copies go to queue.local:11300, as two copies of a job on one server are lost together',
    ]);
  });

  it('tells that Redis is away, and that it is back', () => {
    report.away(new Error('ECONNREFUSED'));
    report.back();
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'warn: Redis is away, so no job starts until it answers: ECONNREFUSED',
      'warn: Redis answers again',
    ]);
  });

  it('tells of a Redis that comes and goes once a minute', async () => {
    for (let i = 0; i < 40; i++) {
      report.away(new Error('the connection was closed'));
      report.back();
      await clock.advance(1_900);
    }
    expect(logger.lines.map(({ message }) => message)).toEqual([
      expect.stringContaining('Redis is away'),
      'Redis answers again',
      expect.stringContaining('Redis is away'),
      'Redis answers again',
    ]);
  });

  it('tells the same trouble of a node once a minute', async () => {
    const tell = () => report.nodeTrouble('10.0.0.1:11300', 'out of memory');
    tell();
    tell();
    report.nodeTrouble('10.0.0.1:11300', 'something else');
    await clock.advance(59_999);
    tell();
    expect(logger.matching(/out of memory/)).toHaveLength(1);
    expect(logger.lines).toHaveLength(2);
    await clock.advance(1);
    tell();
    expect(logger.matching(/out of memory/)).toHaveLength(2);
  });

  it('tells, once a minute and as an error, that a node does not store, with what to do', () => {
    const node = new ClusterNode('10.0.0.1:11300', () => new Duplex(), clock);
    report.trouble(node, 'its binlog has stopped; restart it');
    report.trouble(node, 'its binlog has stopped; restart it');
    expect(logger.lines).toEqual([
      { level: 'error', message: '10.0.0.1:11300: its binlog has stopped; restart it' },
    ]);
  });
});
