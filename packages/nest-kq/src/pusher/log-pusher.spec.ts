import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { MessageOptions } from '../api/message.js';
import { defineTopic } from '../api/topic.js';
import { DelaysPort } from '../delays/delays.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import type { LogMessage } from '../driver/message.js';
import { KqError } from '../errors.js';
import { EventHub } from '../events/event-hub.js';
import { systemClock } from 'nest-handlers/time';
import { LogPusher } from './log-pusher.js';
import { resolvePusherOptions, type PusherOptions } from './pusher-options.js';

const log = { debug: () => {}, warn: () => {}, error: () => {} };

let driver: MemoryDriver;
let pushers: LogPusher[];
let events: EventHub;
beforeEach(() => {
  driver = new MemoryDriver({ clock: systemClock, log, partitions: 1 });
  pushers = [];
  events = new EventHub((_who, error) => {
    throw error;
  });
});
afterEach(async () => {
  await Promise.all(pushers.map((pusher) => pusher.close()));
  await driver.close();
});

function open(options: PusherOptions = {}): LogPusher {
  const settings = resolvePusherOptions(options);
  const pusher = new LogPusher(driver, systemClock, settings, {
    events,
    hooks: {},
    delays: new DelaysPort(),
  });
  pushers.push(pusher);
  return pusher;
}

/** Resolves with the first messages of a topic. */
async function read(topic: string, count: number): Promise<readonly LogMessage[]> {
  const messages: LogMessage[] = [];
  let enough = () => {};
  const all = new Promise<void>((resolve) => (enough = resolve));
  const member = driver.member(
    { group: 'reader', topics: [topic], from: 'first' },
    {
      rejoining: async () => {},
      confirmed: () => {},
      assigned: () => {},
      failed: (error) => {
        throw error;
      },
      batch: (batch) => {
        messages.push(...batch.messages);
        if (messages.length >= count) enough();
      },
    },
  );
  await member.start();
  await all;
  await member.stop();
  return messages;
}

const valuesOf = (messages: readonly LogMessage[]) => messages.map(({ value }) => String(value));

/** Answers to later values sooner. */
const slow: StandardSchemaV1<number, number> = {
  '~standard': {
    version: 1,
    vendor: 'specs',
    validate: async (value) => {
      for (let turn = Number(value); turn < 5; turn++) await new Promise(setImmediate);
      return typeof value === 'number' && value >= 0 ? { value } : { issues: [{ message: 'no number' }] };
    },
  },
};

