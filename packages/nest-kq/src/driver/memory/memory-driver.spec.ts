// Facts of the in-process log alone; those of every log are in test/contract.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import type { LogBatch, MemberHandler } from '../driver.js';
import type { OutgoingMessage } from '../message.js';
import { MemoryDriver } from './memory-driver.js';
import type { MemoryOptions } from './memory-options.js';

let warnings: string[];
let turns: (() => void)[];
beforeEach(() => {
  warnings = [];
  turns = [];
});

function open(over: Partial<MemoryOptions> = {}): MemoryDriver {
  const log = { debug: () => {}, warn: (message: string) => void warnings.push(message), error: () => {} };
  const clock = { ...systemClock, soon: (callback: () => void) => void turns.push(callback) };
  return new MemoryDriver({ clock, log, ...over });
}

/** Runs turns until there are none. */
function settle(): void {
  for (let turn = turns.shift(); turn; turn = turns.shift()) turn();
}

function of(value: string, over: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { key: null, value: Buffer.from(value), partition: 0, ...over };
}

async function join(driver: MemoryDriver, over: Partial<MemberHandler> = {}) {
  const batches: LogBatch[] = [];
  const none = { rejoining: async () => {}, assigned: () => {}, failed: () => {}, confirmed: () => {} };
  const handler = { ...none, ...over };
  const member = driver.member(
    { group: 'g', topics: ['t'], from: 'first' },
    { ...handler, batch: (batch) => void batches.push(batch) },
  );
  await member.start();
  const values = () => batches.flatMap(({ messages }) => messages.map(({ value }) => String(value)));
  return { member, batches, values };
}

describe('MemoryDriver', () => {
  it('creates a topic when it is first named', async () => {
    const driver = open({ partitions: 2 });
    await driver.producer().send('sent', [of('a')]);
    await join(driver);
    await expect(driver.admin.topics()).resolves.toEqual([
      { topic: 'sent', partitions: 2 },
      { topic: 't', partitions: 2 },
    ]);
  });

  it('does all in turns of its clock, one batch in each', async () => {
    const driver = open({ fetchBytes: 1 });
    const { batches } = await join(driver);
    await driver.producer().send('t', [of('a'), of('b')]);
    expect(batches).toEqual([]);
    expect(turns).toHaveLength(1);
    turns.shift()?.();
    expect(batches).toHaveLength(1);
    settle();
    expect(batches).toHaveLength(2);
    expect(turns).toEqual([]);
  });

  it('bounds a batch by its bytes, and gives a larger message alone', async () => {
    const driver = open({ fetchBytes: 1_000 });
    const sizes = [300, 300, 300, 5_000, 10].map((size) => of('x'.repeat(size)));
    await driver.producer().send('t', sizes);
    const { batches } = await join(driver);
    settle();
    expect(batches.map(({ messages }) => messages.length)).toEqual([2, 1, 1, 1]);
    expect(batches.map(({ next }) => next)).toEqual([2n, 3n, 4n, 5n]);
  });

  it('reads the partitions in turn', async () => {
    const driver = open({ fetchBytes: 1 });
    const messages = [0, 0, 0, 1, 1, 1].map((partition) => of('a', { partition }));
    await driver.producer().send('t', messages);
    const { batches } = await join(driver);
    settle();
    expect(batches.map(({ partition }) => partition)).toEqual([0, 1, 0, 1, 0, 1]);
  });

  it.each([
    ['messages', { retainMessages: 3 }],
    ['bytes', { retainBytes: 3 * 101 }],
  ])('drops the oldest of a topic that has too many %s, and reports it once', async (_what, limit) => {
    const driver = open({ partitions: 2, ...limit });
    const producer = driver.producer();
    for (const [index, value] of ['a', 'b', 'c', 'd', 'e'].entries())
      await producer.send('t', [of(value, { partition: index % 2 })]);
    await expect(driver.admin.ends('t')).resolves.toEqual([
      { partition: 0, first: 1n, end: 3n },
      { partition: 1, first: 1n, end: 2n },
    ]);
    const { values } = await join(driver);
    settle();
    expect(values().toSorted()).toEqual(['c', 'd', 'e']);
    expect(warnings).toEqual([expect.stringContaining('topic t is full')]);
  });

  it('keeps its memory bounded over many messages', async () => {
    const driver = open({ retainMessages: 100 });
    const producer = driver.producer();
    for (let n = 0; n < 5_000; n++) await producer.send('t', [of(`${n}`)]);
    await expect(driver.admin.ends('t')).resolves.toContainEqual({
      partition: 0,
      first: 4_900n,
      end: 5_000n,
    });
    const { values } = await join(driver);
    settle();
    expect(values()).toEqual(Array.from({ length: 100 }, (_, n) => `${4_900 + n}`));
  });

  it('continues at the first message that is left where unread ones were removed', async () => {
    const driver = open({ retainMessages: 2 });
    const producer = driver.producer();
    await producer.send('t', [of('a'), of('b')]);
    await driver.admin.setCommitted('g', 't', [{ partition: 0, offset: 1n }]);
    await producer.send('t', [of('c'), of('d')]);
    const { values, batches } = await join(driver);
    settle();
    expect(values()).toEqual(['c', 'd']);
    expect(batches.map(({ lost }) => lost)).toEqual([{ from: 1n, to: 2n }]);
  });

  it('shares no bytes with whoever sent or reads them', async () => {
    const driver = open();
    const value = Buffer.from('sent');
    await driver.producer().send('t', [{ key: value, value, headers: { h: [value, value] }, partition: 0 }]);
    value.fill('x');
    const first = await join(driver);
    settle();
    first.batches[0]?.messages[0]?.value?.fill('y');
    await first.member.stop();
    const second = await join(driver);
    settle();
    const sent = Buffer.from('sent');
    expect(second.batches[0]?.messages).toMatchObject([
      { key: sent, value: sent, headers: { h: [sent, sent] } },
    ]);
  });

  it('shares the partitions once more when a member leaves while it is being assigned its own', async () => {
    const driver = open();
    const assignments: number[] = [];
    await join(driver, { assigned: (assignment) => void assignments.push(assignment.length) });
    const leaving: Promise<void>[] = [];
    const second = driver.member(
      { group: 'g', topics: ['t'], from: 'first' },
      {
        rejoining: async () => {},
        confirmed: () => {},
        batch: () => {},
        failed: () => {},
        assigned: () => void leaving.push(second.stop()),
      },
    );
    await second.start();
    await Promise.all(leaving);
    expect(assignments).toEqual([4, 2, 4]);
  });

  it('makes nothing more once it is closed', async () => {
    const driver = open();
    const producer = driver.producer();
    const { batches } = await join(driver);
    await driver.producer().send('t', [of('a')]);
    await driver.close();
    settle();
    expect(batches).toEqual([]);
    await expect(producer.send('t', [of('b')])).resolves.toMatchObject([{ code: 'KQ_CLOSED' }]);
    expect(() => driver.producer()).toThrow('KQ_CLOSED');
  });
});
