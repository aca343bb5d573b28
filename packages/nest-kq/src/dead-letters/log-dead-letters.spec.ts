import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import type { LogAdmin } from '../driver/driver.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import type { OutgoingMessage } from '../driver/message.js';
import { partitionOf } from '../driver/partitioning.js';
import { KqError } from '../errors.js';
import { LogDeadLetters } from './log-dead-letters.js';

const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };
const DEAD = 'orders.dead';

let driver: MemoryDriver;
let lines: string[];
let letters: LogDeadLetters;
let send: (topic: string, messages: readonly OutgoingMessage[]) => ReturnType<typeof plainSend>;
beforeEach(async () => {
  driver = new MemoryDriver({ clock: systemClock, log: silent, autoCreate: false, partitions: 1 });
  await driver.admin.createTopics([{ topic: 'orders' }, { topic: DEAD, partitions: 2 }]);
  lines = [];
  send = plainSend;
  letters = newProcess();
});
afterEach(() => driver.close());

function plainSend(topic: string, messages: readonly OutgoingMessage[]) {
  return driver.producer().send(topic, messages);
}

/** The admin of the current driver, looked up on each call. */
const adminNow = new Proxy({} as LogAdmin, {
  get: (_, name) => Reflect.get(driver.admin, name).bind(driver.admin),
});

/** Knows nothing of what others have read. */
function newProcess(admin = adminNow): LogDeadLetters {
  const producer = { send: (...given: Parameters<typeof send>) => send(...given) };
  return new LogDeadLetters(admin, producer, (line) => lines.push(line));
}

/** The log while a broker is away: this partition of these topics has no leader, and whoever asks about it asks in vain. */
function leaderless(partition: number, ...topics: readonly string[]): LogAdmin {
  const refuse = (topic: string, asked?: readonly number[]) => {
    if (topics.includes(topic) && (asked?.includes(partition) ?? true))
      throw new KqError('KQ_AWAY', 'asked about a partition without a leader');
  };
  return {
    topics: () => driver.admin.topics(),
    createTopics: (...given) => driver.admin.createTopics(...given),
    committed: (...given) => driver.admin.committed(...given),
    setCommitted: (...given) => driver.admin.setCommitted(...given),
    endsOfLed: async (topic) => {
      const ends = await driver.admin.endsOfLed(topic);
      return topics.includes(topic) ? ends.with(partition, undefined) : ends;
    },
    ends: async (topic) => {
      refuse(topic);
      return driver.admin.ends(topic);
    },
    offsetsAt: async (topic, time, asked) => {
      refuse(topic, asked);
      return driver.admin.offsetsAt(topic, time, asked);
    },
    read: async (topic, asked, offset) => {
      refuse(topic, [asked]);
      return driver.admin.read(topic, asked, offset);
    },
    readFrom: async (topic, asked, ...range) => {
      refuse(topic, [asked]);
      return driver.admin.readFrom(topic, asked, ...range);
    },
  };
}

interface Letter {
  readonly value?: string | Buffer;
  readonly key?: string | null;
  readonly partition?: number;
  readonly at?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

let died = 0;
beforeEach(() => {
  died = 0;
});

/** Each dies a second after the one before, from 1 s on. */
async function bury(...all: readonly Letter[]): Promise<void> {
  for (const { value = 'v', key = 'k', partition = 0, at = 1_000 * ++died, headers = {} } of all) {
    const said = {
      'kq-topic': 'orders',
      'kq-partition': '0',
      'kq-offset': '7',
      'kq-timestamp': '5',
      'kq-group': 'shop',
      'kq-attempts': '3',
      'kq-why': 'attempts',
      'kq-error-name': 'TypeError',
      'kq-error-message': 'no stock',
      'kq-error-stack': 'TypeError: no stock\n  at a',
      ...headers,
    };
    const [sent] = await plainSend(DEAD, [
      {
        partition,
        key: key === null ? null : Buffer.from(key),
        value: Buffer.from(value),
        timestamp: at,
        headers: Object.fromEntries(Object.entries(said).map(([name, text]) => [name, Buffer.from(text)])),
      },
    ]);
    if (sent instanceof Error) throw sent;
  }
}

async function listed(process = letters, options = {}): Promise<string[]> {
  const { letters: found } = await process.list(DEAD, options);
  return found.map(({ partition, offset }) => `${partition}/${offset}`);
}

/** All pages, by the process that is given for each. */
async function pages(limit: number, processOf: () => LogDeadLetters): Promise<string[][]> {
  const all: string[][] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await processOf().list(DEAD, { limit, ...(cursor !== undefined && { cursor }) });
    all.push(page.letters.map(({ partition, offset }) => `${partition}/${offset}`));
    cursor = page.cursor;
  }
  return all;
}