describe('LogPusher', () => {
  it('stores value, key, headers, partition and time, and says where in a way that JSON takes', async () => {
    await driver.admin.createTopics([{ topic: 'orders', partitions: 3 }]);
    const pushed = await open().push(
      'orders',
      { id: 7 },
      { key: 'k', headers: { tenant: 'ä', tags: ['a', Buffer.from('b')] }, partition: 2, timestamp: 5 },
    );
    expect(JSON.parse(JSON.stringify(pushed))).toEqual({ topic: 'orders', partition: 2, offset: '0' });
    expect(await read('orders', 1)).toEqual([
      {
        offset: 0n,
        timestamp: 5,
        key: Buffer.from('k'),
        value: Buffer.from('{"id":7}'),
        headers: { tenant: Buffer.from('ä'), tags: [Buffer.from('a'), Buffer.from('b')] },
      },
    ]);
  });

  it('stores what a format has, and tombstones', async () => {
    const pusher = open();
    const lines = defineTopic('lines', { format: 'text' });
    await pusher.push(lines, 'a');
    await pusher.push(lines, null, { key: 'k' });
    const [line, tombstone] = await read('lines', 2);
    expect(String(line!.value)).toBe('a');
    expect(tombstone).toMatchObject({ value: null, key: Buffer.from('k') });
  });

  it('keeps the order of pushes whose format answers later, and stores nothing that it cannot encode now', async () => {
    const turns: Record<string, number> = { a: 3, b: 1, c: 2 };
    const encode = async (value: string) => {
      for (let turn = turns[value] ?? 0; turn > 0; turn--) await new Promise(setImmediate);
      if (value === 'b') throw new KqError('KQ_REGISTRY', 'away');
      return Buffer.from(value);
    };
    const topic = defineTopic('lines', { format: { name: 'own', encode, decode: String } });
    const pusher = open();
    const pushes = ['a', 'b', 'c'].map((value) => pusher.push(topic, value));
    const results = await Promise.allSettled(pushes);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'KQ_REGISTRY', indeterminate: false } });
    expect(valuesOf(await read('lines', 2))).toEqual(['a', 'c']);
  });

  it.each<[unknown, unknown, string]>([
    [undefined, {}, 'the value is undefined: expected a value'],
    [1, { key: undefined }, '`key` is undefined: expected a string or a Buffer, or no `key` at all'],
    [1, { key: 5 }, '`key` is 5: expected'],
    [
      1,
      { kye: 'a' },
      'there is no `kye` in the options of a message: expected one of key, headers, partition',
    ],
    [1, { headers: new Map([['a', 'b']]) }, '`headers` is Map'],
    [1, { headers: new Headers({ a: 'b' }) }, '`headers` is Headers'],
    [1, { headers: { a: '\ud800' } }, "the header 'a' is '"],
    [1, { key: '\ud800' }, "`key` is '"],
    [1, { headers: 'a' }, "`headers` is 'a': expected an object of names and values"],
    [
      1,
      { headers: { a: undefined } },
      "the header 'a' is undefined: expected a string or a Buffer, or a non-empty list",
    ],
    [1, { headers: { a: [] } }, "the header 'a' is []: expected"],
    [1, { headers: { a: ['b', 5] } }, "a value of the header 'a' is 5: expected a string or a Buffer"],
    [1, { partition: -1 }, '`partition` is -1: expected a whole number from 0 to 2147483647'],
    [1, { partition: 1 }, 'the partition of t is 1: expected 0 to 0'],
    [1, { timestamp: 1.5 }, '`timestamp` is 1.5: expected a whole number from 0'],
    [1, 'k', "the options of a message are 'k': expected an object with key, headers, partition, timestamp"],
  ])('refuses %p with %p, alone and as one of many', async (value, options, why) => {
    const pusher = open();
    const pushing = pusher.push('t', value, options as MessageOptions);
    await expect(pushing).rejects.toThrow(`KQ_BAD_MESSAGE: ${why}`);
    if (typeof options !== 'object') return;
    const results = await pusher.pushMany('t', [{ value: 1 }, { value, ...options }, { value: 2 }]);
    expect(results.map(({ error }) => error?.message.includes(why) ?? 'stored')).toEqual([
      'stored',
      true,
      'stored',
    ]);
  });

  it('refuses a wrong topic, and a list that is none, before anything is stored', async () => {
    const pusher = open();
    await expect(pusher.push('a b', 1)).rejects.toThrow("KQ_BAD_TOPIC: the topic is 'a b'");
    const pushMany = (messages: unknown) => pusher.pushMany('t', messages as []);
    await expect(pushMany(5)).rejects.toThrow('the list of messages is 5: expected an array');
    await expect(pushMany([{ value: 1 }, 5])).rejects.toThrow(
      'message 1 of the list is 5: expected an object with `value`',
    );
    expect(await driver.admin.topics()).toEqual([]);
  });

  it('answers to each of many in their order, even where they are more than may wait', async () => {
    const pusher = open({ buffer: { messages: 7 }, requestBytes: 200 });
    const messages = Array.from({ length: 100 }, (_, index) => ({ value: index }));
    const [results, others] = await Promise.all([
      pusher.pushMany('t', messages),
      pusher.pushMany('u', messages),
      pusher.flush(),
    ]);
    expect(results.map(({ pushed }) => pushed!.offset)).toEqual(messages.map((_, index) => String(index)));
    expect(others.map(({ pushed }) => pushed!.topic)).toEqual(messages.map(() => 'u'));
    expect(valuesOf(await read('t', 100))).toEqual(messages.map(({ value }) => String(value)));
    expect(await pusher.pushMany('t', [])).toEqual([]);
  });

  it('keeps the order of calls although a schema answers to later ones sooner', async () => {
    const pusher = open();
    const checked = defineTopic('t', { schema: slow });
    const pushes = [
      pusher.push(checked, 1),
      pusher.push(checked, -2),
      pusher.push(checked, 3),
      pusher.push('t', 4),
      pusher.pushMany(checked, [{ value: 2 }, { value: 5 }]),
      pusher.flush(),
    ];
    const settled = await Promise.allSettled(pushes);
    expect(settled.map(({ status }) => status === 'fulfilled')).toEqual([
      true,
      false,
      true,
      true,
      true,
      true,
    ]);
    expect(settled[1]).toMatchObject({
      reason: { code: 'KQ_BAD_MESSAGE', issues: [{ message: 'no number' }] },
    });
    expect(valuesOf(await read('t', 5))).toEqual(['1', '3', '4', '2', '5']);
  });

  it('reports when the schema itself fails', async () => {
    const cause = new TypeError('slip');
    const validate = () => {
      throw cause;
    };
    const schema: StandardSchemaV1 = { '~standard': { version: 1, vendor: 'specs', validate } };
    const pushing = open().push(defineTopic('t', { schema }), 1);
    await expect(pushing).rejects.toMatchObject({
      message: "KQ_BAD_MESSAGE: the schema of 't' failed: slip",
      cause,
    });
  });

  it('stores what was pushed before its close, and nothing after it', async () => {
    const pusher = open({ transactionalId: 'x' });
    const before = [pusher.push('t', 1), pusher.push(defineTopic('t', { schema: slow }), 2)];
    const closed = pusher.close();
    await expect(pusher.push('t', 3)).rejects.toThrow('KQ_CLOSED: the pusher is closed');
    await expect(pusher.pushMany('t', [])).rejects.toThrow('KQ_CLOSED');
    await expect(pusher.transaction(async () => {})).rejects.toThrow('KQ_CLOSED');
    await closed;
    await Promise.all(before);
    await pusher.close();
    await open().push('t', 4);
    expect(valuesOf(await read('t', 3))).toEqual(['1', '2', '4']);
  });
});

