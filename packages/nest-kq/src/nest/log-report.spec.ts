import { beforeEach, describe, expect, it } from '@jest/globals';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { Discard } from '../api/outcome.js';
import type { KqMessage } from '../api/received.js';
import { EventHub } from '../events/event-hub.js';
import type { KqEventName } from '../events/events.js';
import { KqError } from '../errors.js';
import { systemClock } from 'nest-handlers/time';
import { DEFAULT_LOG_LEVELS, type KqLogLevels } from './log-levels.js';
import { LogReport } from './log-report.js';

const slip = new Error('slip');
const away = new KqError('KQ_AWAY', 'nobody answers');
const messageIn = (attempt: number) =>
  ({ topic: 'orders', partition: 1, offset: '7', key: 'k', attempt }) as KqMessage;
const message = messageIn(1);
const group = 'shop';
const dead = { message, group, error: slip, runs: 3 };

let now: number;
let logger: CollectingLogger;
beforeEach(() => {
  now = 0;
  logger = new CollectingLogger();
});

function eventsAt(levels: KqLogLevels = {}): EventHub {
  const report = new LogReport(
    logger,
    { ...DEFAULT_LOG_LEVELS, ...levels },
    { ...systemClock, now: () => now },
  );
  const events = new EventHub((who, error) => report.listenerFailed(who, error));
  report.listen(events);
  return events;
}

const lines = () => logger.lines.map(({ level, message: line }) => `${level}: ${line}`);

describe('LogReport', () => {
  it('writes a line for each event of messages, with a stack where that adds something', () => {
    const events = eventsAt();
    events.emit('failed', { message, group, error: slip, took: 1, after: 5 });
    events.emit('failed', {
      message: messageIn(2),
      group,
      error: slip,
      took: 1,
      after: 5,
    });
    events.emit('died', { ...dead, why: 'attempts', topic: 'orders.dead' });
    events.emit('failedLate', { message, group, error: slip, took: 1 });
    events.emit('dropped', { ...dead, why: 'discarded', error: Discard.because('gone') });
    events.emit('overran', { messages: [message, message], group });
    events.emit('handled', { message, group, took: 1, lateness: 1 });
    expect(logger.lines[0]!.message).toBe(
      `message 7 of orders/1 with the key "k" failed in attempt 1; retrying in 5 ms: slip\n${slip.stack}`,
    );
    expect(logger.lines[2]!.stack).toBe(slip.stack);
    expect(lines().slice(1)).toEqual([
      'warn: message 7 of orders/1 with the key "k" failed in attempt 2; retrying in 5 ms: slip',
      'error: message 7 of orders/1 with the key "k" was dead-lettered to orders.dead, because its attempts are exhausted: slip',
      `warn: message 7 of orders/1 with the key "k" failed after its transaction had committed it as handled, so it is not retried: slip\n${slip.stack}`,
      'warn: message 7 of orders/1 with the key "k" was dropped, because its handler discarded it: gone',
      'warn: the handler of orders ignores its signal: it is still running 5 s after its timeout for message 7 of orders/1 with the key "k" and 1 more, which may now run concurrently a second time',
    ]);
  });

  it('repeats an ongoing problem only after a minute, and at once after a group was joined', () => {
    const events = eventsAt();
    const held = { ...dead, why: 'attempts', trouble: away, after: 10 } as const;
    const left = { group, error: away, retryIn: 5 };
    for (const at of [0, 59_999, 60_000]) {
      now = at;
      events.emit('held', held);
      events.emit('groupLeft', left);
    }
    events.emit('groupJoined', { group, topics: ['orders', /^a/], again: true });
    events.emit('groupLeft', left);
    events.emit('groupLeft', { group });
    const holds =
      'error: message 7 of orders/1 with the key "k" blocks the messages after it: its attempts are exhausted (slip) and its dead letter cannot be stored; retrying in 10 ms: KQ_AWAY: nobody answers';
    const leaves = 'warn: this process is out of the group shop and rejoins in 5 ms: KQ_AWAY: nobody answers';
    expect(lines()).toEqual([
      holds,
      leaves,
      holds,
      leaves,
      'log: this process has rejoined the group shop',
      leaves,
    ]);
  });

  it('reports rebalances at debug level', () => {
    const events = eventsAt();
    const [zero, one] = [0, 1].map((partition) => ({ topic: 'orders', partition }));
    events.emit('rebalanced', { group, partitions: [zero!, one!], assigned: [one!], lost: [] });
    events.emit('rebalanced', { group, partitions: [one!], assigned: [], lost: [zero!] });
    events.emit('rebalanced', { group, partitions: [one!], assigned: [], lost: [] });
    expect(lines()).toEqual([
      'debug: this process has 2 partitions of the group shop: +orders/1',
      'debug: this process has 1 partition of the group shop: -orders/0',
      'debug: this process has 1 partition of the group shop: unchanged',
    ]);
  });

  it('writes at the levels that were chosen, and makes no event for what is off', () => {
    const off = {
      retries: 'off',
      discards: 'off',
      deadLetters: 'debug',
      held: 'off',
      rebalances: 'off',
    } as const;
    const events = eventsAt({ ...off, groups: 'off', joins: 'off', pushes: 'log' });
    const heard = (name: KqEventName) => events.heard(name);
    const silent = ['failed', 'held', 'groupJoined', 'groupLeft', 'rebalanced', 'commitFailed'] as const;
    expect(silent.filter(heard)).toEqual([]);
    events.emit('died', { ...dead, why: 'attempts', topic: 'd' });
    events.emit('died', { ...dead, why: 'discarded', topic: 'd' });
    events.emit('pushFailed', { topic: 'orders', error: away });
    expect(lines()).toEqual([
      expect.stringMatching(/^debug: message 7 .*its attempts are exhausted: slip\nError: slip/),
      'log: a message for orders could not be pushed: KQ_AWAY: nobody answers',
    ]);
  });

  it('reports a listener that failed', () => {
    const events = eventsAt();
    events.listen(
      'pushed',
      () => {
        throw slip;
      },
      'Pager.pushed',
    );
    events.emit('pushed', { topic: 'orders', partition: 0, offset: '0' });
    expect(logger.lines).toEqual([
      { level: 'error', message: 'Pager.pushed at `pushed` failed: slip', stack: slip.stack },
    ]);
  });
});