/** The messages of the topic, in order. */
function stored(topic = 'orders') {
  return driver.stored(topic).map(({ message }) => ({
    value: String(message.value),
    key: message.key?.toString(),
    headers: Object.fromEntries(
      Object.entries(message.headers).map(([name, value]) => [name, String(value)]),
    ),
  }));
}

describe('KqDeadLetters.list', () => {
  it('gives what is known of each letter, the newest of all partitions first', async () => {
    await bury({ value: 'one' }, { partition: 1, key: null }, {});
    const page = await letters.list(DEAD);
    expect(page.cursor).toBeUndefined();
    expect(page.letters.map(({ partition, offset }) => `${partition}/${offset}`)).toEqual([
      '0/1',
      '1/0',
      '0/0',
    ]);
    expect(page.letters[2]).toEqual({
      partition: 0,
      offset: '0',
      origin: { topic: 'orders', partition: 0, offset: '7' },
      group: 'shop',
      key: 'k',
      diedAt: new Date(1_000),
      why: 'attempts',
      attempts: 3,
      error: { name: 'TypeError', message: 'no stock' },
      valueBytes: 3,
    });
  });

  it('leaves out records that are not letters', async () => {
    await plainSend(DEAD, [{ key: null, value: Buffer.from('x'), partition: 0 }]);
    await bury({}, { headers: { 'kq-due': '7' } }); // the second one waits in a retry topic
    expect(await listed()).toEqual(['0/1']);
    expect(await letters.replay(DEAD, {})).toMatchObject({ count: 1 });
  });

  it.each([
    ['the process that returned the previous page', false],
    ['another process', true],
  ])('continues where a page has ended, by %s', async (_name, isOther) => {
    for (let count = 0; count < 12; count++) await bury({ partition: count % 2 });
    await letters.discard(DEAD, { partition: 0, offset: 1 });
    await letters.discard(DEAD, { partition: 1, offset: 5 });
    const all = await pages(3, () => (isOther ? newProcess() : letters));
    expect(all.flat()).toEqual(['0/5', '1/4', '0/4', '1/3', '0/3', '1/2', '0/2', '1/1', '1/0', '0/0']);
    expect(Math.max(...all.map(({ length }) => length))).toBe(3);
  });

  it('lists no letter twice and misses none, while some are resolved between pages and others come', async () => {
    for (let count = 0; count < 8; count++) await bury({});
    const first = await letters.list(DEAD, { limit: 3 });
    await bury({}, {});
    await newProcess().discard(DEAD, { partition: 0, offset: 2 });
    const second = await letters.list(DEAD, { cursor: first.cursor! });
    expect(second.letters.map(({ offset }) => offset)).toEqual(['4', '3', '1', '0']);
    expect(await listed()).toEqual(['0/9', '0/8', '0/7', '0/6', '0/5', '0/4', '0/3', '0/1', '0/0']);
  });

  it('reads enough for a page, and not the whole topic', async () => {
    const messages = Array.from({ length: 3_000 }, (_, count) => ({
      partition: 0,
      key: null,
      value: Buffer.alloc(1_000),
      timestamp: count,
      headers: { 'kq-topic': Buffer.from('orders') },
    }));
    await plainSend(DEAD, messages);
    let read = 0;
    const admin: LogAdmin = Object.create(driver.admin, {
      readFrom: {
        value: async (...given: Parameters<LogAdmin['readFrom']>) => {
          const answer = await driver.admin.readFrom(...given);
          read += answer.messages.length;
          return answer;
        },
      },
    });
    const page = await newProcess(admin).list(DEAD, { limit: 10 });
    expect(page.letters[0]).toMatchObject({ offset: '2999' });
    expect(page.letters).toHaveLength(10);
    // One read gives what comes in a megabyte.
    expect(read).toBeLessThan(1_100);
  });

  it('ends a page of a filter that finds nothing, with a cursor to continue from', async () => {
    const messages = Array.from({ length: 60_000 }, (_, count) => ({
      partition: 0,
      key: null,
      value: null,
      timestamp: count,
      headers: { 'kq-topic': Buffer.from(count === 0 ? 'first' : 'orders') },
    }));
    await plainSend(DEAD, messages);
    const filter = { topic: 'first' };
    const page = await letters.list(DEAD, { filter });
    expect(page).toEqual({ letters: [], cursor: expect.any(String) });
    const next = await letters.list(DEAD, { filter, cursor: page.cursor! });
    expect(next).toEqual({ letters: [expect.objectContaining({ offset: '0' })] });
  });

  it('takes no letter for resolved after its topic was deleted and made again', async () => {
    await bury({}, {});
    await letters.discard(DEAD, {});
    expect(await listed()).toEqual([]);
    const before = driver;
    driver = new MemoryDriver({ clock: systemClock, log: silent, partitions: 2 });
    died = 100;
    for (let count = 0; count < 5; count++) await bury({});
    expect(await listed()).toEqual(['0/4', '0/3', '0/2', '0/1', '0/0']);
    await before.close();
  });

  it.each([
    [{ error: 'stock' }, ['0/1', '0/0']],
    [{ error: 'rangeERROR' }, ['0/2']],
    [{ topic: 'mails' }, ['0/1']],
    [{ group: 'ship' }, ['0/2']],
    [{ key: 'ä' }, ['0/0']],
    [{ from: new Date(2_000) }, ['0/2', '0/1']],
    [{ to: new Date(2_000) }, ['0/0']],
    [{ from: new Date(2_000), to: new Date(3_000), topic: 'mails' }, ['0/1']],
    [{ error: 'stock', group: 'ship' }, []],
    [{}, ['0/2', '0/1', '0/0']],
  ])('finds by the filter %j', async (filter, found) => {
    await bury(
      { key: 'ä' },
      { headers: { 'kq-topic': 'mails' } },
      { headers: { 'kq-group': 'ship', 'kq-error-name': 'RangeError', 'kq-error-message': 'too far' } },
    );
    expect(await listed(letters, { filter })).toEqual(found);
    expect(await letters.replay(DEAD, filter, { dryRun: true })).toMatchObject({ count: found.length });
  });
});