describe('LogPusher.transaction', () => {
  it('stores all at its end, and gives what its work returns', async () => {
    const pusher = open({ transactionalId: 'x' });
    const result = await pusher.transaction(async (tx) => {
      await tx.push('t', 1);
      await pusher.push('u', 'outside');
      const [second] = await tx.pushMany('t', [{ value: 2 }, { value: 3 }]);
      void tx.push('t', 4);
      expect((await driver.admin.ends('t'))[0]).toMatchObject({ end: 0n });
      return second!.offset;
    });
    expect(result).toBe('1');
    expect(valuesOf(await read('t', 4))).toEqual(['1', '2', '3', '4']);
  });

  it('stores nothing when its work throws, or a push fails that nobody awaits', async () => {
    const pusher = open({ transactionalId: 'x' });
    const slip = new Error('slip');
    const throwing = pusher.transaction(async (tx) => {
      await tx.push('t', 1);
      throw slip;
    });
    await expect(throwing).rejects.toBe(slip);
    const failing = pusher.transaction(async (tx) => {
      void tx.push('t', 2);
      void tx.push('t', 3, { partition: 9 });
    });
    await expect(failing).rejects.toThrow('KQ_BAD_MESSAGE: the partition of t is 9');
    const refused = pusher.transaction(async (tx) => {
      await tx.pushMany('t', [{ value: 4 }, { value: undefined }]);
    });
    await expect(refused).rejects.toThrow('KQ_BAD_MESSAGE: the value is undefined');
    const later = pusher.transaction((tx) => tx.push('t', 5, { delay: 1 } as object));
    await expect(later).rejects.toThrow('KQ_BAD_MESSAGE: `delay` and `at` work only with `push`');
    await pusher.transaction((tx) => tx.push('t', 5));
    expect(valuesOf(await read('t', 1))).toEqual(['5']);
  });

  it('takes no push after its end', async () => {
    const pusher = open({ transactionalId: 'x' });
    const tx = await pusher.transaction(async (each) => each);
    await expect(tx.push('t', 1)).rejects.toThrow('KQ_TRANSACTION: the transaction has ended');
  });

  it('waits for the one before, and refuses to wait for the one around it', async () => {
    const pusher = open({ transactionalId: 'x' });
    const order: string[] = [];
    await Promise.all(
      ['first', 'second'].map((name) =>
        pusher.transaction(async (tx) => {
          order.push(`${name} begins`);
          await tx.push('t', name);
          order.push(`${name} ends`);
        }),
      ),
    );
    expect(order).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
    const nested = pusher.transaction(() => pusher.transaction(async () => {}));
    await expect(nested).rejects.toThrow('KQ_TRANSACTION: it was started inside another transaction');
  });

  it('is refused without a transactional id, or without work', async () => {
    await expect(open().transaction(async () => {})).rejects.toThrow(
      'KQ_CONFIG: transactionalId is undefined: transactions need a name',
    );
    const wrong: unknown = 5;
    await expect(open().transaction(wrong as () => Promise<void>)).rejects.toThrow(
      'KQ_BAD_OPTION: the work of a transaction is 5: expected an async function',
    );
  });
});
