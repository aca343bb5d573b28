import { beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageOptions } from '../api/message.js';
import { DelaysPort } from '../delays/delays.js';
import type { LogDriver } from '../driver/driver.js';
import type { OutgoingMessage } from '../driver/message.js';
import { EventHub } from '../events/event-hub.js';
import type { PushHooks } from '../events/hooks.js';
import { systemClock } from 'nest-handlers/time';
import { LogPusher } from './log-pusher.js';
import { resolvePusherOptions } from './pusher-options.js';

/** The messages sent, in order. */
let sent: OutgoingMessage[];
beforeEach(() => {
  sent = [];
});

function open(hooks: PushHooks): LogPusher {
  const send = async (_topic: string, messages: readonly OutgoingMessage[]) =>
    messages.map((message) => ({ partition: 0, offset: BigInt(sent.push(message) - 1) }));
  const nothing = async () => undefined;
  const transaction = async () => ({ send, sendOffsets: nothing, commit: nothing, abort: nothing });
  const driver = { producer: () => ({ send, transaction, close: nothing }) } as unknown as LogDriver;
  const settings = resolvePusherOptions({ transactionalId: 'tx' });
  const events = new EventHub(() => undefined);
  return new LogPusher(driver, systemClock, settings, { events, hooks, delays: new DelaysPort() });
}

describe('the hooks of a LogPusher', () => {
  it('add headers to those of each message, and wrap each call', async () => {
    const notes: string[] = [];
    const pusher = open({
      onPush: (headers, { key }) => void (headers['tenant'] = `of ${String(key)}`),
      aroundPush: async ({ topic, count, many }, next) => {
        const result = await next();
        notes.push(`${topic} ${count} ${many}`);
        return result;
      },
    });
    await pusher.push('t', 1, { key: 'a', headers: { own: 'x', tenant: 'y' } });
    await pusher.pushMany('t', [{ value: 2, key: 'b' }, { value: 3 }]);
    await pusher.transaction((tx) => tx.push('t', 4, { key: 'd' }));
    expect(sent[0]!.headers).toEqual({ own: Buffer.from('x'), tenant: Buffer.from('of a') });
    const tenants = sent.slice(1).map(({ headers }) => String(headers!['tenant']));
    expect(tenants).toEqual(['of b', 'of undefined', 'of d']);
    expect(notes).toEqual(['t 1 false', 't 2 true', 't 1 false']);
  });

  it('keep the order of the pushes', async () => {
    const pusher = open({ aroundPush: (_call, next) => next() });
    await Promise.all([1, 2, 3].map((value) => pusher.push('t', value, { key: 'k' })));
    expect(sent.map(({ value }) => String(value))).toEqual(['1', '2', '3']);
  });

  it('fail a push by what they throw, and do not hide what is wrong with its options', async () => {
    const slip = new Error('no tenant');
    const pusher = open({
      onPush: () => {
        throw slip;
      },
    });
    await expect(pusher.push('t', 1)).rejects.toMatchObject({
      message: 'KQ_BAD_MESSAGE: a hook failed on a message for t: no tenant',
      cause: slip,
    });
    const [result] = await pusher.pushMany('t', [{ value: 1 }]);
    expect(result!.error!.cause).toBe(slip);
    for (const options of ['k', null, { headers: 'a' }] as unknown[])
      await expect(pusher.push('t', 1, options as MessageOptions)).rejects.toThrow(
        /KQ_BAD_MESSAGE.*expected/,
      );
    expect(sent).toEqual([]);
  });
});