describe('KqDeadLetters.get', () => {
  it('gives the message as it was, and says whether it is resolved', async () => {
    await bury({ value: Buffer.from([0xff]), headers: { tenant: 'a' } });
    const letter = await letters.get(DEAD, { partition: 0, offset: '0' });
    expect(letter).toMatchObject({
      value: Buffer.from([0xff]),
      timestamp: 5,
      error: { stack: 'TypeError: no stock\n  at a' },
      resolved: false,
    });
    expect(Object.entries(letter!.headers)).toEqual([['tenant', Buffer.from('a')]]);
    await letters.discard(DEAD, { partition: 0, offset: 0n });
    expect(await newProcess().get(DEAD, { partition: 0, offset: 0 })).toMatchObject({ resolved: true });
  });

  it('finds nothing where there is no letter', async () => {
    await bury({});
    await letters.discard(DEAD, {});
    expect(await letters.get(DEAD, { partition: 0, offset: 1 })).toBeUndefined(); // what resolves the other one
    expect(await letters.get(DEAD, { partition: 0, offset: 9 })).toBeUndefined();
  });
});

describe('KqDeadLetters.replay', () => {
  it('stores messages as they were, in their order and once', async () => {
    await bury({ value: '1', headers: { tenant: 'a' } }, { value: '2' }, { value: '3' });
    expect(await letters.replay(DEAD, {})).toMatchObject({ count: 3, failed: 0, failures: [] });
    expect(stored()).toEqual([
      { value: '1', key: 'k', headers: { tenant: 'a' } },
      { value: '2', key: 'k', headers: {} },
      { value: '3', key: 'k', headers: {} },
    ]);
    expect(await listed()).toEqual([]);
    for (const process of [letters, newProcess()])
      expect(await process.replay(DEAD, {})).toMatchObject({ count: 0 });
    expect(stored()).toHaveLength(3);
    expect(lines).toEqual(['replayed 3 dead letters of orders.dead']);
  });

  it('only counts and shows some in a dry run', async () => {
    for (let count = 0; count < 9; count++) await bury({});
    const found = await letters.replay(DEAD, {}, { dryRun: true });
    expect(found).toMatchObject({ count: 9, failed: 0 });
    expect(found.examples.map(({ offset }) => offset)).toEqual(['8', '7', '6', '5', '4']);
    expect(stored()).toEqual([]);
    expect(await letters.replay(DEAD, {}, { dryRun: true, limit: 4 })).toMatchObject({ count: 4 });
    expect(await letters.replay(DEAD, { partition: 0, offset: 3 }, { dryRun: true })).toMatchObject({
      count: 1,
      examples: [{ offset: '3' }],
    });
    expect(await listed()).toHaveLength(9);
    expect(lines).toEqual([]);
  });

  it('takes one, or some, the oldest first', async () => {
    for (const value of ['1', '2', '3', '4', '5']) await bury({ value });
    expect(await letters.replay(DEAD, { partition: 0, offset: '3' })).toMatchObject({ count: 1 });
    expect(await letters.replay(DEAD, { partition: 0, offset: '3' })).toMatchObject({
      count: 0,
      examples: [],
    });
    expect(await letters.replay(DEAD, { group: 'shop' }, { limit: 2 })).toMatchObject({ count: 2 });
    expect(stored().map(({ value }) => value)).toEqual(['4', '1', '2']);
    expect(await listed()).toEqual(['0/4', '0/2']);
  });

  it('leaves letters that die again meanwhile to the next replay', async () => {
    await bury({ value: '1' }, { value: '2' });
    send = async (topic, messages) => {
      if (topic === 'orders') await bury(...messages.map(({ value }) => ({ value: value! })));
      return plainSend(topic, messages);
    };
    expect(await letters.replay(DEAD, {})).toMatchObject({ count: 2 });
    send = plainSend;
    expect(await letters.replay(DEAD, {})).toMatchObject({ count: 2 });
  });

  it('keeps a letter whose message could not be stored, and continues with the others', async () => {
    await bury({ headers: { 'kq-topic': 'gone' } }, {}, { headers: { 'kq-topic': 'gone' } });
    const done = await letters.replay(DEAD, {});
    expect(done).toMatchObject({ count: 1, failed: 2 });
    expect(done.failures).toMatchObject([
      { partition: 0, offset: '0', error: { code: 'KQ_UNKNOWN_TOPIC' } },
      { partition: 0, offset: '2', error: { code: 'KQ_UNKNOWN_TOPIC' } },
    ]);
    expect(await listed()).toEqual(['0/2', '0/0']);
    expect(lines).toEqual(['replayed 1 dead letters of orders.dead; 2 failed and stay']);
  });

  it('stops while brokers are away, and resumes with the rest', async () => {
    await bury({ value: '1' }, { value: '2' }, { value: '3' });
    send = async (topic, messages) => {
      if (topic !== 'orders') return plainSend(topic, messages);
      const sent = await plainSend(topic, messages.slice(0, 1));
      return [sent[0]!, ...messages.slice(1).map(() => new KqError('KQ_AWAY', 'no broker'))];
    };
    await expect(letters.replay(DEAD, {})).rejects.toMatchObject({ code: 'KQ_AWAY' });
    expect(await listed()).toEqual(['0/2', '0/1']);
    send = plainSend;
    await letters.replay(DEAD, {});
    expect(stored().map(({ value }) => value)).toEqual(['1', '2', '3']);
  });

  it('loses no letter where a message is stored and its letter cannot be marked', async () => {
    await bury({ value: '1' });
    send = async (topic, messages) =>
      topic === DEAD ? [new KqError('KQ_AWAY', 'no broker')] : plainSend(topic, messages);
    await expect(letters.replay(DEAD, {})).rejects.toThrow(
      'KQ_AWAY: 1 letters of orders.dead were stored again, but could not be marked as replayed, so they may appear again: no broker',
    );
    expect(await listed()).toEqual(['0/0']);
  });

  it('repeats nothing that another replay has done meanwhile', async () => {
    const messages = Array.from({ length: 1_200 }, (_, count) => ({ value: String(count) }));
    await bury(...messages);
    let others = 0;
    send = async (topic, sent) => {
      if (topic === 'orders' && others++ === 0)
        await newProcess().discard(DEAD, { partition: 0, offset: 900 });
      return plainSend(topic, sent);
    };
    expect(await letters.replay(DEAD, {})).toMatchObject({ count: 1_199 });
    expect(stored().some(({ value }) => value === '900')).toBe(false);
  });

  it('addresses only the group that failed, once that group reads the topic', async () => {
    await driver.admin.setCommitted('shop', 'orders', [{ partition: 0, offset: 0n }]);
    await bury({ value: '1' }, { value: '2', headers: { 'kq-group': 'past' } });
    const done = await letters.replay(DEAD, {}, { groups: 'failed' });
    expect(done).toMatchObject({ count: 1, failed: 1 });
    expect(done.failures[0]!.error.message).toBe(
      "KQ_BAD_OPTION: the group past has committed no offsets of orders, so no group would handle the message: expected `groups: 'all'`",
    );
    expect(stored()).toEqual([{ value: '1', key: 'k', headers: { 'kq-for': 'shop' } }]);
  });
});

