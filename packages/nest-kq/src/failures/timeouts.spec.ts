import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Handled } from '../../spec-support/handled.js';
import type { KqMessage } from '../api/received.js';

const slip = new Error('slip');

let handled: Handled;
beforeEach(() => {
  handled = new Handled();
});
afterEach(() => handled.close());

describe('the timeout of a handler', () => {
  it('aborts its signal and is a failure, whatever the handler returns then', async () => {
    const timers: (() => void)[] = [];
    await handled.consume(
      (value: number, { signal }: KqMessage) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(value));
          handled.tell('runs');
        }),
      { timeout: 50, deadLetter: 'drop', retry: { attempts: 1 }, timers },
    );
    await handled.push('1');
    await handled.untilTold(1);
    timers.shift()!();
    await handled.untilCommitted(1n);
    expect(handled.told).toEqual(['runs', '1 dropped: attempts']);
    expect(timers).toEqual([]);
  });

  it('does not wait forever for a handler that ignores its signal, and reports it', async () => {
    const timers: (() => void)[] = [];
    let seen: KqMessage | undefined;
    await handled.consume(
      (_: number, message: KqMessage) => {
        seen = message;
        handled.tell('runs');
        return new Promise(() => {});
      },
      { timeout: 50, deadLetter: 'drop', retry: { attempts: 1 }, timers },
    );
    await handled.push('1');
    await handled.untilTold(1);
    timers.shift()!();
    expect(seen!.signal.reason).toMatchObject({
      message: 'KQ_TIMEOUT: the handler of t exceeded its timeout of 50 ms',
    });
    timers.shift()!();
    await handled.untilCommitted(1n);
    expect(handled.told).toEqual(['runs', '1 overran', '1 dropped: attempts']);
  });
});

describe('a shutdown', () => {
  it('makes no failure of the runs it aborts', async () => {
    await handled.consume(
      (_: number, { signal }: KqMessage) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(slip));
          handled.tell('runs');
        }),
      { deadLetter: 'dead', retry: { attempts: 1 } },
    );
    await handled.push('1');
    await handled.untilTold(1);
    await handled.stop();
    await new Promise(setImmediate);
    expect(handled.told).toEqual(['runs']);
    expect(await handled.committed()).toBe(0n);
  });
});

describe('the signal of a run', () => {
  it.each([
    ['with a timeout', { timeout: '1m' }, 1],
    ['without a timeout', {}, 1],
    ['of a batch', {}, 2],
  ] as const)('is let go when the run has ended: %s', async (_how, options, size) => {
    const signals: AbortSignal[] = [];
    const handler = async (_: unknown, messages: KqMessage | readonly KqMessage[]) => {
      for (const { signal } of [messages].flat()) {
        signal.addEventListener('abort', () => handled.tell('aborted'));
        signals.push(signal);
      }
      if (signals.length < 4) return;
      handled.tell('the last one runs');
      await new Promise((resolve) => signals[3]!.addEventListener('abort', resolve));
    };
    await handled.consume(handler, { ...options, size, deadLetter: 'drop' });
    for (const value of ['1', '2', '3', '4']) await handled.push(value);
    await handled.untilTold(1);
    await handled.stop(); // which aborts all that it still knows
    expect(new Set(signals).size).toBe(4 / size);
    expect(signals.map(({ aborted }) => aborted)).toEqual(signals.map((each) => each === signals[3]));
  });

  it('is that of each run, of which the end of time aborts only its own', async () => {
    const timers: (() => void)[] = [];
    const signals: AbortSignal[] = [];
    await handled.consume(
      (_: number, { signal }: KqMessage) => {
        signals.push(signal);
        handled.tell('runs');
        return signals.length === 1 ? undefined : new Promise(() => {});
      },
      { timeout: 50, deadLetter: 'drop', retry: { attempts: 1 }, timers },
    );
    await handled.push('1', '2');
    await handled.untilTold(2);
    timers.shift()!();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
    timers.shift()!();
    await handled.untilCommitted(2n);
  });
});