describe('KqDeadLetters.discard', () => {
  it('gives up letters, and stores nothing in their topics', async () => {
    await bury({}, { key: 'other' }, {});
    expect(await letters.discard(DEAD, { key: 'k' })).toMatchObject({ count: 2 });
    expect(await listed()).toEqual(['0/1']);
    expect(stored()).toEqual([]);
    expect(lines).toEqual(['discarded 2 dead letters of orders.dead']);
  });

  it('marks letters by a record with a key of its own, for no group, after them in their partition', async () => {
    await bury({ partition: 1 });
    await letters.discard(DEAD, {});
    const [, record] = driver.stored(DEAD);
    expect(record).toMatchObject({ partition: 1, message: { offset: 1n } });
    expect(stored(DEAD)[1]).toMatchObject({
      key: expect.stringMatching(/^kq-resolved:[0-9a-f-]{36}$/),
      value: '{"offsets":["0"]}',
      headers: { 'kq-resolved': 'discarded', 'kq-for': '' },
    });
  });

  it('ignores records that are not its own', async () => {
    await bury({}, {});
    const header = { 'kq-resolved': Buffer.from('replayed') };
    for (const value of [
      '',
      '{',
      'null',
      '{"offsets":7}',
      '{"offsets":["x",null,{"a":1}]}',
      '{"offsets":["99"]}',
    ])
      await plainSend(DEAD, [{ key: null, value: Buffer.from(value), headers: header, partition: 0 }]);
    for (let count = 0; count < 100; count++) await bury({});
    expect(await listed(letters, { limit: 1_000 })).toHaveLength(102);
  });
});

describe('KqDeadLetters', () => {
  it.each<[string, (topic: string) => Promise<unknown>, RegExp]>([
    ['no limit', (topic) => letters.list(topic, { limit: 0 }), /KQ_BAD_OPTION: `limit` is 0: expected/],
    [
      'no cursor',
      (topic) => letters.list(topic, { cursor: 'x' }),
      /KQ_BAD_OPTION: `cursor` is 'x': expected/,
    ],
    [
      'an unknown option',
      (topic) => letters.list(topic, { size: 1 } as never),
      /KQ_BAD_OPTION: there is no `size`/,
    ],
    [
      'an unknown field',
      (topic) => letters.replay(topic, { name: 'x' } as never),
      /KQ_BAD_OPTION: there is no `name` in the options of a dead-letter filter/,
    ],
    [
      'no filter',
      (topic) => letters.discard(topic, undefined as never),
      /KQ_BAD_OPTION: the options of a dead-letter filter/,
    ],
    [
      'no time',
      (topic) => letters.discard(topic, { from: 'yesterday' } as never),
      /KQ_BAD_OPTION: `from` is 'yesterday': expected a valid Date/,
    ],
    [
      'no offset',
      (topic) => letters.get(topic, { partition: 0, offset: 'x' }),
      /KQ_BAD_OPTION: `offset` is 'x': expected/,
    ],
    [
      'a part of a place',
      (topic) => letters.discard(topic, { partition: 0 } as never),
      /KQ_BAD_OPTION: `offset` is undefined/,
    ],
    [
      'no groups',
      (topic) => letters.replay(topic, {}, { groups: 'shop' } as never),
      /KQ_BAD_OPTION: `groups` is 'shop': expected 'all' or 'failed'/,
    ],
    [
      '`groups` in a discard',
      (topic) => letters.discard(topic, {}, { groups: 'failed' } as never),
      /KQ_BAD_OPTION: there is no `groups`/,
    ],
    ['a missing topic', () => letters.list('none'), /KQ_UNKNOWN_TOPIC/],
    ['a wrong name', () => letters.list('a b'), /KQ_BAD_TOPIC/],
  ])('refuses %s', async (_name, call, expected) => {
    await bury({});
    await expect((async () => call(DEAD))()).rejects.toThrow(expected);
    expect(await listed()).toEqual(['0/0']);
  });
});

describe('KqDeadLetters while a partition has no leader', () => {
  it('lists those of the others, and names it, even with a filter by time', async () => {
    await bury({}, { partition: 1 }, {});
    for (const filter of [{}, { from: new Date(1_000) }]) {
      const page = await newProcess(leaderless(1, DEAD)).list(DEAD, { filter });
      expect(page.letters.map(({ partition, offset }) => `${partition}/${offset}`)).toEqual(['0/1', '0/0']);
      expect(page).toMatchObject({ leaderless: [1] });
      expect(page).not.toHaveProperty('cursor');
    }
    expect(await letters.list(DEAD)).not.toHaveProperty('leaderless');
  });

  it('reads that partition from its end once it has a leader, if no page has read it yet', async () => {
    await bury({}, { partition: 1 }, {}, { partition: 1 });
    const away = newProcess(leaderless(1, DEAD));
    const first = await away.list(DEAD, { limit: 1 });
    expect(first).toMatchObject({ letters: [{ partition: 0, offset: '1' }], leaderless: [1] });
    const second = await away.list(DEAD, { limit: 1, cursor: first.cursor! });
    expect(second).toMatchObject({ letters: [{ partition: 0, offset: '0' }], leaderless: [1] });
    expect(await listed(newProcess(), { cursor: first.cursor! })).toEqual(['1/1', '1/0', '0/0']);
  });

  it('continues in that partition where an earlier page ended', async () => {
    await bury({}, { partition: 1 }, {}, { partition: 1 });
    const first = await letters.list(DEAD, { limit: 1 });
    expect(first).toMatchObject({ letters: [{ partition: 1, offset: '1' }] });
    const away = newProcess(leaderless(1, DEAD));
    const second = await away.list(DEAD, { limit: 1, cursor: first.cursor! });
    expect(second).toMatchObject({ letters: [{ partition: 0, offset: '1' }], leaderless: [1] });
    expect(await listed(newProcess(), { cursor: second.cursor! })).toEqual(['1/0', '0/0']);
  });

  it('does not name it on a page after its last letter', async () => {
    await bury({}, {}, { partition: 1 });
    const first = await letters.list(DEAD, { limit: 2 });
    expect(first.letters).toHaveLength(2);
    const second = await newProcess(leaderless(1, DEAD)).list(DEAD, { cursor: first.cursor! });
    expect(second).toEqual({ letters: [expect.objectContaining({ partition: 0, offset: '0' })] });
  });

  it('is away where none has one', async () => {
    await driver.admin.createTopics([{ topic: 'dead', partitions: 1 }]);
    const away = newProcess(leaderless(0, 'dead'));
    for (const call of [away.list('dead'), away.replay('dead', {}), away.discard('dead', {})])
      await expect(call).rejects.toThrow('KQ_AWAY: dead/0 has no leader');
  });

  it('shows, replays and discards a letter of another one, and says why not one of its own', async () => {
    await bury({ value: 'a' }, { partition: 1 }, { value: 'c' });
    const away = newProcess(leaderless(1, DEAD));
    expect(await away.get(DEAD, { partition: 0, offset: 0 })).toMatchObject({ resolved: false });
    expect(await away.get(DEAD, { partition: 0, offset: 9 })).toBeUndefined();
    const one = await away.replay(DEAD, { partition: 0, offset: 0 });
    expect(one).toMatchObject({ count: 1 });
    expect(one).not.toHaveProperty('leaderless');
    expect(await away.discard(DEAD, { partition: 0, offset: 2 })).toMatchObject({ count: 0 });
    const own = { partition: 1, offset: 0 };
    for (const call of [away.get(DEAD, own), away.replay(DEAD, own), away.discard(DEAD, own)])
      await expect(call).rejects.toThrow(`KQ_AWAY: ${DEAD}/1 has no leader`);
    expect(stored()).toMatchObject([{ value: 'a' }]);
  });

  it('replays by filter those of the others, and names what it left out', async () => {
    await bury({ value: '1' }, { partition: 1, value: '2' }, { value: '3' });
    const away = newProcess(leaderless(1, DEAD));
    const filter = { from: new Date(1_000) };
    expect(await away.replay(DEAD, filter, { dryRun: true })).toMatchObject({ count: 2, leaderless: [1] });
    expect(await away.replay(DEAD, filter)).toMatchObject({ count: 2, failed: 0, leaderless: [1] });
    expect(stored().map(({ value }) => value)).toEqual(['1', '3']);
    expect(lines).toEqual([`replayed 2 dead letters of ${DEAD}; skipped: ${DEAD}/1 has no leader`]);
    expect(await listed()).toEqual(['1/0']);
    expect(await newProcess().discard(DEAD, {})).toEqual(
      expect.not.objectContaining({ leaderless: expect.anything() }),
    );
  });

  it('replays what can be stored where a topic of messages lacks one, and waits for none', async () => {
    await driver.admin.createTopics([{ topic: 'mails', partitions: 2 }]);
    const origin = { 'kq-topic': 'mails' };
    const [zero, one] = [0, 1].map((wanted) =>
      Array.from({ length: 20 }, (_, n) => `k${n}`).find(
        (key) => partitionOf(Buffer.from(key), 2) === wanted,
      ),
    );
    await bury(
      { key: one!, headers: origin },
      { key: zero!, headers: origin },
      {},
      { key: null, headers: origin },
    );
    const sent: string[] = [];
    send = async (topic, messages) => {
      sent.push(...messages.map(({ key }) => `${topic} ${key?.toString()}`));
      return plainSend(topic, messages);
    };
    const done = await newProcess(leaderless(1, 'mails')).replay(DEAD, {});
    expect(done).toMatchObject({ count: 3, failed: 1 });
    expect(done.failures).toMatchObject([{ partition: 0, offset: '0', error: { code: 'KQ_AWAY' } }]);
    expect(done.failures[0]!.error.message).toBe('KQ_AWAY: mails/1 has no leader');
    expect(sent.filter((each) => !each.startsWith(DEAD))).toEqual([
      `mails ${zero}`,
      'mails undefined',
      'orders k',
    ]);
    expect(await listed()).toEqual(['0/0']);
  });
});

describe('KqDeadLetters.topics', () => {
  it('names those that nest-kq makes, and those that were noted, if they are there', async () => {
    await driver.admin.createTopics([
      { topic: 'orders.shop.kq-dead' },
      { topic: 'orders.shop.kq-retry-10s' },
    ]);
    expect(await letters.topics()).toEqual(['orders.shop.kq-dead']);
    letters.note(DEAD);
    letters.note('gone');
    expect(await letters.topics()).toEqual([DEAD, 'orders.shop.kq-dead']);
  });
});

describe('LogDeadLetters.acting', () => {
  it('reports its progress after each part, and changes nothing more once it is ended', async () => {
    await bury(...Array.from({ length: 1_200 }, () => ({})));
    const told: number[] = [];
    for await (const { count } of letters.acting('discarded', DEAD, {})) {
      told.push(count);
      if (count > 0) break;
    }
    expect(told).toEqual([0, 0, 500]);
    expect(lines).toEqual([`discarded 500 dead letters of ${DEAD}`]);
    expect(await letters.discard(DEAD, {}, { dryRun: true })).toMatchObject({ count: 700 });
  });

  it('reports in a dry run how many it has found', async () => {
    await bury(...Array.from({ length: 1_200 }, () => ({})));
    const told: number[] = [];
    for await (const { count } of letters.acting('replayed', DEAD, {}, { dryRun: true })) told.push(count);
    expect(told).toEqual([1_000, 1_200, 1_200]);
    expect(lines).toEqual([]);
  });
});
